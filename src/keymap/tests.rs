use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, ModifierKeyCode};
use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::{Action, Chord, Context, Key, Keymap, Resolved};

const WRITING: [Context; 3] = [Context::ComposerEmpty, Context::Composer, Context::Global];

fn with_user(toml: &str) -> Keymap {
    let (keymap, problems) = Keymap::with_user(toml, Path::new("keymap.toml"));
    assert_eq!(problems, []);
    keymap
}

fn problem(toml: &str) -> String {
    let (_, problems) = Keymap::with_user(toml, Path::new("keymap.toml"));
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn chord(text: &str) -> Chord {
    text.parse().expect("the test writes a key")
}

/// What the keys do one after the other; `Unbound` is what a text field would get.
fn press(keymap: &Keymap, contexts: &[Context], keys: &str) -> Vec<Resolved> {
    let mut pending = None;
    keys.split(' ')
        .map(|key| keymap.resolve(contexts, &mut pending, event(key)))
        .collect()
}

fn event(key: &str) -> KeyEvent {
    let (held, name) = key.rsplit_once('+').unwrap_or(("", key));
    let mut modifiers = KeyModifiers::NONE;
    modifiers.set(KeyModifiers::CONTROL, held.contains("ctrl"));
    modifiers.set(KeyModifiers::ALT, held.contains("alt"));
    modifiers.set(KeyModifiers::SHIFT, held.contains("shift"));
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "backtab" => KeyCode::BackTab,
        "up" => KeyCode::Up,
        character => KeyCode::Char(character.chars().next().expect("a key")),
    };
    KeyEvent::new(code, modifiers)
}

#[test]
fn every_built_in_key_does_what_its_line_says() {
    let keymap = Keymap::builtin();
    for context in Context::ALL {
        assert!(keymap.hints(*context).count() > 0, "{context:?}");
        for (chord, action) in keymap.hints(*context) {
            let mut pending = None;
            let mut last = Resolved::Unbound;
            for key in [Some(chord.first), chord.second].into_iter().flatten() {
                last = keymap.resolve(&[*context], &mut pending, key.event());
            }
            assert_eq!(last, Resolved::Action(action), "{chord} in {context:?}");
            assert_eq!(pending, None);
        }
    }
}

#[test]
fn every_action_has_a_key_and_is_in_the_help() {
    let keymap = Keymap::builtin();
    let shown: Vec<_> = Context::ALL
        .iter()
        .flat_map(|context| keymap.group(*context))
        .map(|(action, _)| action)
        .collect();
    for action in Action::ALL {
        assert!(shown.contains(action), "{action:?}");
        assert!(!action.explain().ends_with('.'), "{action:?}");
        assert!(action.describe().len() <= 22, "{action:?}");
        assert_eq!(Action::named(action.name()), Some(*action));
    }
}

#[test]
fn the_permission_keys_are_the_promised_ones() {
    let keymap = Keymap::builtin();
    let keys: Vec<_> = keymap
        .hints(Context::Permission)
        .take(7)
        .map(|(chord, action)| (chord.to_string(), action))
        .collect();
    let promised = [
        ("y", Action::AllowOnce),
        ("s", Action::AllowForSession),
        ("a", Action::AllowAlways),
        ("n", Action::Deny),
        ("e", Action::DenyWithReason),
        ("Tab", Action::ChooseHunks),
        ("Esc", Action::DenyAndInterrupt),
    ];
    assert_eq!(keys, promised.map(|(key, action)| (key.to_owned(), action)));
}

#[test]
fn enter_answers_a_permission_question_only_with_a_selected_answer() {
    let contexts = [Context::Permission, Context::Working, Context::Global];
    let pressed = press(&Keymap::builtin(), &contexts, "enter ctrl+j");
    assert_eq!(
        pressed,
        [Resolved::Action(Action::Choose), Resolved::Unbound]
    );
}

#[test]
fn the_innermost_context_wins() {
    let keymap = Keymap::builtin();
    let idle = press(&keymap, &WRITING, "ctrl+c esc x");
    assert_eq!(
        idle,
        [
            Resolved::Action(Action::ClearOrQuit),
            Resolved::Action(Action::Back),
            Resolved::Unbound
        ]
    );
    let working = [Context::Composer, Context::Working, Context::Global];
    assert_eq!(
        press(&keymap, &working, "ctrl+c esc"),
        [Resolved::Action(Action::Interrupt); 2]
    );
}

