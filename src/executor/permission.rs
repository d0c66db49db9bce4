//! The permission of one call: decided by rules, mode and hooks, or by the person, whose answer may change the rules
//! for later calls.

use tokio::sync::{oneshot, watch};

use super::call_hooks::{Case, HookAnswers, answer_of};
use super::pipeline::{CallRun, Failure, Report, denied, denied_text};
use super::questions::ReplyTo;
use super::shared::{ActivePolicy, Asking};
use crate::hooks;
use crate::permissions::{
    CallDetails, Cause, Decision, Denied, Grant, Offer, RuleList, Rules, Source, Verdict, World,
    conclude, decide, judge, may_reveal, offer, offer_for_blocked, places, reach,
};
use crate::protocol::{
    Answer, AnswerNote, CallInput, Mode, PartOfFile, PermissionRequest, Phase, QuestionKind,
    RuleOffer, ToolCall, Touches,
};
use crate::tools::any::AnyTool;
use crate::tools::{ToolCx, ToolError, Validated};

/// The permission to run a call, and its extent.
#[derive(Debug, Clone, PartialEq)]
pub struct Permit {
    pub grant: Grant,
    /// The new contents of files, if the person allowed only a part of a change.
    pub part: Option<Vec<PartOfFile>>,
    /// The call's input, if hooks have changed it.
    pub input: Option<CallInput>,
}

/// With whose authority a call runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Authority {
    /// The model requested it: rules, the mode and the person decide.
    Model,
    /// It was permitted before, and starts again.
    Permitted(Box<Permit>),
    /// The person runs it again: only deny rules prevent that.
    Person,
    /// The person typed it: only the built-in list prevents it.
    Typed,
}

impl From<Grant> for Permit {
    fn from(grant: Grant) -> Self {
        Self {
            grant,
            part: None,
            input: None,
        }
    }
}

impl CallRun {
    pub(super) async fn permission(
        &self,
        call: &ToolCall,
        tool: &dyn AnyTool,
        cx: &ToolCx,
        validated: Validated,
        hook_answers: &HookAnswers,
    ) -> Result<Permit, Failure> {
        let verdict = match &self.authority {
            Authority::Model => {
                let permit = self
                    .ask_for_model(call, tool, cx, validated, hook_answers)
                    .await?;
                return Ok(hook_answers.with_input(permit));
            }
            Authority::Permitted(permit) => return Ok(Permit::clone(permit)),
            Authority::Person => self.decision(call, tool, hook_answers).await,
            // Rules and modes are for the model's calls; without them only the built-in list denies.
            Authority::Typed => {
                let (rules, mode) = (Rules::default(), Mode::Default);
                decide(&call_details(call, tool), &rules, mode, &self.world())
            }
        };
        // The person typed it, which counts as their answer.
        let Ok(grant) = verdict.answered(&Answer::Allow) else {
            let text = denied_text(call, verdict.reason());
            return Err(denied(call, text, verdict.summary()));
        };
        Ok(hook_answers.with_input(grant.into()))
    }

