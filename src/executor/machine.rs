//! The states of the tool calls of one response. Pure: facts go in, steps come out.
//!
//! `queued → executing → completed → yielded`, and `queued → completed` for a call that is settled before its start.
//! `completed` is final: later facts about a completed call are ignored, in [`Machine::complete`] and nowhere else.

use std::collections::HashMap;
use std::time::Duration;

use super::pace::Pace;
use super::schedule::{Slot, SlotState, startable};
use super::stopped::{Failed, StopCause, synthetic};
use crate::protocol::{CallOutcome, CallRef, InterruptBehavior, OnBashError, ToolResult, WireId};

/// Facts about the calls of a response.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A call's block has ended.
    Added(CallRef, Traits),
    /// Hooks have changed an executing call: it must run alone, and waits for that.
    Reclassified(CallRef, Traits),
    /// A call was allowed, and its tool is running.
    Running(CallRef),
    /// A call has ended.
    Finished(CallRef, Outcome),
    /// No more calls will come.
    StreamEnded,
    /// The person or a signal wants the turn to stop. The second time it means at once.
    Interrupted,
    /// The person cancelled one call.
    Cancelled(CallRef),
    /// The person wants a running call to start again.
    RunAgain(CallRef),
    /// The person gave the result of one call.
    AnsweredByHand(CallRef, String),
    /// A call that waited for the rate limit of its tool may be able to start.
    TimePassed,
    /// The response is discarded, with all its calls.
    Discarded,
}

/// What the driver has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Start the call.
    Begin(CallRef),
    /// Nothing else executes: let the call that waited for this proceed.
    Proceed(CallRef),
    /// Stop the running call; its `Finished` still follows.
    Stop(CallRef),
    /// Show that the call is allowed to finish.
    Finishing(CallRef),
    /// The call has its result and outcome.
    Complete(CallRef, ToolResult, CallOutcome),
    /// All calls have their results: send them to the model, in block order. Happens once.
    Deliver(Vec<ToolResult>),
}

/// What is known about a call before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traits {
    /// The id on the wire, which its result must have.
    pub wire: WireId,
    /// May run at the same time as other safe calls.
    pub safe: bool,
    /// Certainly changes nothing.
    pub read_only: bool,
    pub interrupt: InterruptBehavior,
    pub tool: String,
    /// The subject of the call, if known: a path, a command.
    pub subject: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    pub result: ToolResult,
    pub end: End,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It succeeded, or failed without affecting other calls.
    Normal,
    /// It was not allowed.
    Denied,
    /// A command ran and failed.
    CommandFailed,
    /// A command continues in the background, and the turn does not wait for it.
    Backgrounded,
    /// It stopped because it was told to.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    pub order: Order,
    /// How many safe calls may run at once.
    pub limit: usize,
    pub on_bash_error: OnBashError,
    /// False: calls wait for the end of the stream.
    pub while_streaming: bool,
}

/// Which calls may run at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Only safe ones, and nothing overtakes an unsafe one.
    #[default]
    Scheduled,
    /// All of them: if a person starts a second command, that is intended.
    AtOnce,
}

/// The tool calls of one response.
#[derive(Debug)]
pub struct Machine {
    policy: Policy,
    calls: Vec<Tracked>,
    positions: HashMap<CallRef, usize>,
    intake: Intake,
    /// The first failed command, if the policy considers it: its position and description.
    failed: Option<(usize, Failed)>,
    interrupts: Interrupts,
    /// When the next call that waits for the rate limit of its tool may start.
    wake_at: Option<Duration>,
}

#[derive(Debug)]
struct Tracked {
    call: CallRef,
    traits: Traits,
    state: Call,
}

/// The state of one tool call.
#[derive(Debug, Clone, PartialEq)]
enum Call {
    Queued,
    Executing { stage: Stage, stopping: Stopping },
    Completed(ToolResult),
    Yielded,
}

/// The stage of an executing call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// It is being validated, or asks: stopping it leaves nothing half done.
    Checking,
    /// It may run, but only alone, and others are still executing.
    WaitingToBeAlone,
    /// Its tool is running.
    Running,
}

/// What an executing call was told.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stopping {
    No,
    /// To stop, in order to start again.
    ToRunAgain,
    Because(StopCause),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intake {
    Open,
    Closed,
    Delivered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interrupts {
    None,
    /// Calls of blocking tools may finish.
    Once,
    /// No call may finish.
    Forced,
    /// The response is discarded.
    Discarded,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            order: Order::default(),
            limit: 10,
            on_bash_error: OnBashError::default(),
            while_streaming: true,
        }
    }
}

