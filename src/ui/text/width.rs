//! The width of a text in cells, by grapheme cluster.

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// The number of cells that `Buffer::set_stringn` would fill with `text`.
pub fn width(text: &str) -> usize {
    if is_printable_ascii(text) {
        return text.len();
    }
    graphemes(text).map(|(_, width)| usize::from(width)).sum()
}

/// The grapheme clusters of `text`, each with its width in cells.
///
/// Most characters are clusters of their own if another such character follows; only other text needs the Unicode
/// tables.
pub fn graphemes(text: &str) -> impl Iterator<Item = (&str, u16)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let mut characters = rest.chars();
        let first = characters.next()?;
        let alone = characters
            .next()
            .is_none_or(|next| plain_width(next).is_some());
        let (length, width) = match plain_width(first) {
            Some(width) if alone => (first.len_utf8(), width),
            Some(_) | None => {
                let cluster = rest.graphemes(true).next()?;
                (cluster.len(), cluster_width(cluster))
            }
        };
        let (cluster, after) = rest.split_at(length);
        rest = after;
        Some((cluster, width))
    })
}

/// The width of a character that never joins another of its kind: letters and signs of Latin, Greek, Cyrillic and East
/// Asian scripts.
fn plain_width(character: char) -> Option<u16> {
    match character {
        ' '..='~'
        | '\u{a1}'..='\u{ac}'
        | '\u{ae}'..='\u{2ff}'
        | '\u{370}'..='\u{482}'
        | '\u{48a}'..='\u{52f}'
        | '\u{2010}'..='\u{2027}'
        | '\u{2500}'..='\u{257f}' => Some(1),
        '\u{3001}'..='\u{3029}'
        | '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ff01}'..='\u{ff60}' => Some(2),
        _ => None,
    }
}

/// Control characters are not painted, so their width is 0.
fn cluster_width(cluster: &str) -> u16 {
    if cluster.contains(char::is_control) {
        0
    } else {
        cluster.cell_width()
    }
}

fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}
