//! The web tools in the whole program: who searches, what is sent, and what is shown.

use serde_json::{Value, json};

use crate::screen::armed;
use crate::support::pty::{Pty, script};
use crate::support::wire::{bash, call, event, text};
use crate::support::{Program, Reply, Server, Wire};

fn configured(settings: &Value) -> Program {
    let program = Program::new();
    std::fs::create_dir_all(program.config()).expect("a directory");
    let file = program.config().join("settings.json");
    std::fs::write(file, settings.to_string()).expect("written");
    program
}

fn tools(body: &Value) -> Vec<&Value> {
    let tools = body["tools"].as_array().expect("tools");
    let is_search = |tool: &&Value| tool.to_string().to_lowercase().contains("web_search");
    tools.iter().filter(is_search).collect()
}

/// The blocks of a search that Anthropic's server has run, as they arrive and as they must be sent back.
fn anthropic_blocks() -> [Value; 3] {
    let page = json!({
        "type": "web_search_result", "title": "Eclipses of 2026", "url": "https://www.example.com/eclipses",
        "encrypted_content": "EqgfCioIARgBIiQ3YTAw", "page_age": "1 week ago",
    });
    [
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "eclipse 2026"}}),
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [page]}),
        json!({"type": "text", "text": "In August.", "citations": [
            {"type": "web_search_result_location", "url": "https://www.example.com/eclipses", "encrypted_index": "x"},
        ]}),
    ]
}

/// An answer with a search, a text that cites it, and a call of ours.
fn anthropic_answer() -> String {
    let wire = Wire::Anthropic;
    let [search, found, cited] = anthropic_blocks();
    let start = |index: usize, block: &Value| {
        event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
    };
    let delta = |index: usize, delta: Value| {
        event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
    };
    let stop = |index: usize| event(&json!({"type": "content_block_stop", "index": index}));
    let mut empty = search.clone();
    empty["input"] = json!({});
    let written = search["input"].to_string();
    let parts = [
        wire.head(),
        start(0, &empty),
        delta(
            0,
            json!({"type": "input_json_delta", "partial_json": written}),
        ),
        stop(0),
        start(1, &found),
        stop(1),
        start(2, &json!({"type": "text", "text": "", "citations": []})),
        delta(
            2,
            json!({"type": "citations_delta", "citation": cited["citations"][0]}),
        ),
        delta(2, json!({"type": "text_delta", "text": cited["text"]})),
        stop(2),
        wire.part(3, &bash("c1", "true")),
        wire.tail(&[bash("c1", "true")]),
    ];
    parts.concat()
}

