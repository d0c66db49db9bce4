//! A script while it is read: finished parts, the current part, open compound commands.

use super::reader::{Broken, Inside};
use super::script::{Descriptor, Joint, Operator, Part, Redirect, Script, Traits, Word};

/// An open compound command.
pub(super) struct Frame {
    pub kind: Kind,
    /// The function whose body this is, and its first part.
    pub function: Option<(String, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Parenthesis,
    Brace,
    If,
    Loop,
    CasePattern,
    CaseBody,
}

/// A script while it is read.
#[derive(Default)]
pub(super) struct Draft {
    pub script: Script,
    pub part: Part,
    pub frames: Vec<Frame>,
    pub function: Option<String>,
    /// A compound command or a header has just ended: only redirections, operators and reserved words may follow.
    pub closed: bool,
    /// An operator or a keyword wants a command to follow.
    pub needs_command: bool,
}

impl Draft {
    pub fn kind(&self) -> Option<Kind> {
        self.frames.last().map(|frame| frame.kind)
    }

    /// Whether the next word is a command's first, so that reserved words are recognised.
    pub fn at_command(&self) -> bool {
        !self.closed
            && self.part.assignments.is_empty()
            && self.part.redirects.is_empty()
            && match self.part.words.as_slice() {
                [] => true,
                [time] => time.raw == "time",
                [time, flag] => time.raw == "time" && flag.raw == "-p",
                [..] => false,
            }
    }

    pub fn structure(&mut self, what: &'static str) {
        self.script.structure.get_or_insert(what);
        self.needs_command = false;
    }

    pub fn open(&mut self, kind: Kind) {
        let start = self.script.parts.len();
        let function = self.function.take().map(|name| (name, start));
        self.frames.push(Frame { kind, function });
        self.closed = false;
        self.needs_command = true;
    }

    pub fn begin(&mut self, what: &'static str, kind: Kind) {
        self.structure(what);
        self.part.words.clear();
        self.open(kind);
    }

    pub fn prefix(&mut self, what: &'static str) {
        self.structure(what);
        self.part.words.clear();
        self.needs_command = true;
    }

    pub fn define(&mut self, name: String) {
        self.structure("a shell function");
        self.function = Some(name);
        self.needs_command = true;
    }

    pub fn close_header(&mut self) {
        self.function = None;
        self.closed = true;
        self.needs_command = false;
    }

    /// Ends a part at an operator, which must have something before it.
    /// `|&` is `2>&1 |`.
    pub fn pass_errors_on(&mut self) {
        if self.part != Part::default() {
            self.part.redirects.push(Redirect {
                descriptor: Descriptor::Number,
                operator: Operator::DuplicateOutput,
                target: Word::plain("1"),
            });
        }
    }

    pub fn separate(&mut self, joint: Joint, inside: &mut Inside) -> Result<(), Broken> {
        if !self.closed && self.part == Part::default() {
            return Err(Broken("an operator has no command before it"));
        }
        self.end_part(joint, inside);
        Ok(())
    }

    pub fn end_part(&mut self, joint: Joint, inside: &mut Inside) {
        let mut part = std::mem::take(&mut self.part);
        part.nested = std::mem::take(&mut inside.scripts);
        part.effect = inside.effect.take();
        let empty = part == Part::default();
        self.needs_command &= empty && !self.closed;
        if empty {
            // `( .. ) | x`: the operator belongs to the last command.
            if self.closed
                && let Some(last) = self.script.parts.last_mut()
            {
                last.joint = joint;
            }
        } else {
            part.joint = joint;
            self.script.parts.push(part);
        }
        self.closed = false;
    }
}

impl Word {
    pub(super) fn is_keyword(&self) -> bool {
        !self
            .traits
            .has(Traits::QUOTED.or(Traits::EXPANSION).or(Traits::BRACE))
    }
}
