//! What a resumed session has to know of the subagents that earlier runs started. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use super::history::History;
use super::record::{Line, Record};
use super::telling;
use crate::protocol::{AgentId, CallOutcome, CallRef, Ending, TurnSummary};

/// The subagents of earlier runs.
#[derive(Debug, PartialEq)]
pub struct PastSubagents {
    /// The last one that was started; the next one gets the next number.
    pub last: AgentId,
    /// Those that were left in the background, oldest first.
    pub background: Vec<PastSubagent>,
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
        }
    }
}

impl PastSubagents {
    pub fn of(lines: &[Line]) -> Self {
        let mut background = in_background(lines);
        let mut histories: BTreeMap<AgentId, History> = BTreeMap::new();
        for line in lines {
            let Some(subagent) = background.get_mut(&line.agent) else {
                continue;
            };
            let history = histories.entry(line.agent).or_default();
            history.take(&line.record);
            if let Some(summary) = telling::summary(line.record.clone(), history) {
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
        Self {
            last: telling::last_agent(lines),
            background: background.into_values().collect(),
        }
    }
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
