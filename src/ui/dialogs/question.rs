//! Paints what a call asks, over the lower part of the conversation: whether it may run is `permission`'s, something that
//! its tool wants to know is painted here.
//!
//! The words are somebody else's: they are revealed, wrapped and never cut, and each stands beside a mark of ours.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::places::{self, Places, Wanted};
use super::{notice_rows, permission, place_in_queue, text_field, title};
use crate::app::dialogs::DialogRest;
use crate::app::dialogs::question::{Asked, ChoiceDialog, Front, Questions};
use crate::app::{AppState, Settings};
use crate::keymap::{Action, Keymap};
use crate::protocol::ChoiceOption;
use crate::theme::{Role, Theme};
use crate::ui::conversation::draw_row;
use crate::ui::highlight::Highlights;
use crate::ui::text::{Indent, Row, chop, clean_line, reveal, truncate, width, wrap};

/// The question in front, laid out by its kind.
#[derive(Debug, Default)]
pub struct Laid {
    permission: permission::Laid,
    choice: Choice,
}

impl Laid {
    /// What it returns is for the dialog to [settle](Questions::settle) before it is drawn.
    pub fn lay_out(
        &mut self,
        questions: &Questions,
        state: &AppState,
        over: Rect,
        code: &mut Highlights,
    ) -> DialogRest {
        match questions.current() {
            Some(asked) => match &asked.front {
                Front::Permission(_) => {
                    permission::lay_out(questions, state, over, &mut self.permission, code)
                }
                Front::Choice(dialog) => self.choice.lay_out(asked, dialog, &state.settings, over),
            },
            None => DialogRest::default(),
        }
    }

    /// Paints what was laid out; says where the caret is, if something is being typed.
    pub fn draw(
        &self,
        questions: &Questions,
        state: &AppState,
        over: Rect,
        buf: &mut Buffer,
    ) -> Option<Position> {
        let asked = questions.current()?;
        let dialog = match &asked.front {
            Front::Permission(_) => {
                return permission::draw(questions, state, &self.permission, over, buf);
            }
            Front::Choice(dialog) => dialog,
        };
        let places = &self.choice.places;
        // A layout for another size has no place here.
        if places.area.is_empty() || places.area.intersection(over) != places.area {
            return None;
        }
        let (theme, place) = (&state.settings.theme, place_in_queue(questions.position()));
        title(places, &heading(asked, state), &place, theme, buf);
        self.choice.draw(dialog, &state.settings, state.now, buf)
    }
}

/// A question with answers to choose from.
#[derive(Debug, Default)]
struct Choice {
    rows: Vec<Row>,
    notice: Vec<Row>,
    /// What the text field is for.
    label: Vec<Row>,
    places: Places,
    offset: usize,
}

/// Labels of facts take this many columns.
const LABEL: &str = "asked by     ";

impl Choice {
    fn lay_out(
        &mut self,
        asked: &Asked,
        dialog: &ChoiceDialog,
        settings: &Settings,
        over: Rect,
    ) -> DialogRest {
        let (width, theme) = (places::inner_width(over), &settings.theme);
        let (rows, chosen) = rows(asked, dialog, width, theme);
        self.rows = rows;
        self.notice = match dialog.notice() {
            Some(notice) => notice_rows(notice, width, theme),
            None => Vec::new(),
        };
        self.label = match dialog.text() {
            Some(_) => label_rows(dialog, width, theme),
            None => Vec::new(),
        };
        let wanted = Wanted {
            content: self.rows.len(),
            notice: self.notice.len(),
            label: self.label.len(),
            field: dialog
                .text()
                .map_or(0, |text| text_field::height(text, width)),
            hints: usize::from(!hints(dialog, &settings.keymap).is_empty()),
        };
        self.places = Places::new(over, wanted);
        let visible = self.rows.len().min(self.places.content.height.into());
        let furthest = self.rows.len() - visible;
        self.offset = if dialog.follows() {
            // As much of the question as there is room for above it; of an option that is too high, its beginning.
            let last = chosen.end.saturating_sub(visible);
            last.min(chosen.start).min(furthest)
        } else {
            dialog.reading().offset.min(furthest)
        };
        DialogRest { furthest, visible }
    }

    fn draw(
        &self,
        dialog: &ChoiceDialog,
        settings: &Settings,
        now: Instant,
        buf: &mut Buffer,
    ) -> Option<Position> {
        let (places, theme) = (&self.places, &settings.theme);
        let shown = self.rows.iter().skip(self.offset);
        for (place, row) in places.content.rows().zip(shown) {
            draw_row(row, place, place.y, buf);
        }
        let below = self
            .rows
            .len()
            .saturating_sub(self.offset + usize::from(places.content.height));
        for place in places.tail.rows().take(usize::from(below > 0)) {
            let lines = if below == 1 { "line" } else { "lines" };
            let text = truncate(&format!("{below} more {lines} below"), place.width.into());
            let line = Line::styled(text, theme.style(Role::Muted));
            buf.set_line(place.x, place.y, &line, place.width);
        }
        for (place, row) in places.notice.rows().zip(&self.notice) {
            draw_row(row, place, place.y, buf);
        }
        for place in places.hints.rows() {
            let line = hint_line(dialog, settings, now, place.width.into());
            buf.set_line(place.x, place.y, &line, place.width);
        }
        for (place, row) in places.label.rows().zip(&self.label) {
            draw_row(row, place, place.y, buf);
        }
        let caret = text_field::draw(dialog.text()?, theme, places.field, buf);
        caret.filter(|_| dialog.is_writing())
    }
}

