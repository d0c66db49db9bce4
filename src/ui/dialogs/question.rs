//! Paints the questions of calls: `permission` asks whether a call may run; questions of tools are painted here.
//!
//! The words come from outside: they are revealed, wrapped and never cut, and each follows a mark of ours.

mod options;
mod tabs;
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
use crate::app::dialogs::question::{Asked, ChoiceDialog, Front, Page, Questions};
use crate::app::pointer::Target;
use crate::app::{AppState, Settings};
use crate::keymap::Action;
use crate::protocol::CallRef;
use crate::theme::{Role, Theme};
use crate::ui::highlight::{CodeColours, Highlights};
use crate::ui::markdown;
use crate::ui::text::{Row, clean_line, reveal, width};

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
        let heading = match dialog.page() {
            None => "Your answers".to_owned(),
            Some(page) if self.choice.is_in_title => page.request().question.clone(),
            Some(page) => heading(page, asked, state),
        };
        title(&self.choice.places, &heading, place, theme, buf);
        self.choice.draw(dialog, settings, now, buf)
    }
}

/// Call, tab, edition, width, and the revision of the colours.
type BodyKey = (CallRef, usize, u64, u16, u64);

/// Questions with answers to choose from.
#[derive(Debug, Default)]
struct Choice {
    /// The text to read, and what it was laid out from.
    body: Vec<Row>,
    body_of: Option<BodyKey>,
    /// The question and its options, below the text; or the overview.
    rows: Vec<Row>,
    notice: Vec<Row>,
    /// The label of the text field.
    label: Vec<Row>,
    /// The rows of each option, or of each question in the overview.
    options: Vec<Range<usize>>,
    /// The text field counts as the option with this number.
    own_words: Option<usize>,
    /// The last rows describe the current option, and scroll into view with it.
    has_preview: bool,
    tabs: tabs::Tabs,
    places: Places,
    buttons: buttons::Row,
    /// The title shows the question, because it is short enough.
    is_in_title: bool,
    offset: usize,
}

/// At the left of each row of the text to read, so that nothing in it can imitate an answer.
const BAR: &str = "│ ";

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
        self.lay_out_rows(asked, dialog, over, theme);
        let end = self.body.len() + self.rows.len();
        let answers = arrange(answers(dialog, settings), width.into(), 1);
        self.notice = match dialog.notice() {
            Some(notice) => notice_rows(notice, width, theme),
            None => Vec::new(),
        };
        let text = dialog.page().and_then(Page::text);
        let wanted = Wanted {
            content: end,
            sticky: usize::from(dialog.has_tabs()),
            notice: self.notice.len(),
            label: self.label.len(),
            field: text.map_or(0, |text| text_field::height(text, width)),
            buttons: answers.len(),
            ..Wanted::default()
        };
        self.places = Places::new(over, wanted);
        self.tabs = tabs::Tabs::new(dialog, self.places.sticky);
        self.buttons = buttons::Row::place(answers, self.places.buttons);
        let visible = end.min(self.places.content.height.into());
        let furthest = end - visible;
        self.offset = self.offset(dialog, visible, furthest);
        DialogRest { furthest, visible }
    }

    /// The first visible row.
    fn offset(&self, dialog: &ChoiceDialog, visible: usize, furthest: usize) -> usize {
        let Some(page) = dialog.page().filter(|page| page.follows()) else {
            return dialog.reading().offset.min(furthest);
        };
        let end = self.body.len() + self.rows.len();
        let chosen = page.at().and_then(|at| self.options.get(at).cloned());
        let chosen = chosen.unwrap_or(end..end);
        if !self.body.is_empty() && chosen.start >= furthest {
            // The text was read already; now as many answers as possible are shown.
            return furthest;
        }
        // Shows as much of the question above it as fits; if an option is too high, its beginning.
        let last = if self.has_preview { end } else { chosen.end };
        let last = last.saturating_sub(visible);
        last.min(chosen.start).min(furthest)
    }

    fn lay_out_rows(&mut self, asked: &Asked, dialog: &ChoiceDialog, over: Rect, theme: &Theme) {
        let width = places::inner_width(over);
        let Some(page) = dialog.page() else {
            self.is_in_title = false;
            (self.rows, self.options) = tabs::overview(dialog, width, theme);
            (self.label, self.own_words) = (Vec::new(), None);
            return;
        };
        self.is_in_title = fits_title(page, width, theme) && places::is_ruled(over);
        let laid = options::rows(asked, page, self.is_in_title, width, theme);
        (self.rows, self.options) = (laid.rows, laid.options);
        self.has_preview = laid.has_preview;
        for rows in &mut self.options {
            *rows = rows.start + self.body.len()..rows.end + self.body.len();
        }
        self.own_words = page.text().map(|_| page.request().options.len());
        self.label = match self.own_words {
            Some(_) => options::label_rows(page, width, theme),
            None => Vec::new(),
        };
    }

    fn lay_out_body(
        &mut self,
        asked: &Asked,
        dialog: &ChoiceDialog,
        settings: &Settings,
        width: u16,
        code: &mut Highlights,
    ) {
        let page = dialog.page();
        let Some((page, body)) = page.and_then(|page| Some((page, page.body()?))) else {
            self.body.clear();
            self.body_of = None;
            return;
        };
        let epoch = settings.theme_epoch + code.revision();
        let key = (asked.call, dialog.tab(), page.edition(), width, epoch);
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
        if let Some(tab) = self.tabs.hit(column, row) {
            return Some(Target::Tab(tab));
        }
        let (content, position) = (self.places.content, Position::new(column, row));
        if self.places.label.contains(position) || self.places.field.contains(position) {
            return self.own_words.map(Target::Option);
        }
        if !content.contains(position) {
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
        self.tabs.draw(dialog, theme, buf);
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
        let page = dialog.page()?;
        let caret = text_field::draw(page.text()?, theme, places.field, buf);
        caret.filter(|_| page.is_writing())
    }
}

