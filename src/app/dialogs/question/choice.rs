//! The questions of one tool call: a single one, or several in tabs with an overview of the answers at the end.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};

use super::page::Page;
use crate::app::dialogs::DialogLayout;
use crate::app::dialogs::permission::{Arming, Reading};
use crate::keymap::{Action, Context};
use crate::protocol::{ChoiceRequest, Chosen, Reply};

#[derive(Debug)]
pub struct ChoiceDialog {
    pages: Vec<Page>,
    /// The page that is shown. With several pages, the overview comes after the last one.
    tab: usize,
    arming: Arming,
    /// How far the overview is scrolled.
    overview: Reading,
    notice: Option<String>,
}

/// What the view reads.
impl ChoiceDialog {
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// The question that is shown; `None` for the overview.
    pub fn page(&self) -> Option<&Page> {
        self.pages.get(self.tab)
    }

    pub fn tab(&self) -> usize {
        self.tab
    }

    pub fn has_tabs(&self) -> bool {
        self.pages.len() > 1
    }

    pub fn reading(&self) -> &Reading {
        self.page().map_or(&self.overview, Page::reading)
    }

    /// Why the last key had no effect.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    pub fn is_armed(&self, now: Instant) -> bool {
        self.arming.is_armed(now)
    }

    /// Whether dismissing sends the answers given so far and skips only the other questions.
    pub fn skips_the_rest(&self) -> bool {
        self.has_tabs() && self.pages.iter().any(|page| page.answer().is_some())
    }

    /// Whether several questions are asked and all have an answer.
    pub fn is_complete(&self) -> bool {
        self.has_tabs() && self.pages.iter().all(|page| page.answer().is_some())
    }

    pub fn context(&self) -> Context {
        if self.page().is_some_and(Page::is_writing) {
            Context::ChoiceText
        } else {
            Context::Choice
        }
    }

    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        self.arming.wake_at(now)
    }
}

/// What changes it.
impl ChoiceDialog {
    pub fn new(requests: Vec<ChoiceRequest>, now: Instant) -> Self {
        Self {
            pages: requests.into_iter().map(Page::new).collect(),
            tab: 0,
            arming: Arming::new(now),
            overview: Reading::default(),
            notice: None,
        }
    }

    pub fn rearm(&mut self, now: Instant) {
        self.arming = Arming::new(now);
    }

    /// Types into the text field, or moves to the option with this number. Returns whether that option is to be chosen.
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> bool {
        let digit = match key.code {
            KeyCode::Char(letter) => letter.to_digit(10).and_then(|digit| digit.checked_sub(1)),
            _ => None,
        };
        let option = digit.and_then(|digit| usize::try_from(digit).ok());
        if self.context() == Context::Choice
            && let Some(option) = option
        {
            // An option that was not visible is only shown, and the person has yet to write in the text field.
            let page = self.page();
            let counts = page.is_some_and(|page| !page.request().several && page.shows_options());
            return self.press_option(option, now) && counts && self.context() == Context::Choice;
        }
        self.notice = None;
        let counts = self.arming.press(now);
        let page = self.pages.get_mut(self.tab);
        if let Some(page) = page.filter(|page| counts && page.is_writing()) {
            page.write(key);
        }
        false
    }

    /// A key that is no answer was pressed; returns whether it may act.
    pub fn press(&mut self, now: Instant) -> bool {
        self.arming.press(now)
    }

    /// A number or a click moves to an option, and selects it if several may be selected. In the overview it opens the
    /// question with that number.
    pub fn press_option(&mut self, option: usize, now: Instant) -> bool {
        self.notice = None;
        if !self.press(now) {
            return false;
        }
        if let Some(page) = self.pages.get_mut(self.tab) {
            return page.press(option);
        }
        if option < self.pages.len() {
            self.go_to(option, now);
        }
        false
    }

    /// A click on a tab.
    pub fn press_tab(&mut self, tab: usize, now: Instant) {
        self.notice = None;
        if self.press(now) && self.has_tabs() {
            self.go_to(tab.min(self.pages.len()), now);
        }
    }

    pub fn paste(&mut self, text: &str, now: Instant) {
        let counts = self.arming.press(now);
        if let Some(page) = self.pages.get_mut(self.tab).filter(|_| counts) {
            page.paste(text);
        }
    }

    /// Down, or up if negative.
    pub fn scroll(&mut self, rows: i64) {
        match self.pages.get_mut(self.tab) {
            Some(page) => page.scroll(rows),
            None => self.overview.scroll(rows),
        }
    }

    pub fn record_layout(&mut self, layout: DialogLayout) {
        match self.pages.get_mut(self.tab) {
            Some(page) => page.record_layout(layout),
            None => self.overview.record_layout(layout),
        }
    }