impl Machine {
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            calls: Vec::new(),
            positions: HashMap::new(),
            intake: Intake::Open,
            failed: None,
            interrupts: Interrupts::None,
            wake_at: None,
        }
    }

    pub fn handle(&mut self, input: Input, pace: &mut Pace) -> Vec<Step> {
        let mut steps = Vec::new();
        match input {
            Input::Added(call, traits) => self.add(call, traits, &mut steps),
            Input::Reclassified(call, traits) => self.reclassify(call, traits),
            Input::Running(call) => self.runs(call),
            Input::Finished(call, outcome) => self.finish(call, outcome, &mut steps),
            Input::StreamEnded => {
                if self.intake == Intake::Open {
                    self.intake = Intake::Closed;
                }
            }
            Input::TimePassed => {}
            Input::Interrupted => self.interrupt(&mut steps),
            Input::Cancelled(call) => self.stop_one(call, StopCause::CancelledByPerson, &mut steps),
            Input::RunAgain(call) => self.run_again(call, &mut steps),
            Input::AnsweredByHand(call, text) => self.answer_by_hand(call, text, &mut steps),
            Input::Discarded => {
                self.interrupts = Interrupts::Discarded;
                self.stop_where(|_, _| true, &StopCause::Discarded, &mut steps);
            }
        }
        self.release_one(&mut steps);
        self.start_what_may(pace, &mut steps);
        self.deliver_when_complete(&mut steps);
        steps
    }

    /// All calls, in the order of their blocks.
    pub fn calls(&self) -> impl Iterator<Item = CallRef> {
        self.calls.iter().map(|call| call.call)
    }

    /// Whether the call has no result yet.
    pub fn is_open(&self, call: CallRef) -> bool {
        self.position(call)
            .is_some_and(|at| self.calls[at].state.is_open())
    }

    /// When time alone lets a call start, as the pace counts it.
    pub fn wake_at(&self) -> Option<Duration> {
        self.wake_at
    }

    /// True while any call has not completed.
    pub fn is_busy(&self) -> bool {
        self.calls.iter().any(|call| call.state.is_open())
    }

    pub fn is_executing(&self, call: CallRef) -> bool {
        self.position(call)
            .is_some_and(|at| matches!(self.calls[at].state, Call::Executing { .. }))
    }

    /// Whether the call's tool is running.
    pub fn is_running(&self, call: CallRef) -> bool {
        self.position(call).is_some_and(|at| {
            matches!(
                self.calls[at].state,
                Call::Executing {
                    stage: Stage::Running,
                    ..
                }
            )
        })
    }

    /// Whether the call finishes although the turn was interrupted.
    pub fn is_finishing(&self, call: CallRef) -> bool {
        self.interrupts == Interrupts::Once
            && (self.position(call)).is_some_and(|at| self.calls[at].may_finish())
    }

    fn add(&mut self, call: CallRef, traits: Traits, steps: &mut Vec<Step>) {
        if self.positions.contains_key(&call) || self.intake == Intake::Delivered {
            return;
        }
        let at = self.calls.len();
        self.positions.insert(call, at);
        self.calls.push(Tracked {
            call,
            traits,
            state: Call::Queued,
        });
        if let Some(cause) = self.reason_not_to_start(at) {
            self.stop_one(call, cause, steps);
        }
    }

    /// After a failed command or an interrupt, later calls must not start.
    fn reason_not_to_start(&self, at: usize) -> Option<StopCause> {
        match self.interrupts {
            Interrupts::Discarded => return Some(StopCause::Discarded),
            Interrupts::Once | Interrupts::Forced => return Some(StopCause::Interrupted),
            Interrupts::None => {}
        }
        let (failed_at, failed) = self.failed.as_ref()?;
        self.is_cancelled_with(*failed_at, at)
            .then(|| StopCause::SiblingFailed(failed.clone()))
    }

    fn is_cancelled_with(&self, failed_at: usize, at: usize) -> bool {
        match self.policy.on_bash_error {
            OnBashError::CancelSiblings => at != failed_at,
            OnBashError::CancelLaterChanges => at > failed_at && !self.calls[at].traits.read_only,
            OnBashError::Continue => false,
        }
    }

    fn finish(&mut self, call: CallRef, outcome: Outcome, steps: &mut Vec<Step>) {
        let Some(at) = self.position(call) else {
            return;
        };
        let Call::Executing { stage, stopping } = &self.calls[at].state else {
            return;
        };
        let running = *stage == Stage::Running;
        let (result, how) = match (stopping, outcome.end) {
            (Stopping::ToRunAgain, End::Stopped) => {
                self.begin(at, steps);
                return;
            }
            (Stopping::Because(cause), End::Stopped) => {
                let seen = running.then_some(&outcome.result);
                (
                    synthetic(&self.calls[at].traits, cause, seen),
                    cause.outcome(running),
                )
            }
            (Stopping::No, End::Stopped) => (
                ToolResult::error(
                    self.calls[at].traits.wire.clone(),
                    "The call was cancelled before it finished",
                ),
                CallOutcome::Cancelled,
            ),
            (_, End::Normal) if outcome.result.is_error => (outcome.result, CallOutcome::Failed),
            (_, End::Normal) => (outcome.result, CallOutcome::Succeeded),
            (_, End::Denied) => (outcome.result, CallOutcome::Denied),
            (_, End::CommandFailed) => (outcome.result, CallOutcome::Failed),
            (_, End::Backgrounded) => (outcome.result, CallOutcome::Backgrounded),
        };
        self.complete(at, result, how, steps);
        let matters = outcome.end == End::CommandFailed
            && !self.calls[at].traits.read_only
            && self.policy.on_bash_error != OnBashError::Continue;
        if matters && self.failed.is_none() {
            let failed = Failed::of(&self.calls[at].traits);
            self.failed = Some((at, failed.clone()));
            let is_cancelled: Vec<bool> = (0..self.calls.len())
                .map(|other| self.is_cancelled_with(at, other))
                .collect();
            self.stop_where(
                |other, _| is_cancelled[other],
                &StopCause::SiblingFailed(failed),
                steps,
            );
        }
    }

    fn runs(&mut self, call: CallRef) {
        let Some(at) = self.position(call) else {
            return;
        };
        if let Call::Executing { stage, .. } = &mut self.calls[at].state {
            *stage = Stage::Running;
        }
    }

    fn reclassify(&mut self, call: CallRef, traits: Traits) {
        let Some(at) = self.position(call) else {
            return;
        };
        let tracked = &mut self.calls[at];
        if let Call::Executing { stage, .. } = &mut tracked.state {
            *stage = Stage::WaitingToBeAlone;
            tracked.traits = traits;
        }
    }

    /// Lets the first call that waits to be alone proceed once nothing else executes.
    fn release_one(&mut self, steps: &mut Vec<Step>) {
        let waits = |call: &Tracked| {
            call.state
                == Call::Executing {
                    stage: Stage::WaitingToBeAlone,
                    stopping: Stopping::No,
                }
        };
        let executes = |call: &Tracked| matches!(call.state, Call::Executing { .. });
        if self.calls.iter().any(|call| executes(call) && !waits(call)) {
            return;
        }
        if let Some(at) = self.calls.iter().position(waits) {
            let call = self.calls[at].call;
            self.runs(call);
            steps.push(Step::Proceed(call));
        }
    }

    fn interrupt(&mut self, steps: &mut Vec<Step>) {
        match self.interrupts {
            Interrupts::None => {
                self.interrupts = Interrupts::Once;
                for call in self.calls.iter().filter(|call| call.may_finish()) {
                    steps.push(Step::Finishing(call.call));
                }
                self.stop_where(|_, call| !call.may_finish(), &StopCause::Interrupted, steps);
            }
            Interrupts::Once => {
                self.interrupts = Interrupts::Forced;
                self.stop_where(|_, _| true, &StopCause::Interrupted, steps);
            }
            Interrupts::Forced | Interrupts::Discarded => {}
        }
    }

    /// Only a running call can start again.
    fn run_again(&mut self, call: CallRef, steps: &mut Vec<Step>) {
        let Some(at) = self.position(call) else {
            return;
        };
        if let Call::Executing {
            stage: Stage::Running,
            stopping: stopping @ Stopping::No,
        } = &mut self.calls[at].state
        {
            *stopping = Stopping::ToRunAgain;
            steps.push(Step::Stop(call));
        }
    }

    fn begin(&mut self, at: usize, steps: &mut Vec<Step>) {
        self.calls[at].state = Call::Executing {
            stage: Stage::Checking,
            stopping: Stopping::No,
        };
        steps.push(Step::Begin(self.calls[at].call));
    }

    fn answer_by_hand(&mut self, call: CallRef, text: String, steps: &mut Vec<Step>) {
        let Some(at) = self.position(call) else {
            return;
        };
        if matches!(self.calls[at].state, Call::Executing { .. }) {
            steps.push(Step::Stop(call));
        }
        let result = ToolResult::text(self.calls[at].traits.wire.clone(), text);
        self.complete(at, result, CallOutcome::ByHand, steps);
    }

    fn stop_where(
        &mut self,
        is_affected: impl Fn(usize, &Tracked) -> bool,
        cause: &StopCause,
        steps: &mut Vec<Step>,
    ) {
        for at in 0..self.calls.len() {
            if is_affected(at, &self.calls[at]) {
                let call = self.calls[at].call;
                self.stop_one(call, cause.clone(), steps);
            }
        }
    }

    fn stop_one(&mut self, call: CallRef, cause: StopCause, steps: &mut Vec<Step>) {
        let Some(at) = self.position(call) else {
            return;
        };
        match &mut self.calls[at].state {
            Call::Queued => {
                let result = synthetic(&self.calls[at].traits, &cause, None);
                self.complete(at, result, cause.outcome(false), steps);
            }
            Call::Executing { stopping, .. } if *stopping == Stopping::No => {
                *stopping = Stopping::Because(cause);
                steps.push(Step::Stop(call));
            }
            // It is already stopping; now it will not start again.
            Call::Executing { stopping, .. } if *stopping == Stopping::ToRunAgain => {
                *stopping = Stopping::Because(cause);
            }
            Call::Executing { .. } | Call::Completed(_) | Call::Yielded => {}
        }
    }

    fn complete(
        &mut self,
        at: usize,
        result: ToolResult,
        outcome: CallOutcome,
        steps: &mut Vec<Step>,
    ) {
        let call = &mut self.calls[at];
        match call.state {
            Call::Queued | Call::Executing { .. } => {
                call.state = match self.policy.order {
                    Order::Scheduled => Call::Completed(result.clone()),
                    // Other calls are not waited for.
                    Order::AtOnce => Call::Yielded,
                };
                steps.push(Step::Complete(call.call, result, outcome));
            }
            Call::Completed(_) | Call::Yielded => {}
        }
    }

    fn start_what_may(&mut self, pace: &mut Pace, steps: &mut Vec<Step>) {
        self.wake_at = None;
        if self.intake == Intake::Open && !self.policy.while_streaming {
            return;
        }
        if self.policy.order == Order::AtOnce {
            let queued = |at: &usize| self.calls[*at].state == Call::Queued;
            let queued: Vec<usize> = (0..self.calls.len()).filter(queued).collect();
            for at in queued {
                self.begin(at, steps);
            }
            return;
        }
        let slots: Vec<Slot> = self
            .calls
            .iter()
            .map(|call| Slot {
                safe: call.traits.safe,
                state: match call.state {
                    Call::Queued => SlotState::Queued,
                    Call::Executing { .. } => SlotState::Executing,
                    Call::Completed(_) | Call::Yielded => SlotState::Over,
                },
            })
            .collect();
        let mut wake_at: Option<Duration> = None;
        let ready = |at: usize| match pace.start(&self.calls[at].traits.tool) {
            Ok(()) => true,
            Err(next) => {
                wake_at = Some(wake_at.map_or(next, |other| other.min(next)));
                false
            }
        };
        let starting = startable(&slots, self.policy.limit, ready);
        self.wake_at = wake_at;
        for at in starting {
            self.begin(at, steps);
        }
    }

    fn deliver_when_complete(&mut self, steps: &mut Vec<Step>) {
        if self.intake != Intake::Closed || self.is_busy() {
            return;
        }
        self.intake = Intake::Delivered;
        let mut results = Vec::with_capacity(self.calls.len());
        for call in &mut self.calls {
            if let Call::Completed(result) = std::mem::replace(&mut call.state, Call::Yielded) {
                results.push(result);
            }
        }
        steps.push(Step::Deliver(results));
    }

    fn position(&self, call: CallRef) -> Option<usize> {
        self.positions.get(&call).copied()
    }
}

impl Call {
    fn is_open(&self) -> bool {
        match self {
            Call::Queued | Call::Executing { .. } => true,
            Call::Completed(_) | Call::Yielded => false,
        }
    }
}

impl Tracked {
    /// Whether an interrupt lets this call finish.
    fn may_finish(&self) -> bool {
        matches!(
            self.state,
            Call::Executing {
                stage: Stage::Running,
                stopping: Stopping::No
            }
        ) && self.traits.interrupt == InterruptBehavior::Block
    }
}