#[test]
fn a_key_is_the_same_however_the_terminal_reports_it() {
    let same = [
        (("shift+g", "G"), "G"),
        (("shift+G", "G"), "G"),
        (("backtab", "shift+tab"), "Shift+Tab"),
        (("shift+backtab", "shift+tab"), "Shift+Tab"),
        (("ctrl+m", "enter"), "Enter"),
        (("alt+ctrl+m", "alt+enter"), "Alt+Enter"),
        (("ctrl+i", "tab"), "Tab"),
        (("ctrl+[", "esc"), "Esc"),
        (("ctrl+h", "backspace"), "Backspace"),
        (("ctrl+7", "ctrl+/"), "Ctrl+/"),
        (("ctrl+shift+T", "ctrl+shift+t"), "Ctrl+Shift+T"),
        (("ctrl+T", "ctrl+shift+t"), "Ctrl+Shift+T"),
        (("ctrl+t", "ctrl+T"), "Ctrl+T"),
        (("alt+shift+G", "alt+shift+g"), "Alt+Shift+G"),
        (("shift+?", "?"), "?"),
        (("ctrl+j", "ctrl+j"), "Ctrl+J"),
        (("shift+ä", "Ä"), "Ä"),
    ];
    for ((reported, written), shown) in same {
        let key = Key::from(event(reported));
        assert_eq!(Chord::single(key), chord(written), "{reported}");
        assert_eq!(key.to_string(), shown);
    }
}

#[test]
fn keys_are_written_in_many_ways_and_shown_in_one() {
    let shown = [
        ("ctrl+t", "Ctrl+T"),
        ("CTRL+SHIFT+p", "Ctrl+Shift+P"),
        ("return", "Enter"),
        ("up", "↑"),
        ("Shift+↓", "Shift+↓"),
        ("PageUp", "PgUp"),
        ("esc  esc", "Esc Esc"),
        ("g g", "g g"),
        ("space", "Space"),
        ("+", "+"),
        ("ctrl++", "Ctrl++"),
        ("alt+plus", "Alt++"),
        ("f12", "F12"),
        ("cmd+k", "Super+K"),
        ("shift+j", "J"),
        ("-", "-"),
    ];
    for (written, wanted) in shown {
        assert_eq!(chord(written).to_string(), wanted);
    }
}

#[test]
fn a_released_key_and_a_modifier_alone_mean_nothing() {
    let keymap = with_user("[scroll]\n'z z' = 'top'");
    let mut pending = Some(chord("z").first);
    let mut released = event("enter");
    released.kind = KeyEventKind::Release;
    let shift = KeyCode::Modifier(ModifierKeyCode::LeftShift);
    for event in [released, KeyEvent::new(shift, KeyModifiers::SHIFT)] {
        assert_eq!(
            keymap.resolve(&[Context::Scroll], &mut pending, event),
            Resolved::Ignored
        );
    }
    let top = keymap.resolve(&[Context::Scroll], &mut pending, event("z"));
    assert_eq!(top, Resolved::Action(Action::Top));
}

#[test]
fn a_held_key_repeats() {
    let mut held = event("up");
    held.kind = KeyEventKind::Repeat;
    let resolved = Keymap::builtin().resolve(&[Context::Scroll], &mut None, held);
    assert_eq!(resolved, Resolved::Action(Action::LineUp));
}

#[test]
fn two_keys_make_one_action_and_a_stray_one_is_resolved_by_itself() {
    let keymap = with_user("[scroll]\n'g g' = 'top'\n'g e' = 'bottom'");
    assert_eq!(
        press(&keymap, &[Context::Scroll], "g g g e g j g"),
        [
            Resolved::Prefix,
            Resolved::Action(Action::Top),
            Resolved::Prefix,
            Resolved::Action(Action::Bottom),
            Resolved::Prefix,
            Resolved::Action(Action::LineDown),
            Resolved::Prefix,
        ]
    );
}

