//! Paths that grant rights or run code: writing them asks, even if a rule allows it.

use super::path::{PathContext, Spot};
use super::pattern::SegmentGlob;

/// Directories: everything in them is protected, wherever they are.
const DIRECTORIES: [&str; 13] = [
    ".agent-tui",
    ".git",
    ".vscode",
    ".idea",
    ".husky",
    ".cargo",
    ".devcontainer",
    ".yarn",
    ".mvn",
    ".ssh",
    ".gnupg",
    ".vim",
    ".emacs.d",
];

/// Directories and files that are protected only below a certain directory, wherever that is.
const PATHS: &[&[&str]] = &[
    &[".config", "git"],
    &[".config", "autostart"],
    &[".config", "direnv"],
    &[".config", "emacs"],
    &[".config", "environment.d"],
    &[".config", "fish"],
    &[".config", "gh"],
    &[".config", "nushell"],
    &[".config", "nvim"],
    &[".config", "plasma-workspace"],
    &[".config", "powershell"],
    &[".config", "systemd"],
    &[".config", "tmux"],
    &[".config", "vim"],
    &[".config", "zsh"],
    &[".local", "bin"],
    &[".local", "share", "applications"],
    &[".local", "share", "dbus-1"],
    &[".local", "share", "systemd"],
    // These programs run helpers that their configuration names; projects have other files in such directories.
    &[".aws", "config"],
    &[".aws", "credentials"],
    &[".docker", "cli-plugins"],
    &[".docker", "config.json"],
    &[".kube", "config"],
];

const FILES: &[&str] = &[
    ".gitconfig",
    ".gitmodules",
    ".git-credentials",
    ".hgrc",
    // Shells.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_aliases",
    ".bash_completion",
    ".bash_logout",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".cshrc",
    ".tcshrc",
    ".kshrc",
    ".mkshrc",
    ".login",
    ".logout",
    ".profile",
    ".envrc",
    ".inputrc",
    // What runs when a session of the person starts.
    ".pam_environment",
    ".xinitrc",
    ".xprofile",
    ".xserverrc",
    ".xsession",
    ".xsessionrc",
    // Who may log in, and credentials of programs.
    ".k5login",
    ".netrc",
    ".pgpass",
    ".pypirc",
    ".rhosts",
    ".shosts",
    // Programs that run what their configuration says.
    ".curlrc",
    ".dir-locals.el",
    ".emacs",
    ".exrc",
    ".forward",
    ".gdbinit",
    ".ghci",
    ".gvimrc",
    ".irbrc",
    ".lessfilter",
    ".lldbinit",
    ".mailcap",
    ".my.cnf",
    ".nvim.lua",
    ".nvimrc",
    ".ocamlinit",
    ".octaverc",
    ".pryrc",
    ".psqlrc",
    ".pythonrc",
    ".pythonrc.py",
    ".Renviron",
    ".Rprofile",
    ".sbclrc",
    ".screenrc",
    ".selected_editor",
    ".sqliterc",
    ".tmux.conf",
    ".vimrc",
    ".wgetrc",
    // Tools of projects.
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

/// Whether either spelling of the path is protected: by its names, or because it lies in one of the protected places.
pub fn is_protected(spot: &Spot, context: &PathContext) -> bool {
    let by_name = |path: &str| names_protect(&names(path), is_same, is_same);
    spot.spellings().any(by_name)
        || places(context).any(|place| spot.spellings().any(|path| is_within(path, place)))
}

/// Whether a protected place lies below this directory: moving or replacing it also moves or replaces that place. The
/// working directories and their parents are left out, because nearly every command writes below them.
pub fn holds_protected(spot: &Spot, context: &PathContext) -> bool {
    let holds_work = |path: &str| {
        let directories = context.directories();
        let mut directories = directories.iter().flat_map(Spot::spellings);
        directories.any(|directory| is_within(directory, path))
    };
    let mut spellings = spot.spellings();
    spellings.any(|path| !holds_work(path) && places(context).any(|place| is_within(place, path)))
}

/// Whether something below `start` is protected by its name, or may be with the names around it. `None` if there is too
/// much to check.
pub fn any_protected_below(start: &Spot, context: &PathContext) -> Option<bool> {
    context.any_name_below(start, usize::MAX, &begins_protected)
}

/// Whether a path with this name in it may be protected.
fn begins_protected(name: &str) -> bool {
    let alone = DIRECTORIES.iter().chain(FILES).chain(&[".claude"]);
    let mut all = alone.chain(PATHS.iter().map(|path| &path[0]));
    all.any(|known| is_same(name, known))
}

/// Whether what is protected below this directory depends on names that are not seen yet: `.local` holds
/// `share/applications`.
pub fn may_hold_protected(spot: &Spot) -> bool {
    spot.spellings()
        .any(|path| names(path).into_iter().any(begins_protected))
}

/// Whether a shell glob may expand to a protected path. `glob` is absolute, `..` removed.
pub fn may_be_protected(glob: &str, context: &PathContext) -> bool {
    let glob = names(glob);
    // A lone star is judged by its directory.
    let is_lone = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte == b'*');
    if names_protect(
        &glob,
        |name, known| !is_lone(name) && may_be(name, known),
        may_be,
    ) {
        return true;
    }
    places(context).any(|place| {
        let place = names(place);
        let mut pairs = glob.iter().zip(&place);
        pairs.all(|(name, known)| may_be(name, known))
    })
}

fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !name.is_empty()).collect()
}

fn places<'g>(context: &'g PathContext<'_>) -> impl Iterator<Item = &'g str> {
    context.protected().iter().flat_map(Spot::spellings)
}

