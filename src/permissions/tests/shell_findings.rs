//! Holes that an adversary found where our reading of a command and bash's differed, one test each.

use super::{Call, accepted, refused};

const BYPASS: &str = "bypassPermissions";

fn decided(calls: &[(Call, &str)]) {
    for (call, expected) in calls {
        assert_eq!(call.decision(), *expected, "{}", call.case);
    }
}

#[test]
fn a1_a_brace_closes_only_after_a_comma() {
    refused(&[
        "find . -name {x},-o,-exec,touch,canary,\\;}",
        "sort {f},-oout}",
        "rg {x},--pre=./p}",
        "git log {HEAD},--output=out}",
        "uniq {a},b}",
        "echo {{a},b}",
        "echo {a{},b}",
        "echo a{},b}",
        "echo {'a',b}",
        "echo {\"}\",b}",
        "echo {\\},b}",
        "echo {}{a,b}",
        "echo {x..y}",
        "echo {9..1..2}",
        "echo {{a,b}..c}",
        "echo {z..b}{1}",
        "ls \"$HOME\"{x},-R}",
        "cat *{x},b}",
    ]);
    accepted(&[
        "git log @{1}..@{2}",
        "git show HEAD@{upstream}",
        "git diff stash@{0} stash@{1}",
        "echo {}",
        "echo {},b}",
        "echo {a}",
        "echo {a}..b}",
        "echo '{a,b}' \"{a,b}\" \\{a,b} {a\\,b} {'a,b'}",
        "echo a,b} {a,b {a..}",
        "grep -E 'x{1,2}' f",
    ]);
}

#[test]
fn a1_braces_that_cost_too_much_count_as_braces() {
    refused(&[&format!("echo {}", "{".repeat(9_000))]);
    let call = Call::bash(&format!("cat {}", "{a,b}".repeat(900))).deny("Read(.env)");
    assert_eq!(call.allow("Bash(cat *)").decision(), "ask");
}

#[test]
fn a5_arithmetic_evaluates_what_quotes_hide() {
    let hidden = [
        "echo ${HOME:'a[$(rm x)]'}",
        "echo ${HOME:0:'a[$(rm x)]'}",
        "echo ${x['a[$(rm x)]']}",
        "echo ${#x['a[$(rm x)]']}",
        "echo ${!x['a[$(rm x)]']}",
        "echo ${!x:'a[$(rm x)]'}",
        "echo ${@:'a[$(rm x)]'}",
        "echo ${*:1:'a[`rm x`]'}",
        "echo ${x[0]:'a[$(rm x)]'}",
        "echo ${x['a[$(rm x)]']:-y}",
        "echo ${HOME:$'a[\\x24\\x28rm x)]'}",
        "echo ${HOME:0:$'a[\\44(rm x)]'}",
        "echo ${HOME:\\a[\\$(rm x)]}",
        "echo \"${HOME:'a[$(rm x)]'}\"",
        "echo ${HOME:\"a[\\$(rm x)]\"}",
        "echo $(( 'a[$(rm x)]' ))",
        "echo $[ 'a[$(rm x)]' ]",
        "echo ${a:${b:'a[$(rm x)]'}}",
        "echo ${x:-${HOME:'a[$(rm x)]'}}",
        "cat <<E\n${HOME:\"a[\\$(rm x)]\"}\nE",
    ];
    for command in hidden {
        let call = || Call::bash(command).allow("Bash(echo *)").allow("Bash(cat)");
        decided(&[
            (call().deny("Bash(rm *)"), "deny"),
            (call().deny("Bash(rm *)").mode(BYPASS), "deny"),
            (call().allow("Bash(rm *)"), "ask"),
        ]);
    }
    for command in [
        "echo ${HOME:2:3}",
        "echo ${x[1]} ${x[@]} ${#x[@]}",
        "echo ${x: -1} ${@:2}",
        "echo $((1 + 2 <= 3 && 4 == 1 != 2)) $[1 << 2]",
        "echo ${x:-'$(rm x)'} ${x#'a'} ${x/\"a\"/b}",
    ] {
        let call = Call::bash(command).allow("Bash(echo *)").deny("Bash(rm *)");
        assert_eq!(call.decision(), "allow", "{command}");
    }
}

