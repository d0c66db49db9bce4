//! Connections to servers that behave well and badly.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::mcp::rig::{connect, server};

const LONG: Duration = Duration::from_secs(60);

async fn ready(mode: &str) -> Arc<Connection> {
    connect(mode).await.expect("it connects")
}

/// Calls a tool with the most patience.
async fn call(connection: &Connection, tool: &str, input: Value) -> Result<Value, RequestError> {
    let never = CancellationToken::new();
    let limit = Limit {
        idle: LONG,
        cancel: &never,
    };
    let params = json!({ "name": tool, "arguments": input });
    connection.request("tools/call", params, &limit, None).await
}

fn text(result: &Result<Value, RequestError>) -> &str {
    let text = result
        .as_ref()
        .ok()
        .and_then(|it| it["content"][0]["text"].as_str());
    text.unwrap_or_else(|| panic!("{result:?}"))
}

async fn echo(connection: &Connection) {
    let result = call(connection, "echo", json!({ "text": "hello" })).await;
    assert_eq!(text(&result), "hello");
}

#[tokio::test]
async fn a_server_shakes_hands_lists_all_pages_and_answers_calls() {
    let connection = ready("healthy").await;
    let offered = connection.capabilities.clone();
    assert_eq!(offered.instructions.as_deref(), Some("Use echo first"));
    assert!(offered.tools && offered.prompts && offered.resources);
    let never = CancellationToken::new();
    let limit = Limit {
        idle: LONG,
        cancel: &never,
    };
    let tools = connection
        .list("tools/list", "tools", &limit)
        .await
        .expect("a list");
    assert!(tools.len() > 10, "{}", tools.len());
    echo(&connection).await;
    connection.close().await;
}

#[tokio::test]
async fn text_that_is_no_message_is_ignored() {
    let connection = ready("chatters").await;
    echo(&connection).await;
    connection.close().await;
}

