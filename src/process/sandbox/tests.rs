//! What a sandboxed command can do, tested with the real kernel. Without a sandbox the tests do nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use super::{
    BaseAccess, BlockedAccess, ExtraAccess, Policy, SandboxMode, State, blocked_access, start,
    state, system,
};

/// A workspace with files next to it, and a temporary directory for the command.
struct Rig {
    _dir: tempfile::TempDir,
    root: PathBuf,
    work: PathBuf,
    own: PathBuf,
}

impl Rig {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists");
        let (work, own) = (root.join("work"), root.join("own"));
        for directory in [&work, &own] {
            std::fs::create_dir(directory).expect("mkdir");
        }
        std::fs::write(root.join("secret"), "hidden\n").expect("write");
        std::fs::write(work.join("file"), "text\n").expect("write");
        Self {
            _dir: dir,
            root,
            work,
            own,
        }
    }

    fn policy(&self, mode: SandboxMode) -> Policy {
        let base = BaseAccess::new(vec![self.work.clone()], &[], &self.root.join("home"));
        let extra = ExtraAccess {
            temporary: Some(&self.own),
            reads: &[],
            processes: false,
        };
        Policy::new(Arc::new(base), mode, &extra)
    }

    fn run(&self, mode: SandboxMode, script: &str) -> Output {
        let mut command = Command::new("bash");
        command
            .args(["-c", script])
            .current_dir(&self.work)
            .env("TMPDIR", &self.own)
            .env("LC_ALL", "C");
        start(&self.policy(mode), move || command.output()).expect("it starts")
    }

    /// What the sandbox blocked in a script.
    fn blocked_in(&self, script: &str) -> Option<BlockedAccess> {
        let output = self.run(SandboxMode::Reading, script);
        assert!(!output.status.success(), "{script}: {output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        blocked_access(&stderr, &self.policy(SandboxMode::Reading), &self.work)
    }

    fn exists(&self, name: &str) -> bool {
        self.root.join(name).exists()
    }
}

/// Reports that the rest cannot be tested.
fn nothing_holds() -> bool {
    match state() {
        State::Nothing(why) => {
            assert!(!why.is_empty());
            true
        }
        State::Landlock(_) | State::Seatbelt => false,
    }
}

#[test]
fn reading_the_workspace_works() {
    if nothing_holds() {
        return;
    }
    let rig = Rig::new();
    for (script, expected) in [
        ("cat file", "text\n"),
        ("ls", "file\n"),
        ("cat file | sort | uniq -c | wc -l", "1\n"),
        ("find . -type f", "./file\n"),
        ("echo x >/dev/null 2>&1; echo done", "done\n"),
        ("echo own > \"$TMPDIR/a\"; cat \"$TMPDIR/a\"", "own\n"),
        ("timeout 0.1 sleep 5; echo $?", "124\n"),
        ("id -u >/dev/null && ls -l file | wc -l", "1\n"),
    ] {
        let output = rig.run(SandboxMode::Reading, script);
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            expected,
            "{script}: {output:?}"
        );
    }
}

#[test]
fn nothing_is_written() {
    if nothing_holds() {
        return;
    }
    let rig = Rig::new();
    for (script, path) in [
        ("touch new", "new"),
        ("echo x > new", "new"),
        ("echo x >> file", "file"),
        ("mkdir new", "new"),
        ("rm -f file", "file"),
        ("mv file new", "file"),
        ("ln file new", "new"),
        ("ln -s file new", "new"),
        ("chmod 777 file", "file"),
        ("touch -d yesterday file", "file"),
        ("truncate -s 0 file", "file"),
        ("mkfifo new", "new"),
        ("echo x > ../beside", "../beside"),
        ("sh -c 'echo x > ../beside'", "../beside"),
    ] {
        let wanted = Some(BlockedAccess::Write(path.to_owned()));
        assert_eq!(rig.blocked_in(script), wanted, "{script}");
    }
    assert_eq!(
        std::fs::read_to_string(rig.work.join("file")).expect("it is there"),
        "text\n"
    );
    assert!(!rig.exists("work/new") && !rig.exists("beside"));
}

