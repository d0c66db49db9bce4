//! Paints the questions of calls: `permission` asks whether a call may run; questions of tools are painted here.
//!
//! The words come from outside: they are revealed, wrapped and never cut, and each follows a mark of ours.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::buttons::{self, Button, arrange};
use super::places::{self, Places, Wanted};
use super::{
    draw_rows, foot, more_lines, notice_rows, permission, place_in_queue, room_of_heading,
    text_field, title,
};
use crate::app::dialogs::DialogRest;
use crate::app::dialogs::question::{Asked, ChoiceDialog, Front, Questions};
use crate::app::pointer::Target;
use crate::app::{AppState, Settings};
use crate::keymap::Action;
use crate::protocol::{CallRef, ChoiceOption};
use crate::theme::{Role, Theme};
use crate::ui::highlight::{CodeColours, Highlights};
use crate::ui::markdown;
use crate::ui::text::{Indent, Row, chop, clean_line, reveal, width, wrap};

/// The question in front, laid out by its kind.
#[derive(Debug, Default)]
pub struct Laid {
    permission: permission::Laid,
    choice: Choice,
    is_choice: bool,
}

impl Laid {
    /// Pass the result to [settle](Questions::settle) before drawing.
    pub fn lay_out(
        &mut self,
        questions: &Questions,
        state: &AppState,
        over: Rect,
        code: &mut Highlights,
    ) -> DialogRest {
        let settings = &*state.settings;
        match questions.current() {
            Some(asked) => match &asked.front {
                Front::Permission(_) => {
                    self.is_choice = false;
                    self.permission.lay_out(questions, settings, over, code)
                }
                Front::Choice(dialog) => {
                    self.is_choice = true;
                    self.choice.lay_out(asked, dialog, settings, over, code)
                }
            },
            None => DialogRest::default(),
        }
    }

    pub fn places(&self) -> &Places {
        if self.is_choice {
            &self.choice.places
        } else {
            &self.permission.places
        }
    }

    /// The answer at this cell.
    pub fn hit(&self, column: u16, row: u16) -> Option<Target> {
        if self.is_choice {
            return self.choice.hit(column, row);
        }
        let Self { permission, .. } = self;
        let found = permission.buttons.hit(column, row);
        let found = found.or_else(|| permission.others.hit(column, row));
        found.map(Target::Button)
    }

    /// Paints what was laid out; returns the caret, if the person is typing.
    pub fn draw(
        &self,
        questions: &Questions,
        state: &AppState,
        buf: &mut Buffer,
    ) -> Option<Position> {
        let asked = questions.current()?;
        let (settings, now) = (&*state.settings, state.now);
        let dialog = match &asked.front {
            Front::Permission(_) => return self.permission.draw(questions, settings, now, buf),
            Front::Choice(dialog) => dialog,
        };
        let theme = &settings.theme;
        let place = place_in_queue(questions.position());
        let place = Line::styled(place, theme.style(Role::Muted));
        let request = dialog.request();
        let heading = if self.choice.is_in_title {
            request.question.clone()
        } else if request.title.is_empty() {
            heading(asked, state)
        } else {
            clean_line(&request.title, 1).into_owned()
        };
        title(&self.choice.places, &heading, place, theme, buf);
        self.choice.draw(dialog, settings, now, buf)
    }
}

/// Call, edition, width, and the revision of the colours.
type BodyKey = (CallRef, u64, u16, u64);

/// A question with answers to choose from.
#[derive(Debug, Default)]
struct Choice {
    /// The text to read, and what it was laid out from.
    body: Vec<Row>,
    body_of: Option<BodyKey>,
    /// The question and its options, below the text.
    rows: Vec<Row>,
    notice: Vec<Row>,
    /// The label of the text field.
    label: Vec<Row>,
    /// The rows of each option.
    options: Vec<Range<usize>>,
    places: Places,
    buttons: buttons::Row,
    /// The title shows the question, because it is short enough.
    is_in_title: bool,
    offset: usize,
}

