//! From a request in plain words to a [`Plan`].
//!
//! Pure, and all or nothing: if one step is not understood, nothing is done, because half of a request is not what was
//! asked for. A joining word joins only before a verb with an argument, so `run echo salt and pepper` is one command.

use super::arguments;
use super::verb::Verb;
use super::words::Words;

/// Stages, one after the other; the steps of a stage go at the same time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) stages: Vec<Vec<Step>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// As the person wrote it.
    pub(super) source: String,
    pub(super) action: Action,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    Read {
        file: String,
    },
    Find {
        glob: String,
    },
    Search {
        regex: String,
        scope: Option<Scope>,
    },
    Replace {
        old: String,
        new: String,
        scope: Option<Scope>,
    },
    Run {
        command: String,
    },
    Edit {
        file: String,
        old: String,
        new: String,
        /// Wherever it occurs, not only where it occurs once.
        all: bool,
    },
    Todo {
        items: Vec<String>,
    },
    Fetch {
        url: String,
    },
    Undo,
    /// Subagents search at the same time.
    Agents {
        regex: String,
    },
    /// Asks example questions.
    Ask,
    /// Proposes a plan.
    Plan {
        task: String,
    },
}

/// Where to search.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scope {
    Glob(String),
    /// A directory, or a file with its full path: a glob would not find it.
    Path(String),
}

/// Why a request is not a plan.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Misread {
    /// The person asks for help, or says nothing.
    Help,
    /// It does not begin with a verb.
    NoVerb(String),
    Unclear {
        source: String,
        verb: Verb,
    },
}

/// How a step follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Joint {
    And,
    Then,
}

/// Where a step begins, in words.
struct Start {
    joint: Joint,
    joint_at: usize,
    verb: Verb,
    verb_at: usize,
}

/// A verb, what belongs to it, and how it is joined to the step before.
struct Segment<'a> {
    joint: Joint,
    verb: Verb,
    source: &'a str,
    argument: &'a str,
}

