//! Makes a server's tool look like one of ours.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::connection::{Connection, Limit, RequestError};
use super::describe::line;
use super::elicitation;
use super::handler::{Answer, Elicitation};
use super::listing::ListedTool;
use super::result::{self, Mapped};
use super::slot::Slot;
use super::wire::tap::{Progress, Watcher};
use crate::permissions::Grant;
use crate::protocol::{Level, PartOfFile, ResultBlock, ToolDefinition, Touches};
use crate::tools::any::{AnyTool, CallFacts};
use crate::tools::custom::subject;
use crate::tools::guard::result_file_as;
use crate::tools::{DescribeCx, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};

/// Progress is shown at most this often.
const PACE: Duration = Duration::from_millis(100);
/// How many cells a progress bar has.
const BAR: usize = 20;

pub struct McpTool {
    slot: Arc<Slot>,
    listed: ListedTool,
    spec: ToolSpec,
}

impl McpTool {
    /// The tool of a server with the name that models know it by.
    pub fn new(slot: Arc<Slot>, listed: ListedTool, name: &str) -> Self {
        let doing = listed.title.clone().unwrap_or_else(|| line(&listed.name));
        let spec = ToolSpec {
            doing: doing.into(),
            subject: subject(&listed.input_schema),
            ruled: None,
            ..ToolSpec::new(name, &listed.description, Level::Confirm, "")
        };
        Self { slot, listed, spec }
    }

    async fn run(&self, input: &Value, cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let server = self.slot.name().to_owned();
        let connection = tokio::select! {
            connection = self.slot.connection() => connection.map_err(|why| {
                ToolError::new(format!("The MCP server `{server}` is not available: {why}"))
                    .with_sentence(format!("{server} is not available: {why}"))
            })?,
            () = cx.cancel.cancelled() => return Err(ToolError::cancelled()),
        };
        self.slot.count_call();
        let answer = self.answer(&connection, input, cx).await;
        if answer.is_ok() {
            // The next request offers what this call may have changed.
            self.slot.settle().await;
        }
        let result = answer.map_err(|error| problem(&server, error))?;
        let cx = cx.clone();
        // Large results take a while to decode, and files are written.
        let mapped = tokio::task::spawn_blocking(move || {
            result::of_call(&result, &mut |bytes, extension| keep(&cx, bytes, extension))
        });
        match mapped.await {
            Ok(Mapped {
                blocks,
                is_error: false,
            }) => Ok(ToolOutput {
                for_model: blocks,
                ..ToolOutput::default()
            }),
            Ok(Mapped {
                blocks,
                is_error: true,
            }) => Err(ToolError::new(ResultBlock::texts(&blocks))),
            Err(_) => Err(ToolError::new(
                "The result could not be read; please report this",
            )),
        }
    }

    /// Makes the call, and passes the server's questions on while it runs.
    async fn answer(
        &self,
        connection: &Connection,
        input: &Value,
        cx: &ToolCx,
    ) -> Result<Value, RequestError> {
        let limit = Limit {
            idle: self.slot.call_limit(),
            cancel: &cx.cancel,
        };
        let params = json!({ "name": self.listed.name, "arguments": input });
        let watcher = watcher(cx);
        let request = connection.request("tools/call", params, &limit, Some(watcher.clone()));
        let mut request = std::pin::pin!(request);
        let mut receiver = connection.subscribe();
        loop {
            tokio::select! {
                biased;
                answer = &mut request => return answer,
                question = receiver.next() => {
                    self.pass_on(question, cx).await;
                    // The time that the person took is not the server's.
                    watcher.touch();
                }
            }
        }
    }

    async fn pass_on(&self, question: Elicitation, cx: &ToolCx) {
        let Elicitation {
            message,
            kind,
            reply,
        } = question;
        let logins = &self.slot.common.context.logins;
        let asking = elicitation::ask(self.slot.name(), &message, &kind, logins, cx);
        // The server may take its question back.
        let mut reply = reply;
        let answer = tokio::select! {
            answer = asking => answer,
            () = reply.closed() => return,
        };
        let _ = reply.send(answer.unwrap_or(Answer::Cancel));
    }
}

