//! Random streams, answers and interrupts: in every case, each executed call has exactly one result.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::limits::{HookedSteps, Limits};
use super::turn::{Fact, Next, Turn};
use super::turn_tests::{Driven, call_with, origin};
use crate::protocol::{AgentId, Block, CallNumbers, CallRef, Message, StopReason, WireId};
use crate::provider::retry::Policy;
use crate::provider::{
    ProviderError, ProviderErrorKind, Response, StreamError, StreamErrorKind, StreamEvent,
};

/// One answer of a model, or a failure.
#[derive(Debug, Clone)]
enum Reply {
    Refused { retryable: bool },
    Stream { pieces: Vec<Piece>, end: End },
}

#[derive(Debug, Clone)]
enum Piece {
    Text,
    Thought,
    Call { input: u8 },
    BrokenCall,
    Interrupt,
}

#[derive(Debug, Clone)]
enum End {
    Well { reason: u8, interrupted: bool },
    Badly { retryable: bool },
}

fn reply() -> impl Strategy<Value = Reply> {
    let piece = prop_oneof![
        3 => Just(Piece::Text),
        1 => Just(Piece::Thought),
        6 => (0_u8..3).prop_map(|input| Piece::Call { input }),
        1 => Just(Piece::BrokenCall),
        1 => Just(Piece::Interrupt),
    ];
    let end = prop_oneof![
        4 => (0_u8..5, prop::bool::weighted(0.1)).prop_map(|(reason, interrupted)| End::Well { reason, interrupted }),
        1 => any::<bool>().prop_map(|retryable| End::Badly { retryable }),
    ];
    prop_oneof![
        1 => any::<bool>().prop_map(|retryable| Reply::Refused { retryable }),
        8 => (prop::collection::vec(piece, 0..7), end).prop_map(|(pieces, end)| Reply::Stream { pieces, end }),
    ]
}

/// A turn with the driver's side of it: what was executed, and what has its result.
struct Rig {
    turn: Driven,
    /// Their ids on the wire.
    names: HashMap<CallRef, WireId>,
    delivered: HashSet<CallRef>,
    open: HashSet<CallRef>,
    next_id: usize,
    last: Option<Next>,
    over: bool,
    /// Whether hooks make it continue when it would end.
    hook_answers: Vec<bool>,
}

impl Rig {
    fn new(limits: Limits) -> Self {
        let retry = Policy {
            tries: 3,
            base: Duration::from_secs(1),
            cap: Duration::from_secs(1),
        };
        let numbers = CallNumbers::after(AgentId::MAIN, 0);
        Self {
            turn: Driven::begun(Turn::new(origin(), limits, retry, numbers, 1)),
            names: HashMap::new(),
            delivered: HashSet::new(),
            open: HashSet::new(),
            next_id: 0,
            last: None,
            over: false,
            hook_answers: Vec::new(),
        }
    }

    /// Feeds a fact and checks everything that follows, draining at once if requested.
    fn feed(&mut self, fact: Fact) -> bool {
        let (mut drains, mut asked_to_stop) = (false, false);
        let nexts = self.turn.handle(fact);
        assert!(!self.over || nexts.is_empty(), "nothing after the end");
        let mut answered: Option<Vec<WireId>> = None;
        for next in nexts {
            match &next {
                Next::Continue(_) => panic!("no answer was reopened"),
                Next::Execute(call) => {
                    self.names.insert(call.call, call.id.clone());
                    assert!(self.open.insert(call.call), "executed once");
                }
                Next::Settle { call, .. } => {
                    self.names.insert(call.call, call.id.clone());
                }
                Next::Drain => drains = true,
                Next::Answer { message, .. } => answered = Some(calls_of(message)),
                Next::Deliver { calls, .. } => {
                    let ids = calls.iter().map(|call| self.names[call].clone());
                    let ids: Vec<WireId> = ids.collect();
                    assert_eq!(Some(&ids), answered.as_ref(), "a result per call, in order");
                    for call in calls {
                        self.open.remove(call);
                        assert!(self.delivered.insert(*call), "one result per call");
                    }
                }
                Next::Send { .. } | Next::Finish(_) => {
                    assert_eq!(
                        self.open,
                        HashSet::new(),
                        "no call is left without a result"
                    );
                    self.over = matches!(next, Next::Finish(_));
                }
                Next::Wait { .. } => {
                    assert_eq!(
                        self.open,
                        HashSet::new(),
                        "what was begun is not asked for again"
                    );
                }
                Next::ShowText(_)
                | Next::ShowThinking(_)
                | Next::ShowServing { .. }
                | Next::ShowInputStarted { .. }
                | Next::ShowInput { .. }
                | Next::Keep { .. }
                | Next::Discard
                | Next::ReportBroken(_)
                | Next::Warn(_)
                | Next::Count(_)
                | Next::Note(_)
                | Next::Write(_)
                | Next::Refuse => {}
                Next::AskToStop { .. } => {
                    assert_eq!(self.open, HashSet::new(), "an end has no open calls");
                    asked_to_stop = true;
                }
                Next::Pause { .. } => panic!("nobody is there to wait for"),
                Next::CheckPrompt(_) => panic!("no hooks look at messages"),
                Next::Collect => panic!("answered by the driver"),
            }
            self.last = Some(next);
        }
        if asked_to_stop {
            let fact = match self.hook_answers.pop() {
                Some(true) => Fact::MustContinue("more".into()),
                Some(false) | None => Fact::MayStop,
            };
            return self.feed(fact);
        }
        drains
    }

