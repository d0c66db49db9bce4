//! One exchange with the model, from a prompt to the end of the loop that it starts. Pure.
//!
//! Facts go in, requests come out. The machine holds the complete state of an exchange, including hooks for prompts
//! and for its end, waiting and retries. The content of an answer decides whether the loop continues, never its stop
//! reason. However the exchange ends, every call has its result.

use std::time::Duration;

mod answering;
mod names;

use self::names::{Names, Served};
use super::limits::{self, Limits, Pauses, Repeated};
use super::spending::Account;
use super::words::{PAUSED, STREAM_HINT};
use crate::protocol::event::TurnSummary;
use crate::protocol::{
    Block, CallNumbers, CallRef, Ending, Message, Origin, Price, Spending, StopReason, ToolCall,
    ToolResult, Usage,
};
use crate::provider::retry::Policy;
use crate::provider::{ProviderError, Response, StreamEvent};

/// How often hooks can make the model continue.
const MOST_CONTINUED: u32 = 8;

/// Facts about the exchange.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    // ─── Messages ───
    /// The message that it begins with.
    Prompted(Vec<Block>),
    /// What it was to begin with can't be sent; in words.
    Unsendable(String),
    /// Hooks have answered about a message.
    PromptChecked(PromptCheck),
    /// The answer to [`Next::Collect`]: a queued message, if there is one.
    Collected(Option<Vec<Block>>),
    /// It begins with an answer of an earlier run of the program. All calls of the answer are named, in the order of their
    /// blocks; these continue, the others have their results.
    Reopened {
        answer: Message,
        calls: Vec<CallRef>,
        continuing: Vec<ToolCall>,
    },
    // ─── The model ───
    Streamed(StreamEvent),
    /// The stream has ended, complete or not.
    Over(Box<Response>),
    /// The request failed before a stream began.
    Failed(ProviderError),
    /// The wait is over, or the person skips it.
    TimeToTry,
    // ─── Calls ───
    /// All calls of the answer have their results.
    Drained,
    /// A call has chosen the model of the next requests, which has this price.
    ModelIs {
        model: String,
        price: Option<Price>,
    },
    /// A subagent has used this much; the limits apply to both together.
    OthersSpent(Spending),
    // ─── Its end ───
    /// The person wants it to stop.
    Interrupted,
    /// The person continues although a limit was reached.
    Continued,
    /// Hooks have no objection to its end.
    MayStop,
    /// Hooks want the model to continue, for this reason.
    MustContinue(String),
    /// A hook ends it, for this reason.
    Halted(String),
}

/// What hooks answer about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptCheck {
    /// It is sent, together with this context for the model.
    Fine { context: Vec<String> },
    /// It is not sent.
    Refused { problem: String },
    /// It is not sent, and the exchange ends.
    Halted { problem: String },
}

/// What to do next, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    ShowText(String),
    ShowThinking(String),
    ShowInputStarted {
        call: CallRef,
        name: String,
    },
    ShowInput {
        call: CallRef,
        fragment: String,
    },
    /// The provider runs this call.
    ShowServing {
        call: CallRef,
        name: String,
    },
    /// A complete block that was not streamed as text and is not a call: it belongs in the log.
    Keep {
        block: Block,
        /// The call that it tells of, where the provider runs one.
        call: Option<CallRef>,
    },
    Execute(ToolCall),
    /// Run a call that is in the log already.
    Continue(ToolCall),
    /// No more calls will come: wait until all have their results.
    Drain,
    /// Discard what has arrived of the answer.
    Discard,
    /// The answer is incomplete, and what has arrived is kept; in words for the person.
    ReportBroken(String),
    /// Tell the person this.
    Warn(String),
    /// Record this result for a call that never ran.
    Settle {
        call: ToolCall,
        result: ToolResult,
    },
    /// Count what a response has used, however it ended.
    Count(Usage),
    /// Add the answer to the history.
    Answer {
        message: Message,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// Add the results to the history, followed by notes for the model.
    Deliver {
        calls: Vec<CallRef>,
        then: Vec<Block>,
    },
    // ─── Messages ───
    /// Run hooks for this message; [`Fact::PromptChecked`] follows.
    CheckPrompt(Vec<Block>),
    /// Add the message to the history.
    Write(Vec<Block>),
    /// Do not send the message that hooks looked at.
    Refuse,
    /// Take a queued message; [`Fact::Collected`] follows at once.
    Collect,
    // ─── The model ───
    /// Request an answer; `attempt` counts the failed attempts before.
    Send {
        attempt: u32,
    },
    /// Wait before the next attempt; [`Fact::TimeToTry`] follows.
    Wait {
        problem: String,
        wait: Duration,
        attempt: u32,
    },
    // ─── Its end ───
    /// Wait until the person decides whether to continue.
    Pause {
        why: String,
    },
    /// Ask the hooks whether it may end; `again` if they have made it continue before.
    AskToStop {
        again: bool,
    },
    /// A note for the model that the program wrote.
    Note(Vec<Block>),
    Finish(Ending),
}

