//! What the keys do in a dialog.

use crate::app::call::{Author, Call};
use crate::app::dialogs::Dialog;
use crate::app::dialogs::help::HelpDialog;
use crate::app::dialogs::question::{DENIED, Questions, Verdict};
use crate::app::dialogs::trust::TrustDialog;
use crate::app::escape::EscapeStep;
use crate::app::job::Job;
use crate::app::transcript::NoticeKind;
use crate::app::{AppState, Effect};
use crate::keymap::Action;
use crate::protocol::{CallCommand, CallRef, Command, Question, TurnCommand};
use crate::settings::trust::Review;

impl AppState {
    pub(super) fn perform_in_dialog(&mut self, action: Action) -> Vec<Effect> {
        if let Some(effects) = self.perform_over_dialog(action) {
            return effects;
        }
        let now = self.now;
        let Some(dialog) = self.dialogs.last_mut() else {
            return Vec::new();
        };
        match dialog {
            Dialog::Question(questions) => {
                let verdict = questions.perform(action, now);
                self.follow_verdict(verdict)
            }
            Dialog::Trust(trust) => match trust.perform(action, now) {
                Some(yes) => self.answer_trust(yes),
                None => Vec::new(),
            },
            Dialog::Pause(pause) => {
                if !pause.is_armed(now) {
                    return Vec::new();
                }
                match action {
                    Action::Choose | Action::AllowOnce => {
                        self.dialogs.pop();
                        vec![Effect::Send(Command::Turn(TurnCommand::Continue))]
                    }
                    Action::Deny | Action::Back => self.close_dialog(),
                    _ => Vec::new(),
                }
            }
            Dialog::ByHand(by_hand) => match action {
                Action::SendReason | Action::Choose | Action::Send => {
                    let (call, text) = (by_hand.call, by_hand.text());
                    self.send_by_hand(call, text)
                }
                Action::Back => self.close_dialog(),
                _ => Vec::new(),
            },
            Dialog::Picker(_) => self.perform_in_picker(action),
            Dialog::Pager(pager) => {
                if action != Action::Back {
                    pager.perform(action);
                } else if !pager.end_search() {
                    return self.close_dialog();
                }
                Vec::new()
            }
            Dialog::Help(help) => {
                if matches!(action, Action::Back | Action::Help) {
                    return self.close_dialog();
                }
                help.paging.perform(action);
                Vec::new()
            }
        }
    }

