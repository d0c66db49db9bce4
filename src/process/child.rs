//! A child in its own session: how it starts, and how it ended.

use std::path::Path;
use std::process::ExitStatus;
use std::{fmt, io};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::Pid;

use super::group::Group;
use super::{running, scarce, stragglers};

/// Variables that make bash interpret a command differently from what was decided: other startup files, other
/// directories for `cd`, other matches of a pattern.
const CONTROLLING: [&str; 8] = [
    "BASH_ENV",
    "ENV",
    "CDPATH",
    "BASHOPTS",
    "SHELLOPTS",
    "GLOBIGNORE",
    "BASH_XTRACEFD",
    "POSIXLY_CORRECT",
];
/// The prefix of exported bash functions: one could have the name of a harmless program.
const FUNCTION: &str = "BASH_FUNC_";

/// How a process ended. Callers that end a process for their own reasons have their own types for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Exited(i32),
    Signalled(i32),
}

/// Starts a process in its own session: without a terminal, and so that it can be ended with everything that it
/// starts. The caller has already set its [`Variables`](super::Variables).
pub fn spawn(
    mut process: tokio::process::Command,
    cwd: &Path,
) -> io::Result<(Box<dyn ChildWrapper>, Group)> {
    // Programs must not page, prompt or draw, because no person would see it.
    process
        .env("PAGER", "cat")
        .env("GIT_PAGER", "cat")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("TERM", "dumb");
    let functions = std::env::vars_os().map(|(name, _)| name);
    let functions = functions.filter(|name| name.to_string_lossy().starts_with(FUNCTION));
    for name in functions.chain(CONTROLLING.iter().map(Into::into)) {
        process.env_remove(name);
    }
    let mark = stragglers::new_mark();
    process.env(stragglers::VARIABLE, &mark);
    running::need_guard();
    let starting = running::starting();
    let child = CommandWrap::from(process)
        .wrap(ProcessSession)
        .spawn()
        .map_err(|error| explained(error, cwd))?;
    drop(starting);
    // Only the shell is awaited, not its group: processes that it leaves behind must not hold the call open.
    let child = child.into_inner();
    let leader = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    Ok((child, Group::new(leader, mark)))
}

pub fn how_it_ended(status: ExitStatus) -> io::Result<Ended> {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ok(Ended::Exited(code)),
        (None, Some(signal)) => Ok(Ended::Signalled(signal)),
        (None, None) => Err(io::Error::other("no exit status")),
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exited(code) => write!(f, "exited with code {code}"),
            Ended::Signalled(signal) => write!(f, "ended by signal {signal}"),
        }
    }
}

fn explained(error: io::Error, cwd: &Path) -> io::Error {
    if error.kind() != io::ErrorKind::NotFound {
        return scarce::explained(error);
    }
    let what = if cwd.is_dir() {
        "bash no longer exists".to_owned()
    } else {
        format!("the working directory `{}` no longer exists", cwd.display())
    };
    io::Error::new(io::ErrorKind::NotFound, what)
}
