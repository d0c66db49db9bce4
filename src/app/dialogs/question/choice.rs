//! A question of a tool: answers to choose from, or the person's own words.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};
use tui_textarea::TextArea;

use crate::app::dialogs::DialogRest;
use crate::app::dialogs::permission::{Arming, Reading};
use crate::keymap::{Action, Context};
use crate::protocol::{ChoiceRequest, Chosen, Reply};

#[derive(Debug)]
pub struct ChoiceDialog {
    request: ChoiceRequest,
    arming: Arming,
    /// The option that has the keys; the text field comes after the last one.
    at: usize,
    /// Which options are selected, if several may be.
    marked: Vec<bool>,
    text: TextArea<'static>,
    /// The text to read as the person has edited it, and how often they did.
    edited: Option<String>,
    edition: u64,
    reading: Reading,
    /// Keeps the option that has the keys visible, wherever the view was scrolled to.
    follows: bool,
    notice: Option<String>,
}

/// What the view reads.
impl ChoiceDialog {
    pub fn request(&self) -> &ChoiceRequest {
        &self.request
    }

    /// The option that has the keys; `None` if the text field has them.
    pub fn at(&self) -> Option<usize> {
        (!self.is_writing()).then_some(self.at)
    }

    /// What to read before answering, as it is now.
    pub fn body(&self) -> Option<&str> {
        self.edited.as_deref().or(self.request.body.as_deref())
    }