#[tokio::test]
async fn a_server_that_exits_says_why_in_its_last_words() {
    let failed = connect("exits").await.err();
    let text = "the server exited with code 3: TOKEN is not set".to_owned();
    assert_eq!(failed, Some(Failure::Broken(text)));
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_named() {
    let mut missing = server("healthy");
    let Transport::Stdio { command, .. } = &mut missing.transport else {
        unreachable!("it is a process")
    };
    *command = "no-such-program-anywhere".to_owned();
    let (context, _home) = crate::mcp::rig::server_context();
    let failed = Connection::open(&missing, &context, Log::default(), None)
        .await
        .err();
    let Some(Failure::Broken(text)) = failed else {
        panic!("{failed:?}")
    };
    assert!(
        text.contains("`no-such-program-anywhere` was not found"),
        "{text}"
    );
}

#[tokio::test]
async fn an_unknown_version_of_the_protocol_is_refused() {
    let failed = connect("old").await.err();
    assert!(
        matches!(&failed, Some(Failure::Broken(text)) if text.contains("1999-01-01")),
        "{failed:?}"
    );
}

#[tokio::test]
async fn cancelling_a_call_tells_the_server() {
    let connection = ready("healthy").await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    let limit = Limit {
        idle: LONG,
        cancel: &cancel,
    };
    let params = json!({ "name": "hangs" });
    let ended = connection.request("tools/call", params, &limit, None).await;
    assert_eq!(ended, Err(RequestError::Cancelled));
    let result = call(&connection, "cancelled", json!({})).await;
    assert_ne!(text(&result), "[]");
    connection.close().await;
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_too() {
    let connection = ready("healthy").await;
    let never = CancellationToken::new();
    let limit = Limit {
        idle: LONG,
        cancel: &never,
    };
    let mut call_it =
        Box::pin(connection.request("tools/call", json!({ "name": "hangs" }), &limit, None));
    // The answer of a later call proves that the first one was sent.
    tokio::select! {
        _ = &mut call_it => panic!("it never answers"),
        () = echo(&connection) => {}
    }
    drop(call_it);
    loop {
        let result = call(&connection, "cancelled", json!({})).await;
        if text(&result) != "[]" {
            break;
        }
    }
    connection.close().await;
}

#[tokio::test]
async fn a_call_without_an_answer_ends_at_its_limit() {
    let connection = ready("healthy").await;
    let never = CancellationToken::new();
    let idle = Duration::from_millis(50);
    let limit = Limit {
        idle,
        cancel: &never,
    };
    let ended = connection
        .request("tools/call", json!({ "name": "hangs" }), &limit, None)
        .await;
    assert_eq!(ended, Err(RequestError::TimedOut(idle)));
    echo(&connection).await;
    connection.close().await;
}

#[tokio::test]
async fn progress_arrives_in_order_and_before_the_result() {
    let connection = ready("healthy").await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    let watcher = Watcher::new(move |progress| {
        kept.lock()
            .expect("unpoisoned")
            .push(progress.message.unwrap_or_default());
    });
    let never = CancellationToken::new();
    let limit = Limit {
        idle: LONG,
        cancel: &never,
    };
    let params = json!({ "name": "works", "arguments": { "steps": 500 } });
    let result = connection
        .request("tools/call", params, &limit, Some(watcher))
        .await;
    assert_eq!(text(&result), "worked");
    let expected: Vec<String> = (1..=500).map(|step| format!("step {step}")).collect();
    assert_eq!(*seen.lock().expect("unpoisoned"), expected);
    connection.close().await;
}

#[tokio::test]
async fn what_can_not_be_read_ends_its_call_and_no_other() {
    let connection = ready("healthy").await;
    for tool in ["large", "garbage", "wrong-id"] {
        let ended = call(&connection, tool, json!({})).await;
        assert!(
            matches!(ended, Err(RequestError::Refused(_))),
            "{tool}: {ended:?}"
        );
        echo(&connection).await;
    }
    connection.close().await;
}

#[tokio::test]
async fn a_server_that_dies_or_leaves_a_child_with_the_pipe_ends_its_calls_at_once() {
    for (tool, how) in [
        ("dies", "exited with code 7"),
        ("forks", "exited with code 0"),
    ] {
        let connection = ready("healthy").await;
        let begun = Instant::now();
        let ended = call(&connection, tool, json!({})).await;
        let text = format!("{ended:?}");
        assert!(text.contains(how), "{text}");
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "{:?}",
            begun.elapsed()
        );
        connection.closed().await;
        let later = call(&connection, "echo", json!({})).await;
        assert!(matches!(later, Err(RequestError::Lost(_))), "{later:?}");
        connection.close().await;
    }
}

#[tokio::test]
async fn a_server_that_ignores_the_end_of_its_input_is_ended() {
    let connection = ready("stays").await;
    let begun = Instant::now();
    connection.close().await;
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_list_that_is_too_large_or_too_deep_is_refused() {
    for mode in ["large-list", "deep-list"] {
        let connection = ready(mode).await;
        let never = CancellationToken::new();
        let limit = Limit {
            idle: LONG,
            cancel: &never,
        };
        let listed = connection.list("tools/list", "tools", &limit).await;
        assert!(
            matches!(listed, Err(RequestError::Refused(_))),
            "{mode}: {listed:?}"
        );
        echo(&connection).await;
        connection.close().await;
    }
}

#[tokio::test]
async fn floods_stop_only_the_server_that_sends_them() {
    let noisy = ready("floods-stderr").await;
    echo(&noisy).await;
    noisy.close().await;
    let failed = connect("floods-stdout").await.err();
    assert!(matches!(failed, Some(Failure::Broken(_))), "{failed:?}");
}

#[tokio::test]
async fn servers_get_the_workspace_and_their_own_variables_but_no_provider_keys() {
    let (context, home) = crate::mcp::rig::server_context();
    let mut configured = server("healthy");
    let Transport::Stdio { env, .. } = &mut configured.transport else {
        unreachable!("it is a process")
    };
    env.insert("OWN".to_owned(), "mine".to_owned());
    let connection = Connection::open(&configured, &context, Log::default(), None)
        .await
        .expect("it connects");
    let result = call(&connection, "environment", json!({})).await;
    let cwd = home.path().canonicalize().expect("it exists");
    assert_eq!(
        text(&result),
        format!("key=[] own=[mine] cwd={}", cwd.display())
    );
    let roots = call(&connection, "roots", json!({})).await;
    assert!(
        text(&roots).contains(&crate::mcp::handler::file_uri(&cwd)),
        "{roots:?}"
    );
    let sampling = call(&connection, "samples", json!({})).await;
    assert!(text(&sampling).contains("-32601"), "{sampling:?}");
    connection.close().await;
}
