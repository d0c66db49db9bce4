//! The list of calls: its bars, when it is visible, and what is in it.

use std::time::Duration;

use insta::assert_snapshot;
use ratatui::layout::Position;
use serde_json::json;

use super::themes::styled;
use crate::app::job::Job;
use crate::app::pointer::PointerKind;
use crate::app::rig::App;
use crate::app::{Effect, Focus};
use crate::protocol::{BackgroundEnd, CallOutcome, Ending, TurnEvent};
use crate::theme::Depth;
use crate::ui::rig::Screen;

/// A turn at work: reads, a command that prints, a change that asks for permission, and a call that waits for that one.
fn at_work(mut app: App) -> App {
    app.model_writes("I'll look at the parser, then run the tests.");
    for file in ["src/parse.rs", "src/lib.rs"] {
        app.tool(file, "Read")
            .queued(json!({"file_path": file}))
            .running()
            .takes(300)
            .completes("one\ntwo\n")
            .yielded();
    }
    app.tool("grep", "Grep")
        .queued(json!({"pattern": "fn parse"}))
        .running()
        .takes(100)
        .completes("src/parse.rs");
    app.tool("test", "Bash")
        .queued(json!({"command": "cargo test"}))
        .running()
        .prints("running 12 tests\ntest parse ... ok\n")
        .takes(4_000);
    app.turn_event(TurnEvent::Streamed);
    app.tool("edit", "Edit")
        .queued(json!({"file_path": "src/parse.rs"}))
        .takes(1_000)
        .waits()
        .takes(2_000);
    app.tool("last", "Bash")
        .queued(json!({"command": "git status"}))
        .takes(500);
    app
}

fn click(screen: &mut Screen, at: Position) {
    screen.point_at(PointerKind::Pressed { times: 1 }, at);
    screen.point_at(PointerKind::Released, at);
}

pub fn in_background(command: &str) -> App {
    let mut app = App::working();
    app.tool("server", "Bash")
        .queued(json!({"command": command}))
        .running()
        .prints("listening on 3000\n")
        .ends_as(CallOutcome::Backgrounded, "Command running in background")
        .yielded();
    app.ends(Ending::Done);
    app
}

#[test]
fn a_turn_at_work() {
    for (width, height) in [(60, 20), (80, 24), (120, 40), (200, 60)] {
        let mut screen = at_work(App::working()).on(width, height);
        assert_snapshot!(format!("at_work_{width}"), screen.text());
    }
}

#[test]
fn a_turn_at_work_in_other_themes() {
    for (theme, depth) in [("light", Depth::True), ("dark", Depth::None)] {
        let app = at_work(App::working().with_theme(theme, depth));
        let mut screen = app.on(200, 30);
        let text = screen.text();
        assert!(text.contains("┄"), "{text}");
        let name = format!("at_work_{theme}_{depth:?}").to_lowercase();
        assert_snapshot!(name, styled(screen.buffer()));
    }
}

#[test]
fn the_conversation_is_never_narrower_than_100_columns_for_the_panel() {
    for width in 90..260 {
        let screen = at_work(App::working()).on(width, 30);
        let conversation = screen.caches.conversation().width;
        let beside = conversation + 1 < width;
        assert_eq!(beside, width >= 137, "{width}: {conversation}");
        assert!(!beside || conversation >= 100, "{width}: {conversation}");
    }
}

#[test]
fn the_panel_goes_ten_seconds_after_the_last_call() {
    let mut app = at_work(App::working());
    app.ends(Ending::Done);
    let mut screen = app.on(200, 40);
    screen.after(Duration::from_secs(9));
    assert!(screen.text().contains("│ Turn 1"));
    let until = screen.state.wake_at().expect("it goes by itself");
    let left = until.saturating_duration_since(screen.state.now);
    assert_eq!(left, Duration::from_secs(1));
    screen.after(left);
    assert!(!screen.text().contains("│ Turn 1"));
    assert_eq!(screen.state.wake_at(), None);
}

#[test]
fn an_answer_without_calls_shows_no_panel() {
    let mut app = App::working();
    app.model_writes("Hello.");
    let mut screen = app.on(200, 40);
    assert!(!screen.text().contains("Turn 1"));
    screen.ends(Ending::Done);
    assert!(!screen.text().contains("Turn 1"));
}

