//! Files that are invalid, or that change.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use super::invariants::{assert_invariants, assert_screen_invariants, leave};
use crate::support::program::{files_below, finish};
use crate::support::pty::script;
use crate::support::{Output, Program, Pty};

const FIND: [&str; 4] = ["-p", "find *.rs", "--provider", "builtin"];

/// It ended by itself with success, and everything held.
fn assert_calm(program: &Program, output: &Output) {
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_invariants(program, output);
}

fn pipe(path: &Path) {
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a pipe");
}

/// The session's only log.
fn log(program: &Program) -> PathBuf {
    let logs = files_below(&program.data().join("sessions"));
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs[0].clone()
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn f9_an_ignore_file_that_is_no_file_neither_hangs_nor_fills_memory() {
    for name in [".gitignore", ".ignore", ".git/info/exclude"] {
        for plant in [
            &(|path: &Path| symlink("/dev/zero", path).expect("linked")) as &dyn Fn(&Path),
            &|path| pipe(path),
            &|path| fs::create_dir(path).expect("made"),
            &|path| {
                let file = File::create(path).expect("made");
                file.set_len(5 << 30).expect("grown");
            },
        ] {
            let program = Program::new();
            program.put("src/main.rs", "");
            fs::create_dir_all(program.path(".git/info")).expect("made");
            plant(&program.path(name));
            let output = program.run(&FIND);
            assert_calm(&program, &output);
            assert!(output.stdout.contains("src/main.rs"), "{name}: {output:?}");
        }
    }
}

#[test]
fn f9_typing_an_at_sign_where_the_ignore_file_never_ends_finds_files_and_says_so() {
    let program = Program::new();
    program.put("src/main.rs", "");
    symlink("/dev/zero", program.path(".gitignore")).expect("linked");
    let mut tui = Pty::spawn_in(program, &["--provider", "builtin"], 100, 30);
    tui.wait_for("builtin")
        .send("@main")
        .wait_for("src/main.rs");
    tui.wait_for("an ignore file is not used");
    let end = tui.send("\x03\x03\x03").exit();
    assert_eq!(end.code, 0);
    assert_screen_invariants(&tui, &end);
}

/// A conversation of one exchange, on the screen.
fn talking() -> Pty {
    let program = Program::new();
    let turns =
        ["one", "two", "three"].map(|word| format!("[[turn]]\ntext = \"Answer {word}.\"\n"));
    let provider = script(&program, &turns.concat());
    let mut tui = Pty::spawn_in(program, &["--provider", &provider], 100, 30);
    tui.wait_for("script · asks");
    tui.send("first question\r").wait_for("Answer one.");
    tui
}

#[test]
fn x6_a_session_whose_file_is_lost_while_it_runs_is_saved_again_and_can_be_resumed() {
    let harms: [fn(&Program); 4] = [
        |program| fs::remove_file(log(program)).expect("removed"),
        |program| fs::remove_dir_all(program.data()).expect("removed"),
        |program| fs::rename(log(program), program.path("away")).expect("moved"),
        |program| {
            let file = File::options().write(true).open(log(program));
            file.and_then(|file| file.set_len(0)).expect("cut");
        },
    ];
    for harm in harms {
        let mut tui = talking();
        harm(tui.program());
        tui.send("second question\r").wait_for("Answer two.");
        tui.wait_for("saved again");
        let end = leave(&mut tui);
        assert!(
            end.screen.contents().contains("--resume"),
            "{}",
            end.screen.contents()
        );
        assert_can_be_resumed(
            tui.into_program(),
            &[
                "first question",
                "Answer one.",
                "second question",
                "Answer two.",
            ],
        );
    }
}

#[test]
fn x6_a_session_whose_file_is_removed_before_the_end_is_there_after_it() {
    let mut tui = talking();
    fs::remove_dir_all(tui.program().data()).expect("removed");
    let end = leave(&mut tui);
    assert!(
        end.screen.contents().contains("--resume"),
        "{}",
        end.screen.contents()
    );
    assert_can_be_resumed(tui.into_program(), &["first question", "Answer one."]);
}

/// The session can be continued, and holds each of these once.
fn assert_can_be_resumed(program: Program, printed: &[&str]) {
    let provider = format!(
        "script:{}",
        program.workspace().with_file_name("script.toml").display()
    );
    let output = program.run(&["-p", "and then?", "-c", "--provider", &provider]);
    assert_calm(&program, &output);
    assert!(output.stdout.starts_with("Answer "), "{output:?}");
    let mut tui = Pty::spawn_in(program, &["-c", "--provider", &provider], 100, 40);
    tui.wait_for("and then?");
    let screen = tui.screen();
    for text in printed {
        assert_eq!(count(&screen, text), 1, "{text}: {screen}");
    }
}

#[test]
fn x5_a_session_file_of_garbage_does_not_fill_memory() {
    let program = Program::new();
    program.put("src/main.rs", "");
    assert_calm(&program, &program.run(&FIND));
    let file = File::options()
        .write(true)
        .open(log(&program))
        .expect("there");
    file.set_len(1 << 30).expect("grown");
    let arguments = ["-c", "-p", "find *.rs", "--provider", "builtin"];
    let mut command = program.command(&arguments);
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "ulimit -v 900000; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(program.workspace())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    limited.env_clear();
    for (name, value) in command.env("RUST_BACKTRACE", "0").get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    let output = finish(limited.spawn().expect("it starts"));
    assert_calm(&program, &output);
    assert!(output.stdout.contains("src/main.rs"), "{output:?}");
    assert!(output.stderr.contains("was cut off"), "{output:?}");
}

#[test]
fn f2_missing_parts_of_a_resumed_session_are_reported() {
    type Harm = fn(Vec<u8>) -> Vec<u8>;
    let harms: [(Harm, &str); 5] = [
        (
            |log| [&log[..], b"{\"seq\":99,\"at"].concat(),
            "last line of the session log was cut off",
        ),
        (
            |log| [&log[..], &[0; 64]].concat(),
            "last line of the session log was cut off",
        ),
        (
            |log| [&log[..], &[0; 64], b"\n"].concat(),
            "skipped unreadable lines in the session log: 1",
        ),
        (
            |log| {
                let first = log.iter().position(|byte| *byte == b'\n').unwrap_or(0);
                log[first + 1..].to_vec()
            },
            "the beginning of the session log is missing",
        ),
        (
            |log| {
                let text = String::from_utf8_lossy(&log);
                text.replacen("\"version\":2", "\"version\":7", 1)
                    .into_bytes()
            },
            "written by a newer agent-tui",
        ),
    ];
    for (harm, printed) in harms {
        let program = Program::new();
        program.put("src/main.rs", "");
        assert_calm(&program, &program.run(&FIND));
        let path = log(&program);
        let harmed = harm(fs::read(&path).expect("readable"));
        fs::write(&path, harmed).expect("written");
        let output = program.run(&["-c", "-p", "find *.rs", "--provider", "builtin"]);
        assert_calm(&program, &output);
        assert!(output.stderr.contains(printed), "{printed}: {output:?}");
        assert_eq!(
            count(&program.session_log(), "\"kind\":\"user\""),
            2,
            "{printed}"
        );
    }
    let program = Program::new();
    assert_calm(&program, &program.run(&FIND));
    let path = log(&program);
    let id = path
        .file_stem()
        .expect("an id")
        .to_string_lossy()
        .into_owned();
    fs::write(&path, "").expect("emptied");
    let output = program.run(&["--resume", &id, "-p", "find *.rs", "--provider", "builtin"]);
    assert_calm(&program, &output);
    assert!(
        output.stderr.contains("the session log is unreadable"),
        "{output:?}"
    );
}

/// A limit on the length of files plays a full disk.
#[test]
fn f3_while_the_disk_is_full_the_screen_says_so_and_nothing_is_lost() {
    let program = Program::new();
    let words = "word ".repeat(2_000);
    let toml = format!(
        "[[turn]]\ntext = \"{words} ONE\"\n[[turn]]\ntext = \"{words} TWO\"\n[[turn]]\ntext = \"Answer three.\"\n"
    );
    let provider = script(&program, &toml);
    let binary = env!("CARGO_BIN_EXE_agent-tui");
    let limited = "trap '' XFSZ; ulimit -S -f 16; exec \"$0\" \"$@\"";
    let command = ["sh", "-c", limited, binary, "--provider", &provider];
    let mut tui = Pty::run(program, &command, &[], 100, 20);
    tui.wait_for("script · asks");
    tui.send("first question\r").wait_for("! not saved:");
    // The next one is sent after the turn is over, or the message about it would have scrolled away.
    tui.wait_for("ONE").wait_gone("interrupt");
    tui.send("second question\r").wait_for("TWO");
    tui.wait_gone("interrupt").wait_for("! not saved:");
    let pid = Pid::from_raw(tui.pid().as_raw_nonzero().get());
    let room = Rlimit {
        current: None,
        maximum: None,
    };
    prlimit(pid, Resource::Fsize, room).expect("the limit is lifted");
    tui.send("third question\r").wait_for("Answer three.");
    tui.wait_gone("! not saved:").wait_for("being saved again");
    let end = leave(&mut tui);
    assert!(
        end.screen.contents().contains("--resume"),
        "{}",
        end.screen.contents()
    );
    let log = tui.program().session_log();
    for question in ["first question", "second question", "third question"] {
        let asked = log
            .lines()
            .filter(|line| line.contains("\"kind\":\"user\"") && line.contains(question));
        assert_eq!(asked.count(), 1, "{question}");
    }
}

#[test]
fn c1_a_memory_file_that_is_too_long_is_named() {
    let program = Program::new();
    let file = File::create(program.path("AGENTS.md")).expect("made");
    file.set_len(50_000_000).expect("grown");
    let output = program.run(&FIND);
    assert_calm(&program, &output);
    assert!(
        output
            .stderr
            .contains("AGENTS.md` is not sent to the model: it is longer than"),
        "{output:?}"
    );
    let mut tui = Pty::spawn_in(program, &["--provider", "builtin"], 160, 30);
    tui.wait_for("is not sent to the model");
}

#[test]
fn b13_a_missing_home_is_not_created_and_is_reported() {
    let program = Program::new();
    let home = program.workspace().with_file_name("nobody");
    let mut command = program.command(&FIND);
    command
        .env_remove("AGENT_TUI_CONFIG_DIR")
        .env_remove("AGENT_TUI_DATA_DIR")
        .env("TMPDIR", program.workspace().parent().expect("a home"))
        .env("HOME", &home);
    let output = finish(command.spawn().expect("it starts"));
    assert_calm(&program, &output);
    assert!(!home.exists());
    let text = format!("the home directory `{}` does not exist", home.display());
    assert!(output.stderr.contains(&text), "{output:?}");
}