fn heading(page: &Page, asked: &Asked, state: &AppState) -> String {
    let request = page.request();
    let named = [&request.title, &request.header];
    if let Some(name) = named.into_iter().find(|name| !name.is_empty()) {
        return clean_line(name, 1).into_owned();
    }
    let call = state.calls.find(asked.call).map(|key| state.calls.get(key));
    match call {
        Some(call) => format!("{} asks", clean_line(&call.tool.name, 1)),
        None => "A question".to_owned(),
    }
}

/// Whether the title has room for the whole question.
fn fits_title(page: &Page, columns: u16, theme: &Theme) -> bool {
    let request = page.request();
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

/// What the keys do now.
fn answers(dialog: &ChoiceDialog, settings: &Settings) -> Vec<Button> {
    let page = dialog.page();
    let is_possible = |action: Action| match action {
        Action::Mark => page.is_some_and(|page| page.request().several),
        Action::OpenEditor => page.is_some_and(|page| page.body().is_some()),
        Action::NextQuestion => page.is_some() && dialog.has_tabs(),
        Action::PreviousQuestion => dialog.tab() > 0,
        Action::Next | Action::Previous => page.is_some(),
        _ => true,
    };
    let actions = [
        (Action::Choose, 0),
        (Action::Mark, 1),
        (Action::OpenEditor, 1),
        (Action::NextQuestion, 2),
        (Action::Dismiss, 2),
        (Action::Back, 2),
        (Action::PreviousQuestion, 5),
        (Action::Next, 3),
        (Action::Previous, 4),
    ];
    let possible = actions.iter().filter(|(action, _)| is_possible(*action));
    let context = dialog.context();
    let button = |(action, rank): &(Action, usize)| {
        // Keys that are bound everywhere are not listed here.
        settings.keymap.chord_for(*action, &[context])?;
        let words = match action {
            Action::Choose if page.is_none() => "submit",
            _ => action.describe(),
        };
        let button = Button::new(*action, words, context, &settings.keymap)?;
        Some(Button {
            rank: *rank,
            ..button
        })
    };
    possible.filter_map(button).collect()
}
