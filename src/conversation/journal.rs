//! Writes the records of a conversation and sends its events: the record first, the event second.
//!
//! Each conversation has its own journal; they share the log. Short-lived information, such as the progress of a
//! call, is sent as an event without a record.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::trace;
use crate::config::logged;
use crate::executor::{Observed, Observer};
use crate::hooks;
use crate::permissions::{Decision, Verdict};
use crate::protocol::{
    AgentEvent, AgentId, AnswerNote, CallEvent, CallOutcome, CallRef, Envelope, FileDiff,
    ForPerson, Phase, Seq, SessionEvent, Shown, ToolCall, ToolResult, TurnEvent, TurnId,
};
use crate::session::history::Checkpoint;
use crate::session::log::Loss;
use crate::session::record::Changed;
use crate::session::writer::LogChange;
use crate::session::{History, Record, Writer, events};
use crate::text::compare;
use crate::tools::files::ContentHash;

/// Pieces of an answer that arrive faster than this are written and sent together: no screen shows them one by one.
const BETWEEN_DELTAS: Duration = Duration::from_millis(8);

/// The records of one conversation, and the events that wait to be sent.
pub struct Journal {
    writer: Writer,
    agent: AgentId,
    history: History,
    /// When the turn began.
    since: Instant,
    waiting: VecDeque<Envelope>,
    /// Deltas of one kind are combined into one record and one event.
    deltas: Option<Record>,
    /// When the last ones were sent.
    deltas_sent: Option<Instant>,
}

impl Journal {
    /// The journal of `agent`, whose records so far make up `history`.
    pub fn new(writer: Writer, agent: AgentId, history: History) -> Self {
        Self {
            writer,
            agent,
            history,
            since: Instant::now(),
            waiting: VecDeque::new(),
            deltas: None,
            deltas_sent: None,
        }
    }

    pub fn begin_turn(&mut self) {
        self.since = Instant::now();
        trace::turn_begun(TurnId {
            agent: self.agent,
            number: self.history.turn() + 1,
        });
    }

    /// The fold over all records, including the appended ones.
    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// The only way into the log: writes the record, adds it to the history, and sends its event. Returns its number.
    pub fn append(&mut self, record: Record) -> Seq {
        self.append_showing(record, Shown::Nothing)
    }

    fn append_showing(&mut self, record: Record, shown: Shown) -> Seq {
        self.flush_deltas();
        self.keep(record, shown)
    }

    fn keep(&mut self, record: Record, shown: Shown) -> Seq {
        let written = self.writer.write(self.agent, &record);
        for change in written.changes {
            self.emit_log_change(change);
        }
        let at = self.since.elapsed();
        let events = events::take(record, &mut self.history, self.agent, at, shown);
        self.waiting
            .extend(events.into_iter().map(|event| Envelope {
                record: Some(written.record),
                event,
            }));
        written.record.seq
    }

    /// Sends an event without a record.
    pub fn emit(&mut self, event: TurnEvent) {
        let turn = TurnId {
            agent: self.agent,
            number: self.history.turn(),
        };
        self.send(AgentEvent::Turn(turn, event));
    }

    /// Tells the person something.
    pub fn notice(&mut self, text: String) {
        tracing::info!(text = %logged(&text), "notice");
        self.append(Record::Notice { text });
    }

    /// Tells the person what hooks have to say.
    pub fn note(&mut self, mut answer: hooks::Answer) -> hooks::Answer {
        for notice in answer.notices.drain(..) {
            self.notice(notice);
        }
        answer
    }

    /// Tells the person something that only matters in this run of the program.
    pub fn emit_notice(&mut self, text: String) {
        self.emit_session(SessionEvent::Notice(text));
    }

    /// The provider has begun to run a call of this tool.
    pub fn serving(&mut self, call: CallRef, tool: String) {
        self.append(Record::Arriving { call, tool });
        let phase = Phase::Running;
        self.append(Record::Reached { call, phase });
    }

    /// Sends an event without a record.
    pub fn emit_session(&mut self, event: SessionEvent) {
        self.send(AgentEvent::Session(event));
    }

