//! What a tool call is going to do, while the model is still writing it.
//!
//! [`Partial`] reads the input as it streams, and [`Preview`] turns it into what the screen shows: the command so far,
//! the growing file, the lines that replace others. No file is read; the real diff comes with the complete call.

mod partial;
#[cfg(test)]
mod tests;

pub use partial::{Partial, Progress};

use crate::protocol::PreviewFields;

/// What can be shown of a call, by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preview<'a> {
    /// `new` replaces `old`.
    Edit {
        path: &'a str,
        old: Text<'a>,
        new: Text<'a>,
    },
    /// `content` is the whole new content of the file.
    Write {
        path: &'a str,
        content: Text<'a>,
    },
    Command {
        command: Text<'a>,
    },
    /// Nothing yet, or nothing worth a preview.
    None,
}

/// A string of the input as far as it has arrived.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Text<'a> {
    pub text: &'a str,
    newlines: usize,
}

impl<'a> Preview<'a> {
    /// The current content of those fields.
    pub fn of(fields: &PreviewFields, input: &'a Partial) -> Self {
        let path = |field: &str| input.get(field).map_or("", |(path, _)| path);
        match fields {
            PreviewFields::Edit {
                path: file,
                old,
                new,
            } => match (Text::of(input, old), Text::of(input, new)) {
                (None, None) => Preview::None,
                (old, new) => Preview::Edit {
                    path: path(file),
                    old: old.unwrap_or_default(),
                    new: new.unwrap_or_default(),
                },
            },
            PreviewFields::Write {
                path: file,
                content,
            } => Text::of(input, content).map_or(Preview::None, |content| Preview::Write {
                path: path(file),
                content,
            }),
            PreviewFields::Command { command } => Text::of(input, command)
                .map_or(Preview::None, |command| Preview::Command { command }),
            PreviewFields::Nothing => Preview::None,
        }
    }
}

impl<'a> Text<'a> {
    /// A text that is complete.
    pub fn new(text: &'a str) -> Self {
        let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        Self { text, newlines }
    }

    fn of(input: &'a Partial, name: &str) -> Option<Self> {
        let (text, _) = input.get(name)?;
        let newlines = input.newlines(name);
        Some(Self { text, newlines })
    }

    /// How many lines there are; counted as they arrived.
    pub fn lines(self) -> usize {
        self.newlines + usize::from(!self.text.is_empty() && !self.text.ends_with('\n'))
    }

    /// The last lines, at most `count`, without line endings. Costs only their length.
    pub fn tail(self, count: usize) -> Vec<&'a str> {
        let mut lines: Vec<&str> = self.text.lines().rev().take(count).collect();
        lines.reverse();
        lines
    }
}
