//! Random sessions: what a person has seen of a session is what they see when it is resumed, and each message that
//! they sent was sent once or is in the input.
//!
//! Uses a real agent with real tools, a model whose answers end in every possible way, and a person who presses keys.

use std::time::{Duration, Instant};

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use proptest::prop_assert_eq;
use proptest::test_runner::TestCaseError;
use serde_json::json;
use tokio::time::timeout;

use super::rig::{End, Rig, Scripted, call};
use crate::app::call::{Author, Call};
use crate::app::rig::{App, seen, sent};
use crate::app::transcript::Cell;
use crate::app::{Effect, Msg, update};
use crate::hooks::rig::hook;
use crate::hooks::{Event, Hook};
use crate::protocol::{
    AgentEvent, Answer, Block, CallEvent, Command, Mode, RuleList, RulesCommand, SessionCommand,
    SessionEvent, StopReason,
};
use crate::provider::{ProviderErrorKind, StreamEvent};

/// How long nothing happens before the person acts.
const MAX_WAIT: Duration = Duration::from_millis(400);

/// What the person does after this many events.
#[derive(Debug, Clone)]
enum Act {
    /// Sends a message.
    Send,
    /// Presses keys.
    Press(&'static str),
    Do(Command),
}

fn acts() -> impl Strategy<Value = Act> {
    let run = SessionCommand::Run("echo by myself".to_owned());
    let rule = RulesCommand::Add {
        list: RuleList::Allow,
        rule: "Bash(true)".to_owned(),
    };
    prop_oneof![
        5 => Just(Act::Send),
        3 => Just(Act::Press("esc")),
        2 => Just(Act::Press("esc esc")),
        3 => Just(Act::Press("enter")),
        3 => Just(Act::Press("up")),
        1 => Just(Act::Press("up enter")),
        1 => Just(Act::Do(Command::Session(run))),
        1 => Just(Act::Do(Command::Session(SessionCommand::Rules(rule)))),
    ]
}

fn answers() -> impl Strategy<Value = Scripted> {
    let blocks = prop_oneof![
        2 => Just(Block::text("I look around. ")),
        2 => Just(bash("ls")),
        1 => Just(bash("ls not-there")),
        1 => Just(bash("touch made")),
        1 => Just(bash("sleep 50; ls")),
        1 => Just(call("r", "Read", json!({"file_path": "poem"}))),
        1 => Just(call("u", "Unknown", json!({}))),
    ];
    let rest = prop_oneof![
        3 => Just(Vec::new()),
        2 => Just(vec![StreamEvent::Text("and then ".to_owned())]),
        1 => Just(vec![StreamEvent::Thinking("hm".to_owned())]),
        1 => Just(vec![
            StreamEvent::ToolStarted { id: "cut".into(), name: "Read".to_owned() },
            StreamEvent::ToolInput { id: "cut".into(), fragment: r#"{"file"#.to_owned() },
        ]),
    ];
    let ends = prop_oneof![
        4 => Just(End::Well(StopReason::EndTurn)),
        1 => Just(End::Well(StopReason::MaxTokens)),
        1 => Just(End::Well(StopReason::Refusal)),
        1 => Just(End::Well(StopReason::PauseTurn)),
        3 => any::<bool>().prop_map(|retryable| End::Broken { retryable }),
        1 => Just(End::Failed(ProviderErrorKind::Retry { after: None })),
        1 => Just(End::Failed(ProviderErrorKind::Final)),
        1 => Just(End::Failed(ProviderErrorKind::Retry { after: Some(Duration::from_secs(50)) })),
        1 => Just(End::Never),
    ];
    (prop::collection::vec(blocks, 0..4), rest, ends)
        .prop_map(|(blocks, rest, end)| Scripted::new(blocks, rest, end))
}

fn bash(command: &str) -> Block {
    call("b", "Bash", json!({ "command": command }))
}

/// A person in front of the screen of an agent.
struct Person {
    rig: Rig,
    app: App,
    sent: usize,
    /// The person's answers to questions, in order.
    allows: Vec<bool>,
}

impl Person {
    fn update(&mut self, msg: Msg) {
        self.app.state.now = Instant::now();
        let effects = update(&mut self.app.state, msg);
        // The rig answers questions.
        self.app.state.dialogs.clear();
        self.carry_out(effects);
    }

    fn carry_out(&self, effects: Vec<Effect>) {
        for command in sent(effects) {
            self.rig.send(command);
        }
    }

    fn press(&mut self, keys: &str) {
        self.app.state.now = Instant::now();
        let effects = self.app.press(keys);
        self.carry_out(effects);
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Send => {
                self.app.types(&format!("<{}>", self.sent));
                self.sent += 1;
                self.press("enter");
            }
            // Esc on an idle screen would clear the input.
            Act::Press(keys) if keys.starts_with("esc") && !self.app.state.is_working() => {}
            // It would go through the history, and hide a message that has come back to the input.
            Act::Press(keys) if keys.starts_with("up") && !self.can_take_back() => {}
            Act::Press(keys) => self.press(keys),
            Act::Do(command) => self.rig.send(command.clone()),
        }
    }

    /// Whether ↑ takes back a queued message.
    fn can_take_back(&self) -> bool {
        !self.app.state.queue.is_empty() && self.app.state.composer.is_free()
    }

    /// Whether nothing is running that the person knows of. A command of their own may outlive the turn.
    fn is_settled(&self) -> bool {
        let state = &self.app.state;
        let is_over = |call: &Call| call.by != Author::Person || call.is_over();
        let over = state.calls.iter().all(|(_, call)| is_over(call));
        !state.is_working() && state.queue.is_empty() && over
    }

    /// Asks for something whose answer comes after everything that was asked for before. On a slow machine silence
    /// alone does not mean that all of it was answered.
    fn ask_marker(&self) {
        let same = SessionCommand::SetMode(Mode::Default);
        self.rig.send(Command::Session(same));
    }

    /// Performs the acts, and waits until everything has ended.
    async fn live(&mut self, acts: &[(Act, usize)]) {
        let mut acts = acts.iter();
        let mut next = acts.next();
        let mut received = 0;
        let mut empty_rounds = 0;
        let mut asked_last = false;
        loop {
            assert!(
                empty_rounds < 100,
                "nothing comes any more: {:?}",
                seen(&self.app.state)
            );
            while let Some((act, after)) = next
                && (received >= *after || self.is_settled())
            {
                self.act(act);
                received = 0;
                next = acts.next();
            }
            if next.is_none() && self.is_settled() && !asked_last {
                asked_last = true;
                self.ask_marker();
            }
            match timeout(MAX_WAIT, self.rig.next()).await {
                Ok(envelope) => {
                    received += 1;
                    empty_rounds = 0;
                    if let AgentEvent::Call { call, event, .. } = &envelope.event
                        && matches!(event, CallEvent::Asked(_))
                    {
                        let answer = match self.allows.pop() {
                            Some(true) | None => Answer::Allow,
                            Some(false) => Answer::Deny { reason: None },
                        };
                        self.rig.answer(*call, answer);
                    }
                    let last = matches!(
                        &envelope.event,
                        AgentEvent::Session(SessionEvent::ModeIs(_))
                    );
                    self.update(Msg::Agent(envelope));
                    if last && self.is_settled() {
                        return;
                    }
                    // Something has begun after that, such as a message that was still on its way.
                    asked_last &= !last;
                }
                Err(_) if self.app.state.is_working() => {
                    empty_rounds += 1;
                    self.press("esc");
                }
                Err(_) => empty_rounds += 1,
            }
        }
    }
}

/// How often the person's messages were sent, or are in the input.
fn places(person: &Person) -> Vec<usize> {
    let entries = person.app.state.transcript.entries().iter();
    let texts = entries.filter_map(|entry| match &entry.cell {
        Cell::User { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let draft = person.app.draft();
    let all: Vec<&str> = texts.chain([draft.as_str()]).collect();
    let all = all.join("\n");
    let count = |number| all.matches(&format!("<{number}>")).count();
    (0..person.sent).map(count).collect()
}

/// Hooks that stop a turn, or make it continue once.
fn hooks() -> impl Strategy<Value = Vec<Hook>> {
    let once = "[ -e continued ] && exit 0; touch continued; echo look again >&2; exit 2";
    let enough = r#"echo '{"continue": false, "stopReason": "enough"}'"#;
    prop_oneof![
        3 => Just(Vec::new()),
        1 => Just(vec![hook(Event::Stop, once)]),
        1 => Just(vec![hook(Event::PreToolUse, enough)]),
        1 => Just(vec![hook(Event::PostToolUse, enough)]),
    ]
}

async fn live_session(
    answers: Vec<Scripted>,
    hooks: Vec<Hook>,
    acts: Vec<(Act, usize)>,
    allows: Vec<bool>,
) -> Result<(), TestCaseError> {
    let rig = Rig::scripted(answers, hooks);
    rig.scratch.put("poem", "one\ntwo\n");
    let mut person = Person {
        rig,
        app: App::starting(),
        sent: 0,
        allows,
    };
    person.act(&Act::Send);
    person.live(&acts).await;
    prop_assert_eq!(places(&person), vec![1; person.sent]);

    let Person { rig, mut app, .. } = person;
    let mut rig = rig.resumed().await;
    let mut again = App::starting();
    let opened = rig.next().await;
    again.state.now = Instant::now();
    update(&mut again.state, Msg::Agent(opened));
    app.state.session = again.state.session.clone();
    prop_assert_eq!(seen(&again.state), seen(&app.state));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        max_shrink_iters: 20,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_resumed_session_looks_the_same_and_every_message_is_in_one_place(
        answers in prop::collection::vec(answers(), 1..6),
        acts in prop::collection::vec((acts(), 0..12_usize), 0..8),
        allows in prop::collection::vec(any::<bool>(), 0..6),
        hooks in hooks(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(live_session(answers, hooks, acts, allows))?;
    }
}
