//! Repositories that mean harm, built for real and asked about with the real git.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::config::{Danger, dangers};
use super::starts;

/// A repository in a directory of its own, with one commit and one changed file.
struct Repository {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Repository {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists").join("work");
        std::fs::create_dir(&root).expect("mkdir");
        let repository = Self { _dir: dir, root };
        repository.git(&["init", "-q", "-b", "main"]);
        repository.put("a.txt", "old\n");
        repository.put(".gitattributes", "*.txt diff=evil filter=evil\n");
        repository.git(&["add", "."]);
        repository.commit();
        repository.put("a.txt", "changed\n");
        repository
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.root.join(name), text).expect("write");
    }

    fn commit(&self) {
        self.git(&[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "-c",
            "commit.gpgsign=false",
            "commit",
            "-qm",
            "one",
        ]);
    }

    fn git(&self, arguments: &[&str]) {
        let status = Command::new("git")
            .args(arguments)
            .current_dir(&self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .status()
            .expect("git is there");
        assert!(status.success(), "{arguments:?}");
    }

    /// Appends to the repository's own configuration.
    fn configure(&self, text: &str) {
        let file = self.root.join(".git/config");
        let old = std::fs::read_to_string(&file).expect("readable");
        std::fs::write(file, format!("{old}{text}\n")).expect("write");
    }

    fn marker(&self) -> PathBuf {
        self.root.parent().expect("a parent").join("started")
    }

    /// A program that leaves a mark when it is started.
    fn program(&self) -> String {
        let program = self.root.parent().expect("a parent").join("evil.sh");
        let text = format!("#!/bin/sh\ntouch '{}'\ncat\n", self.marker().display());
        std::fs::write(&program, text).expect("write");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("chmod");
        program.display().to_string()
    }
}

/// Every way that was found to make a git command that only looks start a program.
fn hostile(program: &str) -> Vec<(String, &'static str)> {
    vec![
        (format!("[core]\n\tfsmonitor = {program}"), "core.fsmonitor"),
        (format!("[core] fsmonitor = {program}"), "core.fsmonitor"),
        (format!("[diff]\n\texternal = {program}"), "diff.external"),
        (
            format!("[diff \"evil\"]\n\ttextconv = {program}"),
            "diff.textconv",
        ),
        (
            format!("[diff.evil]\n\ttextconv = {program}"),
            "diff.textconv",
        ),
        (
            format!("[DIFF \"evil\"]\n\tTextConv = {program}"),
            "diff.textconv",
        ),
        (
            format!("[diff \"evil\"]\n\tcommand = {program}"),
            "diff.command",
        ),
        (
            format!("[filter \"evil\"]\n\tclean = {program}"),
            "filter.clean",
        ),
        (
            format!("[filter \"evil\"]\n\tprocess = {program}"),
            "filter.process",
        ),
        (format!("[gpg]\n\tprogram = {program}"), "gpg.program"),
        ("[log]\n\tshowSignature".to_owned(), "log.showsignature"),
        ("[format]\n\tpretty = %G?".to_owned(), "format.pretty"),
        ("[include]\n\tpath = ../other".to_owned(), "include.path"),
        (
            "[includeIf \"gitdir:/\"]\n\tpath = ../other".to_owned(),
            "includeif.path",
        ),
        ("[core]\n\tworktree = /".to_owned(), "core.worktree"),
        (
            "[remote \"o\"]\n\tpromisor = true".to_owned(),
            "remote.promisor",
        ),
        (
            "[extensions]\n\tpartialClone = o".to_owned(),
            "extensions.partialclone",
        ),
    ]
}

#[test]
fn cve_2026_19593_every_key_that_starts_a_program_is_found() {
    let repository = Repository::new();
    assert_eq!(starts(&repository.root), None);
    let config = std::fs::read_to_string(repository.root.join(".git/config")).expect("readable");
    for (text, key) in hostile("/x") {
        std::fs::write(repository.root.join(".git/config"), &config).expect("write");
        repository.configure(&text);
        let why = starts(&repository.root).unwrap_or_default();
        assert!(why.contains(key), "{text}: {why}");
    }
}

#[test]
fn what_is_in_an_ordinary_configuration_is_no_danger() {
    let text = "# a comment\n[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                \tfsmonitor = false\n\tsshCommand = ssh -i key\n[remote \"origin\"]\n\
                \turl = https://example.org/filter/include.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                [branch \"main\"]\n\tremote = origin ; a comment\n[user]\n\tname = A \\\n B\n[alias]\n\tx = !touch y\n";
    assert_eq!(dangers(text), []);
    assert_eq!(
        dangers("[core]\n\thooksPath = .husky/_\n"),
        [Danger::Hooks(".husky/_".to_owned())]
    );
    for hidden in [
        "[user]\n\tname = a\\\\\n[diff]\n\texternal = x",
        "[user]\n\tname = a # b \\\n[diff] external = x",
        "[user]\n\tname = a \\\n[diff] external = x",
    ] {
        assert_eq!(
            dangers(hidden),
            [Danger::Key("diff.external".to_owned())],
            "{hidden}"
        );
    }
    for odd in ["[core", "[diff \"a]\n", "[a]\n\tb c = d", "[a]\n\u{1}x = y"] {
        assert!(!dangers(odd).is_empty(), "{odd}");
    }
}

