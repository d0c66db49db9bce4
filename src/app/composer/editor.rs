//! The text of the draft: its lines, the caret, the last cut text, and the undo history.
//!
//! All changes go through [`Editor::change`], which records what was removed and what was inserted. Changes are grouped
//! by what the person did (typed a word, pasted, completed), so that one undo reverts one of these. `layout` wraps the
//! lines.
//!
//! A change costs what it changes: nothing here reads the lines around it, so a key in a draft of thousands of lines
//! costs the same as in an empty one.

use std::collections::VecDeque;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// How many single steps can be undone.
const UNDO_STEPS: usize = 4_000;

/// A place between two characters: a line, and how many `char`s of it come before.
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

/// Whether a change is undone together with the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joining {
    Typed,
    Alone,
}

#[derive(Debug)]
pub struct Editor {
    /// At least one.
    lines: Vec<String>,
    caret: Place,
    yanked: String,
    undo: Undo,
    /// Counts the changes of the text.
    revision: u64,
}

impl Default for Editor {
    fn default() -> Self {
        Self {
            lines: vec![String::new()],
            caret: Place::START,
            yanked: String::new(),
            undo: Undo::default(),
            revision: 0,
        }
    }
}

impl Editor {
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    pub fn line(&self, line: usize) -> &str {
        self.lines().get(line).map_or("", String::as_str)
    }

    pub fn text(&self) -> String {
        self.lines().join("\n")
    }

    pub fn is_empty(&self) -> bool {
        self.lines.len() == 1 && self.lines[0].is_empty()
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn caret(&self) -> Place {
        self.caret
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

    /// Moves the caret; a place that does not exist becomes the nearest one.
    pub fn go(&mut self, place: Place) {
        self.caret = self.nearest(place);
    }

    fn nearest(&self, place: Place) -> Place {
        let line = place.line.min(self.lines.len() - 1);
        Place::new(line, place.column.min(self.line_end(line).column))
    }

    /// Types a piece of text. Text typed without a pause is undone word by word.
    pub fn type_text(&mut self, text: &str) {
        let caret = self.caret();
        self.change(caret..caret, text, Joining::Typed);
    }

    /// Replaces a range with a text, as one step to undo.
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
            self.yanked = cut;
        }
        self.remove(range);
    }

    /// Inserts what was cut last.
    pub fn yank(&mut self) {
        let caret = self.caret();
        let text = self.yanked.clone();
        self.replace(caret..caret, &text);
    }

    pub fn replace_all(&mut self, text: &str) {
        self.replace(Place::START..self.end(), text);
    }

    /// Clears the text and the undo history, but not the cut text.
    pub fn reset(&mut self) {
        *self = Self {
            revision: self.revision + 1,
            yanked: std::mem::take(&mut self.yanked),
            ..Self::default()
        };
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
        let Some(mut group) = self.undo.done.pop_back() else {
            return;
        };
        self.undo.steps -= group.steps.len();
        for step in group.steps.iter().rev() {
            let inserted = step.at..end_of(step.at, &step.inserted);
            self.put(inserted, &step.removed);
        }
        group.open_at = None;
        self.undo.undone.push(group);
        self.revision += 1;
    }

    pub fn redo(&mut self) {
        let Some(group) = self.undo.undone.pop() else {
            return;
        };
        for step in &group.steps {
            let removed = step.at..end_of(step.at, &step.removed);
            self.put(removed, &step.inserted);
        }
        self.undo.push(group);
        self.revision += 1;
    }

    fn change(&mut self, range: Range<Place>, text: &str, joining: Joining) {
        let start = self.nearest(range.start.min(range.end));
        let end = self.nearest(range.start.max(range.end));
        self.caret = start;
        if start == end && text.is_empty() {
            return;
        }
        let begins_word = begins_word(self.before_caret(), text);
        let removed = self.slice(&(start..end));
        self.put(start..end, text);
        self.revision += 1;
        self.undo.undone.clear();
        let step = Step {
            at: start,
            removed,
            inserted: text.to_owned(),
        };
        let open_at = (joining == Joining::Typed).then_some(self.caret);
        match self.undo.open_at(start) {
            Some(group) if joining == Joining::Typed && !begins_word => {
                group.steps.push(step);
                group.open_at = open_at;
                self.undo.count(1);
            }
            Some(_) | None => self.undo.push(Group {
                steps: vec![step],
                open_at,
            }),
        }
    }

