//! What the interpreter says, in the form its reader wants.

use std::fmt::Write;

use super::grammar::{Misread, Step};
use super::verb::Verb;
use crate::text::{first_line, plural};

/// How results are set in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As they are, for a pipe: `agent-tui -p "find *.rs"` prints paths and nothing else.
    Plain,
    /// In fences, for a screen that renders Markdown, so that a result is not rendered as Markdown.
    Markdown,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Sentence(String),
    /// Text that is shown unchanged.
    Quote(String),
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) went: StepOutcome,
    pub(super) parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Well,
    Wrong,
}

/// The final text: the result of each step, and what was not done.
pub(super) fn closing(ended: &[(&Step, Outcome)], left: &[&Step], form: Form) -> String {
    let mut paragraphs = Vec::new();
    for (step, outcome) in ended {
        let mut parts = outcome.parts.clone();
        let is_alone = ended.len() + left.len() == 1;
        if !is_alone && matches!(parts.first(), Some(Part::Quote(_))) {
            parts.insert(0, Part::Sentence(format!("{}:", code(&step.source))));
        }
        paragraphs.push(render(&parts, form));
    }
    if !left.is_empty() {
        let sources: Vec<String> = left.iter().map(|step| code(&step.source)).collect();
        paragraphs.push(format!("Not done: {}.", sources.join(", ")));
    }
    paragraphs.join("\n\n")
}

/// The answer to a request that is not a plan.
pub(super) fn misread(misread: &Misread, is_offered: impl Fn(&str) -> bool) -> String {
    let is_possible = |verb: &Verb| verb.tools().iter().all(|tool| is_offered(tool));
    let possible: Vec<Verb> = Verb::ALL.into_iter().filter(is_possible).collect();
    match misread {
        Misread::Help => help(&possible),
        Misread::NoVerb(text) => not_understood(text, &possible),
        Misread::Unclear { source, verb } => {
            let more = match verb {
                Verb::Read | Verb::Find | Verb::Fetch => {
                    " Put quotes around a name with spaces, and a verb before each name."
                }
                Verb::Replace | Verb::Edit => {
                    " Put quotes around text with an arrow or with spaces at its ends; \"\" deletes."
                }
                Verb::Search
                | Verb::Run
                | Verb::Todo
                | Verb::Undo
                | Verb::Agents
                | Verb::Ask
                | Verb::Plan => "",
            };
            format!(
                "I didn't understand {}. Try: `{}`.{more} Nothing was done.",
                code(source),
                verb.usage(),
            )
        }
    }
}

/// One line: what was not understood, and the nearest thing that is possible.
fn not_understood(text: &str, possible: &[Verb]) -> String {
    let nearest = Verb::nearest(text, possible);
    let example = nearest.map_or_else(String::new, |verb| {
        format!(" Try: `{}`, or `help` for more.", verb.example())
    });
    format!(
        "I'm agent-tui's built-in interpreter, not a language model, and I didn't understand {}.{example} \
         To connect a real model, {TO_CONNECT}.",
        code(text),
    )
}

const TO_CONNECT: &str = "set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`, start Ollama, or use `--provider openai --base-url URL`, and restart";

fn help(possible: &[Verb]) -> String {
    let mut text = String::from(
        "I'm agent-tui's built-in interpreter, not a language model. I can run these commands for you:\n\n",
    );
    for verb in possible {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- `{}`, e.g. `{}`", verb.usage(), verb.example());
    }
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\nJoin them with `then` (one after the other) or `and` (at the same time): \
         `run make then run make test`. Quotes keep words together: `search \"this and that\"`.\n\n\
         To connect a real model, {TO_CONNECT}.",
    );
    text
}

/// Short text as code, on one line.
pub(super) fn code(text: &str) -> String {
    let text = short(text);
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

/// The beginning of the first line.
pub(super) fn short(text: &str) -> String {
    first_line(text, 80)
}

/// The first `most` lines of a result, and the tool's own remarks (in brackets) at its end.
pub(super) fn first_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= most {
        return text.trim_end().to_owned();
    }
    let tail = lines[most..].iter().rev();
    let remarks = tail.take_while(|line| is_remark(line)).count();
    let (rest, remarks) = lines.split_at(lines.len() - remarks);
    let mut shown: Vec<&str> = rest[..most].to_vec();
    let more = format!("… {}", plural(rest.len() - most, "more line"));
    if rest.len() > most {
        shown.push(&more);
    }
    shown.extend(remarks);
    shown.join("\n")
}

/// Whether a line of a result is a remark of the tool.
pub(super) fn is_remark(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}

/// The last `most` lines of a result, where a command says how it went.
pub(super) fn last_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match lines.len().checked_sub(most) {
        None | Some(0) => text.trim_end().to_owned(),
        Some(before) => {
            let shown = lines[before..].join("\n");
            format!("… {} before\n{shown}", plural(before, "line"))
        }
    }
}

fn render(parts: &[Part], form: Form) -> String {
    let rendered: Vec<String> = parts
        .iter()
        .map(|part| match (part, form) {
            (Part::Sentence(text), Form::Plain | Form::Markdown)
            | (Part::Quote(text), Form::Plain) => text.clone(),
            (Part::Quote(text), Form::Markdown) => fenced(text),
        })
        .collect();
    rendered.join("\n")
}

/// The text in a fence that nothing in it can close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::{code, fenced, first_lines, last_lines, short};

    #[test]
    fn a_fence_is_longer_than_any_in_the_text() {
        assert_eq!(fenced("a"), "```\na\n```");
        assert_eq!(fenced("```\na\n```"), "````\n```\na\n```\n````");
    }

    #[test]
    fn long_results_say_how_much_is_left_out() {
        assert_eq!(first_lines("a\nb\n", 2), "a\nb");
        assert_eq!(first_lines("a\nb\nc", 2), "a\nb\n… 1 more line");
        assert_eq!(
            first_lines("a\nb\nc\nd\n[cut]", 2),
            "a\nb\n… 2 more lines\n[cut]"
        );
        assert_eq!(first_lines("a\nb\n[cut]", 2), "a\nb\n[cut]");
        assert_eq!(last_lines("a\nb\n", 2), "a\nb");
        assert_eq!(last_lines("a\nb\nc\nd", 2), "… 2 lines before\nc\nd");
    }

    #[test]
    fn code_is_short_and_on_one_line() {
        assert_eq!(code("ls"), "`ls`");
        assert_eq!(code("echo `date`"), "`` echo `date` ``");
        assert_eq!(short("one\ntwo"), "one…");
        assert_eq!(short(&"é".repeat(81)), format!("{}…", "é".repeat(80)));
    }
}
