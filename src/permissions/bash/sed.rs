//! A small sed grammar: scripts that it accepts only print.

use super::flags::Named;
use super::lists::Lists;
use super::script::Word;

/// How deeply groups may nest.
const DEEPEST: usize = 4;
/// How many times longer than its input the output may be: `s/.*/&&/` twenty times is a million times as long.
const MOST_GROWTH: u64 = 4_096;

/// The files that a print-only sed reads; the error says what is not accepted.
pub fn check(words: &[Word], lists: Lists) -> Result<Vec<Named<'_>>, String> {
    let mut scripts: Vec<&Word> = Vec::new();
    let mut attached: Vec<&str> = Vec::new();
    let mut operands: Vec<Named<'_>> = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if text.len() < 2 || !text.starts_with('-') {
            operands.push(Named { text, word });
            continue;
        }
        if text == "--" {
            operands.extend(rest.by_ref().map(|word| Named {
                text: &word.text,
                word,
            }));
            break;
        }
        for (at, letter) in text.char_indices().skip(1) {
            match letter {
                'n' | 'E' | 'r' | 'z' => continue,
                'e' if at + 1 < text.len() && word.is_literal() => attached.push(&text[at + 1..]),
                'e' if at + 1 == text.len() => {
                    scripts.push(rest.next().ok_or("sed -e needs a script")?);
                }
                _ => {
                    return Err(format!(
                        "`sed` is not known to be read-only with the flag `{text}`"
                    ));
                }
            }
            break;
        }
    }
    if scripts.is_empty() && attached.is_empty() {
        if operands.is_empty() {
            return Err("sed needs a script".to_owned());
        }
        scripts.push(operands.remove(0).word);
    }
    // The result of an expansion is not known here, not even for `"$HOME"`.
    if let Some(expanded) = scripts.iter().find(|script| !script.is_literal()) {
        return Err(format!(
            "the sed script `{}` is expanded by the shell",
            expanded.raw
        ));
    }
    attached.extend(scripts.iter().map(|script| script.text.as_str()));
    let mut growth = 1_u64;
    for script in attached {
        let Some(grown) = grown(script, lists) else {
            return Err(format!("the sed script `{script}` may do more than print"));
        };
        growth = growth.saturating_mul(grown);
    }
    if growth > MOST_GROWTH {
        return Err("`sed` would print too much".to_owned());
    }
    Ok(operands)
}

/// `[addr[,addr]][!]` with p, d, =, q, or s with the flags g p i I and digits. With the longer list also groups of
/// these, and GNU's addresses. Returns how much the output may grow; `None` for any other script.
fn grown(script: &str, lists: Lists) -> Option<u64> {
    let mut growth = 1;
    let rest = commands(script, lists, 0, &mut growth)?;
    rest.is_empty().then_some(growth)
}

/// Reads commands up to the end, or to the `}` of their group, and returns what follows.
fn commands<'t>(text: &'t str, lists: Lists, depth: usize, growth: &mut u64) -> Option<&'t str> {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';']);
        if rest.is_empty() {
            return (depth == 0).then_some(rest);
        }
        if depth > 0
            && let Some(after) = rest.strip_prefix('}')
        {
            return Some(after);
        }
        rest = command(rest, lists, depth, growth)?.trim_start_matches([' ', '\t']);
        let ends = rest.is_empty()
            || rest.starts_with([';', '\n'])
            || (depth > 0 && rest.starts_with('}'));
        if !ends {
            return None;
        }
    }
}

/// Reads one command and returns what follows it.
fn command<'t>(text: &'t str, lists: Lists, depth: usize, growth: &mut u64) -> Option<&'t str> {
    let gnu = lists == Lists::Everyday;
    let mut rest = text;
    if let Some(after) = address(rest, gnu)? {
        rest = after.trim_start_matches(' ');
        if let Some(after) = rest.strip_prefix(',') {
            let second = after.trim_start_matches(' ');
            let counted = second.strip_prefix(['+', '~']).filter(|_| gnu);
            let after = match counted {
                Some(number) => digits(number)?,
                None => address(second, gnu)??,
            };
            rest = after.trim_start_matches(' ');
        }
    }
    rest = rest
        .strip_prefix('!')
        .unwrap_or(rest)
        .trim_start_matches(' ');
    let mut characters = rest.chars();
    match characters.next()? {
        'p' | 'd' | '=' | 'q' => Some(characters.as_str()),
        '{' if gnu && depth < DEEPEST => commands(characters.as_str(), lists, depth + 1, growth),
        's' => {
            let delimiter = characters.next()?;
            if !delimiter.is_ascii_punctuation() || delimiter == '\\' {
                return None;
            }
            let pattern = characters.as_str();
            let replacement = delimited(pattern, delimiter)?;
            let after = delimited(replacement, delimiter)?;
            let pattern = &pattern[..pattern.len() - replacement.len() - 1];
            let replacement = &replacement[..replacement.len() - after.len() - 1];
            let rest = after.trim_start_matches(|flag: char| {
                matches!(flag, 'g' | 'p' | 'i' | 'I') || flag.is_ascii_digit()
            });
            let everywhere = after[..after.len() - rest.len()].contains('g');
            *growth = growth.saturating_mul(multiplies(pattern, replacement, everywhere));
            Some(rest)
        }
        _ => None,
    }
}

