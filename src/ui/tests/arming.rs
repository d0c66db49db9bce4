//! Keys, clicks, time and new questions in any order: nothing is allowed that was not on the screen long enough.

use std::time::Instant;

use proptest::prelude::{Just, ProptestConfig, Strategy, prop, prop_oneof, proptest};

use crate::app::dialogs::Dialog;
use crate::app::dialogs::permission::ARM_DELAY;
use crate::app::pointer::PointerKind;
use crate::app::rig::{App, choice, millis, request};
use crate::app::{AppState, Effect};
use crate::protocol::{Answer, CallCommand, CallRef, Command, Reply};

#[derive(Debug, Clone)]
enum Act {
    Wait(u64),
    Press(&'static str),
    /// A click on the first place with this text, if there is one.
    Click(&'static str, u8),
    /// Another call asks: for permission, or something else.
    Ask {
        permission: bool,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let keys = ["y", "enter", "n", "down", "1", "2", "s", "esc", "tab", "?"];
    let texts = [
        "y yes",
        "s yes",
        "n no",
        "Enter choose",
        "1 one",
        "2 two",
        "Esc",
    ];
    let act = prop_oneof![
        4 => (0..400_u64).prop_map(Act::Wait),
        5 => prop::sample::select(keys.to_vec()).prop_map(Act::Press),
        5 => (prop::sample::select(texts.to_vec()), 1..3_u8)
            .prop_map(|(text, times)| Act::Click(text, times)),
        1 => Just(Act::Ask { permission: true }),
        1 => Just(Act::Ask { permission: false }),
    ];
    prop::collection::vec(act, 0..40)
}

/// The call whose question has the keys.
fn front(state: &AppState) -> Option<CallRef> {
    match state.dialogs.last()? {
        Dialog::Question(questions) => questions.current().map(|asked| asked.call),
        _ => None,
    }
}

/// The calls that these effects allow or answer. Denying and dismissing is always possible.
fn allowed(effects: &[Effect]) -> Vec<CallRef> {
    let allowed = effects.iter().filter_map(|effect| match effect {
        Effect::Send(Command::Call(call, CallCommand::Reply(reply))) => match reply {
            Reply::Permission(Answer::Deny { .. }) | Reply::Dismissed | Reply::Nobody => None,
            Reply::Permission(_) | Reply::Chosen(_) | Reply::Form(_) => Some(*call),
        },
        _ => None,
    });
    allowed.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_is_allowed_before_it_was_on_the_screen_for_300_milliseconds(acts in acts()) {
        let mut app = App::working();
        app.asks(request("0", "Bash"));
        let mut screen = app.on(80, 24);
        let mut seen: Option<(CallRef, Instant)> = None;
        let mut names = 1..;
        for act in acts {
            screen.frame();
            let now = screen.state.now;
            let asked = front(&screen.state);
            seen = match (asked, seen) {
                (Some(call), Some((known, since))) if call == known => Some((call, since)),
                (asked, _) => asked.map(|call| (call, now)),
            };
            let effects = match act {
                Act::Wait(time) => screen.after(millis(time)),
                Act::Press(key) => screen.press(key),
                Act::Click(text, times) if !screen.lines_with(text).is_empty() => {
                    screen.point(PointerKind::Pressed { times }, text)
                }
                Act::Click(..) => Vec::new(),
                Act::Ask { permission } => {
                    let name = names.next().expect("there are enough numbers").to_string();
                    screen.asks(if permission {
                        request(&*name, "Bash")
                    } else {
                        choice(&*name, &["one", "two"])
                    })
                }
            };
            for call in allowed(&effects) {
                let (shown, since) = seen.expect("something was asked");
                assert_eq!(call, shown, "what is allowed was on the screen");
                assert!(now >= since + ARM_DELAY, "too early");
            }
        }
    }
}
