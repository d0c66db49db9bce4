//! The text of the draft, in a `TextArea` that is moved and cut by what people take for one character.
//!
//! The `TextArea` owns the lines, the caret, the yanked text and the single steps of undo. Here those steps are put
//! together to what a person did (a word typed, a paste, a completion), so that one undo takes back one thing. All
//! changes go through [`Editor::change`]. How the lines are wrapped and shown is `layout`'s matter.

use std::collections::VecDeque;
use std::ops::Range;

use tui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;

/// How many single steps can be undone.
const UNDO_STEPS: usize = 4_000;

/// A place between two characters: a line, and how many `char`s of it are before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}

impl Place {
    pub const START: Self = Self { line: 0, column: 0 };

    pub fn new(line: usize, column: usize) -> Self {
        Self { line, column }
    }
}

/// Whether a change belongs to the one before it when it is undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joining {
    Typed,
    Alone,
}

#[derive(Debug)]
pub struct Editor {
    area: TextArea<'static>,
    undo: Undo,
    /// Counts the changes of the text.
    revision: u64,
}

impl Default for Editor {
    fn default() -> Self {
        let mut area = TextArea::default();
        area.set_max_histories(UNDO_STEPS);
        Self {
            area,
            undo: Undo::default(),
            revision: 0,
        }
    }
}

impl Editor {
    pub fn lines(&self) -> &[String] {
        self.area.lines()
    }

