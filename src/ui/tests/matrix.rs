//! The main scenes in every size, dark, light and without colours. Colours never change the layout: dark and light say
//! the same; without colours, code has an edge instead of a background.
//!
//! A scene is one file: its text in all sizes, and the styles of one size in the dark theme.

use std::fmt::Write;

use ratatui::buffer::Cell;
use serde_json::json;

use super::listing::in_background;
use super::planning::planned;
use super::prose::answered;
use super::screens::busy;
use super::themes::styled;
use crate::app::dialogs::Dialog;
use crate::app::dialogs::pager::{Content, Pager};
use crate::app::page::Line;
use crate::app::rig::{App, millis};
use crate::protocol::{Ending, TurnEvent};
use crate::theme::Depth;
use crate::ui::rig::Screen;

const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 40), (200, 60)];
/// The size whose styles are written down.
const STYLED: (u16, u16) = (80, 24);

fn scene(name: &str, make: impl Fn() -> App) {
    let mut text = String::new();
    for size in SIZES {
        let (width, height) = size;
        let show = |theme, depth| make().with_theme(theme, depth).on(width, height);
        let (mut dark, mut light) = (show("dark", Depth::True), show("light", Depth::True));
        let mut plain = show("dark", Depth::None);
        let dark_text = dark.text();
        assert_eq!(dark_text, light.text(), "{name} {width}x{height}");
        assert_eq!(set_off(&dark), set_off(&light), "{name} {width}x{height}");
        assert!(is_colourless(&plain), "{name} {width}x{height}");
        let _ = writeln!(text, "{width}x{height}:\n{dark_text}\n");
        let plain_text = plain.text();
        if plain_text != dark_text {
            let _ = writeln!(text, "{width}x{height} without colours:\n{plain_text}\n");
        }
        if size == STYLED {
            let styles = styled(dark.buffer());
            let _ = writeln!(text, "{width}x{height} dark:\n{styles}");
        }
    }
    insta::assert_snapshot!(name, text);
}

/// Which visible cells do not look like plain text.
fn set_off(screen: &Screen) -> Vec<bool> {
    let plain = Cell::default();
    let looks =
        |cell: &Cell| (cell.fg, cell.bg, cell.modifier) != (plain.fg, plain.bg, plain.modifier);
    let cells = screen.buffer().content().iter();
    let visible = cells.filter(|cell| cell.symbol() != " ");
    visible.map(looks).collect()
}

fn is_colourless(screen: &Screen) -> bool {
    let plain = Cell::default();
    let cells = screen.buffer().content();
    cells
        .iter()
        .all(|cell| (cell.fg, cell.bg) == (plain.fg, plain.bg))
}

#[test]
fn the_first_screen() {
    scene("first", App::new);
}

#[test]
fn an_answer() {
    scene("answer", answered);
}

#[test]
fn a_long_answer_below_its_pinned_question() {
    scene("long_answer", || {
        let mut app = App::working();
        let paragraph =
            |number| format!("Paragraph {number} explains **how** the parser works.\n\n");
        let text: Vec<String> = (1..60).map(paragraph).collect();
        app.model_writes(&text.concat());
        app
    });
}

#[test]
fn calls_at_work() {
    scene("work", busy);
}

#[test]
fn a_command_that_runs() {
    scene("running", || {
        let mut app = App::working();
        let command = json!({"command": "cargo test parse"});
        app.tool("a", "Bash").arrives().queued(command).running();
        let line = |number| format!("test number_{number} ... ok\n");
        let lines: Vec<String> = (1..40).map(line).collect();
        app.tool("a", "Bash").prints(&lines.concat());
        app.after(millis(12_000));
        app
    });
}

#[test]
fn a_question() {
    scene("question", || App::asked("Edit"));
}

#[test]
fn a_question_about_parts_of_a_change() {
    scene("parts", || {
        let mut app = App::asked("Edit");
        app.after(millis(2_000));
        app.resize(80, 24);
        app.press("tab");
        app
    });
}

#[test]
fn todos() {
    scene("todos", || planned(busy(), 1, 5));
}

#[test]
fn a_retry() {
    scene("retry", || {
        let mut app = App::working();
        app.model_writes("I look at ");
        app.turn_event(TurnEvent::Retrying {
            problem: "the provider is overloaded (529)".to_owned(),
            attempt: 2,
            wait: millis(8_000),
        });
        app.after(millis(2_500));
        app
    });
}

#[test]
fn a_failure() {
    scene("failure", || {
        let mut app = App::working();
        app.ends(Ending::Failed {
            problem: "the provider rejected the API key".to_owned(),
            hint: Some("set ANTHROPIC_API_KEY".to_owned()),
        });
        app
    });
}

#[test]
fn a_background_command() {
    scene("background", || {
        let mut app = in_background("npm run dev");
        app.after(millis(252_000));
        app.accept_message("and now the docs");
        app.model_writes("The docs are next.");
        app
    });
}

#[test]
fn a_list() {
    scene("list", || {
        let mut app = App::new();
        app.press("ctrl+p");
        app
    });
}

#[test]
fn a_page() {
    scene("page", || {
        let mut app = App::new();
        let line = |number| Line::text(format!("finding {number}"));
        let lines: Vec<Line> = (1..80).map(line).collect();
        let pager = Pager::new("Setup", Content::Lines(lines.into()));
        app.state.dialogs.push(Dialog::Pager(Box::new(pager)));
        app
    });
}