#[test]
fn a_pinned_panel_stays_and_is_remembered() {
    let mut app = at_work(App::working());
    app.ends(Ending::Done);
    let mut screen = app.on(200, 40);
    let kept = |pinned| [Effect::Start(Job::KeepPanel { pinned })];
    assert_eq!(screen.press("ctrl+t"), kept(true));
    assert_eq!(screen.press("esc"), []);
    screen.after(Duration::from_secs(60));
    assert!(screen.text().contains("│ Turn 1"));
    assert_eq!(screen.press("ctrl+t"), []);
    assert_eq!(screen.press("ctrl+t"), kept(false));
    assert!(!screen.text().contains("│ Turn 1"));
    assert_eq!(screen.state.focus, Focus::Composer);
}

#[test]
fn each_turn_keeps_its_clock() {
    let mut app = at_work(App::working());
    app.ends(Ending::Done);
    app.accept_message("more");
    app.tool("b", "Bash")
        .queued(json!({"command": "ls"}))
        .running()
        .takes(60_000)
        .exits(0, "x");
    let mut screen = app.on(200, 40);
    assert_eq!(screen.lines_with("Turn 2").len(), 1);
    let head = |screen: &mut Screen| {
        let line = screen.lines_with("│ Turn").remove(0);
        line.split_once("│ ").map(|(_, head)| head.to_owned())
    };
    screen.press("ctrl+t");
    assert!(head(&mut screen).is_some_and(|it| it.contains("1m 00s")));
    screen.press("K");
    let first = head(&mut screen).expect("a header");
    assert!(first.starts_with("Turn 1"), "{first}");
    assert!(!first.contains("1m"), "{first}");
    assert!(screen.text().contains("cargo test"));
    screen.press("J");
    assert!(head(&mut screen).is_some_and(|it| it.starts_with("Turn 2")));
}

#[test]
fn a_background_command_stays_visible_after_the_next_message() {
    let mut app = in_background("npm run dev");
    app.after(Duration::from_secs(252));
    for width in [80, 200] {
        let mut screen = in_background("npm run dev").on(width, 30);
        screen.after(Duration::from_secs(252));
        screen.accept_message("something else");
        let lines = screen.lines_with("in background  4m 12s");
        assert_eq!(lines.len(), 1, "{}", screen.text());
        assert!(lines[0].contains("& npm run dev"), "{lines:?}");
        assert_eq!(screen.state.calls.in_background().len(), 1);
        assert!(
            screen.text().contains("1 in background"),
            "{}",
            screen.text()
        );
    }
    let mut screen = app.on(200, 30);
    screen.accept_message("and more");
    screen
        .tool("ls", "Bash")
        .queued(json!({"command": "ls"}))
        .running();
    let text = screen.text();
    let last = text.lines().rfind(|line| line.contains("│ &"));
    assert!(
        last.is_some_and(|line| line.contains("npm run dev")),
        "{text}"
    );
    screen.background_ended("server", BackgroundEnd::Exited(0));
    assert!(!screen.text().contains("& npm run dev  "));
    assert_eq!(screen.state.calls.in_background().len(), 0);
}

#[test]
fn the_detail_view_of_a_background_command_says_how_long_it_has_run() {
    let mut screen = in_background("npm run dev").on(100, 30);
    screen.press("ctrl+t enter");
    screen.after(Duration::from_secs(252));
    assert_eq!(
        screen.lines_with("ran 4m 12s").len(),
        1,
        "{}",
        screen.text()
    );
    screen.background_ended("server", BackgroundEnd::Exited(0));
    screen.after(Duration::from_secs(600));
    let text = screen.text();
    assert!(text.contains("ran 4m 12s"), "{text}");
    assert!(
        text.contains("in background: finished (exit 0) · 4m 12s"),
        "{text}"
    );
}

#[test]
fn the_detail_view_of_a_background_command_has_its_live_output() {
    let mut screen = in_background("npm run dev").on(100, 30);
    screen.press("ctrl+t enter");
    assert!(screen.text().contains("listening on 3000"));
    screen
        .tool("server", "Bash")
        .prints("GET /index.html 200\n");
    let text = screen.text();
    let (output, for_model) = text.split_once("Sent to the model").expect("a heading");
    assert!(output.contains("GET /index.html 200"), "{text}");
    assert!(
        for_model.contains("Command running in background"),
        "{text}"
    );
}