    /// Replaces a range with a text and puts the caret after it.
    fn put(&mut self, range: Range<Place>, text: &str) {
        let Range { start, end } = range;
        let from = byte_at(self.line(start.line), start.column);
        let to = byte_at(self.line(end.line), end.column);
        let behind = self.lines[end.line].split_off(to);
        // Whole lines that were removed; most changes are inside one line.
        self.lines.drain(start.line + 1..=end.line);
        self.lines[start.line].truncate(from);
        self.caret = end_of(start, text);
        let mut added = text.split('\n');
        self.lines[start.line].push_str(added.next().unwrap_or_default());
        let next = start.line + 1;
        self.lines.splice(next..next, added.map(str::to_owned));
        self.lines[self.caret.line].push_str(&behind);
    }
}

/// Where a text that begins at `start` ends.
fn end_of(start: Place, text: &str) -> Place {
    match text.rsplit_once('\n') {
        None => Place::new(start.line, start.column + text.chars().count()),
        Some((before, last)) => {
            let line = start.line + 1 + before.matches('\n').count();
            Place::new(line, last.chars().count())
        }
    }
}

/// Where a motion leads, without moving the caret.
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

    /// The start of the previous word; blanks and punctuation separate words.
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
            // An empty line is a word.
            if next.line > at.line && self.line(next.line).is_empty() {
                return next;
            }
            at = next;
        }
        at
    }

    /// The end of the word at or after the place: behind its last character.
    pub fn word_end(&self, place: Place) -> Place {
        let (mut at, end) = (place, self.end());
        while at < end && self.kind_at(at) == Kind::Blank {
            at = self.right(at);
        }
        self.run_end(at, self.kind_at(at))
    }

    /// Back to the last blank, like Ctrl+W in a shell.
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

    /// What kind of character follows a place; the end of a line is blank.
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

#[derive(Debug, Default)]
struct Undo {
    done: VecDeque<Group>,
    undone: Vec<Group>,
    /// How many steps are in `done`.
    steps: usize,
}

/// One thing that a person did.
#[derive(Debug)]
struct Group {
    steps: Vec<Step>,
    /// Typing at this place continues the group.
    open_at: Option<Place>,
}

#[derive(Debug)]
struct Step {
    at: Place,
    removed: String,
    inserted: String,
}

impl Undo {
    /// The last group, if typing at this place continues it.
    fn open_at(&mut self, place: Place) -> Option<&mut Group> {
        let last = self.done.back_mut();
        last.filter(|group| group.open_at == Some(place))
    }

    fn push(&mut self, group: Group) {
        let steps = group.steps.len();
        self.done.push_back(group);
        self.count(steps);
    }

    /// Drops the oldest groups once there are too many steps.
    fn count(&mut self, steps: usize) {
        self.steps += steps;
        while self.steps > UNDO_STEPS
            && let Some(oldest) = self.done.pop_front()
        {
            self.steps -= oldest.steps.len();
        }
    }
}

fn begins_word(before: &str, text: &str) -> bool {
    let blank_before = before.chars().next_back().is_none_or(char::is_whitespace);
    let blank_after = text.chars().next().is_none_or(char::is_whitespace);
    blank_before && !blank_after
}

/// The byte offset of the `column`th character of a line, or the end of the line.
pub fn byte_at(line: &str, column: usize) -> usize {
    if line.is_ascii() {
        return column.min(line.len());
    }
    let mut characters = line.char_indices();
    characters.nth(column).map_or(line.len(), |(at, _)| at)
}
