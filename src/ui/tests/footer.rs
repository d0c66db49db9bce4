use crate::app::pointer::PointerKind;
use crate::app::rig::{App, millis};
use crate::keymap::{Keymap, Resolved};
use crate::protocol::{AgentEvent, Ending, SessionEvent, TurnEvent};
use crate::ui::footer::hints;
use crate::ui::rig::Screen;

fn first_hints(screen: &mut Screen, count: usize) -> Vec<(String, String)> {
    screen.frame();
    hints(&screen.state).into_iter().take(count).collect()
}

fn hint(key: &str, words: &str) -> (String, String) {
    (key.to_owned(), words.to_owned())
}

#[test]
fn the_footer_says_what_the_next_press_will_do() {
    let mut screen = App::working().on(120, 30);
    assert_eq!(first_hints(&mut screen, 1), [hint("Esc", "interrupt")]);
    screen.press("ctrl+c");
    assert_eq!(
        first_hints(&mut screen, 1),
        [hint("Esc", "stop with force")]
    );
    screen.ends(Ending::Interrupted);
    screen.types("draft");
    assert_eq!(first_hints(&mut screen, 1), [hint("Ctrl+C", "clear")]);
    screen.press("ctrl+c");
    assert_eq!(
        first_hints(&mut screen, 1),
        [hint("Ctrl+C", "twice to quit")]
    );
    screen.press("ctrl+c");
    assert_eq!(
        first_hints(&mut screen, 1),
        [hint("Ctrl+C", "again to quit")]
    );
}

#[test]
fn the_footer_tells_esc_and_ctrl_c_apart() {
    let mut screen = App::working().on(120, 30);
    screen.tool("a", "Read").running();
    screen.press("ctrl+t");
    assert_eq!(
        first_hints(&mut screen, 2),
        [hint("Esc", "back"), hint("Ctrl+C", "interrupt")]
    );
}

#[test]
fn before_a_retry_the_footer_says_how_to_skip_the_wait() {
    let mut screen = App::working().on(120, 30);
    screen.hear(TurnEvent::Retrying {
        problem: "overloaded".to_owned(),
        attempt: 1,
        wait: millis(5000),
    });
    let hints = first_hints(&mut screen, 2);
    assert_eq!(hints, [hint("Esc", "give up"), hint("r", "retry now")]);
}

#[test]
fn a_word_to_the_person_leaves_room_for_the_keys() {
    let mut screen = App::new().on(120, 30);
    screen.press("ctrl+t");
    let footer = screen.footer();
    assert!(
        footer.starts_with("no tool has been called yet   Ctrl+C twice to quit"),
        "{footer}"
    );
}

/// In every state that a story leads to, each key of the footer resolves to something.
#[test]
fn no_key_of_the_footer_is_dead() {
    for keys in [
        "",
        "ctrl+s",
        "ctrl+s v",
        "ctrl+s /",
        "ctrl+t",
        "ctrl+t enter",
        "?",
        "ctrl+p",
        "ctrl+r",
    ] {
        let mut screen = App::working().on(200, 30);
        screen.tool("a", "Bash").running();
        screen.press(keys);
        screen.frame();
        let contexts = screen.state.contexts();
        for (key, words) in hints(&screen.state) {
            let chord = crate::app::rig::key(&key);
            let resolved = Keymap::builtin().resolve(&contexts, &mut None, chord);
            assert!(
                matches!(resolved, Resolved::Action(_)),
                "{keys}: {key} {words}"
            );
        }
    }
}

#[test]
fn with_a_selection_while_a_turn_runs_the_footer_says_that_it_goes_first() {
    let mut screen = App::working().on(120, 30);
    screen.point(PointerKind::Pressed { times: 2 }, "failing");
    assert_eq!(
        first_hints(&mut screen, 1),
        [hint("Esc", "let go of the selection")]
    );
    assert_eq!(screen.commands("ctrl+c"), []);
    assert_eq!(first_hints(&mut screen, 1), [hint("Esc", "interrupt")]);
}

#[test]
fn f3_while_the_session_cannot_be_saved_the_status_line_says_so() {
    let mut screen = App::working().on(60, 20);
    let says = |screen: &mut Screen| screen.text().contains("! not saved: no space left");
    assert!(!says(&mut screen));
    let full = Err("no space left on device".to_owned());
    screen.told(AgentEvent::Session(SessionEvent::Saving(full)));
    assert!(says(&mut screen));
    screen.hear(TurnEvent::Text("a long answer\n\n".repeat(60)));
    screen.ends(Ending::Done);
    assert!(says(&mut screen), "it does not scroll away");
    screen.told(AgentEvent::Session(SessionEvent::Saving(Ok(()))));
    assert!(!says(&mut screen));
}
