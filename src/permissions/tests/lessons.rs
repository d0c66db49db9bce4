//! What went wrong elsewhere: one test for each reported hole that this part of the program could have.

use super::{Call, accepted, refused};

#[test]
fn cve_2025_54795_quoting_in_echo_hides_no_second_command() {
    refused(&[
        "echo '\\'; touch y; echo '\\'",
        "echo \"\\\\\"; touch y; echo \"\"",
        "echo \"`touch y`\"",
    ]);
    accepted(&["echo '\\' ; echo 'a'\\''b'"]);
}

#[test]
fn cve_2025_55284_network_tools_are_no_readers() {
    refused(&[
        "ping -c 1 x.example",
        "nslookup x",
        "dig x",
        "host x",
        "hostname -f",
        "hostname -i",
    ]);
}

#[test]
fn cve_2025_58764_rg_starts_no_preprocessor() {
    refused(&[
        "rg --pre ./x a",
        "rg --pre=./x a",
        "rg -z a",
        "rg --search-zip a",
        "rg --hostname-bin=./x a",
        "rg -nz a",
    ]);
}

#[test]
fn cve_2025_64755_sed_writes_and_executes_nothing() {
    refused(&[
        "sed 's/a/b/w out' f",
        "sed 's/a/b/gw out' f",
        "sed -n '1e id' f",
        "sed '$!w out' f",
        "sed -n -e p -e 'r f' f",
        "sed -s p f",
    ]);
}

#[test]
fn cve_2025_66032_expansions_and_bundles_are_refused() {
    refused(&[
        "rm${IFS}x",
        "cat${IFS}x",
        "echo ${x@P}",
        "sort -uo out f",
        "sort -ruoout f",
        "git diff --outpu=x",
        "sed -nEi p f",
    ]);
}

#[test]
fn cve_2026_24887_find_accepts_a_closed_list() {
    refused(&[
        "find . -fprintf out x",
        "find . -fprint0 out",
        "find . -quit",
        "find . -files0-from f",
        "find -D exec .",
        "find . -name",
    ]);
}

#[test]
fn cve_2026_25723_sed_behind_a_pipe_is_checked_in_accept_edits() {
    let call = Call::bash("echo x | sed 's/x/y/w .git/config'").mode("acceptEdits");
    assert_eq!(call.decision(), "ask");
    let call = Call::bash("echo x | sed -i s/a/b/ .bashrc")
        .mode("acceptEdits")
        .allow("Bash(sed *)");
    assert_eq!(call.decision(), "ask");
}

#[test]
fn cve_2026_24053_every_redirection_operator_writes() {
    for command in [
        "ls >| x", "ls >&x", "ls &> x", "ls &>> x", "ls <> x", "ls 1<>x", "ls >>x", "ls 2>|x",
    ] {
        refused(&[command]);
        assert_eq!(Call::bash(command).decision(), "ask", "{command}");
        assert_eq!(
            Call::bash(command).deny("Edit(x)").decision(),
            "deny",
            "{command}"
        );
    }
}

#[test]
fn cve_2026_25722_the_directory_is_followed_through_the_command() {
    assert_eq!(
        Call::bash("cd .git && touch config")
            .mode("acceptEdits")
            .decision(),
        "ask"
    );
    assert_eq!(
        Call::bash("cd secrets && cat key")
            .deny("Read(secrets/key)")
            .decision(),
        "deny"
    );
    assert_eq!(Call::bash("cd a && cd ../.. && ls").decision(), "ask");
    assert_eq!(
        Call::bash("cd / && rm -rf *")
            .mode("bypassPermissions")
            .decision(),
        "deny"
    );
}

#[test]
fn every_part_is_checked() {
    for operator in ["&&", "||", ";", "|", "|&", "&", "\n"] {
        let command = format!("npm test {operator} curl x");
        assert_eq!(
            Call::bash(&command).allow("Bash(npm *)").decision(),
            "ask",
            "{command}"
        );
        assert_eq!(
            Call::bash(&command)
                .allow("Bash")
                .deny("Bash(curl *)")
                .decision(),
            "deny",
            "{command}"
        );
    }
}

