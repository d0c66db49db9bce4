//! What each action does in each stage. Actions that a stage does not handle are left to the caller.

use std::time::Instant;

use tui_textarea::TextArea;

use super::picking::Picking;
use super::{PermissionDialog, Progress, Stage, Verdict, field_with};
use crate::keymap::Action;
use crate::permissions::check_rule;
use crate::protocol::{Answer, RuleOffer};

impl PermissionDialog {
    pub(super) fn moves(&mut self, action: Action) -> bool {
        let reading = self.progress.reading_mut();
        match action {
            Action::LineDown => reading.scroll(1),
            Action::LineUp => reading.scroll(-1),
            Action::PageDown => reading.turn(2),
            Action::PageUp => reading.turn(-2),
            Action::HalfPageDown => reading.turn(1),
            Action::HalfPageUp => reading.turn(-1),
            Action::Top => reading.go_to_start(),
            Action::Bottom => reading.go_to_end(),
            _ => return false,
        }
        true
    }

    pub(super) fn answer(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        if !self.progress.arming.press(now) {
            return is_answer(action).then_some(Verdict::Stays);
        }
        Some(match action {
            Action::AllowOnce => match self.obstacle() {
                None => Verdict::Answered(Answer::Allow),
                Some(obstacle) => self.refuse(obstacle),
            },
            Action::AllowForSession => match self.coverable() {
                Ok(RuleOffer { rule, .. }) => Verdict::Answered(Answer::AllowForSession { rule }),
                Err(obstacle) => self.refuse(obstacle),
            },
            Action::AllowAlways => match self.coverable() {
                Ok(_) => self.open(Stage::Rule, now),
                Err(obstacle) => self.refuse(obstacle),
            },
            Action::DenyWithReason => self.open(Stage::Reason, now),
            Action::ChooseHunks => self.begin_picking(now),
            Action::Deny => Verdict::Answered(Answer::Deny { reason: None }),
            _ => return None,
        })
    }

    pub(super) fn edit_rule(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        match action {
            Action::SaveRule if self.progress.arming.press(now) => {}
            Action::SaveRule => return Some(Verdict::Stays),
            Action::WidenRule => return Some(self.widen()),
            Action::Back => return Some(self.open(Stage::Asking, now)),
            _ => return None,
        }
        let rule = text_of(&self.progress.rule);
        let problem = self.obstacle();
        Some(match problem.map_or_else(|| check_rule(&rule), Err) {
            Ok(()) => Verdict::Answered(Answer::AllowAlways { rule }),
            Err(problem) => self.refuse(problem),
        })
    }

    /// Switches from the exact rule to the wider one, and from anything else to the exact one.
    fn widen(&mut self) -> Verdict {
        let offer = self.request.rule.as_ref();
        let Some((rule, wider)) =
            offer.and_then(|offer| Some((&offer.rule, offer.wider.as_ref()?)))
        else {
            return self.refuse("no wider rule to offer; edit this one");
        };
        self.progress.rule = field_with(if self.is_exact() { wider } else { rule });
        Verdict::Stays
    }

    pub(super) fn give_reason(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        match action {
            Action::SendReason => {
                let reason = text_of(&self.progress.reason);
                let reason = (!reason.is_empty()).then_some(reason);
                Some(Verdict::Answered(Answer::Deny { reason }))
            }
            Action::Back => Some(self.open(Stage::Asking, now)),
            _ => None,
        }
    }

    fn begin_picking(&mut self, now: Instant) -> Verdict {
        let Progress {
            picking,
            diffs,
            reading,
            ..
        } = &mut self.progress;
        if picking.is_none() {
            *picking = Picking::new(diffs.clone());
        }
        let Some(picking) = picking else {
            return self.refuse("no changes to pick from");
        };
        if reading.has_reached_end() {
            picking.note_all_read();
        }
        self.open(Stage::Hunks, now)
    }