#[test]
fn a_search_of_anthropic_is_offered_shown_and_sent_back_as_it_came() {
    let program = configured(&json!({"webSearch": "provider"}));
    let wire = Wire::Anthropic;
    let server = Server::start([
        Reply::stream(anthropic_answer()),
        wire.reply(&[text("Done.")]),
        wire.reply(&[text("Still there.")]),
    ]);
    let stream = ["--output-format", "stream-json"];
    let output = program.ask(&server, wire, &[&["-p", "when?"][..], &stream].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let states = output.states("srvtoolu_1");
    assert_eq!(states, ["queued", "executing", "completed", "yielded"]);
    let output = program.ask(&server, wire, &["-p", "and?", "--continue"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 3);
    for body in &bodies {
        let tool = json!([{"type": "web_search_20250305", "name": "web_search"}]);
        assert_eq!(json!(tools(body)), tool);
    }
    for body in &bodies[1..] {
        let content = body["messages"][1]["content"].as_array().expect("blocks");
        assert_eq!(content[..3], anthropic_blocks(), "unchanged");
        assert_eq!(content[3]["type"], "tool_use");
    }
}

#[test]
fn a_search_of_the_responses_api_is_offered_shown_and_sent_back_as_it_came() {
    let program = configured(&json!({"webSearch": "provider"}));
    let wire = Wire::Responses;
    let search = json!({
        "type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": {"type": "search", "query": "eclipse 2026", "sources": [{"type": "url", "url": "https://a.org/"}]},
    });
    let item = |kind: &str, index: usize, item: &Value| {
        event(&json!({"type": kind, "output_index": index, "item": item}))
    };
    let mut begun = search.clone();
    begun["status"] = json!("in_progress");
    let answer = [
        wire.head(),
        item("response.output_item.added", 0, &begun),
        event(
            &json!({"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"}),
        ),
        item("response.output_item.done", 0, &search),
        wire.part(1, &text("In August.")),
        wire.part(2, &bash("c1", "true")),
        event(
            &json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed",
            "model": "m", "usage": {"input_tokens": 10, "output_tokens": 7}}}),
        ),
    ];
    let server = Server::start([Reply::stream(answer.concat()), wire.reply(&[text("Done.")])]);
    let stream = ["-p", "when?", "--output-format", "stream-json"];
    let output = program.ask(&server, wire, &stream);
    assert_eq!(output.code, Some(0), "{output:?}");
    let states = output.states("ws_1");
    assert_eq!(states, ["queued", "executing", "completed", "yielded"]);
    let bodies = server.bodies();
    assert_eq!(json!(tools(&bodies[0])), json!([{"type": "web_search"}]));
    let include = bodies[0]["include"].as_array().expect("a list");
    assert!(include.contains(&json!("web_search_call.action.sources")));
    let input = bodies[1]["input"].as_array().expect("items");
    assert_eq!(input.iter().filter(|item| **item == search).count(), 1);
}

#[test]
fn if_the_provider_has_no_search_the_person_is_told_and_the_tool_is_off() {
    let program = configured(&json!({"webSearch": "provider"}));
    let wire = Wire::OpenAi;
    let server = Server::start([wire.reply(&[text("Hi.")])]);
    let output = program.ask(&server, wire, &["-p", "hi"]);
    let notice = "web search is off: openai has none; set a `backend` in `webSearch`";
    assert!(output.stderr.contains(notice), "{output:?}");
    assert_eq!(tools(&server.bodies()[0]), Vec::<&Value>::new());
    for rule in ["--ask", "--deny"] {
        let server = Server::start([Wire::Anthropic.reply(&[text("Hi.")])]);
        let output = program.ask(&server, Wire::Anthropic, &["-p", "hi", rule, "WebSearch"]);
        let notice = "web search is off: your rules restrict it, and the provider can't ask you";
        assert!(output.stderr.contains(notice), "{output:?}");
        assert_eq!(tools(&server.bodies()[0]), Vec::<&Value>::new());
    }
}

const RESULTS: &str = r#"{"query": "q", "results": [
    {"title": "The async book", "url": "https://rust-lang.github.io/async-book/", "content": "How to write async Rust"},
    {"title": "Tokio", "url": "https://tokio.rs/tokio/tutorial", "content": "A runtime"}
]}"#;

fn with_searxng(server: &Server) -> Program {
    let service = json!({"backend": "searxng", "url": server.url(), "keyEnv": "SEARCH_KEY"});
    configured(&json!({ "webSearch": service }))
}

fn found() -> Reply {
    Reply::error(200, RESULTS)
}

const SEARCH: &str = r#"
[[turn]]
step = [
  { call = "WebSearch", input = { query = "rust async" } },
  { call = "Bash", input = { command = "echo key=$SEARCH_KEY" } },
]
[[turn]]
step = [{ text = "Read them." }]
"#;

