//! What ends an exchange: limits, refusals, interrupts.

use std::time::Duration;

use serde_json::json;

use super::limits::Limits;
use super::turn::{Fact, Next};
use super::turn_tests::{
    Driven, answer, call, call_with, deliver, deliver_from, ended, endings, give, limited, over,
    result, text, turn, whole, written,
};
use crate::protocol::{Block, Ending, Price, StopReason, Usage};
use crate::provider::{Response, StreamEvent};

#[test]
fn max_turns_ends_the_loop_after_the_results() {
    let mut turn = limited(Limits {
        max_turns: Some(2),
        max_tokens: None,
        ..Limits::default()
    });
    assert_eq!(
        endings(&give(&mut turn, &[call("a")], StopReason::ToolUse)),
        [] as [&Ending; 0]
    );
    let nexts = give(&mut turn, &[call("b")], StopReason::ToolUse);
    assert_eq!(
        nexts[3..],
        [
            deliver_from(2, &[result("b")]),
            Next::Finish(Ending::MaxTurns)
        ]
    );
}

#[test]
fn an_answer_in_the_last_turn_is_success() {
    let mut turn = limited(Limits {
        max_turns: Some(1),
        max_tokens: Some(1),
        ..Limits::default()
    });
    let nexts = give(&mut turn, &[text("done")], StopReason::EndTurn);
    assert_eq!(endings(&nexts), [&Ending::Done]);
}

#[test]
fn max_tokens_of_the_run_ends_the_loop() {
    let mut turn = limited(Limits {
        max_turns: None,
        max_tokens: Some(100),
        ..Limits::default()
    });
    let usage = Usage {
        input_tokens: Some(u64::MAX),
        output_tokens: Some(40),
        ..Usage::default()
    };
    turn.handle(ended(call("a")));
    let response = Response {
        usage,
        ..whole(&[call("a")], StopReason::ToolUse)
    };
    turn.handle(over(response));
    let nexts = turn.handle(Fact::Drained);
    assert!(
        matches!(endings(&nexts)[..], [Ending::Failed { problem, .. }] if problem.contains("of 100 (`maxTokens`)")),
        "{nexts:?}"
    );
    assert_eq!(turn.turn.summary(Ending::Done, Duration::ZERO).usage, usage);
}

/// One response with a call that uses this much.
fn used(turn: &mut Driven, id: &str, usage: Usage) -> Vec<Next> {
    turn.handle(ended(call(id)));
    turn.handle(over(Response {
        usage,
        ..whole(&[call(id)], StopReason::ToolUse)
    }));
    turn.handle(Fact::Drained)
}

#[test]
fn max_cost_ends_the_loop_if_the_price_is_known() {
    let usage = Usage {
        input_tokens: Some(200_000),
        cache_creation_input_tokens: Some(100_000),
        cache_read_input_tokens: Some(100_000),
        output_tokens: Some(100_000),
        ..Usage::default()
    };
    let price = Price {
        input: 1.0,
        output: 2.0,
    };
    for (price, ends) in [(Some(price), true), (None, false)] {
        let mut turn = limited(Limits {
            max_cost: Some(1.0),
            price,
            ..Limits::default()
        });
        let nexts = used(&mut turn, "a", usage);
        assert!(nexts.contains(&Next::Count(usage)), "{nexts:?}");
        assert_eq!(endings(&nexts), [] as [&Ending; 0]);
        let nexts = used(&mut turn, "b", usage);
        let problem = "cost limit reached: 1.20 of 1.00 (`maxCost`)";
        let ended = matches!(endings(&nexts)[..], [Ending::Failed { problem: text, .. }] if text == problem);
        assert_eq!(ended, ends, "{nexts:?}");
    }
}

#[test]
fn an_empty_response_is_counted_too() {
    let usage = Usage {
        input_tokens: Some(7),
        ..Usage::default()
    };
    let mut turn = turn();
    turn.handle(over(Response {
        usage,
        ..whole(&[], StopReason::EndTurn)
    }));
    let nexts = turn.handle(Fact::Drained);
    assert!(nexts.contains(&Next::Count(usage)), "{nexts:?}");
    assert_eq!(turn.turn.summary(Ending::Done, Duration::ZERO).usage, usage);
}

