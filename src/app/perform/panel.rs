//! What can be done with the calls of the panel.

use crate::app::call::{Author, Call, CallKey, State};
use crate::app::dialogs::Dialog;
use crate::app::dialogs::by_hand::ByHandDialog;
use crate::app::job::Job;
use crate::app::panel::{Detail, Opener, WIDE_ENOUGH};
use crate::app::{AppState, Effect, Focus};
use crate::keymap::Action;
use crate::protocol::{CallCommand, Command, Phase};

impl AppState {
    /// Shows, hides or folds the list of calls.
    pub(super) fn change_panel(&mut self, action: Action) -> Vec<Effect> {
        if action == Action::TogglePanel {
            return self.toggle_panel();
        }
        self.fold_chosen();
        Vec::new()
    }

    /// Focuses the list of calls and keeps it open where it has a place of its own; or leaves and closes it.
    fn toggle_panel(&mut self) -> Vec<Effect> {
        if self.focus == Focus::Panel {
            self.focus_on(Focus::Composer);
            return self.pin_panel(false);
        }
        if !self.focus_panel() || self.width < WIDE_ENOUGH {
            return Vec::new();
        }
        self.pin_panel(true)
    }

    /// Saves whether the panel stays open, also for the next start.
    fn pin_panel(&mut self, pinned: bool) -> Vec<Effect> {
        if !pinned {
            self.hide_lingering_panel();
        }
        if self.panel.pinned == pinned {
            return Vec::new();
        }
        self.panel.pinned = pinned;
        vec![Effect::Start(Job::KeepPanel { pinned })]
    }

    /// Returns whether there is anything to show.
    pub(in crate::app) fn focus_panel(&mut self) -> bool {
        if self.rows().is_empty() {
            // No calls in this turn yet: show the previous ones.
            self.panel.look_at_calls();
        }
        if self.rows().is_empty() {
            self.flash("no tool has been called yet");
            return false;
        }
        self.choose_running();
        self.focus_on(Focus::Panel);
        true
    }

    pub(in crate::app) fn open_detail(&mut self) {
        if self.panel.detail.take().is_some() {
            return;
        }
        let chosen = self.chosen_call();
        let opener = Opener::Screen(self.focus);
        if !chosen.is_some_and(|call| self.view_subagent(call, opener)) {
            self.open_chosen();
        }
    }

    /// Goes back to where the call was opened.
    pub(super) fn close_detail(&mut self) {
        let detail = self.panel.detail.take();
        if let Some(detail) = detail.filter(|detail| detail.opener == Opener::Tasks) {
            self.return_to_tasks(detail.call);
        }
    }

    /// Shows all calls of the selected subagent, or none of them.
    fn fold_chosen(&mut self) {
        match self.fold_target() {
            Some(call) => self.fold_subagent(call),
            None => self.flash("only a subagent has calls to fold"),
        }
    }

    /// The call of the selected subagent, or of the subagent that the selected call belongs to. In its own view there
    /// is nothing to fold.
    fn fold_target(&self) -> Option<CallKey> {
        let chosen = self.target_call()?;
        let viewed = self.viewed().map(|nested| nested.call);
        let starter = self.starter_of(self.calls.get(chosen)).unwrap_or(chosen);
        let has_calls = |call: &CallKey| {
            let nested = self.subagents.of_call(*call);
            nested.is_some_and(|nested| !nested.turn.calls.is_empty())
        };
        Some(starter).filter(|call| viewed != Some(*call) && has_calls(call))
    }

    pub(super) fn open_chosen(&mut self) {
        let opened = self.panel.detail.as_ref().map(|detail| detail.opener);
        self.panel.detail = self.chosen_call().map(|call| Detail {
            call,
            scroll: 0,
            opener: opened.unwrap_or(Opener::Screen(Focus::Panel)),
        });
    }

    /// Shows the next turn, or the previous one.
    pub(super) fn go_to_turn(&mut self, by: isize) {
        self.panel.detail = None;
        if !self.panel.go_to_turn(by) {
            self.flash(if by < 0 {
                "this is the first turn"
            } else {
                "this is the last turn"
            });
        }
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
            self.choose_next(by);
            self.open_chosen();
            return;
        }
        match &mut self.panel.detail {
            Some(detail) => detail.scroll = detail.scroll.saturating_add_signed(by),
            None => self.choose_next(by),
        }
    }

    /// Whether the action would have an effect on the selected call, if it applies to one.
    pub fn can_do_to_call(&self, action: Action) -> bool {
        if self.focus != Focus::Panel {
            return action != Action::Background || self.background_target().is_some();
        }
        match action {
            Action::PreviousTurn => return self.view.is_none() && self.panel.has_turn(-1),
            Action::NextTurn => return self.view.is_none() && self.panel.has_turn(1),
            _ => {}
        }
        let Some(call) = self.target_call().map(|key| self.calls.get(key)) else {
            return true;
        };
        match action {
            Action::CancelCall if call.is_stopping => false,
            Action::CancelCall => call.is_in_background() || !(call.is_over() || is_arriving(call)),
            Action::RunAgain => runs(call) || call.is_over() && call.by != Author::Subagent,
            Action::Fold => self.fold_target().is_some(),
            Action::Background => call.tool.can_background && runs(call),
            Action::AnswerByHand => {
                !(call.is_over() || is_arriving(call)) && call.by != Author::Person
            }
            _ => true,
        }
    }

    /// What a key does to the selected call.
    pub(super) fn do_to_call(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::CancelCall => return self.cancel_call(),
            Action::RunAgain => return self.run_again(),
            Action::Background => return self.background(),
            Action::AnswerByHand => self.answer_by_hand(),
            _ => {}
        }
        Vec::new()
    }

    /// Only a call that has started can run again.
    fn run_again(&mut self) -> Vec<Effect> {
        match self.target_call().map(|key| self.calls.get(key)) {
            Some(call) if call.is_over() && call.by == Author::Subagent => {
                self.flash("a subagent's finished call can't be run again");
                Vec::new()
            }
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

    fn cancel_call(&mut self) -> Vec<Effect> {
        match self.target_call().map(|key| self.calls.get(key)) {
            Some(call) if call.is_over() && !call.is_in_background() => {
                self.flash("already finished");
                Vec::new()
            }
            Some(call) if is_arriving(call) => {
                self.flash("the model is still writing this call");
                Vec::new()
            }
            Some(_) | None => self
                .target_call()
                .map_or_else(Vec::new, |key| self.stop(key)),
        }
    }

    /// Stops a call that runs. It may take a moment, so the screen says at once that it was asked to.
    pub(in crate::app) fn stop(&mut self, key: CallKey) -> Vec<Effect> {
        self.calls.change(key, |call| call.is_stopping = true);
        let id = self.calls.get(key).id;
        vec![Effect::Send(Command::Call(id, CallCommand::Cancel))]
    }

    /// Moves the selected command, or from the input the running one, to the background.
    fn background(&mut self) -> Vec<Effect> {
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
            Focus::Panel => self.target_call(),
            Focus::Composer | Focus::Conversation => {
                self.panel.calls().iter().rev().copied().find(runs)
            }
        }
    }

    fn answer_by_hand(&mut self) {
        let Some(call) = self.target_call().map(|key| self.calls.get(key)) else {
            return;
        };
        if call.is_over() {
            self.flash("this call already has a result");
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