/// Whether some of these names, one below the other, are on the lists. `first` compares a name that is alone or begins
/// a path, `later` one after it.
fn names_protect(
    names: &[&str],
    first: impl Fn(&str, &str) -> bool,
    later: impl Fn(&str, &str) -> bool,
) -> bool {
    names.iter().enumerate().any(|(at, name)| {
        let behind = &names[at + 1..];
        let alone = DIRECTORIES.iter().chain(FILES);
        let worktrees = || {
            behind
                .first()
                .is_some_and(|next| is_same(next, "worktrees"))
        };
        let is_path = |path: &&[&str]| {
            let mut rest = path[1..].iter().zip(behind);
            first(name, path[0])
                && behind.len() >= path.len() - 1
                && rest.all(|(known, name)| later(name, known))
        };
        alone.into_iter().any(|known| first(name, known))
            || (first(name, ".claude") && !worktrees())
            || PATHS.iter().any(is_path)
    })
}

/// Upper and lower case are equal, as on some file systems.
fn is_same(name: &str, known: &str) -> bool {
    name.eq_ignore_ascii_case(known)
}

/// Whether a name with wildcards of the shell, which do not match a leading dot, may match a known one.
fn may_be(name: &str, known: &str) -> bool {
    if !name.contains(['*', '?', '[']) {
        return is_same(name, known);
    }
    (name.starts_with('.') || !known.starts_with('.')) && SegmentGlob::parse(name).matches(known)
}

/// Whether `path` is `directory` or below it, in whatever case.
fn is_within(path: &str, directory: &str) -> bool {
    let Some((head, rest)) = path.split_at_checked(directory.len()) else {
        return false;
    };
    is_same(head, directory)
        && (rest.is_empty() || rest.starts_with('/') || directory.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use crate::permissions::tests::touched;
    use crate::permissions::{CallDetails, Decision, NoLinks, Rules, World, decide};
    use crate::protocol::{Level, Mode};

    /// What is decided in the person's home, where edits are accepted.
    fn in_home(tool: &str, input: &Value) -> Decision {
        let world = World {
            cwd: PathBuf::from("/home/u"),
            home: PathBuf::from("/home/u"),
            shell_dir: None,
            additional_directories: Vec::new(),
            config_dir: Some(PathBuf::from("/home/u/.config/agent-tui")),
            data_dir: Some(PathBuf::from("/home/u/.local/share/agent-tui")),
            protected_files: vec![PathBuf::from("/home/u/tools/hooks/guard.sh")],
            links: &NoLinks,
        };
        let call = CallDetails {
            tool,
            input,
            touches: touched(tool, input),
            level: Level::Confirm,
            read_only: false,
        };
        decide(&call, &Rules::default(), Mode::AcceptEdits, &world).decision
    }

    fn written(path: &str) -> Decision {
        in_home("Write", &json!({ "file_path": path, "content": "" }))
    }

    fn run(command: &str) -> Decision {
        in_home("Bash", &json!({ "command": command }))
    }

    #[test]
    fn b8_the_data_directory_is_protected_as_the_configuration_is() {
        for path in [
            "/home/u/.local/share/agent-tui/trusted/00ff.json",
            "~/.local/share/agent-tui/allowed/00ff.json",
            ".local/share/Agent-TUI/allowed/00ff.json",
            ".config/agent-tui/settings.json",
        ] {
            assert_eq!(written(path), Decision::Ask, "{path}");
        }
        for command in [
            "cp x .local/share/agent-tui/trusted/00ff.json",
            "mv .local/share old",
            "cp -r evil/share .local",
            "cp evil.json .local/share/agent-tui/*/00ff.json",
        ] {
            assert_eq!(run(command), Decision::Ask, "{command}");
        }
        assert_eq!(written(".local/share/other/x"), Decision::Allow);
        assert_eq!(run("cp x .local/share/other"), Decision::Allow);
    }

    #[test]
    fn b8_what_runs_at_a_login_or_grants_one_is_protected_in_a_home() {
        for path in [
            ".ssh/authorized_keys",
            ".gnupg/gpg-agent.conf",
            ".config/systemd/user/x.service",
            ".config/autostart/x.desktop",
            ".config/fish/config.fish",
            ".config/nvim/init.lua",
            ".vimrc",
            ".vim/plugin/x.vim",
            ".emacs.d/init.el",
            ".inputrc",
            ".xprofile",
            ".pam_environment",
            ".netrc",
            ".docker/config.json",
            ".local/bin/ls",
            ".local/share/systemd/user/x.service",
            "dotfiles/.TMUX.conf",
        ] {
            assert_eq!(written(path), Decision::Ask, "{path}");
        }
        for path in [
            ".config/app/x.toml",
            ".docker/Dockerfile",
            ".local/share/app/x",
            ".local/share",
            "ssh/config",
            "vimrc",
        ] {
            assert_eq!(written(path), Decision::Allow, "{path}");
        }
        assert_eq!(run("touch .config/f*/config.fish"), Decision::Ask);
        assert_eq!(run("cp key .s?h/authorized_keys"), Decision::Ask);
    }

    #[test]
    fn c6_a_script_that_a_hook_runs_is_neither_edited_nor_replaced_unasked() {
        assert_eq!(written("tools/hooks/guard.sh"), Decision::Ask);
        for command in [
            "cp x tools/hooks/guard.sh",
            "echo x > tools/hooks/guard.sh",
            "mv tools/hooks old",
            "cp -r evil/hooks tools",
            "cp x tools/hooks/*.sh",
        ] {
            assert_eq!(run(command), Decision::Ask, "{command}");
        }
        assert_eq!(written("tools/hooks/other.sh"), Decision::Allow);
        assert_eq!(run("cp x tools/other.sh"), Decision::Allow);
        assert_eq!(run("cp x ."), Decision::Allow);
    }
}
