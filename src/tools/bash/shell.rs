//! One shell process: start, output, and end, together with everything that it started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use rustix::process::Pid;
use tempfile::{NamedTempFile, TempPath};
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until, timeout};

use super::capture::Capture;
use super::groups::Groups;
use super::reports::Reporter;
use super::sandboxed::{SandboxedCommand, make_harmless};
use crate::config::read_regular;
use crate::process::child;
use crate::process::ending::{self, wait_while};
use crate::process::group::Group;
use crate::process::output::{DRAIN, read_some};
use crate::process::sandbox::BlockedAccess;
use crate::tools::{Environment, ToolCx};

/// How long a command has to end by itself after TERM.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// The capacity of a pipe.
const PIPE: usize = 1 << 20;
/// The longest path that the kernel accepts, plus the line end.
const LONGEST_PATH: u64 = 4096;
/// Linux accepts no single argument over 128 KiB, so a longer command goes through a file.
const LONGEST_ARGUMENT: usize = 100_000;

/// The memory limit of a command that runs without asking.
const MOST_MEMORY: u64 = 4 << 30;

pub struct Shell {
    child: Box<dyn ChildWrapper>,
    group: Group,
    output: pipe::Receiver,
    output_open: bool,
    /// Where the shell writes its last working directory.
    directory: Option<TempPath>,
    /// The command, if it was too long for an argument. The shell reads it while running.
    script: Option<TempPath>,
    sandboxed: Option<SandboxedCommand>,
}

/// The parts of a shell that are kept when its command continues in the background.
pub struct Parts {
    pub child: Box<dyn ChildWrapper>,
    pub group: Group,
    pub output: pipe::Receiver,
    /// Files that the shell may still need.
    pub leftovers: ([Option<TempPath>; 2], Option<SandboxedCommand>),
}

/// How waiting for a command ended.
#[derive(Debug)]
pub enum Ended {
    Process(child::Ended),
    TimedOut(Duration),
    /// It printed more than anyone will read.
    Flooded,
    Cancelled,
    /// It is still running, and continues in the background.
    Backgrounded,
    Lost(io::Error),
}

/// What to start.
pub struct Start<'s> {
    pub command: &'s str,
    pub cwd: &'s Path,
    pub env: &'s Environment,
    /// Report where its `cd` leads.
    pub follow_cd: bool,
    /// The sandbox, if it runs without asking.
    pub sandboxed: Option<SandboxedCommand>,
    /// A rule allows a part of the command, and the rest runs without asking.
    pub partly_unasked: bool,
    pub stdin: Stdio,
    /// Where its stderr goes, if not where its stdout goes.
    pub errors: Option<io::PipeWriter>,
    /// More variables for it alone.
    pub variables: Vec<(&'static str, OsString)>,
}

impl<'s> Start<'s> {
    /// A command that somebody was asked about, with nothing on its stdin.
    pub fn new(command: &'s str, cwd: &'s Path, env: &'s Environment) -> Self {
        Self {
            command,
            cwd,
            env,
            follow_cd: false,
            sandboxed: None,
            partly_unasked: false,
            stdin: Stdio::null(),
            errors: None,
            variables: Vec::new(),
        }
    }
}

