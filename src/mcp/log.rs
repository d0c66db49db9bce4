//! The last lines of a server: its stderr, and the messages that it logs over the protocol.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

use super::describe::line;
use crate::config::hidden;

const MOST_LINES: usize = 200;
/// The rest of a longer line is dropped.
const LONGEST_LINE: usize = 500;

/// Bounded, however much a server prints. Clones share the lines.
#[derive(Debug, Clone, Default)]
pub struct Log(Arc<Mutex<VecDeque<String>>>);

impl Log {
    pub fn push(&self, text: &str) {
        // A server may repeat the values that it was given.
        let text = hidden(line(text));
        if text.is_empty() {
            return;
        }
        let mut lines = self.lock();
        if lines.len() == MOST_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }

    /// The newest lines, oldest first.
    pub fn tail(&self, most: usize) -> Vec<String> {
        let lines = self.lock();
        let from = lines.len().saturating_sub(most);
        lines.iter().skip(from).cloned().collect()
    }

    pub fn last(&self) -> Option<String> {
        self.lock().back().cloned()
    }

    /// Reads until the end, so that the server never blocks.
    pub async fn drain(self, mut from: impl AsyncRead + Unpin) {
        let mut bytes = vec![0; 8 << 10];
        let mut begun: Vec<u8> = Vec::new();
        while let Ok(count) = from.read(&mut bytes).await {
            if count == 0 {
                break;
            }
            for part in bytes[..count].split_inclusive(|byte| *byte == b'\n') {
                let room = LONGEST_LINE.saturating_sub(begun.len()).min(part.len());
                begun.extend_from_slice(&part[..room]);
                if part.ends_with(b"\n") {
                    self.push(&String::from_utf8_lossy(&begun));
                    begun.clear();
                }
            }
        }
        self.push(&String::from_utf8_lossy(&begun));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_keeps_only_the_last_lines_without_escapes() {
        let log = Log::default();
        let lines: Vec<String> = (0..5_000)
            .map(|number| format!("\u{1b}[31mline {number}\n"))
            .collect();
        let flood = lines.concat();
        let endless = "x".repeat(1 << 20);
        log.clone()
            .drain(format!("{flood}{endless}\nlast").as_bytes())
            .await;
        let tail = log.tail(3);
        assert_eq!(tail[0], "line 4999");
        assert!(tail[1].len() <= LONGEST_LINE, "{}", tail[1].len());
        assert_eq!(tail[2], "last");
        assert_eq!(log.tail(10_000).len(), MOST_LINES);
    }
}
