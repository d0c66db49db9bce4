//! The lines of `--output-format stream-json`. Pure: an event in, a JSON value out.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::protocol::event::SessionOpened;
use crate::protocol::{
    Block, CallEvent, CallOutcome, Ending, Extensions, Message, Mode, Phase, ToolState, TurnEvent,
    TurnSummary, Usage, WireId,
};

pub fn init(opened: &SessionOpened, cwd: &Path, mode: Mode) -> Value {
    let tools = opened.tools.iter();
    let offered = tools.filter(|tool| tool.state == ToolState::Offered);
    let tools: Vec<&str> = offered.map(|tool| &*tool.name).collect();
    let Extensions {
        agents,
        skills,
        commands,
        ..
    } = &*opened.extensions;
    let commands = commands.iter().map(|command| &*command.name);
    let skills = skills.iter().map(|skill| &*skill.name);
    let agents = agents.iter().map(|agent| agent.name.as_str());
    let servers = opened.servers.iter();
    let servers = servers.map(|it| json!({ "name": it.name, "status": it.state.name() }));
    json!({
        "type": "system",
        "subtype": "init",
        "session_id": opened.session,
        "model": opened.model,
        "provider": opened.provider,
        "cwd": cwd,
        "tools": tools,
        "permission_mode": mode.name(),
        "mcp_servers": servers.collect::<Vec<_>>(),
        "slash_commands": commands.collect::<Vec<_>>(),
        "skills": skills.collect::<Vec<_>>(),
        "agents": agents.collect::<Vec<_>>(),
    })
}

/// The line of an event, if it has one. In a subagent, `parent` is the call that started it.
pub fn turn(event: &TurnEvent, parent: Option<&WireId>, session: &str) -> Option<Value> {
    let mut line = match event {
        TurnEvent::Answered {
            message,
            stop_reason,
            usage,
        } => json!({
            "type": "assistant",
            "message": {
                "role": message.role,
                "content": message.content,
                "stop_reason": stop_reason,
                "usage": usage,
            },
        }),
        TurnEvent::Delivered(message) => json!({
            "type": "user",
            "message": { "role": message.role, "content": as_sent(message) },
        }),
        TurnEvent::Retrying {
            problem,
            attempt,
            wait,
        } => json!({
            "type": "system",
            "subtype": "retry",
            "problem": problem,
            "attempt": attempt,
            "wait_ms": millis(wait.as_millis()),
        }),
        TurnEvent::Saved(saved) => json!({
            "type": "system",
            "subtype": "overlap",
            "saved_ms": millis(saved.as_millis()),
        }),
        TurnEvent::Planned(todos) => json!({
            "type": "system",
            "subtype": "todos",
            "todos": todos,
        }),
        TurnEvent::Prompted(_)
        | TurnEvent::Refused
        | TurnEvent::Discarded
        | TurnEvent::Broken(_)
        | TurnEvent::Streamed
        | TurnEvent::Spent(_)
        | TurnEvent::Requested { .. }
        | TurnEvent::Text(_)
        | TurnEvent::Thinking(_)
        | TurnEvent::Paused { .. }
        | TurnEvent::Continued
        | TurnEvent::Reopened { .. }
        | TurnEvent::Finished(_) => return None,
    };
    of_parent(&mut line, parent);
    line["session_id"] = json!(session);
    Some(line)
}

fn of_parent(line: &mut Value, parent: Option<&WireId>) {
    if let Some(parent) = parent {
        line["parent_tool_use_id"] = json!(parent);
    }
}

pub fn result(summary: &TurnSummary, session: &str) -> Value {
    let (subtype, text) = match &summary.ending {
        Ending::Done => ("success", summary.text.clone()),
        Ending::MaxTurns => ("error_max_turns", summary.text.clone()),
        Ending::Interrupted => ("interrupted", summary.text.clone()),
        Ending::Failed { problem, hint } => {
            let hint = hint.as_ref().map(|hint| format!("\n{hint}"));
            (
                "error_during_execution",
                format!("{problem}{}", hint.unwrap_or_default()),
            )
        }
    };
    let denials: Vec<Value> = summary
        .denials
        .iter()
        .map(|denial| {
            json!({
                "tool_use_id": denial.call,
                "tool_name": denial.tool,
                "tool_input": denial.input,
                "reason": denial.reason,
            })
        })
        .collect();
    let mut line = json!({
        "type": "result",
        "subtype": subtype,
        "is_error": summary.ending != Ending::Done,
        "result": text,
        "num_turns": summary.responses,
        "duration_ms": millis(summary.took.as_millis()),
        "usage": summary.usage,
        "permission_denials": denials,
        "session_id": session,
    });
    if let Some(cost) = total_cost(summary) {
        line["total_cost_usd"] = json!(cost);
    }
    line
}

/// In dollars; left out if unknown, and not 0.
fn total_cost(summary: &TurnSummary) -> Option<f64> {
    let has_usage = summary.responses == 0 || summary.usage != Usage::default();
    summary.cost.filter(|_| has_usage)
}

