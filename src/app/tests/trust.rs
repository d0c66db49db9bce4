use crate::app::dialogs::{Dialog, DialogLayout};
use crate::app::rig::{App, millis};
use crate::app::{Effect, Msg};
use crate::settings::trust::{Review, State};

fn ask(workspace: &str) -> Msg {
    Msg::TrustAsked(Box::new(Review {
        workspace: workspace.into(),
        ..Review::wanting(State::Unknown, &[])
    }))
}

fn asked() -> App {
    let mut app = App::new();
    assert_eq!(app.update(ask("/w")), []);
    app
}

fn shown(app: &mut App, furthest: usize) {
    let dialog = app.state.dialogs.last_mut().expect("a dialog is open");
    dialog.record_layout(DialogLayout {
        furthest,
        visible: 3,
        ..DialogLayout::default()
    });
}

#[test]
fn keys_pressed_before_the_question_could_be_read_are_ignored() {
    let mut app = asked();
    shown(&mut app, 0);
    assert_eq!(app.press("y"), []);
    app.after(millis(200));
    assert_eq!(app.press("n"), []);
    // A person who keeps typing is not answering.
    app.after(millis(250));
    assert_eq!(app.press("y"), []);
    app.after(millis(299));
    assert_eq!(app.press("ctrl+c"), []);
    app.after(millis(300));
    assert_eq!(app.press("y"), [Effect::Trust(true)]);
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn a_yes_is_possible_only_after_all_of_it_was_visible() {
    let mut app = asked();
    app.after(millis(300));
    assert_eq!(app.press("y"), [], "nothing was");
    shown(&mut app, 10);
    assert_eq!(app.press("y"), []);
    app.press("end");
    shown(&mut app, 10);
    app.press("home");
    assert_eq!(app.press("y"), [Effect::Trust(true)]);
}

#[test]
fn every_way_to_cancel_is_a_no_and_requires_no_reading() {
    for key in ["n", "esc", "ctrl+c"] {
        let mut app = asked();
        app.after(millis(300));
        assert_eq!(app.press(key), [Effect::Trust(false)], "{key}");
    }
}

#[test]
fn a_new_query_replaces_the_old_one() {
    let mut app = asked();
    app.update(ask("/other"));
    let [Dialog::Trust(dialog)] = app.state.dialogs.as_slice() else {
        panic!("one question");
    };
    assert_eq!(dialog.review.workspace.to_str(), Some("/other"));
}

#[test]
fn a_paste_answers_nothing() {
    let mut app = asked();
    shown(&mut app, 0);
    app.after(millis(300));
    assert_eq!(app.update(Msg::Pasted("y\r".to_owned())), []);
    assert_eq!(app.state.dialogs.len(), 1);
}
