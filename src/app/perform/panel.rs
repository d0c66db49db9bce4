//! What can be done with the calls of the panel.

use crate::app::call::{Author, Call, CallKey, State};
use crate::app::dialogs::Dialog;
use crate::app::dialogs::by_hand::ByHandDialog;
use crate::app::panel::Detail;
use crate::app::{AppState, Effect, Focus};
use crate::keymap::Action;
use crate::protocol::{CallCommand, Command, Phase};

/// How many calls of earlier turns the panel shows when there are none of this one.
const SHOWN_AGAIN: usize = 20;

impl AppState {
    pub(super) fn toggle_panel(&mut self) {
        if self.focus == Focus::Panel {
            self.focus_on(Focus::Composer);
        } else {
            self.focus_panel();
        }
    }

    pub(in crate::app) fn focus_panel(&mut self) {
        if self.panel.calls.is_empty() {
            // Nothing has been called in this turn yet; what was before can still be looked at.
            let known = self.calls.len();
            self.panel.calls = (known.saturating_sub(SHOWN_AGAIN)..known)
                .map(CallKey)
                .collect();
        }
        if self.panel.calls.is_empty() {
            self.flash("no tool has been called yet");
            return;
        }
        self.panel.choose_running(&self.calls);
        self.focus_on(Focus::Panel);
    }

    pub(in crate::app) fn open_detail(&mut self) {
        self.panel.detail = match self.panel.detail.take() {
            Some(_) => None,
            None => self.panel.chosen().map(|call| Detail { call, scroll: 0 }),
        };
    }

    pub(super) fn open_chosen(&mut self) {
        self.panel.detail = self.panel.chosen().map(|call| Detail { call, scroll: 0 });
    }

    pub(super) fn travel_panel(&mut self, action: Action) {
        let by: isize = match action {
            Action::LineDown | Action::Next => 1,
            Action::LineUp | Action::Previous => -1,
            Action::PageDown => 10,
            Action::PageUp => -10,
            Action::HalfPageDown => 5,
            Action::HalfPageUp => -5,
            Action::Top => isize::MIN / 2,
            Action::Bottom => isize::MAX / 2,
            _ => return,
        };
        if matches!(action, Action::Next | Action::Previous) && self.panel.detail.is_some() {
            self.panel.choose_next(by);
            self.open_chosen();
            return;
        }
        match &mut self.panel.detail {
            Some(detail) => detail.scroll = detail.scroll.saturating_add_signed(by),
            None => self.panel.choose_next(by),
        }
    }

    /// Whether the action would do something to the chosen call, if it is about one.
    pub fn can_do_to_call(&self, action: Action) -> bool {
        if self.focus != Focus::Panel {
            return action != Action::Background || self.background_target().is_some();
        }
        let Some(call) = self.panel.target().map(|key| self.calls.get(key)) else {
            return true;
        };
        match action {
            Action::CancelCall => call.is_in_background() || !(call.is_over() || is_arriving(call)),
            Action::RunAgain => call.is_over() || runs(call),
            Action::Background => call.tool.can_background && runs(call),
            Action::AnswerByHand => {
                !(call.is_over() || is_arriving(call)) && call.by == Author::Model
            }
            _ => true,
        }
    }

    /// Only what runs or is over can run again: a call that still waits has nothing behind it.
    pub(super) fn run_again(&mut self) -> Vec<Effect> {
        match self.panel.target().map(|key| self.calls.get(key)) {
            Some(call) if call.is_over() || runs(call) => {
                vec![Effect::Send(Command::Call(call.id, CallCommand::RunAgain))]
            }
            Some(_) => {
                self.flash("this call has not run yet");
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    pub(super) fn cancel_call(&mut self) -> Vec<Effect> {
        match self.panel.target().map(|key| self.calls.get(key)) {
            Some(call) if call.is_over() && !call.is_in_background() => {
                self.flash("this call has already ended");
                Vec::new()
            }
            Some(call) if is_arriving(call) => {
                self.flash("the model is still writing this call");
                Vec::new()
            }
            Some(call) => vec![Effect::Send(Command::Call(call.id, CallCommand::Cancel))],
            None => Vec::new(),
        }
    }

    /// The chosen command, or from the input the one that runs, goes to the background.
    pub(super) fn background(&mut self) -> Vec<Effect> {
        let runs = |call: &Call| call.tool.can_background && runs(call);
        match self.background_target().map(|key| self.calls.get(key)) {
            Some(call) if runs(call) => vec![Effect::Send(Command::Call(
                call.id,
                CallCommand::Background,
            ))],
            Some(_) | None => {
                self.flash("only a running command can be backgrounded");
                Vec::new()
            }
        }
    }

    fn background_target(&self) -> Option<CallKey> {
        let runs = |key: &CallKey| {
            let call = self.calls.get(*key);
            call.tool.can_background && runs(call)
        };
        match self.focus {
            Focus::Panel => self.panel.target(),
            Focus::Composer | Focus::Conversation => {
                self.panel.calls.iter().rev().copied().find(runs)
            }
        }
    }

    pub(super) fn answer_by_hand(&mut self) {
        let Some(call) = self.panel.target().map(|key| self.calls.get(key)) else {
            return;
        };
        if call.is_over() {
            self.flash("this call already has its result");
            return;
        }
        if call.by == Author::Person {
            self.flash("you ran this yourself; the model isn't waiting for it");
            return;
        }
        if is_arriving(call) {
            self.flash("the model is still writing this call");
            return;
        }
        let about = format!("{} {}", call.tool.name, call.subject());
        let dialog = ByHandDialog::new(call.id, about);
        self.dialogs.push(Dialog::ByHand(Box::new(dialog)));
    }
}

fn runs(call: &Call) -> bool {
    matches!(call.state, State::Executing(Phase::Running))
}

fn is_arriving(call: &Call) -> bool {
    matches!(call.state, State::Arriving(_))
}
