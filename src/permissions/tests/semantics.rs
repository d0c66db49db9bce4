//! Rules as written, and the classifier, rule by rule, where the shared cases do not say it all.

use serde_json::json;

use super::{accepted, check_case, refused};
use crate::permissions::bash::{is_concurrency_safe, last_words};
use crate::permissions::check::classify_case;
use crate::permissions::{RuleList, Rules, Source};

fn add(list: RuleList, text: &str) -> (Rules, Result<Option<String>, String>) {
    let mut rules = Rules::default();
    let added = rules.add(
        list,
        text,
        &Source::file("/repo/settings.json", "settings.json"),
    );
    (rules, added.map(|warning| warning.map(|warning| warning.0)))
}

#[test]
fn rules_that_are_not_understood_say_why() {
    for text in [
        "",
        "(x)",
        "Bash(",
        "Bash(x",
        "Bash)",
        "Bash()",
        "Ba sh",
        "Read(!x)",
        "Read(../x)",
        "WebFetch(example.com)",
        "WebFetch(domain:a/b)",
        "Bash(:*)",
    ] {
        let (rules, added) = add(RuleList::Deny, text);
        let error = added.expect_err(text);
        assert!(error.contains(&format!("`{text}`")), "{error}");
        assert_eq!(rules, Rules::default());
    }
}

#[test]
fn rules_that_will_surprise_their_author_are_warned_about() {
    for text in [
        "bash",
        "bash(ls)",
        "Bahs(rm:*)",
        "Wirte",
        "Write(docs/**)",
        "Glob(src/**)",
        "Grep(x)",
        "mcp__db__query(sql:x)",
        "Bash(command:rm *)",
        "Bash(command : rm)",
    ] {
        let (_, added) = add(RuleList::Deny, text);
        assert!(added.expect(text).is_some(), "{text}");
    }
    for text in ["*", "mcp__*", "Web*", "mcp__*__get"] {
        let (rules, added) = add(RuleList::Allow, text);
        assert!(
            added.expect(text).is_some() && rules.allow.is_empty(),
            "{text}"
        );
    }
    for text in [
        "Bash",
        "Bash(ls *)",
        "Read(~/x)",
        "mcp__a__b",
        "mcp__a__get_*",
        "WebFetch(domain:*.x.org)",
        "Write",
    ] {
        assert_eq!(add(RuleList::Allow, text).1, Ok(None), "{text}");
    }
}

#[test]
fn the_answer_names_the_rule_and_its_source() {
    let line = json!({ "tool": "Bash", "input": { "command": "rm x" }, "rules": { "deny": ["Bash(rm *)"] }, "unknown": 1 });
    let answer: serde_json::Value =
        serde_json::from_str(&check_case(line.to_string())).expect("JSON");
    let reason = "the rule `Bash(rm *)` in the project's settings denies this call";
    assert_eq!(
        answer,
        json!({ "decision": "deny", "reason": reason, "rule": "Bash(rm *)" })
    );
    // What is no case is not allowed, and says so.
    assert!(check_case("nonsense").starts_with("{\"decision\":\"ask\""));
    assert!(check_case("nonsense").contains("\"error\":"));
    for line in [b"".as_slice(), b"  \r", b"{\"tool\":\"Read\xff\"}", b"\xff"] {
        assert!(check_case(line).contains("\"error\":"), "{line:?}");
        assert!(classify_case(line).contains("\"error\":"), "{line:?}");
    }
    assert!(check_case("{\"tool\":\"Bash\",\"mode\":\"x\"}").contains("unknown mode"));
    assert_eq!(
        classify_case("{\"command\":\"ls\"}"),
        r#"{"readonly":true,"reason":"every command in it is read-only"}"#
    );
    assert!(classify_case("{}").starts_with("{\"readonly\":false"));
}

#[test]
fn r1_structure_is_never_read_only() {
    refused(&[
        "(ls)",
        "{ ls; }",
        "! ls",
        "if ls; then ls; fi",
        "ls &",
        "[[ -f x ]]",
        "((1))",
        "coproc ls",
        "f() { ls; }",
        "ls $x",
        "echo $HOME",
        "echo ${HOME}",
        "cat $?",
        "ls \"${HOME}\"",
    ]);
    accepted(&[
        "ls \"$PWD\"/src",
        "echo $?",
        "echo \"$? done\"",
        "ls # x; rm",
        "\n\nls\n\n# c\npwd\n",
    ]);
}

