//! A list to choose from, narrowed by typing.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::keymap::Action;
use crate::protocol::KnownRule;
use crate::text::one_line;
use crate::theme::Theme;

#[derive(Debug, Clone, PartialEq)]
pub struct Picker {
    pub title: &'static str,
    items: Vec<Item>,
    pub filter: String,
    /// The items that pass the filter, by their number.
    shown: Vec<usize>,
    /// The chosen one, counted among those shown.
    pub chosen: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub label: String,
    pub about: String,
    pub choice: Choice,
}

/// What choosing an item does.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    Do(Action),
    /// A command with a slash, by its name.
    Slash(&'static str),
    Theme(Box<Theme>),
    Session(String),
    /// Begin a draft with this.
    Write(&'static str),
    /// Say what can be done with a permission rule.
    Rule(KnownRule),
    RemoveRule(KnownRule),
    /// Only to be read.
    Nothing,
}

impl Picker {
    pub fn new(title: &'static str, items: Vec<Item>) -> Self {
        let shown = (0..items.len()).collect();
        Self {
            title,
            items,
            filter: String::new(),
            shown,
            chosen: 0,
        }
    }

    /// Begins at the item that `is_it` knows.
    #[must_use]
    pub fn starting_at(mut self, is_it: impl Fn(&Item) -> bool) -> Self {
        self.chosen = self.items.iter().position(is_it).unwrap_or(0);
        self
    }

    pub fn shown(&self) -> impl ExactSizeIterator<Item = &Item> {
        self.shown.iter().map(|index| &self.items[*index])
    }

    pub fn chosen(&self) -> Option<&Item> {
        self.shown.get(self.chosen).map(|index| &self.items[*index])
    }

    pub fn choose_next(&mut self, by: i64) {
        let last = self.shown.len().saturating_sub(1);
        let by = isize::try_from(by).unwrap_or(0);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }

    pub fn choose_first(&mut self) {
        self.chosen = 0;
    }

    pub fn choose_last(&mut self) {
        self.chosen = self.shown.len().saturating_sub(1);
    }

    pub fn key(&mut self, key: KeyEvent) {
        let command = KeyModifiers::CONTROL | KeyModifiers::ALT;
        match key.code {
            KeyCode::Char(letter) if !key.modifiers.intersects(command) => {
                self.filter.push(letter);
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            _ => return,
        }
        self.narrow();
    }

    pub fn paste(&mut self, text: &str) {
        self.filter.push_str(&one_line(text));
        self.narrow();
    }

    fn narrow(&mut self) {
        let words: Vec<String> = self
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let passes = |item: &Item| {
            let text = format!("{} {}", item.label, item.about).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        let items = self.items.iter().enumerate();
        self.shown = items
            .filter(|(_, item)| passes(item))
            .map(|(index, _)| index)
            .collect();
        // What is called so comes before what is only about it.
        let first = words.first().map_or("", String::as_str);
        self.shown.sort_by_key(|index| {
            let label = self.items[*index].label.to_lowercase();
            let name = label.trim_start_matches('/');
            (!name.starts_with(first), !name.contains(first))
        });
        self.chosen = 0;
    }
}
