//! Paths that grant rights or run code: writing them asks, whatever rule allows it.

use super::path::{Ground, Spot, within};
use super::pattern::SegmentGlob;

/// Directories: everything in them is protected, wherever they stand.
const DIRECTORIES: [&str; 9] = [
    ".agent-tui",
    ".git",
    ".vscode",
    ".idea",
    ".husky",
    ".cargo",
    ".devcontainer",
    ".yarn",
    ".mvn",
];

const FILES: [&str; 37] = [
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_aliases",
    ".bash_logout",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".profile",
    ".envrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".bunfig.toml",
    ".bazelrc",
    ".bazelversion",
    ".bazeliskrc",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    "gradle-wrapper.properties",
    "maven-wrapper.properties",
    ".devcontainer.json",
    ".ripgreprc",
    "pyrightconfig.json",
    ".mcp.json",
    ".claude.json",
];

/// Whether either spelling of the path is protected.
pub fn is_protected(spot: &Spot, ground: &Ground) -> bool {
    spot.spellings().any(is_protected_path)
        || ground.config.as_ref().is_some_and(|config| {
            config
                .spellings()
                .any(|config| spot.spellings().any(|path| within(path, config)))
        })
}

/// Whether a shell glob may expand to a protected path. `glob` is absolute, `..` removed.
pub fn may_be_protected(glob: &str) -> bool {
    let mut names = glob.split('/').filter(|name| !name.is_empty());
    names.any(|name| {
        if !name.contains(['*', '?', '[']) {
            return is_protected_name(name);
        }
        let pattern = SegmentGlob::parse(name);
        // The shell's wildcards do not match a leading dot. A lone star is judged by what it stands in.
        let reaches = |known: &str| {
            (name.starts_with('.') || !known.starts_with('.')) && pattern.matches(known)
        };
        !name.trim_matches('*').is_empty() && known_names().any(reaches)
    })
}

fn is_protected_path(path: &str) -> bool {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let next_is = |at: usize, other: &str| {
        names
            .get(at + 1)
            .is_some_and(|next| next.eq_ignore_ascii_case(other))
    };
    names.iter().enumerate().any(|(at, name)| {
        if name.eq_ignore_ascii_case(".claude") {
            !next_is(at, "worktrees")
        } else if name.eq_ignore_ascii_case(".config") {
            next_is(at, "git")
        } else {
            is_protected_name(name)
        }
    })
}

/// Letters count as equal in either case: some file systems think so.
fn is_protected_name(name: &str) -> bool {
    known_names().any(|known| known.eq_ignore_ascii_case(name))
}

fn known_names() -> impl Iterator<Item = &'static str> {
    DIRECTORIES.into_iter().chain(FILES).chain([".claude"])
}
