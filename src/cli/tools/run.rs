//! `agent-tui tools run`: runs one tool through all steps of a call, for people who write tools, rules and hooks.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::terminal::Terminal;
use crate::cli::args::Args;
use crate::cli::launch::{self, engine};
use crate::cli::project::{Audience, Project};
use crate::cli::servers::{self, Servers};
use crate::cli::{UsageError, print_line};
use crate::config::{LONGEST_FILE, json as place, read_bounded};
use crate::executor::{Asking, Context, Executor, Observed, Observer};
use crate::mcp::names::is_of_server;
use crate::process::signals::{Signal, Signals};
use crate::process::stderr::print_message;
use crate::protocol::message::ImageSource;
use crate::protocol::{
    CallOutcome, CallRef, Image, Question, Reply, ResultBlock, ToolCall, ToolResult, ToolState,
    WireId,
};
use crate::runtime::{FoundTerminal, end_guard, guard_commands};
use crate::tools::files::Ledger;

/// The call to run, as the command line has it.
pub struct RequestedCall<'a> {
    pub tool: &'a str,
    /// JSON, or `-` for stdin.
    pub input: &'a str,
    /// Print the result as JSON.
    pub json: bool,
}

/// The result of the call.
struct Ended {
    result: ToolResult,
    outcome: CallOutcome,
    took: Duration,
}

/// Everything that is seen of the call.
#[derive(Default)]
struct Seen {
    questions: Vec<Question>,
    /// What was decided, and by whom.
    decisions: Vec<Value>,
    ended: Option<Ended>,
}

pub fn run(args: &Args, requested: &RequestedCall<'_>) -> Result<u8, UsageError> {
    let input = read_input(requested.input)?;
    let found = FoundTerminal::now();
    let project = Project::find(args, Audience::Person)?;
    let terminal = Terminal::open();
    let asking = match terminal {
        Some(_) => Asking::Person,
        None => Asking::Nobody,
    };
    let runtime = engine()?;
    guard_commands();
    let code = runtime.block_on(async {
        let mut signals = Signals::listen()
            .map_err(|error| UsageError::new(format!("can't listen for signals: {error}")))?;
        // Starting servers takes time, so it is done only for their tools.
        let servers = Servers::default();
        let manager = is_of_server(requested.tool).then(|| servers.open(args, &project));
        let (mut context, problems) = launch::alone(args, project, asking)?;
        servers::connect(manager.flatten(), &context.tools).await;
        context.ledger = Arc::new(Ledger::of_person());
        for problem in problems {
            print_message(&format!("note: {problem}"));
        }
        match unavailable(&context, requested.tool) {
            Ok(None) => {}
            Ok(Some(problem)) => {
                print_message(&format!("error: {problem}"));
                servers.close().await;
                return Ok(1);
            }
            Err(error) => {
                servers.close().await;
                return Err(error);
            }
        }
        context.tools.activate(&[requested.tool.to_owned()]);
        let call = ToolCall {
            call: CallRef::main(1),
            id: WireId("tools_run".to_owned()),
            name: requested.tool.to_owned(),
            input: Value::Object(input).into(),
        };
        let (seen, signal) = make(Arc::new(context), call, terminal, &mut signals).await;
        servers.close().await;
        let code = print_result(&seen, requested);
        Ok(signal.map_or(code, Signal::exit_code))
    });
    runtime.shutdown_background();
    found.restore();
    end_guard();
    code
}

fn read_input(input: &str) -> Result<Map<String, Value>, UsageError> {
    let text = if input == "-" {
        let read = read_bounded(std::io::stdin(), LONGEST_FILE);
        let bytes = read.map_err(|error| UsageError::new(format!("can't read stdin: {error}")))?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        input.to_owned()
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        let wrong = place::wrong(&text, &error);
        UsageError::new(format!("the input is not valid JSON: {wrong}"))
            .hint(r#"write an object in single quotes, e.g. '{"pattern": "*.rs"}'"#)
    })?;
    match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(UsageError::new("the input must be a JSON object: `{ … }`")),
    }
}

