//! Cuts Markdown into segments that can be laid out separately.
//!
//! Works line by line and never moves a border, which makes streaming cheap. A border is set only where `CommonMark`
//! certainly starts a new top-level block: at headings and fences that are not indented, and at a line that is not
//! indented after a blank one, unless it may continue a list. Everything else stays together, up to a size that keeps
//! the layout of an open segment affordable.

use std::borrow::Cow;
use std::ops::Range;

/// Above this size a segment ends before the next line that can begin a block.
const LARGE: usize = 4 * 1024;
/// Above this size it ends before any line, and inside a line that has no end.
const TOO_LARGE: usize = 16 * 1024;

/// If no list item is open, everything indented by less than this is at the top level.
const CODE: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub range: Range<usize>,
    pub joint: Joint,
    pub kind: Kind,
}

/// How a segment is joined to the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Joint {
    /// With an empty row between, like blocks.
    #[default]
    Apart,
    /// Cut between two lines only because of its size.
    Line,
    /// Cut inside a line.
    Word,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Blocks,
    Fence(Fence),
}

/// A fenced code block at the top level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    pub language: String,
    /// Its lines, without the fence itself.
    pub body: Range<usize>,
    mark: u8,
    length: usize,
    indent: usize,
}

/// Reads a growing text, each line once.
#[derive(Debug, Clone, Default)]
pub struct Splitter {
    /// The start of the first unread line, and how far it has been searched for its end.
    at: usize,
    searched: usize,
    joint: Joint,
    open: Option<Open>,
}

#[derive(Debug, Clone)]
struct Open {
    start: usize,
    joint: Joint,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Blocks {
        /// The list item at the top level, if there is a list.
        item: Option<Item>,
        after_blank: bool,
    },
    Fence(Fence),
}

#[derive(Debug, Clone, Copy)]
struct Item {
    /// Lines indented this far belong to it.
    column: usize,
    /// It has no text yet.
    empty: bool,
}

impl Item {
    /// The item is closed; only another one can follow.
    const OVER: Self = Self {
        column: CODE,
        empty: false,
    };

    fn after_blank(self) -> Self {
        if self.empty { Self::OVER } else { self }
    }
}

impl Splitter {
    /// Reads the complete lines of `source`, which begins with everything read before, and returns the segments that
    /// they end.
    pub fn advance(&mut self, source: &str) -> Vec<Segment> {
        let mut done = Vec::new();
        while let Some(end) = self.line_end(source) {
            let whole = source[..end].ends_with('\n');
            self.read(source, self.at..end, &mut done);
            if !whole {
                self.close(end, &mut done);
                self.joint = Joint::Word;
            }
            self.at = end;
            self.searched = end;
        }
        done
    }

    /// Reads all of `source` and returns the remaining segments.
    pub fn finish(mut self, source: &str) -> Vec<Segment> {
        let mut done = self.advance(source);
        if self.at < source.len() {
            self.read(source, self.at..source.len(), &mut done);
        }
        self.close(source.len(), &mut done);
        done
    }

    /// The open fence; its body ends with the last complete line.
    pub fn fence(&self) -> Option<(&Fence, Joint)> {
        match self.open.as_ref()? {
            Open {
                joint,
                state: State::Fence(fence),
                ..
            } => Some((fence, *joint)),
            Open {
                state: State::Blocks { .. },
                ..
            } => None,
        }
    }

    fn line_end(&mut self, source: &str) -> Option<usize> {
        let rest = &source.as_bytes()[self.searched..];
        if let Some(length) = memchr::memchr(b'\n', rest) {
            return Some(self.searched + length + 1);
        }
        self.searched = source.len();
        let too_long = self.fence().is_none() && source.len() - self.at > TOO_LARGE;
        too_long.then(|| {
            let mut end = self.at + TOO_LARGE;
            while !source.is_char_boundary(end) {
                end -= 1;
            }
            end
        })
    }

    fn read(&mut self, source: &str, range: Range<usize>, done: &mut Vec<Segment>) {
        let line = Line::new(&source[range.clone()]);
        let Some(open) = &mut self.open else {
            return self.begin(&line, range, done);
        };
        match &mut open.state {
            State::Fence(fence) if fence.is_closed_by(&source[range.clone()]) => {
                self.close(range.end, done);
            }
            State::Fence(fence) => fence.body.end = range.end,
            State::Blocks { item, after_blank } if line.is_blank() => {
                *after_blank = true;
                *item = item.map(Item::after_blank);
            }
            State::Blocks { item, after_blank } => {
                let size = range.start - open.start;
                let apart = line.starts_block(*item, *after_blank);
                if apart || line.may_be_cut(size, *item) {
                    let joint = if apart || *after_blank {
                        Joint::Apart
                    } else {
                        Joint::Line
                    };
                    self.close(range.start, done);
                    self.joint = joint;
                    self.begin(&line, range, done);
                } else {
                    *after_blank = false;
                    *item = line.item(*item);
                }
            }
        }
    }

    fn begin(&mut self, line: &Line, range: Range<usize>, done: &mut Vec<Segment>) {
        if line.is_blank() {
            return;
        }
        let state = match line.fence(range.clone()) {
            Some(fence) => State::Fence(fence),
            None => State::Blocks {
                item: line.item(None),
                after_blank: false,
            },
        };
        let joint = std::mem::take(&mut self.joint);
        self.open = Some(Open {
            start: range.start,
            joint,
            state,
        });
        if line.is_heading() {
            self.close(range.end, done);
        }
    }

