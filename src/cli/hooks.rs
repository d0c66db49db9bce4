//! `agent-tui hooks test`: runs the hooks of an event outside a conversation, and shows what each received and
//! answered.

use std::path::Path;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::args::{Args, HooksCommand};
use super::launch::this_thread;
use super::project::{Audience, Project};
use super::{UsageError, print_line};
use crate::config::{LONGEST_FILE, read_bounded, read_named};
use crate::hooks::output::{HookOutput, shortened};
use crate::hooks::payload::SampleCall;
use crate::hooks::process::{Ended, Ran};
use crate::hooks::runner::HookRun;
use crate::hooks::{Answer, CommonFields, Event, Payload};
use crate::permissions::Decision;
use crate::process::child;
use crate::process::stderr::print_message;
use crate::protocol::SessionId;
use crate::text::clean;
use crate::tools::registry::Registry;

/// Longer output is cut.
const LONGEST: usize = 10_000;
const MOST_LINES: usize = 200;

pub fn run(args: &Args, command: &HooksCommand) -> Result<u8, UsageError> {
    let HooksCommand::Test { event, input, tool } = command;
    let event = Event::from_name(event).ok_or_else(|| unknown(event))?;
    let fields = match input {
        Some(path) => read(path)?,
        None => Map::new(),
    };
    let project = Project::find(args, Audience::Person)?;
    for warning in &project.settings.warnings {
        print_message(&format!("note: {warning}"));
    }
    if project.settings.disable_all_hooks == Some(true) {
        print_message("note: `disableAllHooks` is set, so no hook runs");
    }
    let payload = Payload::sample(event, &sample_call(tool.as_deref())).overlaid(fields);
    let transcript = project.dirs.sessions().join("example.jsonl");
    let session = SessionId("example".to_owned());
    let runner = project.hooks(&session, &transcript, &project.programs(args));
    if runner.active().hooks.is_empty() {
        print_line("no hooks configured");
        return Ok(0);
    }
    let common = CommonFields {
        cwd: project.workspace.clone(),
        mode: project.mode(args),
    };
    let input = runner.input(&payload, &common);
    let runtime = this_thread()?;
    let runs = runtime.block_on(runner.run_matching(&payload, &input, &CancellationToken::new()));
    if runs.is_empty() {
        print_line(&format!(
            "no hook matches {}{}",
            event.name(),
            about(&payload)
        ));
        return Ok(0);
    }
    for runs in &runs {
        show(runs, &input);
    }
    let answer = Answer::of(
        event,
        runs.iter().map(|runs| (&runs.hook, runs.output.clone())),
    );
    print_line("together");
    for line in understood_together(event, &answer) {
        print_line(&format!("  {}", clean(&line)));
    }
    runtime.shutdown_background();
    Ok(0)
}

/// An example call; by default of the tool that runs commands.
fn sample_call(tool: Option<&str>) -> SampleCall {
    let tools = Registry::built_in();
    let shell = tools.shell().map(|(spec, _)| &*spec.name);
    let tool = tool.or(shell).unwrap_or_default();
    let nothing = || Value::Object(Map::new());
    let input = tools.find(tool).map_or_else(nothing, |tool| tool.sample());
    SampleCall {
        touches: tools.touches(tool, &input),
        tool: tool.to_owned(),
        input,
    }
}

fn unknown(event: &str) -> UsageError {
    let error = UsageError::new(format!("no event named `{event}`"));
    if let Some(nearest) = Event::nearest(event) {
        return error.hint(format!("did you mean `{}`?", nearest.name()));
    }
    let names = Event::ALL.map(Event::name).join(", ");
    error.hint(format!("events: {names}"))
}

