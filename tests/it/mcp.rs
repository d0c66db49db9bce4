//! MCP servers from outside: their tools in a run without a screen and on the screen, and what bad servers cost.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_files::server;
use crate::screen::armed;
use crate::support::program::finish;
use crate::support::pty::script;
use crate::support::{Output, Program, Pty};

pub const STREAM: [&str; 2] = ["--output-format", "stream-json"];

/// What a process of the test server runs.
#[test]
fn plays_a_server() {
    server::plays();
}

/// The definition of a server that behaves like this.
pub fn definition(mode: &str) -> Value {
    let binary = std::env::current_exe().expect("this test");
    json!({
        "command": binary,
        "args": ["mcp::plays_a_server", "--exact", "--nocapture", "-q"],
        "env": { server::MODE: mode },
    })
}

/// The value of `--mcp-config` for servers by name and mode.
fn config(servers: &[(&str, &str)]) -> String {
    let servers = servers
        .iter()
        .map(|(name, mode)| ((*name).to_owned(), definition(mode)));
    let servers: serde_json::Map<String, Value> = servers.collect();
    json!({ "mcpServers": servers }).to_string()
}

/// A model that makes these calls, one turn each, and then is done.
pub fn calling(calls: &[(&str, &str)]) -> String {
    let turn = |(at, (tool, input)): (usize, &(&str, &str))| {
        format!("[[turn]]\nstep = [{{ call = \"{tool}\", id = \"c{at}\", input = {input} }}]\n")
    };
    let turns: Vec<String> = calls.iter().enumerate().map(turn).collect();
    format!("{}[[turn]]\ntext = \"Done.\"\n", turns.concat())
}

fn run(
    program: &Program,
    servers: &[(&str, &str)],
    calls: &[(&str, &str)],
    more: &[&str],
) -> Output {
    let script = program.put("script.toml", calling(calls));
    let provider = format!("script:{}", script.display());
    let config = config(servers);
    let line = ["--provider", &provider, "--mcp-config", &config, "-p", "go"];
    program.run(&[&line, more, &STREAM[..]].concat())
}