fn heading(asked: &Asked, state: &AppState) -> String {
    let call = state.calls.find(asked.call).map(|key| state.calls.get(key));
    match call {
        Some(call) => format!("{} asks", clean_line(&call.tool.name, 1)),
        None => "a question".to_owned(),
    }
}

/// The question and its options, and which rows are of the option that the keys are at.
fn rows(
    asked: &Asked,
    dialog: &ChoiceDialog,
    columns: u16,
    theme: &Theme,
) -> (Vec<Row>, Range<usize>) {
    let mut rows = Vec::new();
    if let Some(asker) = &asked.asker {
        let label = Span::styled(LABEL, theme.style(Role::Muted));
        rows.extend(chop(
            reveal(asker, theme),
            columns,
            &Indent::all(vec![label]),
        ));
    }
    let request = dialog.request();
    for (index, line) in request.question.split('\n').enumerate() {
        let mark = if index == 0 { "? " } else { "  " };
        let indent = Indent {
            first: vec![Span::styled(mark, theme.style(Role::Accent))],
            gutter: 2,
            rest: vec![Span::raw("  ")],
        };
        rows.extend(wrap(reveal(line, theme), columns, &indent));
    }
    if !request.options.is_empty() {
        rows.push(Row::decoration(Line::default()));
    }
    let mut chosen = rows.len()..rows.len();
    for (index, option) in request.options.iter().enumerate() {
        let first = rows.len();
        rows.extend(option_rows(index, option, dialog, columns, theme));
        if dialog.at() == Some(index) {
            chosen = first..rows.len();
        }
    }
    if dialog.is_writing() {
        chosen = rows.len()..rows.len();
    }
    (rows, chosen)
}

/// `› 1 [x] label`, and below it what it means.
fn option_rows(
    index: usize,
    option: &ChoiceOption,
    dialog: &ChoiceDialog,
    columns: u16,
    theme: &Theme,
) -> Vec<Row> {
    let is_at = dialog.at() == Some(index);
    let mut mark = format!("{} {} ", if is_at { "›" } else { " " }, index + 1);
    if dialog.request().several {
        mark.push_str(if dialog.is_marked(index) {
            "[x] "
        } else {
            "[ ] "
        });
    }
    let indent = |first: String| {
        let gutter = u16::try_from(width(&first)).unwrap_or(u16::MAX);
        Indent {
            rest: vec![Span::raw(" ".repeat(gutter.into()))],
            first: vec![Span::styled(first, theme.style(Role::Accent))],
            gutter,
        }
    };
    let styled = |text: &str, role: Role| {
        let mut line = reveal(text, theme);
        for span in &mut line.spans {
            span.style = theme.style(role).patch(span.style);
        }
        line
    };
    let below = " ".repeat(width(&mark));
    let role = if is_at { Role::Chosen } else { Role::Text };
    let mut rows = Vec::new();
    for line in option.label.split('\n') {
        let first = if rows.is_empty() {
            mark.clone()
        } else {
            below.clone()
        };
        rows.extend(wrap(styled(line, role), columns, &indent(first)));
    }
    for line in option.about.split('\n').filter(|line| !line.is_empty()) {
        rows.extend(wrap(
            styled(line, Role::Muted),
            columns,
            &indent(below.clone()),
        ));
    }
    rows
}

fn label_rows(dialog: &ChoiceDialog, columns: u16, theme: &Theme) -> Vec<Row> {
    let request = dialog.request();
    let words = match (request.options.is_empty(), request.several) {
        (true, _) => "your answer",
        (false, false) => "or in your own words",
        (false, true) => "in your own words",
    };
    let line = Line::styled(words, theme.style(Role::Muted));
    chop(line, columns, &Indent::default())
}

/// What the keys do now, the most important first.
fn hints(dialog: &ChoiceDialog, keymap: &Keymap) -> Vec<(String, &'static str)> {
    let context = dialog.context();
    let is_possible = |action: Action| match action {
        Action::Mark => dialog.request().several,
        _ => true,
    };
    [
        Action::Choose,
        Action::Mark,
        Action::Dismiss,
        Action::Back,
        Action::Next,
        Action::Previous,
    ]
    .into_iter()
    .filter(|action| is_possible(*action))
    .filter_map(|action| {
        let chord = keymap.chord_for(action, &[context])?;
        Some((chord.to_string(), action.describe()))
    })
    .collect()
}

/// As many of them as fit, dim until they count.
fn hint_line(
    dialog: &ChoiceDialog,
    settings: &Settings,
    now: Instant,
    room: usize,
) -> Line<'static> {
    let (key_role, role) = if dialog.is_armed(now) {
        (Role::Key, Role::KeyHint)
    } else {
        (Role::Faint, Role::Faint)
    };
    let mut spans = Vec::new();
    let mut used = 0;
    for (key, words) in hints(dialog, &settings.keymap) {
        let gap = if spans.is_empty() { 0 } else { 3 };
        let more = gap + width(&key) + 1 + width(words);
        if used + more > room {
            break;
        }
        used += more;
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(key, settings.theme.style(key_role)));
        spans.push(Span::raw(" "));
        spans.push(Span::styled(words, settings.theme.style(role)));
    }
    Line::from(spans)
}
