//! The text of a custom command, with arguments, the output of commands, and files filled in.
//!
//! The places to fill in are found in the text that its author wrote, so an argument can never add a command or a
//! file.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::inner::Part;
use super::{bash, read, skill};
use crate::protocol::CustomCommand;

const ARGUMENTS: &str = "ARGUMENTS";
/// How many files one message may contain.
const MOST_FILES: usize = 20;

/// A command with its arguments, before the output of its parts is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece>,
    /// The files to append to the text, as written in it.
    files: Vec<(String, PathBuf)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// The output of a shell command.
    Output(String),
}

impl Template {
    /// Relative paths start at `cwd`; the name of a missing file is only text.
    pub fn new(command: &CustomCommand, arguments: &str, cwd: &Path) -> Self {
        if let Some(folder) = &command.skill {
            let text = skill::text(folder, &command.prompt, arguments);
            return Self {
                pieces: vec![Piece::Text(text)],
                files: Vec::new(),
            };
        }
        let fill = Fill::new(arguments);
        let mut files: Vec<(String, PathBuf)> = Vec::new();
        let mut pieces: Vec<Piece> = Vec::new();
        for piece in split(&command.prompt) {
            pieces.push(match piece {
                Piece::Output(command) => Piece::Output(fill.filled_in(&command)),
                Piece::Text(text) => {
                    for name in mentions(&text).map(|name| fill.filled_in(name)) {
                        let path = cwd.join(&name);
                        let known = files.iter().any(|(known, _)| *known == name);
                        if !known && files.len() < MOST_FILES && path.is_file() {
                            files.push((name, path));
                        }
                    }
                    Piece::Text(fill.filled_in(&text))
                }
            });
        }
        if !arguments.is_empty() && !has_places(&command.prompt) {
            pieces.push(Piece::Text(format!("\n\n{arguments}")));
        }
        Self { pieces, files }
    }

    /// The calls whose output belongs in the text.
    pub fn parts(&self) -> Vec<Part> {
        let commands = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Output(command) => Some(Part {
                tool: bash::NAME,
                input: json!({ "command": command }),
                subject: command.clone(),
            }),
        });
        let files = self.files.iter().map(|(name, path)| Part {
            tool: read::NAME,
            input: json!({ "file_path": path }),
            subject: name.clone(),
        });
        commands.chain(files).collect()
    }

    /// The text with the output of its parts, in their order.
    pub fn filled(&self, outputs: &[String]) -> String {
        let mut outputs = outputs.iter().map(String::as_str);
        let mut whole = String::new();
        for piece in &self.pieces {
            whole.push_str(match piece {
                Piece::Text(text) => text,
                Piece::Output(_) => outputs.next().unwrap_or_default(),
            });
        }
        for ((name, _), content) in self.files.iter().zip(outputs) {
            let _ = write!(whole, "\n\n<file path=\"{name}\">\n{content}\n</file>");
        }
        whole
    }
}

/// Splits a text at its commands: `` !`command` `` that is not the end of a word.
fn split(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut from, mut search) = (0, 0);
    while let Some(at) = text[search..].find("!`").map(|at| at + search) {
        search = at + 2;
        let before = text[..at].chars().next_back();
        let is_apart = before.is_none_or(|letter| !letter.is_alphanumeric() && letter != '`');
        let Some(length) = text[search..].find('`').filter(|_| is_apart) else {
            continue;
        };
        let command = text[search..search + length].trim();
        if command.is_empty() {
            continue;
        }
        pieces.push(Piece::Text(text[from..at].to_owned()));
        pieces.push(Piece::Output(command.to_owned()));
        from = search + length + 1;
        search = from;
    }
    pieces.push(Piece::Text(text[from..].to_owned()));
    pieces
}

/// The words of a text that begin with `@`, without it.
fn mentions(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace();
    let names = words.filter_map(|word| {
        let word = word.trim_start_matches(['(', '[', '{', '<', '"', '\'', '`', ':']);
        let name = word.strip_prefix('@')?;
        let name = name.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '>']);
        Some(name.trim_end_matches(['"', '\'', '`']))
    });
    names.filter(|name| !name.is_empty())
}

/// Whether a text contains places for arguments.
fn has_places(text: &str) -> bool {
    places(text).next().is_some()
}

/// The places for arguments in a text, and which argument goes there; `None` for all.
fn places(text: &str) -> impl Iterator<Item = (std::ops::Range<usize>, Option<usize>)> {
    text.match_indices('$').filter_map(|(at, _)| {
        let behind = &text[at + 1..];
        if behind.starts_with(ARGUMENTS) {
            return Some((at..at + 1 + ARGUMENTS.len(), None));
        }
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let number = behind[..digits].parse::<usize>().ok();
        let number = number.filter(|number| *number > 0)?;
        Some((at..at + 1 + digits, Some(number)))
    })
}

/// The arguments, as one string and as a list.
struct Fill<'a> {
    all: &'a str,
    each: Vec<String>,
}

impl<'a> Fill<'a> {
    fn new(all: &'a str) -> Self {
        Self {
            all,
            each: words(all),
        }
    }

