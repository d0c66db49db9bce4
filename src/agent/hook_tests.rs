use serde_json::{Value, json};

use super::rig::{self, Rig};
use crate::conversation::Limits;
use crate::conversation::limits::HookedSteps;
use crate::conversation::turn::{Fact, Next};
use crate::conversation::turn_tests::{call, endings, give, limited, text};
use crate::hooks::matcher::Matcher;
use crate::hooks::rig::hook;
use crate::hooks::{Event, Hook};
use crate::protocol::{
    AgentEvent, Block, Command, Ending, LeaveReason, SessionCommand, SessionEvent, StopReason,
    TurnCommand, TurnEvent,
};

fn notice(event: AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Session(SessionEvent::Notice(text)) => Some(text),
        _ => None,
    }
}

fn note(reason: &str) -> Next {
    let text = format!("You cannot stop yet. A hook of the user says: {reason}");
    Next::Note(vec![Block::by_hooks(&text)])
}

#[test]
fn stop_hooks_can_make_a_turn_continue() {
    let mut turn = limited(Limits {
        hooked: HookedSteps {
            end: true,
            ..HookedSteps::default()
        },
        ..Limits::default()
    });
    let nexts = give(&mut turn, &[text("done")], StopReason::EndTurn);
    assert_eq!(nexts.last(), Some(&Next::AskToStop { again: false }));
    assert_eq!(
        turn.handle(Fact::MustContinue("test it".into())),
        [note("test it"), Next::Send { attempt: 0 }]
    );
    let nexts = give(&mut turn, &[text("tested")], StopReason::EndTurn);
    assert_eq!(nexts.last(), Some(&Next::AskToStop { again: true }));
    assert_eq!(turn.handle(Fact::MayStop), [Next::Finish(Ending::Done)]);
}

#[test]
fn hooks_cannot_make_a_turn_continue_forever() {
    let mut turn = limited(Limits {
        hooked: HookedSteps {
            end: true,
            ..HookedSteps::default()
        },
        ..Limits::default()
    });
    for _ in 0..8 {
        let nexts = give(&mut turn, &[text("done")], StopReason::EndTurn);
        assert!(
            matches!(nexts.last(), Some(Next::AskToStop { .. })),
            "{nexts:?}"
        );
        turn.handle(Fact::MustContinue("more".into()));
    }
    let nexts = give(&mut turn, &[text("done")], StopReason::EndTurn);
    assert_eq!(endings(&nexts), [&Ending::Done]);
}

#[test]
fn limits_apply_even_if_hooks_want_to_continue() {
    let mut turn = limited(Limits {
        hooked: HookedSteps {
            end: true,
            ..HookedSteps::default()
        },
        max_turns: Some(1),
        ..Limits::default()
    });
    give(&mut turn, &[text("done")], StopReason::EndTurn);
    let nexts = turn.handle(Fact::MustContinue("more".into()));
    assert_eq!(endings(&nexts), [&Ending::MaxTurns]);
}

#[test]
fn an_interrupt_ends_a_turn_that_waits_for_stop_hooks() {
    let mut turn = limited(Limits {
        hooked: HookedSteps {
            end: true,
            ..HookedSteps::default()
        },
        ..Limits::default()
    });
    give(&mut turn, &[text("done")], StopReason::EndTurn);
    assert_eq!(
        turn.handle(Fact::Interrupted),
        [Next::Finish(Ending::Interrupted)]
    );
    assert_eq!(turn.handle(Fact::MustContinue("more".into())), []);
}

#[test]
fn a_halted_turn_ends_once_its_calls_have_their_results() {
    let mut turn = limited(Limits::default());
    assert_eq!(turn.handle(Fact::Halted("enough".into())), []);
    let nexts = give(&mut turn, &[call("a")], StopReason::ToolUse);
    let ending = Ending::Failed {
        problem: "enough".into(),
        hint: None,
    };
    assert!(
        matches!(nexts[nexts.len() - 2], Next::Deliver { .. }),
        "{nexts:?}"
    );
    assert_eq!(endings(&nexts), [&ending]);
}

fn bash(command: &str) -> Block {
    rig::call("b", "Bash", json!({ "command": command }))
}

