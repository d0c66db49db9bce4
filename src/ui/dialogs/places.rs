//! How the rows of a question are divided. It replaces the input and takes rows from the conversation; if there are too
//! few, what is needed to decide comes first.

use ratatui::layout::Rect;

/// How many rows each part would like.
#[derive(Debug, Clone, Copy, Default)]
pub struct WantedRows {
    pub content: usize,
    /// What stays above the content while it scrolls.
    pub sticky: usize,
    /// The facts below the content.
    pub facts: usize,
    pub notice: usize,
    pub buttons: usize,
    /// The label of a text field.
    pub label: usize,
    pub field: usize,
}

/// The parts from top to bottom; one without a row has no height.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places {
    pub is_ruled: bool,
    pub area: Rect,
    pub title: Rect,
    pub sticky: Rect,
    pub content: Rect,
    pub facts: Rect,
    pub label: Rect,
    pub field: Rect,
    pub notice: Rect,
    /// How much is hidden, and the other keys.
    pub foot: Rect,
    pub buttons: Rect,
}

/// From this size on there is room for lines above and below the content.
const RULED: (u16, u16) = (30, 12);
/// No command is readable in fewer columns.
const READABLE: u16 = 8;
/// The largest part of the screen that it takes, in tenths; the rest is the conversation's.
const TENTHS: u16 = 8;

pub fn is_ruled(pane: Rect) -> bool {
    pane.width >= RULED.0 && pane.height >= RULED.1
}

pub fn inner_width(pane: Rect) -> u16 {
    pane.width - if is_ruled(pane) { 2 } else { 0 }
}

/// How many rows the answers may use.
pub fn most_buttons(pane: Rect) -> usize {
    if is_ruled(pane) { 2 } else { 1 }
}

impl Places {
    /// Places it at the bottom of the pane, above the status line.
    pub fn new(pane: Rect, wanted: WantedRows) -> Self {
        if is_ruled(pane) {
            Self::ruled(pane, wanted)
        } else {
            Self::compact(pane, wanted)
        }
    }

    fn ruled(pane: Rect, wanted: WantedRows) -> Self {
        // The line below the pane counts as well.
        let most = ((pane.height + 1) * TENTHS / 10).clamp(RULED.1, pane.height);
        let field = wanted.field.min(usize::from(most / 4));
        let label = wanted.label.min(2);
        let around = 2
            + [wanted.sticky, wanted.facts, wanted.notice, wanted.buttons]
                .iter()
                .sum::<usize>()
            + field
            + label;
        let height = clamp(wanted.content + around).min(most);
        let area = Rect {
            y: pane.bottom() - height,
            height,
            ..pane
        };
        let mut rows = Rows(Rect {
            x: area.x + 1,
            width: area.width - 2,
            ..area
        });
        let title = rows.take_first(1);
        let buttons = rows.take_last(wanted.buttons);
        let foot = rows.take_last(1);
        let notice = rows.take_last(wanted.notice);
        let field = rows.take_last(field);
        let label = rows.take_last(label);
        let facts = rows.take_last(wanted.facts);
        let sticky = rows.take_first(wanted.sticky);
        Self {
            is_ruled: true,
            area,
            title,
            sticky,
            content: rows.0,
            facts,
            label,
            field,
            notice,
            foot,
            buttons,
        }
    }

    /// A notice replaces the buttons until the next key.
    fn compact(pane: Rect, wanted: WantedRows) -> Self {
        let mut rows = Rows(pane);
        let title = rows.take_first(1);
        let bottom = rows.take_last(1);
        let field = rows.take_last(wanted.field.min(1));
        let has_foot = rows.0.height > 1 && wanted.content > usize::from(rows.0.height);
        let foot = rows.take_last(usize::from(has_foot));
        let content = if pane.width < READABLE {
            Rect {
                height: 0,
                ..rows.0
            }
        } else {
            rows.0
        };
        let (notice, buttons) = match wanted.notice {
            0 => (Rect::default(), bottom),
            _ => (bottom, Rect::default()),
        };
        Self {
            area: pane,
            title,
            content,
            field,
            notice,
            foot,
            buttons,
            ..Self::default()
        }
    }
}

/// The rows that are still free.
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
