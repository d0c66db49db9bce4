//! An MCP server over stdio for tests. A test binary runs itself as this server: a test that finds [`MODE`] set plays it.
//!
//! It is written without an SDK, so that it can also do what no SDK does.

use std::io::{BufRead, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// How the server behaves.
pub const MODE: &str = "AGENT_TUI_TEST_MCP";

/// The description of its tool `echo`.
pub const ABOUT_ECHO: &str = "AGENT_TUI_TEST_MCP_ECHO";

/// Plays the server if this process was started for that. A test that calls it first must return if it is true.
pub fn plays() -> bool {
    let Ok(mode) = std::env::var(MODE) else {
        return false;
    };
    Playing::new(mode).run();
    true
}

struct Playing {
    mode: String,
    cancelled: Vec<Value>,
    grown: bool,
    /// The call that waits for an answer of the client.
    asking: Option<Value>,
}

impl Playing {
    fn new(mode: String) -> Self {
        Self {
            mode,
            cancelled: Vec::new(),
            grown: false,
            asking: None,
        }
    }

    fn run(&mut self) {
        if self.mode == "exits" {
            complain("\u{1b}[31mTOKEN is not set");
            std::process::exit(3);
        }
        let lines = std::io::stdin().lock().lines();
        for line in lines {
            let Ok(message) = serde_json::from_str::<Value>(&line.unwrap_or_default()) else {
                continue;
            };
            self.receive(&message);
        }
        if self.mode == "stays" {
            // The shutdown has to end it.
            std::thread::sleep(Duration::from_secs(600));
        }
        std::process::exit(0);
    }

    fn receive(&mut self, message: &Value) {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => self.initialize(id),
            Some("tools/list") => self.list(id, &message["params"]),
            Some("tools/call") => self.call(id, &message["params"]),
            Some("prompts/list") => answer(
                id,
                &json!({ "prompts": [{
                    "name": "greet",
                    "description": "Greets somebody",
                    "arguments": [{ "name": "who", "required": true }],
                }] }),
            ),
            Some("prompts/get") => {
                let who = &message["params"]["arguments"]["who"];
                let text = format!("Say hello to {}", who.as_str().unwrap_or_default());
                let content = json!({ "type": "text", "text": text });
                answer(
                    id,
                    &json!({ "messages": [{ "role": "user", "content": content }] }),
                );
            }
            Some("resources/list") => answer(
                id,
                &json!({ "resources": [{ "uri": "note://one", "name": "one" }] }),
            ),
            Some("resources/read") => {
                let uri = &message["params"]["uri"];
                answer(
                    id,
                    &json!({ "contents": [{ "uri": uri, "text": "the note" }] }),
                );
            }
            Some("notifications/cancelled") => {
                self.cancelled.push(message["params"]["requestId"].clone());
            }
            Some(_) => {}
            // The client's answer to a question of this server.
            None => {
                if let Some(call) = self.asking.take() {
                    let output = if message["error"].is_null() {
                        &message["result"]
                    } else {
                        &message["error"]
                    };
                    text(&call, &output.to_string());
                }
            }
        }
    }

    fn initialize(&self, id: &Value) {
        match self.mode.as_str() {
            "hangs" => return,
            "chatters" => print_line("Welcome to the server!\nnot json {"),
            "old" => {
                answer(
                    id,
                    &json!({ "protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": { "name": "t", "version": "1" } }),
                );
                return;
            }
            "floods-stderr" => {
                std::thread::spawn(|| {
                    loop {
                        complain(&"noise ".repeat(200));
                    }
                });
            }
            "storms" => {
                std::thread::spawn(|| {
                    loop {
                        send(
                            &json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }),
                        );
                        let params =
                            json!({ "progressToken": 1, "progress": 1, "message": "\u{1b}[2J" });
                        send(
                            &json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }),
                        );
                        let params = json!({ "level": "info", "data": "\u{1b}]0;title\u{7}" });
                        send(
                            &json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params }),
                        );
                    }
                });
            }
            "floods-stdout" => {
                let noise = "x".repeat(1 << 20);
                loop {
                    let _ = std::io::stdout().lock().write_all(noise.as_bytes());
                }
            }
            _ => {}
        }
        answer(
            id,
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": { "listChanged": true }, "prompts": {}, "resources": {} },
                "serverInfo": { "name": "test", "version": "1" },
                "instructions": "Use echo\u{200b} first",
            }),
        );
    }

    fn list(&self, id: &Value, params: &Value) {
        match self.mode.as_str() {
            "large-list" => {
                let schema = json!({ "type": "object", "description": "x".repeat(50 << 20) });
                answer(
                    id,
                    &json!({ "tools": [{ "name": "large", "inputSchema": schema }] }),
                );
                return;
            }
            "deep-list" => {
                let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
                let line = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{{"name":"deep","inputSchema":{deep}}}]}}}}"#
                );
                print_line(&line);
                return;
            }
            "escapes" => {
                let evil = "\u{1b}[2J\u{9b}31m\u{202e}\u{7}evil\u{200b}";
                let schema =
                    json!({ "type": "object", "properties": { evil: { "description": evil } } });
                let tool = json!({ "name": format!("echo{evil}"), "title": evil, "description": evil, "inputSchema": schema });
                answer(
                    id,
                    &json!({ "tools": [tool, { "name": "refuses", "inputSchema": {} }] }),
                );
                return;
            }
            "odd-list" => {
                let names = ["a b", "a.b", "a_b", "a_b", "Read", &"n".repeat(500)];
                let mut tools: Vec<Value> =
                    names.iter().map(|name| json!({ "name": name })).collect();
                tools.push(json!({ "name": 7 }));
                tools.push(json!({ "name": "bad_schema", "inputSchema": { "type": 7 } }));
                answer(id, &json!({ "tools": tools }));
                return;
            }
            _ => {}
        }
        let mut tools = tools();
        if self.grown {
            tools.push(tool("grown", &json!({})));
        }
        // Two pages.
        let half = tools.len() / 2;
        if params["cursor"].is_null() {
            tools.truncate(half);
            answer(id, &json!({ "tools": tools, "nextCursor": "more" }));
        } else {
            answer(id, &json!({ "tools": tools.split_off(half) }));
        }
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let given = &params["arguments"];
        let token = &params["_meta"]["progressToken"];
        match params["name"].as_str().unwrap_or_default() {
            "echo" => text(id, given["text"].as_str().unwrap_or("nothing")),
            "fails" => answer(
                id,
                &json!({ "content": [{ "type": "text", "text": "it failed" }], "isError": true }),
            ),
            "refuses" => send(&json!({
                "jsonrpc": "2.0", "id": id, "error": { "code": -32602, "message": "wrong \u{1b}[31minput" },
            })),
            "image" => answer(
                id,
                &json!({ "content": [
                    { "type": "image", "data": "R0lGODlhAQABAAAAACwAAAAAAQABAAACADs=", "mimeType": "image/gif" },
                    { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
                ] }),
            ),
            "works" => {
                let steps = given["steps"].as_u64().unwrap_or(3);
                for step in 1..=steps {
                    let params = json!({ "progressToken": token, "progress": step, "total": steps, "message": format!("step {step}") });
                    send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
                }
                text(id, "worked");
            }
            // Never answers; `cancelled` says whether it was told.
            "hangs" => {}
            "cancelled" => text(id, &json!(self.cancelled).to_string()),
            "grow" => {
                self.grown = true;
                for _ in 0..given["times"].as_u64().unwrap_or(1) {
                    send(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
                }
                text(id, "grown");
            }
            "dies" => std::process::exit(7),
            "forks" => {
                // A child that keeps the pipe open.
                let child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn();
                drop(child);
                std::process::exit(0);
            }
            "large" => text(id, &"y".repeat(40 << 20)),
            "long" => text(id, &"word ".repeat(20_000)),
            "garbage" => {
                print_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":["#));
            }
            "wrong-id" => text(&json!(987_654), "for somebody else"),
            "environment" => {
                let key = std::env::var("ANTHROPIC_API_KEY").unwrap_or_default();
                let own = std::env::var("OWN").unwrap_or_default();
                let cwd = std::env::current_dir().unwrap_or_default();
                text(id, &format!("key=[{key}] own=[{own}] cwd={}", cwd.display()));
            }
            "asks" => self.ask(
                id,
                "elicitation/create",
                &json!({ "message": "Who are you?", "requestedSchema": {
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "title": "Name", "default": "Ada" },
                        "age": { "type": "integer", "default": 36 },
                        "kind": { "type": "string", "enum": ["person", "robot"], "default": "robot" },
                        "sure": { "type": "boolean", "default": true },
                    },
                    "required": ["name"],
                } }),
            ),
            "roots" => self.ask(id, "roots/list", &json!({})),
            "samples" => self.ask(id, "sampling/createMessage", &json!({ "messages": [], "maxTokens": 1 })),
            other => text(id, &format!("unknown tool {other}")),
        }
    }

    fn ask(&mut self, call: &Value, method: &str, params: &Value) {
        self.asking = Some(call.clone());
        send(&json!({ "jsonrpc": "2.0", "id": "ask-1", "method": method, "params": params }));
    }
}

