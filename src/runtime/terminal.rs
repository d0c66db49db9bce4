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
use rustix::termios::{
    LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

use super::guard::{self, Holding};
use crate::process::running;

/// The title is kept, then: the other screen, pastes in brackets, focus, the mouse with its drags, keys told apart.
pub const SCREEN_ON: &str =
    "\x1b[22;0t\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[?1000h\x1b[?1002h\x1b[?1006h\x1b[>1u";
/// The same backwards, after a frame that may have been cut off.
pub const SCREEN_OFF: &str = "\x1b[?2026l\x1b[?7h\x1b[0m\x1b[<u\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[?1004l\x1b[?2004l\x1b[?25h\x1b[?1049l\x1b[23;0t";
/// Asks for the colour of the ground.
const ASK_GROUND: &str = "\x1b]11;?\x1b\\";

/// How long a terminal that does not read may keep the program from ending.
const PATIENCE: Duration = Duration::from_millis(300);

/// A terminal can claim any size; no more than this is drawn on.
const LARGEST: Size = Size::new(1000, 500);

/// The terminal's modes as they were, and whether it is ours now.
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
    guard::holds(Holding::Screen, &before);
    *modes = Modes {
        before: Some(before),
        ours: true,
    };
    drop(modes);
    say(SCREEN_ON);
    Ok(())
}

/// What to leave the terminal with in the end. An editor, or whatever else had the terminal meanwhile, may have left it
/// in a state that no shell can use; then it is what was found at the start.
fn to_restore(before: Option<Termios>, found: Termios) -> Termios {
    match before {
        Some(before) if !has_lines(&found) => before,
        Some(_) | None => found,
    }
}

/// Whether a terminal in these modes reads lines and shows what is typed.
pub fn has_lines(modes: &Termios) -> bool {
    let needed = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
    modes.local_modes.contains(needed)
}

/// Gives the terminal back. Does nothing if it was given back already.
pub fn leave() {
    give_back(|| say(SCREEN_OFF));
}

/// The same where the normal screen is shown already.
pub fn leave_normal() {
    give_back(|| ());
}

fn give_back(screen_off: impl FnOnce()) {
    let mut modes = modes();
    if !std::mem::take(&mut modes.ours) {
        return;
    }
    screen_off();
    if let Some(before) = &modes.before {
        restore(before);
        guard::holds(Holding::Nothing, before);
    }
}

/// The screen is the normal one for a while; the modes stay ours.
pub fn holds_normal_screen(normal: bool) {
    let holding = if normal {
        Holding::Modes
    } else {
        Holding::Screen
    };
    if let Modes {
        before: Some(before),
        ours: true,
    } = &*modes()
    {
        guard::holds(holding, before);
    }
}

/// The terminal that a run without a screen prints to, as it was found. Commands may change it behind our back.
pub struct Found(Option<Termios>);

impl Found {
    pub fn now() -> Self {
        Self(tcgetattr(io::stdout()).ok().filter(has_lines))
    }

    /// Makes a terminal usable again that was, and is not any more. One that belongs to another program by now is left
    /// alone.
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

/// Whether the terminal knows links, or passes over them: all do but the oldest and the console of Linux, which may print them.
pub fn knows_links() -> bool {
    let kind = std::env::var("TERM").unwrap_or_default();
    !matches!(&*kind, "" | "dumb" | "linux") && !kind.starts_with("vt")
}

/// Whether what is emptied takes the ground that is set. GNU screen, which says where it is in `STY`, forgets it.
pub fn erases_in_colour() -> bool {
    std::env::var_os("STY").is_none()
}

/// A terminal that does not know its size has the usual one; one that claims too much is used in part.
pub fn size() -> Size {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size::new(
            size.ws_col.min(LARGEST.width),
            size.ws_row.min(LARGEST.height),
        ),
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
    let _nobody_starts = running::starting();
    let _ = rustix::process::kill_current_process_group(Signal::STOP);
}

fn modes() -> MutexGuard<'static, Modes> {
    MODES.lock().unwrap_or_else(PoisonError::into_inner)
}