#[test]
fn a5_builtins_evaluate_subscripts_that_quotes_hide() {
    for (command, rule) in [
        ("test -v 'a[$(touch y)]'", "Bash(test *)"),
        ("[ -v 'a[$(touch y)]' ]", "Bash([ *)"),
        ("read 'a[$(touch y)]'", "Bash(read *)"),
        ("unset 'a[`touch y`]'", "Bash(unset *)"),
        ("wait -p 'a[$(touch y)]'", "Bash(wait *)"),
    ] {
        decided(&[(Call::bash(command).allow(rule), "ask")]);
    }
    decided(&[(Call::bash("test -f 'a[1]'").allow("Bash(test *)"), "allow")]);
}

#[test]
fn a6_pwd_is_where_the_shell_stands_by_then() {
    for command in [
        "cd secrets && cat \"$PWD/key\"",
        "cd secrets; head -1 \"$PWD\"/key",
        "cd secrets && cat \"${PWD}/key\"",
        "cd secrets && cat ~+/key",
        "cd secrets && cd - && cat ~-/key",
        "cd \"$PWD/secrets\" && cat key",
        "cd secrets/a && cat \"$PWD/../key\"",
        "ls || cd secrets; cat \"$PWD/key\"",
    ] {
        let call = Call::bash(command).deny("Read(secrets/**)");
        decided(&[(call.allow("Bash"), "deny")]);
    }
    decided(&[
        (
            Call::bash("cd .git && tee \"$PWD/config\"").allow("Bash(tee *)"),
            "ask",
        ),
        (
            Call::bash("cd a/b && cat \"$PWD\"/../../x \"$PWD/y\""),
            "allow",
        ),
        (Call::bash("cd a && cat \"$PWD\"/../../x"), "ask"),
        (Call::bash("ls || cd a; cat \"$PWD\"/../x"), "ask"),
        (Call::bash("cat \"$OLDPWD/x\""), "ask"),
        (Call::bash("cd / && rm -rf \"$PWD\"").mode(BYPASS), "deny"),
        (Call::bash("rm -rf \"$PWD\"").mode(BYPASS), "ask"),
    ]);
}

#[test]
fn b5_cd_counts_only_where_the_shell_runs_it() {
    refused(&[
        "timeout 5 cd src",
        "timeout 5 cd src && cat ../x",
        "nice cd src && cat ../x",
        "nohup cd src",
        "stdbuf -oL cd src",
        "timeout 5 command cd src",
        "command nice cd src",
    ]);
    accepted(&["cd src", "command cd src", "builtin cd src", "time cd src"]);
    decided(&[
        (
            Call::bash("timeout 5 cd src && cat ../x").allow("Bash(timeout *)"),
            "ask",
        ),
        (Call::bash("command cd src && cat ../x"), "allow"),
        (
            Call::bash("command -p cd .. && ls").allow("Bash(command *)"),
            "ask",
        ),
        (
            Call::bash("\\command cd / && cat etc/x").allow("Bash(*command *)"),
            "ask",
        ),
    ]);
}

#[test]
fn b7_an_expansion_that_assigns_is_an_assignment() {
    for command in [
        "echo ${CDPATH:=/}; cd etc && cat passwd",
        "echo ${CDPATH=/}",
        "echo \"${CDPATH:=/}\"",
        "echo ${a[0]:=1}",
        "echo ${x:-${CDPATH:=/}}",
        "echo $((CDPATH=5))",
        "echo $((x++)) $((--y))",
        "echo $[x<<=1]",
        "echo ${HOME:x=1}",
        "echo ${a[x+=1]}",
        "echo $(( ${CDPATH:=/} ))",
        "echo x <<E\n${CDPATH:=/}\nE",
        "printf -v CDPATH /",
        "printf -vCDPATH /",
        "printf {-v,CDPATH,/}",
        "command printf -v CDPATH /",
    ] {
        let call = || {
            let call = Call::bash(command).allow("Bash(echo *)");
            call.allow("Bash(printf *)").allow("Bash(command *)")
        };
        decided(&[(call(), "ask"), (call().mode("acceptEdits"), "ask")]);
    }
    decided(&[
        (
            Call::bash("printf '%s' -v").allow("Bash(printf *)"),
            "allow",
        ),
        (Call::bash("printf -- -v").allow("Bash(printf *)"), "allow"),
        (
            Call::bash("echo ${x:-a=b} ${y/=/:}").allow("Bash(echo *)"),
            "allow",
        ),
    ]);
}

