//! What one hook answered, by its exit code and its output. Pure.
//!
//! With exit code 0 the JSON on stdout decides, if there is any; exit code 2 blocks, and stderr has the reason; any
//! other code is reported to the person and blocks nothing. But if a hook that decides about calls was cut off, the
//! call asks.

use serde_json::{Map, Value};

use super::event::Event;
use super::process::{Ended, Ran};
use crate::permissions::Decision;
use crate::process::child;
use crate::process::output::plain;

/// The longest text that is passed on.
pub const LONGEST_TEXT: usize = 10_000;
/// The longest text about a failed hook.
const LONGEST_COMPLAINT: usize = 1_000;
const MOST_LINES: usize = 10;
/// Fields that may contain a denial. If such a field cannot be understood, the call asks.
const DECISIVE: [&str; 5] = [
    "continue",
    "decision",
    "hookSpecificOutput",
    "permissionDecision",
    "updatedInput",
];

/// What one hook answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookOutput {
    /// The decision about the call. For events without a decision, `Deny` means to block.
    pub decision: Option<(Decision, String)>,
    /// The turn ends, for this reason.
    pub halt: Option<String>,
    pub updated_input: Option<Value>,
    /// A note for the model.
    pub context: Option<String>,
    /// A notice for the person.
    pub message: Option<String>,
    /// What was wrong with the hook.
    pub problem: Option<String>,
}

impl HookOutput {
    pub fn by(event: Event, ran: &Ran) -> Self {
        let text = |bytes: &[u8]| shortened(&plain(bytes), LONGEST_TEXT, usize::MAX);
        match &ran.ended {
            Ended::Process(child::Ended::Exited(0)) => at_exit_0(event, &ran.stdout),
            Ended::Process(child::Ended::Exited(2)) => {
                let stderr = text(&ran.stderr);
                let reason = if stderr.is_empty() {
                    "it gave no reason".to_owned()
                } else {
                    stderr
                };
                match event.blocks() {
                    Some(_) => Self {
                        decision: Some((Decision::Deny, reason)),
                        ..Self::default()
                    },
                    None => Self::failed(format!("exit code 2: {reason}")),
                }
            }
            Ended::Process(child::Ended::Exited(code)) => {
                let stderr = error_text(&ran.stderr);
                let meaning = match code {
                    126 => " (found, but not executable)",
                    127 => " (command not found)",
                    _ => "",
                };
                let output = if stderr.is_empty() {
                    String::new()
                } else {
                    format!(": {stderr}")
                };
                Self::failed(format!("exit code {code}{meaning}{output}"))
            }
            Ended::Process(ended @ child::Ended::Signalled(_)) => {
                Self::failed(format!("it was {ended}"))
            }
            Ended::TimedOut(limit) => {
                let limit = limit.as_secs_f64();
                Self::cut_off(event, format!("it timed out after {limit} s"))
            }
            Ended::Flooded => Self::cut_off(event, "it printed too much".into()),
            Ended::NotStarted(problem) => {
                Self::cut_off(event, format!("it could not be started: {problem}"))
            }
            Ended::Cancelled => Self::default(),
        }
    }

    fn failed(problem: String) -> Self {
        Self {
            problem: Some(problem),
            ..Self::default()
        }
    }

    /// A deciding hook that could not answer has not allowed the call.
    fn cut_off(event: Event, problem: String) -> Self {
        let decision = (event == Event::PreToolUse).then(|| (Decision::Ask, problem.clone()));
        Self {
            decision,
            ..Self::failed(problem)
        }
    }

    fn add_problem(&mut self, problem: String) {
        match &mut self.problem {
            Some(before) => {
                before.push_str("; ");
                before.push_str(&problem);
            }
            None => self.problem = Some(problem),
        }
    }
}

fn at_exit_0(event: Event, stdout: &[u8]) -> HookOutput {
    let printed = String::from_utf8_lossy(stdout);
    let printed = printed.trim();
    if printed.starts_with('{') {
        match serde_json::from_str::<Value>(printed) {
            Ok(Value::Object(output)) => return of_json(event, &output),
            Err(error) if !event.takes_plain_context() => {
                return HookOutput::failed(format!("its output is not valid JSON: {error}"));
            }
            Ok(_) | Err(_) => {}
        }
    }
    let context = (event.takes_plain_context() && !printed.is_empty())
        .then(|| shortened(&plain(stdout), LONGEST_TEXT, usize::MAX));
    HookOutput {
        context,
        ..HookOutput::default()
    }
}

fn of_json(event: Event, output: &Map<String, Value>) -> HookOutput {
    let mut hook_output = HookOutput::default();
    let mut reader = Reader {
        output: &mut hook_output,
        event,
    };
    reader.whole(output);
    hook_output
}

struct Reader<'s> {
    output: &'s mut HookOutput,
    event: Event,
}