impl Action {
    pub(super) const fn verb(&self) -> Verb {
        match self {
            Action::Read { .. } => Verb::Read,
            Action::Find { .. } => Verb::Find,
            Action::Search { .. } => Verb::Search,
            Action::Replace { .. } => Verb::Replace,
            Action::Run { .. } => Verb::Run,
            Action::Edit { .. } => Verb::Edit,
            Action::Todo { .. } => Verb::Todo,
            Action::Fetch { .. } => Verb::Fetch,
            Action::Undo => Verb::Undo,
            Action::Agents { .. } => Verb::Agents,
            Action::Ask => Verb::Ask,
            Action::Plan { .. } => Verb::Plan,
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Plan, Misread> {
    if asks_for_help(text) {
        return Err(Misread::Help);
    }
    let mut stages: Vec<Vec<Step>> = Vec::new();
    for segment in segments(text).ok_or_else(|| Misread::NoVerb(text.to_owned()))? {
        let action =
            arguments::action(segment.verb, segment.argument).ok_or_else(|| Misread::Unclear {
                source: segment.source.to_owned(),
                verb: segment.verb,
            })?;
        let step = Step {
            source: segment.source.to_owned(),
            action,
        };
        match (segment.joint, stages.last_mut()) {
            (Joint::And, Some(stage)) => stage.push(step),
            (Joint::And | Joint::Then, _) => stages.push(vec![step]),
        }
    }
    Ok(Plan { stages })
}

fn asks_for_help(text: &str) -> bool {
    let word = text.trim().trim_matches(['/', '!', '.', '?']);
    word.is_empty() || word.eq_ignore_ascii_case("help")
}

/// The request cut at its joining words; `None` if it does not begin with a verb.
fn segments(text: &str) -> Option<Vec<Segment<'_>>> {
    // Most prompts are not for this interpreter, and some are very long.
    let first = text.split_whitespace().find(|word| !is_please(word))?;
    Verb::from_word(first)?;

    let ranges = Words::new(text).ranges();
    let word = |index: usize| ranges.get(index).map(|range| &text[range.clone()]);
    let mut starts = vec![verb_at(&word, Joint::Then, 0)?];
    let mut at = starts[0].verb_at + 1;
    while at < ranges.len() {
        let last = &starts[starts.len() - 1];
        match next_step(&word, at) {
            Some(next) if !is_shell_then(&word, last, at) => {
                at = next.verb_at + 1;
                starts.push(next);
            }
            Some(_) | None => at += 1,
        }
    }

    let ends = starts
        .iter()
        .skip(1)
        .map(|next| Some(ranges[next.joint_at].start));
    let segments = starts.iter().zip(ends.chain([None])).map(|(start, end)| {
        let verb = &ranges[start.verb_at];
        let to = end.unwrap_or(text.len());
        let source = trim_end(start.verb, &text[verb.start..to], end.is_some());
        Segment {
            joint: start.joint,
            verb: start.verb,
            source,
            argument: source.get(verb.len()..).unwrap_or_default().trim(),
        }
    });
    Some(segments.collect())
}

/// If the word at `at` joins and a verb with an argument follows: the start of that step.
fn next_step<'a>(word: &impl Fn(usize) -> Option<&'a str>, at: usize) -> Option<Start> {
    let joint = joint(word(at)?)?;
    let behind = at + 1;
    let next = match (joint, word(behind).and_then(self::joint)) {
        (Joint::And, Some(Joint::Then)) => verb_at(word, Joint::Then, behind + 1)?,
        (joint, _) => verb_at(word, joint, behind)?,
    };
    let after = word(next.verb_at + 1);
    let has_something_to_do = match next.verb {
        // It takes nothing: what follows has to be the end or a joining word.
        Verb::Undo | Verb::Agents | Verb::Ask | Verb::Plan => {
            after.is_none_or(|word| is_please(word) || self::joint(word).is_some())
        }
        Verb::Read
        | Verb::Find
        | Verb::Search
        | Verb::Replace
        | Verb::Run
        | Verb::Edit
        | Verb::Todo
        | Verb::Fetch => after.is_some(),
    };
    has_something_to_do.then_some(Start {
        joint_at: at,
        ..next
    })
}

/// The verb at `at`, or after the `please` there.
fn verb_at<'a>(word: &impl Fn(usize) -> Option<&'a str>, joint: Joint, at: usize) -> Option<Start> {
    let verb_at = at + usize::from(word(at).is_some_and(is_please));
    Some(Start {
        joint,
        joint_at: at,
        verb: Verb::from_word(word(verb_at)?)?,
        verb_at,
    })
}

fn joint(word: &str) -> Option<Joint> {
    let word = word.trim_matches([',', ';', '.']);
    if word.eq_ignore_ascii_case("and") {
        Some(Joint::And)
    } else if word.eq_ignore_ascii_case("then") {
        Some(Joint::Then)
    } else {
        None
    }
}

/// Whether the `then` at `at` is the shell's: `run if test -d x; then find x; fi`.
fn is_shell_then<'a>(word: &impl Fn(usize) -> Option<&'a str>, step: &Start, at: usize) -> bool {
    step.verb == Verb::Run
        && word(at) == Some("then")
        && (step.verb_at + 1..at).any(|index| matches!(word(index), Some("if" | "elif")))
}

fn is_please(word: &str) -> bool {
    word.trim_end_matches([',', '.', '!', '?'])
        .eq_ignore_ascii_case("please")
}

/// Removes what separates the step from the next one, or from the end of the sentence.
fn trim_end(verb: Verb, text: &str, is_joined: bool) -> &str {
    let mut text = text.trim();
    let is_exact = matches!(verb, Verb::Edit | Verb::Replace);
    if is_joined {
        text = text.trim_end_matches(if is_exact {
            &[','][..]
        } else {
            &[',', ';'][..]
        });
        if let Some(sentence) = text.strip_suffix('.')
            && sentence.ends_with(char::is_alphanumeric)
            && !is_exact
        {
            text = sentence;
        }
    }
    if !matches!(verb, Verb::Run | Verb::Edit | Verb::Todo)
        && let Some((before, last)) = text.rsplit_once(char::is_whitespace)
        && is_please(last)
    {
        text = before.trim_end().trim_end_matches(',');
    }
    text
}

#[cfg(test)]
mod tests;
