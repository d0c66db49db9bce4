//! Which tools the requests offer, as a server gets them: order, stability, deferral.

use serde_json::{Value, json};

use crate::support::wire::{bash, call, text};
use crate::support::{Program, Server, Wire};

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::OpenAi, Wire::Responses];

fn settings(program: &Program, settings: &Value) {
    std::fs::create_dir_all(program.config()).expect("a directory");
    let file = program.config().join("settings.json");
    std::fs::write(file, settings.to_string()).expect("written");
}

/// The tools of a request, each as it was sent.
fn tools(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().expect("tools");
    tools.iter().map(ToString::to_string).collect()
}

fn names(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().expect("tools").iter();
    let name = |tool: &Value| {
        let name = tool["name"].as_str().or(tool["function"]["name"].as_str());
        name.expect("a name").to_owned()
    };
    tools.map(name).collect()
}

/// The system prompt, without what changes from run to run.
fn stable_system(wire: Wire, body: &Value) -> String {
    let whole = match wire {
        Wire::Anthropic => {
            let parts = body["system"].as_array().expect("a system prompt").iter();
            let parts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
            parts.join("\n\n")
        }
        Wire::OpenAi => body["messages"][0]["content"].to_string(),
        Wire::Responses => body["instructions"].to_string(),
    };
    let stable = whole.split("Environment").next();
    stable.expect("a beginning").to_owned()
}

#[test]
fn requests_offer_the_same_tools_in_the_same_order_also_when_a_session_is_resumed() {
    for wire in WIRES {
        let program = Program::new();
        program.put("a.txt", "here\n");
        let read = call("c1", "Read", json!({"file_path": "a.txt"}));
        let replies = [
            wire.reply(&[read]),
            wire.reply(&[text("done")]),
            wire.reply(&[text("again")]),
        ];
        let server = Server::start(replies);
        program.ask(&server, wire, &["-p", "go"]);
        program.ask(&server, wire, &["-c", "-p", "go on"]);
        let bodies = server.bodies();
        assert_eq!(bodies.len(), 3, "{wire:?}");
        let mut sorted = names(&bodies[0]);
        sorted.sort();
        assert_eq!(names(&bodies[0]), sorted, "{wire:?}");
        for later in &bodies[1..] {
            assert_eq!(tools(later), tools(&bodies[0]), "{wire:?}");
            assert_eq!(
                stable_system(wire, later),
                stable_system(wire, &bodies[0]),
                "{wire:?}"
            );
        }
    }
}

#[test]
fn a_deferred_tool_is_loaded_by_a_search_and_stays_for_the_session() {
    for wire in WIRES {
        let program = Program::new();
        settings(&program, &json!({"toolSearch": "always"}));
        let replies = [
            wire.reply(&[call("c1", "LS", json!({}))]),
            wire.reply(&[call("c2", "ToolSearch", json!({"query": "select:LS"}))]),
            wire.reply(&[call("c3", "LS", json!({}))]),
            wire.reply(&[text("done")]),
            wire.reply(&[text("again")]),
        ];
        let server = Server::start(replies);
        program.put("a.txt", "here\n");
        program.ask(&server, wire, &["-p", "go"]);
        program.ask(&server, wire, &["-c", "-p", "go on"]);
        let bodies = server.bodies();
        assert_eq!(bodies.len(), 5, "{wire:?}");
        let first = tools(&bodies[0]);
        assert!(!names(&bodies[0]).contains(&"LS".to_owned()));
        let system = stable_system(wire, &bodies[0]);
        assert!(system.contains("FileSearch, LS, MultiEdit"), "{system}");
        // Not loaded yet: the model is told how to load it.
        let (_, refused) = wire.results(&bodies[1]).pop().expect("a result");
        assert!(refused.contains("select:LS"), "{refused}");
        assert_eq!(tools(&bodies[1]), first, "{wire:?}");
        let (_, found) = wire.results(&bodies[2]).pop().expect("a result");
        assert!(found.starts_with("Loaded 1 tool."), "{found}");
        // What is loaded is appended, and everything before it stays byte for byte the same.
        for later in &bodies[2..] {
            assert_eq!(tools(later)[..first.len()], first, "{wire:?}");
            assert_eq!(names(later)[first.len()..], ["LS"], "{wire:?}");
            assert_eq!(stable_system(wire, later), system, "{wire:?}");
        }
        let (_, listed) = wire.results(&bodies[3]).pop().expect("a result");
        assert!(listed.contains("a.txt"), "{listed}");
    }
}

#[test]
fn never_offers_all_tools_and_nothing_to_search_them_with() {
    let program = Program::new();
    settings(
        &program,
        &json!({"toolSearch": "never", "contextWindow": 2000}),
    );
    let wire = Wire::Anthropic;
    let server = Server::start([wire.reply(&[text("done")])]);
    program.ask(&server, wire, &["-p", "go"]);
    let names = names(&server.bodies()[0]);
    assert!(names.contains(&"LS".to_owned()), "{names:?}");
    assert!(!names.contains(&"ToolSearch".to_owned()), "{names:?}");
}