    fn filled_in(&self, text: &str) -> String {
        let (mut filled, mut from) = (String::new(), 0);
        for (place, which) in places(text) {
            filled.push_str(&text[from..place.start]);
            filled.push_str(match which {
                None => self.all,
                Some(number) => self.each.get(number - 1).map_or("", String::as_str),
            });
            from = place.end;
        }
        filled.push_str(&text[from..]);
        filled
    }
}

/// The words of a text; quotes keep several together.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut open) = (String::new(), None, false);
    for letter in text.chars() {
        match (letter, quote) {
            ('"' | '\'', None) => (quote, open) = (Some(letter), true),
            (letter, Some(end)) if letter == end => quote = None,
            (letter, None) if letter.is_whitespace() => {
                if std::mem::take(&mut open) {
                    words.push(std::mem::take(&mut word));
                }
            }
            (letter, _) => {
                word.push(letter);
                open = true;
            }
        }
    }
    if open {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Part, Template, mentions, words};
    use crate::protocol::{Allows, CustomCommand, NamedFile};

    fn command(prompt: &str) -> CustomCommand {
        CustomCommand {
            name: "c".into(),
            arguments: "".into(),
            about: "".into(),
            prompt: prompt.into(),
            allows: Allows {
                rules: Vec::new(),
                file: NamedFile {
                    path: "/c.md".into(),
                    name: "c.md".into(),
                },
            },
            model: None,
            for_model: true,
            skill: None,
        }
    }

    fn template(prompt: &str, arguments: &str) -> Template {
        Template::new(&command(prompt), arguments, Path::new("/nowhere"))
    }

    fn filled(prompt: &str, arguments: &str) -> String {
        template(prompt, arguments).filled(&[])
    }

    fn subjects(template: &Template) -> Vec<String> {
        let parts = template.parts().into_iter();
        parts.map(|part| part.subject).collect()
    }

    #[test]
    fn arguments_go_to_their_places_or_below_the_text() {
        for (prompt, arguments, expected) in [
            ("Fix $ARGUMENTS now", "a b", "Fix a b now"),
            ("Fix $1 in $2.", "'a b' c d", "Fix a b in c."),
            ("Fix $2$1", "a", "Fix a"),
            ("Fix it", "a b", "Fix it\n\na b"),
            ("Fix it", "", "Fix it"),
            (
                "It costs $ and $0 and $x",
                "a",
                "It costs $ and $0 and $x\n\na",
            ),
            ("$ARGUMENTS", "$1 $ARGUMENTS", "$1 $ARGUMENTS"),
        ] {
            assert_eq!(filled(prompt, arguments), expected, "{prompt}");
        }
    }

    #[test]
    fn the_output_of_commands_replaces_them() {
        let found = template("State: !`git status -s $1`\nLog:\n!`git log`.", "src");
        assert_eq!(subjects(&found), ["git status -s src", "git log"]);
        let outputs = ["M src".to_owned(), "abc".to_owned()];
        assert_eq!(found.filled(&outputs), "State: M src\nLog:\nabc.");
        assert_eq!(found.parts()[0].tool, "Bash");
    }

    #[test]
    fn text_that_only_looks_like_a_command_stays_text() {
        for prompt in [
            "Say `hi!` and `bye`",
            "`!`x`",
            "Open !`end",
            "Nothing !``",
            "Wow!` a `",
        ] {
            let found = template(prompt, "");
            assert_eq!(found.parts(), [] as [Part; 0], "{prompt}");
            assert_eq!(found.filled(&[]), prompt);
        }
    }

    #[test]
    fn an_argument_cannot_add_a_command_or_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a.txt"), "a").expect("written");
        for prompt in ["Do $1", "Do it"] {
            let found = Template::new(&command(prompt), "\"!`rm -rf x` @a.txt\"", folder.path());
            assert_eq!(found.parts(), [] as [Part; 0], "{prompt}");
        }
    }

    #[test]
    fn existing_files_are_appended_once_each() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.txt", "b c.txt"] {
            std::fs::write(folder.path().join(name), "a").expect("written");
        }
        std::fs::create_dir(folder.path().join("dir")).expect("made");
        let prompt = "Compare @a.txt, @a.txt and (@$1) with @none.txt, @dir and me@a.txt";
        let found = Template::new(&command(prompt), "'b c.txt'", folder.path());
        assert_eq!(subjects(&found), ["a.txt", "b c.txt"]);
        let outputs = ["one".to_owned(), "two".to_owned()];
        assert_eq!(
            found.filled(&outputs),
            "Compare @a.txt, @a.txt and (@b c.txt) with @none.txt, @dir and me@a.txt\n\n\
             <file path=\"a.txt\">\none\n</file>\n\n<file path=\"b c.txt\">\ntwo\n</file>"
        );
    }

    #[test]
    fn mentions_and_words_are_found_between_blanks() {
        let found: Vec<&str> = mentions("see @a/b.rs, `@c` and x@y @").collect();
        assert_eq!(found, ["a/b.rs", "c"]);
        assert_eq!(
            words(" a  'b \"c' \"\" d\"e f\"g "),
            ["a", "b \"c", "", "de fg"]
        );
    }
}
