//! Random events in any order: nothing panics, the caret stays on the screen, nothing loops, and no question is
//! answered too early. The random start makes sure that every part of the screen is reached.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;
use ratatui::layout::Position;
use serde_json::{Value, json};

use super::screens::{busy, finished};
use crate::app::dialogs::Dialog;
use crate::app::job::{Candidate, JobResult, SessionContent, SessionRow};
use crate::app::page::{Tone, lines};
use crate::app::pointer::PointerKind;
use crate::app::rig::{App, change, completed, request, turn};
use crate::app::{Effect, Msg, OpeningSession};
use crate::protocol::{
    AgentEvent, Block, CallCommand, CallEvent, CallOutcome, CallRef, ChoiceOption, ChoiceRequest,
    Command, Ending, KnownRule, Message, Phase, Question, QuestionKind, RuleList, SessionEvent,
    Source, Spending, StopReason, ToolResult, TurnEvent, TurnSummary, Usage,
};
use crate::settings::trust::{Kind, Review, State};
use crate::theme::Theme;
use crate::ui::rig::Screen;

/// What happens to the application.
#[derive(Debug, Clone)]
enum Event {
    Key(KeyEvent),
    Named(&'static str),
    Pasted(String),
    Mouse(PointerKind, u16, u16),
    Resized(u16, u16),
    Focused(bool),
    Agent(AgentEvent),
    Job(JobResult),
    Passed(u64),
    /// Scrolls to the end of a question, and waits until it is armed.
    Read,
}

/// Where it begins, so that all parts of the screen are reached.
const STARTS: &[fn() -> App] = &[
    App::new,
    App::starting,
    App::working,
    busy,
    finished,
    || App::asked("Bash"),
    || App::asked("Edit"),
    distrusting,
];

/// A project that wants more than fits on most screens.
fn distrusting() -> App {
    let mut app = App::starting();
    let long = "Stop: \u{1b}[2K".to_owned() + &"wide 字 ".repeat(200);
    let mut wants = vec![(Kind::Hook, long.as_str()), (Kind::Prompt, "a\nb")];
    wants.resize(60, (Kind::Allow, "Bash(x)"));
    let review = Review::wanting(State::Changed, &wants);
    app.update(Msg::TrustAsked(Box::new(review)));
    app
}

/// Keys that lead into each part.
const WAYS: &[&str] = &[
    "",
    "ctrl+s",
    "ctrl+s v",
    "ctrl+s v v",
    "ctrl+s /",
    "ctrl+t",
    "ctrl+t enter",
    "ctrl+t i",
    "ctrl+p",
    "ctrl+r",
    "f1",
];

/// Keys that are bound somewhere; those that leave a part are more frequent.
const KEYS: &[&str] = &[
    "enter",
    "esc",
    "esc",
    "esc",
    "q",
    "tab",
    "shift+tab",
    "up",
    "down",
    "left",
    "right",
    "pgup",
    "pgdn",
    "home",
    "end",
    "ctrl+home",
    "ctrl+end",
    "shift+up",
    "shift+down",
    "backspace",
    "shift+enter",
    "ctrl+c",
    "ctrl+d",
    "ctrl+t",
    "ctrl+p",
    "ctrl+o",
    "ctrl+s",
    "ctrl+b",
    "ctrl+r",
    "ctrl+g",
    "ctrl+l",
    "ctrl+z",
    "ctrl+u",
    "ctrl+n",
    "f1",
    "?",
    "/",
    "n",
    "N",
    "v",
    "y",
    "o",
    "j",
    "k",
    "g",
    "G",
    "J",
    "K",
    "t",
    "d",
    "i",
    "q",
    "x",
    "r",
    "b",
    "s",
    "a",
    "e",
    "w",
    "0",
    "$",
    "[",
    "h",
    "l",
    "space",
];

const TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    "word ",
    "\n",
    "\n\n",
    "```rust\nfn main() {",
    "\n```\n",
    "| a | b |\n|---|---|\n",
    "| 1 | 2 |\n",
    "- item\n",
    "> quote\n",
    "# Heading\n",
    "**bold",
    "`code`",
    "[link](http://x)",
    "\x1b[31mred\x1b[0m",
    "\u{9b}2J",
    "\u{202e}evil",
    "e\u{301}",
    "\u{200b}",
    "漢字かな",
    "👩‍👩‍👧",
    "\t",
    "\r",
    "a long line of many words that has to be wrapped somewhere because it does not fit ",
    "unbreakablewordthatislongerthanmostscreensarewideandgoesonandonandonandonandon",
];

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(TEXTS), 1..6).prop_map(|parts| parts.concat()),
        1 => "\\PC{0,20}",
        1 => ".{0,20}",
    ]
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let code = prop_oneof![
        any::<char>().prop_map(KeyCode::Char),
        (1u8..13).prop_map(KeyCode::F),
        Just(KeyCode::Delete),
        Just(KeyCode::Insert),
        Just(KeyCode::BackTab),
        Just(KeyCode::Null),
    ];
    (code, 0u8..16)
        .prop_map(|(code, bits)| KeyEvent::new(code, KeyModifiers::from_bits_truncate(bits)))
}

