//! Tools that ask the person while they run.

use serde_json::json;

use super::driver::Observed;
use super::rig::tools::question;
use super::rig::{Rig, Setting, secs};
use super::shared::Asking;
use crate::protocol::{Answer, CallOutcome, CallRef, Chosen, Phase, Question, QuestionKind, Reply};

fn rig() -> Rig {
    Rig::with(Setting {
        asking: Asking::Person,
        ..Setting::default()
    })
}

/// A call that asks these questions, and its first question.
async fn asking(rig: &mut Rig, tool: &str, questions: &[&str]) -> Question {
    rig.call("a", tool, json!({ "questions": questions }));
    rig.question("a").await
}

fn yes() -> Reply {
    Reply::Chosen(vec![Chosen {
        options: vec![0],
        text: None,
        ..Chosen::default()
    }])
}

/// The phases of the call so far.
fn phases(rig: &Rig) -> Vec<Phase> {
    let seen = rig.seen.0.iter().filter_map(|observed| match observed {
        Observed::Reached(_, phase) => Some(*phase),
        _ => None,
    });
    seen.collect()
}

fn asked(rig: &Rig) -> usize {
    let seen = rig.seen.0.iter();
    seen.filter(|it| matches!(it, Observed::Asked(_))).count()
}

#[tokio::test(start_paused = true)]
async fn a_tool_asks_and_continues_with_the_reply() {
    let mut rig = rig();
    let question_seen = asking(&mut rig, "Asks", &["really?"]).await;
    assert_eq!(
        question_seen,
        Question {
            call: CallRef::from("a"),
            asker: None,
            kind: QuestionKind::Choice(vec![question("really?")]),
        }
    );
    rig.pass(secs(3600)).await;
    assert_eq!(phases(&rig).last(), Some(&Phase::WaitingForApproval));
    rig.reply(
        "a",
        Reply::Chosen(vec![Chosen {
            options: Vec::new(),
            text: Some("perhaps".into()),
            ..Chosen::default()
        }]),
    );
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["[] Some(\"perhaps\")"]);
    let tail = [Phase::Running, Phase::WaitingForApproval, Phase::Running];
    assert!(phases(&rig).ends_with(&tail), "{:?}", phases(&rig));
}

#[tokio::test(start_paused = true)]
async fn without_a_person_the_tool_gets_a_reply_at_once() {
    let mut rig = Rig::new();
    rig.call("a", "Asks", json!({ "questions": ["really?"] }));
    rig.stream_ended();
    let run = rig.deliver().await;
    assert_eq!(run.results, ["Nobody"]);
    assert_eq!((run.took, asked(&rig)), (secs(0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_question_says_which_conversation_asks() {
    let mut rig = Rig::with(Setting {
        asking: Asking::Person,
        name: Some("the explorer".into()),
        ..Setting::default()
    });
    let question = asking(&mut rig, "Asks", &["really?"]).await;
    assert_eq!(question.asker.as_deref(), Some("the explorer"));
}

#[tokio::test(start_paused = true)]
async fn the_person_may_not_want_to_answer() {
    let mut rig = rig();
    asking(&mut rig, "Asks", &["really?"]).await;
    rig.reply("a", Reply::Dismissed);
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["Dismissed"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_of_another_kind_is_ignored() {
    let mut rig = rig();
    asking(&mut rig, "Asks", &["really?"]).await;
    for other in [Reply::Permission(Answer::Allow), Reply::Nobody] {
        rig.reply("a", other);
        rig.pass(secs(1)).await;
        assert_eq!(phases(&rig).last(), Some(&Phase::WaitingForApproval));
    }
    rig.reply("a", yes());
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["[0] None"]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_to_a_tool_is_not_a_permission() {
    let mut rig = Rig::asking();
    rig.add(super::rig::unsafe_("a"));
    rig.request("a").await;
    for other in [yes(), Reply::Dismissed, Reply::Nobody] {
        rig.reply("a", other);
        rig.pass(secs(1)).await;
    }
    assert_eq!(rig.called(), Vec::<String>::new());
    rig.answer("a", Answer::Allow);
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn two_questions_of_a_call_are_asked_one_after_the_other() {
    let mut rig = rig();
    asking(&mut rig, "Asks", &["really?", "sure?"]).await;
    rig.pass(secs(1)).await;
    assert_eq!(asked(&rig), 1);
    rig.reply("a", yes());
    rig.pass(secs(1)).await;
    assert_eq!(asked(&rig), 2);
    rig.reply("a", Reply::Dismissed);
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["[0] None, Dismissed"]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_question() {
    let mut rig = rig();
    asking(&mut rig, "Asks", &["really?"]).await;
    rig.interrupt();
    rig.stream_ended();
    let run = rig.deliver().await;
    assert_eq!(run.took, secs(0));
    let outcome = rig.seen.0.iter().find_map(|observed| match observed {
        Observed::Completed { outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    assert_eq!(outcome, Some(CallOutcome::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_finishes_after_an_interrupt_gets_no_reply_and_cannot_ask() {
    let mut rig = rig();
    asking(&mut rig, "AsksAndBlocks", &["really?", "sure?"]).await;
    rig.interrupt();
    rig.stream_ended();
    let run = rig.deliver().await;
    assert_eq!(run.results, ["Dismissed, Dismissed"]);
    assert_eq!(asked(&rig), 1);
    assert_eq!(phases(&rig).last(), Some(&Phase::Finishing));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_stops_waiting_continues() {
    let mut rig = rig();
    rig.call(
        "a",
        "Asks",
        json!({ "questions": ["really?"], "patience": 500 }),
    );
    rig.question("a").await;
    rig.pass(std::time::Duration::from_millis(600)).await;
    assert_eq!(phases(&rig).last(), Some(&Phase::Running));
    rig.reply("a", yes());
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["never mind"]);
}
