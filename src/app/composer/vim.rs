//! Vim keys: the modes, motions and operators that a short text needs.
//!
//! Takes keys and moves or changes the [`Editor`]. Only the composer knows wrapped rows and the history beyond them, so
//! `j` and `k` are returned to it.

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::editor::{Editor, Place};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Insert,
    Normal,
    Visual { anchor: Place, reach: Reach },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Letters,
    Lines,
}

/// What the composer has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Move this many rows down, or up if negative.
    Rows(isize),
    /// Not one of vim's keys.
    Unused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Delete,
    Change,
    Yank,
}

/// Keys that need another one after them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Pending {
    operator: Option<(Operator, usize)>,
    count: Option<usize>,
    prefix: Option<char>,
}

#[derive(Debug, Clone)]
pub struct Vim {
    pub mode: Mode,
    pending: Pending,
    register: String,
    register_reach: Reach,
}

impl Default for Vim {
    fn default() -> Self {
        Self {
            mode: Mode::Insert,
            pending: Pending::default(),
            register: String::new(),
            register_reach: Reach::Letters,
        }
    }
}

/// Larger counts are longer than any draft.
const LARGEST_COUNT: usize = 10_000;

impl Vim {
    pub fn key(&mut self, key: KeyEvent, editor: &mut Editor) -> Outcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (self.mode, key.code) {
            (_, KeyCode::Esc) => self.escape(editor),
            (_, KeyCode::Char('[')) if control => self.escape(editor),
            (Mode::Insert, _) => return Outcome::Unused,
            (_, KeyCode::Char(letter))
                if !control && !key.modifiers.contains(KeyModifiers::ALT) =>
            {
                return self.letter(letter, editor);
            }
            (_, KeyCode::Backspace) => return self.letter('h', editor),
            _ => {
                self.pending = Pending::default();
                return Outcome::Unused;
            }
        }
        Outcome::Done
    }

    /// What is selected: the range that the next operator applies to.
    pub fn marked(&self, editor: &Editor) -> Option<Range<Place>> {
        let Mode::Visual { anchor, reach } = self.mode else {
            return None;
        };
        let caret = editor.caret();
        let (start, end) = (anchor.min(caret), anchor.max(caret));
        Some(match reach {
            Reach::Letters => start..editor.right(end),
            Reach::Lines => Place::new(start.line, 0)..editor.line_end(end.line),
        })
    }

    /// Outside insert mode the caret is on a character, not after the last one.
    pub fn settle(&self, editor: &mut Editor) {
        let caret = editor.caret();
        if self.mode != Mode::Insert && caret.column > 0 && caret == editor.line_end(caret.line) {
            editor.go(editor.left(caret));
        }
    }

    fn escape(&mut self, editor: &mut Editor) {
        if self.mode == Mode::Insert && editor.caret().column > 0 {
            editor.go(editor.left(editor.caret()));
        }
        self.mode = Mode::Normal;
        self.pending = Pending::default();
    }

    fn letter(&mut self, letter: char, editor: &mut Editor) -> Outcome {
        let pending = std::mem::take(&mut self.pending);
        match pending.prefix {
            Some('r') => {
                replace_letters(letter, pending.count.unwrap_or(1), editor);
                return Outcome::Done;
            }
            Some(prefix) => return self.motion(prefix, letter, pending, editor),
            None => {}
        }
        match letter {
            '0'..='9' if letter != '0' || pending.count.is_some() => {
                let digit = usize::try_from(letter.to_digit(10).unwrap_or(0)).unwrap_or(0);
                let count = (pending.count.unwrap_or(0) * 10 + digit).min(LARGEST_COUNT);
                self.pending = Pending {
                    count: Some(count),
                    ..pending
                };
                Outcome::Done
            }
            'g' => {
                self.pending = Pending {
                    prefix: Some('g'),
                    ..pending
                };
                Outcome::Done
            }
            'r' if pending.operator.is_none() && self.mode == Mode::Normal => {
                self.pending = Pending {
                    prefix: Some('r'),
                    ..pending
                };
                Outcome::Done
            }
            'd' | 'c' | 'y' => {
                self.operator(letter, pending, editor);
                Outcome::Done
            }
            _ if pending.operator.is_none() && self.simple(letter, pending, editor) => {
                Outcome::Done
            }
            _ => self.motion(' ', letter, pending, editor),
        }
    }

    /// `d`, `c` or `y`: applies to the selection, to whole lines when pressed twice, else to the motion that follows.
    fn operator(&mut self, letter: char, pending: Pending, editor: &mut Editor) {
        let operator = match letter {
            'd' => Operator::Delete,
            'c' => Operator::Change,
            _ => Operator::Yank,
        };
        let count = pending.count.unwrap_or(1);
        if let Mode::Visual { reach, .. } = self.mode {
            if let Some(range) = self.marked(editor) {
                self.mode = Mode::Normal;
                self.operate(operator, range, reach, editor);
            }
            return;
        }
        match pending.operator {
            Some((before, times)) if before == operator => {
                let first = editor.caret().line;
                let last = first + (times * count).max(1) - 1;
                self.operate(operator, lines(first, last, editor), Reach::Lines, editor);
            }
            Some(_) => {}
            None => {
                self.pending.operator = Some((operator, count));
            }
        }
    }

    /// Commands without a motion. Returns whether it was one.
    fn simple(&mut self, letter: char, pending: Pending, editor: &mut Editor) -> bool {
        let caret = editor.caret();
        let line_start = Place::new(caret.line, 0);
        let line_end = editor.line_end(caret.line);
        let count = pending.count.unwrap_or(1);
        let marked = self.marked(editor);
        match letter {
            'x' if marked.is_some() => self.operator('d', pending, editor),
            'v' | 'V' => self.mark(letter, caret),
            'p' | 'P' => self.put(letter, count, editor),
            'u' => {
                for _ in 0..count {
                    editor.undo();
                }
            }
            _ if marked.is_some() => return false,
            'i' => self.mode = Mode::Insert,
            'a' => self.insert_at(step_right(caret, editor), editor),
            'I' => self.insert_at(first_letter(caret.line, editor), editor),
            'A' => self.insert_at(line_end, editor),
            'o' => {
                editor.replace(line_end..line_end, "\n");
                self.mode = Mode::Insert;
            }
            'O' => {
                editor.replace(line_start..line_start, "\n");
                self.insert_at(line_start, editor);
            }
            'x' => {
                let end = (0..count).fold(caret, |at, _| step_right(at, editor));
                self.operate(Operator::Delete, caret..end, Reach::Letters, editor);
            }
            'D' => self.operate(Operator::Delete, caret..line_end, Reach::Letters, editor),
            'C' => self.operate(Operator::Change, caret..line_end, Reach::Letters, editor),
            's' => self.operate(
                Operator::Change,
                caret..step_right(caret, editor),
                Reach::Letters,
                editor,
            ),
            'S' => self.operate(Operator::Change, line_start..line_end, Reach::Lines, editor),
            _ => return false,
        }
        true
    }

    fn motion(
        &mut self,
        prefix: char,
        letter: char,
        pending: Pending,
        editor: &mut Editor,
    ) -> Outcome {
        let times = pending.operator.map_or(1, |(_, times)| times);
        let count = pending
            .count
            .map(|count| count * times)
            .or((times > 1).then_some(times));
        let Some((operator, _)) = pending.operator else {
            let by = count.unwrap_or(1).cast_signed();
            match (prefix, letter) {
                (' ', 'j') => return Outcome::Rows(by),
                (' ', 'k') => return Outcome::Rows(-by),
                _ => {}
            }
            if let Some((place, _)) = target(prefix, letter, count, editor) {
                editor.go(place);
            }
            return Outcome::Done;
        };
        let caret = editor.caret();
        // `cw` keeps the blanks after the word, like `ce`.
        let letter = match (operator, letter) {
            (Operator::Change, 'w') => 'e',
            (_, letter) => letter,
        };
        if let Some((place, span)) = target(prefix, letter, count, editor) {
            let (start, end) = (caret.min(place), caret.max(place));
            let (range, reach) = match span {
                Span::Exclusive => (start..end, Reach::Letters),
                Span::Inclusive => (start..editor.right(end), Reach::Letters),
                Span::Lines => (lines(start.line, end.line, editor), Reach::Lines),
            };
            self.operate(operator, range, reach, editor);
        }
        Outcome::Done
    }

    fn operate(
        &mut self,
        operator: Operator,
        range: Range<Place>,
        reach: Reach,
        editor: &mut Editor,
    ) {
        self.register = editor.slice(&range);
        self.register_reach = reach;
        let start = range.start;
        match (operator, reach) {
            (Operator::Yank, Reach::Letters) => editor.go(start),
            (Operator::Yank, Reach::Lines) => {}
            (Operator::Delete, Reach::Letters) => editor.remove(range),
            (Operator::Delete, Reach::Lines) => {
                editor.remove(with_newline(range, editor));
                let line = start.line.min(editor.lines().len() - 1);
                editor.go(first_letter(line, editor));
            }
            (Operator::Change, Reach::Letters | Reach::Lines) => {
                editor.remove(range);
                self.mode = Mode::Insert;
            }
        }
    }

    /// Inserts what was deleted or yanked, after the caret or before it.
    fn put(&mut self, letter: char, count: usize, editor: &mut Editor) {
        let most = LARGEST_COUNT / self.register.len().max(1);
        let caret = editor.caret();
        if let Some(marked) = self.marked(editor) {
            self.mode = Mode::Normal;
            editor.replace(marked, &self.register.clone());
            return;
        }
        let text = vec![self.register.as_str(); count.min(most.max(1))];
        let (at, text, caret) = match (self.register_reach, letter) {
            (Reach::Letters, 'p') => (step_right(caret, editor), text.concat(), None),
            (Reach::Letters, _) => (caret, text.concat(), None),
            (Reach::Lines, 'p') => {
                let below = Place::new(caret.line + 1, 0);
                (
                    editor.line_end(caret.line),
                    format!("\n{}", text.join("\n")),
                    Some(below),
                )
            }
            (Reach::Lines, _) => {
                let start = Place::new(caret.line, 0);
                (start, format!("{}\n", text.join("\n")), Some(start))
            }
        };
        editor.replace(at..at, &text);
        editor.go(caret.unwrap_or_else(|| editor.left(editor.caret())));
    }

    fn mark(&mut self, letter: char, caret: Place) {
        let reach = if letter == 'v' {
            Reach::Letters
        } else {
            Reach::Lines
        };
        self.mode = match self.mode {
            Mode::Visual { reach: same, .. } if same == reach => Mode::Normal,
            Mode::Visual { anchor, .. } => Mode::Visual { anchor, reach },
            Mode::Normal | Mode::Insert => Mode::Visual {
                anchor: caret,
                reach,
            },
        };
    }

    fn insert_at(&mut self, place: Place, editor: &mut Editor) {
        editor.go(place);
        self.mode = Mode::Insert;
    }
}