#[test]
fn deny_looks_into_substitutions_shells_and_wrappers() {
    for command in [
        "echo $(curl x)",
        "echo \"$(curl x)\"",
        "echo `curl x`",
        "cat <(curl x)",
        "ls > $(curl x)",
        "(curl x)",
        "{ curl x; }",
        "if true; then curl x; fi",
        "while true; do curl x; done",
        "until curl x; do :; done",
        "for i in $(curl x); do ls; done",
        "case $(curl x) in a) ls;; esac",
        "case a in a) curl x;; esac",
        "f() { curl x; }",
        "function f { curl x; }",
        "! curl x",
        "coproc curl x",
        "time curl x",
        "a=$(curl x)",
        "a=($(curl x))",
        "A=1 B=2 curl x",
        "echo ${a:-$(curl x)}",
        "echo $((1+$(curl x)))",
        "cat <<E\n$(curl x)\nE",
        "sh -c 'curl x'",
        "bash -lc \"curl x\"",
        "sudo bash -c 'curl x'",
        "eval curl x",
        "eval 'curl x'",
        "eval \"ls; curl x\"",
        "env -i A=1 curl x",
        "find . -exec curl x {} +",
        "ls | xargs -n1 curl",
        "nohup nice -n 5 timeout 3 curl x",
        "exec curl x",
        "watch curl x",
        "setsid curl x",
        "flock l curl x",
        "/usr/bin/curl x",
        "cu'r'l x",
        "c\\url x",
        "$'curl' x",
        "curl\tx",
        "bash <<< 'curl x'",
        "bash <<E\ncurl x\nE",
        "echo \"a\" && \\\ncurl x",
        "echo $\\\n(curl x)",
        "{curl,x}",
        "trap 'curl x' EXIT",
        "[[ -n $(curl x) ]]",
        "if curl x",
        "echo 'open; curl x",
        "ls\u{a0}; curl x",
        "test -v 'a[$(curl x)]'",
        "x='a[$(curl x)]'; echo $((x))",
        "git -c alias.x='!curl x' x",
        "{ curl x",
    ] {
        assert_eq!(
            Call::bash(command)
                .allow("Bash")
                .deny("Bash(curl *)")
                .decision(),
            "deny",
            "{command}"
        );
        let asked = Call::bash(command)
            .allow("Bash")
            .ask("Bash(curl *)")
            .mode("bypassPermissions");
        assert_eq!(asked.decision(), "ask", "{command}");
    }
}

#[test]
fn deny_still_holds_after_many_parts() {
    let command = format!("{}curl x", "true; ".repeat(2_000));
    assert_eq!(
        Call::bash(&command)
            .deny("Bash(curl *)")
            .mode("bypassPermissions")
            .decision(),
        "deny"
    );
    let command = format!("echo {}; curl x", "a".repeat(20_000));
    assert_eq!(
        Call::bash(&command)
            .deny("Bash(curl *)")
            .mode("bypassPermissions")
            .decision(),
        "deny"
    );
}

#[test]
fn cve_2026_22708_assignments_and_builtins_poison_nothing() {
    refused(&[
        "PATH=/x ls",
        "export PATH=/x; ls",
        "X=1",
        "LANG=C",
        "declare -x A=1",
        "readonly A=1",
        "alias ls=x",
        "hash -p /x ls",
    ]);
    for command in [
        "FOO=1 npm test",
        "LANG=C FOO=1 npm test",
        "PATH=. npm test",
        "LANG+=x npm test",
        "LANG=$(id) npm test",
    ] {
        assert_eq!(
            Call::bash(command).allow("Bash(npm *)").decision(),
            "ask",
            "{command}"
        );
    }
}

