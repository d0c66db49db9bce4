//! Colours for code: a thread that is started with the first request, because what it needs to know takes time to load.

use std::sync::mpsc as requests;

use tokio::sync::mpsc;

use crate::ui::highlight::{Highlighted, Highlighter, Key, Request};

#[derive(Default)]
pub struct Colours {
    worker: Option<Worker>,
}

struct Worker {
    requests: requests::Sender<Request>,
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
        let (requests, queue) = requests::channel::<Request>();
        let (outbox, answers) = mpsc::unbounded_channel();
        let colour = move || {
            let mut highlighter = Highlighter::new();
            for request in queue {
                let answer = Answer {
                    key: request.key,
                    colours: highlighter.highlight(&request.language, &request.code),
                };
                if outbox.send(answer).is_err() {
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
