//! What to say when no more processes or threads are to be had: the system's own words name neither the cause nor a way
//! on.

use std::any::Any;
use std::io;

/// What the person can do about it.
pub const HINT: &str = "close other programs, or raise the limit (`ulimit -u`), and try again";

/// Names the cause of an error, and the way on, where it is this one.
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

/// Whether a library has panicked because it could not start a thread; there is no other way for it to say so.
pub fn is_cause(panic: &(dyn Any + Send)) -> bool {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref().copied());
    text.is_some_and(|text| {
        text.starts_with("failed to spawn thread") || text.starts_with("OS can't spawn")
    })
}
