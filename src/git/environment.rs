//! The environment in which git does not start other programs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The prefix of variables that control git: where it finds a repository, which configuration it reads, what it
/// starts.
const GIT_PREFIX: &str = "GIT_";

/// What git must not do when it runs without asking: take locks, fetch, or prompt.
const VARIABLES: [(&str, &str); 3] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Settings that override those of all files.
const SETTINGS: [(&str, &str); 13] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("log.showSignature", "false"),
    // The other ways to show a merge run merge drivers, and write.
    ("log.diffMerges", "separate"),
    // The other formats run git in a submodule, with the configuration there.
    ("diff.submodule", "short"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    // It rewrites the index even if locks are optional.
    ("diff.autoRefreshIndex", "false"),
    // A directory of plain files must not be taken for a repository.
    ("safe.bareRepository", "explicit"),
    ("protocol.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
];

/// Whether a variable controls git and must not reach a git that runs without asking, because git would look
/// elsewhere than the program has looked.
pub fn controls_git(name: &OsStr) -> bool {
    name.as_bytes().starts_with(GIT_PREFIX.as_bytes())
}

/// Whether a variable makes git read the person's configuration from a relative path, which could be a file of the
/// repository.
pub fn redirects_configuration(name: &OsStr, value: &OsStr) -> bool {
    (name == "HOME" || name == "XDG_CONFIG_HOME") && !Path::new(value).is_absolute()
}

/// The environment that makes a read-only git command harmless, if the inspection of the repository had no objection.
pub fn harmless() -> Vec<(String, String)> {
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let mut variables: Vec<_> = VARIABLES.into_iter().map(owned).collect();
    variables.push(("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()));
    for (number, (key, value)) in SETTINGS.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{number}"), key.to_owned()));
        variables.push((format!("GIT_CONFIG_VALUE_{number}"), value.to_owned()));
    }
    variables
}
