//! The process group of a command, and the processes that left it.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::{running, stragglers};

/// Dropping it kills the processes that are left.
#[derive(Debug, Default)]
pub struct Group {
    leader: Option<Pid>,
    mark: Option<String>,
    /// It was told to end while it was running.
    signalled: AtomicBool,
}

impl Group {
    pub fn new(leader: Option<Pid>, mark: String) -> Self {
        if let Some(leader) = leader {
            running::add(leader);
        }
        Self {
            leader,
            mark: Some(mark),
            signalled: AtomicBool::new(false),
        }
    }

    /// Moves the group out; the old value is empty afterwards.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            self.signalled.store(true, Ordering::Relaxed);
            // A group that has ended needs no signal.
            let _ = kill_process_group(leader, signal);
        }
    }

    pub fn is_alive(&self) -> bool {
        self.leader
            .is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    /// Whether processes of the command are still running outside of the group.
    pub fn has_stragglers(&self) -> bool {
        self.mark
            .as_deref()
            .is_some_and(|mark| !stragglers::with_mark(mark).is_empty())
    }

    pub fn description(&self) -> String {
        if let Some(leader) = self.leader.filter(|_| self.is_alive()) {
            return format!("process group {}", leader.as_raw_nonzero());
        }
        let processes = stragglers::with_mark(self.mark.as_deref().unwrap_or_default());
        let numbers: Vec<String> = processes
            .iter()
            .map(|process| process.as_raw_nonzero().to_string())
            .collect();
        format!("processes {}", numbers.join(", "))
    }

    /// Whether the two are the same group.
    pub fn has_leader(&self, leader: Option<Pid>) -> bool {
        self.leader.is_some() && self.leader == leader
    }

    pub fn leader(&self) -> Option<Pid> {
        self.leader
    }

    /// Forgets a group that has ended: its number may be reused for other processes.
    pub fn disarm(&mut self) {
        // Not by replacing it, because dropping the old value would kill.
        self.forget_leader();
        self.mark = None;
    }

    fn forget_leader(&mut self) {
        if let Some(leader) = self.leader.take() {
            running::remove(leader);
        }
    }

    /// Kills all processes that are left, inside or outside of the group.
    pub fn end(mut self) {
        self.kill();
    }

    fn kill(&mut self) {
        // If the leader has ended, its number may belong to another process. Processes with the mark are ours in any
        // case.
        if self.is_alive() {
            self.signal(Signal::KILL);
        }
        match self.mark.take() {
            Some(mark) if *self.signalled.get_mut() => stragglers::kill_busy(&mark),
            Some(mark) => stragglers::kill(&mark),
            None => {}
        }
        // Not earlier: if the program ends meanwhile, it kills the group itself.
        self.forget_leader();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