/// At the left of each row of the text to read, so that nothing in it can imitate an answer.
const BAR: &str = "│ ";
/// The width of labels.
const LABEL: &str = "asked by     ";

impl Choice {
    fn lay_out(
        &mut self,
        asked: &Asked,
        dialog: &ChoiceDialog,
        settings: &Settings,
        over: Rect,
        code: &mut Highlights,
    ) -> DialogRest {
        let (width, theme) = (places::inner_width(over), &settings.theme);
        self.lay_out_body(asked, dialog, settings, width, code);
        self.is_in_title = fits_title(dialog, width, theme) && places::is_ruled(over);
        (self.rows, self.options) = rows(asked, dialog, self.is_in_title, width, theme);
        for rows in &mut self.options {
            *rows = rows.start + self.body.len()..rows.end + self.body.len();
        }
        let end = self.body.len() + self.rows.len();
        let chosen = dialog.at().and_then(|at| self.options.get(at).cloned());
        let chosen = chosen.unwrap_or(end..end);
        let answers = arrange(answers(dialog, settings), width.into(), 1);
        self.notice = match dialog.notice() {
            Some(notice) => notice_rows(notice, width, theme),
            None => Vec::new(),
        };
        self.label = match dialog.text() {
            Some(_) => label_rows(dialog, width, theme),
            None => Vec::new(),
        };
        let wanted = Wanted {
            content: end,
            notice: self.notice.len(),
            label: self.label.len(),
            field: dialog
                .text()
                .map_or(0, |text| text_field::height(text, width)),
            buttons: answers.len(),
            ..Wanted::default()
        };
        self.places = Places::new(over, wanted);
        self.buttons = buttons::Row::place(answers, self.places.buttons);
        let visible = end.min(self.places.content.height.into());
        let furthest = end - visible;
        self.offset = if dialog.follows() && !self.body.is_empty() && chosen.start >= furthest {
            // The text was read already; now as many answers as possible are shown.
            furthest
        } else if dialog.follows() {
            // Shows as much of the question above it as fits; if an option is too high, its beginning.
            let last = chosen.end.saturating_sub(visible);
            last.min(chosen.start).min(furthest)
        } else {
            dialog.reading().offset.min(furthest)
        };
        DialogRest { furthest, visible }
    }

    fn lay_out_body(
        &mut self,
        asked: &Asked,
        dialog: &ChoiceDialog,
        settings: &Settings,
        width: u16,
        code: &mut Highlights,
    ) {
        let Some(body) = dialog.body() else {
            self.body.clear();
            self.body_of = None;
            return;
        };
        let epoch = settings.theme_epoch + code.revision();
        let key = (asked.call, dialog.edition(), width, epoch);
        if self.body_of != Some(key) {
            self.body = body_rows(body, width, &settings.theme, code);
            self.body_of = Some(key);
        }
    }

    /// An option, or a button.
    fn hit(&self, column: u16, row: u16) -> Option<Target> {
        if let Some(action) = self.buttons.hit(column, row) {
            return Some(Target::Button(action));
        }
        let content = self.places.content;
        if !content.contains((column, row).into()) {
            return None;
        }
        let row = self.offset + usize::from(row - content.y);
        let option = self.options.iter().position(|rows| rows.contains(&row))?;
        Some(Target::Option(option))
    }

    fn draw(
        &self,
        dialog: &ChoiceDialog,
        settings: &Settings,
        now: Instant,
        buf: &mut Buffer,
    ) -> Option<Position> {
        let (places, theme) = (&self.places, &settings.theme);
        let rows = self.body.iter().chain(&self.rows).skip(self.offset);
        draw_rows(places.content, rows, buf);
        let end = self.offset + usize::from(places.content.height);
        let words = match (self.body.len() + self.rows.len()).saturating_sub(end) {
            0 => Line::default(),
            below => {
                let key = settings
                    .keymap
                    .chord_for(Action::PageDown, &[dialog.context()]);
                let key = key.map(|key| key.to_string());
                let words = more_lines(below, key.as_deref(), places.foot.width.into());
                Line::styled(words, theme.style(Role::Muted))
            }
        };
        foot(places, words, theme, buf);
        draw_rows(places.notice, &self.notice, buf);
        self.buttons.draw(|_| dialog.is_armed(now), theme, buf);
        draw_rows(places.label, &self.label, buf);
        let caret = text_field::draw(dialog.text()?, theme, places.field, buf);
        caret.filter(|_| dialog.is_writing())
    }
}

