//! The tool calls that the screen knows, each from the first character of its input until the model has its result.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::preview::Partial;
use crate::protocol::{
    AnswerNote, BackgroundEnd, CallInput, CallOutcome, CallRef, ChangeSize, ForPerson, Phase,
    Printed, ResultBlock, Shown, ToolInfo, ToolResult,
};

/// How much of a running call's output is kept in memory. All of it is on disk.
const KEPT_OUTPUT: usize = 64 * 1024;

/// How much of what calls show (files before and after each change) is kept in memory; older changes keep only their
/// size.
const KEPT_SHOWN: usize = 16 * 1024 * 1024;

/// How many lines of output an opened call shows in place; the detail view has all.
pub const OPENED_LINES: usize = 200;

/// How many lines of output a failed or stopped call shows without being opened.
pub const FAILED_LINES: usize = 5;

/// A call's place in [`Calls`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey(pub usize);

#[derive(Debug, Clone)]
pub struct Call {
    pub id: CallRef,
    pub tool: ToolInfo,
    pub by: Author,
    pub input: CallInput,
    pub state: State,
    pub times: Times,
    /// The end of what it has printed so far. Kept while it runs, also in the background.
    pub output: String,
    /// How many complete lines it has printed in total.
    pub ended_lines: usize,
    /// What was decided about it, and by whom, a line each. The last one is final.
    pub decisions: Vec<String>,
    /// What the person's answers did besides allowing it.
    pub notes: Vec<AnswerNote>,
    /// The person has stopped it, and it has not ended yet.
    pub is_stopping: bool,
    /// How the command that it left in the background ended.
    pub ended_in_background: Option<BackgroundEnd>,
    /// Increases with every change, so that a cached drawing can be reused until then.
    pub revision: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    Model,
    /// The person ran it directly, outside of any turn.
    Person,
    /// The model of a subagent that another call started.
    Subagent,
}

#[derive(Debug, Clone)]
pub enum State {
    /// The model is still writing its input.
    Arriving(Partial),
    Queued,
    Executing(Phase),
    Completed(Completed),
    Yielded(Completed),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Completed {
    pub outcome: CallOutcome,
    /// What goes to the model.
    pub text: String,
    pub for_person: ForPerson,
    /// How many lines its own output has. Counted once, because output can be long and every frame shows this.
    pub lines: usize,
    pub images: usize,
    /// Nothing, if its changes are no longer kept in memory.
    pub shown: Shown,
    pub changed: Vec<ChangeSize>,
    pub ran: Duration,
}

/// When a call reached each phase, for the timeline and the detail view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    pub arrived: Instant,
    pub queued: Option<Instant>,
    pub begun: Option<Instant>,
    /// When it began to wait for the person, and when that ended.
    pub asked: Option<Instant>,
    pub running: Option<Instant>,
    pub ended: Option<Instant>,
    /// When the command that it left in the background ended.
    pub background_ended: Option<Instant>,
}

impl Times {
    pub(super) fn reached(&mut self, phase: Phase, now: Instant) {
        self.begun.get_or_insert(now);
        match phase {
            Phase::WaitingForApproval => self.asked = Some(now),
            Phase::Running => {
                self.running.get_or_insert(now);
            }
            Phase::Validating | Phase::InHooks | Phase::Finishing => {}
        }
    }
}

/// All calls of the session, oldest first.
#[derive(Debug, Default)]
pub struct Calls {
    all: Vec<Call>,
    by_ref: HashMap<CallRef, CallKey>,
    /// The calls that show more than text, with the size of what they show.
    shown: VecDeque<(CallKey, usize)>,
    /// The calls whose commands run in the background.
    behind: BTreeSet<CallKey>,
}

impl Calls {
    pub fn get(&self, key: CallKey) -> &Call {
        &self.all[key.0]
    }

