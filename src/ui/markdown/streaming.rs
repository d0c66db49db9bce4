//! An answer while it is being written.
//!
//! The rows of finished segments stay; only the open one is laid out again, and of an open fence only its last line. So
//! a delta costs its own size plus a bounded amount, however long the answer is.

use std::ops::Range;
use std::sync::Arc;

use crate::theme::Theme;
use crate::ui::highlight::{CodeColours, Highlighted};
use crate::ui::text::Row;

use super::open_fence::OpenFence;
use super::split::{Segment, Splitter};
use super::{Page, Stage, append, lay_out};

/// The text so far and its rows, which are at every moment those of [`super::render`].
#[derive(Debug, Clone, Default)]
pub struct Streaming {
    source: String,
    splitter: Splitter,
    rows: Vec<Row>,
    /// How many of the rows are those of finished segments.
    finished: usize,
    /// Finished segments with code whose colours are still to come, and their rows.
    waiting: Vec<(Segment, Range<usize>)>,
    fence: Option<OpenFence>,
    /// What the rows were laid out for: the page, and how much text and which colours there were.
    page: Option<(u16, Theme)>,
    length: usize,
    revision: u64,
}

impl Streaming {
    pub fn push(&mut self, delta: &str) {
        self.source.push_str(delta);
    }

    pub fn source(&self) -> &str {
        &self.source
    }

    /// The rows as they were last asked for.
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
        if !same_page || recoloured || self.length != self.source.len() {
            self.revision = code.revision();
            self.length = self.source.len();
            let mut page = Page { width, theme, code };
            if recoloured {
                self.recolour(&mut page);
            }
            self.write_finished(&mut page);
            self.write_open(&mut page);
        }
        &self.rows
    }

    fn start_over(&mut self, width: u16, theme: &Theme) {
        *self = Self {
            source: std::mem::take(&mut self.source),
            page: Some((width, theme.clone())),
            ..Self::default()
        };
    }

    /// Colours change the styles of rows and nothing else, so the new rows take the places of the old ones.
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

    /// Lays out what has been finished since the last time.
    fn write_finished(&mut self, page: &mut Page) {
        for segment in self.splitter.advance(&self.source) {
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

    /// Lays out what may still change behind what cannot.
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

    /// The rows of a finished segment, and whether colours for it are still to come.
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
