//! Finds files of the workspace for `@`: an index that is filled in the background, and a thread that searches it.
//!
//! Nothing runs before the first request, and the thread sleeps between requests. It answers at once from what it has,
//! and again as the walk finds more. An index that is too old is rebuilt at the next `@`, while the old one still
//! answers.

mod index;
mod matching;
mod walk;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use self::index::Index;
use self::matching::Matching;
use crate::app::job::JobResult;

/// How old the index may be when a completion begins.
const FRESH: Duration = Duration::from_secs(5);

/// Takes an answer; called on the finder's thread.
pub type Answer = Box<dyn Fn(JobResult) + Send>;

pub struct Finder {
    input: Sender<Input>,
    stop: Arc<AtomicBool>,
    /// What the thread gets when it starts.
    asleep: Option<(PathBuf, Answer, Receiver<Input>)>,
}

enum Input {
    Asked {
        query: String,
        generation: u64,
    },
    Found(Index),
    /// With what a person should know about it.
    WalkEnded(Option<String>),
    /// The finder was dropped. The walk also holds a sender, so the channel alone does not tell.
    Ended,
}

impl Finder {
    /// Costs nothing until the first request.
    pub fn new(root: PathBuf, answer: Answer) -> Self {
        let (input, inputs) = channel();
        Self {
            input,
            stop: Arc::default(),
            asleep: Some((root, answer, inputs)),
        }
    }

    /// Requests the matching paths; a later request replaces this one.
    pub fn find(&mut self, query: String, generation: u64) {
        if let Some((root, answer, inputs)) = self.asleep.take() {
            let worker = Worker::new(root, answer, self.input.clone(), Arc::clone(&self.stop));
            if let Err(problem) = spawn("finder", move || worker.run(&inputs)) {
                tracing::warn!(%problem, "can't start the thread that finds files");
            }
        }
        // Without the thread there is no answer, and nothing waits for one.
        let _ = self.input.send(Input::Asked { query, generation });
    }
}

impl Drop for Finder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.input.send(Input::Ended);
    }
}

struct Worker {
    root: PathBuf,
    answer: Answer,
    input: Sender<Input>,
    stop: Arc<AtomicBool>,
    index: Index,
    /// The index of a walk that is running while there is an older one.
    next: Option<Index>,
    walk: Walk,
    matching: Matching,
    query: Option<(String, u64)>,
    /// The notice about the last walk; the same one is not repeated.
    notice: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walk {
    Never,
    Running,
    Ended(Instant),
}

impl Worker {
    fn new(root: PathBuf, answer: Answer, input: Sender<Input>, stop: Arc<AtomicBool>) -> Self {
        Self {
            root,
            answer,
            input,
            stop,
            index: Index::default(),
            next: None,
            walk: Walk::Never,
            matching: Matching::default(),
            query: None,
            notice: None,
        }
    }

    fn run(mut self, inputs: &Receiver<Input>) {
        while let Ok(first) = inputs.recv() {
            let mut asked = None;
            let mut more = false;
            for input in std::iter::once(first).chain(inputs.try_iter()) {
                match input {
                    Input::Asked { query, generation } => asked = Some((query, generation)),
                    Input::Found(batch) => more |= self.found(&batch),
                    Input::WalkEnded(remark) => {
                        self.end_walk();
                        self.set_notice(remark);
                        more = true;
                    }
                    Input::Ended => return,
                }
            }
            if let Some((query, generation)) = asked {
                self.ask(query, generation);
            } else if more {
                self.matching.search_new(&self.index);
                self.send_matches();
            }
        }
    }

    fn ask(&mut self, query: String, generation: u64) {
        let continues = self.query.as_ref().is_some_and(|(before, _)| {
            !before.is_empty() && (query.starts_with(before) || before.starts_with(&query))
        });
        let is_old = match self.walk {
            Walk::Never => true,
            Walk::Running => false,
            Walk::Ended(at) => at.elapsed() > FRESH && !continues,
        };
        if is_old {
            self.start_walk();
        }
        self.matching.ask(&query, &self.index);
        self.query = Some((query, generation));
        self.send_matches();
    }

    fn send_matches(&mut self) {
        let Some((_, generation)) = &self.query else {
            return;
        };
        (self.answer)(JobResult::Paths {
            generation: *generation,
            paths: self.matching.best(&self.index),
            found: self.matching.found(),
            complete: self.walk != Walk::Running,
        });
    }

    fn start_walk(&mut self) {
        let (root, input, stop) = (
            self.root.clone(),
            self.input.clone(),
            Arc::clone(&self.stop),
        );
        let walk = move || {
            let remark = walk::walk(&root, &stop, |batch| {
                input.send(Input::Found(batch)).is_ok()
            });
            // The finder may have been dropped.
            let _ = input.send(Input::WalkEnded(remark));
        };
        match spawn("walk", walk) {
            Ok(()) => {
                self.walk = Walk::Running;
                self.next = (!self.index.is_empty()).then(Index::default);
            }
            Err(problem) => {
                tracing::warn!(%problem, "can't start the thread that walks over the files");
            }
        }
    }

    /// Returns whether there is more to search now.
    fn found(&mut self, batch: &Index) -> bool {
        let into = self.next.as_mut().unwrap_or(&mut self.index);
        into.append(batch);
        self.next.is_none()
    }

    fn set_notice(&mut self, remark: Option<String>) {
        if let Some(remark) = remark.filter(|remark| self.notice.as_ref() != Some(remark)) {
            (self.answer)(JobResult::Failed(remark.clone()));
            self.notice = Some(remark);
        }
    }

    fn end_walk(&mut self) {
        self.walk = Walk::Ended(Instant::now());
        if let Some(next) = self.next.take() {
            self.index = next;
            self.matching.restart(&self.index);
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map(drop)
}
