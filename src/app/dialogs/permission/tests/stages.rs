//! What can be allowed after how much was read, and the stages: rule, reason, hunks.

use super::{
    DENIED, STAYS, TestDialog, answered, bash, command, edit, edit_of_three, edited, question,
};
use crate::app::dialogs::permission::{Picking, Stage};
use crate::app::dialogs::question::Verdict;
use crate::keymap::{Action, Context};
use crate::protocol::{Answer, CallRef, LeftOut, PartOfFile, PermissionRequest, Question};

#[test]
fn a_hidden_tail_has_to_be_scrolled_to() {
    for key in ["y", "s", "a"] {
        let mut dialog = TestDialog::fresh(bash("1"));
        dialog.show(37).wait(300);
        assert_eq!(dialog.dialog().reading().below(), 37);
        assert_eq!(dialog.press(key), STAYS);
        assert_eq!(dialog.dialog().stage(), Stage::Asking);
        assert_eq!(
            dialog.dialog().notice(),
            Some("37 more lines: read to the end, then answer")
        );
        dialog.press("end");
        assert_eq!(dialog.press(key), STAYS, "not drawn yet");
        dialog.show(37).press("home");
        dialog.show(37);
        let verdict = dialog.press(key);
        assert!(verdict != STAYS || dialog.dialog().stage() == Stage::Rule);
    }
}

#[test]
fn a_hidden_tail_can_be_denied() {
    let mut dialog = TestDialog::fresh(bash("1"));
    dialog.show(37).wait(300);
    assert_eq!(dialog.press("n"), answered("1", DENIED));
}

#[test]
fn nothing_can_be_allowed_where_nothing_is_shown() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.record_layout(5, 0);
    assert_eq!(dialog.press("y"), STAYS);
    assert_eq!(dialog.press("s"), STAYS);
    assert!(
        dialog
            .dialog()
            .notice()
            .is_some_and(|notice| notice.contains("enlarge"))
    );
    assert_eq!(dialog.press("n"), answered("1", DENIED));
}

#[test]
fn pages_and_lines_move_what_is_read() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.show(30);
    let mut press = |key| {
        dialog.press(key);
        dialog.dialog().reading().offset
    };
    let offsets = [
        "down", "down", "up", "pgdn", "pgdn", "pgup", "home", "end", "down", "pgup",
    ]
    .map(&mut press);
    assert_eq!(offsets, [1, 2, 1, 10, 19, 10, 0, 30, 30, 21]);
    dialog.queue.scroll(-3);
    assert_eq!(dialog.dialog().reading().offset, 18);
    dialog.queue.scroll(i64::MAX);
    assert_eq!(dialog.dialog().reading().offset, 30);
}

#[test]
fn without_a_rule_only_this_call_can_be_allowed() {
    let request = PermissionRequest {
        rule: None,
        ..command()
    };
    let mut dialog = TestDialog::ready(question("1", request));
    for key in ["s", "a"] {
        assert_eq!(dialog.press(key), STAYS);
        assert_eq!(dialog.dialog().stage(), Stage::Asking);
        assert!(
            dialog
                .dialog()
                .notice()
                .is_some_and(|notice| notice.contains("can't be allowed permanently"))
        );
    }
    assert_eq!(dialog.press("y"), answered("1", Answer::Allow));
}

#[test]
fn always_shows_the_rule_before_it_is_saved() {
    let mut dialog = TestDialog::ready(bash("1"));
    assert_eq!(dialog.press("a"), STAYS);
    assert_eq!(dialog.queue.context(), Context::RuleEdit);
    assert_eq!(dialog.dialog().rule().lines(), ["Bash(cargo test:*)"]);
    let rule = "Bash(cargo test:*)".to_owned();
    assert_eq!(
        dialog.press("enter"),
        answered("1", Answer::AllowAlways { rule })
    );
}

fn touch(id: &str) -> Question {
    let mut request = command();
    let offer = request.rule.as_mut().expect("a rule is offered");
    offer.rule = "Bash(touch x.txt)".to_owned();
    offer.wider = Some("Bash(touch:*)".to_owned());
    question(id, request)
}

