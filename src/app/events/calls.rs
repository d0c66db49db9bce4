//! The life of a call, from the first character of its input.

use crate::app::call::{Author, CallKey, Completed, State};
use crate::app::preview::Partial;
use crate::app::transcript::{Cell, NoticeKind};
use crate::app::{AppState, Effect};
use crate::protocol::{
    AgentId, AnswerNote, BackgroundEnd, CallEvent, CallRef, Phase, Question, QuestionKind, ToolInfo,
};

impl AppState {
    pub(super) fn on_call_event(&mut self, call: CallRef, event: CallEvent) -> Vec<Effect> {
        let Some(key) = self.call_of(call, &event) else {
            return Vec::new();
        };
        if call.agent.is_subagent() {
            self.change_starter(call.agent);
        }
        match event {
            CallEvent::Asked(question) => return self.asked(key, question),
            CallEvent::Decided { by, settled, note } => self.decided(key, by, settled, note),
            CallEvent::Rewritten { input, by } => self.calls.change(key, |call| {
                call.input = input;
                call.decisions.push(format!("changed by the hook {by}"));
            }),
            CallEvent::BackgroundEnded(how) => self.background_ended(key, how),
            CallEvent::Started(subagent) => self.start_nested(key, subagent),
            event @ (CallEvent::Arriving { .. }
            | CallEvent::Input(_)
            | CallEvent::Queued { .. }
            | CallEvent::Reached(_)
            | CallEvent::Progress(_)
            | CallEvent::Completed { .. }
            | CallEvent::Yielded) => self.advance(key, event),
        }
        Vec::new()
    }

    /// The call that an event is about. A new call begins with its first fragment or arrives whole; while no turn runs,
    /// only the person's calls are new.
    fn call_of(&mut self, call: CallRef, event: &CallEvent) -> Option<CallKey> {
        if let Some(key) = self.calls.find(call) {
            return Some(key);
        }
        let (CallEvent::Arriving { tool } | CallEvent::Queued { tool, .. }) = event else {
            return None;
        };
        let tool = self.session.tool(tool);
        if call.agent == AgentId::PERSON {
            return Some(self.add_aside(call, tool));
        }
        if call.agent.is_subagent() {
            return Some(self.add_nested_call(call, tool));
        }
        Some(self.answering()?.add_call(call, tool, Author::Model))
    }

    fn add_aside(&mut self, call: CallRef, tool: ToolInfo) -> CallKey {
        let key = self.calls.add(call, tool, Author::Person, self.moment);
        let shown = self.transcript.push(Cell::Call(key));
        // A person who runs a command wants to see its output.
        self.transcript.change(shown, |entry| entry.open = true);
        self.panel.add_aside(key, &self.calls);
        key
    }

    fn asked(&mut self, key: CallKey, question: Question) -> Vec<Effect> {
        let what = match &question.kind {
            QuestionKind::Permission(request) => format!("{} wants to run", request.tool),
            QuestionKind::Choice(_) | QuestionKind::Form(_) => {
                format!("{} asks you something", self.calls.get(key).tool.name)
            }
        };
        self.ask(question);
        self.notify_person(&what)
    }

    fn decided(&mut self, key: CallKey, by: String, settled: bool, note: Option<AnswerNote>) {
        if settled {
            self.withdraw(self.calls.get(key).id);
        }
        self.calls.change(key, |call| {
            call.decisions.push(by);
            call.notes.extend(note);
        });
    }

    fn background_ended(&mut self, key: CallKey, how: BackgroundEnd) {
        let command = self.calls.get(key).subject();
        let first = command.lines().next().unwrap_or_default();
        let what = match self.subagents.of_call(key) {
            Some(_) => "subagent",
            None => "command",
        };
        let text = format!("background {what} {how}: {first}");
        self.notice(NoticeKind::Info, text);
        let at = self.moment;
        self.calls.change(key, |call| call.left_background(how, at));
        self.refresh_tasks();
    }

    /// Events that arrive after a call is over are ignored, except output of a background command.
    fn is_late(&self, key: CallKey, event: &CallEvent) -> bool {
        let call = self.calls.get(key);
        let prints = matches!(event, CallEvent::Progress(_)) && call.is_in_background();
        call.is_over() && !prints && *event != CallEvent::Yielded
    }

    fn advance(&mut self, key: CallKey, event: CallEvent) {
        if self.is_late(key, &event) {
            return;
        }
        let now = self.moment;
        let is_result = matches!(event, CallEvent::Completed { .. });
        let mut no_longer_waiting = None;
        self.calls.change(key, |call| match event {
            CallEvent::Input(fragment) => {
                if let State::Arriving(partial) = &mut call.state {
                    partial.push(&fragment);
                }
            }
            CallEvent::Queued { input, .. } => {
                call.input = input;
                call.times.queued = Some(now);
                call.state = State::Queued;
            }
            CallEvent::Reached(phase) => {
                if phase == Phase::Validating && call.times.begun.is_some() {
                    call.restart();
                }
                call.times.reached(phase, now);
                if phase != Phase::WaitingForApproval {
                    no_longer_waiting = Some(call.id);
                }
                call.state = State::Executing(phase);
            }
            CallEvent::Progress(printed) => call.print(&printed),
            CallEvent::Completed {
                result,
                ran,
                outcome,
                for_person,
                shown,
                changed,
            } => {
                no_longer_waiting = Some(call.id);
                let completed = Completed {
                    shown,
                    changed,
                    ran,
                    ..Completed::new(&result, outcome, for_person)
                };
                call.complete(completed, now);
            }
            CallEvent::Yielded => {
                let arriving = State::Arriving(Partial::default());
                call.state = match std::mem::replace(&mut call.state, arriving) {
                    State::Completed(completed) | State::Yielded(completed) => {
                        State::Yielded(completed)
                    }
                    other @ (State::Arriving(_) | State::Queued | State::Executing(_)) => other,
                };
            }
            // The first fragment created the call; later ones change nothing in its state.
            CallEvent::Arriving { .. }
            | CallEvent::Asked(_)
            | CallEvent::Decided { .. }
            | CallEvent::Rewritten { .. }
            | CallEvent::Started(_)
            | CallEvent::BackgroundEnded(_) => {}
        });
        if is_result {
            self.calls.bound_shown(key);
            self.keep_panel_briefly();
        }
        if let Some(id) = no_longer_waiting {
            self.withdraw(id);
        }
        if self.calls.get(key).is_in_background() {
            self.refresh_tasks();
        }
    }
}