fn seen(rig: &Rig, name: &str) -> Value {
    let text = std::fs::read_to_string(rig.scratch.root.join(name)).expect("written");
    serde_json::from_str(&text).expect("JSON")
}

#[tokio::test]
async fn the_context_of_hooks_goes_out_with_the_first_prompt_and_only_once() {
    let hooks = vec![
        hook(
            Event::SessionStart,
            "cat > start.json; echo the branch is main",
        ),
        hook(
            Event::UserPromptSubmit,
            "cat > prompt.json; echo it is late",
        ),
    ];
    let mut rig = Rig::hooked([], hooks);
    rig.submit("hello");
    assert_eq!(rig.finished().await, Ending::Done);
    assert_eq!(
        rig.last_sent(),
        ["hello", "<hook>\nthe branch is main\nit is late\n</hook>"]
    );
    assert_eq!(
        (
            seen(&rig, "start.json")["source"].as_str(),
            seen(&rig, "prompt.json")["prompt"].as_str()
        ),
        (Some("startup"), Some("hello"))
    );
    rig.submit("again");
    rig.finished().await;
    assert_eq!(rig.last_sent(), ["again", "<hook>\nit is late\n</hook>"]);
}

#[tokio::test]
async fn a_blocked_prompt_never_reaches_history_model_or_log() {
    let refuse = "grep -q secret && { echo keep it to yourself >&2; exit 2; }; true";
    let mut rig = Rig::hooked([], vec![hook(Event::UserPromptSubmit, refuse)]);
    rig.submit("my secret");
    rig.wait_for_turn(|event| (event == TurnEvent::Refused).then_some(()))
        .await;
    let Ending::Failed { problem, .. } = rig.finished().await else {
        panic!("it is refused");
    };
    assert!(
        problem.starts_with("blocked by the hook ") && problem.ends_with(": keep it to yourself"),
        "{problem}"
    );
    rig.submit("hello");
    assert_eq!(rig.finished().await, Ending::Done);
    assert_eq!(rig.requests(), [vec!["hello".to_owned()]]);
    let log = rig.scratch.root.with_file_name("log.jsonl");
    assert!(
        !std::fs::read_to_string(log)
            .expect("a log")
            .contains("my secret")
    );
}

#[tokio::test]
async fn hooks_also_see_queued_messages() {
    let look = "if grep -q bad; then echo no >&2; exit 2; fi";
    let hooks = vec![
        hook(Event::UserPromptSubmit, look),
        // The turn waits until the messages have arrived.
        hook(Event::PreToolUse, "until [ -e go ]; do sleep 0.01; done"),
    ];
    let mut rig = Rig::hooked([vec![bash("echo hi")]], hooks);
    rig.submit("first");
    rig.wait_for(|event| matches!(event, AgentEvent::Call { .. }).then_some(()))
        .await;
    rig.submit("bad");
    rig.submit("good");
    rig.send(Command::Session(SessionCommand::SetMode(
        crate::protocol::Mode::Plan,
    )));
    rig.wait_for(|event| {
        matches!(event, AgentEvent::Session(SessionEvent::ModeIs(_))).then_some(())
    })
    .await;
    std::fs::write(rig.scratch.root.join("go"), "").expect("written");
    let text = rig.wait_for(notice).await;
    assert!(
        text.starts_with("blocked by the hook ") && text.ends_with(": no"),
        "{text}"
    );
    assert_eq!(rig.finished().await, Ending::Done);
    let sent = rig.requests().concat();
    assert!(
        sent.contains(&"good".to_owned()) && !sent.contains(&"bad".to_owned()),
        "{sent:?}"
    );
}

#[tokio::test]
async fn an_interrupt_stops_hooks_that_look_at_a_prompt() {
    let mut rig = Rig::hooked(
        [],
        vec![hook(Event::UserPromptSubmit, "touch begun; sleep 321")],
    );
    rig.submit("hello");
    let begun = rig.scratch.root.join("begun");
    while !begun.exists() {
        tokio::task::yield_now().await;
    }
    rig.send(Command::Turn(TurnCommand::Interrupt));
    rig.wait_for_turn(|event| (event == TurnEvent::Refused).then_some(()))
        .await;
    assert_eq!(rig.finished().await, Ending::Interrupted);
    assert_eq!(rig.requests(), Vec::<Vec<String>>::new());
}

