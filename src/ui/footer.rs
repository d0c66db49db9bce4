//! What the keys do now, read from the keymap itself, so that it is always right.

use std::fmt::Display;

use ratatui::text::{Line, Span};

use super::text::width;
use crate::app::escape::EscapeStep;
use crate::app::{AppState, Focus, Stage};
use crate::keymap::{Action, Context};
use crate::theme::{Role, Theme};

/// More hints are not read; the help has the rest.
const MOST: usize = 4;
const BETWEEN: &str = "   ";

/// A key and what it does now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    pub key: String,
    pub words: String,
}

impl Hint {
    pub fn new(key: &dyn Display, words: &str) -> Self {
        Self {
            key: key.to_string(),
            words: words.to_owned(),
        }
    }

    /// How wide these are side by side.
    pub fn width_of(hints: &[Self]) -> usize {
        let each = |hint: &Self| width(&hint.key) + 1 + width(&hint.words);
        let between = width(BETWEEN) * hints.len().saturating_sub(1);
        hints.iter().map(each).sum::<usize>() + between
    }
}

/// As many as fit.
pub fn line(hints: &[Hint], room: usize, theme: &Theme) -> Line<'static> {
    let count = (0..=hints.len()).rev();
    let count = count
        .take_while(|count| *count > 0)
        .find(|count| Hint::width_of(&hints[..*count]) <= room);
    let mut spans: Vec<Span> = Vec::new();
    for hint in &hints[..count.unwrap_or(0)] {
        if !spans.is_empty() {
            spans.push(Span::raw(BETWEEN));
        }
        spans.push(Span::styled(hint.key.clone(), theme.style(Role::Key)));
        spans.push(Span::raw(" "));
        spans.push(Span::styled(hint.words.clone(), theme.style(Role::KeyHint)));
    }
    Line::from(spans)
}

/// The most important keys now, most important first. Quitting never comes first unless the person is about to.
pub fn hints(state: &AppState) -> Vec<Hint> {
    let contexts = state.contexts();
    let keymap = &state.settings.keymap;
    let hint = |action: Action| {
        let chord = keymap.chord_for(action, &contexts)?;
        let words = match action {
            Action::Send if state.sends_queue() => "stop and send now",
            Action::Bottom if contexts.contains(&Context::Scrolled) => "go to the end",
            action => action.describe(),
        };
        Some(Hint::new(&chord, words))
    };
    let featured = featured(state, &contexts).iter();
    let possible = featured.filter(|action| state.can_do_to_call(**action));
    let mut hints: Vec<Hint> = possible.filter_map(|it| hint(*it)).collect();
    let escape_hints = escape_hints(state);
    let rests = matches!(state.ctrl_c(), EscapeStep::ArmQuit | EscapeStep::Draft);
    let at = match state.focus {
        Focus::Composer if rests => hints.len().min(2),
        // What can be done to a call is less obvious than how to leave.
        Focus::Panel if state.quit_armed.is_none() => hints.len().min(2),
        Focus::Composer | Focus::Conversation | Focus::Panel => 0,
    };
    hints.splice(at..at, escape_hints);
    if contexts.contains(&Context::Scrolled) {
        hints.splice(0..0, hint(Action::Bottom));
    }
    hints.truncate(MOST);
    hints
}

