//! Finds the text that an edit replaces.
//!
//! Line endings are ignored: Read shows all kinds alike, so the model cannot know them. Quotes must match exactly at
//! first; only if nothing is found are curly and straight quotes treated as equal, because models often write
//! straight ones. The file keeps its own quotes and line endings there ([`weave`](super::weave)).

use std::borrow::Cow;
use std::ops::Range;

use super::near_miss;
use super::numbered::line_numbers;
use super::text::{Ending, terminator};
use super::weave::Weave;

/// A range of a text and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    pub range: Range<usize>,
    pub with: String,
}

/// How many matches an edit may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    One,
    All,
}

/// The matches of an edit, in order and not overlapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    pub splices: Vec<Splice>,
    /// Matches were found only because curly and straight quotes were treated as equal.
    pub quotes_differ: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    #[error("`old_string` and `new_string` are the same: there is nothing to change")]
    Same,
    #[error(
        "`old_string` and `new_string` differ only in line endings, which Edit keeps as the file has them. \
         Use Bash to convert them"
    )]
    OnlyEndings,
    #[error(
        "`old_string` is empty, which is for creating a file, but the file has content. Give the text to replace, \
         or use Write to replace the whole file"
    )]
    Empty,
    #[error("String to replace not found in file (0 matches).{0}")]
    NotFound(String),
    #[error(
        "Found {count} matches of the string to replace, at lines {lines}, but `replace_all` is false. Add lines \
         around it to make it unique, or set `replace_all` to change all of them"
    )]
    Ambiguous { count: String, lines: String },
    #[error(
        "The file has this text already: it differs from `new_string` only in quotes, which Edit keeps as they are"
    )]
    NothingChanges,
    #[error(
        "The string to replace occurs more than {MOST_PLACES} times, too often for Edit. Use Bash, for example with \
         `sed -i`, to replace all of them"
    )]
    TooMany,
    #[error(
        "With `new_string` at all {count} places the file would become too large for Edit. Use Bash, for example with \
         `sed -i`, to replace all of them"
    )]
    TooLarge { count: usize },
}

impl MatchError {
    /// What happened, for the person.
    pub fn for_person(&self) -> String {
        match self {
            Self::Same => "the old and the new text are the same".to_owned(),
            Self::OnlyEndings => "only line endings would change".to_owned(),
            Self::Empty => "the model didn't say what to replace".to_owned(),
            Self::NotFound(_) => "the text to replace isn't in the file".to_owned(),
            Self::Ambiguous { count, .. } => format!("{count} matches: which one is unclear"),
            Self::NothingChanges => "the file already says this".to_owned(),
            Self::TooMany => format!("more than {MOST_PLACES} matches"),
            Self::TooLarge { .. } => "the file would become too large".to_owned(),
        }
    }
}

/// The limit for counting matches and for changing them.
const MOST_PLACES: usize = 100_000;
/// The limit for all replacements together.
const MOST_BYTES: usize = 64 << 20;

/// The replacements that turn `old` into `new` in `text`.
pub fn replacements(
    text: &str,
    old: &str,
    new: &str,
    scope: Scope,
) -> Result<Replacement, MatchError> {
    if old == new {
        return Err(MatchError::Same);
    }
    if old.is_empty() {
        return Err(MatchError::Empty);
    }
    let terminator = terminator(text.as_bytes());
    let (mut quotes, mut folded, mut matches) = (Quotes::Exact, Folded::default(), Vec::new());
    for attempt in [Quotes::Exact, Quotes::Alike] {
        quotes = attempt;
        folded = Folded::new(text, attempt, terminator);
        let wanted = Folded::new(old, attempt, terminator).text;
        matches = find(&folded.text, &wanted, scope);
        if !matches.is_empty() {
            break;
        }
    }
    if matches.is_empty() {
        return Err(MatchError::NotFound(near_miss::describe(text, old)));
    }
    let ranges: Vec<Range<usize>> = matches
        .iter()
        .map(|found| folded.original(found.start)..folded.original(found.end))
        .collect();
    if scope == Scope::One && ranges.len() > 1 {
        return Err(ambiguous(text, &ranges));
    }
    if ranges.len() > MOST_PLACES {
        return Err(MatchError::TooMany);
    }
    if ranges.len().saturating_mul(new.len()) > MOST_BYTES {
        return Err(MatchError::TooLarge {
            count: ranges.len(),
        });
    }
    let weave = Weave {
        quotes,
        terminator,
        ending: Ending::dominant(text),
    };
    // If the file has nothing that was ignored in the comparison, the new text can be used as it is.
    let plain = (quotes == Quotes::Exact && memchr::memchr(b'\r', text.as_bytes()).is_none())
        .then(|| weave.plain(new));
    let splices: Vec<Splice> = ranges
        .into_iter()
        .map(|range| Splice {
            with: match &plain {
                Some(new) => new.clone().into_owned(),
                None => weave.replace(&text[range.clone()], new),
            },
            range,
        })
        .collect();
    if splices
        .iter()
        .all(|splice| text[splice.range.clone()] == splice.with)
    {
        return Err(match quotes {
            Quotes::Exact => MatchError::OnlyEndings,
            Quotes::Alike => MatchError::NothingChanges,
        });
    }
    Ok(Replacement {
        splices,
        quotes_differ: quotes == Quotes::Alike,
    })
}

