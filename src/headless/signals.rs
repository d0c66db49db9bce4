//! The signals that end a run.

use std::io;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    /// The terminal is gone.
    HangUp,
    Quit,
}

impl Signal {
    pub fn exit_code(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
            Signal::HangUp => 129,
            Signal::Quit => 131,
        }
    }
}

pub struct Signals {
    interrupts: Stream,
    terminations: Stream,
    /// `None` when whoever started the program wants it to outlive the terminal (`nohup`).
    hang_ups: Option<Stream>,
    quits: Stream,
    /// Only so that a file that grows too large is an error of that file and not the end of the program.
    _too_large: Option<Stream>,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupts: signal(SignalKind::interrupt())?,
            terminations: signal(SignalKind::terminate())?,
            hang_ups: if hang_ups_are_ignored() {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            },
            quits: signal(SignalKind::quit())?,
            _too_large: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).ok(),
        })
    }

    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupts.recv() => Signal::Interrupt,
            _ = self.terminations.recv() => Signal::Terminate,
            () = hang_up(self.hang_ups.as_mut()) => Signal::HangUp,
            _ = self.quits.recv() => Signal::Quit,
        }
    }
}

async fn hang_up(stream: Option<&mut Stream>) {
    match stream {
        Some(stream) => {
            stream.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether the program was started with hang-ups ignored. Only Linux tells.
fn hang_ups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The first signal is the lowest bit, and the hang-up is the first.
    ignored.is_some_and(|mask| mask & 1 == 1)
}