#[test]
fn the_strip_has_a_line_for_each_running_call_with_its_bar() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut screen = at_work(App::working()).on(width, height);
        let lines = screen.lines_with("● Bash cargo test");
        assert_eq!(lines.len(), 2, "in the conversation and in the strip");
        assert!(lines[1].contains("━╸  7s"), "{lines:?}");
        assert!(screen.lines_with("✓→").is_empty());
    }
}

#[test]
fn the_strip_has_the_last_output_of_a_call_that_is_not_in_view() {
    let mut screen = at_work(App::working()).on(100, 40);
    let lines = screen.lines_with("test parse ... ok");
    assert_eq!(lines.len(), 1, "only in the conversation: {lines:?}");
    for _ in 0..60 {
        screen.model_writes("another line\n\n");
    }
    let lines = screen.lines_with("test parse ... ok");
    assert_eq!(lines.len(), 1, "only in the strip: {lines:?}");
    assert!(lines[0].starts_with("● Bash cargo test"), "{lines:?}");
}

#[test]
fn the_strip_says_how_many_running_calls_it_leaves_out() {
    let mut app = App::working();
    for number in 0..9 {
        let call = format!("call{number}");
        app.tool(call.as_str(), "Bash")
            .queued(json!({"command": format!("make {number}")}))
            .running();
    }
    let mut screen = app.on(80, 24);
    assert_eq!(screen.lines_with("more ↓"), ["  5 more ↓"]);
    screen.press("ctrl+t k k k k");
    assert_eq!(screen.lines_with(" more "), ["  2 more ↑   3 more ↓"]);
    screen.press("G");
    assert_eq!(screen.lines_with(" more "), ["  5 more ↑"]);
}

#[test]
fn reads_that_follow_each_other_are_one_line_until_they_are_opened() {
    let mut screen = at_work(App::working()).on(100, 40);
    let line = "✓ Read src/parse.rs, src/lib.rs · Grep fn parse";
    assert_eq!(screen.lines_with(line).len(), 1);
    screen.press("ctrl+s");
    let at = screen.find("✓ Read src/parse.rs, ");
    click(&mut screen, at);
    assert_eq!(screen.lines_with(line).len(), 0);
    assert_eq!(screen.lines_with("✓ Read src/lib.rs").len(), 1);
    let at = screen.find("✓ Read src/lib.rs");
    click(&mut screen, at);
    assert!(screen.text().contains("│ two"), "{}", screen.text());
    screen.press("ctrl+o ctrl+o");
    assert_eq!(screen.lines_with(line).len(), 1);
}

#[test]
fn a_turn_ends_with_a_summary() {
    let mut app = App::working();
    app.tool("a", "Edit")
        .queued(json!({"file_path": "app.py"}))
        .running()
        .changes(crate::app::rig::change());
    app.turn_event(TurnEvent::Saved(Duration::from_millis(5_800)));
    app.ends(Ending::Done);
    let mut screen = app.on(100, 30);
    let lines = screen.lines_with("saved");
    assert!(lines[0].starts_with("✓ "), "{lines:?}");
    assert!(lines[0].contains("· 1 call · 5.8s saved · +"), "{lines:?}");
    let mut screen = App::working().on(100, 30);
    screen.model_writes("Just words.");
    screen.ends(Ending::Done);
    assert_eq!(screen.lines_with("✓ 1.5s").len(), 1, "{}", screen.text());
}

#[test]
fn details_are_those_of_the_last_calls_on_the_screen() {
    let mut app = App::new();
    app.press("ctrl+o");
    assert!(app.state.flash.is_some());
    let mut app = at_work(App::working());
    app.ends(Ending::Done);
    app.accept_message("and now?");
    app.model_writes("Nothing more.");
    let mut screen = app.on(100, 40);
    screen.press("ctrl+o");
    assert!(screen.state.flash.is_none());
    assert!(screen.text().contains("│ two"), "{}", screen.text());
}

#[test]
fn thinking_shows_its_current_thought() {
    let mut app = App::working();
    app.turn_event(TurnEvent::Thinking("First this.\nThen that".to_owned()));
    let mut screen = app.on(80, 24);
    assert_eq!(screen.lines_with("│ Then that").len(), 1);
    assert!(!screen.text().contains("First this"));
    screen.model_writes("Done.");
    assert!(!screen.text().contains("Then that"));
}
