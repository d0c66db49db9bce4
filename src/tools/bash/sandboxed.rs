//! The sandbox of a command that runs without asking: its environment, and what the kernel lets it access.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::{NamedTempFile, TempDir};

use crate::git::environment::{controls_git, harmless, redirects_configuration};
use crate::permissions::{Cause, Grant, bash as reader};
use crate::process::sandbox::{self, BaseAccess, BlockedAccess, ExtraAccess, Policy, SandboxMode};
use crate::protocol::Mode;
use crate::tools::{Environment, ToolCx};

/// The only variables that a sandboxed command inherits. They contain no secrets, and none of them makes a program
/// behave differently from what was classified.
const PASSED: [&str; 18] = [
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "LS_COLORS",
    "GREP_COLORS",
    "JQ_COLORS",
    "XDG_CONFIG_HOME",
    "CI",
];
const LOCALE: &str = "LC_";

/// Programs that read information about processes and mounts from the kernel.
const SHOW_PROCESSES: [&str; 4] = ["ps", "pgrep", "df", "lscpu"];

/// Commands that write temporary files of their own: sorting, long here-documents, git. Other commands get no
/// temporary directory, because starting is quicker without one.
const NEED_ROOM: [&str; 5] = ["sort", "tac", "git", "<<", "TMPDIR"];

/// Keeps a command within what it was classified as.
pub struct SandboxedCommand {
    /// A directory that only this command may write to.
    room: Option<TempDir>,
    /// `None` where the system has no sandbox.
    policy: Option<Policy>,
}

/// How strictly to sandbox a command that neither a person nor one of their rules allowed; `None` if they did.
pub fn sandbox_mode(grant: &Grant) -> Option<SandboxMode> {
    match grant.cause() {
        Cause::Classifier => Some(SandboxMode::Reading),
        Cause::Mode(Mode::AcceptEdits) => Some(SandboxMode::Editing),
        Cause::Mode(Mode::Default | Mode::Plan | Mode::DontAsk | Mode::BypassPermissions)
        | Cause::Rule(_)
        | Cause::BuiltIn
        | Cause::ProtectedPath
        | Cause::Default
        | Cause::Hook(_)
        | Cause::Blocked
        | Cause::Person => None,
    }
}

impl SandboxedCommand {
    /// For a command that starts in `cwd`. `follow_cd` makes the shell write down where its `cd` leads.
    pub fn new(
        mode: SandboxMode,
        command: &str,
        follow_cd: bool,
        grant: &Grant,
        cx: &ToolCx,
    ) -> io::Result<Self> {
        let env = &cx.env;
        let wanted = follow_cd || NEED_ROOM.iter().any(|word| command.contains(word));
        let room = if wanted || mode == SandboxMode::Editing {
            Some(TempDir::with_prefix("agent-tui-")?)
        } else {
            None
        };
        let temporary = room.as_ref().map(|room| room.path().canonicalize());
        let temporary = temporary.transpose()?;
        let policy = env.sandboxes().then(|| {
            let mut reads = grant.reads().to_vec();
            reads.extend(repository(command, &cx.cwd, env));
            let extra = ExtraAccess {
                temporary: temporary.as_deref(),
                reads: &reads,
                processes: shows_processes(command),
            };
            let base = env.base_access.get_or_init(|| Arc::new(base_access(env)));
            Policy::new(base.clone(), mode, &extra)
        });
        Ok(Self { room, policy })
    }

    /// A file that the command can read and write.
    pub fn file(&self) -> io::Result<NamedTempFile> {
        match &self.room {
            Some(room) => NamedTempFile::new_in(room),
            None => NamedTempFile::new(),
        }
    }

    /// The program to start, and its first arguments.
    pub fn wrapped(&self, program: &Path) -> (OsString, Vec<OsString>) {
        match &self.policy {
            Some(policy) => sandbox::wrapped(program, policy),
            None => (program.as_os_str().to_owned(), Vec::new()),
        }
    }