#[test]
fn tab_widens_the_exact_rule_and_back_and_the_one_in_view_is_saved() {
    let mut dialog = TestDialog::ready(touch("1"));
    dialog.press("a");
    let mut lines = Vec::new();
    for _ in 0..3 {
        lines.extend(dialog.dialog().rule().lines().to_vec());
        assert_eq!(dialog.press("tab"), STAYS);
    }
    let (exact, wider) = ("Bash(touch x.txt)", "Bash(touch:*)");
    assert_eq!(lines, [exact, wider, exact]);
    let rule = wider.to_owned();
    assert_eq!(
        dialog.press("enter"),
        answered("1", Answer::AllowAlways { rule })
    );
}

#[test]
fn an_edited_rule_is_replaced_by_the_exact_rule_never_by_the_wider_one() {
    let mut dialog = TestDialog::ready(touch("1"));
    dialog.press("a");
    dialog.press("backspace");
    dialog.press("tab");
    assert_eq!(dialog.dialog().rule().lines(), ["Bash(touch x.txt)"]);
}

#[test]
fn for_this_session_allows_the_exact_rule_even_after_viewing_the_wider_one() {
    let mut dialog = TestDialog::ready(touch("1"));
    for key in ["a", "tab", "esc"] {
        assert_eq!(dialog.press(key), STAYS);
    }
    dialog.wait(300);
    let rule = "Bash(touch x.txt)".to_owned();
    assert_eq!(
        dialog.press("s"),
        answered("1", Answer::AllowForSession { rule })
    );
}

#[test]
fn without_a_wider_rule_tab_says_so() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.press("a");
    assert_eq!(dialog.press("tab"), STAYS);
    assert_eq!(dialog.dialog().rule().lines(), ["Bash(cargo test:*)"]);
    let notice = "no wider rule to offer; edit this one";
    assert_eq!(dialog.dialog().notice(), Some(notice));
}

#[test]
fn the_rule_can_be_edited_and_a_wrong_one_is_not_saved() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.press("a");
    dialog.press("backspace");
    dialog.wait(300);
    assert_eq!(dialog.press("enter"), STAYS);
    assert!(dialog.dialog().notice().is_some());
    assert_eq!(dialog.dialog().stage(), Stage::Rule);
    for _ in 0..2 {
        dialog.press("backspace");
    }
    dialog.queue.paste(" --lib)\r\n", dialog.now);
    assert_eq!(dialog.dialog().rule().lines(), ["Bash(cargo test --lib)"]);
    let rule = "Bash(cargo test --lib)".to_owned();
    assert_eq!(
        dialog.press("enter"),
        answered("1", Answer::AllowAlways { rule })
    );
}

#[test]
fn going_back_from_a_stage_keeps_what_was_typed_and_does_not_deny() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.press("e");
    dialog.type_in("yes, no: say why");
    assert_eq!(dialog.press("esc"), STAYS);
    assert_eq!(dialog.press("esc"), STAYS, "the same key, held");
    assert_eq!(dialog.dialog().stage(), Stage::Asking);
    dialog.wait(300).press("e");
    assert_eq!(dialog.dialog().reason().lines(), ["yes, no: say why"]);
}

#[test]
fn a_denial_can_say_why() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.press("e");
    assert_eq!(dialog.queue.context(), Context::Reason);
    dialog.type_in("use the ");
    dialog.queue.paste("Makefile\nplease\u{1b}[31m", dialog.now);
    let reason = Some("use the Makefile\nplease [31m".to_owned());
    assert_eq!(
        dialog.press("enter"),
        answered("1", Answer::Deny { reason })
    );
}

#[test]
fn a_denial_without_a_reason_is_a_plain_one() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.press("e");
    dialog.type_in("  ");
    assert_eq!(dialog.press("enter"), answered("1", DENIED));
}

#[test]
fn a_paste_answers_nothing() {
    let mut dialog = TestDialog::ready(bash("1"));
    dialog.queue.paste("y\ny\n", dialog.now);
    assert_eq!(dialog.dialog().stage(), Stage::Asking);
    assert_eq!(dialog.current(), Some(CallRef::from("1")));
}

