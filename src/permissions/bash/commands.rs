//! Every command that a script may run, for deny and ask rules, the built-in list and path rules.
//!
//! This looks deeper than allow rules do: into substitutions, compound commands, literal `sh -c` scripts, behind programs
//! that run other programs, through quotes. None of it ever widens what is allowed.

use std::collections::HashSet;
use std::ops::Range;

use super::brace;
use super::classify::likely_target;
use super::effects::EVALUATING;
use super::expansion::{assignment_name, decode_ansi};
use super::files::{
    Access, Kind, accesses, copies_trees, operands, redirected, touches, writes_trees,
};
use super::git::past_global_options;
use super::script::{Joint, Operator, Part, Redirect, Script, Traits, Word};
use super::wrappers::unwrap;
use super::{base_name, read};

/// How many literal scripts (`sh -c ..`, `eval ..`) are read, and how deeply they may nest. Scripts in substitutions do
/// not count towards these limits.
const MAX_SCRIPTS: usize = 1_000;
const MAX_SCRIPT_DEPTH: usize = 6;
/// How many possible working directories are tracked for a command. Allow rules need certainty anyway.
const MAX_DIRECTORIES: usize = 6;
/// Longer ones are not built.
const LONGEST_DIRECTORY: usize = 512;
/// How many words brace expansion may produce for one command, and for one word.
const MOST_EXPANDED: usize = 512;
const MOST_OF_ONE: usize = 128;
/// How many positions in one command are reported as likely commands.
const MOST_LIKELY: usize = 64;

/// Programs that run what follows; each later word may be the command.
const EXEC_WRAPPERS: [&str; 29] = [
    "time",
    "timeout",
    "nice",
    "nohup",
    "stdbuf",
    "command",
    "builtin",
    "xargs",
    "sudo",
    "doas",
    "env",
    "watch",
    "setsid",
    "ionice",
    "flock",
    "exec",
    "busybox",
    "chroot",
    "parallel",
    "su",
    "runuser",
    "pkexec",
    "strace",
    "unshare",
    "nsenter",
    "taskset",
    "chrt",
    "systemd-run",
    "script",
];
/// Those of them that take a whole script as one word.
const SCRIPT_RUNNERS: [&str; 7] = [
    "su", "runuser", "script", "flock", "watch", "parallel", "nsenter",
];
const SHELLS: [&str; 7] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "rbash"];

/// A command as it may run.
pub struct Found<'f> {
    /// From the command's own word on.
    pub words: &'f [Word],
    /// The same words after quote removal, joined by single blanks.
    pub text: &'f str,
    /// Where its relative paths may start: the directories that `cd` may have reached, the most likely one last.
    pub directories: &'f [String],
    pub redirects: &'f [Redirect],
    /// The same name occurs earlier in the same words.
    pub repeated: bool,
    /// These words come from brace expansion.
    pub expanded: bool,
    /// It is at a position where a command is expected, not only possible.
    pub likely: bool,
}

