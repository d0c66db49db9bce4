//! Custom commands as they become messages: when they are sent, what they allow, and what stops them.

use serde_json::json;

use super::rig::{Rig, call};
use crate::protocol::{
    AgentEvent, AgentId, Answer, Block, CallRef, Command, Ending, SessionCommand, SessionEvent,
    TurnCommand, TurnEvent,
};

fn put(rig: &Rig, name: &str, text: &str) {
    let path = rig.scratch.root.with_file_name("config").join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, text).expect("written");
}

fn touch() -> Vec<Block> {
    vec![call("c", "Bash", json!({"command": "touch mark"}))]
}

fn text_answer(text: &str) -> Vec<Block> {
    vec![Block::text(text)]
}

/// The next message that is sent.
async fn sent(rig: &mut Rig) -> Block {
    let message = rig.wait_for_turn(|event| match event {
        TurnEvent::Prompted(message) => Some(message),
        _ => None,
    });
    message.await.content.pop().expect("a block")
}

#[tokio::test]
async fn a_command_becomes_a_message_that_is_shown_as_it_was_typed() {
    let mut rig = Rig::new([text_answer("fine")]);
    put(
        &rig,
        "commands/review.md",
        "Review $1: !`echo one; echo two`",
    );
    rig.submit("/review it");
    let expected = Block::text("Review it: one\ntwo").shown_as("/review it");
    assert_eq!(sent(&mut rig).await, expected);
    assert_eq!(rig.finished().await, Ending::Done);
    // The output is in the message, and is not told besides.
    rig.submit("go on");
    assert_eq!(sent(&mut rig).await, Block::text("go on"));
    assert_eq!(rig.finished().await, Ending::Done);
    assert_eq!(rig.last_sent(), ["go on"]);
}

#[tokio::test]
async fn what_a_command_allows_ends_with_its_turn() {
    let mut rig = Rig::new([touch(), text_answer("done"), touch(), text_answer("done")]);
    put(
        &rig,
        "commands/mark.md",
        "---\nallowed-tools: Bash(touch mark)\n---\nTouch it.",
    );
    rig.submit("/mark");
    assert_eq!(rig.finished().await, Ending::Done);
    assert!(rig.scratch.path("mark").exists(), "nobody was asked");
    rig.submit("again");
    let asks = rig.wait_for_question(AgentId::MAIN).await;
    rig.answer(asks, Answer::Deny { reason: None });
    assert_eq!(rig.finished().await, Ending::Done);
}

#[tokio::test]
async fn the_model_of_a_command_answers_its_turn_only() {
    let mut rig = Rig::new([text_answer("a"), text_answer("b"), text_answer("c")]);
    put(&rig, "commands/c.md", "---\nmodel: strong\n---\nThink.");
    for line in ["first", "/c", "last"] {
        rig.submit(line);
        assert_eq!(rig.finished().await, Ending::Done);
    }
    let models = rig.models();
    assert_eq!(models[1], "strong");
    assert_eq!(models[0], models[2]);
    assert_ne!(models[0], "strong");
}

#[tokio::test]
async fn a_command_that_is_typed_while_a_turn_runs_has_a_turn_of_its_own() {
    let mut rig = Rig::new([
        touch(),
        text_answer("first done"),
        text_answer("second done"),
    ]);
    put(&rig, "commands/c.md", "Do $1.");
    rig.send(Command::Session(SessionCommand::FindCommands));
    rig.submit("go");
    let asks = rig.wait_for_question(AgentId::MAIN).await;
    rig.submit("/c it");
    rig.submit("and this");
    rig.answer(asks, Answer::Allow);
    assert_eq!(rig.finished().await, Ending::Done);
    assert_eq!(
        sent(&mut rig).await,
        Block::text("Do it.").shown_as("/c it")
    );
    assert_eq!(sent(&mut rig).await, Block::text("and this"));
}

