//! How many cells a text takes, by grapheme cluster.

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// The cells that `Buffer::set_stringn` would fill with `text`, given room.
pub fn width(text: &str) -> usize {
    if is_printable_ascii(text) {
        return text.len();
    }
    graphemes(text).map(|(_, width)| usize::from(width)).sum()
}

/// The grapheme clusters of `text`, each with its width in cells.
///
/// Two ASCII characters in a row cannot be one cluster (`\r\n` aside, which is cleaned away), so most text never
/// reaches the Unicode tables.
pub fn graphemes(text: &str) -> impl Iterator<Item = (&str, u16)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = *bytes.get(at)?;
        let alone =
            first.is_ascii() && bytes.get(at + 1).is_none_or(u8::is_ascii) && first != b'\r';
        let rest = &text[at..];
        let cluster = if alone {
            &rest[..1]
        } else {
            rest.graphemes(true).next()?
        };
        at += cluster.len();
        Some((cluster, cluster_width(cluster)))
    })
}

/// Control characters are not painted at all, which makes them as wide as nothing.
fn cluster_width(cluster: &str) -> u16 {
    match cluster.as_bytes() {
        [byte] => u16::from(!byte.is_ascii_control()),
        _ if cluster.contains(char::is_control) => 0,
        _ => cluster.cell_width(),
    }
}

fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}
