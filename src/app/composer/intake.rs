//! What comes into the draft from outside: pastes, images, and text from the editor, the history and the disk.

use std::time::Instant;

use super::editor::{Place, byte_at};
use super::paste::{self, ImagePath};
use super::token::{self, Content};
use super::{Cause, Composer};
use crate::app::Effect;
use crate::app::job::Job;
use crate::protocol::Block;

/// A text that is inserted as a whole is folded if it is longer than this, to keep the draft fast.
const LONGEST_UNFOLDED: usize = 20_000;

impl Composer {
    pub fn paste(&mut self, text: String, now: Instant) -> Vec<Effect> {
        let text = if token::is_clean(&text) {
            text
        } else {
            token::clean(&text)
        };
        if let Some(search) = &mut self.search {
            search.push(text.lines().next().unwrap_or_default(), &self.history);
            return Vec::new();
        }
        let before = self.editor.revision();
        let images = paste::image_paths(&text);
        if !images.is_empty() {
            self.editor.type_text(text.trim());
            let mut effects = self.settle(before, Cause::Other, now);
            effects.extend(images.into_iter().map(|image| self.attach(image)));
            return effects;
        }
        let caret = self.editor.caret();
        if self.is_folded_before(caret, &text) && text.len() <= LONGEST_UNFOLDED {
            // The same text pasted again: the person wants to see it unfolded.
            self.editor.replace(self.editor.left(caret)..caret, &text);
        } else {
            let text = if paste::is_long(&text) {
                self.fold(text)
            } else {
                text
            };
            self.editor.replace(caret..caret, &text);
        }
        self.settle(before, Cause::Typed, now)
    }

    fn is_folded_before(&self, caret: Place, text: &str) -> bool {
        let before = self.editor.before_caret().chars().next_back();
        let token = before.and_then(|letter| self.tokens.get(letter));
        let is_same = |pasted: &String| pasted == text;
        caret.column > 0
            && token.is_some_and(|token| match &token.content {
                Content::Pasted(pasted) => is_same(pasted),
                Content::Image { .. } => false,
            })
    }

    fn fold(&mut self, text: String) -> String {
        self.tokens
            .fold(text)
            .map_or_else(|text| text, String::from)
    }

    /// Prepares a text from outside for the draft.
    pub(super) fn fit(&mut self, text: &str) -> String {
        self.fold_longest(token::clean(text))
    }

    /// Folds a text that would make the draft slow. Tokens cannot be nested.
    pub(super) fn fold_longest(&mut self, text: String) -> String {
        if text.len() > LONGEST_UNFOLDED && !text.contains(token::is_token) {
            return self.fold(text);
        }
        text
    }

    pub(super) fn attach(&mut self, image: ImagePath) -> Effect {
        let path = image.path.clone();
        self.awaited.push(image);
        Effect::Start(Job::Attach(path))
    }

    /// Replaces the image's path with the image, if the path is still there.
    pub(super) fn attached(&mut self, image: &ImagePath, block: Block, now: Instant) {
        let found = (0..).zip(self.editor.lines()).find_map(|(line, text)| {
            let at = text.find(&image.raw)?;
            Some(Place::new(line, text[..at].chars().count()))
        });
        let Some(start) = found else {
            return;
        };
        let Some(letter) = self.tokens.attach(image.path.clone(), block) else {
            return;
        };
        let before = self.editor.revision();
        let end = Place::new(start.line, start.column + image.raw.chars().count());
        let caret = self.editor.caret();
        // Separates the image from what is typed after it.
        let line = self.editor.line(end.line);
        let behind = &line[byte_at(line, end.column)..];
        let is_separate = behind.starts_with(char::is_whitespace);
        let chip = format!("{letter}{}", if is_separate { "" } else { " " });
        self.editor.replace(start..end, &chip);
        if caret < start || caret.line > start.line {
            self.editor.go(caret);
        } else if caret > end {
            let column = caret.column - (end.column - start.column) + chip.chars().count();
            self.editor.go(Place::new(start.line, column));
        }
        self.settle(before, Cause::Other, now);
    }

    pub(super) fn edited(&mut self, text: &str, now: Instant) {
        let before = self.editor.revision();
        let text = self.fit(text.trim_end_matches(['\n', '\r']));
        let text = self.tokens.restore_images(&text, &self.editor.text());
        self.editor.replace_all(&text);
        self.settle(before, Cause::Other, now);
    }
}
