//! The front matter of Markdown files: `key: value` lines between two lines of dashes, and the text below.
//!
//! Such files are also written by hand for other programs, and many are not valid YAML: a description with a colon in
//! it is common. So this reads what people mean: a line is a key and the rest of the line; a list is in brackets,
//! between commas or one item per line; `|` and `>` begin a text of several lines; indented lines belong to the key
//! above.

/// The content of a file. Pure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FrontMatter {
    pub fields: Vec<Field>,
    /// The text below.
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub key: String,
    pub value: Value,
    /// The line of its key, from 1.
    pub line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    List(Vec<String>),
}

/// A mistake and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    pub line: usize,
    pub problem: String,
}

const FENCE: &str = "---";

impl FrontMatter {
    /// Reads a file; without front matter the whole file is the text.
    pub fn read(text: &str) -> Result<Self, Mistake> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate();
        if lines
            .next()
            .is_none_or(|(_, first)| first.trim_end() != FENCE)
        {
            let body = text.trim().to_owned();
            return Ok(Self {
                body,
                ..Self::default()
            });
        }
        let all: Vec<(usize, &str)> = lines.map(|(at, line)| (at + 1, line)).collect();
        let end = all.iter().position(|(_, line)| line.trim_end() == FENCE);
        let end = end.ok_or_else(|| Mistake {
            line: 1,
            problem: "the front matter is not closed: a line `---` is missing".to_owned(),
        })?;
        let below = all[end + 1..].iter().map(|(_, line)| *line);
        let body = below.collect::<Vec<_>>().join("\n").trim().to_owned();
        let fields = fields(&all[..end])?;
        Ok(Self { fields, body })
    }

    /// The field with this name. Of several, the last one.
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().rev().find(|field| field.key == key)
    }

    /// The text of a field that is not empty.
    pub fn text(&self, key: &str) -> Option<String> {
        let text = match &self.field(key)?.value {
            Value::Text(text) => text.clone(),
            Value::List(items) => items.join(", "),
        };
        (!text.is_empty()).then_some(text)
    }

    /// The items of a field: a list, or a text with commas. `None` if the field is missing.
    pub fn list(&self, key: &str) -> Option<Vec<String>> {
        Some(match &self.field(key)?.value {
            Value::List(items) => items.clone(),
            Value::Text(text) => items(text),
        })
    }

    /// The permission rules of a field: between commas or blanks, neither of which counts inside of parentheses.
    pub fn rules(&self, key: &str) -> Vec<String> {
        let items = self.list(key).unwrap_or_default();
        let rules = items.iter().flat_map(|item| {
            let words = split_outside_parentheses(item, char::is_whitespace);
            words.into_iter().map(|word| unquoted(word.trim()))
        });
        rules.filter(|rule| !rule.is_empty()).collect()
    }
}

fn fields(lines: &[(usize, &str)]) -> Result<Vec<Field>, Mistake> {
    let mut fields: Vec<Field> = Vec::new();
    let mut at = 0;
    while let Some((line, text)) = lines.get(at).copied() {
        at += 1;
        if text.trim().is_empty() || text.trim_start().starts_with('#') {
            continue;
        }
        let found = text
            .split_once(':')
            .map(|(key, rest)| (key.trim(), rest.trim()));
        let Some((key, rest)) = found.filter(|(key, _)| is_key(key)) else {
            return Err(Mistake {
                line,
                problem: format!("`{}` is not `key: value`", text.trim()),
            });
        };
        let more = lines[at..].iter();
        let more: Vec<&str> = more
            .map(|(_, line)| *line)
            .take_while(|line| line.trim().is_empty() || belongs_above(line))
            .collect();
        at += more.len();
        fields.push(Field {
            key: key.to_owned(),
            value: value(rest, &more),
            line,
        });
    }
    Ok(fields)
}

fn is_key(key: &str) -> bool {
    !key.is_empty()
        && key
            .chars()
            .all(|it| it.is_alphanumeric() || "-_".contains(it))
}

fn belongs_above(line: &str) -> bool {
    line.starts_with([' ', '\t']) || line.starts_with("- ") || line.trim_end() == "-"
}

fn value(rest: &str, more: &[&str]) -> Value {
    let texts: Vec<&str> = more.iter().map(|line| line.trim()).collect();
    let messages: Vec<&str> = texts
        .iter()
        .copied()
        .filter(|line| !line.is_empty())
        .collect();
    let is_item = |line: &&str| line.starts_with("- ") || *line == "-";
    if rest.is_empty() && !messages.is_empty() && messages.iter().all(is_item) {
        let items = messages.iter().map(|line| unquoted(line[1..].trim()));
        return Value::List(items.filter(|item| !item.is_empty()).collect());
    }
    if let Some(inner) = rest.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        return Value::List(items(inner));
    }
    match rest.trim_end_matches(['-', '+']) {
        "|" => Value::Text(texts.join("\n").trim().to_owned()),
        ">" => Value::Text(messages.join(" ")),
        _ => {
            let all: Vec<&str> = std::iter::once(rest).chain(messages).collect();
            Value::Text(unquoted(all.join(" ").trim()))
        }
    }
}

