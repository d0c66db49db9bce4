//! Who gets which rows of the dialog. Where there are too few, what is needed to decide goes first.

use ratatui::layout::Rect;

/// How many rows each part would like.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    pub content: usize,
    pub notice: usize,
    pub hints: usize,
    /// A text field, and what it is for.
    pub label: usize,
    pub field: usize,
}

/// Parts from top to bottom; one without a row has no height.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places {
    pub is_framed: bool,
    pub area: Rect,
    pub title: Rect,
    pub content: Rect,
    pub tail: Rect,
    pub label: Rect,
    pub field: Rect,
    pub notice: Rect,
    pub hints: Rect,
}

/// A frame and its padding are worth their cells from this size on.
const FRAMED: (u16, u16) = (30, 12);
/// In fewer columns no command can be read.
const READABLE: u16 = 8;
/// The rows that the dialog leaves to the conversation, in tenths of the pane.
const TENTHS: u16 = 7;

pub fn is_framed(pane: Rect) -> bool {
    pane.width >= FRAMED.0 && pane.height >= FRAMED.1
}

pub fn inner_width(pane: Rect) -> u16 {
    pane.width - if is_framed(pane) { 4 } else { 0 }
}

impl Places {
    pub fn new(pane: Rect, wanted: Wanted) -> Self {
        if is_framed(pane) {
            Self::framed(pane, wanted)
        } else {
            Self::compact(pane, wanted)
        }
    }

    fn framed(pane: Rect, wanted: Wanted) -> Self {
        let most = (pane.height * TENTHS / 10).max(FRAMED.1);
        let field = wanted.field.min(usize::from(most / 5));
        let label = wanted.label.min(2);
        let around = 3 + wanted.notice + wanted.hints + field + label;
        let height = clamp(wanted.content + around).min(most);
        let area = Rect {
            y: pane.bottom() - height,
            height,
            ..pane
        };
        let inside = Rect {
            x: area.x + 2,
            y: area.y + 1,
            width: area.width - 4,
            height: height - 2,
        };
        let mut rows = Rows(inside);
        let hints = rows.take_last(wanted.hints);
        let notice = rows.take_last(wanted.notice);
        let field = rows.take_last(field);
        let label = rows.take_last(label);
        let tail = rows.take_last(1);
        Self {
            is_framed: true,
            area,
            title: Rect {
                height: 1,
                ..Rect {
                    y: area.y,
                    ..inside
                }
            },
            content: rows.0,
            tail,
            label,
            field,
            notice,
            hints,
        }
    }

    /// A notice stands in the place of the hints: it goes with the next key.
    fn compact(pane: Rect, wanted: Wanted) -> Self {
        let mut rows = Rows(pane);
        let title = rows.take_first(1);
        let bottom = rows.take_last(1);
        let field = rows.take_last(wanted.field.min(1));
        let has_tail = rows.0.height > 1 && wanted.content > usize::from(rows.0.height);
        let tail = rows.take_last(usize::from(has_tail));
        let content = if pane.width < READABLE {
            Rect {
                height: 0,
                ..rows.0
            }
        } else {
            rows.0
        };
        let (notice, hints) = match wanted.notice {
            0 => (Rect::default(), bottom),
            _ => (bottom, Rect::default()),
        };
        Self {
            is_framed: false,
            area: pane,
            title,
            content,
            tail,
            label: Rect::default(),
            field,
            notice,
            hints,
        }
    }
}

/// Rows that are still free.
struct Rows(Rect);

impl Rows {
    fn take_first(&mut self, wanted: usize) -> Rect {
        let height = clamp(wanted).min(self.0.height);
        let taken = Rect { height, ..self.0 };
        self.0.y += height;
        self.0.height -= height;
        taken
    }

    fn take_last(&mut self, wanted: usize) -> Rect {
        let height = clamp(wanted).min(self.0.height);
        self.0.height -= height;
        Rect {
            y: self.0.bottom(),
            height,
            ..self.0
        }
    }
}

fn clamp(rows: usize) -> u16 {
    u16::try_from(rows).unwrap_or(u16::MAX)
}
