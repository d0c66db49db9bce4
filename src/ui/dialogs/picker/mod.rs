//! A list to choose from, over a dimmed screen.

mod places;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

pub use self::places::Places;
use super::modal::{draw_filter, draw_in_frame, keys, keys_in_frame, mark_matches};
use super::{field, frame};
use crate::app::Settings;
use crate::app::dialogs::DialogLayout;
use crate::app::dialogs::picker::{Item, Picker, Preview, Row};
use crate::app::search::find_all;
use crate::keymap::{Action, Context};
use crate::theme::{Role, Theme};
use crate::ui::list::{Columns, Entry, Keeps, OutOfView, Painter};
use crate::ui::page;
use crate::ui::text::{self, clean, truncate};

const KEYS_OF_RENAMING: &[(Action, &str)] = &[(Action::Choose, "rename"), (Action::Back, "cancel")];

/// How many rows of the list fit.
pub fn lay_out(picker: &Picker, whole: Rect) -> (Places, DialogLayout) {
    let places = Places::of(picker, whole);
    let visible = usize::from(places.list.height);
    let rest = DialogLayout {
        furthest: picker.row_count().saturating_sub(visible),
        visible,
        ..DialogLayout::default()
    };
    (places, rest)
}

pub fn draw(
    picker: &Picker,
    settings: &Settings,
    whole: Rect,
    buf: &mut Buffer,
) -> Option<Position> {
    let theme = &settings.theme;
    let places = Places::of(picker, whole);
    let title = picker.kind.title();
    frame(places.area, title, Role::BorderFocused, theme, buf);
    draw_in_frame(places.area, &count(picker), theme, buf);
    draw_last_line(picker, settings, places.area, buf);
    draw_list(picker, theme, &places, buf);
    draw_preview(picker, theme, &places, buf);
    match picker.renaming() {
        Some(title) => draw_title(title, theme, places.filter, buf),
        None if !picker.kind.has_filter() => None,
        None => draw_filter(picker.filter(), "type to filter", theme, places.filter, buf),
    }
}

fn count(picker: &Picker) -> String {
    match (picker.is_loading, picker.is_filtered()) {
        (true, _) => "looking …".to_owned(),
        (false, true) => format!("{} of {}", picker.shown().len(), picker.len()),
        (false, false) => picker.len().to_string(),
    }
}

fn draw_list(picker: &Picker, theme: &Theme, places: &Places, buf: &mut Buffer) {
    let Places { list, rest, .. } = *places;
    let rows = picker.window();
    let entries = picker.items().iter().map(|item| entry(item, &[]));
    let columns = Columns::of(entries, usize::from(list.width));
    for (y, row) in (list.y..list.bottom()).zip(rows) {
        let area = Rect {
            y,
            height: 1,
            ..list
        };
        match *row {
            Row::Heading(number) => {
                let group = picker.get(number).map(|(item, _)| clean(&item.group));
                let text = truncate(&group.unwrap_or_default(), usize::from(area.width));
                buf.set_string(area.x, y, text, theme.style(Role::Heading));
            }
            Row::Item(number) => {
                let painter = Painter {
                    theme,
                    columns,
                    area,
                };
                if let Some((item, matched)) = picker.get(number) {
                    let chosen = number == picker.chosen_number();
                    painter.draw(&entry(item, matched), chosen, buf);
                }
            }
        }
    }
    let muted = theme.style(Role::Muted);
    let (above, below) = picker.out_of_view();
    OutOfView { above, below }.draw(theme, rest, buf);
    if rows.is_empty() && !list.is_empty() {
        let words = match (picker.is_loading, picker.is_filtered()) {
            (true, _) => "looking …",
            (false, true) => "nothing matches",
            (false, false) => "nothing here yet",
        };
        let words = truncate(words, usize::from(list.width.saturating_sub(2)));
        buf.set_string(list.x + 2.min(list.width), list.y, words, muted);
    }
}

fn entry<'a>(item: &'a Item, matched: &'a [u32]) -> Entry<'a> {
    Entry {
        mark: item.mark,
        name: &item.label,
        matched,
        keeps: Keeps::Start,
        about: &item.about,
        hint: &item.hint,
    }
}

/// The preview of the selected item: where the filter matched, else its start or its end.
fn draw_preview(picker: &Picker, theme: &Theme, places: &Places, buf: &mut Buffer) {
    let Places { edge, preview, .. } = *places;
    let line = if edge.width == 1 { "│" } else { "─" };
    for position in edge.positions() {
        buf[position]
            .set_symbol(line)
            .set_style(theme.style(Role::Border));
    }
    let Some(item) = picker.chosen().filter(|_| !preview.is_empty()) else {
        return;
    };
    let rows = page::rows(&item.preview, preview.width, theme);
    let height = usize::from(preview.height);
    let last = rows.len().saturating_sub(height);
    let words = || picker.filter().split_whitespace();
    let has = |row: &text::Row, word: &str| !find_all(&row.line.to_string(), word).is_empty();
    let all = |row: &text::Row| picker.is_filtered() && words().all(|word| has(row, word));
    let any = |row: &text::Row| words().any(|word| has(row, word));
    let found = rows
        .iter()
        .position(all)
        .or_else(|| rows.iter().position(any));
    let from = match (found, picker.kind.has_preview()) {
        (Some(row), _) => row.saturating_sub(height / 3).min(last),
        (None, Preview::FromEnd) => last,
        (None, Preview::FromStart | Preview::None) => 0,
    };
    for (y, row) in (preview.y..preview.bottom()).zip(&rows[from..]) {
        buf.set_line(preview.x, y, &row.line, preview.width);
        let line = Rect {
            y,
            height: 1,
            ..preview
        };
        for word in words() {
            mark_matches(row, word, line, theme.style(Role::Match), buf);
        }
    }
}

/// The field for a new title; returns the caret.
fn draw_title(title: &str, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    const LABEL: &str = "New title: ";
    let label = u16::try_from(LABEL.len()).unwrap_or(0).min(area.width);
    buf.set_stringn(
        area.x,
        area.y,
        LABEL,
        label.into(),
        theme.style(Role::Accent),
    );
    let input = Rect {
        x: area.x + label,
        width: area.width - label,
        ..area
    };
    (!input.is_empty()).then(|| field(&clean(title), Role::Text, theme, input, buf))
}

/// The keys, or the question that asks for confirmation.
fn draw_last_line(picker: &Picker, settings: &Settings, area: Rect, buf: &mut Buffer) {
    if picker.renaming().is_some() {
        let hints = keys(KEYS_OF_RENAMING, &[Context::Rename], settings);
        return keys_in_frame(area, &hints, buf);
    }
    let contexts = [picker.kind.context(), Context::Global];
    let Some((action, word)) = picker.question() else {
        return keys_in_frame(area, &keys(picker.keys(), &contexts, settings), buf);
    };
    if let Some(chord) = settings.keymap.chord_for(action, &contexts) {
        let words = format!("{chord} again to {word}");
        let style = settings.theme.style(Role::Warning);
        keys_in_frame(area, &[Line::from(Span::styled(words, style))], buf);
    }
}
