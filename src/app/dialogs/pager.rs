//! A page to read: a command's answer that is too long for a line.

use std::sync::Arc;

use crossterm::event::KeyEvent;

use super::find::Find;
use super::paging::Paging;
use crate::app::call::CallKey;
use crate::app::page::Line;
use crate::keymap::{Action, Context};

#[derive(Debug, Clone, PartialEq)]
pub struct Pager {
    pub title: String,
    pub content: Content,
    pub paging: Paging,
    /// A search in the page.
    pub find: Option<Find>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Lines(Arc<[Line]>),
    /// What these calls have changed.
    Changes(Vec<CallKey>),
}

impl Pager {
    pub fn new(title: impl Into<String>, content: Content) -> Self {
        Self {
            title: title.into(),
            content,
            paging: Paging::default(),
            find: None,
        }
    }

    pub fn context(&self) -> Context {
        match &self.find {
            Some(find) if find.is_typing() => Context::Search,
            Some(_) | None => Context::Pager,
        }
    }

    pub fn perform(&mut self, action: Action) {
        let row = match (action, &mut self.find) {
            (Action::Search, _) => {
                self.find = Some(Find::from(self.paging.offset()));
                None
            }
            (Action::Accept, Some(find)) if find.query().is_empty() => {
                self.find = None;
                None
            }
            (Action::Accept, Some(find)) => {
                find.accept();
                None
            }
            (Action::NextMatch, Some(find)) => find.step(1),
            (Action::PreviousMatch, Some(find)) => find.step(-1),
            (action, _) => {
                self.paging.perform(action);
                None
            }
        };
        if let Some(row) = row {
            self.paging.show(row);
        }
    }

    /// Ends the search; returns false if there is none. If its query was still being typed, the page returns to where it
    /// was.
    pub fn end_search(&mut self) -> bool {
        let Some(find) = self.find.take() else {
            return false;
        };
        if find.is_typing() {
            self.paging.go_to(find.began());
        }
        true
    }

    pub fn key(&mut self, key: KeyEvent) {
        if let Some(find) = &mut self.find {
            find.key(key);
        }
    }

    pub fn paste(&mut self, text: &str) {
        if let Some(find) = &mut self.find {
            find.paste(text);
        }
    }

    /// Records which rows match the search.
    pub fn record_matches(&mut self, rows: &Arc<[usize]>) {
        let show = self.find.as_mut().and_then(|find| find.record_layout(rows));
        if let Some(row) = show {
            self.paging.show(row);
        }
    }
}
