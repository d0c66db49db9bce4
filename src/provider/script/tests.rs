use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{NO_MORE, Script};
use crate::protocol::{Block, Message, Origin, StopReason, ToolUse};
use crate::provider::{
    Batch, Provider, Request, Response, StreamError, StreamErrorKind, StreamEvent,
};

const TOML: &str = r#"
# A model that looks around and then breaks down twice.
[[turn]]
text = "I will look."
[[turn.step]]
call = "Bash"
input = { command = "ls" }
[[turn.step]]
call = "Read"
id = "mine"

[[turn]]
step = [
  { thinking = "Hm." },
  { text = "Let me " },
  { delay_ms = 500 },
  { text = "see." },
  { error = "overloaded_error", message = "Overloaded", times = 2 },
  { cut = true },
  { call = "Bash", raw = '{"com' },
  { stop_reason = "max_tokens" },
]
"#;

const JSONL: &str = r#"{"text": "I will look.", "steps": [{"call": "Bash", "input": {"command": "ls"}}, {"call": "Read", "id": "mine"}]}

{"steps": [{"thinking": "Hm."}, {"text": "Let me "}, {"delay_ms": 500}, {"text": "see."}, {"error": "overloaded_error", "message": "Overloaded", "times": 2}, {"cut": true}, {"call": "Bash", "raw": "{\"com"}, {"stop_reason": "max_tokens"}]}
"#;

fn script(text: &str) -> Script {
    Script::parse("demo", text).unwrap_or_else(|error| panic!("{error}"))
}

fn problem(text: &str) -> String {
    Script::parse("demo", text)
        .expect_err("it is wrong")
        .to_string()
}

/// A conversation in which the model has spoken so many times.
fn request(answers: usize) -> Request {
    let origin = Origin {
        provider: "script".into(),
        model: "script".into(),
    };
    let mut messages = vec![Message::user("go")];
    for _ in 0..answers {
        messages.push(Message::from_assistant(
            vec![Block::text("…")],
            origin.clone(),
        ));
        messages.push(Message::user("go on"));
    }
    Request {
        model: "script".into(),
        system: Vec::new(),
        messages: Arc::new(messages),
        tools: Arc::default(),
        lasting_tools: 0,
        max_tokens: 1000,
        session: "s".into(),
    }
}

async fn play(script: &Script, answers: usize) -> (Vec<StreamEvent>, Response) {
    let mut stream = script
        .open(&request(answers))
        .await
        .expect("it always answers");
    let mut all = Vec::new();
    loop {
        match stream.next().await {
            Batch::Events(events) => all.extend(events),
            Batch::Over(events, response) => {
                all.extend(events);
                return (all, *response);
            }
        }
    }
}

fn call(id: &str, name: &str, input: Value) -> ToolUse {
    ToolUse {
        id: id.into(),
        name: name.into(),
        input: input.into(),
        input_raw: None,
        input_error: None,
    }
}

fn text(piece: &str) -> StreamEvent {
    StreamEvent::Text(piece.into())
}

#[test]
fn the_documented_example_is_a_script() {
    let lines = include_str!("mod.rs").lines();
    let example: Vec<&str> = lines
        .skip_while(|line| *line != "//! ```toml")
        .skip(1)
        .take_while(|line| *line != "//! ```")
        .map(|line| line.trim_start_matches("//!"))
        .collect();
    assert_eq!(script(&example.join("\n")).turns.len(), 2);
}

#[test]
fn toml_and_jsonl_say_the_same() {
    assert_eq!(script(TOML).turns, script(JSONL).turns);
}

#[tokio::test]
async fn a_turn_plays_its_text_and_then_its_steps() {
    let (events, response) = play(&script(TOML), 0).await;
    let bash = call("script_1_2", "Bash", json!({"command": "ls"}));
    let read = call("mine", "Read", json!({}));
    let expected = [
        text("I "),
        text("will "),
        text("look."),
        StreamEvent::BlockEnded(Block::text("I will look.")),
        StreamEvent::ToolStarted {
            id: bash.id.clone(),
            name: "Bash".into(),
        },
        StreamEvent::ToolInput {
            id: bash.id.clone(),
            fragment: r#"{"command":"ls"}"#.into(),
        },
        StreamEvent::BlockEnded(Block::ToolUse(bash.clone())),
        StreamEvent::ToolStarted {
            id: "mine".into(),
            name: "Read".into(),
        },
        StreamEvent::ToolInput {
            id: "mine".into(),
            fragment: "{}".into(),
        },
        StreamEvent::BlockEnded(Block::ToolUse(read.clone())),
    ];
    assert_eq!(events, expected);
    let whole = Response {
        model: Some("script".into()),
        blocks: vec![
            Block::text("I will look."),
            Block::ToolUse(bash),
            Block::ToolUse(read),
        ],
        stop_reason: Some(StopReason::ToolUse),
        stop_reason_raw: Some("tool_use".into()),
        complete: true,
        ..Response::default()
    };
    assert_eq!(response, whole);
}