/// Some files, and how many of how many changes they leave out.
fn part_of((count, of): (usize, usize), files: &[(&str, String)]) -> Answer {
    let part = |(path, after): &(&str, String)| PartOfFile {
        path: (*path).to_owned(),
        after: after.clone(),
    };
    Answer::AllowPart {
        files: files.iter().map(part).collect(),
        left_out: LeftOut { count, of },
    }
}

#[test]
fn the_hunks_of_several_files_make_one_answer() {
    let pressed = |keys: &[&str]| {
        let mut dialog = TestDialog::fresh(edit_of_three("1"));
        dialog.show(0).wait(300).press("tab");
        let mut verdict = STAYS;
        for key in keys {
            dialog.show(0);
            verdict = dialog.press(key);
        }
        verdict
    };
    // Two hunks in the first file, one in each of the others.
    assert_eq!(
        pressed(&["y", "y", "y", "y", "enter"]),
        answered("1", Answer::Allow)
    );
    assert_eq!(pressed(&["d", "enter"]), answered("1", DENIED));
    let part = part_of(
        (2, 4),
        &[("notes.txt", edited(&[2])), ("more.txt", "more\n".into())],
    );
    assert_eq!(
        pressed(&["y", "n", "n", "y", "enter"]),
        answered("1", part),
        "a file that is new and not wanted is not made"
    );
    let part = part_of((3, 4), &[("new.txt", "new\n".into())]);
    assert_eq!(pressed(&["n", "n", "y", "n", "enter"]), answered("1", part));
}

#[test]
fn a_file_can_be_accepted_or_skipped_as_a_whole() {
    let pressed = |furthest: usize, keys: &[&str]| {
        let mut dialog = TestDialog::fresh(edit_of_three("1"));
        dialog.show(furthest).wait(300).press("tab");
        dialog.wait(300);
        let mut verdict = STAYS;
        for key in keys {
            dialog.show(0);
            verdict = dialog.press(key);
        }
        (dialog, verdict)
    };
    let others = [("new.txt", "new\n".into()), ("more.txt", "more\n".into())];
    let part = part_of((2, 4), &others);
    assert_eq!(pressed(0, &["N", "a", "enter"]).1, answered("1", part));
    let first = [("notes.txt", edited(&[2, 12, 14]))];
    let part = part_of((2, 4), &first);
    assert_eq!(
        pressed(0, &["Y", "d", "enter"]).1,
        answered("1", part.clone())
    );
    assert_eq!(
        pressed(0, &["j", "Y", "N", "N", "enter"]).1,
        answered("1", part)
    );
    // A change that was not shown yet is not accepted with its file.
    let (dialog, _) = pressed(9, &["Y"]);
    let picking = dialog.dialog().picking().expect("open");
    assert_eq!((picking.at(), picking.undecided()), (1, 3));
}

/// Opens the choice of hunks and presses keys, each after a frame.
fn picked(furthest: usize, keys: &[&str]) -> (TestDialog, Verdict) {
    let mut dialog = TestDialog::fresh(edit("1"));
    dialog.show(furthest).wait(300).press("tab");
    assert_eq!(dialog.queue.context(), Context::Hunks);
    dialog.wait(300);
    let mut verdict = STAYS;
    for key in keys {
        dialog.show(0);
        verdict = dialog.press(key);
    }
    (dialog, verdict)
}

