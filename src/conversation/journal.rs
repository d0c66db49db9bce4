//! What a conversation writes down and tells: a record first, an event second.
//!
//! One journal for each conversation; they share the log. What passes by and is not worth a record, such as the progress of
//! a call, is told only.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::trace;
use crate::config::logged;
use crate::executor::{Observed, Observer};
use crate::hooks;
use crate::permissions::{Decision, Verdict};
use crate::protocol::{
    AgentEvent, AgentId, AnswerNote, CallEvent, CallOutcome, CallRef, FileDiff, ForPerson, Phase,
    Seq, SessionEvent, Shown, Told, ToolCall, ToolResult, TurnEvent, TurnId,
};
use crate::session::history::Checkpoint;
use crate::session::log::Loss;
use crate::session::record::Changed;
use crate::session::writer::News;
use crate::session::{History, Record, Writer, telling};
use crate::text::compare;
use crate::tools::files::ContentHash;

/// Pieces of an answer that come faster than this are told, and written, together: no screen shows them one by one.
const BETWEEN_DELTAS: Duration = Duration::from_millis(8);

/// The records of one conversation, and the events that wait to be told.
pub struct Journal {
    writer: Writer,
    agent: AgentId,
    history: History,
    /// When the turn began.
    since: Instant,
    waiting: VecDeque<Told>,
    /// Deltas of one kind that came together are one record and one event.
    deltas: Option<Record>,
    /// When the last ones were told.
    told_deltas: Option<Instant>,
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
            told_deltas: None,
        }
    }

    pub fn begin_turn(&mut self) {
        self.since = Instant::now();
        trace::turn_begun(TurnId {
            agent: self.agent,
            number: self.history.turn() + 1,
        });
    }

    /// What the log has in it, with all that was appended.
    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// The one way into the log: the record is written, becomes part of the history, and is told. Returns its number.
    pub fn append(&mut self, record: Record) -> Seq {
        self.append_showing(record, Shown::Nothing)
    }

    fn append_showing(&mut self, record: Record, shown: Shown) -> Seq {
        self.flush_deltas();
        self.keep(record, shown)
    }

    fn keep(&mut self, record: Record, shown: Shown) -> Seq {
        let written = self.writer.write(self.agent, &record);
        for news in written.news {
            self.tell_news(news);
        }
        let at = self.since.elapsed();
        let events = telling::take(record, &mut self.history, self.agent, at, shown);
        self.waiting.extend(events.into_iter().map(|event| Told {
            record: Some(written.record),
            event,
        }));
        written.record.seq
    }

    /// Tells what is in no record.
    pub fn tell(&mut self, event: TurnEvent) {
        let turn = TurnId {
            agent: self.agent,
            number: self.history.turn(),
        };
        self.pass_on(AgentEvent::Turn(turn, event));
    }

    /// Says something that the person should know.
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

    /// Says something that the person should know, and that is of interest in this run of the program only.
    pub fn remark(&mut self, text: String) {
        self.tell_session(SessionEvent::Notice(text));
    }

    /// Tells what is in no record.
    pub fn tell_session(&mut self, event: SessionEvent) {
        self.pass_on(AgentEvent::Session(event));
    }

    /// Tells what is in no record.
    pub fn tell_call(&mut self, call: CallRef, event: CallEvent) {
        let at = self.since.elapsed();
        self.pass_on(AgentEvent::Call { call, at, event });
    }

    fn pass_on(&mut self, event: AgentEvent) {
        self.flush_deltas();
        self.waiting.push_back(event.into());
    }

    /// A call that was never handed to the executor is tracked like any other.
    pub fn settle(&mut self, call: ToolCall, result: ToolResult) {
        let name = call.call;
        self.observe(Observed::Queued(call));
        self.observe(Observed::Completed {
            call: name,
            result,
            ran: Duration::ZERO,
            outcome: CallOutcome::Failed,
            for_person: ForPerson::saying("the model didn't write it to its end"),
            shown: Shown::Nothing,
        });
    }

    /// The person lets a turn go on that has paused.
    pub fn gone_on(&mut self) {
        if self.history.is_paused() {
            self.append(Record::GoneOn);
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

    /// The next event to tell; everything that it shows is in the log.
    pub fn next_event(&mut self) -> Option<Told> {
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
        let Some(file) = self.writer.file_to_sync() else {
            return;
        };
        // A disk that cannot sync has been complained about by the write before.
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || file.sync_data()).await {
            tracing::warn!(%error, "the session's log could not be synced");
        }
    }

    fn flush_deltas(&mut self) {
        if let Some(record) = self.deltas.take() {
            self.told_deltas = Some(Instant::now());
            self.keep(record, Shown::Nothing);
        }
    }

    /// Makes sure, before the program ends, that the log is where a person will look for it.
    pub fn make_sure(&mut self) {
        for news in self.writer.make_sure() {
            self.tell_news(news);
        }
    }

    /// Tells what has changed about the log itself. It is in no record: the log may be what cannot be written.
    fn tell_news(&mut self, news: News) {
        let (saving, notice) = match news {
            News::Anew { path, loss } => {
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
            News::SavedAgain => (Some(Ok(())), "the session is being saved again".to_owned()),
            News::Unsaved {
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
            by: verdict.in_short(),
            settled,
            note,
            decision: verdict.decision().name().to_owned(),
            reason: verdict.reason().to_owned(),
            cause: verdict.cause().to_string(),
        });
    }

    /// What a result shows, by the checkpoints of the files. They were announced one after the other; those of an earlier
    /// try of the call come first.
    fn changed(&self, call: CallRef, shown: &Shown) -> Vec<Changed> {
        let changes = match shown {
            Shown::Nothing => return Vec::new(),
            Shown::Excerpts(excerpts) => return excerpts.iter().map(excerpt).collect(),
            Shown::Changes(changes) => changes,
        };
        let kept = self.history.changes(call);
        let kept = &kept[kept.len().saturating_sub(changes.len())..];
        // Without a checkpoint for each it is not known which one belongs to which file.
        let kept = (kept.len() == changes.len()).then_some(kept);
        let named = |at: usize| kept.map(|kept| &kept[at]);
        let changes = changes.iter().enumerate();
        changes.map(|(at, it)| changed(it, named(at))).collect()
    }
}

/// A part of a file, whose texts are checkpoints of their own.
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
                // These say how long it waited and how long it ran.
                Phase::WaitingForApproval | Phase::Running => {
                    self.append(Record::Reached { call, phase });
                }
                Phase::Validating | Phase::InHooks | Phase::Finishing => {
                    self.tell_call(call, CallEvent::Reached(phase));
                }
            },
            Observed::Progress(call, text) => self.tell_call(call, CallEvent::Progress(text)),
            Observed::Asked(question) => self.tell_call(question.call, CallEvent::Asked(question)),
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
                    ran_ms: telling::millis(ran),
                    outcome,
                    for_person,
                    changed: self.changed(call, &shown),
                };
                self.append_showing(record, shown);
            }
            // Told when they are delivered.
            Observed::Yielded(_) => {}
        }
    }
}
