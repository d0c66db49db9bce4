//! One shell process: its start in a session of its own, its output, and its end, with everything it started.

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
use super::held::{Held, make_harmless};
use super::reports::Reporter;
use crate::config::read_regular;
use crate::process::child;
use crate::process::ending::{self, wait_while};
use crate::process::group::Group;
use crate::process::output::{DRAIN, read_some};
use crate::process::sandbox::Tried;
use crate::tools::{Environment, ToolCx};

/// How long a command has to end by itself once it was told to.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// As much as a pipe can hold.
const PIPE: usize = 1 << 20;
/// What the kernel takes for a path, with the line's end.
const LONGEST_PATH: u64 = 4096;
/// Linux takes no single argument over 128 KiB; a longer command goes through a file.
const LONGEST_ARGUMENT: usize = 100_000;

/// How much memory a command may use that runs without asking.
const MOST_MEMORY: u64 = 4 << 30;

pub struct Shell {
    child: Box<dyn ChildWrapper>,
    group: Group,
    output: pipe::Receiver,
    output_open: bool,
    /// Where the shell writes its last working directory.
    directory: Option<TempPath>,
    /// The command, where it was too long for an argument: the shell reads it as it goes.
    script: Option<TempPath>,
    held: Option<Held>,
}

/// The parts of a shell that go on living when its command is left to run by itself.
pub struct Parts {
    pub child: Box<dyn ChildWrapper>,
    pub group: Group,
    pub output: pipe::Receiver,
    /// Files that the shell may still want.
    pub leftovers: ([Option<TempPath>; 2], Option<Held>),
}

/// What the wait for a command came to.
#[derive(Debug)]
pub enum Ended {
    Process(child::Ended),
    TimedOut(Duration),
    /// It printed more than anyone will read.
    Flooded,
    Cancelled,
    /// It has not ended: it is to go on, and not to be waited for.
    Backgrounded,
    Lost(io::Error),
}

