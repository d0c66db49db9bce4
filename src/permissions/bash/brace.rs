//! Brace expansion, decided as bash decides it (`brace_expand` and `brace_gobbler` in its `braces.c`).
//!
//! It works on a word as written. What is too large to work out is treated as an expansion: in doubt, the call asks.

use super::expansion::match_bracket;

/// How many bytes are read for one word, in addition to its own length. Without a bound, `{{{{` would cost the square
/// of its length.
const MOST_STEPS: usize = 1 << 16;
/// How deeply nested braces are expanded.
const MAX_DEPTH: usize = 16;
/// Longer results are not built.
const LONGEST_RESULT: usize = 4096;

/// Whether bash makes other words of this one.
pub fn expands(raw: &str) -> bool {
    let mut work = Work::new(raw);
    let mut rest = raw;
    loop {
        match work.next(rest) {
            Err(TooMuch) => return true,
            Ok(None) => return false,
            Ok(Some(found)) => {
                let content = &rest[found.open + 1..found.close];
                if has_comma(content) || Sequence::parse(content).is_some() {
                    return true;
                }
                rest = &rest[found.close + 1..];
            }
        }
    }
}

/// The words that bash makes of this one, still as written; `None` if there are more than `most`.
pub fn expand(raw: &str, most: usize) -> Option<Vec<String>> {
    Work::new(raw).expand(raw, most, 0).ok()
}

/// The expansion is larger than the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TooMuch;

/// The position of a pair of braces.
struct Braces {
    open: usize,
    close: usize,
}

/// How much work is left for a word.
struct Work {
    steps: usize,
}

impl Work {
    fn new(raw: &str) -> Self {
        Self {
            steps: MOST_STEPS + 8 * raw.len(),
        }
    }

    fn expand(&mut self, text: &str, most: usize, depth: usize) -> Result<Vec<String>, TooMuch> {
        if depth > MAX_DEPTH {
            return Err(TooMuch);
        }
        let mut results = vec![String::new()];
        let mut rest = text;
        loop {
            let Some(found) = self.next(rest)? else {
                return joined(&results, &[rest.to_owned()], most);
            };
            let content = &rest[found.open + 1..found.close];
            let middle = if has_comma(content) {
                self.alternatives(content, most, depth)?
            } else if let Some(sequence) = Sequence::parse(content) {
                sequence.terms(most)?
            } else {
                vec![rest[found.open..=found.close].to_owned()]
            };
            results = joined(&results, &[rest[..found.open].to_owned()], most)?;
            results = joined(&results, &middle, most)?;
            rest = &rest[found.close + 1..];
        }
    }

    fn alternatives(
        &mut self,
        content: &str,
        most: usize,
        depth: usize,
    ) -> Result<Vec<String>, TooMuch> {
        let mut all = Vec::new();
        let mut from = 0;
        loop {
            let end = self.find_closing(content, from, b',')?;
            let part = &content[from..end.unwrap_or(content.len())];
            all.extend(self.expand(part, most, depth + 1)?);
            if all.len() > most {
                return Err(TooMuch);
            }
            match end {
                Some(comma) => from = comma + 1,
                None => return Ok(all),
            }
        }
    }

    /// The first pair of braces that has a comma or `..` in it.
    fn next(&mut self, text: &str) -> Result<Option<Braces>, TooMuch> {
        let mut from = 0;
        while let Some(open) = self.find_closing(text, from, b'{')? {
            if let Some(close) = self.find_closing(text, open + 1, b'}')? {
                return Ok(Some(Braces { open, close }));
            }
            from = open + 1;
        }
        Ok(None)
    }

