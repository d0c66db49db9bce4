//! What Ctrl+C and Esc do now: they close the innermost thing first; quitting comes last.

use super::{Activity, AppState, Focus, Stage};

/// The steps, from the innermost. The footer shows the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscapeStep {
    /// Close the dialog; for a permission question this means no.
    Dialog,
    /// Clear the selection or the search.
    Selection,
    /// Give the keys back to the input.
    Focus,
    /// Stop the turn: each call is cancelled or finishes, depending on its tool.
    Interrupt,
    /// Stop also the calls that an interrupt lets finish.
    Force,
    /// Empty the input; the text stays in the history.
    Draft,
    /// Announce that another press quits.
    ArmQuit,
    Quit,
    Nothing,
}

impl AppState {
    /// What Ctrl+C does.
    pub fn ctrl_c(&self) -> EscapeStep {
        match self.inner_step() {
            Some(EscapeStep::Focus) | None => {}
            Some(step) => return step,
        }
        if let Some(step) = self.turn_step() {
            return step;
        }
        if !self.composer.is_empty() {
            return EscapeStep::Draft;
        }
        if self.quit_armed.is_some() {
            return EscapeStep::Quit;
        }
        EscapeStep::ArmQuit
    }

    /// What Esc does: the same, except that it gives the keys back to the input first and never quits.
    pub fn esc(&self) -> EscapeStep {
        if let Some(step) = self.inner_step().or_else(|| self.turn_step()) {
            return step;
        }
        if self.composer.is_empty() {
            return EscapeStep::Nothing;
        }
        EscapeStep::Draft
    }

    fn inner_step(&self) -> Option<EscapeStep> {
        if !self.dialogs.is_empty() && !self.viewing_conversation {
            return Some(EscapeStep::Dialog);
        }
        if self.selection.is_some() || self.search.is_some() {
            return Some(EscapeStep::Selection);
        }
        (self.focus != Focus::Composer).then_some(EscapeStep::Focus)
    }

    pub(super) fn turn_step(&self) -> Option<EscapeStep> {
        match &self.activity {
            Activity::Working(work) => match work.stage {
                Stage::Running | Stage::Retrying { .. } => Some(EscapeStep::Interrupt),
                Stage::Stopping | Stage::Interrupting | Stage::Killing => Some(EscapeStep::Force),
            },
            Activity::Idle if self.running_aside().is_some() => Some(EscapeStep::Interrupt),
            Activity::Idle => None,
        }
    }
}
