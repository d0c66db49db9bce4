//! The content of a session, for the list.

use std::collections::HashMap;
use std::path::Path;

use crate::app::job::SessionContent;
use crate::app::page::{Line, Tone};
use crate::protocol::{AgentId, CallOutcome, CallRef, ToolInfo};
use crate::session::{Record, log};
use crate::text::beginning;

/// Longer logs are not read for this.
const LONGEST: u64 = 16 << 20;
/// How many of the last lines are kept, to show and to search.
const MOST_LINES: usize = 300;
const LONGEST_LINE: usize = 400;

pub fn read(path: &Path, id: &str) -> Option<SessionContent> {
    let length = std::fs::metadata(path).ok()?.len();
    if length > LONGEST {
        return None;
    }
    let contents = log::read_file(path).ok()?;
    let mut content = SessionContent {
        id: id.to_owned(),
        ..SessionContent::default()
    };
    let mut calls: HashMap<CallRef, String> = HashMap::new();
    let main = contents.lines.iter();
    let main = main.filter(|line| line.agent == AgentId::MAIN);
    for record in main.map(|line| &line.record) {
        take(record, &mut content, &mut calls);
    }
    let surplus = content.end.len().saturating_sub(MOST_LINES);
    content.end.drain(..surplus);
    Some(content)
}

fn take(record: &Record, content: &mut SessionContent, calls: &mut HashMap<CallRef, String>) {
    match record {
        Record::Run { model, branch, .. } => {
            content.model.clone_from(model);
            content.branch.clone_from(branch);
        }
        Record::Renamed { title } => content.title = Some(title.clone()),
        Record::User { message } => {
            content.messages += 1;
            if !content.end.is_empty() {
                content.end.push(Line::blank());
            }
            say(&message.text(), Tone::Person, Some("▌ "), &mut content.end);
        }
        Record::Assistant { message, .. } => {
            say(&message.text(), Tone::Text, None, &mut content.end);
        }
        Record::Call { call } => {
            content.calls += 1;
            let about = ToolInfo::unknown(&call.name).subject;
            let subject = about.of(&call.input).unwrap_or_default();
            let subject = subject.lines().next().unwrap_or_default();
            let words = format!("{} {subject}", call.name);
            calls.insert(call.call, words);
        }
        Record::Result {
            call,
            outcome,
            changed,
            ..
        } => {
            content.added += changed.iter().map(|it| it.added).sum::<usize>();
            content.removed += changed.iter().map(|it| it.removed).sum::<usize>();
            if let Some(words) = calls.remove(call) {
                let (mark, tone) = match outcome {
                    CallOutcome::Succeeded => ("✓ ", Tone::Good),
                    _ => ("✗ ", Tone::Bad),
                };
                let words = beginning(&words, LONGEST_LINE);
                content.end.push(Line::muted(words).lead(tone, mark));
            }
        }
        Record::Spent { spending } => content.cost = spending.cost,
        _ => {}
    }
}

fn say(text: &str, tone: Tone, mark: Option<&str>, page: &mut Vec<Line>) {
    for line in text.lines() {
        let line = Line::new(tone, beginning(line, LONGEST_LINE));
        page.push(match mark {
            Some(mark) => line.lead(Tone::Person, mark),
            None => line,
        });
    }
}