#[test]
fn r2_only_harmless_redirections_are_read_only() {
    accepted(&[
        "ls >/dev/null",
        "ls &>/dev/null",
        "ls 2>>/dev/null",
        "ls 2>&1",
        "ls 1>&2",
        "cat <x",
        "cat <<'E'\n$(id)\nE",
        "cat <<\\E\nx\nE",
    ]);
    refused(&[
        "ls >&-",
        "ls 2>&3",
        "cat <<E\nx\nE",
        "cat <<< x",
        "cat < $x",
        "cat < *",
        "cat < ~/x",
        "ls > '/dev/null'x",
        "{a}>/dev/null ls",
        "cat <&3",
        ">/dev/null",
    ]);
}

#[test]
fn r5_the_command_word_is_bare() {
    refused(&[
        "'ls'", "l\\s", "/bin/ls", "./ls", "l?", "\"ls\"", "$x", "~/ls",
    ]);
}

#[test]
fn r6_and_r7_wrappers_and_assignments() {
    accepted(&[
        "time -p ls",
        "timeout --signal=KILL 5 ls",
        "nohup ls",
        "stdbuf -oL ls",
        "builtin pwd",
        "LC_TIME=C TZ=UTC ls",
        "ls | xargs cat",
        "LANG=C timeout 3 ls",
    ]);
    refused(&[
        "time",
        "timeout ls",
        "nice -19 ls",
        "xargs",
        "ls | xargs sort",
        "ls | xargs -0 cat",
        "LANG=C",
        "LANG=~ ls",
        "LANG=\"$x\" ls",
        "command -p ls",
        "time A=1 ls",
    ]);
}

#[test]
fn r8_globs_only_where_every_flag_reads() {
    accepted(&[
        "ls *",
        "cat a?",
        "head [ab]*",
        "tail *.log",
        "wc *",
        "stat *",
        "du *",
        "grep x *",
        "echo *",
    ]);
    refused(&[
        "find *",
        "sort *",
        "sed p *",
        "git log *",
        "rg x *",
        "uniq *",
        "xxd *",
        "tree *",
        "date *",
        "diff *",
        "file *",
        "jq . *",
        "printf *",
        "test *",
        "ps *",
    ]);
}

#[test]
fn r9_devices_and_environments_are_refused() {
    refused(&[
        "cat /dev/tty",
        "ls /dev",
        "cat //dev/./zero",
        "cat /dev/null/../tty",
        "cat /proc/1/task/1/environ",
        "cat /proc/kcore",
        "grep x -f /dev/tty",
        "cat /proc/*/environ",
    ]);
    accepted(&["cat /dev/null", "cat /proc/cpuinfo", "cat dev/x", "ls /etc"]);
}

#[test]
fn r10_cd_stays_below() {
    accepted(&[
        "cd src; ls",
        "cd ./a/../b && ls",
        "cd . && git status",
        "cd a && cd .. && ls",
    ]);
    refused(&[
        "cd",
        "cd -",
        "cd ~",
        "cd -P x",
        "cd a b",
        "cd /tmp",
        "cd a/../..",
        "cd src && git log",
        "git log && cd src",
        "command cd /tmp",
        "pushd src",
    ]);
}

#[test]
fn safe_for_concurrency_is_what_reads_or_sleeps_in_place() {
    for command in ["ls", "sleep 1 && cat a", "sleep 0.5", "git status | head"] {
        assert!(is_concurrency_safe(command), "{command}");
    }
    for command in [
        "cd src && ls",
        "sleep 1 & ls",
        "sleep $x",
        "touch a",
        "(ls)",
        "",
        "pushd a",
        "sleep infinity",
        "command cd src",
    ] {
        assert!(!is_concurrency_safe(command), "{command}");
    }
}

#[test]
fn the_last_words_are_those_that_set_the_status() {
    let words = |command| last_words(command).map(|words| words.join(" "));
    assert_eq!(words("cat a | grep 'b c'"), Some("grep b c".to_owned()));
    assert_eq!(words("cd src && grep x y"), Some("grep x y".to_owned()));
    assert_eq!(words("make; grep x"), Some("grep x".to_owned()));
    assert_eq!(words("make && grep x"), None);
    assert_eq!(words("grep x &"), None);
    assert_eq!(words("grep 'x"), None);
}