/// Receives what was found.
pub trait Visitor {
    fn command(&mut self, found: &Found<'_>);
    fn access(&mut self, access: &Access<'_>, directories: &[String]);
    /// What lies below this path may also be written, or is copied to where the command writes.
    fn tree(&mut self, access: &Access<'_>, directories: &[String]);
    fn script(&mut self, script: &Script);
    /// This text is too large to check: because of brace expansion, or scripts in scripts.
    fn overflow(&mut self, text: &str);
}

/// Walks through `script` and everything in it.
pub fn walk(script: &Script, visitor: &mut dyn Visitor) {
    let mut walk = Walk {
        visitor,
        scripts: MAX_SCRIPTS,
    };
    walk.script(script, &[], 0);
}

struct Walk<'v> {
    visitor: &'v mut dyn Visitor,
    /// How many more literal scripts may be read.
    scripts: usize,
}

/// The surroundings of a part.
#[derive(Clone, Copy)]
struct Place<'p> {
    part: &'p Part,
    directories: &'p [String],
    /// How many literal scripts are around it.
    depth: usize,
    /// The current words come from brace expansion.
    expanded: bool,
}

impl Walk<'_> {
    fn script(&mut self, script: &Script, directories: &[String], depth: usize) {
        self.visitor.script(script);
        let evaluates = evaluates(script);
        let mut directories = directories.to_vec();
        let mut fed_shell = false;
        // What the earlier commands of the pipeline print, as far as their arguments tell.
        let mut printed: Vec<String> = Vec::new();
        for part in &script.parts {
            for nested in &part.nested {
                self.script(nested, &directories, depth);
            }
            let place = Place {
                part,
                directories: &directories,
                depth,
                expanded: false,
            };
            for redirect in &part.redirects {
                self.redirect(redirect, place);
            }
            for assignment in &part.assignments {
                self.evaluated(&assignment.value.text, place);
            }
            // The values of evaluated variables are not guessed: `_`, for one, is the last word of the command before.
            for word in part.words.iter().filter(|_| evaluates) {
                self.evaluated(&word.text, place);
            }
            let shell = self.commands(&part.words, place);
            for text in printed.iter().filter(|_| shell) {
                self.literal(text, &directories, depth);
            }
            fed_shell |= shell;
            if part.joint == Joint::Pipe {
                printed.extend(prints(&part.words));
            } else {
                printed.clear();
            }
            let mut targets: Vec<String> = likely_target(&part.words).into_iter().collect();
            if part.words.iter().any(|word| word.traits.has(Traits::BRACE)) {
                self.commands(&at_braces(&part.words), place);
                let expanded = self.without_braces(&part.words);
                let place = Place {
                    expanded: true,
                    ..place
                };
                self.commands(&expanded, place);
                targets.extend(likely_target(&expanded));
            }
            for target in targets {
                step(&mut directories, &target);
            }
        }
        if fed_shell {
            for body in &script.heredocs {
                self.literal(body, &directories, depth);
            }
        }
    }

    fn redirect(&mut self, redirect: &Redirect, place: Place<'_>) {
        if let Some(access) = redirected(redirect) {
            self.visitor.access(&access, place.directories);
        }
        // `.en{v..v}` is one word, and so a target.
        if redirect.target.traits.has(Traits::BRACE) {
            for target in self.without_braces(std::slice::from_ref(&redirect.target)) {
                let redirect = Redirect {
                    target,
                    ..redirect.clone()
                };
                if let Some(access) = redirected(&redirect) {
                    self.visitor.access(&access, place.directories);
                }
            }
        }
    }

    /// The words that the shell makes of these. They keep the trait of the brace: they can make a call ask, never deny
    /// it.
    fn without_braces(&mut self, words: &[Word]) -> Vec<Word> {
        let mut all: Vec<Word> = Vec::new();
        for word in words {
            if !word.traits.has(Traits::BRACE) {
                all.push(word.clone());
                continue;
            }
            match brace::expand(&word.raw, MOST_OF_ONE) {
                Some(raws) if all.len() + raws.len() <= MOST_EXPANDED => {
                    all.extend(raws.iter().filter_map(|raw| expanded_word(raw)));
                }
                Some(_) | None => {
                    self.visitor.overflow(&word.raw);
                    all.push(word.clone());
                }
            }
        }
        all
    }

