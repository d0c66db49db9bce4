//! What the model writes and thinks, as it arrives.

use std::time::{Duration, Instant};

use crate::app::call::{Author, CallKey, Calls, State};
use crate::app::panel::Turn;
use crate::app::transcript::{Answer, Cell, CellId, Changed, NoticeKind, Progress, Transcript};
use crate::app::{Activity, AppState, Stage, Work};
use crate::protocol::{CallRef, ToolInfo, TurnEvent};

/// The main conversation or a subagent's: the same functions apply the events of both.
pub(super) struct Answering<'a> {
    pub transcript: &'a mut Transcript,
    pub work: &'a mut Work,
    pub turn: &'a mut Turn,
    pub calls: &'a mut Calls,
    /// When the event that is being applied happened.
    pub moment: Instant,
    /// The clock of the screen.
    pub now: Instant,
}

impl AppState {
    /// The main conversation, while a turn runs.
    pub(super) fn answering(&mut self) -> Option<Answering<'_>> {
        let Activity::Working(work) = &mut self.activity else {
            return None;
        };
        Some(Answering {
            transcript: &mut self.transcript,
            work,
            turn: self.panel.last_mut(),
            calls: &mut self.calls,
            moment: self.moment,
            now: self.now,
        })
    }
}

impl Answering<'_> {
    /// Applies the events that mean the same in every conversation; the caller handles the others.
    pub fn on_event(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Requested { .. } => self.requested(),
            TurnEvent::Discarded => self.work.void = true,
            TurnEvent::Broken(text) => self.broken(text),
            TurnEvent::Retrying {
                problem,
                attempt,
                wait,
            } => self.retrying(problem, attempt, wait),
            TurnEvent::Text(text) => self.write(&text),
            TurnEvent::Thinking(text) => self.think(&text),
            TurnEvent::Answered { .. } => {
                self.stop_writing(Progress::Whole);
                self.turn.response_ended(self.moment);
            }
            TurnEvent::Streamed => self.turn.response_ended(self.moment),
            TurnEvent::Saved(saved) => self.turn.saved += saved,
            TurnEvent::Prompted(_)
            | TurnEvent::Refused
            | TurnEvent::Reopened { .. }
            | TurnEvent::Planned(_)
            | TurnEvent::Paused { .. }
            | TurnEvent::Continued
            | TurnEvent::Spent(_)
            | TurnEvent::Delivered(_)
            | TurnEvent::Finished(_) => {}
        }
    }

    fn requested(&mut self) {
        if self.work.void {
            self.void_response();
        }
        self.work.response.clear();
        self.work.last_text_at = None;
        self.work.void = false;
        self.work.failed = None;
        if matches!(self.work.stage, Stage::Retrying { .. }) {
            self.work.stage = Stage::Running;
        }
        self.turn.response_started(self.moment);
    }

    /// The response broke off; what had arrived stays.
    fn broken(&mut self, text: String) {
        self.stop_writing(Progress::Cut);
        for key in self.turn.calls.clone() {
            if matches!(self.calls.get(key).state, State::Arriving(_)) {
                self.calls.close(key, "cut off", self.moment);
            }
        }
        self.turn.response_ended(self.moment);
        let kind = NoticeKind::Warning;
        self.transcript.push(Cell::Notice { kind, text });
    }

    /// A failed attempt is discarded: its text, and its calls that never ran.
    fn void_response(&mut self) {
        for cell in std::mem::take(&mut self.work.response) {
            let Some(entry) = self.transcript.get(cell) else {
                continue;
            };
            match &entry.cell {
                Cell::Call(key) if self.calls.get(*key).times.begun.is_some() => {}
                Cell::Call(key) => {
                    let key = *key;
                    self.turn.calls.retain(|known| *known != key);
                    self.transcript.remove(cell);
                    self.calls.close(key, "cut off", self.moment);
                }
                Cell::Answer(_) | Cell::Thinking { .. } => self.transcript.remove(cell),
                Cell::Welcome | Cell::User { .. } | Cell::Notice { .. } | Cell::Summary(_) => {}
            }
        }
    }

    fn retrying(&mut self, problem: String, attempt: u32, wait: Duration) {
        self.stop_writing(Progress::Cut);
        let until = self.now + wait;
        self.turn.response_ended(self.moment);
        // An answer that the provider paused has not failed.
        self.work.failed = (attempt > 0).then(|| problem.clone());
        // A turn that is already stopping keeps stopping.
        if matches!(self.work.stage, Stage::Running | Stage::Retrying { .. }) {
            self.work.stage = Stage::Retrying {
                problem,
                attempt,
                until,
            };
        }
    }

    fn write(&mut self, text: &str) {
        self.stop_thinking();
        self.work.last_text_at = Some(self.moment);
        if let Some(id) = self.open_answer() {
            self.transcript.change(id, |entry| {
                if let Cell::Answer(answer) = &mut entry.cell {
                    answer.text.push_str(text);
                }
            });
        } else if !text.trim().is_empty() {
            self.show(Cell::Answer(Answer {
                text: text.trim_start_matches('\n').to_owned(),
                progress: Progress::Writing,
            }));
        }
    }

    fn think(&mut self, text: &str) {
        self.work.last_text_at = Some(self.moment);
        if let Some(id) = self.open_thought() {
            self.transcript.change(id, |entry| {
                if let Cell::Thinking { text: whole, .. } = &mut entry.cell {
                    whole.push_str(text);
                }
            });
            return;
        }
        self.stop_writing(Progress::Whole);
        self.show(Cell::Thinking {
            text: text.to_owned(),
            since: self.moment,
            took: None,
        });
    }

    /// A call begins: with its first fragment, or complete.
    pub fn add_call(&mut self, call: CallRef, tool: ToolInfo, by: Author) -> CallKey {
        self.stop_writing(Progress::Whole);
        let key = self.calls.add(call, tool, by, self.moment);
        self.show(Cell::Call(key));
        self.turn.calls.push(key);
        key
    }

    /// Adds a cell to the current response.
    fn show(&mut self, cell: Cell) {
        let id = self.transcript.push(cell);
        self.work.response.push(id);
    }

    fn open_answer(&self) -> Option<CellId> {
        self.open_cell(|cell| {
            matches!(
                cell,
                Cell::Answer(Answer {
                    progress: Progress::Writing,
                    ..
                })
            )
        })
    }

    fn open_thought(&self) -> Option<CellId> {
        self.open_cell(|cell| matches!(cell, Cell::Thinking { took: None, .. }))
    }

    /// The response's last cell, if it is of this kind. Other cells, such as a notice, may have come below it.
    fn open_cell(&self, is_it: impl Fn(&Cell) -> bool) -> Option<CellId> {
        let id = *self.work.response.last()?;
        let entry = self.transcript.get(id)?;
        is_it(&entry.cell).then_some(id)
    }

    pub fn stop_writing(&mut self, how: Progress) {
        self.stop_thinking();
        if let Some(id) = self.last_answer() {
            self.transcript.change(id, |entry| {
                if let Cell::Answer(answer) = &mut entry.cell
                    && answer.progress == Progress::Writing
                {
                    answer.progress = how;
                }
            });
        }
    }

    fn stop_thinking(&mut self) {
        let now = self.moment;
        if let Some(id) = self.open_thought() {
            self.transcript.change(id, |entry| {
                if let Cell::Thinking { since, took, .. } = &mut entry.cell {
                    *took = Some(now.saturating_duration_since(*since));
                }
            });
        }
    }

    /// The answer that the current response is writing.
    fn last_answer(&self) -> Option<CellId> {
        let is_answer = |id: &&CellId| {
            let entry = self.transcript.get(**id);
            entry.is_some_and(|entry| matches!(entry.cell, Cell::Answer(_)))
        };
        self.work.response.iter().rev().find(is_answer).copied()
    }

    /// The turn has ended: calls without a result, for example because the model never finished writing them, get none.
    pub fn end(&mut self, how: Progress) {
        self.stop_writing(how);
        self.turn.response_ended(self.moment);
        for key in self.turn.calls.clone() {
            if self.calls.get(key).by != Author::Person {
                self.calls.close(key, "the turn ended", self.moment);
            }
        }
    }

    /// How many calls the turn made, and what they changed.
    pub fn totals(&self) -> (usize, Changed) {
        let calls = self.turn.calls.iter().map(|key| self.calls.get(*key));
        let mut count = 0;
        let mut changed = Changed::default();
        for call in calls.filter(|call| call.by != Author::Person) {
            count += 1;
            let sizes = call.completed().map_or(&[][..], |it| &it.changed);
            for change in sizes {
                changed.add(change);
            }
        }
        (count, changed)
    }
}
