//! What the person does independently of the turns: commands, running calls again, taking messages back, continuing
//! past limits.

use serde_json::json;

use super::rig::{Rig, call};
use crate::conversation::Limits;
use crate::protocol::{
    AgentEvent, AgentId, Answer, BackgroundEnd, CallCommand, CallEvent, CallOutcome, CallRef,
    Command, Ending, LeftOut, Mode, PartOfFile, SessionCommand, SessionEvent, TurnCommand,
    TurnEvent,
};

/// The model's first call.
const FIRST: CallRef = CallRef::main(1);

fn run(command: &str) -> Command {
    Command::Session(SessionCommand::Run(command.into()))
}

/// A command that prints, and then waits until the file exists.
fn waiting(file: &str) -> String {
    format!("echo waits; until [ -e {file} ]; do sleep 0.01; done")
}

/// A call of the person, by its number.
fn aside(number: u32) -> CallRef {
    let agent = AgentId::PERSON;
    CallRef { agent, number }
}

#[tokio::test]
async fn a_command_of_the_person_runs_without_asking_and_the_next_message_tells_the_model() {
    let mut rig = Rig::new([]);
    rig.send(run("mkdir sub && cd sub && echo here"));
    let over = rig.aside_over().await;
    assert_eq!(over, (aside(1), "here".into(), CallOutcome::Succeeded));
    assert_eq!(rig.context.cwd(), rig.scratch.path("sub"));
    rig.submit("and now?");
    assert_eq!(rig.finished().await, Ending::Done);
    let sent = rig.last_sent();
    let [aside, prompt] = sent.as_slice() else {
        panic!("two blocks, not {sent:?}")
    };
    assert!(aside.starts_with("<user-ran>\n"), "{aside}");
    assert!(
        aside.contains("Bash(mkdir sub && cd sub && echo here)\n<output>\nhere"),
        "{aside}"
    );
    assert_eq!(prompt, "and now?");
    rig.submit("again");
    rig.finished().await;
    assert_eq!(rig.last_sent(), ["again"], "the model is told once");
}

#[tokio::test]
async fn forbidden_commands_do_not_run_for_the_person_either() {
    let mut rig = Rig::new([]);
    rig.context.shared.set_mode(Mode::Plan);
    rig.send(run("rm -rf /"));
    let (_, text, outcome) = rig.aside_over().await;
    assert_eq!(outcome, CallOutcome::Denied);
    assert!(text.contains("this command never runs"), "{text}");
    rig.send(run("touch x"));
    let (_, _, outcome) = rig.aside_over().await;
    assert_eq!(
        outcome,
        CallOutcome::Succeeded,
        "the mode applies only to the model"
    );
}

#[tokio::test]
async fn an_unreported_command_is_reported_by_the_next_run_of_the_program() {
    let mut rig = Rig::new([]);
    rig.send(run("echo kept"));
    rig.aside_over().await;
    let mut rig = rig.resumed().await;
    rig.submit("go on");
    rig.finished().await;
    assert!(rig.last_sent()[0].contains("kept"));
    let mut rig = rig.resumed().await;
    rig.submit("more");
    rig.finished().await;
    assert_eq!(rig.last_sent(), ["more"]);
}

#[tokio::test]
async fn a_command_of_the_person_runs_during_a_turn_and_can_be_stopped_alone() {
    let mut rig = Rig::new([vec![call("c", "Bash", json!({"command": "touch x"}))]]);
    rig.submit("go");
    rig.wait_for_question(AgentId::MAIN).await;
    rig.send(run(&waiting("never")));
    rig.printed(AgentId::PERSON).await;
    rig.order(aside(1), CallCommand::Cancel);
    let (_, text, outcome) = rig.aside_over().await;
    assert_eq!(outcome, CallOutcome::Cancelled);
    assert!(text.contains("waits"), "{text}");
    rig.answer(FIRST, Answer::Allow);
    assert_eq!(rig.finished().await, Ending::Done);
}

#[tokio::test]
async fn an_interrupt_stops_commands_of_the_person_while_no_turn_runs() {
    let mut rig = Rig::new([]);
    rig.send(run(&waiting("never")));
    rig.printed(AgentId::PERSON).await;
    rig.send(Command::Turn(TurnCommand::Interrupt));
    assert_eq!(rig.aside_over().await.2, CallOutcome::Cancelled);
}

