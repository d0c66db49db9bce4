//! The footer: what the keys do now, read from the same map that the keys go through, so that it cannot lie.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::text::{clean, width};
use crate::app::ladder::Rung;
use crate::app::{AppState, Focus, Stage};
use crate::keymap::{Action, Context};
use crate::theme::Role;

pub fn draw(state: &AppState, area: Rect, buf: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let theme = &state.settings.theme;
    if let Some(flash) = &state.flash {
        let text = Span::styled(clean(&flash.text).into_owned(), theme.style(Role::Warning));
        buf.set_line(area.x, area.y, &Line::from(text), area.width);
        return;
    }
    let mut spans: Vec<Span> = Vec::new();
    let mut used = 0;
    for (key, words) in hints(state) {
        let more = width(&key) + 1 + width(&words) + if spans.is_empty() { 0 } else { 3 };
        if used + more > usize::from(area.width) {
            break;
        }
        if !spans.is_empty() {
            spans.push(Span::raw("   "));
        }
        used += more;
        spans.push(Span::styled(key, theme.style(Role::Key)));
        spans.push(Span::raw(" "));
        spans.push(Span::styled(words, theme.style(Role::KeyHint)));
    }
    buf.set_line(area.x, area.y, &Line::from(spans), area.width);
}

/// Keys and what they do now, the most important first.
pub fn hints(state: &AppState) -> Vec<(String, String)> {
    let contexts = state.contexts();
    let keymap = &state.settings.keymap;
    let hint = |action: Action| {
        let chord = keymap.chord_for(action, &contexts)?;
        Some((chord.to_string(), action.describe().to_owned()))
    };
    let mut hints = ladder(state);
    hints.extend(featured(state, &contexts).iter().filter_map(|it| hint(*it)));
    hints
}

/// What Ctrl+C and Esc would do.
fn ladder(state: &AppState) -> Vec<(String, String)> {
    if !state.dialogs.is_empty() {
        return Vec::new();
    }
    let contexts = state.contexts();
    let keymap = &state.settings.keymap;
    let ctrl_c = [Action::Interrupt, Action::ClearOrQuit];
    let key_of = |actions: &[Action]| {
        let mut chords = actions
            .iter()
            .filter_map(|action| keymap.chord_for(*action, &contexts));
        chords.next().map(|chord| chord.to_string())
    };
    let (actions, words): (&[Action], &str) = match (state.ctrl_c(), state.esc()) {
        (_, Rung::Selection | Rung::Focus) => (&[Action::Back], "back"),
        (Rung::Interrupt, _) => (&ctrl_c, interrupt_words(state)),
        (Rung::Force, _) => (&ctrl_c, "stop with force"),
        (Rung::Draft, _) => (&[Action::ClearOrQuit], "clear"),
        (Rung::Quit, _) => (&[Action::ClearOrQuit], "again to quit"),
        (Rung::ArmQuit | Rung::Nothing | Rung::Dialog | Rung::Selection | Rung::Focus, _) => {
            (&[Action::ClearOrQuit], "twice to quit")
        }
    };
    match key_of(actions) {
        Some(key) => vec![(key, words.to_owned())],
        None => Vec::new(),
    }
}

fn interrupt_words(state: &AppState) -> &'static str {
    match state.work().map(|work| &work.stage) {
        Some(Stage::Retrying { .. }) => "give up",
        Some(Stage::Running | Stage::Stopping | Stage::MakingWay | Stage::Killing) | None => {
            "interrupt"
        }
    }
}

fn featured(state: &AppState, contexts: &[Context]) -> &'static [Action] {
    match contexts.first() {
        Some(Context::Scroll) => &[
            Action::LineDown,
            Action::PageDown,
            Action::Bottom,
            Action::Search,
            Action::Select,
            Action::Open,
            Action::Copy,
            Action::PrintConversation,
        ],
        Some(Context::Select) => &[Action::Copy, Action::WordRight, Action::LineEnd],
        Some(Context::Search) => &[Action::Accept, Action::NextMatch, Action::PreviousMatch],
        Some(Context::Panel) => &[
            Action::Open,
            Action::CancelCall,
            Action::RunAgain,
            Action::Background,
            Action::AnswerByHand,
            Action::Copy,
        ],
        Some(Context::Detail) => &[
            Action::LineDown,
            Action::CancelCall,
            Action::RunAgain,
            Action::Background,
            Action::AnswerByHand,
            Action::Copy,
        ],
        Some(Context::Completion | Context::HistorySearch) => {
            &[Action::Accept, Action::Next, Action::Back]
        }
        Some(Context::Retry) => &[Action::RetryNow],
        Some(Context::Picker) => &[Action::Choose, Action::Next, Action::Previous, Action::Back],
        Some(Context::Question) => &[Action::Choose, Action::Back],
        Some(Context::Help) => &[Action::LineDown, Action::PageDown, Action::Back],
        Some(Context::Reason) => &[Action::SendReason, Action::Back],
        // These show their keys in the dialog itself.
        Some(Context::Permission | Context::Hunks | Context::RuleEdit) => &[],
        Some(Context::Composer | Context::ComposerEmpty | Context::Working | Context::Global)
        | None => {
            if state.is_working() && state.focus == Focus::Composer {
                &[
                    Action::Send,
                    Action::TogglePanel,
                    Action::Background,
                    Action::NextMode,
                    Action::Scroll,
                ]
            } else {
                &[
                    Action::Send,
                    Action::Newline,
                    Action::Help,
                    Action::NextMode,
                    Action::TogglePanel,
                    Action::Scroll,
                    Action::Palette,
                ]
            }
        }
    }
}
