//! Checks the history before every request and repairs it if necessary, so that no session can become unsendable.
//!
//! The rules: the first message is the person's; roles alternate; no message and no text is empty; calls are the
//! model's, results the person's; every call has exactly one result, in the next message, before all other content
//! and in the order of the calls; ids are unique.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::protocol::{Block, Message, Role, ToolResult, WireId};

/// Repairs `messages` in place. Returns what was repaired, in words for a person.
pub fn repair(messages: &mut Vec<Message>) -> Vec<String> {
    if is_sound(messages) {
        return Vec::new();
    }
    let mut repairs = Repairs::default();
    drop_misplaced(messages, &mut repairs);
    drop_empty(messages, &mut repairs);
    join_neighbours(messages, &mut repairs);
    rename_reused_ids(messages, &mut repairs);
    let old = std::mem::take(messages);
    for message in old {
        match message.role {
            Role::Assistant => add_assistant(messages, message, &mut repairs),
            Role::User => add_user(messages, message, &mut repairs),
        }
    }
    answer_open_calls(messages, &mut repairs);
    repairs.problems
}

/// Whether the history follows all rules. Copies nothing, because this runs before every request.
pub fn is_sound(messages: &[Message]) -> bool {
    let mut used: HashSet<&WireId> = HashSet::new();
    let starts_well = messages
        .first()
        .is_none_or(|first| first.role == Role::User);
    let alternates = messages.windows(2).all(|pair| pair[0].role != pair[1].role);
    let nothing_empty = messages.iter().all(|message| {
        let empty =
            |block: &Block| matches!(block, Block::Text { text, .. } if text.trim().is_empty());
        !message.content.is_empty() && !message.content.iter().any(empty)
    });
    let ids_differ = messages
        .iter()
        .flat_map(Message::tool_uses)
        .all(|call| used.insert(&call.id));
    let in_place = messages.iter().all(|message| {
        let mut blocks = message.content.iter();
        blocks.all(|block| is_in_place(message.role, block))
    });
    starts_well && alternates && nothing_empty && in_place && ids_differ && is_paired(messages)
}

fn is_in_place(role: Role, block: &Block) -> bool {
    match role {
        Role::Assistant => !matches!(block, Block::ToolResult(_)),
        Role::User => !matches!(block, Block::ToolUse(_)),
    }
}

fn is_paired(messages: &[Message]) -> bool {
    let results_of_first = messages
        .first()
        .is_none_or(|first| first.tool_results().next().is_none());
    let last_is_answered = messages
        .last()
        .is_none_or(|last| last.tool_uses().next().is_none());
    let pairs = messages.windows(2).all(|pair| {
        let results_first = pair[1]
            .content
            .is_sorted_by_key(|block| !matches!(block, Block::ToolResult(_)));
        let calls = pair[0].tool_uses().map(|call| &call.id);
        results_first && calls.eq(pair[1].tool_results().map(|result| &result.tool_use_id))
    });
    results_of_first && last_is_answered && pairs
}

#[derive(Default)]
struct Repairs {
    problems: Vec<String>,
}

impl Repairs {
    fn note(&mut self, what: impl Into<String>) {
        self.problems.push(what.into());
    }
}

fn drop_misplaced(messages: &mut [Message], repairs: &mut Repairs) {
    for message in messages {
        let (role, before) = (message.role, message.content.len());
        message.content.retain(|block| is_in_place(role, block));
        if message.content.len() < before {
            repairs.note("removed calls and results from the wrong side");
        }
    }
}

fn drop_empty(messages: &mut Vec<Message>, repairs: &mut Repairs) {
    let before: usize = messages
        .iter()
        .map(|message| message.content.len() + 1)
        .sum();
    for message in messages.iter_mut() {
        message
            .content
            .retain(|block| !matches!(block, Block::Text { text, .. } if text.trim().is_empty()));
    }
    messages.retain(|message| !message.content.is_empty());
    let after: usize = messages
        .iter()
        .map(|message| message.content.len() + 1)
        .sum();
    if after < before {
        repairs.note("removed empty texts");
    }
}

/// Before pairing: a result in the second of two messages belongs to the calls before the first.
fn join_neighbours(messages: &mut Vec<Message>, repairs: &mut Repairs) {
    for message in std::mem::take(messages) {
        match messages.last_mut() {
            Some(last) if last.role == message.role => join(last, message, repairs),
            _ => messages.push(message),
        }
    }
}

