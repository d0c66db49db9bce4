//! What the debug log says about a conversation: its turns, requests and calls.

use std::time::Duration;

use tracing::Span;

use crate::config::logged;
use crate::executor::Observed;
use crate::protocol::{AgentId, CallRef, Ending, QuestionKind, TurnId, TurnSummary};
use crate::session::History;

/// The span for everything that is logged during a request.
pub fn request(agent: AgentId, attempt: u32) -> Span {
    tracing::info_span!("request", agent = agent.0, attempt)
}

pub fn turn_begun(turn: TurnId) {
    tracing::info!(agent = turn.agent.0, turn = turn.number, "turn begun");
}

pub fn turn_ended(agent: AgentId, summary: &TurnSummary) {
    let (ending, took) = (summary.ending.name(), summary.took);
    let responses = summary.responses;
    match &summary.ending {
        Ending::Failed { problem, .. } => {
            let problem = logged(problem);
            tracing::warn!(agent = agent.0, ending, %problem, ?took, responses, "turn failed");
        }
        Ending::Done | Ending::MaxTurns | Ending::Interrupted => {
            tracing::info!(agent = agent.0, ending, ?took, responses, "turn ended");
        }
    }
}

pub fn retrying(agent: AgentId, problem: &str, attempt: u32, wait: Duration) {
    tracing::warn!(agent = agent.0, problem = %logged(problem), attempt, ?wait, "retrying");
}

/// Logs what happens to a call. `at` is the time since its turn began.
pub fn call(observed: &Observed, history: &History, at: Duration) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let tool = |call: &CallRef| history.call(*call).map(|call| call.name.as_str());
    match observed {
        Observed::Queued(call) => tracing::debug!(
            call = %call.call,
            tool = %logged(&call.name),
            wire = %logged(&call.id),
            input = %logged(&*call.input),
            ?at,
            "call queued"
        ),
        Observed::Begun(call) => {
            tracing::debug!(%call, tool = tool(call), ?at, "call begun");
        }
        Observed::Reached(call, phase) => {
            tracing::debug!(%call, tool = tool(call), ?phase, ?at, "call reached a phase");
        }
        Observed::Answered(call) => {
            tracing::debug!(%call, tool = tool(call), ?at, "person answered");
        }
        Observed::Rewritten(call, input, by) => {
            let (by, input) = (logged(by), logged(&**input));
            tracing::info!(%call, tool = tool(call), %by, %input, "call rewritten");
        }
        Observed::Asked(question) => {
            let (call, about) = (question.call, logged(about(&question.kind)));
            tracing::info!(%call, tool = tool(&call), %about, "person asked");
        }
        Observed::Decided {
            call,
            verdict,
            asks_person,
            note: _,
        } => tracing::info!(
            %call,
            tool = tool(call),
            decision = verdict.decision().name(),
            cause = %logged(verdict.cause()),
            reason = %logged(verdict.reason()),
            asks_person,
            "call decided"
        ),
        Observed::Changing(call, change) => {
            tracing::debug!(%call, path = %logged(change.path.display()), "file changes");
        }
        Observed::ModeIs(mode) => tracing::debug!(mode = mode.name(), "mode changed by a call"),
        Observed::Planned(todos) => tracing::debug!(steps = todos.len(), "steps planned"),
        Observed::Activated(tools) => {
            tracing::info!(tools = %logged(tools.join(" ")), "tools activated");
        }
        Observed::Moved(cwd) => tracing::debug!(cwd = %logged(cwd.display()), "shell moved"),
        Observed::Completed {
            call,
            result,
            ran,
            outcome,
            ..
        } => {
            let text = result.as_text();
            tracing::info!(
                %call,
                tool = tool(call),
                outcome = %logged(format_args!("{outcome:?}")),
                ?ran,
                bytes = text.len(),
                result = %logged(&text),
                "call finished"
            );
        }
        // Progress is on the screen, notices are logged where they are created, and results are in the next request.
        Observed::Progress(..) | Observed::Notice(_) | Observed::Yielded(_) => {}
    }
}

fn about(question: &QuestionKind) -> &str {
    match question {
        QuestionKind::Permission(request) => &request.reason,
        QuestionKind::Choice(requests) => requests.first().map_or("", |first| &first.question),
        QuestionKind::Form(form) => &form.message,
    }
}
