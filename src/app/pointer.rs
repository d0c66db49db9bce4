//! The mouse. The layout has already found what it points at.

use super::dialogs::Dialog;
use super::scroll::Motion;
use super::select::{Hold, Reach, Selection, Spot};
use super::transcript::CellId;
use super::{AppState, Copied, Effect, Focus};
use crate::keymap::Action;

/// How many rows one notch of the wheel scrolls.
const WHEEL: i64 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    pub kind: PointerKind,
    pub target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerKind {
    /// A single, double or triple click.
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
    /// A message that is pinned at the top while it is scrolled out of view.
    Message(CellId),
    /// The mark that says how much is below.
    NewBelow,
    /// A queued message, by its index.
    Queued(usize),
    /// A call in the panel, by its index there.
    Call(usize),
    /// The mark of a call that started a subagent, by its index in the panel.
    Fold(usize),
    Panel,
    Composer {
        row: u16,
        column: u16,
    },
    /// A row of the list in front, counted from the first visible one.
    ListRow(usize),
    Dialog,
    /// An answer of the dialog.
    Button(Action),
    /// An option of the question, by its index.
    Option(usize),
    /// The tab of a question, by its index.
    Tab(usize),
    Elsewhere,
}

impl AppState {
    pub(super) fn point(&mut self, pointer: Pointer) -> Vec<Effect> {
        match pointer.kind {
            PointerKind::WheelUp => self.wheel(pointer.target, -WHEEL),
            PointerKind::WheelDown => self.wheel(pointer.target, WHEEL),
            PointerKind::Pressed { times } => return self.press_pointer(pointer.target, times),
            PointerKind::Dragged => self.drag(pointer.target),
            PointerKind::Released => return self.release(),
        }
        Vec::new()
    }

    /// Scrolls what is under the mouse; a dialog that covers the screen scrolls wherever the mouse is.
    fn wheel(&mut self, target: Target, rows: i64) {
        let is_over_dialog = |dialog: &Dialog| match target {
            Target::Dialog | Target::Button(_) | Target::Option(_) | Target::Tab(_) => true,
            Target::Conversation(_)
            | Target::NewBelow
            | Target::Message(_)
            | Target::Queued(_)
            | Target::Call(_)
            | Target::Fold(_)
            | Target::Panel
            | Target::Composer { .. }
            | Target::ListRow(_)
            | Target::Elsewhere => !dialog.replaces_input(),
        };
        let front = self.dialogs.last_mut();
        if let Some(dialog) = front.filter(|dialog| is_over_dialog(dialog)) {
            dialog.scroll(rows);
        } else if let Some(detail) = &mut self.panel.detail {
            detail.scroll = detail
                .scroll
                .saturating_add_signed(isize::try_from(rows).unwrap_or(0));
        } else {
            self.scroll.go(Motion::Rows(rows));
        }
    }

    fn press_pointer(&mut self, target: Target, times: u8) -> Vec<Effect> {
        if let Some(front) = self.dialogs.last() {
            match target {
                Target::Button(action) if front.replaces_input() && !self.viewing_conversation => {
                    return self.perform(action);
                }
                Target::Dialog | Target::Button(_) | Target::Option(_) | Target::Tab(_)
                    if self.viewing_conversation =>
                {
                    self.focus_on(Focus::Composer);
                    return Vec::new();
                }
                Target::Option(option) => return self.press_option(option, times),
                Target::Tab(tab) => {
                    self.press_tab(tab);
                    return Vec::new();
                }
                Target::ListRow(row) => return self.click_in_picker(row),
                Target::Conversation(_) | Target::Message(_) | Target::NewBelow
                    if front.replaces_input() => {}
                _ => return Vec::new(),
            }
        }
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
            Target::Message(cell) => self.scroll.go(Motion::Cell(cell)),
            Target::NewBelow => self.scroll.follow(),
            Target::Call(index) => {
                self.focus_on(Focus::Panel);
                let again = self.panel.chosen == index;
                self.panel.chosen = index;
                if again && times > 1 {
                    self.open_detail();
                }
            }
            Target::Fold(index) => {
                self.focus_on(Focus::Panel);
                self.panel.chosen = index;
                return self.perform(Action::Fold);
            }
            Target::Panel => {
                self.focus_panel();
            }
            Target::Composer { row, column } => {
                self.focus_on(Focus::Composer);
                self.composer.click(row, column);
            }
            Target::Queued(number) => {
                self.focus_on(Focus::Composer);
                let number = self.queue.iter().nth(number).map(|it| it.number);
                if number.is_some() {
                    return self.ask_back_number(number);
                }
            }
            Target::ListRow(_)
            | Target::Dialog
            | Target::Button(_)
            | Target::Option(_)
            | Target::Tab(_)
            | Target::Elsewhere => {}
        }
        Vec::new()
    }

    fn drag(&mut self, target: Target) {
        if let (Target::Conversation(spot), Some(selection)) = (target, &mut self.selection) {
            selection.head = spot;
        }
    }

    /// A dialog appeared under a pressed button: the click is dropped.
    pub(super) fn drop_click(&mut self) {
        self.selection = self
            .selection
            .take()
            .filter(|selection| selection.hold == Hold::Loose || !selection.is_click());
    }

    /// A mouse selection is copied when the button is released, as terminals do.
    fn release(&mut self) -> Vec<Effect> {
        let is_covered = |dialog: &Dialog| !dialog.replaces_input();
        let is_covered = self.dialogs.last().is_some_and(is_covered);
        let Some(selection) = self.selection.as_ref().filter(|_| !is_covered) else {
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