fn any_call() -> impl Strategy<Value = CallRef> {
    prop::sample::select(&["a", "b", "c", "person_1", "person_2"][..]).prop_map(CallRef::from)
}

fn any_tool() -> impl Strategy<Value = String> {
    let names = &[
        "Bash",
        "Edit",
        "Read",
        "Write",
        "mcp__server__tool",
        "\x1b[2J",
        "",
    ];
    prop::sample::select(&names[..]).prop_map(str::to_owned)
}

fn any_outcome() -> impl Strategy<Value = CallOutcome> {
    prop_oneof![
        Just(CallOutcome::Succeeded),
        Just(CallOutcome::Failed),
        Just(CallOutcome::Denied),
        any_text().prop_map(|why| CallOutcome::Skipped { why }),
        Just(CallOutcome::Cancelled),
        Just(CallOutcome::ByHand),
        Just(CallOutcome::Backgrounded),
    ]
}

fn any_call_event() -> impl Strategy<Value = CallEvent> {
    prop_oneof![
        2 => any_tool().prop_map(|tool| CallEvent::Arriving { tool }),
        2 => prop_oneof![
            Just("{\"file_path\": \"src/a.rs\", \"new_string\": \"".to_owned()),
            Just("{\"command\": \"ls\\".to_owned()),
            any_text(),
        ].prop_map(CallEvent::Input),
        6 => any_state(),
        2 => prop::sample::select(&["Bash", "Edit"][..])
            .prop_map(|tool| CallEvent::Asked(request("a", tool))),
        1 => any_choice().prop_map(CallEvent::Asked),
        1 => (any_text(), any::<bool>()).prop_map(|(by, settled)| CallEvent::Decided { by, settled, note: None }),
        1 => any_text().prop_map(CallEvent::BackgroundEnded),
    ]
}

fn any_choice() -> impl Strategy<Value = Question> {
    let option = (any_text(), any_text()).prop_map(|(label, about)| ChoiceOption { label, about });
    let options = prop::collection::vec(option, 0..4);
    let request = (any_text(), options, any::<bool>(), any::<bool>());
    request.prop_map(|(question, options, several, free_text)| Question {
        call: "a".into(),
        asker: several.then(|| question.clone()),
        kind: QuestionKind::Choice(vec![ChoiceRequest {
            question,
            options,
            several,
            free_text,
            ..ChoiceRequest::default()
        }]),
    })
}

fn any_state() -> impl Strategy<Value = CallEvent> {
    let phases = [
        Phase::Validating,
        Phase::InHooks,
        Phase::WaitingForApproval,
        Phase::Running,
        Phase::Finishing,
    ];
    prop_oneof![
        (any_tool(), any_text()).prop_map(|(tool, text)| queued(tool, json!({"command": text}))),
        (any_tool(), any_text()).prop_map(|(tool, text)| {
            queued(
                tool,
                json!({"file_path": text, "old_string": "a", "new_string": ["b"]}),
            )
        }),
        prop::sample::select(phases.to_vec()).prop_map(CallEvent::Reached),
        any_text().prop_map(|text| CallEvent::Progress(text.into())),
        (any_text(), any_outcome(), 0..3_usize).prop_map(|(text, outcome, changes)| {
            let result = ToolResult::text("a".into(), text);
            completed(result, outcome, vec![change(); changes].into())
        }),
        Just(CallEvent::Yielded),
    ]
}

fn queued(tool: String, input: Value) -> CallEvent {
    let wire = Some("a".into());
    CallEvent::Queued {
        tool,
        wire,
        input: input.into(),
    }
}

fn any_ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        Just(Ending::Done),
        Just(Ending::MaxTurns),
        Just(Ending::Interrupted),
        (any_text(), prop::option::of(any_text()))
            .prop_map(|(problem, hint)| Ending::Failed { problem, hint }),
    ]
}

