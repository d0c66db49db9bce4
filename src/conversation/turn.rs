//! One exchange with the model, from a prompt to the end of the loop it starts . Pure.
//!
//! Facts go in, what is to be done next comes out: the machine is the whole truth about an exchange, what hooks say to
//! prompts and to its end, waiting and retries included. The content of an answer decides whether the loop goes on, never its
//! stop reason. Whatever ends the exchange, every call has its result.

use std::time::Duration;

mod answering;
mod names;

use self::names::Names;
use super::limits::{self, Limits, Pauses, Repeated};
use super::spending::Account;
use super::words::{PAUSED, STREAM_HINT};
use crate::protocol::event::TurnSummary;
use crate::protocol::{
    Block, CallNumbers, CallRef, Ending, Message, Origin, Spending, StopReason, ToolCall,
    ToolResult, Usage,
};
use crate::provider::retry::Policy;
use crate::provider::{ProviderError, Response, StreamEvent};

/// How often hooks can make the model go on, whatever they say after that.
const MOST_GONE_ON: u32 = 8;

/// Facts about the exchange.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    // ─── Messages ───
    /// This is what it begins with.
    Prompted(Vec<Block>),
    /// What it was to begin with can't be sent; in words.
    Unsendable(String),
    /// Hooks have looked at the message that they were to look at.
    Looked(Look),
    /// The answer to [`Next::Collect`]: a message that waited, if there is one.
    Collected(Option<Vec<Block>>),
    // ─── The model ───
    Streamed(StreamEvent),
    /// The stream is over, well or not.
    Over(Box<Response>),
    /// The request did not get as far as a stream.
    Failed(ProviderError),
    /// It was waited long enough, or the person does not want to wait.
    TimeToTry,
    // ─── Calls ───
    /// All calls of the answer have their results.
    Drained,
    /// A conversation that a call has started has used so much: its limits bound both.
    SpentBeside(Spending),
    // ─── Its end ───
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

/// What hooks say to a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// It goes out, and the model is told this with it.
    Fine { context: Vec<String> },
    /// It does not go out.
    Refused { problem: String },
    /// It does not go out, and the exchange ends.
    Halted { problem: String },
}

