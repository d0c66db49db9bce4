//! Side effects of expansions: setting a variable, or evaluating quoted text.
//!
//! Offsets, lengths and subscripts in `${..}` are arithmetic, and arithmetic evaluates subscripts even in quoted text:
//! `${HOME:'a[$(id)]'}` runs `id`. It evaluates the values of variables in the same way, and the shell sets `_` to the
//! last word of the previous command: `true 'a[$(id)]'; echo $((_))` runs `id` as well.

use super::expansion::{assignment_name, decode_ansi, match_bracket};
use super::reader::{Broken, Reader};
use super::script::{Part, Traits, Word};
use super::wrappers::unwrap;

const ASSIGNS: &str = "an expansion that sets a variable";
const EVALUATES: &str = "arithmetic or an indirect expansion that evaluates its value";

/// How many bytes of arithmetic are read again without their quotes.
const MOST_UNQUOTED: usize = 1 << 16;

/// Builtins that evaluate subscripts in quoted words.
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
    /// What it changes in the shell besides running a command. A rule for the command alone does not cover that.
    pub fn side_effect(&self) -> Option<&'static str> {
        self.effect
            .or_else(|| timed_assignment(&self.words))
            .or_else(|| builtin_effect(&self.words))
    }
}

/// `time A=1 ls` assigns like `A=1 ls`, although here its words begin with `time`.
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
    let hidden = || arguments.iter().any(|word| has_subscript(&word.text));
    let integer = |word: &Word| word.text.starts_with(['-', '+']) && word.text.contains('i');
    match name.text.as_str() {
        "printf" => sets_variable(arguments).then_some(ASSIGNS),
        "let" => arguments
            .iter()
            .any(|word| evaluates_names(&word.text) || !word.is_literal())
            .then_some(EVALUATES),
        "declare" | "typeset" | "local" | "export" | "readonly" => {
            (hidden() || arguments.iter().any(integer)).then_some(EVALUATES)
        }
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

/// Whether there is a subscript that is more than a number. In the value of an assignment, only lists have subscripts.
fn has_subscript(text: &str) -> bool {
    let found = |text: &str| {
        text.find('[')
            .is_some_and(|at| evaluates_names(&text[at..]))
    };
    match text.split_once('=') {
        Some((name, value)) => {
            let list = value.trim_start().starts_with('(');
            found(name) || found(value) && (list || value.contains("$(") || value.contains('`'))
        }
        None => found(text),
    }
}

/// Whether arithmetic looks up names in this text, whose values it evaluates again. Only numbers, operators and blanks
/// are certain not to be names.
fn evaluates_names(text: &str) -> bool {
    let certain = |character: char| {
        matches!(character, '0'..='9' | ' ' | '\t' | '\n')
            || "+-*/%<>=!&|^~?:,()@".contains(character)
    };
    let inside = text.strip_prefix('[').unwrap_or(text);
    let inside = inside.strip_suffix(']').unwrap_or(inside);
    !inside.chars().all(certain)
}

impl Reader<'_> {
    /// Finds the side effects of `${..}`, whose inside has been read already.
    pub(super) fn parameter_effects(&mut self, inside: &str) -> Result<(), Broken> {
        // `${x@P}` runs substitutions in the value.
        if inside.ends_with("@P") {
            return Err(Broken("`${..@P}` expands a prompt"));
        }
        if is_indirect(inside) {
            self.effect(EVALUATES);
        }
        // `!` and `#` are a prefix or the name itself.
        let behind = inside.strip_prefix(['!', '#']);
        for text in std::iter::once(inside).chain(behind) {
            self.operation(behind_name(text))?;
        }
        Ok(())
    }

    /// Checks what follows the name.
    fn operation(&mut self, operation: &str) -> Result<(), Broken> {
        if operation.starts_with('[') {
            let end = match_bracket(operation.as_bytes(), 1, b'[', b']')
                .map_or(operation.len(), |end| end + 1);
            self.evaluated(&operation[..end])?;
            return self.operation(&operation[end..]);
        }
        match operation.strip_prefix(':') {
            _ if operation.starts_with('=') => self.effect(ASSIGNS),
            Some(rest) if rest.starts_with('=') => self.effect(ASSIGNS),
            Some(rest) if rest.starts_with(['-', '?', '+']) => {}
            Some(offset) => self.evaluated(offset)?,
            None => {}
        }
        Ok(())
    }

    /// Finds the side effects of arithmetic. Unquoted substitutions in it have been found already.
    pub(super) fn evaluated(&mut self, text: &str) -> Result<(), Broken> {
        if assigns(text) {
            self.effect(ASSIGNS);
        }
        if evaluates_names(text) {
            self.effect(EVALUATES);
        }
        if !text.contains(['\'', '"', '\\']) {
            return Ok(());
        }
        self.unquoted += text.len();
        if self.unquoted > MOST_UNQUOTED {
            return Err(Broken("it is nested too deeply"));
        }
        self.scan_text(&without_quotes(text))
    }

    /// `[[ x -eq 1 ]]` is arithmetic, and `-v` looks at a subscript.
    pub(super) fn condition_effect(&mut self, word: &Word) {
        if matches!(
            word.text.as_str(),
            "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R"
        ) {
            self.effect(EVALUATES);
        }
    }

    fn effect(&mut self, what: &'static str) {
        self.inside.effect.get_or_insert(what);
    }
}

/// Whether `${!..}` uses a value as the name of another variable, including subscripts. `${!prefix*}` and `${!a[@]}`
/// only list names, and `${!}` is the number of a process.
fn is_indirect(inside: &str) -> bool {
    let Some(behind) = inside.strip_prefix('!') else {
        return false;
    };
    !matches!(behind, "" | "*" | "@") && !matches!(behind_name(behind), "*" | "@" | "[@]" | "[*]")
}

/// What follows the name in `${name..}`.
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

/// The position of the quote that closes `$'..'`.
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
