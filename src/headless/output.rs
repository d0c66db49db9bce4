//! Standard output, written by a separate thread: a reader that does not read must not block the handling of signals.

use std::io::{self, Write};
use std::thread::{Builder, JoinHandle};

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::text::without_controls;

/// How many lines may wait for the reader before the run waits too.
const LINES: usize = 256;

pub struct Output {
    pub lines: Option<mpsc::Sender<String>>,
    writer: Option<JoinHandle<io::Result<()>>>,
    /// Completes when the reader has closed the output.
    pub closed: oneshot::Receiver<()>,
}

impl Output {
    pub fn start() -> io::Result<Self> {
        let (lines, queue) = mpsc::channel(LINES);
        let writer = Builder::new().spawn(move || write(queue))?;
        let (gone, closed) = oneshot::channel();
        Builder::new().spawn(move || {
            wait_until_reader_closes();
            let _ = gone.send(());
        })?;
        Ok(Self {
            lines: Some(lines),
            writer: Some(writer),
            closed,
        })
    }

    pub fn line(&mut self, text: String) {
        if let Some(lines) = &self.lines {
            // There is space, or the writer has failed and reports that at the end.
            let _ = lines.try_send(crate::config::hidden(text));
        }
    }

    pub fn json(&mut self, value: &Value) {
        self.line(without_controls(&value.to_string()).into_owned());
    }

    /// Waits until everything is written.
    pub async fn finish(&mut self) -> io::Result<()> {
        self.lines = None;
        let Some(writer) = self.writer.take() else {
            return Ok(());
        };
        let joined = tokio::task::spawn_blocking(move || writer.join()).await;
        joined.ok().and_then(Result::ok).unwrap_or(Ok(()))
    }
}

/// Completes once there is space for another line: true, or false if the writer has ended.
pub async fn has_room(lines: Option<&mpsc::Sender<String>>) -> bool {
    match lines {
        Some(lines) => lines.reserve().await.is_ok(),
        None => false,
    }
}

fn write(mut queue: mpsc::Receiver<String>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    while let Some(line) = queue.blocking_recv() {
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// Waits until the reader has closed the output; forever if it is a file.
fn wait_until_reader_closes() {
    let stdout = io::stdout();
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    loop {
        // Errors and hang-ups are always reported.
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => return,
        }
    }
}
