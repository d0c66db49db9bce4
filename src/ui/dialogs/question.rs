//! Paints the questions of calls: `permission` asks whether a call may run, `form` asks for values; questions with
//! options are painted here.
//!
//! The words come from outside: they are revealed, wrapped and never cut, and each follows a mark of ours.

mod form;
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
use super::places::{self, Places, WantedRows};
use super::{
    draw_rows, foot, more_below, notice_rows, permission, place_in_queue, room_of_heading,
    text_field, title,
};
use crate::app::dialogs::question::{ChoiceDialog, CurrentQuestion, Front, Page, Questions};
use crate::app::dialogs::{Answers, DialogLayout};
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
pub struct LaidOut {
    permission: permission::LaidOut,
    choice: Choice,
    form: form::Form,
    kind: Kind,
}

/// Which of them is in front.
#[derive(Debug, Clone, Copy, Default)]
enum Kind {
    #[default]
    Permission,
    Choice,
    Form,
}

impl LaidOut {
    /// Pass the result to [`record_layout`](Questions::record_layout) before drawing.
    pub fn lay_out(
        &mut self,
        questions: &Questions,
        state: &AppState,
        over: Rect,
        code: &mut Highlights,
    ) -> DialogLayout {
        let settings = &*state.settings;
        match questions.current() {
            Some(current) => match &current.front {
                Front::Permission(_) => {
                    self.kind = Kind::Permission;
                    self.permission.lay_out(questions, settings, over, code)
                }
                Front::Choice(dialog) => {
                    self.kind = Kind::Choice;
                    self.choice.lay_out(current, dialog, settings, over, code)
                }
                Front::Form(dialog) => {
                    self.kind = Kind::Form;
                    self.form.lay_out(current, dialog, settings, over)
                }
            },
            None => DialogLayout::default(),
        }
    }

    pub fn places(&self) -> &Places {
        match self.kind {
            Kind::Permission => &self.permission.places,
            Kind::Choice => &self.choice.places,
            Kind::Form => &self.form.places,
        }
    }