#[tokio::test(start_paused = true)]
async fn failures_come_so_many_times_and_then_the_turn_plays_on() {
    let script = script(TOML);
    let thinking = Block::Thinking {
        thinking: "Hm.".into(),
        signature: None,
        item: None,
    };
    let failed = |error: &StreamError| Response {
        model: Some("script".into()),
        blocks: vec![thinking.clone(), Block::text("Let me see.")],
        error: Some(error.clone()),
        ..Response::default()
    };
    let overloaded = StreamError {
        kind: StreamErrorKind::Api,
        code: "overloaded_error".into(),
        message: "Overloaded".into(),
        retryable: true,
    };
    let truncated = StreamError {
        kind: StreamErrorKind::Truncated,
        code: "truncated".into(),
        message: "the stream ended in the middle of the response".into(),
        retryable: true,
    };
    let start = Instant::now();
    assert_eq!(play(&script, 1).await.1, failed(&overloaded));
    assert_eq!(start.elapsed(), Duration::from_millis(500));
    assert_eq!(play(&script, 1).await.1, failed(&overloaded));
    assert_eq!(play(&script, 1).await.1, failed(&truncated));

    let broken = ToolUse {
        input_raw: Some("{\"com".into()),
        input_error: Some("invalid_json".into()),
        ..call("script_2_7", "Bash", Value::Null)
    };
    let whole = Response {
        model: Some("script".into()),
        blocks: vec![
            thinking.clone(),
            Block::text("Let me see."),
            Block::ToolUse(broken),
        ],
        stop_reason: Some(StopReason::MaxTokens),
        stop_reason_raw: Some("max_tokens".into()),
        complete: true,
        ..Response::default()
    };
    assert_eq!(play(&script, 1).await.1, whole);
}

#[tokio::test]
async fn an_error_that_would_come_again_is_not_retryable() {
    let script = script("[[turn]]\nstep = [{ error = 'authentication_error' }]");
    let error = play(&script, 0).await.1.error;
    let expected = StreamError {
        kind: StreamErrorKind::Api,
        code: "authentication_error".into(),
        message: "the script fails here with `authentication_error`".into(),
        retryable: false,
    };
    assert_eq!(error, Some(expected));
}

#[tokio::test(start_paused = true)]
async fn words_can_take_their_time() {
    let script = script("[[turn]]\nword_ms = 20\ntext = 'one two three'");
    let start = Instant::now();
    let (events, _) = play(&script, 0).await;
    assert_eq!(events[..3], [text("one "), text("two "), text("three")]);
    assert_eq!(start.elapsed(), Duration::from_millis(40));
}

