//! Removes escape sequences from tool output, so that coloured output reads as its text.
//!
//! Only well-formed sequences are removed; [`super::clean()`] makes the rest visible. A sequence never spans a line or
//! another escape character: an unfinished one cannot swallow what follows, and every byte is read a bounded number of
//! times.

use std::borrow::Cow;

/// What a line shows in the end: after a carriage return a program overwrites it.
pub fn overwritten(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.rsplit('\r').next().unwrap_or(line)
}

/// `text` without its CSI, OSC, DCS and two-character escape sequences, in 7-bit and 8-bit form.
pub fn strip_ansi(text: &str) -> Cow<'_, str> {
    let Some(first) = next_introducer(text, 0) else {
        return Cow::Borrowed(text);
    };
    let mut kept = String::with_capacity(text.len());
    let (mut copied, mut next) = (0, Some(first));
    while let Some(start) = next {
        let end = sequence_end(text, start);
        kept.push_str(&text[copied..start]);
        copied = end.unwrap_or(start);
        next = next_introducer(text, end.unwrap_or(start + 1));
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;
/// The first byte of a C1 control character in UTF-8.
const C1_LEAD: u8 = 0xc2;

fn next_introducer(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(ESCAPE, C1_LEAD, &bytes[from..])
        .map(|offset| from + offset)
        .find(|&at| bytes[at] == ESCAPE || bytes.get(at + 1).is_some_and(|byte| *byte < 0xa0))
}

/// Where the sequence that starts at `start` ends, if it is well-formed.
fn sequence_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (kind, body) = match (bytes[start], bytes.get(start + 1)?) {
        (ESCAPE, kind) => (*kind, start + 2),
        (_, c1) => (c1 - 0x40, start + 2),
    };
    match kind {
        b'[' | b' '..=b'/' => control_sequence_end(bytes, body),
        b']' => string_end(bytes, body, BellEnds::Yes),
        b'P' | b'X' | b'^' | b'_' => string_end(bytes, body, BellEnds::No),
        b'0'..=b'~' => Some(body),
        _ => None,
    }
}

fn control_sequence_end(bytes: &[u8], from: usize) -> Option<usize> {
    let length = bytes[from..]
        .iter()
        .position(|byte| !matches!(byte, b' '..=b'?'))?;
    matches!(bytes[from + length], b'@'..=b'~').then_some(from + length + 1)
}

#[derive(Clone, Copy, PartialEq)]
enum BellEnds {
    Yes,
    No,
}

fn string_end(bytes: &[u8], from: usize, bell: BellEnds) -> Option<usize> {
    let mut at = from;
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (&ESCAPE, Some(b'\\')) | (&C1_LEAD, Some(0x9c)) => return Some(at + 2),
            (&BELL, _) if bell == BellEnds::Yes => return Some(at + 1),
            (&ESCAPE | b'\n', _) => return None,
            _ => at += 1,
        }
    }
}
