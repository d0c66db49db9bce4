use serde_json::json;

use crate::app::pointer::{PointerKind, Target};
use crate::app::rig::{App, millis, numbered};
use crate::app::scroll::Anchor;
use crate::protocol::{AgentEvent, Ending, SessionEvent, TurnEvent};
use crate::ui::rig::Screen;

/// A conversation of a hundred numbered paragraphs, scrolled to its end.
fn long() -> Screen {
    let mut app = App::working();
    app.model_writes(&paragraphs(0..100));
    app.on(60, 24)
}

fn paragraphs(numbers: std::ops::Range<usize>) -> String {
    numbered("paragraph", numbers, "\n\n")
}

/// The rows of the conversation, without what is below it.
fn in_view(screen: &mut Screen) -> Vec<String> {
    screen.lines_with("paragraph")
}

#[test]
fn the_end_is_followed_while_text_arrives() {
    let mut screen = long();
    assert_eq!(
        in_view(&mut screen).last().map(String::as_str),
        Some("  paragraph 99")
    );
    screen.model_writes(&paragraphs(100..130));
    assert_eq!(
        in_view(&mut screen).last().map(String::as_str),
        Some("  paragraph 129")
    );
}

#[test]
fn arriving_text_never_moves_the_view() {
    let mut screen = long();
    screen.press("pgup");
    let before = in_view(&mut screen);
    assert_ne!(before.last().map(String::as_str), Some("  paragraph 99"));
    for number in 100..140 {
        screen.model_writes(&format!("paragraph {number}\n\n"));
        screen.after(millis(8));
        assert_eq!(in_view(&mut screen), before);
    }
    screen.tool("a", "Bash").queued(json!({"command": "ls"}));
    screen.receive(AgentEvent::Session(SessionEvent::Notice(
        "by the way".to_owned(),
    )));
    screen.ends(Ending::Done);
    // The strip above the input appeared and disappeared.
    assert_eq!(in_view(&mut screen), before);
}

#[test]
fn what_came_meanwhile_is_counted() {
    let mut screen = long();
    assert!(!screen.text().contains('↓'));
    screen.press("pgup");
    assert_eq!(screen.lines_with("↓").len(), 1);
    for number in 0..3 {
        screen.receive(AgentEvent::Session(SessionEvent::Notice(format!(
            "notice {number}"
        ))));
    }
    assert_eq!(screen.lines_with("3 new ↓").len(), 1);
    screen.press("ctrl+end");
    assert!(!screen.text().contains('↓'));
}

#[test]
fn scrolling_to_the_end_follows_again() {
    let mut screen = long();
    for keys in ["pgdn", "shift+down"] {
        screen.press("pgup");
        screen.frame();
        assert_ne!(screen.state.scroll.anchor, Anchor::Follow);
        for _ in 0..30 {
            screen.press(keys);
            screen.frame();
        }
        assert_eq!(screen.state.scroll.anchor, Anchor::Follow, "{keys}");
    }
    screen.model_writes(&paragraphs(100..101));
    assert_eq!(
        in_view(&mut screen).last().map(String::as_str),
        Some("  paragraph 100")
    );
}

#[test]
fn up_and_down_by_as_much_shows_the_same() {
    let mut screen = long();
    screen.press("pgup pgup");
    let before = screen.text();
    for _ in 0..7 {
        screen.press("shift+up");
    }
    screen.frame();
    for _ in 0..7 {
        screen.press("shift+down");
    }
    assert_eq!(screen.text(), before);
}

#[test]
fn sending_follows_again() {
    let mut screen = long();
    screen.press("pgup");
    screen.frame();
    screen.types("go on");
    screen.press("enter");
    screen.frame();
    assert_eq!(screen.state.scroll.anchor, Anchor::Follow);
}

#[test]
fn a_resize_keeps_the_reading_position() {
    let mut screen = long();
    screen.ends(Ending::Done);
    screen.press("pgup pgup");
    let first = in_view(&mut screen)[0].clone();
    for (width, height) in [(40, 24), (100, 30), (60, 24)] {
        screen.resize(width, height);
        assert_eq!(in_view(&mut screen)[0], first, "{width}×{height}");
    }
}

#[test]
fn scrolling_after_a_resize_goes_by_rows() {
    let mut screen = long();
    let word = "many words that are wrapped ".repeat(40);
    screen.model_writes(&word);
    screen.resize(100, 24);
    screen.frame();
    screen.press("shift+up");
    let before = screen.text();
    screen.after(millis(0));
    assert_eq!(screen.text(), before);
    screen.press("shift+down");
    screen.frame();
    assert_eq!(screen.state.scroll.anchor, Anchor::Follow);
}

#[test]
fn messages_are_gone_through_one_by_one() {
    let mut app = App::new();
    for number in 0..5 {
        app.accept_message(&format!("question {number}"));
        app.model_writes(&paragraphs(0..20));
        app.ends(Ending::Done);
    }
    let mut screen = app.on(60, 20);
    screen.press("ctrl+s");
    let mut tops = Vec::new();
    for _ in 0..5 {
        screen.press("K");
        let shown = screen.lines_with("question");
        tops.push(shown[0].clone());
    }
    let expected: Vec<String> = (0..5)
        .rev()
        .map(|number| format!("▌ question {number}"))
        .collect();
    assert_eq!(tops, expected);
    screen.press("J");
    assert_eq!(screen.lines_with("question")[0], "▌ question 1");
}

