//! What the person types: a thread that reads the terminal's bytes and decodes them.
//!
//! crossterm's own reader is not used: it treats a late reply as typing, spins at the end of the input, and cannot be
//! paused while an editor has the terminal. Its types for keys and mouse are used.

mod decode;
mod sequence;
#[cfg(test)]
mod tests;

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::sync::mpsc as control;
use std::time::{Duration, Instant};

use crossterm::event::{KeyEvent, MouseEvent};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

pub use self::decode::Decoder;

/// How many reads may wait for the screen before the terminal has to wait.
const READS: usize = 64;
/// The most that the kernel returns from a terminal at once.
const READ: usize = 4096;
/// How long a reader has to release the terminal. It only has to finish a read that has begun.
const PAUSE_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Key(KeyEvent),
    Pasted(String),
    Pointed(MouseEvent),
    Focused(bool),
    Reply(Reply),
    /// The terminal is gone; nothing comes after this.
    Gone,
}

/// What the terminal reports about itself, asked or not. However late it arrives, it is never typing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The background colour, as reported by `OSC 11`.
    Background(String),
    Other,
}

/// The reading thread. It ends when this is dropped.
pub struct Input {
    pub events: mpsc::Receiver<Vec<Event>>,
    commands: control::Sender<InputCommand>,
    wake: PipeWriter,
}

enum InputCommand {
    /// Stop touching the terminal, and confirm it.
    Pause(control::SyncSender<()>),
    Resume,
}

impl Input {
    pub fn start() -> io::Result<Self> {
        Self::start_with(io::stdin())
    }

    fn start_with(terminal: impl AsFd + Send + 'static) -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        let (sender, events) = mpsc::channel(READS);
        let (commands, inbox) = control::channel();
        let mut reader = Reader {
            terminal,
            woken,
            inbox,
            events: sender,
            decoder: Decoder::default(),
        };
        std::thread::Builder::new()
            .name("input".into())
            .spawn(move || reader.run())?;
        Ok(Self {
            events,
            commands,
            wake,
        })
    }

    /// Leaves the terminal to another program, which receives what is typed from now on.
    pub fn pause(&mut self) {
        let (done, paused) = control::sync_channel(1);
        self.send(InputCommand::Pause(done));
        // A thread that has ended does not read either.
        let _ = paused.recv_timeout(PAUSE_TIMEOUT);
    }

    pub fn resume(&mut self) {
        self.send(InputCommand::Resume);
    }

    fn send(&mut self, command: InputCommand) {
        let _ = self.commands.send(command);
        let _ = self.wake.write_all(&[0]);
    }
}

struct Reader<T> {
    terminal: T,
    woken: PipeReader,
    inbox: control::Receiver<InputCommand>,
    events: mpsc::Sender<Vec<Event>>,
    decoder: Decoder,
}

enum Wakeup {
    Ready,
    Command,
    TimedOut,
}

impl<T: AsFd> Reader<T> {
    fn run(&mut self) {
        let mut reading = true;
        let mut buffer = [0; READ];
        loop {
            let max_wait = self.decoder.max_wait().filter(|_| reading);
            let mut events = Vec::new();
            match self.wait(reading, max_wait) {
                Ok(Wakeup::Command) => match self.take_command() {
                    Some(InputCommand::Pause(done)) => {
                        reading = false;
                        let _ = done.send(());
                    }
                    Some(InputCommand::Resume) => reading = true,
                    None => return,
                },
                Ok(Wakeup::TimedOut) => self.decoder.flush(&mut events),
                Ok(Wakeup::Ready) => match rustix::io::read(&self.terminal, &mut buffer) {
                    Err(Errno::INTR | Errno::AGAIN) => {}
                    Ok(0) | Err(_) => events.push(Event::Gone),
                    Ok(count) => self.decoder.push(&buffer[..count], &mut events),
                },
                Err(_) => events.push(Event::Gone),
            }
            let gone = events.last() == Some(&Event::Gone);
            if !events.is_empty() && self.events.blocking_send(events).is_err() || gone {
                return;
            }
        }
    }

    /// Sleeps until there is something to do; at most `max_wait`.
    fn wait(&self, reading: bool, max_wait: Option<Duration>) -> rustix::io::Result<Wakeup> {
        let deadline = max_wait.map(|max_wait| Instant::now() + max_wait);
        loop {
            let mut watched = [
                PollFd::new(&self.woken, PollFlags::IN),
                PollFd::new(&self.terminal, PollFlags::IN),
            ];
            let watched = &mut watched[..if reading { 2 } else { 1 }];
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(watched, timeout.as_ref()) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
                Ok(0) => return Ok(Wakeup::TimedOut),
                Ok(_) if !watched[0].revents().is_empty() => return Ok(Wakeup::Command),
                Ok(_) => return Ok(Wakeup::Ready),
            }
        }
    }

    /// `None` when there will be no more of them.
    fn take_command(&mut self) -> Option<InputCommand> {
        let mut byte = [0];
        match self.woken.read(&mut byte) {
            Ok(0) | Err(_) => None,
            Ok(_) => self.inbox.try_recv().ok(),
        }
    }
}
