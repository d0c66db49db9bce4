//! Asks whether to trust the project: everything that it wants, verbatim, with hidden characters made visible.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::buttons::{self, Button, arrange};
use super::places::{self, Places, WantedRows};
use super::{draw_rows, foot, more_lines, title};
use crate::app::AppState;
use crate::app::dialogs::DialogLayout;
use crate::app::dialogs::trust::TrustDialog;
use crate::keymap::{Action, Context};
use crate::settings::trust::{Item, Kind, State};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, Row, TAB, clean_line, reveal, wrap};

/// Longer lines are hard to read.
const WIDEST: u16 = 100;

/// Its rows, cached while the same content is shown.
#[derive(Debug, Default)]
pub struct LaidOut {
    key: Option<(String, u16, u64)>,
    rows: Vec<Row>,
    pub places: Places,
    pub buttons: buttons::Row,
}

impl LaidOut {
    pub fn lay_out(&mut self, dialog: &TrustDialog, state: &AppState, over: Rect) -> DialogLayout {
        let settings = &state.settings;
        let width = places::inner_width(over);
        let key = (dialog.mark.clone(), width, settings.theme_epoch);
        if self.key.as_ref() != Some(&key) {
            self.rows = rows(dialog, width.min(WIDEST), &settings.theme);
            self.key = Some(key);
        }
        let answers = arrange(answers(state), width.into(), places::most_buttons(over));
        let wanted = WantedRows {
            content: self.rows.len(),
            buttons: answers.len(),
            ..WantedRows::default()
        };
        self.places = Places::new(over, wanted);
        self.buttons = buttons::Row::place(answers, self.places.buttons);
        let visible = self.rows.len().min(self.places.content.height.into());
        DialogLayout {
            furthest: self.rows.len() - visible,
            visible,
            ..DialogLayout::default()
        }
    }

    pub fn draw(&self, dialog: &TrustDialog, state: &AppState, buf: &mut Buffer) {
        let (theme, places) = (&state.settings.theme, &self.places);
        title(places, "Trust this project?", Line::default(), theme, buf);
        let from = dialog.reading.offset;
        draw_rows(places.content, self.rows.iter().skip(from), buf);
        let below = dialog.reading.below();
        let words = if below == 0 {
            Line::default()
        } else {
            let key = state
                .settings
                .keymap
                .chord_for(Action::PageDown, &[Context::Trust]);
            let key = key.map(|key| key.to_string());
            let words = more_lines(below, key.as_deref(), places.foot.width.into());
            let role = if dialog.reading.has_reached_end() {
                Role::Muted
            } else {
                Role::Warning
            };
            Line::styled(words, theme.style(role))
        };
        foot(places, words, theme, buf);
        let can = |action| match action {
            Action::Trust => dialog.can_trust(state.now),
            _ => dialog.is_armed(state.now),
        };
        self.buttons.draw(can, theme, buf);
    }
}

fn answers(state: &AppState) -> Vec<Button> {
    let button = |action, words| Button::new(action, words, Context::Trust, &state.settings.keymap);
    let trust = button(Action::Trust, "trust (asks again if it changes)").map(|button| Button {
        short: "trust".to_owned(),
        ..button
    });
    let not_now = button(Action::DoNotTrust, "not now");
    trust.into_iter().chain(not_now).collect()
}

fn rows(dialog: &TrustDialog, width: u16, theme: &Theme) -> Vec<Row> {
    let review = &dialog.review;
    let path = review.workspace.display().to_string();
    let mut rows = paragraph(&path, Role::Accent, width, theme, "");
    let only_instructs = review
        .items
        .iter()
        .all(|item| item.kind == Kind::Instructions);
    let what = match review.state {
        State::Nothing | State::Trusted | State::Unknown if only_instructs => {
            "This project's files would give the model instructions. Without your yes, they are not used."
        }
        State::Changed => {
            "You trusted this project before, but its settings have changed; new entries have a +. Without your yes, only \
             its deny and ask rules apply."
        }
        State::Nothing | State::Trusted | State::Unknown => {
            "This project's settings would run commands or allow some without asking. Nothing has run. Without your yes, \
             only its deny and ask rules apply."
        }
    };
    rows.extend(paragraph(what, Role::Text, width, theme, ""));
    let mut last = None;
    for item in &review.items {
        if last != Some(item.kind) {
            last = Some(item.kind);
            rows.push(Row::decoration(Line::default()));
            let title = format!("It would {}:", item.kind.title());
            rows.extend(paragraph(&title, Role::Heading, width, theme, ""));
        }
        rows.extend(request_rows(item, width, theme));
    }
    rows
}

fn request_rows(item: &Item, width: u16, theme: &Theme) -> Vec<Row> {
    let mark = if item.is_new { "+ " } else { "  " };
    let mut rows = Vec::new();
    for (number, text) in item.what.split('\n').enumerate() {
        let mark = if number == 0 { mark } else { "  " };
        rows.extend(paragraph(text, Role::Text, width, theme, mark));
    }
    let file = format!("in {}", item.file);
    rows.extend(paragraph(&file, Role::Muted, width, theme, "    "));
    rows
}

fn paragraph(text: &str, role: Role, width: u16, theme: &Theme, first: &'static str) -> Vec<Row> {
    let indent = Indent {
        first: vec![Span::styled(first, theme.style(Role::Accent))],
        gutter: 0,
        rest: vec![Span::raw(" ".repeat(first.len()))],
    };
    let text = match role {
        // The project's own words.
        Role::Text => reveal(text, theme),
        _ => Line::from(Span::styled(
            clean_line(text, TAB).into_owned(),
            theme.style(role),
        )),
    };
    wrap(text, width, &indent)
}
