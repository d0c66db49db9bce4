//! One call, step by step: find the tool, parse and validate the input, hooks and decision, ask, run, hooks, limit
//! the result's size.
//!
//! Every failure becomes a result for the model; nothing here ends the turn.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::call_hooks::Case;
use super::context::Context;
use super::machine::{End, Outcome};
use super::permission::{Authority, Permit};
use super::questions::ReplyTo;
use super::shared::ActivePolicy;
use super::time_limit;
use crate::config::logged;
use crate::permissions::{Cause, Decision, Remembered, Verdict, decide_reading, judge_writing};
use crate::protocol::{
    AnswerNote, CallInput, CallRef, ForPerson, Phase, Printed, Question, Shown, Spending, ToolCall,
    ToolResult, WireId, hook_text,
};
use crate::settings::ToolSettings;
use crate::tools::any::AnyTool;
use crate::tools::files::FileChange;
use crate::tools::off_limits::OffLimits;
use crate::tools::offered::Offered;
use crate::tools::{
    ContextChange, Journal, NotLogged, Progress, ToolCx, ToolError, ToolErrorKind, ToolOutput,
    Validated, guard,
};

/// How long a cancelled call has to end by itself. Longer than killing a shell takes.
pub(super) const GRACE: Duration = Duration::from_secs(4);

/// The longest text about a call that was not made.
const LONGEST_REFUSAL: usize = 10_000;

/// What a running call reports to its driver.
#[derive(Debug)]
pub enum Report {
    Reached(CallRef, Phase),
    Progress(CallRef, Printed),
    Asked(Question, ReplyTo),
    Decided(CallRef, Verdict, Option<AnswerNote>),
    /// The call was allowed and is now running.
    Permitted(CallRef, Permit),
    /// Something that the person should know.
    Notice(String),
    /// A hook has replaced its input: the input, and the hook.
    Rewritten(CallRef, CallInput, String),
    /// Hooks have made the call unsafe; the sender waits until it is alone.
    MustBeAlone(ToolCall, oneshot::Sender<()>),
    /// A hook wants the turn to end, for this reason.
    Halted(String),
    /// A file is about to change; the sender waits until that is in the log.
    Changing(CallRef, FileChange, oneshot::Sender<()>),
    Finished(CallRef, Done),
    /// The sender waits until everything that was reported before is in the log.
    Logged(oneshot::Sender<()>),
    /// A call that waited for the rate limit of its tool may be able to start.
    TimePassed,
}

/// A finished call.
#[derive(Debug)]
pub struct Done {
    pub outcome: Outcome,
    pub changes: Vec<ContextChange>,
    pub for_person: ForPerson,
    /// What a person sees of it.
    pub shown: Shown,
}

impl Report {
    /// What the call has used, if it has asked a model itself.
    pub fn spent(&self) -> Vec<Spending> {
        let spent = self.changes().iter().filter_map(|change| match change {
            ContextChange::Spent(spending) => Some(*spending),
            ContextChange::Cwd(_)
            | ContextChange::Mode(_)
            | ContextChange::Todos(_)
            | ContextChange::Activated(_)
            | ContextChange::Model(_) => None,
        });
        spent.collect()
    }

    /// The model that is to answer until the turn ends, if the call chose one.
    pub fn model(&self) -> Option<String> {
        let mut changes = self.changes().iter().rev();
        changes.find_map(|change| match change {
            ContextChange::Model(model) => Some(model.clone()),
            ContextChange::Cwd(_)
            | ContextChange::Mode(_)
            | ContextChange::Todos(_)
            | ContextChange::Activated(_)
            | ContextChange::Spent(_) => None,
        })
    }

    fn changes(&self) -> &[ContextChange] {
        match self {
            Report::Finished(_, done) => &done.changes,
            _ => &[],
        }
    }
}

/// A call that failed, and how that affects its siblings.
pub(super) struct Failure {
    pub(super) result: ToolResult,
    pub(super) end: End,
    pub(super) for_person: Box<ForPerson>,
    pub(super) changes: Vec<ContextChange>,
}

/// One running call and what it needs. Its steps are methods of this type, in several files of this module.
pub struct CallRun {
    pub context: Arc<Context>,
    /// The tools that can be called.
    pub offered: Offered,
    pub authority: Authority,
    pub cancel: CancellationToken,
    /// Cancelled when the call has to continue in the background.
    pub background: CancellationToken,
    pub reports: mpsc::Sender<Report>,
    /// Where links led when the call was decided on.
    pub links: Remembered,
}

