//! The footer: what the keys do now, read from the same map that the keys go through, so that it cannot lie.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::text::{TAB, clean_line, truncate, width};
use crate::app::dialogs::Dialog;
use crate::app::ladder::Rung;
use crate::app::{AppState, Focus, Stage};
use crate::keymap::{Action, Context};
use crate::theme::Role;

pub fn draw(state: &AppState, area: Rect, buf: &mut Buffer) {
    if area.height == 0 {
        return;
    }
    let theme = &state.settings.theme;
    let room = usize::from(area.width);
    let mut spans: Vec<Span> = Vec::new();
    if let Some(flash) = &state.flash {
        let text = truncate(&clean_line(&flash.text, TAB), room);
        spans.push(Span::styled(text, theme.style(Role::Warning)));
    }
    let mut used = spans.iter().map(|span| width(&span.content)).sum::<usize>();
    for (key, words) in hints(state) {
        let more = width(&key) + 1 + width(&words) + if spans.is_empty() { 0 } else { 3 };
        if used + more > room {
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
        let words = match action {
            Action::Send if state.sends_queue() => "send what waits",
            action => action.describe(),
        };
        Some((chord.to_string(), words.to_owned()))
    };
    let mut hints = ladder(state);
    let featured = featured(state, &contexts).iter();
    let possible = featured.filter(|action| state.can_do_to_call(**action));
    hints.extend(possible.filter_map(|it| hint(*it)));
    hints
}

/// What Esc and Ctrl+C would do. Esc is told where it does something else than Ctrl+C.
fn ladder(state: &AppState) -> Vec<(String, String)> {
    if !state.dialogs.is_empty() {
        return Vec::new();
    }
    let contexts = state.contexts();
    let key_of = |action: Action| state.settings.keymap.chord_for(action, &contexts);
    let mut hints = Vec::new();
    let back = match state.esc() {
        Rung::Selection | Rung::Focus => key_of(Action::Back),
        Rung::Dialog
        | Rung::Interrupt
        | Rung::Force
        | Rung::Draft
        | Rung::ArmQuit
        | Rung::Quit
        | Rung::Nothing => None,
    };
    hints.extend(back.map(|chord| (chord.to_string(), "back".to_owned())));
    let words = match state.ctrl_c() {
        Rung::Interrupt => interrupt_words(state),
        Rung::Force => "stop with force",
        Rung::Draft => "clear",
        Rung::Quit => "again to quit",
        Rung::ArmQuit => "twice to quit",
        // Elsewhere Esc lets go, too, and is told already.
        Rung::Selection if hints.is_empty() => "let go of the selection",
        Rung::Dialog | Rung::Selection | Rung::Focus | Rung::Nothing => return hints,
    };
    let chord = [CTRL_C_WORKING, CTRL_C].into_iter().find_map(key_of);
    hints.extend(chord.map(|chord| (chord.to_string(), words.to_owned())));
    hints
}

/// The action of Ctrl+C, which has another name while a turn runs. Esc may have that name, too: Ctrl+C comes first.
const CTRL_C: Action = Action::ClearOrQuit;
const CTRL_C_WORKING: Action = Action::Interrupt;

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
        Some(Context::Select) => &[
            Action::Select,
            Action::Copy,
            Action::LineUp,
            Action::WordRight,
            Action::LineEnd,
        ],
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
        Some(Context::Help) => &[Action::LineDown, Action::PageDown, Action::Back],
        Some(Context::Reason) if matches!(state.dialogs.last(), Some(Dialog::ByHand(_))) => {
            &[Action::SendReason, Action::Back]
        }
        // These show their keys in the dialog itself.
        Some(
            Context::Permission
            | Context::Hunks
            | Context::RuleEdit
            | Context::Reason
            | Context::Question
            | Context::Choice
            | Context::ChoiceText
            | Context::Picker
            | Context::Trust,
        ) => &[],
        Some(Context::Composer | Context::ComposerEmpty | Context::Working | Context::Global)
        | None => {
            if contexts.contains(&Context::Working) && state.focus == Focus::Composer {
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
