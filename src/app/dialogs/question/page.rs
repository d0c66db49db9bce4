//! One question of a tool: the focused option, what is selected or typed, and the resulting answer.

use crossterm::event::KeyEvent;
use tui_textarea::TextArea;

use crate::app::dialogs::permission::Reading;
use crate::app::dialogs::{Answers, DialogLayout};
use crate::keymap::Action;
use crate::protocol::{ChoiceRequest, Chosen};

#[derive(Debug)]
pub struct Page {
    request: ChoiceRequest,
    /// The option that has the keys; the text field comes after the last one.
    at: usize,
    /// The chosen option or the text field, if only one may be chosen.
    picked: Option<usize>,
    /// Which options are selected, if several may be.
    marked: Vec<bool>,
    text: TextArea<'static>,
    /// The text to read as the person has edited it, and how often they did.
    edited: Option<String>,
    edition: u64,
    reading: Reading,
    /// Keeps the option that has the keys visible, wherever the view was scrolled to.
    follows: bool,
    /// Which options were visible in the last frame.
    answers: Answers,
}

/// What the view reads.
impl Page {
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

    /// The body, if the person has edited it.
    pub fn edited(&self) -> Option<&str> {
        self.edited.as_deref()
    }

    /// Changes whenever the body does.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Whether the option (or the text field, which comes after the last one) is part of the answer.
    pub fn is_marked(&self, option: usize) -> bool {
        if !self.request.several {
            return self.picked == Some(option);
        }
        let is_text = option == self.request.options.len();
        let is_option = self.marked.get(option).copied().unwrap_or(false);
        is_option || (is_text && self.written().is_some())
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

    /// Whether all options have come into view.
    pub fn shows_options(&self) -> bool {
        self.follows || self.reading.has_reached_end() || self.answers == Answers::All
    }

    /// Whether the option that has the keys has come into view.
    fn shows_current(&self) -> bool {
        self.shows_options() || self.answers == Answers::Current
    }

    /// The answer so far; `None` while there is none.
    pub fn answer(&self) -> Option<Chosen> {
        let marked = |option: &usize| self.is_marked(*option);
        let takes_text = self.request.several || self.is_marked(self.request.options.len());
        let chosen = Chosen {
            options: (0..self.request.options.len()).filter(marked).collect(),
            text: self.written().filter(|_| takes_text),
            edited: None,
        };
        (chosen != Chosen::default()).then(|| Chosen {
            edited: self.edited.clone(),
            ..chosen
        })
    }

    /// The answer in words; empty while there is none.
    pub fn answer_text(&self) -> String {
        let Some(answer) = self.answer() else {
            return String::new();
        };
        let labels = answer.options.iter().map(|at| &self.request.options[*at]);
        let labels = labels.map(|option| option.label.clone());
        labels.chain(answer.text).collect::<Vec<_>>().join(", ")
    }

    fn written(&self) -> Option<String> {
        let text = self.text.lines().join("\n").trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

/// What changes it.
impl Page {
    pub fn new(request: ChoiceRequest) -> Self {
        Self {
            marked: vec![false; request.options.len()],
            request,
            at: 0,
            picked: None,
            text: TextArea::default(),
            edited: None,
            edition: 0,
            reading: Reading::default(),
            follows: false,
            answers: Answers::None,
        }
    }

    pub fn write(&mut self, key: KeyEvent) {
        self.text.input(key);
    }

    pub fn paste(&mut self, text: &str) {
        if self.is_writing() {
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

    /// Half pages down, or up if negative.
    pub fn turn(&mut self, halves: i64) {
        self.follows = false;
        self.reading.turn(halves);
    }

    pub fn record_layout(&mut self, layout: DialogLayout) {
        self.reading.record_layout(layout);
        self.answers = layout.answers;
    }

    /// Moves to another option, or selects the current one.
    pub fn perform(&mut self, action: Action) {
        match action {
            Action::Mark if self.request.several => self.mark(),
            // If only one may be chosen, Space scrolls, as it does in other texts.
            Action::Mark => self.turn(2),
            Action::Next => self.go_to(self.at + 1),
            Action::Previous => self.go_to(self.at.saturating_sub(1)),
            Action::Top if self.request.body.is_some() => {
                self.follows = false;
                self.reading.go_to_start();
            }
            Action::Top => self.go_to(0),
            Action::Bottom if self.request.body.is_some() && self.answers == Answers::All => {
                self.reading.go_to_end();
            }
            Action::Bottom => self.go_to(usize::MAX),
            Action::Back => self.go_to(self.request.options.len().saturating_sub(1)),
            _ => {}
        }
    }

    /// Moves to this option or the text field, and selects it if several may be selected. Returns whether it exists.
    pub fn press(&mut self, place: usize) -> bool {
        let is_there = place < self.places();
        if is_there {
            self.go_to(place);
            self.mark();
        }
        is_there
    }

    /// Replaces the text to read and shows it from its beginning.
    pub fn edit(&mut self, text: &str) {
        if self.body().map(str::trim_end) == Some(text) {
            return;
        }
        self.edition += 1;
        let is_changed = self.request.body.as_deref().map(str::trim_end) != Some(text);
        self.edited = is_changed.then(|| text.to_owned());
        self.follows = false;
        self.reading = Reading::default();
    }

    /// Chooses the option that has the keys, once it was visible. The error says why it could not.
    pub fn choose(&mut self) -> Result<Option<Chosen>, &'static str> {
        if !self.reading.is_visible() {
            return Err("enlarge the terminal to see the question");
        }
        if !self.shows_current() {
            self.follow();
            return Ok(None);
        }
        if !self.request.several {
            self.picked = (self.at < self.places()).then_some(self.at);
        }
        self.answer().map(Some).ok_or(if self.is_writing() {
            "type an answer first"
        } else if self.request.several {
            "mark at least one answer"
        } else {
            "nothing to choose"
        })
    }

    fn places(&self) -> usize {
        self.request.options.len() + usize::from(self.request.free_text)
    }

    fn go_to(&mut self, place: usize) {
        self.at = place.min(self.places().saturating_sub(1));
        self.follow();
    }

    /// Brings the options into view, which are at the end.
    fn follow(&mut self) {
        self.follows = true;
        if self.answers != Answers::All {
            self.reading.go_to_end();
        }
    }

    fn mark(&mut self) {
        let several = self.request.several;
        if let Some(marked) = self.marked.get_mut(self.at).filter(|_| several) {
            *marked = !*marked;
        }
    }
}
