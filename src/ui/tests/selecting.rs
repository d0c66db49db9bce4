use ratatui::layout::Position;
use serde_json::json;

use crate::app::pointer::PointerKind;
use crate::app::rig::{App, change, numbered, request};
use crate::app::{Copied, Effect};
use crate::protocol::{Ending, TurnEvent};
use crate::ui::rig::Screen;

fn copied() -> [Effect; 1] {
    [Effect::Copy(Copied::Selection)]
}

fn drag(screen: &mut Screen, from: &str, to: &str) -> Vec<Effect> {
    screen.point(PointerKind::Pressed { times: 1 }, from);
    let mut end = screen.find(to);
    end.x += u16::try_from(to.chars().count()).expect("a short text") - 1;
    screen.point_at(PointerKind::Dragged, end);
    screen.point_at(PointerKind::Released, end)
}

fn answer(text: &str) -> Screen {
    let mut app = App::working();
    app.model_writes(text);
    app.turn_event(TurnEvent::Streamed);
    app.on(40, 24)
}

#[test]
fn wrapped_lines_are_copied_as_one() {
    let mut screen =
        answer("one two three four five six seven eight nine ten eleven twelve\n\nend");
    assert_eq!(drag(&mut screen, "two", "end"), copied());
    assert_eq!(
        screen.selected(),
        "two three four five six seven eight nine ten eleven twelve\n\nend"
    );
}

#[test]
fn decoration_is_left_out() {
    let mut app = App::working();
    app.model_writes("Look:\n\n```sh\nls -l\nls -a\n```\n");
    app.ends(Ending::Done);
    let mut screen = app.on(40, 24);
    drag(&mut screen, "fix", "ls -a");
    assert_eq!(
        screen.selected(),
        "fix the failing test\n\nLook:\n\nls -l\nls -a"
    );
}

#[test]
fn a_diff_is_copied_without_its_numbers_and_signs() {
    let mut app = App::working();
    app.tool("a", "Edit")
        .queued(json!({"file_path": "src/lib.rs"}))
        .running()
        .changes(change());
    app.ends(Ending::Done);
    let mut screen = app.on(60, 30);
    drag(&mut screen, "fn main", "let x = 3;");
    assert_eq!(
        screen.selected(),
        "fn main() {\n    let x = 2;\n    let x = 3;"
    );
}

#[test]
fn a_double_click_takes_the_word_and_a_third_the_line() {
    let mut screen = answer("cargo test --all runs everything");
    screen.point(PointerKind::Pressed { times: 2 }, "all");
    assert_eq!(screen.selected(), "--all");
    screen.point(PointerKind::Pressed { times: 3 }, "all");
    assert_eq!(screen.selected(), "cargo test --all runs everything");
}

#[test]
fn wide_characters_are_taken_whole() {
    let mut screen = answer("漢字かな mixed 👩‍👩‍👧 text");
    let at = screen.find("漢");
    // The second half of the second character, to the family emoji.
    screen.point_at(
        PointerKind::Pressed { times: 1 },
        Position::new(at.x + 3, at.y),
    );
    let family = screen.find("👩‍👩‍👧");
    screen.point_at(PointerKind::Dragged, family);
    assert_eq!(screen.selected(), "字かな mixed 👩‍👩‍👧");
}

#[test]
fn a_click_selects_nothing() {
    let mut screen = answer("text");
    screen.point(PointerKind::Pressed { times: 1 }, "text");
    assert_eq!(screen.point(PointerKind::Released, "text"), []);
    assert_eq!(screen.state.selection, None);
}

#[test]
fn keys_find_the_beginning_first_and_then_the_end() {
    let mut screen = answer("alpha beta gamma\n\ndelta epsilon zeta");
    screen.press("ctrl+s v");
    screen.frame();
    screen.press("k k w v");
    screen.frame();
    assert_eq!(screen.selected(), "b");
    screen.press("j j $");
    assert_eq!(screen.selected(), "beta gamma\n\ndelta epsilon zeta");
    assert_eq!(screen.press("y"), copied());
    screen.press("esc");
    assert_eq!(screen.state.selection, None);
}

#[test]
fn without_a_selection_copy_takes_the_line() {
    let mut screen = answer("alpha beta gamma\n\ndelta epsilon zeta");
    screen.press("ctrl+s v");
    screen.frame();
    assert_eq!(screen.press("y"), copied());
    assert_eq!(screen.selected(), "delta epsilon zeta");
}

#[test]
fn keys_select_beyond_what_is_in_view() {
    let text = numbered("line", 0..100, "\n\n");
    let mut screen = answer(&text);
    screen.press("ctrl+s v v");
    screen.frame();
    for _ in 0..4 {
        screen.press("pgup");
        screen.frame();
    }
    let selected = screen.selected();
    assert!(selected.lines().count() > 60, "{selected}");
    assert!(selected.ends_with("line 98\n\nl"), "{selected}");
    let first = selected.lines().next().unwrap_or_default().to_owned();
    assert!(screen.text().contains(&first));
}

#[test]
fn a_selection_begins_at_what_was_found() {
    let mut screen = answer("alpha beta gamma\n\ndelta epsilon zeta");
    screen.press("ctrl+s /");
    screen.types("eps");
    screen.press("enter v v");
    screen.frame();
    screen.press("$");
    assert_eq!(screen.selected(), "epsilon zeta");
}

#[test]
fn rows_that_were_never_visible_are_copied_too() {
    let text = numbered("line", 0..200, "\n\n");
    let mut app = App::working();
    app.model_writes("begin");
    for number in 0..30 {
        app.tool(format!("{number}").as_str(), "Bash")
            .arrives()
            .queued(json!({"command": format!("echo {number}")}))
            .completes("x");
        app.model_writes(&text);
    }
    app.ends(Ending::Done);
    let mut screen = app.on(40, 24);
    screen.press("ctrl+home");
    screen.frame();
    screen.point(PointerKind::Pressed { times: 1 }, "begin");
    screen.press("ctrl+end");
    screen.frame();
    screen.point(PointerKind::Dragged, "line 199");
    let selected = screen.selected();
    assert_eq!(selected.matches("line 150").count(), 30);
    assert_eq!(selected.matches("echo").count(), 30);
}

#[test]
fn a_resize_clears_the_selection() {
    let mut screen = answer("alpha beta gamma");
    drag(&mut screen, "alpha", "beta");
    screen.resize(50, 20);
    assert_eq!(screen.selected(), "");
}

#[test]
fn a_dialog_that_opens_under_the_mouse_leaves_no_selection() {
    let mut screen = App::working().on(80, 24);
    screen.point(PointerKind::Pressed { times: 1 }, "failing");
    assert!(screen.state.selection.is_some());
    screen.asks(request("a", "Bash"));
    assert_eq!(screen.state.selection, None);
}
