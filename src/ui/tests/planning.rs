//! The model's todo list above the input.

use insta::assert_snapshot;

use super::screens::busy;
use crate::app::dialogs::Dialog;
use crate::app::rig::{App, request};
use crate::protocol::TurnEvent;
use crate::protocol::todo::{Todo, TodoStatus};

const STEPS: [(&str, &str); 5] = [
    ("Read the parser", "Reading the parser"),
    ("Run the tests", "Running the tests"),
    ("Fix the empty line", "Fixing the empty line"),
    ("Write a test for it", "Writing a test for it"),
    ("Update the docs", "Updating the docs"),
];

/// The first `done` are done, and the next one is in progress.
fn todos(done: usize, count: usize) -> Vec<Todo> {
    let todo = |at: usize| {
        let (content, active_form) = STEPS[at % STEPS.len()];
        Todo {
            content: format!("{content} ({})", at + 1),
            status: match at {
                _ if at < done => TodoStatus::Completed,
                _ if at == done => TodoStatus::InProgress,
                _ => TodoStatus::Pending,
            },
            active_form: format!("{active_form} ({})", at + 1),
        }
    };
    (0..count).map(todo).collect()
}

pub fn planned(mut app: App, done: usize, count: usize) -> App {
    app.turn_event(TurnEvent::Planned(todos(done, count)));
    app
}

#[test]
fn todos_60x20() {
    assert_snapshot!(planned(busy(), 1, 5).draw(60, 20));
}

#[test]
fn todos_80x24() {
    assert_snapshot!(planned(busy(), 1, 5).draw(80, 24));
}

#[test]
fn todos_120x40() {
    assert_snapshot!(planned(busy(), 4, 11).draw(120, 40));
}

#[test]
fn a_list_that_would_take_rows_from_the_conversation_is_one_line() {
    let mut screen = planned(App::working(), 1, 8).on(80, 40);
    assert_eq!(screen.lines_with("○").len(), 6);
    screen.resize(80, 14);
    assert_eq!(screen.lines_with("○"), [""; 0]);
    assert_eq!(
        screen.lines_with("1 of 8"),
        ["  ● 1 of 8 · Running the tests (2)"]
    );
    screen.resize(80, 5);
    assert_eq!(screen.lines_with("1 of 8"), [""; 0]);
}

#[test]
fn the_item_in_progress_is_visible_in_the_longest_list() {
    let mut screen = planned(App::working(), 17, 30).on(80, 40);
    assert_eq!(screen.lines_with("✓"), ["  ✓ Run the tests (17)"]);
    assert_eq!(screen.lines_with("●"), ["  ● Fixing the empty line (18)"]);
    assert_eq!(screen.lines_with("○").len(), 5);
    assert_eq!(screen.lines_with("and 23 more").len(), 1);
    screen.turn_event(TurnEvent::Planned(todos(29, 30)));
    assert_eq!(screen.lines_with("●").len(), 1);
    assert_eq!(screen.lines_with("and 23 done").len(), 1);
}

#[test]
fn todos_are_hidden_when_all_are_done_and_while_a_question_is_open() {
    let mut screen = planned(App::working(), 1, 3).on(80, 30);
    assert_eq!(screen.lines_with("○").len(), 1);
    screen.asks(request("a", "Bash"));
    assert_eq!(screen.lines_with("○"), [""; 0]);
    let mut screen = planned(App::working(), 1, 3).on(80, 30);
    screen.turn_event(TurnEvent::Planned(todos(3, 3)));
    assert_eq!(screen.lines_with("✓"), [""; 0]);
}

#[test]
fn todos_are_a_page_by_command_however_many_there_are() {
    let mut screen = planned(App::working(), 1, 30).on(80, 24);
    screen.types("/todos");
    screen.press("enter");
    assert!(matches!(
        screen.state.dialogs.last(),
        Some(Dialog::Pager(_))
    ));
    assert_eq!(screen.lines_with("1 of 30").len(), 1);
    screen.press("end");
    assert_eq!(screen.lines_with("Update the docs (30)").len(), 1);
    let mut none = App::typed("/todos").on(80, 24);
    none.press("enter");
    assert!(none.state.dialogs.is_empty());
    assert!(none.footer().contains("no todos"));
}
