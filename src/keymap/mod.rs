//! Which key means what: keys go in, an [`Action`] comes out.
//!
//! The built-in keys are in `assets/keymap.toml`; a person's own file overrides them. Footer and help read the same map
//! as [`Keymap::resolve`], so they are always right. The application performs actions and reads files.

mod action;
mod chord;
mod context;
mod load;

#[cfg(test)]
mod tests;

use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

pub use action::Action;
pub use chord::{Chord, Key, Unreadable};
pub use context::Context;

use crate::config::Problem;

/// The keys of every context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    /// By context. No two chords of a context clash.
    bindings: [Vec<Binding>; Context::ALL.len()],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Binding {
    chord: Chord,
    /// `None` also removes the key from the outer contexts.
    action: Option<Action>,
}

/// What a key means now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolved {
    Action(Action),
    /// The first of two keys; the next one decides.
    Prefix,
    /// Not bound: the focused text field may use it.
    Unbound,
    /// A released key, or a modifier alone.
    Ignored,
}

impl Keymap {
    pub fn builtin() -> Self {
        load::builtin()
    }

    /// The built-in keys with a person's own over them. Errors in the file are skipped and reported.
    pub fn with_user(toml: &str, file: &Path) -> (Self, Vec<Problem>) {
        let mut keymap = Self::builtin();
        let problems = load::overlay(&mut keymap, toml, file);
        (keymap, problems)
    }

    /// The meaning of a key in the active contexts, innermost first. `pending` carries the first key of two from one
    /// call to the next; a key that does not complete them is resolved by itself.
    pub fn resolve(
        &self,
        contexts: &[Context],
        pending: &mut Option<Key>,
        event: KeyEvent,
    ) -> Resolved {
        if is_silent(event) {
            return Resolved::Ignored;
        }
        let key = Key::from(event);
        if let Some(first) = pending.take() {
            let chord = Chord {
                first,
                second: Some(key),
            };
            if let Some(action) = self.action_of(contexts, chord) {
                return Resolved::Action(action);
            }
        }
        match self.starting_with(contexts, key) {
            Some(binding) if binding.chord.second.is_some() => {
                *pending = Some(key);
                Resolved::Prefix
            }
            Some(binding) => binding.action.map_or(Resolved::Unbound, Resolved::Action),
            None => Resolved::Unbound,
        }
    }

    /// The bindings of a context, in the order of the file.
    pub fn hints(&self, context: Context) -> impl Iterator<Item = (Chord, Action)> + '_ {
        let bindings = self.of(context).iter();
        bindings.filter_map(|binding| Some((binding.chord, binding.action?)))
    }

    /// The bindings of a context, each action once with all its keys: a group of the help.
    pub fn group(&self, context: Context) -> Vec<(Action, Vec<Chord>)> {
        let mut group: Vec<(Action, Vec<Chord>)> = Vec::new();
        for (chord, action) in self.hints(context) {
            match group.iter_mut().find(|(known, _)| *known == action) {
                Some((_, chords)) => chords.push(chord),
                None => group.push((action, vec![chord])),
            }
        }
        group
    }

    /// The key to show for an action: one that triggers it in these contexts.
    pub fn chord_for(&self, action: Action, contexts: &[Context]) -> Option<Chord> {
        contexts
            .iter()
            .flat_map(|context| self.hints(*context))
            .find(|(chord, bound)| *bound == action && self.triggers(*chord, action, contexts))
            .map(|(chord, _)| chord)
    }

    fn triggers(&self, chord: Chord, action: Action, contexts: &[Context]) -> bool {
        // An inner context may bind the first key differently.
        let reachable = self
            .starting_with(contexts, chord.first)
            .is_some_and(|binding| binding.chord.second.is_some() == chord.second.is_some());
        reachable && self.action_of(contexts, chord) == Some(action)
    }

    fn action_of(&self, contexts: &[Context], chord: Chord) -> Option<Action> {
        let mut bindings = contexts.iter().flat_map(|context| self.of(*context));
        bindings.find(|binding| binding.chord == chord)?.action
    }

    fn starting_with(&self, contexts: &[Context], key: Key) -> Option<&Binding> {
        let mut bindings = contexts.iter().flat_map(|context| self.of(*context));
        bindings.find(|binding| binding.chord.first == key)
    }

    fn of(&self, context: Context) -> &[Binding] {
        &self.bindings[context as usize]
    }
}

/// The kitty protocol also reports released keys, and modifiers alone.
fn is_silent(event: KeyEvent) -> bool {
    event.kind == KeyEventKind::Release
        || matches!(
            event.code,
            KeyCode::Modifier(_) | KeyCode::CapsLock | KeyCode::NumLock | KeyCode::ScrollLock
        )
}