    async fn ask_for_model(
        &self,
        call: &ToolCall,
        tool: &dyn AnyTool,
        cx: &ToolCx,
        validated: Validated,
        hook_answers: &HookAnswers,
    ) -> Result<Permit, Failure> {
        // Subscribe before deciding, so that a rule that is added meanwhile is not missed.
        let mut changes = Some(self.context.shared.watch());
        let mut verdict = self.decision(call, tool, hook_answers).await;
        let case = Case {
            call,
            tool,
            cx,
            hook_answers,
            needs_confirmation: matches!(validated, Validated::Ask(_)),
        };
        let mut rule = None;
        match validated {
            // Being harmless by default is not enough for a call that the tool itself wants to be confirmed.
            Validated::Ask(reason) if verdict.allows_by_default() => {
                changes = None;
                let asks = Verdict::ask(verdict.cause().clone(), reason);
                verdict = conclude(asks, None, self.context.mode());
            }
            Validated::Fine | Validated::Ask(_) => rule = self.rule_to_offer(call, tool, &verdict),
        }
        if (verdict.decision(), self.context.shared.asking) == (Decision::Ask, Asking::Nobody)
            && let Some(asking) = self.ask_hooks(call)
        {
            let asked = async { Ok(asking.await) };
            let answer = self.unless_cancelled(call, asked).await?;
            if let Some(permit) = self.answered_by_hooks(&case, answer).await? {
                return Ok(permit);
            }
        }
        self.decided(call, verdict.clone()).await;
        match (verdict.decision(), self.context.shared.asking) {
            (Decision::Allow, _) => Ok(granted(&verdict)),
            (Decision::Deny, _) => {
                let text = denied_text(call, verdict.reason());
                Err(denied(call, text, verdict.summary()))
            }
            (Decision::Ask, Asking::Nobody) => {
                let text = format!(
                    "{}. It needs a person's approval, and nobody is there to ask: allow it beforehand with \
                     --allow or a permission mode",
                    denied_text(call, verdict.reason())
                );
                Err(denied(
                    call,
                    text,
                    "needs approval, and nobody is there to ask",
                ))
            }
            (Decision::Ask, Asking::Person) => {
                self.reach(call, Phase::WaitingForApproval).await;
                let preview = async { Ok(tool.preview(&call.input, cx).await) };
                let reason = if verdict.asks_as_every_edit() && !case.needs_confirmation {
                    ""
                } else {
                    verdict.reason()
                };
                let request = PermissionRequest {
                    tool: call.name.clone(),
                    input: call.input.clone(),
                    is_command: runs_command(call, tool),
                    program: tool.program(cx).map(Box::new),
                    reason: reason.to_owned(),
                    changes: self.unless_cancelled(call, preview).await?,
                    rule,
                };
                self.ask(&case, &verdict, request, changes).await
            }
        }
    }

    /// Limits the grant to the places that the decision was about, so that links are not followed again. A command
    /// that runs without asking can read no other places.
    pub(super) fn bound(&self, call: &ToolCall, tool: &dyn AnyTool, mut permit: Permit) -> Permit {
        let world = self.world();
        let places = places(&tool.touches(&call.input), &world);
        permit.grant = permit.grant.at(places);
        let ActivePolicy { mode, rules } = self.context.active_policy();
        // Without allow rules the result is known: no place outside, and everything runs without asking.
        if !rules.allow.is_empty() {
            let reach = reach(&call_details(call, tool), &rules, mode, &world);
            permit.grant = permit.grant.reaching(reach);
        }
        permit
    }

