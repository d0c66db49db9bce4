//! Attacks, run as if the classifier had called them harmless, so that only the sandbox can stop them.
//!
//! None may change anything, run a program of the workspace, reach the network, or show what is outside.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::json;

use super::Bash;
use crate::permissions::Grant;
use crate::process::sandbox::{State, state};
use crate::tools::files::scratch::Scratch;

/// Part of everything that no command may show.
const SECRET: &str = "s3cr3t-canary";
/// The first thing that every program of the workspace prints. The program's text does not contain it, so showing the
/// file is not mistaken for running it.
const RAN: &str = "program-of-the-workspace-42";

struct Range {
    scratch: Scratch,
    /// Must not be read or written.
    outside: PathBuf,
    listener: TcpListener,
    /// A process with a secret in its environment.
    victim: Child,
}

impl Range {
    fn new() -> Self {
        let scratch = Scratch::new();
        let outside = scratch.root.with_file_name("outside");
        std::fs::create_dir(&outside).expect("mkdir");
        std::fs::write(outside.join("secret"), SECRET).expect("write");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("it can");
        let victim = Command::new("sleep")
            .arg("600")
            .env("VICTIM", SECRET)
            .spawn()
            .expect("sleep");
        let range = Self {
            scratch,
            outside,
            listener,
            victim,
        };
        range.arm();
        range
    }

