//! Runs the hooks of one call: before it, when it would ask, and after it.
//!
//! Without a hook for the call nothing happens here: no process, no wait, no phase.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::permission::{Authority, Permit, granted};
use super::pipeline::{CallRun, Failure, Report, denied, denied_text};
use super::shared::ActivePolicy;
use crate::hooks::output::shortened;
use crate::hooks::{Answer, Event, Payload};
use crate::permissions::{Cause, Decision, HookDecision, Verdict};
use crate::protocol::{CallInput, Phase, ToolCall, ToolResult};
use crate::tools::any::AnyTool;
use crate::tools::{ToolCx, ToolError, ToolErrorKind, ToolOutput, Validated};

/// The most of a rewritten input that is reported.
const LONGEST_INPUT: usize = 2_000;

/// What hooks answered before a call.
#[derive(Debug, Default)]
pub(super) struct HookAnswers {
    pub decision: Option<HookDecision>,
    /// The input from a hook, and which hook.
    pub rewritten: Option<(CallInput, String)>,
    /// What the rules say about the input before the hooks changed it.
    pub judged: Option<Judged>,
}

/// What the rules say about a call, and which rules.
#[derive(Debug)]
pub(super) struct Judged {
    pub verdict: Verdict,
    active_policy: ActivePolicy,
}

/// A call that asks.
pub(super) struct Case<'c> {
    pub call: &'c ToolCall,
    pub tool: &'c dyn AnyTool,
    pub cx: &'c ToolCx,
    pub hook_answers: &'c HookAnswers,
    /// The tool itself wants the person to confirm it.
    pub needs_confirmation: bool,
}

impl HookAnswers {
    /// A call that starts again must start with the same input.
    pub fn with_input(&self, mut permit: Permit) -> Permit {
        if let Some((input, _)) = &self.rewritten {
            permit.input.get_or_insert_with(|| input.clone());
        }
        permit
    }
}

impl Judged {
    pub fn is_current(&self, active_policy: &ActivePolicy) -> bool {
        let ActivePolicy { mode, rules } = &self.active_policy;
        *mode == active_policy.mode && std::sync::Arc::ptr_eq(rules, &active_policy.rules)
    }
}

impl Failure {
    /// The result must not blame the model if a hook's input does not match the schema.
    pub fn after_rewriting(self, by: &str) -> Self {
        let text = self.result.as_text();
        let text = format!(
            "The hook {by} rewrote the input of this call, and that cannot be done:\n{text}"
        );
        Self {
            result: ToolResult::error(self.result.tool_use_id.clone(), text),
            ..self
        }
    }
}

impl CallRun {
    /// Runs the hooks of `PreToolUse`, and at the same time asks rules and classifier. Notes for the model go to
    /// `notes`.
    pub(super) async fn run_pre_hooks(
        &self,
        call: &ToolCall,
        tool: &dyn AnyTool,
        notes: &mut Vec<String>,
    ) -> Result<HookAnswers, Failure> {
        match self.authority {
            Authority::Model | Authority::Person => {}
            Authority::Permitted(_) | Authority::Typed => return Ok(HookAnswers::default()),
        }
        self.read_settings_again().await;
        let Some(asking) = self.fire(Event::PreToolUse, call, || Payload::pre_tool_use(call))
        else {
            return Ok(HookAnswers::default());
        };
        self.reach(call, Phase::InHooks).await;
        let active_policy = self.context.active_policy();
        let both = async {
            // The hooks are polled first, so that they run while the rules are checked.
            let (answer, verdict) =
                tokio::join!(biased; asking, self.judge(call, tool, &active_policy));
            Ok((answer, verdict))
        };
        let (answer, verdict) = self.unless_cancelled(call, both).await?;
        let answer = self.note(answer).await;
        notes.extend(answer.context);
        if let Some(halt) = answer.halt {
            let text = halt.to_string();
            self.report(Report::Halted(text.clone())).await;
            let verdict = Verdict::deny(Cause::Hook(halt.by), text.clone());
            let sentence = verdict.summary();
            self.decided(call, verdict).await;
            return Err(denied(call, denied_text(call, &text), sentence));
        }
        let rewritten = answer
            .updated_input
            .map(|(input, by)| (CallInput::from(input), by))
            .filter(|(input, _)| *input != call.input);
        let judged = match &rewritten {
            None => Some(Judged {
                verdict,
                active_policy,
            }),
            Some((input, by)) => {
                let input = shortened(&input.to_string(), LONGEST_INPUT, usize::MAX);
                notes.push(format!(
                    "A hook of the user changed the input of this call. It was handled as if you had written: {input}"
                ));
                let notice = format!("the hook {by} changed the input of {}: {input}", call.name);
                self.notice(notice).await;
                None
            }
        };
        if let Some((input, by)) = rewritten.clone() {
            let rewritten = Report::Rewritten(call.call, input, by);
            self.report(rewritten).await;
        }
        Ok(HookAnswers {
            decision: answer.decision,
            rewritten,
            judged,
        })
    }

