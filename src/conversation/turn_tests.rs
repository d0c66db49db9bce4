//! What makes an exchange continue, one test each.

use std::time::Duration;

use serde_json::{Value, json};

use super::limits::Limits;
use super::turn::{Fact, Next, Turn};
use crate::protocol::{
    AgentId, Block, CallNumbers, CallRef, Ending, Message, Origin, StopReason, ToolCall,
    ToolResult, ToolUse, Usage,
};
use crate::provider::retry::Policy;
use crate::provider::{
    ProviderError, ProviderErrorKind, Response, StreamError, StreamErrorKind, StreamEvent,
};

pub(crate) fn origin() -> Origin {
    Origin {
        provider: "script".into(),
        model: "m".into(),
    }
}

/// A turn whose first message was sent, with a driver that has no other messages and retries at once.
#[derive(Debug)]
pub(crate) struct Driven {
    pub turn: Turn,
    waits: bool,
}

impl Driven {
    pub fn begun(turn: Turn) -> Self {
        let mut driven = Self { turn, waits: false };
        let begun = driven.handle(Fact::Prompted(vec![text("do it")]));
        let sent = [Next::Write(vec![text("do it")]), Next::Send { attempt: 0 }];
        assert_eq!(begun, sent);
        driven
    }

    pub fn handle(&mut self, fact: Fact) -> Vec<Next> {
        if self.waits && fact != Fact::Interrupted {
            self.turn.handle(Fact::TimeToTry);
            self.turn.handle(Fact::Collected(None));
        }
        let mut nexts = self.turn.handle(fact);
        if nexts.last() == Some(&Next::Collect) {
            nexts.pop();
            nexts.extend(self.turn.handle(Fact::Collected(None)));
        }
        self.waits = matches!(nexts.last(), Some(Next::Wait { .. }));
        nexts
    }
}

pub(crate) fn turn() -> Driven {
    limited(Limits::default())
}

pub(crate) fn limited(limits: Limits) -> Driven {
    let retry = Policy {
        tries: 3,
        base: Duration::from_secs(1),
        cap: Duration::from_secs(1),
    };
    let numbers = CallNumbers::after(AgentId::MAIN, 0);
    Driven::begun(Turn::new(origin(), limits, retry, numbers, 7))
}

pub(crate) fn call(id: &str) -> Block {
    call_with(id, json!({"file_path": id}))
}

pub(crate) fn call_with(id: &str, input: Value) -> Block {
    Block::ToolUse(ToolUse {
        id: id.into(),
        name: "Read".into(),
        input: input.into(),
        input_raw: None,
        input_error: None,
    })
}

/// A call whose input has arrived only up to `raw`.
pub(crate) fn half_call(id: &str, raw: &str) -> Block {
    Block::ToolUse(ToolUse {
        id: id.into(),
        name: "Write".into(),
        input: Value::Null.into(),
        input_raw: Some(raw.into()),
        input_error: Some("invalid_json".into()),
    })
}

/// The request to run the first call of an exchange.
pub(crate) fn execute(id: &str) -> Next {
    Next::Execute(ToolCall {
        call: CallRef::main(1),
        id: id.into(),
        name: "Read".into(),
        input: json!({"file_path": id}).into(),
    })
}

pub(crate) fn text(text: &str) -> Block {
    Block::text(text)
}

pub(crate) fn result(id: &str) -> ToolResult {
    ToolResult::text(id.into(), format!("read {id}"))
}

pub(crate) fn ended(block: Block) -> Fact {
    Fact::Streamed(StreamEvent::BlockEnded(block))
}

pub(crate) fn written(text: &str) -> Fact {
    Fact::Streamed(StreamEvent::Text(text.into()))
}

pub(crate) fn whole(blocks: &[Block], stop_reason: StopReason) -> Response {
    Response {
        blocks: blocks.to_vec(),
        stop_reason: Some(stop_reason),
        complete: true,
        ..Response::default()
    }
}

pub(crate) fn broken(retryable: bool) -> Response {
    Response {
        error: Some(StreamError {
            kind: StreamErrorKind::Truncated,
            code: "eof".into(),
            message: "unexpected end".into(),
            retryable,
        }),
        ..Response::default()
    }
}

pub(crate) fn over(response: Response) -> Fact {
    Fact::Over(Box::new(response))
}

pub(crate) fn answer(blocks: &[Block], stop_reason: Option<StopReason>) -> Next {
    Next::Answer {
        message: Message::from_assistant(blocks.to_vec(), origin()),
        stop_reason,
        usage: Usage::default(),
    }
}

