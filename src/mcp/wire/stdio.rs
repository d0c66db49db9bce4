//! One JSON-RPC message per line, over the pipes of a process.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, CustomResult, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use super::tap::Link;
use crate::mcp::process::Ended;
use crate::process::output::DRAIN;

/// A longer message is refused.
pub const LONGEST_LINE: usize = 16 << 20;
/// How much a server may print that is no message before it is stopped.
const MOST_JUNK: usize = 128 << 20;
/// The id of a message that is too long is looked for in this many bytes.
const HEAD: usize = 200;
/// How long to wait for the exit status of a process that has closed its output.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long closing waits for a write that the server does not read.
const LAST_WRITE: Duration = Duration::from_millis(200);

pub struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The rest of the line is dropped.
    skipping: bool,
    junk: usize,
    write: Arc<Mutex<Option<W>>>,
    link: Arc<Link>,
    ended: Ended,
    /// When to stop reading what a process has left in the pipe.
    until: Option<Instant>,
}

enum Read {
    Line,
    TooLong,
    End,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub fn new(read: R, write: W, link: Arc<Link>, ended: Ended) -> Self {
        Self {
            read: BufReader::with_capacity(64 << 10, read),
            line: Vec::new(),
            skipping: false,
            junk: 0,
            write: Arc::new(Mutex::new(Some(write))),
            link,
            ended,
            until: None,
        }
    }

    /// Cancel-safe: what was read of a line is kept.
    async fn read_line(&mut self) -> Read {
        loop {
            let Ok(bytes) = self.read.fill_buf().await else {
                return Read::End;
            };
            if bytes.is_empty() {
                return Read::End;
            }
            let end = memchr::memchr(b'\n', bytes);
            let count = end.map_or(bytes.len(), |at| at + 1);
            let fits = self.line.len() + count <= LONGEST_LINE;
            if !self.skipping && fits {
                self.line.extend_from_slice(&bytes[..count]);
            }
            self.read.consume(count);
            if self.skipping {
                self.junk += count;
                self.skipping = end.is_none();
                if self.junk > MOST_JUNK {
                    return Read::TooLong;
                }
            } else if !fits {
                self.skipping = end.is_none();
                return Read::TooLong;
            } else if end.is_some() {
                return Read::Line;
            }
        }
    }

    /// Also ends when the process has, even if another one holds the pipe open.
    async fn read_while_it_runs(&mut self) -> Read {
        loop {
            if let Some(until) = self.until {
                return timeout_at(until, self.read_line())
                    .await
                    .unwrap_or(Read::End);
            }
            let mut ended = self.ended.clone();
            tokio::select! {
                biased;
                read = self.read_line() => return read,
                // An error means that nobody watches the process any more.
                _ = ended.wait_for(Option::is_some) => {
                    self.until = Some(Instant::now() + DRAIN);
                }
            }
        }
    }

    async fn over(&mut self) {
        let how = timeout(LAST_WORDS, self.ended.wait_for(Option::is_some)).await;
        let how = match how {
            Ok(Ok(how)) => how.clone(),
            Ok(Err(_)) | Err(_) => None,
        };
        let how = how.map_or("closed its output".to_owned(), |how| how.clone());
        self.link.fail_all(&format!("the server {how}"));
    }

    fn too_long(&mut self) {
        let why = format!(
            "the server sent a message of more than {} MB",
            LONGEST_LINE >> 20
        );
        self.link.log.push(&why);
        let head = &self.line[..self.line.len().min(HEAD)];
        match id_in(head).filter(|id| self.link.is_pending(id)) {
            Some(id) => self.link.fail(&id, &why),
            // It may be the answer to any of them.
            None => self.link.fail_all(&why),
        }
        self.junk += self.line.len();
        self.line = Vec::new();
    }

    fn parsed(&mut self) -> Option<ServerJsonRpcMessage> {
        let line = self.line.trim_ascii();
        let message = if line.is_empty() {
            None
        } else {
            match message(line) {
                Ok(message) => Some(message),
                Err(id) => {
                    self.junk += line.len();
                    let text = String::from_utf8_lossy(&line[..line.len().min(HEAD)]);
                    self.link.log.push(&format!("not a message: {text}"));
                    if let Some(id) = id.or_else(|| id_in(&line[..line.len().min(HEAD)])) {
                        self.link.fail(&id, "the server's answer could not be read");
                    }
                    None
                }
            }
        };
        self.line.clear();
        // A large message must not hold its memory for ever.
        self.line.shrink_to(64 << 10);
        message
    }
}

/// A line as a message. Results stay as they are: they are read leniently later. If it can't be read, the error is the
/// id of the request that it answers.
fn message(line: &[u8]) -> Result<ServerJsonRpcMessage, Option<RequestId>> {
    let mut value: Value = serde_json::from_slice(line).map_err(|_| None)?;
    if value.get("method").is_some() {
        return serde_json::from_value(value).map_err(|_| None);
    }
    let id: Option<RequestId> = serde_json::from_value(value["id"].clone()).ok();
    if let (Some(result), Some(id)) = (value.get_mut("result"), id.clone()) {
        let result = result.take();
        let is_handshake = result.get("protocolVersion").is_some();
        let result = match is_handshake.then(|| serde_json::from_value(result.clone())) {
            Some(Ok(handshake)) => ServerResult::InitializeResult(handshake),
            Some(Err(_)) | None => ServerResult::CustomResult(CustomResult(result)),
        };
        return Ok(JsonRpcMessage::response(result, id));
    }
    serde_json::from_value(value).map_err(|_| id)
}

/// The id of an answer, in the beginning of its text.
fn id_in(head: &[u8]) -> Option<RequestId> {
    let text = String::from_utf8_lossy(head);
    let (before, after) = text.split_once("\"id\"")?;
    if before.contains("result") || before.contains("params") || before.contains("error") {
        return None;
    }
    let number = after.trim_start().strip_prefix(':')?.trim_start();
    let end = number.find(|letter: char| !letter.is_ascii_digit())?;
    number[..end].parse().ok().map(RequestId::Number)
}

impl<R, W> Transport<RoleClient> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let write = self.write.clone();
        let line = serde_json::to_vec(&item).map(|mut line| {
            line.push(b'\n');
            line
        });
        async move {
            let mut write = write.lock().await;
            let write = write.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            write.write_all(&line?).await?;
            write.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(owed) = self.link.owed() {
                return Some(owed);
            }
            match self.read_while_it_runs().await {
                Read::Line => {
                    if let Some(message) = self.parsed() {
                        return Some(message);
                    }
                }
                Read::TooLong => self.too_long(),
                Read::End => {
                    self.over().await;
                    return self.link.owed();
                }
            }
            if self.junk > MOST_JUNK {
                let why = "the server was stopped: it prints what is not part of the protocol";
                self.link.log.push(why);
                self.link.fail_all(why);
                return self.link.owed();
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // A server that does not read is ended with its stdin open.
        if let Ok(mut write) = timeout(LAST_WRITE, self.write.lock()).await {
            drop(write.take());
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "stdio_tests.rs"]
mod tests;