    fn drain(&mut self, interrupted: bool) {
        if interrupted {
            assert!(!self.feed(Fact::Interrupted));
        }
        self.feed(Fact::Drained);
    }

    fn play(&mut self, reply: &Reply) {
        let (pieces, end) = match reply {
            Reply::Refused { retryable } => {
                let kind = if *retryable {
                    ProviderErrorKind::Retry { after: None }
                } else {
                    ProviderErrorKind::Final
                };
                self.feed(Fact::Failed(ProviderError {
                    kind,
                    message: "no".into(),
                    hint: None,
                }));
                return;
            }
            Reply::Stream { pieces, end } => (pieces, end),
        };
        let mut blocks = Vec::new();
        for piece in pieces {
            if matches!(piece, Piece::Interrupt) {
                if self.feed(Fact::Interrupted) {
                    self.drain(false);
                }
                return;
            }
            let block = self.block(piece);
            if let Block::Text { text, .. } = &block {
                self.feed(Fact::Streamed(StreamEvent::Text(text.clone())));
            }
            self.feed(Fact::Streamed(StreamEvent::BlockEnded(block.clone())));
            blocks.push(block);
        }
        let (response, interrupted) = match end {
            End::Well {
                reason,
                interrupted,
            } => (well(blocks, *reason), *interrupted),
            End::Badly { retryable } => (badly(*retryable), false),
        };
        if self.feed(Fact::Over(Box::new(response))) {
            self.drain(interrupted);
        }
    }

    fn block(&mut self, piece: &Piece) -> Block {
        self.next_id += 1;
        let id = self.next_id.to_string();
        match piece {
            Piece::Text | Piece::Interrupt => Block::text("words"),
            Piece::Thought => Block::RedactedThinking { data: "x".into() },
            Piece::Call { input } => call_with(&id, json!({"n": input})),
            Piece::BrokenCall => call_with(&id, Value::Null),
        }
    }
}

fn calls_of(message: &Message) -> Vec<WireId> {
    message.tool_uses().map(|call| call.id.clone()).collect()
}

fn well(blocks: Vec<Block>, reason: u8) -> Response {
    let stop_reason = match reason {
        0 => StopReason::EndTurn,
        1 => StopReason::ToolUse,
        2 => StopReason::MaxTokens,
        3 => StopReason::Refusal,
        _ => StopReason::PauseTurn,
    };
    Response {
        blocks,
        stop_reason: Some(stop_reason),
        complete: true,
        ..Response::default()
    }
}

fn badly(retryable: bool) -> Response {
    Response {
        error: Some(StreamError {
            kind: StreamErrorKind::Api,
            code: "overloaded_error".into(),
            message: "busy".into(),
            retryable,
        }),
        ..Response::default()
    }
}

proptest! {
    #[test]
    fn every_executed_call_has_one_result_before_the_next_request_or_the_end(
        replies in prop::collection::vec(reply(), 1..12),
        max_turns in prop::option::of(1_u32..6),
        hook_answers in prop::collection::vec(any::<bool>(), 0..4),
        halts in prop::option::of(0_usize..12),
    ) {
        let hooked = HookedSteps { end: !hook_answers.is_empty(), prompts: false };
        let mut rig = Rig::new(Limits { hooked, max_turns, ..Limits::default() });
        rig.hook_answers = hook_answers;
        for (at, reply) in replies.iter().enumerate() {
            if halts == Some(at) {
                rig.feed(Fact::Halted("enough".into()));
            }
            rig.play(reply);
            let settled = matches!(
                rig.last,
                Some(Next::Send { .. } | Next::Wait { .. } | Next::Finish(_))
            );
            prop_assert!(settled, "the exchange knows what comes next: {:?}", rig.last);
        }
    }

    #[test]
    fn an_interrupt_ends_any_exchange(replies in prop::collection::vec(reply(), 0..6)) {
        let mut rig = Rig::new(Limits::default());
        for reply in &replies {
            rig.play(reply);
        }
        if rig.feed(Fact::Interrupted) {
            rig.drain(false);
        }
        prop_assert!(rig.over, "{:?}", rig.last);
    }
}
