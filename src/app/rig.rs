//! The application without a terminal, for tests that read like stories: keys, agent events and time go in, effects
//! come out. `ui::rig` adds the drawing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use crate::app::rig_subagents::seen_subagent;
use crate::app::transcript::{Cell, Transcript};
use crate::app::{AppState, DiffStyle, Effect, Msg, Settings, update};
use crate::keymap::{Chord, Key, Keymap};
use crate::protocol::{
    AgentEvent, AgentId, AnswerNote, BackgroundEnd, Block, CallCommand, CallEvent, CallInput,
    CallOutcome, CallRef, ChangeSize, ChoiceOption, ChoiceRequest, Command, Ending, Envelope,
    FileDiff, ForPerson, Message, Mode, PermissionRequest, Phase, Question, QuestionKind, Reply,
    RuleOffer, Seq, SessionCommand, SessionEvent, SessionId, SessionOpened, Shown, Spending,
    ToolResult, TurnEvent, TurnId, TurnSummary, Usage,
};
use crate::session::Record;
use crate::session::events::recall;
use crate::session::record::Line;
use crate::text::compare;
use crate::theme::{Depth, Theme};
use crate::tools::offered::Tools;
use crate::tools::registry::Registry;

pub struct App {
    pub state: AppState,
    /// The turn that events belong to.
    pub turn: TurnId,
}

/// The life of one call, step by step. Effects of the steps are dropped.
pub struct CallSteps<'a> {
    app: &'a mut App,
    call: CallRef,
    tool: String,
}

impl Default for App {
    fn default() -> Self {
        Self::new()
    }
}

impl App {
    /// An open session with the built-in model, still empty.
    pub fn new() -> Self {
        let mut app = Self::starting();
        app.receive(AgentEvent::Session(SessionEvent::Opened(
            opened(Vec::new()),
        )));
        app
    }

    /// Before the agent has opened the session.
    pub fn starting() -> Self {
        let settings = Settings {
            keymap: Keymap::builtin(),
            theme: Theme::plain(),
            depth: Depth::None,
            theme_epoch: 0,
            diff_style: DiffStyle::Auto,
        };
        Self {
            state: AppState::new(Arc::new(settings), "~/project", Instant::now()),
            turn: turn(1),
        }
    }

    /// With a built-in theme, in a terminal with this many colours.
    #[must_use]
    pub fn with_theme(mut self, theme: &str, depth: Depth) -> Self {
        let mut settings = (*self.state.settings).clone();
        let theme = Theme::builtin(theme).expect("a theme of the program");
        settings.theme = theme.at(depth);
        settings.depth = depth;
        self.state.settings = Arc::new(settings);
        self
    }

    pub fn typed(text: &str) -> Self {
        let mut app = Self::new();
        app.types(text);
        app
    }

    /// A resumed session.
    pub fn resumed(records: impl IntoIterator<Item = Record>) -> Self {
        let mut app = Self::starting();
        let past = past(records);
        app.receive(AgentEvent::Session(SessionEvent::Opened(opened(past))));
        app
    }

    /// A message was sent, and its request is running.
    pub fn working() -> Self {
        let mut app = Self::typed("fix the failing test");
        app.press("enter");
        app.accept_message("fix the failing test");
        app
    }

    /// A turn runs, and a call of this tool asks for permission; nothing of the question was visible yet.
    pub fn asked(tool: &str) -> Self {
        let mut app = Self::working();
        app.asks(request("call", tool));
        app
    }

    pub fn update(&mut self, msg: Msg) -> Vec<Effect> {
        update(&mut self.state, msg)
    }

    /// Presses keys as `keymap.toml` writes them, one or more: `"enter"`, `"ctrl+c"`, `"g G"`.
    pub fn press(&mut self, keys: &str) -> Vec<Effect> {
        let mut effects = Vec::new();
        for key in keys.split_whitespace() {
            let chord: Chord = key.parse().expect("a key as keymap.toml writes it");
            effects.extend(self.update(Msg::Key(chord.first.event())));
        }
        effects
    }

    /// Presses keys, and returns the commands to the agent.
    pub fn commands(&mut self, keys: &str) -> Vec<Command> {
        sent(self.press(keys))
    }