impl AnyTool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn definition(&self, _about: &DescribeCx) -> ToolDefinition {
        ToolDefinition {
            name: self.spec.name.to_string(),
            description: self.listed.description.clone(),
            input_schema: self.listed.input_schema.clone(),
            strict: false,
            input_examples: Vec::new(),
            server: None,
        }
    }

    fn facts(&self, input: &Value) -> CallFacts {
        // Nobody checks what a server says, so its word makes a call neither allowed nor, if the server is not
        // trusted, safe.
        let harmless = self.listed.hints.read_only && self.slot.is_trusted();
        CallFacts {
            safe: harmless,
            read_only: harmless,
            subject: self.spec.subject.of(input),
        }
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    fn sample(&self) -> Value {
        json!({})
    }

    fn prepare(&self) {}

    /// The server judges its inputs: its schema may demand more than it does.
    fn violations(&self, input: &Value) -> Vec<String> {
        if input.is_object() {
            return Vec::new();
        }
        vec!["the input must be a JSON object".to_owned()]
    }

    fn validate<'a>(
        &'a self,
        _input: &'a Value,
        _cx: &'a ToolCx,
    ) -> BoxFuture<'a, Result<Validated, ToolError>> {
        let validated = if self.listed.hints.destructive == Some(true) {
            let server = self.slot.name();
            Validated::Ask(format!("{server} says this tool can destroy data"))
        } else {
            Validated::Fine
        };
        std::future::ready(Ok(validated)).boxed()
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

fn problem(server: &str, error: RequestError) -> ToolError {
    match error {
        RequestError::Refused(text) => ToolError::new(text),
        RequestError::Cancelled => ToolError::cancelled(),
        RequestError::TimedOut(limit) => {
            let seconds = limit.as_secs();
            let text = format!("The MCP server `{server}` did not answer within {seconds} s");
            ToolError::new(text)
                .with_sentence(format!("{server} did not answer within {seconds} s"))
        }
        RequestError::Lost(why) => {
            let text = format!(
                "The MCP server `{server}` ended during the call: {why}. It may or may not have done what was asked; it is started again for the next call"
            );
            ToolError::new(text).with_sentence(format!("{server} ended during the call: {why}"))
        }
    }
}

fn keep(cx: &ToolCx, bytes: &[u8], extension: &str) -> io::Result<PathBuf> {
    let (mut file, path) = result_file_as(&cx.env.results_dir, cx.call, extension)?;
    file.write_all(bytes)?;
    Ok(path)
}

/// Shows the progress of a call, a line at a time, and not faster than anyone can read.
fn watcher(cx: &ToolCx) -> Watcher {
    let (shown, progress) = (Mutex::new(None::<Instant>), cx.progress.clone());
    Watcher::new(move |report: Progress| {
        let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = report.total.is_some_and(|total| report.done >= total);
        if !is_last && shown.is_some_and(|last| last.elapsed() < PACE) {
            return;
        }
        *shown = Some(Instant::now());
        progress.report(format!("{}\n", in_words(&report)));
    })
}

/// The progress as a line: a bar if the total is known, and the server's message.
fn in_words(progress: &Progress) -> String {
    let message = progress.message.as_deref().map(line).unwrap_or_default();
    let total = progress
        .total
        .filter(|total| *total > 0.0 && total.is_finite());
    let bar = total.map(|total| {
        let part = (progress.done / total).clamp(0.0, 1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and 100"
        )]
        let percent = (part * 100.0).round() as usize;
        let full = percent * BAR / 100;
        format!("{}{} {percent}%", "█".repeat(full), "░".repeat(BAR - full))
    });
    match (bar, message.is_empty()) {
        (Some(bar), true) => bar,
        (Some(bar), false) => format!("{bar} {message}"),
        (None, true) => format!("{}", progress.done),
        (None, false) => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress_text(done: f64, total: Option<f64>, message: Option<&str>) -> String {
        in_words(&Progress {
            done,
            total,
            message: message.map(str::to_owned),
        })
    }

    #[test]
    fn progress_is_a_bar_where_the_total_is_known_and_the_message_otherwise() {
        assert_eq!(
            progress_text(1.0, Some(4.0), Some("a\u{1b}[2Jb")),
            "█████░░░░░░░░░░░░░░░ 25% ab"
        );
        assert_eq!(
            progress_text(9.0, Some(4.0), None),
            "████████████████████ 100%"
        );
        assert_eq!(progress_text(3.0, None, Some("reading")), "reading");
        assert_eq!(progress_text(3.0, Some(f64::NAN), None), "3");
    }
}
