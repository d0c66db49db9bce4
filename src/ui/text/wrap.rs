//! Lays out one styled line in as many rows as it needs.
//!
//! Breaks are found first, as positions, and the spans are cut afterwards: a line that fits is moved, not copied. No
//! row is wider than requested, unless a single cluster is.

use ratatui::text::{Line, Span};

use super::row::Row;
use super::width::{graphemes, width};

/// What is to the left of the text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Indent {
    /// On the first row.
    pub first: Vec<Span<'static>>,
    /// How much of that is decoration; a list's mark is not, and is copied with its text.
    pub gutter: u16,
    /// On the rows that continue it; all of it is decoration.
    pub rest: Vec<Span<'static>>,
}

impl Indent {
    /// The same decoration on every row.
    pub fn all(spans: Vec<Span<'static>>) -> Self {
        Self {
            gutter: cells(&spans),
            rest: spans.clone(),
            first: spans,
        }
    }
}

/// Breaks between words, inside a word only if it doesn't fit in a row, and between any two wide characters except
/// before closing and after opening marks. Spaces at a break are dropped and counted in [`Row::glue`].
pub fn wrap(line: Line<'static>, width: u16, indent: &Indent) -> Vec<Row> {
    lay_out(line, width, indent, Spaces::Dropped)
}

/// Breaks between words, too, but keeps every space before the break: for code and program output. So a row that is
/// full to its last cell was cut inside a word. A word that is longer than a row fills the one it begins on.
pub fn chop(line: Line<'static>, width: u16, indent: &Indent) -> Vec<Row> {
    lay_out(line, width, indent, Spaces::Kept)
}

/// At the left of a row that continues a line of code.
pub const CONTINUED: &str = "↪ ";

#[derive(Clone, Copy, PartialEq)]
enum Spaces {
    Dropped,
    Kept,
}

/// A place between two clusters: a span, and a byte in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    span: usize,
    byte: usize,
}

const START: Place = Place { span: 0, byte: 0 };

struct Cut {
    from: Place,
    to: Place,
    glue: u16,
}

fn lay_out(mut line: Line<'static>, width: u16, indent: &Indent, spaces: Spaces) -> Vec<Row> {
    let first = Side::new(&indent.first, indent.gutter, width);
    let bytes: usize = line.spans.iter().map(|span| span.content.len()).sum();
    // The width of a cluster is never larger than its number of bytes.
    if bytes <= first.room {
        line.spans.splice(0..0, first.spans.iter().cloned());
        let gutter = first.gutter;
        return vec![Row {
            gutter,
            ..Row::new(line)
        }];
    }
    let rest = Side::new(&indent.rest, cells(&indent.rest), width);
    let cuts = Breaker::new(spaces, &line.spans, first.room, rest.room).run();
    let mut text = std::mem::take(&mut line.spans);
    let mut rows = Vec::with_capacity(cuts.len());
    for (index, cut) in cuts.into_iter().enumerate() {
        let side = if index == 0 { &first } else { &rest };
        let mut spans = side.spans.to_vec();
        take(&mut text, &cut, &mut spans);
        rows.push(Row {
            line: Line { spans, ..line },
            gutter: side.gutter,
            continues: index > 0,
            glue: cut.glue,
            links: Vec::new(),
        });
    }
    rows
}

/// The left side of a row, omitted if no wide character would fit beside it.
struct Side<'indent> {
    spans: &'indent [Span<'static>],
    gutter: u16,
    room: usize,
}

impl<'indent> Side<'indent> {
    fn new(spans: &'indent [Span<'static>], gutter: u16, width: u16) -> Self {
        match width.checked_sub(cells(spans)) {
            Some(room @ 2..) => Self {
                spans,
                gutter,
                room: room.into(),
            },
            Some(0 | 1) | None => Self {
                spans: &[],
                gutter: 0,
                room: width.max(1).into(),
            },
        }
    }
}

fn cells(spans: &[Span<'static>]) -> u16 {
    let cells: usize = spans.iter().map(|span| width(&span.content)).sum();
    u16::try_from(cells).unwrap_or(u16::MAX)
}

/// Moves the part of `text` between two places to the end of `out`.
fn take(text: &mut [Span<'static>], cut: &Cut, out: &mut Vec<Span<'static>>) {
    for (index, span) in text
        .iter_mut()
        .enumerate()
        .take(cut.to.span + 1)
        .skip(cut.from.span)
    {
        let from = if index == cut.from.span {
            cut.from.byte
        } else {
            0
        };
        let to = if index == cut.to.span {
            cut.to.byte
        } else {
            span.content.len()
        };
        if from == 0 && to == span.content.len() && to > 0 {
            out.push(std::mem::take(span));
        } else if from < to {
            out.push(Span::styled(span.content[from..to].to_owned(), span.style));
        }
    }
}

/// Where the current row could end.
struct BreakPoint {
    /// The end of its text, before spaces.
    end: Place,
    /// Where the next row starts, and how many cells of this row are before that.
    next: Place,
    column: usize,
    glue: u16,
}

/// Walks the clusters of a line and decides where its rows end.
struct Breaker<'text> {
    policy: Spaces,
    text: &'text [Span<'static>],
    /// The room of the current row, and of all after it.
    room: usize,
    rest: usize,
    cuts: Vec<Cut>,
    /// The current row: its start, the spaces dropped before it, its cells so far.
    start: Place,
    glue: u16,
    column: usize,
    /// The run of spaces at its end, and the last place where it could be broken.
    spaces: Option<(Place, u16)>,
    break_point: Option<BreakPoint>,
    blank: bool,
}

