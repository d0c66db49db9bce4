//! The signals that concern a screen, and those that end the program.

use std::io;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

use crate::process::signals::Signals as Endings;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Resized,
    /// The person wants the shell back for a while.
    Stop,
    /// The program was stopped and continues, perhaps in the background.
    Continued,
    Interrupted,
    /// End with this exit code.
    End(u8),
}

pub struct Signals {
    endings: Endings,
    resizes: Stream,
    stops: Stream,
    continuations: Stream,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            endings: Endings::listen()?,
            resizes: signal(SignalKind::window_change())?,
            stops: signal(SignalKind::from_raw(rustix::process::Signal::TSTP.as_raw()))?,
            continuations: signal(SignalKind::from_raw(rustix::process::Signal::CONT.as_raw()))?,
        })
    }

    /// Several signals of one kind become one. Cancel-safe.
    pub async fn next(&mut self) -> Signal {
        use crate::process::signals::Signal as Ending;
        tokio::select! {
            ending = self.endings.next() => match ending {
                Ending::Interrupt => Signal::Interrupted,
                Ending::Terminate | Ending::HangUp | Ending::Quit | Ending::Other(_) => {
                    Signal::End(ending.exit_code())
                }
            },
            _ = self.stops.recv() => Signal::Stop,
            _ = self.continuations.recv() => Signal::Continued,
            _ = self.resizes.recv() => Signal::Resized,
        }
    }
}
