//! What keys and mouse do on the screen, besides scrolling, searching and selecting.

use serde_json::json;

use crate::app::pointer::{PointerKind, Target};
use crate::app::rig::{App, change};
use crate::app::{Copied, DiffStyle, Effect, Focus, Msg};
use crate::protocol::{Ending, FileDiff, SessionEvent, TurnEvent};
use crate::ui::rig::Screen;

fn worked() -> App {
    let mut app = App::working();
    app.turn_event(TurnEvent::Thinking("deep thoughts".to_owned()));
    app.model_writes("The *answer*.");
    app.tool("a", "Bash")
        .queued(json!({"command": "ls"}))
        .running()
        .completes("one file\n");
    app.tool("b", "Edit")
        .queued(json!({"file_path": "src/lib.rs"}))
        .running()
        .changes(change());
    app.ends(Ending::Done);
    app
}

fn scrolling(width: u16) -> Screen {
    let mut screen = worked().on(width, 40);
    screen.press("ctrl+s");
    screen
}

#[test]
fn y_copies_the_last_answer_as_it_was_written() {
    let mut screen = scrolling(80);
    let text = "The *answer*.".to_owned();
    assert_eq!(screen.press("y"), [Effect::Copy(Copied::Text(text))]);
    assert_eq!(App::new().press("ctrl+s y"), []);
}

#[test]
fn a_bracket_prints_the_conversation() {
    assert_eq!(scrolling(80).press("["), [Effect::PrintConversation]);
}

#[test]
fn thoughts_are_folded_until_they_are_opened() {
    let mut screen = scrolling(80);
    assert!(!screen.text().contains("deep thoughts"));
    screen.press("t");
    assert!(screen.text().contains("deep thoughts"));
    screen.press("t");
    assert!(!screen.text().contains("deep thoughts"));
}

#[test]
fn o_opens_the_first_thing_in_view_that_is_folded() {
    let mut screen = scrolling(80);
    screen.press("o");
    assert!(screen.text().contains("deep thoughts"));
}

#[test]
fn ctrl_o_opens_all_of_the_last_turn_and_folds_it_again() {
    let mut screen = worked().on(80, 60);
    let folded = screen.text();
    screen.press("ctrl+o");
    let open = screen.text();
    assert!(open.contains("deep thoughts") && open.contains("one file"));
    screen.press("ctrl+o");
    assert_eq!(screen.text(), folded);
}

#[test]
fn d_switches_from_the_fitting_style_of_diffs_to_the_other() {
    for (width, first, second) in [
        (80, DiffStyle::SideBySide, DiffStyle::Unified),
        // Beside the panel a diff has less room than the terminal.
        (150, DiffStyle::SideBySide, DiffStyle::Unified),
        (220, DiffStyle::Unified, DiffStyle::SideBySide),
    ] {
        let mut screen = scrolling(width);
        screen.press("d");
        assert_eq!(screen.state.settings.diff_style, first);
        screen.press("d");
        assert_eq!(screen.state.settings.diff_style, second);
    }
}

#[test]
fn redraw_and_suspend_work_everywhere() {
    for keys in ["", "ctrl+s", "ctrl+t", "ctrl+p", "f1"] {
        let mut screen = worked().on(80, 24);
        screen.press(keys);
        assert_eq!(screen.press("ctrl+l"), [Effect::Redraw], "{keys}");
        assert_eq!(screen.press("ctrl+z"), [Effect::Suspend], "{keys}");
    }
}

#[test]
fn a_call_of_the_panel_is_chosen_by_a_click_and_opened_by_two() {
    let mut screen = worked().on(160, 40);
    let mut at = screen.find("│ ✓  Bash");
    at.x += 4;
    assert_eq!(screen.target(at), Target::Call(0));
    screen.point_at(PointerKind::Pressed { times: 1 }, at);
    assert_eq!(
        (screen.state.focus, screen.state.panel.chosen),
        (Focus::Panel, 0)
    );
    screen.point_at(PointerKind::Pressed { times: 2 }, at);
    assert!(screen.text().contains("Output"));
}

#[test]
fn a_click_into_the_input_puts_the_caret_there() {
    let mut screen = App::typed("hello world").on(80, 24);
    screen.press("ctrl+s");
    screen.frame();
    screen.point(PointerKind::Pressed { times: 1 }, "world");
    assert_eq!(screen.state.focus, Focus::Composer);
    screen.types("my ");
    assert_eq!(screen.draft(), "hello my world");
}

#[test]
fn a_click_beside_a_dialog_does_nothing() {
    let mut screen = worked().on(80, 24);
    screen.press("ctrl+p");
    screen.frame();
    let at = screen.find("❯");
    screen.point_at(PointerKind::Pressed { times: 1 }, at);
    assert_eq!(screen.point_at(PointerKind::Released, at), []);
    assert_eq!(screen.state.dialogs.len(), 1);
}

#[test]
fn the_caret_is_where_something_is_typed() {
    let mut screen = App::typed("ab").on(80, 24);
    screen.frame();
    let input = screen.caret();
    assert_eq!(
        input,
        Some(screen.find("❯ ab") + ratatui::layout::Offset::new(4, 0))
    );
    screen.press("ctrl+p");
    screen.types("xyz");
    screen.frame();
    assert_eq!(
        screen.caret(),
        Some(screen.find("/ xyz") + ratatui::layout::Offset::new(5, 0))
    );
}

#[test]
fn output_cannot_steer_the_terminal() {
    let hostile = "\x1b]0;title\x07\x1b[2J\u{9b}31mred\u{202e}\u{200b}\r\n";
    let mut app = App::working();
    app.model_writes(hostile);
    app.tool("a", hostile)
        .queued(json!({"command": hostile}))
        .running()
        .prints(hostile);
    app.update(Msg::Pasted(hostile.to_owned()));
    app.press("enter");
    app.receive(crate::protocol::AgentEvent::Session(SessionEvent::Notice(
        hostile.to_owned(),
    )));
    app.turn_event(TurnEvent::Retrying {
        problem: hostile.to_owned(),
        attempt: 1,
        wait: crate::app::rig::millis(1000),
    });
    for (width, height) in [(60, 30), (130, 40)] {
        let mut screen = Screen::new(app, width, height);
        screen.press("ctrl+t enter");
        for symbol in screen.text().split('\n') {
            let is_control =
                |letter: char| letter.is_control() || ('\u{202a}'..='\u{202e}').contains(&letter);
            assert!(!symbol.contains(is_control), "{symbol:?}");
        }
        screen.press("esc esc");
        app = screen.app;
    }
}

#[test]
fn old_changes_keep_only_their_size() {
    let mut screen = App::working().on(80, 30);
    for (call, path) in [("a", "a.txt"), ("b", "b.txt")] {
        let change = FileDiff {
            path: path.to_owned(),
            before: None,
            after: "x".repeat(9 << 20).into(),
        };
        screen.tool(call, "Write").running().changes(change);
    }
    let shown: Vec<bool> = screen
        .state
        .calls
        .iter()
        .filter_map(|(_, call)| Some(!call.completed()?.shown.changes().is_empty()))
        .collect();
    assert_eq!(shown, [false, true]);
    let rows = screen.lines_with("a.txt");
    assert_eq!(rows, ["  │ a.txt +1 −0 (too old to show)"]);
}