    pub(super) fn pick(&mut self, action: Action, now: Instant) -> Option<Verdict> {
        let Progress {
            picking, arming, ..
        } = &mut self.progress;
        let picking = picking.as_mut()?;
        let notice = match action {
            Action::AcceptHunk => picking.take(),
            Action::RejectHunk => picking.leave_out(),
            Action::AcceptRest => picking.take_rest(),
            Action::RejectRest => picking.skip_rest(),
            Action::AcceptFile => picking.take_file(),
            Action::RejectFile => picking.leave_out_file(),
            Action::SplitHunk => Some(picking.split()),
            Action::Next => {
                picking.step(1);
                None
            }
            Action::Previous => {
                picking.step(-1);
                None
            }
            Action::ApplyHunks if !arming.press(now) => None,
            Action::ApplyHunks => match picking.apply() {
                Ok(answer) => return Some(Verdict::Answered(answer)),
                Err(warning) => Some(warning),
            },
            Action::Back => return Some(self.open(Stage::Asking, now)),
            _ => return None,
        };
        self.progress.notice = notice;
        Some(Verdict::Stays)
    }
}

/// The answers that the arrow keys go through.
const ANSWERS: [Action; 6] = [
    Action::AllowOnce,
    Action::AllowForSession,
    Action::AllowAlways,
    Action::Deny,
    Action::DenyWithReason,
    Action::DenyAndInterrupt,
];

impl PermissionDialog {
    /// Selects the answer to the right, or to the left if negative. Nothing is selected before the first arrow key, so
    /// that Enter alone answers nothing.
    pub(super) fn choose_next(&mut self, by: isize, now: Instant) -> Verdict {
        if !self.progress.arming.press(now) {
            return Verdict::Stays;
        }
        let mut possible = ANSWERS.into_iter().filter(|action| self.can(*action));
        let possible: Vec<Action> = possible.by_ref().collect();
        let at = possible
            .iter()
            .position(|action| Some(*action) == self.progress.chosen);
        let next = match at {
            Some(at) => at
                .saturating_add_signed(by)
                .min(possible.len().saturating_sub(1)),
            None => 0,
        };
        self.progress.chosen = possible.get(next).copied();
        Verdict::Stays
    }

    pub(super) fn nothing_chosen(&mut self, now: Instant) -> Verdict {
        if self.progress.arming.press(now) {
            return self.refuse("choose an answer with ← and →, then press Enter");
        }
        Verdict::Stays
    }

    /// The rule that would allow such calls, if one may exist and everything that it covers was shown.
    fn coverable(&self) -> Result<RuleOffer, String> {
        let offer = self.request.rule.clone();
        let offer = offer.ok_or("can't be allowed permanently; asks every time")?;
        self.obstacle().map_or(Ok(offer), Err)
    }

    /// Whether a key pressed now may allow the call. If not, the notice says why.
    pub fn may_allow(&mut self, now: Instant) -> bool {
        if !self.progress.arming.press(now) {
            return false;
        }
        let obstacle = self.obstacle();
        self.progress.notice.clone_from(&obstacle);
        obstacle.is_none()
    }

    fn open(&mut self, stage: Stage, now: Instant) -> Verdict {
        self.progress.go_to(stage, now);
        Verdict::Stays
    }

    fn refuse(&mut self, why: impl Into<String>) -> Verdict {
        self.progress.notice = Some(why.into());
        Verdict::Stays
    }

    /// Cancels, from every stage.
    pub(super) fn leave(&mut self, now: Instant) -> Verdict {
        if !self.progress.arming.may_cancel(now) {
            self.progress.arming.press(now);
            return Verdict::Stays;
        }
        Verdict::AnsweredAndInterrupt
    }
}

/// Whether the action answers the question, or leads to a stage that can.
fn is_answer(action: Action) -> bool {
    matches!(
        action,
        Action::AllowOnce
            | Action::AllowForSession
            | Action::AllowAlways
            | Action::Deny
            | Action::DenyWithReason
            | Action::ChooseHunks
    )
}

fn text_of(field: &TextArea<'_>) -> String {
    field.lines().join("\n").trim().to_owned()
}
