//! What the keys do now, as the keymap has them.

use std::time::Instant;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::Settings;
use crate::app::dialogs::permission::{PermissionDialog, Picking, Stage};
use crate::app::diff::Choice;
use crate::keymap::{Action, Context, Keymap};
use crate::theme::Role;
use crate::ui::text::width;

/// In the order of their importance, which is not that of the screen.
const ASKING: [(usize, Action); 7] = [
    (0, Action::AllowOnce),
    (3, Action::Deny),
    (6, Action::DenyAndInterrupt),
    (1, Action::AllowForSession),
    (2, Action::AllowAlways),
    (4, Action::DenyWithReason),
    (5, Action::ChooseHunks),
];
const HUNKS: [(usize, Action); 7] = [
    (0, Action::AcceptHunk),
    (1, Action::RejectHunk),
    (5, Action::ApplyHunks),
    (6, Action::Back),
    (2, Action::AcceptRest),
    (3, Action::RejectRest),
    (4, Action::SplitHunk),
];
const RULE: [(usize, Action); 2] = [(0, Action::SaveRule), (1, Action::Back)];
const REASON: [(usize, Action); 2] = [(0, Action::SendReason), (1, Action::Back)];

const MOST_ROWS: usize = 2;

/// The space between two hints.
const fn gap(room: usize) -> usize {
    if room < 40 { 2 } else { 3 }
}

#[derive(Clone)]
struct Hint {
    place: usize,
    action: Action,
    key: String,
}

impl Hint {
    fn width(&self) -> usize {
        width(&self.key) + 1 + width(self.action.describe())
    }
}

/// How many rows they want.
pub fn height(dialog: &PermissionDialog, keymap: &Keymap, columns: u16) -> usize {
    flow(dialog, keymap, columns.into(), MOST_ROWS).len()
}

/// As many of them as fit, dim where they do nothing yet.
pub fn lines(
    dialog: &PermissionDialog,
    settings: &Settings,
    now: Instant,
    area: Rect,
) -> Vec<Line<'static>> {
    let rows = flow(
        dialog,
        &settings.keymap,
        area.width.into(),
        area.height.into(),
    );
    let line = |hints: Vec<Hint>| {
        let mut spans = Vec::new();
        for hint in hints {
            if !spans.is_empty() {
                spans.push(Span::raw(" ".repeat(gap(area.width.into()))));
            }
            let (key, what) = if works(dialog, hint.action, now) {
                (Role::Key, Role::KeyHint)
            } else {
                (Role::Faint, Role::Faint)
            };
            spans.push(Span::styled(hint.key, settings.theme.style(key)));
            let what = Span::styled(hint.action.describe(), settings.theme.style(what));
            spans.extend([Span::raw(" "), what]);
        }
        Line::from(spans)
    };
    rows.into_iter().map(line).collect()
}

/// What has been decided about the changes so far.
pub fn counts(picking: &Picking) -> String {
    let count = |choice| picking.choices().count(choice);
    let (yes, no) = (count(Choice::Yes), count(Choice::No));
    let this = match picking.current().choice {
        Choice::Undecided => "undecided",
        Choice::Yes => "taken",
        Choice::No => "left out",
    };
    let undecided = picking.undecided();
    format!("{this} · {yes} taken, {no} left out, {undecided} undecided in all")
}

/// Whether the key would do it if it were pressed now.
fn works(dialog: &PermissionDialog, action: Action, now: Instant) -> bool {
    let can = match action {
        Action::AllowOnce | Action::SaveRule | Action::AllowForSession | Action::AllowAlways => {
            dialog.obstacle().is_none()
        }
        Action::AcceptHunk | Action::AcceptRest => dialog.picking().is_some_and(Picking::can_take),
        _ => true,
    };
    let is_typing = matches!(dialog.stage(), Stage::Rule | Stage::Reason | Stage::Hunks);
    can && (is_typing || dialog.is_armed(now))
}

fn has_rule(dialog: &PermissionDialog) -> bool {
    dialog.request().rule.is_some()
}

/// Drops what matters least until the rest fits.
fn flow(dialog: &PermissionDialog, keymap: &Keymap, room: usize, most: usize) -> Vec<Vec<Hint>> {
    let mut hints = hints(dialog, keymap);
    loop {
        let rows = arrange(hints.clone(), room);
        if rows.len() <= most {
            return rows;
        }
        hints.pop();
    }
}

fn arrange(mut hints: Vec<Hint>, room: usize) -> Vec<Vec<Hint>> {
    hints.sort_by_key(|hint| hint.place);
    let mut rows: Vec<Vec<Hint>> = Vec::new();
    let mut free = 0;
    for hint in hints {
        let cells = hint.width();
        match rows.last_mut() {
            Some(row) if cells + gap(room) <= free => {
                free -= cells + gap(room);
                row.push(hint);
            }
            Some(_) | None => {
                free = room.saturating_sub(cells);
                rows.push(vec![hint]);
            }
        }
    }
    rows
}

/// The most important ones first.
fn hints(dialog: &PermissionDialog, keymap: &Keymap) -> Vec<Hint> {
    let (actions, context): (&[(usize, Action)], Context) = match dialog.stage() {
        Stage::Asking => (&ASKING, dialog.context()),
        Stage::Rule => (&RULE, dialog.context()),
        Stage::Reason => (&REASON, dialog.context()),
        Stage::Hunks => (&HUNKS, dialog.context()),
    };
    let is_possible = |action| match action {
        Action::ChooseHunks => !dialog.diffs().is_empty(),
        Action::AllowForSession | Action::AllowAlways => has_rule(dialog),
        Action::SplitHunk => dialog
            .picking()
            .is_some_and(|picking| picking.choices().can_split(picking.at())),
        _ => true,
    };
    let possible = actions.iter().filter(|(_, action)| is_possible(*action));
    possible
        .filter_map(|(place, action)| {
            let chord = keymap.chord_for(*action, &[context, Context::Global])?;
            Some(Hint {
                place: *place,
                action: *action,
                key: chord.to_string(),
            })
        })
        .collect()
}
