use ratatui::buffer::Cell;

use crate::app::rig::{App, change, numbered};
use crate::app::search::find_all;
use crate::protocol::{Ending, TurnEvent};
use crate::theme::{Depth, Role};
use crate::ui::rig::Screen;

fn conversation() -> Screen {
    let mut app = App::new();
    for number in 0..20 {
        app.accept_message(&format!("Question {number}"));
        app.model_writes(&format!(
            "The answer to number {number} is needle and NEEDLE.\n"
        ));
        app.ends(Ending::Done);
    }
    app.on(60, 16)
}

fn search(screen: &mut Screen, word: &str) {
    screen.press("ctrl+s /");
    screen.types(word);
    screen.frame();
}

#[test]
fn the_nearest_hit_above_the_end_is_shown_first() {
    let mut screen = conversation();
    search(&mut screen, "number 7 ");
    assert_eq!(screen.lines_with("1 of 1"), ["/ number 7   1 of 1"]);
    assert_eq!(screen.lines_with("number 7").len(), 2);
}

#[test]
fn letters_match_in_any_case_unless_one_is_a_capital() {
    let mut screen = conversation();
    search(&mut screen, "needle");
    assert_eq!(
        screen.lines_with(" of ").last().map(String::as_str),
        Some("/ needle  40 of 40")
    );
    screen.press("esc");
    search(&mut screen, "NEEDLE");
    assert_eq!(
        screen.lines_with(" of ").last().map(String::as_str),
        Some("/ NEEDLE  20 of 20")
    );
}

#[test]
fn n_goes_down_and_wraps_and_capital_n_goes_back() {
    let mut screen = conversation();
    search(&mut screen, "Question");
    screen.press("enter");
    for (keys, expected) in [("N", "19 of 20"), ("n", "20 of 20"), ("n", "1 of 20")] {
        screen.press(keys);
        assert_eq!(screen.lines_with(expected).len(), 1, "{keys}");
    }
    assert!(screen.text().contains("▌ Question 0"));
}

/// A long result and a thought, both folded, and a change.
fn folded() -> Screen {
    let mut app = App::working();
    app.turn_event(TurnEvent::Thinking("a needle perhaps".to_owned()));
    app.tool("a", "Bash")
        .arrives()
        .queued(serde_json::json!({"command": "ls"}))
        .running()
        .completes(&numbered("case_", 0..90, "\n"))
        .yielded();
    app.tool("b", "Edit")
        .arrives()
        .queued(serde_json::json!({"file_path": "src/lib.rs"}))
        .running()
        .changes(change())
        .yielded();
    app.model_writes("That is all.\n");
    app.ends(Ending::Done);
    app.on(60, 24)
}

#[test]
fn folded_text_is_found_and_opened() {
    let mut screen = folded();
    assert_eq!(screen.lines_with("case_ 77"), [""; 0]);
    search(&mut screen, "case_ 77");
    assert_eq!(screen.lines_with("case_ 77").len(), 2);
    assert_eq!(screen.lines_with("1 of 1").len(), 1);
    screen.press("esc");
    search(&mut screen, "needle");
    assert_eq!(screen.lines_with("needle").len(), 2);
}

#[test]
fn cells_opened_by_the_search_are_folded_again_when_it_moves_on() {
    let mut screen = folded();
    search(&mut screen, "case_ 77");
    assert!(screen.text().contains("case_ 76"));
    for _ in "case_ 77".chars() {
        screen.press("backspace");
    }
    screen.types("needle");
    screen.press("enter");
    assert!(!screen.text().contains("case_"));
    assert_eq!(screen.lines_with("a needle").len(), 1);
}

#[test]
fn a_change_is_searched_as_it_is_shown() {
    let mut screen = folded();
    search(&mut screen, "finish(x + 1)");
    assert_eq!(screen.lines_with("1 of 1").len(), 1);
    assert_eq!(screen.lines_with("+     finish(x + 1);").len(), 1);
}

#[test]
fn a_search_without_matches_says_so() {
    let mut screen = conversation();
    search(&mut screen, "haystack");
    assert_eq!(
        screen.lines_with("nothing found"),
        ["/ haystack  nothing found"]
    );
    screen.press("enter");
    assert_eq!(screen.press("n"), []);
}

#[test]
fn the_current_hit_alone_is_marked_as_such() {
    let app = conversation().app.with_theme("dark", Depth::True);
    let current = app.state.settings.theme.style(Role::CurrentMatch);
    let mut screen = app.on(60, 16);
    search(&mut screen, "needle");
    let cells = screen.buffer().content().iter();
    let marked = cells.filter(|cell| Some(cell.bg) == current.bg);
    let text: String = marked.map(Cell::symbol).collect();
    assert_eq!(text, "NEEDLE");
}

#[test]
fn esc_closes_the_search_and_then_leaves_the_conversation() {
    let mut screen = conversation();
    search(&mut screen, "needle");
    screen.press("enter esc");
    assert_eq!(screen.state.search, None);
    screen.press("esc");
    assert!(screen.text().contains("❯"));
}

#[test]
fn letters_are_compared_one_by_one() {
    assert_eq!(find_all("Straße STRASSE straße", "straße"), [0..7, 16..23]);
    // A capital letter that becomes two lower-case ones.
    assert_eq!(find_all("İx", "i\u{307}x").first(), Some(&(0..3)));
    assert_eq!(find_all("aaa aa", "aa"), [0..2, 4..6]);
    assert!(find_all("anything", "").is_empty());
}
