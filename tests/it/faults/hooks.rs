//! Faults of hooks, as a whole run meets them: what a guard cannot say is never taken for a yes, and nothing stays behind.

use serde_json::json;

use crate::support::wire::{bash, text};
use crate::support::{Output, Program, Server, Wire};

/// A run whose model wants to touch a file, with one hook of the person's own.
fn run(event: &str, command: &str, timeout: f64) -> (Program, Server, Output) {
    let program = Program::new();
    let hook = json!({"type": "command", "command": command, "timeout": timeout});
    let settings = json!({"hooks": {event: [{"matcher": "*", "hooks": [hook]}]}});
    std::fs::create_dir_all(program.config()).expect("made");
    std::fs::write(program.config().join("settings.json"), settings.to_string()).expect("written");
    let wire = Wire::Anthropic;
    let mut replies = vec![wire.reply(&[bash("c1", "touch made")])];
    replies.extend(vec![wire.reply(&[text("done")]); 20]);
    let server = Server::start(replies);
    let arguments = ["-p", "go", "--permission-mode", "bypassPermissions"];
    let output = program.ask(&server, wire, &arguments);
    (program, server, output)
}

/// Whether a process with these words on its command line is left.
fn is_left(words: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .any(|line| {
            String::from_utf8_lossy(&line)
                .replace('\0', " ")
                .contains(words)
        })
}

#[test]
fn a_guard_blocks_with_2_and_what_it_says_otherwise_is_told() {
    for (command, ran) in [
        ("exit 0", true),
        ("exit 1", true),
        ("exit 2", false),
        ("echo no >&2; exit 2", false),
        ("exit 77", true),
        ("echo 'no json {'", true),
        // An answer that was meant to decide, and cannot be read.
        ("echo '{\"hookSpecificOutput\": 7}'", false),
        ("echo '[]'", true),
        ("printf '\\377\\376\\000'", true),
        ("printf '\\033]0;x\\007'; exit 1", true),
        ("exec <&-; exit 0", true),
        ("exec >&- 2>&-; exit 2", false),
    ] {
        let (program, server, output) = run("PreToolUse", command, 20.0);
        assert_eq!(program.path("made").exists(), ran, "{command}: {output:?}");
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(0), "done\n"),
            "{command}"
        );
        assert_eq!(
            Wire::Anthropic.results(&server.bodies()[1]).len(),
            1,
            "{command}"
        );
        assert!(!output.stderr.contains('\u{1b}'), "{command}: {output:?}");
        assert!(!output.stderr.contains("panicked"), "{command}: {output:?}");
    }
}

#[test]
fn a_guard_that_does_not_answer_in_time_is_no_yes() {
    for command in [
        "sleep 98761",
        "trap '' TERM; sleep 98761 & wait; sleep 98761",
        "cat /dev/zero",
        "while :; do echo flood; done",
    ] {
        let (program, _, output) = run("PreToolUse", command, 0.5);
        assert!(!program.path("made").exists(), "{command}: {output:?}");
        assert!(
            output.code.is_some_and(|code| code <= 1),
            "{command}: {output:?}"
        );
        assert!(!is_left("sleep 98761"), "{command}");
    }
}

#[test]
fn a_hook_of_any_event_that_misbehaves_lets_the_run_end() {
    for event in [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SessionEnd",
    ] {
        for command in [
            "kill -9 $$",
            "exit 2",
            "exit 255",
            "/nowhere/at/all",
            "echo '{\"continue\": \"maybe\"}'",
            "head -c 300000 /dev/zero | tr '\\0' x",
            "sleep 98762 & exit 0",
        ] {
            let (_, server, output) = run(event, command, 20.0);
            let about = format!("{event}: {command}");
            assert!(
                output.code.is_some_and(|code| code <= 1),
                "{about}: {output:?}"
            );
            assert!(!output.stderr.contains("panicked"), "{about}: {output:?}");
            assert!(
                output.stderr.len() < 40_000,
                "{about}: {}",
                output.stderr.len()
            );
            assert!(server.bodies().len() < 15, "{about}");
            assert!(!is_left("sleep 98762"), "{about}");
        }
    }
}
