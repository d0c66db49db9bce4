//! The thread that finds syntax colours. It starts with the first request, because loading the syntaxes takes time.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::ui::highlight::{Highlighted, Highlighter, Key, Request};

/// After this time without a request all languages are dropped: each takes tens of megabytes.
const IDLE: Duration = Duration::from_secs(30);

#[derive(Default)]
pub struct Colours {
    worker: Option<Worker>,
}

struct Worker {
    requests: Sender<Request>,
    answers: mpsc::UnboundedReceiver<Answer>,
}

pub struct Answer {
    pub key: Key,
    /// `None` for an unknown language.
    pub colours: Option<Highlighted>,
}

impl Colours {
    pub fn ask(&mut self, request: Request) {
        let worker = self.worker.get_or_insert_with(Worker::start);
        // If the worker has ended, the code stays without colours.
        let _ = worker.requests.send(request);
    }

    /// The next answer: never, if nothing was requested. Cancel-safe.
    pub async fn answer(&mut self) -> Answer {
        if let Some(worker) = &mut self.worker
            && let Some(answer) = worker.answers.recv().await
        {
            return answer;
        }
        std::future::pending().await
    }
}

impl Worker {
    fn start() -> Self {
        let (requests, queue) = channel();
        let (outbox, answers) = mpsc::unbounded_channel();
        let colour = move || {
            let mut highlighter = None;
            while let Some(request) = next(&queue, &mut highlighter) {
                let Request {
                    key,
                    language,
                    code,
                } = request;
                let highlighter = highlighter.get_or_insert_with(Highlighter::new);
                let colours = highlighter.highlight(&language, &code);
                if outbox.send(Answer { key, colours }).is_err() {
                    return;
                }
            }
        };
        // Without a thread there are no colours, and everything else works.
        let _ = std::thread::Builder::new()
            .name("colours".into())
            .spawn(colour);
        Self { requests, answers }
    }
}

/// The next request. If none arrives for a while, the highlighter's memory is freed.
fn next(queue: &Receiver<Request>, highlighter: &mut Option<Highlighter>) -> Option<Request> {
    if highlighter.is_some() {
        match queue.recv_timeout(IDLE) {
            Ok(request) => return Some(request),
            Err(RecvTimeoutError::Timeout) => *highlighter = None,
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    queue.recv().ok()
}
