use std::time::{Duration, Instant};

use serde_json::json;

use super::{Custom, replace};
use crate::permissions::Grant;
use crate::protocol::{CustomTool, InterruptBehavior, ResultBlock};
use crate::tools::any::AnyTool;
use crate::tools::files::scratch::Scratch;
use crate::tools::registry::Registry;
use crate::tools::{ToolError, ToolErrorKind, ToolOutput};

/// One red pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

fn tool(command: &str) -> CustomTool {
    CustomTool {
        name: "weather".into(),
        description: "Says how the weather is".into(),
        input_schema: json!({
            "type": "object",
            "properties": {"days": {"type": "integer"}, "city": {"type": "string"}},
            "required": ["city"],
        }),
        command: command.to_owned(),
        read_only: false,
        timeout_ms: 20_000,
        interrupt: InterruptBehavior::Cancel,
        max_result_chars: None,
        source: "tools/weather.toml".into(),
    }
}

async fn run(scratch: &Scratch, tool: CustomTool) -> Result<ToolOutput, ToolError> {
    let input = json!({"city": "Bern"});
    let tool = Custom::new(tool);
    let cx = scratch.cx.clone();
    tool.call(&input, None, Grant::by_person(), cx).await
}

async fn text(command: &str) -> String {
    let output = run(&Scratch::new(), tool(command)).await.expect("it works");
    ResultBlock::texts(&output.for_model)
}

