//! Turns records into events. Pure.
//!
//! The same function handles a record that was just appended and one that is read when the session is resumed, so a
//! resumed session looks as it did before.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::history::History;
use super::record::{Changed, Line, Record};
use super::unfinished::Progress;
use crate::protocol::{
    AgentEvent, AgentId, Block, CallEvent, CallOutcome, CallRef, ChangeSize, Ending, Envelope,
    FileDiff, ForPerson, Phase, Recorded, Seq, ServerCall, SessionEvent, Shown, Subagent, ToolCall,
    TurnEvent, TurnId, TurnSummary,
};

/// The limit for the contents of changed files that can be shown again; for older changes only the size is reported.
const MOST_SHOWN: usize = 16 << 20;

/// Adds a record of `agent` to the history, and returns its events. `at` is the time since the turn began, for the
/// events of calls. What a result shows is not in the record: it is `shown`.
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
    events.extend(events_of(record, history, agent, at, shown));
    events
}

/// The events for calls that ended with a run of the program.
fn cut_off(history: &History, known: usize) -> Vec<AgentEvent> {
    let cut_off = history.cut_off().get(known..).unwrap_or_default();
    let events = cut_off.iter().cloned().map(|cut_off| AgentEvent::Call {
        call: cut_off.call,
        at: Duration::ZERO,
        event: CallEvent::Completed {
            result: cut_off.result,
            ran: Duration::ZERO,
            outcome: CallOutcome::Cancelled,
            for_person: ForPerson::sentence(match cut_off.progress {
                Progress::Queued | Progress::Starting => "agent-tui ended before it started",
                Progress::Waiting { .. } => "agent-tui ended while it waited for you",
                Progress::Begun { .. } => "agent-tui ended while it ran",
            }),
            shown: Shown::Nothing,
            changed: Vec::new(),
        },
    });
    events.collect()
}

/// The run of a conversation is over; what its listeners are told of the calls that ended with it.
pub fn end(history: &mut History) -> Vec<AgentEvent> {
    let known = history.cut_off().len();
    history.end();
    cut_off(history, known)
}

fn events_of(
    record: Record,
    history: &History,
    agent: AgentId,
    at: Duration,
    shown: Shown,
) -> Vec<AgentEvent> {
    let number = history.turn();
    let turn = |event| vec![AgentEvent::Turn(TurnId { agent, number }, event)];
    let delivered = |message| turn(TurnEvent::Delivered(message));
    match record {
        Record::Run { .. }
        | Record::Notice { .. }
        | Record::Reply { .. }
        | Record::Mode { .. }
        | Record::Renamed { .. } => session_event(record).into_iter().collect(),
        Record::Started { .. } => started(record, agent, at).into_iter().collect(),
        Record::User { message } => turn(TurnEvent::Prompted(message)),
        Record::Refused => turn(TurnEvent::Refused),
        Record::Told { message } => delivered(message),
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
            let yielded = calls.into_iter().map(|call| yielded(call, at));
            let message = history.messages().last().cloned();
            yielded
                .chain(message.map(delivered).into_iter().flatten())
                .collect()
        }
        Record::Saved { saved_ms } => turn(TurnEvent::Saved(Duration::from_millis(saved_ms))),
        Record::Paused { why } => turn(TurnEvent::Paused { why }),
        Record::Continued => turn(TurnEvent::Continued),
        Record::Reopened { calls } => turn(TurnEvent::Reopened { calls }),
        Record::End { .. } => summary(record, history)
            .map_or_else(Vec::new, |summary| turn(TurnEvent::Finished(summary))),
        Record::Arriving { .. }
        | Record::Call { .. }
        | Record::Begun { .. }
        | Record::Reached { .. }
        | Record::Rewritten { .. }
        | Record::Decision { .. }
        | Record::Result { .. }
        | Record::Block { call: Some(_), .. }
        | Record::BackgroundEnded { .. } => call_events(record, at, shown),
        // These are for the model, and not shown.
        Record::Session { .. }
        | Record::Moved { .. }
        | Record::Offered { .. }
        | Record::Activated { .. }
        | Record::Seen { .. }
        | Record::Block { call: None, .. }
        | Record::Answered { .. }
        | Record::Repaired { .. }
        | Record::Change { .. } => Vec::new(),
    }
}

fn yielded(call: CallRef, at: Duration) -> AgentEvent {
    let event = CallEvent::Yielded;
    AgentEvent::Call { call, at, event }
}

