use crate::app::Effect;
use crate::app::pointer::PointerKind;
use crate::app::rig::{App, millis, request, sent};
use crate::protocol::{
    Answer, AnswerNote, CallCommand, Command, FileDiff, LeftOut, PartOfFile, QuestionKind, Reply,
    TurnCommand,
};
use crate::ui::rig::Screen;

fn answer(call: &str, answer: Answer) -> Effect {
    Effect::Send(Command::Call(
        call.into(),
        CallCommand::Reply(Reply::Permission(answer)),
    ))
}

/// A question that is armed.
fn asked(tool: &str, width: u16, height: u16) -> Screen {
    let mut screen = App::asked(tool).on(width, height);
    screen.after(millis(300));
    screen.frame();
    screen
}

#[test]
fn an_unreadable_request_cannot_be_allowed_but_can_be_cancelled() {
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
fn yes_requires_scrolling_to_the_end() {
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
    let left_out = LeftOut { count: 1, of: 2 };
    assert_eq!(
        screen.press("enter"),
        [answer("call", Answer::AllowPart { files, left_out })]
    );
}

#[test]
fn a_question_replaces_the_input_and_keeps_the_draft() {
    let mut app = App::working();
    app.types("half a thou");
    app.asks(request("call", "Bash"));
    let mut screen = app.on(80, 24);
    assert_eq!(screen.lines_with("❯"), [""; 0]);
    assert_eq!(screen.caret(), None, "nothing is typed");
    assert_eq!(screen.lines_with("builtin · ").len(), 1);
    screen.after(millis(300));
    screen.press("n");
    assert_eq!(screen.lines_with("❯"), ["❯ half a thou"]);
    assert!(screen.caret().is_some());
}

/// A long answer, then a change that asks.
fn explained() -> Screen {
    let mut app = App::working();
    let lines: Vec<String> = (1..=60).map(|line| format!("reason {line}  \n")).collect();
    app.model_writes(&lines.concat());
    app.asks(request("call", "Edit"));
    let mut screen = app.on(80, 24);
    screen.after(millis(300));
    screen.frame();
    screen
}

#[test]
fn the_reasons_stay_in_view_above_the_question() {
    let mut screen = explained();
    let row = screen.find("? Edit src/lib.rs").y;
    let title = screen.find("── Edit src/lib.rs?").y;
    assert_eq!(
        row + 1,
        title,
        "the conversation ends with the row that asks"
    );
    assert!(screen.text().contains("reason 60"));
}

#[test]
fn rows_after_the_call_that_asks_can_be_scrolled_to() {
    let mut screen = explained();
    screen.tool("later", "Read").running();
    screen.frame();
    let row = screen.find("? Edit src/lib.rs").y;
    assert_eq!(row + 1, screen.find("── Edit src/lib.rs?").y);
    assert_eq!(screen.lines_with("● Read"), [""; 0]);
    screen.point(PointerKind::WheelDown, "reason 60");
    screen.frame();
    assert_eq!(screen.lines_with("● Read").len(), 1);
    assert_eq!(screen.lines_with("● Read").len(), 1, "it stays there");
}

#[test]
fn the_wheel_scrolls_what_it_is_over() {
    let mut screen = explained();
    screen.point(PointerKind::WheelUp, "reason 60");
    assert_eq!(screen.lines_with("reason 60"), [""; 0]);
    assert_eq!(screen.lines_with("@@ -1,5").len(), 1);

    let mut screen = asked("Edit", 80, 20);
    screen.point(PointerKind::WheelDown, "fn main");
    assert_eq!(screen.lines_with("@@ -1,5"), [""; 0]);
    assert_eq!(screen.lines_with("? Edit src/lib.rs").len(), 1);
}

#[test]
fn ctrl_s_goes_into_the_conversation_and_back_without_answering() {
    for back in ["esc", "ctrl+s", "q"] {
        let mut screen = explained();
        assert_eq!(screen.press("ctrl+s g"), []);
        assert_eq!(screen.lines_with("reason 60"), [""; 0]);
        assert_eq!(screen.lines_with("Esc back to the question").len(), 1);
        assert_eq!(
            sent(screen.press("y n enter")),
            [],
            "these answer nothing here"
        );
        screen.after(millis(300));
        assert_eq!(screen.press(back), []);
        assert_eq!(screen.press("y"), [], "{back}: armed anew");
        screen.after(millis(300));
        screen.frame();
        assert_eq!(screen.press("y"), [answer("call", Answer::Allow)], "{back}");
    }
}

#[test]
fn a_question_answered_elsewhere_does_not_move_the_view() {
    let mut screen = explained();
    screen.press("ctrl+s g");
    screen.tool("call", "Edit").running();
    screen.frame();
    assert!(screen.state.dialogs.is_empty());
    assert_eq!(screen.lines_with("reason 60"), [""; 0]);
    screen.press("esc");
    assert_eq!(screen.lines_with("❯").len(), 1);
}

#[test]
fn a_search_in_the_conversation_has_a_line_while_something_is_asked() {
    let mut screen = explained();
    screen.press("ctrl+s /");
    screen.types("reason 7");
    screen.frame();
    assert_eq!(screen.lines_with("/ reason 7  1 of 1").len(), 1);
    assert_eq!(screen.press("esc esc"), []);
    assert_eq!(screen.lines_with("y yes").len(), 1);
}

#[test]
fn the_mouse_presses_the_answers() {
    for (button, expected) in [
        ("y yes", Answer::Allow),
        ("n no", Answer::Deny { reason: None }),
    ] {
        let mut screen = asked("Bash", 80, 24);
        let effects = screen.point(PointerKind::Pressed { times: 1 }, button);
        assert_eq!(effects, [answer("call", expected)]);
        assert_eq!(screen.lines_with("❯").len(), 1);
    }
    let mut screen = asked("Edit", 80, 24);
    screen.point(PointerKind::Pressed { times: 1 }, "Tab hunks");
    assert_eq!(screen.lines_with("change 1 of 2").len(), 1);
}

#[test]
fn a_click_does_not_answer_before_the_question_is_armed() {
    let mut screen = App::asked("Bash").on(80, 24);
    screen.after(millis(299));
    let press = PointerKind::Pressed { times: 1 };
    assert_eq!(screen.point(press, "y yes"), []);
    screen.after(millis(299));
    assert_eq!(screen.point(press, "y yes"), [], "the pause began again");
    screen.after(millis(300));
    assert_eq!(
        screen.point(press, "y yes"),
        [answer("call", Answer::Allow)]
    );

    let mut long = asked("Edit", 80, 14);
    assert_eq!(long.point(press, "y yes"), [], "not read to its end");
    assert_eq!(long.lines_with("read to the end, then answer").len(), 1);
}

#[test]
fn the_help_opens_over_a_question_and_leaves_it_unanswered() {
    let mut screen = asked("Bash", 80, 24);
    screen.press("?");
    assert_eq!(screen.lines_with("Keys of this question").len(), 1);
    assert_eq!(screen.lines_with("Allow this call once").len(), 1);
    assert_eq!(screen.lines_with("/model"), [""; 0], "only its own keys");
    screen.types("model");
    assert_ne!(
        screen.lines_with("/model"),
        [""; 0],
        "the rest is found by typing"
    );
    assert_eq!(screen.press("esc"), []);
    assert_eq!(screen.press("y"), [], "armed anew");
    assert_eq!(screen.lines_with("y yes").len(), 1);
}

/// Lines 9 and 10 of a function become five.
fn seven_lines() -> FileDiff {
    let before = "import csv\n\n\n\n\ndef total(path):\n    result = 0\n    with open(path) as f:\n        for row in csv.reader(f):\n            result += int(row[1])\n    return result\n";
    let new = "        for n, row in enumerate(csv.reader(f), 1):\n            try:\n                result += int(row[1])\n            except ValueError:\n                print(f\"{path}:{n}: not a number\")\n";
    let old = "        for row in csv.reader(f):\n            result += int(row[1])\n";
    FileDiff {
        path: "app.py".into(),
        before: Some(before.into()),
        after: before.replace(old, new).into(),
    }
}

#[test]
fn a_change_of_seven_lines_fits_the_smallest_usual_terminal() {
    let mut app = App::working();
    app.model_writes("Now the fix: rows that are not numbers are skipped and reported.\n");
    let mut question = request("call", "Edit");
    if let QuestionKind::Permission(request) = &mut question.kind {
        request.changes = vec![seven_lines()];
        request.reason.clear();
    }
    app.asks(question);
    let mut screen = app.on(80, 24);
    screen.after(millis(300));
    insta::assert_snapshot!(screen.draw());
    assert_eq!(screen.press("y"), [answer("call", Answer::Allow)]);
}

#[test]
fn saved_rules_and_skipped_changes_are_shown_at_the_call() {
    let mut screen = App::working().on(80, 30);
    let (rule, file) = ("Bash(touch x.txt)", ".agent-tui/settings.local.json");
    let notes = [
        AnswerNote::Saved {
            rule: rule.to_owned(),
            file: file.to_owned(),
        },
        AnswerNote::ForSession {
            rule: rule.to_owned(),
        },
        AnswerNote::LeftOut(LeftOut { count: 1, of: 3 }),
    ];
    for (call, note) in ["a", "b", "c"].into_iter().zip(notes) {
        screen.asks(request(call, "Bash"));
        screen.allowed(call, note);
    }
    insta::assert_snapshot!(screen.draw());
}