/// What is to be done next, in this order.
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
    /// A block that was not streamed as text, and is no call, is complete: it belongs into the log.
    Keep(Block),
    Execute(ToolCall),
    /// No more calls will come: wait until those that there are have their results.
    Drain,
    /// What has arrived of the answer is discarded.
    Discard,
    /// The answer broke off, and what has come of it is kept; in words for the person.
    TellBroken(String),
    /// A person should know this.
    Warn(String),
    /// A call that was never run has this result.
    Settle {
        call: ToolCall,
        result: ToolResult,
    },
    /// A response has used this, whatever came of it.
    Count(Usage),
    /// The answer goes into the history.
    Answer {
        message: Message,
        stop_reason: Option<StopReason>,
        usage: Usage,
    },
    /// The results go into the history, followed by what else the model is told.
    Deliver {
        calls: Vec<CallRef>,
        then: Vec<Block>,
    },
    // ─── Messages ───
    /// Let hooks look at this message; [`Fact::Looked`] comes.
    LookAt(Vec<Block>),
    /// The message goes into the history.
    Write(Vec<Block>),
    /// The message that hooks looked at is not sent.
    Refuse,
    /// Take a message that waits; [`Fact::Collected`] comes at once.
    Collect,
    // ─── The model ───
    /// Ask for an answer; `attempt` counts the tries that failed before.
    Send {
        attempt: u32,
    },
    /// Wait before the next try; [`Fact::TimeToTry`] comes.
    Wait {
        problem: String,
        wait: Duration,
        attempt: u32,
    },
    // ─── Its end ───
    /// Wait for the person to say whether it goes on.
    Pause {
        why: String,
    },
    /// Ask the hooks whether it may end; `again` if they have made it go on already.
    AskToStop {
        again: bool,
    },
    /// A note for the model that nobody wrote.
    Tell(Vec<Block>),
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
    /// How many tries of the request that goes out next have failed.
    attempt: u32,
    /// A message has gone into the history.
    prompted: bool,
    answer: Partial,
    /// How often in a row a request has failed.
    failures: u32,
    responses: u32,
    used: Account,
    /// What was used since the person last said that it goes on.
    spent: (u32, Account),
    last_text: String,
    repeated: Repeated,
    pauses: Pauses,
    /// How often hooks have made it go on.
    times_gone_on: u32,
    halted: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Stage {
    /// Nothing was said yet.
    Begin,
    /// Hooks look at this message.
    Prompting(Vec<Block>),
    /// A request is about to go out, with the messages that wait.
    Collecting,
    /// A request is out.
    Asking,
    /// A request goes out again, after a while.
    Waiting,
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
    calls: Names,
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
            failures: 0,
            responses: 0,
            used: Account::new(limits.price),
            spent: (0, Account::new(limits.price)),
            last_text: String::new(),
            repeated: Repeated::default(),
            pauses: Pauses::default(),
            times_gone_on: 0,
            halted: None,
        }
    }

    pub fn handle(&mut self, fact: Fact) -> Vec<Next> {
        match (&self.stage, fact) {
            (Stage::Over, _) => Vec::new(),
            (_, Fact::SpentBeside(spending)) => {
                self.spent.1.count_beside(&spending);
                Vec::new()
            }
            (_, Fact::Halted(reason)) => {
                self.halted.get_or_insert(reason);
                Vec::new()
            }
            (Stage::Begin, Fact::Prompted(prompt))
            | (Stage::Collecting, Fact::Collected(Some(prompt))) => self.prompted(prompt),
            (Stage::Begin, Fact::Unsendable(problem)) => self.not_sent(problem),
            (Stage::Prompting(_), Fact::Looked(look)) => self.looked(look),
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
            (Stage::Paused(_), Fact::GoneOn) => self.gone_on(),
            (Stage::Stopping, Fact::MayStop) => self.finish(Ending::Done),
            (Stage::Stopping, Fact::MustGoOn(reason)) => self.must_go_on(&reason),
            (_, Fact::Interrupted) => self.stopped(),
            // Too early, or too late: the exchange has moved on.
            (
                _,
                Fact::Prompted(_)
                | Fact::Unsendable(_)
                | Fact::Looked(_)
                | Fact::Collected(_)
                | Fact::Streamed(_)
                | Fact::Over(_)
                | Fact::Failed(_)
                | Fact::TimeToTry
                | Fact::Drained
                | Fact::GoneOn
                | Fact::MayStop
                | Fact::MustGoOn(_),
            ) => Vec::new(),
        }
    }

    /// From which on the calls of the next exchange are named.
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
            return vec![Next::LookAt(prompt)];
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

    fn looked(&mut self, look: Look) -> Vec<Next> {
        let Stage::Prompting(mut prompt) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Vec::new();
        };
        let (problem, ends) = match look {
            Look::Fine { context } => {
                if !context.is_empty() {
                    prompt.push(Block::by_hooks(&context.join("\n")));
                }
                return self.write(prompt);
            }
            Look::Refused { problem } => (problem, !self.prompted),
            Look::Halted { problem } => (problem, true),
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

    /// The person wants it to stop: what runs finishes first.
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
            Stage::Draining(whole) => {
                whole.after = After::End(Ending::Interrupted);
                Vec::new()
            }
            // Nothing is under way: calls of an answer that broke off have delivered their results.
            Stage::Collecting | Stage::Waiting | Stage::Paused(_) | Stage::Stopping => {
                self.finish(Ending::Interrupted)
            }
            Stage::Over => Vec::new(),
        }
    }

    fn all_done(&mut self) -> Vec<Next> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Draining(whole) => self.drained(*whole),
            other => {
                self.stage = other;
                Vec::new()
            }
        }
    }

    fn gone_on(&mut self) -> Vec<Next> {
        let Stage::Paused(after) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Vec::new();
        };
        self.spent = (0, Account::new(self.limits.price));
        self.repeated = Repeated::default();
        self.go_on(after)
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
        self.go_on(after)
    }

    fn stop(&mut self) -> Vec<Next> {
        if !self.limits.hooked.end {
            return self.finish(Ending::Done);
        }
        if self.times_gone_on >= MOST_GONE_ON {
            let text =
                format!("hooks kept the model working {MOST_GONE_ON} times; ending the turn");
            let mut nexts = vec![Next::Warn(text)];
            nexts.extend(self.finish(Ending::Done));
            return nexts;
        }
        self.stage = Stage::Stopping;
        vec![Next::AskToStop {
            again: self.times_gone_on > 0,
        }]
    }

    fn must_go_on(&mut self, reason: &str) -> Vec<Next> {
        self.times_gone_on += 1;
        let told = Block::by_hooks(&format!(
            "You cannot stop yet. A hook of the user says: {reason}"
        ));
        let mut nexts = vec![Next::Tell(vec![told])];
        nexts.extend(self.after(After::Loop, true));
        nexts
    }

    fn go_on(&mut self, after: After) -> Vec<Next> {
        self.repeated.begin_answer();
        match after {
            // The results of what has run go out at least once, however few tries there are.
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
                    // This is not a failed try: nothing is discarded.
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
