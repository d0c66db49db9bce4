//! Five conversations at once in one session, over one log: each has its own history, directory, ledger, tools and
//! limits; rules, hooks and background commands are shared.

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Beginning, Conversation, Journal, Limits, Parts};
use crate::executor::{Asking, Context, Places, Policy, Shared};
use crate::hooks::rig::hook;
use crate::hooks::{Event, Runner};
use crate::permissions::Rules;
use crate::protocol::{
    AgentEvent, AgentId, Block, CallEvent, CallOutcome, CallRef, Ending, Envelope, Message, Mode,
    Phase, RuleList, SessionId, Source, StopReason, ToolUse, TurnSummary,
};
use crate::provider::{
    Batch, Provider, ProviderError, ProviderErrorKind, Request, Response, ResponseStream,
    StreamEvent, retry,
};
use crate::session::{History, Log, Writer};
use crate::tools::files::scratch::Scratch;
use crate::tools::registry::Registry;

/// The id of every call of every model.
const ID: &str = "call_1";

/// Gives its scripted answers, then fails for good.
struct Model(Mutex<VecDeque<Vec<Block>>>);

struct Answer(Option<Vec<Block>>);

impl Provider for Model {
    fn name(&self) -> &'static str {
        "script"
    }

    fn open<'a>(
        &'a self,
        _: &'a Request,
    ) -> BoxFuture<'a, Result<Box<dyn ResponseStream>, ProviderError>> {
        let answer = self.0.lock().expect("unpoisoned").pop_front();
        let opened = answer.map_or_else(
            || {
                Err(ProviderError {
                    kind: ProviderErrorKind::Final,
                    message: "no more".into(),
                    hint: None,
                })
            },
            |blocks| Ok(Box::new(Answer(Some(blocks))) as Box<dyn ResponseStream>),
        );
        async move { opened }.boxed()
    }
}

impl ResponseStream for Answer {
    fn next(&mut self) -> BoxFuture<'_, Batch> {
        let blocks = self.0.take().expect("asked once");
        let events = blocks.iter().cloned().map(StreamEvent::BlockEnded);
        let events = events.collect();
        let response = Response {
            blocks,
            stop_reason: Some(StopReason::EndTurn),
            complete: true,
            ..Response::default()
        };
        async move { Batch::Over(events, Box::new(response)) }.boxed()
    }
}

fn call(tool: &str, input: Value) -> Vec<Block> {
    vec![Block::ToolUse(ToolUse {
        id: ID.into(),
        name: tool.into(),
        input: input.into(),
        input_raw: None,
        input_error: None,
    })]
}

fn bash(command: &str) -> Vec<Block> {
    call("Bash", json!({ "command": command }))
}

fn done() -> Vec<Block> {
    vec![Block::text("done")]
}

/// What the conversations of the session share.
struct Session {
    shared: Arc<Shared>,
    writer: Writer,
    events: mpsc::Sender<Envelope>,
    scratch: Scratch,
}

impl Session {
    fn new(events: mpsc::Sender<Envelope>) -> Self {
        let scratch = Scratch::new();
        let places = Places {
            workspace: scratch.root.clone(),
            ..Places::default()
        };
        let mut rules = Rules::default();
        let denied = rules.add(RuleList::Deny, "Bash(touch:*)", &Source::Session);
        denied.expect("a rule");
        let env = scratch.cx.env.clone();
        let mode = Mode::BypassPermissions;
        let mut shared = Shared::new(rules, mode, Asking::Nobody, places, env);
        let seen = "cat >/dev/null; echo seen >> \"$CLAUDE_PROJECT_DIR/seen\"";
        shared.hooks = Some(Runner::new(
            vec![hook(Event::PreToolUse, seen)],
            &scratch.root,
            SessionId("s".into()),
            Path::new("/log.jsonl"),
            scratch.cx.env.programs.clone(),
        ));
        let log = Log::create(&scratch.root.with_file_name("log.jsonl")).expect("a log");
        Self {
            shared: Arc::new(shared),
            writer: Writer::new(log),
            events,
            scratch,
        }
    }

