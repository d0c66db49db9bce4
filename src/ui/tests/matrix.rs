//! The main scenes in every size, dark, light and without colours. Colours never change the layout: dark and light say
//! the same; without colours, code has an edge instead of a background.

use super::prose::answered;
use super::screens::busy;
use crate::app::rig::App;
use crate::theme::Depth;

const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 40), (200, 60)];

fn scene(name: &str, make: impl Fn() -> App) {
    for (width, height) in SIZES {
        let text = |theme, depth| make().with_theme(theme, depth).on(width, height).text();
        let dark = text("dark", Depth::True);
        assert_eq!(dark, text("light", Depth::True), "{name} {width}x{height}");
        let plain = text("dark", Depth::None);
        let both = if plain == dark {
            dark
        } else {
            format!("{dark}\n\nwithout colours:\n{plain}")
        };
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), both);
    }
}

#[test]
fn an_answer() {
    scene("answer", answered);
}

#[test]
fn calls_at_work() {
    scene("work", busy);
}

#[test]
fn a_question() {
    scene("question", || App::asked("Edit"));
}

#[test]
fn a_list() {
    scene("list", || {
        let mut app = App::new();
        app.press("ctrl+p");
        app
    });
}
