//! The terminal's modes: set at the start, restored however the program ends.
//!
//! [`leave`] does nothing if there is nothing to restore, so it can be called from everywhere: the normal end, a
//! signal, and the panic hook.

use std::io::{self, IsTerminal};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ratatui::layout::Size;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use rustix::termios::{
    LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

use super::guard::{self, TerminalChange};
use crate::process::running;

/// Saves the title, then turns on: the alternate screen, bracketed paste, focus reports, the mouse with drags, and the
/// keyboard protocol.
pub const SCREEN_ON: &str =
    "\x1b[22;0t\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[?1000h\x1b[?1002h\x1b[?1006h\x1b[>1u";
/// The same backwards, after a frame that may have been cut off.
pub const SCREEN_OFF: &str = "\x1b[?2026l\x1b[?7h\x1b[0m\x1b[<u\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[?1049l\x1b[23;0t";
/// Asks for the background colour.
const ASK_BACKGROUND: &str = "\x1b]11;?\x1b\\";

/// How long a terminal that does not read may delay the program's end.
const MAX_WAIT: Duration = Duration::from_millis(300);

/// A terminal can claim any size; more than this is not used.
const LARGEST: Size = Size::new(1000, 500);

/// The terminal's original modes, and whether we have changed them.
static MODES: Mutex<Modes> = Mutex::new(Modes {
    before: None,
    ours: false,
});

struct Modes {
    before: Option<Termios>,
    ours: bool,
}

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
    let found = tcgetattr(io::stdin())?;
    let mut raw = found.clone();
    raw.make_raw();
    tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
    let mut modes = modes();
    let before = to_restore(modes.before.take(), found);
    guard::report_change(TerminalChange::Screen, &before);
    *modes = Modes {
        before: Some(before),
        ours: true,
    };
    drop(modes);
    write_message(SCREEN_ON);
    Ok(())
}

/// The modes to restore in the end. If an editor or another program left the terminal in a state that no shell can use,
/// these are the modes found at the start.
fn to_restore(before: Option<Termios>, found: Termios) -> Termios {
    match before {
        Some(before) if !has_lines(&found) => before,
        Some(_) | None => found,
    }
}

/// Whether a terminal in these modes reads lines and echoes what is typed.
pub fn has_lines(modes: &Termios) -> bool {
    let needed = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
    modes.local_modes.contains(needed)
}

/// Restores the terminal. Does nothing if it was restored already.
pub fn leave() {
    release(|| write_message(SCREEN_OFF));
}

/// The same if the normal screen is already shown.
pub fn leave_normal() {
    release(|| ());
}

fn release(screen_off: impl FnOnce()) {
    let mut modes = modes();
    if !std::mem::take(&mut modes.ours) {
        return;
    }
    screen_off();
    if let Some(before) = &modes.before {
        restore(before);
        guard::report_change(TerminalChange::Nothing, before);
    }
}

/// The normal screen is shown for a while; the modes stay ours.
pub fn report_normal_screen(normal: bool) {
    let change = if normal {
        TerminalChange::Modes
    } else {
        TerminalChange::Screen
    };
    if let Modes {
        before: Some(before),
        ours: true,
    } = &*modes()
    {
        guard::report_change(change, before);
    }
}

/// The original modes of the terminal that a run without a screen prints to. Commands may change them.
pub struct Found(Option<Termios>);

impl Found {
    pub fn now() -> Self {
        Self(tcgetattr(io::stdout()).ok().filter(has_lines))
    }

    /// Restores a terminal that was usable and no longer is. One that belongs to another program by now is left alone.
    pub fn restore(&self) {
        let ours = tcgetpgrp(io::stdout()).is_ok_and(|group| group == rustix::process::getpgrp());
        if let Some(found) = &self.0
            && ours
            && tcgetattr(io::stdout()).is_ok_and(|now| !has_lines(&now))
        {
            let _ = tcsetattr(io::stdout(), OptionalActions::Now, found);
        }
    }
}

fn restore(before: &Termios) {
    // Don't wait for pending output: a terminal that does not read would block us.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
}

/// Writes to the terminal without the writing thread, if the terminal reads at all.
pub fn write_message(text: &str) {
    let out = io::stdout();
    let mut bytes = text.as_bytes();
    let max_wait = Timespec::try_from(MAX_WAIT).ok();
    while !bytes.is_empty() {
        let mut watched = [PollFd::new(&out, PollFlags::OUT)];
        let ready = poll(&mut watched, max_wait.as_ref());
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

/// What to ask a terminal about itself. The Linux console would print it.
pub fn questions() -> &'static str {
    match std::env::var("TERM").as_deref() {
        Ok("linux") => "",
        Ok(_) | Err(_) => ASK_BACKGROUND,
    }
}

/// Whether the terminal shows or ignores links: all do except the oldest and the Linux console, which may print them.
pub fn knows_links() -> bool {
    let kind = std::env::var("TERM").unwrap_or_default();
    !matches!(&*kind, "" | "dumb" | "linux") && !kind.starts_with("vt")
}

/// Whether cleared cells get the current background. GNU screen, recognised by `STY`, ignores it.
pub fn erases_in_colour() -> bool {
    std::env::var_os("STY").is_none()
}

/// A terminal that does not know its size gets the usual one; one that claims too much is used in part.
pub fn size() -> Size {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size::new(
            size.ws_col.min(LARGEST.width),
            size.ws_row.min(LARGEST.height),
        ),
        Ok(_) | Err(_) => Size::new(80, 24),
    }
}

/// Whether we may write to the terminal: a program in the background must not touch it.
pub fn is_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Whether a shell could continue the program once it is stopped: not if the terminal was opened just for it.
pub fn has_shell() -> bool {
    rustix::process::getsid(None).is_ok_and(|session| session != rustix::process::getpid())
}

/// Stops the program and its process group, as the shell expects. Returns when it is continued.
pub fn stop() {
    let _nobody_starts = running::starting();
    let _ = rustix::process::kill_current_process_group(Signal::STOP);
}

fn modes() -> MutexGuard<'static, Modes> {
    MODES.lock().unwrap_or_else(PoisonError::into_inner)
}
