//! The state of background commands: their output, whether they are running, how they ended.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Pid;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::reports::Unreported;
use crate::config::{logged, open_regular};
use crate::process::child::{Ended, how_it_ended};
use crate::protocol::{BackgroundEnd, CallRef, Printed};
use crate::tools::ToolError;

/// The most that one call to `BashOutput` reads; earlier output stays in the file.
const MOST_NEW_BYTES: u64 = 1 << 20;
/// How many finished commands are remembered.
const MOST_OVER: usize = 100;

/// The shortest time between two reports of what a background command prints.
const PACE: Duration = Duration::from_millis(200);

/// All commands that were started in the background or moved there, in order.
#[derive(Clone, Default)]
pub struct Jobs {
    state: Arc<Mutex<State>>,
    has_output: Arc<Notify>,
}

#[derive(Default)]
struct State {
    jobs: Vec<Job>,
    started: usize,
    /// Calls whose commands have ended, and whose end was not reported yet.
    ends: VecDeque<(CallRef, Status)>,
    /// When the next output may be reported.
    next: Option<Instant>,
}

/// What changed about a background command.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    Printed(Printed),
    Ended(Status),
}

struct Job {
    id: String,
    /// The call that started it.
    call: CallRef,
    command: String,
    leader: Option<Pid>,
    file: PathBuf,
    /// How much of the file was read.
    read: u64,
    status: Status,
    unreported: Unreported,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Running,
    Ended(Ended),
    /// It was killed on request.
    Killed,
}

/// The output since the last look.
#[derive(Debug, PartialEq, Eq)]
pub struct NewOutput {
    pub status: Status,
    pub command: String,
    pub file: PathBuf,
    /// Bytes that are in the file but not in `output`.
    pub skipped: u64,
    pub output: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no command in the background has the ID `{wanted}`; {there}")]
pub struct NoSuchJob {
    wanted: String,
    there: String,
}

/// The error for an unknown id, for the model and for the person.
pub fn unknown(error: &NoSuchJob) -> ToolError {
    ToolError::new(error.to_string()).with_sentence("no such background command")
}

impl Jobs {
    /// Adds the command of a call, which prints to `file`. Returns its id.
    pub fn add(&self, call: CallRef, command: &str, leader: Option<Pid>, file: &Path) -> String {
        let mut state = self.lock();
        state.started += 1;
        let id = format!("bash_{}", state.started);
        let over = |job: &Job| job.status != Status::Running;
        if state.jobs.iter().filter(|job| over(job)).count() >= MOST_OVER
            && let Some(oldest) = state.jobs.iter().position(over)
        {
            state.jobs.remove(oldest);
        }
        state.jobs.push(Job {
            id: id.clone(),
            call,
            command: command.to_owned(),
            leader,
            file: file.to_owned(),
            read: 0,
            status: Status::Running,
            unreported: Unreported::default(),
        });
        id
    }

    pub fn command(&self, id: &str) -> Option<String> {
        let state = self.lock();
        let job = state.jobs.iter().find(|job| job.id == id);
        job.map(|job| job.command.clone())
    }

    /// The command that a call left running.
    pub fn running(&self, call: CallRef) -> Option<String> {
        let state = self.lock();
        let runs = |job: &&Job| job.call == call && job.status == Status::Running;
        state.jobs.iter().find(runs).map(|job| job.id.clone())
    }

    /// Waits until a command prints something or ends. Cancel-safe.
    pub async fn next_change(&self) -> (CallRef, Change) {
        loop {
            let now = Instant::now();
            let due = match self.lock().change(now) {
                Ok(change) => return change,
                Err(due) => due,
            };
            let later = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.has_output.notified() => {}
                () = later => {}
            }
        }
    }

    /// Notes that a command printed something.
    pub fn printed(&self, id: &str, bytes: &[u8]) {
        if let Some(job) = self.lock().jobs.iter_mut().find(|job| job.id == id) {
            job.unreported.push(bytes);
        }
        self.has_output.notify_one();
    }

    /// Notes that the model has seen these first bytes.
    pub fn skip(&self, id: &str, bytes: u64) {
        if let Some(job) = self.lock().jobs.iter_mut().find(|job| job.id == id) {
            job.read = bytes;
        }
    }

