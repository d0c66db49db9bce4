use std::path::PathBuf;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::{Strategy, any, prop, prop_oneof, proptest};
use serde_json::json;

use super::{PermissionDialog, Stage, Verdict};
use crate::app::dialogs::DialogRest;
use crate::keymap::{Action, Context, Keymap, Resolved};
use crate::protocol::{Answer, CallId, FileDiff, PermissionRequest, RuleOffer};

/// A dialog with a clock and the keys that are built in.
struct Asked {
    dialog: PermissionDialog,
    keymap: Keymap,
    now: Instant,
}

impl Asked {
    /// Read to its end and armed.
    fn ready(request: PermissionRequest) -> Self {
        let mut asked = Self::fresh(request);
        asked.show(0).wait(300);
        asked
    }

    fn fresh(request: PermissionRequest) -> Self {
        let now = Instant::now();
        Self {
            dialog: PermissionDialog::new(request, now),
            keymap: Keymap::builtin(),
            now,
        }
    }

    fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self
    }

    /// A frame with ten rows of the content, and this many beyond them.
    fn show(&mut self, furthest: usize) -> &mut Self {
        self.settle(furthest, 10)
    }

    fn settle(&mut self, furthest: usize, visible: usize) -> &mut Self {
        self.dialog.settle(DialogRest { furthest, visible });
        self
    }

    fn press(&mut self, name: &str) -> Option<Verdict> {
        let contexts = [self.dialog.context(), Context::Global];
        match self.keymap.resolve(&contexts, &mut None, key(name)) {
            Resolved::Action(action) => self.dialog.perform(action, self.now),
            Resolved::Prefix | Resolved::Unbound | Resolved::Ignored => {
                self.dialog.key(key(name), self.now);
                Some(Verdict::Stays)
            }
        }
    }

    fn type_in(&mut self, text: &str) -> &mut Self {
        for letter in text.chars() {
            self.press(letter.encode_utf8(&mut [0; 4]));
        }
        self
    }
}