impl CallRun {
    /// Runs the call in its own task; a panic there becomes a result.
    pub fn spawn(self, call: ToolCall) {
        // A panic, and the hooks of the call, are logged with its name.
        let span = tracing::info_span!("call", call = %call.call, tool = %logged(&call.name));
        let running = async move {
            let (id, wire, reports) = (call.call, call.id.clone(), self.reports.clone());
            let done = AssertUnwindSafe(self.run(call)).catch_unwind().await;
            let done = done.unwrap_or_else(|_| panicked(wire));
            let _ = reports.send(Report::Finished(id, done)).await;
        };
        tokio::spawn(running.instrument(span));
    }

    pub(super) async fn run(self, call: ToolCall) -> Done {
        // Notes of hooks for the model.
        let mut notes = Vec::new();
        let mut done = match self.steps(&call, &mut notes).await {
            Ok(done) => done,
            Err(Failure {
                result,
                end,
                for_person,
                changes,
            }) => Done {
                outcome: Outcome { result, end },
                changes,
                for_person: *for_person,
                shown: Shown::Nothing,
            },
        };
        if !notes.is_empty() && done.outcome.end != End::Stopped {
            let text = hook_text(&notes.join("\n"));
            let content = Arc::make_mut(&mut done.outcome.result.content);
            content.push(crate::protocol::ResultBlock::text(text));
        }
        done
    }

    async fn steps(&self, call: &ToolCall, notes: &mut Vec<String>) -> Result<Done, Failure> {
        let tool = self.find(call)?;
        let original = call;
        // A restarted call starts with the permitted input.
        let mut call = self.as_permitted(call);
        let cx = self.tool_cx(&call);
        let mut validated = self.check(&call, tool.as_ref(), &cx).await?;
        let hook_answers = self.run_pre_hooks(&call, tool.as_ref(), notes).await?;
        if let Some((input, by)) = &hook_answers.rewritten {
            call.to_mut().input = input.clone();
            let checked = self.check(&call, tool.as_ref(), &cx).await;
            validated = checked.map_err(|failure| failure.after_rewriting(by))?;
        }
        let permit = self
            .permission(&call, tool.as_ref(), &cx, validated, &hook_answers)
            .await?;
        if let Some(input) = &permit.input
            && *input != call.input
        {
            call.to_mut().input = input.clone();
        }
        let call = &*call;
        let permit = self.bound(call, tool.as_ref(), permit);
        self.wait_to_be_alone(original, call, tool.as_ref()).await?;
        // A tool that ignores its token must not start after the call was stopped.
        self.unless_cancelled(call, std::future::ready(Ok(())))
            .await?;
        self.report(Report::Permitted(call.call, permit.clone()))
            .await;
        self.reach(call, Phase::Running).await;
        if !tool.facts(&call.input).read_only {
            self.wait_for_log(call).await?;
        }
        let settings = self.context.shared.tool_settings(&call.name);
        let limit = settings.and_then(|settings| settings.max_result_chars);
        let limit = limit.unwrap_or(tool.spec().max_result_chars);
        let results_dir = &self.context.shared.env.results_dir;
        let mut output = self.work(call, tool.as_ref(), permit, &cx).await;
        if let Err(error) = &output
            && error.kind == ToolErrorKind::Blocked
        {
            let case = Case {
                call,
                tool: tool.as_ref(),
                cx: &cx,
                hook_answers: &hook_answers,
                needs_confirmation: true,
            };
            let permit = self.permission_to_continue(&case, error).await?;
            output = self.work(call, tool.as_ref(), permit, &cx).await;
        }
        self.run_post_hooks(call, tool.as_ref(), &output, notes)
            .await;
        match output {
            Ok(output) => {
                let whole = crate::protocol::ResultBlock::texts(&output.for_model).len();
                let content = guard::fit(output.for_model, limit, results_dir, call.call);
                let result = ToolResult {
                    tool_use_id: call.id.clone(),
                    content: Arc::new(content),
                    is_error: false,
                };
                let for_person = fitted(output.for_person, whole, &result);
                let end = if output.backgrounded {
                    End::Backgrounded
                } else {
                    End::Normal
                };
                Ok(Done {
                    outcome: Outcome { result, end },
                    changes: output.changes,
                    for_person,
                    shown: output.shown,
                })
            }
            Err(error) => Err(self.failed(call, error, limit)),
        }
    }