    /// Runs the hooks of a call that has ended.
    pub(super) async fn run_post_hooks(
        &self,
        call: &ToolCall,
        tool: &dyn AnyTool,
        output: &Result<ToolOutput, ToolError>,
        notes: &mut Vec<String>,
    ) {
        if self.context.shared.hooks.is_none() || matches!(self.authority, Authority::Typed) {
            return;
        }
        let asking = match output {
            Ok(output) => self.fire(Event::PostToolUse, call, || {
                Payload::post_tool_use(call, &tool.touches(&call.input), &output.for_model)
            }),
            Err(error) if error.kind == ToolErrorKind::Cancelled => None,
            Err(error) => self.fire(Event::PostToolUseFailure, call, || {
                Payload::post_tool_use_failure(call, &error.message)
            }),
        };
        let Some(asking) = asking else {
            return;
        };
        self.reach(call, Phase::InHooks).await;
        // A cancelled hook has no answer; the call keeps its result.
        let answer = asking.await;
        let answer = self.note(answer).await;
        if let Some(decision) = answer.blocked() {
            notes.push(format!(
                "The hook {} objects: {}",
                decision.by, decision.reason
            ));
        }
        notes.extend(answer.context);
        if let Some(halt) = answer.halt {
            self.report(Report::Halted(halt.to_string())).await;
        }
    }

    /// The hooks that may answer for the person.
    pub(super) fn ask_hooks(&self, call: &ToolCall) -> Option<BoxFuture<'_, Answer>> {
        self.fire(Event::PermissionRequest, call, || {
            Payload::permission_request(call)
        })
    }

    /// What hooks answered for the person; `None` if they did not, or if their answer has no effect.
    pub(super) async fn answered_by_hooks(
        &self,
        case: &Case<'_>,
        answer: Answer,
    ) -> Result<Option<Permit>, Failure> {
        let answer = self.note(answer).await;
        if let Some(halt) = &answer.halt {
            self.report(Report::Halted(halt.to_string())).await;
        }
        let Some(decision) = answer.decision else {
            return Ok(None);
        };
        if decision.decision == Decision::Deny {
            let reason = format!("{} (the hook {} denies it)", decision.reason, decision.by);
            let verdict = Verdict::deny(Cause::Hook(decision.by), reason);
            let text = denied_text(case.call, verdict.reason());
            let sentence = verdict.summary();
            self.decided(case.call, verdict).await;
            return Err(denied(case.call, text, sentence));
        }
        if decision.decision == Decision::Ask {
            return Ok(None);
        }
        let allowed = match answer.updated_input {
            None => self.allowed_by(case, &decision, case.call).await,
            Some((input, _)) => {
                let call = ToolCall {
                    input: input.into(),
                    ..case.call.clone()
                };
                match self.check(&call, case.tool, case.cx).await {
                    Ok(Validated::Fine) => self.allowed_by(case, &decision, &call).await,
                    Ok(Validated::Ask(why)) => Err(why),
                    Err(failure) => Err(failure.result.as_text()),
                }
            }
        };
        match allowed {
            Ok(permit) => Ok(Some(permit)),
            Err(why) => {
                let notice = format!(
                    "the hook {} allows it, but it still asks: {why}",
                    decision.by
                );
                self.notice(notice).await;
                Ok(None)
            }
        }
    }

    /// Whether a hook's allow is enough for this call, whose input may have changed; or why not.
    async fn allowed_by(
        &self,
        case: &Case<'_>,
        decision: &HookDecision,
        call: &ToolCall,
    ) -> Result<Permit, String> {
        if case.needs_confirmation {
            return Err("the tool itself asks first".to_owned());
        }
        // If a hook before the call wants to ask, that stays.
        if case
            .hook_answers
            .decision
            .as_ref()
            .is_some_and(|before| before.decision == Decision::Ask)
        {
            return Err("another hook asks first".to_owned());
        }
        let hook_answers = HookAnswers {
            decision: Some(decision.clone()),
            ..HookAnswers::default()
        };
        let verdict = self.decision(call, case.tool, &hook_answers).await;
        if verdict.decision() != Decision::Allow {
            return Err(verdict.reason().to_owned());
        }
        self.decided(case.call, verdict.clone()).await;
        let mut permit = granted(&verdict);
        if call.input != case.call.input {
            permit.input = Some(call.input.clone());
            let (id, input) = (call.call, call.input.clone());
            self.report(Report::Rewritten(id, input, decision.by.clone()))
                .await;
        }
        Ok(permit)
    }

    /// Makes a call that was queued as safe wait until it is alone, because hooks have made it unsafe.
    pub(super) async fn wait_to_be_alone(
        &self,
        queued: &ToolCall,
        call: &ToolCall,
        tool: &dyn AnyTool,
    ) -> Result<(), Failure> {
        let is_alone = queued.input == call.input
            || !tool.facts(&queued.input).safe
            || tool.facts(&call.input).safe;
        if is_alone {
            return Ok(());
        }
        let (proceed, alone) = oneshot::channel();
        self.report(Report::MustBeAlone(call.clone(), proceed))
            .await;
        let alone = async { alone.await.map_err(|_| ToolError::cancelled()) };
        self.unless_cancelled(call, alone).await
    }

    fn fire(
        &self,
        event: Event,
        call: &ToolCall,
        payload: impl FnOnce() -> Payload,
    ) -> Option<BoxFuture<'_, Answer>> {
        let hooks = self.context.shared.hooks.as_ref()?;
        if !hooks.wants(event, &call.name) {
            return None;
        }
        let (payload, common) = (payload(), self.context.scene());
        Some(async move { hooks.fire(&payload, &common, &self.cancel).await }.boxed())
    }

    /// Tells the person what hooks have to say.
    async fn note(&self, mut answer: Answer) -> Answer {
        for notice in answer.notices.drain(..) {
            self.notice(notice).await;
        }
        answer
    }
}

/// The answer of hooks, if any are running. Cancel-safe.
pub(super) async fn answer_of(hooks: Option<&mut BoxFuture<'_, Answer>>) -> Answer {
    match hooks {
        Some(hooks) => hooks.await,
        None => std::future::pending().await,
    }
}