    fn conversation(
        &self,
        agent: u32,
        tools: Registry,
        limits: Limits,
        token: &CancellationToken,
        answers: impl IntoIterator<Item = Vec<Block>>,
    ) -> Conversation {
        let agent = AgentId(agent);
        Conversation::new(Parts {
            agent,
            kind: (agent != AgentId::MAIN).then(|| "general".to_owned()),
            provider: Arc::new(Model(Mutex::new(answers.into_iter().collect()))),
            model: "m".into(),
            system: Vec::new(),
            context: Arc::new(Context::new(self.shared.clone(), tools)),
            policy: Policy::default(),
            limits,
            prices: Arc::default(),
            retry: retry::Policy::default(),
            max_output_tokens: 1000,
            session: "s".into(),
            journal: Journal::new(self.writer.clone(), agent, History::default()),
            events: self.events.clone(),
            token: token.clone(),
        })
    }

    /// The history of one of them, from the log.
    fn recalled(&self, agent: u32) -> History {
        let path = self.scratch.root.with_file_name("log.jsonl");
        let contents = crate::session::log::read_file(&path).expect("a log");
        assert_eq!(contents.skipped, 0);
        History::of(&contents.lines, AgentId(agent))
    }
}

async fn run(
    mut conversation: Conversation,
    stop: CancellationToken,
) -> (Conversation, TurnSummary) {
    let prompt = vec![Block::text("go")];
    let (_nobody, mut words) = mpsc::unbounded_channel();
    let running = conversation.run(Beginning::Prompt(prompt), &stop, &mut words, |_| {});
    let summary = running.await;
    (conversation, summary)
}

/// The texts of the results, in order.
fn results(messages: &[Message]) -> Vec<String> {
    let results = messages.iter().flat_map(Message::tool_results);
    results.map(crate::protocol::ToolResult::as_text).collect()
}

