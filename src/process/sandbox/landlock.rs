//! Landlock: which files a thread, and all that it starts, may read, run and change.

use std::io;

use landlock::{
    ABI, Access, AccessFs, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

use super::Policy;

/// The newest interface that this program was tried with. Older kernels enforce what they know of it.
const KNOWN: ABI = ABI::V7;
/// Devices that give nothing away.
const SOURCES: [&str; 3] = ["/dev/zero", "/dev/random", "/dev/urandom"];
const NULL: [&str; 1] = ["/dev/null"];

/// The version of the kernel's interface.
pub fn version() -> io::Result<u32> {
    // Only a thread that has tried knows it.
    std::thread::scope(|scope| {
        let tried = scope.spawn(|| restrict(&Policy::default())).join();
        tried.unwrap_or_else(|_| Err(io::Error::other("Landlock could not be tried")))
    })
}

/// Restricts this thread for good. Returns the version of the kernel's interface.
pub fn restrict(policy: &Policy) -> io::Result<u32> {
    let status = restricted(policy).map_err(io::Error::other)?;
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Ok(effective_abi as u32),
        LandlockStatus::NotEnabled => Err(io::Error::other("Landlock is not enabled")),
        LandlockStatus::NotImplemented => Err(io::Error::other("the kernel has no Landlock")),
    }
}

fn restricted(policy: &Policy) -> Result<RestrictionStatus, RulesetError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let running = reading | AccessFs::Execute;
    let changing = AccessFs::from_all(KNOWN) & !AccessFs::Execute;
    // Whoever writes to it opens it as if it held something.
    let null = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    // A path that is not there needs no rule, and is passed over.
    Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(path_beneath_rules(SOURCES, AccessFs::ReadFile))?
        .add_rules(path_beneath_rules(NULL, null))?
        .add_rules(path_beneath_rules(&policy.reads, reading))?
        .add_rules(path_beneath_rules(&policy.runs, running))?
        .add_rules(path_beneath_rules(&policy.writes, changing))?
        .restrict_self()
}