#[test]
fn a_pause_continues_and_an_empty_one_ends() {
    let nexts = give(&mut turn(), &[text("searching")], StopReason::PauseTurn);
    assert_eq!(
        nexts[1..],
        [
            answer(&[text("searching")], Some(StopReason::PauseTurn)),
            Next::Send { attempt: 0 }
        ]
    );
    let nexts = give(&mut turn(), &[], StopReason::PauseTurn);
    assert!(matches!(endings(&nexts)[..], [Ending::Failed { .. }]));
}

#[test]
fn repeated_pauses_wait_longer_each_time_and_then_end_the_run() {
    let mut turn = turn();
    let mut waits = Vec::new();
    let ending = loop {
        let nexts = give(&mut turn, &[text("hm")], StopReason::PauseTurn);
        match nexts.last() {
            Some(Next::Send { attempt: 0 }) => waits.push(0),
            Some(Next::Wait { wait, attempt, .. }) => {
                assert_eq!(*attempt, 0, "nothing is discarded");
                waits.push(wait.as_millis());
            }
            Some(Next::Finish(ending)) => break ending.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(waits, [0, 100, 200, 400, 800, 1000, 1000, 1000, 1000]);
    assert!(
        matches!(&ending, Ending::Failed { problem, .. } if problem.contains("10 times in a row")),
        "{ending:?}"
    );
}

#[test]
fn pauses_with_work_between_them_are_not_in_a_row() {
    let mut turn = turn();
    for id in ["a", "b"] {
        for block in [text("hm"), call(id)] {
            let nexts = give(&mut turn, &[block], StopReason::PauseTurn);
            assert_eq!(nexts.last(), Some(&Next::Send { attempt: 0 }));
        }
    }
}

#[test]
fn a_refusal_ends_the_run_and_discards_the_incomplete_text() {
    let mut turn = turn();
    turn.handle(ended(text("First you")));
    let response = Response {
        stop_details: Some(json!({"category": "bio"})),
        ..whole(&[text("First you")], StopReason::Refusal)
    };
    turn.handle(over(response));
    let ending = Ending::Failed {
        problem: "the model declined to answer: bio".into(),
        hint: Some("rephrase the request, or switch the model with --model".into()),
    };
    assert_eq!(turn.handle(Fact::Drained), [Next::Finish(ending)]);
}

#[test]
fn a_refusal_keeps_the_calls_that_ran() {
    let nexts = give(&mut turn(), &[call("a")], StopReason::Refusal);
    assert_eq!(nexts[3], deliver(&[result("a")]));
    assert!(matches!(endings(&nexts)[..], [Ending::Failed { .. }]));
}

#[test]
fn a_refusal_in_words_is_an_answer() {
    let refusal = Block::Refusal {
        text: "I will not".into(),
    };
    let nexts = give(
        &mut turn(),
        std::slice::from_ref(&refusal),
        StopReason::Refusal,
    );
    assert_eq!(
        nexts,
        [
            Next::Drain,
            answer(&[refusal], Some(StopReason::Refusal)),
            Next::Finish(Ending::Done)
        ]
    );
}

#[test]
fn an_interrupt_keeps_the_text_and_the_results_of_its_calls() {
    let mut turn = turn();
    turn.handle(ended(call("a")));
    turn.handle(written("half a sen"));
    assert_eq!(turn.handle(Fact::Interrupted), [Next::Drain]);
    assert_eq!(turn.handle(ended(call("late"))), [], "the stream is over");
    assert_eq!(
        turn.handle(Fact::Drained),
        [
            answer(&[call("a"), text("half a sen")], None),
            deliver(&[result("a")]),
            Next::Finish(Ending::Interrupted)
        ]
    );
}

#[test]
fn an_interrupt_does_not_duplicate_a_complete_refusal() {
    let mut turn = turn();
    let refusal = Block::Refusal { text: "No".into() };
    turn.handle(written("No"));
    assert_eq!(
        turn.handle(ended(refusal.clone())),
        [],
        "the log has its text"
    );
    turn.handle(Fact::Interrupted);
    assert_eq!(turn.handle(Fact::Drained)[0], answer(&[refusal], None));
}

#[test]
fn an_interrupt_before_the_stream_ends_with_nothing_added() {
    let mut turn = turn();
    assert_eq!(turn.handle(Fact::Interrupted), [Next::Drain]);
    assert_eq!(
        turn.handle(Fact::Drained),
        [Next::Finish(Ending::Interrupted)]
    );
    assert_eq!(turn.turn.summary(Ending::Done, Duration::ZERO).responses, 0);
}

#[test]
fn an_interrupt_while_calls_run_waits_for_their_results() {
    let mut turn = turn();
    turn.handle(ended(call("a")));
    turn.handle(over(whole(&[call("a")], StopReason::ToolUse)));
    assert_eq!(turn.handle(Fact::Interrupted), []);
    assert_eq!(turn.handle(Fact::Interrupted), []);
    assert_eq!(
        turn.handle(Fact::Drained)[1..],
        [deliver(&[result("a")]), Next::Finish(Ending::Interrupted)]
    );
}

#[test]
fn without_a_person_an_empty_answer_fails_and_leaves_no_message() {
    for blocks in [&[][..], &[text(" \n")]] {
        let mut turn = turn();
        let nexts = give(&mut turn, blocks, StopReason::EndTurn);
        assert!(
            matches!(endings(&nexts)[..], [Ending::Failed { problem, .. }] if problem == "the model returned an empty answer"),
            "{nexts:?}"
        );
        assert_eq!(turn.turn.summary(Ending::Done, Duration::ZERO).responses, 1);
    }
    let mut turn = turn();
    let nexts = give(&mut turn, &[], StopReason::EndTurn);
    assert!(!nexts.iter().any(|next| matches!(next, Next::Answer { .. })));
}

#[test]
fn a_person_is_told_about_an_empty_answer_and_after_work_it_is_not_a_failure() {
    let nothing = Next::Warn("the model returned an empty answer".into());
    let mut watched = limited(Limits {
        pauses: true,
        ..Limits::default()
    });
    assert_eq!(
        give(&mut watched, &[], StopReason::EndTurn),
        [Next::Drain, nothing.clone(), Next::Finish(Ending::Done)]
    );
    let mut worked = turn();
    give(&mut worked, &[call("a")], StopReason::ToolUse);
    assert_eq!(
        give(&mut worked, &[], StopReason::EndTurn),
        [Next::Drain, nothing, Next::Finish(Ending::Done)]
    );
}

#[test]
fn an_answer_that_was_cut_before_its_first_word_gives_the_reason() {
    let nexts = give(&mut turn(), &[], StopReason::MaxTokens);
    assert!(
        matches!(endings(&nexts)[..], [Ending::Failed { problem, .. }] if problem.contains("length limit")),
        "{nexts:?}"
    );
}

#[test]
fn other_blocks_are_kept_for_the_log_and_thinking_is_shown() {
    let mut turn = turn();
    let thought = Block::Thinking {
        thinking: "hm".into(),
        signature: Some("s".into()),
        item: None,
    };
    let streamed = StreamEvent::Thinking("hm".into());
    assert_eq!(
        turn.handle(Fact::Streamed(streamed)),
        [Next::ShowThinking("hm".into())]
    );
    let keep = Next::Keep {
        block: thought.clone(),
        call: None,
    };
    assert_eq!(turn.handle(ended(thought)), [keep]);
}

#[test]
fn three_equal_calls_in_a_row_wait_for_the_person_and_continuing_resets_the_count() {
    let mut turn = limited(Limits {
        pauses: true,
        ..Limits::default()
    });
    let same = |turn: &mut Driven, id: &str| {
        let block = call_with(id, json!({"file_path": "x"}));
        turn.handle(ended(block.clone()));
        turn.handle(over(whole(&[block], StopReason::ToolUse)));
        let nexts = turn.handle(Fact::Drained);
        nexts.into_iter().next_back()
    };
    for round in ["a", "b"] {
        assert_eq!(
            same(&mut turn, &format!("{round}1")),
            Some(Next::Send { attempt: 0 })
        );
        assert_eq!(
            same(&mut turn, &format!("{round}2")),
            Some(Next::Send { attempt: 0 })
        );
        let why = "the model made the same Read call 3 times in a row".into();
        let paused = same(&mut turn, &format!("{round}3"));
        assert_eq!(paused, Some(Next::Pause { why }));
        assert_eq!(turn.handle(Fact::Drained), []);
        assert_eq!(turn.handle(Fact::Continued), [Next::Send { attempt: 0 }]);
        assert_eq!(turn.handle(Fact::Continued), []);
    }
}
