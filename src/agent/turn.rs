//! One exchange with the model, from a prompt to the end of the loop it starts (SPEC section 3). Pure.
//!
//! Facts go in, what is to be done next comes out. The content of an answer decides whether the loop goes on, never its
//! stop reason. Whatever ends the exchange, every call has its result.

use std::collections::HashMap;
use std::time::Duration;

use super::limits::{self, Limits, Pauses, Repeated};
use super::words::{
    NOTHING_SAID, PAUSED, STREAM_HINT, cut_short, not_run, refusal, silent, stream_problem,
};
use crate::protocol::event::TurnSummary;
use crate::protocol::{
    Block, CallId, Ending, Message, Origin, StopReason, ToolCall, ToolResult, ToolUse, Usage,
};
use crate::provider::retry::Policy;
use crate::provider::{ProviderError, ProviderErrorKind, Response, StreamEvent};

/// How often hooks can make the model go on, whatever they say after that.
const MOST_GONE_ON: u32 = 8;

/// Facts about the exchange.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    Streamed(StreamEvent),
    /// The stream is over, well or not.
    Over(Box<Response>),
    /// The request did not get as far as a stream.
    Failed(ProviderError),
    /// All calls of the answer have their results.
    Drained(Vec<ToolResult>),
    /// The person wants it to stop.
    Interrupted,
    /// The person wants it to go on although a limit was reached.
    GoneOn,
    /// Hooks have nothing against its end.
    MayStop,
    /// Hooks want the model to go on, for this reason.
    MustGoOn(String),
    /// A hook wants it to end; in words.
    Halted(String),
}

/// What is to be done next, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    ShowText(String),
    ShowThinking(String),
    ShowInputStarted {
        id: CallId,
        name: String,
    },
    ShowInput {
        id: CallId,
        fragment: String,
    },
    /// A block that was not streamed as text, and is no call, is complete: it belongs into the log.
    Keep(Block),
    Execute(ToolCall),
    /// No more calls will come: wait until those that there are have their results.
    Drain,
    /// What has come of the answer is void.
    Discard,
    /// A person should know this.
    Warn(String),
    /// A call that was never run has this result.
    Settle {
        call: ToolUse,
        result: ToolResult,
    },
    /// The answer goes into the history.
    Answer {
        message: Message,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// The results go into the history, followed by what else the model is told.
    Deliver {
        results: Vec<ToolResult>,
        then: Vec<Block>,
    },
    /// Ask for an answer.
    Request,
    /// Ask for it again, after a while.
    Retry {
        problem: String,
        wait: Duration,
        attempt: u32,
    },
    /// Wait for the person to say whether it goes on.
    Pause {
        why: String,
    },
    /// Ask the hooks whether it may end; `again` if they have made it go on already.
    AskToStop {
        again: bool,
    },
    /// The model is told this, though nobody has written it.
    Tell(Vec<Block>),
    Finish(Ending),
}

#[derive(Debug)]
pub struct Turn {
    origin: Origin,
    limits: Limits,
    retry: Policy,
    random: fastrand::Rng,
    stage: Stage,
    answer: Partial,
    /// How often in a row a request has failed.
    failures: u32,
    responses: u32,
    usage: Usage,
    /// What was used since the person last said that it goes on.
    spent: (u32, Usage),
    last_text: String,
    repeated: Repeated,
    pauses: Pauses,
    /// How often hooks have made it go on.
    gone_on: u32,
    halted: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// A request is out, or about to go out again.
    Asking,
    /// The answer is whole; its calls are not.
    Draining(Box<Whole>),
    /// A limit was reached; this is what comes once the person says so.
    Paused(After),
    /// Hooks are asked whether it may end.
    Stopping,
    Over,
}

/// An answer that only waits for its results.
#[derive(Debug, Clone, PartialEq)]
struct Whole {
    blocks: Vec<Block>,
    stop_reason: Option<StopReason>,
    usage: Usage,
    after: After,
}

/// What comes after the results.
#[derive(Debug, Clone, PartialEq)]
enum After {
    Loop,
    /// The stream broke after a call had started; this is why.
    Broken(String),
    End(Ending),
}

/// As much of an answer as has come.
#[derive(Debug, Default)]
struct Partial {
    ended: Vec<Block>,
    open_text: String,
    called: bool,
}