    /// Reports the command in `words` and those after it. Returns whether a shell runs its input.
    fn commands(&mut self, words: &[Word], place: Place<'_>) -> bool {
        let (text, starts) = Part::joined(words);
        let mut names: HashSet<&str> = HashSet::new();
        let likely = likely_commands(words);
        let (mut reads, mut writes) = (false, false);
        for at in candidates(words) {
            let name = base_name(&words[at].text);
            let repeated = !names.insert(name);
            self.visitor.command(&Found {
                words: &words[at..],
                text: &text[starts[at]..],
                directories: place.directories,
                redirects: &place.part.redirects,
                repeated,
                expanded: place.expanded,
                likely: likely.contains(&at),
            });
            let arguments = &words[at + 1..];
            if name == "git" {
                self.git(&words[at..], place, repeated);
            } else if SHELLS.contains(&name) {
                self.shell(arguments, place, repeated);
            } else if SCRIPT_RUNNERS.contains(&name) && !repeated {
                for word in arguments
                    .iter()
                    .filter(|word| word.text.contains([' ', ';']))
                {
                    self.literal(&word.text, place.directories, place.depth);
                }
            } else if matches!(name, "eval" | "trap") && !repeated {
                let texts = arguments.iter().map(|word| word.text.as_str());
                let script: Vec<&str> = texts.skip_while(|text| *text == "--").collect();
                self.literal(&script.join(" "), place.directories, place.depth);
            } else if name == "env" && !repeated {
                if let Some(script) = split_string(arguments) {
                    self.literal(&script, place.directories, place.depth);
                }
            } else if let Some(scripts) = registered(name, arguments).filter(|_| !repeated) {
                for script in scripts {
                    self.literal(script, place.directories, place.depth);
                }
            } else if EVALUATING.contains(&name) && !repeated {
                for word in arguments {
                    self.evaluated(&word.text, place);
                }
            }
            if !repeated {
                let touched = touches(name);
                reads |= touched.0;
                writes |= touched.1;
            }
        }
        self.files(words, place, (reads, writes));
        SHELLS.iter().any(|shell| names.contains(shell))
    }

    /// Past the global options, and into aliases that are shell scripts.
    fn git(&mut self, words: &[Word], place: Place<'_>, repeated: bool) {
        if !repeated {
            for (_, script) in words.iter().filter_map(|word| word.text.split_once("=!")) {
                self.literal(script, place.directories, place.depth);
            }
        }
        for rest in past_global_options(&words[1..]) {
            if rest.len() == words.len() - 1 {
                continue;
            }
            // After an earlier git the beginning is enough: the whole was compared there.
            let rest = if repeated {
                &rest[..rest.len().min(64)]
            } else {
                rest
            };
            let skipped: Vec<Word> = std::iter::once(&words[0]).chain(rest).cloned().collect();
            let (text, _) = Part::joined(&skipped);
            self.visitor.command(&Found {
                words: &skipped,
                text: &text,
                directories: place.directories,
                redirects: &[],
                repeated,
                expanded: place.expanded,
                likely: false,
            });
        }
    }

    /// A literal script behind `-c`, also in a bundle such as `-lc`, or in a here-string.
    fn shell(&mut self, arguments: &[Word], place: Place<'_>, repeated: bool) {
        for script in shell_scripts(arguments) {
            self.literal(&script.text, place.directories, place.depth);
        }
        if repeated {
            return;
        }
        for redirect in &place.part.redirects {
            if redirect.operator == Operator::Herestring {
                self.literal(&redirect.target.text, place.directories, place.depth);
            }
        }
    }

    /// Text that contains a substitution, if the shell should evaluate it.
    fn evaluated(&mut self, text: &str, place: Place<'_>) {
        if text.contains("$(") || text.contains('`') {
            self.literal(text, place.directories, place.depth);
        }
    }

    fn literal(&mut self, script: &str, directories: &[String], depth: usize) {
        if depth < MAX_SCRIPT_DEPTH && self.scripts > 0 {
            self.scripts -= 1;
            self.script(&read(script).script, directories, depth + 1);
        } else {
            self.visitor.overflow(script);
        }
    }

    /// Precise for a command after plain wrappers. After others, every operand is assigned to every file command there.
    fn files(&mut self, words: &[Word], place: Place<'_>, (reads, writes): (bool, bool)) {
        let plain = unwrap(words).words;
        let Some((name, arguments)) = plain.split_first() else {
            return;
        };
        let mut found = accesses(base_name(&name.text), arguments);
        // Which word of a brace expansion is the target is not guessed.
        let hidden = place.expanded || candidates(plain).len() > 1;
        if hidden && reads {
            found.extend(operands(arguments, Kind::Read));
        }
        if hidden && writes {
            found.extend(operands(arguments, Kind::Write));
        }
        let name = base_name(&name.text);
        let (writes, brings) = (writes_trees(name, arguments), copies_trees(name, arguments));
        for access in &found {
            self.visitor.access(access, place.directories);
            let tree = match access.kind {
                Kind::Write => writes,
                Kind::Read => brings,
            };
            if tree {
                self.visitor.tree(access, place.directories);
            }
        }
    }
}