fn read(path: &Path) -> Result<Map<String, Value>, UsageError> {
    let read = if path == Path::new("-") {
        read_bounded(std::io::stdin(), LONGEST_FILE)
    } else {
        read_named(path, LONGEST_FILE)
    };
    let name = path.display();
    let bytes = read.map_err(|error| UsageError::new(format!("can't read `{name}`: {error}")))?;
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| UsageError::new(format!("`{name}` is not JSON: {error}")))?;
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(UsageError::new(format!("`{name}` is not a JSON object"))),
    }
}

fn about(payload: &Payload) -> String {
    match payload.event.subject_field() {
        Some(field) => format!(" with `{field}` `{}`", payload.subject()),
        None => String::new(),
    }
}

fn show(runs: &HookRun, input: &[u8]) {
    let HookRun { hook, ran, output } = runs;
    print_line(&clean(&hook.command));
    print_line(&format!("  file     {}", clean(&hook.origin)));
    print_line(&format!("  matcher  {}", clean(hook.matcher.text())));
    block("stdin", input);
    print_line(&format!(
        "  ended    {}, after {} ms",
        ended(ran),
        ran.took.as_millis()
    ));
    block("stdout", &ran.stdout);
    block("stderr", &ran.stderr);
    for line in understood(hook.event, output) {
        print_line(&format!("  means    {}", clean(&line)));
    }
    print_line("");
}

/// The hook's text, without control characters.
fn block(name: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        print_line(&format!("  {name:<8} (nothing)"));
        return;
    }
    for (at, line) in shortened(&text, LONGEST, MOST_LINES).lines().enumerate() {
        let name = if at == 0 { name } else { "" };
        print_line(&format!("  {name:<8} {}", clean(line)));
    }
}

fn ended(ran: &Ran) -> String {
    match &ran.ended {
        Ended::Process(child::Ended::Exited(code)) => format!("exit code {code}"),
        Ended::Process(child::Ended::Signalled(signal)) => format!("by signal {signal}"),
        Ended::TimedOut(limit) => format!("timed out ({} s)", limit.as_secs_f64()),
        Ended::Flooded => "stopped: it printed too much".to_owned(),
        Ended::Cancelled => "cancelled".to_owned(),
        Ended::NotStarted(problem) => format!("could not start: {problem}"),
    }
}

/// What a hook answered, a line each.
fn understood(event: Event, output: &HookOutput) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some((decision, reason)) = &output.decision {
        lines.push(format!("{}: {reason}", verb(event, *decision)));
    }
    if let Some(reason) = &output.halt {
        lines.push(format!("stops the turn: {reason}"));
    }
    if let Some(input) = &output.updated_input {
        lines.push(format!("rewrites the input: {input}"));
    }
    if let Some(context) = &output.context {
        lines.push(format!("tells the model: {context}"));
    }
    if let Some(message) = &output.message {
        lines.push(format!("tells you: {message}"));
    }
    if let Some(problem) = &output.problem {
        lines.push(format!("failed: {problem}"));
    }
    if lines.is_empty() {
        lines.push("no effect".to_owned());
    }
    lines
}

fn understood_together(event: Event, answer: &Answer) -> Vec<String> {
    let output = HookOutput {
        decision: answer
            .decision
            .as_ref()
            .map(|word| (word.decision, format!("{} ({})", word.reason, word.by))),
        halt: answer.halt.as_ref().map(|halt| halt.reason.clone()),
        updated_input: answer
            .updated_input
            .as_ref()
            .map(|(input, _)| input.clone()),
        context: (!answer.context.is_empty()).then(|| answer.context.join("\n")),
        message: None,
        problem: None,
    };
    let mut lines = understood(event, &output);
    lines.extend(answer.notices.iter().cloned());
    lines
}

fn verb(event: Event, decision: Decision) -> String {
    match (decision, event.decides()) {
        (Decision::Allow, _) => "allows".to_owned(),
        (Decision::Ask, _) => "asks".to_owned(),
        (Decision::Deny, true) => "denies".to_owned(),
        (Decision::Deny, false) => match event.blocks() {
            Some(what) => format!("blocks {what}"),
            None => "blocks nothing".to_owned(),
        },
    }
}
