//! The progress of a step, derived from the calls that were made for it.
//!
//! Nothing is remembered: the calls of a plan follow from its words and from earlier results, so a call that the
//! conversation already holds is done, and the first that it does not hold comes next. A resumed session therefore
//! continues where it stopped, and no call is made twice.

use std::collections::HashMap;

use serde_json::Value;

use super::calls::{self, Call};
use super::demo;
use super::grammar::{Action, Scope, Step};
use super::replace::Replace;
use super::report::{Outcome, Part, StepOutcome, code, first_lines, last_lines};
use crate::protocol::{Message, ResultBlock, ToolResult, ToolUse, WireId};
use crate::text::plural;

const SEARCH_LINES: usize = 50;
const EDIT_LINES: usize = 50;
const ERROR_LINES: usize = 50;
const READ_LINES: usize = 200;
const RUN_LINES: usize = 200;

/// Where a step is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    /// These calls come next; `announcement` announces them.
    Wants {
        announcement: String,
        calls: Vec<Call>,
    },
    Ended(Outcome),
}

/// The calls that were made since the request, with their results, in order.
#[derive(Debug)]
pub(super) struct Past<'a> {
    calls: Vec<(&'a ToolUse, &'a ToolResult)>,
}

impl<'a> Past<'a> {
    pub(super) fn of(messages: &'a [Message]) -> Self {
        let results: HashMap<&WireId, &ToolResult> = messages
            .iter()
            .flat_map(Message::tool_results)
            .map(|result| (&result.tool_use_id, result))
            .collect();
        let calls = messages.iter().flat_map(Message::tool_uses);
        Self {
            calls: calls
                .filter_map(|call| Some((call, *results.get(&call.id)?)))
                .collect(),
        }
    }

    /// The list as the last call left it: a `TodoWrite` call writes it whole.
    pub(super) fn todos(&self) -> Vec<Value> {
        let written = self.calls.iter().rev().find_map(|(call, result)| {
            let is_written = call.name == "TodoWrite" && !result.is_error;
            is_written.then(|| call.input.get("todos")?.as_array())?
        });
        written.cloned().unwrap_or_default()
    }

    /// The result of the earliest such call, which then belongs to the asking step alone.
    pub(super) fn take(&mut self, call: &Call) -> Option<&'a ToolResult> {
        let at = self.calls.iter().position(|(made, _)| call.is(made))?;
        Some(self.calls.remove(at).1)
    }

    /// The results of all of them, or those calls that have none yet.
    pub(super) fn take_all(&mut self, calls: Vec<Call>) -> Result<Vec<&'a ToolResult>, Vec<Call>> {
        let mut results = Vec::new();
        let mut missing = Vec::new();
        for call in calls {
            match self.take(&call) {
                Some(result) => results.push(result),
                None => missing.push(call),
            }
        }
        if missing.is_empty() {
            Ok(results)
        } else {
            Err(missing)
        }
    }
}

/// `todos` is the list as it is before the step; the step's items are added to it.
pub(super) fn advance(
    step: &Step,
    past: &mut Past<'_>,
    todos: &mut Vec<Value>,
    is_offered: impl Fn(&str) -> bool,
) -> State {
    let verb = step.action.verb();
    if let Some(tool) = verb.tools().iter().find(|tool| !is_offered(tool)) {
        let problem = format!(
            "`{}` needs the tool `{tool}`, which is not available in this run.",
            verb.name()
        );
        return wrong(vec![Part::Sentence(problem)]);
    }
    match &step.action {
        Action::Read { file } => {
            let announcement = format!("Reading {}.", code(file));
            one_call(step, past, calls::read(file), announcement, |text| {
                first_lines(text, READ_LINES)
            })
        }
        Action::Find { glob } => {
            let announcement = format!("Looking for {}.", code(glob));
            one_call(step, past, calls::find(glob), announcement, whole)
        }
        Action::Search { regex, scope } => {
            let announcement = format!("Searching for {}{}.", code(regex), place(scope.as_ref()));
            let call = calls::search(regex, scope.as_ref());
            one_call(step, past, call, announcement, |text| {
                first_lines(text, SEARCH_LINES)
            })
        }
        Action::Run { command } => {
            let announcement = format!("Running {}.", code(command));
            one_call(step, past, calls::run(command), announcement, |text| {
                last_lines(text, RUN_LINES)
            })
        }
        Action::Fetch { url } => {
            let announcement = format!("Fetching {}.", code(url));
            one_call(step, past, calls::fetch(url), announcement, |text| {
                first_lines(text, READ_LINES)
            })
        }
        Action::Undo => {
            let announcement = "Undoing the last changes.".to_owned();
            one_call(step, past, calls::undo(), announcement, whole)
        }
        Action::Agents { regex } => demo::agents(step, past, regex),
        Action::Ask => demo::ask(step, past),
        Action::Plan { task } => demo::plan(step, past, task),
        Action::Todo { items } => todo(step, past, todos, items),
        Action::Edit {
            file,
            old,
            new,
            all,
        } => edit(step, past, file, (old, new), *all),
        Action::Replace { old, new, scope } => {
            let replace = Replace {
                old,
                new,
                scope: scope.as_ref(),
            };
            replace.advance(step, past)
        }
    }
}

