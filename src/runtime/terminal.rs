//! The terminal's modes: taken at the start, given back in every way that the program can end.
//!
//! [`leave`] does nothing when there is nothing to give back, so everybody may call it: the orderly end, a signal, and
//! the hook for panics.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr};

/// The title is kept, then: the other screen, pastes in brackets, focus, the mouse with its drags, keys told apart.
pub const SCREEN_ON: &str =
    "\x1b[22;0t\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[?1000h\x1b[?1002h\x1b[?1006h\x1b[>1u";
/// The same backwards, after a frame that may have been cut off.
pub const SCREEN_OFF: &str = "\x1b[?2026l\x1b[0m\x1b[<u\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[?1049l\x1b[23;0t";
/// Asks for the colour of the ground.
const ASK_GROUND: &str = "\x1b]11;?\x1b\\";

/// How long a terminal that does not read may keep the program from ending.
const PATIENCE: Duration = Duration::from_millis(300);

/// How the terminal was before; `None` while it is not ours.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Why there can be no screen here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoTerminal {
    #[error("the input is not a terminal")]
    Input,
    #[error("the output is not a terminal")]
    Output,
    #[error("the terminal can only print lines (TERM is `dumb` or not set)")]
    LinesOnly,
}

/// Whether there is a terminal that can show a screen.
pub fn check() -> Result<(), NoTerminal> {
    let kind = std::env::var("TERM").unwrap_or_default();
    if !io::stdin().is_terminal() {
        Err(NoTerminal::Input)
    } else if !io::stdout().is_terminal() {
        Err(NoTerminal::Output)
    } else if kind.is_empty() || kind == "dumb" {
        Err(NoTerminal::LinesOnly)
    } else {
        Ok(())
    }
}

pub fn enter() -> io::Result<()> {
    let before = tcgetattr(io::stdin())?;
    let mut raw = before.clone();
    raw.make_raw();
    tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    *modes() = Some(before);
    say(SCREEN_ON);
    Ok(())
}

/// Gives the terminal back. Does nothing if it was given back already.
pub fn leave() {
    if let Some(before) = modes().take() {
        say(SCREEN_OFF);
        restore(&before);
    }
}

/// The same where the normal screen is shown already.
pub fn leave_normal() {
    if let Some(before) = modes().take() {
        restore(&before);
    }
}

fn restore(before: &Termios) {
    // Not after what is still to be written: a terminal that does not read would keep us here.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
}

/// Writes to the terminal past the writing thread, if it reads at all.
pub fn say(text: &str) {
    let out = io::stdout();
    let mut bytes = text.as_bytes();
    let patience = Timespec::try_from(PATIENCE).ok();
    while !bytes.is_empty() {
        let mut watched = [PollFd::new(&out, PollFlags::OUT)];
        let ready = poll(&mut watched, patience.as_ref());
        if !matches!(ready, Ok(1..)) || !watched[0].revents().contains(PollFlags::OUT) {
            return;
        }
        match rustix::io::write(&out, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => return,
        }
    }
}

/// What to ask a terminal about itself. The console of Linux would print it.
pub fn questions() -> &'static str {
    match std::env::var("TERM").as_deref() {
        Ok("linux") => "",
        Ok(_) | Err(_) => ASK_GROUND,
    }
}

/// A terminal that does not know its size has the usual one.
pub fn size() -> Size {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size::new(size.ws_col, size.ws_row),
        Ok(_) | Err(_) => Size::new(80, 24),
    }
}

/// Whether the terminal is ours to write to: a program in the background must not touch it.
pub fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Whether anybody could let the program go on once it is stopped: not where a terminal was opened just for it.
pub fn has_shell() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session != rustix::process::getpid())
}

/// Stops the program and whatever it was started together with, as the shell expects it. Returns when it goes on.
pub fn stop() {
    let _ = rustix::process::kill_current_process_group(Signal::STOP);
}

fn modes() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}
