//! Several processes change one file at the same time. Every change that a call reports as done must be in the file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::scratch::Scratch;

const WRITERS: usize = 4;
const EDITS: usize = 250;
const HOME: &str = "AGENT_TUI_TEST_HOME";
const NAME: &str = "AGENT_TUI_TEST_WRITER";
const FILE: &str = "shared.txt";

/// One of the processes: the test binary again, which gets its job through environment variables.
#[test]
fn a_writer() {
    let (Some(home), Ok(name)) = (std::env::var_os(HOME), std::env::var(NAME)) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let scratch = Scratch::at(&PathBuf::from(home));
    runtime.expect("a runtime").block_on(async {
        for number in 0..EDITS {
            write_line(&scratch, &format!("{name}-{number}")).await;
        }
    });
}

/// Adds a line as the model would: reads, edits, and starts over if the file has changed.
async fn write_line(scratch: &Scratch, line: &str) {
    loop {
        // A second read of the same content only says that it is unchanged.
        let _ = scratch.read(FILE).await;
        match scratch.edit(FILE, "END", &format!("{line}\nEND")).await {
            Ok(_) => return,
            Err(output) => assert!(output.contains("has changed since it was read"), "{output}"),
        }
    }
}

/// A home directory in memory if possible, because a thousand edits sync to the disk more than a thousand times.
fn home() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let home = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
    let home = home.expect("a temporary directory");
    std::fs::create_dir(home.path().join("work")).expect("mkdir");
    home
}

fn start(home: &Path, name: usize) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "tools::files::processes::a_writer"])
        .env(HOME, home)
        .env(NAME, format!("w{name}"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

fn finish(writers: Vec<Child>) {
    for writer in writers {
        let output = writer.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !text.contains("panicked"),
            "{text}"
        );
    }
}

/// The lines of the file, none of which may be there twice.
fn lines(scratch: &Scratch) -> HashSet<String> {
    let text = String::from_utf8(scratch.bytes(FILE)).expect("text");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let once: HashSet<String> = lines.iter().cloned().collect();
    assert_eq!(once.len(), lines.len(), "no line is there twice");
    once
}

#[test]
fn c9_of_a_thousand_edits_by_four_processes_none_is_lost() {
    let home = home();
    let scratch = Scratch::at(home.path());
    scratch.put(FILE, "END\n");
    finish((0..WRITERS).map(|name| start(home.path(), name)).collect());
    let lines = lines(&scratch);
    for name in 0..WRITERS {
        for number in 0..EDITS {
            assert!(
                lines.contains(&format!("w{name}-{number}")),
                "w{name}-{number} is lost"
            );
        }
    }
    assert_eq!(lines.len(), WRITERS * EDITS + 1);
    assert_eq!(scratch.names(), [FILE]);
}

/// The editor reads, adds a line, and saves by rename, without any lock. It may overwrite lines that others wrote
/// between its reading and its saving. It may also see, and save again, a line of an edit that was then undone
/// because of a conflict: so a line of the others may be there twice. Every line that the editor saved itself is
/// there exactly once.
#[test]
fn a_save_by_an_editor_during_edits_is_never_lost() {
    const SAVES: usize = 200;
    let home = home();
    let scratch = Scratch::at(home.path());
    let file = scratch.put(FILE, "END\n");
    let writers: Vec<Child> = (0..2).map(|name| start(home.path(), name)).collect();
    let draft = home.path().join("draft");
    for number in 0..SAVES {
        let text = std::fs::read_to_string(&file).expect("always there");
        std::fs::write(&draft, format!("editor-{number}\n{text}")).expect("written");
        std::fs::rename(&draft, &file).expect("saved");
        std::thread::yield_now();
    }
    finish(writers);
    let text = String::from_utf8(scratch.bytes(FILE)).expect("text");
    for number in 0..SAVES {
        let saved = format!("editor-{number}");
        let times = text.lines().filter(|line| *line == saved).count();
        assert_eq!(times, 1, "{saved}");
    }
    // If the editor saves twice within one edit, the version in between is kept next to the file, so that it is not
    // lost.
    let beside = |name: &String| name.starts_with(".agent-tui-");
    let (aside, named): (Vec<String>, Vec<String>) = scratch.names().into_iter().partition(beside);
    assert_eq!(named, [FILE], "{aside:?}");
}
