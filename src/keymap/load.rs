//! From a keymap's TOML to bindings. A wrong line is reported and skipped.

use std::path::Path;

use toml::de::DeTable;

use super::{Action, Binding, Chord, Context, Keymap};
use crate::config::document::{Document, Name, Problem, Value, listed};
use crate::text::{cut, nearest};

const BUILTIN: &str = include_str!("../../assets/keymap.toml");

/// How a file removes a binding.
const NONE: &str = "none";

pub(super) fn builtin() -> Keymap {
    let mut keymap = Keymap {
        bindings: std::array::from_fn(|_| Vec::new()),
    };
    let (groups, problems) = read(BUILTIN, Path::new("assets/keymap.toml"), &keymap);
    debug_assert_eq!(problems, [], "the built-in keymap is valid");
    for (context, bindings) in groups {
        keymap.bindings[context as usize] = bindings;
    }
    keymap
}

pub(super) fn overlay(keymap: &mut Keymap, toml: &str, file: &Path) -> Vec<Problem> {
    let (groups, problems) = read(toml, file, keymap);
    for (context, bindings) in groups {
        // Each binding goes before the others of its action; going from last to first keeps their order.
        for binding in bindings.into_iter().rev() {
            keymap.put(context, binding);
        }
    }
    problems
}

impl Keymap {
    /// Removes what it clashes with. It comes before the other keys of its action, because it is the one to show.
    fn put(&mut self, context: Context, binding: Binding) {
        let bindings = &mut self.bindings[context as usize];
        bindings.retain(|old| !old.chord.clashes(binding.chord));
        let place = bindings.iter().position(|old| old.action == binding.action);
        bindings.insert(place.unwrap_or(bindings.len()), binding);
    }
}

fn read(toml: &str, file: &Path, keymap: &Keymap) -> (Vec<(Context, Vec<Binding>)>, Vec<Problem>) {
    let (document, mut problems) = Document::read(toml, file);
    let mut groups = Vec::new();
    for (name, value) in document.top() {
        match context(&document, name, value) {
            Ok((context, table)) => {
                let reader = Reader {
                    document: &document,
                    keymap,
                    context,
                };
                groups.push((context, reader.bindings(table, &mut problems)));
            }
            Err(problem) => problems.push(problem),
        }
    }
    (groups, problems)
}

fn context<'d, 'a>(
    document: &Document<'a>,
    name: &Name<'a>,
    value: &'d Value<'a>,
) -> Result<(Context, &'d DeTable<'a>), Problem> {
    let word = name.get_ref();
    let names = || Context::ALL.iter().map(|context| context.name());
    let Some(context) = Context::named(word) else {
        let hint = nearest(word, names()).map_or_else(
            || format!("contexts: {}", listed(names())),
            |name| format!("did you mean `{name}`?"),
        );
        let what = format!("no context named `{}`; its keys are ignored", cut(word));
        return Err(document.problem(&name.span(), what, hint));
    };
    let table = value.get_ref().as_table().ok_or_else(|| {
        document.problem(
            &value.span(),
            format!("`{word}` must be a table of keys"),
            format!("write `[{word}]`, and below it lines like `\"ctrl+t\" = \"toggle-panel\"`"),
        )
    })?;
    Ok((context, table))
}

/// Reads the keys of one context.
struct Reader<'r, 'a> {
    document: &'r Document<'a>,
    keymap: &'r Keymap,
    context: Context,
}

impl<'a> Reader<'_, 'a> {
    fn bindings(&self, table: &DeTable<'a>, problems: &mut Vec<Problem>) -> Vec<Binding> {
        let mut bindings: Vec<Binding> = Vec::new();
        for (name, value) in self.document.entries(table) {
            let binding = self.binding(name, value);
            match binding.and_then(|binding| self.beside(&bindings, binding, name)) {
                Ok(binding) => bindings.push(binding),
                Err(problem) => problems.push(problem),
            }
        }
        bindings
    }

    fn binding(&self, name: &Name<'a>, value: &Value<'a>) -> Result<Binding, Problem> {
        let chord: Chord = name.get_ref().parse().map_err(|wrong: super::Unreadable| {
            self.document.problem(&name.span(), wrong.what, wrong.hint)
        })?;
        let action = self.action(value)?;
        if action.is_some() && self.context.takes_text() && chord.first.is_text() {
            let context = self.context.name();
            return Err(self.document.problem(
                &name.span(),
                format!("binding `{chord}` in `{context}` would make it impossible to type"),
                format!(
                    "add a modifier: `alt+{}`",
                    chord.first.to_string().to_lowercase()
                ),
            ));
        }
        Ok(Binding { chord, action })
    }

    fn action(&self, value: &Value<'a>) -> Result<Option<Action>, Problem> {
        let wrong = |what, hint| Err(self.document.problem(&value.span(), what, hint));
        let Some(word) = value.get_ref().as_str() else {
            return wrong(
                format!(
                    "expected the name of an action, not this {}",
                    value.get_ref().type_str()
                ),
                format!("write it in quotes, like `\"send\"`; `\"{NONE}\"` removes the key"),
            );
        };
        if word == NONE {
            return Ok(None);
        }
        if let Some(action) = Action::named(word) {
            return Ok(Some(action));
        }
        let names = Action::ALL.iter().map(|action| action.name());
        let hint = nearest(word, names.chain([NONE])).map_or_else(
            || self.actions_here(),
            |name| format!("did you mean `{name}`?"),
        );
        wrong(format!("no action named `{}`", cut(word)), hint)
    }

    fn actions_here(&self) -> String {
        let group = self.keymap.group(self.context);
        let names = group.iter().map(|(action, _)| action.name());
        let here = listed(names.chain([NONE]));
        format!("actions in `{}`: {here}", self.context.name())
    }

    /// The binding, unless it conflicts with an earlier line of the same file.
    fn beside(
        &self,
        earlier: &[Binding],
        binding: Binding,
        name: &Name<'a>,
    ) -> Result<Binding, Problem> {
        let mut earlier = earlier.iter().map(|earlier| earlier.chord);
        let Some(other) = earlier.find(|earlier| earlier.clashes(binding.chord)) else {
            return Ok(binding);
        };
        let context = self.context.name();
        let what = if other == binding.chord {
            format!("`{other}` is already bound in `{context}`; this line is ignored")
        } else {
            format!(
                "`{}` and `{other}` start with the same key in `{context}`; this line is ignored",
                binding.chord
            )
        };
        Err(self.document.problem(
            &name.span(),
            what,
            "keep one of the two lines, or choose another key",
        ))
    }
}