#[test]
fn a_custom_key_replaces_the_built_in_one_and_is_shown() {
    let keymap = with_user("[composer]\n'ctrl+x' = 'send'\n'ctrl+y' = 'send'\nenter = 'newline'");
    assert_eq!(
        press(&keymap, &WRITING, "enter ctrl+x"),
        [
            Resolved::Action(Action::Newline),
            Resolved::Action(Action::Send)
        ]
    );
    assert_eq!(
        keymap.group(Context::Composer)[..2],
        [
            (
                Action::Newline,
                ["enter", "ctrl+j", "alt+enter", "shift+enter"]
                    .map(chord)
                    .to_vec()
            ),
            (Action::HistoryPrevious, vec![chord("up")]),
        ]
    );
    assert_eq!(
        keymap.chord_for(Action::Send, &WRITING),
        Some(chord("ctrl+x"))
    );
}

#[test]
fn none_removes_a_key_also_from_the_outer_contexts() {
    let keymap = with_user("[composer]\n'ctrl+p' = 'none'\n[scroll]\nq = 'none'");
    assert_eq!(press(&keymap, &WRITING, "ctrl+p"), [Resolved::Unbound]);
    assert_eq!(press(&keymap, &[Context::Scroll], "q"), [Resolved::Unbound]);
    assert_eq!(keymap.chord_for(Action::Palette, &WRITING), None);
    let panel = [Context::Panel, Context::Global];
    assert_eq!(
        keymap.chord_for(Action::Palette, &panel),
        Some(chord("ctrl+p"))
    );
    assert!(
        keymap
            .hints(Context::Scroll)
            .all(|(key, _)| key != chord("q"))
    );
}

#[test]
fn a_hint_never_names_a_key_that_does_something_else() {
    let keymap = Keymap::builtin();
    let scroll = [Context::Scroll, Context::Working, Context::Global];
    // Here Esc goes back to the input; only Ctrl+C interrupts.
    assert_eq!(
        keymap.chord_for(Action::Interrupt, &scroll),
        Some(chord("ctrl+c"))
    );
    assert_eq!(keymap.chord_for(Action::Send, &scroll), None);
}

#[test]
fn mistakes_are_reported_with_their_place_and_a_remedy() {
    let messages = [
        (
            "[scrol]\nj = 'top'",
            "`keymap.toml`, line 1, column 2: no context named `scrol`; its keys are ignored\n\
             hint: did you mean `scroll`?",
        ),
        (
            "composer = 3",
            "`keymap.toml`, line 1, column 12: `composer` must be a table of keys\n\
             hint: write `[composer]`, and below it lines like `\"ctrl+t\" = \"toggle-panel\"`",
        ),
        (
            "[composer]\n'ctrl+x' = 'sned'",
            "`keymap.toml`, line 2, column 12: no action named `sned`\nhint: did you mean `send`?",
        ),
        (
            "[rule-edit]\n'ctrl+x' = 'qqq'",
            "`keymap.toml`, line 2, column 12: no action named `qqq`\n\
             hint: actions in `rule-edit`: `save-rule`, `widen-rule`, `back` or `none`",
        ),
        (
            "[composer]\n'ctrl+x' = 3",
            "`keymap.toml`, line 2, column 12: expected the name of an action, not this integer\n\
             hint: write it in quotes, like `\"send\"`; `\"none\"` removes the key",
        ),
        (
            "[composer]\n'crtl+x' = 'send'",
            "`keymap.toml`, line 2, column 1: `crtl` is not a modifier (ctrl, alt, shift)\nhint: did you mean `ctrl`?",
        ),
        (
            "[composer]\n'ctrl+entr' = 'send'",
            "`keymap.toml`, line 2, column 1: `entr` is not a key\nhint: did you mean `enter`?",
        ),
        (
            "[composer]\nctrl-x = 'send'",
            "`keymap.toml`, line 2, column 1: `ctrl-x` is not a key\nhint: write `ctrl+x`",
        ),
        (
            "[composer]\nf99 = 'send'",
            "`keymap.toml`, line 2, column 1: `f99` is not a key\n\
             hint: write keys like `ctrl+t`, `shift+enter`, `pgup`, `f1` or `g g`",
        ),
        (
            "[composer]\n'' = 'send'",
            "`keymap.toml`, line 2, column 1: missing key\n\
             hint: write a key like `ctrl+t`; the space bar is `space`",
        ),
        (
            "[scroll]\n'g g g' = 'top'",
            "`keymap.toml`, line 2, column 1: `g g g` has more than two keys\n\
             hint: use one key, or two in sequence",
        ),
        (
            "[scroll]\n'shift+tab' = 'top'\nbacktab = 'bottom'",
            "`keymap.toml`, line 3, column 1: `Shift+Tab` is already bound in `scroll`; this line is ignored\n\
             hint: keep one of the two lines, or choose another key",
        ),
        (
            "[scroll]\n'g g' = 'top'\ng = 'bottom'",
            "`keymap.toml`, line 3, column 1: `g` and `g g` start with the same key in `scroll`; this line is ignored\n\
             hint: keep one of the two lines, or choose another key",
        ),
        (
            "[composer]\n'j k' = 'scroll'",
            "`keymap.toml`, line 2, column 1: binding `j k` in `composer` would make it impossible to type\n\
             hint: add a modifier: `alt+j`",
        ),
    ];
    for (toml, wanted) in messages {
        assert_eq!(problem(toml), wanted);
    }
}

