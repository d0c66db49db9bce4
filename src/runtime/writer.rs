//! Writes to the terminal on a thread, because a terminal may stop reading for a while.
//!
//! One write at a time: no other frame is made meanwhile, so the newest state is drawn next.

use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc as outgoing;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

pub struct Writer {
    bytes: outgoing::Sender<Vec<u8>>,
    done: mpsc::UnboundedReceiver<io::Result<Vec<u8>>>,
    /// How many writes are pending.
    pending: usize,
    /// A buffer to reuse.
    spare: Vec<u8>,
}

impl Writer {
    pub fn start() -> io::Result<Self> {
        Self::start_with(io::stdout())
    }

    fn start_with(terminal: impl AsFd + Send + 'static) -> io::Result<Self> {
        let (bytes, queue) = outgoing::channel::<Vec<u8>>();
        let (done_sender, done) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("output".into())
            .spawn(move || {
                for bytes in queue {
                    let written = write_all(&terminal, &bytes).map(|()| bytes);
                    if done_sender.send(written).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            bytes,
            done,
            pending: 0,
            spare: Vec::new(),
        })
    }

    pub fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// A buffer for the next bytes.
    pub fn spare(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    /// Writes bytes. Anything but a frame may be written while it is busy, and waits in line.
    pub fn write(&mut self, bytes: Vec<u8>) {
        self.pending += 1;
        // A thread that has ended has reported why.
        let _ = self.bytes.send(bytes);
    }

    /// Resolves when a write has ended: never, if there is none. Cancel-safe.
    pub async fn done(&mut self) -> io::Result<()> {
        if !self.is_busy() {
            return std::future::pending().await;
        }
        let written = self.done.recv().await;
        self.spare = written.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()))?;
        self.pending -= 1;
        Ok(())
    }
}

/// Also works for a terminal that was set to non-blocking.
fn write_all(terminal: &impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(terminal, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let _ = poll(&mut [PollFd::new(terminal, PollFlags::OUT)], None);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Writer;
    use std::io::Read;

    #[tokio::test]
    async fn a_blocked_reader_blocks_only_the_writer() {
        let (mut reader, terminal) = std::io::pipe().expect("a pipe");
        let mut writer = Writer::start_with(terminal).expect("a thread");
        let frame = vec![b'x'; 1 << 20];
        writer.write(frame.clone());
        assert!(writer.is_busy());
        let mut read = vec![0; frame.len()];
        reader.read_exact(&mut read).expect("all of it");
        writer.done().await.expect("written");
        assert_eq!((writer.is_busy(), read), (false, frame));
        assert!(
            writer.spare().capacity() >= 1 << 20,
            "the buffer is used again"
        );
    }

    #[tokio::test]
    async fn a_lost_terminal_is_an_error_and_no_signal() {
        let (reader, terminal) = std::io::pipe().expect("a pipe");
        let mut writer = Writer::start_with(terminal).expect("a thread");
        drop(reader);
        writer.write(b"x".to_vec());
        assert!(writer.done().await.is_err());
    }
}