    async fn work(
        &self,
        call: &ToolCall,
        tool: &dyn AnyTool,
        permit: Permit,
        cx: &ToolCx,
    ) -> Result<ToolOutput, ToolError> {
        let Permit { grant, part, .. } = permit;
        let cx = ToolCx {
            cancel: self.cancel.child_token(),
            ..cx.clone()
        };
        let settings = self.context.shared.tool_settings(&call.name);
        let limit = settings.and_then(ToolSettings::timeout);
        let cancel = cx.cancel.clone();
        let work = tool.call(&call.input, part, grant, cx);
        let work = time_limit::within(limit, tool.spec(), &cancel, work);
        tokio::select! {
            output = work => output,
            () = self.overdue() => Err(ToolError::cancelled()),
        }
    }

    /// Checks the input against the schema, and lets the tool validate it. Errors from the disk are reported only to
    /// a call that may know them; for other calls the decision comes first, and the call finds out once it is
    /// allowed.
    pub(super) async fn check(
        &self,
        call: &ToolCall,
        tool: &dyn AnyTool,
        cx: &ToolCx,
    ) -> Result<Validated, Failure> {
        let violations = tool.violations(&call.input);
        if !violations.is_empty() {
            let text = violation_text(call, &violations);
            return Err(refused(call, text, "the model sent invalid input"));
        }
        let validated = self
            .unless_cancelled(call, tool.validate(&call.input, cx))
            .await;
        match validated {
            Err(failure) if failure.end == End::Normal && !self.may_reveal(call, tool) => {
                Ok(Validated::Fine)
            }
            Ok(_) | Err(_) => validated,
        }
    }

    fn as_permitted<'c>(&self, call: &'c ToolCall) -> Cow<'c, ToolCall> {
        match &self.authority {
            Authority::Permitted(permit) if permit.input.is_some() => {
                let input = permit.input.clone().unwrap_or_default();
                Cow::Owned(ToolCall {
                    input,
                    ..call.clone()
                })
            }
            Authority::Permitted(_) | Authority::Model | Authority::Person | Authority::Typed => {
                Cow::Borrowed(call)
            }
        }
    }

    fn find(&self, call: &ToolCall) -> Result<Arc<dyn AnyTool>, Failure> {
        self.offered.find(&call.name).cloned().ok_or_else(|| {
            if let Some(text) = self.offered.how_to_load(&call.name) {
                return refused(call, text, "the model has to load this tool first");
            }
            let near = self
                .offered
                .nearest(&call.name)
                .map(|name| format!(". Did you mean {name}?"));
            let text = format!(
                "Error: No such tool available: {}{}",
                call.name,
                near.unwrap_or_default()
            );
            refused(call, text, "unknown tool")
        })
    }

    fn tool_cx(&self, call: &ToolCall) -> ToolCx {
        let progress = {
            let (reports, id) = (self.reports.clone(), call.call);
            Progress::new(move |printed| {
                // A slow reader misses a progress report but never the end: the result is complete.
                let _ = reports.try_send(Report::Progress(id, printed));
            })
        };
        let journal = {
            let (reports, id) = (self.reports.clone(), call.call);
            Journal::new(move |change| {
                let (written, wait) = oneshot::channel();
                let report = Report::Changing(id, change, written);
                reports.blocking_send(report).map_err(|_| NotLogged)?;
                wait.blocking_recv().map_err(|_| NotLogged)
            })
        };
        ToolCx {
            call: call.call,
            cwd: self.context.cwd(),
            mode: self.context.shared.mode(),
            cancel: self.cancel.clone(),
            background: self.background.clone(),
            progress,
            journal,
            asker: self.asker(call.call),
            starter: self.context.starter.clone(),
            inner: self.inner(call),
            extensions: self.context.shared.extensions(),
            deferred: self.offered.deferred().clone(),
            off_limits: off_limits(&self.context),
            ledger: self.context.ledger.clone(),
            env: self.context.shared.env.clone(),
        }
    }

    fn failed(&self, call: &ToolCall, error: ToolError, limit: usize) -> Failure {
        let end = match error.kind {
            ToolErrorKind::Refused => End::Normal,
            ToolErrorKind::CommandFailed | ToolErrorKind::Blocked => End::CommandFailed,
            ToolErrorKind::Cancelled => End::Stopped,
        };
        let whole = error.message.len();
        let text = vec![crate::protocol::ResultBlock::text(error.message)];
        let text = guard::fit(text, limit, &self.context.shared.env.results_dir, call.call);
        let content = ToolResult {
            tool_use_id: call.id.clone(),
            content: Arc::new(text),
            is_error: true,
        };
        let for_person = match error.kind {
            ToolErrorKind::Cancelled => ForPerson {
                output: Some(0..content.as_text().len()),
                ..ForPerson::default()
            },
            ToolErrorKind::Refused | ToolErrorKind::CommandFailed | ToolErrorKind::Blocked => {
                fitted(error.for_person, whole, &content)
            }
        };
        let result = match end {
            // The machine says what stopped the call and wraps this; here it is only the call's own text.
            End::Stopped => content,
            End::Normal | End::Denied | End::CommandFailed | End::Backgrounded => {
                ToolResult::error(call.id.clone(), content.as_text())
            }
        };
        Failure {
            result,
            end,
            for_person: Box::new(for_person),
            changes: error.changes,
        }
    }

    pub(super) async fn unless_cancelled<T>(
        &self,
        call: &ToolCall,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, Failure> {
        let done = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(ToolError::cancelled()),
            done = work => done,
        };
        done.map_err(|error| self.failed(call, error, crate::tools::MAX_RESULT_CHARS))
    }

    async fn overdue(&self) {
        self.cancel.cancelled().await;
        tokio::time::sleep(GRACE).await;
    }

    /// Waits until the log says that the call has begun its work: after a crash it must not be started a second time.
    async fn wait_for_log(&self, call: &ToolCall) -> Result<(), Failure> {
        let (written, wait) = oneshot::channel();
        self.report(Report::Logged(written)).await;
        let wait = async { wait.await.map_err(|_| ToolError::cancelled()) };
        self.unless_cancelled(call, wait).await
    }

    pub(super) async fn reach(&self, call: &ToolCall, phase: Phase) {
        self.report(Report::Reached(call.call, phase)).await;
    }

    pub(super) async fn report(&self, report: Report) {
        // The driver may be gone.
        let _ = self.reports.send(report).await;
    }
}