#[test]
fn hooks_submodules_and_repositories_in_disguise_are_found() {
    let repository = Repository::new();
    let hook = repository.root.join(".git/hooks/post-index-change");
    std::fs::create_dir_all(hook.parent().expect("a parent")).expect("mkdir");
    std::fs::write(&hook, "").expect("write");
    assert!(starts(&repository.root).is_some_and(|why| why.contains("hook")));
    std::fs::remove_file(&hook).expect("remove");
    assert_eq!(starts(&repository.root), None);

    // A repository in the repository, and the index knows of it.
    let sub = repository.root.join("sub");
    std::fs::create_dir(&sub).expect("mkdir");
    let inner = Repository {
        root: sub.clone(),
        _dir: tempfile::tempdir().expect("one more"),
    };
    inner.git(&["init", "-q", "-b", "main"]);
    inner.put("x", "x");
    inner.git(&["add", "."]);
    inner.commit();
    repository.git(&["-c", "advice.addEmbeddedRepo=false", "add", "sub"]);
    assert!(starts(&repository.root).is_some_and(|why| why.contains("submodule `sub`")));
    repository.git(&["update-index", "--index-version", "4"]);
    assert!(starts(&repository.root).is_some_and(|why| why.contains("submodule `sub`")));
    std::fs::remove_dir_all(sub.join(".git")).expect("remove");
    assert_eq!(starts(&repository.root), None);

    let bare = repository.root.join("bare");
    std::fs::create_dir_all(bare.join("objects")).expect("mkdir");
    std::fs::create_dir_all(bare.join("refs")).expect("mkdir");
    std::fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").expect("write");
    assert!(starts(&bare).is_some());
    assert_eq!(starts(Path::new("/")), None);
}

#[test]
fn cve_2026_40068_a_linked_work_tree_is_judged_by_the_configuration_that_git_reads() {
    let repository = Repository::new();
    repository.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    let linked = repository.root.parent().expect("a parent").join("linked");
    assert_eq!(starts(&linked), None);
    repository.configure("[diff]\n\texternal = /x");
    assert!(starts(&linked).is_some_and(|why| why.contains("diff.external")));

    // A forged pointer leads to a configuration that is read, or to none: then nothing is certain.
    std::fs::write(linked.join(".git"), "gitdir: /nowhere\n").expect("write");
    assert_eq!(starts(&linked), None);
    std::fs::write(linked.join(".git"), "nonsense\n").expect("write");
    assert!(starts(&linked).is_some());
}

/// The proof that the keys matter, and that the program starts nothing: what is auto-allowed runs, the rest is not run.
#[test]
fn a_hostile_repository_starts_nothing_through_a_git_command_that_is_auto_allowed() {
    use crate::permissions::{Asked, Decision, RealLinks, Rules, World, decide};
    use crate::protocol::{Level, Mode};

    let commands = [
        "git status",
        "git diff",
        "git log -p -1",
        "git show",
        "git blame a.txt",
        "git grep x",
    ];
    let mut armed = 0;
    for (text, key) in hostile(&Repository::new().program()) {
        let repository = Repository::new();
        let program = repository.program();
        let own = match text.rsplit_once("= /") {
            Some((before, _)) => format!("{before}= {program}"),
            None => text,
        };
        repository.configure(&own);
        for command in commands {
            let world = World {
                cwd: repository.root.clone(),
                home: PathBuf::from("/nowhere"),
                shell_dir: None,
                additional_directories: Vec::new(),
                config_dir: None,
                data_dir: None,
                protected_files: Vec::new(),
                links: &RealLinks,
            };
            let input = serde_json::json!({ "command": command });
            let asked = Asked {
                tool: "Bash",
                input: &input,
                level: Level::Dangerous,
                read_only: true,
            };
            for mode in [Mode::Default, Mode::Plan, Mode::AcceptEdits] {
                let verdict = decide(&asked, &Rules::default(), mode, &world);
                assert_eq!(verdict.decision, Decision::Ask, "{key}: {command}");
            }
        }
        // Without the question, git would have started it.
        let _ = Command::new("git")
            .args(["diff"])
            .current_dir(&repository.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output();
        armed += usize::from(repository.marker().exists());
    }
    assert!(armed >= 5, "only {armed} of the repositories are hostile");
}
