//! Reading scripts: simple commands, operators, redirections, here-documents.

use super::draft::{Draft, Kind};
use super::expansion::assignment_name;
use super::reader::{Broken, Pending, Reader, is_name};
use super::script::{Assignment, Descriptor, Joint, Operator, Redirect, Script, Traits, Word};

/// Builtins that take assignments as arguments.
const DECLARING: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    End,
    Parenthesis,
}

impl Reader<'_> {
    /// Reads everything as one script.
    pub(super) fn script(mut self) -> Result<Script, Broken> {
        self.list(Until::End)
    }

    /// Reads up to the `)` that ends a substitution.
    pub(super) fn script_until_parenthesis(&mut self) -> Result<Script, Broken> {
        self.list(Until::Parenthesis)
    }

    fn list(&mut self, until: Until) -> Result<Script, Broken> {
        let mut draft = Draft::default();
        loop {
            self.skip_blanks();
            if draft.kind() == Some(Kind::CasePattern) {
                self.case_pattern(&mut draft)?;
                continue;
            }
            let Some(byte) = self.peek() else { break };
            match byte {
                b'#' => self.comment(),
                b'\n' => {
                    self.at += 1;
                    self.newline(&mut draft)?;
                }
                b';' => self.semicolon(&mut draft)?,
                b'&' if self.peek_second() == Some(b'>') => {
                    self.redirect(&mut draft, Descriptor::Standard)?;
                }
                b'&' | b'|' => self.operator(&mut draft, byte)?,
                b'(' => self.open_parenthesis(&mut draft)?,
                b')' if draft.kind() == Some(Kind::Parenthesis) => {
                    self.at += 1;
                    self.close(&mut draft, Kind::Parenthesis)?;
                }
                b')' if until == Until::Parenthesis && draft.frames.is_empty() => {
                    self.at += 1;
                    return self.finish(draft);
                }
                b')' => return Err(Broken("a `)` closes nothing")),
                b'<' | b'>' if self.peek_second() != Some(b'(') => {
                    self.redirect(&mut draft, Descriptor::Standard)?;
                }
                _ => self.word_or_keyword(&mut draft)?,
            }
        }
        if until == Until::Parenthesis {
            return Err(Broken("a `(` is not closed"));
        }
        self.finish(draft)
    }

    fn finish(&mut self, mut draft: Draft) -> Result<Script, Broken> {
        if !self.pending.is_empty() {
            return Err(Broken("a here-document is not closed"));
        }
        draft.end_part(Joint::Sequence, &mut self.inside);
        if draft.needs_command {
            return Err(Broken("a command is missing at the end"));
        }
        if !draft.frames.is_empty() || draft.function.is_some() {
            return Err(Broken("a compound command is not closed"));
        }
        Ok(draft.script)
    }

    fn newline(&mut self, draft: &mut Draft) -> Result<(), Broken> {
        if self.outer_pending {
            return Err(Broken("a here-document starts around a substitution"));
        }
        for pending in std::mem::take(&mut self.pending) {
            let body = self.heredoc(&pending)?;
            draft.script.heredocs.push(body);
        }
        draft.end_part(Joint::Sequence, &mut self.inside);
        Ok(())
    }

    fn heredoc(&mut self, pending: &Pending) -> Result<String, Broken> {
        let from = self.at;
        // In an expanded body a backslash joins lines, so the second one is not a delimiter.
        let mut joined = false;
        loop {
            let start = self.at;
            let rest = &self.source[start..];
            if rest.is_empty() {
                return Err(Broken("a here-document is not closed"));
            }
            let length = rest.find('\n').unwrap_or(rest.len());
            self.at = (start + length + 1).min(self.source.len());
            let line = &rest[..length];
            let line = if pending.strip_tabs {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if line == pending.delimiter && !joined {
                if !pending.literal {
                    self.scan(from, start)?;
                }
                return Ok(self.source[from..start].to_owned());
            }
            let text = line.trim_end_matches('\\');
            let continued = !pending.literal && (line.len() - text.len()) % 2 == 1;
            if continued && !joined && pending.delimiter.starts_with(text) {
                return Err(Broken("a here-document has a broken delimiter"));
            }
            joined = continued;
        }
    }

    fn semicolon(&mut self, draft: &mut Draft) -> Result<(), Broken> {
        let double = matches!(self.peek_second(), Some(b';' | b'&'));
        if double {
            draft.end_part(Joint::Sequence, &mut self.inside);
            match draft.frames.last_mut() {
                Some(frame) if frame.kind == Kind::CaseBody => frame.kind = Kind::CasePattern,
                _ => return Err(Broken("`;;` is outside of `case`")),
            }
            self.bump();
            self.bump();
            if self.byte(self.at) == Some(b'&') {
                self.at += 1;
            }
            return Ok(());
        }
        self.at += 1;
        draft.separate(Joint::Sequence, &mut self.inside)
    }

    fn operator(&mut self, draft: &mut Draft, byte: u8) -> Result<(), Broken> {
        let second = self.peek_second();
        self.bump();
        let joint = match (byte, second) {
            (b'&', Some(b'&')) => Joint::And,
            (b'|', Some(b'|')) => Joint::Or,
            (b'&', _) => {
                return draft.separate(Joint::Background, &mut self.inside);
            }
            (_, Some(b'&')) => {
                draft.pass_errors_on();
                Joint::Pipe
            }
            (..) => {
                draft.separate(Joint::Pipe, &mut self.inside)?;
                draft.needs_command = true;
                return Ok(());
            }
        };
        self.at += 1;
        draft.separate(joint, &mut self.inside)?;
        draft.needs_command = true;
        Ok(())
    }

    fn redirect(&mut self, draft: &mut Draft, descriptor: Descriptor) -> Result<(), Broken> {
        let operator = self.redirection();
        let strip_tabs = operator == Operator::Heredoc && self.peek() == Some(b'-');
        if strip_tabs {
            self.at += 1;
        }
        self.skip_blanks();
        // A comment, or the descriptor of the next redirection: bash finds no target there.
        if self.peek() == Some(b'#') {
            return Err(Broken("a redirection has no target"));
        }
        let target = self
            .word(false)?
            .ok_or(Broken("a redirection has no target"))?;
        let number = target.raw.bytes().all(|byte| byte.is_ascii_digit());
        if number && matches!(self.peek(), Some(b'<' | b'>')) {
            return Err(Broken("a redirection has no target"));
        }
        let operator = match operator {
            Operator::Heredoc => self.await_heredoc(&target, strip_tabs)?,
            operator => operator,
        };
        draft.part.redirects.push(Redirect {
            descriptor,
            operator,
            target,
        });
        Ok(())
    }

    /// Reads the operator of a redirection.
    fn redirection(&mut self) -> Operator {
        let first = self.peek();
        self.bump();
        let second = self.peek();
        match (first, second) {
            (Some(b'&'), _) => {
                self.bump();
                if self.peek() == Some(b'>') {
                    self.at += 1;
                }
                Operator::WriteBoth
            }
            (Some(b'<'), Some(b'<')) => {
                self.bump();
                if self.peek() == Some(b'<') {
                    self.at += 1;
                    Operator::Herestring
                } else {
                    Operator::Heredoc
                }
            }
            (Some(b'<'), Some(b'>')) => {
                self.at += 1;
                Operator::ReadWrite
            }
            (_, Some(b'&')) => {
                self.at += 1;
                if first == Some(b'<') {
                    Operator::DuplicateInput
                } else {
                    Operator::DuplicateOutput
                }
            }
            (Some(b'<'), _) => Operator::Read,
            (_, Some(b'>' | b'|')) => {
                self.at += 1;
                Operator::Write
            }
            (..) => Operator::Write,
        }
    }

    /// Remembers that the text up to `target` follows, and says what kind of here-document it is.
    fn await_heredoc(&mut self, target: &Word, strip_tabs: bool) -> Result<Operator, Broken> {
        let odd = Traits::EXPANSION
            .or(Traits::STATUS)
            .or(Traits::PLACE)
            .or(Traits::DOLLAR_QUOTED);
        if target.traits.has(odd) || target.text.contains('\n') {
            return Err(Broken(
                "the delimiter of a here-document is not a plain word",
            ));
        }
        let literal = target.traits.has(Traits::QUOTED);
        let delimiter = target.text.clone();
        self.pending.push(Pending {
            delimiter,
            strip_tabs,
            literal,
        });
        Ok(if literal {
            Operator::LiteralHeredoc
        } else {
            Operator::Heredoc
        })
    }

    fn word_or_keyword(&mut self, draft: &mut Draft) -> Result<(), Broken> {
        let assignable = draft.part.words.is_empty() && !draft.closed;
        let declares = draft
            .part
            .words
            .first()
            .is_some_and(|name| DECLARING.contains(&name.raw.as_str()));
        let Some(word) = self.word_at(assignable, assignable || declares)? else {
            return Err(Broken("an operator is in an unusual place"));
        };
        if matches!(self.peek(), Some(b'<' | b'>')) && self.peek_second() != Some(b'(') {
            let named = names_descriptor(&word.raw);
            if named || word.raw.bytes().all(|byte| byte.is_ascii_digit()) {
                let descriptor = if named {
                    Descriptor::Named
                } else {
                    Descriptor::Number
                };
                return self.redirect(draft, descriptor);
            }
        }
        if (draft.closed || draft.at_command())
            && word.is_keyword()
            && self.keyword(draft, &word)?
        {
            return Ok(());
        }
        if draft.closed || draft.function.is_some() {
            return Err(Broken("a word follows a compound command"));
        }
        if assignable && let Some((name, value)) = assignment_name(&word.raw) {
            let name = name.to_owned();
            let simple = word.raw.as_bytes().get(name.len()) == Some(&b'=');
            let text = word.text.get(value..).unwrap_or_default().to_owned();
            let raw = word.raw[value..].to_owned();
            let value = Word {
                raw,
                text,
                traits: word.traits,
            };
            draft.part.assignments.push(Assignment {
                name,
                value,
                simple,
            });
        } else {
            draft.part.words.push(word);
        }
        Ok(())
    }
}

/// `{name}` and `{name[1]}` before a redirection. `{a,b}` there is an ordinary word.
fn names_descriptor(raw: &str) -> bool {
    let inside = raw
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    inside.is_some_and(|inside| {
        let (name, subscript) = inside.split_once('[').unwrap_or((inside, "]"));
        is_name(name) && subscript.ends_with(']')
    })
}