#[tokio::test]
async fn a_no_to_one_of_its_commands_sends_nothing_and_stops_the_others() {
    let mut rig = Rig::new([text_answer("never")]);
    put(&rig, "commands/c.md", "One !`touch one` two !`touch two`");
    rig.submit("/c");
    let asks = rig.wait_for_question(AgentId::PERSON).await;
    rig.answer(asks, Answer::Deny { reason: None });
    let Ending::Failed { problem, hint } = rig.finished().await else {
        panic!("it was sent");
    };
    assert!(problem.starts_with("/c needs `touch "), "{problem}");
    assert_eq!(
        hint.as_deref(),
        Some("your message was not sent to the model")
    );
    assert_eq!(rig.models().len(), 0);
    // The next message goes out as ever.
    rig.submit("hello");
    assert_eq!(rig.finished().await, Ending::Done);
    assert!(!rig.scratch.path("one").exists() && !rig.scratch.path("two").exists());
}

#[tokio::test]
async fn an_interrupt_stops_a_command_that_is_not_a_message_yet() {
    let mut rig = Rig::new([text_answer("never")]);
    put(&rig, "commands/c.md", "One !`touch one`");
    rig.submit("/c");
    let asks = rig.wait_for_question(AgentId::PERSON).await;
    rig.send(Command::Turn(TurnCommand::Interrupt));
    assert_eq!(rig.finished().await, Ending::Interrupted);
    // It is too late to allow it.
    rig.answer(asks, Answer::Allow);
    rig.submit("hello");
    assert_eq!(rig.finished().await, Ending::Done);
    assert_eq!(rig.models().len(), 1);
    assert!(!rig.scratch.path("one").exists());
}

#[tokio::test]
async fn the_model_of_a_command_that_the_model_uses_answers_the_rest_of_the_turn() {
    let mut rig = Rig::new([
        vec![call("s", "SlashCommand", json!({"command": "/c"}))],
        text_answer("thought"),
        text_answer("as usual"),
    ]);
    put(&rig, "commands/c.md", "---\nmodel: strong\n---\nThink.");
    rig.submit("go");
    assert_eq!(rig.finished().await, Ending::Done);
    rig.submit("and now");
    assert_eq!(rig.finished().await, Ending::Done);
    let models = rig.models();
    assert_eq!(models[1], "strong");
    assert_eq!(models[0], models[2]);
    assert_ne!(models[0], "strong");
}

#[tokio::test]
async fn the_model_s_own_command_asks_in_the_name_of_its_call() {
    let used = call("c", "SlashCommand", json!({"command": "/c"}));
    let mut rig = Rig::new([vec![used], text_answer("done")]);
    put(&rig, "commands/c.md", "One !`touch one`");
    rig.send(Command::Session(SessionCommand::FindCommands));
    rig.submit("go");
    let asks = rig.wait_for_question(AgentId::MAIN).await;
    assert_eq!(asks, CallRef::main(1));
    rig.answer(asks, Answer::Allow);
    assert_eq!(rig.finished().await, Ending::Done);
    assert!(rig.scratch.path("one").exists());
}

#[tokio::test]
async fn new_commands_are_told_and_what_is_wrong_with_them_is_said() {
    let mut rig = Rig::new([]);
    put(&rig, "commands/good.md", "Good.");
    put(&rig, "commands/bad.md", "---\nnothing");
    rig.send(Command::Session(SessionCommand::FindCommands));
    let notice = rig.wait_for(|event| match event {
        AgentEvent::Session(SessionEvent::Notice(text)) => Some(text),
        _ => None,
    });
    assert!(notice.await.contains("bad.md`, line 1"));
    let commands = rig.wait_for(|event| match event {
        AgentEvent::Session(SessionEvent::Commands(commands)) => Some(commands),
        _ => None,
    });
    let commands = commands.await;
    let names: Vec<&str> = commands.iter().map(|command| &*command.name).collect();
    assert_eq!(names, ["good"]);
}