/// Applies the splices, which are in order and do not overlap, to `text`. Also returns their ranges in the result.
pub fn apply(text: &str, splices: &[Splice]) -> (String, Vec<Range<usize>>) {
    let mut result = String::with_capacity(text.len());
    let mut ranges = Vec::with_capacity(splices.len());
    let mut done = 0;
    for splice in splices {
        result.push_str(&text[done..splice.range.start]);
        let start = result.len();
        result.push_str(&splice.with);
        ranges.push(start..result.len());
        done = splice.range.end;
    }
    result.push_str(&text[done..]);
    (result, ranges)
}

/// The position after `splices` were applied. A position inside a splice moves to the splice's end.
pub fn moved(position: usize, splices: &[Splice]) -> usize {
    let mut result = position;
    for splice in splices {
        if position < splice.range.end {
            if position > splice.range.start {
                result = result + splice.range.start + splice.with.len() - position;
            }
            break;
        }
        result = result + splice.with.len() - splice.range.len();
    }
    result
}

/// Whether quotes have to be exactly the same characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quotes {
    Exact,
    Alike,
}

impl Quotes {
    /// The character that represents `character` in a comparison.
    pub fn fold(self, character: char) -> char {
        match character {
            '\u{2018}'..='\u{201b}' | '\u{2032}' if self == Self::Alike => '\'',
            '\u{201c}'..='\u{201f}' | '\u{2033}' if self == Self::Alike => '"',
            other => other,
        }
    }
}

/// A text with ignored differences removed, and a map back to the original.
#[derive(Default)]
struct Folded<'a> {
    text: Cow<'a, str>,
    /// For every changed character: the position after it here, and in the original.
    anchors: Vec<(usize, usize)>,
}

impl<'a> Folded<'a> {
    fn new(original: &'a str, quotes: Quotes, terminator: u8) -> Self {
        let mut text = String::new();
        let mut anchors = Vec::new();
        let mut copied = 0;
        for unit in units(original, quotes, terminator) {
            if !unit.is_folded() {
                continue;
            }
            text.push_str(&original[copied..unit.start]);
            text.push(unit.folded);
            copied = unit.start + unit.original.len();
            anchors.push((text.len(), copied));
        }
        if anchors.is_empty() {
            return Self {
                text: Cow::Borrowed(original),
                anchors,
            };
        }
        text.push_str(&original[copied..]);
        Self {
            text: Cow::Owned(text),
            anchors,
        }
    }

    fn original(&self, position: usize) -> usize {
        let next = self.anchors.partition_point(|(here, _)| *here <= position);
        match next.checked_sub(1).map(|last| self.anchors[last]) {
            Some((here, original)) => original + (position - here),
            None => position,
        }
    }
}

/// What a comparison treats as one character: a character, or a line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit<'a> {
    pub start: usize,
    pub original: &'a str,
    pub folded: char,
}

impl Unit<'_> {
    fn is_folded(&self) -> bool {
        !self.original.starts_with(self.folded)
    }
}

/// The units of a text. A lone CR is a line ending only where `terminator` says so.
pub fn units(text: &str, quotes: Quotes, terminator: u8) -> impl Iterator<Item = Unit<'_>> {
    let mut characters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (start, character) = characters.next()?;
        let mut end = start + character.len_utf8();
        let mut folded = quotes.fold(character);
        if character == '\r' {
            let before_lf = characters.next_if(|(_, next)| *next == '\n').is_some();
            end += usize::from(before_lf);
            if before_lf || terminator == b'\r' {
                folded = '\n';
            }
        }
        Some(Unit {
            start,
            original: &text[start..end],
            folded,
        })
    })
}

/// All matches of `wanted`. If only one may be replaced, they may overlap, because each of them could be meant.
fn find(text: &str, wanted: &str, scope: Scope) -> Vec<Range<usize>> {
    let finder = memchr::memmem::Finder::new(wanted);
    if scope == Scope::All {
        return finder
            .find_iter(text.as_bytes())
            // One more than the limit, to notice that there are more.
            .take(MOST_PLACES + 1)
            .map(|start| start..start + wanted.len())
            .collect();
    }
    let step = wanted.chars().next().map_or(1, char::len_utf8);
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(found) = finder.find(&text.as_bytes()[from..]) {
        let start = from + found;
        places.push(start..start + wanted.len());
        from = start + step;
        if places.len() == MOST_PLACES {
            break;
        }
    }
    places
}

fn ambiguous(text: &str, ranges: &[Range<usize>]) -> MatchError {
    const MOST_NAMED: usize = 10;
    let starts: Vec<usize> = ranges
        .iter()
        .take(MOST_NAMED)
        .map(|range| range.start)
        .collect();
    let numbers = line_numbers(text, &starts);
    let mut lines: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    if ranges.len() > MOST_NAMED {
        lines.push("…".into());
    }
    let overlapping = ranges.windows(2).any(|pair| pair[1].start < pair[0].end);
    MatchError::Ambiguous {
        count: if overlapping {
            format!("{} overlapping", ranges.len())
        } else {
            ranges.len().to_string()
        },
        lines: lines.join(", "),
    }
}

#[cfg(test)]
mod tests;