/// The texts that `echo` and `printf` may print: all arguments together, and each word alone, because it may be printed
/// on its own line.
fn prints(words: &[Word]) -> Vec<String> {
    const MOST_PRINTED: usize = 32;
    let Some((name, arguments)) = unwrap(words).words.split_first() else {
        return Vec::new();
    };
    if !matches!(base_name(&name.text), "echo" | "printf") {
        return Vec::new();
    }
    let texts = arguments.iter().map(|word| decode_ansi(&word.text));
    let texts: Vec<String> = texts.skip_while(|text| text.starts_with('-')).collect();
    let behind = texts.get(1..).unwrap_or_default().join(" ");
    let each = texts.iter().take(MOST_PRINTED).cloned();
    let mut all: Vec<String> = each.collect();
    all.extend([texts.join(" "), behind]);
    all
}

/// Commands that builtins run later, or under another name.
fn registered<'w>(name: &str, arguments: &'w [Word]) -> Option<Vec<&'w str>> {
    let letter = match name {
        "alias" => {
            let values = arguments
                .iter()
                .filter_map(|word| word.text.split_once('='));
            return Some(values.map(|(_, value)| value).collect());
        }
        "hash" => 'p',
        "mapfile" | "readarray" | "compgen" | "complete" => 'C',
        _ => return None,
    };
    // Which word is the flag's value does not matter.
    let attached = |word: &'w Word| word.text.strip_prefix('-')?.split_once(letter);
    let values = arguments
        .iter()
        .filter_map(attached)
        .map(|(_, value)| value);
    let values: Vec<&str> = values.collect();
    let words = arguments.iter().map(|word| word.text.as_str());
    let plain = words.filter(|text| !text.starts_with('-'));
    (!values.is_empty()).then(|| values.iter().copied().chain(plain).collect())
}

/// Whether an expansion in this script, or in one nested in it, evaluates the values of variables.
fn evaluates(script: &Script) -> bool {
    let mut waiting = vec![script];
    while let Some(script) = waiting.pop() {
        for part in &script.parts {
            if part.side_effect().is_some() {
                return true;
            }
            waiting.extend(&part.nested);
        }
    }
    false
}

/// Where a `cd` may go. It may also fail, or an earlier one may have failed, so earlier places are kept while they are
/// few. If there are many, only the place that is reached when all succeed is kept.
fn step(directories: &mut Vec<String>, target: &str) {
    let joined = |from: &String| {
        let fits = !target.starts_with('/') && from.len() + target.len() < LONGEST_DIRECTORY;
        fits.then(|| format!("{from}/{target}"))
    };
    if directories.len() >= MAX_DIRECTORIES {
        let likeliest = directories.last().and_then(joined);
        directories.truncate(MAX_DIRECTORIES - 2);
        directories.push(target.to_owned());
        directories.extend(likeliest);
        return;
    }
    let reached: Vec<String> = directories.iter().filter_map(joined).collect();
    for place in std::iter::once(target.to_owned()).chain(reached) {
        directories.retain(|known| *known != place);
        directories.push(place);
    }
}

/// Where in `words` a command may begin.
fn candidates(words: &[Word]) -> Range<usize> {
    let runs = |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    match words.first().map(|word| base_name(&word.text)) {
        None => 0..0,
        Some(name)
            if EXEC_WRAPPERS.contains(&name) || (name == "find" && words.iter().any(runs)) =>
        {
            0..words.len()
        }
        Some(_) => 0..1,
    }
}

