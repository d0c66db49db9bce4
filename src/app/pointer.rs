//! The mouse: where it points has been found out by the layout.

use super::scroll::Motion;
use super::select::{Hold, Reach, Selection, Spot};
use super::{AppState, Copied, Effect, Focus};

/// How many rows a notch of the wheel is.
const WHEEL: i64 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    pub kind: PointerKind,
    pub target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerKind {
    /// Pressed the first, second or third time in quick succession.
    Pressed {
        times: u8,
    },
    Dragged,
    Released,
    WheelUp,
    WheelDown,
}

/// What is under the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Conversation(Spot),
    /// The mark that says how much is below.
    NewBelow,
    /// A call of the panel, by its number there.
    Call(usize),
    Panel,
    Composer {
        row: u16,
        column: u16,
    },
    /// A row of the list in front, counted from the first in view.
    ListRow(usize),
    Dialog,
    Elsewhere,
}

impl AppState {
    pub(super) fn point(&mut self, pointer: Pointer) -> Vec<Effect> {
        match pointer.kind {
            PointerKind::WheelUp => self.wheel(-WHEEL),
            PointerKind::WheelDown => self.wheel(WHEEL),
            PointerKind::Pressed { .. } if !self.dialogs.is_empty() => {
                return self.press_dialog(pointer.target);
            }
            PointerKind::Pressed { times } => self.press_pointer(pointer.target, times),
            PointerKind::Dragged => self.drag(pointer.target),
            PointerKind::Released => return self.release(),
        }
        Vec::new()
    }

    fn wheel(&mut self, rows: i64) {
        if let Some(dialog) = self.dialogs.last_mut() {
            dialog.scroll(rows);
        } else if let Some(detail) = &mut self.panel.detail {
            detail.scroll = detail
                .scroll
                .saturating_add_signed(isize::try_from(rows).unwrap_or(0));
        } else {
            self.scroll.go(Motion::Rows(rows));
        }
    }

    fn press_pointer(&mut self, target: Target, times: u8) {
        self.selection = None;
        match target {
            Target::Conversation(spot) => {
                let reach = match times {
                    0 | 1 => Reach::Letters,
                    2 => Reach::Words,
                    _ => Reach::Rows,
                };
                self.selection = Some(Selection::at(spot, reach));
            }
            Target::NewBelow => self.scroll.follow(),
            Target::Call(index) => {
                self.focus_on(Focus::Panel);
                let again = self.panel.chosen == index;
                self.panel.chosen = index;
                if again && times > 1 {
                    self.open_detail();
                }
            }
            Target::Panel => self.focus_panel(),
            Target::Composer { row, column } => {
                self.focus_on(Focus::Composer);
                self.composer.click(row, column);
            }
            Target::ListRow(_) | Target::Dialog | Target::Elsewhere => {}
        }
    }

    fn press_dialog(&mut self, target: Target) -> Vec<Effect> {
        match target {
            Target::ListRow(row) => self.click_in_picker(row),
            Target::Conversation(_)
            | Target::NewBelow
            | Target::Call(_)
            | Target::Panel
            | Target::Composer { .. }
            | Target::Dialog
            | Target::Elsewhere => Vec::new(),
        }
    }

    fn drag(&mut self, target: Target) {
        if let (Target::Conversation(spot), Some(selection)) = (target, &mut self.selection) {
            selection.head = spot;
        }
    }

    /// A dialog has come under a pressed button: what was pressed is no longer meant.
    pub(super) fn drop_click(&mut self) {
        self.selection = self
            .selection
            .take()
            .filter(|selection| selection.hold == Hold::Loose || !selection.is_click());
    }

    /// What was selected with the mouse is copied when the button is let go, as terminals do it.
    fn release(&mut self) -> Vec<Effect> {
        let Some(selection) = self.selection.as_ref().filter(|_| self.dialogs.is_empty()) else {
            return Vec::new();
        };
        if selection.is_click() {
            let cell = selection.anchor.cell;
            self.selection = None;
            self.toggle(cell);
            return Vec::new();
        }
        self.flash_done("copied");
        vec![Effect::Copy(Copied::Selection)]
    }
}
