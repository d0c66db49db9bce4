//! Letters that look like others: from another script inside a Latin word, in another form, or written from right to
//! left.
//!
//! Small closed ranges, not a full table of look-alikes: matches are only shown with their code points where a person
//! decides about a command or a path.

/// A letter that is not what it looks like, or not where it seems to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookalike {
    /// Its byte offset in the text.
    pub at: usize,
    pub letter: char,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A letter of this script, inside or instead of a Latin word.
    Foreign(&'static str),
    /// A Latin letter or sign in another form.
    Form(&'static str),
    RightToLeft,
}

/// The suspicious letters of a line, in order.
pub fn lookalikes(text: &str) -> Vec<Lookalike> {
    if text.is_ascii() {
        return Vec::new();
    }
    let is_foreign = |letter: char| matches!(kind(letter), Some(Kind::Foreign(_)));
    // In some languages a single letter is a word; it counts as one if other words of that script are nearby.
    let in_its_language = words(text).any(|(_, word)| {
        word.chars().any(is_foreign) && !is_mixed(word) && !word.chars().all(looks_latin)
    });
    let mut found = Vec::new();
    for (start, word) in words(text) {
        if word.is_ascii() {
            continue;
        }
        let lone = word.chars().nth(1).is_none();
        let imitates_latin = word.chars().all(looks_latin) && !(lone && in_its_language);
        let mixed = is_mixed(word);
        for (at, letter) in word.char_indices() {
            let Some(kind) = kind(letter) else {
                continue;
            };
            let counts = match kind {
                Kind::Foreign(_) => mixed || imitates_latin,
                Kind::Form(_) | Kind::RightToLeft => true,
            };
            if counts {
                let at = start + at;
                found.push(Lookalike { at, letter, kind });
            }
        }
    }
    found
}

/// The same for a line of a file, which may be written in any language: signs of other scripts are only suspicious
/// where they pose as Latin letters.
pub fn alike_in_file(line: &str) -> Vec<Lookalike> {
    if line.is_ascii() {
        return Vec::new();
    }
    let has_wide = line.chars().any(is_wide_script);
    let mut found = lookalikes(line);
    found.retain(|Lookalike { letter, kind, .. }| match kind {
        Kind::Foreign(_) => true,
        Kind::Form(_) => letter.is_alphanumeric() && !has_wide,
        Kind::RightToLeft => false,
    });
    found
}

/// Chinese, Japanese and Korean texts use wide forms of letters and signs.
fn is_wide_script(letter: char) -> bool {
    matches!(letter, '\u{3000}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// A warning about these letters; `None` if there are none.
pub fn note(letters: impl Iterator<Item = Lookalike>) -> Option<String> {
    let (mut others, mut turned): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for Lookalike { letter, kind, .. } in letters {
        let number = crate::text::number(letter);
        let (list, name) = match kind {
            Kind::Foreign(name) | Kind::Form(name) => (&mut others, format!("{number} ({name})")),
            Kind::RightToLeft => (&mut turned, number),
        };
        if !list.contains(&name) {
            list.push(name);
        }
    }
    let listed = |what: &str, mut names: Vec<String>| {
        let more = names.len().saturating_sub(MOST_NAMED);
        names.truncate(MOST_NAMED);
        if more > 0 {
            names.push(format!("{more} more"));
        }
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let parts = [
        listed("contains letters that look like others", others),
        listed(
            "contains letters that are written from right to left",
            turned,
        ),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// More letters than this are only counted.
const MOST_NAMED: usize = 8;

fn kind(letter: char) -> Option<Kind> {
    Some(match letter {
        '\u{590}'..='\u{8ff}'
        | '\u{fb1d}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}'
        | '\u{1e800}'..='\u{1efff}' => Kind::RightToLeft,
        '\u{ff01}'..='\u{ff5e}' => Kind::Form("fullwidth"),
        '\u{1d400}'..='\u{1d7ff}' => Kind::Form("mathematical"),
        '\u{250}'..='\u{2af}' => Kind::Foreign("phonetic"),
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Kind::Foreign("Greek"),
        '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{a640}'..='\u{a69f}' => {
            Kind::Foreign("Cyrillic")
        }
        '\u{531}'..='\u{58f}' => Kind::Foreign("Armenian"),
        '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}' => Kind::Foreign("Cherokee"),
        _ => return None,
    })
}

/// Cyrillic and Greek letters that most fonts draw like Latin ones.
fn looks_latin(letter: char) -> bool {
    const ALIKE: &str = "\u{430}\u{441}\u{435}\u{43e}\u{440}\u{445}\u{443}\u{456}\u{458}\u{455}\u{501}\u{4bb}\u{51b}\u{51d}\
        \u{410}\u{412}\u{421}\u{415}\u{41d}\u{406}\u{408}\u{41a}\u{41c}\u{41e}\u{420}\u{405}\u{422}\u{425}\u{423}\
        \u{3bf}\u{3bd}\u{3b1}\u{3c1}\u{3c5}\u{3b9}\u{3ba}\
        \u{391}\u{392}\u{395}\u{396}\u{397}\u{399}\u{39a}\u{39c}\u{39d}\u{39f}\u{3a1}\u{3a4}\u{3a5}\u{3a7}";
    ALIKE.contains(letter)
}

fn is_mixed(word: &str) -> bool {
    let is_latin =
        |letter: char| letter.is_ascii_alphabetic() || matches!(letter, '\u{c0}'..='\u{24f}');
    word.chars().any(is_latin)
}

/// The words of a text and where they begin.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let ends = |letter: char| !letter.is_alphanumeric() && letter != '_' && kind(letter).is_none();
    let mut next = 0;
    text.split_inclusive(ends).map(move |word| {
        let start = next;
        next += word.len();
        (start, word.trim_end_matches(ends))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        lookalikes(text).iter().map(|alike| alike.letter).collect()
    }

    #[test]
    fn c7_letters_of_another_script_in_a_latin_word_are_found() {
        for (text, letters) in [
            ("curl https://p\u{430}ypal.com", "\u{430}"),
            ("\u{441}at notes", "\u{441}"),
            // Every letter of it is a look-alike.
            (
                "\u{441}\u{430}t \u{441}\u{440} x",
                "\u{441}\u{430}\u{441}\u{440}",
            ),
            ("rm \u{ff0d}rf", "\u{ff0d}"),
            ("echo \u{3bf}k", "\u{3bf}"),
            ("rm \u{5d0}/x", "\u{5d0}"),
            ("b\u{251}sh", "\u{251}"),
        ] {
            assert_eq!(marked(text), letters, "{text}");
        }
    }

    #[test]
    fn plain_words_of_any_language_stay_as_they_are() {
        for text in [
            "cargo test --lib",
            "git commit -m 'исправил ошибку с путями'",
            "git commit -m 'διόρθωση η σειρά'",
            "touch größe naïve",
            "echo 日本語 ✓",
        ] {
            assert_eq!(marked(text), "", "{text}");
        }
    }

    #[test]
    fn c7_in_files_only_letters_that_pose_as_latin_ones_are_found() {
        for (text, letters) in [
            ("if user == \"\u{430}dmin\" {", "\u{430}"),
            ("let \u{ff41}b = 1;", "\u{ff41}"),
            ("// \u{5d0}\u{5d1} in Hebrew", ""),
            ("// 你好，世界（ＡＢＣ）", ""),
            ("// исправил ошибку с путями", ""),
        ] {
            let found: String = alike_in_file(text).iter().map(|it| it.letter).collect();
            assert_eq!(found, letters, "{text}");
        }
    }

    #[test]
    fn c7_the_note_names_each_letter_once() {
        let letters = ["p\u{430}yp\u{430}l", "\u{5d0}"]
            .into_iter()
            .flat_map(lookalikes);
        let note = note(letters);
        assert_eq!(
            note.as_deref(),
            Some(
                "contains letters that look like others: <U+0430> (Cyrillic); \
                 contains letters that are written from right to left: <U+05D0>"
            )
        );
        assert_eq!(super::note(lookalikes("plain").into_iter()), None);
    }
}