fn join(last: &mut Message, mut message: Message, repairs: &mut Repairs) {
    last.content.append(&mut message.content);
    // Two messages of the person in a row are normal: they wrote twice.
    if last.role == Role::Assistant {
        repairs.note("joined two answers in a row");
    }
}

/// Makes every id name one call. A call that reuses an id gets a new one, and so does its result: the first result
/// with an id belongs to the first call with it.
fn rename_reused_ids(messages: &mut [Message], repairs: &mut Repairs) {
    let mut used: HashSet<WireId> = HashSet::new();
    let mut names: HashMap<WireId, VecDeque<WireId>> = HashMap::new();
    for message in messages {
        match message.role {
            Role::Assistant => {
                names.clear();
                for block in &mut message.content {
                    let Block::ToolUse(call) = block else {
                        continue;
                    };
                    let given = call.id.clone();
                    if !used.insert(given.clone()) {
                        call.id = fresh_id(&given, &used);
                        used.insert(call.id.clone());
                        repairs.note(format!("renamed a second call with the id {given}"));
                    }
                    names.entry(given).or_default().push_back(call.id.clone());
                }
            }
            Role::User => {
                for block in &mut message.content {
                    let Block::ToolResult(result) = block else {
                        continue;
                    };
                    let name = names.get_mut(&result.tool_use_id);
                    if let Some(name) = name.and_then(VecDeque::pop_front) {
                        result.tool_use_id = name;
                    }
                }
            }
        }
    }
}

fn fresh_id(id: &WireId, used: &HashSet<WireId>) -> WireId {
    (2..=u64::MAX)
        .map(|number| WireId(format!("{id}_{number}")))
        .find(|fresh| !used.contains(fresh))
        .expect("numbers do not end")
}

fn add_assistant(messages: &mut Vec<Message>, message: Message, repairs: &mut Repairs) {
    match messages.last_mut() {
        None => repairs.note("removed an answer without a question"),
        // The message between them was removed.
        Some(last) if last.role == Role::Assistant => join(last, message, repairs),
        Some(_) => messages.push(message),
    }
}

fn add_user(messages: &mut Vec<Message>, message: Message, repairs: &mut Repairs) {
    let calls: Vec<WireId> = match messages.last() {
        Some(last) if last.role == Role::Assistant => {
            last.tool_uses().map(|call| call.id.clone()).collect()
        }
        _ => Vec::new(),
    };
    let original = message.content.clone();
    let (mut results, mut rest) = (HashMap::new(), Vec::new());
    for block in message.content {
        match block {
            Block::ToolResult(result) => {
                if !calls.contains(&result.tool_use_id) {
                    repairs.note(format!(
                        "removed a result without a call ({})",
                        result.tool_use_id
                    ));
                } else if results.contains_key(&result.tool_use_id) {
                    repairs.note(format!(
                        "removed a second result of one call ({})",
                        result.tool_use_id
                    ));
                } else {
                    results.insert(result.tool_use_id.clone(), result);
                }
            }
            other => rest.push(other),
        }
    }
    let mut content = Vec::with_capacity(calls.len() + rest.len());
    for call in &calls {
        let result = results.remove(call).unwrap_or_else(|| {
            repairs.note(format!("added a missing result ({call})"));
            lost(call)
        });
        content.push(Block::ToolResult(result));
    }
    content.append(&mut rest);
    if content.len() == original.len() && content != original {
        repairs.note("moved results to the front, in the order of their calls");
    }
    if !content.is_empty() {
        messages.push(Message::from_user(content));
    }
}

fn answer_open_calls(messages: &mut Vec<Message>, repairs: &mut Repairs) {
    let Some(last) = messages.last().filter(|last| last.role == Role::Assistant) else {
        return;
    };
    let calls: Vec<WireId> = last.tool_uses().map(|call| call.id.clone()).collect();
    if calls.is_empty() {
        return;
    }
    repairs.note(format!(
        "{} without a result got one",
        if calls.len() == 1 { "a call" } else { "calls" }
    ));
    messages.push(Message::from_user(
        calls
            .iter()
            .map(|call| Block::ToolResult(lost(call)))
            .collect(),
    ));
}

fn lost(call: &WireId) -> ToolResult {
    ToolResult::error(
        call.clone(),
        "The result of this call was lost. It may have had effects; it was not run again",
    )
}
