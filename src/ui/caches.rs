//! Cached layouts: rows of cells, colours of code. Dropping them costs only time.

use std::collections::HashMap;
use std::ops::Range;

use super::cells::{self, CellContext};
use super::conversation::narrow;
use super::highlight::{CodeColours, Highlights};
use super::layout::Heights;
use super::markdown::{self, Streaming};
use super::text::{Row, width};
use crate::app::AppState;
use crate::app::call::State;
use crate::app::folding::Fold;
use crate::app::search::find_all;
use crate::app::transcript::{Answer, Cell, CellId, Entry, Progress};

/// How many cells are cached; visible ones always are.
const KEPT_CELLS: usize = 400;

/// The rows of the cells, and what they were laid out from.
#[derive(Default)]
pub struct CellCache {
    laid_out: HashMap<CellId, LaidOut>,
    frame: u64,
    empty: Row,
}

/// A row of a cell, with its left margin.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    pub row: &'a Row,
    pub margin: u16,
}

/// Where a match of a search is, relative to the start of its cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMatch {
    pub row: usize,
    pub columns: Range<u16>,
}

struct LaidOut {
    key: Key,
    body: Body,
    used: u64,
    /// The revision of the colours at layout time, if some of its code's colours were missing.
    uncoloured: Option<u64>,
    /// The frame in which its width changed, and how many rows it had before. Scroll anchors of that frame refer to the
    /// old rows.
    before: Option<(u64, usize)>,
}

enum Body {
    Rows(Vec<Row>),
    /// An answer that is still being written keeps the rows of its finished part.
    Writing(Box<Streaming>),
}

/// Rows are valid while all of this stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    revision: u64,
    width: u16,
    epoch: u64,
    open: bool,
    joins_previous: bool,
    margin: u16,
    /// How long a call has been running, and how much of its output is shown meanwhile.
    live: (u64, usize),
    fold: Fold,
}

impl CellCache {
    /// Begins a frame: drops what was not used recently.
    pub fn start_frame(&mut self) {
        self.frame += 1;
        if self.laid_out.len() > KEPT_CELLS {
            let recent = self.frame.saturating_sub(2);
            self.laid_out.retain(|_, laid_out| laid_out.used >= recent);
        }
    }

    pub fn height(&self, id: CellId) -> usize {
        self.laid_out.get(&id).map_or(0, LaidOut::height)
    }

    pub fn row(&self, id: CellId, number: usize) -> Option<Shown<'_>> {
        let laid_out = self.laid_out.get(&id)?;
        // The rows between a cell and the one above.
        let Some(number) = number.checked_sub(laid_out.lead()) else {
            return Some(Shown {
                row: &self.empty,
                margin: 0,
            });
        };
        match &laid_out.body {
            Body::Rows(rows) => rows.get(number),
            Body::Writing(streaming) => streaming.laid_out().get(number),
        }
        .map(|row| Shown {
            row,
            margin: laid_out.key.margin,
        })
    }

    /// The nth match of a search in a cell, among its visible rows; the last one if there are fewer.
    pub fn find_match(&self, id: CellId, query: &str, nth: usize) -> Option<FoundMatch> {
        let mut left = nth;
        let mut last = None;
        for row in 0..self.height(id) {
            let Some(shown) = self.row(id, row) else {
                continue;
            };
            let text = shown.row.line.to_string();
            let hits = find_all(&text, query);
            let column = |byte: usize| shown.margin + narrow(width(&text[..byte]));
            let found = |hit: &Range<usize>| FoundMatch {
                row,
                columns: column(hit.start)..column(hit.end),
            };
            if let Some(hit) = hits.get(left) {
                return Some(found(hit));
            }
            last = hits.last().map(found).or(last);
            left -= hits.len();
        }
        last
    }

    fn lay_out(&mut self, entry: &Entry, state: &AppState, width: u16, code: &mut Highlights) {
        let fold = cells::fold(entry, state);
        let key = Key {
            revision: revision(entry, fold, state),
            width,
            epoch: state.settings.theme_epoch,
            open: entry.open,
            joins_previous: cells::joins_previous(entry, state),
            margin: cells::margin(&entry.cell),
            live: live(entry, state),
            fold,
        };
        let frame = self.frame;
        let colours = code.revision();
        let laid_out = self.laid_out.entry(entry.id).or_insert_with(|| LaidOut {
            key: Key {
                revision: u64::MAX,
                ..key
            },
            body: Body::Rows(Vec::new()),
            used: frame,
            uncoloured: None,
            before: None,
        });
        laid_out.used = frame;
        if laid_out.key == key && laid_out.uncoloured.is_none_or(|then| then == colours) {
            return;
        }
        if laid_out.key.width != width {
            laid_out.before = Some((frame, laid_out.height()));
        }
        laid_out.key = key;
        let mut cx = CellContext {
            width: width.saturating_sub(key.margin),
            theme: &state.settings.theme,
            code: &mut *code,
        };
        laid_out.body = match &entry.cell {
            Cell::Answer(answer) if answer.progress != Progress::Cut => {
                let body = std::mem::replace(&mut laid_out.body, Body::Rows(Vec::new()));
                answer_body(answer, body, &mut cx)
            }
            _ => Body::Rows(cells::rows(entry, state, &mut cx)),
        };
        // An answer without new text requests nothing, although colours that it requested before may still be missing.
        let waits = code.take_missed() | laid_out.waits_for_colours();
        laid_out.uncoloured = waits.then_some(colours);
    }
}