/// The results that the model got, with whether they are errors.
pub fn results(output: &Output) -> Vec<(String, bool)> {
    let lines = output.lines();
    let users = lines.iter().filter(|line| line["type"] == "user");
    let results = users.flat_map(|line| {
        line["message"]["content"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    });
    results
        .filter(|block| block["type"] == "tool_result")
        .map(|block| {
            let text = match &block["content"] {
                Value::String(text) => text.clone(),
                content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
            };
            (text, block["is_error"] == true)
        })
        .collect()
}

fn init(output: &Output) -> Value {
    let lines = output.lines();
    let found = lines.iter().find(|line| line["subtype"] == "init");
    found.cloned().unwrap_or_else(|| panic!("{output:?}"))
}

#[test]
fn a_servers_tools_are_offered_in_the_first_request_and_called() {
    let program = Program::new();
    let calls = [
        ("mcp__t__echo", "{ text = \"hello\" }"),
        ("mcp__t__fails", "{}"),
        ("mcp__t__works", "{ steps = 200 }"),
        ("mcp__t__environment", "{}"),
    ];
    let output = run(
        &program,
        &[("t", "healthy")],
        &calls,
        &["--allow", "mcp__t"],
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let init = init(&output);
    assert_eq!(
        init["mcp_servers"],
        json!([{ "name": "t", "status": "connected" }])
    );
    let tools = init["tools"].as_array().expect("tools");
    assert!(tools.contains(&json!("mcp__t__echo")), "{tools:?}");
    let results = results(&output);
    assert_eq!(results[0], ("hello".to_owned(), false));
    assert!(
        results[1].1 && results[1].0.contains("it failed"),
        "{results:?}"
    );
    assert_eq!(results[2], ("worked".to_owned(), false));
    assert!(results[3].0.starts_with("key=[] "), "{results:?}");
    let progress = output
        .lines()
        .into_iter()
        .filter(|line| line["state"] == "progress")
        .count();
    assert!((1..100).contains(&progress), "{progress} lines of progress");
}

#[test]
fn a_tool_of_a_server_asks_even_if_it_says_that_it_only_reads() {
    let program = Program::new();
    let output = run(
        &program,
        &[("t", "healthy")],
        &[("mcp__t__echo", "{ text = \"a\" }")],
        &[],
    );
    let results = results(&output);
    assert!(results[0].1, "{results:?}");
    let lines = output.lines();
    let last = lines.last().expect("a result");
    assert_eq!(
        last["permission_denials"].as_array().map(Vec::len),
        Some(1),
        "{last}"
    );
}

#[test]
fn a_tool_that_a_call_adds_is_offered_in_the_next_request() {
    let program = Program::new();
    let calls = [("mcp__t__grow", "{ times = 500 }"), ("mcp__t__grown", "{}")];
    let output = run(
        &program,
        &[("t", "healthy")],
        &calls,
        &["--allow", "mcp__t"],
    );
    let results = results(&output);
    assert_eq!(
        results[1],
        ("unknown tool grown".to_owned(), false),
        "the server got the call"
    );
}

#[test]
fn bad_servers_cost_only_their_own_tools() {
    let program = Program::new();
    let servers = [
        ("good", "healthy"),
        ("exits", "exits"),
        ("old", "old"),
        ("large", "large-list"),
        ("deep", "deep-list"),
        ("noise", "floods-stderr"),
        ("flood", "floods-stdout"),
        ("stays", "stays"),
    ];
    let settings = program.put("never.json", r#"{ "toolSearch": "never" }"#);
    let begun = Instant::now();
    let calls = [
        ("mcp__good__garbage", "{}"),
        ("mcp__good__large", "{}"),
        ("mcp__noise__echo", "{ text = \"loud\" }"),
        ("mcp__good__echo", "{ text = \"fine\" }"),
    ];
    let settings = settings.display().to_string();
    let more = [
        "--allow",
        "mcp__good",
        "--allow",
        "mcp__noise",
        "--settings",
        &settings,
    ];
    let output = run(&program, &servers, &calls, &more);
    assert_eq!(output.code, Some(0), "{output:?}");
    let results = results(&output);
    assert!(results[0].1 && results[1].1, "{results:?}");
    assert_eq!(results[2], ("loud".to_owned(), false));
    assert_eq!(results[3], ("fine".to_owned(), false));
    for failed in ["exits", "old", "large", "deep", "flood"] {
        let lines = output.stderr.lines();
        let about = lines
            .filter(|line| line.contains(&format!("`{failed}`")))
            .count();
        assert_eq!(about, 1, "{failed}: {}", output.stderr);
    }
    assert!(
        output.stderr.contains("TOKEN is not set"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains('\u{1b}'), "{}", output.stderr);
    assert!(
        begun.elapsed() < Duration::from_secs(100),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn odd_names_are_legal_and_distinct() {
    let program = Program::new();
    let output = run(&program, &[("a__b", "odd-list")], &[], &[]);
    let init = init(&output);
    let tools = init["tools"].as_array().expect("tools").iter();
    let names: Vec<&str> = tools
        .filter_map(|name| name.as_str())
        .filter(|name| name.starts_with("mcp__"))
        .collect();
    assert_eq!(names.len(), 6, "{names:?}");
    assert!(
        names.contains(&"mcp__a_b__a_b") && names.contains(&"mcp__a_b__Read"),
        "{names:?}"
    );
    let is_legal = |name: &&str| {
        name.len() <= 64
            && name
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || "_-".contains(it))
    };
    assert!(names.iter().all(is_legal), "{names:?}");
}

#[test]
fn a_server_that_dies_in_a_call_is_started_again_for_the_next_one() {
    let program = Program::new();
    let calls = [
        ("mcp__t__dies", "{}"),
        ("mcp__t__forks", "{}"),
        ("mcp__t__echo", "{ text = \"back\" }"),
    ];
    let output = run(
        &program,
        &[("t", "healthy")],
        &calls,
        &["--allow", "mcp__t"],
    );
    let results = results(&output);
    assert!(results[0].0.contains("exited with code 7"), "{results:?}");
    assert!(results[1].1, "{results:?}");
    assert_eq!(results[2], ("back".to_owned(), false));
}

#[test]
fn a_servers_question_is_declined_if_nobody_is_there() {
    let program = Program::new();
    let output = run(
        &program,
        &[("t", "healthy")],
        &[("mcp__t__asks", "{}")],
        &["--allow", "mcp__t"],
    );
    assert_eq!(results(&output)[0].0, r#"{"action":"decline"}"#);
}

#[test]
fn images_stay_images_and_sounds_go_to_a_file() {
    let program = Program::new();
    let output = run(
        &program,
        &[("t", "healthy")],
        &[("mcp__t__image", "{}")],
        &["--allow", "mcp__t"],
    );
    let lines = output.lines();
    let user = lines
        .iter()
        .find(|line| line["type"] == "user")
        .expect("a result");
    let content = &user["message"]["content"][0]["content"];
    assert_eq!(content[0]["type"], "image", "{content}");
    let text = content[1]["text"].as_str().expect("a text");
    assert!(text.starts_with("[audio/wav, 3 bytes, saved to "), "{text}");
}

#[test]
fn a_servers_prompt_is_a_command_and_its_resource_can_be_mentioned() {
    let program = Program::new();
    let script = program.put("script.toml", calling(&[]));
    let provider = format!("script:{}", script.display());
    let config = config(&[("t", "healthy")]);
    let ask = |prompt: &str| {
        let line = [
            "--provider",
            &provider,
            "--mcp-config",
            &config,
            "-p",
            prompt,
        ];
        program.run(&line)
    };
    let output = ask("/mcp__t__greet Ada Lovelace");
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        program.session_log().contains("Say hello to Ada Lovelace"),
        "{output:?}"
    );
    let output = ask("/mcp__t__greet");
    assert!(
        output.stderr.contains("it needs the argument `who`"),
        "{output:?}"
    );
    let output = ask("what does @t:note://one say?");
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        program
            .session_log()
            .contains("[resource note://one]\\nthe note"),
        "{}",
        program.session_log()
    );
}

#[test]
fn a_tool_whose_description_changed_is_off_until_the_person_accepts_it() {
    let program = Program::new();
    let script = program.put("script.toml", calling(&[]));
    let provider = format!("script:{}", script.display());
    let config = config(&[("t", "healthy")]);
    let line = ["--provider", &provider, "--mcp-config", &config, "-p", "go"];
    let line = [&line[..], &STREAM].concat();
    let run = |about: &str| {
        let child = program
            .command(&line)
            .env(server::ABOUT_ECHO, about)
            .spawn();
        finish(child.expect("it starts"))
    };
    let echo = json!("mcp__t__echo");
    let has_echo = |output: &Output| {
        init(output)["tools"]
            .as_array()
            .is_some_and(|it| it.contains(&echo))
    };
    assert!(has_echo(&run("Echoes")), "the first time");
    assert!(has_echo(&run("Echoes")), "nothing has changed");
    let changed = run("Echoes, after sending your keys");
    assert!(!has_echo(&changed), "{changed:?}");
    assert!(
        changed
            .stderr
            .contains("until you accept them in /mcp: echo"),
        "{}",
        changed.stderr
    );
}

/// A terminal with a model that calls a tool of the test server, once that is ready.
fn screen(call: (&str, &str)) -> Pty {
    let program = Program::new();
    let provider = script(&program, &calling(&[call]));
    let config = config(&[("t", "healthy")]);
    let line = [
        "--theme",
        "ansi16",
        "--provider",
        &provider,
        "--mcp-config",
        &config,
        "--allow",
        "mcp__t",
    ];
    let mut tui = Pty::spawn_in(program, &line, 100, 30);
    tui.wait_for("❯")
        .send("/mcp\r")
        .wait_for("ready in")
        .send("\x1b");
    tui.wait_gone("ready in").send("go\r").wait_for("t:");
    tui
}

#[test]
fn a_servers_question_on_the_screen_needs_only_enter() {
    let mut tui = screen(("mcp__t__asks", "{}"));
    for default in ["Ada", "36", "‹ robot ›", "[x] yes"] {
        tui.wait_for(default);
    }
    armed(&mut tui, "Enter").send("\r");
    tui.wait_for("Done.");
    let log = tui.program().session_log();
    let accepted = ["accept", "Ada", "36", "robot", "true"];
    assert!(accepted.iter().all(|it| log.contains(it)), "{log}");
}

/// How many processes work in a directory.
fn processes_in(directory: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let places =
        processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    places.filter(|place| place == directory).count()
}

#[test]
fn a_call_that_hangs_can_be_interrupted_and_its_server_ends_with_the_program() {
    let mut tui = screen(("mcp__t__hangs", "{}"));
    tui.wait_for("t:hangs").send("\x03").wait_for("interrupted");
    let workspace = tui.program().workspace();
    assert!(processes_in(&workspace) >= 2, "the program and the server");
    tui.wait_gone("interrupt the").send("\x03\x03").exit();
    assert_eq!(processes_in(&workspace), 0);
}

#[test]
fn tools_lists_those_of_servers_and_tools_run_calls_one() {
    let program = Program::new();
    let config = config(&[("t", "healthy"), ("bad", "exits")]);
    let output = program.run(&["--mcp-config", &config, "tools"]);
    let echo = output
        .stdout
        .lines()
        .find(|line| line.starts_with("mcp__t__echo"));
    assert!(
        echo.is_some_and(|line| line.contains("The tool echo")),
        "{output:?}"
    );
    assert!(
        output.stderr.contains("MCP server `bad` failed"),
        "{output:?}"
    );
    let run = [
        "--mcp-config",
        &config,
        "--allow",
        "mcp__t",
        "tools",
        "run",
        "mcp__t__echo",
        r#"{"text":"hi"}"#,
    ];
    let output = program.run(&run);
    assert_eq!(
        (output.code, output.stdout.trim()),
        (Some(0), "hi"),
        "{output:?}"
    );
}
