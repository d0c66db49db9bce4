//! An answer while it is being written.
//!
//! The rows of finished segments stay; only the open one is laid out again, and of an open fence only the last line. So
//! a delta costs its own size plus a bounded amount, however long the answer is.

use std::ops::Range;
use std::sync::Arc;

use crate::theme::Theme;
use crate::ui::highlight::{CodeColours, Highlighted};
use crate::ui::text::Row;

use super::open_fence::OpenFence;
use super::split::{Segment, Splitter};
use super::{Page, Stage, append, lay_out};

/// The text so far and its rows, which always equal those of [`super::render`].
#[derive(Debug, Clone, Default)]
pub struct Streaming {
    source: String,
    splitter: Splitter,
    rows: Vec<Row>,
    /// How many rows belong to finished segments.
    finished: usize,
    /// Finished segments whose code colours are still missing, and their rows.
    waiting: Vec<(Segment, Range<usize>)>,
    fence: Option<OpenFence>,
    end: End,
    /// What the rows were laid out for: the page, the length of the text, and the revision of the colours.
    page: Option<(u16, Theme)>,
    length: usize,
    revision: u64,
}

/// Whether more text may arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum End {
    #[default]
    Open,
    /// No more text will arrive, but the last segment was laid out as one that may grow.
    Reached,
    Written,
}

impl Streaming {
    pub fn push(&mut self, delta: &str) {
        self.source.push_str(delta);
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// The answer is complete: its last block gets all its colours.
    pub fn finish(&mut self) {
        if self.end == End::Open {
            self.end = End::Reached;
        }
    }

    /// Whether some rows must be written again when colours arrive.
    pub fn waits_for_colours(&self) -> bool {
        !self.waiting.is_empty() || self.fence.as_ref().is_some_and(OpenFence::is_waiting)
    }

    /// The rows as they were last requested.
    pub fn laid_out(&self) -> &[Row] {
        &self.rows
    }

    pub fn rows(&mut self, width: u16, theme: &Theme, code: &mut dyn CodeColours) -> &[Row] {
        let same_page = self
            .page
            .as_ref()
            .is_some_and(|(old, on)| *old == width && on == theme);
        if !same_page {
            self.start_over(width, theme);
        }
        let recoloured = self.revision != code.revision();
        let ends = self.end == End::Reached;
        if !same_page || recoloured || ends || self.length != self.source.len() {
            self.revision = code.revision();
            self.length = self.source.len();
            let mut page = Page { width, theme, code };
            if recoloured {
                self.recolour(&mut page);
            }
            match self.end {
                End::Open => {
                    let finished = self.splitter.advance(&self.source);
                    self.write_finished(finished, &mut page);
                    self.write_open(&mut page);
                }
                End::Reached => {
                    self.rows.truncate(self.finished);
                    let last = std::mem::take(&mut self.splitter).finish(&self.source);
                    self.write_finished(last, &mut page);
                    self.fence = None;
                    self.end = End::Written;
                }
                End::Written => {}
            }
        }
        &self.rows
    }

    fn start_over(&mut self, width: u16, theme: &Theme) {
        let end = match self.end {
            End::Open => End::Open,
            End::Reached | End::Written => End::Reached,
        };
        *self = Self {
            source: std::mem::take(&mut self.source),
            end,
            page: Some((width, theme.clone())),
            ..Self::default()
        };
    }

    /// Colours change only the styles of rows, so new rows replace the old ones in place.
    fn recolour(&mut self, page: &mut Page) {
        for (segment, place) in std::mem::take(&mut self.waiting) {
            let (mut rows, missed) = self.closed(&segment, page);
            if let Some(first) = rows.first_mut() {
                first.continues = self.rows[place.start].continues;
            }
            self.rows.splice(place.clone(), rows);
            if missed {
                self.waiting.push((segment, place));
            }
        }
        if let Some(fence) = &mut self.fence {
            fence.ask_again();
        }
    }

    /// Lays out the segments that were finished since the last time.
    fn write_finished(&mut self, segments: Vec<Segment>, page: &mut Page) {
        for segment in segments {
            self.fence = None;
            self.rows.truncate(self.finished);
            let (rows, missed) = self.closed(&segment, page);
            let count = rows.len();
            append(&mut self.rows, rows, segment.joint);
            self.finished = self.rows.len();
            if missed {
                self.waiting
                    .push((segment, self.finished - count..self.finished));
            }
        }
    }

    /// Lays out the open segment after the finished ones.
    fn write_open(&mut self, page: &mut Page) {
        if let Some(open) = self.splitter.fence() {
            let fence = self
                .fence
                .get_or_insert_with(|| OpenFence::new(self.finished));
            fence.write(open, &self.source, &mut self.rows, page);
            return;
        }
        self.rows.truncate(self.finished);
        for segment in self.splitter.clone().finish(&self.source) {
            let rows = lay_out(&self.source, &segment, Stage::Open, page);
            append(&mut self.rows, rows, segment.joint);
        }
    }

    /// The rows of a finished segment, and whether its colours are still missing.
    fn closed(&self, segment: &Segment, page: &mut Page) -> (Vec<Row>, bool) {
        let mut watch = Watch {
            colours: page.code,
            missed: false,
        };
        let mut page = Page {
            code: &mut watch,
            ..*page
        };
        let rows = lay_out(&self.source, segment, Stage::Closed, &mut page);
        (rows, watch.missed)
    }
}

/// Notices when colours are missing.
struct Watch<'a> {
    colours: &'a mut dyn CodeColours,
    missed: bool,
}

impl CodeColours for Watch<'_> {
    fn colours(&mut self, language: &str, code: &str) -> Option<Arc<Highlighted>> {
        let found = self.colours.colours(language, code);
        self.missed |= found.is_none();
        found
    }

    fn revision(&self) -> u64 {
        self.colours.revision()
    }
}
