//! The input of a hook: the fields of its event, with the names from Claude Code. Pure.

use serde_json::{Map, Value, json};

use super::event::Event;
use crate::protocol::{CallRef, QuestionKind, ResultBlock, ToolCall, Touches};

/// An event with its own fields, without those that every hook gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    pub event: Event,
    fields: Map<String, Value>,
}

/// Why a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Startup,
    Resume,
    Clear,
}

impl Source {
    const fn name(self) -> &'static str {
        match self {
            Source::Startup => "startup",
            Source::Resume => "resume",
            Source::Clear => "clear",
        }
    }
}

/// An example of a call, for testing hooks.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleCall {
    pub tool: String,
    pub input: Value,
    pub touches: Touches,
}

/// What a notification is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    PermissionPrompt,
    /// A tool asks something.
    ElicitationDialog,
    IdlePrompt,
}

impl Notification {
    /// The notification for a call that waits for the person, and its message.
    pub fn of_question(question: &QuestionKind) -> (Self, String) {
        match question {
            QuestionKind::Permission(request) => (
                Notification::PermissionPrompt,
                format!("agent-tui needs your permission to use {}", request.tool),
            ),
            QuestionKind::Choice(requests) => {
                let first = requests.first().map(|first| first.question.clone());
                (Notification::ElicitationDialog, first.unwrap_or_default())
            }
            QuestionKind::Form(form) => (Notification::ElicitationDialog, form.message.clone()),
        }
    }
}

impl Payload {
    pub fn pre_tool_use(call: &ToolCall) -> Self {
        Self::of_call(Event::PreToolUse, call)
    }

    pub fn permission_request(call: &ToolCall) -> Self {
        Self::of_call(Event::PermissionRequest, call)
    }

    pub fn post_tool_use(call: &ToolCall, touches: &Touches, output: &[ResultBlock]) -> Self {
        let response = response(touches, output);
        Self::of_call(Event::PostToolUse, call).with("tool_response", response)
    }

    pub fn post_tool_use_failure(call: &ToolCall, error: &str) -> Self {
        Self::of_call(Event::PostToolUseFailure, call)
            .with("error", json!(error))
            .with("is_interrupt", json!(false))
    }

    pub fn user_prompt_submit(prompt: &str) -> Self {
        Self::of(Event::UserPromptSubmit).with("prompt", json!(prompt))
    }

    pub fn notification(kind: Notification, message: &str) -> Self {
        let (title, name) = match kind {
            Notification::PermissionPrompt => ("Permission needed", "permission_prompt"),
            Notification::ElicitationDialog => ("Question", "elicitation_dialog"),
            Notification::IdlePrompt => ("Waiting", "idle_prompt"),
        };
        Self::of(Event::Notification)
            .with("message", json!(message))
            .with("title", json!(title))
            .with("notification_type", json!(name))
    }

    /// `active` says that a hook has already made the model continue.
    pub fn stop(active: bool, last_message: &str) -> Self {
        Self::of(Event::Stop)
            .with("stop_hook_active", json!(active))
            .with("last_assistant_message", json!(last_message))
    }

    /// The same for a subagent.
    pub fn subagent_stop(agent: &str, kind: &str, active: bool, last_message: &str) -> Self {
        let stop = Self {
            event: Event::SubagentStop,
            ..Self::stop(active, last_message)
        };
        stop.with("agent_id", json!(agent))
            .with("agent_type", json!(kind))
    }

    pub fn session_start(source: Source, model: &str) -> Self {
        Self::of(Event::SessionStart)
            .with("source", json!(source.name()))
            .with("model", json!(model))
    }

    pub fn session_end(reason: &str) -> Self {
        Self::of(Event::SessionEnd).with("reason", json!(reason))
    }

    /// An example of an event, for testing hooks; if it is about a call, about this one.
    pub fn sample(event: Event, call: &SampleCall) -> Self {
        let (tool, touches) = (&call.tool, &call.touches);
        let call = call.made();
        match event {
            Event::PreToolUse => Self::pre_tool_use(&call),
            Event::PostToolUse => {
                Self::post_tool_use(&call, touches, &[ResultBlock::text("hello")])
            }
            Event::PostToolUseFailure => Self::post_tool_use_failure(&call, "Exit code 1"),
            Event::UserPromptSubmit => Self::user_prompt_submit("Fix the failing test"),
            Event::PermissionRequest => Self::permission_request(&call),
            Event::Notification => Self::notification(
                Notification::PermissionPrompt,
                &format!("agent-tui needs your permission to use {tool}"),
            ),
            Event::Stop => Self::stop(false, "Done."),
            Event::SubagentStop => Self::subagent_stop("task_1", "general", false, "Done."),
            Event::PreCompact => Self::of(event)
                .with("trigger", json!("manual"))
                .with("custom_instructions", json!("")),
            Event::SessionStart => Self::session_start(Source::Startup, "model"),
            Event::SessionEnd => Self::session_end("other"),
        }
    }

    /// The same, with fields from a file that replace or extend its own.
    #[must_use]
    pub fn overlaid(mut self, fields: Map<String, Value>) -> Self {
        self.fields.extend(fields);
        self
    }

    /// The value that matchers are compared with.
    pub fn subject(&self) -> &str {
        let field = self.event.subject_field();
        let subject = field.and_then(|field| self.fields.get(field));
        subject.and_then(Value::as_str).unwrap_or_default()
    }

    /// The whole input: the common fields, then those of this event. Fields from a file win.
    pub fn input(&self, common: Map<String, Value>) -> Value {
        let mut whole = common;
        whole.extend(self.fields.clone());
        whole.insert("hook_event_name".to_owned(), json!(self.event.name()));
        Value::Object(whole)
    }

    fn of(event: Event) -> Self {
        Self {
            event,
            fields: Map::new(),
        }
    }

    fn of_call(event: Event, call: &ToolCall) -> Self {
        Self::of(event)
            .with("tool_name", json!(call.name))
            .with("tool_input", json!(call.input))
            .with("tool_use_id", json!(call.id))
    }

    fn with(mut self, field: &str, value: Value) -> Self {
        self.fields.insert(field.to_owned(), value);
        self
    }
}

/// The response of a tool: its content, and the fields that hooks for Claude Code expect.
fn response(touches: &Touches, output: &[ResultBlock]) -> Value {
    let content = match output {
        [ResultBlock::Text { text }] => json!(text),
        blocks => json!(blocks),
    };
    let mut response = json!({ "content": content, "is_error": false });
    if let Touches::Command(_) = touches {
        response["stdout"] = json!(ResultBlock::texts(output));
        response["stderr"] = json!("");
        response["interrupted"] = json!(false);
    } else if let Some(path) = touches.file() {
        response["filePath"] = json!(path);
        response["success"] = json!(true);
    }
    response
}

impl SampleCall {
    fn made(&self) -> ToolCall {
        ToolCall {
            call: CallRef::main(1),
            id: "toolu_sample".into(),
            name: self.tool.clone(),
            input: self.input.clone().into(),
        }
    }
}