    pub fn types(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
            self.update(Msg::Key(key));
        }
        self
    }

    pub fn receive(&mut self, event: AgentEvent) -> Vec<Effect> {
        self.update(Msg::Agent(event.into()))
    }

    /// An event of the running turn.
    pub fn turn_event(&mut self, event: TurnEvent) -> Vec<Effect> {
        self.receive(AgentEvent::Turn(self.turn, event))
    }

    /// The agent accepts a message, and a request starts.
    pub fn accept_message(&mut self, text: &str) -> &mut Self {
        self.turn_event(TurnEvent::Prompted(Message::user(text)));
        self.turn_event(TurnEvent::Requested { attempt: 0 });
        self
    }

    pub fn model_writes(&mut self, text: &str) -> &mut Self {
        self.turn_event(TurnEvent::Text(text.to_owned()));
        self
    }

    /// An event of a call.
    pub fn call_event(&mut self, call: impl Into<CallRef>, event: CallEvent) -> Vec<Effect> {
        let (call, at) = (call.into(), Duration::ZERO);
        self.receive(AgentEvent::Call { call, at, event })
    }

    /// A call of the running turn begins and asks.
    pub fn asks(&mut self, question: Question) -> Vec<Effect> {
        let (tool, input) = match &question.kind {
            QuestionKind::Permission(request) => (request.tool.clone(), request.input.clone()),
            QuestionKind::Choice(_) | QuestionKind::Form(_) => {
                ("Asks".to_owned(), json!({}).into())
            }
        };
        self.tool(question.call, &tool).queued(input).waits();
        self.call_event(question.call, CallEvent::Asked(question))
    }

    /// A call was decided.
    pub fn decided(&mut self, call: &str, by: &str, settled: bool) {
        let by = by.to_owned();
        let note = None;
        self.call_event(call, CallEvent::Decided { by, settled, note });
    }

    /// The person has allowed a call, with this side effect.
    pub fn allowed(&mut self, call: &str, note: AnswerNote) {
        let decided = CallEvent::Decided {
            by: "allowed by you".to_owned(),
            settled: true,
            note: Some(note),
        };
        self.call_event(call, decided);
    }

    /// A command that a call left in the background has ended.
    pub fn background_ended(&mut self, call: &str, how: BackgroundEnd) {
        self.call_event(call, CallEvent::BackgroundEnded(how));
    }

    /// The turn ends; the next one has another number.
    pub fn ends(&mut self, ending: Ending) -> Vec<Effect> {
        let effects = self.turn_event(TurnEvent::Finished(TurnSummary {
            ending,
            text: String::new(),
            responses: 1,
            usage: Usage::default(),
            cost: None,
            took: Duration::from_millis(1500),
            denials: Vec::new(),
        }));
        self.turn.number += 1;
        effects
    }

    /// A call of the running turn.
    pub fn tool(&mut self, call: impl Into<CallRef>, tool: &str) -> CallSteps<'_> {
        CallSteps {
            app: self,
            call: call.into(),
            tool: tool.to_owned(),
        }
    }

    /// A command that the person runs outside any turn.
    pub fn aside(&mut self, call: &str, command: &str) {
        let mut steps = self.tool(call, "Bash");
        steps.queued(json!({ "command": command })).running();
    }

    /// Lets time pass, and sends the ticks that were asked for.
    pub fn after(&mut self, time: Duration) -> Vec<Effect> {
        let end = self.state.now + time;
        let mut effects = Vec::new();
        while let Some(at) = self.state.wake_at().filter(|at| *at <= end) {
            self.state.now = at;
            effects.extend(self.update(Msg::Tick));
        }
        self.state.now = end;
        effects
    }

    pub fn resize(&mut self, width: u16, height: u16) -> &mut Self {
        self.update(Msg::Resized { width, height });
        self
    }

    pub fn draft(&self) -> String {
        self.state.composer.text()
    }
}