/// The event of a record about the session as a whole.
fn session_event(record: Record) -> Option<AgentEvent> {
    let event = match record {
        Record::Run {
            provider, model, ..
        } => SessionEvent::RunBegan { provider, model },
        Record::Notice { text } => SessionEvent::Notice(text),
        Record::Reply { text } => SessionEvent::Reply(text),
        Record::Mode { mode } => SessionEvent::ModeIs(mode),
        Record::Renamed { title } => SessionEvent::Renamed(title),
        _ => return None,
    };
    Some(AgentEvent::Session(event))
}

/// The events of a record about one call.
fn call_events(record: Record, at: Duration, shown: Shown) -> Vec<AgentEvent> {
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
        Record::Block {
            block,
            call: Some(name),
        } => {
            let events = served(&block).into_iter();
            events.flat_map(|event| call(name, event)).collect()
        }
        Record::BackgroundEnded { call: name, how } => call(name, CallEvent::BackgroundEnded(how)),
        _ => Vec::new(),
    }
}

/// What a block tells of a call that the provider runs.
fn served(block: &Block) -> Vec<CallEvent> {
    let Some(ServerCall { id, made, result }) = ServerCall::of(block) else {
        return Vec::new();
    };
    let mut events = Vec::new();
    if let Some((tool, input)) = made {
        events.push(CallEvent::Queued {
            tool,
            wire: Some(id),
            input,
        });
        events.push(CallEvent::Reached(Phase::Validating));
        events.push(CallEvent::Reached(Phase::Running));
    }
    if let Some((result, for_person)) = result {
        events.push(CallEvent::Completed {
            outcome: if result.is_error {
                CallOutcome::Failed
            } else {
                CallOutcome::Succeeded
            },
            result,
            ran: Duration::ZERO,
            for_person,
            shown: Shown::Nothing,
            changed: Vec::new(),
        });
        events.push(CallEvent::Yielded);
    }
    events
}

/// The start of a subagent is an event of the call that started it.
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

/// The record of a turn's end.
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

pub(super) fn summary(record: Record, history: &History) -> Option<TurnSummary> {
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

/// A resumed session: the history of the person's conversation, and all events of the session.
#[derive(Debug, Default, PartialEq)]
pub struct Recalled {
    pub history: History,
    pub events: Vec<Envelope>,
}

/// The state of one conversation while the lines are read.
#[derive(Default)]
struct Past {
    history: History,
    /// When its turn began.
    began: u64,
}

/// The person's conversation and all events, from the lines of a log. `content` returns the content of a checkpoint
/// by its name.
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
            // The run before has ended, and with it all subagents.
            let subagents = pasts.iter_mut().filter(|(agent, _)| agent.is_subagent());
            for (_, past) in subagents {
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
            recalled.push(Some(record_of), event);
        }
        last = Some(record_of);
    }
    // Subagents end before the conversations that started them.
    for (agent, mut past) in pasts.into_iter().rev() {
        recalled.end(&mut past.history, last);
        if agent == AgentId::MAIN {
            recalled.history = past.history;
        }
    }
    recalled
}

/// The highest agent number in the lines of a log.
pub(super) fn last_agent(lines: &[Line]) -> AgentId {
    let agents = lines.iter().map(|line| line.agent);
    agents.max().unwrap_or(AgentId::MAIN).max(AgentId::MAIN)
}

impl Recalled {
    /// Everything that the conversation had running ended with the program.
    fn end(&mut self, history: &mut History, last: Option<Recorded>) {
        for event in end(history) {
            self.push(last, event);
        }
    }

    fn push(&mut self, record: Option<Recorded>, event: AgentEvent) {
        match (&event, self.events.last_mut().map(|last| &mut last.event)) {
            // Pieces of one text become one event. White space before its first word is not shown.
            (
                AgentEvent::Turn(turn, TurnEvent::Text(more)),
                Some(AgentEvent::Turn(same, TurnEvent::Text(text))),
            ) if turn == same && !text.trim().is_empty() => text.push_str(more),
            (
                AgentEvent::Turn(turn, TurnEvent::Thinking(more)),
                Some(AgentEvent::Turn(same, TurnEvent::Thinking(text))),
            ) if turn == same => text.push_str(more),
            // Its calls and texts have their own events.
            (AgentEvent::Turn(_, TurnEvent::Delivered(_)), _) => {}
            _ => self.events.push(Envelope {
                record,
                event: without_message(event),
            }),
        }
    }
}

/// Removes the message of an answer, because its texts and calls have their own events.
fn without_message(mut event: AgentEvent) -> AgentEvent {
    if let AgentEvent::Turn(_, TurnEvent::Answered { message, .. }) = &mut event {
        message.content = Vec::new();
    }
    event
}

/// The changes that can be shown again, by the numbers of their result records: the newest ones, up to the limit.
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