    pub fn ended(&self, id: &str, status: io::Result<ExitStatus>) {
        let ended = status.and_then(how_it_ended);
        let status = ended.map_or(Status::Killed, Status::Ended);
        self.lock().end(id, status);
        self.has_output.notify_one();
    }

    /// Marks a running command as killed. Returns its leader, to be signalled, or how it ended if it had ended
    /// before.
    pub fn kill(&self, id: &str) -> Result<Result<Option<Pid>, Status>, NoSuchJob> {
        let mut state = self.lock();
        let job = state.job(id)?;
        let (leader, status) = (job.leader, job.status);
        if status != Status::Running {
            return Ok(Err(status));
        }
        state.end(id, Status::Killed);
        self.has_output.notify_one();
        Ok(Ok(leader))
    }

    /// The output since the last look. Blocks: not for an async thread.
    pub fn read_new(&self, id: &str) -> Result<NewOutput, NoSuchJob> {
        let mut state = self.lock();
        let job = state.job(id)?;
        let (skipped, mut output) = read_from(&job.file, job.read).unwrap_or_default();
        if job.status == Status::Running
            && let Some(end) = memchr::memrchr(b'\n', &output)
        {
            // Hold back an incomplete last line, because it would look like a whole one.
            output.truncate(end + 1);
        }
        job.read += skipped + output.len() as u64;
        Ok(NewOutput {
            status: job.status,
            command: job.command.clone(),
            file: job.file.clone(),
            skipped,
            output,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What to report now, or when there will be something. Output comes before the end.
    fn change(&mut self, now: Instant) -> Result<(CallRef, Change), Option<Instant>> {
        let is_over = |job: &Job| job.status != Status::Running;
        let next = self.next.filter(|next| *next > now);
        let mut jobs = self.jobs.iter_mut();
        // The last output of a command that has ended is reported at once.
        let due = jobs.find(|job| !job.unreported.is_empty() && (next.is_none() || is_over(job)));
        if let Some(job) = due {
            self.next = Some(now + PACE);
            return Ok((job.call, Change::Printed(job.unreported.take())));
        }
        if let Some((call, status)) = self.ends.pop_front() {
            return Ok((call, Change::Ended(status)));
        }
        let waits = self.jobs.iter().any(|job| !job.unreported.is_empty());
        Err(next.filter(|_| waits))
    }

    /// Records how a command ended; the first end wins.
    fn end(&mut self, id: &str, status: Status) {
        let job = self.jobs.iter_mut().find(|job| job.id == id);
        if let Some(job) = job.filter(|job| job.status == Status::Running) {
            job.status = status;
            let command = logged(&job.command);
            tracing::info!(id, call = %job.call, ?status, %command, "background command ended");
            self.ends.push_back((job.call, status));
        }
    }

    fn job(&mut self, id: &str) -> Result<&mut Job, NoSuchJob> {
        let known: Vec<&str> = self.jobs.iter().map(|job| job.id.as_str()).collect();
        let there = if known.is_empty() {
            "none was started".to_owned()
        } else {
            format!("known IDs: {}", known.join(", "))
        };
        let found = self.jobs.iter_mut().find(|job| job.id == id);
        found.ok_or_else(|| NoSuchJob {
            wanted: id.to_owned(),
            there,
        })
    }
}

impl Status {
    /// How it ended; `None` while it runs.
    pub fn end(self) -> Option<BackgroundEnd> {
        match self {
            Status::Running => None,
            Status::Ended(Ended::Exited(code)) => Some(BackgroundEnd::Exited(code)),
            Status::Ended(Ended::Signalled(signal)) => Some(BackgroundEnd::Signalled(signal)),
            Status::Killed => Some(BackgroundEnd::Stopped),
        }
    }

    pub fn description(self) -> String {
        match self {
            Status::Running => "running".to_owned(),
            Status::Ended(ended) => ended.to_string(),
            Status::Killed => "killed".to_owned(),
        }
    }
}

fn read_from(path: &Path, from: u64) -> io::Result<(u64, Vec<u8>)> {
    // The command may have replaced the file.
    let mut file = open_regular(path, OpenOptions::new().read(true))?;
    let new = file.metadata()?.len().saturating_sub(from);
    let skipped = new.saturating_sub(MOST_NEW_BYTES);
    file.seek(SeekFrom::Start(from + skipped))?;
    let mut output = Vec::new();
    file.take(MOST_NEW_BYTES).read_to_end(&mut output)?;
    Ok((skipped, output))
}
