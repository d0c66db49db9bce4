//! Calls that are a part of another call: they run through the same steps, and their questions and reports are those
//! of the outer call.

use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::machine::End;
use super::permission::Authority;
use super::pipeline::{CallRun, Done, Report};
use crate::permissions::Remembered;
use crate::protocol::{CallInput, Phase, ToolCall};
use crate::tools::inner::{Inner, Part, PartResult};

/// How many reports of a part may wait.
const REPORTS: usize = 16;

impl CallRun {
    /// What a call can do for its conversation.
    pub(super) fn inner(&self, call: &ToolCall) -> Inner {
        let (context, offered) = (self.context.clone(), self.offered.clone());
        let (cancel, outer) = (self.cancel.clone(), self.reports.clone());
        let (id, wire) = (call.call, call.id.clone());
        let run = move |part: Part| {
            let (reports, inner_reports) = mpsc::channel(REPORTS);
            let run = CallRun {
                context: context.clone(),
                offered: offered.clone(),
                authority: Authority::Model,
                cancel: cancel.clone(),
                background: CancellationToken::new(),
                reports,
                links: Remembered::default(),
            };
            let call = ToolCall {
                call: id,
                id: wire.clone(),
                name: part.tool.to_owned(),
                input: CallInput::from(part.input),
            };
            part_of(run, call, inner_reports, outer.clone()).boxed()
        };
        let context = self.context.clone();
        Inner::new(run, move |allows| context.allow_for_turn(allows))
    }
}

async fn part_of(
    run: CallRun,
    call: ToolCall,
    mut inner_reports: mpsc::Receiver<Report>,
    outer: mpsc::Sender<Report>,
) -> PartResult {
    let mut running = std::pin::pin!(run.run(call));
    loop {
        tokio::select! {
            biased;
            Some(report) = inner_reports.recv() => forward(report, &outer).await,
            done = &mut running => return result(&done),
        }
    }
}

/// Forwards a report, unless it only concerns the part.
async fn forward(report: Report, outer: &mpsc::Sender<Report>) {
    match report {
        Report::Reached(_, Phase::WaitingForApproval | Phase::Running)
        | Report::Progress(..)
        | Report::Asked(..)
        | Report::Decided(..)
        | Report::Notice(_)
        | Report::Halted(_)
        | Report::Changing(..)
        | Report::Logged(_) => {
            // The driver may be gone.
            let _ = outer.send(report).await;
        }
        // The outer call already runs alone.
        Report::MustBeAlone(_, proceed) => signal(proceed),
        Report::Reached(_, Phase::Validating | Phase::InHooks | Phase::Finishing)
        | Report::Permitted(..)
        | Report::Rewritten(..)
        | Report::TimePassed
        | Report::Finished(..) => {}
    }
}

fn signal(proceed: oneshot::Sender<()>) {
    // A call that was stopped in the meantime no longer listens.
    let _ = proceed.send(());
}

/// The output of a part. A command that ran and failed also has output.
fn result(done: &Done) -> PartResult {
    let result = &done.outcome.result;
    let text = result.as_text();
    match done.outcome.end {
        End::Normal if !result.is_error => Ok(done.for_person.output_in(&text).to_owned()),
        End::CommandFailed | End::Backgrounded => Ok(text),
        End::Normal | End::Denied | End::Stopped => Err(text),
    }
}
