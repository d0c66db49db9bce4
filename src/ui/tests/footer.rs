use serde_json::json;

use crate::app::Msg;
use crate::app::job::JobResult;
use crate::app::page::Line;
use crate::app::pointer::PointerKind;
use crate::app::rig::{App, millis};
use crate::keymap::{Keymap, Resolved};
use crate::protocol::{
    AgentEvent, BackgroundEnd, CallOutcome, Ending, Mode, SessionEvent, TurnEvent,
};
use crate::theme::{Depth, Role, Theme};
use crate::ui::footer::{Hint, hints};
use crate::ui::rig::Screen;

fn first_hints(screen: &mut Screen, count: usize) -> Vec<Hint> {
    screen.frame();
    hints(&screen.state).into_iter().take(count).collect()
}

fn hint(key: &str, words: &str) -> Hint {
    Hint::new(&key, words)
}

#[test]
fn the_footer_says_what_the_next_press_will_do() {
    let mut screen = App::working().on(120, 30);
    assert_eq!(first_hints(&mut screen, 1), [hint("Esc", "interrupt")]);
    screen.press("ctrl+c");
    assert_eq!(first_hints(&mut screen, 1), [hint("Esc", "kill it")]);
    screen.ends(Ending::Interrupted);
    screen.types("draft");
    assert_eq!(first_hints(&mut screen, 3)[2], hint("Ctrl+C", "clear"));
    screen.press("ctrl+c");
    assert_eq!(
        first_hints(&mut screen, 3)[2],
        hint("Ctrl+C", "twice to quit")
    );
    screen.press("ctrl+c");
    assert_eq!(
        first_hints(&mut screen, 1),
        [hint("Ctrl+C", "again to quit")]
    );
}

#[test]
fn among_the_calls_the_footer_says_what_can_be_done_to_the_selected_one() {
    let mut screen = App::working().on(120, 30);
    screen
        .tool("a", "Bash")
        .queued(json!({"command": "make"}))
        .running();
    screen.press("ctrl+t");
    let esc = hint("Esc", "back");
    assert_eq!(
        hints(&screen.state),
        [
            hint("Enter", "open"),
            hint("x", "stop"),
            esc.clone(),
            hint("b", "background")
        ]
    );
    screen.tool("a", "Bash").exits(0, "");
    screen.ends(Ending::Done);
    screen.accept_message("more");
    screen.tool("b", "Read").running().completes("text");
    screen.press("ctrl+t");
    assert_eq!(
        hints(&screen.state),
        [
            hint("Enter", "open"),
            hint("K", "earlier turn"),
            esc,
            hint("r", "run again")
        ]
    );
}

#[test]
fn before_a_retry_the_footer_says_how_to_skip_the_wait() {
    let mut screen = App::working().on(120, 30);
    screen.turn_event(TurnEvent::Retrying {
        problem: "overloaded".to_owned(),
        attempt: 1,
        wait: millis(5000),
    });
    let hints = first_hints(&mut screen, 2);
    assert_eq!(hints, [hint("Esc", "give up"), hint("Enter", "retry now")]);
}

#[test]
fn a_flash_replaces_the_key_hints_until_the_next_key() {
    let mut screen = App::new().on(120, 30);
    screen.press("ctrl+t");
    let footer = screen.footer();
    assert!(footer.starts_with("  builtin · asks"), "{footer}");
    assert!(footer.ends_with("no tool has been called yet"), "{footer}");
    assert!(!footer.contains("Ctrl+"), "{footer}");
    screen.types("x");
    assert!(screen.footer().ends_with("Ctrl+G editor"));
}

#[test]
fn quitting_never_comes_first_and_at_most_four_keys_are_shown() {
    for keys in ["", "x", "ctrl+s", "ctrl+s v", "ctrl+s /", "ctrl+p", "?"] {
        for mut app in [App::new(), App::working()] {
            app.press(keys);
            let mut screen = app.on(200, 30);
            let hints = first_hints(&mut screen, 9);
            assert!(hints.len() <= 4, "{keys}: {hints:?}");
            let first = hints.first().map_or("", |hint| &hint.words);
            assert!(!first.contains("quit"), "{keys}: {hints:?}");
        }
    }
}

