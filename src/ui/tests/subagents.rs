//! Subagents: in the list, in the conversation, and as a conversation of their own.

use insta::assert_snapshot;
use serde_json::json;

use crate::app::pointer::PointerKind;
use crate::app::rig::App;
use crate::protocol::todo::{Todo, TodoStatus};
use crate::protocol::{CallOutcome, Ending, TurnEvent};
use crate::ui::rig::Screen;

/// Two at work, one that is done.
fn three() -> App {
    let mut app = App::working();
    app.model_writes("I'll split this in three.");
    app.tool("app", "Read")
        .queued(json!({"file_path": "app.py"}))
        .running()
        .takes(200)
        .completes("one\ntwo\n")
        .yielded();
    for name in ["find all callers", "write the tests", "check the docs"] {
        app.starts_agent(name, false);
    }
    app.turn_event(TurnEvent::Streamed);
    app.nested("find all callers", "grep", "Grep")
        .queued(json!({"pattern": "total\\("}))
        .running()
        .takes(900)
        .completes("a\nb\nc\n")
        .yielded();
    app.subagent_uses("find all callers", 3_120);
    app.nested("find all callers", "read", "Read")
        .queued(json!({"file_path": "src/report.py"}))
        .running();
    app.nested("check the docs", "ls", "LS")
        .queued(json!({"path": "docs"}))
        .running()
        .takes(2_000)
        .completes("README.md");
    app.subagent_uses("check the docs", 12_000);
    app.agent_ends(
        "check the docs",
        "README needs **one line**; nothing else mentions `total()`.",
    );
    app.nested("write the tests", "pytest", "Bash")
        .queued(json!({"command": "pytest -q tests"}))
        .running()
        .prints("tests/test_total.py ....F\n1 failed, 4 passed\n")
        .takes(9_000);
    app
}

fn click(screen: &mut Screen, text: &str) {
    screen.frame();
    screen.point(PointerKind::Pressed { times: 1 }, text);
    screen.point(PointerKind::Released, text);
}

#[test]
fn three_at_once() {
    for (width, height) in [(80, 24), (120, 40), (160, 40)] {
        let mut screen = three().on(width, height);
        assert_snapshot!(format!("three_{width}x{height}"), screen.text());
    }
}

#[test]
fn the_conversation_of_one() {
    for (width, height) in [(80, 24), (120, 40), (160, 40)] {
        let mut screen = three().on(width, height);
        screen.press("ctrl+t home down enter");
        assert_snapshot!(format!("view_{width}x{height}"), screen.draw());
    }
}

#[test]
fn all_calls_of_one_in_the_list() {
    let mut screen = three().on(160, 40);
    screen.press("ctrl+t end");
    assert_snapshot!("chosen_160x40", screen.text());
    screen.press("space");
    assert!(screen.text().contains("LS docs"));
}

#[test]
fn a_click_on_its_mark_folds_it_and_on_its_name_chooses_it() {
    let mut screen = three().on(160, 40);
    assert!(screen.text().contains("✓→ Grep total"));
    click(&mut screen, "find all callers     ");
    assert!(screen.text().contains("✓→ Grep total"));
    click(&mut screen, "●  find all callers");
    let shown = screen.text();
    assert!(!shown.contains("✓→ Grep total"), "{shown}");
}

#[test]
fn words_are_searched_for_in_the_conversation_in_view() {
    let mut screen = three().on(100, 30);
    screen.press("ctrl+t home down enter");
    screen.frame();
    screen.press("/").len();
    screen.types("report");
    assert_eq!(screen.lines_with("1 of 1").len(), 1);
    screen.press("esc");
    assert!(screen.state.viewed().is_some());
    screen.frame();
    screen.press("esc");
    assert!(screen.state.viewed().is_none());
}

#[test]
fn the_main_conversation_keeps_its_scroll_position() {
    let mut app = three();
    for number in 0..60 {
        app.model_writes(&format!("\n\nparagraph {number}"));
    }
    let mut screen = app.on(80, 24);
    screen.press("pgup pgup");
    let before = screen.text();
    screen.press("ctrl+t home down enter");
    screen.frame();
    screen.press("esc esc");
    assert_eq!(screen.text(), before);
}

#[test]
fn one_in_the_background_is_listed_with_what_it_does() {
    let mut app = App::working();
    app.starts_agent("check the docs", true);
    app.tool("check the docs", "Task")
        .ends_as(CallOutcome::Backgrounded, "The subagent works")
        .yielded();
    app.ends(Ending::Done);
    app.nested("check the docs", "ls", "LS")
        .queued(json!({"path": "docs"}))
        .running()
        .takes(3_000);
    let mut screen = app.on(100, 30);
    let line = screen.lines_with("in background").join("\n");
    assert!(line.contains("check the docs"), "{line}");
    assert!(line.contains("LS docs · 1 call"), "{line}");
    screen.subagent_uses("check the docs", 3_120);
    screen.types("/tasks");
    screen.press("enter");
    let shown = screen.text();
    assert!(shown.contains("running 3s · 3.1k tokens"), "{shown}");
    assert!(shown.contains("LS docs"), "{shown}");
    screen.press("enter");
    let shown = screen.text();
    assert!(shown.contains("explore agent · 3s · 1 call"), "{shown}");
}

#[test]
fn its_planned_steps_are_shown_with_its_conversation_only() {
    let mut app = three();
    let step = |content: &str, status| Todo {
        content: content.to_owned(),
        status,
        active_form: format!("{content} now"),
    };
    let steps = vec![
        step("find them", TodoStatus::Completed),
        step("count them", TodoStatus::Pending),
    ];
    app.subagent_event("find all callers", TurnEvent::Planned(steps));
    let mut screen = app.on(100, 30);
    assert!(!screen.text().contains("count them"));
    screen.press("ctrl+t home down enter");
    assert_eq!(screen.lines_with("○ count them").len(), 1);
    screen.frame();
    screen.press("esc");
    assert!(!screen.text().contains("count them"));
}
