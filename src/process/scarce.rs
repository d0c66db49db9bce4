//! The error when the system allows no more processes or threads: its own message names neither the cause nor a
//! remedy.

use std::any::Any;
use std::io;

/// What the person can do about it.
pub const HINT: &str = "close other programs, or raise the limit (`ulimit -u`), and try again";

/// Adds the cause and the remedy, if this is the problem.
pub fn explained(error: io::Error) -> io::Error {
    if is_scarcity(&error) {
        let text = format!("the system allows no more processes or threads; {HINT}");
        return io::Error::new(error.kind(), text);
    }
    error
}

pub fn is_scarcity(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::AGAIN.raw_os_error())
}

/// Whether a library panicked because it could not start a thread, which it cannot report in another way.
pub fn is_cause(panic: &(dyn Any + Send)) -> bool {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref().copied());
    text.is_some_and(|text| {
        text.starts_with("failed to spawn thread") || text.starts_with("OS can't spawn")
    })
}
