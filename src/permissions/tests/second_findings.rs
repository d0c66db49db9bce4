//! Holes that an adversary found on the second look, one test each.

use super::Call;

const BYPASS: &str = "bypassPermissions";

/// What evaluates a variable, which may hold the last word of the command before.
const EVALUATING: [&str; 14] = [
    "${HOME:0:_}",
    "${HOME:_}",
    "\"${HOME:_}\"",
    "${HOME:$_}",
    "${HOME:${_}}",
    "${arr[_]}",
    "${arr[_]:-x}",
    "$((_))",
    "$((1+$_))",
    "\"$((_ + 1))\"",
    "$[_]",
    "${!_}",
    "${!_:-x}",
    "${#arr[_]}",
];

#[test]
fn h1_arithmetic_over_a_variable_is_covered_by_no_rule_for_the_command() {
    for word in EVALUATING {
        let command = format!("true 'a[$(touch c)]'; mkdir -p docs {word}");
        for mode in ["default", "acceptEdits"] {
            let call = Call::bash(&command).allow("Bash(mkdir:*)").mode(mode);
            assert_eq!(call.decision(), "ask", "{command}");
        }
        let whole = Call::bash(&command).allow("Bash(mkdir:*)").allow("Bash");
        assert_eq!(whole.decision(), "allow", "{command}");
    }
    for builtin in [
        "let _",
        "let x=_",
        "declare -i x=_",
        "test -v 'a[_]'",
        "unset 'a[_]'",
        "cat <<E\n$((_))\nE",
    ] {
        let name = builtin.split(' ').next().unwrap_or_default();
        let call = Call::bash(builtin).allow(&format!("Bash({name}:*)"));
        assert_eq!(call.decision(), "ask", "{builtin}");
    }
}

#[test]
fn h1_numbers_and_names_are_certain() {
    for command in [
        "echo $((1+2)) $(( (4 % 3) << 2 )) $[7]",
        "echo ${x:0:3} ${x: -1} ${@:2} ${a[0]} ${a[@]} ${a[0]%.rs} ${a[*]:1:2}",
        "echo ${!prefix*} ${!prefix@} ${!a[@]} ${!a[*]} ${!} $_ ${_}",
        "echo ${x:-word} ${x#pre} ${x/a/b} ${#x} ${x^^}",
    ] {
        let call = Call::bash(command).allow("Bash(echo:*)");
        assert_eq!(call.decision(), "allow", "{command}");
    }
    let export = Call::bash("export PS1='[me]'").allow("Bash(export:*)");
    assert_eq!(export.decision(), "allow");
}

#[test]
fn h1_deny_and_ask_rules_see_what_a_variable_may_hold() {
    let hidden = EVALUATING.map(|word| format!("true 'a[$(rm x)]'; mkdir -p docs {word}"));
    let more = [
        "true 'a[`rm x`]'; (( _ ))",
        "true \"a[\\$(rm x)]\"; [[ _ -eq 1 ]]",
        "for x in 'a[$(rm x)]'; do echo $((x)); done",
        "true 'a[$(rm x)]'; for ((i = _; i < 1; i++)); do ls; done",
        "true 'a[$(rm x)]'; echo \"$(echo $((_)))\"",
        "true 'a[$(rm x)]'; let _",
    ];
    for command in hidden.iter().map(String::as_str).chain(more) {
        for mode in ["default", BYPASS] {
            let call = || Call::bash(command).allow("Bash").mode(mode);
            assert_eq!(call().deny("Bash(rm:*)").decision(), "deny", "{command}");
            assert_eq!(call().ask("Bash(rm:*)").decision(), "ask", "{command}");
        }
    }
    // Where nothing is evaluated, quoted text is text.
    let commit = Call::bash("git commit -m 'do not use `rm x` or $(rm x)'").mode(BYPASS);
    assert_eq!(commit.deny("Bash(rm:*)").decision(), "allow");
}
