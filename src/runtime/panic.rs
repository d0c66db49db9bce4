//! How panics are handled: a panic of the screen's own thread restores the terminal and reports what happened; one of
//! another thread is only logged, and the program continues.

use std::fmt::Write as _;
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{guard, terminal};
use crate::process::stderr::print_message;

/// The session to resume.
static SESSION: Mutex<Option<String>> = Mutex::new(None);

pub fn session_is(id: &str) {
    *SESSION.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.to_owned());
    guard::session_is(id);
}

/// Marks this thread as the screen's own; the hook that is already set logs its panics.
pub fn guard(log: PathBuf) {
    let screen = std::thread::current().id();
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        others(info);
        // A task of the screen's runtime also runs on its thread, but its panic ends only the task.
        if std::thread::current().id() == screen && tokio::task::try_id().is_none() {
            terminal::leave();
            print_message(&report(info, &log));
        }
    }));
}

/// For tests of this and of the guard: `AGENT_TUI_PANIC` makes the first key panic, in the screen's own thread or in a
/// task, or end the program without any hook; or makes every key slow.
pub fn inject_fault() {
    if cfg!(debug_assertions) {
        match std::env::var("AGENT_TUI_PANIC").as_deref() {
            Ok("ui") => panic!("a rehearsal"),
            Ok("task") => drop(tokio::spawn(async { panic!("a rehearsal") })),
            Ok("slow") => std::thread::sleep(std::time::Duration::from_millis(60)),
            Ok("memory") => drop(Vec::<u8>::with_capacity(isize::MAX.unsigned_abs())),
            Ok("twice") => {
                let _second = PanicsAgain;
                panic!("a rehearsal");
            }
            Ok(_) | Err(_) => {}
        }
    }
}

/// Panics during a panic, which ends the program at once.
struct PanicsAgain;

impl Drop for PanicsAgain {
    fn drop(&mut self) {
        panic!("a second test panic");
    }
}

fn report(info: &PanicHookInfo, log: &Path) -> String {
    let payload = info.payload();
    let words = payload.downcast_ref::<String>().map(String::as_str);
    let what = words
        .or_else(|| payload.downcast_ref().copied())
        .unwrap_or("unknown");
    let place = info.location().map(ToString::to_string);
    let mut report = format!(
        "error: internal error: {what} ({})",
        place.unwrap_or_default()
    );
    // The panic may have happened while it was locked.
    if let Ok(session) = SESSION.try_lock()
        && let Some(id) = &*session
    {
        let _ = write!(
            report,
            "\nhint: the conversation is saved; resume with `agent-tui --resume {id}`"
        );
    }
    if log.exists() {
        let _ = write!(report, "\nnote: details are in `{}`", log.display());
    }
    report
}