/// How much of the way to its target a motion gives to an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Span {
    Exclusive,
    Inclusive,
    Lines,
}

fn target(
    prefix: char,
    letter: char,
    count: Option<usize>,
    editor: &Editor,
) -> Option<(Place, Span)> {
    let caret = editor.caret();
    let times = count.unwrap_or(1);
    let repeat = |step: &dyn Fn(Place) -> Place| (0..times).fold(caret, |at, _| step(at));
    let last_line = editor.lines().len() - 1;
    Some(match (prefix, letter) {
        (' ', 'h') => (repeat(&|at| step_left(at, editor)), Span::Exclusive),
        (' ', 'l' | ' ') => (repeat(&|at| step_right(at, editor)), Span::Exclusive),
        (' ', 'j') => (
            Place::new((caret.line + times).min(last_line), 0),
            Span::Lines,
        ),
        (' ', 'k') => (Place::new(caret.line.saturating_sub(times), 0), Span::Lines),
        (' ', 'w') => (repeat(&|at| editor.word_right(at)), Span::Exclusive),
        (' ', 'b') => (repeat(&|at| editor.word_left(at)), Span::Exclusive),
        (' ', 'e') => {
            let end = repeat(&|at| editor.left(editor.word_end(editor.right(at))));
            (end, Span::Inclusive)
        }
        (' ', '0') => (Place::new(caret.line, 0), Span::Exclusive),
        (' ', '^') => (first_letter(caret.line, editor), Span::Exclusive),
        (' ', '$') => (editor.line_end(caret.line), Span::Exclusive),
        (' ', 'G') => {
            let line = count.map_or(last_line, |count| (count - 1).min(last_line));
            (first_letter(line, editor), Span::Lines)
        }
        ('g', 'g') => {
            let line = count.map_or(0, |count| (count - 1).min(last_line));
            (first_letter(line, editor), Span::Lines)
        }
        _ => return None,
    })
}