#[test]
fn messages_to_the_person_are_coloured_by_kind() {
    let theme = Theme::builtin("dark").expect("a built-in theme");
    for (keys, part, role) in [
        ("ctrl+t", "no tool", Role::Muted),
        ("/ x x x enter", "unknown command /xxx", Role::Error),
        ("/ v i m enter", "vim mode on", Role::Success),
    ] {
        let mut screen = App::new().with_theme("dark", Depth::True).on(120, 30);
        screen.press(keys);
        screen.frame();
        let at = screen.find(part);
        assert_eq!(
            screen.buffer()[at].fg,
            theme.style(role).fg.expect("a colour")
        );
    }
}

#[test]
fn loading_ends_once_the_items_are_there() {
    let mut screen = App::typed("/doctor").on(120, 30);
    screen.press("enter");
    assert!(screen.text().contains("checking …"));
    screen.update(Msg::JobDone(JobResult::Examined(vec![Line::text(
        "all is well",
    )])));
    let text = screen.text();
    assert!(
        text.contains("all is well") && !text.contains("checking …"),
        "{text}"
    );
}

/// Every badge, and whether the cursor is visible: only if something can be typed.
#[test]
fn a_badge_on_the_rule_says_where_the_keys_go() {
    for (keys, badge, cursor) in [
        ("", "──", true),
        ("ctrl+s", "── SCROLL ─", false),
        ("ctrl+s v", "── SELECT ─", false),
        ("ctrl+s /", "── SEARCH ─", true),
        ("ctrl+s / f i x enter", "── SCROLL ─", false),
        ("ctrl+t", "── TOOLS ─", false),
        ("ctrl+t enter", "── TOOLS ─", false),
        ("?", "──", true),
        ("ctrl+p", "──", true),
    ] {
        let mut screen = App::working().on(100, 30);
        screen.tool("a", "Bash").running();
        screen.press(keys);
        let rules = screen.lines_with("──");
        let rule = rules.last().expect("a rule over the input");
        assert!(rule.starts_with(badge), "{keys}: {rule}");
        assert_eq!(screen.caret().is_some(), cursor, "{keys}");
    }
}

#[test]
fn vims_mode_is_shown_above_the_input_even_if_it_is_empty() {
    let mut screen = App::typed("/vim").on(80, 20);
    screen.press("enter");
    assert_eq!(screen.lines_with("── INSERT ─").len(), 1);
    screen.press("esc");
    assert_eq!(screen.lines_with("── NORMAL ─").len(), 1);
    screen.press("i a esc v");
    assert_eq!(screen.lines_with("── VISUAL ─").len(), 1);
}

#[test]
fn the_input_is_dimmed_while_the_keys_go_elsewhere() {
    let mut screen = App::typed("draft")
        .with_theme("dark", Depth::True)
        .on(80, 20);
    let faint = Theme::builtin("dark").map(|theme| theme.style(Role::Faint).fg);
    let at = screen.find("draft");
    assert_ne!(Some(Some(screen.buffer()[at].fg)), faint);
    screen.press("ctrl+s");
    screen.frame();
    assert_eq!(Some(Some(screen.buffer()[at].fg)), faint);
    screen.press("esc");
    screen.frame();
    assert_ne!(Some(Some(screen.buffer()[at].fg)), faint);
}

#[test]
fn the_mode_is_shown_in_words() {
    for (mode, words) in [
        (Mode::Default, "builtin · asks"),
        (Mode::AcceptEdits, "builtin · accepts edits"),
        (Mode::Plan, "builtin · plan mode · read-only"),
        (Mode::DontAsk, "builtin · denies instead of asking"),
        (Mode::BypassPermissions, "builtin · bypasses permissions"),
    ] {
        let mut screen = App::new().on(100, 20);
        screen.state.session.mode = mode;
        let footer = screen.footer();
        assert!(footer.contains(words), "{footer}");
    }
}

