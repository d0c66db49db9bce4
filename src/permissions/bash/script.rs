//! What the shell reader found: a script as parts, words and redirections.
//!
//! The view is flat on purpose. A compound command (loop, group, function body) contributes its simple commands to the
//! list of parts in the order of the text; [`Script::structure`] records that it was there. Deny rules look at every
//! part, wherever it is; allow rules and the classifier accept only scripts without structure.

use std::ops::Range;

/// A list of commands: a whole command line, or the inside of a substitution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    pub parts: Vec<Part>,
    pub functions: Vec<Function>,
    /// Bodies of here-documents, in order. A shell that gets one as its input runs it.
    pub heredocs: Vec<String>,
    /// The first construct that is more than simple commands joined by operators.
    pub structure: Option<&'static str>,
}

/// One simple command between two operators.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
    pub redirects: Vec<Redirect>,
    /// Scripts in substitutions anywhere in this part.
    pub nested: Vec<Script>,
    /// The side effect of an expansion in this part.
    pub effect: Option<&'static str>,
    pub joint: Joint,
}

/// What follows a part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Joint {
    #[default]
    Sequence,
    And,
    Or,
    Pipe,
    Background,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    pub value: Word,
    /// `NAME=value`, not `NAME+=value` or `NAME[i]=value`.
    pub simple: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    pub descriptor: Descriptor,
    pub operator: Operator,
    pub target: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptor {
    Standard,
    Number,
    /// `{name}>file`: the shell assigns a variable.
    Named,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Read,
    /// `>` `>>` `>|`
    Write,
    /// `&>` `&>>`
    WriteBoth,
    /// `<>`
    ReadWrite,
    /// `<&`
    DuplicateInput,
    /// `>&`
    DuplicateOutput,
    /// `<<` with a quoted delimiter: the body is text.
    LiteralHeredoc,
    /// `<<` with a bare delimiter: the body is expanded.
    Heredoc,
    /// `<<<`
    Herestring,
}

/// A function definition and the parts that make up its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub body: Range<usize>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// As written, without line continuations.
    pub raw: String,
    /// After quote removal. Expansions stay as written.
    pub text: String,
    pub traits: Traits,
}

/// What a word contains besides plain characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traits(u16);

impl Traits {
    pub const QUOTED: Self = Self(1);
    /// Any other expansion.
    pub const EXPANSION: Self = Self(1 << 1);
    pub const GLOB: Self = Self(1 << 2);
    pub const BRACE: Self = Self(1 << 3);
    /// `~` where the shell expands it.
    pub const TILDE: Self = Self(1 << 4);
    /// `$'..'` or `$".."`.
    pub const DOLLAR_QUOTED: Self = Self(1 << 5);
    /// `$?`
    pub const STATUS: Self = Self(1 << 6);
    /// `$HOME` or `$PWD` inside double quotes: always one word.
    pub const PLACE: Self = Self(1 << 7);

    /// Whether any of `others` is there.
    pub fn has(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    pub fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Word {
    /// A word without any quoting or expansion.
    pub fn plain(text: &str) -> Self {
        Self {
            raw: text.to_owned(),
            text: text.to_owned(),
            traits: Traits::default(),
        }
    }

    /// Whether the shell passes on `text` unchanged.
    pub fn is_literal(&self) -> bool {
        !self.traits.has(
            Traits::EXPANSION
                .or(Traits::GLOB)
                .or(Traits::BRACE)
                .or(Traits::TILDE)
                .or(Traits::DOLLAR_QUOTED)
                .or(Traits::STATUS)
                .or(Traits::PLACE),
        )
    }

    /// Whether the word is literal and written without any quote or backslash.
    pub fn is_bare(&self) -> bool {
        self.is_literal() && !self.traits.has(Traits::QUOTED)
    }
}

impl Part {
    /// All texts after quote removal, joined by single blanks, and where each word starts.
    pub fn joined(words: &[Word]) -> (String, Vec<usize>) {
        let mut text = String::with_capacity(words.iter().map(|word| word.text.len() + 1).sum());
        let mut starts = Vec::with_capacity(words.len());
        for word in words {
            if !starts.is_empty() {
                text.push(' ');
            }
            starts.push(text.len());
            text.push_str(&word.text);
        }
        (text, starts)
    }
}
