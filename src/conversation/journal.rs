//! What the agent writes down and tells: a record first, an event second.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use tokio::time::Instant;

use crate::config::plain;
use crate::executor::{Happened, Witness};
use crate::hooks;
use crate::permissions::{Decision, Verdict};
use crate::protocol::event::Denial;
use crate::protocol::{
    AgentEvent, AgentId, CallEvent, CallOutcome, CallRef, Phase, SessionEvent, ToolCall,
    ToolResult, TurnEvent, TurnId,
};
use crate::session::log::{Loss, Saved};
use crate::session::{History, Log, Record};

/// Pieces of an answer that come faster than this are told, and written, together: no screen shows them one by one.
const BETWEEN_DELTAS: Duration = Duration::from_millis(8);

/// The log, and the events that wait to be told.
pub struct Journal {
    log: Log,
    turn: TurnId,
    since: Instant,
    waiting: VecDeque<AgentEvent>,
    history: History,
    denials: Vec<Denial>,
    /// Deltas of one kind that came together are one record and one event.
    deltas: Option<Deltas>,
    /// When the last ones were told.
    told_deltas: Option<Instant>,
    /// The log could not be written; said once, until it works again.
    unsaved: bool,
}

enum Deltas {
    Text(String),
    Thinking(String),
}

impl Journal {
    /// `history` is what the log has in it.
    pub fn new(log: Log, history: History) -> Self {
        Self {
            log,
            turn: TurnId {
                agent: AgentId::MAIN,
                number: 0,
            },
            since: Instant::now(),
            waiting: VecDeque::new(),
            history,
            denials: Vec::new(),
            deltas: None,
            told_deltas: None,
            unsaved: false,
        }
    }

    pub fn begin_turn(&mut self) {
        self.turn.number += 1;
        self.since = Instant::now();
        self.denials.clear();
    }

    /// What the log has in it, with all that was appended.
    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    pub fn take_denials(&mut self) -> Vec<Denial> {
        std::mem::take(&mut self.denials)
    }

    /// The one way into the log: the record is written, becomes part of the history, and is told where it is an event of
    /// its own.
    pub fn append(&mut self, record: Record) {
        self.flush_deltas();
        self.write(&record);
        self.history.take(&record);
        if let Some(event) = told(record, &self.history) {
            self.waiting.push_back(AgentEvent::Turn(self.turn, event));
        }
    }

    pub fn tell(&mut self, event: TurnEvent) {
        self.flush_deltas();
        self.waiting.push_back(AgentEvent::Turn(self.turn, event));
    }

    pub fn notice(&mut self, text: String) {
        self.tell_session(SessionEvent::Notice(text));
    }

    /// Tells the person what hooks have to say.
    pub fn note(&mut self, mut answer: hooks::Answer) -> hooks::Answer {
        for notice in answer.notices.drain(..) {
            self.notice(notice);
        }
        answer
    }

    pub fn tell_session(&mut self, event: SessionEvent) {
        self.waiting.push_back(AgentEvent::Session(event));
    }

    pub fn tell_call(&mut self, call: CallRef, event: CallEvent) {
        self.flush_deltas();
        let at = self.since.elapsed();
        self.waiting.push_back(AgentEvent::Call { call, at, event });
    }

    /// A call that was never handed to the executor is tracked like any other: queued, completed, yielded.
    pub fn settle(&mut self, call: ToolCall, result: ToolResult) {
        let name = call.call;
        self.see(Happened::Queued(call));
        self.see(Happened::Completed {
            call: name,
            result,
            ran: Duration::ZERO,
            outcome: CallOutcome::Failed,
            shown: None,
        });
        self.tell_call(name, CallEvent::Yielded);
    }

    fn queued(&mut self, call: &ToolCall) {
        let queued = CallEvent::Queued {
            tool: call.name.clone(),
            wire: (call.call.agent != AgentId::PERSON).then(|| call.id.clone()),
            input: call.input.clone(),
        };
        self.tell_call(call.call, queued);
    }

    pub fn text(&mut self, more: &str) {
        if let Some(Deltas::Text(text)) = &mut self.deltas {
            text.push_str(more);
            return;
        }
        self.flush_deltas();
        self.deltas = Some(Deltas::Text(more.to_owned()));
    }

    pub fn thinking(&mut self, more: &str) {
        if let Some(Deltas::Thinking(text)) = &mut self.deltas {
            text.push_str(more);
            return;
        }
        self.flush_deltas();
        self.deltas = Some(Deltas::Thinking(more.to_owned()));
    }

    /// The next event to tell; everything that it shows is in the log.
    pub fn next_event(&mut self) -> Option<AgentEvent> {
        if self.deltas_due().is_some_and(|due| due <= Instant::now()) {
            self.flush_deltas();
        }
        self.waiting.pop_front()
    }

    /// When the deltas that wait are to be told.
    pub fn deltas_due(&self) -> Option<Instant> {
        self.deltas.as_ref()?;
        let last = self.told_deltas.unwrap_or(self.since);
        Some(last + BETWEEN_DELTAS)
    }

    /// Brings the log to the disk, on a thread where waiting does no harm.
    pub async fn sync(&self) {
        let Some(file) = self.log.file_to_sync() else {
            return;
        };
        // A disk that cannot sync has been complained about by the write before.
        let _ = tokio::task::spawn_blocking(move || file.sync_data()).await;
    }

