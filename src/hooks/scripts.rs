//! The files that the commands of hooks name: changing them changes what the hooks do.
//!
//! A hook is trusted by its command line, not by the content of its script, so the script is protected. The search is
//! generous: a file that a hook only reads counts as well. Files that a hook uses without naming them (`make check`,
//! `npm run lint`) are not found.

use std::path::{Path, PathBuf};

use super::config::Hook;
use crate::permissions::bash::read;
use crate::permissions::bash::script::{Script, Word};

/// How many levels of nested scripts are parsed, as after `bash -c`.
const DEEPEST: usize = 3;
/// How many files are looked for, because each costs a file system call.
const MOST_FILES: usize = 500;

/// The ways to write the project directory in a hook's command.
const PROJECT: [&str; 6] = [
    "$CLAUDE_PROJECT_DIR",
    "${CLAUDE_PROJECT_DIR}",
    "$AGENT_TUI_PROJECT_DIR",
    "${AGENT_TUI_PROJECT_DIR}",
    "$PWD",
    "${PWD}",
];
const HOME: [&str; 3] = ["$HOME", "${HOME}", "~"];
/// What runs if a directory is given as the script.
const MAINS: [&str; 4] = ["index.js", "index.mjs", "index.ts", "__main__.py"];

/// Where a hook's command runs.
#[derive(Debug, Clone, Copy)]
pub struct ScriptDirectories<'a> {
    pub project: &'a Path,
    pub home: &'a Path,
    /// More directories that tools may write to.
    pub additional: &'a [PathBuf],
}

/// The files that these hooks name, each once.
pub fn named(hooks: &[Hook], directories: ScriptDirectories<'_>) -> Vec<PathBuf> {
    let mut names = Names {
        directories,
        bases: Vec::new(),
        found: Vec::new(),
    };
    for hook in hooks {
        names.bases = vec![directories.project.to_owned()];
        names.text(&hook.command, 0);
    }
    names.found
}

struct Names<'a> {
    directories: ScriptDirectories<'a>,
    /// Where relative names start: the project, and the targets of `cd`.
    bases: Vec<PathBuf>,
    found: Vec<PathBuf>,
}

