use insta::assert_snapshot;

use crate::app::Effect;
use crate::app::dialogs::Dialog;
use crate::app::dialogs::picker::{Choice, Item, Kind, Mark, Picker};
use crate::app::page::{Line, Tone};
use crate::app::pointer::PointerKind;
use crate::app::rig::App;
use crate::theme::{Depth, Role};
use crate::ui::rig::Screen;

const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 40), (200, 60)];

/// The same list at every size that matters.
fn at_all_sizes(name: &str, app: impl Fn() -> App) {
    for (width, height) in SIZES {
        let drawn = app().on(width, height).draw();
        assert_snapshot!(format!("{name}_{width}x{height}"), drawn);
    }
}

fn click() -> PointerKind {
    PointerKind::Pressed { times: 1 }
}

/// All that a list can carry.
fn sessions() -> App {
    let mut app = App::new();
    let preview: Vec<Line> = (0..20)
        .map(|number| Line::text(format!("line {number} of what was said in it")))
        .chain([Line::text("bad rows are skipped").lead(Tone::Good, "✓ ")])
        .collect();
    let item = |number: usize| {
        let id = Choice::Session(number.to_string());
        Item::new(format!("session number {number}"), id)
            .about("sonnet-5-5 · main")
            .hint(format!("{number} h"))
            .under(if number < 3 { "Today" } else { "This week" })
            .marked((number == 1).then_some(Mark::Running))
            .preview(preview.clone())
    };
    let picker = Picker::new(Kind::Sessions, (0..40).map(item).collect());
    app.state.dialogs.push(Dialog::Picker(Box::new(picker)));
    app
}

fn palette() -> App {
    let mut app = App::new();
    app.press("ctrl+p");
    app
}

#[test]
fn a_list_with_groups_marks_hints_and_a_preview() {
    at_all_sizes("picker_sessions", sessions);
}

#[test]
fn the_palette() {
    at_all_sizes("picker_palette", palette);
}

#[test]
fn a_list_says_what_is_above_and_below_it() {
    let mut screen = sessions().on(80, 24);
    assert_eq!(screen.lines_with("more ↓").len(), 1);
    screen.press("end");
    assert_eq!(screen.lines_with("more ↑").len(), 1);
    assert_eq!(screen.lines_with("›   session number 39").len(), 1);
}

#[test]
fn a_click_chooses_and_the_wheel_scrolls() {
    let mut screen = sessions().on(80, 24);
    let first = |screen: &mut Screen| screen.lines_with("session number").len();
    let rows = first(&mut screen);
    screen.point(PointerKind::WheelDown, "session number 2");
    screen.frame();
    assert_eq!(first(&mut screen), rows + 1, "the heading has gone");
    let effects = screen.point(click(), "session number 5");
    let [Effect::Open(opening)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert!(format!("{opening:?}").contains("\"5\""));
}

#[test]
fn a_click_beside_the_list_does_nothing() {
    let mut screen = sessions().on(80, 24);
    assert_eq!(screen.point(click(), "Today"), []);
    assert_eq!(screen.point(click(), "Sessions"), []);
    assert_eq!(screen.state.dialogs.len(), 1);
}

#[test]
fn the_ground_behind_a_list_steps_back() {
    let mut app = App::working().dressed("dark", Depth::True);
    app.says("**bold words** of the answer");
    app.press("ctrl+p");
    let screen = app.on(80, 24);
    let at = screen.find("agent-tui");
    let cell = &screen.buffer()[at];
    let faint = screen.state.settings.theme.style(Role::Faint);
    assert_eq!(Some(cell.fg), faint.fg);
    assert!(cell.modifier.is_empty());
}

#[test]
fn the_preview_shows_where_the_word_is() {
    let mut screen = sessions().on(120, 20);
    assert_eq!(
        screen.lines_with("line 4 of what").len(),
        0,
        "its end is in view"
    );
    screen.types("said 4");
    assert_snapshot!(screen.draw());
}

#[test]
fn lists_keep_their_size_while_they_are_narrowed() {
    let mut screen = palette().on(80, 24);
    let frame = |screen: &mut Screen| screen.find("╭─ Commands");
    let before = frame(&mut screen);
    screen.types("nothing like it");
    screen.frame();
    assert_eq!(frame(&mut screen), before);
    assert_eq!(screen.lines_with("nothing matches").len(), 1);
}
