//! Reads every text that people see, and every comment, and finds roundabout phrases.
//!
//! It checks the program's string literals, the help of the command line, the README, and the assets that people read.
//! A hit is reported with its file and line, and with a better phrase.

use super::tidy::{root, shipped, sources, test_files};

/// The phrase, and what to say instead.
const PHRASES: &[(&str, &str)] = &[
    ("go on with", "continue, resume, switch to"),
    ("goes on with", "continues with"),
    ("say `go on`", "send \"continue\""),
    ("in force", "active"),
    ("is asked about", "asks first"),
    ("are asked about", "ask first"),
    ("be asked about", "ask first"),
    ("asked about:", "asked, because"),
    ("nobody was asked", "runs without asking"),
    ("such a call", "this call, calls like this"),
    ("such calls", "similar calls"),
    ("such a command", "this command"),
    ("mend", "fix"),
    ("counts", "applies"),
    ("do not count", "do not apply"),
    ("does not count", "does not apply"),
    ("there is no", "no …, unknown …"),
    ("there are no", "no …"),
    ("keys of vim", "vim keys"),
    ("what waits", "what is queued"),
    ("most turns", "turn limit"),
    ("nothing answers", "can't reach"),
    ("look around", "try it"),
    ("wants an api key", "needs an API key"),
    ("limits the rate", "rate limited"),
    ("has come", "has arrived"),
    ("to be had", "available"),
    ("broke off", "broke, stopped"),
    ("break off", "stop"),
    ("anew", "again"),
    ("it goes on", "it continues"),
    ("let go of", "clear"),
    ("take the rest", "accept all"),
    ("passed over", "skipped"),
    ("under way", "running"),
    ("leads out of", "points outside"),
    ("somebody else", "another user, another program"),
    ("choices are not kept", "settings can't be saved"),
    ("runs to its end", "finishes"),
    ("run without a question", "run without asking"),
    ("runs without a question", "runs without asking"),
    ("not known to only", "not known to be read-only"),
    ("cannot make out", "didn't understand"),
    ("did not succeed", "failed"),
    ("put back what", "restore"),
    ("said no", "denied"),
    ("with force", "kill"),
    ("left out by", "skipped by"),
    ("told the model", "sent to the model"),
    ("next try", "next attempt, retry"),
    ("to its end", "to the end"),
    ("a part of a", "a field of a"),
    // People stop a command or a call, and cancel a question.
    ("cancel this call", "stop this call"),
    ("cancels only this", "stops only this"),
    ("cancel the command", "stop the command"),
    ("end the command", "stop the command"),
    ("ends the command", "stops the command"),
];

/// The same for comments, where archaic words make the reader stop.
const COMMENT_PHRASES: &[(&str, &str)] = &[
    ("whoever", "the caller, the person, any …"),
    ("go on", "continue"),
    ("goes on", "continues"),
    ("gone on", "resumed, continued"),
    ("passed over", "skipped"),
    ("under way", "running"),
    ("what came of", "the outcome of"),
    ("anew", "again"),
    ("to be had", "available"),
    ("is no more", "no longer exists"),
    ("are no more", "no longer exist"),
    ("in force", "active"),
    ("obeyed", "applied, interpreted"),
];

/// Texts in which a phrase is right.
const EXCEPTIONS: &[&str] = &["token counts are far below"];

#[test]
fn no_text_for_people_is_roundabout() {
    let tests = test_files();
    let mut hits = Vec::new();
    for file in shipped("", &tests) {
        let source = std::fs::read_to_string(&file).expect("readable");
        let name = file
            .strip_prefix(root())
            .expect("below")
            .display()
            .to_string();
        for (line, text) in literals(shown_part(&source)) {
            hits.extend(hits_in(&text, PHRASES).map(|hit| format!("{name}:{line}: {hit}")));
        }
        if name.ends_with("cli/args.rs") {
            let help = source.lines().enumerate();
            let help = help.filter(|(_, line)| line.trim_start().starts_with("///"));
            for (at, line) in help {
                hits.extend(hits_in(line, PHRASES).map(|hit| format!("{name}:{}: {hit}", at + 1)));
            }
        }
    }
    for page in [
        "README.md",
        "assets/keymap.toml",
        "assets/settings.schema.json",
    ] {
        let text = std::fs::read_to_string(root().join(page)).expect("readable");
        for (at, line) in text.lines().enumerate() {
            hits.extend(hits_in(line, PHRASES).map(|hit| format!("{page}:{}: {hit}", at + 1)));
        }
    }
    assert!(hits.is_empty(), "\n{}", hits.join("\n"));
}