#[derive(Debug)]
pub struct Turn {
    origin: Origin,
    limits: Limits,
    retry: Policy,
    random: fastrand::Rng,
    numbers: CallNumbers,
    stage: Stage,
    /// How many attempts of the next request have failed.
    attempt: u32,
    /// Whether a message was added to the history.
    prompted: bool,
    answer: Partial,
    /// The calls that the provider runs. One of an answer that paused has its result in the next.
    served: Served,
    /// How often in a row a request has failed.
    failures: u32,
    responses: u32,
    used: Account,
    /// What was used since the person last continued it.
    spent: (u32, Account),
    last_text: String,
    repeated: Repeated,
    pauses: Pauses,
    /// How often hooks have made it continue.
    times_continued: u32,
    halted: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// Nothing has happened yet.
    Begin,
    /// Hooks look at this message.
    Prompting(Vec<Block>),
    /// A request is about to be sent, with the queued messages.
    Collecting,
    /// A request was sent.
    Asking,
    /// A request will be sent again, after a wait.
    Waiting,
    /// The answer is complete; its calls are not.
    Draining(Box<CompleteAnswer>),
    /// A limit was reached; this follows if the person continues.
    Paused(After),
    /// Hooks are asked whether it may end.
    Stopping,
    Over,
}

/// A complete answer that waits for its results.
#[derive(Debug, Clone, PartialEq)]
struct CompleteAnswer {
    blocks: Vec<Block>,
    stop_reason: Option<StopReason>,
    usage: Usage,
    after: After,
    calls: Names,
    /// The model that has given it.
    origin: Origin,
}

/// What comes after the results.
#[derive(Debug, Clone, PartialEq)]
enum After {
    Loop,
    /// The stream broke after a call had started, for this reason.
    Broken(String),
    End(Ending),
}

/// What has arrived of an answer.
#[derive(Debug, Default)]
struct Partial {
    ended: Vec<Block>,
    open_text: String,
    called: bool,
    calls: Names,
}

impl Turn {
    pub fn new(
        origin: Origin,
        limits: Limits,
        retry: Policy,
        numbers: CallNumbers,
        seed: u64,
    ) -> Self {
        Self {
            origin,
            numbers,
            limits,
            retry,
            random: fastrand::Rng::with_seed(seed),
            stage: Stage::Begin,
            attempt: 0,
            prompted: false,
            answer: Partial::default(),
            served: Served::default(),
            failures: 0,
            responses: 0,
            used: Account::new(limits.price),
            spent: (0, Account::new(limits.price)),
            last_text: String::new(),
            repeated: Repeated::default(),
            pauses: Pauses::default(),
            times_continued: 0,
            halted: None,
        }
    }