#[expect(clippy::too_many_lines, reason = "one scenario with its checks")]
#[tokio::test]
async fn five_conversations_run_at_once_over_one_log() {
    let (events, mut received) = mpsc::channel(10_000);
    let session = Session::new(events);
    session.scratch.put("a.txt", "old\n");
    for folder in ["one", "two"] {
        std::fs::create_dir(session.scratch.root.join(folder)).expect("a folder");
    }
    let never = CancellationToken::new();
    let all = Registry::built_in;
    let edit = json!({"file_path": "a.txt", "old_string": "old", "new_string": "new"});
    let edit = || call("Edit", edit.clone());
    let sleep = json!({"command": "sleep 1000", "run_in_background": true});

    // Reads the file, so it may change it; changes its directory, and leaves a command in the background.
    let reads = session.conversation(
        1,
        all(),
        Limits::default(),
        &never,
        [
            call("Read", json!({"file_path": "a.txt"})),
            bash("cd one"),
            bash("pwd"),
            call("Bash", sleep),
            bash("touch x"),
            done(),
        ],
    );
    // Has not read the file; has its own directory; may give three answers.
    let limited = session.conversation(
        2,
        all(),
        Limits {
            max_turns: Some(3),
            ..Limits::default()
        },
        &never,
        [edit(), bash("cd two"), bash("pwd"), done()],
    );
    // Is interrupted.
    let waits = session.conversation(3, all(), Limits::default(), &never, [bash("sleep 1000")]);
    // Is ended from outside.
    let outside = CancellationToken::new();
    let ended = session.conversation(4, all(), Limits::default(), &outside, [bash("sleep 1000")]);
    // Has no tools, and its model fails.
    let none = Registry::default();
    let fails = session.conversation(5, none, Limits::default(), &never, [bash("pwd")]);

    let stop = CancellationToken::new();
    let waits = tokio::spawn(run(waits, stop.clone()));
    let others = [
        tokio::spawn(run(reads, never.clone())),
        tokio::spawn(run(limited, never.clone())),
        tokio::spawn(run(fails, never.clone())),
    ];
    let ended = tokio::spawn(run(ended, never.clone()));
    // Once both run their commands, one is interrupted and one is ended, while the others continue.
    let (mut all_events, mut running) = (Vec::new(), HashSet::new());
    while running.len() < 2 {
        let event = received.recv().await.expect("they live").event;
        if let AgentEvent::Call {
            call,
            event: CallEvent::Reached(Phase::Running),
            ..
        } = &event
            && [AgentId(3), AgentId(4)].contains(&call.agent)
        {
            running.insert(*call);
        }
        all_events.push(event);
    }
    stop.cancel();
    outside.cancel();
    let mut finished = Vec::new();
    for task in others {
        finished.push(task.await.expect("no panic"));
    }
    finished.push(waits.await.expect("no panic"));
    finished.push(ended.await.expect("no panic"));
    let endings: Vec<&Ending> = finished.iter().map(|(_, it)| &it.ending).collect();
    let failed = Ending::Failed {
        problem: "no more".into(),
        hint: None,
    };
    assert_eq!(
        endings,
        [
            &Ending::Done,
            &Ending::MaxTurns,
            &failed,
            &Ending::Interrupted,
            &Ending::Interrupted
        ]
    );

    // Each has its own history, and the log contains the same one.
    let histories: Vec<_> = finished
        .iter()
        .map(|(conversation, _)| conversation.journal.history().messages().clone())
        .collect();
    for (agent, live) in [1, 2, 5, 3, 4].into_iter().zip(&histories) {
        assert_eq!(session.recalled(agent).messages(), live, "agent {agent}");
    }

    // Each has its own directory and ledger.
    let root = &session.scratch.root;
    let here = |folder: &str| root.join(folder).display().to_string();
    let first = results(&histories[0]);
    assert!(first[0].contains("old"), "{first:?}");
    assert_eq!(first[2].trim(), here("one"));
    assert!(
        first[4].contains("denied"),
        "the rule is for all: {first:?}"
    );
    let second = results(&histories[1]);
    assert!(
        second[0].contains("read"),
        "it was never read here: {second:?}"
    );
    assert_eq!(second[2].trim(), here("two"));
    let third = results(&histories[2]);
    assert!(third[0].contains("No such tool available"), "{third:?}");
    assert_eq!(session.scratch.bytes("a.txt"), b"old\n");

    // The session's hook has seen the calls of all who had the tool.
    let seen = session.scratch.bytes("seen");
    let seen = String::from_utf8(seen).expect("text");
    // One call did not reach its hooks, because its input was refused.
    assert_eq!(seen.lines().count(), 5 + 2 + 1 + 1);

    // Events can be told apart although every call has the same id on the wire.
    drop(finished);
    drop(session.events);
    while let Some(event) = received.recv().await {
        all_events.push(event.event);
    }
    let mut completed: Vec<(CallRef, CallOutcome)> = all_events
        .into_iter()
        .filter_map(|event| match event {
            AgentEvent::Call {
                call,
                event: CallEvent::Completed { outcome, .. },
                ..
            } => Some((call, outcome)),
            _ => None,
        })
        .collect();
    completed.sort_by_key(|(call, _)| *call);
    let of = |agent: u32, outcomes: &[CallOutcome]| -> Vec<(CallRef, CallOutcome)> {
        let numbers = 1..;
        let calls = numbers.map(|number| CallRef {
            agent: AgentId(agent),
            number,
        });
        calls.zip(outcomes.iter().cloned()).collect()
    };
    let (well, failed) = (CallOutcome::Succeeded, CallOutcome::Failed);
    let expected = [
        of(
            1,
            &[
                well.clone(),
                well.clone(),
                well.clone(),
                CallOutcome::Backgrounded,
                CallOutcome::Denied,
            ],
        ),
        of(2, &[failed.clone(), well.clone(), well]),
        of(3, &[CallOutcome::Cancelled]),
        of(4, &[CallOutcome::Cancelled]),
        of(5, &[failed]),
    ];
    assert_eq!(completed, expected.concat());

    // Background commands belong to the session.
    let jobs = &session.shared.env.groups;
    let left = CallRef {
        agent: AgentId(1),
        number: 4,
    };
    assert_eq!(jobs.jobs.running(left), Some("bash_1".to_owned()));
    jobs.end().await;
}
