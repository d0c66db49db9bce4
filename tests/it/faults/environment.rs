//! Faults in the environment of a headless run: its streams, variables and directories.

use std::fs::File;
use std::process::Stdio;

use super::invariants::assert_invariants;
use crate::support::program::finish;
use crate::support::{Output, Program};

const FIND: [&str; 4] = ["-p", "find *.txt", "--provider", "builtin"];

fn assert_fine(program: &Program, output: &Output, about: &str) {
    assert_invariants(program, output);
    assert_eq!(output.code, Some(0), "{about}: {output:?}");
    assert!(output.stdout.contains("a.txt"), "{about}: {output:?}");
}

fn prepared() -> Program {
    let program = Program::new();
    program.put("a.txt", "one\n");
    program
}

/// Variables to set, or to remove.
type Variables<'v> = &'v [(&'v str, Option<&'v str>)];

#[test]
fn b13_whatever_the_environment_says_it_works() {
    let program = prepared();
    let cases: &[(&str, Variables<'_>)] = &[
        ("no HOME", &[("HOME", None)]),
        ("an empty HOME", &[("HOME", Some(""))]),
        ("a relative HOME", &[("HOME", Some("here"))]),
        ("a HOME that is a file", &[("HOME", Some("/dev/null"))]),
        (
            "a HOME that is not there",
            &[("HOME", Some("/nowhere/at/all"))],
        ),
        ("nothing at all", &[("HOME", None), ("PATH", None)]),
        ("no PATH", &[("PATH", None)]),
        ("an empty PATH", &[("PATH", Some(""))]),
        ("a PATH of nonsense", &[("PATH", Some("::/nowhere:\u{7f}"))]),
        (
            "no locale",
            &[("LANG", Some("C")), ("LC_ALL", Some("POSIX"))],
        ),
        (
            "an odd locale",
            &[
                ("LANG", Some("xx_YY.BOGUS")),
                ("LC_ALL", Some("\u{1b}[31m")),
            ],
        ),
        ("no TERM", &[("TERM", None)]),
        ("an odd TERM", &[("TERM", Some("\u{1b}]0;x\u{7}"))]),
        (
            "odd sizes",
            &[
                ("COLUMNS", Some("-1")),
                ("LINES", Some("99999999999999999999")),
            ],
        ),
        ("no TMPDIR", &[("TMPDIR", Some("/nowhere"))]),
        (
            "an odd shell",
            &[
                ("SHELL", Some("/nowhere/sh")),
                ("BASH_ENV", Some("/nowhere")),
            ],
        ),
        ("an odd time zone", &[("TZ", Some("../../etc/passwd"))]),
        (
            "odd colours",
            &[("COLORFGBG", Some(";;;")), ("NO_COLOR", Some("x"))],
        ),
        (
            "a proxy for nothing",
            &[("http_proxy", Some("::::")), ("no_proxy", Some("\u{1}"))],
        ),
    ];
    for (about, variables) in cases {
        let mut command = program.command(&FIND);
        for (name, value) in *variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let output = finish(command.spawn().expect("it starts"));
        assert_fine(&program, &output, about);
    }
}

#[test]
fn b13_unusable_directories_are_reported_and_the_work_is_done() {
    let program = prepared();
    let file = program.put("a-file", "").display().to_string();
    let below = format!("{file}/below");
    for (about, name, value) in [
        (
            "the data directory is a file",
            "AGENT_TUI_DATA_DIR",
            file.as_str(),
        ),
        ("it is below a file", "AGENT_TUI_DATA_DIR", &below),
        ("it is in /proc", "AGENT_TUI_DATA_DIR", "/proc/none"),
        (
            "the configuration directory is a file",
            "AGENT_TUI_CONFIG_DIR",
            &file,
        ),
        ("it is below one", "AGENT_TUI_CONFIG_DIR", &below),
        ("it is a device", "AGENT_TUI_CONFIG_DIR", "/dev/null"),
    ] {
        let mut command = program.command(&FIND);
        command.env(name, value);
        let output = finish(command.spawn().expect("it starts"));
        assert_fine(&program, &output, about);
        if name == "AGENT_TUI_DATA_DIR" {
            let text = output.stderr.contains("the session can't be saved");
            assert!(text, "{about}: {output:?}");
        }
    }
}

#[test]
fn f9_a_missing_working_directory_is_reported() {
    let program = Program::new();
    let gone = program.path("gone");
    std::fs::create_dir(&gone).expect("made");
    let binary = env!("CARGO_BIN_EXE_agent-tui");
    // A shell is in the directory when it is removed.
    let script = format!("cd gone && rmdir ../gone && exec '{binary}' -p x --provider builtin");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &script]).current_dir(program.workspace());
    shell.env("AGENT_TUI_DATA_DIR", program.data());
    shell.env("AGENT_TUI_CONFIG_DIR", program.config());
    shell.stdin(Stdio::null());
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(shell.spawn().expect("it starts"));
    assert_invariants(&program, &output);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(output.stderr.contains("working directory"), "{output:?}");
    assert!(output.stderr.contains("hint: "), "{output:?}");
}

