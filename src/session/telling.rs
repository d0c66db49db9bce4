//! What those who watch are told of a record. Pure.
//!
//! The same function tells of a record that was just appended and of one that is read when the session is opened again, so
//! the screen of a session that is gone on with is the one that was left.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::history::History;
use super::record::{Changed, Line, Record};
use crate::protocol::{
    AgentEvent, AgentId, CallEvent, CallOutcome, ChangeSize, Ending, FileDiff, ForPerson, Phase,
    Recorded, Seq, SessionEvent, Shown, Subagent, Told, ToolCall, TurnEvent, TurnId, TurnSummary,
};

/// What changed files held that can be shown again, before and after, is this much at most; of older changes only the size
/// is told.
const MOST_SHOWN: usize = 16 << 20;

/// Takes a record of `agent` into the history; what those who watch are told of it. A call's events say how long after the
/// begin of its turn they come: `at`. What a result shows is not in the record: it is `shown`.
pub fn take(
    record: Record,
    history: &mut History,
    agent: AgentId,
    at: Duration,
    shown: Shown,
) -> Vec<AgentEvent> {
    let known = history.cut_off().len();
    history.take(&record);
    let mut events = cut_off(history, known);
    events.extend(told(record, history, agent, at, shown));
    events
}

/// Calls that ended with a run of the program have come to what is known of them.
fn cut_off(history: &History, known: usize) -> Vec<AgentEvent> {
    let cut_off = history.cut_off()[known..].iter().cloned();
    let events = cut_off.map(|(call, result)| AgentEvent::Call {
        call,
        at: Duration::ZERO,
        event: CallEvent::Completed {
            result,
            ran: Duration::ZERO,
            outcome: CallOutcome::Cancelled,
            for_person: ForPerson::saying("agent-tui ended while it ran"),
            shown: Shown::Nothing,
            changed: Vec::new(),
        },
    });
    events.collect()
}

fn told(
    record: Record,
    history: &History,
    agent: AgentId,
    at: Duration,
    shown: Shown,
) -> Vec<AgentEvent> {
    let number = history.turn();
    let turn = |event| vec![AgentEvent::Turn(TurnId { agent, number }, event)];
    let call = |call, event| vec![AgentEvent::Call { call, at, event }];
    let session = |event| vec![AgentEvent::Session(event)];
    match record {
        Record::Run {
            provider, model, ..
        } => session(SessionEvent::RunBegan { provider, model }),
        Record::Started { .. } => started(record, agent, at).into_iter().collect(),
        Record::Notice { text } => session(SessionEvent::Notice(text)),
        Record::Reply { text } => session(SessionEvent::Reply(text)),
        Record::Mode { mode } => session(SessionEvent::ModeIs(mode)),
        Record::Renamed { title } => session(SessionEvent::Renamed(title)),
        Record::User { message } => turn(TurnEvent::Prompted(message)),
        Record::Refused => turn(TurnEvent::Refused),
        Record::Told { message } => turn(TurnEvent::Delivered(message)),
        Record::Request { attempt, .. } => turn(TurnEvent::Requested { attempt }),
        Record::Retry {
            problem,
            attempt,
            wait_ms,
        } => turn(TurnEvent::Retrying {
            problem,
            attempt,
            wait: Duration::from_millis(wait_ms),
        }),
        Record::Text { text } => turn(TurnEvent::Text(text)),
        Record::Thinking { text } => turn(TurnEvent::Thinking(text)),
        Record::Streamed => turn(TurnEvent::Streamed),
        Record::Discarded => turn(TurnEvent::Discarded),
        Record::Broken { text } => turn(TurnEvent::Broken(text)),
        Record::Todos { todos } => turn(TurnEvent::Planned(todos)),
        Record::Assistant {
            message,
            stop_reason,
            usage,
        } => turn(TurnEvent::Answered {
            message,
            stop_reason,
            usage,
        }),
        Record::Spent { spending } => turn(TurnEvent::Spent(spending)),
        Record::Delivered { calls, .. } => {
            let yielded = calls.into_iter();
            let yielded = yielded.flat_map(|name| call(name, CallEvent::Yielded));
            let message = history.messages().last().cloned();
            let delivered = message.map(|it| turn(TurnEvent::Delivered(it)));
            yielded.chain(delivered.into_iter().flatten()).collect()
        }
        Record::Saved { saved_ms } => turn(TurnEvent::Saved(Duration::from_millis(saved_ms))),
        Record::Paused { why } => turn(TurnEvent::Paused { why }),
        Record::GoneOn => turn(TurnEvent::GoneOn),
        Record::End { .. } => summary(record, history)
            .map(|summary| turn(TurnEvent::Finished(summary)))
            .unwrap_or_default(),
        Record::Arriving { .. }
        | Record::Call { .. }
        | Record::Begun { .. }
        | Record::Reached { .. }
        | Record::Rewritten { .. }
        | Record::Decision { .. }
        | Record::Result { .. }
        | Record::BackgroundEnded { .. } => told_of_call(record, at, shown),
        // What the model is sent, not what a person sees.
        Record::Session { .. }
        | Record::Moved { .. }
        | Record::Block { .. }
        | Record::Repaired { .. }
        | Record::Change { .. } => Vec::new(),
    }
}