#[test]
fn a_background_command_is_shown_until_it_ends_also_after_the_next_message() {
    let mut screen = App::working().on(100, 24);
    screen
        .tool("a", "Bash")
        .running()
        .ends_as(CallOutcome::Backgrounded, "in the background");
    screen.ends(Ending::Done);
    screen.types("next").press("enter");
    screen.accept_message("next");
    assert!(screen.footer().contains("1 in background"));
    screen.background_ended("a", BackgroundEnd::Exited(0));
    assert!(!screen.footer().contains("in background"));
}

/// The most important parts stay on a narrow screen, and the keys keep their share of the row.
#[test]
fn the_status_and_the_keys_share_the_row_down_to_the_narrowest_screen() {
    for width in 20..=200 {
        let mut app = App::working();
        app.state.session.model = "claude-sonnet-5-5".to_owned();
        app.state.session.branch = Some("main".to_owned());
        let mut screen = app.on(width, 24);
        screen.frame();
        let text = screen.text();
        assert!(text.contains("Esc interrupt"), "{width}:\n{text}");
        assert!(text.contains("asks"), "{width}:\n{text}");
        if width >= 80 {
            let row = screen.footer();
            assert!(row.contains("claude-sonnet-5-5 · asks · main"), "{row}");
        }
    }
}

/// From the smallest screen on, rows are added in this order: the input, the status, the line above the input, the
/// empty row above that.
#[test]
fn at_every_height_the_input_is_there_and_the_conversation_has_most_of_the_rows() {
    for height in 5..=40u16 {
        let mut app = App::working();
        app.turn_event(TurnEvent::Text("a line of the answer\n\n".repeat(60)));
        let mut screen = app.on(80, height);
        let text = screen.text();
        let lines: Vec<&str> = text.lines().collect();
        let row = |part: &str| lines.iter().rposition(|line| line.contains(part));
        let input = row("❯").expect("the input");
        let answer = row("a line of the answer").expect("the answer");
        assert_eq!(row("asks").is_some(), height >= 6, "{text}");
        assert_eq!(row("──").is_some(), height >= 7, "{text}");
        let between = input - answer - 1;
        let expected = match height {
            ..7 => 0..=1,
            7..12 => 1..=2,
            12.. => 2..=3,
        };
        assert!(expected.contains(&between), "{height}:\n{text}");
        let count = lines.iter().filter(|line| line.contains("a line")).count();
        assert!(
            count * 2 + 5 >= usize::from(height) / 2,
            "{height}:\n{text}"
        );
        if height >= 12 {
            let rule = row("──").expect("a rule");
            assert_eq!(lines[rule - 1], "", "{height}:\n{text}");
        }
    }
}

/// In every state that a story leads to, each key in the footer is bound.
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
        for Hint { key, words } in hints(&screen.state) {
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
        [hint("Esc", "clear selection")]
    );
    assert_eq!(screen.commands("ctrl+c"), []);
    assert_eq!(first_hints(&mut screen, 1), [hint("Esc", "interrupt")]);
}

#[test]
fn f3_while_the_session_cannot_be_saved_the_status_line_says_so() {
    let mut screen = App::working().on(60, 20);
    let is_shown = |screen: &mut Screen| screen.text().contains("! not saved: no space left");
    assert!(!is_shown(&mut screen));
    let full = Err("no space left on device".to_owned());
    screen.receive(AgentEvent::Session(SessionEvent::Saving(full)));
    assert!(is_shown(&mut screen));
    screen.turn_event(TurnEvent::Text("a long answer\n\n".repeat(60)));
    screen.ends(Ending::Done);
    assert!(is_shown(&mut screen), "it does not scroll away");
    screen.receive(AgentEvent::Session(SessionEvent::Saving(Ok(()))));
    assert!(!is_shown(&mut screen));
}