    /// The answer at this cell.
    pub fn hit(&self, column: u16, row: u16) -> Option<Target> {
        let permission = match self.kind {
            Kind::Permission => &self.permission,
            Kind::Choice => return self.choice.hit(column, row),
            Kind::Form => return self.form.hit(column, row),
        };
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
        let current = questions.current()?;
        let (settings, now) = (&*state.settings, state.now);
        let theme = &settings.theme;
        let place = place_in_queue(questions.position());
        let place = Line::styled(place, theme.style(Role::Muted));
        let dialog = match &current.front {
            Front::Permission(_) => return self.permission.draw(questions, settings, now, buf),
            Front::Choice(dialog) => dialog,
            Front::Form(dialog) => {
                let heading = clean_line(&dialog.request().title, 1);
                title(&self.form.places, &heading, place, theme, buf);
                return self.form.draw(dialog, settings, now, buf);
            }
        };
        let heading = match dialog.page() {
            None => "Your answers".to_owned(),
            Some(page) if self.choice.is_in_title => page.request().question.clone(),
            Some(page) => heading(page, current, state),
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
    /// The options stay below the text while it scrolls.
    is_pinned: bool,
}

/// If the options would leave less of the text than this, they scroll with it.
const LEAST_TEXT: usize = 4;

/// At the left of each row of the text to read, so that nothing in it can imitate an answer.
const BAR: &str = "│ ";

impl Choice {
    fn lay_out(
        &mut self,
        current: &CurrentQuestion,
        dialog: &ChoiceDialog,
        settings: &Settings,
        over: Rect,
        code: &mut Highlights,
    ) -> DialogLayout {
        let (width, theme) = (places::inner_width(over), &settings.theme);
        self.lay_out_body(current, dialog, settings, width, code);
        self.lay_out_rows(current, dialog, over, theme);
        let end = self.body.len() + self.rows.len();
        let answers = arrange(answers(dialog, settings), width.into(), 1);
        self.notice = match dialog.notice() {
            Some(notice) => notice_rows(notice, width, theme),
            None => Vec::new(),
        };
        let text = dialog.page().and_then(Page::text);
        let wanted = WantedRows {
            content: end,
            sticky: usize::from(dialog.has_tabs()),
            notice: self.notice.len(),
            label: self.label.len(),
            field: text.map_or(0, |text| text_field::height(text, width)),
            buttons: answers.len(),
            ..WantedRows::default()
        };
        self.places = Places::new(over, wanted);
        self.is_pinned = false;
        if let Some(places) = self.pinned(over, wanted) {
            self.places = places;
            self.is_pinned = true;
        }
        let end = self.end();
        self.tabs = tabs::Tabs::new(dialog, self.places.sticky);
        self.buttons = buttons::Row::place(answers, self.places.buttons);
        let visible = end.min(self.places.content.height.into());
        let furthest = end - visible;
        self.offset = self.offset(dialog, visible, furthest);
        DialogLayout {
            furthest,
            visible,
            answers: self.answers_in_view(dialog),
        }
    }

    /// The places for a text to read with the options below it, if there is room for both.
    fn pinned(&self, over: Rect, wanted: WantedRows) -> Option<Places> {
        // The empty row below the text stays above the options.
        let text = self.body.len().checked_sub(1)?;
        let options = self.rows.len() + 1;
        let places = Places::new(
            over,
            WantedRows {
                content: text,
                facts: options,
                ..wanted
            },
        );
        let fits = places.is_ruled
            && usize::from(places.facts.height) == options
            && usize::from(places.content.height) >= text.min(LEAST_TEXT);
        (text > 0 && fits).then_some(places)
    }

    /// How many rows scroll.
    fn end(&self) -> usize {
        if self.is_pinned {
            self.body.len().saturating_sub(1)
        } else {
            self.body.len() + self.rows.len()
        }
    }

    fn answers_in_view(&self, dialog: &ChoiceDialog) -> Answers {
        let end = self.offset + usize::from(self.places.content.height);
        let is_visible =
            |rows: &Range<usize>| self.is_pinned || (rows.start >= self.offset && rows.end <= end);
        let current = dialog.page().and_then(Page::at);
        let current = current.and_then(|at| self.options.get(at));
        if self.options.iter().all(is_visible) {
            Answers::All
        } else if current.is_some_and(is_visible) {
            Answers::Current
        } else {
            Answers::None
        }
    }

    /// The first visible row.
    fn offset(&self, dialog: &ChoiceDialog, visible: usize, furthest: usize) -> usize {
        let follows = |page: &&Page| page.follows() && !self.is_pinned;
        let Some(page) = dialog.page().filter(follows) else {
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

    fn lay_out_rows(
        &mut self,
        current: &CurrentQuestion,
        dialog: &ChoiceDialog,
        over: Rect,
        theme: &Theme,
    ) {
        let width = places::inner_width(over);
        let Some(page) = dialog.page() else {
            self.is_in_title = false;
            (self.rows, self.options) = tabs::overview(dialog, width, theme);
            (self.label, self.own_words) = (Vec::new(), None);
            return;
        };
        self.is_in_title = fits_title(page, width, theme) && places::is_ruled(over);
        let laid_out = options::rows(current, page, self.is_in_title, width, theme);
        (self.rows, self.options) = (laid_out.rows, laid_out.options);
        self.has_preview = laid_out.has_preview;
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
        current: &CurrentQuestion,
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
        let key = (current.call, dialog.tab(), page.edition(), width, epoch);
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
        let facts = self.places.facts;
        let row = if content.contains(position) {
            self.offset + usize::from(row - content.y)
        } else if self.is_pinned && facts.contains(position) {
            self.end() + usize::from(row - facts.y)
        } else {
            return None;
        };
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
        if self.is_pinned {
            let (text, empty) = self.body.split_at(self.end());
            draw_rows(places.content, text.iter().skip(self.offset), buf);
            draw_rows(places.facts, empty.iter().chain(&self.rows), buf);
        } else {
            let rows = self.body.iter().chain(&self.rows).skip(self.offset);
            draw_rows(places.content, rows, buf);
        }
        self.tabs.draw(dialog, theme, buf);
        let end = self.offset + usize::from(places.content.height);
        let below = self.end().saturating_sub(end);
        let words = more_below(below, dialog.context(), places.foot.width, settings);
        foot(places, words, theme, buf);
        draw_rows(places.notice, &self.notice, buf);
        self.buttons.draw(|_| dialog.is_armed(now), theme, buf);
        draw_rows(places.label, &self.label, buf);
        let page = dialog.page()?;
        let caret = text_field::draw(page.text()?, theme, places.field, buf);
        caret.filter(|_| page.is_writing())
    }
}

fn heading(page: &Page, current: &CurrentQuestion, state: &AppState) -> String {
    let request = page.request();
    let named = [&request.title, &request.header];
    if let Some(name) = named.into_iter().find(|name| !name.is_empty()) {
        return clean_line(name, 1).into_owned();
    }
    let call = state
        .calls
        .find(current.call)
        .map(|key| state.calls.get(key));
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
        // Enter is enough to submit.
        Action::Dismiss => page.is_some() || !dialog.is_complete(),
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
            Action::Dismiss if dialog.is_complete() => "submit",
            Action::Dismiss if dialog.skips_the_rest() => "skip the rest",
            Action::Dismiss if dialog.has_tabs() => "skip all",
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