fn any_turn_event() -> impl Strategy<Value = TurnEvent> {
    let usage = Usage {
        input_tokens: Some(1000),
        output_tokens: Some(u64::from(u32::MAX)),
        ..Usage::default()
    };
    prop_oneof![
        2 => any_text().prop_map(|text| TurnEvent::Prompted(Message::user(text))),
        1 => (0u32..3).prop_map(|attempt| TurnEvent::Requested { attempt }),
        1 => (any_text(), 0u64..5000).prop_map(|(problem, wait)| TurnEvent::Retrying {
            problem,
            attempt: 1,
            wait: Duration::from_millis(wait),
        }),
        6 => any_text().prop_map(TurnEvent::Text),
        2 => any_text().prop_map(TurnEvent::Thinking),
        1 => any_text().prop_map(|why| TurnEvent::Paused { why }),
        1 => any_text().prop_map(move |text| TurnEvent::Answered {
            message: Message::user(text),
            stop_reason: Some(StopReason::MaxTokens),
            usage,
        }),
        1 => (prop::option::of(any::<u64>()), prop::option::of(0.0..1e9)).prop_map(move |(context, cost)| {
            TurnEvent::Spent(Spending { used: usage, cost, context })
        }),
        1 => (0u64..5000).prop_map(|saved| TurnEvent::Saved(Duration::from_millis(saved))),
        1 => any_ending().prop_map(|ending| TurnEvent::Finished(TurnSummary {
            ending,
            text: String::new(),
            responses: 1,
            usage: Usage::default(),
            cost: None,
            took: Duration::from_secs(100),
            denials: Vec::new(),
        })),
    ]
}

/// Means the running turn.
const THIS_TURN: u64 = u64::MAX;

fn any_agent_event() -> impl Strategy<Value = AgentEvent> {
    prop_oneof![
        11 => (prop_oneof![12 => Just(THIS_TURN), 1 => 0u64..3], any_turn_event())
            .prop_map(|(number, event)| AgentEvent::Turn(turn(number), event)),
        13 => (any_call(), any_call_event()).prop_map(|(call, mut event)| {
            if let CallEvent::Asked(request) = &mut event {
                request.call = call;
            }
            AgentEvent::Call { call, at: Duration::ZERO, event }
        }),
        1 => any_text().prop_map(|text| AgentEvent::Session(SessionEvent::Notice(text))),
        1 => any_text().prop_map(|text| AgentEvent::Session(SessionEvent::TakenBack(vec![vec![Block::text(text)]]))),
        1 => (any_text(), any_text()).prop_map(|(rule, from)| {
            let (list, from) = (RuleList::Deny, Source::file("/f", from));
            AgentEvent::Session(SessionEvent::Rules(vec![KnownRule { list, rule, from }]))
        }),
    ]
}

