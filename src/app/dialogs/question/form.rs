//! A form of a tool: all its fields at once, filled with their defaults, so that one key submits them.

use std::time::Instant;

use crossterm::event::KeyEvent;
use serde_json::{Map, Value};
use tui_textarea::TextArea;

use crate::app::dialogs::DialogLayout;
use crate::app::dialogs::permission::{Arming, Reading};
use crate::keymap::{Action, Context};
use crate::protocol::{FieldKind, FieldOption, FormField, FormReply, FormRequest, Given, Reply};

#[derive(Debug)]
pub struct FormDialog {
    request: FormRequest,
    /// One for each field.
    inputs: Vec<Input>,
    /// The field that has the keys.
    at: usize,
    arming: Arming,
    reading: Reading,
    /// Keeps the field that has the keys visible, wherever the view was scrolled to.
    follows: bool,
    notice: Option<String>,
}

/// What the person has given for a field so far.
#[derive(Debug)]
pub struct Input {
    pub content: Content,
    /// Why it can't be submitted like this.
    pub problem: Option<String>,
    is_touched: bool,
}

#[derive(Debug)]
pub enum Content {
    Text(Box<TextArea<'static>>),
    Flag(Option<bool>),
    One {
        chosen: Option<usize>,
        count: usize,
    },
    Several {
        marked: Vec<bool>,
        /// The option that has the keys.
        at: usize,
    },
}

/// What the view reads.
impl FormDialog {
    pub fn request(&self) -> &FormRequest {
        &self.request
    }

    pub fn fields(&self) -> impl Iterator<Item = (&FormField, &Input)> {
        self.request.fields.iter().zip(&self.inputs)
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn current(&self) -> Option<&Input> {
        self.inputs.get(self.at)
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
        match self.current().map(|input| &input.content) {
            Some(Content::Text(_)) => Context::FormText,
            Some(Content::Flag(_) | Content::One { .. } | Content::Several { .. }) | None => {
                Context::Form
            }
        }
    }

    pub fn wake_at(&self, now: Instant) -> Option<Instant> {
        self.arming.wake_at(now)
    }
}

/// What changes it.
impl FormDialog {
    pub fn new(request: FormRequest, now: Instant) -> Self {
        Self {
            inputs: request.fields.iter().map(Input::new).collect(),
            request,
            at: 0,
            arming: Arming::new(now),
            reading: Reading::default(),
            follows: false,
            notice: None,
        }
    }

    pub fn rearm(&mut self, now: Instant) {
        self.arming = Arming::new(now);
    }

    /// A key that is no answer was pressed; returns whether it may act.
    pub fn press(&mut self, now: Instant) -> bool {
        self.arming.press(now)
    }

    /// Types into the field that has the keys.
    pub fn key(&mut self, key: KeyEvent, now: Instant) {
        self.notice = None;
        let counts = self.arming.press(now);
        if let Some(input) = self.inputs.get_mut(self.at).filter(|_| counts)
            && let Content::Text(text) = &mut input.content
            && text.input(key)
        {
            input.touch();
            self.follows = true;
        }
    }

    pub fn paste(&mut self, pasted: &str, now: Instant) {
        let counts = self.arming.press(now);
        if let Some(input) = self.inputs.get_mut(self.at).filter(|_| counts)
            && let Content::Text(text) = &mut input.content
        {
            text.insert_str(one_line(pasted.trim_end_matches(['\r', '\n'])));
            input.touch();
        }
    }

    /// A click moves to a field, and changes it if it is yes or no.
    pub fn press_field(&mut self, field: usize, now: Instant) {
        self.notice = None;
        if self.arming.press(now) && field < self.inputs.len() {
            self.go_to(field);
            if let Content::Flag(_) = self.inputs[field].content {
                self.inputs[field].mark();
            }
        }
    }

    /// Down, or up if negative.
    pub fn scroll(&mut self, rows: i64) {
        self.follows = false;
        self.reading.scroll(rows);
    }

    pub fn record_layout(&mut self, layout: DialogLayout) {
        self.reading.record_layout(layout);
    }

    /// Performs an action; returns the reply, if it gives one.
    pub fn perform(&mut self, action: Action, now: Instant) -> Option<Reply> {
        self.notice = None;
        if self.turns(action) {
            return None;
        }
        if matches!(action, Action::Dismiss | Action::Back) {
            if self.arming.may_cancel(now) {
                return Some(Reply::Dismissed);
            }
            self.arming.press(now);
            return None;
        }
        if !self.arming.press(now) {
            return None;
        }
        let last = self.inputs.len().saturating_sub(1);
        match action {
            Action::Submit => return self.submit(),
            Action::Decline => return Some(Reply::Form(FormReply::Declined)),
            Action::Next if self.at >= last => self.go_to(0),
            Action::Next => self.go_to(self.at + 1),
            Action::Previous => self.go_to(self.at.checked_sub(1).unwrap_or(last)),
            Action::Top => self.go_to(0),
            Action::Bottom => self.go_to(last),
            Action::Mark => self.change(Input::mark),
            Action::NextOption => self.change(|input| input.step(Step::Next)),
            Action::PreviousOption => self.change(|input| input.step(Step::Previous)),
            _ => {}
        }
        None
    }

