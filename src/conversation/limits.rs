//! The limits of an exchange: turns, tokens, cost, and repeated calls. Pure.

use std::time::Duration;

use serde_json::Value;

use crate::protocol::{Block, CallInput, Ending, Note, Price, Spending, ToolUse};

/// After this many equal calls in a row, the model is told.
const WARN_AT: u32 = 3;
/// After this many equal calls in a row, the run ends.
const END_AT: u32 = 5;

/// After this many pauses in a row, the answer is not requested again.
const MOST_PAUSES: u32 = 10;
/// How long the second pause in a row lasts, and the longest pause.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The limits of an exchange.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// Calls wait for the end of the stream, so that a broken stream has started none.
    pub calls_wait: bool,
    /// A person can decide to continue anyway.
    pub pauses: bool,
    /// Which steps wait for hooks.
    pub hooked: HookedSteps,
    pub max_turns: Option<u32>,
    pub max_tokens: Option<u64>,
    /// In dollars. Has no effect if the price is unknown; the person is told so.
    pub max_cost: Option<f64>,
    pub price: Option<Price>,
}

/// Which steps wait for hooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HookedSteps {
    /// Each message, before it is sent.
    pub prompts: bool,
    /// The end of the exchange.
    pub end: bool,
}

impl Limits {
    /// The ending of an exchange that has reached a limit.
    pub fn exhausted(&self, responses: u32, spending: &Spending) -> Option<Ending> {
        if self.max_turns.is_some_and(|most| responses >= most) {
            return Some(Ending::MaxTurns);
        }
        if let Some((cost, most)) = spending.cost.zip(self.max_cost)
            && cost >= most
        {
            let problem = format!("cost limit reached: {cost:.2} of {most:.2} (`maxCost`)");
            let hint = Some("raise `maxCost` in settings, or resume with --continue".into());
            return Some(Ending::Failed { problem, hint });
        }
        let used = spending.used.worked_on();
        let most = self.max_tokens.filter(|most| used >= *most)?;
        let problem = format!("token limit reached: {used} of {most} (`maxTokens`)");
        let hint = Some("raise `maxTokens` in settings, or resume with --continue".into());
        Some(Ending::Failed { problem, hint })
    }
}

/// Why a loop that would end with `ending` waits for the person instead.
pub(super) fn reason_to_pause(ending: Ending) -> String {
    match ending {
        Ending::MaxTurns => "turn limit reached (`maxTurns`)".to_owned(),
        Ending::Failed { problem, .. } => problem,
        Ending::Done | Ending::Interrupted => "the turn has ended".to_owned(),
    }
}

/// How often in a row the provider paused the answer (`pause_turn`).
#[derive(Debug, Default)]
pub(super) struct Pauses(u32);

impl Pauses {
    pub fn count(&mut self, paused: bool) {
        self.0 = if paused { self.0 + 1 } else { 0 };
    }

    /// How long to wait before the rest is requested; the first time not at all.
    pub fn wait(&self) -> Option<Duration> {
        let doubled = self.0.checked_sub(2)?.min(8);
        Some(LONGEST_PAUSE.min(FIRST_PAUSE * 2_u32.pow(doubled)))
    }

    pub fn ending(&self) -> Option<Ending> {
        (self.0 >= MOST_PAUSES).then(|| Ending::Failed {
            problem: format!("the provider paused its answer {} times in a row", self.0),
            hint: Some(
                "the answer so far is kept; ask it to continue, or switch the model with --model"
                    .into(),
            ),
        })
    }
}

/// How often in a row the same call was made.
#[derive(Debug, Default)]
pub(super) struct Repeated {
    last: Option<(String, CallInput)>,
    times: u32,
    /// The call of the current answer with the most repetitions, if there were too many.
    worst: Option<(String, u32)>,
}

impl Repeated {
    /// Counts a call. Returns true if it was repeated so often that it must not run again.
    pub fn is_repeated_too_often(&mut self, call: &ToolUse) -> bool {
        // A call with a broken input counts as well.
        let input = call
            .input_raw
            .clone()
            .map_or_else(|| call.input.clone(), |raw| Value::String(raw).into());
        let same = self
            .last
            .as_ref()
            .is_some_and(|(name, last)| *name == call.name && *last == input);
        if same {
            self.times += 1;
        } else {
            self.last = Some((call.name.clone(), input));
            self.times = 1;
        }
        let most = self.worst.as_ref().map_or(WARN_AT - 1, |(_, most)| *most);
        if self.times > most {
            self.worst = Some((call.name.clone(), self.times));
        }
        self.times >= END_AT
    }

    /// Resets the worst call for the next answer.
    pub fn begin_answer(&mut self) {
        self.worst = None;
    }

    /// The note for the model about it.
    pub fn note(&self) -> Vec<Block> {
        let Some((name, times)) = &self.worst else {
            return Vec::new();
        };
        let text = format!(
            "You have made the same {name} call with the same input {times} times in a row. Its result will not change: \
             do something else, or say what keeps you from going on."
        );
        vec![Block::note(Note::Program, text)]
    }

    /// Why a person should look before the turn continues.
    pub fn reason_to_pause(&self) -> Option<String> {
        let (name, times) = self.worst.as_ref()?;
        Some(format!(
            "the model made the same {name} call {times} times in a row"
        ))
    }

    pub fn ending(&self) -> Option<Ending> {
        let (name, times) = self.worst.as_ref().filter(|(_, times)| *times >= END_AT)?;
        Some(Ending::Failed {
            problem: format!("the model made the same {name} call {times} times in a row"),
            hint: Some("tell it what to do instead, and resume with --continue".into()),
        })
    }
}