impl CallSteps<'_> {
    /// Its name is known; its input is still being written.
    pub fn arrives(&mut self) -> &mut Self {
        let tool = self.tool.clone();
        self.is(CallEvent::Arriving { tool })
    }

    pub fn writes(&mut self, fragment: &str) -> &mut Self {
        self.is(CallEvent::Input(fragment.to_owned()))
    }

    pub fn queued(&mut self, input: impl Into<CallInput>) -> &mut Self {
        let tool = self.tool.clone();
        let wire = (self.call.agent != AgentId::PERSON).then(|| "wire".into());
        self.is(CallEvent::Queued {
            tool,
            wire,
            input: input.into(),
        })
    }

    pub fn running(&mut self) -> &mut Self {
        self.executing(Phase::Running)
    }

    pub fn waits(&mut self) -> &mut Self {
        self.executing(Phase::WaitingForApproval)
    }

    pub fn executing(&mut self, phase: Phase) -> &mut Self {
        self.is(CallEvent::Reached(phase))
    }

    pub fn prints(&mut self, text: &str) -> &mut Self {
        self.is(CallEvent::Progress(text.into()))
    }

    pub fn completes(&mut self, text: &str) -> &mut Self {
        self.ends_as(CallOutcome::Succeeded, text)
    }

    pub fn fails(&mut self, text: &str) -> &mut Self {
        self.ends_as(CallOutcome::Failed, text)
    }

    pub fn ends_as(&mut self, outcome: CallOutcome, text: &str) -> &mut Self {
        let result = ToolResult::text("wire".into(), text);
        self.is(completed(result, outcome, Shown::Nothing))
    }

    /// A command ends with this code after it printed this.
    pub fn exits(&mut self, code: i32, output: &str) -> &mut Self {
        let (head, outcome) = match code {
            0 => (String::new(), CallOutcome::Succeeded),
            code => (format!("Exit code {code}\n"), CallOutcome::Failed),
        };
        let result = ToolResult::text("wire".into(), format!("{head}{output}"));
        let for_person = ForPerson {
            exit: Some(code),
            output: Some(head.len()..head.len() + output.len()),
            ..ForPerson::default()
        };
        self.ends_for_person(result, outcome, for_person)
    }

    /// Ends without success, with a sentence for the person; the model gets `text`.
    pub fn ends_with_sentence(
        &mut self,
        outcome: CallOutcome,
        sentence: &str,
        text: &str,
    ) -> &mut Self {
        let result = ToolResult::error("wire".into(), text);
        self.ends_for_person(result, outcome, ForPerson::sentence(sentence))
    }

    pub fn ends_for_person(
        &mut self,
        result: ToolResult,
        outcome: CallOutcome,
        side: ForPerson,
    ) -> &mut Self {
        let mut event = completed(result, outcome, Shown::Nothing);
        if let CallEvent::Completed { for_person, .. } = &mut event {
            *for_person = side;
        }
        self.is(event)
    }

    /// Succeeds with a change to show.
    pub fn changes(&mut self, change: impl Into<Shown>) -> &mut Self {
        let result = ToolResult::text("wire".into(), "done");
        self.is(completed(result, CallOutcome::Succeeded, change.into()))
    }

    pub fn yielded(&mut self) -> &mut Self {
        self.is(CallEvent::Yielded)
    }

    pub fn takes(&mut self, milliseconds: u64) -> &mut Self {
        self.app.after(Duration::from_millis(milliseconds));
        self
    }

    /// The next event of the call. If it is the first one, the call arrives first.
    pub fn is(&mut self, event: CallEvent) -> &mut Self {
        let comes = matches!(event, CallEvent::Arriving { .. } | CallEvent::Queued { .. });
        if !comes && self.app.state.calls.find(self.call).is_none() {
            self.arrives();
        }
        self.app.call_event(self.call, event);
        self
    }
}

/// Numbered lines, each after the same words.
pub fn numbered(words: &str, numbers: std::ops::Range<usize>, end: &str) -> String {
    let lines: Vec<String> = numbers.map(|number| format!("{words} {number}")).collect();
    lines.join(end) + end
}

pub fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The commands to the agent.
pub fn sent(effects: Vec<Effect>) -> Vec<Command> {
    let commands = effects.into_iter().filter_map(|effect| match effect {
        Effect::Send(command) => Some(command),
        Effect::Start(_)
        | Effect::Copy(_)
        | Effect::Open(_)
        | Effect::Trust(_)
        | Effect::Notify(_)
        | Effect::Redraw
        | Effect::Suspend
        | Effect::PrintConversation
        | Effect::Quit(_) => None,
    });
    commands.collect()
}

pub fn submit(text: &str) -> Command {
    Command::Session(SessionCommand::Submit(vec![Block::text(text)]))
}

/// A turn of the conversation with the model.
pub fn turn(number: u64) -> TurnId {
    let agent = AgentId::MAIN;
    TurnId { agent, number }
}

pub fn completed(result: ToolResult, outcome: CallOutcome, shown: Shown) -> CallEvent {
    let changed = shown.changes().iter().map(|change| {
        let counts = compare::counts(change.before.as_ref(), &change.after);
        ChangeSize {
            path: change.path.clone(),
            added: counts.added,
            removed: counts.removed,
        }
    });
    CallEvent::Completed {
        result,
        ran: Duration::from_millis(120),
        outcome,
        for_person: ForPerson::default(),
        changed: changed.collect(),
        shown,
    }
}

/// A permission question as the executor asks it.
pub fn request(call: impl Into<CallRef>, tool: &str) -> Question {
    let (input, changes, rule, wider) = match tool {
        "Edit" => (
            json!({"file_path": "src/lib.rs", "old_string": "2", "new_string": "3"}),
            vec![change()],
            "Edit(/src/lib.rs)",
            Some("Edit(/src/**)".to_owned()),
        ),
        _ => (
            json!({"command": "cargo test --workspace", "description": "Run the tests"}),
            Vec::new(),
            "Bash(cargo test:*)",
            None,
        ),
    };
    let request = PermissionRequest {
        is_command: tool != "Edit",
        program: None,
        tool: tool.to_owned(),
        input: input.into(),
        reason: "it may change something".to_owned(),
        changes,
        rule: Some(RuleOffer {
            rule: rule.to_owned(),
            wider,
            file: PathBuf::from(".agent-tui/settings.local.json"),
        }),
    };
    Question {
        call: call.into(),
        asker: None,
        kind: QuestionKind::Permission(request),
    }
}

