//! Paints a change to a file: unified or side by side, and while the model is still writing it.
//!
//! This only lays out; [`crate::app::diff`] finds which lines and words differ. All text is cleaned first. Folded lines
//! are never laid out, but always counted.

mod code;
mod gutter;
mod live;
mod page;
mod side_by_side;
mod unified;

#[cfg(test)]
mod tests;

pub use live::live;

use std::ops::Range;
use std::sync::Arc;

use ratatui::text::{Line, Span};

use crate::app::WIDE_ENOUGH_FOR_TWO;
use crate::app::diff::{Diff, Edit, Endings, Hunk, Kind};
use crate::theme::{Role, Theme};
use crate::ui::highlight::{CodeColours, Highlighted};
use crate::ui::text::{Row, clean_line, truncate, truncate_middle, width};

use code::{Painter, Ranges};
use gutter::Gutter;
use page::{Full, Page};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Unified,
    SideBySide,
}

impl Style {
    /// The style that suits a width.
    pub fn fitting(width: u16) -> Self {
        if width >= WIDE_ENOUGH_FOR_TWO {
            Style::SideBySide
        } else {
            Style::Unified
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub style: Style,
    pub width: u16,
    /// How many rows are shown before the rest is folded into one that counts it.
    pub fold: Option<usize>,
}

/// The hunks of a change, or some of them.
pub fn render(
    diff: &Diff,
    hunks: &[Hunk],
    options: &Options,
    theme: &Theme,
    code: &mut dyn CodeColours,
) -> Vec<Row> {
    let context = DiffContext {
        diff,
        hunks,
        width: options.width,
        room: options
            .fold
            .map(|rows| rows.saturating_add(2).saturating_mul(options.width.into())),
        painter: Painter {
            theme,
            endings: diff.endings(),
        },
        colours: Colours::ask(diff, code),
    };
    let mut page = Page::new(options.fold);
    // A full page is not an error: it reports what is missing.
    let (Ok(()) | Err(Full)) = match options.style {
        Style::SideBySide if options.width >= side_by_side::NARROWEST => {
            side_by_side::fill(&context, &mut page)
        }
        Style::SideBySide | Style::Unified => unified::fill(&context, &mut page),
    };
    page.finish(context.lines(), options.width, theme)
}

/// A line of code by itself, in these colours.
pub fn code_line(text: &str, colours: &[(Range<usize>, Role)], theme: &Theme) -> Line<'static> {
    let painter = Painter {
        theme,
        endings: Endings::Lf,
    };
    let ranges = Ranges {
        colours,
        ..Ranges::default()
    };
    painter.line(text, code::LineBackground::Same, ranges)
}

/// The file and how much of it changes, in one row.
pub fn header(diff: &Diff, columns: u16, theme: &Theme) -> Row {
    let counts = diff.counts();
    let mut notes = Vec::new();
    if diff.is_new() {
        notes.push(("new".to_owned(), Role::Muted));
    }
    if counts.added > 0 {
        notes.push((format!("+{}", counts.added), Role::Added));
    }
    if counts.removed > 0 {
        notes.push((format!("−{}", counts.removed), Role::Removed));
    }
    if counts.added + counts.removed == 0 {
        let nothing = if diff.is_new() {
            "empty"
        } else {
            "no lines changed"
        };
        notes.push((nothing.to_owned(), Role::Muted));
    }
    match diff.endings() {
        Endings::Lf => {}
        Endings::CrLf => notes.push(("CRLF".to_owned(), Role::Muted)),
        Endings::Mixed => notes.push(("CRLF and LF".to_owned(), Role::Warning)),
    }
    let room = usize::from(columns);
    let taken: usize = notes.iter().map(|(note, _)| width(note) + 1).sum();
    if taken + SHORTEST_PATH > room {
        notes.clear();
    }
    let taken: usize = notes.iter().map(|(note, _)| width(note) + 1).sum();
    let path = truncate_middle(&clean_line(diff.path(), 1), room - taken);
    let mut spans = vec![Span::styled(path, theme.style(Role::Strong))];
    for (note, role) in notes {
        spans.push(Span::raw(" "));
        spans.push(Span::styled(note, theme.style(role)));
    }
    Row::new(Line::from(spans))
}

/// If the path would get less room than this, the rest of the header is left out.
const SHORTEST_PATH: usize = 12;

/// Everything that the layouts need.
struct DiffContext<'a> {
    diff: &'a Diff,
    hunks: &'a [Hunk],
    width: u16,
    /// How many cells are shown at most, if the rest may be folded.
    room: Option<usize>,
    painter: Painter<'a>,
    colours: Colours,
}

impl DiffContext<'_> {
    /// How many lines the hunks have in total.
    fn lines(&self) -> usize {
        let removed = |edits: &[Edit]| edits.iter().map(|edit| edit.old.len()).sum::<usize>();
        self.hunks
            .iter()
            .map(|hunk| hunk.new.len() + removed(self.diff.edits(hunk)))
            .sum()
    }

    fn hunk_header(&self, hunk: &Hunk) -> Line<'static> {
        let text = truncate(&hunk.header(), self.width.into());
        Line::styled(text, self.painter.theme.style(Role::HunkHeader))
    }

    fn rows(&self, kind: Kind, words: &[Range<usize>], gutter: Gutter, columns: u16) -> Vec<Row> {
        let (colours, index) = match kind {
            Kind::Removed { old } => (&self.colours.before, old),
            Kind::Context { new, .. } | Kind::Added { new } => (&self.colours.after, new),
        };
        let colours = colours
            .as_ref()
            .map_or(&[][..], |colours| colours.line(index));
        let mut line = self.diff.line(kind);
        let whole = line.text;
        line.text = self.room.map_or(whole, |cells| start_of(whole, cells));
        let mut rows = self
            .painter
            .rows(&line, Ranges { colours, words }, gutter, columns);
        if line.text.len() < whole.len() {
            let note = Span::styled("… and more", self.painter.theme.style(Role::Muted));
            rows.push(Row::decoration(note));
        }
        rows
    }
}

/// The colours of both texts. Each was highlighted as a whole, so that strings over several lines are recognised.
struct Colours {
    before: Option<Arc<Highlighted>>,
    after: Option<Arc<Highlighted>>,
}

impl Colours {
    fn ask(diff: &Diff, code: &mut dyn CodeColours) -> Self {
        let mut ask = |text: &str| code.colours(diff.path(), text);
        Self {
            before: match diff.counts().removed {
                0 => None,
                _ => ask(diff.before().text()),
            },
            after: match diff.after().len() {
                0 => None,
                _ => ask(diff.after().text()),
            },
        }
    }
}

/// As much of a line as could fill this many cells: a file can be a single line that is mostly folded.
fn start_of(line: &str, cells: usize) -> &str {
    /// The longest emoji has ten characters.
    const BYTES_IN_A_CELL: usize = 40;
    let most = cells.saturating_mul(BYTES_IN_A_CELL);
    if line.len() <= most {
        return line;
    }
    let end = (0..=most).rfind(|at| line.is_char_boundary(*at));
    &line[..end.unwrap_or_default()]
}