#[test]
fn hunks_make_the_answer() {
    let verdict = |keys: &[&str]| picked(0, keys).1;
    assert_eq!(verdict(&["y", "y", "enter"]), answered("1", Answer::Allow));
    assert_eq!(verdict(&["a", "enter"]), answered("1", Answer::Allow));
    assert_eq!(verdict(&["n", "n", "enter"]), answered("1", DENIED));
    assert_eq!(verdict(&["d", "enter"]), answered("1", DENIED));
    let left_out = |count, lines: &[usize]| {
        let files = [("notes.txt", edited(lines))];
        answered("1", part_of(count, &files))
    };
    let part = |lines: &[usize]| left_out((1, 2), lines);
    assert_eq!(verdict(&["y", "n", "enter"]), part(&[2]));
    assert_eq!(verdict(&["n", "y", "enter"]), part(&[12, 14]));
    assert_eq!(
        verdict(&["j", "s", "y", "n", "n", "enter"]),
        left_out((2, 3), &[12])
    );
    assert_eq!(verdict(&["down", "y", "up", "n", "enter"]), part(&[12, 14]));
    assert_eq!(
        verdict(&["y", "d", "k", "n", "j", "y", "enter"]),
        part(&[12, 14])
    );
}

#[test]
fn applying_with_undecided_hunks_says_so_first() {
    let (mut dialog, verdict) = picked(0, &["y", "enter"]);
    assert_eq!(verdict, STAYS);
    assert_eq!(
        dialog.dialog().notice(),
        Some("1 undecided will be skipped")
    );
    let part = part_of((1, 2), &[("notes.txt", edited(&[2]))]);
    assert_eq!(dialog.press("enter"), answered("1", part));

    let (mut dialog, verdict) = picked(0, &["enter"]);
    assert_eq!(verdict, STAYS);
    assert!(
        dialog
            .dialog()
            .notice()
            .is_some_and(|notice| notice.contains("denies"))
    );
    assert_eq!(dialog.press("enter"), answered("1", DENIED));
}

#[test]
fn a_hunk_is_taken_only_after_its_end_was_in_view() {
    let mut dialog = TestDialog::fresh(edit("1"));
    dialog.show(37).wait(300).press("tab");
    dialog.show(5);
    assert_eq!(dialog.press("y"), STAYS);
    assert_eq!(dialog.press("a"), STAYS);
    assert_eq!(dialog.dialog().picking().map(Picking::undecided), Some(2));
    dialog.queue.scroll(5);
    dialog.show(5).press("a");
    let picking = dialog.dialog().picking().expect("hunks are being picked");
    assert_eq!(
        (picking.at(), picking.undecided()),
        (1, 1),
        "the second has not been shown"
    );
    dialog.show(0).press("a");
    dialog.wait(300);
    assert_eq!(dialog.press("enter"), answered("1", Answer::Allow));
}

#[test]
fn hunks_that_were_read_before_can_be_taken_together() {
    let (dialog, _) = picked(0, &["a"]);
    assert_eq!(dialog.dialog().picking().map(Picking::undecided), Some(0));
}

#[test]
fn keys_after_the_one_that_opened_a_stage_act_at_once() {
    let mut dialog = TestDialog::ready(edit("1"));
    dialog.press("tab");
    dialog.show(0).press("a");
    assert_eq!(dialog.press("enter"), answered("1", Answer::Allow));
}

#[test]
fn choices_are_kept_while_the_whole_diff_is_shown_again() {
    let (mut dialog, _) = picked(0, &["y", "esc"]);
    assert_eq!(dialog.queue.context(), Context::Permission);
    dialog.wait(300).press("tab");
    assert_eq!(dialog.dialog().picking().map(Picking::undecided), Some(1));
}

#[test]
fn a_command_has_no_hunks() {
    let mut dialog = TestDialog::ready(bash("1"));
    assert_eq!(dialog.press("tab"), STAYS);
    assert_eq!(dialog.dialog().stage(), Stage::Asking);
    assert_eq!(dialog.dialog().notice(), Some("no changes to pick from"));
}

#[test]
fn cancelling_works_from_every_stage() {
    for key in ["e", "a", "tab"] {
        let mut dialog = TestDialog::ready(edit("1"));
        dialog.press(key);
        assert_ne!(dialog.dialog().stage(), Stage::Asking);
        dialog.wait(300);
        let verdict = dialog.queue.perform(Action::DenyAndInterrupt, dialog.now);
        let interrupted = Verdict::DeniedAndInterrupt(CallRef::from("1"));
        assert_eq!(verdict, Some(interrupted));
    }
}