/// What is told of a record about one call.
fn told_of_call(record: Record, at: Duration, shown: Shown) -> Vec<AgentEvent> {
    let call = |call, event| vec![AgentEvent::Call { call, at, event }];
    match record {
        Record::Arriving { call: name, tool } => call(name, CallEvent::Arriving { tool }),
        Record::Call { call: made } => call(made.call, queued(made)),
        Record::Begun { call: name } => call(name, CallEvent::Reached(Phase::Validating)),
        Record::Reached { call: name, phase } => call(name, CallEvent::Reached(phase)),
        Record::Rewritten {
            call: name,
            input,
            by,
        } => call(name, CallEvent::Rewritten { input, by }),
        Record::Decision {
            call: name,
            by,
            settled,
            note,
            ..
        } => call(name, CallEvent::Decided { by, settled, note }),
        Record::Result {
            call: name,
            result,
            ran_ms,
            outcome,
            for_person,
            changed,
        } => call(
            name,
            CallEvent::Completed {
                result,
                ran: Duration::from_millis(ran_ms),
                outcome,
                for_person,
                shown,
                changed: changed.into_iter().map(size).collect(),
            },
        ),
        Record::BackgroundEnded { call: name, how } => call(name, CallEvent::BackgroundEnded(how)),
        _ => Vec::new(),
    }
}

/// A conversation was started: that is told of the call that did it.
fn started(record: Record, agent: AgentId, at: Duration) -> Option<AgentEvent> {
    let Record::Started {
        call,
        agent_type,
        description,
        model,
        background,
    } = record
    else {
        return None;
    };
    let event = CallEvent::Started(Subagent {
        agent,
        call,
        kind: agent_type,
        description,
        model,
        background,
    });
    Some(AgentEvent::Call { call, at, event })
}

/// The record of how a turn ended.
pub fn ended(summary: &TurnSummary) -> Record {
    let (problem, hint) = match &summary.ending {
        Ending::Failed { problem, hint } => (Some(problem.clone()), hint.clone()),
        Ending::Done | Ending::MaxTurns | Ending::Interrupted => (None, None),
    };
    Record::End {
        ending: summary.ending.name().to_owned(),
        problem,
        hint,
        took_ms: millis(summary.took),
        responses: summary.responses,
        usage: summary.usage,
        cost: summary.cost,
    }
}

fn summary(record: Record, history: &History) -> Option<TurnSummary> {
    let Record::End {
        ending,
        problem,
        hint,
        took_ms,
        responses,
        usage,
        cost,
    } = record
    else {
        return None;
    };
    let ending = match ending.as_str() {
        "success" => Ending::Done,
        "error_max_turns" => Ending::MaxTurns,
        "interrupted" => Ending::Interrupted,
        _ => Ending::Failed {
            problem: problem.unwrap_or_else(|| "the turn failed".to_owned()),
            hint,
        },
    };
    Some(TurnSummary {
        ending,
        text: history.last_text(),
        responses,
        usage,
        cost,
        took: Duration::from_millis(took_ms),
        denials: history.denials().to_vec(),
    })
}

fn queued(call: ToolCall) -> CallEvent {
    CallEvent::Queued {
        tool: call.name,
        wire: (call.call.agent != AgentId::PERSON).then_some(call.id),
        input: call.input,
    }
}

fn size(changed: Changed) -> ChangeSize {
    ChangeSize {
        path: changed.path,
        added: changed.added,
        removed: changed.removed,
    }
}

pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A session that is opened again: what the person's conversation is, and all that was told of it and of those beside it.
#[derive(Debug, Default, PartialEq)]
pub struct Recalled {
    pub history: History,
    pub told: Vec<Told>,
}

/// A conversation of the session, as far as its lines were read.
#[derive(Default)]
struct Past {
    history: History,
    /// When its turn began.
    began: u64,
}