impl Turn {
    pub fn new(origin: Origin, limits: Limits, retry: Policy, seed: u64) -> Self {
        Self {
            origin,
            limits,
            retry,
            random: fastrand::Rng::with_seed(seed),
            stage: Stage::Asking,
            answer: Partial::default(),
            failures: 0,
            responses: 0,
            usage: Usage::default(),
            spent: (0, Usage::default()),
            last_text: String::new(),
            repeated: Repeated::default(),
            pauses: Pauses::default(),
            gone_on: 0,
            halted: None,
        }
    }

    pub fn handle(&mut self, fact: Fact) -> Vec<Next> {
        match (fact, std::mem::replace(&mut self.stage, Stage::Asking)) {
            (_, Stage::Over) => {
                self.stage = Stage::Over;
                Vec::new()
            }
            (Fact::Halted(reason), stage) => {
                self.halted.get_or_insert(reason);
                self.stage = stage;
                Vec::new()
            }
            (Fact::MayStop, Stage::Stopping) => self.finish(Ending::Done),
            (Fact::MustGoOn(reason), Stage::Stopping) => self.must_go_on(&reason),
            (Fact::Interrupted, Stage::Stopping | Stage::Paused(_)) => {
                self.finish(Ending::Interrupted)
            }
            (_, Stage::Stopping) => {
                self.stage = Stage::Stopping;
                Vec::new()
            }
            (Fact::Streamed(event), Stage::Asking) => self.streamed(event),
            (Fact::Over(response), Stage::Asking) => self.over(*response),
            (Fact::Failed(error), Stage::Asking) => self.failed(error),
            (Fact::Interrupted, Stage::Asking) => self.interrupted(),
            (Fact::Interrupted, Stage::Draining(mut whole)) => {
                whole.after = After::End(Ending::Interrupted);
                self.stage = Stage::Draining(whole);
                Vec::new()
            }
            (Fact::Drained(results), Stage::Draining(whole)) => self.drained(results, *whole),
            (Fact::GoneOn, Stage::Paused(after)) => {
                self.spent = (0, Usage::default());
                self.repeated = Repeated::default();
                self.go_on(after)
            }
            (_, Stage::Paused(after)) => {
                self.stage = Stage::Paused(after);
                Vec::new()
            }
            (
                Fact::Drained(_) | Fact::GoneOn | Fact::MayStop | Fact::MustGoOn(_),
                Stage::Asking,
            ) => Vec::new(),
            (
                Fact::Streamed(_)
                | Fact::Over(_)
                | Fact::Failed(_)
                | Fact::GoneOn
                | Fact::MayStop
                | Fact::MustGoOn(_),
                Stage::Draining(whole),
            ) => {
                self.stage = Stage::Draining(whole);
                Vec::new()
            }
        }
    }

    pub fn summary(&self, ending: Ending, took: Duration) -> TurnSummary {
        TurnSummary {
            ending,
            text: self.last_text.clone(),
            responses: self.responses,
            usage: self.usage,
            took,
            denials: Vec::new(),
        }
    }

    fn streamed(&mut self, event: StreamEvent) -> Vec<Next> {
        match event {
            StreamEvent::Text(text) => {
                self.answer.open_text.push_str(&text);
                vec![Next::ShowText(text)]
            }
            StreamEvent::Thinking(text) => vec![Next::ShowThinking(text)],
            StreamEvent::ToolStarted { id, name } => vec![Next::ShowInputStarted { id, name }],
            StreamEvent::ToolInput { id, fragment } => vec![Next::ShowInput { id, fragment }],
            StreamEvent::BlockEnded(block) => self.block_ended(block),
        }
    }

    fn block_ended(&mut self, block: Block) -> Vec<Next> {
        let next = match &block {
            Block::ToolUse(call) if call.input.is_object() => {
                if self.repeated.is_too_often(call) {
                    None
                } else {
                    self.answer.called = true;
                    let (id, name, input) =
                        (call.id.clone(), call.name.clone(), call.input.clone());
                    Some(Next::Execute(ToolCall { id, name, input }))
                }
            }
            Block::ToolUse(_) => None,
            // Both were streamed as text, so the log has them.
            Block::Text { .. } | Block::Refusal { .. } => {
                self.answer.open_text.clear();
                None
            }
            other => Some(Next::Keep(other.clone())),
        };
        self.answer.ended.push(block);
        next.into_iter().collect()
    }

