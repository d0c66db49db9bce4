//! Hostile repositories, built for real and inspected with the real git.

mod hostile;
mod ordinary;
mod places;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use super::environment::{controls_git, harmless};
use super::status::{GitStatus, ask_for};
use super::{Git, Inspection};
use crate::permissions::{CallDetails, Decision, Remembered, Rules, World, decide};
use crate::process::Programs;
use crate::protocol::{Level, Mode, Touches};

/// Read-only commands, which run without asking in an ordinary repository.
const LOOKING: [&str; 8] = [
    "git status",
    "git diff",
    "git diff HEAD",
    "git log -p",
    "git log -m -p",
    "git show",
    "git blame a.txt",
    "git grep x",
];

/// A repository in its own directory, with one commit and one changed file.
struct Scene {
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let scene = Self::empty();
        scene.git(&["init", "-q", "-b", "main"]);
        scene.put("a.txt", "old\n");
        scene.put(".gitattributes", "*.txt diff=evil filter=evil merge=evil\n");
        scene.commit("one");
        // The same length as before, so that git has to read it to notice the change.
        scene.put("a.txt", "new\n");
        scene
    }

    fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists").join("work");
        std::fs::create_dir(&root).expect("mkdir");
        Self { dir, root }
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("mkdir");
        std::fs::write(path, text).expect("write");
    }

    /// Appends to the repository's own configuration.
    fn configure(&self, text: &str) {
        let old = std::fs::read_to_string(self.root.join(".git/config")).expect("readable");
        self.put(".git/config", &format!("{old}{text}\n"));
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "."]);
        self.git(&["commit", "-qm", message]);
    }

    fn git(&self, arguments: &[&str]) {
        self.git_in(&self.root, arguments);
    }

    fn git_in(&self, directory: &Path, arguments: &[&str]) {
        let output = self.plain(directory, "git").args(arguments).output();
        let output = output.expect("git is there");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// A program with its own home directory, and nothing that makes git harmless.
    fn plain(&self, directory: &Path, program: &str) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| controls_git(name)) {
            command.env_remove(name);
        }
        command
            .current_dir(directory)
            .env("HOME", self.dir.path())
            .env("XDG_CONFIG_HOME", self.dir.path())
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.org")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.org");
        command
    }

    fn canary(&self) -> PathBuf {
        self.dir.path().join("canary")
    }

    /// A program that creates a file when it is started.
    fn program(&self) -> String {
        let program = self.dir.path().join("evil.sh");
        let text = format!("#!/bin/sh\ntouch '{}'\ncat\n", self.canary().display());
        std::fs::write(&program, text).expect("write");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("chmod");
        program.display().to_string()
    }

    fn programs(&self) -> Arc<Programs> {
        Arc::new(Programs::find([self.root.as_path()]))
    }

    async fn inspect(&self) -> Inspection {
        self.inspect_in("").await
    }

    async fn inspect_in(&self, below: &str) -> Inspection {
        Git::new(self.programs())
            .inspect(&self.root.join(below))
            .await
    }

    async fn objection(&self) -> String {
        self.inspect().await.objection.unwrap_or_default()
    }

    async fn decision(&self, directory: &Path, command: &str, mode: Mode) -> Decision {
        let links = Remembered::default();
        let input = serde_json::json!({ "command": command });
        let call = CallDetails {
            tool: "Bash",
            input: &input,
            touches: Touches::command(&input, "command"),
            level: Level::Dangerous,
            read_only: true,
        };
        let world = || World {
            cwd: directory.to_owned(),
            home: PathBuf::from("/nowhere"),
            shell_dir: None,
            additional_directories: Vec::new(),
            config_dir: None,
            data_dir: None,
            protected_files: Vec::new(),
            links: &links,
        };
        let git = Git::new(self.programs());
        let deciding = git.deciding(&links, || decide(&call, &Rules::default(), mode, &world()));
        deciding.await.decision()
    }

    async fn status(&self, directory: &Path) -> GitStatus {
        // Longer than the program waits: a late answer must be harmless too.
        let call = ask_for(&self.programs(), directory, Duration::from_secs(20));
        call.finish().await
    }

    /// Opens the directory as the program does at its start, and runs the commands that it would run without asking.
    /// Returns the commands that did not run.
    async fn open(&self, below: &str, commands: &[&str]) -> Vec<String> {
        let directory = self.root.join(below);
        let output = self.status(&directory).await;
        assert!(!self.canary().exists(), "at the start: {output:?}");
        let mut call = Vec::new();
        for command in commands {
            for mode in [Mode::Default, Mode::Plan, Mode::AcceptEdits] {
                let decision = self.decision(&directory, command, mode).await;
                assert!(!self.canary().exists(), "by deciding about {command}");
                if decision == Decision::Allow {
                    self.run_harmless(&directory, command);
                    assert!(!self.canary().exists(), "{command}");
                } else if mode == Mode::Default {
                    call.push((*command).to_owned());
                }
            }
        }
        call
    }

    fn run_harmless(&self, directory: &Path, command: &str) {
        let mut bash = self.plain(directory, "bash");
        let _ = bash.args(["-c", command]).envs(harmless()).output();
    }

    /// Checks that the repository is really hostile: without an inspection, a plain git starts its program.
    fn assert_armed(&self, below: &str, command: &str) {
        let mut bash = self.plain(&self.root.join(below), "bash");
        let output = bash.args(["-c", command]).output();
        assert!(
            self.canary().exists(),
            "{command} starts nothing: {output:?}"
        );
    }
}
