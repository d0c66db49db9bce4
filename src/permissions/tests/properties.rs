//! Random calls: nothing panics or overflows, and rules only ever move a decision the right way.

use std::time::{Duration, Instant};

use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_oneof, proptest,
};

use super::Call;
use crate::permissions::bash::classify::classify_by;
use crate::permissions::bash::lists::Lists;
use crate::permissions::bash::{classify, is_concurrency_safe, last_words, read};

/// Pieces of shell that meet in odd ways.
fn token() -> impl Strategy<Value = String> {
    let plain = prop::sample::select(vec![
        "ls",
        "cat a",
        "rm -rf x",
        "echo",
        "git status",
        "touch y",
        " ",
        ";",
        "&&",
        "||",
        "|",
        "|&",
        "&",
        "\n",
        "'",
        "\"",
        "\\",
        "\\\n",
        "$",
        "$(",
        "${",
        "$((",
        "))",
        ")",
        "(",
        "{",
        "}",
        "`",
        "<",
        ">",
        ">>",
        ">|",
        ">&",
        "<>",
        "&>",
        "<<E\n",
        "\nE\n",
        "<<'E'\n",
        "<<<",
        "<(",
        "[[",
        "]]",
        "((",
        "if",
        "then",
        "fi",
        "for i in",
        "do",
        "done",
        "case x in",
        "esac",
        ";;",
        "f()",
        "function f",
        "!",
        "time",
        "coproc",
        "#",
        "*",
        "~",
        "=",
        "A=1 ",
        "a=(",
        "a[",
        "]",
        "$'",
        "$\"",
        "{a,b}",
        "\u{e0072}",
        "é",
        "sh -c ",
        "eval ",
        "sudo ",
        "xargs ",
        "timeout 5 ",
        "-o",
        "--",
        "\r",
        "\t",
    ]);
    plain.prop_map(str::to_owned)
}

fn script() -> impl Strategy<Value = String> {
    prop::collection::vec(token(), 0..24).prop_map(|tokens| tokens.concat())
}

/// Shell that nests properly.
pub(super) fn nested() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("ls".to_owned()),
        Just("rm -rf x".to_owned()),
        Just("echo 'a b'".to_owned())
    ];
    leaf.prop_recursive(12, 64, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|script| format!("echo $( {script})")),
            inner
                .clone()
                .prop_map(|script| format!("echo \"$( {script})\"")),
            inner.clone().prop_map(|script| format!("( {script})")),
            inner.clone().prop_map(|script| format!("{{ {script}; }}")),
            inner
                .clone()
                .prop_map(|script| format!("if {script}; then {script}; fi")),
            inner.clone().prop_map(|script| format!("cat <({script})")),
            (inner.clone(), inner).prop_map(|(left, right)| format!("{left} && {right}")),
        ]
    })
}

fn rule() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Bash",
        "Bash(*)",
        "Bash(ls)",
        "Bash(ls *)",
        "Bash(rm *)",
        "Bash(echo:*)",
        "Bash(* x)",
        "Bash(git *)",
        "Bash(cat a)",
        "Edit(**)",
        "Edit(y)",
        "Read(a)",
        "Read(//**)",
        "Edit(//**)",
        "Read",
        "Edit",
        "Bash(touch y)",
        "Bash(run_in_background:*)",
        "mcp__x",
        "WebFetch",
    ])
}

fn mode() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "default",
        "acceptEdits",
        "plan",
        "dontAsk",
        "bypassPermissions",
    ])
}

fn everything(command: &str) {
    let _ = (
        classify(command),
        is_concurrency_safe(command),
        last_words(command),
    );
    let _ = Call::bash(command)
        .allow("Bash(ls *)")
        .deny("Bash(rm *)")
        .deny("Read(a)")
        .ask("Edit(x)")
        .decision();
}

/// Quick by default; `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(512)
}