fn any_job() -> impl Strategy<Value = JobResult> {
    prop_oneof![
        (0u64..9, any_text()).prop_map(|(generation, path)| JobResult::Paths {
            generation,
            paths: vec![Candidate {
                path,
                matched: vec![0, 7]
            }],
            found: 1,
            complete: true,
        }),
        any_text().prop_map(|text| JobResult::Edited(Ok(text))),
        any_text().prop_map(|text| JobResult::History(vec![text])),
        any_text().prop_map(JobResult::Draft),
        any_text().prop_map(|problem| JobResult::Remembered(Err(problem))),
        Just(JobResult::Themes(
            Theme::names().filter_map(Theme::builtin).collect()
        )),
        any_text().prop_map(|title| JobResult::Sessions(vec![SessionRow {
            id: "id".to_owned(),
            when: "now".to_owned(),
            title,
            ..SessionRow::default()
        }])),
        any_text().prop_map(|text| JobResult::Examined(lines(&text, Tone::Code))),
        any_text().prop_map(|text| {
            JobResult::SessionRead(Box::new(SessionContent {
                id: "id".to_owned(),
                end: lines(&text, Tone::Person),
                ..SessionContent::default()
            }))
        }),
        any_text().prop_map(JobResult::Failed),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    let kinds = vec![
        PointerKind::Pressed { times: 1 },
        PointerKind::Pressed { times: 2 },
        PointerKind::Pressed { times: 3 },
        PointerKind::Dragged,
        PointerKind::Released,
        PointerKind::WheelUp,
        PointerKind::WheelDown,
    ];
    let size = prop_oneof![
        4 => (1u16..90, 1u16..40),
        1 => (1u16..501, 1u16..201),
        1 => Just((20, 5)),
        1 => Just((1, 1)),
        1 => Just((500, 200)),
    ];
    prop_oneof![
        12 => prop::sample::select(KEYS).prop_map(Event::Named),
        3 => any_key().prop_map(Event::Key),
        1 => any_text().prop_map(Event::Pasted),
        3 => (prop::sample::select(kinds), 0u16..130, 0u16..50)
            .prop_map(|(kind, x, y)| Event::Mouse(kind, x, y)),
        1 => size.prop_map(|(width, height)| Event::Resized(width, height)),
        1 => any::<bool>().prop_map(Event::Focused),
        16 => any_agent_event().prop_map(Event::Agent),
        1 => any_job().prop_map(Event::Job),
        4 => (0u64..700).prop_map(Event::Passed),
        2 => Just(Event::Read),
    ]
}

/// A screen that is checked after each event.
struct Watched {
    screen: Screen,
    /// Since when the current question has been in front.
    asked: Option<(CallRef, Instant)>,
}

impl Watched {
    fn new(start: fn() -> App, way: &str, width: u16, height: u16) -> Self {
        let mut watched = Self {
            screen: start().on(width, height),
            asked: None,
        };
        watched.look();
        watched.screen.press(way);
        watched.look();
        watched
    }

    fn happens(&mut self, event: Event) {
        let screen = &mut self.screen;
        let before = screen.state.now;
        let effects = match event {
            Event::Key(key) => screen.update(Msg::Key(key)),
            Event::Named(key) => screen.press(key),
            Event::Pasted(text) => screen.update(Msg::Pasted(text)),
            Event::Mouse(kind, x, y) => screen.point_at(kind, Position::new(x, y)),
            Event::Resized(width, height) => {
                screen.resize(width, height);
                Vec::new()
            }
            Event::Focused(focused) => screen.update(Msg::Focused(focused)),
            Event::Agent(AgentEvent::Turn(turn, event)) if turn.number == THIS_TURN => {
                let over = matches!(event, TurnEvent::Finished(_));
                let effects = screen.hear(event);
                screen.turn.number += u64::from(over);
                effects
            }
            Event::Agent(event) => screen.told(event),
            Event::Read => {
                screen.press("end");
                screen.frame();
                screen.after(Duration::from_millis(300));
                Vec::new()
            }
            Event::Job(result) => screen.update(Msg::JobDone(result)),
            Event::Passed(time) => {
                screen.state.now += Duration::from_millis(time);
                let effects = screen.update(Msg::Tick);
                let now = screen.state.now;
                assert!(
                    screen.state.wake_at().is_none_or(|at| at > now),
                    "it would wake again at once"
                );
                effects
            }
        };
        self.check_answers(&effects, before);
        self.follow(&effects);
        self.look();
    }

    /// Every yes came after the question was armed.
    fn check_answers(&self, effects: &[Effect], now: Instant) {
        for effect in effects {
            if let Effect::Send(Command::Call(call, CallCommand::Reply(_))) = effect {
                let (asked, since) = self.asked.as_ref().expect("a question was in front");
                assert_eq!(asked, call);
                assert!(
                    now >= *since + Duration::from_millis(300),
                    "answered too early"
                );
            }
        }
    }

    /// Answers the effects like the runtime would.
    fn follow(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Copy(_) => drop(self.screen.caches.selected_text(&self.screen.app.state)),
                Effect::Open(opening) if opening.session != OpeningSession::Same => {
                    let fresh = App::new().state.session;
                    self.screen.state.session = fresh;
                }
                Effect::Send(_)
                | Effect::Start(_)
                | Effect::Open(_)
                | Effect::Trust(_)
                | Effect::Notify(_)
                | Effect::Redraw
                | Effect::Suspend
                | Effect::PrintConversation
                | Effect::Quit(_) => {}
            }
        }
    }

    fn look(&mut self) {
        self.screen.frame();
        let area = self.screen.buffer().area;
        let caret = self.screen.caret();
        if let Some(caret) = caret {
            assert!(area.contains(caret), "{caret} is outside of {area}");
        }
        let question = match self.screen.state.dialogs.last() {
            Some(Dialog::Question(questions)) => questions.current().map(|it| it.call),
            _ => None,
        };
        let now = self.screen.state.now;
        self.asked = match (question, self.asked.take()) {
            (Some(call), Some((known, since))) if call == known => Some((call, since)),
            (question, _) => question.map(|call| (call, now)),
        };
        self.check_text();
    }

    /// No control character reaches the terminal.
    fn check_text(&self) {
        for cell in self.screen.buffer().content() {
            let steers = |letter: char| {
                letter.is_control()
                    || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            assert!(!cell.symbol().contains(steers), "{:?}", cell.symbol());
        }
    }
}

fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|count| count.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(default),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn anything_may_happen_in_any_order(
        start in prop::sample::select(STARTS),
        way in prop::sample::select(WAYS),
        size in (1u16..130, 1u16..45),
        events in prop::collection::vec(any_event(), 1..60),
    ) {
        let mut watched = Watched::new(start, way, size.0, size.1);
        for event in events {
            watched.happens(event);
        }
    }
}
