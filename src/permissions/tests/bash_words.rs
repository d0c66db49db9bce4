//! Odd words and what bash 5.2 made of them. Whatever we call literal must be exactly that to bash.

use serde_json::Value;

use super::cases::cases;
use crate::permissions::bash::read;
use crate::permissions::bash::script::Word;

/// `words` is what a command gets for `word`; `null` where bash rejects the line. `everyday` words have to stay literal.
const WORDS: &str = include_str!("../../../tests/fixtures/security/bash_words.jsonl");

/// The arguments of the only command of a line, if we say that all of it is literal.
fn literal_arguments(line: &str) -> Option<Vec<String>> {
    let reading = read(line);
    let [part] = reading.script.parts.as_slice() else {
        return None;
    };
    let plain = reading.refused.is_none()
        && reading.script.structure.is_none()
        && part.redirects.is_empty()
        && part.assignments.is_empty()
        && part.nested.is_empty()
        && part.words.iter().all(Word::is_literal);
    let arguments = part.words.iter().skip(1).map(|word| word.text.clone());
    plain.then(|| arguments.collect())
}

#[test]
fn what_we_call_literal_is_literal_to_bash() {
    let mut wrong = Vec::new();
    for case in cases(WORDS) {
        let word = case["word"].as_str().expect("a case has a word");
        let ours = literal_arguments(&format!("p {word}"));
        let everyday = case.get("everyday").is_some_and(|value| value == true);
        let agreed = match &ours {
            Some(ours) => case["words"] == Value::from(ours.clone()),
            None => !everyday,
        };
        if !agreed {
            wrong.push(format!("{case}\n  ours: {ours:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
