//! Faults of what the program talks with: the provider, its settings, its standard streams.

use serde_json::{Value, json};

use crate::support::wire::{bash, text};
use crate::support::{Program, Server, Wire};

const BYPASS: [&str; 4] = [
    "--permission-mode",
    "bypassPermissions",
    "--output-format",
    "stream-json",
];

/// A call whose arguments are these words, whatever they are.
fn raw_call(wire: Wire, arguments: &[&str]) -> String {
    let event = crate::support::wire::event;
    match wire {
        Wire::Anthropic => {
            let mut all = event(&json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "tool_use", "id": "c1", "name": "Bash", "input": {}}}));
            for piece in arguments {
                all += &event(&json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "input_json_delta", "partial_json": piece}}));
            }
            all + &event(&json!({"type": "content_block_stop", "index": 0}))
        }
        Wire::OpenAi => {
            let chunk = |call: Value| {
                let delta = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
                format!("data: {delta}\n\n")
            };
            let mut all = chunk(json!({"index": 0, "id": "c1", "function": {"name": "Bash"}}));
            for piece in arguments {
                all += &chunk(json!({"index": 0, "function": {"arguments": piece}}));
            }
            all
        }
        Wire::Responses => {
            let item = |arguments: &str| {
                json!({"id": "fc_0", "type": "function_call", "status": "completed",
                    "call_id": "c1", "name": "Bash", "arguments": arguments})
            };
            let mut all = event(
                &json!({"type": "response.output_item.added", "output_index": 0, "item": item("")}),
            );
            for piece in arguments {
                all += &event(&json!({"type": "response.function_call_arguments.delta",
                    "output_index": 0, "item_id": "fc_0", "delta": piece}));
            }
            let whole = item(&arguments.concat());
            all + &event(
                &json!({"type": "response.output_item.done", "output_index": 0, "item": whole}),
            )
        }
    }
}

#[test]
fn arguments_with_garbage_behind_them_are_not_run_and_the_model_is_told() {
    let whole = r#"{"command": "touch made"}"#;
    for wire in Wire::ALL {
        for garbage in [
            &[whole, " trailing"][..],
            &[whole, "</tool_call>"],
            &[whole, whole, "}"],
            &[r#"{"command": "touch made"} trailing"#],
            &[r#"{"command": "touch made"}, {"command": "touch more"}"#],
        ] {
            let program = Program::new();
            let parts = [bash("c1", "")];
            let stream = wire.head() + &raw_call(wire, garbage) + &wire.tail(&parts[..]);
            // The wire that sums its items up says the same again.
            let stream = stream.replace(
                r#""arguments":"{\"command\":\"\"}""#,
                &format!("\"arguments\":{}", json!(garbage.concat())),
            );
            let server = Server::start([
                crate::support::Reply::stream(stream),
                wire.reply(&[text("done")]),
            ]);
            let output = program.ask(&server, wire, &[&["-p", "go"], &BYPASS[..]].concat());
            assert_eq!(output.code, Some(0), "{wire:?} {garbage:?}: {output:?}");
            assert!(!program.path("made").exists(), "{wire:?} {garbage:?}");
            let results = wire.results(&server.bodies()[1]);
            assert_eq!(results.len(), 1, "{wire:?} {garbage:?}: {results:?}");
            assert!(
                results[0].1.contains("not a JSON object"),
                "{wire:?} {garbage:?}: {results:?}"
            );
        }
    }
}