#[tokio::test]
async fn the_input_is_on_stdin_and_in_a_variable_and_the_output_is_the_result() {
    assert_eq!(text("cat").await, r#"{"city":"Bern"}"#);
    let same = r#"test "$(cat)" = "$AGENT_TUI_INPUT" && printf '%s' "$AGENT_TUI_INPUT""#;
    assert_eq!(text(same).await, r#"{"city":"Bern"}"#);
    assert_eq!(text("true").await, "(no output)");
    assert_eq!(text("echo fine; echo noise >&2").await, "fine");
    assert_eq!(text("echo only this >&2").await, "only this");
}

#[tokio::test]
async fn it_runs_in_the_workspace_without_keys() {
    let scratch = Scratch::new();
    let output = run(&scratch, tool("pwd; echo \"$AGENT_TUI_PROJECT_DIR\"")).await;
    let text = ResultBlock::texts(&output.expect("it works").for_model);
    let root = scratch.root.display();
    assert_eq!(text, format!("{root}\n{root}"));
}

#[test]
fn the_person_who_is_asked_learns_what_will_run() {
    let scratch = Scratch::new();
    let program = Custom::new(tool("./weather.sh --metric")).program(&scratch.cx);
    let program = program.expect("it starts one");
    assert_eq!(program.command, "./weather.sh --metric");
    assert_eq!(program.directory, scratch.root.display().to_string());
    assert_eq!(program.input, "as JSON on stdin and in AGENT_TUI_INPUT");
}

#[tokio::test]
async fn json_with_content_becomes_blocks() {
    let content = json!({"content": [
        {"type": "text", "text": "Sunny"},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        {"type": "image", "data": "bm90aGluZw=="},
        {"type": "sound", "beep": 1},
    ]});
    let scratch = Scratch::new();
    scratch.put("out.json", content.to_string());
    let output = run(&scratch, tool("cat out.json")).await.expect("it works");
    let kinds: Vec<&str> = output
        .for_model
        .iter()
        .map(|block| match block {
            ResultBlock::Text { text } => text.as_str(),
            ResultBlock::Image(_) => "image",
        })
        .collect();
    let sound = r#"{"type":"sound","beep":1}"#;
    assert_eq!(
        kinds,
        [
            "Sunny",
            "image",
            "image",
            "(an image of an unknown format)",
            sound
        ]
    );
}

#[tokio::test]
async fn json_without_content_is_text_and_content_can_be_an_error() {
    assert_eq!(text(r#"echo '{"a": 1}'"#).await, r#"{"a": 1}"#);
    assert_eq!(text(r#"echo '{"content": "plain"}'"#).await, "plain");
    let failing =
        tool(r#"echo '{"content": [{"type": "text", "text": "No city"}], "isError": true}'"#);
    let error = run(&Scratch::new(), failing).await.expect_err("an error");
    assert_eq!(error.message, "No city");
}

#[tokio::test]
async fn an_exit_code_is_an_error_with_the_output_and_cancels_no_sibling() {
    let failing = tool("echo half; echo broken >&2; exit 3");
    let error = run(&Scratch::new(), failing).await.expect_err("an error");
    assert_eq!(error.message, "Exit code 3\nhalf\nbroken");
    assert_eq!(error.kind, ToolErrorKind::Refused);
    assert_eq!(error.for_person.exit, Some(3));
}

#[tokio::test]
async fn a_tool_that_takes_too_long_is_stopped_with_everything_it_started() {
    let scratch = Scratch::new();
    let slow = CustomTool {
        timeout_ms: 200,
        ..tool("echo first; (sleep 60; touch late) & sleep 60")
    };
    let begun = Instant::now();
    let error = run(&scratch, slow).await.expect_err("an error");
    assert!(
        error.message.contains("still running after 200 ms"),
        "{error:?}"
    );
    assert!(error.message.contains("first"), "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_cancelled_tool_ends_with_its_process_group() {
    let scratch = Scratch::new();
    let cancel = scratch.cx.cancel.clone();
    let pids = scratch.path("pids");
    let running = run(&scratch, tool("sleep 61 & echo $! > pids; wait"));
    let stopping = async {
        let pid = loop {
            match std::fs::read_to_string(&pids) {
                Ok(pid) if pid.ends_with('\n') => break pid,
                Ok(_) | Err(_) => tokio::task::yield_now().await,
            }
        };
        cancel.cancel();
        pid
    };
    let (ended, pid) = tokio::join!(running, stopping);
    assert_eq!(ended.expect_err("cancelled").kind, ToolErrorKind::Cancelled);
    let process = format!("/proc/{}", pid.trim());
    assert!(!std::path::Path::new(&process).exists(), "{process}");
}

#[test]
fn a_read_only_tool_is_concurrency_safe_and_the_first_string_is_the_subject() {
    let input = json!({"days": 2, "city": "Bern"});
    for read_only in [true, false] {
        let tool = CustomTool {
            read_only,
            ..tool("true")
        };
        let facts = Custom::new(tool).facts(&input);
        assert_eq!((facts.safe, facts.read_only), (read_only, read_only));
        assert_eq!(facts.subject.as_deref(), Some("Bern"));
    }
}

#[test]
fn an_input_that_does_not_match_the_schema_is_refused() {
    let custom = Custom::new(tool("true"));
    assert_eq!(custom.violations(&json!({"city": "Bern"})), [] as [&str; 0]);
    let violations = custom.violations(&json!({"days": "two"}));
    assert_eq!(violations.len(), 2, "{violations:?}");
}

#[test]
fn a_name_that_is_taken_is_refused_and_both_files_are_named() {
    let mut registry = Registry::built_in();
    let before: Vec<String> = registry.names().map(str::to_owned).collect();
    let other = CustomTool {
        source: ".agent-tui/tools/w.toml".into(),
        ..tool("true")
    };
    let builtin = CustomTool {
        name: "Read".into(),
        ..tool("true")
    };
    let problems = replace(&mut registry, &[tool("true"), other, builtin]);
    assert_eq!(problems.len(), 2);
    for (problem, words) in problems.iter().zip([
        ["`weather`", "tools/weather.toml", ".agent-tui/tools/w.toml"],
        ["`Read`", "agent-tui", "tools/weather.toml"],
    ]) {
        for word in words {
            assert!(problem.contains(word), "{problem}");
        }
    }
    assert_eq!(replace(&mut registry, &[]), [] as [&str; 0]);
    assert_eq!(registry.names().collect::<Vec<_>>(), before);
}