#[tokio::test]
async fn a_stop_hook_makes_the_model_continue_once() {
    let once = "cat > stop.json; grep -q '\"stop_hook_active\":false' stop.json && { echo run the tests >&2; exit 2; }; true";
    let mut rig = Rig::hooked(
        [vec![Block::text("one")], vec![Block::text("two")]],
        vec![hook(Event::Stop, once)],
    );
    rig.submit("go");
    let text = rig.wait_for(notice).await;
    assert!(
        text.contains("keeps the model working: run the tests"),
        "{text}"
    );
    assert_eq!(rig.finished().await, Ending::Done);
    assert_eq!(
        rig.last_sent(),
        ["<hook>\nYou cannot stop yet. A hook of the user says: run the tests\n</hook>"]
    );
    let last = seen(&rig, "stop.json");
    assert_eq!(
        (&last["stop_hook_active"], &last["last_assistant_message"]),
        (&json!(true), &json!("two"))
    );
}

#[tokio::test]
async fn a_stop_hook_that_fails_lets_the_turn_end() {
    let mut rig = Rig::hooked([], vec![hook(Event::Stop, "exit 1")]);
    rig.submit("go");
    let text = rig.wait_for(notice).await;
    assert_eq!(
        text,
        "Stop hook `exit 1` in settings.json failed: exit code 1"
    );
    assert_eq!(rig.finished().await, Ending::Done);
}

#[tokio::test]
async fn a_hook_can_end_the_turn_after_the_call() {
    let halt = r#"cat > /dev/null; echo '{"continue": false, "stopReason": "enough"}'"#;
    let mut rig = Rig::hooked(
        [vec![bash("echo hi")]],
        vec![hook(Event::PostToolUse, halt)],
    );
    rig.submit("go");
    let Ending::Failed { problem, .. } = rig.finished().await else {
        panic!("it is stopped");
    };
    assert!(problem.ends_with(" stopped the turn: enough"), "{problem}");
    assert_eq!(rig.requests().len(), 1);
}

#[tokio::test]
async fn hooks_learn_that_a_call_waits_for_the_person() {
    let notify = Hook {
        matcher: Matcher::new("permission_prompt").expect("a pattern"),
        ..hook(Event::Notification, "cat > asked.json; exit 1")
    };
    let mut rig = Rig::hooked([vec![bash("touch made")]], vec![notify]);
    rig.submit("go");
    let text = rig.wait_for(notice).await;
    assert!(text.starts_with("Notification hook"), "{text}");
    let asked = seen(&rig, "asked.json");
    assert_eq!(
        (&asked["notification_type"], &asked["message"]),
        (
            &json!("permission_prompt"),
            &json!("agent-tui needs your permission to use Bash")
        )
    );
}

#[tokio::test]
async fn hooks_learn_that_the_agent_is_idle() {
    let mut rig = Rig::hooked(
        [],
        vec![hook(Event::Notification, "cat > idle.json; exit 1")],
    );
    rig.wait_for(notice).await;
    assert_eq!(seen(&rig, "idle.json")["notification_type"], "idle_prompt");
}

#[tokio::test]
async fn session_end_hooks_get_the_reason_and_do_not_delay_the_exit() {
    let hooks = vec![
        hook(Event::SessionEnd, "cat > end.json"),
        hook(Event::SessionEnd, "sleep 321"),
    ];
    let rig = Rig::hooked([], hooks);
    rig.send(Command::Session(SessionCommand::Leave(LeaveReason::ForNew)));
    let begun = std::time::Instant::now();
    let (scratch, reply) = rig.left().await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(5));
    let text = std::fs::read_to_string(scratch.root.join("end.json")).expect("written");
    assert!(text.contains(r#""reason":"clear""#), "{text}");
    let notices: Vec<String> = reply.into_iter().filter_map(notice).collect();
    assert_eq!(
        notices,
        ["SessionEnd hook `sleep 321` in settings.json failed: it timed out after 0.7 s"]
    );
}
