//! What Ctrl+C and Esc do now: they close the innermost thing first; quitting comes last.

use super::{Activity, AppState, Focus, Stage};

/// The steps, from the innermost. The footer shows the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
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
    pub fn ctrl_c(&self) -> Rung {
        match self.inner_rung() {
            Some(Rung::Focus) | None => {}
            Some(rung) => return rung,
        }
        if let Some(rung) = self.turn_rung() {
            return rung;
        }
        if !self.composer.is_empty() {
            return Rung::Draft;
        }
        if self.quit_armed.is_some() {
            return Rung::Quit;
        }
        Rung::ArmQuit
    }

    /// What Esc does: the same, except that it gives the keys back to the input first and never quits.
    pub fn esc(&self) -> Rung {
        if let Some(rung) = self.inner_rung().or_else(|| self.turn_rung()) {
            return rung;
        }
        if self.composer.is_empty() {
            return Rung::Nothing;
        }
        Rung::Draft
    }

    fn inner_rung(&self) -> Option<Rung> {
        if !self.dialogs.is_empty() && !self.looks_back {
            return Some(Rung::Dialog);
        }
        if self.selection.is_some() || self.search.is_some() {
            return Some(Rung::Selection);
        }
        (self.focus != Focus::Composer).then_some(Rung::Focus)
    }

    pub(super) fn turn_rung(&self) -> Option<Rung> {
        match &self.activity {
            Activity::Working(work) => match work.stage {
                Stage::Running | Stage::Retrying { .. } => Some(Rung::Interrupt),
                Stage::Stopping | Stage::MakingWay | Stage::Killing => Some(Rung::Force),
            },
            Activity::Idle if self.running_aside().is_some() => Some(Rung::Interrupt),
            Activity::Idle => None,
        }
    }
}