/// Asks the rules about each file, if any of them could deny reading one.
fn off_limits(context: &Arc<Context>) -> OffLimits {
    let ActivePolicy { mode, rules } = context.active_policy();
    let reading = if rules.restrict_reading() {
        let (context, rules) = (context.clone(), rules.clone());
        OffLimits::new(move |path| {
            let path = path.to_string_lossy().into_owned();
            let verdict = decide_reading(path, &rules, mode, &context.world());
            verdict.decision() != Decision::Allow && matches!(verdict.cause(), Cause::Rule(_))
        })
    } else {
        OffLimits::default()
    };
    let context = context.clone();
    reading.with_writing(move |path| {
        let path = path.to_string_lossy().into_owned();
        let verdict = judge_writing(path, &rules, mode, &context.world());
        let is_special = matches!(
            verdict.cause(),
            Cause::Rule(_) | Cause::ProtectedPath | Cause::BuiltIn
        );
        verdict.decision() != Decision::Allow && is_special
    })
}

fn panicked(wire: WireId) -> Done {
    let text =
        "The tool failed with an internal error; this is a bug in agent-tui, not in the call";
    let result = ToolResult::error(wire, text);
    Done {
        outcome: Outcome {
            result,
            end: End::Normal,
        },
        changes: Vec::new(),
        for_person: ForPerson::sentence("internal error in agent-tui"),
        shown: Shown::Nothing,
    }
}

/// If the text was cut, the byte ranges no longer match, so all of it is shown.
fn fitted(mut for_person: ForPerson, whole: usize, result: &ToolResult) -> ForPerson {
    let has_part = for_person.output.as_ref().is_some_and(|it| it.end > 0);
    if has_part && result.as_text().len() != whole {
        for_person.output = None;
    }
    for_person
}

/// The call was not made: the reason, for the model and for the person.
pub(super) fn refused(call: &ToolCall, mut text: String, sentence: impl Into<String>) -> Failure {
    // Names and inputs come from the model, and may be of any length.
    if text.chars().count() > LONGEST_REFUSAL {
        text = text.chars().take(LONGEST_REFUSAL).chain(['…']).collect();
    }
    Failure {
        result: ToolResult::error(call.id.clone(), text),
        end: End::Normal,
        for_person: Box::new(ForPerson::sentence(sentence)),
        changes: Vec::new(),
    }
}

/// The same for a call that was not allowed.
pub(super) fn denied(call: &ToolCall, text: String, sentence: impl Into<String>) -> Failure {
    Failure {
        end: End::Denied,
        ..refused(call, text, sentence)
    }
}

pub(super) fn denied_text(call: &ToolCall, reason: &str) -> String {
    format!("Permission to use {} has been denied: {reason}", call.name)
}

fn violation_text(call: &ToolCall, violations: &[String]) -> String {
    let count = violations.len();
    let problems = if count == 1 {
        "1 problem".to_owned()
    } else {
        format!("{count} problems")
    };
    format!(
        "The input of {} does not match its schema ({problems}):\n- {}",
        call.name,
        violations.join("\n- ")
    )
}