/// The results of the first calls of an exchange.
pub(crate) fn deliver(results: &[ToolResult]) -> Next {
    deliver_from(1, results)
}

/// The results of calls from this one on.
pub(crate) fn deliver_from(first: u32, results: &[ToolResult]) -> Next {
    let calls = (first..).map(CallRef::main).take(results.len());
    Next::Deliver {
        calls: calls.collect(),
        then: Vec::new(),
    }
}

/// The stream broke, and was not requested again.
fn stream_broken() -> Next {
    Next::Finish(Ending::Failed {
        problem: "the connection to the provider broke: unexpected end".into(),
        hint: Some(super::words::STREAM_HINT.into()),
    })
}

pub(crate) fn failed(problem: &str) -> Next {
    Next::Finish(Ending::Failed {
        problem: problem.into(),
        hint: None,
    })
}

/// Streams the blocks, ends the answer and hands in a result for every call that was executed.
pub(crate) fn give(turn: &mut Driven, blocks: &[Block], stop_reason: StopReason) -> Vec<Next> {
    let mut nexts = Vec::new();
    for block in blocks {
        nexts.extend(turn.handle(ended(block.clone())));
    }
    nexts.extend(turn.handle(over(whole(blocks, stop_reason))));
    nexts.extend(turn.handle(Fact::Drained));
    nexts
}

pub(crate) fn endings(nexts: &[Next]) -> Vec<&Ending> {
    let endings = nexts.iter().filter_map(|next| match next {
        Next::Finish(ending) => Some(ending),
        _ => None,
    });
    endings.collect()
}

#[test]
fn an_answer_without_calls_ends_the_exchange() {
    let mut turn = turn();
    assert_eq!(turn.handle(written("Hel")), [Next::ShowText("Hel".into())]);
    assert_eq!(turn.handle(ended(text("Hello"))), []);
    let blocks = [text("Hello")];
    assert_eq!(
        turn.handle(over(whole(&blocks, StopReason::EndTurn))),
        [Next::Drain]
    );
    assert_eq!(
        turn.handle(Fact::Drained),
        [
            answer(&blocks, Some(StopReason::EndTurn)),
            Next::Finish(Ending::Done)
        ]
    );
    let summary = turn.turn.summary(Ending::Done, Duration::ZERO);
    assert_eq!((summary.text.as_str(), summary.responses), ("Hello", 1));
}

#[test]
fn a_call_is_handed_over_when_its_block_ends() {
    let mut turn = turn();
    let (id, name) = ("a".into(), "Read".into());
    let started = StreamEvent::ToolStarted { id, name };
    let shown = turn.handle(Fact::Streamed(started));
    assert!(matches!(shown[..], [Next::ShowInputStarted { .. }]));
    assert_eq!(turn.handle(ended(call("a"))), [execute("a")]);
}

#[test]
fn a_search_of_the_provider_is_one_call_from_its_beginning_to_its_result() {
    let mut turn = turn();
    let serving = |id: &str| {
        Fact::Streamed(StreamEvent::Serving {
            id: id.into(),
            name: "web_search".into(),
        })
    };
    let item = |id: &str| Block::Other {
        wire_type: "web_search_call".into(),
        start: json!({"type": "web_search_call", "id": id, "status": "completed"}),
    };
    let call = CallRef::main(1);
    let name = "web_search".to_owned();
    assert_eq!(
        turn.handle(serving("ws")),
        [Next::ShowServing { call, name }]
    );
    let ended = |id: &str| Fact::Streamed(StreamEvent::BlockEnded(item(id)));
    let kept = |id: &str, number| Next::Keep {
        block: item(id),
        call: Some(CallRef::main(number)),
    };
    assert_eq!(turn.handle(ended("ws")), [kept("ws", 1)]);
    assert_eq!(turn.handle(ended("unannounced")), [kept("unannounced", 2)]);
}

#[test]
fn the_content_decides_whether_the_loop_continues_never_the_stop_reason() {
    for reason in [StopReason::EndTurn, StopReason::Unknown("tired".into())] {
        let nexts = give(&mut turn(), &[call("a")], reason.clone());
        let expected = [
            execute("a"),
            Next::Drain,
            answer(&[call("a")], Some(reason)),
            deliver(&[result("a")]),
            Next::Send { attempt: 0 },
        ];
        assert_eq!(nexts, expected);
    }
    let nexts = give(&mut turn(), &[text("done")], StopReason::ToolUse);
    assert_eq!(endings(&nexts), [&Ending::Done]);
}