/// Why the tool cannot be called here. A name that no tool has is an error of its own.
fn unavailable(context: &Context, tool: &str) -> Result<Option<String>, UsageError> {
    let offered = context.tools.snapshot();
    if offered.find_or_deferred(tool).is_some() {
        return Ok(None);
    }
    if !offered.names().any(|name| name == tool) {
        let error = UsageError::new(format!("no tool named `{tool}`"));
        let nearest = crate::text::nearest(tool, offered.names());
        return Err(match nearest {
            Some(nearest) => error.hint(format!("did you mean `{nearest}`?")),
            None => error.hint("`agent-tui tools` lists them"),
        });
    }
    let infos = offered.infos();
    let info = infos.iter().find(|info| *info.name == *tool);
    let denied = info.is_some_and(|info| info.state == ToolState::Denied);
    Ok(Some(if denied {
        format!("`{tool}` is denied: a permission rule names the whole tool")
    } else {
        format!("`{tool}` is off here")
    }))
}

/// Makes the call and waits for its end; returns the signal that stopped it, if any.
async fn make(
    context: Arc<Context>,
    call: ToolCall,
    terminal: Option<Terminal>,
    signals: &mut Signals,
) -> (Seen, Option<Signal>) {
    let (mut seen, token) = (Seen::default(), CancellationToken::new());
    let (id, terminal) = (call.call, terminal.map(Arc::new));
    let offered = context.tools.snapshot();
    let policy = crate::executor::Policy::default();
    let mut executor = Executor::new(context.clone(), policy, &token, offered);
    let (replies, mut inbox) = mpsc::unbounded_channel();
    let mut stopped = None;
    executor.add(call, &mut seen);
    executor.stream_ended(&mut seen);
    while executor.take_delivered().is_none() {
        for question in seen.questions.drain(..) {
            let (terminal, replies) = (terminal.clone(), replies.clone());
            tokio::task::spawn_blocking(move || {
                let reply = match terminal {
                    Some(terminal) => terminal.ask(&question.kind),
                    None => Reply::Nobody,
                };
                // A call that has ended in the meantime needs no reply.
                let _ = replies.send(reply);
            });
        }
        tokio::select! {
            report = executor.next() => executor.handle(report, &mut seen),
            Some(reply) = inbox.recv() => executor.reply(id, reply, &mut seen),
            signal = signals.next() => {
                stopped = Some(signal);
                executor.interrupt(&mut seen);
            }
        }
    }
    context.shared.env.groups.end().await;
    (seen, stopped)
}

impl Observer for Seen {
    fn observe(&mut self, observed: Observed) {
        match observed {
            Observed::Asked(question) => self.questions.push(question),
            Observed::Notice(text) => print_message(&format!("note: {text}")),
            Observed::Rewritten(_, input, by) => {
                print_message(&format!(
                    "note: the hook {by} changed the input: {}",
                    *input
                ));
            }
            Observed::Decided { verdict, .. } => self.decisions.push(json!({
                "decision": verdict.decision().name(),
                "reason": verdict.reason(),
                "by": verdict.cause().to_string(),
            })),
            Observed::Completed {
                result,
                ran,
                outcome,
                ..
            } => {
                self.ended = Some(Ended {
                    result,
                    outcome,
                    took: ran,
                });
            }
            Observed::Queued(_)
            | Observed::Begun(_)
            | Observed::Answered(_)
            | Observed::Reached(..)
            | Observed::Progress(..)
            | Observed::Changing(..)
            | Observed::Moved(_)
            | Observed::ModeIs(_)
            | Observed::Planned(_)
            | Observed::Activated(_)
            | Observed::Yielded(_) => {}
        }
    }
}

/// Prints the result; returns the exit code.
fn print_result(seen: &Seen, requested: &RequestedCall<'_>) -> u8 {
    let Some(Ended {
        result,
        outcome,
        took,
    }) = &seen.ended
    else {
        print_message("error: the call has no result");
        return 1;
    };
    if requested.json {
        let line = json!({
            "tool": requested.tool,
            "is_error": result.is_error,
            "outcome": outcome,
            "content": *result.content,
            "decisions": seen.decisions,
            "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        print_line(&line.to_string());
    } else {
        for block in result.content.iter() {
            match block {
                ResultBlock::Text { text } => print_line(text),
                ResultBlock::Image(Image {
                    source: ImageSource::Base64 { media_type, data },
                    ..
                }) => print_line(&format!("[{media_type}, {} bytes]", data.len() / 4 * 3)),
            };
        }
    }
    u8::from(result.is_error)
}
