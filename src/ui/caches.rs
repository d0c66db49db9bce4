//! What was laid out and need not be again: rows of cells, colours of code. Dropping it costs only time.

use std::collections::HashMap;

use super::cells::{self, Brush};
use super::highlight::{CodeColours, Highlights};
use super::layout::Heights;
use super::markdown::Streaming;
use super::text::Row;
use crate::app::AppState;
use crate::app::search::find_all;
use crate::app::transcript::{Cell, CellId, Entry, Progress};

/// More cells than this are not kept; those in view always are.
const KEPT_CELLS: usize = 400;

/// The rows of the cells, and what they were laid out from.
#[derive(Default)]
pub struct CellCache {
    laid: HashMap<CellId, Laid>,
    frame: u64,
}

struct Laid {
    key: Key,
    rows: Vec<Row>,
    /// An answer that is being written keeps what is finished of it.
    streaming: Option<Streaming>,
    used: u64,
    /// Colours of its code were missing when it was laid out, at this revision of the colours.
    uncoloured: Option<u64>,
    /// How many rows it had in another width, for an anchor that was counted in those.
    before: Option<usize>,
}

/// Rows are good as long as all of this stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    revision: u64,
    width: u16,
    epoch: u64,
    open: bool,
    hugs: bool,
}

impl CellCache {
    /// A frame begins: what was not needed for some time goes.
    pub fn start_frame(&mut self) {
        self.frame += 1;
        if self.laid.len() > KEPT_CELLS {
            let recent = self.frame.saturating_sub(2);
            self.laid.retain(|_, laid| laid.used >= recent);
        }
    }

    pub fn rows(&self, id: CellId) -> &[Row] {
        self.laid.get(&id).map_or(&[], |laid| &laid.rows)
    }

    fn lay_out(&mut self, entry: &Entry, state: &AppState, width: u16, code: &mut Highlights) {
        let key = Key {
            revision: revision(entry, state),
            width,
            epoch: state.settings.theme_epoch,
            open: entry.open,
            hugs: cells::hugs(entry, state),
        };
        let frame = self.frame;
        let laid = self.laid.entry(entry.id).or_insert_with(|| Laid {
            key: Key {
                revision: u64::MAX,
                ..key
            },
            rows: Vec::new(),
            streaming: None,
            used: frame,
            uncoloured: None,
            before: None,
        });
        laid.used = frame;
        let colours = code.revision();
        if laid.key == key && laid.uncoloured.is_none_or(|then| then == colours) {
            return;
        }
        if laid.key.width != width {
            laid.before = Some(laid.rows.len());
        }
        laid.key = key;
        let mut brush = Brush {
            width,
            theme: &state.settings.theme,
            code: &mut *code,
        };
        match &entry.cell {
            Cell::Answer(answer) if answer.progress == Progress::Writing => {
                let streaming = laid.streaming.get_or_insert_default();
                laid.rows = writing(&answer.text, streaming, &mut brush);
                if !key.hugs {
                    laid.rows.insert(0, Row::default());
                }
            }
            _ => {
                laid.streaming = None;
                laid.rows = cells::rows(entry, state, &mut brush);
            }
        }
        laid.uncoloured = code.take_missed().then_some(colours);
    }
}

/// An answer that grows: only what came since is read.
fn writing(text: &str, streaming: &mut Streaming, brush: &mut Brush) -> Vec<Row> {
    let known = streaming.source().len();
    streaming.push(&text[known.min(text.len())..]);
    let inner = brush.width.saturating_sub(cells::MARGIN);
    let rows = streaming.rows(inner, brush.theme, brush.code);
    cells::finish_answer(rows, Progress::Writing, brush)
}

/// A call's own revision counts, not that of the cell that shows it.
fn revision(entry: &Entry, state: &AppState) -> u64 {
    match &entry.cell {
        Cell::Call(key) => state.calls.get(*key).revision + entry.revision,
        // The first cell says who answers.
        Cell::Welcome => state.session.provider.len() as u64,
        Cell::User { .. }
        | Cell::Answer(_)
        | Cell::Thinking { .. }
        | Cell::Notice { .. }
        | Cell::Summary(_) => entry.revision,
    }
}

/// The heights of cells, laid out as they are asked for.
pub struct Measured<'a> {
    pub cache: &'a mut CellCache,
    pub code: &'a mut Highlights,
    pub state: &'a AppState,
    pub width: u16,
}

impl Measured<'_> {
    fn entry(&self, index: usize) -> &Entry {
        &self.state.transcript.entries()[index]
    }
}

impl Heights for Measured<'_> {
    fn height(&mut self, index: usize) -> usize {
        let entry = &self.state.transcript.entries()[index];
        self.cache.lay_out(entry, self.state, self.width, self.code);
        self.cache.rows(entry.id).len()
    }

    fn row_of_match(&mut self, index: usize, nth: usize) -> usize {
        self.height(index);
        let Some(search) = &self.state.search else {
            return 0;
        };
        let rows = self.cache.rows(self.entry(index).id);
        let mut seen = 0;
        for (number, row) in rows.iter().enumerate() {
            seen += find_all(&row.line.to_string(), &search.query).len();
            if seen > nth {
                return number;
            }
        }
        0
    }

    fn translate(&mut self, index: usize, row: usize) -> usize {
        let height = self.height(index);
        let id = self.entry(index).id;
        let before = self
            .cache
            .laid
            .get_mut(&id)
            .and_then(|laid| laid.before.take());
        let row = match before {
            Some(before) if before > 0 => row * height / before,
            Some(_) | None => row,
        };
        row.min(height.saturating_sub(1))
    }
}