/// What Esc and Ctrl+C would do. Esc is listed only if it differs from Ctrl+C.
fn escape_hints(state: &AppState) -> Vec<Hint> {
    if !state.dialogs.is_empty() {
        return Vec::new();
    }
    let contexts = state.contexts();
    let key_of = |action: Action| state.settings.keymap.chord_for(action, &contexts);
    let mut hints = Vec::new();
    let back = match state.esc() {
        EscapeStep::Selection | EscapeStep::Focus => key_of(Action::Back),
        EscapeStep::Dialog
        | EscapeStep::Interrupt
        | EscapeStep::Force
        | EscapeStep::Draft
        | EscapeStep::ArmQuit
        | EscapeStep::Quit
        | EscapeStep::Nothing => None,
    };
    hints.extend(back.map(|chord| Hint::new(&chord, "back")));
    let words = match state.ctrl_c() {
        EscapeStep::Interrupt => interrupt_text(state),
        EscapeStep::Force => "kill it",
        EscapeStep::Quit => "again to quit",
        // If the keys go elsewhere, their meaning there matters more.
        EscapeStep::Draft if hints.is_empty() => "clear",
        EscapeStep::ArmQuit if hints.is_empty() => "twice to quit",
        // Elsewhere Esc clears the selection, too, and is already listed.
        EscapeStep::Selection if hints.is_empty() => "clear selection",
        EscapeStep::Dialog
        | EscapeStep::Selection
        | EscapeStep::Focus
        | EscapeStep::Draft
        | EscapeStep::ArmQuit
        | EscapeStep::Nothing => return hints,
    };
    if state.focus == Focus::Panel && state.quit_armed.is_none() {
        // There is no room for it besides what can be done to a call.
        return hints;
    }
    let chord = [CTRL_C_WORKING, CTRL_C].into_iter().find_map(key_of);
    hints.extend(chord.map(|chord| Hint::new(&chord, words)));
    hints
}

/// The action of Ctrl+C, which has another name while a turn runs. Esc may share that name, so Ctrl+C is checked first.
const CTRL_C: Action = Action::ClearOrQuit;
const CTRL_C_WORKING: Action = Action::Interrupt;

fn interrupt_text(state: &AppState) -> &'static str {
    match state.work().map(|work| &work.stage) {
        Some(Stage::Retrying { .. }) => "give up",
        Some(Stage::Running | Stage::Stopping | Stage::Interrupting | Stage::Killing) | None => {
            "interrupt"
        }
    }
}

fn featured(state: &AppState, contexts: &[Context]) -> &'static [Action] {
    match contexts.first() {
        Some(Context::Scroll | Context::Select) if state.search.is_some() => {
            &[Action::NextMatch, Action::PreviousMatch, Action::Search]
        }
        Some(Context::Scroll) => &[
            Action::PageDown,
            Action::Search,
            Action::Select,
            Action::PreviousMessage,
        ],
        Some(Context::Select) => &[Action::Select, Action::Copy, Action::LineUp],
        Some(Context::Search) => &[Action::Accept, Action::NextMatch, Action::PreviousMatch],
        Some(Context::Panel) => &[
            Action::Open,
            Action::Fold,
            Action::CancelCall,
            Action::Background,
            Action::AnswerByHand,
            Action::PreviousTurn,
            Action::NextTurn,
            Action::RunAgain,
            Action::Copy,
        ],
        Some(Context::Detail) => &[
            Action::CancelCall,
            Action::Background,
            Action::AnswerByHand,
            Action::RunAgain,
            Action::Copy,
            Action::Next,
        ],
        Some(Context::Completion | Context::HistorySearch) => {
            &[Action::Accept, Action::Next, Action::Back]
        }
        Some(Context::Retry) => &[Action::RetryNow],
        // These show their keys in the dialog itself.
        Some(
            Context::Permission
            | Context::Hunks
            | Context::RuleEdit
            | Context::Reason
            | Context::Question
            | Context::Choice
            | Context::ChoiceText
            | Context::Form
            | Context::FormText
            | Context::Picker
            | Context::Servers
            | Context::Rename
            | Context::Pager
            | Context::Help
            | Context::Trust,
        ) => &[],
        Some(
            Context::Composer
            | Context::ComposerEmpty
            | Context::Scrolled
            | Context::Working
            | Context::Global,
        )
        | None => in_the_input(state, contexts),
    }
}

fn in_the_input(state: &AppState, contexts: &[Context]) -> &'static [Action] {
    let writes = !state.composer.is_empty();
    match (contexts.contains(&Context::Working), writes) {
        (true, true) => &[Action::Send, Action::Newline, Action::TogglePanel],
        (true, false) if state.sends_queue() => {
            &[Action::Send, Action::TogglePanel, Action::Scroll]
        }
        (true, false) => &[Action::TogglePanel, Action::Background, Action::Scroll],
        (false, true) => &[Action::Send, Action::Newline, Action::OpenEditor],
        (false, false) => &[Action::Palette, Action::Help, Action::NextMode],
    }
}