    /// A hostile repository.
    fn arm(&self) {
        let root = &self.scratch.root;
        for directory in ["sub", "x ", ".venv/bin", ".husky", "docs"] {
            std::fs::create_dir_all(root.join(directory)).expect("mkdir");
        }
        for (name, text) in [
            ("file", "text\n"),
            ("x", "y\n"),
            ("a", "b\n"),
            (".env", "KEY=1\n"),
            (".husky/pre-commit", "exit 0\n"),
            (".gitattributes", "* filter=x diff=x\n"),
        ] {
            self.scratch.put(name, text);
        }
        symlink(&self.outside, root.join("docs/link")).expect("a link");
        let git = |arguments: &[&str]| {
            let status = Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
                .args(["-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"])
                .args(arguments)
                .current_dir(root)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .status();
            assert!(status.expect("git is there").success(), "{arguments:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "file", "x", "a", ".gitattributes"]);
        git(&["commit", "-qm", "one"]);
        let program = format!(
            "#!/bin/sh\necho program-of-the-workspace-$((40 + 2))\ntouch canary '{}'\ncat\n",
            self.outside.join("canary").display()
        );
        for name in ["p", "ls", ".venv/bin/ls", "git"] {
            let path = self.scratch.put(name, &program);
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(path, mode).expect("chmod");
        }
        let program = root.join("p").display().to_string();
        for key in ["filter.x.clean", "diff.x.textconv", "core.fsmonitor"] {
            git(&["config", key, &program]);
        }
        // Changed, so that git runs its filters on it.
        self.scratch.put("file", "other\n");
    }

    /// Every file in and around the workspace, with content, mode and time.
    fn state(&self) -> BTreeMap<PathBuf, (u32, i64, Vec<u8>)> {
        let mut state = BTreeMap::new();
        let around = self.scratch.root.parent().expect("not the root");
        let mut waiting = vec![around.to_owned()];
        while let Some(path) = waiting.pop() {
            let data = path.symlink_metadata().expect("it is there");
            let content = if data.is_file() {
                std::fs::read(&path).expect("readable")
            } else {
                Vec::new()
            };
            if data.is_dir() {
                let entries = std::fs::read_dir(&path).expect("a directory");
                waiting.extend(entries.map(|entry| entry.expect("an entry").path()));
            }
            // The output of commands is stored next to the workspace.
            if !path.ends_with("results") && path != around {
                state.insert(path, (data.mode(), data.mtime_nsec(), content));
            }
        }
        state.retain(|path, _| !path.starts_with(around.join("results")));
        state
    }

    /// Runs an attack and returns everything that it could see or say.
    async fn attack(&self, command: &str) -> String {
        let input = json!({"command": command, "timeout": 20_000});
        let grant = Grant::by_forced_classifier();
        match self.scratch.run_with(&Bash, input, grant).await {
            Ok(output) => format!("{output:?}"),
            Err(error) => error.message,
        }
    }

    async fn assert_withstands(&self, finding: &str, command: &str) {
        let before = self.state();
        let output = self.attack(command).await;
        let shown = format!("{finding}: {command}\n{output}");
        assert!(!output.contains(SECRET), "{shown}");
        assert!(!output.contains(RAN), "{shown}");
        assert_eq!(before, self.state(), "{shown}");
        let reached = self.listener.accept().map_err(|error| error.kind());
        assert_eq!(reached.err(), Some(ErrorKind::WouldBlock), "{shown}");
    }

    fn port(&self) -> u16 {
        self.listener.local_addr().expect("bound").port()
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

fn nothing_holds() -> bool {
    matches!(state(), State::Nothing(_))
}

fn attacks(range: &Range) -> Vec<(&'static str, String)> {
    let outside = range.outside.display();
    let secret = range.outside.join("secret");
    let secret = secret.display();
    let (port, victim) = (range.port(), range.victim.id());
    let fixed = [
        ("a1", r"find . -name {x},-o,-exec,touch,canary,\;}"),
        ("a1", "sort {file},-ocanary}"),
        ("a1", "git log {HEAD},--output=canary}"),
        ("a1", "uniq {a},canary}"),
        ("a1", "rg {x},--pre=./p} ."),
        ("a2", "git status"),
        ("a2", "git diff"),
        ("a2", "git log -p --textconv"),
        ("a2", "git log -p --diff-merges=remerge"),
        ("a3", "PATH=.:$PATH; ls"),
        ("a3", "PATH=:$PATH; git status"),
        ("a4", "find . | xargs cat /proc/1/environ"),
        ("a4", "cat /proc/*/environ | tr '\\0' '\\n'"),
        ("a4", "ls | xargs rm -rf"),
        ("a5", "echo ${HOME:'a[$(touch canary)]'}"),
        ("a5", "echo ${x['a[$(./p)]']}"),
        ("a7", "ps -eT --forest"),
        ("a7", "ps auxe | rev | rev"),
        ("b1", "cp -l .husky/pre-commit canary"),
        (
            "b1",
            "ln .husky/pre-commit canary; echo x > .husky/pre-commit",
        ),
        ("b2", "PATH=$PWD/.venv/bin:$PATH; ls"),
        ("b3", "grep -R canary . docs"),
        ("b3", "grep -r . docs/link/"),
        ("b9", "tar -cf canary file"),
        ("b9", "printf x | split --filter='touch canary' -"),
        (
            "b9",
            "tar -cf - file | tar -xf - --to-command='touch canary'",
        ),
        ("b10", "r{m,} file"),
        ("b10", "rm${IFS}-rf${IFS}file"),
        ("b10", "bash -c -o pipefail 'rm -rf file'"),
        ("c1", "git diff; git describe --dirty --always"),
        ("c5", "seq 200000 | sort -S 1 -T . | tail -1"),
        ("modes", "chmod 777 file; touch -d yesterday file"),
        ("modes", "mkfifo canary; mknod canary c 1 3"),
        ("ways", "cd .. && echo x > canary"),
        ("ways", "mv file other; ln -s / root"),
        ("ways", "unshare -U true && touch canary"),
    ];
    let made = [
        ("a4", format!("find . | xargs cat <<'E'\n{secret}\nE")),
        ("a4", format!("find 'x {secret} y' 2>&1 | xargs cat")),
        ("a4", format!("echo {secret} | xargs cat")),
        (
            "a6",
            "cd sub; cd .. && cat \"$PWD\"/../outside/secret".to_owned(),
        ),
        (
            "b5",
            "timeout 5 cd sub && cat ../../outside/secret".to_owned(),
        ),
        (
            "b7",
            format!("echo ${{CDPATH:={outside}/..}}; cd outside && cat secret"),
        ),
        ("b8", format!("echo x > {outside}/canary")),
        ("reads", format!("cat {secret}")),
        ("reads", format!("ls {outside}")),
        ("reads", format!("cat < {secret}")),
        ("reads", format!("cat /proc/self/root{secret}")),
        ("reads", format!("cat /proc/{victim}/environ")),
        ("reads", "cat docs/link/secret".to_owned()),
        ("net", format!("echo x > /dev/tcp/127.0.0.1/{port}")),
        ("net", format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3")),
        (
            "net",
            format!(
                "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'"
            ),
        ),
        ("signals", format!("kill -9 {victim}")),
        ("runs", "./p".to_owned()),
        ("runs", "exec ./p".to_owned()),
        ("runs", "cp p \"$TMPDIR/q\"; \"$TMPDIR/q\"".to_owned()),
        ("runs", "find . -name p -exec {} \\;".to_owned()),
        (
            "writes",
            "python3 -c 'import os; os.chmod(\"file\", 0); os.utime(\"file\", (0, 0))'".to_owned(),
        ),
    ];
    let fixed = fixed.map(|(finding, command)| (finding, command.to_owned()));
    fixed.into_iter().chain(made).collect()
}

#[tokio::test]
async fn the_sandbox_stops_attacks_that_the_classifier_missed() {
    if nothing_holds() {
        return;
    }
    let mut range = Range::new();
    for (finding, command) in attacks(&range) {
        range.assert_withstands(finding, &command).await;
    }
    assert_eq!(
        range.victim.try_wait().expect("asked"),
        None,
        "it still runs"
    );
}

#[tokio::test]
async fn a_blocked_command_says_what_was_blocked() {
    if nothing_holds() {
        return;
    }
    let range = Range::new();
    for (command, access) in [
        ("touch canary", "blocked: it tried to write `canary`\n"),
        ("./p", "blocked: it tried to run `./p`\n"),
        (
            "cat ../outside/secret",
            "blocked: it tried to read `../outside/secret`\n",
        ),
    ] {
        let output = range.attack(command).await;
        assert!(output.starts_with(access), "{output}");
    }
    let output = range.attack("touch canary; echo went on").await;
    assert!(output.contains("went on"), "{output}");
    assert!(
        output.contains("(blocked: it tried to write `canary`"),
        "{output}"
    );
}

#[tokio::test]
async fn everyday_commands_work_in_the_sandbox() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\ntwo\n");
    std::fs::create_dir(scratch.path("sub")).expect("mkdir");
    for (command, expected) in [
        ("cat a.txt", "one\ntwo"),
        ("ls", "a.txt\nsub"),
        ("cat a.txt | sort -r | head -1", "two"),
        ("find . -name '*.txt' | wc -l", "1"),
        ("grep -c one a.txt", "1"),
        ("diff a.txt a.txt && echo same", "same"),
        ("sed -n 2p a.txt", "two"),
        ("stat -c %s a.txt", "8"),
        ("ps -p 1 -o pid=", "1"),
        ("df . | wc -l", "2"),
        ("ls nothing 2>/dev/null; echo $?", "2"),
        ("date -u +%Y | wc -c", "5"),
        ("id -u | wc -l", "1"),
    ] {
        let input = json!({"command": command});
        let output = scratch.run_with(&Bash, input, Grant::by_forced_classifier());
        let text = crate::tools::files::scratch::text(&output.await.expect(command));
        assert_eq!(text.trim(), expected, "{command}");
    }
    let output = scratch.run_with(
        &Bash,
        json!({"command": "cd sub && pwd"}),
        Grant::by_forced_classifier(),
    );
    let changes = output.await.expect("it runs").changes;
    let there = crate::tools::ContextChange::Cwd(scratch.path("sub"));
    assert_eq!(
        changes,
        [there],
        "a `cd` is reported from inside the sandbox"
    );
}

#[tokio::test]
async fn a_command_leaves_no_directory_behind_and_sees_no_secrets() {
    let scratch = Scratch::new();
    let input = json!({"command": "echo \"$TMPDIR\"; env | cut -d= -f1 | sort"});
    let output = scratch.run_with(&Bash, input, Grant::by_forced_classifier());
    let text = crate::tools::files::scratch::text(&output.await.expect("it runs"));
    let mut lines = text.lines();
    let own = Path::new(lines.next().expect("a path"));
    assert!(own.is_absolute() && !own.exists(), "{text}");
    assert!(!lines.clone().any(|name| name.contains("CARGO")), "{text}");
    assert!(lines.any(|name| name == "PATH"), "{text}");
}

#[tokio::test]
async fn git_reads_no_unknown_files_above_the_workspace() {
    if nothing_holds() {
        return;
    }
    let mut scratch = Scratch::new();
    let above = scratch.root.parent().expect("not the root").to_owned();
    std::fs::write(above.join("secret"), SECRET).expect("write");
    std::fs::write(above.join(".gitignore"), "ignored\n").expect("write");
    scratch.put("mine", "canary of mine\n");
    let made = Command::new("git")
        .args(["init", "-q"])
        .arg(&above)
        .status();
    assert!(made.expect("git is there").success());
    let cwd = scratch.root.canonicalize().expect("it exists");
    scratch.environment().git.inspect(&cwd).await;
    let run = async |command: &str| {
        let input = json!({"command": command, "timeout": 20_000});
        let printed = scratch.run_with(&Bash, input, Grant::by_forced_classifier());
        printed
            .await
            .map_or_else(|error| error.message, |output| format!("{output:?}"))
    };
    let everywhere = run("git grep --untracked --no-exclude-standard canary :/").await;
    assert!(!everywhere.contains(SECRET), "{everywhere}");
    let here = run("git grep --untracked canary").await;
    assert!(here.contains("canary of mine"), "{here}");
    assert!(!here.contains("denied"), "{here}");
    let status = run("git status --short").await;
    assert!(status.contains("secret"), "{status}");
}