    fn over(&mut self, response: Response) -> Vec<Next> {
        let answer = std::mem::take(&mut self.answer);
        let started = answer.called && !self.limits.calls_wait;
        match (response.error, started) {
            (Some(error), false) => {
                let hint = Some(STREAM_HINT.into());
                let kind = if error.retryable {
                    ProviderErrorKind::Retry { after: None }
                } else {
                    ProviderErrorKind::Final
                };
                let mut nexts = vec![Next::Discard];
                nexts.extend(self.failed(ProviderError {
                    kind,
                    message: stream_problem(&error),
                    hint,
                }));
                nexts
            }
            (Some(error), true) => {
                let after = if error.retryable {
                    After::Broken(stream_problem(&error))
                } else {
                    After::End(Ending::Failed {
                        problem: stream_problem(&error),
                        hint: Some(STREAM_HINT.into()),
                    })
                };
                self.drain(answer.ended, None, response.usage, after)
            }
            (None, _) => {
                self.failures = 0;
                let refused = response.stop_reason == Some(StopReason::Refusal);
                let after = if refused
                    && !response
                        .blocks
                        .iter()
                        .any(|block| matches!(block, Block::Refusal { .. }))
                {
                    After::End(refusal(response.stop_details.as_ref()))
                } else {
                    After::Loop
                };
                // What a refusal leaves half said is to be thrown away, but calls that ran stay.
                let void = refused && !answer.called && after != After::Loop;
                let blocks = if void {
                    Vec::new()
                } else {
                    with_all_calls(response.blocks, answer.ended)
                };
                let mut nexts = Vec::from_iter(void.then_some(Next::Discard));
                nexts.extend(self.drain(blocks, response.stop_reason, response.usage, after));
                nexts
            }
        }
    }

    fn failed(&mut self, error: ProviderError) -> Vec<Next> {
        self.answer = Partial::default();
        self.repeated.begin_answer();
        self.failures += 1;
        let wait = match error.kind {
            ProviderErrorKind::Retry { after } => {
                self.retry.wait(self.failures, after, self.random.f64())
            }
            ProviderErrorKind::ContextFull | ProviderErrorKind::Final => None,
        };
        match wait {
            Some(wait) => {
                vec![Next::Retry {
                    problem: error.message,
                    wait,
                    attempt: self.failures,
                }]
            }
            None => self.finish(Ending::Failed {
                problem: error.message,
                hint: error.hint,
            }),
        }
    }

    fn interrupted(&mut self) -> Vec<Next> {
        let answer = std::mem::take(&mut self.answer);
        let mut blocks = answer.ended;
        if !answer.open_text.trim().is_empty() {
            blocks.push(Block::text(answer.open_text));
        }
        self.drain(
            blocks,
            None,
            Usage::default(),
            After::End(Ending::Interrupted),
        )
    }

    fn drain(
        &mut self,
        blocks: Vec<Block>,
        stop_reason: Option<StopReason>,
        usage: Usage,
        after: After,
    ) -> Vec<Next> {
        self.stage = Stage::Draining(Box::new(Whole {
            blocks,
            stop_reason,
            usage,
            after,
        }));
        vec![Next::Drain]
    }

    fn drained(&mut self, results: Vec<ToolResult>, whole: Whole) -> Vec<Next> {
        if !whole.blocks.is_empty() || whole.stop_reason.is_some() {
            self.responses += 1;
            self.spent.0 += 1;
        }
        self.usage.add(whole.usage);
        self.spent.1.add(whole.usage);
        let message = Message::from_assistant(whole.blocks, self.origin.clone());
        let mut nexts = Vec::new();
        let mut by_id: HashMap<CallId, ToolResult> = results
            .into_iter()
            .map(|result| (result.tool_use_id.clone(), result))
            .collect();
        let mut ordered = Vec::new();
        for call in message.tool_uses() {
            if !call.input.is_object() {
                self.repeated.is_too_often(call);
            }
            let result = by_id.remove(&call.id).unwrap_or_else(|| {
                let result = not_run(call, whole.stop_reason.as_ref());
                nexts.push(Next::Settle {
                    call: call.clone(),
                    result: result.clone(),
                });
                result
            });
            ordered.push(result);
        }
        let text = message.text();
        let blank = text.trim().is_empty();
        if !blank {
            self.last_text = text;
        }
        let said = !message.is_blank();
        // A pause in which nothing was said would only be asked for again, word by word.
        let paused = said && whole.stop_reason == Some(StopReason::PauseTurn);
        self.pauses.count(paused && ordered.is_empty());
        let goes_on = !ordered.is_empty() || paused;
        let mut after = whole.after;
        if ordered.is_empty() {
            let problem = cut_short(whole.stop_reason.as_ref());
            let nothing = blank && !goes_on && after == After::Loop;
            let problem = problem.or_else(|| nothing.then(|| NOTHING_SAID.to_owned()));
            if nothing && self.is_silent() {
                after = After::End(silent(problem));
            } else {
                nexts.extend(problem.map(Next::Warn));
            }
        }
        if said {
            nexts.push(Next::Answer {
                message,
                stop_reason: whole.stop_reason,
                usage: whole.usage,
            });
        }
        if !ordered.is_empty() {
            nexts.push(Next::Deliver {
                results: ordered,
                then: self.repeated.note(),
            });
        }
        nexts.extend(self.after(after, goes_on));
        nexts
    }