    pub fn line(&self, line: usize) -> &str {
        self.lines().get(line).map_or("", String::as_str)
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn caret(&self) -> Place {
        let caret = self.area.cursor();
        Place::new(caret.0, caret.1)
    }

    /// The text of the caret's line up to the caret.
    pub fn before_caret(&self) -> &str {
        let caret = self.caret();
        let line = self.line(caret.line);
        &line[..byte_at(line, caret.column)]
    }

    pub fn end(&self) -> Place {
        let line = self.lines().len() - 1;
        self.line_end(line)
    }

    pub fn line_end(&self, line: usize) -> Place {
        Place::new(line, self.line(line).chars().count())
    }

    /// Moves the caret; a place that does not exist is taken for the nearest one.
    pub fn go(&mut self, place: Place) {
        self.area.cancel_selection();
        self.walk(place);
    }

    fn walk(&mut self, place: Place) {
        let line = place.line.min(self.lines().len() - 1);
        let column = place.column.min(self.line_end(line).column);
        if let (Ok(line), Ok(column)) = (u16::try_from(line), u16::try_from(column)) {
            self.area.move_cursor(CursorMove::Jump(line, column));
            return;
        }
        // `Jump` counts in u16. What lies beyond is walked to, from the nearer end.
        let far = usize::from(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(u16::MAX, 0));
        let last = self.caret().line;
        match u16::try_from(line) {
            Ok(line) => self.area.move_cursor(CursorMove::Jump(line, u16::MAX)),
            Err(_) => (last..line).for_each(|_| self.area.move_cursor(CursorMove::Down)),
        }
        let (start, end) = (self.caret().column.min(far), self.line_end(line).column);
        if end - column < column.abs_diff(start) {
            self.area.move_cursor(CursorMove::End);
            (column..end).for_each(|_| self.area.move_cursor(CursorMove::Back));
        } else {
            (start..column).for_each(|_| self.area.move_cursor(CursorMove::Forward));
        }
    }

    /// Types a piece of text; what is typed in one go is undone in one go, word by word.
    pub fn type_text(&mut self, text: &str) {
        let caret = self.caret();
        self.change(caret..caret, text, Joining::Typed);
    }

    /// Puts a text in the place of another, as one thing to undo.
    pub fn replace(&mut self, range: Range<Place>, text: &str) {
        self.change(range, text, Joining::Alone);
    }

    pub fn remove(&mut self, range: Range<Place>) {
        self.change(range, "", Joining::Alone);
    }

    /// Removes a text and keeps it for [`Editor::yank`].
    pub fn cut(&mut self, range: Range<Place>) {
        let cut = self.slice(&range);
        if !cut.is_empty() {
            self.area.set_yank_text(cut);
        }
        self.remove(range);
    }

    /// Puts back what was cut last.
    pub fn yank(&mut self) {
        let caret = self.caret();
        let text = self.area.yank_text();
        self.replace(caret..caret, &text);
    }

    pub fn replace_all(&mut self, text: &str) {
        self.replace(Place::START..self.end(), text);
    }

    /// Forgets the text and all that could be undone; what was cut stays.
    pub fn reset(&mut self) {
        let yank = self.area.yank_text();
        *self = Self {
            revision: self.revision + 1,
            ..Self::default()
        };
        self.area.set_yank_text(yank);
    }

    pub fn slice(&self, range: &Range<Place>) -> String {
        let (start, end) = (range.start.min(range.end), range.start.max(range.end));
        let mut text = String::new();
        for number in start.line..=end.line.min(self.lines().len() - 1) {
            let line = self.line(number);
            let from = if number == start.line {
                byte_at(line, start.column)
            } else {
                0
            };
            let to = if number == end.line {
                byte_at(line, end.column)
            } else {
                line.len()
            };
            if number > start.line {
                text.push('\n');
            }
            text.push_str(&line[from..to.max(from)]);
        }
        text
    }

    pub fn undo(&mut self) {
        let Some(group) = self.undo.done.pop_back() else {
            return;
        };
        for _ in 0..group.steps {
            self.area.undo();
        }
        self.undo.steps -= group.steps;
        self.undo.undone.push(group.steps);
        self.revision += 1;
    }

    pub fn redo(&mut self) {
        let Some(steps) = self.undo.undone.pop() else {
            return;
        };
        for _ in 0..steps {
            self.area.redo();
        }
        self.undo.push(steps, None);
        self.revision += 1;
    }

    fn change(&mut self, range: Range<Place>, text: &str, joining: Joining) {
        let (start, end) = (range.start.min(range.end), range.start.max(range.end));
        let mut steps = 0;
        self.go(start);
        let start = self.caret();
        self.area.start_selection();
        self.walk(end);
        if self.caret() > start {
            // Typing over a selection removes it; `cut` would replace what was yanked.
            self.area.insert_str("");
            steps += 1;
        }
        self.area.cancel_selection();
        let begins_word = begins_word(self.before_caret(), text);
        if !text.is_empty() {
            self.area.insert_str(text);
            steps += 1;
        }
        if steps == 0 {
            return;
        }
        self.revision += 1;
        self.undo.undone.clear();
        match joining {
            Joining::Typed if !begins_word && self.undo.ends_at(start) => {
                self.undo.extend(steps, self.caret());
            }
            Joining::Typed => self.undo.push(steps, Some(self.caret())),
            Joining::Alone => self.undo.push(steps, None),
        }
    }
}

/// Where a motion leads from a place, without moving the caret.
impl Editor {
    pub fn left(&self, place: Place) -> Place {
        let line = self.line(place.line);
        let before = &line[..byte_at(line, place.column)];
        match before.graphemes(true).next_back() {
            Some(last) => Place::new(place.line, place.column - last.chars().count()),
            None if place.line > 0 => self.line_end(place.line - 1),
            None => place,
        }
    }

    pub fn right(&self, place: Place) -> Place {
        let line = self.line(place.line);
        match line[byte_at(line, place.column)..].graphemes(true).next() {
            Some(next) => Place::new(place.line, place.column + next.chars().count()),
            None if place.line + 1 < self.lines().len() => Place::new(place.line + 1, 0),
            None => place,
        }
    }

    /// The start of the word before, as blanks and punctuation part words.
    pub fn word_left(&self, place: Place) -> Place {
        let mut at = self.left(place);
        while at > Place::START && self.kind_at(at) == Kind::Blank {
            at = self.left(at);
        }
        let kind = self.kind_at(at);
        while at.column > 0 && self.kind_at(self.left(at)) == kind {
            at = self.left(at);
        }
        at
    }