    fn flush_deltas(&mut self) {
        let (record, event) = match self.deltas.take() {
            None => return,
            Some(Deltas::Text(text)) => {
                (Record::Text { text: text.clone() }, TurnEvent::Text(text))
            }
            Some(Deltas::Thinking(text)) => (
                Record::Thinking { text: text.clone() },
                TurnEvent::Thinking(text),
            ),
        };
        self.told_deltas = Some(Instant::now());
        self.write(&record);
        self.history.take(&record);
        self.waiting.push_back(AgentEvent::Turn(self.turn, event));
    }

    fn write(&mut self, record: &Record) {
        let written = self.log.write(record);
        self.saw(written);
    }

    /// Sees to it, when the program is about to end, that the log is where a person will look for it.
    pub fn make_sure(&mut self) {
        let made_sure = self.log.make_sure();
        self.saw(made_sure);
    }

    /// Says what came of writing to the log, if that has changed.
    fn saw(&mut self, written: io::Result<Saved>) {
        if let Ok(Saved::Anew(loss)) = written {
            let what = match loss {
                Loss::Removed => "was removed or replaced",
                Loss::CutShort => "was cut short",
            };
            let path = self.log.path().display();
            self.notice(format!(
                "the session's file {what} by another program; the whole session was saved anew: `{path}`"
            ));
        }
        if written.is_err() == self.unsaved {
            return;
        }
        self.unsaved = written.is_err();
        let (saving, notice) = match written {
            Ok(_) => (Ok(()), "the session is being saved again".to_owned()),
            Err(error) => {
                let path = self.log.path().display();
                let notice = format!(
                    "the session cannot be saved at the moment (`{path}`: {error}); it goes on in memory"
                );
                (Err(plain(&error)), notice)
            }
        };
        self.tell_session(SessionEvent::Saving(saving));
        self.notice(notice);
    }

    fn decided(&mut self, id: CallRef, verdict: Verdict, denied: bool) {
        if denied && let Some(call) = self.history.call(id) {
            let (tool, input) = (call.name.clone(), call.input.clone());
            self.denials.push(Denial {
                call: call.id.clone(),
                tool,
                input,
                reason: verdict.reason.clone(),
            });
        }
        let by = verdict.in_short();
        self.append(Record::Decision {
            call: id,
            decision: verdict.decision.name().to_owned(),
            reason: verdict.reason,
            cause: verdict.cause.to_string(),
        });
        let settled = verdict.decision != Decision::Ask || denied;
        self.tell_call(id, CallEvent::Decided { by, settled });
    }
}

/// What a record says to those who watch, where it says all of it.
fn told(record: Record, history: &History) -> Option<TurnEvent> {
    match record {
        Record::User { message } => Some(TurnEvent::Prompted(message)),
        Record::Assistant {
            message,
            stop_reason,
            usage,
        } => Some(TurnEvent::Answered {
            message,
            stop_reason,
            usage,
        }),
        Record::Delivered { .. } => {
            let message = history.messages().last().cloned();
            message.map(TurnEvent::Delivered)
        }
        Record::Told { message } => Some(TurnEvent::Delivered(message)),
        Record::Request { attempt, .. } => Some(TurnEvent::Requested { attempt }),
        _ => None,
    }
}

impl Witness for Journal {
    fn see(&mut self, happened: Happened) {
        tracing::debug!(?happened, at = ?self.since.elapsed(), "call");
        match happened {
            Happened::Queued(call) => {
                self.append(Record::Call { call: call.clone() });
                self.queued(&call);
            }
            Happened::Begun(call) => {
                self.append(Record::Begun { call });
                self.tell_call(call, CallEvent::Reached(Phase::Validating));
            }
            Happened::Reached(call, phase) => self.tell_call(call, CallEvent::Reached(phase)),
            Happened::Progress(call, text) => self.tell_call(call, CallEvent::Progress(text)),
            Happened::Asked(request) => self.tell_call(request.call, CallEvent::Asked(request)),
            Happened::Decided {
                call,
                verdict,
                asks_person,
            } => {
                let denied = match verdict.decision {
                    Decision::Allow => false,
                    Decision::Deny => true,
                    Decision::Ask => !asks_person,
                };
                self.decided(call, verdict, denied);
            }
            Happened::Changing(call, change) => {
                self.append(Record::Change {
                    call,
                    path: change.path,
                    before: change.before.map(|hash| hash.to_string()),
                    after: change.after.to_string(),
                });
            }
            Happened::Notice(text) => self.notice(text),
            Happened::Rewritten(call, input, by) => {
                self.append(Record::Rewritten {
                    call,
                    input: input.clone(),
                    by: by.clone(),
                });
                self.tell_call(call, CallEvent::Rewritten { input, by });
            }
            Happened::Moved(cwd) => self.append(Record::Moved { cwd }),
            Happened::Completed {
                call,
                result,
                ran,
                outcome,
                shown,
            } => {
                self.append(Record::Result {
                    call,
                    result: result.clone(),
                });
                let completed = CallEvent::Completed {
                    result,
                    ran,
                    outcome,
                    shown,
                };
                self.tell_call(call, completed);
            }
            Happened::Yielded(call) => self.tell_call(call, CallEvent::Yielded),
        }
    }
}
