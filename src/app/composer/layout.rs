//! How the lines of the draft are wrapped into rows, and where the caret is in them.
//!
//! Works line by line, so a key in a long draft costs only its own line and the visible rows.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::editor::Place;
use super::token::Tokens;

/// The columns to the left of the text: the mark in the first row, the indent in the others.
pub const MARK: u16 = 2;
const TAB: &str = "    ";

/// One grapheme cluster and how it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Its `char`s in the line.
    pub columns: Range<usize>,
    pub shown: Cow<'a, str>,
    pub width: usize,
    pub kind: PieceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    Plain,
    /// An invisible character, made visible.
    Escaped,
    Token,
}

/// A row of the wrapped draft: a line, and the index of the row within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Spot {
    pub line: usize,
    pub row: usize,
}

/// The draft wrapped to a width.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    lines: &'a [String],
    tokens: &'a Tokens,
    room: usize,
}

impl<'a> Layout<'a> {
    /// `width` is that of the whole composer, including the mark and one column for the caret after a full row.
    pub fn new(lines: &'a [String], tokens: &'a Tokens, width: u16) -> Self {
        let room = usize::from(width.saturating_sub(MARK + 1)).max(1);
        Self {
            lines,
            tokens,
            room,
        }
    }

    pub fn pieces(&self, line: usize) -> impl Iterator<Item = Piece<'a>> {
        let (tokens, room) = (self.tokens, self.room);
        let line = self.lines.get(line).map_or("", String::as_str);
        // Most lines are ASCII and need no search for grapheme clusters.
        let plain = line.is_ascii().then(|| line.char_indices());
        let plain = plain.into_iter().flatten().map(|(at, _)| &line[at..=at]);
        let clusters = (!line.is_ascii()).then(|| line.graphemes(true));
        let mut column = 0;
        plain
            .chain(clusters.into_iter().flatten())
            .map(move |cluster| {
                let piece = piece(cluster, column, tokens, room);
                column = piece.columns.end;
                piece
            })
    }

    /// The rows of a line, each as a range of its `char`s. At least one.
    pub fn rows(&self, line: usize) -> Vec<Range<usize>> {
        let mut rows = Vec::new();
        let (mut start, mut width, mut end) = (0, 0, 0);
        // Where the row can be broken, and how wide the part after that place is.
        let mut seam: Option<(usize, usize)> = None;
        for piece in self.pieces(line) {
            while width + piece.width > self.room && piece.columns.start > start {
                let (at, behind) = seam.take().unwrap_or((piece.columns.start, 0));
                rows.push(start..at);
                (start, width) = (at, behind);
            }
            width += piece.width;
            end = piece.columns.end;
            if let Some((_, behind)) = &mut seam {
                *behind += piece.width;
            }
            if piece.shown.trim().is_empty() || piece.width > 1 {
                seam = Some((end, 0));
            }
        }
        rows.push(start..end);
        rows
    }

    /// The row of a place, and its column there.
    pub fn locate(&self, place: Place) -> (Spot, usize) {
        let rows = self.rows(place.line);
        let row = rows
            .partition_point(|row| row.start <= place.column)
            .saturating_sub(1);
        let spot = Spot {
            line: place.line,
            row,
        };
        let column = self
            .pieces(place.line)
            .skip_while(|piece| piece.columns.start < rows[row].start)
            .take_while(|piece| piece.columns.start < place.column)
            .map(|piece| piece.width)
            .sum();
        (spot, column)
    }

    /// The place nearest to a column of a row.
    pub fn place_at(&self, spot: Spot, column: usize) -> Place {
        let rows = self.rows(spot.line);
        let last = rows.len() - 1;
        let row = rows[spot.row.min(last)].clone();
        let mut width = 0;
        let mut place = Place::new(spot.line, row.start);
        for piece in self.pieces(spot.line) {
            if piece.columns.start < row.start {
                continue;
            }
            let ends_row = spot.row < last && piece.columns.end >= row.end;
            width += piece.width;
            // The place after the last character of a wrapped row belongs to the next row.
            if width > column || ends_row || piece.columns.end > row.end {
                break;
            }
            place.column = piece.columns.end;
        }
        place
    }

    pub fn above(&self, spot: Spot) -> Option<Spot> {
        if spot.row > 0 {
            return Some(Spot {
                row: spot.row - 1,
                ..spot
            });
        }
        let line = spot.line.checked_sub(1)?;
        let row = self.rows(line).len() - 1;
        Some(Spot { line, row })
    }

    pub fn below(&self, spot: Spot) -> Option<Spot> {
        if spot.row + 1 < self.rows(spot.line).len() {
            return Some(Spot {
                row: spot.row + 1,
                ..spot
            });
        }
        let line = spot.line + 1;
        (line < self.lines.len()).then_some(Spot { line, row: 0 })
    }

    /// The row that is `count` rows above, or the first one.
    pub fn up(&self, mut spot: Spot, count: u16) -> Spot {
        for _ in 0..count {
            match self.above(spot) {
                Some(above) => spot = above,
                None => break,
            }
        }
        spot
    }

    pub fn last(&self) -> Spot {
        let line = self.lines.len().saturating_sub(1);
        Spot {
            line,
            row: self.rows(line).len() - 1,
        }
    }

    /// How many rows there are, up to `most`.
    pub fn height(&self, most: u16) -> u16 {
        let mut height = 0;
        for line in 0..self.lines.len() {
            height += self.rows(line).len();
            if height >= usize::from(most) {
                return most;
            }
        }
        u16::try_from(height).unwrap_or(most)
    }
}

fn piece<'a>(cluster: &'a str, start: usize, tokens: &'a Tokens, room: usize) -> Piece<'a> {
    if let [b' '..=b'~'] = cluster.as_bytes() {
        return Piece {
            columns: start..start + 1,
            shown: Cow::Borrowed(cluster),
            width: 1,
            kind: PieceKind::Plain,
        };
    }
    let (shown, kind) = show(cluster, tokens);
    Piece {
        columns: start..start + cluster.chars().count(),
        width: shown.width().min(room),
        shown,
        kind,
    }
}

fn show<'a>(cluster: &'a str, tokens: &'a Tokens) -> (Cow<'a, str>, PieceKind) {
    if cluster == "\t" {
        return (Cow::Borrowed(TAB), PieceKind::Plain);
    }
    if let Some(token) = cluster.chars().next().and_then(|letter| tokens.get(letter)) {
        return (Cow::Borrowed(&token.label), PieceKind::Token);
    }
    if is_visible(cluster) {
        return (Cow::Borrowed(cluster), PieceKind::Plain);
    }
    let numbers = cluster
        .chars()
        .map(|letter| format!("<U+{:04X}>", u32::from(letter)));
    (Cow::Owned(numbers.collect()), PieceKind::Escaped)
}

/// Whether a cluster is visible as what it is. Joiners and selectors must follow something visible.
fn is_visible(cluster: &str) -> bool {
    let mut letters = cluster.chars();
    let first = letters.next().unwrap_or(' ');
    cluster.width() > 0
        && !is_hidden(first)
        && !letters.any(|letter| is_hidden(letter) && !joins(letter))
}

fn joins(letter: char) -> bool {
    matches!(letter, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}