    fn turns(&mut self, action: Action) -> bool {
        let halves = match action {
            Action::LineDown => {
                self.scroll(1);
                return true;
            }
            Action::LineUp => {
                self.scroll(-1);
                return true;
            }
            Action::PageDown => 2,
            Action::PageUp => -2,
            _ => return false,
        };
        self.follows = false;
        self.reading.turn(halves);
        true
    }

    fn go_to(&mut self, field: usize) {
        self.at = field;
        self.follows = true;
    }

    fn change(&mut self, change: impl FnOnce(&mut Input)) {
        if let Some(input) = self.inputs.get_mut(self.at) {
            change(input);
            self.follows = true;
        }
    }

    /// Replies with all values, or shows what is wrong with them.
    fn submit(&mut self) -> Option<Reply> {
        if !self.reading.is_visible() {
            self.notice = Some("enlarge the terminal to see the form".into());
            return None;
        }
        let mut values: Map<String, Value> = Map::new();
        let mut first = None;
        let fields = self.request.fields.iter().zip(&mut self.inputs);
        for (index, (field, input)) in fields.enumerate() {
            match field.value(&input.given()) {
                Ok(Some(value)) => drop(values.insert(field.name.clone(), value)),
                Ok(None) => {}
                Err(problem) => {
                    input.problem = Some(problem);
                    first.get_or_insert(index);
                }
            }
        }
        match first {
            Some(field) => {
                self.go_to(field);
                None
            }
            None => Some(Reply::Form(FormReply::Submitted(values))),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Next,
    Previous,
}

impl Input {
    fn new(field: &FormField) -> Self {
        let default = field.default.as_ref();
        let content = match &field.kind {
            FieldKind::Text { .. } | FieldKind::Number { .. } => {
                let text = match default {
                    Some(Value::String(text)) => one_line(text),
                    Some(other) => other.to_string(),
                    None => String::new(),
                };
                let mut area = TextArea::new(vec![text]);
                area.move_cursor(tui_textarea::CursorMove::End);
                Content::Text(Box::new(area))
            }
            FieldKind::Flag => Content::Flag(default.and_then(Value::as_bool)),
            FieldKind::One(options) => {
                let is_default =
                    |option: &FieldOption| default.is_some_and(|it| *it == option.value);
                Content::One {
                    chosen: options.iter().position(is_default),
                    count: options.len(),
                }
            }
            FieldKind::Several(options, _) => {
                let defaults = default.and_then(Value::as_array);
                let is_default = |option: &FieldOption| {
                    defaults.is_some_and(|all| all.iter().any(|it| *it == option.value))
                };
                Content::Several {
                    marked: options.iter().map(is_default).collect(),
                    at: 0,
                }
            }
        };
        Self {
            content,
            problem: None,
            is_touched: false,
        }
    }

    /// A field that nobody changed keeps its default exactly as it was given.
    fn given(&self) -> Given {
        match &self.content {
            Content::Several { marked, .. } => {
                let marked = marked.iter().enumerate().filter(|(_, is)| **is);
                Given::Options(marked.map(|(index, _)| index).collect())
            }
            Content::Text(_) | Content::Flag(_) | Content::One { .. } if !self.is_touched => {
                Given::Untouched
            }
            Content::Text(text) => Given::Text(text.lines().join("\n")),
            Content::Flag(flag) => flag.map_or(Given::Untouched, Given::Flag),
            Content::One { chosen, .. } => Given::Options(chosen.iter().copied().collect()),
        }
    }

    fn touch(&mut self) {
        self.is_touched = true;
        self.problem = None;
    }

    /// Space: the other of two, the next of many, or this one of several.
    fn mark(&mut self) {
        match &mut self.content {
            Content::Flag(_) | Content::One { .. } => return self.step(Step::Next),
            Content::Several { marked, at } => {
                if let Some(marked) = marked.get_mut(*at) {
                    *marked = !*marked;
                }
            }
            Content::Text(_) => return,
        }
        self.touch();
    }

    fn step(&mut self, step: Step) {
        match &mut self.content {
            Content::Flag(flag) => *flag = Some(!flag.unwrap_or(false)),
            Content::One { chosen, count } if *count > 0 => {
                *chosen = Some(match (*chosen, step) {
                    (None, Step::Next) => 0,
                    (None | Some(0), Step::Previous) => *count - 1,
                    (Some(at), Step::Next) => (at + 1) % *count,
                    (Some(at), Step::Previous) => at - 1,
                });
            }
            Content::Several { marked, at } => {
                let last = marked.len().saturating_sub(1);
                *at = match step {
                    Step::Next => (*at + 1).min(last),
                    Step::Previous => at.saturating_sub(1),
                };
                return;
            }
            Content::Text(_) | Content::One { .. } => return,
        }
        self.touch();
    }
}

/// As one line: it is edited in one.
fn one_line(text: &str) -> String {
    text.replace(|letter: char| letter.is_control(), " ")
}
