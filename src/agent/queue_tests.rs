//! Queued messages: when they are sent, when they come back, and that each does exactly one of the two.

use serde_json::json;

use super::rig::{Rig, call};
use crate::conversation::Limits;
use crate::protocol::{
    AgentEvent, AgentId, Answer, Block, CallRef, Command, Ending, QueuedSelection, SessionCommand,
    SessionEvent, TurnCommand, TurnEvent,
};

const FIRST: CallRef = CallRef::main(1);
const BACK: &str = "Your queued message was not sent; it is back in the input";

/// A call that waits for the person, so that the turn runs as long as the test needs.
fn asks() -> Vec<Block> {
    vec![call("c", "Bash", json!({"command": "touch x"}))]
}

/// A turn that waits for the person.
async fn waiting_turn(answers: impl IntoIterator<Item = Vec<Block>>) -> Rig {
    let mut rig = Rig::new(answers);
    rig.submit("go");
    rig.wait_for_question(AgentId::MAIN).await;
    rig
}

fn take_back(selection: QueuedSelection) -> Command {
    Command::Session(SessionCommand::TakeBack(selection))
}

fn one(text: &str) -> QueuedSelection {
    QueuedSelection::One(vec![Block::text(text)])
}

fn texts(messages: &[Vec<Block>]) -> Vec<String> {
    messages.iter().map(Block::texts).collect()
}

async fn taken_back(rig: &mut Rig) -> Vec<String> {
    let taken = rig.wait_for(|event| match event {
        AgentEvent::Session(SessionEvent::TakenBack(messages)) => Some(texts(&messages)),
        _ => None,
    });
    taken.await
}

/// What is reported about the queue and the turns until a turn ends.
async fn events(rig: &mut Rig) -> Vec<String> {
    let events = rig.whole_turn().await.into_iter();
    let reported = events.filter_map(|event| match event {
        AgentEvent::Session(SessionEvent::TakenBack(messages)) => {
            Some(format!("back: {}", texts(&messages).join(", ")))
        }
        AgentEvent::Session(SessionEvent::Notice(text)) => Some(text),
        AgentEvent::Turn(_, TurnEvent::Prompted(message)) => {
            Some(format!("sent: {}", message.text()))
        }
        AgentEvent::Turn(_, TurnEvent::Finished(summary)) => Some(format!("{:?}", summary.ending)),
        _ => None,
    });
    reported.collect()
}

#[tokio::test]
async fn queued_messages_can_be_taken_back() {
    let mut rig = waiting_turn([asks()]).await;
    rig.submit("one");
    rig.submit("two");
    rig.send(take_back(QueuedSelection::All));
    assert_eq!(taken_back(&mut rig).await, ["one", "two"]);
    rig.answer(FIRST, Answer::Deny { reason: None });
    rig.finished().await;
    assert_eq!(rig.last_sent().len(), 1, "nothing was left to send");
}

#[tokio::test]
async fn one_message_can_be_taken_back_and_the_others_are_sent() {
    let mut rig = waiting_turn([asks()]).await;
    for text in ["one", "two", "three"] {
        rig.submit(text);
    }
    rig.send(take_back(one("two")));
    assert_eq!(taken_back(&mut rig).await, ["two"]);
    rig.send(take_back(one("two")));
    assert_eq!(
        taken_back(&mut rig).await,
        [""; 0],
        "it is no longer queued"
    );
    rig.answer(FIRST, Answer::Allow);
    let events = events(&mut rig).await;
    assert_eq!(events, ["sent: one", "sent: three", "Done"]);
}

#[tokio::test]
async fn a_message_that_was_sent_is_not_given_back() {
    let mut rig = Rig::new([vec![Block::text("hello")], asks()]);
    rig.submit("one");
    rig.finished().await;
    rig.submit("two");
    rig.wait_for_question(AgentId::MAIN).await;
    rig.send(take_back(one("two")));
    assert_eq!(taken_back(&mut rig).await, [""; 0]);
}

#[tokio::test]
async fn messages_queued_before_an_interrupt_come_back_with_a_notice_and_later_ones_are_sent() {
    let mut rig = waiting_turn([asks()]).await;
    rig.submit("before");
    rig.send(Command::Turn(TurnCommand::Interrupt));
    rig.submit("after");
    assert_eq!(
        events(&mut rig).await,
        [BACK, "back: before", "Interrupted"]
    );
    assert_eq!(events(&mut rig).await, ["sent: after", "Done"]);
    let requests = rig.requests();
    let all = requests.iter().flatten();
    assert!(all.clone().all(|text| text != "before"), "{requests:?}");
    assert_eq!(
        requests.last().and_then(|it| it.last()),
        Some(&"after".to_owned())
    );
}

#[tokio::test]
async fn a_second_interrupt_gives_nothing_back() {
    let mut rig = waiting_turn([asks()]).await;
    rig.send(Command::Turn(TurnCommand::Interrupt));
    rig.submit("after");
    rig.send(Command::Turn(TurnCommand::Interrupt));
    assert_eq!(events(&mut rig).await, ["Interrupted"]);
    assert_eq!(events(&mut rig).await, ["sent: after", "Done"]);
}

#[tokio::test]
async fn a_turn_stopped_for_a_message_sends_it_even_after_a_second_interrupt() {
    let mut rig = waiting_turn([asks()]).await;
    rig.submit("rather this");
    rig.send(Command::Turn(TurnCommand::SendQueue));
    rig.send(Command::Turn(TurnCommand::Interrupt));
    assert_eq!(events(&mut rig).await, ["Interrupted"]);
    assert_eq!(events(&mut rig).await, ["sent: rather this", "Done"]);
}

#[tokio::test]
async fn sending_an_empty_queue_does_not_stop_the_turn() {
    let mut rig = waiting_turn([asks()]).await;
    rig.send(Command::Turn(TurnCommand::SendQueue));
    rig.answer(FIRST, Answer::Allow);
    assert_eq!(rig.finished().await, Ending::Done);
}

#[tokio::test]
async fn messages_queued_when_a_run_fails_come_back_with_a_notice() {
    let limits = Limits {
        max_turns: Some(1),
        ..Limits::default()
    };
    let mut rig = Rig::limited([asks()], limits);
    rig.submit("go");
    rig.wait_for_question(AgentId::MAIN).await;
    rig.submit("later");
    rig.answer(FIRST, Answer::Allow);
    assert_eq!(events(&mut rig).await, ["MaxTurns"]);
    let notice = rig.wait_for(|event| match event {
        AgentEvent::Session(SessionEvent::Notice(text)) => Some(text),
        _ => None,
    });
    assert_eq!(notice.await, BACK);
    assert_eq!(taken_back(&mut rig).await, ["later"]);
}
