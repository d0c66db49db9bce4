//! The verbs that the built-in interpreter knows, with what each needs and how it is written.

use crate::text::nearest;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Read,
    Find,
    Search,
    Replace,
    Run,
    Edit,
    Todo,
    Fetch,
    Undo,
    Agents,
    Ask,
    Plan,
}

impl Verb {
    pub(super) const ALL: [Verb; 12] = [
        Verb::Read,
        Verb::Find,
        Verb::Search,
        Verb::Replace,
        Verb::Run,
        Verb::Edit,
        Verb::Todo,
        Verb::Fetch,
        Verb::Undo,
        Verb::Agents,
        Verb::Ask,
        Verb::Plan,
    ];

    pub(super) fn from_word(word: &str) -> Option<Self> {
        // `todo: milk` and `undo!` are meant as well.
        let word = word.trim_end_matches([':', ',', ';', '.', '!']);
        Self::ALL
            .into_iter()
            .find(|verb| verb.name().eq_ignore_ascii_case(word))
    }

    /// The verb that comes nearest to what somebody wrote: another word for the same thing, or a misspelt first word.
    /// Without a clue it is the first one.
    pub(super) fn nearest(text: &str, possible: &[Verb]) -> Option<Self> {
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        let mut first_words = words.by_ref().filter(|word| !word.is_empty()).take(20);
        let first = first_words.next().unwrap_or_default();
        let is_meant = |word: &str, verb: &Verb| {
            let mut others = verb.synonyms().iter();
            verb.name().eq_ignore_ascii_case(word)
                || others.any(|other| other.eq_ignore_ascii_case(word))
        };
        let meant = std::iter::once(first)
            .chain(first_words)
            .find_map(|word| possible.iter().find(|verb| is_meant(word, verb)));
        let misspelt = || {
            let name = nearest(first, possible.iter().map(|verb| verb.name()))?;
            possible.iter().find(|verb| verb.name() == name)
        };
        meant.or_else(misspelt).or(possible.first()).copied()
    }

    /// Other words for it.
    const fn synonyms(self) -> &'static [&'static str] {
        match self {
            Verb::Read => &["show", "open", "cat", "view", "print", "explain"],
            Verb::Find => &["list", "ls", "files", "locate"],
            Verb::Search => &["grep", "where", "look", "which", "rg"],
            Verb::Replace => &["rename", "substitute"],
            Verb::Run => &["execute", "test", "tests", "build", "compile", "start"],
            Verb::Edit => &["change", "fix", "write", "update", "modify", "add"],
            Verb::Todo => &["task", "remember"],
            Verb::Fetch => &["download", "curl", "wget"],
            Verb::Undo => &["revert", "restore"],
            Verb::Agents => &["subagents", "parallel", "delegate"],
            Verb::Ask => &["question", "choose"],
            Verb::Plan => &["design", "propose"],
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Verb::Read => "read",
            Verb::Find => "find",
            Verb::Search => "search",
            Verb::Replace => "replace",
            Verb::Run => "run",
            Verb::Edit => "edit",
            Verb::Todo => "todo",
            Verb::Fetch => "fetch",
            Verb::Undo => "undo",
            Verb::Agents => "agents",
            Verb::Ask => "ask",
            Verb::Plan => "plan",
        }
    }

    pub(super) const fn usage(self) -> &'static str {
        match self {
            Verb::Read => "read FILE",
            Verb::Find => "find GLOB",
            Verb::Search => "search REGEX [in GLOB]",
            Verb::Replace => "replace A with B [in GLOB]",
            Verb::Run => "run COMMAND",
            Verb::Edit => "edit FILE [all]: A => B",
            Verb::Todo => "todo ITEM; ITEM",
            Verb::Fetch => "fetch URL",
            Verb::Undo => "undo",
            Verb::Agents => "agents [REGEX]",
            Verb::Ask => "ask",
            Verb::Plan => "plan [TASK]",
        }
    }

    pub(super) const fn example(self) -> &'static str {
        match self {
            Verb::Read => "read README.md",
            Verb::Find => "find **/*.rs",
            Verb::Search => "search TODO in *.rs",
            Verb::Replace => "replace colour with color in *.md",
            Verb::Run => "run git status",
            Verb::Edit => "edit notes.txt: old words => new words",
            Verb::Todo => "todo write the tests; update the docs",
            Verb::Fetch => "fetch https://example.com",
            Verb::Undo => "undo",
            Verb::Agents => "agents TODO",
            Verb::Ask => "ask",
            Verb::Plan => "plan tidy the README",
        }
    }

    /// The tools that carry it out, by name and in the order of their use.
    pub(super) const fn tools(self) -> &'static [&'static str] {
        match self {
            Verb::Read => &["Read"],
            Verb::Find => &["Glob"],
            Verb::Search => &["Grep"],
            Verb::Replace => &["Grep", "Read", "Edit"],
            Verb::Run => &["Bash"],
            Verb::Edit => &["Read", "Edit"],
            Verb::Todo => &["TodoWrite"],
            Verb::Fetch => &["WebFetch"],
            Verb::Undo => &["Undo"],
            Verb::Agents => &["Task"],
            Verb::Ask => &["AskUserQuestion"],
            Verb::Plan => &["EnterPlanMode", "ExitPlanMode"],
        }
    }
}