    fn close(&mut self, end: usize, done: &mut Vec<Segment>) {
        if let Some(Open {
            start,
            joint,
            state,
        }) = self.open.take()
        {
            let kind = match state {
                State::Fence(fence) => Kind::Fence(fence),
                State::Blocks { .. } => Kind::Blocks,
            };
            done.push(Segment {
                range: start..end,
                joint,
                kind,
            });
        }
    }
}

impl Fence {
    pub fn is_closed_by(&self, line: &str) -> bool {
        let Line { indent, text } = Line::new(line);
        indent <= 3 && text.len() >= self.length && text.bytes().all(|byte| byte == self.mark)
    }

    /// The code, without the indentation of the fence.
    pub fn text<'body>(&self, body: &'body str) -> Cow<'body, str> {
        if self.indent == 0 {
            return Cow::Borrowed(body);
        }
        let dedent = |line: &'body str| {
            let spaces = line
                .bytes()
                .take(self.indent)
                .take_while(|byte| *byte == b' ')
                .count();
            &line[spaces..]
        };
        Cow::Owned(body.split_inclusive('\n').map(dedent).collect())
    }
}

/// A line, as far as the block structure is concerned.
struct Line<'text> {
    indent: usize,
    text: &'text str,
}

impl<'text> Line<'text> {
    fn new(line: &'text str) -> Self {
        let text = line.trim_start_matches([' ', '\t']);
        let margin = &line[..line.len() - text.len()];
        let indent = margin
            .chars()
            .map(|space| if space == '\t' { 4 } else { 1 })
            .sum();
        Self {
            indent,
            text: text.trim_end(),
        }
    }

    fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether a new top-level block certainly starts here.
    fn starts_block(&self, item: Option<Item>, after_blank: bool) -> bool {
        let margin = item.map_or(CODE, |item| item.column.min(CODE));
        self.is_heading()
            || self.indent < margin && self.fence(0..0).is_some()
            || after_blank && self.indent == 0 && (item.is_none() || self.mark().is_none())
    }

    /// Whether a segment of this size is cut here. A list is cut between items, and a table is kept together if
    /// possible.
    fn may_be_cut(&self, size: usize, item: Option<Item>) -> bool {
        let alone = self.indent == 0
            && !self.text.contains('|')
            && (item.is_none() || self.mark().is_some());
        size > TOO_LARGE || size > LARGE && alone
    }

    fn is_heading(&self) -> bool {
        let text = self.text.trim_start_matches('#');
        let level = self.text.len() - text.len();
        self.indent == 0
            && (1..=6).contains(&level)
            && (text.is_empty() || text.starts_with([' ', '\t']))
    }

    fn fence(&self, line: Range<usize>) -> Option<Fence> {
        let mark = *self
            .text
            .as_bytes()
            .first()
            .filter(|mark| matches!(mark, b'`' | b'~'))?;
        let info = self.text.trim_start_matches(char::from(mark));
        let length = self.text.len() - info.len();
        if self.indent > 3 || length < 3 || mark == b'`' && info.contains('`') {
            return None;
        }
        Some(Fence {
            language: language(info).to_owned(),
            body: line.end..line.end,
            mark,
            length,
            indent: self.indent,
        })
    }

    /// The item that is open after this line. Text continues a paragraph even with less indentation; any other block
    /// does not, and an empty item has no paragraph to continue.
    fn item(&self, open: Option<Item>) -> Option<Item> {
        let column = open.map_or(CODE, |item| item.column.min(CODE));
        if self.indent >= column {
            return open.map(|item| Item {
                empty: false,
                ..item
            });
        }
        if let Some(width) = self.mark() {
            return Some(Item {
                column: self.indent + width,
                empty: width > self.text.len(),
            });
        }
        let open = open?;
        let over = open.empty
            || self
                .text
                .starts_with(['>', '<', '-', '=', '*', '_', '`', '~']);
        Some(if over { Item::OVER } else { open })
    }

    /// The width of the list mark with the one to four spaces after it. More than four begin code; then only one counts.
    fn mark(&self) -> Option<usize> {
        let digits = self.text.bytes().take_while(u8::is_ascii_digit).count();
        let (mark, rest) = self.text.as_bytes()[digits..].split_first()?;
        let marks = match digits {
            0 => matches!(mark, b'-' | b'+' | b'*'),
            1..=9 => matches!(mark, b'.' | b')'),
            _ => false,
        };
        let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
        let wide = if (1..=4).contains(&spaces) { spaces } else { 1 };
        let ends = matches!(rest.first(), None | Some(b' ' | b'\t'));
        (marks && ends && !self.is_rule()).then_some(digits + 1 + wide)
    }

    fn is_rule(&self) -> bool {
        let mark = self.text.chars().next().unwrap_or_default();
        let marks = self
            .text
            .chars()
            .filter(|character| *character == mark)
            .count();
        marks > 2
            && self
                .text
                .chars()
                .all(|character| character == mark || matches!(character, ' ' | '\t'))
    }
}

/// The language in the words after a fence, such as `rust,ignore` or `{.python}`.
pub fn language(info: &str) -> &str {
    let word = info.trim().trim_start_matches(['{', '.']);
    let end = word.find(|end: char| end.is_whitespace() || matches!(end, ',' | '{' | '}' | ':'));
    &word[..end.unwrap_or(word.len())]
}