#[tokio::test]
async fn a_running_call_can_be_restarted_without_asking_and_has_one_result() {
    let command = format!("echo x >> count; {}", waiting("go"));
    let mut rig = Rig::new([vec![call("c", "Bash", json!({ "command": command }))]]);
    rig.submit("go");
    rig.wait_for_question(AgentId::MAIN).await;
    rig.answer(FIRST, Answer::Allow);
    rig.printed(AgentId::MAIN).await;
    rig.order(FIRST, CallCommand::RunAgain);
    rig.printed(AgentId::MAIN).await;
    rig.scratch.put("go", "");
    assert_eq!(rig.finished().await, Ending::Done);
    assert_eq!(rig.scratch.bytes("count"), b"x\nx\n");
    assert_eq!(rig.last_sent(), ["waits"]);
}

#[tokio::test]
async fn a_finished_call_can_run_again_for_the_person() {
    let mut rig = Rig::new([vec![call("c", "Bash", json!({"command": "echo x"}))]]);
    rig.submit("go");
    rig.finished().await;
    rig.order(FIRST, CallCommand::RunAgain);
    let over = rig.aside_over().await;
    assert_eq!(over, (aside(1), "x".into(), CallOutcome::Succeeded));
    rig.order(aside(1), CallCommand::RunAgain);
    assert_eq!(rig.aside_over().await.0, aside(2));
    rig.order(CallRef::main(99), CallCommand::RunAgain);
    let notice = rig.wait_for(|event| match event {
        AgentEvent::Session(SessionEvent::Notice(text)) => Some(text),
        _ => None,
    });
    assert_eq!(notice.await, "that call can't be run again");
}

#[tokio::test]
async fn a_denied_call_asks_before_it_runs_again() {
    let mut rig = Rig::new([vec![call("c", "Bash", json!({"command": "touch x"}))]]);
    rig.submit("go");
    rig.wait_for_question(AgentId::MAIN).await;
    let deny = Answer::Deny { reason: None };
    rig.answer(FIRST, deny.clone());
    rig.finished().await;
    rig.order(FIRST, CallCommand::RunAgain);
    assert_eq!(rig.wait_for_question(AgentId::PERSON).await, aside(1));
    rig.answer(aside(1), deny);
    assert_eq!(rig.aside_over().await.2, CallOutcome::Denied);
    rig.order(aside(1), CallCommand::RunAgain);
    assert_eq!(rig.wait_for_question(AgentId::PERSON).await, aside(2));
    rig.answer(aside(2), Answer::Allow);
    assert_eq!(rig.aside_over().await.2, CallOutcome::Succeeded);
    rig.order(aside(2), CallCommand::RunAgain);
    let (call, _, outcome) = rig.aside_over().await;
    assert_eq!((call, outcome), (aside(3), CallOutcome::Succeeded));
}

#[tokio::test]
async fn a_partly_allowed_change_asks_before_it_runs_again() {
    let input = json!({"file_path": "x", "content": "one\ntwo\n"});
    let mut rig = Rig::new([vec![call("c", "Write", input)]]);
    rig.submit("go");
    rig.wait_for_question(AgentId::MAIN).await;
    let part = PartOfFile {
        path: "x".to_owned(),
        after: "one\n".to_owned(),
    };
    let left_out = LeftOut { count: 1, of: 2 };
    let files = vec![part];
    rig.answer(FIRST, Answer::AllowPart { files, left_out });
    rig.finished().await;
    rig.order(FIRST, CallCommand::RunAgain);
    assert_eq!(rig.wait_for_question(AgentId::PERSON).await, aside(1));
}

#[tokio::test]
async fn a_command_of_the_person_can_continue_in_the_background() {
    let mut rig = Rig::new([]);
    rig.send(run(&waiting("go")));
    rig.printed(AgentId::PERSON).await;
    rig.order(aside(1), CallCommand::Background);
    assert_eq!(rig.aside_over().await.2, CallOutcome::Backgrounded);
    assert_eq!(rig.context.shared.env.groups.running(), [waiting("go")]);
    rig.resumed().await;
}