/// A question of a tool, with these answers to choose from.
pub fn choice(call: impl Into<CallRef>, options: &[&str]) -> Question {
    let option = |label: &&str| ChoiceOption {
        label: (*label).to_owned(),
        about: String::new(),
    };
    Question {
        call: call.into(),
        asker: None,
        kind: QuestionKind::Choice(vec![ChoiceRequest {
            question: "Which database?".to_owned(),
            options: options.iter().map(option).collect(),
            several: false,
            free_text: false,
            ..ChoiceRequest::default()
        }]),
    }
}

/// A reply to the question of a call.
pub fn reply(call: impl Into<CallRef>, reply: Reply) -> Command {
    Command::Call(call.into(), CallCommand::Reply(reply))
}

pub fn change() -> FileDiff {
    let lines = |two: &str, nine: &str| -> Arc<str> {
        let middle = "    step();\n".repeat(12);
        format!("fn main() {{\n    let x = {two};\n{middle}    finish({nine});\n}}\n").into()
    };
    FileDiff {
        path: "src/lib.rs".to_owned(),
        before: Some(lines("2", "x")),
        after: lines("3", "x + 1"),
    }
}

/// The events of these records, a tenth of a second apart.
pub fn past(records: impl IntoIterator<Item = Record>) -> Vec<Envelope> {
    let lines = (0..).zip(records).map(|(seq, record)| Line {
        seq: Seq(seq),
        at_ms: 1_000_000 + 100 * seq,
        agent: AgentId::MAIN,
        record,
    });
    recall(lines.collect(), |_| None).events
}

pub fn opened(past: Vec<Envelope>) -> SessionOpened {
    SessionOpened {
        session: SessionId("session".to_owned()),
        provider: "builtin".to_owned(),
        model: "builtin".to_owned(),
        mode: Mode::Default,
        tools: Tools::from(Registry::built_in()).snapshot().infos(),
        servers: Vec::new(),
        branch: Some("main".to_owned()),
        context_window: Some(200_000),
        spending: Spending::default(),
        extensions: Arc::default(),
        past,
    }
}

/// A key event by its name.
pub fn key(name: &str) -> KeyEvent {
    let key: Chord = name.parse().expect("a key as keymap.toml writes it");
    Key::event(key.first)
}

/// All that is shown of a conversation: its cells, calls and the panel, with relative times.
pub fn seen(state: &AppState) -> Vec<String> {
    let began = state.calls.iter().map(|(_, call)| call.times.arrived).min();
    let began = began.unwrap_or(state.now);
    let since = |at: Instant| at.saturating_duration_since(began).as_millis();
    let shown = seen_cells(&state.transcript);
    let calls = state.calls.iter().map(|(_, call)| {
        let times = call.times;
        let times = [
            times.queued,
            times.begun,
            times.asked,
            times.running,
            times.ended,
        ]
        .map(|at| at.map(since));
        format!(
            "{} {} {:?} {} {:?} {times:?} {:?} {:?} {:?} {:?}",
            call.id,
            call.tool.name,
            call.by,
            *call.input,
            call.state,
            // No record holds what a background command prints.
            if call.is_over() { "" } else { &call.output },
            call.decisions,
            call.notes,
            call.ended_in_background
        )
    });
    let turns = state.panel.turns().iter().map(|turn| {
        let first = turn.writing.first().map_or(began, |(from, _)| *from);
        let apart = |at: Instant| at.saturating_duration_since(first).as_millis();
        let spans = turn.writing.iter();
        let spans = spans.map(|(from, to)| (apart(*from), to.map(apart)));
        let spans: Vec<_> = spans.collect();
        let (number, calls, saved) = (turn.number, &turn.calls, turn.saved);
        format!("{number:?} {calls:?} {spans:?} {saved:?} {}", turn.is_over)
    });
    let activity = format!("{:?} {:?}", state.activity, state.session.spending);
    let nested = state.subagents.iter().flat_map(seen_subagent);
    let main = shown.into_iter().chain(calls).chain(turns);
    main.chain(nested).chain([activity]).collect()
}

pub fn seen_cells(transcript: &Transcript) -> Vec<String> {
    let cells = transcript.entries().iter().map(|entry| {
        let cell = match &entry.cell {
            Cell::Thinking { text, took, .. } => format!("thinking {text:?} {took:?}"),
            other => format!("{other:?}"),
        };
        format!("{:?} open={} {cell}", entry.seq, entry.open)
    });
    cells.collect()
}