#[test]
fn no_comment_needs_to_be_read_twice() {
    let mut hits = Vec::new();
    let folders = ["src", "tests", "benches"].into_iter();
    for file in folders.flat_map(|folder| sources(&root().join(folder))) {
        let source = std::fs::read_to_string(&file).expect("readable");
        let name = file.strip_prefix(root()).expect("below").display();
        let comments = source.lines().enumerate();
        let comments = comments.filter(|(_, line)| line.trim_start().starts_with("//"));
        for (at, line) in comments {
            let found = hits_in(line, COMMENT_PHRASES);
            hits.extend(found.map(|hit| format!("{name}:{}: {hit}", at + 1)));
        }
    }
    assert!(hits.is_empty(), "\n{}", hits.join("\n"));
}

#[test]
fn texts_and_phrases_are_found() {
    let source = "//! \"no\"\nlet a = \"one \\\n    two\"; // \"no\"\nlet q = '\"'; let r = r#\"three \"x\"\"#;\n\
                  let l: &'static str = \"four\\\"\";\n";
    let found = literals(source);
    assert_eq!(
        found,
        [
            (2, "one two".to_owned()),
            (4, "three \"x\"".to_owned()),
            (5, "four\\\"".to_owned())
        ]
    );
    let hits: Vec<String> = hits_in("Mend it: there is no file", PHRASES).collect();
    assert_eq!(
        hits,
        [
            "\"mend\": say \"fix\" (Mend it: there is no file)",
            "\"there is no\": say \"no …, unknown …\" (Mend it: there is no file)"
        ]
    );
    assert_eq!(hits_in("amended, recommended", PHRASES).count(), 0);
}

/// What is compiled into the program, without the tests at the end of a file.
fn shown_part(source: &str) -> &str {
    let end = source.find("#[cfg(test)]\nmod tests {");
    &source[..end.unwrap_or(source.len())]
}

/// The phrases that a text contains.
fn hits_in(text: &str, phrases: &'static [(&str, &str)]) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase();
    let is_right = EXCEPTIONS.iter().any(|right| lower.contains(right));
    let found = phrases
        .iter()
        .filter(move |(phrase, _)| !is_right && has_words(&lower, phrase));
    let text = text.trim().to_owned();
    found.map(move |(phrase, better)| format!("\"{phrase}\": say \"{better}\" ({text})"))
}

/// Whether the text contains the phrase as whole words.
fn has_words(text: &str, phrase: &str) -> bool {
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '-' && c != '_');
    text.match_indices(phrase).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + phrase.len()..]);
        is_apart(before.chars().next_back()) && is_apart(behind.chars().next())
    })
}

/// The string literals of a source, each with its first line. Continued lines are joined.
fn literals(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(c) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some((length, text)) = raw(rest) {
            found.push((line, text.to_owned()));
            length
        } else if c == '"' {
            let length = quoted(rest);
            found.push((line, joined(&rest[1..length - 1])));
            length
        } else if c == '\'' {
            character(rest)
        } else {
            c.len_utf8()
        };
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    found
}

/// A raw string at the beginning of `rest`: its length and its content.
fn raw(rest: &str) -> Option<(usize, &str)> {
    let inner = rest.strip_prefix('r')?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let body = inner[hashes..].strip_prefix('"')?;
    let end = body.find(&format!("\"{}", "#".repeat(hashes)))?;
    Some((1 + hashes + 1 + end + 1 + hashes, &body[..end]))
}

/// The length of the string that begins here.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of the character that begins here; a single quote begins a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => rest[2..].find('\'').map_or(1, |end| {
            // `'\''` has one more.
            if rest[2..].starts_with('\'') {
                4
            } else {
                end + 3
            }
        }),
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            Some(_) | None => 1,
        },
        None => 1,
    }
}

/// The text with continued lines joined: a backslash at the end of a line also removes the white space of the next one.
fn joined(text: &str) -> String {
    let mut parts = text.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start())
}