fn tools() -> Vec<Value> {
    let mut tools: Vec<Value> = [
        "fails",
        "refuses",
        "image",
        "works",
        "hangs",
        "cancelled",
        "grow",
        "dies",
        "forks",
        "large",
        "long",
        "garbage",
        "wrong-id",
        "environment",
        "asks",
        "roots",
        "samples",
    ]
    .iter()
    .map(|name| tool(name, &json!({})))
    .collect();
    let hints = json!({ "readOnlyHint": true });
    let mut echo = tool("echo", &hints);
    if let Ok(about) = std::env::var(ABOUT_ECHO) {
        echo["description"] = about.into();
    }
    echo["inputSchema"]["properties"] = json!({ "text": { "type": "string" } });
    tools.insert(0, echo);
    tools
}

fn tool(name: &str, annotations: &Value) -> Value {
    json!({
        "name": name,
        "description": format!("The tool {name}\u{202e}"),
        "inputSchema": { "type": "object", "properties": {} },
        "annotations": annotations,
    })
}

fn text(id: &Value, text: &str) {
    answer(
        id,
        &json!({ "content": [{ "type": "text", "text": text }] }),
    );
}

fn answer(id: &Value, result: &Value) {
    send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
}

fn send(message: &Value) {
    print_line(&message.to_string());
}

fn print_line(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    if written.is_err() {
        std::process::exit(0);
    }
}

fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