#[test]
fn the_listing_tells_source_state_and_size_of_every_tool() {
    let program = Program::new();
    settings(
        &program,
        &json!({"contextWindow": 20_000, "permissions": {"deny": ["WebFetch"]}}),
    );
    let all = program.run(&["tools", "--json", "--all"]);
    assert_eq!(all.code, Some(0), "{all:?}");
    let all: Vec<Value> = serde_json::from_str(&all.stdout).expect("JSON");
    let state = |name: &str| {
        let tool = all.iter().find(|tool| tool["name"] == name);
        let tool = tool.unwrap_or_else(|| panic!("no {name}"));
        assert_eq!(tool["source"], "built in");
        assert!(tool["tokens"].as_u64().is_some_and(|tokens| tokens > 20));
        tool["state"].as_str().expect("a state").to_owned()
    };
    assert_eq!(state("Read"), "offered");
    assert_eq!(state("LS"), "deferred", "the window is small");
    assert_eq!(state("WebFetch"), "denied");
    let sent = program.run(&["tools", "--json"]);
    let sent: Value = serde_json::from_str(&sent.stdout).expect("JSON");
    let offered = all.iter().filter(|tool| tool["state"] == "offered");
    let offered: Vec<&str> = offered.filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names(&json!({ "tools": sent })), offered);
    let table = program.run(&["tools"]).stdout;
    let line = table.lines().find(|line| line.starts_with("LS "));
    let line = line.expect("a line");
    assert!(line.contains("built in  deferred"), "{line}");
    assert!(line.contains(" tokens  "), "{line}");
}

#[test]
fn a_call_that_reaches_the_limit_of_its_tool_fails_with_what_it_had_printed() {
    let program = Program::new();
    settings(
        &program,
        &json!({"tools": {"Bash": {"timeout": 1500}, "Bsh": {"rateLimit": 5}}}),
    );
    let wire = Wire::Anthropic;
    let server = Server::start([
        wire.reply(&[bash("c1", "echo early; sleep 88.5")]),
        wire.reply(&[text("done")]),
    ]);
    let bypass = ["--permission-mode", "bypassPermissions"];
    let output = program.ask(&server, wire, &[&["-p", "go"], &bypass[..]].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let (_, result) = wire.results(&server.bodies()[1]).pop().expect("a result");
    assert!(result.contains("after 1500 ms"), "{result}");
    assert!(result.contains("so far:\nearly"), "{result}");
    assert!(
        output.stderr.contains("did you mean `Bash`?"),
        "{}",
        output.stderr
    );
}

#[test]
fn of_45_custom_tools_only_those_that_the_model_loads_are_sent() {
    let program = Program::new();
    let folder = program.config().join("tools");
    std::fs::create_dir_all(&folder).expect("a directory");
    for number in 0..45 {
        let tool = format!(
            "name = \"custom_{number:02}\"\ndescription = \"Does job {number}\"\ncommand = \"echo did {number}\"\n\
             read_only = true\n[input_schema]\ntype = \"object\"\n"
        );
        std::fs::write(folder.join(format!("{number:02}.toml")), tool).expect("written");
    }
    let wire = Wire::Anthropic;
    let search = |id: &str, query: &str| call(id, "ToolSearch", json!({ "query": query }));
    let server = Server::start([
        wire.reply(&[search("c1", "select:custom_30,custom_07")]),
        wire.reply(&[call("c2", "custom_07", json!({}))]),
        wire.reply(&[text("done")]),
        wire.reply(&[search("c3", "job 12")]),
        wire.reply(&[text("done")]),
    ]);
    let bypass = ["--permission-mode", "bypassPermissions"];
    program.ask(&server, wire, &[&["-p", "go"], &bypass[..]].concat());
    program.ask(&server, wire, &[&["-c", "-p", "go"], &bypass[..]].concat());
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 5);
    let first = tools(&bodies[0]);
    let custom = |body: &Value| -> Vec<String> {
        let names = names(body).into_iter();
        names.filter(|name| name.starts_with("custom_")).collect()
    };
    assert_eq!(custom(&bodies[0]), [] as [&str; 0]);
    let system = stable_system(wire, &bodies[0]);
    assert!(system.contains("custom_00, custom_01"), "{system}");
    for later in &bodies[1..] {
        assert_eq!(tools(later)[..first.len()], first);
        assert_eq!(stable_system(wire, later), system);
    }
    for later in &bodies[1..4] {
        assert_eq!(custom(later), ["custom_07", "custom_30"]);
    }
    let (_, did) = wire.results(&bodies[2]).pop().expect("a result");
    assert!(did.contains("did 7"), "{did}");
    assert_eq!(custom(&bodies[4])[..2], ["custom_07", "custom_30"]);
    assert!(custom(&bodies[4])[2..].contains(&"custom_12".to_owned()));
    let table = program.run(&["tools"]).stdout;
    let line = table.lines().find(|line| line.starts_with("custom_00"));
    assert!(
        line.is_some_and(|line| line.contains("deferred")),
        "{table}"
    );
}
