//! What the agent writes down and tells: a record first, an event second.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::time::Duration;

use tokio::time::Instant;

use crate::executor::{Happened, Witness};
use crate::permissions::{Decision, Verdict};
use crate::protocol::event::Denial;
use crate::protocol::{
    AgentEvent, CallId, CallOutcome, Phase, Spending, ToolCall, ToolResult, ToolState, ToolUse,
    TurnEvent, TurnId,
};
use crate::session::log::{Loss, Saved};
use crate::session::{Log, Record};
use crate::tools::files::error::plain;

/// Pieces of an answer that come faster than this are told, and written, together: no screen shows them one by one.
const BETWEEN_DELTAS: Duration = Duration::from_millis(8);

/// The log, and the events that wait to be told.
pub struct Journal {
    log: Log,
    turn: TurnId,
    since: Instant,
    waiting: VecDeque<AgentEvent>,
    calls: HashMap<CallId, ToolCall>,
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
    pub fn new(log: Log) -> Self {
        Self {
            log,
            turn: TurnId(0),
            since: Instant::now(),
            waiting: VecDeque::new(),
            calls: HashMap::new(),
            denials: Vec::new(),
            deltas: None,
            told_deltas: None,
            unsaved: false,
        }
    }

    pub fn begin_turn(&mut self) {
        self.turn = TurnId(self.turn.0 + 1);
        self.since = Instant::now();
        self.calls.clear();
        self.denials.clear();
    }

    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    pub fn take_denials(&mut self) -> Vec<Denial> {
        std::mem::take(&mut self.denials)
    }

    pub fn record(&mut self, record: Record) {
        self.flush_deltas();
        self.write(record);
    }

    pub fn tell(&mut self, event: TurnEvent) {
        self.flush_deltas();
        self.waiting.push_back(AgentEvent::Turn(self.turn, event));
    }

    pub fn notice(&mut self, text: String) {
        self.waiting.push_back(AgentEvent::Notice(text));
    }

    pub fn tell_agent(&mut self, event: AgentEvent) {
        self.waiting.push_back(event);
    }

    /// A call that was never handed to the executor is tracked like any other: queued, completed, yielded.
    pub fn settle(&mut self, call: ToolUse, result: ToolResult) {
        let ToolUse {
            id, name, input, ..
        } = call;
        let queued = ToolCall {
            id: id.clone(),
            name,
            input: input.clone(),
        };
        self.calls.insert(id.clone(), queued);
        self.tool(id.clone(), ToolState::Queued { input });
        self.see(Happened::Completed {
            call: id.clone(),
            result,
            ran: Duration::ZERO,
            outcome: CallOutcome::Failed,
            shown: None,
        });
        self.tool(id, ToolState::Yielded);
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
        self.write(record);
        self.waiting.push_back(AgentEvent::Turn(self.turn, event));
    }

    fn write(&mut self, record: Record) {
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
        self.tell_agent(AgentEvent::Saving(saving));
        self.notice(notice);
    }

    fn tool(&mut self, call: CallId, state: ToolState) {
        let name = self
            .calls
            .get(&call)
            .map(|call| call.name.clone())
            .unwrap_or_default();
        let at = self.since.elapsed();
        self.tell(TurnEvent::Tool {
            call,
            name,
            at,
            state,
        });
    }

    /// A response has ended; this is what the conversation has used with it.
    pub fn spent(&mut self, spending: Spending) {
        self.record(Record::Spent { spending });
        self.tell(TurnEvent::Spent(spending));
    }

    fn decided(&mut self, id: CallId, verdict: &Verdict, denied: bool) {
        if denied && let Some(call) = self.calls.get(&id) {
            let (tool, input) = (call.name.clone(), call.input.clone());
            self.denials.push(Denial {
                call: id.clone(),
                tool,
                input,
                reason: verdict.reason().to_owned(),
            });
        }
        let by = verdict.in_short();
        self.record(Record::Decision {
            call: id.clone(),
            decision: verdict.decision().name().to_owned(),
            reason: verdict.reason().to_owned(),
            cause: verdict.cause().to_string(),
        });
        self.tell(TurnEvent::Decided {
            call: id,
            by,
            settled: verdict.decision() != Decision::Ask || denied,
        });
    }
}

impl Witness for Journal {
    fn see(&mut self, happened: Happened) {
        tracing::debug!(?happened, at = ?self.since.elapsed(), "call");
        match happened {
            Happened::Queued(call) => {
                self.record(Record::Call { call: call.clone() });
                let (id, input) = (call.id.clone(), call.input.clone());
                self.calls.insert(id.clone(), call);
                self.tool(id, ToolState::Queued { input });
            }
            Happened::Begun(id) => {
                self.record(Record::Begun { call: id.clone() });
                self.tool(
                    id,
                    ToolState::Executing {
                        phase: Phase::Validating,
                    },
                );
            }
            Happened::Reached(id, phase) => self.tool(id, ToolState::Executing { phase }),
            Happened::Progress(id, text) => self.tool(id, ToolState::Progress { text }),
            Happened::Asked(request) => self.tell(TurnEvent::Asked(request)),
            Happened::Decided {
                call,
                verdict,
                asks_person,
            } => {
                let denied = match verdict.decision() {
                    Decision::Allow => false,
                    Decision::Deny => true,
                    Decision::Ask => !asks_person,
                };
                self.decided(call, &verdict, denied);
            }
            Happened::Changing(call, change) => {
                self.record(Record::Change {
                    call,
                    path: change.path,
                    before: change.before.map(|hash| hash.to_string()),
                    after: change.after.to_string(),
                });
            }
            Happened::Notice(text) => self.notice(text),
            Happened::Rewritten(call, input, by) => {
                self.record(Record::Rewritten {
                    call: call.clone(),
                    input: input.clone(),
                    by: by.clone(),
                });
                self.tell_agent(AgentEvent::Rewritten { call, input, by });
            }
            Happened::Moved(cwd) => self.record(Record::Moved { cwd }),
            Happened::Completed {
                call,
                result,
                ran,
                outcome,
                shown,
            } => {
                self.record(Record::Result {
                    result: result.clone(),
                });
                self.tool(
                    call,
                    ToolState::Completed {
                        result,
                        ran,
                        outcome,
                        shown,
                    },
                );
            }
            Happened::Yielded(call) => self.tool(call, ToolState::Yielded),
        }
    }
}
