//! What expansions do beside giving text: assign a variable, or evaluate what quotes hide.
//!
//! Offsets, lengths and subscripts in `${..}` are arithmetic, and arithmetic evaluates the subscripts that it finds in
//! quoted text: `${HOME:'a[$(id)]'}` runs `id`.

use super::expansion::{assignment_name, decode_ansi};
use super::reader::{Broken, Reader};
use super::script::{Part, Traits, Word};
use super::wrappers::unwrap;

const ASSIGNS: &str = "an expansion that assigns a variable";
const EVALUATES: &str = "arithmetic over quoted text";

/// How many bytes of arithmetic are read again without their quotes.
const MOST_UNQUOTED: usize = 1 << 16;

/// Builtins that evaluate subscripts which they find in quoted words.
pub(super) const EVALUATING: [&str; 15] = [
    "test",
    "[",
    "printf",
    "let",
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "read",
    "unset",
    "wait",
    "mapfile",
    "readarray",
    "getopts",
];

impl Part {
    /// What it does to the shell beside running a command: no rule for the command alone covers that.
    pub fn side_effect(&self) -> Option<&'static str> {
        self.effect
            .or_else(|| timed_assignment(&self.words))
            .or_else(|| builtin_effect(&self.words))
    }
}

/// `time A=1 ls` assigns like `A=1 ls`, though to us its words begin with `time`.
fn timed_assignment(words: &[Word]) -> Option<&'static str> {
    let (time, rest) = words.split_first()?;
    let timed = rest
        .iter()
        .find(|word| !matches!(word.raw.as_str(), "-p" | "--" | "time"))?;
    (time.raw == "time" && assignment_name(&timed.raw).is_some()).then_some(ASSIGNS)
}

fn builtin_effect(words: &[Word]) -> Option<&'static str> {
    let (name, arguments) = unwrap(words).words.split_first()?;
    let has = |flag: &str| arguments.iter().any(|word| word.text == flag);
    let hidden = || arguments.iter().any(|word| hides_subscript(&word.text));
    match name.text.as_str() {
        "printf" => sets_variable(arguments).then_some(ASSIGNS),
        "test" | "[" => ((has("-v") || has("-R")) && hidden()).then_some(EVALUATES),
        name if EVALUATING.contains(&name) => hidden().then_some(EVALUATES),
        _ => None,
    }
}

/// `printf -v NAME`. Braces and globs may become the flag.
fn sets_variable(arguments: &[Word]) -> bool {
    let options = arguments
        .iter()
        .take_while(|word| word.text.starts_with('-') && word.text != "--" || !word.is_literal());
    options
        .into_iter()
        .any(|word| word.text.starts_with("-v") || word.traits.has(Traits::BRACE.or(Traits::GLOB)))
}

fn hides_subscript(text: &str) -> bool {
    let behind = text.find('[').map_or("", |at| &text[at..]);
    behind.contains("$(") || behind.contains('`')
}

impl Reader<'_> {
    /// Looks at the inside of `${..}`, which has been read already, for what it does.
    pub(super) fn parameter_effects(&mut self, inside: &str) -> Result<(), Broken> {
        // `${x@P}` runs what it finds in a value.
        if inside.ends_with("@P") {
            return Err(Broken("`${..@P}` expands a prompt"));
        }
        // `!` and `#` are a prefix or the name itself.
        let behind = inside.strip_prefix(['!', '#']);
        for text in std::iter::once(inside).chain(behind) {
            let operation = behind_name(text);
            match operation.strip_prefix(':') {
                _ if operation.starts_with('=') => self.effect(ASSIGNS),
                Some(rest) if rest.starts_with('=') => self.effect(ASSIGNS),
                Some(rest) if rest.starts_with(['-', '?', '+']) => {}
                Some(offset) => self.evaluated(offset)?,
                None if operation.starts_with('[') => self.evaluated(operation)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Looks at arithmetic for what it does. Substitutions that stand in it openly have been found already.
    pub(super) fn evaluated(&mut self, text: &str) -> Result<(), Broken> {
        if assigns(text) {
            self.effect(ASSIGNS);
        }
        if !text.contains(['\'', '"', '\\']) {
            return Ok(());
        }
        self.effect(EVALUATES);
        self.unquoted += text.len();
        if self.unquoted > MOST_UNQUOTED {
            return Err(Broken("it is nested too deeply"));
        }
        self.scan_text(&without_quotes(text))
    }

    fn effect(&mut self, what: &'static str) {
        self.inside.effect.get_or_insert(what);
    }
}

/// What stands behind the name in `${name..}`.
fn behind_name(text: &str) -> &str {
    let name = |character: char| character == '_' || character.is_ascii_alphanumeric();
    let rest = text.trim_start_matches(name);
    if rest.len() < text.len() {
        return rest;
    }
    let mut characters = text.chars();
    match characters.next() {
        Some('@' | '*' | '#' | '?' | '-' | '$' | '!') => characters.as_str(),
        Some(_) | None => text,
    }
}

/// Whether arithmetic may assign: `=`, `+=`, `<<=`, `++`, `--`, but not a comparison.
fn assigns(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is = |at: Option<usize>, byte: u8| at.and_then(|at| bytes.get(at)) == Some(&byte);
    let assigns_at = |at: usize| {
        let (before, second) = (at.checked_sub(1), at.checked_sub(2));
        let shift = |byte: u8| is(before, byte) && is(second, byte);
        let compares = is(Some(at + 1), b'=')
            || is(before, b'=')
            || is(before, b'!')
            || (is(before, b'<') && !shift(b'<'))
            || (is(before, b'>') && !shift(b'>'));
        bytes[at] == b'=' && !compares
    };
    text.contains("++") || text.contains("--") || (0..bytes.len()).any(assigns_at)
}

fn without_quotes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '"', '\\']) {
        let (before, behind) = (&rest[..at], &rest[at + 1..]);
        let ansi = rest[at..].starts_with('\'') && before.ends_with('$');
        plain.push_str(if ansi { &before[..at - 1] } else { before });
        rest = behind;
        if ansi {
            let end = ansi_end(behind);
            plain.push_str(&decode_ansi(&behind[..end]));
            rest = behind.get(end + 1..).unwrap_or_default();
        }
    }
    plain + rest
}

/// Where the quote that closes `$'..'` stands.
fn ansi_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            '\'' if !escaped => return at,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}
