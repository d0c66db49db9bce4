//! Cuts a text to a width and marks the cut with an ellipsis.

use super::width::{graphemes, width};

const ELLIPSIS: char = '…';

/// `text`, or as much of its beginning as fits before an ellipsis.
pub fn truncate(text: &str, room: usize) -> String {
    if fitting(graphemes(text), room).bytes == text.len() {
        return text.to_owned();
    }
    let Some(room) = room.checked_sub(1) else {
        return String::new();
    };
    let head = fitting(graphemes(text), room);
    format!("{}{ELLIPSIS}", &text[..head.bytes])
}

/// `text`, or its beginning and its end, because the middle of a path says least. The end gets the larger half.
pub fn truncate_middle(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let Some(room) = room.checked_sub(1) else {
        return String::new();
    };
    let clusters: Vec<_> = graphemes(text).collect();
    let head = fitting(clusters.iter().copied(), room / 2);
    let tail = fitting(clusters.iter().rev().copied(), room - head.cells);
    format!(
        "{}{ELLIPSIS}{}",
        &text[..head.bytes],
        &text[text.len() - tail.bytes..]
    )
}

struct Fit {
    bytes: usize,
    cells: usize,
}

fn fitting<'text>(clusters: impl Iterator<Item = (&'text str, u16)>, room: usize) -> Fit {
    let mut fit = Fit { bytes: 0, cells: 0 };
    for (cluster, cells) in clusters {
        if fit.cells + usize::from(cells) > room {
            break;
        }
        fit.cells += usize::from(cells);
        fit.bytes += cluster.len();
    }
    fit
}
