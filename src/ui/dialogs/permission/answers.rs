//! The answers to a permission question and the other keys, from the keymap.

use std::time::Instant;

use crate::app::dialogs::permission::{PermissionDialog, Picking, Stage};
use crate::app::diff::Choice;
use crate::app::{DiffStyle, Settings};
use crate::keymap::Action;
use crate::ui::dialogs::buttons::{Button, arrange};
use crate::ui::diff::Style;

/// An answer in long and short words, and its rank when there isn't room for all.
type Answer = (Action, &'static str, &'static str, usize);

const ASKING: [Answer; 6] = [
    (Action::AllowOnce, "yes", "yes", 0),
    (
        Action::AllowForSession,
        "yes, for this session",
        "yes, this session",
        3,
    ),
    (Action::AllowAlways, "always …", "always …", 4),
    (Action::Deny, "no", "no", 1),
    (
        Action::DenyWithReason,
        "no, tell the model why …",
        "no, tell why …",
        5,
    ),
    (Action::DenyAndInterrupt, "no, stop the turn", "stop", 2),
];
const HUNKS: [Answer; 9] = [
    (Action::AcceptHunk, "accept", "accept", 0),
    (Action::RejectHunk, "skip", "skip", 1),
    (Action::AcceptRest, "accept all", "accept all", 4),
    (Action::RejectRest, "skip all", "skip all", 5),
    (Action::AcceptFile, "accept file", "accept file", 6),
    (Action::RejectFile, "skip file", "skip file", 7),
    (Action::SplitHunk, "split", "split", 8),
    (Action::ApplyHunks, "apply", "apply", 2),
    (Action::Back, "back", "back", 3),
];
const RULE: [Answer; 3] = [
    (Action::SaveRule, "save", "save", 0),
    (Action::WidenRule, "wider rule", "wider", 2),
    (Action::Back, "back", "back", 1),
];
const CHANGED_RULE: [Answer; 3] = [
    (Action::SaveRule, "save", "save", 0),
    (Action::WidenRule, "exact rule", "exact", 2),
    (Action::Back, "back", "back", 1),
];
const REASON: [Answer; 2] = [
    (Action::SendReason, "send", "send", 0),
    (Action::Back, "back", "back", 1),
];

/// The answers of the stage.
pub fn rows(
    dialog: &PermissionDialog,
    settings: &Settings,
    (columns, most): (u16, usize),
) -> Vec<Vec<Button>> {
    let answers: &[Answer] = match dialog.stage() {
        Stage::Asking => &ASKING,
        Stage::Rule if dialog.is_exact() => &RULE,
        Stage::Rule => &CHANGED_RULE,
        Stage::Reason => &REASON,
        Stage::Hunks => &HUNKS,
    };
    let button = |(action, words, short, rank): &Answer| {
        let button = Button::new(*action, words, dialog.context(), &settings.keymap)?;
        Some(Button {
            short: (*short).to_owned(),
            rank: *rank,
            ..button
        })
    };
    let possible = answers.iter().filter(|answer| dialog.can(answer.0));
    let buttons = possible.filter_map(button).collect();
    arrange(buttons, columns.into(), most)
}

/// What the keys do besides answering.
pub fn others(dialog: &PermissionDialog, settings: &Settings, columns: u16) -> Vec<Button> {
    let style = match (settings.diff_style, Style::fitting(columns)) {
        (DiffStyle::Auto, Style::SideBySide) | (DiffStyle::SideBySide, _) => "one column",
        (DiffStyle::Auto, Style::Unified) | (DiffStyle::Unified, _) => "side by side",
    };
    let others: &[(Action, &str)] = match (dialog.stage(), dialog.diffs()) {
        (Stage::Asking, []) => &[(Action::Help, "more")],
        (Stage::Asking, [_, ..]) => &[
            (Action::ChooseHunks, "hunks"),
            (Action::ToggleDiffStyle, style),
            (Action::Help, "more"),
        ],
        (Stage::Rule | Stage::Reason | Stage::Hunks, _) => &[],
    };
    let button = |(action, words): &(Action, &str)| {
        Button::new(*action, words, dialog.context(), &settings.keymap)
    };
    others.iter().filter_map(button).collect()
}

/// What has been decided about the changes so far.
pub fn counts(picking: &Picking) -> String {
    let count = |choice| picking.choices().count(choice);
    let (at, all) = (picking.at() + 1, picking.choices().hunks().len());
    let this = match picking.current().choice {
        Choice::Undecided => "",
        Choice::Yes => " (accepted)",
        Choice::No => " (skipped)",
    };
    let (yes, no) = (count(Choice::Yes), count(Choice::No));
    format!("change {at} of {all}{this} · {yes} accepted · {no} skipped")
}

/// Whether the action would have an effect now.
pub fn has_effect(dialog: &PermissionDialog, action: Action, now: Instant) -> bool {
    let can = match action {
        Action::AllowOnce | Action::SaveRule | Action::AllowForSession | Action::AllowAlways => {
            dialog.obstacle().is_none()
        }
        Action::AcceptHunk | Action::AcceptRest | Action::AcceptFile => {
            dialog.picking().is_some_and(Picking::can_take)
        }
        Action::ToggleDiffStyle => return true,
        _ => true,
    };
    let is_typing = matches!(dialog.stage(), Stage::Rule | Stage::Reason | Stage::Hunks);
    can && (is_typing || dialog.is_armed(now))
}
