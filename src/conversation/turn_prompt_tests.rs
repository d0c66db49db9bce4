//! Messages before they are sent: hooks look at them, queued ones are collected, and a failed request waits.

use super::limits::{HookedSteps, Limits};
use super::turn::{Fact, Next, PromptCheck, Turn};
use super::turn_tests::{origin, over, text, whole};
use crate::protocol::{AgentId, Block, CallNumbers, Ending, StopReason};
use crate::provider::retry::Policy;
use crate::provider::{ProviderError, ProviderErrorKind};

fn prompted() -> Turn {
    let limits = Limits {
        hooked: HookedSteps {
            prompts: true,
            end: false,
        },
        ..Limits::default()
    };
    let numbers = CallNumbers::after(AgentId::MAIN, 0);
    Turn::new(origin(), limits, Policy::default(), numbers, 7)
}

fn message(words: &str) -> Vec<Block> {
    vec![text(words)]
}

fn fine(context: &[&str]) -> Fact {
    let context = context.iter().map(|&words| words.to_owned()).collect();
    Fact::PromptChecked(PromptCheck::Fine { context })
}

fn refused() -> Fact {
    Fact::PromptChecked(PromptCheck::Refused {
        problem: "no".to_owned(),
    })
}

fn not_sent() -> Next {
    Next::Finish(Ending::Failed {
        problem: "no".to_owned(),
        hint: Some("your message was not sent to the model".to_owned()),
    })
}

/// A turn whose first message has passed the hooks and was sent.
fn sent() -> Turn {
    let mut turn = prompted();
    turn.handle(Fact::Prompted(message("first")));
    turn.handle(fine(&[]));
    let sent = turn.handle(Fact::Collected(None));
    assert_eq!(sent, [Next::Send { attempt: 0 }]);
    turn
}

#[test]
fn a_message_waits_for_hooks_and_carries_their_context() {
    let mut turn = prompted();
    let prompt = message("first");
    let nexts = turn.handle(Fact::Prompted(prompt.clone()));
    assert_eq!(nexts, [Next::CheckPrompt(prompt.clone())]);
    let written = [prompt, vec![Block::by_hooks("mind the step\nand the gap")]].concat();
    assert_eq!(
        turn.handle(fine(&["mind the step", "and the gap"])),
        [Next::Write(written), Next::Collect]
    );
    assert_eq!(
        turn.handle(Fact::Collected(None)),
        [Next::Send { attempt: 0 }]
    );
}

#[test]
fn a_refused_first_message_ends_the_exchange() {
    let mut turn = prompted();
    turn.handle(Fact::Prompted(message("first")));
    assert_eq!(turn.handle(refused()), [Next::Refuse, not_sent()]);
    assert_eq!(turn.handle(fine(&[])), []);
}

#[test]
fn a_message_that_could_not_be_made_is_not_sent() {
    let mut turn = prompted();
    let nexts = turn.handle(Fact::Unsendable("no".to_owned()));
    assert_eq!(nexts, [Next::Refuse, not_sent()]);
    assert_eq!(turn.handle(Fact::Prompted(message("late"))), []);
    // Once it is there, it is sent.
    let mut turn = sent();
    assert_eq!(turn.handle(Fact::Unsendable("no".to_owned())), []);
}

#[test]
fn an_interrupt_before_the_message_is_there_ends_the_exchange() {
    let mut turn = prompted();
    let text = "your message was not sent: you stopped it while its commands were running";
    assert_eq!(
        turn.handle(Fact::Interrupted),
        [
            Next::Refuse,
            Next::Warn(text.to_owned()),
            Next::Finish(Ending::Interrupted)
        ]
    );
    assert_eq!(turn.handle(Fact::Prompted(message("late"))), []);
}

#[test]
fn a_refused_later_message_is_left_out_and_a_halt_ends_the_exchange() {
    for halts in [false, true] {
        let mut turn = sent();
        turn.handle(over(whole(&[text("so")], StopReason::PauseTurn)));
        assert_eq!(
            turn.handle(Fact::Drained).last(),
            Some(&Next::Collect),
            "a pause goes on"
        );
        let later = message("later");
        let nexts = turn.handle(Fact::Collected(Some(later.clone())));
        assert_eq!(nexts, [Next::CheckPrompt(later)]);
        if halts {
            let problem = "no".to_owned();
            let halted = turn.handle(Fact::PromptChecked(PromptCheck::Halted { problem }));
            assert_eq!(halted, [Next::Refuse, not_sent()]);
        } else {
            assert_eq!(
                turn.handle(refused()),
                [Next::Refuse, Next::Warn("no".to_owned()), Next::Collect]
            );
        }
    }
}

#[test]
fn a_message_is_not_sent_if_the_person_interrupts_its_hooks() {
    let mut turn = prompted();
    turn.handle(Fact::Prompted(message("first")));
    let nexts = turn.handle(Fact::Interrupted);
    assert_eq!(nexts.first(), Some(&Next::Refuse));
    assert_eq!(nexts.last(), Some(&Next::Finish(Ending::Interrupted)));
    assert_eq!(turn.handle(fine(&[])), [], "too late");
}

#[test]
fn queued_messages_are_sent_in_order_with_the_next_request() {
    let numbers = CallNumbers::after(AgentId::MAIN, 0);
    let mut turn = Turn::new(origin(), Limits::default(), Policy::default(), numbers, 7);
    let (first, second) = (message("first"), message("second"));
    assert_eq!(
        turn.handle(Fact::Prompted(first.clone())),
        [Next::Write(first), Next::Collect]
    );
    assert_eq!(
        turn.handle(Fact::Collected(Some(second.clone()))),
        [Next::Write(second), Next::Collect]
    );
    assert_eq!(
        turn.handle(Fact::Collected(None)),
        [Next::Send { attempt: 0 }]
    );
}

#[test]
fn a_failed_request_waits_and_collects_messages_before_it_is_sent_again() {
    let mut turn = sent();
    let error = ProviderError {
        kind: ProviderErrorKind::Retry { after: None },
        message: "busy".to_owned(),
        hint: None,
    };
    let nexts = turn.handle(Fact::Failed(error));
    assert!(
        matches!(&nexts[..], [Next::Wait { problem, attempt: 1, .. }] if problem == "busy"),
        "{nexts:?}"
    );
    assert_eq!(turn.handle(Fact::Collected(None)), [], "nobody asked");
    assert_eq!(turn.handle(Fact::TimeToTry), [Next::Collect]);
    assert_eq!(turn.handle(Fact::TimeToTry), [], "once is enough");
    assert_eq!(
        turn.handle(Fact::Collected(None)),
        [Next::Send { attempt: 1 }]
    );
}

#[test]
fn an_interrupt_ends_the_wait() {
    let mut turn = sent();
    let error = ProviderError {
        kind: ProviderErrorKind::Retry { after: None },
        message: "busy".to_owned(),
        hint: None,
    };
    turn.handle(Fact::Failed(error));
    assert_eq!(
        turn.handle(Fact::Interrupted),
        [Next::Finish(Ending::Interrupted)]
    );
    assert_eq!(turn.handle(Fact::Drained), []);
    assert_eq!(turn.handle(Fact::TimeToTry), []);
}