/// Where in `words` a command is expected: at the start, and behind each wrapper past its options. What follows an
/// option may be its value.
fn likely_commands(words: &[Word]) -> Vec<usize> {
    let runs = |word: &Word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
    let mut at = words.len() - unwrap(words).words.len();
    let mut found = vec![0, at];
    while let Some(name) = words.get(at).map(|word| base_name(&word.text)) {
        if name == "find" {
            let behind = words.iter().enumerate().filter(|(_, word)| runs(word));
            found.extend(behind.map(|(at, _)| at + 1).take(MOST_LIKELY));
        }
        if !EXEC_WRAPPERS.contains(&name) || found.len() > MOST_LIKELY {
            break;
        }
        let skipped =
            |word: &Word| word.text.starts_with('-') || assignment_name(&word.raw).is_some();
        let passed = words[at + 1..]
            .iter()
            .take_while(|word| skipped(word))
            .count();
        at += 1 + passed;
        found.push(at);
        if passed > 0 {
            found.push(at + 1);
        }
    }
    found
}

/// What `env -S` splits and runs: the value of the flag, and the words behind it.
fn split_string(arguments: &[Word]) -> Option<String> {
    let value = |word: &Word| {
        let text = word.text.as_str();
        match text.strip_prefix("--") {
            Some(long) => {
                let (flag, value) = long.split_once('=').unwrap_or((long, ""));
                (!flag.is_empty() && "split-string".starts_with(flag)).then(|| value.to_owned())
            }
            None => text
                .strip_prefix('-')?
                .split_once('S')
                .map(|(_, value)| value.to_owned()),
        }
    };
    let (at, first) = arguments
        .iter()
        .enumerate()
        .find_map(|(at, word)| Some((at, value(word)?)))?;
    let behind = arguments[at + 1..].iter().map(|word| word.text.as_str());
    let words: Vec<&str> = std::iter::once(first.as_str()).chain(behind).collect();
    Some(words.join(" "))
}

/// What may be the script of a shell that has these arguments. Options may stand between `-c` and the script, and `-o`
/// takes a word of its own, which is harmless to check as well.
fn shell_scripts(arguments: &[Word]) -> Vec<&Word> {
    const MOST_OPTIONS: usize = 32;
    let leading = &arguments[..arguments.len().min(MOST_OPTIONS)];
    let option = |word: &Word| word.text.len() > 1 && word.text.starts_with(['-', '+']);
    let bundle = |word: &Word, letters: &[char]| {
        option(word) && !word.text.starts_with("--") && word.text.contains(letters)
    };
    let Some(flag) = leading.iter().position(|word| bundle(word, &['c'])) else {
        return Vec::new();
    };
    let mut scripts = Vec::new();
    let mut values = leading[flag].text.matches(['o', 'O']).count();
    let mut ended = false;
    for word in &leading[flag + 1..] {
        if !ended && option(word) {
            ended = word.text == "--";
            values +=
                word.text.matches(['o', 'O']).count() * usize::from(bundle(word, &['o', 'O']));
            continue;
        }
        // A lone dash also ends the options.
        if !ended && word.text == "-" {
            ended = true;
            continue;
        }
        scripts.push(word);
        if values == 0 {
            break;
        }
        values -= 1;
    }
    scripts
}

/// `{rm,-rf,x}` split at its braces and commas: words spelled out inside are treated as spelled out.
fn at_braces(words: &[Word]) -> Vec<Word> {
    let mut pieces = Vec::new();
    for word in words {
        if word.traits.has(Traits::BRACE) {
            let texts = word.text.split(['{', ',', '}']);
            pieces.extend(texts.filter(|text| !text.is_empty()).map(braced));
        } else {
            pieces.push(word.clone());
        }
    }
    pieces
}

/// A word from a brace expansion. Empty ones disappear.
fn expanded_word(raw: &str) -> Option<Word> {
    let mut word = super::expansion::lone_word(raw).unwrap_or_else(|| Word::plain(raw));
    word.traits.add(Traits::BRACE);
    (!word.raw.is_empty()).then_some(word)
}

fn braced(text: &str) -> Word {
    let mut word = Word::plain(text);
    word.traits.add(Traits::BRACE);
    word
}
