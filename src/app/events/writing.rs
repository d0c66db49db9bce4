//! What the model writes and thinks, as it arrives.

use crate::app::transcript::{Answer, Cell, CellId, Progress, Transcript};
use crate::app::{AppState, Work};

impl AppState {
    pub(super) fn write(&mut self, text: &str) {
        self.stop_thinking();
        let now = self.moment;
        if let Some(work) = self.work_mut() {
            work.heard = Some(now);
        }
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

    pub(super) fn think(&mut self, text: &str) {
        let now = self.moment;
        if let Some(work) = self.work_mut() {
            work.heard = Some(now);
        }
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
            since: now,
            took: None,
        });
    }

    /// Adds a cell to the current response.
    pub(super) fn show(&mut self, cell: Cell) -> CellId {
        let id = self.transcript.push(cell);
        if let Some(work) = self.work_mut() {
            work.response.push(id);
        }
        id
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
        let id = *self.work()?.response.last()?;
        let entry = self.transcript.get(id)?;
        is_it(&entry.cell).then_some(id)
    }

    pub(super) fn stop_writing(&mut self, how: Progress) {
        self.stop_thinking();
        let writing = self
            .work()
            .and_then(|work| last_answer(work, &self.transcript));
        if let Some(id) = writing {
            self.transcript.change(id, |entry| {
                if let Cell::Answer(answer) = &mut entry.cell
                    && answer.progress == Progress::Writing
                {
                    answer.progress = how;
                }
            });
        }
    }

    pub(super) fn stop_thinking(&mut self) {
        let now = self.moment;
        if let Some(id) = self.open_thought() {
            self.transcript.change(id, |entry| {
                if let Cell::Thinking { since, took, .. } = &mut entry.cell {
                    *took = Some(now.saturating_duration_since(*since));
                }
            });
        }
    }
}

/// The answer that the current response is writing.
fn last_answer(work: &Work, transcript: &Transcript) -> Option<CellId> {
    let is_answer = |id: &&CellId| {
        transcript
            .get(**id)
            .is_some_and(|entry| matches!(entry.cell, Cell::Answer(_)))
    };
    work.response.iter().rev().find(is_answer).copied()
}