fn heading(asked: &Asked, state: &AppState) -> String {
    let call = state.calls.find(asked.call).map(|key| state.calls.get(key));
    match call {
        Some(call) => format!("{} asks", clean_line(&call.tool.name, 1)),
        None => "A question".to_owned(),
    }
}

/// Whether the title has room for the whole question.
fn fits_title(dialog: &ChoiceDialog, columns: u16, theme: &Theme) -> bool {
    let request = dialog.request();
    let place = width(&place_in_queue((99, 99)));
    let fits = width(&request.question) <= room_of_heading(columns, place);
    let is_plain = reveal(&request.question, theme).to_string() == request.question;
    // Without options, the question has to be in the rows, because they would be empty.
    fits && is_plain && request.title.is_empty() && !request.options.is_empty()
}

/// A text to read as Markdown, and an empty row below it.
fn body_rows(body: &str, columns: u16, theme: &Theme, code: &mut Highlights) -> Vec<Row> {
    let bar = Span::styled(BAR, theme.style(Role::Faint));
    let gutter = u16::try_from(width(BAR)).unwrap_or(0);
    let mut rows = markdown::render(body, columns.saturating_sub(gutter).max(1), theme, code);
    for row in &mut rows {
        row.line.spans.insert(0, bar.clone());
        row.gutter = row.gutter.saturating_add(gutter);
    }
    rows.push(Row::decoration(Line::default()));
    rows
}

/// The question and its options, and the rows of each option.
fn rows(
    asked: &Asked,
    dialog: &ChoiceDialog,
    is_in_title: bool,
    columns: u16,
    theme: &Theme,
) -> (Vec<Row>, Vec<Range<usize>>) {
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
    let is_left_out = is_in_title || request.question.is_empty();
    let lines = request.question.split('\n').filter(|_| !is_left_out);
    for (index, line) in lines.enumerate() {
        let mark = if index == 0 { "? " } else { "  " };
        let indent = Indent {
            first: vec![Span::styled(mark, theme.style(Role::Accent))],
            gutter: 2,
            rest: vec![Span::raw("  ")],
        };
        rows.extend(wrap(reveal(line, theme), columns, &indent));
    }
    if !request.options.is_empty() && !rows.is_empty() {
        rows.push(Row::decoration(Line::default()));
    }
    let mut options = Vec::new();
    for (index, option) in request.options.iter().enumerate() {
        let first = rows.len();
        rows.extend(option_rows(index, option, dialog, columns, theme));
        options.push(first..rows.len());
    }
    (rows, options)
}

/// `› 1 [x] label`, and its description below.
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

/// What the keys do now.
fn answers(dialog: &ChoiceDialog, settings: &Settings) -> Vec<Button> {
    let is_possible = |action: Action| match action {
        Action::Mark => dialog.request().several,
        Action::OpenEditor => dialog.body().is_some(),
        _ => true,
    };
    let actions = [
        (Action::Choose, 0),
        (Action::Mark, 1),
        (Action::OpenEditor, 1),
        (Action::Dismiss, 2),
        (Action::Back, 2),
        (Action::Next, 3),
        (Action::Previous, 4),
    ];
    let possible = actions.iter().filter(|(action, _)| is_possible(*action));
    let context = dialog.context();
    let button = |(action, rank): &(Action, usize)| {
        // Keys that are bound everywhere are not listed here.
        settings.keymap.chord_for(*action, &[context])?;
        let button = Button::new(*action, action.describe(), context, &settings.keymap)?;
        Some(Button {
            rank: *rank,
            ..button
        })
    };
    possible.filter_map(button).collect()
}