/// What is to be started.
pub struct Start<'s> {
    pub command: &'s str,
    pub cwd: &'s Path,
    pub env: &'s Environment,
    /// Where its `cd` leads is of interest.
    pub follow_cd: bool,
    /// Its sandbox, if it runs without asking.
    pub held: Option<Held>,
    /// A rule allows some of it, and the rest runs without asking.
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
            held: None,
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
        let Start { cwd, held, .. } = start;
        // Without room for it the command still runs, and its `cd` is forgotten.
        let directory = start.follow_cd.then(|| file_for(held.as_ref()).ok());
        let directory = directory.flatten().map(NamedTempFile::into_temp_path);
        let text = with_trap(start.command, directory.as_deref());
        let (reader, writer) = io::pipe()?;
        let bash = start.env.programs.bash()?;
        let (program, first) = match &held {
            Some(held) => held.wrapped(bash),
            None => (bash.into(), Vec::new()),
        };
        let mut process = tokio::process::Command::new(program);
        // Its messages begin with its name.
        process.arg0("bash").args(first);
        let script = if text.len() > LONGEST_ARGUMENT {
            let file = file_for(held.as_ref())?;
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
        match &held {
            Some(held) => held.dress(&mut process, start.env),
            None => start.env.variables.apply(&mut process),
        }
        process.envs(start.variables);
        if start.partly_unasked {
            make_harmless(&mut process, start.env);
        }
        let (child, group) = match &held {
            Some(held) => {
                let runtime = tokio::runtime::Handle::current();
                let cwd = cwd.to_owned();
                held.start(move || {
                    let _runtime = runtime.enter();
                    child::spawn(process, &cwd)
                })?
            }
            None => child::spawn(process, cwd)?,
        };
        if held.is_some() {
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
            held,
        })
    }

    /// What the kernel kept the command from, by what it printed.
    pub fn kept_from(&self, output: &str, cwd: &Path) -> Option<Tried> {
        self.held.as_ref()?.kept_from(output, cwd)
    }

    /// Waits for the command's end, whatever brings it, and collects its output.
    pub async fn run(&mut self, capture: &mut Capture, limit: Duration, cx: &ToolCx) -> Ended {
        let deadline = Instant::now() + limit;
        let mut reporter = Reporter::new(&cx.progress);
        let ended = loop {
            tokio::select! {
                biased;
                () = cx.cancel.cancelled() => break Ended::Cancelled,
                () = cx.background.cancelled() => break Ended::Backgrounded,
                () = sleep_until(deadline) => break Ended::TimedOut(limit),
                // Before the output, which may never pause.
                () = reporter.due() => reporter.flush(),
                // Before the output, too: what a command leaves behind may keep printing forever.
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

    /// Reads on until the pipe ends, or, when the shell's children hold it open, for a moment.
    async fn after_exit(
        &mut self,
        status: io::Result<ExitStatus>,
        capture: &mut Capture,
        reporter: &mut Reporter<'_>,
    ) -> Ended {
        let until = Instant::now() + DRAIN;
        let mut late = 0;
        // What is in the pipe already is read even when it is late; it cannot be more than a pipe holds.
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

    /// TERM to the whole group, KILL to what is left of it after a while, and the last output.
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

    /// What the shell left running goes to `groups`, which ends it with the program; says so in words for the model.
    pub fn hand_over(&mut self, groups: &Groups, command: &str) -> Option<String> {
        let mut group = self.group.take();
        // Who left the group is only looked for when somebody still holds the output open.
        let survives = group.is_alive() || (self.output_open && group.has_stragglers());
        if !survives {
            group.disarm();
            return None;
        }
        let said = group.in_words();
        let output = self.output_open.then(|| self.take_output()).flatten();
        groups.keep(group, command, output);
        Some(format!(
            "(The command left processes running in the background: {said}. They are stopped when the program ends.)"
        ))
    }

    /// Where the shell was when it ended, if it got somewhere else and the place exists.
    pub fn directory_afterwards(&self) -> Option<PathBuf> {
        // The command knows where the file is, and may have written there, too.
        let written = read_regular(self.directory.as_ref()?, LONGEST_PATH).ok()?;
        let path = PathBuf::from(OsStr::from_bytes(written.strip_suffix(b"\n")?));
        path.is_dir().then_some(path)
    }

    pub fn into_parts(self) -> Parts {
        Parts {
            child: self.child,
            group: self.group,
            output: self.output,
            leftovers: ([self.script, self.directory], self.held),
        }
    }

    fn take_output(&mut self) -> Option<pipe::Receiver> {
        let (spare, _) = io::pipe().ok()?;
        let spare = pipe::Receiver::from_owned_fd(spare.into()).ok()?;
        self.output_open = false;
        Some(std::mem::replace(&mut self.output, spare))
    }
}

/// Nobody was asked whether a command may take all memory there is.
#[cfg(target_os = "linux")]
fn bound_memory(leader: Option<Pid>) {
    use rustix::process::{Resource, Rlimit, prlimit};
    let limit = Rlimit {
        current: Some(MOST_MEMORY),
        maximum: Some(MOST_MEMORY),
    };
    if leader.is_some() {
        // One that has ended already needs no bound.
        let _ = prlimit(leader, Resource::Data, limit);
    }
}

#[cfg(not(target_os = "linux"))]
fn bound_memory(_leader: Option<Pid>) {}

/// A file that the command can read and write.
fn file_for(held: Option<&Held>) -> io::Result<NamedTempFile> {
    match held {
        Some(held) => held.file(),
        None => NamedTempFile::new(),
    }
}

/// Makes the shell write its last working directory, also when the command calls `exit`.
fn with_trap(command: &str, directory: Option<&Path>) -> String {
    let Some(directory) = directory else {
        return command.to_owned();
    };
    let file = quoted(&directory.display().to_string());
    // A command may have removed the directory it is in; that is no news of its own.
    let trap = quoted(&format!("pwd -P 2>/dev/null >|{file}"));
    // On the command's own line, so that line numbers in the shell's messages stay right.
    format!("trap {trap} EXIT; {command}")
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
