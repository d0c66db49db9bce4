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
    hang_ups: Stream,
    quits: Stream,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupts: signal(SignalKind::interrupt())?,
            terminations: signal(SignalKind::terminate())?,
            hang_ups: signal(SignalKind::hangup())?,
            quits: signal(SignalKind::quit())?,
        })
    }

    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupts.recv() => Signal::Interrupt,
            _ = self.terminations.recv() => Signal::Terminate,
            _ = self.hang_ups.recv() => Signal::HangUp,
            _ = self.quits.recv() => Signal::Quit,
        }
    }
}