    /// Sends an event without a record.
    pub fn emit_call(&mut self, call: CallRef, event: CallEvent) {
        let at = self.since.elapsed();
        self.send(AgentEvent::Call { call, at, event });
    }

    fn send(&mut self, event: AgentEvent) {
        self.flush_deltas();
        self.waiting.push_back(event.into());
    }

    /// Records a call that was never handed to the executor, so that it is tracked like any other.
    pub fn settle(&mut self, call: ToolCall, result: ToolResult) {
        let name = call.call;
        self.observe(Observed::Queued(call));
        self.observe(Observed::Completed {
            call: name,
            result,
            ran: Duration::ZERO,
            outcome: CallOutcome::Failed,
            for_person: ForPerson::sentence("the model didn't finish writing it"),
            shown: Shown::Nothing,
        });
    }

    /// The person lets a paused turn continue.
    pub fn continued(&mut self) {
        if self.history.is_paused() {
            self.append(Record::Continued);
        }
    }

    pub fn text(&mut self, more: &str) {
        if let Some(Record::Text { text }) = &mut self.deltas {
            text.push_str(more);
            return;
        }
        self.flush_deltas();
        let text = more.to_owned();
        self.deltas = Some(Record::Text { text });
    }

    pub fn thinking(&mut self, more: &str) {
        if let Some(Record::Thinking { text }) = &mut self.deltas {
            text.push_str(more);
            return;
        }
        self.flush_deltas();
        let text = more.to_owned();
        self.deltas = Some(Record::Thinking { text });
    }

    /// The next event to send. Everything that it shows is already in the log.
    pub fn next_event(&mut self) -> Option<Envelope> {
        if self.deltas_due().is_some_and(|due| due <= Instant::now()) {
            self.flush_deltas();
        }
        self.waiting.pop_front()
    }

    /// When the waiting deltas are due.
    pub fn deltas_due(&self) -> Option<Instant> {
        self.deltas.as_ref()?;
        let last = self.deltas_sent.unwrap_or(self.since);
        Some(last + BETWEEN_DELTAS)
    }

    /// Syncs the log to the disk, on a thread for blocking work.
    pub async fn sync(&self) {
        let Some(file) = self.writer.file_to_sync() else {
            return;
        };
        // If the disk has a problem, the write before has already reported it.
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || file.sync_data()).await {
            tracing::warn!(%error, "the session's log could not be synced");
        }
    }

    fn flush_deltas(&mut self) {
        if let Some(record) = self.deltas.take() {
            self.deltas_sent = Some(Instant::now());
            self.keep(record, Shown::Nothing);
        }
    }

    /// Checks, before the program ends, that the log file is still where it should be.
    pub fn ensure_saved(&mut self) {
        for change in self.writer.ensure_saved() {
            self.emit_log_change(change);
        }
    }

    /// Reports a change of the log itself. It has no record, because the log may not be writable.
    fn emit_log_change(&mut self, change: LogChange) {
        let (saving, notice) = match change {
            LogChange::Restored { path, loss } => {
                let what = match loss {
                    Loss::Removed => "was removed or replaced",
                    Loss::CutShort => "was cut short",
                };
                let path = path.display();
                let notice = format!(
                    "the session file {what} by another program; the whole session was saved again: `{path}`"
                );
                (None, notice)
            }
            LogChange::SavedAgain => (Some(Ok(())), "the session is being saved again".to_owned()),
            LogChange::Unsaved {
                path,
                problem,
                error,
            } => {
                let path = path.display();
                let notice = format!(
                    "the session can't be saved right now (`{path}`: {error}); continuing in memory"
                );
                (Some(Err(problem)), notice)
            }
        };
        let events = saving.map(SessionEvent::Saving).into_iter();
        for event in events.chain([SessionEvent::Notice(notice)]) {
            self.waiting.push_back(AgentEvent::Session(event).into());
        }
    }

    fn decided(
        &mut self,
        call: CallRef,
        verdict: &Verdict,
        asks_person: bool,
        note: Option<AnswerNote>,
    ) {
        let settled = verdict.decision() != Decision::Ask || !asks_person;
        self.append(Record::Decision {
            call,
            by: verdict.summary(),
            settled,
            note,
            decision: verdict.decision().name().to_owned(),
            reason: verdict.reason().to_owned(),
            cause: verdict.cause().to_string(),
        });
    }

    /// What a result shows, as checkpoints of the files. They were announced in order; those of an earlier attempt of
    /// the call come first.
    fn changed(&self, call: CallRef, shown: &Shown) -> Vec<Changed> {
        let changes = match shown {
            Shown::Nothing => return Vec::new(),
            Shown::Excerpts(excerpts) => return excerpts.iter().map(excerpt).collect(),
            Shown::Changes(changes) => changes,
        };
        let kept = self.history.changes(call);
        let kept = &kept[kept.len().saturating_sub(changes.len())..];
        // Without a checkpoint for each, it is not known which one belongs to which file.
        let kept = (kept.len() == changes.len()).then_some(kept);
        let named = |at: usize| kept.map(|kept| &kept[at]);
        let changes = changes.iter().enumerate();
        changes.map(|(at, it)| changed(it, named(at))).collect()
    }
}