#[test]
fn a_wrong_line_does_not_affect_the_others() {
    let toml = "[composer]\nctrl+x = 'send'\n'ctrl+y' = 'newline'\n[nowhere]\nx = 'y'\n[scroll]\nz = 'top'";
    let (keymap, problems) = Keymap::with_user(toml, Path::new("keymap.toml"));
    let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [2, 4]);
    assert_eq!(
        press(&keymap, &WRITING, "ctrl+x ctrl+y"),
        [Resolved::Unbound, Resolved::Action(Action::Newline)]
    );
    assert_eq!(
        press(&keymap, &[Context::Scroll], "z"),
        [Resolved::Action(Action::Top)]
    );
}

fn any_code() -> impl Strategy<Value = KeyCode> {
    prop_oneof![
        any::<char>().prop_map(KeyCode::Char),
        prop::char::range(' ', '~').prop_map(KeyCode::Char),
        any::<u8>().prop_map(KeyCode::F),
        prop::sample::select(vec![
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::Tab,
            KeyCode::BackTab,
            KeyCode::Backspace,
            KeyCode::Up,
            KeyCode::PageDown,
            KeyCode::Null,
            KeyCode::KeypadBegin,
            KeyCode::Modifier(ModifierKeyCode::LeftHyper),
        ]),
    ]
}

fn any_event() -> impl Strategy<Value = KeyEvent> {
    let kind = prop_oneof![
        Just(KeyEventKind::Press),
        Just(KeyEventKind::Repeat),
        Just(KeyEventKind::Release)
    ];
    (any_code(), any::<u8>(), kind).prop_map(|(code, bits, kind)| {
        let modifiers = KeyModifiers::from_bits_truncate(bits);
        KeyEvent::new_with_kind(code, modifiers, kind)
    })
}

proptest! {
    #[test]
    fn any_keys_in_any_contexts_resolve(
        events in prop::collection::vec(any_event(), 0..20),
        contexts in prop::collection::vec(prop::sample::select(Context::ALL.to_vec()), 0..4),
    ) {
        let keymap = with_user("[scroll]\n'g g' = 'top'\n[panel]\n'esc esc' = 'quit'");
        let mut pending = None;
        for event in events {
            let before = pending;
            let resolved = keymap.resolve(&contexts, &mut pending, event);
            let waits = resolved == Resolved::Prefix || (resolved == Resolved::Ignored && before.is_some());
            prop_assert_eq!(pending.is_some(), waits);
        }
    }

    #[test]
    fn a_normal_key_stays_as_it_is(event in any_event()) {
        let key = Key::from(event);
        prop_assert_eq!(Key::from(key.event()), key);
    }

    #[test]
    fn displayed_keys_can_be_parsed(
        character in prop_oneof![prop::char::range('!', '~'), prop::char::range('À', 'ÿ')],
        bits in 0..16_u8,
    ) {
        let key = Key::new(KeyCode::Char(character), KeyModifiers::from_bits_truncate(bits));
        prop_assert_eq!(key.to_string().parse(), Ok(key));
    }

    #[test]
    fn any_text_is_parsed_without_a_panic(text in any::<String>(), name in "\\PC{0,12}", action in "\\PC{0,12}") {
        let _ = Keymap::with_user(&text, Path::new("x"));
        let _ = Keymap::with_user(&format!("[scroll]\n{name} = {action}\n'{name}' = '{action}'"), Path::new("x"));
    }
}