    /// Sets the few environment variables that the command needs, and those that keep git from running other
    /// programs.
    pub fn set_environment(&self, process: &mut tokio::process::Command, env: &Environment) {
        let configured = env.variables.more.iter();
        let configured = configured.map(|(name, value)| (name.into(), value.into()));
        let passed = |(name, value): &(OsString, OsString)| {
            is_passed(name) && !redirects_configuration(name, value)
        };
        process
            .env_clear()
            .envs(std::env::vars_os().chain(configured).filter(passed))
            .envs(harmless())
            .env("PATH", env.programs.path());
        if let Some(room) = &self.room {
            process.env("TMPDIR", room.path());
        }
    }

    /// Starts the command inside the sandbox.
    pub fn start<T: Send + 'static>(
        &self,
        start: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        match &self.policy {
            Some(policy) => sandbox::start(policy, start),
            None => start(),
        }
    }

    /// What the sandbox blocked, judging by what the command printed.
    pub fn blocked_access(&self, output: &str, cwd: &Path) -> Option<BlockedAccess> {
        sandbox::blocked_access(output, self.policy.as_ref()?, cwd)
    }
}

/// For a command that a rule allows only in part: the rest runs without asking, so the command finds no programs of
/// the workspace, and git starts nothing.
pub fn make_harmless(process: &mut tokio::process::Command, env: &Environment) {
    let configured = env.variables.more.iter();
    let configured = configured.map(|(name, value)| (name.into(), value.into()));
    for (name, value) in std::env::vars_os().chain(configured) {
        if controls_git(&name) || redirects_configuration(&name, &value) {
            process.env_remove(name);
        }
    }
    process.envs(harmless()).env("PATH", env.programs.path());
}

fn base_access(env: &Environment) -> BaseAccess {
    let working = std::iter::once(&env.workspace).chain(&env.additional);
    let path: Vec<PathBuf> = std::env::split_paths(env.programs.path()).collect();
    BaseAccess::new(working.cloned().collect(), &path, &env.home)
}

/// The files that git reads of the repository that was checked before the decision. They may be above the workspace.
fn repository(command: &str, cwd: &Path, env: &Environment) -> Vec<PathBuf> {
    let known = command
        .contains("git")
        .then(|| env.git.known(cwd))
        .flatten();
    let Some(repository) = known.and_then(|look| look.repository) else {
        return Vec::new();
    };
    let mut reads = repository.reads;
    let above = env.workspace.starts_with(&repository.toplevel);
    if above && env.workspace != repository.toplevel && reads_unknown_files(command) {
        // Above the workspace, git only reads ignore and attribute files.
        let directories = cwd.ancestors().skip(1);
        for directory in directories.take_while(|path| path.starts_with(&repository.toplevel)) {
            let files = [".gitignore", ".gitattributes"].map(|name| directory.join(name));
            let plain = |file: &PathBuf| file.symlink_metadata().is_ok_and(|file| file.is_file());
            reads.extend(files.into_iter().filter(plain));
        }
    } else {
        reads.push(repository.toplevel);
    }
    reads.extend([repository.git_dir, repository.common_dir]);
    reads
}

/// Whether the command can make git read files outside the repository.
fn reads_unknown_files(command: &str) -> bool {
    let script = reader::read(command).script;
    script.parts.iter().any(|part| {
        part.words.iter().any(|word| {
            let text = word.text.as_str();
            let short = text.starts_with('-') && !text.starts_with("--");
            matches!(text, "--untracked" | "--others" | "--no-index") || short && text.contains('o')
        })
    })
}

fn is_passed(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| PASSED.contains(&name) || name.starts_with(LOCALE))
}

fn shows_processes(command: &str) -> bool {
    let script = reader::read(command).script;
    script.parts.iter().any(|part| {
        let mut words = part.words.iter();
        words.any(|word| SHOW_PROCESSES.contains(&word.text.as_str()))
    })
}