#[test]
fn results_are_delivered_in_the_order_of_the_blocks() {
    let mut turn = turn();
    let blocks = [text("so"), call("a"), call("b"), call("c")];
    for block in &blocks {
        turn.handle(ended(block.clone()));
    }
    turn.handle(over(whole(&blocks, StopReason::ToolUse)));
    let nexts = turn.handle(Fact::Drained);
    assert_eq!(nexts[1], deliver(&[result("a"), result("b"), result("c")]));
}

#[test]
fn a_call_that_ran_but_is_missing_in_the_answer_is_added() {
    let mut turn = turn();
    turn.handle(ended(call("a")));
    turn.handle(over(whole(&[text("hm")], StopReason::EndTurn)));
    assert_eq!(
        turn.handle(Fact::Drained),
        [
            answer(&[text("hm"), call("a")], Some(StopReason::EndTurn)),
            deliver(&[result("a")]),
            Next::Send { attempt: 0 }
        ]
    );
}

#[test]
fn a_stream_that_breaks_before_a_call_is_requested_again() {
    let mut turn = turn();
    turn.handle(written("Let me"));
    turn.handle(ended(half_call("a", "{\"file")));
    let nexts = turn.handle(over(broken(true)));
    let [
        Next::Discard,
        Next::Wait {
            problem,
            wait,
            attempt: 1,
        },
    ] = &nexts[..]
    else {
        panic!("a retry, not {nexts:?}");
    };
    assert_eq!(
        problem,
        "the connection to the provider broke: unexpected end"
    );
    assert!((Duration::from_millis(750)..=Duration::from_secs(1)).contains(wait));
    let nexts = give(&mut turn, &[text("Hello")], StopReason::EndTurn);
    let blocks = [text("Hello")];
    assert!(
        nexts.contains(&answer(&blocks, Some(StopReason::EndTurn))),
        "nothing is doubled"
    );
}

#[test]
fn a_stream_that_breaks_after_a_call_keeps_complete_blocks_and_continues() {
    let mut turn = turn();
    turn.handle(ended(text("I read")));
    turn.handle(ended(call("a")));
    turn.handle(written("and then"));
    let kept = "The connection broke; what had arrived was kept".to_owned();
    assert_eq!(
        turn.handle(over(broken(true))),
        [Next::ReportBroken(kept), Next::Drain]
    );
    let nexts = turn.handle(Fact::Drained);
    assert_eq!(
        nexts[..2],
        [
            answer(&[text("I read"), call("a")], None),
            deliver(&[result("a")]),
        ]
    );
    let problem = "the connection to the provider broke: unexpected end";
    assert!(
        matches!(&nexts[2..], [Next::Wait { problem: reason, attempt: 1, .. }] if reason == problem),
        "it is said why, and waited: {nexts:?}"
    );
}

#[test]
fn answers_that_keep_breaking_after_a_call_end_the_run() {
    let mut turn = turn();
    let mut last = Vec::new();
    for id in ["a", "b", "c", "d"] {
        turn.handle(ended(call(id)));
        turn.handle(over(broken(true)));
        last = turn.handle(Fact::Drained);
    }
    assert_eq!(
        last[1..],
        [deliver_from(4, &[result("d")]), stream_broken()]
    );
}

#[test]
fn a_final_error_of_a_stream_ends_the_run_with_the_results_delivered() {
    let mut turn = turn();
    turn.handle(ended(call("a")));
    turn.handle(over(broken(false)));
    assert_eq!(
        turn.handle(Fact::Drained)[1..],
        [deliver(&[result("a")]), stream_broken()]
    );
    let nexts = limited(Limits::default()).handle(over(broken(false)));
    assert_eq!(nexts, [Next::Discard, stream_broken()]);
}

#[test]
fn a_request_fails_after_its_attempts_and_an_answer_resets_the_count() {
    let mut turn = turn();
    let passing = || {
        Fact::Failed(ProviderError {
            kind: ProviderErrorKind::Retry {
                after: Some(Duration::from_secs(9)),
            },
            message: "overloaded".into(),
            hint: Some("wait".into()),
        })
    };
    let retry = |attempt| Next::Wait {
        problem: "overloaded".into(),
        wait: Duration::from_secs(9),
        attempt,
    };
    assert_eq!(turn.handle(passing()), [retry(1)]);
    assert_eq!(turn.handle(passing()), [retry(2)]);
    give(&mut turn, &[call("a")], StopReason::ToolUse);
    assert_eq!(turn.handle(passing()), [retry(1)]);
    turn.handle(passing());
    let ending = Ending::Failed {
        problem: "overloaded".into(),
        hint: Some("wait".into()),
    };
    assert_eq!(turn.handle(passing()), [Next::Finish(ending)]);
    assert_eq!(turn.handle(passing()), [], "an ended exchange stays ended");
}