impl Names<'_> {
    fn text(&mut self, text: &str, depth: usize) {
        if depth <= DEEPEST {
            self.script(&read(text).script, depth);
        }
    }

    fn script(&mut self, script: &Script, depth: usize) {
        for part in &script.parts {
            if let [command, directory, ..] = &part.words[..]
                && command.text == "cd"
            {
                let mut there = self.places(&directory.text);
                self.bases.append(&mut there);
            }
            for (at, word) in part.words.iter().enumerate() {
                let after_module = at > 0 && part.words[at - 1].text == "-m";
                if after_module {
                    self.module(&word.text);
                }
                self.word(word, depth);
            }
            let values = part.assignments.iter().map(|assignment| &assignment.value);
            let targets = part.redirects.iter().map(|redirect| &redirect.target);
            for word in values.chain(targets) {
                self.word(word, depth);
            }
            for nested in &part.nested {
                self.script(nested, depth);
            }
        }
        for body in &script.heredocs {
            self.text(body, depth + 1);
        }
    }

    fn word(&mut self, word: &Word, depth: usize) {
        let text = word.text.as_str();
        if text.contains(char::is_whitespace) {
            self.text(text, depth + 1);
        }
        let value = text.split_once('=').map(|(_, value)| value);
        let whole = (!text.starts_with('-')).then_some(text);
        for path in whole
            .into_iter()
            .chain(value)
            .filter(|path| !path.is_empty())
        {
            for place in self.places(path) {
                self.add(place, path.contains(['/', '.']));
            }
        }
    }

    /// `python3 -m hooks.guard`.
    fn module(&mut self, name: &str) {
        let path = name.replace('.', "/");
        for place in self.places(&path) {
            self.add(place.with_extension("py"), false);
            self.add(place, false);
        }
    }

    /// The paths that a word may mean.
    fn places(&self, text: &str) -> Vec<PathBuf> {
        let behind = |name: &str| {
            let rest = text.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
        };
        if let Some(rest) = PROJECT.iter().find_map(|name| behind(name)) {
            return vec![self.directories.project.join(rest)];
        }
        if let Some(rest) = HOME.iter().find_map(|name| behind(name)) {
            return vec![self.directories.home.join(rest)];
        }
        // The value of other expansions is unknown; hooks mostly use them for the project directory.
        let expands = text.contains(['$', '`']);
        let path = match text.rfind(['}', ')', '`', '$']).filter(|_| expands) {
            Some(end) => match text[end..].split_once('/') {
                Some((_, path)) => path,
                None => return Vec::new(),
            },
            None => text,
        };
        self.bases.iter().map(|base| base.join(path)).collect()
    }

    /// Adds a file that exists, or that a tool could create if the word looks like a path.
    fn add(&mut self, path: PathBuf, looks_like_path: bool) {
        if self.found.len() >= MOST_FILES {
            return;
        }
        if path.is_dir() {
            for main in MAINS {
                let main = path.join(main);
                if main.is_file() {
                    self.keep(main);
                }
            }
            return;
        }
        let ScriptDirectories {
            project,
            additional,
            ..
        } = self.directories;
        let mut working = std::iter::once(project).chain(additional.iter().map(PathBuf::as_path));
        let may_come = looks_like_path && working.any(|directory| path.starts_with(directory));
        if may_come || path.is_file() {
            self.keep(path);
        }
    }

    fn keep(&mut self, path: PathBuf) {
        if !self.found.contains(&path) {
            self.found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Event;
    use crate::hooks::rig::hook;

    fn named_by(command: &str) -> Vec<String> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (project, home) = (dir.path().join("work"), dir.path().join("home"));
        for file in [
            "work/guard",
            "work/hooks/guard.sh",
            "work/hooks/guard.py",
            "work/checks/index.js",
            "home/bin/check",
        ] {
            let file = dir.path().join(file);
            std::fs::create_dir_all(file.parent().expect("in a folder")).expect("mkdir");
            std::fs::write(file, "").expect("write");
        }
        let directories = ScriptDirectories {
            project: &project,
            home: &home,
            additional: &[],
        };
        let found = named(&[hook(Event::PreToolUse, command)], directories);
        let relative = |path: &PathBuf| {
            let path = path.strip_prefix(dir.path()).unwrap_or(path);
            path.display().to_string()
        };
        found.iter().map(relative).collect()
    }

    #[test]
    fn the_scripts_that_hooks_name_are_found() {
        for (command, file) in [
            ("./hooks/guard.sh", "work/./hooks/guard.sh"),
            ("hooks/guard.sh --strict", "work/hooks/guard.sh"),
            ("bash guard", "work/guard"),
            ("python3 hooks/guard.py", "work/hooks/guard.py"),
            ("python3 -m hooks.guard", "work/hooks/guard.py"),
            ("node checks", "work/checks/index.js"),
            ("bash -c 'hooks/guard.sh && true'", "work/hooks/guard.sh"),
            (
                "\"$CLAUDE_PROJECT_DIR\"/hooks/guard.sh",
                "work/hooks/guard.sh",
            ),
            (
                "${AGENT_TUI_PROJECT_DIR}/hooks/guard.sh",
                "work/hooks/guard.sh",
            ),
            (
                "$(git rev-parse --show-toplevel)/hooks/guard.sh",
                "work/hooks/guard.sh",
            ),
            ("${ROOT:-.}/hooks/guard.sh", "work/hooks/guard.sh"),
            ("cd hooks && ./guard.sh", "work/hooks/./guard.sh"),
            ("X=1 bash < hooks/guard.sh", "work/hooks/guard.sh"),
            ("run --script=hooks/guard.sh", "work/hooks/guard.sh"),
            ("if true; then hooks/guard.sh; fi", "work/hooks/guard.sh"),
            ("~/bin/check", "home/bin/check"),
            // It could be created.
            ("node hooks/new.js", "work/hooks/new.js"),
        ] {
            let found = named_by(command);
            assert!(
                found.iter().any(|found| found == file),
                "{command}: {found:?}"
            );
        }
    }

    #[test]
    fn words_that_are_not_files_and_directories_are_not_protected() {
        assert_eq!(named_by("echo done; eslint hooks --fix"), [] as [&str; 0]);
    }
}