    pub fn handle(&mut self, fact: Fact) -> Vec<Next> {
        match (&self.stage, fact) {
            (Stage::Over, _) => Vec::new(),
            (_, Fact::OthersSpent(spending)) => {
                self.spent.1.count_other(&spending);
                Vec::new()
            }
            (_, Fact::ModelIs { model, price }) => {
                self.origin.model = model;
                self.limits.price = price;
                self.used.reprice(price);
                self.spent.1.reprice(price);
                Vec::new()
            }
            (_, Fact::Halted(reason)) => {
                self.halted.get_or_insert(reason);
                Vec::new()
            }
            (Stage::Begin, Fact::Prompted(prompt))
            | (Stage::Collecting, Fact::Collected(Some(prompt))) => self.prompted(prompt),
            (
                Stage::Begin,
                Fact::Reopened {
                    answer,
                    calls,
                    continuing,
                },
            ) => self.reopened(answer, &calls, continuing),
            (Stage::Begin, Fact::Unsendable(problem)) => self.not_sent(problem),
            (Stage::Prompting(_), Fact::PromptChecked(check)) => self.prompt_checked(check),
            (Stage::Collecting, Fact::Collected(None)) => {
                self.stage = Stage::Asking;
                let attempt = self.attempt;
                vec![Next::Send { attempt }]
            }
            (Stage::Waiting, Fact::TimeToTry) => self.collect(),
            (Stage::Asking, Fact::Streamed(event)) => self.streamed(event),
            (Stage::Asking, Fact::Over(response)) => self.over(*response),
            (Stage::Asking, Fact::Failed(error)) => self.failed(error),
            (Stage::Draining(_), Fact::Drained) => self.all_done(),
            (Stage::Paused(_), Fact::Continued) => self.continued(),
            (Stage::Stopping, Fact::MayStop) => self.finish(Ending::Done),
            (Stage::Stopping, Fact::MustContinue(reason)) => self.continue_for_hooks(&reason),
            (_, Fact::Interrupted) => self.stopped(),
            // Too early or too late: the exchange has moved on.
            (
                _,
                Fact::Prompted(_)
                | Fact::Reopened { .. }
                | Fact::Unsendable(_)
                | Fact::PromptChecked(_)
                | Fact::Collected(_)
                | Fact::Streamed(_)
                | Fact::Over(_)
                | Fact::Failed(_)
                | Fact::TimeToTry
                | Fact::Drained
                | Fact::Continued
                | Fact::MayStop
                | Fact::MustContinue(_),
            ) => Vec::new(),
        }
    }

    /// The numbers for the calls of the next exchange.
    pub fn numbers(&self) -> CallNumbers {
        self.numbers
    }

    pub fn summary(&self, ending: Ending, took: Duration) -> TurnSummary {
        let spending = self.used.spending();
        TurnSummary {
            ending,
            text: self.last_text.clone(),
            responses: self.responses,
            usage: spending.used,
            cost: spending.cost,
            took,
            denials: Vec::new(),
        }
    }

    fn prompted(&mut self, prompt: Vec<Block>) -> Vec<Next> {
        if self.limits.hooked.prompts {
            self.stage = Stage::Prompting(prompt.clone());
            return vec![Next::CheckPrompt(prompt)];
        }
        self.write(prompt)
    }

    fn write(&mut self, prompt: Vec<Block>) -> Vec<Next> {
        self.prompted = true;
        let mut nexts = vec![Next::Write(prompt)];
        nexts.extend(self.collect());
        nexts
    }

    fn collect(&mut self) -> Vec<Next> {
        self.stage = Stage::Collecting;
        vec![Next::Collect]
    }

