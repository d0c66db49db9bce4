//! What a sandboxed command can do, tested with the real kernel. Without a sandbox the tests do nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use super::{Besides, Ground, Hold, Policy, State, Tried, start, state, system, tried};

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

    fn policy(&self, hold: Hold) -> Policy {
        let ground = Ground::new(vec![self.work.clone()], &[], &self.root.join("home"));
        let besides = Besides {
            temporary: Some(&self.own),
            reads: &[],
            processes: false,
        };
        Policy::new(Arc::new(ground), hold, &besides)
    }

    fn run(&self, hold: Hold, script: &str) -> Output {
        let mut command = Command::new("bash");
        command
            .args(["-c", script])
            .current_dir(&self.work)
            .env("TMPDIR", &self.own)
            .env("LC_ALL", "C");
        start(&self.policy(hold), move || command.output()).expect("it starts")
    }

    /// What the sandbox blocked in a script.
    fn held(&self, script: &str) -> Option<Tried> {
        let output = self.run(Hold::Reading, script);
        assert!(!output.status.success(), "{script}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        tried(&said, &self.policy(Hold::Reading), &self.work)
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
        let output = rig.run(Hold::Reading, script);
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
        let wanted = Some(Tried::Write(path.to_owned()));
        assert_eq!(rig.held(script), wanted, "{script}");
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
        let wanted = readable.then(|| Tried::Read(path.to_owned()));
        assert_eq!(rig.held(script), wanted, "{script}");
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
    let wanted = Some(Tried::Run("./program".to_owned()));
    assert_eq!(rig.held("./program"), wanted);
    let output = rig.run(Hold::Reading, "\"$TMPDIR/program\"");
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
    let wanted = Some(Tried::Network);
    assert_eq!(rig.held(&format!(": < /dev/tcp/127.0.0.1/{port}")), wanted);
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("sleep");
    rig.held(&format!("kill -9 {}", sleeper.id()));
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
        Hold::Editing,
        "mkdir -p a && cp -p file a/b && mv a/b a/c && touch d",
    );
    assert!(output.status.success(), "{output:?}");
    assert!(rig.exists("work/a/c") && rig.exists("work/d"));
    let output = rig.run(Hold::Editing, "cp file ../beside");
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
    let policy = rig.policy(Hold::Reading);
    for said in [
        "",
        "cat: nothing: No such file or directory",
        "ls: cannot open directory '/no/such/place': Permission denied",
        "Permission denied",
    ] {
        assert_eq!(tried(said, &policy, &rig.work), None, "{said}");
    }
}
