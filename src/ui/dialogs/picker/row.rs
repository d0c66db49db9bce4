//! One row of a list: a mark, a name with the typed letters highlighted, a description, and a hint at the right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::app::dialogs::picker::{Item, Mark, Picker};
use crate::theme::{Role, Theme};
use crate::ui::text::{clean, graphemes, truncate, width};

/// The space between two columns.
const GAP: usize = 2;

/// The columns, the same for all rows.
pub struct Columns {
    marks: usize,
    about: usize,
    hints: usize,
}

impl Columns {
    /// The second column begins after the longest name, except for names that are too long.
    pub fn of(picker: &Picker, room: usize) -> Self {
        let items = || picker.items().iter();
        let has_about = items().any(|item| !item.about.is_empty());
        let names = items().map(|item| width(&clean(&item.label)));
        let names = names.filter(|name| *name <= room / 3).max().unwrap_or(0);
        let hints = items().map(|item| width(&clean(&item.hint))).max();
        let marks = 2 + if picker.has_marks() { 2 } else { 0 };
        Self {
            marks,
            about: if has_about { marks + names + GAP } else { 0 },
            hints: hints.unwrap_or(0).min(room / 2),
        }
    }
}

pub struct Painter<'a> {
    pub theme: &'a Theme,
    pub columns: &'a Columns,
    pub area: Rect,
}

impl Painter<'_> {
    pub fn draw(&self, item: &Item, matched: &[u32], chosen: bool, buf: &mut Buffer) {
        let (theme, area) = (self.theme, self.area);
        let room = usize::from(area.width);
        let mut spans = vec![Span::styled(
            if chosen { "› " } else { "  " },
            theme.style(Role::Accent),
        )];
        if self.columns.marks > 2 {
            spans.push(mark(item.mark, theme));
        }
        let hint = truncate(&clean(&item.hint), self.columns.hints);
        let hint_room = if hint.is_empty() {
            0
        } else {
            width(&hint) + GAP
        };
        let left = room.saturating_sub(self.columns.marks + hint_room);
        let name = truncate(&clean(&item.label), left);
        let mut used = self.columns.marks + width(&name);
        spans.extend(self.name(&name, matched));
        let about = self.columns.about.max(used + GAP);
        let about_room = room.saturating_sub(about + hint_room);
        if !item.about.is_empty() && about_room > 3 {
            let text = truncate(&clean(&item.about), about_room);
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

    /// Highlights the letters that match the filter.
    fn name(&self, name: &str, matched: &[u32]) -> Vec<Span<'static>> {
        let plain = self.theme.style(Role::Text);
        let found = self.theme.style(Role::Match);
        styled(name, matched, plain, found)
    }
}

pub fn styled(text: &str, matched: &[u32], plain: Style, found: Style) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut at = 0;
    for (cluster, _) in graphemes(text) {
        let letters = at..at + u32::try_from(cluster.chars().count()).unwrap_or(1);
        at = letters.end;
        let style = if matched.iter().any(|letter| letters.contains(letter)) {
            found
        } else {
            plain
        };
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(cluster),
            _ => spans.push(Span::styled(cluster.to_owned(), style)),
        }
    }
    spans
}

fn mark(mark: Option<Mark>, theme: &Theme) -> Span<'static> {
    let (sign, role) = match mark {
        Some(Mark::Current) => ("● ", Role::Accent),
        Some(Mark::Running) => ("● ", Role::Executing),
        Some(Mark::Done) => ("✓ ", Role::Completed),
        Some(Mark::Failed) => ("✗ ", Role::Failed),
        Some(Mark::Off) => ("○ ", Role::Muted),
        None => ("  ", Role::Text),
    };
    Span::styled(sign, theme.style(role))
}
