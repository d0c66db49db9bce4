//! Settings files, valid and broken; the doctor; and a run without a home.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::screen::armed;
use crate::support::program::{files_below, finish};
use crate::support::pty::{Pty, script};
use crate::support::wire::{bash, text};
use crate::support::{Output, Program, Reply, Server, Wire};

fn own_settings(program: &Program, text: &str) {
    std::fs::create_dir_all(program.config()).expect("made");
    std::fs::write(program.config().join("settings.json"), text).expect("written");
}

#[test]
fn headless_broken_settings_are_reported_with_line_and_column_and_exit_with_2() {
    for (text, words) in [
        ("{\n  \"model\": \"x\",\n}", "line 3, column 1"),
        (
            "{\n  \"permissions\": {\"deny\": \"Bash\"}\n}",
            "line 2, column 27",
        ),
        (
            "{\"permissions\": {\"deny\": [\n\"Bash(\"]}}",
            "line 2, column 1",
        ),
        ("{\"model\": \"a\", \"model\": \"b\"}", "appears twice"),
    ] {
        let program = Program::new();
        program.put(".agent-tui/settings.json", text);
        let output = program.run(&["-p", "find *.none", "--provider", "builtin"]);
        assert_eq!(
            (output.code, output.stdout.as_str()),
            (Some(2), ""),
            "{output:?}"
        );
        assert!(output.stderr.contains(words), "{text}: {output:?}");
        assert!(
            output.stderr.contains(".agent-tui/settings.json`"),
            "{output:?}"
        );
        assert_eq!(
            program.read(".agent-tui/settings.json"),
            text,
            "it stays as it is"
        );
    }
}

#[test]
fn unknown_keys_and_bad_allow_rules_are_reported_and_the_rest_applies() {
    let program = Program::new();
    own_settings(
        &program,
        "{\n  \"modle\": \"x\",\n  \"permissions\": {\"allow\": [\"Bash(\", \"Bash(touch made)\"]}\n}",
    );
    let output = program.run(&["-p", "run touch made", "--provider", "builtin"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    for words in [
        "line 2, column 3: unknown setting `modle`",
        "did you mean `model`?",
        "line 3, column 29",
    ] {
        assert!(output.stderr.contains(words), "{words}: {output:?}");
    }
    assert!(program.path("made").exists());
}

#[test]
fn the_screen_starts_with_broken_settings_says_so_and_asks_about_everything() {
    let program = Program::new();
    let broken =
        "{\n  \"permissions\": {\"deny\": [\"Read(secret.txt)\"],},\n  \"theme\": \"dark\"\n}";
    own_settings(&program, broken);
    program.put("secret.txt", "s3cret\n");
    let toml = "[[turn]]\nstep = [{ call = \"Read\", input = { file_path = \"secret.txt\" } }]\n[[turn]]\ntext = \"Done with that.\"\n";
    let provider = script(&program, toml);
    let arguments = [
        "--theme",
        "ansi16",
        "--permission-mode",
        "bypassPermissions",
        "--provider",
        &provider,
    ];
    let mut tui = Pty::spawn_in(program, &arguments, 120, 40);
    tui.wait_for("line 2, column")
        .wait_for("fix or move the file")
        .send("go\r");
    // The broken rule would have denied it, so what could be read without asking now asks.
    armed(&mut tui, "n no")
        .send("n")
        .wait_for("Done with that.");
    let log = tui.program().session_log();
    assert!(!log.contains("s3cret"), "{log}");
    // The person's own choice does not overwrite it either.
    tui.send("/theme light\r").wait_for("could not be saved");
    let file = tui.program().config().join("settings.json");
    assert_eq!(std::fs::read_to_string(file).expect("there"), broken);
}

#[test]
fn a_settings_file_named_by_a_flag_must_be_valid_on_the_screen_too() {
    let mut tui = Pty::spawn(
        &["--provider", "builtin", "--settings", "missing.json"],
        80,
        24,
    );
    let end = tui.exit();
    assert_eq!(end.code, 2);
    assert!(end.screen.contents().contains("can't read `missing.json`"));
}

#[test]
fn the_screen_starts_with_anything_in_place_of_a_settings_file() {
    let program = Program::new();
    std::fs::create_dir(program.path(".agent-tui")).expect("made");
    let path = program.path(".agent-tui/settings.json");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("a pipe");
    let link = program.path(".agent-tui/settings.local.json");
    std::os::unix::fs::symlink(&link, &link).expect("linked");
    let arguments = ["--theme", "ansi16", "--provider", "builtin"];
    let mut tui = Pty::spawn_in(program, &arguments, 120, 40);
    tui.wait_for("it is not a regular file")
        .wait_for("symbolic links")
        .send("find *.none\r");
    // What it may have denied now asks.
    armed(&mut tui, "n no").send("n").wait_for("denied by you");
}

#[test]
fn rules_that_change_while_it_runs_apply_to_the_next_call() {
    let program = Program::new();
    let deny = json!({"permissions": {"deny": ["Bash(touch two)"]}}).to_string();
    own_settings(&program, "{}");
    let target = program.config().join("settings.json").display().to_string();
    program.put("new.json", &deny);
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[bash("c1", &format!("touch one && cp new.json '{target}'"))]),
        wire.reply(&[bash("c2", "touch two")]),
        wire.reply(&[text("ok")]),
    ]);
    program.ask(
        &server,
        wire,
        &["-p", "go", "--permission-mode", "bypassPermissions"],
    );
    assert!(program.path("one").exists());
    assert!(
        !program.path("two").exists(),
        "{:?}",
        wire.results(&server.bodies()[2])
    );
}