impl Shell {
    /// Starts a command without a terminal; stdout, and stderr unless it goes elsewhere, are in one pipe.
    pub fn start(start: Start<'_>) -> io::Result<Self> {
        let Start { cwd, sandboxed, .. } = start;
        // If the file cannot be created, the command still runs, and its `cd` is not followed.
        let directory = start.follow_cd.then(|| file_for(sandboxed.as_ref()).ok());
        let directory = directory.flatten().map(NamedTempFile::into_temp_path);
        let text = with_trap(start.command, directory.as_deref());
        let (reader, writer) = io::pipe()?;
        let bash = start.env.programs.bash()?;
        let (program, first) = match &sandboxed {
            Some(sandboxed) => sandboxed.wrapped(bash),
            None => (bash.into(), Vec::new()),
        };
        let mut process = tokio::process::Command::new(program);
        // The shell's error messages begin with this name.
        process.arg0("bash").args(first);
        let script = if text.len() > LONGEST_ARGUMENT {
            let file = file_for(sandboxed.as_ref())?;
            std::fs::write(file.path(), &text)?;
            let path = file.into_temp_path();
            process.arg(&path);
            Some(path)
        } else {
            process.arg("-c").arg(&text);
            None
        };
        process
            .current_dir(cwd)
            .stdin(start.stdin)
            .stdout(writer.try_clone()?)
            .stderr(start.errors.unwrap_or(writer));
        match &sandboxed {
            Some(sandboxed) => sandboxed.set_environment(&mut process, start.env),
            None => start.env.variables.apply(&mut process),
        }
        process.envs(start.variables);
        if start.partly_unasked {
            make_harmless(&mut process, start.env);
        }
        let (child, group) = match &sandboxed {
            Some(sandboxed) => {
                let runtime = tokio::runtime::Handle::current();
                let cwd = cwd.to_owned();
                sandboxed.start(move || {
                    let _runtime = runtime.enter();
                    child::spawn(process, &cwd)
                })?
            }
            None => child::spawn(process, cwd)?,
        };
        if sandboxed.is_some() {
            bound_memory(group.leader());
        }
        let output = pipe::Receiver::from_owned_fd(reader.into())?;
        Ok(Self {
            child,
            group,
            output,
            output_open: true,
            directory,
            script,
            sandboxed,
        })
    }

    /// What the sandbox blocked, judging by what the command printed.
    pub fn blocked_access(&self, output: &str, cwd: &Path) -> Option<BlockedAccess> {
        self.sandboxed.as_ref()?.blocked_access(output, cwd)
    }