    pub fn find(&self, id: CallRef) -> Option<CallKey> {
        self.by_ref.get(&id).copied()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn add(&mut self, id: CallRef, tool: ToolInfo, by: Author, now: Instant) -> CallKey {
        let key = CallKey(self.all.len());
        self.by_ref.insert(id, key);
        self.all.push(Call {
            id,
            tool,
            by,
            input: CallInput::default(),
            state: State::Arriving(Partial::default()),
            times: Times {
                arrived: now,
                queued: None,
                begun: None,
                asked: None,
                running: None,
                ended: None,
                background_ended: None,
            },
            output: String::new(),
            ended_lines: 0,
            decisions: Vec::new(),
            notes: Vec::new(),
            is_stopping: false,
            ended_in_background: None,
            revision: 0,
        });
        key
    }

    /// Changes a call and increases its revision.
    pub fn change(&mut self, key: CallKey, change: impl FnOnce(&mut Call)) {
        let call = &mut self.all[key.0];
        call.revision += 1;
        change(call);
        if call.is_in_background() {
            self.behind.insert(key);
        } else {
            self.behind.remove(&key);
        }
    }

    /// The commands that run in the background, oldest first.
    pub fn in_background(&self) -> impl ExactSizeIterator<Item = CallKey> {
        self.behind.iter().copied()
    }

    /// Called when a call has completed. Bounds what is kept in memory: the oldest changes keep only their size.
    pub fn bound_shown(&mut self, newest: CallKey) {
        let completed = self.get(newest).completed();
        let Some(shown) = completed
            .map(|it| &it.shown)
            .filter(|it| **it != Shown::Nothing)
        else {
            return;
        };
        let size = shown.size();
        self.shown.push_back((newest, size));
        let mut kept: usize = self.shown.iter().map(|(_, size)| size).sum();
        while kept > KEPT_SHOWN
            && self.shown.len() > 1
            && let Some((oldest, size)) = self.shown.pop_front()
        {
            kept -= size;
            self.change(oldest, Call::forget_shown);
        }
    }

    /// Ends a call that gets no result of its own.
    pub fn close(&mut self, key: CallKey, why: &str, at: Instant) {
        if self.get(key).is_over() {
            return;
        }
        self.change(key, |call| {
            call.times.ended = Some(at);
            call.state = State::Completed(Completed::skipped(why));
        });
    }

    /// The program ended before these were over; it stopped everything that ran in the background.
    pub fn end_run(&mut self, at: Instant) {
        for call in &mut self.all {
            if !call.is_over() {
                call.revision += 1;
                call.times.ended = Some(at);
                call.state = State::Completed(Completed::skipped("agent-tui ended"));
            }
            if call.is_in_background() {
                call.revision += 1;
                call.left_background(BackgroundEnd::WithProgram, at);
            }
        }
        self.behind.clear();
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (CallKey, &Call)> {
        self.all
            .iter()
            .enumerate()
            .map(|(index, call)| (CallKey(index), call))
    }

    /// Removes all of them, because another conversation begins.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Call {
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Completed(_) | State::Yielded(_))
    }

    /// Whether its command still runs in the background.
    pub fn is_in_background(&self) -> bool {
        let left = self.completed().map(|completed| &completed.outcome);
        left == Some(&CallOutcome::Backgrounded) && self.ended_in_background.is_none()
    }

    /// Its command no longer runs in the background.
    pub fn left_background(&mut self, how: BackgroundEnd, at: Instant) {
        self.is_stopping = false;
        self.ended_in_background = Some(how);
        self.times.background_ended = Some(at);
    }

    /// How long it has run, or did run, also in the background.
    pub fn ran(&self, now: Instant) -> Option<Duration> {
        let begun = self.times.running.or(self.times.begun)?;
        let ended = self.times.background_ended.or(self.times.ended);
        let end = ended.filter(|_| !self.is_in_background()).unwrap_or(now);
        Some(end.saturating_duration_since(begun))
    }

    /// When its command started, if it runs in the background.
    pub fn background_since(&self) -> Option<Instant> {
        let begun = self.times.running.or(self.times.begun);
        begun.filter(|_| self.is_in_background())
    }

    pub fn completed(&self) -> Option<&Completed> {
        match &self.state {
            State::Completed(completed) | State::Yielded(completed) => Some(completed),
            State::Arriving(_) | State::Queued | State::Executing(_) => None,
        }
    }

    /// Drops its changes and keeps only their size.
    fn forget_shown(&mut self) {
        if let State::Completed(completed) | State::Yielded(completed) = &mut self.state {
            completed.shown = Shown::Nothing;
        }
    }

    /// Records its result.
    pub fn complete(&mut self, mut completed: Completed, now: Instant) {
        self.times.ended = Some(now);
        self.is_stopping = false;
        // The time that the person took to decide is not the call's own time.
        completed.ran = match (self.times.asked, self.times.running) {
            // It ended with the program, and nothing was logged while it ran: how long that was is not known.
            _ if completed.outcome == CallOutcome::Cancelled && completed.ran.is_zero() => {
                Duration::ZERO
            }
            (Some(_), Some(running)) => now.saturating_duration_since(running),
            (Some(_), None) => Duration::ZERO,
            // A provider does not say how long its own calls took.
            (None, Some(running)) if completed.ran.is_zero() => {
                now.saturating_duration_since(running)
            }
            (None, _) => completed.ran,
        };
        if completed.outcome != CallOutcome::Backgrounded {
            self.output = String::new();
        }
        self.state = State::Completed(completed);
    }

