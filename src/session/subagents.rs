//! What a resumed session has to know of the subagents that earlier runs started. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use super::events;
use super::history::History;
use super::record::{Line, Record};
use super::unfinished::Unfinished;
use crate::protocol::{AgentId, CallOutcome, CallRef, Ending, TurnSummary};

/// The subagents of earlier runs.
#[derive(Debug, PartialEq)]
pub struct PastSubagents {
    /// The last one that was started; the next one gets the next number.
    pub last: AgentId,
    /// Those that were left in the background, oldest first.
    pub background: Vec<PastSubagent>,
    /// Those that waited for the person when the last run ended, or were about to ask.
    pub asking: Vec<AskingSubagent>,
}

/// A subagent that can continue where the end of the program has stopped it.
#[derive(Debug, Clone, PartialEq)]
pub struct AskingSubagent {
    pub agent: AgentId,
    /// The call that started it.
    pub call: CallRef,
    /// The name of its type.
    pub kind: String,
    pub description: String,
    pub model: String,
    pub background: bool,
    pub history: History,
}

/// A subagent that was left in the background. It is over: if nothing else ended it, the end of the program did.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSubagent {
    pub agent: AgentId,
    /// The call that started it.
    pub call: CallRef,
    pub description: String,
    pub summary: TurnSummary,
    /// How many calls it made.
    pub calls: u32,
    /// The program ended while it ran.
    pub cut_off: bool,
}

impl Default for PastSubagents {
    fn default() -> Self {
        Self {
            last: AgentId::MAIN,
            background: Vec::new(),
            asking: Vec::new(),
        }
    }
}

impl PastSubagents {
    pub fn of(lines: &[Line]) -> Self {
        let mut background = in_background(lines);
        let mut histories: BTreeMap<AgentId, History> = BTreeMap::new();
        let mut asking: Vec<AskingSubagent> = Vec::new();
        for line in lines {
            if let Record::Run { .. } = line.record {
                histories.values_mut().for_each(History::end);
            }
            if !line.agent.is_subagent() {
                continue;
            }
            let history = histories.entry(line.agent).or_default();
            history.take(&line.record);
            asking.extend(started(line, background.contains_key(&line.agent)));
            let summary = events::summary(line.record.clone(), history);
            if let Some((subagent, summary)) = background.get_mut(&line.agent).zip(summary) {
                subagent.summary = summary;
                subagent.cut_off = false;
            }
        }
        for (agent, history) in &mut histories {
            history.end();
            if let Some(subagent) = background.get_mut(agent) {
                subagent.summary.text = history.last_text();
                subagent.calls = history.last_call();
            }
        }
        asking.retain_mut(|subagent| {
            subagent.history = histories.remove(&subagent.agent).unwrap_or_default();
            let unfinished = subagent.history.unfinished();
            unfinished.is_some_and(Unfinished::may_ask)
        });
        Self {
            last: events::last_agent(lines),
            background: background.into_values().collect(),
            asking,
        }
    }
}

fn started(line: &Line, background: bool) -> Option<AskingSubagent> {
    let Record::Started {
        call,
        agent_type,
        description,
        model,
        ..
    } = &line.record
    else {
        return None;
    };
    Some(AskingSubagent {
        agent: line.agent,
        call: *call,
        kind: agent_type.clone(),
        description: description.clone(),
        model: model.clone(),
        background,
        history: History::default(),
    })
}

/// Those that were started in the background, or moved there later.
fn in_background(lines: &[Line]) -> BTreeMap<AgentId, PastSubagent> {
    let mut started: BTreeMap<AgentId, PastSubagent> = BTreeMap::new();
    let mut left: Vec<CallRef> = Vec::new();
    for line in lines {
        match &line.record {
            Record::Started {
                call,
                description,
                background,
                ..
            } => {
                left.extend(background.then_some(*call));
                let subagent = PastSubagent {
                    agent: line.agent,
                    call: *call,
                    description: description.clone(),
                    summary: TurnSummary::of(Ending::Interrupted, Duration::ZERO),
                    calls: 0,
                    cut_off: true,
                };
                started.insert(line.agent, subagent);
            }
            Record::Result {
                call,
                outcome: CallOutcome::Backgrounded,
                ..
            } => left.push(*call),
            _ => {}
        }
    }
    started.retain(|_, subagent| left.contains(&subagent.call));
    started
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{ForPerson, Message, Seq, ToolResult, Usage};

    fn started(number: u32, background: bool) -> Record {
        Record::Started {
            call: CallRef::main(number),
            agent_type: "general".to_owned(),
            description: format!("task {number}"),
            model: "m".to_owned(),
            background,
        }
    }

    fn moved(number: u32) -> Record {
        Record::Result {
            call: CallRef::main(number),
            result: ToolResult::text("t".into(), "It works on"),
            ran_ms: 1,
            outcome: CallOutcome::Backgrounded,
            for_person: ForPerson::default(),
            changed: Vec::new(),
        }
    }

    fn lines(records: Vec<(u32, Record)>) -> Vec<Line> {
        let lines = (0..).zip(records).map(|(seq, (agent, record))| Line {
            seq: Seq(seq),
            at_ms: seq,
            agent: AgentId(agent),
            record,
        });
        lines.collect()
    }

    fn request() -> Record {
        Record::Request {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            attempt: 0,
        }
    }

    #[test]
    fn only_those_in_the_background_are_known_and_each_with_what_it_said() {
        let text = |text: &str| Record::Text {
            text: text.to_owned(),
        };
        let prompt = || Record::User {
            message: Message::user("look"),
        };
        let end = Record::End {
            ending: "success".to_owned(),
            problem: None,
            hint: None,
            took_ms: 5,
            responses: 1,
            usage: Usage::default(),
            cost: None,
        };
        let past = PastSubagents::of(&lines(vec![
            (2, started(1, true)),
            (2, prompt()),
            (3, started(2, false)),
            (4, started(3, false)),
            (2, request()),
            (2, text("found it")),
            (2, end),
            (1, moved(3)),
            (4, prompt()),
            (4, request()),
            (4, text("so far")),
        ]));
        assert_eq!(past.last, AgentId(4));
        let known: Vec<(AgentId, &str, bool)> = past
            .background
            .iter()
            .map(|it| (it.agent, it.summary.text.as_str(), it.cut_off))
            .collect();
        assert_eq!(
            known,
            [
                (AgentId(2), "found it", false),
                (AgentId(4), "so far", true)
            ]
        );
        assert_eq!(past.background[0].summary.ending, Ending::Done);
        assert_eq!(past.background[1].summary.ending, Ending::Interrupted);
    }

    #[test]
    fn a_session_without_subagents_has_none() {
        assert_eq!(PastSubagents::of(&[]), PastSubagents::default());
    }
}
