//! The process groups that run for this program. None of them outlives it: whatever ends the program, its last act is to
//! kill those that are still there, because the tasks that look after them may never get the time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use super::stragglers;

static GROUPS: Mutex<Groups> = Mutex::new(Groups {
    leaders: Vec::new(),
    over: false,
});

/// Starts whoever ends the commands if the program itself has no chance to.
static GUARD: Mutex<Option<fn()>> = Mutex::new(None);

struct Groups {
    leaders: Vec<Pid>,
    /// The program ends: what is started now is killed at once.
    over: bool,
}

/// Held while a process of the program's own group is being started. The program cannot be stopped while it waits for
/// one that it has just forked and that is stopped together with it.
pub fn starting() -> MutexGuard<'static, ()> {
    static STARTING: Mutex<()> = Mutex::new(());
    STARTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says how to start a guard of the commands. It is started with the first one: a run without any needs none.
pub fn guard_with(start: fn()) {
    *GUARD.lock().unwrap_or_else(PoisonError::into_inner) = Some(start);
}

/// A command is about to be started, which must not outlive the program.
pub fn need_guard() {
    let start = GUARD.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(start) = start {
        start();
    }
}

/// Takes note of a group that has been started.
pub fn add(leader: Pid) {
    let mut groups = lock();
    groups.leaders.push(leader);
    if groups.over {
        kill(leader);
    }
}

/// Forgets a group that is gone: its number may be reused for other processes.
pub fn remove(leader: Pid) {
    lock().leaders.retain(|other| *other != leader);
}

/// Kills whatever still runs, with those who have left their group.
pub fn kill_all() {
    let mut groups = lock();
    groups.over = true;
    for leader in &groups.leaders {
        kill(*leader);
    }
    // Looking for those who have left their group reads many files.
    let some = !groups.leaders.is_empty();
    drop(groups);
    if some {
        stragglers::kill_all(&stragglers::mark_of_program());
    }
}

/// A process that leads a group of its own, killed with the group if this is dropped before its end was seen.
pub struct Leader(Option<Pid>);

impl Leader {
    pub fn of(child: &tokio::process::Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = leader.and_then(Pid::from_raw);
        if let Some(leader) = leader {
            add(leader);
        }
        Self(leader)
    }

    /// Its end was seen.
    pub fn ended(mut self) {
        if let Some(leader) = self.0.take() {
            remove(leader);
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if let Some(leader) = self.0.take() {
            kill(leader);
            remove(leader);
        }
    }
}

fn kill(leader: Pid) {
    // One that has ended meanwhile needs no signal.
    let _ = kill_process_group(leader, Signal::KILL);
}

fn lock() -> MutexGuard<'static, Groups> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::Leader;

    #[tokio::test]
    async fn a_group_whose_leader_is_dropped_is_killed() {
        let mut sleeping = tokio::process::Command::new("sleep");
        let mut child = sleeping.arg("600").process_group(0).spawn().expect("sleep");
        drop(Leader::of(&child));
        let status = child.wait().await.expect("it ends");
        assert_eq!(status.signal(), Some(9));
    }
}