    /// Changes whenever the body does.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    pub fn is_marked(&self, option: usize) -> bool {
        self.marked.get(option).copied().unwrap_or(false)
    }

    /// The text field, if the person may write an answer of their own.
    pub fn text(&self) -> Option<&TextArea<'static>> {
        self.request.free_text.then_some(&self.text)
    }

    pub fn is_writing(&self) -> bool {
        self.request.free_text && self.at >= self.request.options.len()
    }

    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Why the last key had no effect.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    pub fn is_armed(&self, now: Instant) -> bool {
        self.arming.is_armed(now)
    }

    pub fn context(&self) -> Context {
        if self.is_writing() {
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
    pub fn new(request: ChoiceRequest, now: Instant) -> Self {
        Self {
            marked: vec![false; request.options.len()],
            request,
            arming: Arming::new(now),
            at: 0,
            text: TextArea::default(),
            edited: None,
            edition: 0,
            reading: Reading::default(),
            follows: false,
            notice: None,
        }
    }

    pub fn uncover(&mut self, now: Instant) {
        self.arming = Arming::new(now);
    }

    /// Types into the text field, or moves to the option with this number.
    pub fn key(&mut self, key: KeyEvent, now: Instant) {
        self.notice = None;
        if !self.arming.press(now) {
            return;
        }
        if self.is_writing() {
            self.text.input(key);
            return;
        }
        let digit = match key.code {
            KeyCode::Char(letter) => letter.to_digit(10).and_then(|digit| digit.checked_sub(1)),
            _ => None,
        };
        if let Some(option) = digit.and_then(|digit| usize::try_from(digit).ok()) {
            self.press_option(option, now);
        }
    }

    /// A key that is no answer was pressed; returns whether it may act.
    pub fn press(&mut self, now: Instant) -> bool {
        self.arming.press(now)
    }

    /// A click on an option moves the keys there, and selects it if several may be selected.
    pub fn press_option(&mut self, option: usize, now: Instant) -> bool {
        self.notice = None;
        let counts = self.press(now) && option < self.request.options.len();
        if counts {
            self.go_to(option);
            self.mark();
        }
        counts
    }

    pub fn paste(&mut self, text: &str, now: Instant) {
        if self.arming.press(now) && self.is_writing() {
            let text = text.trim_end_matches(['\r', '\n']);
            self.text
                .insert_str(text.replace(|letter: char| letter.is_control(), " "));
        }
    }

    /// Down, or up if negative.
    pub fn scroll(&mut self, rows: i64) {
        self.follows = false;
        self.reading.scroll(rows);
    }

    pub fn settle(&mut self, rest: DialogRest) {
        self.reading.settle(rest);
    }

    /// Performs an action; returns the reply, if it gives one.
    pub fn perform(&mut self, action: Action, now: Instant) -> Option<Reply> {
        self.notice = None;
        if self.turns(action) {
            return None;
        }
        let leads_out = match action {
            Action::Dismiss => true,
            // The first Back leaves the text field for the options.
            Action::Back => !self.is_writing() || self.request.options.is_empty(),
            _ => false,
        };
        if leads_out {
            if self.arming.lets_out(now) {
                return Some(Reply::Dismissed);
            }
            self.arming.press(now);
            return None;
        }
        if !self.arming.press(now) {
            return None;
        }
        match action {
            Action::Choose => return self.choose(),
            Action::Mark => self.mark(),
            Action::Next => self.go_to(self.at + 1),
            Action::Previous => self.go_to(self.at.saturating_sub(1)),
            Action::Top => self.go_to(0),
            Action::Bottom => self.go_to(usize::MAX),
            Action::Back => {
                self.go_to(self.request.options.len().saturating_sub(1));
                // The same key, held down, must not dismiss the question.
                self.arming = Arming::new(now);
            }
            _ => {}
        }
        None
    }

    /// The text that the person wants to edit in their editor.
    pub fn edit(&mut self, now: Instant) -> Option<String> {
        self.notice = None;
        let counts = self.arming.press(now);
        self.body().filter(|_| counts).map(str::to_owned)
    }

    /// Shows the edited text from its beginning. Keys that were meant for the editor answer nothing.
    pub fn edited(&mut self, text: &str, now: Instant) {
        self.arming = Arming::new(now);
        let text = text.trim_end();
        if text.is_empty() {
            self.notice = Some("the text was empty; it stays as it was".into());
            return;
        }
        if self.body().map(str::trim_end) == Some(text) {
            return;
        }
        self.edition += 1;
        let is_changed = self.request.body.as_deref().map(str::trim_end) != Some(text);
        self.edited = is_changed.then(|| text.to_owned());
        self.follows = false;
        self.reading = Reading::default();
    }

    fn turns(&mut self, action: Action) -> bool {
        match action {
            Action::LineDown => self.reading.scroll(1),
            Action::LineUp => self.reading.scroll(-1),
            Action::PageDown => self.reading.turn(2),
            Action::PageUp => self.reading.turn(-2),
            Action::HalfPageDown => self.reading.turn(1),
            Action::HalfPageUp => self.reading.turn(-1),
            _ => return false,
        }
        self.follows = false;
        true
    }

    fn go_to(&mut self, place: usize) {
        let places = self.request.options.len() + usize::from(self.request.free_text);
        self.at = place.min(places.saturating_sub(1));
        self.follow();
    }

    /// The options are at the end.
    fn follow(&mut self) {
        self.follows = true;
        self.reading.go_to_end();
    }

    fn mark(&mut self) {
        let several = self.request.several;
        if let Some(marked) = self.marked.get_mut(self.at).filter(|_| several) {
            *marked = !*marked;
        }
    }

    /// The selected options, once they were visible.
    fn choose(&mut self) -> Option<Reply> {
        if !self.reading.is_visible() {
            self.notice = Some("enlarge the terminal to see the question".into());
            return None;
        }
        if !self.follows && !self.reading.has_reached_end() {
            self.follow();
            return None;
        }
        let text = self.text.lines().join("\n").trim().to_owned();
        let text = (!text.is_empty()).then_some(text);
        let chosen = if self.request.several {
            let marked = self.marked.iter().enumerate();
            Chosen {
                options: marked.filter_map(|(at, is)| is.then_some(at)).collect(),
                text,
                ..Chosen::default()
            }
        } else if self.is_writing() {
            Chosen {
                options: Vec::new(),
                text,
                ..Chosen::default()
            }
        } else {
            Chosen {
                options: (self.at < self.marked.len())
                    .then_some(self.at)
                    .into_iter()
                    .collect(),
                text: None,
                ..Chosen::default()
            }
        };
        if chosen == Chosen::default() {
            self.notice = Some(self.nothing_chosen().into());
            return None;
        }
        Some(Reply::Chosen(Chosen {
            edited: self.edited.clone(),
            ..chosen
        }))
    }

    fn nothing_chosen(&self) -> &'static str {
        if self.is_writing() {
            "type an answer first"
        } else if self.request.several {
            "mark at least one answer"
        } else {
            "nothing to choose"
        }
    }
}