impl<'text> Breaker<'text> {
    fn new(policy: Spaces, text: &'text [Span<'static>], room: usize, rest: usize) -> Self {
        Self {
            policy,
            text,
            room,
            rest,
            cuts: Vec::new(),
            start: START,
            glue: 0,
            column: 0,
            spaces: None,
            break_point: None,
            blank: true,
        }
    }

    fn run(mut self) -> Vec<Cut> {
        let text = self.text;
        let mut before = ("", 0);
        for (span, content) in text.iter().map(|span| span.content.as_ref()).enumerate() {
            let mut byte = 0;
            for (cluster, cells) in graphemes(content) {
                let here = Place { span, byte };
                byte += cluster.len();
                // Leading spaces are the line's indentation; spaces after a word may extend beyond the edge.
                if cluster == " " && self.policy == Spaces::Dropped && !self.blank {
                    self.space(here);
                } else {
                    self.blank &= cluster == " ";
                    self.letter(here, before, (cluster, cells));
                }
                before = (cluster, cells);
            }
        }
        let end = Place {
            span: text.len().saturating_sub(1),
            byte: text.last().map_or(0, |span| span.content.len()),
        };
        let overhang = self.spaces.filter(|_| self.column > self.room);
        self.end_row(overhang.map_or(end, |(place, _)| place));
        self.cuts
    }

    fn space(&mut self, here: Place) {
        let (_, count) = self.spaces.get_or_insert((here, 0));
        *count = count.saturating_add(1);
        self.column += 1;
    }

    fn letter(&mut self, here: Place, before: (&str, u16), cluster: (&str, u16)) {
        let cells = usize::from(cluster.1);
        let (column, next) = (self.column, here);
        let (is_space, follows_space) = (cluster.0 == " ", before.0 == " ");
        if let Some((end, glue)) = self.spaces.take() {
            self.break_point = Some(BreakPoint {
                end,
                next,
                column,
                glue,
            });
        } else if column > 0 && (follows_space && !is_space || may_break_between(before, cluster)) {
            self.break_point = Some(BreakPoint {
                end: here,
                next,
                column,
                glue: 0,
            });
        }
        // A space belongs to the word before it; further ones may begin a row.
        if is_space && follows_space {
            self.break_point = None;
        }
        if self.column + cells > self.room
            && let Some(break_point) = self.break_point.take()
            && !self.is_endless(&break_point, here)
        {
            self.end_row(break_point.end);
            self.begin_row(
                break_point.next,
                self.column - break_point.column,
                break_point.glue,
            );
        }
        if self.column + cells > self.room && self.column > 0 {
            self.end_row(here);
            self.begin_row(here, 0, 0);
        }
        self.column += cells;
    }

    /// Whether the word that began at a chance is too long for any row, and can be cut here.
    fn is_endless(&self, break_point: &BreakPoint, here: Place) -> bool {
        if self.policy == Spaces::Dropped {
            return false;
        }
        let mut cells = self.column - break_point.column;
        for (index, span) in self.text.iter().enumerate().skip(here.span) {
            let from = if index == here.span { here.byte } else { 0 };
            for (cluster, more) in graphemes(&span.content[from..]) {
                if cluster == " " {
                    return false;
                }
                cells += usize::from(more);
                if cells > self.rest {
                    return true;
                }
            }
        }
        false
    }

    fn end_row(&mut self, to: Place) {
        self.cuts.push(Cut {
            from: self.start,
            to,
            glue: self.glue,
        });
    }

    fn begin_row(&mut self, start: Place, column: usize, glue: u16) {
        self.start = start;
        self.column = column;
        self.glue = glue;
        self.room = self.rest;
        self.break_point = None;
    }
}

/// Whether a row may end between these two without a space: scripts with wide characters have none.
fn may_break_between(before: (&str, u16), after: (&str, u16)) -> bool {
    (before.1 > 1 || after.1 > 1)
        && !after.0.starts_with(is_closing)
        && !before.0.starts_with(is_opening)
}

fn is_closing(character: char) -> bool {
    "、。，．・：；？！）」』】〉》〕］｝ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…,.:;?!)]}'\"”’%"
        .contains(character)
}

fn is_opening(character: char) -> bool {
    "（「『【〈《〔［｛([{'\"“‘".contains(character)
}