/// A step of a single call, whose result is what the person wanted to see.
pub(super) fn one_call(
    step: &Step,
    past: &mut Past<'_>,
    call: Call,
    announcement: String,
    clip: impl Fn(&str) -> String,
) -> State {
    match past.take(&call) {
        None => State::Wants {
            announcement,
            calls: vec![call],
        },
        Some(result) if result.is_error => failed(step, result),
        Some(result) => well(vec![shown(step, result, clip)]),
    }
}

fn todo(step: &Step, past: &mut Past<'_>, todos: &mut Vec<Value>, items: &[String]) -> State {
    todos.extend(items.iter().map(|item| calls::todo_item(item)));
    let call = calls::todo(todos);
    let added = plural(items.len(), "item");
    match past.take(&call) {
        None => State::Wants {
            announcement: format!("Adding {added} to the list."),
            calls: vec![call],
        },
        Some(result) if result.is_error => failed(step, result),
        Some(_) => well(vec![Part::Sentence(format!(
            "Added {added} to the list; it has {} now.",
            todos.len()
        ))]),
    }
}

/// Reads before it edits: a file must be read before it can be changed.
fn edit(
    step: &Step,
    past: &mut Past<'_>,
    file: &str,
    (old, new): (&str, &str),
    all: bool,
) -> State {
    let read = calls::read(file);
    let Some(content) = past.take(&read) else {
        return State::Wants {
            announcement: format!("Reading {}.", code(file)),
            calls: vec![read],
        };
    };
    if content.is_error {
        return failed(step, content);
    }
    let edit = if all {
        calls::edit_all(file, old, new)
    } else {
        calls::edit(file, old, new)
    };
    match past.take(&edit) {
        None => State::Wants {
            announcement: format!("Editing {}.", code(file)),
            calls: vec![edit],
        },
        Some(result) if occurs_often(result) => wrong(vec![Part::Sentence(format!(
            "{} occurs more than once in {}. To change all of them: {}. To change one, add the text next to it: \
             `edit FILE: more of the line => its new text`.",
            code(old),
            code(file),
            code(&format!("edit {file} all: {old} => {new}")),
        ))]),
        Some(result) if result.is_error => failed(step, result),
        Some(result) => well(vec![
            Part::Sentence(format!("Edited {}:", code(file))),
            shown(step, result, |text| first_lines(text, EDIT_LINES)),
        ]),
    }
}

/// Whether the edit was refused because its text is in several places: the tool's error says so.
fn occurs_often(result: &ToolResult) -> bool {
    let text = result.as_text();
    result.is_error && text.contains("matches of the string to replace")
}

pub(super) fn whole(text: &str) -> String {
    text.trim_end().to_owned()
}

pub(super) fn place(scope: Option<&Scope>) -> String {
    match scope {
        Some(Scope::Glob(place) | Scope::Path(place)) => format!(" in {}", code(place)),
        None => String::new(),
    }
}

pub(super) fn well(parts: Vec<Part>) -> State {
    State::Ended(Outcome {
        went: StepOutcome::Well,
        parts,
    })
}

pub(super) fn wrong(parts: Vec<Part>) -> State {
    State::Ended(Outcome {
        went: StepOutcome::Wrong,
        parts,
    })
}

fn shown(step: &Step, result: &ToolResult, clip: impl Fn(&str) -> String) -> Part {
    let text = result.as_text();
    if !text.trim().is_empty() {
        return Part::Quote(clip(&text));
    }
    let is_image = |block: &ResultBlock| matches!(block, ResultBlock::Image(_));
    Part::Sentence(if result.content.iter().any(is_image) {
        format!(
            "{} returned an image, which only a real model can see.",
            code(&step.source)
        )
    } else {
        format!("{} printed nothing.", code(&step.source))
    })
}

/// The call may have failed, been denied, or been skipped: its result says which.
pub(super) fn failed(step: &Step, result: &ToolResult) -> State {
    let problem = problem(result);
    let source = code(&step.source);
    wrong(if problem.contains('\n') {
        vec![
            Part::Sentence(format!("{source} failed:")),
            Part::Quote(last_lines(&problem, ERROR_LINES)),
        ]
    } else {
        vec![Part::Sentence(format!("{source} failed: {problem}"))]
    })
}

/// What an error result says.
pub(super) fn problem(result: &ToolResult) -> String {
    let text = result.as_text();
    let text = text.trim();
    if text.is_empty() {
        "the tool did not say why".to_owned()
    } else {
        text.to_owned()
    }
}
