//! The life of a call, from its first letter on.

use std::time::Duration;

use crate::app::AppState;
use crate::app::call::{Author, CallKey, Completed, State};
use crate::app::preview::Partial;
use crate::app::transcript::Cell;
use crate::protocol::{CallId, CallOutcome, Phase, ToolResult, ToolState};

impl AppState {
    pub(super) fn add_call(&mut self, id: CallId, name: String) -> CallKey {
        let key = self.calls.add(id, name, Author::Model, self.now);
        self.show(Cell::Call(key));
        self.panel.add(key);
        key
    }

    /// The call of the turn that an event is about. Ids come from the model and may come again: what is queued after it
    /// was over is another call.
    pub(super) fn known_call(&self, id: &CallId, state: &ToolState) -> Option<CallKey> {
        let key = self.calls.find(id)?;
        let comes_again =
            matches!(state, ToolState::Queued { .. }) && self.calls.get(key).is_over();
        (self.panel.calls.contains(&key) && !comes_again).then_some(key)
    }

    /// The turn is over: what came to no result of its own, such as a call that was never written to its end, has none.
    pub(super) fn close_calls(&mut self) {
        let now = self.now;
        for key in self.panel.calls.clone() {
            let call = self.calls.get(key);
            if call.is_over() || call.by == Author::Person {
                continue;
            }
            let outcome = CallOutcome::Skipped {
                why: "the turn ended".to_owned(),
            };
            let nothing = ToolResult::text(call.id.clone(), "");
            let completed = Completed::new(&nothing, outcome, None, Duration::ZERO);
            self.calls.change(key, |call| {
                call.times.ended = Some(now);
                call.state = State::Completed(completed);
            });
        }
    }

    pub(super) fn grow_input(&mut self, id: &CallId, fragment: &str) {
        let Some(key) = self.calls.find(id) else {
            return;
        };
        self.calls.change(key, |call| {
            if let State::Arriving(partial) = &mut call.state {
                partial.push(fragment);
            }
        });
    }

    pub(super) fn advance(&mut self, key: CallKey, state: ToolState) {
        // What is over absorbs all that comes too late.
        if self.calls.get(key).is_over() && state != ToolState::Yielded {
            return;
        }
        let now = self.now;
        let is_result = matches!(state, ToolState::Completed { .. });
        let mut waits_no_more = None;
        self.calls.change(key, |call| match state {
            ToolState::Queued { input } => {
                call.input = input;
                call.times.queued = Some(now);
                call.state = State::Queued;
            }
            ToolState::Executing { phase } => {
                if phase == Phase::Validating && call.times.begun.is_some() {
                    call.begin_anew();
                }
                let times = &mut call.times;
                times.begun.get_or_insert(now);
                match phase {
                    Phase::WaitingForApproval => times.asked = Some(now),
                    Phase::Running => {
                        times.running.get_or_insert(now);
                    }
                    Phase::Validating | Phase::InHooks | Phase::Finishing => {}
                }
                if phase != Phase::WaitingForApproval {
                    waits_no_more = Some(call.id.clone());
                }
                call.state = State::Executing(phase);
            }
            ToolState::Progress { text } => call.print(&text),
            ToolState::Completed {
                result,
                ran,
                outcome,
                shown,
            } => {
                call.times.ended = Some(now);
                // What the person took to decide is not the call's own time.
                let ran = match (call.times.asked, call.times.running) {
                    (Some(_), Some(running)) => now.saturating_duration_since(running),
                    (Some(_), None) => Duration::ZERO,
                    (None, _) => ran,
                };
                waits_no_more = Some(call.id.clone());
                call.state = State::Completed(Completed::new(&result, outcome, shown, ran));
                call.output = String::new();
            }
            ToolState::Yielded => {
                let arriving = State::Arriving(Partial::default());
                call.state = match std::mem::replace(&mut call.state, arriving) {
                    State::Completed(completed) | State::Yielded(completed) => {
                        State::Yielded(completed)
                    }
                    other @ (State::Arriving(_) | State::Queued | State::Executing(_)) => other,
                };
            }
        });
        if is_result {
            self.calls.bound_changes(key);
        }
        if let Some(id) = waits_no_more {
            self.withdraw(&id);
        }
    }
}
