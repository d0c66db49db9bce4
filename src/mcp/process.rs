//! The process of a server that runs on this machine: its own group, without the keys of providers, ended for certain.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use process_wrap::tokio::ChildWrapper;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::log::Log;
use crate::process::Variables;
use crate::process::child::{self, how_it_ended};
use crate::process::ending;
use crate::process::group::Group;

/// How long a server has to end by itself after its stdin was closed.
const STDIN_GRACE: Duration = Duration::from_millis(600);
/// How long it has after TERM. Together less than two seconds.
const TERM_GRACE: Duration = Duration::from_millis(900);

/// What to start.
pub struct Start<'s> {
    pub command: &'s str,
    pub args: &'s [String],
    /// The variables that the configuration names.
    pub env: &'s BTreeMap<String, String>,
    pub cwd: &'s Path,
    /// What commands of this program get.
    pub variables: &'s Variables,
    pub log: Log,
}

/// A running server. Dropping it ends the process without waiting.
pub struct Process {
    end: CancellationToken,
    ended: Ended,
}

/// Says how a process ended, once it has.
pub type Ended = watch::Receiver<Option<String>>;

impl Process {
    pub fn start(start: Start<'_>) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut command = tokio::process::Command::new(start.command);
        command
            .args(start.args)
            .current_dir(start.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        start.variables.apply(&mut command);
        // After the keys were removed: the configuration may name them.
        command.envs(start.env);
        let (mut child, group) = child::spawn(command, start.cwd)
            .map_err(|error| explained(error, start.command, start.cwd))?;
        let (stdin, stdout) = (child.stdin().take(), child.stdout().take());
        let (Some(stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        if let Some(stderr) = child.stderr().take() {
            tokio::spawn(start.log.drain(stderr));
        }
        let end = CancellationToken::new();
        let (end_sender, ended) = watch::channel(None);
        tokio::spawn(watch_process(child, group, end.clone(), end_sender));
        Ok((Self { end, ended }, stdout, stdin))
    }

    pub fn ended(&self) -> Ended {
        self.ended.clone()
    }

    /// Ends it: it has a moment to end by itself, then TERM, then KILL. Its stdin should be closed already.
    pub async fn close(mut self) {
        self.end.cancel();
        let _ = self.ended.wait_for(Option::is_some).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// Waits for the end of the leader. Whatever it left in its group is killed then: it would hold the pipes open.
async fn watch_process(
    mut child: Box<dyn ChildWrapper>,
    group: Group,
    end: CancellationToken,
    end_sender: watch::Sender<Option<String>>,
) {
    let status = tokio::select! {
        status = child.wait() => status,
        () = end.cancelled() => end_now(&mut child, &group).await,
    };
    let how = status.and_then(how_it_ended);
    let how = how.map_or_else(|error| error.to_string(), |how| how.to_string());
    tracing::info!(%how, "MCP server process ended");
    // It looks through all processes of the machine.
    let _ = tokio::task::spawn_blocking(move || group.end()).await;
    end_sender.send_replace(Some(how));
}

async fn end_now(
    child: &mut Box<dyn ChildWrapper>,
    group: &Group,
) -> io::Result<std::process::ExitStatus> {
    let by_itself = timeout_at(Instant::now() + STDIN_GRACE, child.wait()).await;
    if let Ok(status) = by_itself {
        return status;
    }
    let gone = async { drop(child.wait().await) };
    ending::end(|signal| group.signal(signal), TERM_GRACE, gone).await;
    child.wait().await
}

fn explained(error: io::Error, command: &str, cwd: &Path) -> io::Error {
    if error.kind() != io::ErrorKind::NotFound || !cwd.is_dir() {
        return error;
    }
    let text = format!("`{command}` was not found; is it installed, and in PATH?");
    io::Error::new(io::ErrorKind::NotFound, text)
}