    /// Performs an action; returns the reply, if it gives one.
    pub fn perform(&mut self, action: Action, now: Instant) -> Option<Reply> {
        self.notice = None;
        if self.turns(action) || self.changes_tab(action, now) {
            return None;
        }
        let leads_out = match action {
            Action::Dismiss => true,
            // The first Back leaves the text field for the options.
            Action::Back => self
                .page()
                .is_none_or(|page| !page.is_writing() || page.request().options.is_empty()),
            _ => false,
        };
        if leads_out {
            if self.arming.may_cancel(now) {
                return Some(self.dismissed());
            }
            self.arming.press(now);
            return None;
        }
        if !self.arming.press(now) {
            return None;
        }
        if action == Action::Choose {
            return self.choose(now);
        }
        match self.pages.get_mut(self.tab) {
            Some(page) => page.perform(action),
            None => self.turn_overview(action),
        }
        if action == Action::Back {
            // The same key, held down, must not dismiss the question.
            self.arming = Arming::new(now);
        }
        None
    }

    /// The text that the person wants to edit in their editor.
    pub fn edit(&mut self, now: Instant) -> Option<String> {
        self.notice = None;
        let counts = self.arming.press(now);
        let body = self.page().and_then(Page::body);
        body.filter(|_| counts).map(str::to_owned)
    }

    /// Shows the edited text from its beginning. Keys that were meant for the editor answer nothing.
    pub fn edited(&mut self, text: &str, now: Instant) {
        self.arming = Arming::new(now);
        let text = text.trim_end();
        if text.is_empty() {
            self.notice = Some("the text was empty, so it is unchanged".into());
            return;
        }
        if let Some(page) = self.pages.get_mut(self.tab) {
            page.edit(text);
        }
    }

    /// Dismissing keeps the texts that the person has edited and, if several questions are asked together, the answers
    /// given so far.
    fn dismissed(&self) -> Reply {
        let is_kept =
            self.skips_the_rest() || self.pages.iter().any(|page| page.edited().is_some());
        if !is_kept {
            return Reply::Dismissed;
        }
        let chosen = self.pages.iter().map(|page| {
            let answer = page.answer().filter(|_| self.has_tabs());
            answer.unwrap_or_else(|| Chosen {
                edited: page.edited().map(str::to_owned),
                ..Chosen::default()
            })
        });
        Reply::Chosen(chosen.collect())
    }

    fn turns(&mut self, action: Action) -> bool {
        let page = self.pages.get_mut(self.tab);
        match (action, page) {
            (Action::LineDown, _) => self.scroll(1),
            (Action::LineUp, _) => self.scroll(-1),
            (Action::PageDown, Some(page)) => page.turn(2),
            (Action::PageUp, Some(page)) => page.turn(-2),
            (Action::HalfPageDown, Some(page)) => page.turn(1),
            (Action::HalfPageUp, Some(page)) => page.turn(-1),
            (Action::PageDown, None) => self.overview.turn(2),
            (Action::PageUp, None) => self.overview.turn(-2),
            _ => return false,
        }
        true
    }

    /// Changing the tab answers nothing, so it needs no delay.
    fn changes_tab(&mut self, action: Action, now: Instant) -> bool {
        let last = self.pages.len();
        let tab = match action {
            Action::NextQuestion => (self.tab + 1).min(last),
            Action::PreviousQuestion => self.tab.saturating_sub(1),
            _ => return false,
        };
        if self.has_tabs() && tab != self.tab {
            self.go_to(tab, now);
        }
        true
    }

    /// The person has not read the new page yet, so keys answer it only after the delay.
    fn go_to(&mut self, tab: usize, now: Instant) {
        self.tab = tab;
        self.overview = Reading::default();
        self.arming = Arming::new(now);
    }

    fn turn_overview(&mut self, action: Action) {
        match action {
            Action::Next => self.overview.scroll(1),
            Action::Previous => self.overview.scroll(-1),
            Action::Mark => self.overview.turn(2),
            Action::Top => self.overview.go_to_start(),
            Action::Bottom => self.overview.go_to_end(),
            _ => {}
        }
    }

    fn choose(&mut self, now: Instant) -> Option<Reply> {
        let has_tabs = self.has_tabs();
        let Some(page) = self.pages.get_mut(self.tab) else {
            return self.submit(now);
        };
        match page.choose() {
            Ok(Some(chosen)) if !has_tabs => return Some(Reply::Chosen(vec![chosen])),
            Ok(Some(_)) => {
                let after = self.tab + 1..self.pages.len();
                let mut others = after.chain(0..self.tab);
                let open = others.find(|other| self.pages[*other].answer().is_none());
                self.go_to(open.unwrap_or(self.pages.len()), now);
            }
            Ok(None) => {}
            Err(why) => self.notice = Some(why.to_owned()),
        }
        None
    }

    /// Replies with all answers, if every question has one and the overview was read to the end.
    fn submit(&mut self, now: Instant) -> Option<Reply> {
        if !self.overview.is_visible() {
            self.notice = Some("enlarge the terminal to see your answers".into());
            return None;
        }
        if !self.overview.has_reached_end() {
            self.overview.go_to_end();
            return None;
        }
        let answers: Vec<Option<Chosen>> = self.pages.iter().map(Page::answer).collect();
        if let Some(open) = answers.iter().position(Option::is_none) {
            self.go_to(open, now);
            self.notice = Some("answer this one too, or skip the rest with Esc".into());
            return None;
        }
        Some(Reply::Chosen(answers.into_iter().flatten().collect()))
    }
}
