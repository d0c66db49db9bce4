//! The answer of the built-in interpreter to a conversation.
//!
//! Pure: the last prompt is the plan, the calls and results after it show its progress. The answer is either a sentence
//! and the next calls, or the closing text.

use serde_json::Value;

use super::calls::Call;
use super::grammar::{self, Plan, Step};
use super::progress::{Past, State, advance};
use super::report::{self, Form, Outcome, StepOutcome};
use crate::protocol::{Block, Message, Role, ToolDefinition, ToolUse, WireId};

/// What the interpreter says and does next. Equal conversations get equal answers.
pub fn answer(messages: &[Message], tools: &[ToolDefinition], form: Form) -> Vec<Block> {
    let is_offered = |name: &str| tools.iter().any(|tool| tool.name == name);
    let Some((at, prompt)) = last_prompt(messages) else {
        let help = report::misread(&grammar::Misread::Help, is_offered);
        return vec![Block::text(help)];
    };
    let mut paragraphs = Vec::new();
    if at + 1 == messages.len() {
        paragraphs.extend(left_behind(messages, is_offered, form));
    }
    let mut calls = Vec::new();
    match grammar::parse(&prompt) {
        Err(misread) => paragraphs.push(report::misread(&misread, is_offered)),
        Ok(plan) => {
            let position = position(&plan, &messages[..at], &messages[at + 1..], is_offered);
            if position.calls.is_empty() {
                paragraphs.push(report::closing(&position.ended, &position.left, form));
            } else {
                paragraphs.push(position.announcements.join(" "));
                calls = position.calls;
            }
        }
    }
    let calls = calls.into_iter().enumerate().map(|(index, call)| {
        // The number of messages makes it unique in the conversation, and the same for the same conversation.
        let id = WireId(format!("builtin_{}_{index}", messages.len()));
        Block::ToolUse(ToolUse {
            id,
            name: call.tool.to_owned(),
            input: Value::Object(call.input).into(),
            input_raw: None,
            input_error: None,
        })
    });
    let mut blocks = vec![Block::text(paragraphs.join("\n\n"))];
    blocks.extend(calls);
    blocks
}

/// The progress of a plan.
struct Position<'a> {
    ended: Vec<(&'a Step, Outcome)>,
    announcements: Vec<String>,
    calls: Vec<Call>,
    /// Unfinished steps: those that need the calls, and those after them.
    left: Vec<&'a Step>,
}

fn position<'a>(
    plan: &'a Plan,
    before: &[Message],
    since: &[Message],
    is_offered: impl Fn(&str) -> bool,
) -> Position<'a> {
    let mut past = Past::of(since);
    let mut todos = Past::of(before).todos();
    let mut position = Position {
        ended: Vec::new(),
        announcements: Vec::new(),
        calls: Vec::new(),
        left: Vec::new(),
    };
    let mut continues = true;
    for stage in &plan.stages {
        if !continues {
            position.left.extend(stage);
            continue;
        }
        for step in stage {
            match advance(step, &mut past, &mut todos, &is_offered) {
                State::Wants {
                    announcement,
                    calls,
                } => {
                    position.announcements.push(announcement);
                    position.calls.extend(calls);
                    position.left.push(step);
                    continues = false;
                }
                State::Ended(outcome) => {
                    continues &= outcome.went == StepOutcome::Well;
                    position.ended.push((step, outcome));
                }
            }
        }
    }
    position
}

/// A message typed while calls ran arrives with their results and replaces the request they belong to. This says what
/// was done of that request, and what was not.
fn left_behind(
    messages: &[Message],
    is_offered: impl Fn(&str) -> bool,
    form: Form,
) -> Option<String> {
    let (last, earlier) = messages.split_last()?;
    last.tool_results().next()?;
    let (at, prompt) = last_prompt(earlier)?;
    let plan = grammar::parse(&prompt).ok()?;
    let position = position(&plan, &messages[..at], &messages[at + 1..], is_offered);
    Some(report::closing(&position.ended, &position.left, form))
}

/// The last message in which a person asks for something, with its place.
fn last_prompt(messages: &[Message]) -> Option<(usize, String)> {
    messages
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, message)| match message.role {
            Role::User => Some((at, prompt(message)?)),
            Role::Assistant => None,
        })
}

/// The person's words in a message; `None` if it only contains results.
fn prompt(message: &Message) -> Option<String> {
    let texts = message.content.iter().filter_map(|block| match block {
        Block::Text {
            text, note: None, ..
        } => Some(text.trim()),
        Block::Text { note: Some(_), .. }
        | Block::Image(_)
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::Refusal { .. }
        | Block::ToolUse(_)
        | Block::ServerToolUse { .. }
        | Block::ToolResult(_)
        | Block::Other { .. } => None,
    });
    let words: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    let has_results = message.tool_results().next().is_some();
    (!has_results || !words.is_empty()).then(|| words.join("\n"))
}

#[cfg(test)]
pub(super) mod tests;
