//! Whether the project is trusted: all that it wants, in its own words, with what hides made visible.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{centred, frame};
use crate::app::dialogs::DialogRest;
use crate::app::dialogs::trust::TrustDialog;
use crate::app::{AppState, Settings};
use crate::keymap::{Action, Context};
use crate::settings::trust::{Item, State};
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, TAB, clean_line, reveal, wrap};

const WIDEST: u16 = 100;
/// Below the text: where one is, and the keys.
const BELOW: u16 = 2;

/// Its lines, kept for as long as the same is shown.
#[derive(Debug, Default)]
pub struct Laid {
    key: Option<(String, u16, u64)>,
    lines: Vec<Line<'static>>,
}

impl Laid {
    pub fn lay_out(&mut self, dialog: &TrustDialog, settings: &Settings, over: Rect) -> DialogRest {
        let width = over.width.min(WIDEST).saturating_sub(4);
        let key = (dialog.mark.clone(), width, settings.theme_epoch);
        if self.key.as_ref() != Some(&key) {
            self.lines = lines(dialog, width, &settings.theme);
            self.key = Some(key);
        }
        let room = usize::from(self.area(over).height.saturating_sub(2 + BELOW));
        DialogRest {
            furthest: self.lines.len().saturating_sub(room),
            visible: room.min(self.lines.len()),
        }
    }

    pub fn draw(&self, dialog: &TrustDialog, state: &AppState, over: Rect, buf: &mut Buffer) {
        let theme = &state.settings.theme;
        let title = "do you trust this project?";
        let inner = frame(self.area(over), title, Role::BorderAlert, theme, buf);
        let rows = inner.height.saturating_sub(BELOW);
        let from = dialog.reading.offset.min(self.lines.len());
        for (y, line) in (inner.y..inner.y + rows).zip(&self.lines[from..]) {
            buf.set_line(inner.x, y, line, inner.width);
        }
        let below = dialog.reading.below();
        let more = if below > 0 && !dialog.reading.has_reached_end() {
            format!("{below} more lines; read to the end before you trust it")
        } else if below > 0 {
            format!("{below} more lines")
        } else {
            String::new()
        };
        let more = Line::from(Span::styled(more, theme.style(Role::Muted)));
        let y = inner.y + rows;
        if y < inner.bottom() {
            buf.set_line(inner.x, y, &more, inner.width);
        }
        if y + 1 < inner.bottom() {
            buf.set_line(inner.x, y + 1, &keys(dialog, state), inner.width);
        }
    }

    fn area(&self, over: Rect) -> Rect {
        let lines = u16::try_from(self.lines.len()).unwrap_or(u16::MAX);
        centred(over, WIDEST, lines.saturating_add(2 + BELOW))
    }
}

fn keys(dialog: &TrustDialog, state: &AppState) -> Line<'static> {
    let (theme, keymap) = (&state.settings.theme, &state.settings.keymap);
    let mut spans = Vec::new();
    let works = [dialog.can_trust(state.now), dialog.is_armed(state.now)];
    for ((action, words), works) in [
        (Action::Trust, "trust it, until it changes"),
        (Action::DoNotTrust, "not now"),
    ]
    .into_iter()
    .zip(works)
    {
        let Some(chord) = keymap.chord_for(action, &[Context::Trust]) else {
            continue;
        };
        let (key, hint) = if works {
            (Role::Key, Role::KeyHint)
        } else {
            (Role::Faint, Role::Faint)
        };
        spans.push(Span::styled(chord.to_string(), theme.style(key)));
        spans.push(Span::styled(format!(" {words}   "), theme.style(hint)));
    }
    Line::from(spans)
}

fn lines(dialog: &TrustDialog, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let review = &dialog.review;
    let path = review.workspace.display().to_string();
    let mut lines = paragraph(&path, Role::Accent, width, theme, "");
    let what = match review.state {
        State::Changed => {
            "You trusted this project before, but its settings have changed; new entries have a +. Without your yes, only \
             its deny and ask rules apply."
        }
        State::Nothing | State::Trusted | State::Unknown => {
            "This project's settings would run commands or allow some without asking. Nothing has run. Without your yes, \
             only its deny and ask rules apply."
        }
    };
    lines.extend(paragraph(what, Role::Text, width, theme, ""));
    let mut last = None;
    for item in &review.items {
        if last != Some(item.kind) {
            last = Some(item.kind);
            lines.push(Line::default());
            let title = format!("It would {}:", item.kind.title());
            lines.extend(paragraph(&title, Role::Heading, width, theme, ""));
        }
        lines.extend(wish(item, width, theme));
    }
    lines
}

fn wish(item: &Item, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mark = if item.is_new { "+ " } else { "  " };
    let mut lines = Vec::new();
    for (number, text) in item.what.split('\n').enumerate() {
        let mark = if number == 0 { mark } else { "  " };
        lines.extend(paragraph(text, Role::Text, width, theme, mark));
    }
    let file = format!("in {}", item.file);
    lines.extend(paragraph(&file, Role::Muted, width, theme, "    "));
    lines
}

fn paragraph(
    text: &str,
    role: Role,
    width: u16,
    theme: &Theme,
    first: &'static str,
) -> Vec<Line<'static>> {
    let indent = Indent {
        first: vec![Span::styled(first, theme.style(Role::Accent))],
        gutter: 0,
        rest: vec![Span::raw(" ".repeat(first.len()))],
    };
    let text = match role {
        // What the project says.
        Role::Text => reveal(text, theme),
        _ => Line::from(Span::styled(
            clean_line(text, TAB).into_owned(),
            theme.style(role),
        )),
    };
    let rows = wrap(text, width, &indent);
    rows.into_iter().map(|row| row.line).collect()
}
