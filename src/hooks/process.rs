//! Runs one hook as a process: `bash -c` in its own session, without a terminal, with a time limit for everything.
//! When it has ended, nothing that it started is left.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::process::ChildStdin;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::process::child::{self, how_it_ended};
use crate::process::ending::{self, wait_while};
use crate::process::group::Group;
use crate::process::output::{DRAIN, read_some};
use crate::process::{Programs, Variables};

/// If stdout exceeds this, the hook is stopped. JSON may contain the content of a file.
const MOST_STDOUT: usize = 4 << 20;
const MOST_STDERR: usize = 256 << 10;
/// How long a hook has to end by itself after TERM.
const TERM_GRACE: Duration = Duration::from_millis(300);
/// How long to wait for a killed process; it takes longer only if the kernel hangs.
const KILL_GRACE: Duration = Duration::from_secs(1);

/// The result of a hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub ended: Ended,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    pub took: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Process(child::Ended),
    TimedOut(Duration),
    /// It printed more than anyone will read.
    Flooded,
    Cancelled,
    NotStarted(String),
}

/// Where a hook runs.
#[derive(Clone, Copy)]
pub struct Place<'p> {
    pub programs: &'p Programs,
    pub project: &'p Path,
    pub variables: &'p Variables,
}

/// Runs a command in a project, with `input` on its stdin, until it ends, times out or is cancelled.
pub async fn run(
    command: &str,
    limit: Duration,
    place: Place<'_>,
    input: &[u8],
    cancel: &CancellationToken,
) -> Ran {
    let begun = Instant::now();
    let mut ran = Ran {
        ended: Ended::Cancelled,
        stdout: Vec::new(),
        stderr: Vec::new(),
        took: Duration::ZERO,
    };
    if cancel.is_cancelled() {
        return ran;
    }
    match Process::start(command, place) {
        Ok(mut process) => {
            let deadline = begun + limit;
            ran.ended = tokio::select! {
                biased;
                () = cancel.cancelled() => Ended::Cancelled,
                () = sleep_until(deadline) => Ended::TimedOut(limit),
                ended = process.feed_and_read(input, &mut ran.stdout, &mut ran.stderr) => ended,
            };
            process.end(&ran.ended).await;
        }
        Err(problem) => ran.ended = Ended::NotStarted(problem.to_string()),
    }
    ran.took = begun.elapsed();
    ran
}

struct Process {
    child: Box<dyn ChildWrapper>,
    group: Group,
    stdin: Option<ChildStdin>,
    stdout: Stream,
    stderr: Stream,
}

/// An output stream of the hook.
struct Stream {
    pipe: pipe::Receiver,
    open: bool,
    most: usize,
}

impl Process {
    /// The shell is the system's own. The command in it gets the person's `PATH`, because it is the person's command.
    fn start(command: &str, place: Place<'_>) -> io::Result<Self> {
        let Place {
            programs,
            project,
            variables,
        } = place;
        let (stdout, to_stdout) = io::pipe()?;
        let (stderr, to_stderr) = io::pipe()?;
        let mut process = tokio::process::Command::new(programs.bash()?);
        variables.apply(&mut process);
        process
            .arg0("bash")
            .arg("-c")
            .arg(command)
            .current_dir(project)
            .env("CLAUDE_PROJECT_DIR", project)
            .env("AGENT_TUI_PROJECT_DIR", project)
            .stdin(Stdio::piped())
            .stdout(to_stdout)
            .stderr(to_stderr);
        let (mut child, group) = child::spawn(process, project)?;
        Ok(Self {
            stdin: child.stdin().take(),
            child,
            group,
            stdout: Stream::new(stdout, MOST_STDOUT)?,
            stderr: Stream::new(stderr, MOST_STDERR)?,
        })
    }

    /// Feeds and reads the hook until it has ended, and a moment longer if its children hold its outputs open.
    async fn feed_and_read(&mut self, input: &[u8], out: &mut Vec<u8>, err: &mut Vec<u8>) -> Ended {
        let Self {
            child,
            stdin,
            stdout,
            stderr,
            ..
        } = self;
        let stdin = stdin.take();
        // A hook may read only a part of its input, or end in the middle.
        let feeding = async move {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(input).await;
            }
        };
        let mut feeding = std::pin::pin!(feeding);
        let mut fed = false;
        let status = loop {
            tokio::select! {
                biased;
                // Before the outputs: processes that a hook leaves behind may print forever.
                status = child.wait() => break status,
                () = &mut feeding, if !fed => fed = true,
                more = stdout.read(out), if stdout.open => if more.is_flood() { return Ended::Flooded },
                more = stderr.read(err), if stderr.open => if more.is_flood() { return Ended::Flooded },
            }
        };
        let until = Instant::now() + DRAIN;
        for (stream, bytes) in [(stdout, out), (stderr, err)] {
            while stream.open {
                match timeout_at(until, stream.read(bytes)).await {
                    Ok(More::Flood) => return Ended::Flooded,
                    Ok(More::Some) => {}
                    Err(_) => break,
                }
            }
        }
        match status.and_then(how_it_ended) {
            Ok(ended) => Ended::Process(ended),
            Err(error) => Ended::NotStarted(format!("could not wait for it to end: {error}")),
        }
    }

    /// Ends what is still running: the whole group of a hook that was cut off, with TERM and then KILL; otherwise
    /// what an ended hook left behind.
    async fn end(self, ended: &Ended) {
        let Self {
            mut child,
            group,
            stdin,
            stdout,
            stderr,
        } = self;
        if matches!(
            ended,
            Ended::TimedOut(_) | Ended::Flooded | Ended::Cancelled
        ) {
            let gone = async {
                // Close the pipes: a full pipe must not keep the process from receiving the signal.
                drop((stdin, stdout, stderr));
                let _ = child.wait().await;
                wait_while(|| group.is_alive()).await;
            };
            if ending::end(|signal| group.signal(signal), TERM_GRACE, gone).await {
                let _ = timeout(KILL_GRACE, child.wait()).await;
            }
        }
        // Looking for processes that left the group reads files.
        let _ = tokio::task::spawn_blocking(move || group.end()).await;
    }
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    Some,
    Flood,
}

impl More {
    fn is_flood(self) -> bool {
        self == More::Flood
    }
}

impl Stream {
    fn new(reader: io::PipeReader, most: usize) -> io::Result<Self> {
        Ok(Self {
            pipe: pipe::Receiver::from_owned_fd(reader.into())?,
            open: true,
            most,
        })
    }

    /// Cancel-safe.
    async fn read(&mut self, into: &mut Vec<u8>) -> More {
        match read_some(&self.pipe).await {
            Ok(bytes) if !bytes.is_empty() => {
                let room = self.most.saturating_sub(into.len());
                into.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if bytes.len() > room {
                    return More::Flood;
                }
            }
            Ok(_) | Err(_) => self.open = false,
        }
        More::Some
    }
}