/// A part of a file, whose texts are separate checkpoints.
fn excerpt(change: &FileDiff) -> Changed {
    let name = |text: &str| ContentHash::of(text.as_bytes()).to_string();
    let counts = compare::counts(change.before.as_ref(), &change.after);
    Changed {
        path: change.path.clone(),
        before: change.before.as_deref().map(name),
        after: Some(name(&change.after)),
        added: counts.added,
        removed: counts.removed,
    }
}

fn changed(change: &FileDiff, kept: Option<&Checkpoint>) -> Changed {
    let before = kept.and_then(|kept| kept.before.clone());
    let is_whole = before.is_some() || change.before.is_none();
    let counts = compare::counts(change.before.as_ref(), &change.after);
    Changed {
        path: change.path.clone(),
        before,
        after: kept.filter(|_| is_whole).map(|kept| kept.after.clone()),
        added: counts.added,
        removed: counts.removed,
    }
}

impl Observer for Journal {
    fn observe(&mut self, observed: Observed) {
        trace::call(&observed, &self.history, self.since.elapsed());
        match observed {
            Observed::Queued(call) => {
                self.append(Record::Call { call });
            }
            Observed::Begun(call) => {
                self.append(Record::Begun { call });
            }
            Observed::Reached(call, phase) => match phase {
                // These two say how long it waited and how long it ran.
                Phase::WaitingForApproval | Phase::Running => {
                    self.append(Record::Reached { call, phase });
                }
                Phase::Validating | Phase::InHooks | Phase::Finishing => {
                    self.emit_call(call, CallEvent::Reached(phase));
                }
            },
            Observed::Progress(call, text) => self.emit_call(call, CallEvent::Progress(text)),
            Observed::Asked(question) => self.emit_call(question.call, CallEvent::Asked(question)),
            Observed::Decided {
                call,
                verdict,
                asks_person,
                note,
            } => self.decided(call, &verdict, asks_person, note),
            Observed::Changing(call, change) => {
                self.append(Record::Change {
                    call,
                    path: change.path,
                    before: change.before.map(|hash| hash.to_string()),
                    after: change.after.to_string(),
                });
            }
            Observed::Notice(text) => self.notice(text),
            Observed::Rewritten(call, input, by) => {
                self.append(Record::Rewritten { call, input, by });
            }
            Observed::Moved(cwd) => {
                self.append(Record::Moved { cwd });
            }
            Observed::Answered(call) => {
                self.append(Record::Answered { call });
            }
            Observed::ModeIs(mode) => {
                self.append(Record::Mode { mode });
            }
            Observed::Planned(todos) => {
                self.append(Record::Todos { todos });
            }
            Observed::Activated(tools) => {
                self.append(Record::Activated { tools });
            }
            Observed::Completed {
                call,
                result,
                ran,
                outcome,
                for_person,
                shown,
            } => {
                let record = Record::Result {
                    call,
                    result,
                    ran_ms: events::millis(ran),
                    outcome,
                    for_person,
                    changed: self.changed(call, &shown),
                };
                self.append_showing(record, shown);
            }
            // Reported when they are delivered.
            Observed::Yielded(_) => {}
        }
    }
}
