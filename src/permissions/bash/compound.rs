//! Reading compound commands: groups, conditions, loops, `case`, functions.
//!
//! They are kept on a stack of frames, not on the call stack. Their grammar is checked only as far as it matters: every
//! opener has its closer, and every simple command inside becomes a part.

use super::draft::{Draft, Kind};
use super::reader::{Broken, Reader};
use super::script::{Function, Joint, Traits, Word};

impl Reader<'_> {
    pub(super) fn open_parenthesis(&mut self, draft: &mut Draft) -> Result<(), Broken> {
        self.at += 1;
        if let [name] = draft.part.words.as_slice()
            && draft.part.assignments.is_empty()
            && draft.part.redirects.is_empty()
            && !draft.closed
        {
            let name = name.text.clone();
            self.skip_blanks();
            if self.peek() != Some(b')') {
                return Err(Broken("a `(` is inside a command"));
            }
            self.at += 1;
            draft.part.words.clear();
            draft.define(name);
            return Ok(());
        }
        if !draft.at_command() {
            return Err(Broken("a `(` is inside a command"));
        }
        draft.part.words.clear();
        if let Some(end) = self.arithmetic_end()? {
            draft.structure("arithmetic");
            self.arithmetic(end)?;
            draft.close_header();
        } else {
            draft.structure("a subshell");
            draft.open(Kind::Parenthesis);
        }
        Ok(())
    }

    pub(super) fn close(&mut self, draft: &mut Draft, kind: Kind) -> Result<(), Broken> {
        draft.end_part(Joint::Sequence, &mut self.inside);
        if draft.needs_command
            && draft
                .script
                .parts
                .last()
                .is_some_and(|part| part.joint != Joint::Sequence)
        {
            return Err(Broken("a command is missing before a closing word"));
        }
        match draft.frames.pop() {
            Some(frame) if frame.kind == kind => {
                if let Some((name, start)) = frame.function {
                    let body = start..draft.script.parts.len();
                    draft.script.functions.push(Function { name, body });
                }
                draft.close_header();
                Ok(())
            }
            _ => Err(Broken("a closing word has no opener")),
        }
    }

    /// Handles a reserved word; `false` when it is an ordinary word here.
    pub(super) fn keyword(&mut self, draft: &mut Draft, word: &Word) -> Result<bool, Broken> {
        match word.raw.as_str() {
            "{" => draft.begin("a command group", Kind::Brace),
            "if" => draft.begin("`if`", Kind::If),
            "while" | "until" => draft.begin("a shell loop", Kind::Loop),
            "for" | "select" => self.loop_header(draft)?,
            "case" => self.case_header(draft)?,
            "}" => self.close(draft, Kind::Brace)?,
            "fi" => self.close(draft, Kind::If)?,
            "done" => self.close(draft, Kind::Loop)?,
            "esac" => self.close(draft, Kind::CaseBody)?,
            "then" | "elif" | "else" => self.middle(draft, Kind::If)?,
            "do" => self.middle(draft, Kind::Loop)?,
            "!" => draft.prefix("`!`"),
            "coproc" => draft.prefix("`coproc`"),
            "[[" => self.condition(draft)?,
            "]]" => return Err(Broken("a `]]` closes nothing")),
            "function" => {
                self.skip_blanks();
                let name = self.word(false)?.ok_or(Broken("a function has no name"))?;
                self.skip_blanks();
                if self.peek() == Some(b'(') {
                    self.at += 1;
                    self.skip_blanks();
                    if self.peek() != Some(b')') {
                        return Err(Broken("a function is malformed"));
                    }
                    self.at += 1;
                }
                draft.part.words.clear();
                draft.define(name.text);
            }
            // `time` is not treated as a keyword: it stays in the words, and a keyword may still follow.
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn middle(&mut self, draft: &mut Draft, kind: Kind) -> Result<(), Broken> {
        if draft.kind() != Some(kind) {
            return Err(Broken("a keyword is out of place"));
        }
        draft.end_part(Joint::Sequence, &mut self.inside);
        draft.closed = false;
        draft.needs_command = true;
        Ok(())
    }

    fn loop_header(&mut self, draft: &mut Draft) -> Result<(), Broken> {
        draft.begin("a shell loop", Kind::Loop);
        self.skip_blanks();
        if self.peek() == Some(b'(') {
            self.at += 1;
            let end = self
                .arithmetic_end()?
                .ok_or(Broken("a loop has an unusual header"))?;
            self.scan(self.at + 1, end)?;
            self.evaluated(&self.source[self.at + 1..end])?;
            self.at = end + 2;
        } else {
            self.word(false)?.ok_or(Broken("a loop has no variable"))?;
            self.skip_blanks();
            if self.source[self.at..].starts_with("in") {
                while let Some(word) = self.word(false)? {
                    // Arithmetic in the body may evaluate what the variable is set to.
                    if word.traits.has(Traits::QUOTED) {
                        self.scan_text(&word.text)?;
                    }
                    self.skip_blanks();
                }
            }
        }
        draft.close_header();
        Ok(())
    }

    fn case_header(&mut self, draft: &mut Draft) -> Result<(), Broken> {
        draft.begin("`case`", Kind::CasePattern);
        self.skip_blanks();
        self.word(false)?.ok_or(Broken("`case` has no word"))?;
        self.skip_lines()?;
        match self.word(false)? {
            Some(word) if word.raw == "in" => Ok(()),
            _ => Err(Broken("`case` has no `in`")),
        }
    }

    pub(super) fn case_pattern(&mut self, draft: &mut Draft) -> Result<(), Broken> {
        self.skip_lines()?;
        let parenthesis = self.peek() == Some(b'(');
        if parenthesis {
            self.at += 1;
        }
        let mut first = !parenthesis;
        loop {
            self.skip_blanks();
            let pattern = self
                .word(false)?
                .ok_or(Broken("`case` has an unusual pattern"))?;
            if first && pattern.raw == "esac" {
                return self.close(draft, Kind::CasePattern);
            }
            first = false;
            self.skip_blanks();
            match self.peek() {
                Some(b'|') => self.at += 1,
                Some(b')') => {
                    self.at += 1;
                    break;
                }
                _ => return Err(Broken("`case` has an unusual pattern")),
            }
        }
        if let Some(frame) = draft.frames.last_mut() {
            frame.kind = Kind::CaseBody;
        }
        draft.closed = false;
        Ok(())
    }

    fn condition(&mut self, draft: &mut Draft) -> Result<(), Broken> {
        draft.structure("`[[`");
        draft.part.words.clear();
        loop {
            self.skip_lines()?;
            match self.word(false)? {
                Some(word) if word.raw == "]]" => break,
                // `-eq` evaluates subscripts even in quotes.
                Some(word) if word.traits.has(Traits::QUOTED) => self.scan_text(&word.text)?,
                Some(word) => self.condition_effect(&word),
                None if self.peek().is_some() => self.at += 1,
                None => return Err(Broken("`[[` is not closed")),
            }
        }
        draft.close_header();
        Ok(())
    }

    /// Skips blanks, newlines and comments where no command may start.
    fn skip_lines(&mut self) -> Result<(), Broken> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') if self.pending.is_empty() && !self.outer_pending => self.at += 1,
                Some(b'\n') => return Err(Broken("a here-document starts in an unusual place")),
                Some(b'#') => self.comment(),
                Some(_) | None => return Ok(()),
            }
        }
    }
}
