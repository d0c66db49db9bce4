//! The process groups that this program has started. None of them outlives it: however the program ends, its last act
//! is to kill those that are left, because the tasks that manage them may not run any more.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use super::stragglers;

static GROUPS: Mutex<Groups> = Mutex::new(Groups {
    leaders: Vec::new(),
    over: false,
});

/// Starts the guard that ends the commands if the program itself cannot.
static GUARD: Mutex<Option<fn()>> = Mutex::new(None);

struct Groups {
    leaders: Vec<Pid>,
    /// The program is ending: whatever is started now is killed at once.
    over: bool,
}

/// Held while a process in the program's own process group is being started. Otherwise the program could be stopped
/// by the terminal together with a child that it has just forked and waits for.
pub fn starting() -> MutexGuard<'static, ()> {
    static STARTING: Mutex<()> = Mutex::new(());
    STARTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets how to start the guard. It starts with the first command, because a run without commands needs none.
pub fn guard_with(start: fn()) {
    *GUARD.lock().unwrap_or_else(PoisonError::into_inner) = Some(start);
}

/// Called before a command is started that must not outlive the program.
pub fn need_guard() {
    let start = GUARD.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(start) = start {
        start();
    }
}

/// Records a group that was started.
pub fn add(leader: Pid) {
    let mut groups = lock();
    groups.leaders.push(leader);
    if groups.over {
        kill(leader);
    }
}

/// Forgets a group that has ended: its number may be reused for other processes.
pub fn remove(leader: Pid) {
    lock().leaders.retain(|other| *other != leader);
}

/// Kills everything that is still running, including processes that left their group.
pub fn kill_all() {
    let mut groups = lock();
    groups.over = true;
    for leader in &groups.leaders {
        kill(*leader);
    }
    // Looking for processes that left their group reads many files.
    let some = !groups.leaders.is_empty();
    drop(groups);
    if some {
        stragglers::kill_all(&stragglers::mark_of_program());
    }
}

/// A process that leads its own group. If this is dropped before its end was seen, the group is killed.
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
    // A process that has ended needs no signal.
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