#[test]
fn cve_2026_25725_settings_that_appear_while_it_runs_give_the_project_nothing() {
    let program = Program::new();
    let allow =
        json!({"permissions": {"allow": ["Bash(touch two)"], "deny": ["Bash(touch three)"]}});
    program.put("new.json", allow.to_string());
    let change = program.put(
        "change.sh",
        "#!/bin/sh\nmkdir -p .agent-tui\ncp new.json .agent-tui/settings.json\n",
    );
    std::fs::set_permissions(change, std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[bash("c1", "./change.sh")]),
        wire.reply(&[bash("c2", "touch two")]),
        wire.reply(&[bash("c3", "touch three")]),
        wire.reply(&[text("ok")]),
    ]);
    let flags = [
        "-p",
        "go",
        "--allow",
        "Bash(./change.sh)",
        "--allow",
        "Bash(touch three)",
    ];
    program.ask(&server, wire, &flags);
    assert!(program.path(".agent-tui/settings.json").exists());
    assert!(!program.path("two").exists(), "wider only with trust");
    assert!(!program.path("three").exists(), "stricter at once");
}

#[test]
fn twenty_programs_that_save_at_once_lose_nothing() {
    // What a child process of this test does.
    if let Ok(who) = std::env::var("AGENT_TUI_TEST_SAVER") {
        let base = std::env::var("AGENT_TUI_TEST_BASE").expect("a directory");
        let base = Path::new(&base);
        let store = agent_tui::permissions::Store::new(&base.join("data"), &base.join("work"));
        for number in 0..5 {
            let rule = format!("Bash(x {who} {number})");
            store
                .save(agent_tui::permissions::RuleList::Allow, &rule)
                .expect("saved");
            let own = base.join("config/settings.json");
            agent_tui::config::save::set(&own, &format!("k{who}-{number}"), "v").expect("saved");
        }
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(home.path().join("work")).expect("made");
    let children: Vec<_> = (0..20)
        .map(|who| {
            std::process::Command::new(std::env::current_exe().expect("this test"))
                .args([
                    "settings::twenty_programs_that_save_at_once_lose_nothing",
                    "--exact",
                ])
                .env("AGENT_TUI_TEST_SAVER", who.to_string())
                .env("AGENT_TUI_TEST_BASE", home.path())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("it starts")
        })
        .collect();
    for child in children {
        let output = finish(child);
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    let read = |name: &str| -> Value {
        let bytes = std::fs::read(home.path().join(name)).expect("it is there");
        serde_json::from_slice(&bytes).expect("JSON")
    };
    let rules = read("work/.agent-tui/settings.local.json");
    assert_eq!(
        rules["permissions"]["allow"].as_array().map(Vec::len),
        Some(100)
    );
    assert_eq!(
        read("config/settings.json")
            .as_object()
            .map(serde_json::Map::len),
        Some(100)
    );
}

#[test]
fn variables_of_the_settings_reach_commands_and_keys_only_if_they_say_so() {
    let wire = Wire::Anthropic;
    for (settings, passed) in [
        (
            json!({"env": {"MINE": "yes", "OPENAI_API_KEY": "sk-settings"}}),
            false,
        ),
        (
            json!({"env": {"MINE": "yes"}, "passProviderKeys": true}),
            true,
        ),
    ] {
        let program = Program::new();
        own_settings(&program, &settings.to_string());
        let command = "echo $MINE ${#OPENAI_API_KEY} ${#ANTHROPIC_API_KEY}";
        let server = Server::start([
            wire.reply(&[bash("c1", command)]),
            wire.reply(&[text("ok")]),
        ]);
        program.ask(&server, wire, &["-p", "go", "--allow", "Bash"]);
        let result = wire.results(&server.bodies()[1])[0].1.clone();
        let expected = if passed { "yes 11 11" } else { "yes 0 0" };
        assert!(result.contains(expected), "{result}");
    }
}

#[test]
fn a_command_cannot_read_the_keys_from_the_program_that_runs_it() {
    let wire = Wire::Anthropic;
    let program = Program::new();
    let command = "cat /proc/$PPID/environ >/dev/null 2>&1 && echo open || echo closed";
    let server = Server::start([
        wire.reply(&[bash("c1", command)]),
        wire.reply(&[text("ok")]),
    ]);
    program.ask(&server, wire, &["-p", "go", "--allow", "Bash"]);
    let result = wire.results(&server.bodies()[1])[0].1.clone();
    // The superuser can write everywhere.
    let expected = if rustix::process::geteuid().is_root() {
        "open"
    } else {
        "closed"
    };
    assert!(result.contains(expected), "{result}");
}

const KEY: &str = "sk-f4ke-0123456789abcdef";

/// Everything that a run leaves behind or prints.
fn traces(program: &Program, output: &Output) -> String {
    let mut all = format!("{}\n{}\n", output.stdout, output.stderr);
    for file in files_below(&program.data()) {
        let content = std::fs::read(&file).expect("readable");
        let content = String::from_utf8_lossy(&content);
        let _ = writeln!(all, "{}: {content}", file.display());
    }
    all
}

#[test]
fn a_key_is_nowhere_in_what_a_run_writes_and_prints() {
    let wire = Wire::Anthropic;
    let echo = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": format!("you sent x-api-key: {KEY}")}});
    for format in ["text", "json", "stream-json"] {
        let program = Program::new();
        program.put("key.txt", format!("the key is {KEY}\n"));
        // Short, long enough for a file of its own, and cut in two by a pause.
        let long = "for i in $(seq 5000); do cat key.txt; done";
        let halves = "k=$(cut -d' ' -f4 key.txt); printf %s \"${k:0:9}\"; sleep 0.1; printf '%s\\n' \"${k:9}\"";
        let server = Server::start([
            wire.reply(&[
                bash("c1", "cat key.txt"),
                bash("c2", long),
                bash("c3", halves),
            ]),
            Reply::error(400, &echo.to_string()),
        ]);
        let url = server.url();
        let mut command = program.command(&[
            "-p",
            "go",
            "--debug",
            "--output-format",
            format,
            "--permission-mode",
            "bypassPermissions",
            "--provider",
            "anthropic",
            "--base-url",
            &url,
            "--model",
            "m",
        ]);
        command.env("ANTHROPIC_API_KEY", KEY);
        let output = finish(command.spawn().expect("it starts"));
        assert_eq!(output.code, Some(1), "the second request fails: {output:?}");
        let key = server.received()[0].header("x-api-key").map(str::to_owned);
        assert_eq!(key.as_deref(), Some(KEY), "the provider has it");
        let traces = traces(&program, &output);
        assert!(traces.contains("[redacted]"), "it was there to be hidden");
        assert!(traces.contains("results/"), "the long one went to a file");
        let at = traces
            .find(KEY)
            .map(|at| &traces[at.saturating_sub(300)..at]);
        assert_eq!(at, None, "with --output-format {format}");
    }
}

#[test]
fn a_key_is_not_in_what_a_crash_leaves_behind() {
    let program = Program::new();
    let mut tui = Pty::spawn_with(
        program,
        &["--provider", "builtin", "--debug"],
        &[("ANTHROPIC_API_KEY", KEY), ("AGENT_TUI_PANIC", "ui")],
        100,
        30,
    );
    tui.wait_for("❯")
        .paste(&format!("my key is {KEY}"))
        .send("x");
    let end = tui.exit();
    assert_eq!(end.code, 1);
    for file in files_below(&tui.program().data()) {
        let content = std::fs::read(&file).expect("readable");
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains(KEY), "{}: {content}", file.display());
    }
}

#[test]
fn the_doctor_says_what_is_there_what_is_missing_and_what_to_do() {
    let program = Program::new();
    own_settings(
        &program,
        r#"{"model": "m", "env": {"A": "v4lue"}, "permissions": {"deny": ["Read(.env)"]},
            "tools": {"Bassh": {"timeout": 1000}},
            "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "./said.sh"}]}]}}"#,
    );
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}});
    program.put(".claude/settings.json", hooks.to_string());
    program.put(".mcp.json", r#"{"mcpServers": {"a": {"command": "b"}}}"#);
    let keymap = program.config().join("keymap.toml");
    std::fs::write(keymap, "[global]\nnonsense = 1\n").expect("written");
    let run = |more: &[&str], key: Option<&str>| {
        let mut arguments = vec!["doctor"];
        arguments.extend(more);
        let mut command = program.command(&arguments);
        command.env("TERM", "xterm");
        if let Some(key) = key {
            command.env("ANTHROPIC_API_KEY", key);
        }
        finish(command.spawn().expect("it starts"))
    };
    let output = run(&[], Some(KEY));
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (Some(0), ""),
        "{output:?}"
    );
    for words in [
        "config/settings.json",
        ".claude/settings.json, 1 hook",
        ".agent-tui/settings.json: none",
        "model: from",
        "env.A: from",
        "the setting `tools` names no tool: `Bassh`; did you mean `Bash`?",
        "deny Read(.env)",
        "Stop: ./said.sh",
        "anthropic, model m",
        "key from ANTHROPIC_API_KEY",
        "https://api.anthropic.com",
        "the project is not trusted",
        ".mcp.json: 1 MCP server",
        "bash: GNU bash",
        "TERM is xterm",
        "keymap.toml`, line 2",
    ] {
        assert!(output.stdout.contains(words), "{words}: {}", output.stdout);
    }
    assert!(!output.stdout.contains(KEY) && !output.stdout.contains("v4lue"));

    let output = run(&["--provider", "anthropic"], None);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output.stdout.contains("set ANTHROPIC_API_KEY"),
        "{output:?}"
    );

    let output = run(&["--json", "--provider", "builtin"], None);
    let report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    assert_eq!(report["ok"], true);
    assert!(
        report["findings"]
            .as_array()
            .is_some_and(|list| list.len() > 10)
    );

    program.put(".agent-tui/settings.json", "{ broken");
    let output = run(&["--provider", "builtin"], None);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stdout.contains("line 1, column 3"), "{output:?}");
}

