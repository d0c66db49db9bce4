//! The question that replaces the input: laid out and painted by its kind. It takes rows from the conversation, which
//! stays visible above it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::dialogs::places::Places;
use super::dialogs::{self, by_hand, pause, question, trust};
use super::highlight::Highlights;
use crate::app::AppState;
use crate::app::dialogs::{Dialog, DialogLayout};
use crate::app::pointer::Target;
use crate::keymap::{Action, Context};
use crate::theme::Role;

#[derive(Debug, Default)]
pub struct LaidOut {
    question: question::LaidOut,
    trust: trust::LaidOut,
    pause: pause::LaidOut,
    by_hand: by_hand::LaidOut,
    kind: Option<Kind>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Question,
    Trust,
    Pause,
    ByHand,
}

/// The open question; another dialog may cover it.
pub fn front(state: &AppState) -> Option<&Dialog> {
    let mut dialogs = state.dialogs.iter().rev();
    dialogs.find(|dialog| dialog.replaces_input())
}

impl LaidOut {
    /// Lays out the open question, if there is one, at the bottom of `over`.
    pub fn lay_out(
        &mut self,
        state: &AppState,
        over: Rect,
        code: &mut Highlights,
    ) -> Option<DialogLayout> {
        self.kind = None;
        let (kind, rest) = match front(state)? {
            Dialog::Question(questions) => {
                let rest = self.question.lay_out(questions, state, over, code);
                (Kind::Question, Some(rest))
            }
            Dialog::Trust(dialog) => {
                let rest = self.trust.lay_out(dialog, state, over);
                (Kind::Trust, Some(rest))
            }
            Dialog::Pause(dialog) => {
                self.pause.lay_out(dialog, state, over);
                (Kind::Pause, None)
            }
            Dialog::ByHand(dialog) => {
                self.by_hand.lay_out(dialog, state, over);
                (Kind::ByHand, None)
            }
            Dialog::Picker(_) | Dialog::Help(_) | Dialog::Pager(_) => return None,
        };
        self.kind = Some(kind);
        rest
    }

    /// Its whole area; empty if nothing is asked.
    pub fn area(&self) -> Rect {
        self.places().map_or(Rect::default(), |places| places.area)
    }

    fn places(&self) -> Option<&Places> {
        Some(match self.kind? {
            Kind::Question => self.question.places(),
            Kind::Trust => &self.trust.places,
            Kind::Pause => &self.pause.places,
            Kind::ByHand => &self.by_hand.places,
        })
    }

    /// What is at this cell: an answer, or the rest of the question.
    pub fn hit(&self, column: u16, row: u16) -> Option<Target> {
        if !self.area().contains((column, row).into()) {
            return None;
        }
        let found = match self.kind? {
            Kind::Question => self.question.hit(column, row),
            Kind::Trust => self.trust.buttons.hit(column, row).map(Target::Button),
            Kind::Pause => self.pause.buttons.hit(column, row).map(Target::Button),
            Kind::ByHand => self.by_hand.buttons.hit(column, row).map(Target::Button),
        };
        Some(found.unwrap_or(Target::Dialog))
    }

    /// Paints it; returns the caret, if the person is typing.
    pub fn draw(&self, state: &AppState, over: Rect, buf: &mut Buffer) -> Option<Position> {
        let places = self.places()?;
        // The layout was made for another screen size.
        if places.area.is_empty() || places.area.intersection(over) != places.area {
            return None;
        }
        let caret = match front(state)? {
            Dialog::Question(questions) => self.question.draw(questions, state, buf),
            Dialog::Trust(dialog) => {
                self.trust.draw(dialog, state, buf);
                None
            }
            Dialog::Pause(dialog) => {
                self.pause.draw(dialog, state, buf);
                None
            }
            Dialog::ByHand(dialog) => self.by_hand.draw(dialog, state, buf),
            Dialog::Picker(_) | Dialog::Help(_) | Dialog::Pager(_) => None,
        };
        if state.is_viewing_conversation() {
            draw_return_key(state, self.last_line(), buf);
            return None;
        }
        caret
    }

    /// The row of the answers.
    pub fn last_line(&self) -> Rect {
        let area = self.area();
        Rect {
            y: area.bottom().saturating_sub(1),
            height: area.height.min(1),
            ..area
        }
    }
}

/// While the person is in the conversation, this row shows the key that leads back instead of the answers.
fn draw_return_key(state: &AppState, line: Rect, buf: &mut Buffer) {
    let (theme, keymap) = (&state.settings.theme, &state.settings.keymap);
    dialogs::clear(line, buf);
    let Some(key) = keymap.chord_for(Action::Back, &[Context::Scroll, Context::Global]) else {
        return;
    };
    let words = Line::from(vec![
        Span::raw(" "),
        Span::styled(key.to_string(), theme.style(Role::Key)),
        Span::styled(" back to the question", theme.style(Role::KeyHint)),
    ]);
    buf.set_line(line.x, line.y, &words, line.width);
}
