//! The composer's own actions: newlines, rows, the history, completion and the editor.

use std::time::Instant;

use super::complete::{Completion, Kind, word_before};
use super::history::HistorySearch;
use super::paste::{ImagePath, is_image};
use super::token::Form;
use super::vim::Mode;
use super::{Cause, Composer, Place};
use crate::app::Effect;
use crate::app::job::Job;
use crate::keymap::Action;
use crate::protocol::{Command, SessionCommand};

impl Composer {
    /// Performs an action, if it is one of the input's.
    pub fn perform(&mut self, action: Action, now: Instant) -> Option<Vec<Effect>> {
        if self.search.is_some() {
            return self.perform_search(action, now);
        }
        if self.completion.is_some() {
            match action {
                Action::Accept => return Some(self.accept(now)),
                Action::Back => {
                    self.dismissed = self.completion.take().map(|open| open.word.start);
                    return Some(Vec::new());
                }
                Action::Next => return Some(self.choose(1)),
                Action::Previous => return Some(self.choose(-1)),
                _ => {}
            }
        }
        match action {
            Action::Newline => {
                let before = self.editor.revision();
                self.editor.type_text("\n");
                Some(self.settle(before, Cause::Other, now))
            }
            Action::HistoryPrevious => Some(self.go_rows(-1, now)),
            Action::HistoryNext => Some(self.go_rows(1, now)),
            // In vim's normal mode, Ctrl+R is redo.
            Action::SearchHistory if matches!(self.vim(), Some(Mode::Normal)) => {
                let before = self.editor.revision();
                self.editor.redo();
                Some(self.settle(before, Cause::Other, now))
            }
            Action::SearchHistory => {
                self.close_completion();
                self.search = Some(HistorySearch::start(&self.history));
                Some(Vec::new())
            }
            Action::OpenEditor => {
                let text = self.tokens.expand(&self.editor.text(), Form::Sent);
                Some(vec![Effect::Start(Job::EditDraft(text))])
            }
            _ => None,
        }
    }

    fn perform_search(&mut self, action: Action, now: Instant) -> Option<Vec<Effect>> {
        let search = self.search.as_mut()?;
        match action {
            Action::Next | Action::SearchHistory => search.choose(1),
            Action::Previous => search.choose(-1),
            Action::Back => self.search = None,
            Action::Accept => {
                let found = search.chosen(&self.history).map(str::to_owned);
                self.search = None;
                if let Some(text) = found {
                    self.recall(&text, now);
                }
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Moves by visible rows; beyond the first and the last row, through the history.
    pub(super) fn go_rows(&mut self, by: isize, now: Instant) -> Vec<Effect> {
        for _ in 0..by.unsigned_abs() {
            let layout = self.layout(self.width);
            let (spot, column) = layout.locate(self.editor.caret());
            let next = if by < 0 {
                layout.above(spot)
            } else {
                layout.below(spot)
            };
            let Some(next) = next else {
                if !self.go_through_history(by, now) {
                    break;
                }
                continue;
            };
            let goal = self.goal.unwrap_or(column);
            let place = layout.place_at(next, goal);
            self.goal = Some(goal);
            self.editor.go(place);
        }
        self.settle(self.editor.revision(), Cause::Rows, now)
    }

    /// Returns whether there was an entry in that direction.
    fn go_through_history(&mut self, by: isize, now: Instant) -> bool {
        let shown = self.editor.text();
        let text = if by < 0 {
            self.history.older(&shown).map(str::to_owned)
        } else {
            self.history.newer(&shown)
        };
        match &text {
            Some(text) => self.recall(text, now),
            // At the end of the history, the caret goes to the edge of the draft.
            None if by < 0 => self.editor.go(Place::START),
            None => self.editor.go(self.editor.end()),
        }
        text.is_some()
    }

    /// Puts an entry of the history into the input, with its tokens.
    fn recall(&mut self, text: &str, now: Instant) {
        let before = self.editor.revision();
        let text = self.fold_longest(text.to_owned());
        self.editor.replace_all(&text);
        self.settle(before, Cause::Recalled, now);
    }

    fn choose(&mut self, by: isize) -> Vec<Effect> {
        if let Some(completion) = &mut self.completion {
            completion.choose(by);
        }
        Vec::new()
    }

    /// Replaces the word with the suggestion.
    fn accept(&mut self, now: Instant) -> Vec<Effect> {
        let Some(completion) = self.completion.as_ref() else {
            return Vec::new();
        };
        let Some(mut text) = completion.accepted() else {
            return Vec::new();
        };
        let word = completion.word.clone();
        let caret = self.editor.caret();
        let behind = self.editor.line(caret.line).chars().nth(caret.column);
        if behind == Some(' ') && text.ends_with(' ') {
            text.pop();
        }
        let before = self.editor.revision();
        self.editor.replace(word.start..caret, &text);
        let mut effects = self.settle(before, Cause::Typed, now);
        if word.kind == Kind::Path && is_image(text.trim().trim_matches('"')) {
            let raw = text.trim().to_owned();
            let path = raw.trim_start_matches('@').trim_matches('"').into();
            effects.push(self.attach(ImagePath { raw, path }));
        }
        effects
    }

    pub(super) fn close_completion(&mut self) {
        self.completion = None;
        self.dismissed = None;
    }

    /// Typing opens and narrows the completion of the word at the caret; leaving the word closes it.
    pub(super) fn refresh_completion(&mut self, cause: Cause) -> Vec<Effect> {
        let caret = self.editor.caret();
        let word = match cause {
            Cause::Recalled => None,
            Cause::Typed | Cause::Rows | Cause::Other => {
                word_before(self.editor.before_caret(), caret.line)
            }
        };
        let Some(word) = word else {
            self.close_completion();
            return Vec::new();
        };
        if self.dismissed == Some(word.start) {
            return Vec::new();
        }
        self.dismissed = None;
        let open = self
            .completion
            .as_mut()
            .filter(|open| (open.word.start, open.word.kind) == (word.start, word.kind));
        let query = word.query.clone();
        let kind = word.kind;
        let is_new = open.is_none();
        match open {
            Some(open) if open.word == word => return Vec::new(),
            Some(open) => {
                self.generation += 1;
                open.refine(word, self.generation, &self.commands);
            }
            None if cause == Cause::Typed => {
                self.generation += 1;
                self.completion = Some(Completion::new(word, self.generation, &self.commands));
            }
            None => self.completion = None,
        }
        match (&self.completion, kind) {
            // Files may have added some since.
            (Some(_), Kind::Slash) if is_new => {
                let find = Command::Session(SessionCommand::FindCommands);
                return vec![Effect::Send(find)];
            }
            (Some(_), Kind::Slash) | (None, _) => return Vec::new(),
            (Some(_), Kind::Path) => {}
        }
        let generation = self.generation;
        vec![Effect::Start(Job::CompletePath { query, generation })]
    }
}