#[tokio::test]
async fn cancelling_a_call_stops_its_background_command_and_reports_the_end() {
    let mut rig = Rig::new([]);
    rig.send(run(&waiting("never")));
    rig.printed(AgentId::PERSON).await;
    rig.order(aside(1), CallCommand::Background);
    assert_eq!(rig.aside_over().await.2, CallOutcome::Backgrounded);
    rig.order(aside(1), CallCommand::Cancel);
    let ended = (aside(1), BackgroundEnd::Stopped);
    assert_eq!(rig.background_ended().await, ended);
}

#[tokio::test]
async fn the_end_of_a_background_command_is_reported_during_a_turn() {
    let input = json!({"command": "exit 3", "run_in_background": true});
    let mut rig = Rig::new([
        vec![call("c", "Bash", input)],
        vec![call("d", "Bash", json!({"command": "touch x"}))],
    ]);
    rig.submit("go");
    rig.wait_for_question(AgentId::MAIN).await;
    rig.answer(FIRST, Answer::Allow);
    let ended = (FIRST, BackgroundEnd::Exited(3));
    assert_eq!(rig.background_ended().await, ended);
}

#[tokio::test]
async fn every_change_of_mode_is_answered_with_the_active_mode() {
    let mut rig = Rig::new([]);
    rig.send(Command::Session(SessionCommand::SetMode(Mode::Plan)));
    let decided = rig.wait_for(|event| match event {
        AgentEvent::Session(SessionEvent::ModeIs(mode)) => Some(mode),
        _ => None,
    });
    assert_eq!(decided.await, Mode::Plan);
    assert_eq!(rig.context.shared.mode(), Mode::Plan);
}

#[tokio::test]
async fn a_limit_pauses_the_loop_until_the_person_continues() {
    let read = |id: &str| vec![call(id, "Bash", json!({"command": format!("echo {id}")}))];
    let limits = Limits {
        pauses: true,
        max_turns: Some(1),
        ..Limits::default()
    };
    let mut rig = Rig::limited([read("a"), read("b")], limits);
    rig.submit("go");
    let paused = |event| match event {
        TurnEvent::Paused { why } => Some(why),
        _ => None,
    };
    let why = "turn limit reached (`maxTurns`)";
    assert_eq!(rig.wait_for_turn(paused).await, why);
    assert_eq!(rig.last_sent(), ["go"]);
    rig.send(Command::Turn(TurnCommand::Continue));
    assert_eq!(rig.wait_for_turn(paused).await, why);
    assert_eq!(rig.last_sent(), ["a"]);
    rig.send(Command::Turn(TurnCommand::Interrupt));
    assert_eq!(rig.finished().await, Ending::Interrupted);
    rig.submit("more");
    assert_eq!(rig.finished().await, Ending::Done);
    assert_eq!(rig.last_sent(), ["b", "more"], "the history is valid");
}

#[tokio::test]
async fn every_call_reports_who_decided() {
    let touch = |id: &str| call(id, "Bash", json!({"command": "touch x"}));
    let look = call("a", "Bash", json!({"command": "ls"}));
    let never = call("d", "Bash", json!({"command": "rm -rf /"}));
    let mut rig = Rig::new([vec![look, touch("b"), touch("c"), never]]);
    rig.submit("go");
    let decided = |call, event| match event {
        CallEvent::Decided {
            by, settled: true, ..
        } => Some((call, by)),
        _ => None,
    };
    let expected = |number, by: &str| (CallRef::main(number), by.to_owned());
    let first = rig.wait_for_call(AgentId::MAIN, decided).await;
    assert_eq!(first, expected(1, "read-only command"));
    rig.wait_for_question(AgentId::MAIN).await;
    rig.answer(CallRef::main(2), Answer::Allow);
    assert_eq!(
        rig.wait_for_call(AgentId::MAIN, decided).await,
        expected(2, "allowed once by you")
    );
    rig.wait_for_question(AgentId::MAIN).await;
    let reason = Some("not now".into());
    rig.answer(CallRef::main(3), Answer::Deny { reason });
    assert_eq!(
        rig.wait_for_call(AgentId::MAIN, decided).await,
        expected(3, "denied by you: not now")
    );
    let (call, by) = rig.wait_for_call(AgentId::MAIN, decided).await;
    assert!(
        call == CallRef::main(4) && by.starts_with("denied: this command never runs"),
        "{by}"
    );
}