#[test]
fn d5_an_output_that_cannot_be_written_is_an_error() {
    let program = prepared();
    let full = || File::options().write(true).open("/dev/full");
    if full().is_err() {
        return; // Only Linux has it.
    }
    for format in ["text", "json", "stream-json"] {
        let arguments = [&FIND[..], &["--output-format", format]].concat();
        let mut command = program.command(&arguments);
        command.stdout(full().expect("it was there"));
        let output = finish(command.spawn().expect("it starts"));
        assert_invariants(&program, &output);
        assert_eq!(output.code, Some(1), "{format}: {output:?}");
        let words = "error: can't write the output";
        assert!(output.stderr.contains(words), "{format}: {output:?}");
    }
    for subcommand in [
        &["tools"][..],
        &["doctor"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut command = program.command(subcommand);
        command.stdout(full().expect("it was there"));
        let output = finish(command.spawn().expect("it starts"));
        assert!(output.code.is_some(), "{subcommand:?}: {output:?}");
        assert!(!output.stderr.contains("panicked"), "{output:?}");
    }
}

/// Starts it with some of its standard streams closed.
fn with_closed(program: &Program, closed: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_agent-tui");
    let mut shell = std::process::Command::new("sh");
    let script = format!("exec '{binary}' -p 'find *.txt' --provider builtin {closed}");
    shell.args(["-c", &script]).current_dir(program.workspace());
    shell.env_clear();
    shell.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    shell.env("AGENT_TUI_DATA_DIR", program.data());
    shell.env("AGENT_TUI_CONFIG_DIR", program.config());
    shell.stdin(Stdio::null());
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(shell.spawn().expect("it starts"))
}

#[test]
fn d5_streams_that_are_closed_from_the_start_do_no_harm() {
    let program = prepared();
    for closed in ["<&-", "2>&-", "<&- 2>&-"] {
        assert_fine(&program, &with_closed(&program, closed), closed);
    }
    for closed in [">&-", "<&- >&- 2>&-"] {
        let output = with_closed(&program, closed);
        assert!(
            output.code.is_some_and(|code| code <= 1),
            "{closed}: {output:?}"
        );
        assert_eq!(output.stdout, "", "{closed}");
    }
    // Nothing was written into a file that got the number of a closed stream.
    assert_eq!(program.read("a.txt"), "one\n");
    for file in crate::support::program::files_below(&program.data().join("sessions")) {
        let text = std::fs::read_to_string(&file).expect("text");
        for line in text.lines() {
            let record: Result<serde_json::Value, _> = serde_json::from_str(line);
            assert!(record.is_ok(), "{}: {line}", file.display());
        }
    }
}

#[test]
fn d9_input_of_any_bytes_is_a_prompt_or_none() {
    let program = prepared();
    for (input, code) in [
        (&b"find *.txt"[..], 0),
        (b"find *.txt\r\n", 0),
        (b"\xef\xbb\xbffind *.txt", 0),
        (b"\xff\xfe\x00", 0),
        (b"\0\0\0", 0),
        (b"\x1b]0;x\x07", 0),
        (b"", 2),
        (b" \n\t\n", 2),
    ] {
        let output = program.run_with_input(&["-p", "--provider", "builtin"], input);
        assert_invariants(&program, &output);
        assert_eq!(output.code, Some(code), "{input:?}: {output:?}");
    }
}

#[test]
fn d9_an_input_that_is_a_directory_is_reported() {
    let program = prepared();
    let mut command = program.command(&FIND);
    command.stdin(File::open(program.workspace()).expect("a directory"));
    let output = finish(command.spawn().expect("it starts"));
    assert_invariants(&program, &output);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stderr.contains("can't read stdin"), "{output:?}");
}
