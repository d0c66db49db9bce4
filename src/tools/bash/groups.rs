//! The process groups that outlive their call: none of them outlives the program.

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

/// How long the groups have to end by themselves when the program does.
const LAST_GRACE: Duration = Duration::from_millis(500);
/// How long one that is killed has to end by itself.
const TERM_GRACE: Duration = Duration::from_secs(2);

/// What runs in the background, in the order in which it was started.
#[derive(Clone, Default)]
pub struct Groups {
    kept: Arc<Mutex<Vec<Kept>>>,
    pub jobs: Jobs,
}

struct Kept {
    group: Group,
    command: String,
}

impl Groups {
    /// Keeps what a finished command left running, and reads its output away so that it is not stopped by a full pipe.
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

    /// Lets the shell of a call run in the background, its output going to `capture`. Returns its id.
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
                    // Its last words come before the news of its end; but a child may hold the output open forever.
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

    /// Ends a command in the background: TERM, a while, KILL. Says how it had ended, if it had.
    pub async fn kill(&self, id: &str) -> Result<Option<Status>, NoSuchJob> {
        let leader = match self.jobs.kill(id)? {
            Ok(leader) => leader,
            Err(status) => return Ok(Some(status)),
        };
        let gone = wait_while(|| self.is_kept(leader));
        ending::end(|signal| self.signal(leader, signal), TERM_GRACE, gone).await;
        // Dropping a group kills also those who have left it.
        self.lock().retain(|kept| !kept.group.is_led_by(leader));
        Ok(None)
    }

    /// The commands that still run.
    pub fn running(&self) -> Vec<String> {
        self.forget_dead();
        let kept = self.lock();
        kept.iter().map(|kept| kept.command.clone()).collect()
    }

    /// Ends everything: TERM, a moment, KILL.
    pub async fn end(&self) {
        self.forget_dead();
        let signal = |signal| {
            for kept in self.lock().iter() {
                kept.group.signal(signal);
            }
        };
        let gone = wait_while(|| !self.running().is_empty());
        ending::end(signal, LAST_GRACE, gone).await;
        // Dropping a group kills also those who have left it.
        self.lock().clear();
    }

    fn add(&self, group: Group, command: &str) {
        self.forget_dead();
        self.lock().push(Kept {
            group,
            command: command.to_owned(),
        });
    }

    /// A group that is gone must be forgotten: its number may come to mean somebody else's processes.
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
        kept.iter().any(|kept| kept.group.is_led_by(leader))
    }

    fn signal(&self, leader: Option<Pid>, signal: Signal) {
        let kept = self.lock();
        for kept in kept.iter().filter(|kept| kept.group.is_led_by(leader)) {
            kept.group.signal(signal);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
