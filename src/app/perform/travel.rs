//! Moving in the conversation and in its selection.

use crate::app::scroll::Motion;
use crate::app::search::Search;
use crate::app::select::{Move, Selection, Spot};
use crate::app::transcript::{Cell, CellId};
use crate::app::{AppState, Focus};
use crate::keymap::Action;

impl AppState {
    pub(super) fn travel(&mut self, action: Action) {
        match self.focus {
            Focus::Panel => self.travel_panel(action),
            Focus::Conversation if self.selection.is_some() => self.extend_selection(action),
            Focus::Conversation | Focus::Composer => self.travel_conversation(action),
        }
    }

    fn travel_conversation(&mut self, action: Action) {
        let motion = match action {
            Action::LineDown | Action::Next => Motion::Rows(1),
            Action::LineUp | Action::Previous => Motion::Rows(-1),
            Action::PageDown => Motion::HalfPages(2),
            Action::PageUp => Motion::HalfPages(-2),
            Action::HalfPageDown => Motion::HalfPages(1),
            Action::HalfPageUp => Motion::HalfPages(-1),
            Action::Top => Motion::Start,
            Action::Bottom => Motion::End,
            Action::NextMessage => match self.message_from_top(1) {
                Some(cell) => Motion::Cell(cell),
                None => Motion::End,
            },
            Action::PreviousMessage => match self.message_from_top(-1) {
                Some(cell) => Motion::Cell(cell),
                None => Motion::Start,
            },
            _ => return,
        };
        self.scroll.go(motion);
    }

    /// The person's next message below the top row, or the previous one.
    fn message_from_top(&self, direction: isize) -> Option<CellId> {
        let top = self.scroll.layout?.top;
        if direction > 0 {
            return self.conversation().message_after(top.cell);
        }
        let is_message = self
            .transcript
            .get(top.cell)
            .is_some_and(|entry| matches!(entry.cell, Cell::User { .. }));
        if is_message && top.row > 0 {
            return Some(top.cell);
        }
        self.conversation().message_before(top.cell)
    }

    fn extend_selection(&mut self, action: Action) {
        let step = match action {
            Action::Left => Move::Left,
            Action::Right => Move::Right,
            Action::LineUp | Action::Previous => Move::Up,
            Action::LineDown | Action::Next => Move::Down,
            Action::WordRight => Move::WordForward,
            Action::WordLeft => Move::WordBack,
            Action::LineStart => Move::RowStart,
            Action::LineEnd => Move::RowEnd,
            Action::PageUp | Action::HalfPageUp => Move::PageUp,
            Action::PageDown | Action::HalfPageDown => Move::PageDown,
            _ => return,
        };
        if let Some(selection) = &mut self.selection {
            selection.moves.push(step);
        }
    }

    /// What a key does while the conversation is searched.
    pub(super) fn search(&mut self, action: Action) {
        match action {
            Action::Search => {
                self.focus_on(Focus::Conversation);
                self.start_search();
            }
            Action::Accept => self.accept_search(),
            Action::NextMatch => self.next_hit(1),
            Action::PreviousMatch => self.next_hit(-1),
            _ => {}
        }
    }

    /// Places a caret in the text; pressed again, the selection begins there.
    pub(super) fn select(&mut self) {
        self.focus_on(Focus::Conversation);
        if let Some(selection) = &mut self.selection {
            selection.moves.push(Move::ToggleHold);
            return;
        }
        let Some(rest) = self.scroll.layout else {
            return;
        };
        let found = self.search.as_ref().and_then(Search::current);
        self.selection = Some(match found {
            Some((cell, nth)) => {
                let spot = Spot {
                    cell,
                    row: 0,
                    column: 0,
                };
                Selection::caret(spot, Move::Match(nth))
            }
            None => Selection::caret(rest.bottom, Move::RowStart),
        });
    }
}
