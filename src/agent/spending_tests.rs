//! What a conversation has used, as reported while it runs and after it is resumed.

use serde_json::json;

use super::rig::{Rig, call};
use crate::conversation::Limits;
use crate::protocol::{AgentEvent, Price, SessionEvent, TurnEvent, Usage};

#[tokio::test]
async fn usage_is_reported_after_each_response_and_continued_by_the_next_run_of_the_program() {
    let usage = Usage {
        input_tokens: Some(100_000),
        output_tokens: Some(10_000),
        cache_read_input_tokens: Some(100_000),
        ..Usage::default()
    };
    let limits = Limits {
        price: Some(Price {
            input: 1.0,
            output: 10.0,
        }),
        ..Limits::default()
    };
    let spent = |event| match event {
        TurnEvent::Spent(spending) => Some(spending),
        _ => None,
    };
    let opened = |event| match event {
        AgentEvent::Session(SessionEvent::Opened(opened)) => Some(opened.spending),
        _ => None,
    };
    let read = call("a", "Bash", json!({"command": "echo a"}));
    let mut rig = Rig::limited([vec![read]], limits);
    rig.uses(usage);
    let before = rig.wait_for(opened).await;
    assert_eq!((before.used, before.cost), (Usage::default(), Some(0.0)));
    rig.submit("go");
    let first = rig.wait_for_turn(spent).await;
    assert_eq!((first.used, first.context), (usage, Some(210_000)));
    let second = rig.wait_for_turn(spent).await;
    assert_eq!(second.used.input_tokens, Some(200_000));
    assert_eq!(
        second.context,
        Some(210_000),
        "the context has the same size"
    );
    let cost = second.cost.expect("the price is known");
    assert!((cost - 0.6).abs() < 1e-9, "{cost}");
    let summary = rig.wait_for_turn(|event| match event {
        TurnEvent::Finished(summary) => Some(summary),
        _ => None,
    });
    assert_eq!(summary.await.usage, second.used);

    // The next run does not know the price, so the cost is unknown from its first response on.
    let mut rig = rig.resumed().await;
    assert_eq!(rig.wait_for(opened).await, second);
    rig.uses(usage);
    rig.submit("more");
    let third = rig.wait_for_turn(spent).await;
    assert_eq!((third.used.input_tokens, third.cost), (Some(300_000), None));
}
