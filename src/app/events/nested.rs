//! Applies the events of subagents to their own conversations.

use super::writing::Answering;
use super::{summary_cells, unless_done, user_cell};
use crate::app::call::{Author, CallKey};
use crate::app::subagents::{Nested, SubagentActivity};
use crate::app::transcript::Progress;
use crate::app::{AppState, Work};
use crate::protocol::{
    AgentEvent, AgentId, CallEvent, CallRef, Ending, Subagent, ToolInfo, TurnEvent, TurnId,
    TurnSummary,
};

impl AppState {
    /// A call has started a subagent.
    pub(super) fn start_nested(&mut self, call: CallKey, about: Subagent) {
        let nested = Nested::new(about, call, self.moment);
        self.subagents.add(nested);
        self.calls.change(call, |_| {});
    }

    /// A subagent's conversation, while it works.
    fn nested_answering(&mut self, agent: AgentId) -> Option<Answering<'_>> {
        let nested = self.subagents.get_mut(agent)?;
        Some(Answering {
            transcript: &mut nested.transcript,
            work: nested.work.as_mut()?,
            turn: &mut nested.turn,
            calls: &mut self.calls,
            moment: self.moment,
            now: self.now,
        })
    }

    pub(super) fn on_nested_event(&mut self, turn: TurnId, event: TurnEvent) {
        let (moment, agent, record) = (self.moment, turn.agent, self.transcript.current_record());
        let Some(nested) = self.subagents.get_mut(agent) else {
            return;
        };
        nested.transcript.begin_record(record);
        let before = nested.activity(&self.calls);
        match event {
            TurnEvent::Prompted(message) => {
                let cell = user_cell(&message);
                cell.map(|cell| nested.transcript.push(cell));
                nested.work = Some(Work::begun(Some(turn), moment));
            }
            TurnEvent::Planned(todos) => nested.todos = unless_done(todos),
            TurnEvent::Spent(spending) => {
                nested.spending = spending;
                self.change_starter(agent);
            }
            TurnEvent::Reopened { calls } => self.reopen_nested(turn, &calls),
            TurnEvent::Finished(summary) => self.finish_nested(agent, &summary),
            event => {
                if let Some(mut answering) = self.nested_answering(agent) {
                    answering.on_event(event);
                }
            }
        }
        if let Some(nested) = self.subagents.get_mut(agent) {
            nested.transcript.begin_record(None);
            if nested.activity(&self.calls) != before {
                self.change_starter(agent);
            }
        }
    }

    /// The program ended while these calls of a subagent waited for the person. They and the subagent continue.
    fn reopen_nested(&mut self, turn: TurnId, calls: &[CallRef]) {
        let moment = self.moment;
        if let Some(nested) = self.subagents.get_mut(turn.agent) {
            nested.work = Some(Work::begun(Some(turn), moment));
            nested.turn.is_over = false;
            nested.ended = None;
        }
        self.reopen_calls(calls);
        self.change_starter(turn.agent);
    }

    fn finish_nested(&mut self, agent: AgentId, summary: &TurnSummary) {
        let done = summary.ending == Ending::Done;
        let how = if done { Progress::Whole } else { Progress::Cut };
        if let Some(mut answering) = self.nested_answering(agent) {
            let failed = answering.work.failed.take();
            answering.end(how);
            for cell in summary_cells(summary, failed.as_deref(), &answering) {
                answering.transcript.push(cell);
            }
        }
        self.over(agent);
    }

    fn over(&mut self, agent: AgentId) {
        let moment = self.moment;
        if let Some(nested) = self.subagents.get_mut(agent) {
            nested.work = None;
            nested.turn.is_over = true;
            nested.ended.get_or_insert(moment);
        }
        self.change_starter(agent);
    }

    /// The program has ended, and with it all subagents.
    pub(super) fn end_nested(&mut self) {
        let still = self.subagents.iter().filter(|nested| !nested.is_over());
        let still: Vec<AgentId> = still.map(|nested| nested.about.agent).collect();
        for agent in still {
            if let Some(mut answering) = self.nested_answering(agent) {
                answering.stop_writing(Progress::Cut);
                answering.turn.response_ended(answering.moment);
            }
            self.over(agent);
        }
    }

    pub(super) fn add_nested_call(&mut self, call: CallRef, tool: ToolInfo) -> CallKey {
        let (moment, record) = (self.moment, self.transcript.current_record());
        let Some(mut answering) = self.nested_answering(call.agent) else {
            return self.calls.add(call, tool, Author::Subagent, moment);
        };
        answering.transcript.begin_record(record);
        let key = answering.add_call(call, tool, Author::Subagent);
        answering.transcript.begin_record(None);
        key
    }

    /// The call that started a subagent shows something new, so it has to be drawn again.
    pub(super) fn change_starter(&mut self, agent: AgentId) {
        if let Some(nested) = self.subagents.get(agent) {
            self.calls.change(nested.call, |_| {});
        }
    }

    /// Whether an event can change what is on the screen. If a subagent is not in view, its text is not shown, only
    /// that it writes.
    pub fn can_show(&self, event: &AgentEvent) -> bool {
        let (agent, already) = match event {
            AgentEvent::Turn(turn, TurnEvent::Text(_)) => {
                (turn.agent, Some(SubagentActivity::Writing))
            }
            AgentEvent::Turn(turn, TurnEvent::Thinking(_)) => {
                (turn.agent, Some(SubagentActivity::Thinking))
            }
            AgentEvent::Call {
                call,
                event: CallEvent::Input(_),
                ..
            } => (call.agent, None),
            AgentEvent::Session(_) | AgentEvent::Turn(..) | AgentEvent::Call { .. } => return true,
        };
        let in_view = self.view.as_ref().is_some_and(|view| view.agent == agent);
        match self.subagents.get(agent) {
            Some(nested) if !in_view => {
                already.is_some_and(|already| nested.activity(&self.calls) != already)
            }
            Some(_) | None => true,
        }
    }
}