/// What the lines of a log make of the person's conversation, and what those who watched the session were told. `content` gets
/// what a file held by the name of its checkpoint.
pub fn recall(lines: Vec<Line>, content: impl FnMut(&str) -> Option<Arc<str>>) -> Recalled {
    let mut pictures = pictures(&lines, content);
    let mut recalled = Recalled::default();
    let mut pasts: BTreeMap<AgentId, Past> = BTreeMap::new();
    let mut last = None;
    for line in lines {
        let Line {
            seq,
            at_ms,
            agent,
            record,
        } = line;
        let record_of = Recorded { seq, at_ms };
        if let Record::Run { .. } = record {
            // The run before has ended, and with it all that was under way beside the person's conversation.
            for (_, mut past) in pasts.split_off(&AgentId(AgentId::MAIN.0 + 1)) {
                recalled.end(&mut past.history, Some(record_of));
            }
        }
        let past = pasts.entry(agent).or_default();
        if past.history.begins_turn(&record) {
            past.began = at_ms;
        }
        let at = Duration::from_millis(at_ms.saturating_sub(past.began));
        let shown = pictures.remove(&seq).unwrap_or_default();
        for event in take(record, &mut past.history, agent, at, shown) {
            recalled.tell(Some(record_of), event);
        }
        last = Some(record_of);
    }
    // Those that were started end before those that started them.
    for (agent, mut past) in pasts.into_iter().rev() {
        recalled.end(&mut past.history, last);
        if agent == AgentId::MAIN {
            recalled.history = past.history;
        }
    }
    recalled
}

/// The last of the agents that the lines of a log know.
pub fn last_agent(lines: &[Line]) -> AgentId {
    let agents = lines.iter().map(|line| line.agent);
    agents.max().unwrap_or(AgentId::MAIN).max(AgentId::MAIN)
}

impl Recalled {
    /// What a conversation had under way has ended with the program.
    fn end(&mut self, history: &mut History, last: Option<Recorded>) {
        let known = history.cut_off().len();
        history.end();
        for event in cut_off(history, known) {
            self.tell(last, event);
        }
    }

    fn tell(&mut self, record: Option<Recorded>, event: AgentEvent) {
        match (&event, self.told.last_mut().map(|last| &mut last.event)) {
            // Pieces of one text are one: nobody sees them come. What comes before its first word is no part of it.
            (
                AgentEvent::Turn(turn, TurnEvent::Text(more)),
                Some(AgentEvent::Turn(same, TurnEvent::Text(text))),
            ) if turn == same && !text.trim().is_empty() => text.push_str(more),
            (
                AgentEvent::Turn(turn, TurnEvent::Thinking(more)),
                Some(AgentEvent::Turn(same, TurnEvent::Thinking(text))),
            ) if turn == same => text.push_str(more),
            // The calls and texts in it were told one by one.
            (AgentEvent::Turn(_, TurnEvent::Delivered(_)), _) => {}
            _ => self.told.push(Told {
                record,
                event: without_message(event),
            }),
        }
    }
}

/// The texts and calls of an answer were told one by one.
fn without_message(mut event: AgentEvent) -> AgentEvent {
    if let AgentEvent::Turn(_, TurnEvent::Answered { message, .. }) = &mut event {
        message.content = Vec::new();
    }
    event
}

/// What can be shown again of the changes, by the numbers of the records of their results: the newest, up to a bound.
fn pictures(
    lines: &[Line],
    mut content: impl FnMut(&str) -> Option<Arc<str>>,
) -> HashMap<Seq, Shown> {
    let mut contents: HashMap<&str, Option<Arc<str>>> = HashMap::new();
    let mut pictures = HashMap::new();
    let mut size = 0;
    for line in lines.iter().rev() {
        let Record::Result { changed, .. } = &line.record else {
            continue;
        };
        if changed.is_empty() {
            continue;
        }
        let mut get = |name| -> Option<Arc<str>> {
            let known = contents.entry(name);
            known.or_insert_with(|| content(name)).clone()
        };
        let changes: Option<Vec<FileDiff>> =
            changed.iter().map(|it| picture(it, &mut get)).collect();
        let Some(shown) = changes.map(Shown::from) else {
            continue;
        };
        size += shown.size();
        if size > MOST_SHOWN && !pictures.is_empty() {
            break;
        }
        pictures.insert(line.seq, shown);
    }
    pictures
}

fn picture<'c>(
    changed: &'c Changed,
    get: &mut impl FnMut(&'c str) -> Option<Arc<str>>,
) -> Option<FileDiff> {
    let before = match &changed.before {
        Some(name) => Some(get(name)?),
        None => None,
    };
    Some(FileDiff {
        path: changed.path.clone(),
        before,
        after: get(changed.after.as_ref()?)?,
    })
}
