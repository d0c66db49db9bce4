//! The rows of a list to choose from, and the line that says how many more there are. Pickers and the list above the
//! input share them.

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::app::dialogs::picker::Mark;
use crate::theme::{Role, Theme};
use crate::ui::text::{clean, clean_line, truncate, width};

/// The space between two columns.
const GAP: usize = 2;
/// The width of the selected row's sign.
const SIGN: usize = 2;

/// What a row shows.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    pub mark: Option<Mark>,
    pub name: &'a str,
    /// The characters of the name that match the filter.
    pub matched: &'a [u32],
    /// Which end of a long name is shown.
    pub keeps: Keeps,
    pub about: &'a str,
    /// At the right edge.
    pub hint: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    Start,
    /// Paths differ at their ends.
    End,
}

impl<'a> Entry<'a> {
    pub fn named(name: &'a str, matched: &'a [u32]) -> Self {
        Self {
            mark: None,
            name,
            matched,
            keeps: Keeps::Start,
            about: "",
            hint: "",
        }
    }
}

/// The columns, the same for all rows.
#[derive(Debug, Clone, Copy)]
pub struct Columns {
    marks: usize,
    about: usize,
    hints: usize,
}

impl Columns {
    /// The second column begins after the longest name, except for names that are too long.
    pub fn of<'a>(entries: impl Iterator<Item = Entry<'a>> + Clone, room: usize) -> Self {
        let described = entries.clone().filter(|entry| !entry.about.is_empty());
        let has_about = described.clone().next().is_some();
        let has_marks = entries.clone().any(|entry| entry.mark.is_some());
        let names = described.map(|entry| width(&clean(entry.name)));
        let names = names
            .filter(|name| *name <= room * 2 / 5)
            .max()
            .unwrap_or(0);
        let hints = entries.map(|entry| width(&clean(entry.hint))).max();
        let marks = SIGN + if has_marks { 2 } else { 0 };
        Self {
            marks,
            about: if has_about { marks + names + GAP } else { 0 },
            hints: hints.unwrap_or(0).min(room / 2),
        }
    }
}

pub struct Painter<'a> {
    pub theme: &'a Theme,
    pub columns: Columns,
    pub area: Rect,
}

impl Painter<'_> {
    pub fn draw(&self, entry: &Entry, chosen: bool, buf: &mut Buffer) {
        let (theme, area) = (self.theme, self.area);
        let room = usize::from(area.width);
        let mut spans = vec![Span::styled(
            if chosen { "› " } else { "  " },
            theme.style(Role::Accent),
        )];
        if self.columns.marks > SIGN {
            spans.push(mark(entry.mark, theme));
        }
        let hint = truncate(&clean(entry.hint), self.columns.hints);
        let hint_room = if hint.is_empty() {
            0
        } else {
            width(&hint) + GAP
        };
        let left = room.saturating_sub(self.columns.marks + hint_room);
        let name = self.name(entry, left);
        let cells = |span: &Span| width(&span.content);
        let mut used = self.columns.marks + name.iter().map(cells).sum::<usize>();
        spans.extend(name);
        let about = self.columns.about.max(used + GAP);
        let about_room = room.saturating_sub(about + hint_room);
        if !entry.about.is_empty() && about_room > 3 {
            let text = truncate(&clean(entry.about), about_room);
            spans.push(Span::raw(" ".repeat(about - used)));
            used = about + width(&text);
            spans.push(Span::styled(text, theme.style(Role::Muted)));
        }
        if !hint.is_empty() {
            let gap = room.saturating_sub(used + width(&hint));
            spans.push(Span::raw(" ".repeat(gap)));
            spans.push(Span::styled(hint, theme.style(Role::Muted)));
        }
        buf.set_line(area.x, area.y, &Line::from(spans), area.width);
        if chosen {
            buf.set_style(area, theme.style(Role::Chosen));
        }
    }

    /// The name, shortened to fit, with the matching letters highlighted.
    fn name(&self, entry: &Entry, room: usize) -> Vec<Span<'static>> {
        let plain = self.theme.style(Role::Text);
        let found = self.theme.style(Role::Match);
        let parts = parts(entry, plain, found);
        let mut shown = &parts[..];
        let mut wide: usize = parts.iter().map(|part| part.cells).sum();
        let is_cut = wide > room;
        let ellipsis = is_cut.then(|| Span::styled("…", self.theme.style(Role::Muted)));
        let room = room.saturating_sub(usize::from(is_cut));
        while wide > room {
            let (gone, rest) = match (entry.keeps, shown) {
                (Keeps::Start, [rest @ .., gone]) | (Keeps::End, [gone, rest @ ..]) => (gone, rest),
                (Keeps::Start | Keeps::End, []) => break,
            };
            wide -= gone.cells;
            shown = rest;
        }
        let mut spans: Vec<Span> = Vec::new();
        for Part { text, style, .. } in shown {
            match spans.last_mut() {
                Some(last) if last.style == *style => last.content.to_mut().push_str(text),
                _ => spans.push(Span::styled(text.to_string(), *style)),
            }
        }
        match entry.keeps {
            Keeps::Start => spans.extend(ellipsis),
            Keeps::End => spans.splice(0..0, ellipsis).for_each(drop),
        }
        spans
    }
}

/// A grapheme cluster of a name, cleaned, with its style.
struct Part<'a> {
    text: Cow<'a, str>,
    cells: usize,
    style: Style,
}

fn parts<'a>(entry: &Entry<'a>, plain: Style, found: Style) -> Vec<Part<'a>> {
    let mut at = 0;
    let clusters = entry.name.graphemes(true).take(LONGEST);
    clusters
        .map(|cluster| {
            let letters = at..at + u32::try_from(cluster.chars().count()).unwrap_or(1);
            at = letters.end;
            let fits = entry.matched.iter().any(|letter| letters.contains(letter));
            let text = clean_line(cluster, 4);
            Part {
                cells: width(&text),
                text,
                style: if fits { found } else { plain },
            }
        })
        .collect()
}

/// Longer names are cut off: no terminal shows more.
const LONGEST: usize = 2_000;

fn mark(mark: Option<Mark>, theme: &Theme) -> Span<'static> {
    let (sign, role) = match mark {
        Some(Mark::Current) => ("● ", Role::Accent),
        Some(Mark::Running) => ("● ", Role::Executing),
        Some(Mark::Done) => ("✓ ", Role::Completed),
        Some(Mark::Failed) => ("✗ ", Role::Failed),
        Some(Mark::Ready) => ("● ", Role::Completed),
        Some(Mark::Waiting) => ("◌ ", Role::Executing),
        Some(Mark::Attention) => ("! ", Role::Warning),
        Some(Mark::Off) => ("○ ", Role::Muted),
        None => ("  ", Role::Text),
    };
    Span::styled(sign, theme.style(role))
}

/// How many items of a list are out of view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfView {
    pub above: usize,
    pub below: usize,
}

impl OutOfView {
    pub fn draw(self, theme: &Theme, area: Rect, buf: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let words = match (self.above, self.below) {
            (0, 0) => String::new(),
            (0, below) => format!("{below} more ↓"),
            (above, 0) => format!("{above} more ↑"),
            (above, below) => format!("{above} more ↑   {below} more ↓"),
        };
        let indent = 2.min(area.width);
        let words = truncate(&words, usize::from(area.width - indent));
        buf.set_string(area.x + indent, area.y, words, theme.style(Role::Muted));
    }
}
