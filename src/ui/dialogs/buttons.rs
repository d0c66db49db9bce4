//! The answers of a dialog in its last rows: a key and what it does; they can be clicked, too.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::keymap::{Action, Context, Keymap};
use crate::theme::{Role, Theme};
use crate::ui::text::width;

#[derive(Debug, Clone, PartialEq)]
pub struct Button {
    pub action: Action,
    pub key: String,
    pub words: String,
    /// A shorter version.
    pub short: String,
    /// If there isn't enough room, the highest rank is dropped first.
    pub rank: usize,
}

/// Buttons with their places on the screen.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row(Vec<(Rect, Button)>);

impl Button {
    /// `None` if no key is bound to the action.
    pub fn new(action: Action, words: &str, context: Context, keymap: &Keymap) -> Option<Self> {
        let chord = keymap.chord_for(action, &[context, Context::Global])?;
        Some(Self {
            action,
            key: chord.to_string(),
            words: words.to_owned(),
            short: words.to_owned(),
            rank: 0,
        })
    }

    fn shortened(mut self) -> Self {
        self.words.clone_from(&self.short);
        self
    }

    fn width(&self) -> usize {
        width(&self.key) + 1 + width(&self.words)
    }
}

/// The space between two buttons.
const fn gap(room: usize) -> usize {
    if room < 40 { 2 } else { 3 }
}
/// The same in the line below the content.
const NARROW_GAP: u16 = 2;

/// In one row if possible, with short words if necessary; otherwise in up to `most` rows, without the least important.
pub fn arrange(buttons: Vec<Button>, room: usize, most: usize) -> Vec<Vec<Button>> {
    let rows = flow(buttons.clone(), room);
    if rows.len() <= 1 {
        return rows;
    }
    let mut buttons: Vec<Button> = buttons.into_iter().map(Button::shortened).collect();
    loop {
        let rows = flow(buttons.clone(), room);
        if rows.len() <= most {
            return rows;
        }
        let least = buttons.iter().enumerate().max_by_key(|(_, it)| it.rank);
        match least.map(|(index, _)| index) {
            Some(index) => drop(buttons.remove(index)),
            None => return Vec::new(),
        }
    }
}

fn flow(buttons: Vec<Button>, room: usize) -> Vec<Vec<Button>> {
    let mut rows: Vec<Vec<Button>> = Vec::new();
    let mut free = 0;
    for button in buttons {
        let cells = button.width();
        match rows.last_mut() {
            Some(row) if cells + gap(room) <= free => {
                free -= cells + gap(room);
                row.push(button);
            }
            Some(_) | None => {
                free = room.saturating_sub(cells);
                rows.push(vec![button]);
            }
        }
    }
    rows
}

impl Row {
    /// As many rows as fit.
    pub fn place(rows: Vec<Vec<Button>>, area: Rect) -> Self {
        let mut placed = Vec::new();
        for (line, row) in area.rows().zip(rows) {
            let mut x = line.x;
            for button in row {
                let cells = u16::try_from(button.width()).unwrap_or(u16::MAX);
                let cells = cells.min(line.right().saturating_sub(x));
                placed.push((Rect::new(x, line.y, cells, 1), button));
                let gap = u16::try_from(gap(area.width.into())).unwrap_or(0);
                x = x.saturating_add(cells + gap).min(line.right());
            }
        }
        Self(placed)
    }

    /// At the right end of a line whose first `taken` columns are used: as many buttons as fit, the last ones first.
    pub fn place_right(buttons: Vec<Button>, line: Rect, taken: usize) -> Self {
        // A blank on each side and part of the line.
        let around = 3;
        let taken = u16::try_from(taken).unwrap_or(u16::MAX);
        let mut x = line.right().saturating_sub(around);
        let mut placed = Vec::new();
        for button in buttons.into_iter().rev() {
            let cells = u16::try_from(button.width()).unwrap_or(u16::MAX);
            let start = x.saturating_sub(cells);
            if start < line.x.saturating_add(taken).saturating_add(2 * around) {
                break;
            }
            placed.push((Rect::new(start, line.y, cells, 1), button));
            x = start.saturating_sub(NARROW_GAP);
        }
        placed.reverse();
        Self(placed)
    }

    /// The action of the button at this cell.
    pub fn hit(&self, column: u16, row: u16) -> Option<Action> {
        let (_, button) = self
            .0
            .iter()
            .find(|(area, _)| area.contains((column, row).into()))?;
        Some(button.action)
    }

    /// Draws them over a line, with a blank before and after.
    pub fn draw_over(&self, can: impl Fn(Action) -> bool, theme: &Theme, buf: &mut Buffer) {
        if let (Some((first, _)), Some((last, _))) = (self.0.first(), self.0.last()) {
            let from = first.x.saturating_sub(1);
            let cells = usize::from(last.right() + 1 - from);
            buf.set_string(from, first.y, " ".repeat(cells), theme.style(Role::Text));
        }
        self.draw(can, theme, buf);
    }

    /// Draws them, dimmed if pressing them now would do nothing.
    pub fn draw(&self, can: impl Fn(Action) -> bool, theme: &Theme, buf: &mut Buffer) {
        for (area, button) in &self.0 {
            let (key, words) = if can(button.action) {
                (Role::Key, Role::KeyHint)
            } else {
                (Role::Faint, Role::Faint)
            };
            let line = Line::from(vec![
                Span::styled(button.key.clone(), theme.style(key)),
                Span::styled(format!(" {}", button.words), theme.style(words)),
            ]);
            buf.set_line(area.x, area.y, &line, area.width);
        }
    }

    /// Highlights the one that Enter would press.
    pub fn mark(&self, action: Action, theme: &Theme, buf: &mut Buffer) {
        for (area, _) in self.0.iter().filter(|(_, it)| it.action == action) {
            buf.set_style(*area, theme.style(Role::Chosen));
        }
    }
}