    /// Waits until the command ends, times out or is stopped, and collects its output.
    pub async fn run(&mut self, capture: &mut Capture, limit: Duration, cx: &ToolCx) -> Ended {
        let deadline = Instant::now() + limit;
        let mut reporter = Reporter::new(&cx.progress);
        let ended = loop {
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => break Ended::Cancelled,
                () = cx.background.cancelled() => break Ended::Backgrounded,
                () = sleep_until(deadline) => break Ended::TimedOut(limit),
                // Before the output, because the output may never pause.
                () = reporter.due() => reporter.flush(),
                // Also before the output: processes that the command left behind may print forever.
                status = self.child.wait() => break self.after_exit(status, capture, &mut reporter).await,
                read = read_some(&self.output), if self.output_open => {
                    self.take(read, capture, &mut reporter);
                    if capture.is_flooded() {
                        break Ended::Flooded;
                    }
                }
            }
        };
        reporter.flush();
        if matches!(
            ended,
            Ended::Cancelled | Ended::TimedOut(_) | Ended::Flooded
        ) {
            self.stop(capture).await;
        }
        ended
    }

    /// Reads until the pipe closes, or for a moment if the shell's children hold it open.
    async fn after_exit(
        &mut self,
        status: io::Result<ExitStatus>,
        capture: &mut Capture,
        reporter: &mut Reporter<'_>,
    ) -> Ended {
        let until = Instant::now() + DRAIN;
        let mut late = 0;
        // Read what is already in the pipe even if the time is up. It cannot be more than a pipe holds.
        while self.output_open && late <= PIPE && !capture.is_flooded() {
            tokio::select! {
                biased;
                read = read_some(&self.output) => {
                    if Instant::now() >= until {
                        late += read.as_ref().map_or(0, Vec::len);
                    }
                    self.take(read, capture, reporter);
                }
                () = sleep_until(until) => break,
            }
        }
        match status.and_then(child::how_it_ended) {
            Ok(ended) => Ended::Process(ended),
            Err(error) => Ended::Lost(error),
        }
    }

    fn take(
        &mut self,
        read: io::Result<Vec<u8>>,
        capture: &mut Capture,
        reporter: &mut Reporter<'_>,
    ) {
        match read {
            Ok(bytes) if bytes.is_empty() => self.output_open = false,
            Ok(bytes) => {
                capture.push(&bytes);
                reporter.push(&bytes);
            }
            Err(_) => self.output_open = false,
        }
    }

    /// Sends TERM to the whole group, and KILL to what is left of it after the grace period. Reads the last output.
    pub async fn stop(&mut self, capture: &mut Capture) {
        let Self {
            child,
            group,
            output,
            output_open,
            ..
        } = self;
        let gone = async {
            while *output_open {
                match read_some(output).await {
                    Ok(bytes) if !bytes.is_empty() && !capture.is_flooded() => capture.push(&bytes),
                    Ok(bytes) if !bytes.is_empty() => {}
                    Ok(_) | Err(_) => *output_open = false,
                }
            }
            let _ = child.wait().await;
            wait_while(|| group.is_alive()).await;
        };
        if ending::end(|signal| group.signal(signal), TERM_GRACE, gone).await {
            let _ = timeout(TERM_GRACE, child.wait()).await;
        }
        group.take().end();
    }

    /// Hands what the shell left running to `groups`, which ends it with the program. Returns a notice for the model.
    pub fn transfer_to(&mut self, groups: &Groups, command: &str) -> Option<String> {
        let mut group = self.group.take();
        // Look for processes that left the group only if something still holds the output open.
        let survives = group.is_alive() || (self.output_open && group.has_stragglers());
        if !survives {
            group.disarm();
            return None;
        }
        let description = group.description();
        let output = self.output_open.then(|| self.take_output()).flatten();
        groups.keep(group, command, output);
        Some(format!(
            "(The command left processes running in the background: {description}. They are stopped when the program ends.)"
        ))
    }

    /// The directory in which the shell ended, if it differs from the first one and exists.
    pub fn directory_afterwards(&self) -> Option<PathBuf> {
        // The command knows the path of the file, and may have written to it.
        let written = read_regular(self.directory.as_ref()?, LONGEST_PATH).ok()?;
        let path = PathBuf::from(OsStr::from_bytes(written.strip_suffix(b"\n")?));
        path.is_dir().then_some(path)
    }

    pub fn into_parts(self) -> Parts {
        Parts {
            child: self.child,
            group: self.group,
            output: self.output,
            leftovers: ([self.script, self.directory], self.sandboxed),
        }
    }

    fn take_output(&mut self) -> Option<pipe::Receiver> {
        let (spare, _) = io::pipe().ok()?;
        let spare = pipe::Receiver::from_owned_fd(spare.into()).ok()?;
        self.output_open = false;
        Some(std::mem::replace(&mut self.output, spare))
    }
}

/// A command that runs without asking must not take all memory.
#[cfg(target_os = "linux")]
fn bound_memory(leader: Option<Pid>) {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit {
        current: Some(MOST_MEMORY),
        maximum: Some(MOST_MEMORY),
    };
    if leader.is_some() {
        // A command that has ended needs no limit.
        let _ = prlimit(leader, Resource::Data, limit);
    }
}

#[cfg(not(target_os = "linux"))]
fn bound_memory(_leader: Option<Pid>) {}

/// A file that the command can read and write.
fn file_for(sandboxed: Option<&SandboxedCommand>) -> io::Result<NamedTempFile> {
    match sandboxed {
        Some(sandboxed) => sandboxed.file(),
        None => NamedTempFile::new(),
    }
}

/// Makes the shell write its last working directory, even if the command calls `exit`.
fn with_trap(command: &str, directory: Option<&Path>) -> String {
    let Some(directory) = directory else {
        return command.to_owned();
    };
    let file = quoted(&directory.display().to_string());
    // If the command removed its own directory, `pwd` fails, and its error message would only confuse.
    let trap = quoted(&format!("pwd -P 2>/dev/null >|{file}"));
    // On the command's first line, so that line numbers in the shell's messages stay right.
    format!("trap {trap} EXIT; {command}")
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
