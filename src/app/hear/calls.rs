//! The life of a call, from its first letter on.

use crate::app::AppState;
use crate::app::call::{Author, CallKey, Completed, State};
use crate::app::preview::Partial;
use crate::app::transcript::Cell;
use crate::protocol::{CallId, Phase, ToolState};

impl AppState {
    pub(super) fn add_call(&mut self, id: CallId, name: String) -> CallKey {
        let key = self.calls.add(id, name, Author::Model, self.now);
        self.show(Cell::Call(key));
        self.panel.add(key);
        key
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
        let now = self.now;
        let mut waits_no_more = None;
        self.calls.change(key, |call| match state {
            ToolState::Queued { input } => {
                call.input = input;
                call.times.queued = Some(now);
                call.state = State::Queued;
            }
            ToolState::Executing { phase } => {
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
        if let Some(id) = waits_no_more {
            self.withdraw(&id);
        }
    }
}
