//! Why it asks, and which rule a lasting yes would add: in the line below the content if there is room, else in a row
//! or two above that line, else at the end of the content. Always shown in full.

use ratatui::text::{Line, Span};

use super::content::ASKS_EVERY_TIME;
use crate::app::Settings;
use crate::app::dialogs::permission::PermissionDialog;
use crate::keymap::{Action, Context};
use crate::theme::Role;
use crate::ui::text::{Indent, Row, reveal, wrap};

#[derive(Debug, Default)]
pub struct Facts {
    pub foot: Option<Line<'static>>,
    pub rows: Vec<Row>,
    /// There was no room for them, so they are part of the content.
    pub are_inside: bool,
}

const MOST_ROWS: usize = 2;
/// What else the line below the content has to hold: how much is hidden, and a key.
const RESERVED: u16 = 36;
/// Between two facts in one row. If a fact contains it, each fact gets its own row.
const BETWEEN: &str = " · ";

impl Facts {
    pub fn new(dialog: &PermissionDialog, settings: &Settings, columns: u16) -> Self {
        let why = why(dialog, settings);
        let rule = rule(dialog, settings);
        let Some(why) = why else {
            return if rule.width() <= usize::from(columns.saturating_sub(RESERVED)) {
                Self {
                    foot: Some(rule),
                    ..Self::default()
                }
            } else {
                Self::in_rows(vec![rule], columns)
            };
        };
        let joined = |line: &Line| line.to_string().contains(BETWEEN.trim());
        let both = why.width() + rule.width() + BETWEEN.len();
        if joined(&why) || joined(&rule) || both > usize::from(columns) {
            return Self::in_rows(vec![why, rule], columns);
        }
        let mut line = why;
        line.push_span(Span::styled(BETWEEN, settings.theme.style(Role::Faint)));
        line.extend(rule.spans);
        Self::in_rows(vec![line], columns)
    }

    /// As part of the content.
    pub fn inside() -> Self {
        Self {
            are_inside: true,
            ..Self::default()
        }
    }

    fn in_rows(lines: Vec<Line<'static>>, columns: u16) -> Self {
        let indent = Indent {
            rest: vec![Span::raw("  ")],
            ..Indent::default()
        };
        let wrapped = |line| wrap(line, columns, &indent);
        let rows: Vec<Row> = lines.into_iter().flat_map(wrapped).collect();
        if rows.len() > MOST_ROWS {
            return Self::inside();
        }
        Self {
            rows,
            ..Self::default()
        }
    }
}

/// `None` if the call itself already says it.
fn why(dialog: &PermissionDialog, settings: &Settings) -> Option<Line<'static>> {
    let reason = &dialog.request().reason;
    (!reason.is_empty()).then(|| beside("why: ", reason, settings))
}

fn rule(dialog: &PermissionDialog, settings: &Settings) -> Line<'static> {
    let Some(offer) = &dialog.request().rule else {
        let style = settings.theme.style(Role::Muted);
        return Line::styled(ASKS_EVERY_TIME, style);
    };
    let key = |action| {
        let chord = settings.keymap.chord_for(action, &[Context::Permission]);
        chord.map(|chord| chord.to_string())
    };
    let keys = [Action::AllowForSession, Action::AllowAlways].map(key);
    let keys: Vec<String> = keys.into_iter().flatten().collect();
    let label = if keys.is_empty() {
        "rule: ".to_owned()
    } else {
        format!("rule for {}: ", keys.join(" and "))
    };
    beside(&label, &offer.rule, settings)
}

fn beside(label: &str, text: &str, settings: &Settings) -> Line<'static> {
    let theme = &settings.theme;
    let mut line = Line::styled(label.to_owned(), theme.style(Role::Muted));
    let one_line = text.replace('\n', " ");
    line.extend(reveal(&one_line, theme).spans);
    line
}