fn key(name: &str) -> KeyEvent {
    let code = match name {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "end" => KeyCode::End,
        "home" => KeyCode::Home,
        "pgdn" => KeyCode::PageDown,
        "pgup" => KeyCode::PageUp,
        "backspace" => KeyCode::Backspace,
        letter => KeyCode::Char(letter.chars().next().expect("a key has a name")),
    };
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn bash(id: &str) -> PermissionRequest {
    PermissionRequest {
        call: CallId::from(id),
        tool: "Bash".into(),
        input: json!({ "command": "cargo test" }),
        reason: "no rule allows it".into(),
        change: None,
        rule: Some(RuleOffer {
            rule: "Bash(cargo test:*)".into(),
            file: PathBuf::from("/repo/.agent-tui/settings.local.json"),
        }),
    }
}

/// Lines 2, 12 and 14 change: two hunks, of which the second can be split.
fn edit(id: &str) -> PermissionRequest {
    let before: Vec<String> = (1..=20).map(|line| format!("line {line}\n")).collect();
    let mut after = before.clone();
    for line in [2, 12, 14] {
        after[line - 1] = format!("LINE {line}\n");
    }
    PermissionRequest {
        tool: "Edit".into(),
        change: Some(FileDiff {
            path: "notes.txt".into(),
            before: Some(before.concat().into()),
            after: after.concat().into(),
        }),
        ..bash(id)
    }
}

/// The file of [`edit`] with only these lines changed.
fn edited(lines: &[usize]) -> String {
    let line = |line| match lines.contains(&line) {
        true => format!("LINE {line}\n"),
        false => format!("line {line}\n"),
    };
    (1..=20).map(line).collect()
}

fn answered(id: &str, answer: Answer) -> Option<Verdict> {
    Some(Verdict::Answered(CallId::from(id), answer))
}

const STAYS: Option<Verdict> = Some(Verdict::Stays);
const DENIED: Answer = Answer::Deny { reason: None };

#[test]
fn each_key_gives_its_answer() {
    let press = |key| Asked::ready(bash("1")).press(key);
    assert_eq!(press("y"), answered("1", Answer::Allow));
    let rule = "Bash(cargo test:*)".to_owned();
    assert_eq!(press("s"), answered("1", Answer::AllowForSession { rule }));
    assert_eq!(press("n"), answered("1", DENIED));
    let interrupted = Verdict::AnsweredAndInterrupt(CallId::from("1"));
    assert_eq!(press("esc"), Some(interrupted));
}

#[test]
fn a_key_counts_from_300_milliseconds_on() {
    for key in ["y", "s", "a", "n", "e", "tab", "esc"] {
        let mut early = Asked::fresh(edit("1"));
        early.show(0).wait(299);
        assert_eq!(early.press(key), STAYS, "{key} was too early");
        assert_eq!(early.dialog.stage(), Stage::Asking, "{key} was too early");

        let mut on_time = Asked::fresh(edit("1"));
        on_time.show(0).wait(300);
        let verdict = on_time.press(key);
        let changed = verdict != STAYS || on_time.dialog.stage() != Stage::Asking;
        assert!(changed, "{key} was in time");
    }
}

#[test]
fn the_screen_wakes_up_when_the_keys_begin_to_count() {
    let mut asked = Asked::fresh(bash("1"));
    let armed = asked.now + super::ARM_DELAY;
    assert_eq!(asked.dialog.wake_at(asked.now), Some(armed));
    asked.wait(300);
    assert_eq!(asked.dialog.wake_at(asked.now), None);
}

#[test]
fn who_types_on_does_not_answer() {
    let mut asked = Asked::fresh(bash("1"));
    asked.show(0);
    for letter in "why not say yes and yes again, or no".chars() {
        asked.wait(200);
        let verdict = asked.press(&letter.to_string());
        assert!(matches!(verdict, None | STAYS), "at {letter}");
    }
    assert_eq!(asked.dialog.stage(), Stage::Asking);
    asked.wait(300);
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
}

#[test]
fn the_way_out_is_open_after_two_seconds_of_typing() {
    let mut asked = Asked::fresh(bash("1"));
    for _ in 0..9 {
        asked.wait(200).press("x");
        assert_eq!(asked.press("esc"), STAYS);
    }
    asked.wait(200);
    assert_eq!(asked.press("y"), STAYS);
    let interrupted = Verdict::AnsweredAndInterrupt(CallId::from("1"));
    assert_eq!(asked.press("esc"), Some(interrupted));
}

#[test]
fn a_held_key_answers_one_request_only() {
    let mut asked = Asked::ready(bash("1"));
    asked.dialog.push(bash("2"), asked.now);
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
    for _ in 0..200 {
        asked.show(0).wait(30);
        assert_eq!(asked.press("y"), STAYS);
    }
    asked.wait(300);
    assert_eq!(asked.press("y"), answered("2", Answer::Allow));
    assert!(asked.dialog.is_empty());
}

#[test]
fn an_action_of_somebody_else_is_left_to_them() {
    let mut asked = Asked::fresh(bash("1"));
    for action in [Action::ClearOrQuit, Action::ToggleDiffStyle, Action::Send] {
        assert_eq!(asked.dialog.perform(action, asked.now), None);
    }
    asked.show(0).wait(300);
    assert_eq!(asked.dialog.perform(Action::ClearOrQuit, asked.now), None);
}

#[test]
fn requests_are_asked_in_their_order() {
    let mut asked = Asked::ready(bash("1"));
    asked.dialog.push(bash("2"), asked.now);
    asked.dialog.push(bash("3"), asked.now);
    assert_eq!(asked.dialog.position(), (1, 3));
    assert_eq!(asked.press("n"), answered("1", DENIED));
    assert_eq!(asked.dialog.position(), (1, 2));
    asked.wait(300);
    assert_eq!(asked.press("n"), answered("2", DENIED));
    asked.wait(300);
    assert_eq!(asked.press("n"), answered("3", DENIED));
    assert_eq!(asked.press("n"), STAYS);
    assert!(asked.dialog.is_empty());
}

#[test]
fn the_next_request_has_to_be_read_by_itself() {
    let mut asked = Asked::ready(bash("1"));
    asked.dialog.push(bash("2"), asked.now);
    asked.press("n");
    asked.wait(300);
    assert_eq!(asked.press("y"), STAYS);
    asked.show(0);
    assert_eq!(asked.press("y"), answered("2", Answer::Allow));
}

#[test]
fn a_request_that_is_withdrawn_is_not_asked() {
    let mut asked = Asked::ready(bash("1"));
    asked.dialog.push(bash("2"), asked.now);
    asked.dialog.push(bash("3"), asked.now);
    assert!(asked.dialog.withdraw(&CallId::from("2"), asked.now));
    assert!(!asked.dialog.withdraw(&CallId::from("2"), asked.now));
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
    assert_eq!(asked.dialog.current(), Some(&bash("3")));
}

#[test]
fn what_comes_after_a_withdrawn_request_is_armed_anew() {
    let mut asked = Asked::ready(bash("1"));
    asked.dialog.push(bash("2"), asked.now);
    asked.press("e");
    asked.type_in("because");
    assert!(asked.dialog.withdraw(&CallId::from("1"), asked.now));
    assert_eq!(asked.dialog.stage(), Stage::Asking);
    assert!(asked.dialog.reason().is_empty());
    asked.show(0).wait(299);
    assert_eq!(asked.press("y"), STAYS);
    asked.wait(300);
    assert_eq!(asked.press("y"), answered("2", Answer::Allow));
}

#[test]
fn a_request_after_the_last_one_is_armed_anew() {
    let mut asked = Asked::ready(bash("1"));
    asked.press("y");
    asked.wait(5000);
    asked.dialog.push(bash("2"), asked.now);
    asked.show(0);
    assert_eq!(asked.press("y"), STAYS);
}

#[test]
fn keys_meant_for_a_dialog_in_front_do_not_count() {
    let mut asked = Asked::ready(bash("1"));
    asked.dialog.uncover(asked.now);
    assert_eq!(asked.press("y"), STAYS);
    asked.wait(300);
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
}

#[test]
fn a_hidden_tail_has_to_be_scrolled_to() {
    for key in ["y", "s", "a"] {
        let mut asked = Asked::fresh(bash("1"));
        asked.show(37).wait(300);
        assert_eq!(asked.dialog.reading().below(), 37);
        assert_eq!(asked.press(key), STAYS);
        assert_eq!(asked.dialog.stage(), Stage::Asking);
        assert_eq!(asked.dialog.notice(), Some("scroll to the end to allow it"));
        asked.press("end");
        assert_eq!(asked.press(key), STAYS, "not drawn yet");
        asked.show(37).press("home");
        asked.show(37);
        let verdict = asked.press(key);
        assert!(verdict != STAYS || asked.dialog.stage() == Stage::Rule);
    }
}

#[test]
fn a_hidden_tail_can_be_denied() {
    let mut asked = Asked::fresh(bash("1"));
    asked.show(37).wait(300);
    assert_eq!(asked.press("n"), answered("1", DENIED));
}

#[test]
fn nothing_can_be_allowed_where_nothing_is_shown() {
    let mut asked = Asked::ready(bash("1"));
    asked.settle(5, 0);
    assert_eq!(asked.press("y"), STAYS);
    assert_eq!(asked.press("s"), STAYS);
    assert!(
        asked
            .dialog
            .notice()
            .is_some_and(|notice| notice.contains("enlarge"))
    );
    assert_eq!(asked.press("n"), answered("1", DENIED));
}

#[test]
fn pages_and_lines_move_what_is_read() {
    let mut asked = Asked::ready(bash("1"));
    asked.show(30);
    let mut press = |key| {
        asked.press(key);
        asked.dialog.reading().offset
    };
    let offsets = [
        "down", "down", "up", "pgdn", "pgdn", "pgup", "home", "end", "down", "pgup",
    ]
    .map(&mut press);
    assert_eq!(offsets, [1, 2, 1, 10, 19, 10, 0, 30, 30, 21]);
    asked.dialog.scroll(-3);
    assert_eq!(asked.dialog.reading().offset, 18);
    asked.dialog.scroll(i64::MAX);
    assert_eq!(asked.dialog.reading().offset, 30);
}

#[test]
fn without_a_rule_only_this_call_can_be_allowed() {
    let request = PermissionRequest {
        rule: None,
        ..bash("1")
    };
    let mut asked = Asked::ready(request);
    for key in ["s", "a"] {
        assert_eq!(asked.press(key), STAYS);
        assert_eq!(asked.dialog.stage(), Stage::Asking);
        assert!(
            asked
                .dialog
                .notice()
                .is_some_and(|notice| notice.contains("no rule"))
        );
    }
    assert_eq!(asked.press("y"), answered("1", Answer::Allow));
}

#[test]
fn always_shows_the_rule_before_it_is_saved() {
    let mut asked = Asked::ready(bash("1"));
    assert_eq!(asked.press("a"), STAYS);
    assert_eq!(asked.dialog.context(), Context::RuleEdit);
    assert_eq!(asked.dialog.rule().lines(), ["Bash(cargo test:*)"]);
    assert_eq!(
        asked.press("enter"),
        STAYS,
        "the rule has only just appeared"
    );
    asked.wait(300);
    let rule = "Bash(cargo test:*)".to_owned();
    assert_eq!(
        asked.press("enter"),
        answered("1", Answer::AllowAlways { rule })
    );
}

#[test]
fn the_rule_can_be_edited_and_a_wrong_one_is_not_saved() {
    let mut asked = Asked::ready(bash("1"));
    asked.press("a");
    asked.press("backspace");
    asked.wait(300);
    assert_eq!(asked.press("enter"), STAYS);
    assert!(asked.dialog.notice().is_some());
    assert_eq!(asked.dialog.stage(), Stage::Rule);
    for _ in 0..2 {
        asked.press("backspace");
    }
    asked.dialog.paste(" --lib)\r\n");
    assert_eq!(asked.dialog.rule().lines(), ["Bash(cargo test --lib)"]);
    let rule = "Bash(cargo test --lib)".to_owned();
    assert_eq!(
        asked.press("enter"),
        answered("1", Answer::AllowAlways { rule })
    );
}

#[test]
fn going_back_from_a_stage_keeps_what_was_typed_and_does_not_deny() {
    let mut asked = Asked::ready(bash("1"));
    asked.press("e");
    asked.type_in("yes, no: say why");
    assert_eq!(asked.press("esc"), STAYS);
    assert_eq!(asked.press("esc"), STAYS, "the same key, held");
    assert_eq!(asked.dialog.stage(), Stage::Asking);
    asked.wait(300).press("e");
    assert_eq!(asked.dialog.reason().lines(), ["yes, no: say why"]);
}

#[test]
fn a_denial_can_say_why() {
    let mut asked = Asked::ready(bash("1"));
    asked.press("e");
    assert_eq!(asked.dialog.context(), Context::Reason);
    asked.type_in("use the ");
    asked.dialog.paste("Makefile\nplease\u{1b}[31m");
    let reason = Some("use the Makefile\nplease [31m".to_owned());
    assert_eq!(asked.press("enter"), answered("1", Answer::Deny { reason }));
}

#[test]
fn a_denial_without_a_reason_is_a_plain_one() {
    let mut asked = Asked::ready(bash("1"));
    asked.press("e");
    asked.type_in("  ");
    assert_eq!(asked.press("enter"), answered("1", DENIED));
}

#[test]
fn a_paste_answers_nothing() {
    let mut asked = Asked::ready(bash("1"));
    asked.dialog.paste("y\ny\n");
    assert_eq!(asked.dialog.stage(), Stage::Asking);
    assert_eq!(asked.dialog.current(), Some(&bash("1")));
}

/// Opens the choice of hunks and presses keys, each after a frame.
fn picked(furthest: usize, keys: &[&str]) -> (Asked, Option<Verdict>) {
    let mut asked = Asked::fresh(edit("1"));
    asked.show(furthest).wait(300).press("tab");
    assert_eq!(asked.dialog.context(), Context::Hunks);
    asked.wait(300);
    let mut verdict = None;
    for key in keys {
        asked.show(0);
        verdict = asked.press(key);
    }
    (asked, verdict)
}

#[test]
fn hunks_make_the_answer() {
    let verdict = |keys: &[&str]| picked(0, keys).1;
    assert_eq!(verdict(&["y", "y", "enter"]), answered("1", Answer::Allow));
    assert_eq!(verdict(&["a", "enter"]), answered("1", Answer::Allow));
    assert_eq!(verdict(&["n", "n", "enter"]), answered("1", DENIED));
    assert_eq!(verdict(&["d", "enter"]), answered("1", DENIED));
    let part = |lines: &[usize]| {
        answered(
            "1",
            Answer::AllowPart {
                after: edited(lines),
            },
        )
    };
    assert_eq!(verdict(&["y", "n", "enter"]), part(&[2]));
    assert_eq!(verdict(&["n", "y", "enter"]), part(&[12, 14]));
    assert_eq!(verdict(&["j", "s", "y", "n", "n", "enter"]), part(&[12]));
    assert_eq!(verdict(&["down", "y", "up", "n", "enter"]), part(&[12, 14]));
    assert_eq!(
        verdict(&["y", "d", "k", "n", "j", "y", "enter"]),
        part(&[12, 14])
    );
}

#[test]
fn applying_with_undecided_hunks_says_so_first() {
    let (mut asked, verdict) = picked(0, &["y", "enter"]);
    assert_eq!(verdict, STAYS);
    assert_eq!(
        asked.dialog.notice(),
        Some("1 undecided: applying leaves them out")
    );
    let after = edited(&[2]);
    assert_eq!(
        asked.press("enter"),
        answered("1", Answer::AllowPart { after })
    );

    let (mut asked, verdict) = picked(0, &["enter"]);
    assert_eq!(verdict, STAYS);
    assert!(
        asked
            .dialog
            .notice()
            .is_some_and(|notice| notice.contains("denies"))
    );
    assert_eq!(asked.press("enter"), answered("1", DENIED));
}

#[test]
fn a_hunk_is_taken_only_after_its_end_was_in_view() {
    let mut asked = Asked::fresh(edit("1"));
    asked.show(37).wait(300).press("tab");
    asked.show(5);
    assert_eq!(asked.press("y"), STAYS);
    assert_eq!(asked.press("a"), STAYS);
    assert_eq!(
        asked.dialog.picking().map(|picking| picking.undecided()),
        Some(2)
    );
    asked.dialog.scroll(5);
    asked.show(5).press("a");
    let picking = asked.dialog.picking().expect("hunks are being picked");
    assert_eq!(
        (picking.at(), picking.undecided()),
        (1, 1),
        "the second has not been shown"
    );
    asked.show(0).press("a");
    asked.wait(300);
    assert_eq!(asked.press("enter"), answered("1", Answer::Allow));
}

#[test]
fn hunks_that_were_read_before_can_be_taken_together() {
    let (asked, _) = picked(0, &["a"]);
    assert_eq!(
        asked.dialog.picking().map(|picking| picking.undecided()),
        Some(0)
    );
}

#[test]
fn applying_at_once_does_not_count() {
    let mut asked = Asked::ready(edit("1"));
    asked.press("tab");
    asked.show(0).press("a");
    assert_eq!(asked.press("enter"), STAYS);
    asked.wait(300);
    assert_eq!(asked.press("enter"), answered("1", Answer::Allow));
}

#[test]
fn choices_are_kept_while_the_whole_is_looked_at_again() {
    let (mut asked, _) = picked(0, &["y", "esc"]);
    assert_eq!(asked.dialog.context(), Context::Permission);
    asked.wait(300).press("tab");
    assert_eq!(
        asked.dialog.picking().map(|picking| picking.undecided()),
        Some(1)
    );
}

#[test]
fn a_command_has_no_hunks() {
    let mut asked = Asked::ready(bash("1"));
    assert_eq!(asked.press("tab"), STAYS);
    assert_eq!(asked.dialog.stage(), Stage::Asking);
    assert_eq!(
        asked.dialog.notice(),
        Some("there are no changes to pick from")
    );
}

#[derive(Debug, Clone)]
enum Input {
    Wait(u64),
    Show(usize, usize),
    Do(usize),
    Type(char),
    Paste(String),
    Withdraw,
    Push,
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let input = prop_oneof![
        (0..400_u64).prop_map(Input::Wait),
        (0..3_usize, 0..3_usize).prop_map(|(furthest, visible)| Input::Show(furthest, visible)),
        any::<usize>().prop_map(Input::Do),
        any::<char>().prop_map(Input::Type),
        any::<String>().prop_map(Input::Paste),
        proptest::prelude::Just(Input::Withdraw),
        proptest::prelude::Just(Input::Push),
    ];
    prop::collection::vec(input, 0..60)
}

proptest! {
    /// Whatever happens, each request gets at most one answer, and none is allowed in the 300 ms after it appeared.
    #[test]
    fn no_order_of_events_answers_twice_or_too_early(inputs in inputs()) {
        let mut asked = Asked::fresh(edit("0"));
        let mut names = 1..;
        let mut open = vec![CallId::from("0")];
        for input in inputs {
            let since = asked.dialog.since();
            let verdict = match input {
                Input::Wait(time) => { asked.wait(time); None }
                Input::Show(furthest, visible) => { asked.settle(furthest, visible); None }
                Input::Do(index) => asked.dialog.perform(Action::ALL[index % Action::ALL.len()], asked.now),
                Input::Type(letter) => asked.press(&letter.to_string()),
                Input::Paste(text) => { asked.dialog.paste(&text); None }
                Input::Withdraw => {
                    let call = asked.dialog.current().map(|request| request.call.clone());
                    if let Some(call) = call {
                        asked.dialog.withdraw(&call, asked.now);
                        open.retain(|waiting| *waiting != call);
                    }
                    None
                }
                Input::Push => {
                    let name = names.next().expect("there are enough numbers").to_string();
                    open.push(CallId::from(&*name));
                    asked.dialog.push(edit(&name), asked.now);
                    None
                }
            };
            if let Some(Verdict::Answered(call, _) | Verdict::AnsweredAndInterrupt(call)) = verdict {
                assert_eq!(open.remove(0), call);
                assert!(asked.now >= since + super::ARM_DELAY);
            }
            assert_eq!(asked.dialog.current().map(|request| &request.call), open.first());
        }
    }
}