    fn prompt_checked(&mut self, check: PromptCheck) -> Vec<Next> {
        let Stage::Prompting(mut prompt) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Vec::new();
        };
        let (problem, ends) = match check {
            PromptCheck::Fine { context } => {
                if !context.is_empty() {
                    prompt.push(Block::by_hooks(&context.join("\n")));
                }
                return self.write(prompt);
            }
            PromptCheck::Refused { problem } => (problem, !self.prompted),
            PromptCheck::Halted { problem } => (problem, true),
        };
        if ends {
            return self.not_sent(problem);
        }
        let mut nexts = vec![Next::Refuse, Next::Warn(problem)];
        nexts.extend(self.collect());
        nexts
    }

    fn not_sent(&mut self, problem: String) -> Vec<Next> {
        let hint = Some("your message was not sent to the model".to_owned());
        let mut nexts = vec![Next::Refuse];
        nexts.extend(self.finish(Ending::Failed { problem, hint }));
        nexts
    }

    /// The person wants it to stop: running calls finish first.
    fn stopped(&mut self) -> Vec<Next> {
        match &mut self.stage {
            Stage::Begin | Stage::Prompting(_) => {
                let what = if self.stage == Stage::Begin {
                    "its commands"
                } else {
                    "hooks"
                };
                let text =
                    format!("your message was not sent: you stopped it while {what} were running");
                let mut nexts = vec![Next::Refuse, Next::Warn(text)];
                nexts.extend(self.finish(Ending::Interrupted));
                nexts
            }
            Stage::Asking => self.interrupted(),
            Stage::Draining(complete) => {
                complete.after = After::End(Ending::Interrupted);
                Vec::new()
            }
            // Nothing is running: calls of a broken answer have delivered their results.
            Stage::Collecting | Stage::Waiting | Stage::Paused(_) | Stage::Stopping => {
                self.finish(Ending::Interrupted)
            }
            Stage::Over => Vec::new(),
        }
    }

    fn all_done(&mut self) -> Vec<Next> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Draining(complete) => self.drained(*complete),
            other => {
                self.stage = other;
                Vec::new()
            }
        }
    }

    fn continued(&mut self) -> Vec<Next> {
        let Stage::Paused(after) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Vec::new();
        };
        self.spent = (0, Account::new(self.limits.price));
        self.repeated = Repeated::default();
        self.proceed(after)
    }

    fn after(&mut self, after: After, continues: bool) -> Vec<Next> {
        match &after {
            After::End(ending) => return self.finish(ending.clone()),
            After::Loop | After::Broken(_) if self.halted.is_some() => {
                let problem = self.halted.take().unwrap_or_default();
                return self.finish(Ending::Failed {
                    problem,
                    hint: None,
                });
            }
            After::Loop if !continues => return self.stop(),
            After::Loop | After::Broken(_) => {}
        }
        if let Some(ending) = self.pauses.ending() {
            return self.finish(ending);
        }
        let exhausted = self
            .limits
            .exhausted(self.spent.0, &self.spent.1.spending());
        if self.limits.pauses {
            let why = self.repeated.reason_to_pause();
            if let Some(why) = why.or_else(|| exhausted.map(limits::reason_to_pause)) {
                self.stage = Stage::Paused(after);
                return vec![Next::Pause { why }];
            }
        } else if let Some(ending) = self.repeated.ending().or(exhausted) {
            return self.finish(ending);
        }
        self.proceed(after)
    }

    fn stop(&mut self) -> Vec<Next> {
        if !self.limits.hooked.end {
            return self.finish(Ending::Done);
        }
        if self.times_continued >= MOST_CONTINUED {
            let text =
                format!("hooks kept the model working {MOST_CONTINUED} times; ending the turn");
            let mut nexts = vec![Next::Warn(text)];
            nexts.extend(self.finish(Ending::Done));
            return nexts;
        }
        self.stage = Stage::Stopping;
        vec![Next::AskToStop {
            again: self.times_continued > 0,
        }]
    }

    fn continue_for_hooks(&mut self, reason: &str) -> Vec<Next> {
        self.times_continued += 1;
        let note = Block::by_hooks(&format!(
            "You cannot stop yet. A hook of the user says: {reason}"
        ));
        let mut nexts = vec![Next::Note(vec![note])];
        nexts.extend(self.after(After::Loop, true));
        nexts
    }

    fn proceed(&mut self, after: After) -> Vec<Next> {
        self.repeated.begin_answer();
        match after {
            // The results of calls that ran are sent at least once, however few attempts are allowed.
            After::Broken(problem) => match self.retry.wait(self.failures, None, self.random.f64())
            {
                Some(wait) => {
                    self.failures += 1;
                    self.wait(problem, wait, self.failures)
                }
                None => self.finish(Ending::Failed {
                    problem,
                    hint: Some(STREAM_HINT.into()),
                }),
            },
            After::Loop | After::End(_) => {
                if let Some(wait) = self.pauses.wait() {
                    // This is not a failed attempt: nothing is discarded.
                    return self.wait(PAUSED.to_owned(), wait, 0);
                }
                self.attempt = 0;
                self.collect()
            }
        }
    }

    pub(super) fn wait(&mut self, problem: String, wait: Duration, attempt: u32) -> Vec<Next> {
        self.stage = Stage::Waiting;
        self.attempt = attempt;
        vec![Next::Wait {
            problem,
            wait,
            attempt,
        }]
    }

    fn finish(&mut self, ending: Ending) -> Vec<Next> {
        self.stage = Stage::Over;
        vec![Next::Finish(ending)]
    }
}
