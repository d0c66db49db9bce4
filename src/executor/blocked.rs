//! A command that ran without asking and was blocked by the sandbox: it asks to run without the sandbox.

use super::call_hooks::Case;
use super::permission::{Permit, runs_command};
use super::pipeline::{CallRun, Failure, Report, denied};
use super::shared::Asking;
use crate::permissions::{Cause, Decision, Verdict, conclude};
use crate::protocol::{Mode, PermissionRequest, Phase};
use crate::tools::ToolError;

impl CallRun {
    /// Asks whether the command may run without the sandbox. Nothing that was blocked has happened.
    pub(super) async fn permission_to_continue(
        &self,
        case: &Case<'_>,
        error: &ToolError,
    ) -> Result<Permit, Failure> {
        let call = case.call;
        let what = error.message.lines().next().unwrap_or_default();
        let mode = self.context.mode();
        let verdict = match mode {
            Mode::Plan => Verdict::deny(Cause::Blocked, what),
            Mode::Default | Mode::AcceptEdits | Mode::DontAsk | Mode::BypassPermissions => {
                Verdict::ask(Cause::Blocked, what)
            }
        };
        let verdict = conclude(verdict, None, mode);
        self.decided(call, verdict.clone()).await;
        let refused = |why: &str| {
            format!(
                "{}\nThe command ran without asking, in a sandbox that only lets it read; {why}",
                error.message
            )
        };
        match (verdict.decision(), self.context.shared.asking) {
            (Decision::Deny | Decision::Allow, _) => {
                let why = format!("the permission mode {} does not ask for more", mode.name());
                Err(denied(call, refused(&why), what))
            }
            (Decision::Ask, Asking::Nobody) => Err(denied(
                call,
                refused(
                    "to do more it needs approval, and nobody is there to ask: allow it beforehand with --allow",
                ),
                what,
            )),
            (Decision::Ask, Asking::Person) => {
                self.reach(call, Phase::WaitingForApproval).await;
                let request = PermissionRequest {
                    tool: call.name.clone(),
                    input: call.input.clone(),
                    is_command: runs_command(call, case.tool),
                    program: case.tool.program(case.cx).map(Box::new),
                    reason: format!("{what}. Run it again outside the sandbox?"),
                    changes: Vec::new(),
                    rule: self.rule_that_frees(call, case.tool),
                };
                let permit = self.ask(case, &verdict, request, None).await?;
                self.report(Report::Permitted(call.call, permit.clone()))
                    .await;
                self.reach(call, Phase::Running).await;
                Ok(permit)
            }
        }
    }
}