    /// The call runs again, so the output and times of its first run are dropped.
    pub fn restart(&mut self) {
        self.output.clear();
        self.ended_lines = 0;
        self.decisions.clear();
        self.notes.clear();
        self.is_stopping = false;
        self.ended_in_background = None;
        self.times.background_ended = None;
        self.times.begun = None;
        self.times.asked = None;
        self.times.running = None;
    }

    /// It was cut off before its work had started, and continues.
    pub fn reopen(&mut self) {
        self.restart();
        self.times.ended = None;
        self.state = State::Queued;
    }

    /// Appends what the call printed. What is kept is bounded and begins at the start of a line where possible.
    pub fn print(&mut self, printed: &Printed) {
        self.ended_lines += printed.lines;
        self.output.push_str(&printed.text);
        if self.output.len() > 2 * KEPT_OUTPUT {
            let mut cut = self.output.len() - KEPT_OUTPUT;
            while !self.output.is_char_boundary(cut) {
                cut += 1;
            }
            let line = self.output[cut..].find('\n').map_or(cut, |at| cut + at + 1);
            self.output.drain(..line);
        }
    }

    /// How many lines it has printed so far, including those that are not kept.
    pub fn printed_lines(&self) -> usize {
        let open = !(self.output.is_empty() || self.output.ends_with('\n'));
        self.ended_lines + usize::from(open)
    }

    /// The last line that it printed, if it still runs.
    pub fn last_line(&self) -> Option<&str> {
        self.output
            .lines()
            .rev()
            .map(str::trim_end)
            .find(|line| !line.is_empty())
    }

    /// How long it has been running, or how long it ran.
    pub fn elapsed(&self, now: Instant) -> Option<Duration> {
        let begun = self.times.running.or(self.times.begun)?;
        Some(
            self.times
                .ended
                .unwrap_or(now)
                .saturating_duration_since(begun),
        )
    }

    /// What the call is about: its command, file, pattern or URL.
    pub fn subject(&self) -> String {
        match &self.state {
            State::Arriving(partial) => {
                let arrived = |field: &str| partial.get(field).map(|(text, _)| text.to_owned());
                self.tool.subject.with(arrived)
            }
            State::Queued | State::Executing(_) | State::Completed(_) | State::Yielded(_) => {
                self.tool.subject.of(&self.input)
            }
        }
        .unwrap_or_default()
    }
}

impl Completed {
    /// The result of a call that never ran.
    pub fn skipped(why: &str) -> Self {
        let why = why.to_owned();
        Self {
            outcome: CallOutcome::Skipped { why },
            text: String::new(),
            for_person: ForPerson::default(),
            lines: 0,
            images: 0,
            shown: Shown::Nothing,
            changed: Vec::new(),
            ran: Duration::ZERO,
        }
    }

    pub fn new(result: &ToolResult, outcome: CallOutcome, for_person: ForPerson) -> Self {
        let images = result
            .content
            .iter()
            .filter(|block| matches!(block, ResultBlock::Image(_)))
            .count();
        let text = result.as_text();
        Self {
            outcome,
            lines: for_person.output_in(&text).lines().count(),
            text,
            for_person,
            images,
            shown: Shown::Nothing,
            changed: Vec::new(),
            ran: Duration::ZERO,
        }
    }

    /// What the call itself printed or found.
    pub fn output(&self) -> &str {
        self.for_person.output_in(&self.text)
    }

    /// How many lines of its output it shows without being opened: the end of it, if it explains a failure.
    pub fn lines_in_place(&self) -> usize {
        match self.outcome {
            CallOutcome::Failed | CallOutcome::Cancelled => FAILED_LINES,
            CallOutcome::Denied
            | CallOutcome::Succeeded
            | CallOutcome::Skipped { .. }
            | CallOutcome::ByHand
            | CallOutcome::Backgrounded => 0,
        }
    }

    /// Whether it is a command, whose output is kept.
    pub fn prints(&self) -> bool {
        let printed = self.for_person.output.as_ref();
        self.for_person.exit.is_some() || printed.is_some_and(|printed| !printed.is_empty())
    }

    /// Whether it changed something that is no longer kept in memory.
    pub fn is_forgotten(&self) -> bool {
        self.shown == Shown::Nothing && !self.changed.is_empty()
    }
}