impl Reader<'_> {
    fn whole(&mut self, output: &Map<String, Value>) {
        let stop_reason = self.text(output, "stopReason");
        match output.get("continue") {
            None | Some(Value::Null | Value::Bool(true)) => {}
            Some(Value::Bool(false)) => {
                self.output.halt = Some(stop_reason.unwrap_or_else(|| "it gave no reason".into()));
            }
            Some(_) => self.wrong("continue", "true or false"),
        }
        self.output.message = self.text(output, "systemMessage");
        let reason = self.text(output, "reason");
        if let Some(decision) = self.text(output, "decision") {
            self.old_decision(&decision, reason);
        }
        match output.get("hookSpecificOutput") {
            None | Some(Value::Null) => {}
            Some(Value::Object(specific)) => self.specific(specific),
            Some(_) => self.wrong("hookSpecificOutput", "an object"),
        }
    }

    /// `decision` and `reason`, for events that can be blocked, and the old format of `PreToolUse`.
    fn old_decision(&mut self, decision: &str, reason: Option<String>) {
        let reason = reason.unwrap_or_else(|| "it gave no reason".into());
        match decision {
            "block" | "deny" if self.event.blocks().is_some() => {
                self.decide(Decision::Deny, reason);
            }
            "approve" | "allow" if self.event.decides() => self.decide(Decision::Allow, reason),
            // This does not change anything.
            "approve" | "allow" => {}
            _ => self.not_understood("decision", decision),
        }
    }

    fn specific(&mut self, output: &Map<String, Value>) {
        if let Some(name) = self.text(output, "hookEventName")
            && name != self.event.name()
        {
            self.output.add_problem(format!(
                "its `hookEventName` is `{name}`, not {}",
                self.event.name()
            ));
        }
        if let Some(context) = self.text(output, "additionalContext") {
            self.output.context = Some(context);
        }
        match self.event {
            Event::PreToolUse => {
                let reason = self.text(output, "permissionDecisionReason");
                if let Some(decision) = self.text(output, "permissionDecision") {
                    self.permission("permissionDecision", &decision, reason);
                }
                self.update(output);
            }
            Event::PermissionRequest => match output.get("decision") {
                None | Some(Value::Null) => {}
                Some(Value::Object(decision)) => {
                    let message = self.text(decision, "message");
                    if let Some(behavior) = self.text(decision, "behavior") {
                        self.permission("behavior", &behavior, message.clone());
                        if decision.get("interrupt") == Some(&Value::Bool(true))
                            && behavior == "deny"
                        {
                            let why = message.unwrap_or_else(|| "it gave no reason".into());
                            self.output.halt = Some(why);
                        }
                    }
                    self.update(decision);
                }
                Some(_) => self.wrong("decision", "an object"),
            },
            Event::PostToolUse
            | Event::PostToolUseFailure
            | Event::UserPromptSubmit
            | Event::Notification
            | Event::Stop
            | Event::SubagentStop
            | Event::PreCompact
            | Event::SessionStart
            | Event::SessionEnd => {}
        }
    }

    fn permission(&mut self, field: &str, word: &str, reason: Option<String>) {
        let reason = reason.unwrap_or_else(|| "it gave no reason".into());
        match word {
            "allow" => self.decide(Decision::Allow, reason),
            "deny" => self.decide(Decision::Deny, reason),
            "ask" => self.decide(Decision::Ask, reason),
            other => self.not_understood(field, other),
        }
    }

    fn update(&mut self, output: &Map<String, Value>) {
        match output.get("updatedInput") {
            None | Some(Value::Null) => {}
            Some(input @ Value::Object(_)) => self.output.updated_input = Some(input.clone()),
            Some(_) => self.wrong("updatedInput", "an object"),
        }
    }

    /// Keeps the stricter of this and the earlier decision.
    fn decide(&mut self, decision: Decision, reason: String) {
        let stricter = match &self.output.decision {
            None => true,
            Some((before, _)) => rank(decision) > rank(*before),
        };
        if stricter {
            self.output.decision = Some((decision, reason));
        }
    }

    fn not_understood(&mut self, field: &str, word: &str) {
        let word = shortened(word, 100, 1);
        let problem = format!("its `{field}` is `{word}`, which is not a known value");
        if self.event == Event::PreToolUse {
            self.decide(Decision::Ask, problem.clone());
        }
        self.output.add_problem(problem);
    }

    fn wrong(&mut self, field: &str, expected: &str) {
        let problem = format!("its `{field}` is not {expected}");
        if self.event == Event::PreToolUse && DECISIVE.contains(&field) {
            self.decide(Decision::Ask, problem.clone());
        }
        self.output.add_problem(problem);
    }

    fn text(&mut self, output: &Map<String, Value>, field: &str) -> Option<String> {
        match output.get(field)? {
            Value::Null => None,
            Value::String(text) => {
                Some(shortened(text, LONGEST_TEXT, usize::MAX)).filter(|text| !text.is_empty())
            }
            _ => {
                self.wrong(field, "text");
                None
            }
        }
    }
}

/// How strict a decision is.
pub fn rank(decision: Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny => 2,
    }
}

/// The error output of a hook, in a few lines.
pub fn error_text(bytes: &[u8]) -> String {
    shortened(&plain(bytes), LONGEST_COMPLAINT, MOST_LINES)
}

/// At most this many characters and lines of a text, with a mark where something was left out.
pub fn shortened(text: &str, characters: usize, lines: usize) -> String {
    let text = text.trim_end();
    let by_lines = match text.match_indices('\n').nth(lines.saturating_sub(1)) {
        Some((at, _)) if lines < usize::MAX => &text[..at],
        _ => text,
    };
    let end = by_lines.char_indices().nth(characters).map(|(at, _)| at);
    let kept = &by_lines[..end.unwrap_or(by_lines.len())];
    if kept.len() == text.len() {
        return text.to_owned();
    }
    let left_out = text.len() - kept.len();
    format!("{kept}\n… ({left_out} more bytes)")
}
