use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::Builtin;
use crate::protocol::{Block, Message, StopReason, ToolDefinition, ToolUse};
use crate::provider::{Batch, Provider, Request, Response, StreamEvent};

fn request(prompt: &str) -> Request {
    let bash = ToolDefinition {
        name: "Bash".into(),
        description: String::new(),
        input_schema: json!({}),
        strict: false,
        input_examples: Vec::new(),
        server: None,
    };
    Request {
        model: "builtin".into(),
        system: Vec::new(),
        messages: Arc::new(vec![Message::user(prompt)]),
        tools: Arc::new(vec![bash]),
        lasting_tools: 0,
        max_tokens: 1000,
        session: "s".into(),
    }
}

async fn play(model: Builtin, prompt: &str) -> (Vec<StreamEvent>, Response) {
    let mut stream = model
        .open(&request(prompt))
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

#[tokio::test(start_paused = true)]
async fn a_response_is_like_that_of_any_model() {
    let start = Instant::now();
    let (events, response) = play(Builtin::headless(), "run ls").await;
    assert_eq!(start.elapsed(), Duration::ZERO);

    let text = Block::text("Running `ls`.");
    let call = Block::ToolUse(ToolUse {
        id: "builtin_1_0".into(),
        name: "Bash".into(),
        input: json!({"command": "ls", "description": "Run ls"}).into(),
        input_raw: None,
        input_error: None,
    });
    let expected = [
        StreamEvent::Text("Running `ls`.".into()),
        StreamEvent::BlockEnded(text.clone()),
        StreamEvent::ToolStarted {
            id: "builtin_1_0".into(),
            name: "Bash".into(),
        },
        StreamEvent::ToolInput {
            id: "builtin_1_0".into(),
            fragment: r#"{"command":"ls","description":"Run ls"}"#.into(),
        },
        StreamEvent::BlockEnded(call.clone()),
    ];
    assert_eq!(events, expected);
    let whole = Response {
        model: Some("builtin".into()),
        blocks: vec![text, call],
        stop_reason: Some(StopReason::ToolUse),
        stop_reason_raw: Some("tool_use".into()),
        complete: true,
        ..Response::default()
    };
    assert_eq!(response, whole);
}

#[tokio::test(start_paused = true)]
async fn on_a_screen_it_writes_a_few_words_at_a_time_but_never_for_long() {
    let start = Instant::now();
    let (events, response) = play(Builtin::for_screen(), "hello").await;
    let pieces: Vec<String> = events
        .into_iter()
        .filter_map(|event| match event {
            StreamEvent::Text(piece) => Some(piece),
            StreamEvent::Thinking(_)
            | StreamEvent::ToolStarted { .. }
            | StreamEvent::ToolInput { .. }
            | StreamEvent::Serving { .. }
            | StreamEvent::BlockEnded(_) => None,
        })
        .collect();
    assert_eq!(pieces[0], "I'm agent-tui's built-in ");
    assert!(pieces.len() <= 101, "{} pieces", pieces.len());
    assert_eq!(response.blocks, [Block::text(pieces.concat())]);
    assert_eq!(response.stop_reason, Some(StopReason::EndTurn));
    let waits = u32::try_from(pieces.len() - 1).expect("few");
    assert_eq!(start.elapsed(), waits * Duration::from_millis(15));
}
