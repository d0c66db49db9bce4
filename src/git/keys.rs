//! The keys of a repository's own configuration that cannot make a read-only git command start a program, leave the
//! work tree or read another file.
//!
//! An allow list: every other key asks, including keys of later git versions. Keys that `environment` overrides are
//! on it only if they are common. `core.bare` is on it, because git itself says whether there is a work tree, and
//! repositories that are separate from their work trees set it.

/// A key without its subsection, and its harmless values.
type Entry = (&'static str, &'static str, Values);

#[derive(Clone, Copy)]
enum Values {
    Any,
    /// Only false.
    False,
    OneOf(&'static [&'static str]),
}

use Values::{Any, False, OneOf};

/// Section, names, values; for keys without a subsection.
const PLAIN: &[Entry] = &[
    (
        "core",
        "repositoryformatversion filemode logallrefupdates ignorecase symlinks precomposeunicode protecthfs protectntfs \
         autocrlf eol safecrlf quotepath abbrev sharedrepository compression loosecompression bigfilethreshold \
         packedgitlimit packedgitwindowsize deltabasecachelimit preloadindex untrackedcache commitgraph multipackindex \
         longpaths fscache trustctime checkstat whitespace sparsecheckout sparsecheckoutcone hookspath bare",
        Any,
    ),
    ("core", "fsmonitor", False),
    (
        "extensions",
        "worktreeconfig noop preciousobjects relativeworktrees",
        Any,
    ),
    ("extensions", "objectformat", OneOf(&["sha1", "sha256"])),
    ("extensions", "refstorage", OneOf(&["files", "reftable"])),
    ("user", "name email signingkey useconfigonly", Any),
    ("author", "name email", Any),
    ("committer", "name email", Any),
    ("init", "defaultbranch", Any),
    ("remote", "pushdefault", Any),
    ("pull", "rebase ff", Any),
    ("push", "default autosetupremote followtags", Any),
    ("fetch", "prune prunetags parallel", Any),
    ("branch", "autosetupmerge autosetuprebase sort", Any),
    ("checkout", "defaultremote guess", Any),
    (
        "merge",
        "ff conflictstyle log stat renames renamelimit",
        Any,
    ),
    ("rebase", "autostash autosquash updaterefs", Any),
    ("rerere", "enabled autoupdate", Any),
    ("commit", "gpgsign verbose status", Any),
    ("tag", "gpgsign sort", Any),
    (
        "status",
        "showuntrackedfiles relativepaths short branch",
        Any,
    ),
    (
        "diff",
        "algorithm renames renamelimit colormoved mnemonicprefix noprefix context interhunkcontext indentheuristic",
        Any,
    ),
    ("log", "date decorate abbrevcommit follow", Any),
    ("index", "version threads sparse", Any),
    (
        "pack",
        "threads window depth windowmemory packsizelimit usebitmaps writereverseindex",
        Any,
    ),
    (
        "gc",
        "auto autodetach autopacklimit pruneexpire reflogexpire reflogexpireunreachable packrefs",
        Any,
    ),
    ("maintenance", "auto autodetach strategy", Any),
    ("worktree", "guessremote userelativepaths", Any),
    ("submodule", "active", Any),
    ("lfs", "repositoryformatversion", Any),
    ("http", "extraheader", Any),
];

/// The same for keys with a subsection, such as a name or an address.
const NAMED: &[Entry] = &[
    (
        "remote",
        "url fetch pushurl push tagopt prune prunetags mirror skipdefaultupdate skipfetchall followremotehead gh-resolved",
        Any,
    ),
    ("submodule", "url active branch", Any),
    ("lfs", "access locksverify", Any),
    ("http", "extraheader", Any),
];

/// Sections without any key that starts or reads something.
const WHOLE: &[&str] = &["advice", "color", "gui"];

/// Whether a key, as `git config --list` spells it, is harmless with this value. A key without a value is true.
pub fn is_harmless(key: &str, value: Option<&str>) -> bool {
    let Some((section, rest)) = key.split_once('.') else {
        return false;
    };
    let (subsection, name) = match rest.rsplit_once('.') {
        Some((subsection, name)) => (Some(subsection), name),
        None => (None, rest),
    };
    // git has no key for a branch that names a program, and editors add their own.
    if WHOLE.contains(&section) || (section == "branch" && subsection.is_some()) {
        return true;
    }
    let list = if subsection.is_some() { NAMED } else { PLAIN };
    list.iter().any(|(known, names, values)| {
        *known == section
            && names.split_ascii_whitespace().any(|known| known == name)
            && values.permit(value)
    })
}

impl Values {
    fn permit(self, value: Option<&str>) -> bool {
        match self {
            Any => true,
            False => value.is_some_and(|value| {
                // git treats an empty value as false too, but nobody writes it.
                ["false", "no", "off", "0"].contains(&value.to_ascii_lowercase().as_str())
            }),
            OneOf(values) => value.is_some_and(|value| values.contains(&value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn an_ordinary_configuration_is_harmless() {
        for (key, value) in [
            ("core.repositoryformatversion", "0"),
            ("core.filemode", "true"),
            ("core.bare", "false"),
            ("core.fsmonitor", "false"),
            ("core.hookspath", ".husky/_"),
            (
                "remote.origin.url",
                "https://example.org/filter/include.git",
            ),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("remote.a.b.url", "x"),
            ("branch.main.remote", "origin"),
            ("branch.feature/a.b.vscode-merge-base", "origin/main"),
            ("user.name", "A B"),
            ("extensions.objectformat", "sha256"),
            ("lfs.https://example.org/x.git/info/lfs.access", "basic"),
        ] {
            assert!(is_harmless(key, Some(value)), "{key}");
        }
    }

    #[test]
    fn a_key_that_is_not_on_the_list_is_not_harmless() {
        for (key, value) in [
            ("core.fsmonitor", Some("true")),
            ("core.fsmonitor", Some("")),
            ("core.fsmonitor", None),
            ("core.worktree", Some("/")),
            ("core.pager", Some("less")),
            ("core.editor", Some("vi")),
            ("core.sshcommand", Some("ssh")),
            ("core.attributesfile", Some("x")),
            ("core.alternaterefscommand", Some("x")),
            ("filter.x.clean", Some("x")),
            ("diff.external", Some("x")),
            ("diff.x.textconv", Some("x")),
            ("diff.submodule", Some("diff")),
            ("diff.renames.x", Some("x")),
            ("merge.x.driver", Some("x")),
            ("log.diffmerges", Some("remerge")),
            ("log.showsignature", None),
            ("gpg.program", Some("x")),
            ("gpg.ssh.program", Some("x")),
            ("gc.recentobjectshook", Some("x")),
            ("hook.x.command", Some("x")),
            ("include.path", Some("x")),
            ("includeif.gitdir:/.path", Some("x")),
            ("remote.o.promisor", Some("true")),
            ("remote.o.uploadpack", Some("x")),
            ("remote.o.vcs", Some("x")),
            ("extensions.partialclone", Some("o")),
            ("extensions.refstorage", Some("reftable:///x")),
            ("submodule.x.update", Some("!x")),
            ("submodule.x.ignore", Some("none")),
            ("alias.x", Some("!x")),
            ("format.pretty", Some("%G?")),
            ("pretty.x", Some("%G?")),
            ("i18n.logoutputencoding", Some("x")),
            ("nonsense", None),
        ] {
            assert!(!is_harmless(key, value), "{key}");
        }
    }
}
