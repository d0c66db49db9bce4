//! Passes questions of calls to the person, and replies back.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::context::Context;
use super::pipeline::{CallRun, Report};
use super::shared::Asking;
use crate::protocol::{Answer, CallRef, Phase, Question, QuestionKind, Reply};
use crate::tools::ask::Asker;

/// Where the reply to an open question goes. Dropping it tells the call to stop waiting.
#[derive(Debug)]
pub enum ReplyTo {
    /// Whether the call may run.
    Permission(oneshot::Sender<Answer>),
    /// Something that its tool wanted to know.
    Tool(oneshot::Sender<Reply>),
}

impl ReplyTo {
    /// Whether this is a reply to the question.
    pub fn takes(&self, reply: &Reply) -> bool {
        match (self, reply) {
            (ReplyTo::Permission(_), Reply::Permission(_))
            | (ReplyTo::Tool(_), Reply::Chosen(_) | Reply::Form(_) | Reply::Dismissed) => true,
            (
                ReplyTo::Permission(_) | ReplyTo::Tool(_),
                Reply::Permission(_)
                | Reply::Chosen(_)
                | Reply::Form(_)
                | Reply::Dismissed
                | Reply::Nobody,
            ) => false,
        }
    }

    /// Sends the reply. A reply of the wrong kind belongs to an earlier question that has ended: this question stays
    /// open.
    pub fn send(self, reply: Reply) -> Option<Self> {
        match (self, reply) {
            // A call that was stopped in the meantime no longer listens.
            (ReplyTo::Permission(to), Reply::Permission(answer)) => drop(to.send(answer)),
            (ReplyTo::Tool(to), reply @ (Reply::Chosen(_) | Reply::Form(_) | Reply::Dismissed)) => {
                drop(to.send(reply));
            }
            (
                open,
                Reply::Permission(_)
                | Reply::Chosen(_)
                | Reply::Form(_)
                | Reply::Dismissed
                | Reply::Nobody,
            ) => {
                return Some(open);
            }
        }
        None
    }
}

impl Context {
    pub(super) fn question(&self, call: CallRef, kind: QuestionKind) -> Question {
        Question {
            call,
            asker: self.name.clone(),
            kind,
        }
    }
}

impl CallRun {
    /// Lets the tool of a call ask the person.
    pub(super) fn asker(&self, call: CallRef) -> Asker {
        match self.context.shared.asking {
            Asking::Nobody => return Asker::nobody(),
            Asking::Person => {}
        }
        let (context, reports) = (self.context.clone(), self.reports.clone());
        let one_by_one = Arc::new(Mutex::new(()));
        Asker::new(move |kind| {
            let question = context.question(call, kind);
            let (reports, one_by_one) = (reports.clone(), one_by_one.clone());
            async move {
                let _alone = one_by_one.lock().await;
                ask(question, reports).await
            }
            .boxed()
        })
    }
}

async fn ask(question: Question, reports: mpsc::Sender<Report>) -> Reply {
    let (reply, answer) = oneshot::channel();
    let call = question.call;
    let mut waiting = Waiting {
        call,
        reports: Some(reports.clone()),
    };
    let waits = Report::Reached(call, Phase::WaitingForApproval);
    // The driver may be gone; then nobody replies either.
    let _ = reports.send(waits).await;
    let _ = reports
        .send(Report::Asked(question, ReplyTo::Tool(reply)))
        .await;
    let reply = answer.await.unwrap_or(Reply::Dismissed);
    waiting.reports = None;
    let _ = reports.send(Report::Reached(call, Phase::Running)).await;
    reply
}

/// A question that its tool may abandon by no longer waiting for the reply.
struct Waiting {
    call: CallRef,
    /// `None` once there is a reply.
    reports: Option<mpsc::Sender<Report>>,
}

impl Drop for Waiting {
    /// The call continues, which also removes the question from the screen.
    fn drop(&mut self) {
        if let Some(reports) = &self.reports {
            let _ = reports.try_send(Report::Reached(self.call, Phase::Running));
        }
    }
}
