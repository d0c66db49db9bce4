//! The threads that start sandboxed commands.
//!
//! A restriction of a thread is permanent, and new threads inherit it. The system call filter is the same for every
//! command, and the kernel takes a third of a millisecond to load it: so a long-lived thread, the keeper, loads it
//! once. For each command the keeper starts a thread that adds the file rules for this command, starts the command
//! and ends.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;

use super::{Policy, landlock, privileges, seccomp};

type Job = Box<dyn FnOnce() + Send>;

/// Does `work` on a thread that is restricted by `policy`. It gets the version of Landlock.
pub fn on_restricted_thread<T: Send + 'static>(
    policy: &Policy,
    work: impl FnOnce(u32) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (done, result) = channel();
    let own = policy.clone();
    let job: Job = Box::new(move || {
        let worked = landlock::restrict(&own).and_then(work);
        // The receiver is gone only if the program is ending.
        let _ = done.send(worked);
    });
    let failed = || io::Error::other("the thread that starts sandboxed commands failed");
    keeper(policy.attributes)?.send(job).map_err(|_| failed())?;
    result.recv().unwrap_or_else(|_| Err(failed()))
}

/// The keeper for commands that may, or may not, change attributes of files.
fn keeper(attributes: bool) -> io::Result<Sender<Job>> {
    static KEEPERS: [OnceLock<Result<Sender<Job>, String>>; 2] = [OnceLock::new(), OnceLock::new()];
    let keeper = KEEPERS[usize::from(attributes)]
        .get_or_init(|| keep(attributes).map_err(|error| error.to_string()));
    keeper.clone().map_err(io::Error::other)
}

fn keep(attributes: bool) -> io::Result<Sender<Job>> {
    let (jobs, waiting) = channel::<Job>();
    let (ready, is_ready) = channel();
    Builder::new().name("keeper".to_owned()).spawn(move || {
        let applied = landlock::version().and_then(|version| {
            privileges::give_up()?;
            seccomp::apply(attributes, version)
        });
        let failed = applied.is_err();
        let _ = ready.send(applied);
        if failed {
            return;
        }
        for job in waiting {
            // A job that gets no thread is dropped, which notifies its receiver.
            let _ = Builder::new().name("held".to_owned()).spawn(job);
        }
    })?;
    match is_ready.recv() {
        Ok(applied) => applied.map(|()| jobs),
        Err(_) => Err(io::Error::other(
            "the thread that starts sandboxed commands failed",
        )),
    }
}
