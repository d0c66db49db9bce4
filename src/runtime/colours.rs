//! Colours for code: a thread that is started with the first request, because what it needs to know takes time to load.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::ui::highlight::{Highlighted, Highlighter, Key, Request};

/// After so long without a request all languages are forgotten: they are some ten megabytes each.
const REST: Duration = Duration::from_secs(30);

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
    /// `None` for a language that nobody knows.
    pub colours: Option<Highlighted>,
}

impl Colours {
    pub fn ask(&mut self, request: Request) {
        let worker = self.worker.get_or_insert_with(Worker::start);
        // A worker that has ended leaves the code without colours.
        let _ = worker.requests.send(request);
    }

    /// The next answer: never, while nothing was asked. Cancel-safe.
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
        // Without a thread there are no colours, and all else works.
        let _ = std::thread::Builder::new()
            .name("colours".into())
            .spawn(colour);
        Self { requests, answers }
    }
}

/// The next request. What the highlighter has in memory goes when none comes for a while.
fn next(queue: &Receiver<Request>, highlighter: &mut Option<Highlighter>) -> Option<Request> {
    if highlighter.is_some() {
        match queue.recv_timeout(REST) {
            Ok(request) => return Some(request),
            Err(RecvTimeoutError::Timeout) => *highlighter = None,
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    queue.recv().ok()
}