fn items(text: &str) -> Vec<String> {
    let items = split_outside_parentheses(text, |letter| letter == ',').into_iter();
    let items = items.map(|item| unquoted(item.trim()));
    items.filter(|item| !item.is_empty()).collect()
}

fn split_outside_parentheses(text: &str, is_gap: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut depth, mut from) = (0_usize, 0);
    let mut parts = Vec::new();
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            gap if depth == 0 && is_gap(gap) => {
                parts.push(&text[from..at]);
                from = at + gap.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

fn unquoted(text: &str) -> String {
    let inner = |quote: char| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        // `"a" and "b"` begins and ends with quotes, but is not quoted.
        (!inner.contains(quote) || inner.contains(&format!("\\{quote}"))).then_some(inner)
    };
    if let Some(inner) = inner('"') {
        return inner.replace("\\\"", "\"").replace("\\n", "\n");
    }
    inner('\'').unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{FrontMatter, Mistake};

    fn read(text: &str) -> FrontMatter {
        FrontMatter::read(text).expect("front matter")
    }

    #[test]
    fn keys_and_values_come_before_the_text() {
        let found = read("---\nname: a\ndescription: \"Use: it\"\n---\n\nYou are a.\n\nMore.\n");
        assert_eq!(found.text("name").as_deref(), Some("a"));
        assert_eq!(found.text("description").as_deref(), Some("Use: it"));
        assert_eq!(found.body, "You are a.\n\nMore.");
        assert_eq!(found.field("description").map(|field| field.line), Some(3));
        assert_eq!(found.text("model"), None);
    }

    #[test]
    fn a_file_without_front_matter_is_all_text() {
        let found = read("\u{feff}# Title\n\n---\n\nText\n");
        assert_eq!(found.fields, []);
        assert_eq!(found.body, "# Title\n\n---\n\nText");
        assert_eq!(read(""), FrontMatter::default());
    }

    #[test]
    fn a_list_can_be_written_in_four_ways() {
        for written in [
            "tools: Read, Grep",
            "tools: [Read, \"Grep\"]",
            "tools:\n  - Read\n  - 'Grep'",
            "tools:\n- Read\n\n- Grep",
        ] {
            let found = read(&format!("---\n{written}\nmodel: m\n---\n"));
            let tools = found.list("tools").expect("a list");
            assert_eq!(tools, ["Read", "Grep"], "{written}");
            assert_eq!(found.text("model").as_deref(), Some("m"), "{written}");
        }
        assert_eq!(read("---\ntools:\n---\n").list("tools"), Some(Vec::new()));
    }

    #[test]
    fn rules_are_between_commas_or_blanks_and_keep_what_is_in_parentheses() {
        for written in [
            "Read, Bash(git add:*), Bash(echo a, b)",
            "Read Bash(git add:*) Bash(echo a, b)",
            "[Read, \"Bash(git add:*)\", Bash(echo a, b)]",
            "\n  - Read\n  - Bash(git add:*)\n  - Bash(echo a, b)",
        ] {
            let found = read(&format!("---\nallowed-tools: {written}\n---\n"));
            let rules = found.rules("allowed-tools");
            assert_eq!(
                rules,
                ["Read", "Bash(git add:*)", "Bash(echo a, b)"],
                "{written}"
            );
        }
        assert_eq!(
            read("---\na: b\n---\n").rules("allowed-tools"),
            [] as [&str; 0]
        );
    }

    #[test]
    fn a_text_can_be_long() {
        let found =
            read("---\na: |\n  one\n\n  two\nb: >-\n  three\n  four\nc: five\n  six: seven\n---\n");
        assert_eq!(found.text("a").as_deref(), Some("one\n\ntwo"));
        assert_eq!(found.text("b").as_deref(), Some("three four"));
        assert_eq!(found.text("c").as_deref(), Some("five six: seven"));
    }

    #[test]
    fn colons_quotes_and_hashes_inside_a_value_are_part_of_it() {
        let found = read(
            "---\n# about\na: Use when: \"x\" or \"y\" # really\nb: \"say \\\"hi\\\"\"\n---\n",
        );
        let a = found.text("a");
        assert_eq!(a.as_deref(), Some("Use when: \"x\" or \"y\" # really"));
        assert_eq!(found.text("b").as_deref(), Some("say \"hi\""));
    }

    #[test]
    fn a_mistake_has_its_line() {
        let wrong = |text: &str| FrontMatter::read(text).expect_err("a mistake");
        assert_eq!(wrong("---\nname: a\n").line, 1);
        let problem = "`just words` is not `key: value`".to_owned();
        assert_eq!(
            wrong("---\nname: a\njust words\n---\n"),
            Mistake { line: 3, problem }
        );
    }
}
