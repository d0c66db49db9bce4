//! The process groups that outlive their call. All of them end with the program.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::FusedFuture;
use rustix::process::{Pid, Signal};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::capture::Capture;
use super::jobs::{Jobs, NoSuchJob, Status};
use super::shell::{Parts, Shell};
use crate::process::ending::{self, wait_while};
use crate::process::group::Group;
use crate::process::output::{DRAIN, read_some};
use crate::protocol::CallRef;

/// How long the groups have to end by themselves when the program ends.
const LAST_GRACE: Duration = Duration::from_millis(500);
/// How long a killed group has to end by itself.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// The commands in the background, in the order in which they were started.
#[derive(Clone, Default)]
pub struct Groups {
    kept: Arc<Mutex<Vec<TrackedGroup>>>,
    pub jobs: Jobs,
}

struct TrackedGroup {
    group: Group,
    command: String,
}

impl Groups {
    /// Keeps track of what a finished command left running, and drains its output so that a full pipe does not block
    /// it.
    pub fn keep(&self, group: Group, command: &str, output: Option<pipe::Receiver>) {
        self.add(group, command);
        if let Some(output) = output {
            let groups = self.clone();
            tokio::spawn(async move {
                while read_some(&output)
                    .await
                    .is_ok_and(|bytes| !bytes.is_empty())
                {}
                groups.forget_dead();
            });
        }
    }

    /// Lets the shell of a call continue in the background, with its output going to `capture`. Returns its id.
    pub fn adopt(
        &self,
        call: CallRef,
        shell: Shell,
        mut capture: Capture,
        command: &str,
    ) -> String {
        let Parts {
            mut child,
            group,
            output,
            leftovers,
        } = shell.into_parts();
        let leader = group.leader();
        self.add(group, command);
        let id = self.jobs.add(call, command, leader, capture.path());
        let (groups, job) = (self.clone(), id.clone());
        tokio::spawn(async move {
            let reading = async {
                while let Ok(bytes) = read_some(&output).await {
                    if bytes.is_empty() {
                        break;
                    }
                    capture.push(&bytes);
                    groups.jobs.printed(&job, &bytes);
                    if capture.is_flooded() {
                        groups.signal(leader, Signal::KILL);
                        break;
                    }
                }
            };
            let mut reading = pin!(reading.fuse());
            let status = tokio::select! {
                () = &mut reading => child.wait().await,
                status = child.wait() => {
                    // Report the last output before the end. A child may hold the pipe open forever, so wait only
                    // briefly.
                    let _ = timeout(DRAIN, &mut reading).await;
                    status
                }
            };
            groups.jobs.ended(&job, status);
            if !reading.is_terminated() {
                reading.await;
            }
            drop(leftovers);
            groups.forget_dead();
        });
        id
    }

    /// Ends a background command: TERM, a grace period, KILL. Returns how it ended if it had ended before.
    pub async fn kill(&self, id: &str) -> Result<Option<Status>, NoSuchJob> {
        let leader = match self.jobs.kill(id)? {
            Ok(leader) => leader,
            Err(status) => return Ok(Some(status)),
        };
        let gone = wait_while(|| self.is_kept(leader));
        ending::end(|signal| self.signal(leader, signal), TERM_GRACE, gone).await;
        // Dropping a group also kills processes that left it.
        self.lock().retain(|kept| !kept.group.has_leader(leader));
        Ok(None)
    }

    /// The commands that are still running.
    pub fn running(&self) -> Vec<String> {
        self.forget_dead();
        let kept = self.lock();
        kept.iter().map(|kept| kept.command.clone()).collect()
    }

    /// Ends everything: TERM, a short grace period, KILL.
    pub async fn end(&self) {
        self.forget_dead();
        let signal = |signal| {
            for kept in self.lock().iter() {
                kept.group.signal(signal);
            }
        };
        let gone = wait_while(|| !self.running().is_empty());
        ending::end(signal, LAST_GRACE, gone).await;
        // Dropping a group also kills processes that left it.
        self.lock().clear();
    }

    fn add(&self, group: Group, command: &str) {
        self.forget_dead();
        self.lock().push(TrackedGroup {
            group,
            command: command.to_owned(),
        });
    }

    /// A group that has ended must be forgotten, because the system may give its number to another process.
    fn forget_dead(&self) {
        self.lock().retain_mut(|kept| {
            let alive = kept.group.is_alive() || kept.group.has_stragglers();
            if !alive {
                kept.group.disarm();
            }
            alive
        });
    }

    fn is_kept(&self, leader: Option<Pid>) -> bool {
        self.forget_dead();
        let kept = self.lock();
        kept.iter().any(|kept| kept.group.has_leader(leader))
    }

    fn signal(&self, leader: Option<Pid>, signal: Signal) {
        let kept = self.lock();
        for kept in kept.iter().filter(|kept| kept.group.has_leader(leader)) {
            kept.group.signal(signal);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<TrackedGroup>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