#[test]
fn nothing_outside_is_read() {
    if nothing_holds() {
        return;
    }
    let rig = Rig::new();
    std::os::unix::fs::symlink("../secret", rig.work.join("link")).expect("a link");
    for (script, path) in [
        ("cat ../secret", "../secret"),
        ("cat link", "link"),
        ("ls ..", ".."),
        ("cat /etc/shadow", "/etc/shadow"),
        ("cat < ../secret", "../secret"),
    ] {
        // If it is not readable anyway, the sandbox did not block it.
        let readable = std::fs::read(rig.work.join(path)).is_ok() || path == "..";
        let wanted = readable.then(|| BlockedAccess::Read(path.to_owned()));
        assert_eq!(rig.blocked_in(script), wanted, "{script}");
    }
}

#[test]
fn nothing_of_the_workspace_runs() {
    if nothing_holds() {
        return;
    }
    let rig = Rig::new();
    std::fs::copy("/bin/true", rig.work.join("program")).expect("a copy");
    std::fs::copy("/bin/true", rig.own.join("program")).expect("a copy");
    let wanted = Some(BlockedAccess::Run("./program".to_owned()));
    assert_eq!(rig.blocked_in("./program"), wanted);
    let output = rig.run(SandboxMode::Reading, "\"$TMPDIR/program\"");
    assert_eq!(output.status.code(), Some(126), "{output:?}");
}

#[test]
fn there_is_no_network_and_no_other_process_to_signal() {
    if nothing_holds() {
        return;
    }
    let rig = Rig::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let wanted = Some(BlockedAccess::Network);
    assert_eq!(
        rig.blocked_in(&format!(": < /dev/tcp/127.0.0.1/{port}")),
        wanted
    );
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("sleep");
    rig.blocked_in(&format!("kill -9 {}", sleeper.id()));
    assert_eq!(sleeper.try_wait().expect("asked"), None);
    sleeper.kill().expect("it still runs");
    sleeper.wait().expect("it ends");
}

#[test]
fn a_command_that_edits_stays_in_the_workspace() {
    if nothing_holds() {
        return;
    }
    let rig = Rig::new();
    let output = rig.run(
        SandboxMode::Editing,
        "mkdir -p a && cp -p file a/b && mv a/b a/c && touch d",
    );
    assert!(output.status.success(), "{output:?}");
    assert!(rig.exists("work/a/c") && rig.exists("work/d"));
    let output = rig.run(SandboxMode::Editing, "cp file ../beside");
    assert!(!output.status.success(), "{output:?}");
    assert!(!rig.exists("beside"));
}

#[test]
fn programs_run_only_from_outside_the_working_directories() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path().canonicalize().expect("it exists");
    let (tools, work) = (root.join("tools"), root.join("tools/work"));
    let bin = root.join("tools/bin");
    for directory in [&work, &bin, &work.join("bin")] {
        std::fs::create_dir_all(directory).expect("mkdir");
    }
    let found = system::programs(
        &[tools.clone(), work.join("bin")],
        std::slice::from_ref(&work),
    );
    assert!(found.contains(&bin), "{found:?}");
    assert!(
        !found
            .iter()
            .any(|place| place == &tools || place.starts_with(&work))
    );
    // A workspace around the whole system does not block its programs.
    let whole = system::programs(&[], &[PathBuf::from("/")]);
    assert!(
        whole.iter().any(|place| place == Path::new("/usr")),
        "{whole:?}"
    );
}

#[test]
fn a_refusal_that_does_not_come_from_the_sandbox_is_not_explained() {
    let rig = Rig::new();
    let policy = rig.policy(SandboxMode::Reading);
    for stderr in [
        "",
        "cat: nothing: No such file or directory",
        "ls: cannot open directory '/no/such/place': Permission denied",
        "Permission denied",
    ] {
        assert_eq!(blocked_access(stderr, &policy, &rig.work), None, "{stderr}");
    }
}