    fn world(&self) -> World<'_> {
        self.context.world_with(&self.links)
    }

    /// Changed settings apply from now on.
    pub(super) async fn read_settings_again(&self) {
        for notice in self.context.shared.refresh() {
            self.notice(notice).await;
        }
    }

    /// What rules, the mode and hooks decide.
    pub(super) async fn decision(
        &self,
        call: &ToolCall,
        tool: &dyn AnyTool,
        hook_answers: &HookAnswers,
    ) -> Verdict {
        // The person or a command may have changed the rules in the meantime.
        self.read_settings_again().await;
        let active_policy = self.context.active_policy();
        let judged = match &hook_answers.judged {
            Some(judged) if judged.is_current(&active_policy) => judged.verdict.clone(),
            Some(_) | None => self.judge(call, tool, &active_policy).await,
        };
        conclude(judged, hook_answers.decision.as_ref(), active_policy.mode)
    }

    /// What the rules and the classifier decide. A repository that matters for this is checked each time: it may have
    /// changed while the person was asked.
    pub(super) async fn judge(
        &self,
        call: &ToolCall,
        tool: &dyn AnyTool,
        active_policy: &ActivePolicy,
    ) -> Verdict {
        let asked = call_details(call, tool);
        let judging = || {
            judge(
                &asked,
                &active_policy.rules,
                active_policy.mode,
                &self.world(),
            )
        };
        let judged = self
            .context
            .shared
            .env
            .git
            .deciding(&self.links, judging)
            .await;
        self.context.shared.require_sandbox(judged)
    }

    /// Whether errors from the disk may be reported before the decision, which reveals what is there.
    pub(super) fn may_reveal(&self, call: &ToolCall, tool: &dyn AnyTool) -> bool {
        match self.authority {
            Authority::Model => {}
            // The person started it, or has seen it before.
            Authority::Permitted(_) | Authority::Person | Authority::Typed => return true,
        }
        let ActivePolicy { mode, rules } = self.context.active_policy();
        may_reveal(&call_details(call, tool), &rules, mode, &self.world())
    }

    fn rule_to_offer(
        &self,
        call: &ToolCall,
        tool: &dyn AnyTool,
        verdict: &Verdict,
    ) -> Option<RuleOffer> {
        let context = &self.context;
        // No rule prevents a hook from asking again.
        let by_hook = matches!(verdict.cause(), Cause::Hook(_));
        if verdict.decision() != Decision::Ask || context.shared.asking == Asking::Nobody || by_hook
        {
            return None;
        }
        let ActivePolicy { mode, rules } = context.active_policy();
        let Offer { rule, wider } = offer(&call_details(call, tool), &rules, mode, &self.world())?;
        Some(RuleOffer {
            rule,
            wider,
            file: context.shared.rules_file(),
        })
    }

    /// The rule that would let a command run without the sandbox that blocked it.
    pub(super) fn rule_that_frees(&self, call: &ToolCall, tool: &dyn AnyTool) -> Option<RuleOffer> {
        let ActivePolicy { mode, rules } = self.context.active_policy();
        let rule = offer_for_blocked(&call_details(call, tool), &rules, mode, &self.world())?;
        Some(RuleOffer {
            rule,
            wider: None,
            file: self.context.shared.rules_file(),
        })
    }

    /// Waits for the person, or until a rule from another question, a change of mode, or a hook answers for them.
    pub(super) async fn ask(
        &self,
        case: &Case<'_>,
        question: &Verdict,
        request: PermissionRequest,
        mut changes: Option<watch::Receiver<ActivePolicy>>,
    ) -> Result<Permit, Failure> {
        let (reply, mut answer) = oneshot::channel();
        let mut hooks = self.ask_hooks(case.call);
        let put = self
            .context
            .question(case.call.call, QuestionKind::Permission(request));
        self.report(Report::Asked(put, ReplyTo::Permission(reply)))
            .await;
        loop {
            let next = async {
                tokio::select! {
                    biased;
                    answer = &mut answer => answer.map(AnsweredBy::Person).map_err(|_| ToolError::cancelled()),
                    () = changed(changes.as_mut()) => Ok(AnsweredBy::Stance),
                    answer = answer_of(hooks.as_mut()) => Ok(AnsweredBy::Hooks(Box::new(answer))),
                }
            };
            match self.unless_cancelled(case.call, next).await? {
                AnsweredBy::Person(answer) => {
                    return self.answered_by_person(case, question, answer).await;
                }
                AnsweredBy::Hooks(answer) => {
                    hooks = None;
                    if let Some(permit) = self.answered_by_hooks(case, *answer).await? {
                        return Ok(permit);
                    }
                }
                AnsweredBy::Stance => {
                    let verdict = self.decision(case.call, case.tool, case.hook_answers).await;
                    if verdict.decision() == Decision::Allow {
                        self.decided(case.call, verdict.clone()).await;
                        return Ok(granted(&verdict));
                    }
                }
            }
        }
    }

    /// Applies the person's answer. Tells them if the rule that they added does not cover this call.
    async fn answered_by_person(
        &self,
        case: &Case<'_>,
        question: &Verdict,
        answer: Answer,
    ) -> Result<Permit, Failure> {
        let rule = match &answer {
            Answer::AllowForSession { rule } | Answer::AllowAlways { rule } => Some(rule.clone()),
            Answer::Allow | Answer::AllowPart { .. } | Answer::Deny { .. } => None,
        };
        let permit = self.answered(case.call, question, answer).await?;
        let counts = |rule: String| self.context.active_policy().rules.allows(&rule);
        if rule.is_some_and(counts) && !case.needs_confirmation {
            let verdict = self.decision(case.call, case.tool, case.hook_answers).await;
            if verdict.decision() != Decision::Allow {
                let notice = format!(
                    "your rule doesn't cover this call, so it runs once and the next one asks: {}",
                    verdict.reason()
                );
                self.notice(notice).await;
            }
        }
        Ok(permit)
    }

    async fn answered(
        &self,
        call: &ToolCall,
        question: &Verdict,
        answer: Answer,
    ) -> Result<Permit, Failure> {
        let grant = match question.answered(&answer) {
            Ok(grant) => grant,
            Err(no) => return Err(self.refused(call, no).await),
        };
        let mut part = None;
        let (reason, note) = match answer {
            Answer::Allow => allowed_once(),
            Answer::AllowForSession { rule } => self.allow_for_session(&rule).await,
            Answer::AllowAlways { rule } => self.allow_always(&rule).await,
            Answer::AllowPart { files, left_out } => {
                part = Some(files);
                let note = AnswerNote::LeftOut(left_out);
                ("allowed in part by you".to_owned(), Some(note))
            }
            Answer::Deny { .. } => unreachable!("a no has no grant"),
        };
        let verdict = grant.verdict(reason);
        self.report(Report::Decided(call.call, verdict, note)).await;
        Ok(Permit {
            part,
            ..grant.into()
        })
    }

    /// Reports that the person denied it.
    async fn refused(&self, call: &ToolCall, no: Denied) -> Failure {
        let (by, text) = match no {
            Denied::ByPerson(Some(reason)) => (
                format!("denied by you: {reason}"),
                format!("The user did not allow this call, and says: {reason}"),
            ),
            Denied::ByPerson(None) => (
                "denied by you".to_owned(),
                "The user did not allow this call. Do not try it again; ask how to continue"
                    .to_owned(),
            ),
            Denied::Before(reason) => (reason.clone(), denied_text(call, &reason)),
        };
        self.decided(call, Verdict::deny(Cause::Person, by.clone()))
            .await;
        denied(call, text, by)
    }

    /// Adds the rule for the rest of the session.
    async fn allow_for_session(&self, rule: &str) -> Explanation {
        match self.context.shared.allow(rule, &Source::Session) {
            Ok(()) => allowed_for_session(rule),
            Err(problem) => {
                self.notice(format!("{problem}; allowed once")).await;
                allowed_once()
            }
        }
    }

    async fn allow_always(&self, rule: &str) -> Explanation {
        let source = self.context.shared.rules_source();
        if let Err(problem) = self.context.shared.allow(rule, &source) {
            self.notice(format!("{problem}; allowed once")).await;
            return allowed_once();
        }
        match self.save(rule).await {
            Ok(()) => {
                let note = AnswerNote::Saved {
                    rule: rule.to_owned(),
                    file: source.to_string(),
                };
                let text = format!("always allowed by you: {rule} in {source}");
                (text, Some(note))
            }
            Err(problem) => {
                let notice = format!(
                    "the rule {rule} could not be saved; it applies to this session only: {problem}"
                );
                self.notice(notice).await;
                allowed_for_session(rule)
            }
        }
    }

    async fn save(&self, rule: &str) -> Result<(), String> {
        let Some(store) = self.context.shared.store.clone() else {
            return Err("rules are not saved in this run".to_owned());
        };
        let rule = rule.trim().to_owned();
        let saved = tokio::task::spawn_blocking(move || store.save(RuleList::Allow, &rule)).await;
        match saved {
            Ok(saved) => saved.map_err(|error| error.to_string()),
            Err(_) => Err("the program is ending".to_owned()),
        }
    }

    pub(super) async fn decided(&self, call: &ToolCall, verdict: Verdict) {
        self.report(Report::Decided(call.call, verdict, None)).await;
    }

    pub(super) async fn notice(&self, text: String) {
        self.report(Report::Notice(text)).await;
    }
}