    /// The start of the next word.
    pub fn word_right(&self, place: Place) -> Place {
        let kind = self.kind_at(place);
        let mut at = place;
        if kind != Kind::Blank {
            at = self.run_end(place, kind);
        }
        let end = self.end();
        while at < end && self.kind_at(at) == Kind::Blank {
            let next = self.right(at);
            // An empty line is a word of its own.
            if next.line > at.line && self.line(next.line).is_empty() {
                return next;
            }
            at = next;
        }
        at
    }

    /// The end of the word that the place is in or before: behind its last character.
    pub fn word_end(&self, place: Place) -> Place {
        let (mut at, end) = (place, self.end());
        while at < end && self.kind_at(at) == Kind::Blank {
            at = self.right(at);
        }
        self.run_end(at, self.kind_at(at))
    }

    /// Back to the last blank, as the shell's Ctrl+W goes.
    pub fn blank_left(&self, place: Place) -> Place {
        if place.column == 0 {
            return self.left(place);
        }
        let line = self.line(place.line);
        let before = &line[..byte_at(line, place.column)];
        let word = before.trim_end();
        let blank = word.rfind(char::is_whitespace);
        let from = blank.map_or("", |at| {
            let width = word[at..].chars().next().map_or(1, char::len_utf8);
            &word[..at + width]
        });
        Place::new(place.line, from.chars().count())
    }

    fn run_end(&self, place: Place, kind: Kind) -> Place {
        let line_end = self.line_end(place.line);
        let mut at = place;
        while at < line_end && self.kind_at(at) == kind {
            at = self.right(at);
        }
        at
    }

    /// What the character behind a place is; the end of a line is blank.
    fn kind_at(&self, place: Place) -> Kind {
        match self.line(place.line).chars().nth(place.column) {
            None => Kind::Blank,
            Some(letter) if letter.is_whitespace() => Kind::Blank,
            Some(letter) if letter.is_ascii_punctuation() && letter != '_' => Kind::Punctuation,
            Some(_) => Kind::Word,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Punctuation,
    Word,
}

/// How many steps of the `TextArea` each thing took that a person did.
#[derive(Debug, Default)]
struct Undo {
    done: VecDeque<Group>,
    undone: Vec<usize>,
    steps: usize,
}

#[derive(Debug)]
struct Group {
    steps: usize,
    /// Where typing can continue it.
    open_at: Option<Place>,
}

impl Undo {
    fn ends_at(&self, place: Place) -> bool {
        let last = self.done.back();
        last.is_some_and(|group| group.open_at == Some(place))
    }

    fn extend(&mut self, steps: usize, open_at: Place) {
        if let Some(group) = self.done.back_mut() {
            group.steps += steps;
            group.open_at = Some(open_at);
        }
        self.count(steps);
    }

    fn push(&mut self, steps: usize, open_at: Option<Place>) {
        self.done.push_back(Group { steps, open_at });
        self.count(steps);
    }

    /// The `TextArea` forgets its oldest steps, so what they belonged to cannot be undone any more.
    fn count(&mut self, steps: usize) {
        self.steps += steps;
        while self.steps > UNDO_STEPS
            && let Some(oldest) = self.done.pop_front()
        {
            self.steps -= oldest.steps;
        }
    }
}

fn begins_word(before: &str, text: &str) -> bool {
    let blank_before = before.chars().next_back().is_none_or(char::is_whitespace);
    let blank_after = text.chars().next().is_none_or(char::is_whitespace);
    blank_before && !blank_after
}

/// The byte at which the `column`th character of a line begins, or its end.
pub fn byte_at(line: &str, column: usize) -> usize {
    if line.is_ascii() {
        return column.min(line.len());
    }
    let mut characters = line.char_indices();
    characters.nth(column).map_or(line.len(), |(at, _)| at)
}