/// How many times longer a line may become: each `&` and `\\1` inserts the match again, and literal text may replace
/// each character.
fn multiplies(pattern: &str, replacement: &str, everywhere: bool) -> u64 {
    let (mut copies, mut letters) = (0_usize, 0_usize);
    let mut characters = replacement.chars();
    while let Some(character) = characters.next() {
        match character {
            '&' => copies += 1,
            '\\' if characters.next().is_some_and(|next| next.is_ascii_digit()) => copies += 1,
            _ => letters += 1,
        }
    }
    let literal =
        |character: char| character.is_alphanumeric() || " _-,:;@#%<>=\"'".contains(character);
    let shortest = if pattern.chars().all(literal) {
        pattern.chars().count().max(1)
    } else {
        1
    };
    let literally = if everywhere {
        letters.div_ceil(shortest)
    } else {
        0
    };
    u64::try_from(copies.saturating_add(literally).max(1)).unwrap_or(u64::MAX)
}

/// What follows a number.
fn digits(text: &str) -> Option<&str> {
    let after = text.trim_start_matches(|digit: char| digit.is_ascii_digit());
    (after.len() < text.len()).then_some(after)
}

/// A number, `$` or `/re/`; GNU's also `first~step` and `/re/I`. `Some(None)`: there is no address here.
#[expect(
    clippy::option_option,
    reason = "no address and a bad address are different things"
)]
fn address(text: &str, gnu: bool) -> Option<Option<&str>> {
    if let Some(after) = text.strip_prefix('$') {
        return Some(Some(after));
    }
    if let Some(regex) = text.strip_prefix('/') {
        let after = delimited(regex, '/')?;
        let ignoring_case = after.strip_prefix('I').filter(|_| gnu);
        return Some(Some(ignoring_case.unwrap_or(after)));
    }
    let Some(after) = digits(text) else {
        return Some(None);
    };
    match after.strip_prefix('~') {
        Some(step) if gnu => digits(step).map(Some),
        Some(_) | None => Some(Some(after)),
    }
}

/// What follows the next delimiter that is not escaped. Brackets do not protect it, as in sed.
fn delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\n' {
            return None;
        }
        if character == delimiter {
            return Some(characters.as_str());
        }
        if character == '\\' && characters.next()? == '\n' {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Lists, grown};

    fn prints_only(script: &str, lists: Lists) -> bool {
        grown(script, lists).is_some()
    }

    #[test]
    fn scripts_that_print_are_accepted() {
        for script in [
            "p",
            "5p",
            "1,20p",
            "$d",
            "/^fn /p",
            "/a/,/b/!d",
            "10q",
            "=",
            "s/a/b/",
            "s|a|b|g",
            "s/a\\/b/c/2p",
            "1p;3p",
            "1p\n3p",
            "/a/ , $ p",
            "s,x,y,gI;p",
        ] {
            assert!(prints_only(script, Lists::Agreed), "{script}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for script in [
            "w out",
            "1w out",
            "/a/w out",
            "s/a/b/w out",
            "s/a/b/e",
            "e touch y",
            "1e touch y",
            "r file",
            "a text",
            "i\\x",
            "c x",
            "s/a/b",
            "s/a",
            "/a",
            "{p}",
            "p}",
            "y/a/b/",
            "N",
            "b",
            ":x",
            "#n",
            "s/a/b/gw out",
            "s/a/b/ w out",
            "p w out",
            "0~2p",
            "1,+2p",
            "\\%a%p",
            "/a/Ip",
            "W x",
            "F",
            "l",
            "q5",
            "Q",
            "s/a/b\\\n/",
            "s\\a\\b\\",
            "p;w out",
            "s/[/]/w x/",
        ] {
            assert!(!prints_only(script, Lists::Agreed), "{script}");
        }
    }

    #[test]
    fn the_longer_list_knows_what_else_only_prints() {
        for script in [
            "10,+5p",
            "1~2p",
            "/x/Ip",
            "/x/,~4p",
            "{p}",
            "/a/{p;q}",
            "1{ /b/ {=;p} }",
        ] {
            assert!(prints_only(script, Lists::Everyday), "{script}");
            assert!(!prints_only(script, Lists::Agreed), "{script}");
        }
        for script in [
            "{w out}",
            "{p",
            "p}",
            "{p}}",
            "1~p",
            "1,+p",
            "/x/Mp",
            "{e id}",
            "{{{{{p}}}}}",
            "{p}w out",
            "/x/Iw out",
            "{r f}",
        ] {
            assert!(!prints_only(script, Lists::Everyday), "{script}");
        }
    }
}
