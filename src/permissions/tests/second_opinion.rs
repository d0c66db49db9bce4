//! A second opinion on how a command line is cut: what our reader accepts as simple commands, another parser of bash
//! must find to be the same simple commands. It has to agree only where we say yes.

use std::panic::catch_unwind;

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem, Pipeline, PipelineTimed, Program, SimpleCommand,
};
use brush_parser::{Parser, ParserOptions};
use proptest::prelude::{ProptestConfig, Strategy, prop, prop_assert, proptest};
use serde_json::Value;

use super::cases::{BASH, OWN_BASH, OWN_PERMISSION, PERMISSION, cases};
use super::properties::nested;
use crate::permissions::bash::read;
use crate::permissions::bash::script::{Part, Script};

/// Where the other parser is wrong, each line with the reason.
const KNOWN: &str = include_str!("../../../tests/fixtures/security/second_opinion_known.jsonl");

/// The other one takes long for more.
const LONGEST: usize = 2_000;

/// The words of one command, as written; `None` for a process substitution.
type Words = Vec<Option<String>>;

#[test]
fn another_parser_finds_the_same_commands_in_every_case() {
    let known: Vec<Value> = cases(KNOWN).collect();
    let is_known = |command: &str| known.iter().any(|case| case["command"] == command);
    let commands = [BASH, OWN_BASH, PERMISSION, OWN_PERMISSION]
        .into_iter()
        .flat_map(cases)
        .filter_map(|case| {
            let command = case.get("command").or_else(|| case["input"].get("command"));
            command.and_then(Value::as_str).map(str::to_owned)
        });
    let wrong: Vec<String> = commands
        .filter(|command| !is_known(command))
        .filter_map(|command| disagreement(&command))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pieces of commands that both are known to read as bash does. Odder ones are held against what bash made of them.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "ls",
        "cat a",
        "git log",
        "-x",
        "--all",
        "'a b'",
        "\"a b\"",
        "'\"'",
        "\"'\"",
        "\\ ",
        "\\'",
        "\\\"",
        "\\;",
        "\\\\",
        "''",
        "\"\"",
        " ",
        " ",
        " ",
        "\t",
        ";",
        "&&",
        "||",
        "|",
        "|&",
        "&",
        "\n",
        "#",
        " # x\n",
        "{a,b}",
        "{}",
        "{x},y}",
        "@{1}",
        "*",
        "[a-z]",
        "?",
        "~",
        "=",
        "A=1 ",
        ">",
        ">>",
        "2>&1",
        "<",
        "&>",
        "<<<",
        "<<'E'\na b\nE\n",
        "<<E\n$x\nE\n",
        "$x",
        "${x}",
        "${x:-a b}",
        "\"$x y\"",
        "\"${x#\"a\"}\"",
        "$(ls)",
        "\"$(cat 'a')\"",
        "`ls`",
        "$((1 + 2))",
        "$'a\\'b'",
        "$?",
        "é",
        ",",
        ":",
    ]);
    prop::collection::vec(piece, 1..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn another_parser_finds_the_same_commands_in_pieces_of_commands(text in pieces()) {
        let found = disagreement(&text);
        prop_assert!(found.is_none(), "{}", found.unwrap_or_default());
    }

    #[test]
    fn another_parser_finds_the_same_commands_in_nested_ones(text in nested()) {
        let found = disagreement(&text);
        prop_assert!(found.is_none(), "{}", found.unwrap_or_default());
    }
}

/// What the two make of a text that we accept, should it differ.
fn disagreement(command: &str) -> Option<String> {
    let reading = read(command);
    if reading.refused.is_some() || reading.script.structure.is_some() || command.len() > LONGEST {
        return None;
    }
    let ours = our_commands(&reading.script);
    let theirs = catch_unwind(|| their_commands(command)).ok()?;
    match theirs {
        Ok(theirs) if agree(&ours, &theirs) => None,
        theirs => Some(format!(
            "{command:?}\n  ours: {ours:?}\n  theirs: {theirs:?}"
        )),
    }
}

fn agree(ours: &[Words], theirs: &[Words]) -> bool {
    let same = |(ours, theirs): (&Words, &Words)| {
        let word =
            |(ours, theirs): (&Option<String>, &Option<String>)| theirs.is_none() || ours == theirs;
        ours.len() == theirs.len() && ours.iter().zip(theirs).all(word)
    };
    ours.len() == theirs.len() && ours.iter().zip(theirs).all(same)
}

fn our_commands(script: &Script) -> Vec<Words> {
    let words = |part: &Part| {
        let raws = part.words.iter().map(|word| Some(plain(&word.raw)));
        raws.collect()
    };
    script.parts.iter().map(words).collect()
}

fn their_commands(command: &str) -> Result<Vec<Words>, String> {
    let mut parser = Parser::new(command.as_bytes(), &ParserOptions::default());
    let program: Program = parser.parse_program().map_err(|error| error.to_string())?;
    let mut commands = Vec::new();
    for item in program.complete_commands.iter().flat_map(|list| &list.0) {
        let more = item.0.additional.iter().map(|next| match next {
            AndOr::And(pipeline) | AndOr::Or(pipeline) => pipeline,
        });
        for pipeline in std::iter::once(&item.0.first).chain(more) {
            add_pipeline(pipeline, &mut commands)?;
        }
    }
    Ok(commands)
}

fn add_pipeline(pipeline: &Pipeline, commands: &mut Vec<Words>) -> Result<(), String> {
    // To us `time` is a word of the first command.
    let mut before: Vec<&str> = match pipeline.timed {
        None => Vec::new(),
        Some(PipelineTimed::Timed(_)) => vec!["time"],
        Some(PipelineTimed::TimedWithPosixOutput(_)) => vec!["time", "-p"],
    };
    if pipeline.bang {
        return Err("a pipeline is negated".to_owned());
    }
    for command in &pipeline.seq {
        let Command::Simple(simple) = command else {
            return Err(format!("there is more than simple commands: {command}"));
        };
        let before = before.drain(..).map(|word| Some(word.to_owned()));
        commands.push(before.chain(words(simple)).collect());
    }
    Ok(())
}

fn words(simple: &SimpleCommand) -> impl Iterator<Item = Option<String>> {
    let name = simple
        .word_or_name
        .iter()
        .map(|word| Some(plain(&word.value)));
    let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
    name.chain(suffix.filter_map(|item| match item {
        CommandPrefixOrSuffixItem::IoRedirect(_) => None,
        CommandPrefixOrSuffixItem::Word(word)
        | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => Some(Some(plain(&word.value))),
        CommandPrefixOrSuffixItem::ProcessSubstitution(..) => Some(None),
    }))
}

/// Both leave out line continuations, but not inside of expansions.
fn plain(raw: &str) -> String {
    raw.replace("\\\n", "")
}
