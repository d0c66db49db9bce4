//! The signals that end a run.

use std::io;
use std::task::Poll;

use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
    /// The terminal was closed.
    HangUp,
    Quit,
    /// Another signal that would end the program at once without a handler.
    Other(u8),
}

/// Signals that come from outside or from a limit, and can be handled. Signals that a fault of the program itself
/// raises would be raised again and again.
const OTHERS: &[rustix::process::Signal] = &[
    rustix::process::Signal::ALARM,
    rustix::process::Signal::VTALARM,
    rustix::process::Signal::PROF,
    rustix::process::Signal::XCPU,
    rustix::process::Signal::USR1,
    rustix::process::Signal::USR2,
    rustix::process::Signal::IO,
    #[cfg(target_os = "linux")]
    rustix::process::Signal::POWER,
    #[cfg(target_os = "linux")]
    rustix::process::Signal::STKFLT,
];

impl Signal {
    pub fn exit_code(self) -> u8 {
        match self {
            Signal::Interrupt => 130,
            Signal::Terminate => 143,
            Signal::HangUp => 129,
            Signal::Quit => 131,
            Signal::Other(number) => 128 + number,
        }
    }
}

pub struct Signals {
    interrupts: Stream,
    terminations: Stream,
    /// `None` if the program was started to outlive the terminal (`nohup`).
    hang_ups: Option<Stream>,
    quits: Stream,
    others: Vec<(u8, Stream)>,
    /// Handled only so that a file that grows too large is an error of that file and does not end the program.
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
            others: others()?,
            _too_large: signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).ok(),
        })
    }

    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupts.recv() => Signal::Interrupt,
            _ = self.terminations.recv() => Signal::Terminate,
            () = hang_up(self.hang_ups.as_mut()) => Signal::HangUp,
            _ = self.quits.recv() => Signal::Quit,
            number = other(&mut self.others) => Signal::Other(number),
        }
    }
}

fn others() -> io::Result<Vec<(u8, Stream)>> {
    let numbers = OTHERS.iter().map(|kind| kind.as_raw());
    let streams = numbers.map(|number| {
        let stream = signal(SignalKind::from_raw(number))?;
        Ok((u8::try_from(number).unwrap_or(0), stream))
    });
    streams.collect()
}

/// The number of the first signal. Cancel-safe.
async fn other(streams: &mut [(u8, Stream)]) -> u8 {
    std::future::poll_fn(|cx| {
        let come = streams.iter_mut().find_map(|(number, stream)| {
            let come = stream.poll_recv(cx).is_ready();
            come.then_some(*number)
        });
        come.map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

async fn hang_up(stream: Option<&mut Stream>) {
    match stream {
        Some(stream) => {
            stream.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Whether the program was started with hang-ups ignored. Only Linux reports that.
fn hang_ups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit is signal 1, the hang-up.
    ignored.is_some_and(|mask| mask & 1 == 1)
}
