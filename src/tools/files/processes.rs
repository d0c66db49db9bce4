//! C9: several processes change one file at the same time. What a call reports as done is in the file.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::scratch::Scratch;

const WRITERS: usize = 4;
const EDITS: usize = 250;
const HOME: &str = "AGENT_TUI_TEST_HOME";
const NAME: &str = "AGENT_TUI_TEST_WRITER";
const FILE: &str = "shared.txt";

/// One of the processes: the test binary again, told by its environment what to do.
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

/// Adds a line as the model would: reads, edits, and begins again when told that the file has changed.
async fn write_line(scratch: &Scratch, line: &str) {
    loop {
        // Reading the same again only says so.
        let _ = scratch.read(FILE).await;
        match scratch.edit(FILE, "END", &format!("{line}\nEND")).await {
            Ok(_) => return,
            Err(said) => assert!(said.contains("has changed since it was read"), "{said}"),
        }
    }
}

/// A home in memory, if there is such: a thousand edits wait for the disk more than a thousand times.
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
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && !said.contains("panicked"),
            "{said}"
        );
    }
}

/// The lines of the file, each of which is there once.
fn lines(scratch: &Scratch) -> HashSet<String> {
    let text = String::from_utf8(scratch.bytes(FILE)).expect("text");
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let once: HashSet<String> = lines.iter().cloned().collect();
    assert_eq!(once.len(), lines.len(), "nothing is there twice");
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

/// The editor reads, adds a line, and saves by rename, knowing of no lock. What others wrote between its reading and its
/// saving is the editor's to lose, and what it saw for the moment in which an edit was found to be a conflict is its to keep:
/// a line of the others may be there twice. What it has saved itself is there once, always.
#[test]
fn c9_what_an_editor_saves_while_others_edit_is_never_lost() {
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
    // Where the editor saves twice within one edit, the version in between stays beside the file rather than being lost.
    let beside = |name: &String| name.starts_with(".agent-tui-");
    let (aside, named): (Vec<String>, Vec<String>) = scratch.names().into_iter().partition(beside);
    assert_eq!(named, [FILE], "{aside:?}");
}