#[test]
fn a_final_error_is_not_retried() {
    for kind in [ProviderErrorKind::Final, ProviderErrorKind::ContextFull] {
        let error = ProviderError {
            kind,
            message: "no such model".into(),
            hint: None,
        };
        assert_eq!(
            turn().handle(Fact::Failed(error)),
            [failed("no such model")]
        );
    }
}

#[test]
fn a_call_cut_off_by_max_tokens_is_not_executed_and_the_loop_continues() {
    let block = half_call("a", "{\"content\":\"abc");
    let nexts = give(
        &mut turn(),
        std::slice::from_ref(&block),
        StopReason::MaxTokens,
    );
    let Block::ToolUse(broken_call) = block.clone() else {
        panic!("a call, not {block:?}");
    };
    let notes = ToolResult::error(
        "a".into(),
        "Write was not executed: the answer reached its length limit inside the call's input. Make the call again with \
         a smaller input, in several steps if need be",
    );
    assert_eq!(
        nexts,
        [
            Next::Drain,
            Next::Settle {
                call: ToolCall {
                    call: CallRef::main(1),
                    id: broken_call.id,
                    name: broken_call.name,
                    input: broken_call.input,
                },
                result: notes.clone(),
            },
            answer(&[block], Some(StopReason::MaxTokens)),
            deliver(&[notes]),
            Next::Send { attempt: 0 }
        ]
    );
}

#[test]
fn an_input_that_is_not_an_object_is_shown_to_the_model() {
    let notes = |block| {
        let nexts = give(&mut turn(), &[block], StopReason::ToolUse);
        match &nexts[1] {
            Next::Settle { result, .. } => result.as_sent().as_text(),
            other => panic!("settled, not {other:?}"),
        }
    };
    assert_eq!(
        notes(half_call("a", "[1]")),
        "<tool_use_error>Write was not executed: its input is not a JSON object. What came begins with: \
         [1]</tool_use_error>"
    );
    let without_raw = notes(call_with("a", json!(3)));
    assert!(without_raw.contains("not a JSON object"), "{without_raw}");
}

#[test]
fn the_third_equal_call_warns_the_model_and_the_fifth_ends_the_run() {
    let mut turn = turn();
    let same = |id: &str| call_with(id, json!({"file_path": "x"}));
    let mut notes = Vec::new();
    let mut last = Vec::new();
    for id in ["a", "b", "c", "d", "e"] {
        last = give(&mut turn, &[same(id)], StopReason::ToolUse);
        notes.push(
            last.iter()
                .any(|next| matches!(next, Next::Deliver { then, .. } if !then.is_empty())),
        );
    }
    assert_eq!(notes, [false, false, true, true, true]);
    assert!(!last.iter().any(|next| matches!(next, Next::Execute(_))));
    assert!(last.iter().any(|next| matches!(next, Next::Settle { .. })));
    let ending = Ending::Failed {
        problem: "the model made the same Read call 5 times in a row".into(),
        hint: Some("tell it what to do instead, and resume with --continue".into()),
    };
    assert_eq!(endings(&last), [&ending]);
}

#[test]
fn five_equal_calls_in_one_answer_end_the_run_whatever_follows_them() {
    let mut blocks: Vec<Block> = ["a", "b", "c", "d", "e"]
        .map(|id| call_with(id, json!({"file_path": "x"})))
        .to_vec();
    blocks.push(call("other"));
    let nexts = give(&mut turn(), &blocks, StopReason::ToolUse);
    assert!(
        matches!(endings(&nexts)[..], [Ending::Failed { .. }]),
        "{nexts:#?}"
    );
}

#[test]
fn another_call_in_between_resets_the_count() {
    let mut turn = turn();
    let same = |id: &str| call_with(id, json!({"file_path": "x"}));
    for round in 0..4 {
        let blocks = [
            same(&format!("{round}a")),
            same(&format!("{round}b")),
            call("y"),
        ];
        let nexts = give(&mut turn, &blocks, StopReason::ToolUse);
        assert_eq!(nexts.last(), Some(&Next::Send { attempt: 0 }));
        assert!(
            !nexts
                .iter()
                .any(|next| matches!(next, Next::Deliver { then, .. } if !then.is_empty()))
        );
    }
}
