//! The sandbox for commands that run without asking.
//!
//! The permission engine predicts that a command only reads; the kernel enforces it. A command is started from a
//! thread that has restricted itself, and children inherit that: there is no helper process, and the program itself
//! stays unrestricted. On Linux this uses Landlock for files and seccomp for the rest, on macOS a Seatbelt profile;
//! elsewhere there is no sandbox, and [`state`] says so.

mod blame;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod privileges;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;
#[cfg(target_os = "linux")]
mod seccomp;
mod system;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Deserialize;

pub use blame::{BlockedAccess, blocked_access};

/// Whether commands that run without asking are sandboxed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Unasked {
    /// If possible. Otherwise read-only commands run without a sandbox.
    #[default]
    Auto,
    /// They run without a sandbox.
    Off,
    /// If that is not possible, every command asks.
    Require,
}

/// What a sandboxed command may access. Everything else is refused.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    base: Arc<BaseAccess>,
    /// What else may be read.
    reads: Vec<PathBuf>,
    /// Directories in which anything may be changed.
    writes: Vec<PathBuf>,
    /// Owners, modes and times of files may be changed. The kernel cannot restrict where, so this is only for
    /// commands that edit.
    attributes: bool,
}

/// What a sandboxed command may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    /// It only reads.
    Reading,
    /// It changes files in the working directories, which the mode allows.
    Editing,
}

/// What all sandboxed commands of a workspace may access. Determined once, because it takes longer than starting a
/// command.
#[derive(Debug, Default)]
pub struct BaseAccess {
    working: Vec<PathBuf>,
    /// Files and directories, with everything below them.
    reads: Vec<PathBuf>,
    /// Where programs may be.
    runs: Vec<PathBuf>,
    #[cfg(target_os = "linux")]
    opened: landlock::Opened,
}

/// What one command may access in addition.
#[derive(Debug, Clone, Copy)]
pub struct ExtraAccess<'b> {
    /// A directory of its own.
    pub temporary: Option<&'b Path>,
    pub reads: &'b [PathBuf],
    /// It shows processes or mounts, which needs access to `/proc`.
    pub processes: bool,
}

impl BaseAccess {
    /// `working` directories may be read completely; programs are searched in the directories of `path`.
    pub fn new(working: Vec<PathBuf>, path: &[PathBuf], home: &Path) -> Self {
        let system = system::READS.iter().map(PathBuf::from);
        let above = working
            .iter()
            .flat_map(|directory| system::ignore_files_above(directory));
        let reads: Vec<PathBuf> = system
            .chain(system::git_configuration(home))
            .filter(|path| path.exists())
            .chain(working.iter().cloned())
            .chain(above)
            .chain(system::libraries(path, &working))
            .collect();
        let runs = system::programs(path, &working);
        Self {
            #[cfg(target_os = "linux")]
            opened: landlock::Opened::new(&reads, &runs),
            reads,
            runs,
            working,
        }
    }
}

impl Policy {
    pub fn new(base: Arc<BaseAccess>, mode: SandboxMode, extra: &ExtraAccess<'_>) -> Self {
        let mut reads = extra.reads.to_vec();
        if extra.processes {
            reads.push(PathBuf::from("/proc"));
        }
        let mut writes = Vec::from_iter(extra.temporary.map(Path::to_owned));
        match mode {
            SandboxMode::Reading => {}
            SandboxMode::Editing => writes.extend(base.working.iter().cloned()),
        }
        Self {
            base,
            reads,
            writes,
            attributes: mode == SandboxMode::Editing,
        }
    }

    fn reads(&self) -> impl Iterator<Item = &PathBuf> {
        self.base.reads.iter().chain(&self.reads)
    }

    fn runs(&self) -> impl Iterator<Item = &PathBuf> {
        self.base.runs.iter()
    }
}

/// What sandboxes commands on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Landlock, with the version of its interface, and seccomp.
    Landlock(u32),
    Seatbelt,
    /// Nothing, and why.
    Nothing(String),
}

impl State {
    pub fn sandboxes(&self) -> bool {
        match self {
            State::Landlock(_) | State::Seatbelt => true,
            State::Nothing(_) => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Landlock(version) => write!(f, "Landlock (version {version}) and seccomp"),
            State::Seatbelt => f.write_str("Seatbelt"),
            State::Nothing(why) => f.write_str(why),
        }
    }
}

/// What sandboxes commands here: tested once, on first use.
pub fn state() -> &'static State {
    static STATE: OnceLock<State> = OnceLock::new();
    STATE.get_or_init(probe)
}

#[cfg(target_os = "linux")]
fn probe() -> State {
    match keeper::on_restricted_thread(&Policy::default(), Ok) {
        Ok(version) => State::Landlock(version),
        Err(error) => State::Nothing(error.to_string()),
    }
}

#[cfg(target_os = "macos")]
fn probe() -> State {
    if Path::new(seatbelt::PROGRAM).is_file() {
        State::Seatbelt
    } else {
        State::Nothing(format!("`{}` does not exist", seatbelt::PROGRAM))
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn probe() -> State {
    State::Nothing("no sandbox is supported on this system".to_owned())
}

/// The program to start, and its first arguments, so that `program` runs in the sandbox.
#[cfg(not(target_os = "macos"))]
pub fn wrapped(program: &Path, _policy: &Policy) -> (OsString, Vec<OsString>) {
    (program.as_os_str().to_owned(), Vec::new())
}

/// The program to start, and its first arguments, so that `program` runs in the sandbox.
#[cfg(target_os = "macos")]
pub fn wrapped(program: &Path, policy: &Policy) -> (OsString, Vec<OsString>) {
    let profile = seatbelt::profile(policy).into();
    let arguments = vec!["-p".into(), profile, program.as_os_str().to_owned()];
    (seatbelt::PROGRAM.into(), arguments)
}

/// Starts a process restricted by `policy`. It must have been [`wrapped`].
#[cfg(target_os = "linux")]
pub fn start<T: Send + 'static>(
    policy: &Policy,
    start: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    keeper::on_restricted_thread(policy, |_| start())
}

/// Starts a process restricted by `policy`. It must have been [`wrapped`].
#[cfg(not(target_os = "linux"))]
pub fn start<T: Send + 'static>(
    _policy: &Policy,
    start: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    start()
}
