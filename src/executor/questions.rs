//! Questions of calls on their way to the person, and replies on their way back.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::context::Context;
use super::pipeline::{CallRun, Report};
use super::shared::Asking;
use crate::protocol::{Answer, CallRef, Phase, Question, QuestionKind, Reply};
use crate::tools::ask::Asker;

/// Where the reply to an open question goes. Dropping it means that the call no longer waits for the person.
#[derive(Debug)]
pub enum ReplyTo {
    /// Whether the call may run.
    Permission(oneshot::Sender<Answer>),
    /// Something that its tool wanted to know.
    Tool(oneshot::Sender<Reply>),
}

impl ReplyTo {
    /// Sends the reply on. One that is no reply to this question crossed with the end of an earlier one: this one stays open.
    pub fn send(self, reply: Reply) -> Option<Self> {
        match (self, reply) {
            // A call that was stopped in the meantime no longer listens.
            (ReplyTo::Permission(to), Reply::Permission(answer)) => drop(to.send(answer)),
            (ReplyTo::Tool(to), reply @ (Reply::Chosen(_) | Reply::Dismissed)) => {
                drop(to.send(reply));
            }
            (open, Reply::Permission(_) | Reply::Chosen(_) | Reply::Dismissed | Reply::Nobody) => {
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
    /// What the tool of a call asks the person with.
    pub(super) fn asker(&self, call: CallRef) -> Asker {
        match self.context.shared.asking {
            Asking::Nobody => return Asker::nobody(),
            Asking::Person => {}
        }
        let (context, reports) = (self.context.clone(), self.reports.clone());
        let one_by_one = Arc::new(Mutex::new(()));
        Asker::new(move |requests| {
            let question = context.question(call, QuestionKind::Choice(requests));
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
    // A driver that is gone has no use for reports; then nobody replies, either.
    let _ = reports.send(waits).await;
    let _ = reports
        .send(Report::Asked(question, ReplyTo::Tool(reply)))
        .await;
    let reply = answer.await.unwrap_or(Reply::Dismissed);
    waiting.reports = None;
    let _ = reports.send(Report::Reached(call, Phase::Running)).await;
    reply
}

/// A question that its tool may give up, by not waiting for the reply any more.
struct Waiting {
    call: CallRef,
    /// `None` once there is a reply.
    reports: Option<mpsc::Sender<Report>>,
}

impl Drop for Waiting {
    /// The call runs on, and the question goes from the screen with that.
    fn drop(&mut self) {
        if let Some(reports) = &self.reports {
            let _ = reports.try_send(Report::Reached(self.call, Phase::Running));
        }
    }
}