#[test]
fn a_search_needs_permission_and_its_key_is_nowhere() {
    let server = Server::start([found()]);
    let program = with_searxng(&server);
    let provider = script(&program, SEARCH);
    let run = |more: &[&str]| {
        let stream = [
            "--output-format",
            "stream-json",
            "--provider",
            &provider,
            "--debug",
        ];
        let all = [&["-p", "search"][..], &stream, more].concat();
        let mut command = program.command(&all);
        command.env("SEARCH_KEY", "searching-key-1");
        crate::support::program::finish(command.spawn().expect("it starts"))
    };
    let output = run(&[]);
    assert!(
        output
            .stdout
            .contains("Permission to use WebSearch has been denied"),
        "{output:?}"
    );
    assert_eq!(server.received().len(), 0, "nothing was sent");
    let output = run(&["--allow", "WebSearch", "--allow", "Bash"]);
    let user = output
        .lines()
        .into_iter()
        .find(|line| line["type"] == "user");
    let results = user.expect("results")["message"]["content"].clone();
    let listed = "Search results for \"rust async\":\n\n\
        1. The async book\n   https://rust-lang.github.io/async-book/\n   How to write async Rust\n\n\
        2. Tokio\n   https://tokio.rs/tokio/tutorial\n   A runtime";
    assert_eq!(results[0]["content"], listed);
    assert_eq!(results[1]["content"], "key=", "commands do not have it");
    let request = server.received().remove(0);
    assert_eq!(request.path, "/search?q=rust+async&format=json");
    assert_eq!(
        request.header("authorization"),
        Some("Bearer searching-key-1")
    );
    let written = crate::support::program::files_below(&program.data());
    assert!(!written.is_empty());
    for file in written {
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("readable")).into_owned();
        assert!(!text.contains("searching-key-1"), "{}", file.display());
    }
}

#[test]
fn a_search_asks_and_is_seen_by_title_and_domain() {
    let server = Server::start([found()]);
    let program = with_searxng(&server);
    let provider = script(&program, SEARCH);
    let environment = [("SEARCH_KEY", "searching-key-1")];
    let arguments = [
        "--theme",
        "ansi16",
        "--provider",
        &provider,
        "--allow",
        "Bash",
    ];
    let mut tui = Pty::spawn_with(program, &arguments, &environment, 80, 24);
    tui.wait_for("❯").send("search\r").wait_for("rust async");
    armed(&mut tui, "y yes").send("y");
    tui.wait_for("WebSearch rust async  2 results: rust-lang.github.io, tokio.rs");
    tui.wait_for("Read them.");
}

#[test]
fn a_fetched_page_is_answered_by_the_small_model_in_a_request_without_tools() {
    let pages = Server::start([Reply::error(200, "the secret word is plover")]);
    let program = configured(&json!({
        "smallModel": "tiny",
        "prices": {"m": {"input": 1.0, "output": 1.0}, "tiny": {"input": 1.0, "output": 1.0}},
    }));
    let wire = Wire::Anthropic;
    let input = json!({"url": format!("{}/a", pages.url()), "prompt": "which word?"});
    let server = Server::start([
        wire.reply(&[call("c1", "WebFetch", input)]),
        wire.reply(&[text("It is plover.")]),
        wire.reply(&[text("Done.")]),
    ]);
    let more = [
        "--permission-mode",
        "bypassPermissions",
        "--output-format",
        "json",
    ];
    let output = program.ask(&server, wire, &[&["-p", "go"][..], &more].concat());
    assert_eq!(output.code, Some(0), "{output:?}");
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 3);
    assert_eq!(bodies[1]["model"], "tiny");
    assert_eq!(bodies[1].get("tools"), None);
    let messages = bodies[1]["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 1, "no history");
    let asked = messages[0].to_string();
    assert!(asked.contains("the secret word is plover") && asked.contains("which word?"));
    let results = wire.results(&bodies[2]);
    assert!(
        results[0]
            .1
            .ends_with("Asked: which word?\n\nIt is plover."),
        "{results:?}"
    );
    let result = output.result();
    assert_eq!(
        result["usage"]["input_tokens"], 30,
        "all three requests count"
    );
    let cost = result["total_cost_usd"].as_f64().expect("a cost");
    assert!((cost - 51e-6).abs() < 1e-9, "{cost}");
}
