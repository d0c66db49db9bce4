//! Rows that have moved up or down as a whole, which is most of what a growing conversation does. Scrolling them takes
//! a few bytes, painting them again a whole screen.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;

/// Larger moves are rare, and searching for them costs time.
const FURTHEST: u16 = 24;
/// How many rows it has to save to be worthwhile.
const LEAST_SAVED: usize = 3;

/// Rows from `top` to before `bottom` move up by `up`, or down if that is negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift {
    pub top: u16,
    pub bottom: u16,
    pub up: i16,
}

impl Shift {
    /// The move that saves most in an area of the screen. What is beside the area moves along, and is painted again if
    /// necessary. `changed` has the rows of the screen that look different.
    pub fn find(before: &Buffer, after: &Buffer, part: Rect, changed: &[bool]) -> Option<Self> {
        let part = part.intersection(before.area).intersection(after.area);
        let rows = usize::from(part.top())..usize::from(part.bottom());
        let changed = changed.get(rows)?;
        if changed.iter().filter(|changed| **changed).count() <= LEAST_SAVED {
            return None;
        }
        let keys = RowKeys::of(before, after, part);
        let furthest = FURTHEST.min(part.height / 2);
        let steps = (1..=furthest).flat_map(|step| {
            let step = i16::try_from(step).unwrap_or(i16::MAX);
            [step, -step]
        });
        let runs = steps.filter_map(|up| longest_run(&keys, part, changed, up));
        let best = runs.max_by_key(|run| run.saved)?;
        (best.saved > LEAST_SAVED).then_some(best.shift)
    }
}

struct Run {
    shift: Shift,
    /// How many rows need not be painted.
    saved: usize,
}

/// The look of each row of an area, as a number: equal for rows that look the same. Every row is compared with every
/// other one, and numbers are faster to compare than cells.
struct RowKeys {
    before: Vec<usize>,
    after: Vec<usize>,
}

impl RowKeys {
    fn of(before: &Buffer, after: &Buffer, part: Rect) -> Self {
        let mut known = Vec::new();
        let mut number = |buffer| {
            let rows = (part.top()..part.bottom()).map(|y| cells(buffer, part, y));
            rows.map(|row| row_key(row, &mut known)).collect()
        };
        Self {
            before: number(before),
            after: number(after),
        }
    }
}

fn row_key<'b>(row: &'b [Cell], known: &mut Vec<(usize, &'b [Cell])>) -> usize {
    let sum = letters(row);
    let same = |(other, cells): &(usize, &[Cell])| *other == sum && *cells == row;
    known.iter().position(same).unwrap_or_else(|| {
        known.push((sum, row));
        known.len() - 1
    })
}

/// Differs for most rows that look different.
fn letters(row: &[Cell]) -> usize {
    let first = |cell: &Cell| usize::from(cell.symbol().as_bytes().first().copied().unwrap_or(0));
    row.iter().fold(0, |sum: usize, cell| {
        sum.wrapping_mul(31).wrapping_add(first(cell))
    })
}

/// The longest run of rows that moved up by `up`.
fn longest_run(keys: &RowKeys, part: Rect, changed: &[bool], up: i16) -> Option<Run> {
    let mut best: Option<Run> = None;
    let (mut first, mut saved) = (None, 0);
    for y in part.top()..=part.bottom() {
        let from = y
            .checked_add_signed(up)
            .filter(|from| part.top() <= *from && *from < part.bottom());
        let same = from.filter(|_| y < part.bottom()).is_some_and(|from| {
            let row = |y: u16| usize::from(y - part.top());
            keys.after[row(y)] == keys.before[row(from)]
        });
        if same {
            first.get_or_insert(y);
            saved += usize::from(changed[usize::from(y - part.top())]);
            continue;
        }
        if let Some(first) = first.take()
            && best.as_ref().is_none_or(|best| saved > best.saved)
        {
            let (top, bottom) = (
                first.min(first.saturating_add_signed(up)),
                y.max(y.saturating_add_signed(up)),
            );
            best = Some(Run {
                shift: Shift { top, bottom, up },
                saved,
            });
        }
        saved = 0;
    }
    best
}

fn cells(buffer: &Buffer, part: Rect, y: u16) -> &[Cell] {
    let start = buffer.index_of(part.x, y);
    &buffer.content[start..start + usize::from(part.width)]
}

/// Scrolls a buffer as the terminal scrolls its screen.
pub fn apply(buffer: &mut Buffer, shift: Shift) {
    let columns = usize::from(buffer.area.width);
    let rows =
        &mut buffer.content[usize::from(shift.top) * columns..usize::from(shift.bottom) * columns];
    let by = usize::from(shift.up.unsigned_abs()) * columns;
    let empty = if shift.up > 0 {
        rows.rotate_left(by);
        let kept = rows.len() - by;
        &mut rows[kept..]
    } else {
        rows.rotate_right(by);
        &mut rows[..by]
    };
    for cell in empty {
        cell.reset();
    }
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::{Shift, apply};

    fn screen(lines: &[&str]) -> Buffer {
        Buffer::with_lines(lines.iter().copied())
    }

    fn find(before: &Buffer, after: &Buffer, part: Rect) -> Option<Shift> {
        let columns = usize::from(before.area.width);
        let rows = before
            .content
            .chunks(columns)
            .zip(after.content.chunks(columns));
        let changed: Vec<bool> = rows.map(|(before, after)| before != after).collect();
        Shift::find(before, after, part, &changed)
    }

    const BEFORE: [&str; 8] = ["title", "a", "b", "c", "d", "e", "f", "input"];

    #[test]
    fn a_growing_conversation_scrolls_up() {
        let after = screen(&["title", "b", "c", "d", "e", "f", "g", "input"]);
        let shift = find(&screen(&BEFORE), &after, after.area);
        let expected = Shift {
            top: 1,
            bottom: 7,
            up: 1,
        };
        assert_eq!(shift, Some(expected));
        let mut moved = screen(&BEFORE);
        apply(&mut moved, expected);
        assert_eq!(
            moved,
            screen(&["title", "b", "c", "d", "e", "f", "", "input"])
        );
    }

    #[test]
    fn a_conversation_that_is_scrolled_back_moves_down() {
        let after = screen(&["title", "y", "z", "a", "b", "c", "d", "input"]);
        let shift = find(&screen(&BEFORE), &after, after.area);
        let expected = Shift {
            top: 1,
            bottom: 7,
            up: -2,
        };
        assert_eq!(shift, Some(expected));
        let mut moved = screen(&BEFORE);
        apply(&mut moved, expected);
        assert_eq!(
            moved,
            screen(&["title", "", "", "a", "b", "c", "d", "input"])
        );
    }

    #[test]
    fn unchanged_and_completely_changed_rows_are_not_moved() {
        let other = screen(&["title", "1", "2", "3", "4", "5", "6", "input"]);
        assert_eq!(find(&screen(&BEFORE), &other, other.area), None);
        let same = screen(&BEFORE);
        assert_eq!(find(&same, &same, same.area), None);
    }

    #[test]
    fn only_the_area_that_may_scroll_is_searched() {
        let before = screen(&["a|x", "b|x", "c|x", "d|x", "e|x", "f|x"]);
        let after = screen(&["b|x", "c|y", "d|x", "e|z", "f|x", "g|x"]);
        let part = Rect::new(0, 0, 1, 6);
        let shift = find(&before, &after, part).map(|shift| shift.up);
        assert_eq!(shift, Some(1));
    }
}