/// The blocks of a message as they are sent to the model: a note is a normal text, an error is inside its tag.
fn as_sent(message: &Message) -> Vec<Block> {
    let sent = message.content.iter().map(|block| match block {
        Block::Text {
            text,
            note: Some(_),
            ..
        } => Block::text(text),
        Block::ToolResult(result) => Block::ToolResult(result.as_sent().into_owned()),
        other => other.clone(),
    });
    sent.collect()
}

/// A call of the model, with its names for the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub wire: WireId,
    pub tool: String,
    /// The call that started the subagent to which this call belongs.
    pub parent: Option<WireId>,
}

/// The line of a call's event, if it has one.
pub fn call(call: &Named, at: Duration, event: &CallEvent, session: &str) -> Option<Value> {
    let mut line = json!({
        "type": "tool",
        "tool_use_id": call.wire,
        "name": call.tool,
        "state": "progress",
        "at_ms": millis(at.as_millis()),
    });
    match event {
        CallEvent::Queued { input, .. } => {
            line["state"] = json!("queued");
            line["input"] = json!(input);
        }
        // A call becomes `executing` once; later phases are progress.
        CallEvent::Reached(Phase::Validating) => line["state"] = json!("executing"),
        CallEvent::Reached(phase) => line["phase"] = json!(phase),
        CallEvent::Progress(printed) => line["text"] = json!(printed.text),
        CallEvent::Completed {
            result,
            ran,
            outcome,
            ..
        } => {
            line["state"] = json!("completed");
            line["is_error"] = json!(result.is_error);
            line["ran_ms"] = json!(millis(ran.as_millis()));
            line["outcome"] = json!(outcome_name(outcome));
            if let CallOutcome::Skipped { why } = outcome {
                line["why"] = json!(why);
            }
        }
        CallEvent::Yielded => line["state"] = json!("yielded"),
        CallEvent::Arriving { .. }
        | CallEvent::Input(_)
        | CallEvent::Asked(_)
        | CallEvent::Decided { .. }
        | CallEvent::Rewritten { .. }
        | CallEvent::Started(_)
        | CallEvent::BackgroundEnded(_) => return None,
    }
    of_parent(&mut line, call.parent.as_ref());
    line["session_id"] = json!(session);
    Some(line)
}

fn outcome_name(outcome: &CallOutcome) -> &'static str {
    match outcome {
        CallOutcome::Succeeded => "succeeded",
        CallOutcome::Failed => "failed",
        CallOutcome::Denied => "denied",
        CallOutcome::Skipped { .. } => "skipped",
        CallOutcome::Cancelled => "cancelled",
        CallOutcome::ByHand => "by_hand",
        CallOutcome::Backgrounded => "backgrounded",
    }
}

fn millis(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{ForPerson, Shown, ToolResult};

    #[test]
    fn a_note_is_printed_like_any_text() {
        let message = Message::from_user(vec![Block::by_hooks("late")]);
        let line = turn(&TurnEvent::Delivered(message), None, "s").expect("a line");
        let text = "<hook>\nlate\n</hook>";
        assert_eq!(
            line["message"]["content"],
            json!([{"type": "text", "text": text}])
        );
    }

    #[test]
    fn an_error_is_printed_with_its_tag() {
        let result = ToolResult::error("a".into(), "no");
        let message = Message::from_user(vec![Block::ToolResult(result)]);
        let line = turn(&TurnEvent::Delivered(message), None, "s").expect("a line");
        let content = json!([{
            "type": "tool_result", "tool_use_id": "a", "is_error": true,
            "content": "<tool_use_error>no</tool_use_error>",
        }]);
        assert_eq!(line["message"]["content"], content);
    }

    #[test]
    fn a_result_has_its_cost_if_it_is_known() {
        let line = |cost, usage| {
            let took = Duration::from_millis(5);
            let summary = TurnSummary {
                responses: 1,
                usage,
                cost,
                ..TurnSummary::of(Ending::Done, took)
            };
            result(&summary, "s").get("total_cost_usd").cloned()
        };
        let usage = Usage {
            input_tokens: Some(10),
            ..Usage::default()
        };
        assert_eq!(line(Some(0.25), usage), Some(json!(0.25)));
        assert_eq!(line(None, usage), None, "the price is unknown");
        let unknown = Usage::default();
        assert_eq!(line(Some(0.0), unknown), None, "the usage is unknown");
    }

    #[test]
    fn a_completed_call_has_its_outcome() {
        let completed = CallEvent::Completed {
            result: ToolResult::error("a".into(), "skipped"),
            ran: Duration::from_millis(3),
            outcome: CallOutcome::Skipped {
                why: "`make` failed".into(),
            },
            for_person: ForPerson::default(),
            shown: Shown::Nothing,
            changed: Vec::new(),
        };
        let named = Named {
            wire: "a".into(),
            tool: "Bash".into(),
            parent: None,
        };
        assert_eq!(
            call(&named, Duration::from_millis(7), &completed, "s"),
            Some(json!({
                "type": "tool",
                "tool_use_id": "a",
                "name": "Bash",
                "state": "completed",
                "at_ms": 7,
                "is_error": true,
                "ran_ms": 3,
                "outcome": "skipped",
                "why": "`make` failed",
                "session_id": "s",
            }))
        );
    }
}
