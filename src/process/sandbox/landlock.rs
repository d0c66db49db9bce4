//! Landlock: which files a thread and its children may read, run and change.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

use super::Policy;

/// The newest interface that this program was tested with. Older kernels enforce the part that they know.
const KNOWN: ABI = ABI::V7;
/// Devices that reveal nothing.
const SOURCES: [&str; 3] = ["/dev/zero", "/dev/random", "/dev/urandom"];
const NULL: [&str; 1] = ["/dev/null"];

/// Paths that every sandboxed command may access, opened once: most of a rule's cost is opening its path.
#[derive(Debug, Default)]
pub struct Opened(Vec<(PathFd, BitFlags<AccessFs>)>);

impl Opened {
    /// A path that does not exist needs no rule, and is skipped.
    pub fn new(reads: &[PathBuf], runs: &[PathBuf]) -> Self {
        let reading = AccessFs::ReadFile | AccessFs::ReadDir;
        // Programs that write to it open it like a regular file.
        let null =
            AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
        let opened = |path: &Path, access: BitFlags<AccessFs>| {
            let access = if path.is_dir() {
                access
            } else {
                access & AccessFs::from_file(KNOWN)
            };
            Some((PathFd::new(path).ok()?, access))
        };
        let sources = SOURCES.iter().map(|path| (Path::new(path), reading));
        let null = NULL.iter().map(|path| (Path::new(path), null));
        let reads = reads.iter().map(|path| (path.as_path(), reading));
        let runs = runs.iter();
        let runs = runs.map(|path| (path.as_path(), reading | AccessFs::Execute));
        let all = sources.chain(null).chain(reads).chain(runs);
        Self(
            all.filter_map(|(path, access)| opened(path, access))
                .collect(),
        )
    }
}

/// The version of the kernel's interface.
pub fn version() -> io::Result<u32> {
    // Only a thread that has tried it knows.
    std::thread::scope(|scope| {
        let tried = scope.spawn(|| restrict(&Policy::default())).join();
        tried.unwrap_or_else(|_| Err(io::Error::other("Landlock could not be tried")))
    })
}

/// Restricts this thread permanently. Returns the version of the kernel's interface.
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
    let changing = AccessFs::from_all(KNOWN) & !AccessFs::Execute;
    let opened = policy.base.opened.0.iter();
    let rules = opened.map(|(place, access)| Ok(PathBeneath::new(place, *access)));
    Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(rules.collect::<Vec<Result<_, RulesetError>>>())?
        .add_rules(path_beneath_rules(&policy.reads, reading))?
        .add_rules(path_beneath_rules(&policy.writes, changing))?
        .restrict_self()
}
