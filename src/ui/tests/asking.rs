use crate::app::Effect;
use crate::app::rig::{App, millis, request};
use crate::protocol::{Answer, CallCommand, Command, PartOfFile, Reply, TurnCommand};
use crate::ui::rig::Screen;

fn answer(call: &str, answer: Answer) -> Effect {
    Effect::Send(Command::Call(
        call.into(),
        CallCommand::Reply(Reply::Permission(answer)),
    ))
}

/// A question that has been there for a while.
fn asked(tool: &str, width: u16, height: u16) -> Screen {
    let mut screen = App::asked(tool).on(width, height);
    screen.after(millis(300));
    screen.frame();
    screen
}

#[test]
fn what_cannot_be_read_cannot_be_allowed_but_can_be_left() {
    for (width, height) in [(1, 1), (2, 1), (10, 3), (19, 5), (20, 4)] {
        let mut screen = asked("Bash", width, height);
        for key in ["y", "s", "a", "enter"] {
            assert_eq!(screen.press(key), [], "{key} at {width}×{height}");
            screen.after(millis(300));
            screen.frame();
        }
        let effects = screen.press("esc");
        let deny = answer("call", Answer::Deny { reason: None });
        assert_eq!(
            effects,
            [Effect::Send(Command::Turn(TurnCommand::Interrupt)), deny]
        );
    }
}

#[test]
fn a_terminal_that_is_enlarged_shows_the_question_and_takes_the_answer() {
    let mut screen = asked("Bash", 10, 3);
    assert_eq!(screen.text().lines().next(), Some("asks: enl…"));
    screen.resize(80, 24);
    assert!(screen.text().contains("$ cargo test --workspace"));
    screen.after(millis(300));
    assert_eq!(screen.press("y"), [answer("call", Answer::Allow)]);
}

#[test]
fn the_end_has_to_be_scrolled_to_before_yes_counts() {
    let mut screen = asked("Edit", 80, 20);
    assert_eq!(screen.press("y"), []);
    for _ in 0..30 {
        screen.press("down");
        screen.frame();
    }
    screen.after(millis(300));
    assert_eq!(screen.press("y"), [answer("call", Answer::Allow)]);
}

#[test]
fn each_question_of_a_queue_has_to_be_read_by_itself() {
    let mut screen = asked("Bash", 80, 20);
    screen.asks(request("second", "Edit"));
    assert_eq!(screen.press("y"), [answer("call", Answer::Allow)]);
    screen.frame();
    screen.after(millis(300));
    screen.frame();
    assert_eq!(screen.press("y"), []);
}

#[test]
fn a_part_of_a_change_can_be_allowed() {
    let mut screen = asked("Edit", 80, 40);
    screen.press("tab");
    screen.frame();
    screen.after(millis(300));
    for key in ["y", "n"] {
        screen.press(key);
        screen.frame();
    }
    let after = crate::app::rig::change()
        .before
        .expect("a file that was there");
    let files = vec![PartOfFile {
        path: "src/lib.rs".to_owned(),
        after: after.replace("let x = 2;", "let x = 3;"),
    }];
    assert_eq!(
        screen.press("enter"),
        [answer("call", Answer::AllowPart { files })]
    );
}

#[test]
fn the_draft_stays_in_view_under_a_question() {
    let mut app = App::working();
    app.types("half a thou");
    app.asks(request("call", "Bash"));
    let mut screen = app.on(80, 24);
    assert_eq!(screen.lines_with("❯"), ["❯ half a thou"]);
}
