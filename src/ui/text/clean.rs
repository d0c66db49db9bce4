//! Makes text from outside harmless: control sequences and invisible characters become visible.
//!
//! After [`clean`] a text has no control character except `\n`, no bidi or zero-width character outside the sequences
//! that need them (emoji, joined scripts), and no letter with too many marks. Cleaning twice changes nothing.

use std::borrow::Cow;

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthChar;

use crate::text::{is_hidden, is_intended, is_joiner_between, is_odd_space, number, picture};
use crate::theme::{Role, Theme};

use super::lookalike::{Lookalike, lookalikes};
use super::width::{graphemes, width};

/// The default distance of tab stops.
pub const TAB: usize = 4;

/// Further marks on one letter are counted instead of painted.
const MOST_MARKS: usize = 8;

/// Text of several lines: `\r\n` and `\n` stay line breaks, tabs become spaces up to the next stop.
pub fn clean(text: &str) -> Cow<'_, str> {
    if is_clean(text) {
        return Cow::Borrowed(text);
    }
    Cleaner::new(TAB).clean(text)
}

/// One line with tab stops every `tab` columns; a line break inside it is made visible, too.
pub fn clean_line(line: &str, tab: usize) -> Cow<'_, str> {
    if is_clean(line) && !line.contains('\n') {
        return Cow::Borrowed(line);
    }
    let cleaned = Cleaner::new(tab).clean(line);
    Cow::Owned(cleaned.replace('\n', &picture('\n')))
}

/// One line of a command that a person is asked to allow: everything that is not what it looks like is highlighted,
/// including tabs, unusual spaces and look-alike letters.
pub fn reveal(line: &str, theme: &Theme) -> Line<'static> {
    let mut spans = Vec::new();
    let mut shown = 0;
    for Lookalike { at, letter, .. } in lookalikes(line) {
        spans.extend(reveal_hidden(&line[shown..at], theme).spans);
        spans.push(Span::styled(number(letter), theme.style(Role::Escaped)));
        shown = at + letter.len_utf8();
    }
    spans.extend(reveal_hidden(&line[shown..], theme).spans);
    Line::from(spans)
}

/// The same for text that the person types, without look-alike letters: each cluster looks the same whatever is beside
/// it.
pub fn reveal_hidden(line: &str, theme: &Theme) -> Line<'static> {
    let mut spans = Vec::new();
    let (text, escaped) = (theme.style(Role::Text), theme.style(Role::Escaped));
    pieces(line, Strictness::Deciding, |piece| {
        spans.push(match piece {
            Piece::Plain(plain) => Span::styled(plain.to_owned(), text),
            Piece::Shown(shown) => Span::styled(shown, escaped),
            Piece::Newline => Span::styled(picture('\n'), escaped),
            Piece::Tab => Span::styled(picture('\t'), escaped),
        });
    });
    Line::from(spans)
}

/// Cleans a line that arrives in pieces (spans of one style), so that tabs are still aligned.
#[derive(Debug, Clone)]
pub struct Cleaner {
    tab: usize,
    column: usize,
}

impl Cleaner {
    pub fn new(tab: usize) -> Self {
        Self {
            tab: tab.max(1),
            column: 0,
        }
    }

    pub fn clean<'text>(&mut self, text: &'text str) -> Cow<'text, str> {
        if is_clean(text) {
            self.advance(text);
            return Cow::Borrowed(text);
        }
        let mut cleaned = String::with_capacity(text.len() + 16);
        pieces(text, Strictness::Reading, |piece| match piece {
            Piece::Plain(plain) => {
                self.advance(plain);
                cleaned.push_str(plain);
            }
            Piece::Shown(shown) => {
                self.advance(&shown);
                cleaned.push_str(&shown);
            }
            Piece::Newline => {
                self.column = 0;
                cleaned.push('\n');
            }
            Piece::Tab => {
                let spaces = self.tab - self.column % self.tab;
                self.column += spaces;
                cleaned.extend(std::iter::repeat_n(' ', spaces));
            }
        });
        Cow::Owned(cleaned)
    }

    fn advance(&mut self, text: &str) {
        match text.rsplit_once('\n') {
            Some((_, last)) => self.column = width(last),
            None => self.column += width(text),
        }
    }
}

/// How strict to be about hidden characters.
#[derive(Clone, Copy, PartialEq)]
enum Strictness {
    /// For reading: unusual spaces and joiners between letters are part of the text.
    Reading,
    /// For deciding: they are suspicious.
    Deciding,
}

enum Piece<'text> {
    Plain(&'text str),
    Shown(String),
    Newline,
    Tab,
}

fn is_clean(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n'))
        || text
            .chars()
            .all(|character| character == '\n' || !is_suspect(character))
}

/// Whether the cluster around it has to be checked. Zero-width characters may have no base, or be too many.
fn is_suspect(character: char) -> bool {
    !matches!(character, ' '..='~')
        && (is_hidden(character) || UnicodeWidthChar::width(character) == Some(0))
}

fn pieces<'text>(text: &'text str, strictness: Strictness, mut emit: impl FnMut(Piece<'text>)) {
    let (mut plain, mut at) = (0, 0);
    for (cluster, _) in graphemes(text) {
        let start = at;
        at += cluster.len();
        let piece = match cluster {
            "\n" | "\r\n" => Some(Piece::Newline),
            "\t" => Some(Piece::Tab),
            _ => shown(cluster, &text[at..], strictness).map(Piece::Shown),
        };
        if let Some(piece) = piece {
            if plain < start {
                emit(Piece::Plain(&text[plain..start]));
            }
            emit(piece);
            plain = at;
        }
    }
    if plain < text.len() {
        emit(Piece::Plain(&text[plain..]));
    }
}

/// The visible form of a cluster that needs one; `after` is the text that follows it.
fn shown(cluster: &str, after: &str, strictness: Strictness) -> Option<String> {
    let hidden = |character| {
        is_hidden(character) || strictness == Strictness::Deciding && is_odd_space(character)
    };
    let suspect = |character| is_suspect(character) || hidden(character);
    if !cluster.chars().any(suspect) {
        return None;
    }
    let characters: Vec<char> = cluster.chars().collect();
    let mut form = String::new();
    let (mut marks, mut altered) = (0, false);
    for (index, &character) in characters.iter().enumerate() {
        if !suspect(character) {
            form.push(character);
        } else if index == 0
            || altered
            || hidden(character) && !has_visible_effect(&characters, index, after, strictness)
        {
            form += &picture(character);
            altered = true;
        } else {
            marks += 1;
            if marks <= MOST_MARKS {
                form.push(character);
            }
        }
    }
    if marks > MOST_MARKS {
        return Some(format!("{form}<+{} marks>", marks - MOST_MARKS));
    }
    altered.then_some(form)
}

/// Whether a hidden character inside a cluster has a visible effect there.
fn has_visible_effect(cluster: &[char], index: usize, after: &str, strictness: Strictness) -> bool {
    let next = cluster
        .get(index + 1)
        .copied()
        .or_else(|| after.chars().next());
    is_intended(cluster, index)
        || strictness == Strictness::Reading
            && cluster.len() <= MOST_MARKS
            && next.is_some_and(|next| is_joiner_between(cluster[index - 1], cluster[index], next))
}