#[test]
fn completions_exist_for_every_shell() {
    let program = Program::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = program.run(&["completions", shell]);
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(output.stdout.contains("permission-mode"), "{shell}");
    }
    let script = program.put(
        "completions.bash",
        program.run(&["completions", "bash"]).stdout,
    );
    let mut bash = std::process::Command::new("bash");
    let checked = bash.arg("-n").arg(script).status();
    assert!(checked.expect("bash runs").success());
    assert_eq!(program.run(&["completions", "tcsh"]).code, Some(2));
}

#[test]
fn it_starts_without_a_home_without_a_path_and_where_nothing_can_be_written() {
    let program = Program::new();
    let run = |arguments: &[&str], set: &dyn Fn(&mut std::process::Command)| {
        let mut command = program.command(arguments);
        command
            .env_remove("AGENT_TUI_CONFIG_DIR")
            .env_remove("AGENT_TUI_DATA_DIR");
        set(&mut command);
        finish(command.spawn().expect("it starts"))
    };
    let find = ["-p", "find *.none", "--provider", "builtin"];
    // Nothing can be created there, not even by root.
    let home = program.put("file", "").join("home");
    let output = run(&find, &|command| {
        command.env("HOME", &home);
    });
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stderr.contains("work/file/home"), "{output:?}");
    assert!(output.stderr.contains("AGENT_TUI_DATA_DIR"), "{output:?}");

    let output = run(
        &[
            "-p",
            "run echo hi",
            "--provider",
            "builtin",
            "--allow",
            "Bash",
        ],
        &|command| {
            command
                .env_remove("PATH")
                .env("AGENT_TUI_DATA_DIR", program.data());
        },
    );
    assert!(output.stderr.contains("PATH is not set"), "{output:?}");
    assert!(output.stdout.contains("hi"), "{output:?}");
}