fn replace_letters(letter: char, count: usize, editor: &mut Editor) {
    let caret = editor.caret();
    let mut end = caret;
    for _ in 0..count {
        let next = step_right(end, editor);
        if next == end {
            return;
        }
        end = next;
    }
    editor.replace(caret..end, &letter.to_string().repeat(count));
    editor.go(editor.left(editor.caret()));
}

fn step_left(place: Place, editor: &Editor) -> Place {
    if place.column == 0 {
        place
    } else {
        editor.left(place)
    }
}

fn step_right(place: Place, editor: &Editor) -> Place {
    let next = editor.right(place);
    if next.line == place.line { next } else { place }
}

fn first_letter(line: usize, editor: &Editor) -> Place {
    let text = editor.line(line);
    let blanks = text
        .chars()
        .take_while(|letter| letter.is_whitespace())
        .count();
    Place::new(line, blanks)
}

fn lines(first: usize, last: usize, editor: &Editor) -> Range<Place> {
    let last = last.min(editor.lines().len() - 1);
    Place::new(first, 0)..editor.line_end(last)
}

/// Whole lines, with the newline before or after them.
fn with_newline(range: Range<Place>, editor: &Editor) -> Range<Place> {
    if range.end.line + 1 < editor.lines().len() {
        return range.start..Place::new(range.end.line + 1, 0);
    }
    match range.start.line.checked_sub(1) {
        Some(before) => editor.line_end(before)..range.end,
        None => range,
    }
}