/// Who decided, in words, and what else the answer did.
type Explanation = (String, Option<AnswerNote>);

fn allowed_once() -> Explanation {
    ("allowed once by you".to_owned(), None)
}

fn allowed_for_session(rule: &str) -> Explanation {
    let text = format!("allowed by you for this session: {rule}");
    let rule = rule.to_owned();
    (text, Some(AnswerNote::ForSession { rule }))
}

/// Who has answered.
enum AnsweredBy {
    Person(Answer),
    /// Rules or the mode have changed.
    Stance,
    Hooks(Box<hooks::Answer>),
}

pub(super) fn runs_command(call: &ToolCall, tool: &dyn AnyTool) -> bool {
    matches!(tool.touches(&call.input), Touches::Command(_))
}

fn call_details<'a>(call: &'a ToolCall, tool: &dyn AnyTool) -> CallDetails<'a> {
    CallDetails {
        tool: &call.name,
        input: &call.input,
        touches: tool.touches(&call.input),
        level: tool.spec().level,
        read_only: tool.facts(&call.input).read_only,
    }
}

async fn changed(changes: Option<&mut watch::Receiver<ActivePolicy>>) {
    if let Some(changes) = changes
        && changes.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

pub(super) fn granted(verdict: &Verdict) -> Permit {
    let grant = verdict.grant().expect("an allowed call has a grant");
    grant.into()
}
