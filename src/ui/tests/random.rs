//! Random events in any order: nothing panics, the caret stays on the screen, nothing loops, and no question is
//! answered too early. The random start makes sure that every part of the screen is reached.

mod agent;
mod events;
mod watched;

use proptest::prelude::*;

use self::events::any_event;
use self::watched::Watched;
use super::screens::{busy, finished};
use crate::app::Msg;
use crate::app::rig::App;
use crate::settings::trust::{Kind, Review, State};

/// Where it begins, so that all parts of the screen are reached.
const STARTS: &[fn() -> App] = &[
    App::new,
    App::starting,
    App::working,
    busy,
    finished,
    || App::asked("Bash"),
    || App::asked("Edit"),
    untrusted,
];

/// A project that wants more than fits on most screens.
fn untrusted() -> App {
    let mut app = App::starting();
    let long = "Stop: \u{1b}[2K".to_owned() + &"wide 字 ".repeat(200);
    let mut wants = vec![(Kind::Hook, long.as_str()), (Kind::Prompt, "a\nb")];
    wants.resize(60, (Kind::Allow, "Bash(x)"));
    let review = Review::wanting(State::Changed, &wants);
    app.update(Msg::TrustAsked(Box::new(review)));
    app
}

/// Keys that lead into each part.
const WAYS: &[&str] = &[
    "",
    "ctrl+s",
    "ctrl+s v",
    "ctrl+s v v",
    "ctrl+s /",
    "ctrl+t",
    "ctrl+t enter",
    "ctrl+t i",
    "ctrl+p",
    "ctrl+r",
    "f1",
];

fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|count| count.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(default),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn anything_may_happen_in_any_order(
        start in prop::sample::select(STARTS),
        way in prop::sample::select(WAYS),
        size in (1u16..130, 1u16..45),
        events in prop::collection::vec(any_event(), 1..60),
    ) {
        let mut watched = Watched::new(start, way, size.0, size.1);
        for event in events {
            watched.happens(event);
        }
    }
}
