//! Reports the newest output of a running command, at a bounded pace and size.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::protocol::Printed;
use crate::tools::Progress;

/// The shortest time between two reports.
const PACE: Duration = Duration::from_millis(50);
/// How much of the newest output a report shows.
const REPORT: usize = 4 * 1024;

/// Output that was not reported yet.
#[derive(Debug, Default)]
pub struct Unreported {
    bytes: Vec<u8>,
    /// Lines completed since the last report.
    lines: usize,
}

impl Unreported {
    pub fn push(&mut self, bytes: &[u8]) {
        self.lines += memchr::memchr_iter(b'\n', bytes).count();
        self.bytes
            .extend_from_slice(&bytes[bytes.len().saturating_sub(REPORT)..]);
        let excess = self.bytes.len().saturating_sub(REPORT);
        if excess > 0 {
            // Cut at the start of a line, so that the rest does not look like the end of the line reported last.
            self.bytes.drain(..excess);
            let line = memchr::memchr(b'\n', &self.bytes).unwrap_or(0);
            self.bytes.drain(..line);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes all of it, with secrets removed.
    pub fn take(&mut self) -> Printed {
        let unreported = std::mem::take(self);
        let text = String::from_utf8_lossy(&unreported.bytes).into_owned();
        Printed {
            text: crate::config::hidden(text),
            lines: unreported.lines,
        }
    }
}

/// Reports output while the call is running.
pub struct Reporter<'a> {
    progress: &'a Progress,
    unreported: Unreported,
    next: Instant,
}

impl<'a> Reporter<'a> {
    pub fn new(progress: &'a Progress) -> Self {
        Self {
            progress,
            unreported: Unreported::default(),
            next: Instant::now(),
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.unreported.push(bytes);
    }

    pub async fn due(&self) {
        if self.unreported.is_empty() {
            std::future::pending::<()>().await;
        } else {
            sleep_until(self.next).await;
        }
    }

    pub fn flush(&mut self) {
        if !self.unreported.is_empty() {
            self.progress.report(self.unreported.take());
            self.next = Instant::now() + PACE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{REPORT, Unreported};

    #[test]
    fn lines_that_are_left_out_are_counted() {
        let mut unreported = Unreported::default();
        for number in 0..10_000 {
            unreported.push(format!("line {number}\n").as_bytes());
        }
        let printed = unreported.take();
        assert_eq!(printed.lines, 10_000);
        assert!(printed.text.len() <= REPORT);
        assert!(
            printed.text.starts_with("\nline "),
            "{}",
            &printed.text[..20]
        );
        assert!(printed.text.ends_with("\nline 9999\n"));
        assert!(unreported.is_empty());
    }
}