/// How long any of these may take, even in a debug build on a busy machine.
const A_MOMENT: Duration = Duration::from_secs(2);

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_decided(text in any::<String>()) {
        everything(&text);
    }

    #[test]
    fn any_bytes_are_decided(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        everything(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_pieces_of_shell_are_decided(text in script()) {
        let start = Instant::now();
        everything(&text);
        prop_assert!(start.elapsed() < A_MOMENT, "{text}");
    }

    #[test]
    fn what_only_reads_has_no_structure(text in script()) {
        let reading = read(&text);
        if classify(&text).read_only {
            prop_assert!(reading.refused.is_none() && reading.script.structure.is_none());
        }
    }

    #[test]
    fn nested_commands_are_found(script in nested()) {
        prop_assert!(read(&script).refused.is_none(), "{script}");
        let denied = Call::bash(&script).allow("Bash").deny("Bash(rm *)").decision() == "deny";
        prop_assert!(denied == script.contains("rm -rf"), "{script}");
    }

    #[test]
    fn a_deny_rule_never_widens(text in script(), allow in rule(), deny in rule(), mode in mode()) {
        let call = || Call::bash(&text).allow(allow).mode(mode);
        let (before, after) = (call().decision(), call().deny(deny).decision());
        let narrower = before == "allow" && after == "ask";
        prop_assert!(after == before || after == "deny" || narrower, "{before} became {after}");
    }

    #[test]
    fn an_ask_rule_never_widens(text in script(), allow in rule(), ask in rule(), mode in mode()) {
        let call = || Call::bash(&text).allow(allow).mode(mode);
        let (before, after) = (call().decision(), call().ask(ask).decision());
        prop_assert!(before == after || after != "allow", "{before} became {after}");
        prop_assert!(before != "deny" || after == "deny");
    }

    #[test]
    fn an_allow_rule_never_lifts_a_denial(text in script(), deny in rule(), allow in rule(), mode in mode()) {
        let call = || Call::bash(&text).deny(deny).mode(mode);
        if call().decision() == "deny" && mode != "dontAsk" {
            prop_assert!(call().allow(allow).decision() == "deny");
        }
    }

    #[test]
    fn a_second_command_never_widens(text in script(), more in script(), allow in rule()) {
        let call = |text: &str| Call::bash(text).allow(allow).decision();
        let longer = format!("{text}; {more}");
        // Only where the first text is whole: it could also be completed by what follows.
        if read(&text).refused.is_none() && call(&text) != "allow" && !text.contains("<<") && !text.contains('#') {
            prop_assert!(call(&longer) != "allow", "{longer}");
        }
    }

    #[test]
    fn a_wrapper_never_lifts_a_denial(text in nested(), deny in rule()) {
        if Call::bash(&text).deny(deny).decision() == "deny" && !text.starts_with(['(', '{']) && !text.starts_with("if") {
            let wrapped = format!("timeout 9 {text}");
            prop_assert!(Call::bash(&wrapped).deny(deny).decision() == "deny");
        }
    }

    #[test]
    fn a_second_command_never_makes_a_reader(text in script(), more in script()) {
        let whole = read(&text).refused.is_none() && !text.contains("<<") && !text.contains('#');
        if whole && !text.trim().is_empty() && !classify(&text).read_only {
            for joint in ["; ", " && ", " | ", "\n"] {
                let longer = format!("{text}{joint}{more}");
                prop_assert!(!classify(&longer).read_only, "{longer}");
            }
        }
    }

    #[test]
    fn what_is_allowed_unasked_is_read_only(text in script()) {
        if Call::bash(&text).decision() == "allow" {
            let known = classify_by(&read(&text), std::path::Path::new("/repo"), Lists::Everyday);
            prop_assert!(known.is_ok(), "{text}");
        }
    }

    #[test]
    fn without_its_allow_rule_nothing_is_wider(text in script(), allow in rule(), other in rule(), mode in mode()) {
        let call = || Call::bash(&text).allow(other).mode(mode);
        let (with, without) = (call().allow(allow).decision(), call().decision());
        prop_assert!(with == without || without != "allow", "{with} became {without}");
    }

    #[test]
    fn plan_mode_allows_nothing_that_default_mode_asks_about(text in script(), allow in rule()) {
        let call = |mode: &str| Call::bash(&text).allow(allow).mode(mode).decision();
        prop_assert!(call("plan") != "allow" || call("default") == "allow");
    }

    #[test]
    fn quotes_and_blanks_lift_no_denial(words in prop::collection::vec("[a-z]{1,6}x", 1..5), quote in prop::sample::select(vec!["'", "\""])) {
        let rule = format!("Bash({})", words.join(" "));
        let quoted: Vec<String> = words.iter().map(|word| format!("{quote}{word}{quote}")).collect();
        for command in [words.join("   "), quoted.join(" "), format!("/usr/bin/{}", words.join(" ")), format!("sudo {}", quoted.join("\t"))] {
            prop_assert!(Call::bash(&command).allow("Bash").deny(&rule).decision() == "deny", "{command} {rule}");
        }
    }

    #[test]
    fn any_path_is_decided(path in any::<String>(), pattern in "[a-c/*?.\\[\\]!~\\\\-]{0,12}", target in "[a-c/.]{0,12}") {
        let start = Instant::now();
        for tool in ["Read", "Write", "Glob"] {
            let input = serde_json::json!({ "file_path": path, "path": path, "pattern": pattern });
            let call = || Call::new(tool, input.clone()).deny(&format!("Read({pattern})")).link("/repo/a", &target).link("/repo/a/b", "../c");
            let (before, after) = (call().decision(), call().allow("Read(//**)").decision());
            prop_assert!(before != "deny" || after == "deny");
        }
        prop_assert!(start.elapsed() < A_MOMENT);
    }

    #[test]
    fn any_rule_is_parsed_or_explained(text in any::<String>()) {
        let mut rules = crate::permissions::Rules::default();
        let source = crate::permissions::Source::Session;
        for list in [crate::permissions::RuleList::Deny, crate::permissions::RuleList::Allow] {
            for text in [text.clone(), format!("Bash({text})"), format!("Read({text})"), format!("WebFetch(domain:{text})")] {
                let _ = rules.add(list, &text, &source);
            }
        }
    }
}

/// Text that opens what it never closes, or closes what it never opened.
#[test]
fn deep_nesting_neither_overflows_nor_hangs() {
    let opens = [
        "(",
        "{ ",
        "$(",
        "`",
        "\"$(",
        "${x:-",
        "$((",
        "((",
        "[[ (",
        "if ",
        "for i in ",
        "case x in x) ",
        "f() { ",
        "<(",
        "a=(",
        "$[",
        "a[",
        "! ",
        "time ",
        "eval ",
        "sh -c '",
        "sudo ",
        "sudo rm ",
        "sudo git -C . ",
        "eval \"$(",
        "\\",
        "'",
        "<<E\n",
        "echo \"`",
        "<<'E'\n",
        ">(",
        "while ",
        "until ls; do ",
        "if ls; then ",
        "select i in ",
        "coproc ",
        "function f { ",
        "[[ ",
        "{a,",
        "{",
        "\"",
        "$'",
        "$\"",
        "${x[",
        "cd a; ",
        "cd a && cat b; ",
        "A=1 ",
        "A=$(",
        "xargs ",
        "find . -exec ",
        "bash -c \"",
        "> a ",
        "2>&1 ",
        "*",
        "[a",
        "~/",
        "../",
        "; ",
        "& ",
        "| ls ",
        "#",
        "\\\n",
    ];
    let closed = opens.iter().filter(|open| open.contains('('));
    for (open, close) in opens
        .iter()
        .map(|open| (open, ""))
        .chain(closed.map(|open| (open, ")")))
    {
        let text = format!("{}ls{}", open.repeat(10_000), close.repeat(10_000));
        let start = Instant::now();
        everything(&text);
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "{open} {close} took {:?}",
            start.elapsed()
        );
    }
}

#[test]
fn a_megabyte_is_decided_in_time() {
    for piece in ["a", "a ", "ls; ", "sudo rm ", "$(", "'\""] {
        let text = piece.repeat((1 << 20) / piece.len());
        let start = Instant::now();
        let decision = Call::bash(&text)
            .allow("Bash(a *)")
            .deny("Bash(rm *)")
            .decision();
        assert_eq!(decision, if piece.contains("rm") { "deny" } else { "ask" });
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "{piece} took {:?}",
            start.elapsed()
        );
    }
}