    /// The position of the next `wanted` that is neither quoted nor inside other braces. A `}` is only accepted after a
    /// comma or `..`.
    fn find_closing(
        &mut self,
        text: &str,
        from: usize,
        wanted: u8,
    ) -> Result<Option<usize>, TooMuch> {
        let bytes = text.as_bytes();
        let (mut at, mut level) = (from, 0_usize);
        let mut quoted = None;
        let mut separated = wanted != b'}';
        while let Some(&byte) = bytes.get(at) {
            self.steps = self.steps.checked_sub(1).ok_or(TooMuch)?;
            let next = bytes.get(at + 1).copied();
            if byte == b'\\' && quoted != Some(b'\'') {
                at += 2;
                continue;
            }
            // `${..}` is skipped like a quoted pair of braces.
            if byte == b'$' && next == Some(b'{') && quoted != Some(b'\'') {
                level += usize::from(quoted.is_none());
                at += 2;
                continue;
            }
            let substitutes = next == Some(b'(')
                && match quoted {
                    None => matches!(byte, b'$' | b'<' | b'>'),
                    Some(quote) => quote == b'"' && byte == b'$',
                };
            if substitutes {
                let end = match_bracket(bytes, at + 2, b'(', b')').unwrap_or(bytes.len());
                self.steps = self.steps.checked_sub(end - at).ok_or(TooMuch)?;
                at = end + 1;
                continue;
            }
            if let Some(quote) = quoted {
                if byte == quote {
                    quoted = None;
                }
                at += 1;
                continue;
            }
            if matches!(byte, b'"' | b'\'' | b'`') {
                quoted = Some(byte);
                at += 1;
                continue;
            }
            if byte == wanted && level == 0 && separated {
                let blank = |byte: Option<u8>| matches!(byte, None | Some(b' ' | b'\t' | b'\n'));
                let before = at.checked_sub(1).and_then(|before| bytes.get(before));
                // `{}` at the start, as for `find -exec`.
                let alone = wanted == b'{'
                    && blank(before.copied())
                    && matches!(next, Some(b' ' | b'\t' | b'\n' | b'}'));
                if !alone {
                    return Ok(Some(at));
                }
                at += 1;
                continue;
            }
            match byte {
                b'{' => level += 1,
                b'}' if level > 0 => level -= 1,
                b',' if level == 0 => separated = true,
                b'.' if level == 0 && next == Some(b'.') && bytes.get(at + 2) != Some(&b'}') => {
                    separated = true;
                }
                _ => {}
            }
            at += 1;
        }
        Ok(None)
    }
}

/// Every prefix combined with every suffix.
fn joined(beginnings: &[String], ends: &[String], most: usize) -> Result<Vec<String>, TooMuch> {
    let count = beginnings.len().saturating_mul(ends.len());
    let longest = |texts: &[String]| texts.iter().map(String::len).max().unwrap_or(0);
    let changes = count > 1 || beginnings.len() > 1;
    if count > most || (changes && longest(beginnings) + longest(ends) > LONGEST_RESULT) {
        return Err(TooMuch);
    }
    let with = |beginning: &String| {
        let beginning = beginning.clone();
        ends.iter().map(move |end| format!("{beginning}{end}"))
    };
    Ok(beginnings.iter().flat_map(with).collect())
}

/// Whether there is a comma without a backslash. Quotes and inner braces do not matter to bash at this point.
fn has_comma(content: &str) -> bool {
    let mut bytes = content.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b',' => return true,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
    false
}

/// `1..5`, `a..e`, `01..10..3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sequence {
    from: i64,
    to: i64,
    step: u64,
    letters: bool,
    /// How many digits every number has; zero if that differs.
    width: usize,
}

impl Sequence {
    fn parse(content: &str) -> Option<Self> {
        let (first, rest) = content.split_once("..")?;
        let (last, step) = match rest.split_once("..") {
            Some((last, step)) => (last, step.parse::<i64>().ok()?),
            None => (rest, 1),
        };
        let letter = |text: &str| {
            let mut bytes = text.bytes();
            match (bytes.next(), bytes.next()) {
                (Some(byte), None) if byte.is_ascii_alphabetic() => Some(i64::from(byte)),
                _ => None,
            }
        };
        // An increment of zero is one.
        let step = step.unsigned_abs().max(1);
        if let (Some(from), Some(to)) = (letter(first), letter(last)) {
            return Some(Self {
                from,
                to,
                step,
                letters: true,
                width: 0,
            });
        }
        let padded = |text: &str| text.trim_start_matches(['-', '+']).starts_with('0');
        let is_padded = |text: &str| padded(text) && text.len() > 1;
        let width = if is_padded(first) || is_padded(last) {
            first.len().max(last.len())
        } else {
            0
        };
        Some(Self {
            from: first.parse().ok()?,
            to: last.parse().ok()?,
            step,
            letters: false,
            width,
        })
    }

    fn terms(self, most: usize) -> Result<Vec<String>, TooMuch> {
        let count = self.from.abs_diff(self.to) / self.step;
        if usize::try_from(count).map_or(true, |count| count >= most) {
            return Err(TooMuch);
        }
        let mut terms = Vec::new();
        let mut value = self.from;
        for _ in 0..=count {
            terms.push(match u8::try_from(value) {
                Ok(letter) if self.letters => char::from(letter).to_string(),
                _ => format!("{value:0width$}", width = self.width),
            });
            value = if self.to >= self.from {
                value.saturating_add_unsigned(self.step)
            } else {
                value.saturating_sub_unsigned(self.step)
            };
        }
        Ok(terms)
    }
}