    /// Whether the whole exchange has come to nothing, and nobody is there who could see that.
    fn is_silent(&self) -> bool {
        !self.limits.pauses && self.responses <= 1 && self.last_text.is_empty()
    }

    fn after(&mut self, after: After, goes_on: bool) -> Vec<Next> {
        match &after {
            After::End(ending) => return self.finish(ending.clone()),
            After::Loop | After::Broken(_) if self.halted.is_some() => {
                let problem = self.halted.take().unwrap_or_default();
                return self.finish(Ending::Failed {
                    problem,
                    hint: None,
                });
            }
            After::Loop if !goes_on => return self.stop(),
            After::Loop | After::Broken(_) => {}
        }
        if let Some(ending) = self.pauses.ending() {
            return self.finish(ending);
        }
        let exhausted = self.limits.exhausted(self.spent.0, self.spent.1);
        if self.limits.pauses {
            let why = self.repeated.reason_to_pause();
            if let Some(why) = why.or_else(|| exhausted.map(limits::reason_to_pause)) {
                self.stage = Stage::Paused(after);
                return vec![Next::Pause { why }];
            }
        } else if let Some(ending) = self.repeated.ending().or(exhausted) {
            return self.finish(ending);
        }
        self.go_on(after)
    }

    fn stop(&mut self) -> Vec<Next> {
        if !self.limits.asks_to_stop {
            return self.finish(Ending::Done);
        }
        if self.gone_on >= MOST_GONE_ON {
            let text =
                format!("hooks have made the model go on {MOST_GONE_ON} times; the turn ends");
            let mut nexts = vec![Next::Warn(text)];
            nexts.extend(self.finish(Ending::Done));
            return nexts;
        }
        self.stage = Stage::Stopping;
        vec![Next::AskToStop {
            again: self.gone_on > 0,
        }]
    }

    fn must_go_on(&mut self, reason: &str) -> Vec<Next> {
        self.gone_on += 1;
        let told = Block::by_hooks(&format!(
            "You cannot stop yet. A hook of the user says: {reason}"
        ));
        let mut nexts = vec![Next::Tell(vec![told])];
        nexts.extend(self.after(After::Loop, true));
        nexts
    }

    fn go_on(&mut self, after: After) -> Vec<Next> {
        self.repeated.begin_answer();
        self.stage = Stage::Asking;
        match after {
            // The results of what has run go out at least once, however few tries there are.
            After::Broken(problem) => match self.retry.wait(self.failures, None, self.random.f64())
            {
                Some(wait) => {
                    self.failures += 1;
                    let attempt = self.failures;
                    vec![Next::Retry {
                        problem,
                        wait,
                        attempt,
                    }]
                }
                None => self.finish(Ending::Failed {
                    problem,
                    hint: Some(STREAM_HINT.into()),
                }),
            },
            After::Loop | After::End(_) => match self.pauses.wait() {
                // It is no failed try: nothing that came is void.
                Some(wait) => vec![Next::Retry {
                    problem: PAUSED.to_owned(),
                    wait,
                    attempt: 0,
                }],
                None => vec![Next::Request],
            },
        }
    }

    fn finish(&mut self, ending: Ending) -> Vec<Next> {
        self.stage = Stage::Over;
        vec![Next::Finish(ending)]
    }
}

/// The blocks of an answer; a call that was run and is, against all rules, not among them, is added.
fn with_all_calls(mut blocks: Vec<Block>, ended: Vec<Block>) -> Vec<Block> {
    for block in ended {
        let Block::ToolUse(call) = &block else {
            continue;
        };
        let known = blocks
            .iter()
            .any(|other| matches!(other, Block::ToolUse(other) if other.id == call.id));
        if !known {
            blocks.push(block);
        }
    }
    blocks
}
