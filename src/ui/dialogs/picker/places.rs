//! The parts of the box. It keeps its size while the list is filtered, so that nothing jumps.

use ratatui::layout::Rect;

use crate::app::dialogs::picker::{Kind, Picker, Preview};
use crate::ui::dialogs::{centred, inside};

/// The parts of the box; one without room is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Places {
    pub area: Rect,
    pub filter: Rect,
    pub list: Rect,
    /// How much of the list is hidden above and below.
    pub rest: Rect,
    /// The line between the list and the preview.
    pub edge: Rect,
    pub preview: Rect,
}

/// The width of a list alone, and with a preview.
const WIDE: (u16, u16) = (84, 132);
/// From this width on the preview is at the right; from this height on it is below the list.
const ROOM_BESIDE: u16 = 84;
const ROOM_BELOW: u16 = 13;

/// How many lines of a server's preview are shown.
const LINES_BELOW: u16 = 9;

impl Places {
    pub fn of(picker: &Picker, whole: Rect) -> Self {
        let has_preview = picker.kind.has_preview() != Preview::None;
        let wide = if has_preview { WIDE.1 } else { WIDE.0 };
        let most = whole.height - whole.height / 5;
        // The frame, the filter and an empty row.
        let wanted = clamp(picker.full_height().max(3)).saturating_add(4);
        let wanted = if picker.kind == Kind::Servers {
            wanted.saturating_add(LINES_BELOW)
        } else if has_preview || picker.is_loading {
            most
        } else {
            wanted
        };
        let margin = if whole.width >= 80 { 4 } else { 0 };
        let width = wide.min(whole.width - margin);
        let area = centred(whole, width, wanted.min(most).max(whole.height.min(10)));
        let mut inner = inside(area);
        let filter = take_top(&mut inner, u16::from(picker.kind.has_filter()));
        if inner.height >= 8 && picker.kind.has_filter() {
            take_top(&mut inner, 1);
        }
        let (list, edge, preview) = if has_preview {
            divide(inner, picker.kind)
        } else {
            (inner, Rect::default(), Rect::default())
        };
        let mut list = list;
        let overflows = picker.row_count() > usize::from(list.height) && list.height > 2;
        let rest = take_bottom(&mut list, u16::from(overflows));
        Self {
            area,
            filter,
            list,
            rest,
            edge,
            preview,
        }
    }
}

fn divide(inner: Rect, kind: Kind) -> (Rect, Rect, Rect) {
    let mut list = inner;
    // The rows of servers have several columns, and need the whole width.
    if inner.width >= ROOM_BESIDE && kind != Kind::Servers {
        list.width = inner.width * 11 / 20;
        let edge = Rect {
            x: list.right() + 1,
            width: 1,
            ..inner
        };
        let preview = Rect {
            x: edge.x + 2,
            width: inner.right().saturating_sub(edge.x + 2),
            ..inner
        };
        return (list, edge, preview);
    }
    if inner.height < ROOM_BELOW {
        return (inner, Rect::default(), Rect::default());
    }
    let lines = match kind {
        Kind::Servers => (inner.height * 2 / 5).min(LINES_BELOW),
        _ => inner.height * 2 / 5,
    };
    let preview = take_bottom(&mut list, lines);
    let edge = take_bottom(&mut list, 1);
    (list, edge, preview)
}

fn take_top(area: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(area.height);
    let taken = Rect { height, ..*area };
    area.y += height;
    area.height -= height;
    taken
}

fn take_bottom(area: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(area.height);
    area.height -= height;
    Rect {
        y: area.bottom(),
        height,
        ..*area
    }
}

fn clamp(rows: usize) -> u16 {
    u16::try_from(rows).unwrap_or(u16::MAX)
}