    /// Actions that mean the same in all dialogs.
    fn perform_over_dialog(&mut self, action: Action) -> Option<Vec<Effect>> {
        let is_asked = self.dialogs.last().is_some_and(Dialog::replaces_input);
        match action {
            Action::Interrupt | Action::ClearOrQuit => return Some(self.close_dialog()),
            Action::Redraw => return Some(vec![Effect::Redraw]),
            Action::Suspend => return Some(vec![Effect::Suspend]),
            Action::NextMode if self.is_asked() => return Some(self.next_mode_while_asked()),
            Action::ToggleDiffStyle => self.toggle_diff_style(),
            Action::Scroll => self.view_conversation(),
            Action::Help if is_asked => self.explain_question(),
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Shows what the keys of the question do, unless the key was meant for something else.
    fn explain_question(&mut self) {
        let now = self.now;
        let counts = match self.dialogs.last_mut() {
            Some(Dialog::Question(questions)) => questions.press(now),
            Some(Dialog::Trust(trust)) => trust.press(now),
            Some(
                Dialog::Pause(_)
                | Dialog::ByHand(_)
                | Dialog::Picker(_)
                | Dialog::Pager(_)
                | Dialog::Help(_),
            )
            | None => true,
        };
        if let Some(dialog) = self.dialogs.last().filter(|_| counts) {
            let help = HelpDialog::of_question(dialog.context());
            self.dialogs.push(Dialog::Help(Box::new(help)));
        }
    }

    /// Another mode may allow the call in question, so switching is treated like an answer.
    fn next_mode_while_asked(&mut self) -> Vec<Effect> {
        let now = self.now;
        let front = self.dialogs.last_mut().and_then(Dialog::questions_mut);
        if let Some(permission) = front.and_then(Questions::permission_mut)
            && !permission.may_allow(now)
        {
            return Vec::new();
        }
        self.next_mode()
    }

    /// A click selects an option of the question; a double click chooses it.
    pub(in crate::app) fn press_option(&mut self, option: usize, times: u8) -> Vec<Effect> {
        let now = self.now;
        let front = self.dialogs.last_mut().and_then(Dialog::questions_mut);
        let Some(questions) = front else {
            return Vec::new();
        };
        let is_there = questions.press_option(option, now);
        if is_there && times > 1 {
            return self.perform(Action::Choose);
        }
        Vec::new()
    }

    pub(in crate::app) fn press_tab(&mut self, tab: usize) {
        let now = self.now;
        if let Some(questions) = self.dialogs.last_mut().and_then(Dialog::questions_mut) {
            questions.press_tab(tab, now);
        }
    }

    fn is_asked(&self) -> bool {
        let front = self.dialogs.last().and_then(Dialog::questions);
        front.and_then(Questions::permission).is_some()
    }

    pub(in crate::app) fn ask(&mut self, question: Question) {
        let now = self.now;
        if let Some(questions) = self.dialogs.iter_mut().find_map(Dialog::questions_mut) {
            questions.push(question, now);
            return;
        }
        let dialog = Questions::new(question, now);
        self.dialogs.push(Dialog::Question(Box::new(dialog)));
    }

    /// The agent waits until this is answered. Earlier questions are asked again afterwards.
    pub(in crate::app) fn ask_trust(&mut self, review: Review) -> Vec<Effect> {
        self.dialogs
            .retain(|dialog| !matches!(dialog, Dialog::Trust(_)));
        let dialog = TrustDialog::new(review, self.now);
        self.dialogs.push(Dialog::Trust(Box::new(dialog)));
        self.notify_person("Trust this project?")
    }

    fn answer_trust(&mut self, yes: bool) -> Vec<Effect> {
        self.dialogs.pop();
        if !yes {
            let text = "Not trusted. Only this project's deny and ask rules apply. You'll be asked again next time.";
            self.notice(NoticeKind::Hint, text);
        }
        vec![Effect::Trust(yes)]
    }

    /// The call no longer waits, so its question is closed.
    pub(in crate::app) fn withdraw(&mut self, call: CallRef) {
        let now = self.now;
        for questions in self.dialogs.iter_mut().filter_map(Dialog::questions_mut) {
            questions.withdraw(call, now);
        }
        self.dialogs.retain(|dialog| !dialog.is_answered());
    }

    /// The turn is over: only the person's own calls still wait for an answer.
    pub(in crate::app) fn close_turn_dialogs(&mut self) {
        self.keep_questions_beside_the_turn();
        self.dialogs
            .retain(|dialog| !matches!(dialog, Dialog::Pause(_)));
    }

    fn keep_questions_beside_the_turn(&mut self) {
        let (calls, subagents, now) = (&self.calls, &self.subagents, self.now);
        let is_beside = |id: CallRef| {
            let nested = subagents.get(id.agent);
            let starter = nested.map(|nested| calls.get(nested.call));
            let key = calls.find(id);
            key.is_some_and(|key| calls.get(key).by == Author::Person)
                || starter.is_some_and(Call::is_in_background)
        };
        for questions in self.dialogs.iter_mut().filter_map(Dialog::questions_mut) {
            questions.keep_only(is_beside, now);
        }
        self.dialogs.retain(|dialog| !dialog.is_answered());
    }

    pub(in crate::app) fn follow_verdict(&mut self, verdict: Option<Verdict>) -> Vec<Effect> {
        let (effects, over) = match verdict {
            None | Some(Verdict::Stays) => return Vec::new(),
            Some(Verdict::Edits(call, text)) => {
                return vec![Effect::Start(Job::EditAsked { call, text })];
            }
            Some(Verdict::Replied(call, reply)) => {
                let reply = Command::Call(call, CallCommand::Reply(reply));
                (vec![Effect::Send(reply)], false)
            }
            Some(Verdict::DeniedAndInterrupt(call)) => {
                let deny = Command::Call(call, CallCommand::Reply(DENIED));
                (vec![Effect::Send(deny)], true)
            }
        };
        self.follow_from_end();
        self.dialogs.retain(|dialog| !dialog.is_answered());
        if !over {
            return effects;
        }
        self.keep_questions_beside_the_turn();
        // Stop the turn before denying the call: in the other order the model could continue in between.
        let mut stop = self.take_step(EscapeStep::Interrupt);
        stop.extend(effects);
        stop
    }

    /// The text of a question comes back from the person's editor.
    pub(in crate::app) fn edited_asked(&mut self, call: CallRef, result: Result<String, String>) {
        let now = self.now;
        let text = match result {
            Ok(text) => text,
            Err(problem) => return self.flash_error(problem),
        };
        let mut asked = self.dialogs.iter_mut().filter_map(Dialog::questions_mut);
        let asked = asked.any(|questions| questions.edited(call, &text, now));
        if !asked {
            self.flash_error("the question is gone; your changes were not used");
        }
    }

    pub(in crate::app) fn close_dialog(&mut self) -> Vec<Effect> {
        let now = self.now;
        match self.dialogs.last_mut() {
            Some(Dialog::Question(questions)) => {
                let verdict = questions.perform(questions.closing_action(), now);
                self.follow_verdict(verdict)
            }
            Some(Dialog::Trust(trust)) => {
                if trust.press(now) {
                    self.answer_trust(false)
                } else {
                    Vec::new()
                }
            }
            Some(Dialog::Pause(_)) => {
                self.dialogs.pop();
                self.take_step(EscapeStep::Interrupt)
            }
            Some(Dialog::Picker(_)) => {
                self.dialogs.pop();
                self.end_preview();
                Vec::new()
            }
            Some(Dialog::ByHand(_) | Dialog::Pager(_) | Dialog::Help(_)) => {
                self.dialogs.pop();
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// Sends the result that the person typed, unless the call has one by now.
    fn send_by_hand(&mut self, call: CallRef, text: String) -> Vec<Effect> {
        self.dialogs.pop();
        let known = self.calls.find(call).map(|key| self.calls.get(key));
        if known.is_none_or(Call::is_over) {
            self.flash("the call has finished in the meantime");
            return Vec::new();
        }
        vec![Effect::Send(Command::Call(
            call,
            CallCommand::AnswerByHand(text),
        ))]
    }
}