#[test]
fn the_mark_of_what_is_below_can_be_clicked() {
    let mut screen = long();
    screen.press("pgup");
    screen.frame();
    let mark = screen.find("↓");
    assert_eq!(screen.target(mark), Target::NewBelow);
    // It is alone, below the text.
    assert_eq!(screen.lines_with("↓"), [format!("{:>59}", "↓")]);
    let above = ratatui::layout::Position::new(4, mark.y - 1);
    assert!(matches!(screen.target(above), Target::Conversation(_)));
    screen.point_at(PointerKind::Pressed { times: 1 }, mark);
    screen.frame();
    assert_eq!(screen.state.scroll.anchor, Anchor::Follow);
}

#[test]
fn the_wheel_scrolls_what_is_under_no_dialog() {
    let mut screen = long();
    let first = in_view(&mut screen)[0].clone();
    let at = ratatui::layout::Position::new(3, 3);
    screen.point_at(PointerKind::WheelUp, at);
    screen.point_at(PointerKind::WheelUp, at);
    let scrolled = in_view(&mut screen)[0].clone();
    assert_ne!(scrolled, first);
    screen.press("ctrl+p");
    screen.point_at(PointerKind::WheelUp, at);
    screen.press("esc");
    assert_eq!(in_view(&mut screen)[0], scrolled);
}

#[test]
fn a_call_that_is_clicked_opens_where_it_is() {
    let mut app = App::working();
    app.model_writes(&paragraphs(0..30));
    app.tool("a", "Bash")
        .queued(json!({"command": "seq 40"}))
        .running()
        .completes(&numbered("line", 0..40, "\n"));
    app.ends(Ending::Done);
    let mut screen = app.on(60, 24);
    let at = screen.find("seq 40");
    screen.point_at(PointerKind::Pressed { times: 1 }, at);
    screen.point_at(PointerKind::Released, at);
    screen.frame();
    assert_eq!(screen.find("seq 40"), at);
    assert!(screen.text().contains("│ line 0"));
    screen.point_at(PointerKind::Pressed { times: 1 }, at);
    screen.point_at(PointerKind::Released, at);
    screen.frame();
    assert_eq!(screen.find("seq 40"), at);
    assert_eq!(screen.state.scroll.anchor, Anchor::Follow);
}

/// A message whose answer is longer than the screen, while it is being written.
fn long_answer() -> Screen {
    let mut screen = App::working().on(60, 16);
    screen.turn_event(TurnEvent::Text("a line of the answer\n\n".repeat(40)));
    screen.frame();
    screen
}

#[test]
fn the_message_that_is_answered_stays_at_the_top_while_it_is_out_of_view() {
    let mut screen = long_answer();
    let text = screen.text();
    assert_eq!(text.lines().next(), Some("▌ fix the failing test"));
    assert!(text.contains("a line of the answer"));
    // A click goes to the message, which is then not shown twice.
    let at = screen.find("▌ fix");
    screen.point_at(PointerKind::Pressed { times: 1 }, at);
    assert_eq!(screen.lines_with("fix the failing test").len(), 1);
    assert_ne!(screen.state.scroll.anchor, Anchor::Follow);
    screen.press("ctrl+end");
    let text = screen.text();
    assert_eq!(text.lines().next(), Some("▌ fix the failing test"));
}

#[test]
fn a_scroll_bar_shows_the_position_when_not_everything_is_visible() {
    let mut screen = App::working().on(60, 16);
    assert!(!screen.text().contains('┃'));
    let mut screen = {
        drop(screen);
        long_answer()
    };
    let bar = |screen: &mut Screen| -> Vec<usize> {
        let text = screen.text();
        let rows = text.lines().enumerate();
        rows.filter(|(_, line)| line.ends_with('┃'))
            .map(|(row, _)| row)
            .collect()
    };
    let at_end = bar(&mut screen);
    assert_eq!(at_end.last(), Some(&11), "{at_end:?}");
    screen.press("ctrl+home");
    let at_start = bar(&mut screen);
    assert_eq!(at_start.first(), Some(&0), "{at_start:?}");
    assert!(at_start.last() < at_end.first().max(at_end.last()));
}

#[test]
fn esc_in_the_conversation_leaves_the_place_and_a_second_one_goes_to_the_end() {
    let mut screen = long_answer();
    screen.press("ctrl+s pgup");
    screen.frame();
    let anchor = screen.state.scroll.anchor;
    assert_ne!(anchor, Anchor::Follow);
    assert_eq!(screen.commands("esc"), []);
    screen.frame();
    assert_eq!(screen.state.scroll.anchor, anchor);
    assert!(screen.footer().contains("go to the end"));
    // It does not stop the running turn.
    assert_eq!(screen.commands("esc"), []);
    screen.frame();
    assert_eq!(screen.state.scroll.anchor, Anchor::Follow);
    assert!(screen.footer().contains("Esc interrupt"));
}