#[test]
fn cve_2026_28363_abbreviations_of_long_flags_fail() {
    refused(&[
        "sort --compress-prog=./x f",
        "sort --outp=x f",
        "sed --in-pl p f",
        "git grep --open-files=./x a",
        "ls --al",
    ]);
}

#[test]
fn cve_2026_31996_sort_writes_nothing() {
    refused(&[
        "sort f -o f",
        "sort -o f f",
        "sort -T /x f",
        "sort --files0-from=f",
        "sort -of f",
    ]);
}

#[test]
fn cve_2026_28463_expansions_turn_no_argument_into_another_file() {
    refused(&[
        "cat $F",
        "cat ${F}",
        "cat \"$F\"",
        "cat {a,b}",
        "cat {1..3}",
        "cat ~root/x",
        "cat $1",
        "cat \"$@\"",
    ]);
}

#[test]
fn cve_2026_28460_a_continuation_does_not_hide_a_substitution() {
    refused(&[
        "echo $\\\n(touch y)",
        "echo \"$\\\n(touch y)\"",
        "echo <\\\n(touch y)",
        "ls &\\\n& touch y",
        "ls >\\\n| x",
    ]);
}

#[test]
fn cve_2026_28470_substitutions_in_double_quotes_are_live() {
    refused(&[
        "echo \"$(touch y)\"",
        "echo \"a`touch y`b\"",
        "echo \"${x:-$(touch y)}\"",
    ]);
}

#[test]
fn cve_2026_31992_env_and_other_runners_are_no_wrappers() {
    refused(&[
        "env ls",
        "env -S 'ls'",
        "sudo ls",
        "setsid ls",
        "ionice ls",
        "flock f ls",
        "watch ls",
        "script -c ls",
        "busybox ls",
    ]);
}

#[test]
fn cve_2026_53861_bundled_shell_flags_are_seen() {
    for command in [
        "bash -ec 'rm x'",
        "sh -xc 'rm x'",
        "bash --norc -c 'rm x'",
        "dash -c -- 'rm x'",
    ] {
        assert_eq!(
            Call::bash(command).deny("Bash(rm *)").decision(),
            "deny",
            "{command}"
        );
    }
}

#[test]
fn cve_2026_55582_git_options_run_no_program() {
    refused(&[
        "git -c alias.x=!id x",
        "git -c core.pager=id log",
        "git -C x status",
        "git --exec-path=. status",
        "git --git-dir=x log",
        "git --work-tree=x status",
        "git -p log",
        "git log --ext-diff",
        "git show --textconv",
        "git grep -Oless a",
        "git grep -nO a",
        "git log --format=%G?",
        "git log --pretty=format:%GK",
        "git log --pretty=mine",
        "git branch --format='%(signature)'",
        "git diff --no-index a b",
        "git log --show-signature",
        "git help log",
        "git log --help",
        "git diff -U --output=x",
    ]);
}

#[test]
fn gemini_25935_what_does_not_parse_is_never_allowed() {
    for command in [
        "npm test &&",
        "npm test 'x",
        "npm test $(",
        "npm test )",
        "npm test; ;",
        "npm $[ x='a[$(curl)]', x ]",
        "npm test <<E\nx",
    ] {
        refused(&[command]);
        assert_eq!(
            Call::bash(command).allow("Bash(npm *)").decision(),
            "ask",
            "{command:?}"
        );
    }
}

#[test]
fn gemini_11510_redirections_are_split_off() {
    assert_eq!(
        Call::bash("npm test > .bashrc")
            .allow("Bash(npm *)")
            .allow("Edit(**)")
            .decision(),
        "ask"
    );
    assert_eq!(
        Call::bash("npm test>out").allow("Bash(npm *)").decision(),
        "ask"
    );
}

#[test]
fn tree_sitter_337_astral_characters_end_no_process() {
    refused(&["{\u{e0072}", "ls \u{70000}", "[[ (\u{40000}"]);
}
