//! A custom tool: a shell command that gets the input as JSON and prints the result.
//!
//! It runs like a Bash command that was approved: in its own process group, without a terminal, without the API keys
//! of providers. If its author calls it read-only, its calls may run in parallel, but they still ask.

mod output;
#[cfg(test)]
mod tests;

use std::io::{Seek, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use jsonschema::Validator;
use serde_json::Value;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::any::{AnyTool, CallFacts, violations};
use super::bash::capture::Capture;
use super::bash::conclude;
use super::bash::shell::{Ended, Shell, Start};
use super::registry::{Origin, Registry};
use super::{DescribeCx, MAX_RESULT_CHARS, ToolCx, ToolError, ToolErrorKind, ToolOutput, ToolSpec};
use crate::config::hidden;
use crate::permissions::Grant;
use crate::process::child;
use crate::process::output::{DRAIN, plain, read_some};
use crate::protocol::{
    CustomTool, Level, PartOfFile, Program, SubjectFields, ToolDefinition, Touches,
};

/// Contains the input in addition to stdin, unless it is too long for the kernel.
const VARIABLE: &str = "AGENT_TUI_INPUT";
const LONGEST_VARIABLE: usize = 100_000;
const PROJECT: &str = "AGENT_TUI_PROJECT_DIR";
/// The most of stderr that is kept.
const MOST_ERRORS: usize = 64 << 10;

pub struct Custom {
    tool: CustomTool,
    spec: ToolSpec,
    validator: OnceLock<Option<Validator>>,
}

impl Custom {
    pub fn new(tool: CustomTool) -> Self {
        let spec = ToolSpec {
            interrupt: tool.interrupt,
            max_result_chars: tool.max_result_chars.unwrap_or(MAX_RESULT_CHARS),
            subject: subject(&tool.input_schema),
            ruled: None,
            ..ToolSpec::new(&tool.name, &tool.description, Level::Confirm, "")
        };
        Self {
            tool,
            spec,
            validator: OnceLock::new(),
        }
    }

    fn validator(&self) -> Option<&Validator> {
        let compile = || jsonschema::validator_for(&self.tool.input_schema).ok();
        self.validator.get_or_init(compile).as_ref()
    }

    async fn run(&self, input: &Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let (mut shell, errors) = self.start(input, cx).map_err(|error| {
            ToolError::new(format!("The tool could not be started: {error}"))
                .with_sentence(format!("could not be started: {error}"))
        })?;
        let mut capture = Capture::new(&cx.env.results_dir, cx.call);
        let limit = Duration::from_millis(self.tool.timeout_ms);
        let ended = shell.run(&mut capture, limit, cx).await;
        let left = shell.transfer_to(&cx.env.groups, &self.tool.command);
        let errors = errors.finish().await;
        let succeeded = matches!(ended, Ended::Process(child::Ended::Exited(0)));
        if succeeded && let Some(output) = capture.whole().and_then(|whole| output::blocks(&whole))
        {
            return output;
        }
        let mut text = capture.finish(MAX_RESULT_CHARS.max(self.spec.max_result_chars));
        if !errors.is_empty() && (!succeeded || text.is_empty()) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&errors);
        }
        conclude(ended, false, text, left).map_err(|error| match error.kind {
            // Only a failed command of the model makes later calls pointless.
            ToolErrorKind::CommandFailed | ToolErrorKind::Blocked => ToolError {
                kind: ToolErrorKind::Refused,
                ..error
            },
            ToolErrorKind::Refused | ToolErrorKind::Cancelled => error,
        })
    }

    fn start(&self, input: &Value, cx: &ToolCx) -> std::io::Result<(Shell, Errors)> {
        let json = input.to_string();
        // A file instead of a pipe: a tool that does not read its input cannot block.
        let mut stdin = tempfile::tempfile()?;
        stdin.write_all(json.as_bytes())?;
        stdin.rewind()?;
        let mut variables = vec![(PROJECT, cx.env.workspace.clone().into_os_string())];
        if json.len() <= LONGEST_VARIABLE {
            variables.push((VARIABLE, json.into()));
        }
        let (errors, writer) = std::io::pipe()?;
        let shell = Shell::start(Start {
            stdin: Stdio::from(stdin),
            errors: Some(writer),
            variables,
            ..Start::new(&self.tool.command, &cx.env.workspace, &cx.env)
        })?;
        let errors = pipe::Receiver::from_owned_fd(errors.into())?;
        Ok((shell, Errors::read(errors)))
    }
}

impl AnyTool for Custom {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn definition(&self, _about: &DescribeCx) -> ToolDefinition {
        ToolDefinition {
            name: self.spec.name.to_string(),
            description: self.spec.description.to_string(),
            input_schema: self.tool.input_schema.clone(),
            strict: false,
            input_examples: Vec::new(),
            server: None,
        }
    }

    fn facts(&self, input: &Value) -> CallFacts {
        CallFacts {
            safe: self.tool.read_only,
            read_only: self.tool.read_only,
            subject: self.spec.subject.of(input),
        }
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    fn sample(&self) -> Value {
        Value::Object(serde_json::Map::new())
    }

    fn program(&self, cx: &ToolCx) -> Option<Program> {
        Some(Program {
            command: self.tool.command.clone(),
            directory: cx.env.workspace.display().to_string(),
            input: format!("as JSON on stdin and in {VARIABLE}"),
        })
    }

    fn prepare(&self) {
        self.validator();
    }

    fn violations(&self, input: &Value) -> Vec<String> {
        violations(self.validator(), &self.spec.name, input)
    }

    fn call<'a>(
        &'a self,
        input: &'a Value,
        _part: Option<Vec<PartOfFile>>,
        _grant: Grant,
        cx: ToolCx,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        async move { self.run(input, &cx).await }.boxed()
    }
}

/// Replaces all tools that files have added before. Returns the names that were already taken, and by what.
pub fn replace(registry: &mut Registry, tools: &[CustomTool]) -> Vec<String> {
    registry.remove_those_of(|origin| matches!(origin, Origin::File(_)));
    let mut problems = Vec::new();
    for tool in tools {
        let origin = Origin::File(tool.source.clone());
        let added = registry.insert(Arc::new(Custom::new(tool.clone())), origin);
        problems.extend(added.err().map(|taken| taken.to_string()));
    }
    problems
}

/// The string fields of the schema are the best description of a call.
pub fn subject(schema: &Value) -> SubjectFields {
    let properties = schema["properties"].as_object();
    let texts = properties.into_iter().flatten();
    let texts = texts.filter(|(_, about)| about["type"] == "string");
    SubjectFields {
        what: texts.map(|(name, _)| name.as_str().into()).collect(),
        ..SubjectFields::default()
    }
}

/// The part of stderr that is kept.
struct Errors {
    kept: Arc<Mutex<Vec<u8>>>,
    reading: JoinHandle<()>,
}

impl Errors {
    fn read(pipe: pipe::Receiver) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let into = kept.clone();
        let reading = tokio::spawn(async move {
            while let Ok(bytes) = read_some(&pipe).await {
                if bytes.is_empty() {
                    break;
                }
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MOST_ERRORS.saturating_sub(kept.len()).min(bytes.len());
                kept.extend_from_slice(&bytes[..room]);
            }
        });
        Self { kept, reading }
    }

    /// All of it. Processes that the tool left running may hold the pipe open, and are not waited for.
    async fn finish(mut self) -> String {
        if timeout(DRAIN, &mut self.reading).await.is_err() {
            self.reading.abort();
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        hidden(plain(&kept))
    }
}