#[tokio::test(start_paused = true)]
async fn a_delay_survives_cancelling() {
    let script = script(r#"{"steps": [{"delay_ms": 1000}, {"text": "late"}]}"#);
    let mut stream = script.open(&request(0)).await.expect("it always answers");
    let start = Instant::now();
    for _ in 0..4 {
        tokio::select! {
            biased;
            batch = stream.next() => panic!("too early: {batch:?}"),
            () = tokio::time::sleep(Duration::from_millis(200)) => {}
        }
    }
    let Batch::Over(events, _) = stream.next().await else {
        panic!("nothing is left to wait for");
    };
    assert_eq!(events[0], text("late"));
    assert_eq!(start.elapsed(), Duration::from_secs(1));
}

#[tokio::test]
async fn an_empty_text_is_an_empty_response() {
    let (events, response) = play(&script("[[turn]]\ntext = ''"), 0).await;
    assert_eq!(events, []);
    assert_eq!(response.blocks, []);
    assert!(response.complete);
}

#[tokio::test]
async fn after_the_last_turn_it_says_so() {
    let (_, response) = play(&script(TOML), 2).await;
    assert_eq!(response.blocks, [Block::text(NO_MORE)]);
    assert_eq!(response.stop_reason, Some(StopReason::EndTurn));
}

#[test]
fn problems_name_file_line_and_column_and_what_is_allowed() {
    let step_kinds = "a step is exactly one of `text`, `thinking`, `call`, `delay_ms`, `error`, `cut` and `stop_reason`";
    for (text, expected) in [
        (
            "[[turn]]\ntex = 'x'",
            "demo:2:1: unknown field `tex`, expected one of `agent`, `text`, `step`, `steps`, `word_ms`",
        ),
        (
            "[[turn]]\ntext = ",
            "demo:2:8: string values must be quoted, expected literal string",
        ),
        (
            "[[turns]]\ntext = ''",
            "demo:1:3: unknown field `turns`, expected `turn`",
        ),
        (
            "[[turn]]\nword_ms = 1",
            "demo:1:1: a turn needs `text` or steps",
        ),
        (
            "{\"text\": \"x\"}\n{\"steps\": [{\"txt\": \"x\"}]}",
            "demo:2:17: unknown field `txt`, expected one of `text`, `thinking`, `call`, `input`, `raw`, `id`, \
             `delay_ms`, `error`, `message`, `cut`, `times`, `stop_reason`",
        ),
        (
            "{\"text\": 1}",
            "demo:1:10: invalid type: integer `1`, expected a string",
        ),
        ("{\"text\": \"x\"", "demo:1:12: EOF while parsing an object"),
        (
            "[[turn]]\n[[turn.step]]\ntext = 'a'\n[[turn.step]]\nid = 'b'",
            "demo:4:1: `input`, `raw` and `id` go with `call`",
        ),
        (
            "[[turn]]\nstep = ['x']",
            "demo:2:9: invalid type: string \"x\", expected a step: a table such as `{ text = \"…\" }`",
        ),
        ("{}", "demo:1:2: a turn needs `text` or steps"),
    ] {
        assert_eq!(problem(text), expected, "{text}");
    }
    assert_eq!(
        problem("[[turn]]\nstep = [{}]"),
        format!("demo:2:9: {step_kinds}")
    );
    assert_eq!(
        problem("[[turn]]\nstep = [\n  { text = 'a', cut = true },\n]"),
        format!("demo:3:3: {step_kinds}")
    );
    assert_eq!(
        problem(r#"{"steps": [{}]}"#),
        format!("demo:1:13: {step_kinds}")
    );
}

#[test]
fn keys_stand_only_where_they_mean_something() {
    for (step, expected) in [
        (
            "{ text = 'a', input = {} }",
            "`input`, `raw` and `id` go with `call`",
        ),
        (
            "{ cut = true, message = 'a' }",
            "`message` goes with `error`",
        ),
        (
            "{ text = 'a', times = 2 }",
            "`times` goes with `error` or `cut`",
        ),
        ("{ cut = false }", "`cut` can only be `true`"),
        (
            "{ call = 'A', input = {}, raw = '' }",
            "a call has `input` or `raw`, not both",
        ),
        (
            "{ stop_reason = 'x' }, { text = 'a' }",
            "`stop_reason` ends the turn: no step can follow it",
        ),
    ] {
        let problem = problem(&format!("[[turn]]\nstep = [{step}]"));
        assert!(problem.ends_with(expected), "{step}: {problem}");
    }
}

#[test]
fn a_script_without_turns_and_a_missing_one_are_errors() {
    let empty = "the script `demo` has no turns: it needs at least one `[[turn]]`, or a line of JSON with one";
    assert_eq!(problem("# nothing\n"), empty);
    let missing = Script::load(Path::new("/nowhere/demo.toml")).expect_err("there is none");
    let message = missing.to_string();
    assert!(
        message.starts_with("can't read the script `/nowhere/demo.toml`: "),
        "{message}"
    );
}

#[tokio::test]
async fn a_conversation_that_begins_with_the_words_of_an_agent_plays_its_turns() {
    let script = script(
        "[[turn]]\ntext = 'main one'\n[[turn]]\nagent = 'callers'\ntext = 'agent one'\n\
         [[turn]]\ntext = 'main two'\n[[turn]]\nagent = 'callers'\ntext = 'agent two'\n",
    );
    let message = async |first: &str, answers: usize| {
        let mut request = request(answers);
        Arc::make_mut(&mut request.messages)[0] = Message::user(first);
        let mut stream = script.open(&request).await.expect("it always answers");
        loop {
            if let Batch::Over(_, response) = stream.next().await {
                return Block::texts(&response.blocks);
            }
        }
    };
    assert_eq!(message("go", 0).await, "main one");
    assert_eq!(message("go", 1).await, "main two");
    assert_eq!(message("find all callers of f", 0).await, "agent one");
    assert_eq!(message("find all callers of f", 1).await, "agent two");
    assert_eq!(message("find all callers of f", 2).await, NO_MORE);
}