#[test]
fn a_data_directory_that_others_can_read_becomes_private() {
    let program = Program::new();
    let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
    for folder in ["", "logs"] {
        let path = program.data().join(folder);
        std::fs::create_dir_all(&path).expect("made");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).expect("chmod");
    }
    let output = program.run(&["-p", "find *.none", "--provider", "builtin", "--debug"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    for folder in ["", "logs"] {
        assert_eq!(mode(&program.data().join(folder)), 0o700, "{folder}");
    }
    for file in files_below(&program.data()) {
        assert_eq!(mode(&file) & 0o077, 0, "{}", file.display());
    }
}

#[test]
fn b8_c6_writing_settings_data_and_hook_scripts_always_asks() {
    let program = Program::new();
    program.put("dotfiles/own.json", "{}");
    program.put("named.json", "{}");
    program.put("tools/guard.sh", "");
    std::fs::create_dir_all(program.config()).expect("made");
    let own = program.config().join("settings.json");
    std::os::unix::fs::symlink(program.path("dotfiles/own.json"), &own).expect("linked");
    let hook = json!({"type": "command", "command": "bash \"$CLAUDE_PROJECT_DIR\"/tools/guard.sh"});
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
    std::fs::write(program.path("named.json"), settings.to_string()).expect("written");
    let decided = |path: &Path| {
        let input = json!({"file_path": path, "content": ""}).to_string();
        let add_dir = program
            .data()
            .parent()
            .expect("a parent")
            .display()
            .to_string();
        let output = program.run(&[
            "--settings",
            "named.json",
            "--add-dir",
            &add_dir,
            "permissions",
            "check",
            "--mode",
            "acceptEdits",
            "Write",
            &input,
        ]);
        let answer: Value = serde_json::from_str(&output.stdout).expect("JSON");
        answer["decision"].as_str().unwrap_or_default().to_owned()
    };
    for path in [
        program.path("named.json"),
        program.path("dotfiles/own.json"),
        program.path("tools/guard.sh"),
        program.data().join("trusted/00.json"),
        program.config().join("settings.json"),
    ] {
        assert_eq!(decided(&path), "ask", "{}", path.display());
    }
    for path in ["dotfiles/other.json", "tools/other.sh"] {
        assert_eq!(decided(&program.path(path)), "allow", "{path}");
    }
}