impl LaidOut {
    fn lead(&self) -> usize {
        usize::from(!self.key.joins_previous)
    }

    fn waits_for_colours(&self) -> bool {
        match &self.body {
            Body::Rows(_) => false,
            Body::Writing(streaming) => streaming.waits_for_colours(),
        }
    }

    fn height(&self) -> usize {
        let rows = match &self.body {
            Body::Rows(rows) => rows.len(),
            Body::Writing(streaming) => streaming.laid_out().len(),
        };
        rows + self.lead()
    }
}

/// A growing answer: only the new text is read. Its rows stay valid after it is finished.
fn answer_body(answer: &Answer, before: Body, cx: &mut CellContext) -> Body {
    let mut streaming = match (before, answer.progress) {
        (Body::Writing(streaming), _) => streaming,
        (Body::Rows(_), Progress::Writing) => Box::default(),
        (Body::Rows(_), Progress::Whole | Progress::Cut) => {
            let rows = markdown::render(&answer.text, cx.width, cx.theme, cx.code);
            return Body::Rows(rows);
        }
    };
    let known = streaming.source().len().min(answer.text.len());
    streaming.push(&answer.text[known..]);
    if answer.progress == Progress::Whole {
        streaming.finish();
    }
    streaming.rows(cx.width, cx.theme, cx.code);
    Body::Writing(streaming)
}

/// For a call, its own revision matters, not that of the cell.
fn revision(entry: &Entry, fold: Fold, state: &AppState) -> u64 {
    match &entry.cell {
        Cell::Call(key) => match fold {
            Fold::Head(count) => {
                let index = state.conversation().index_of(entry.id).unwrap_or(0);
                let calls = state.folded_calls(index, count);
                entry.revision + calls.map(|call| call.revision).sum::<u64>()
            }
            Fold::Alone | Fold::Hidden => state.calls.get(*key).revision + entry.revision,
        },
        // The first cell shows whether a model is connected.
        Cell::Welcome => u64::from(state.session.provider == "builtin"),
        Cell::User { .. }
        | Cell::Answer(_)
        | Cell::Thinking { .. }
        | Cell::Notice { .. }
        | Cell::Summary(_) => entry.revision,
    }
}

/// What changes about a running call by time alone, or because of another call.
fn live(entry: &Entry, state: &AppState) -> (u64, usize) {
    match &entry.cell {
        Cell::Call(key) => {
            let call = state.calls.get(*key);
            match call.state {
                State::Executing(_) => (
                    cells::running_seconds(call, state),
                    cells::live_lines(state),
                ),
                State::Arriving(_) | State::Queued | State::Completed(_) | State::Yielded(_) => {
                    (0, 0)
                }
            }
        }
        Cell::Welcome
        | Cell::User { .. }
        | Cell::Answer(_)
        | Cell::Thinking { .. }
        | Cell::Notice { .. }
        | Cell::Summary(_) => (0, 0),
    }
}

/// The heights of cells, which are laid out on demand.
pub struct Measured<'a> {
    pub cache: &'a mut CellCache,
    pub code: &'a mut Highlights,
    pub state: &'a AppState,
    pub width: u16,
}

impl Measured<'_> {
    fn entry(&self, index: usize) -> &Entry {
        &self.state.conversation().entries()[index]
    }
}

impl Heights for Measured<'_> {
    fn height(&mut self, index: usize) -> usize {
        let entry = &self.state.conversation().entries()[index];
        self.cache.lay_out(entry, self.state, self.width, self.code);
        self.cache.height(entry.id)
    }

    fn row_of_match(&mut self, index: usize, nth: usize) -> usize {
        self.height(index);
        let query = self.state.search.as_ref().map(|search| &search.query);
        let id = self.entry(index).id;
        let found = query.and_then(|query| self.cache.find_match(id, query, nth));
        found.map_or(0, |found| found.row)
    }

    fn translate(&mut self, index: usize, row: usize) -> usize {
        let height = self.height(index);
        let id = self.entry(index).id;
        let before = self
            .cache
            .laid_out
            .get(&id)
            .and_then(|laid_out| laid_out.before);
        let row = match before {
            Some((frame, before)) if frame == self.cache.frame && before > 0 => {
                row * height / before
            }
            Some(_) | None => row,
        };
        row.min(height.saturating_sub(1))
    }
}