#[test]
fn b10_braces_are_expanded_for_path_rules() {
    for command in [
        "cat .en{v,x}",
        "cat {.env,a}",
        "head .e{n,m}v",
        "cat .en{v..v}",
        "cat ./{a,b}/../.{env,x}",
        "cat < .en{v..v}",
        "cat '.e'{n,m}v",
        "cat {a},.env}",
    ] {
        let call = || {
            let call = Call::bash(command).deny("Read(.env)").allow("Bash(cat *)");
            call.allow("Bash(head *)")
        };
        decided(&[(call(), "ask"), (call().mode(BYPASS), "ask")]);
    }
    for command in [
        "tee .gi{t,x}/config",
        "touch .env{rc,x}",
        "cp a .gi{t,x}/config",
        "mv {a,.git/config}",
        "timeout 5 tee .gi{t,x}/config",
    ] {
        let call = Call::bash(command)
            .allow("Bash(tee *)")
            .allow("Bash(touch *)");
        decided(&[(call.allow("Bash(cp *)").allow("Bash(mv *)"), "ask")]);
    }
    let call = Call::bash("cat a.{c,h}").deny("Read(.env)");
    decided(&[(call.allow("Bash(cat *)"), "allow")]);
}

#[test]
fn b10_bypass_asks_where_deny_rules_cannot_see() {
    for command in [
        "r{m,} x",
        "rm${IFS}-rf${IFS}x",
        "r$@m x",
        "$X x",
        "/bin/r? x",
        "`echo r`m x",
        "timeout 5 $X x",
        "sudo -u root r$@m x",
        "env A=1 $X x",
        "find . -exec $X {} +",
        "echo \"$'",
    ] {
        decided(&[
            (Call::bash(command).deny("Bash(rm *)").mode(BYPASS), "ask"),
            (Call::bash(command).deny("Read(.env)").mode(BYPASS), "allow"),
        ]);
    }
    decided(&[
        (Call::bash("{rm,x}").deny("Bash(rm *)").mode(BYPASS), "deny"),
        (
            Call::bash("\"$DIR\"/rm x").deny("Bash(rm *)").mode(BYPASS),
            "deny",
        ),
        (
            Call::bash("$VENV/bin/python \"$x\" {a,b}; timeout 5 make \"$y\"; sudo cp $a b")
                .deny("Bash(rm *)")
                .mode(BYPASS),
            "allow",
        ),
    ]);
}

#[test]
fn b10_the_script_of_a_shell_is_found_behind_its_options() {
    for command in [
        "bash -c -o pipefail 'rm -rf /'",
        "bash -o pipefail -c 'rm -rf /'",
        "bash -co pipefail 'rm -rf /'",
        "bash -oc pipefail 'rm -rf /'",
        "bash -c +o posix 'rm -rf /'",
        "bash -c -O extglob 'rm -rf /'",
        "bash -c +O extglob -- 'rm -rf /'",
        "bash -eo pipefail -O extglob -c -x 'rm -rf /'",
        "bash -c -- 'rm -rf /'",
        "bash -c - 'rm -rf /'",
        "bash -lc 'rm -rf /'",
        "sh -ec 'rm -rf /' _ x",
        "bash --norc --rcfile f -c 'rm -rf /'",
        "timeout 5 dash -e -c 'rm -rf /'",
        "su root -c 'rm -rf /'",
        "script -qc 'rm -rf /' out",
        "flock f -c 'rm -rf /'",
        "watch 'rm -rf /'",
    ] {
        decided(&[
            (Call::bash(command).mode(BYPASS), "deny"),
            (Call::bash(command).deny("Bash(rm *)").mode(BYPASS), "deny"),
        ]);
    }
}

#[test]
fn only_a_name_in_braces_names_a_descriptor() {
    for command in [
        "{rm,x}</dev/null",
        "{rm,x}>/dev/null",
        "true; {rm,-rf,x} 2>&1",
    ] {
        decided(&[(Call::bash(command).deny("Bash(rm *)").mode(BYPASS), "deny")]);
    }
    decided(&[(
        Call::bash("{fd}</dev/null rm x")
            .deny("Bash(rm *)")
            .mode(BYPASS),
        "deny",
    )]);
    refused(&["{fd}<f cat", "{fd[0]}<f cat"]);
}

#[test]
fn time_hides_no_assignment() {
    decided(&[
        (Call::bash("time A=1 ls").allow("Bash(time *)"), "ask"),
        (Call::bash("time -p A=1 ls").allow("Bash(time *)"), "ask"),
    ]);
    accepted(&["time ls", "time -p ls"]);
}

#[test]
fn what_bash_does_not_parse_is_not_accepted() {
    refused(&["]]", "echo a=(1)", "ls a=()"]);
    for command in ["echo a=(1)", "echo x; ]]"] {
        decided(&[(
            Call::bash(command).allow("Bash(echo *)").allow("Bash(*)"),
            "ask",
        )]);
    }
}
