//! Holes that an adversary found on the second look, one test each.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::{Call, accepted, refused, touched};
use crate::permissions::world::RealLinks;
use crate::permissions::{CallDetails, Decision, Rules, World, decide};
use crate::protocol::{Level, Mode};

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

/// What is decided about a command in a directory of this machine where edits are accepted.
fn accepted_in(root: &Path, command: &str) -> bool {
    let world = World {
        cwd: root.to_owned(),
        home: root.join("home"),
        shell_dir: None,
        additional_directories: Vec::new(),
        config_dir: None,
        data_dir: None,
        protected_files: Vec::new(),
        links: &RealLinks,
    };
    let call = CallDetails {
        tool: "Bash",
        input: &json!({ "command": command }),
        touches: touched("Bash", &json!({ "command": command })),
        level: Level::Confirm,
        read_only: false,
    };
    decide(&call, &Rules::default(), Mode::AcceptEdits, &world).decision == Decision::Allow
}

/// A directory with these files in it.
fn tree(files: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for file in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, "x").expect("a file");
    }
    root
}

#[test]
fn h4_a_link_is_neither_copied_nor_moved_unasked() {
    for command in [
        "cp -P lgit x6 && cp payload x6/hooks/pre-commit",
        "cp -P lgit x6",
        "cp -d lgit x6",
        "cp -a lgit x6",
        "cp --no-dereference lgit x6",
        "cp -r lgit x6",
        "cp lgit x6",
        "mv lgit x6 && cp payload x6/hooks/pre-commit",
        "mv ./lgit x6",
        "mv lgit/ x6",
        "cp -t sub a lgit",
        "cd sub && cp -P ../lgit x6",
        "mv inner x6",
    ] {
        for target in ["/repo/.git", ".git", "src"] {
            let call = Call::bash(command).mode("acceptEdits");
            let call = call
                .link("/repo/lgit", target)
                .link("/repo/inner/l", target);
            assert_eq!(call.decision(), "ask", "{command} -> {target}");
        }
    }
    let call = Call::bash("cp src/a b && mv b c").mode("acceptEdits");
    let call = call.link("/repo/lgit", ".git");
    assert_eq!(call.decision(), "allow");
}

#[test]
fn h5_a_tree_brings_the_protected_names_in_it() {
    let root = tree(&[
        "src2/pkg/.vscode/tasks.json",
        "conf/a/.local/x",
        "up/share/applications/x.desktop",
        "plain/a/b.rs",
        "payload",
    ]);
    fs::create_dir_all(root.path().join(".local")).expect("a directory");
    for command in [
        "cp -r src2/pkg .",
        "cp -R src2 other",
        "cp -r src2/pkg plain",
        "mv src2/pkg .",
        "mv src2 other",
        "mv -t plain src2",
        "cd src2 && mv pkg ..",
        "cp -r conf other",
        "cp -r up/share .local",
        "mv up/share .local",
    ] {
        assert!(!accepted_in(root.path(), command), "{command}");
    }
    for command in [
        "cp -r plain other",
        "mv plain other",
        "mv payload plain",
        "cp payload plain/a",
    ] {
        assert!(accepted_in(root.path(), command), "{command}");
    }
}

#[test]
fn h6_a_file_with_another_name_is_not_written_unasked() {
    let root = tree(&[
        "a",
        "b",
        "d/s",
        "fresh/d/s",
        ".git/hooks/pre-commit",
        "plain",
    ]);
    for name in ["hook", "d/hook"] {
        let path = root.path().join(name);
        fs::hard_link(root.path().join(".git/hooks/pre-commit"), path).expect("a name");
    }
    symlink("hook", root.path().join("link")).expect("a link");
    for command in [
        "cp a hook",
        "mv a hook",
        "touch hook",
        "echo x > hook",
        "echo x >> d/hook",
        "echo x > link",
        "cd d && cp ../a hook",
        "cp -t d hook",
        "cp -r fresh/d .",
    ] {
        assert!(!accepted_in(root.path(), command), "{command}");
    }
    for command in [
        "cp a plain",
        "touch b new",
        "echo x > plain",
        "cp hook copy",
        "cp a d",
    ] {
        assert!(accepted_in(root.path(), command), "{command}");
    }
}

#[test]
fn h10_what_never_ends_or_prints_without_measure_is_no_reading() {
    refused(&[
        "tail +1f a.txt",
        "tail +f a.txt",
        "tail +10cf a.txt",
        "hexdump -e '1/1 \"%99999x\"' f",
        "hexdump -e '9999/1 \"%999x\"' f",
        "hexdump -f formats f",
        "git log --date=format:%100000000Y",
        "git blame --date=format:%100000000Y f",
        "git shortlog -w0,100000000",
        "git log --stat=100000000",
        "git log --expand-tabs=100000000",
        "du --time-style=+%100000000Y .",
        "ls -l --time-style=+%100000000Y",
        "tree -D --timefmt=%100000000Y",
        "date +%100000000Y",
        "find . -printf '%100000000p'",
        "printf '%100000000d' 1",
        "printf '%*d' 100000000 1",
        &format!("sed '{}' f", "s/.*/&&/;".repeat(20)),
        &format!("sed '{}' f", "s/\\(.*\\)/\\1\\1/;".repeat(20)),
        &format!("sed {} f", "-e 's/.*/&&/' ".repeat(20)),
        &format!("sed '{}' f", "s/x/xxxxxxxx/g;".repeat(10)),
        &format!("jq '{}' f", [".+."; 20].join("|")),
    ]);
    accepted(&[
        "tail -n +1 a.txt",
        "tail +f.txt",
        "hexdump -e '16/1 \"%02x \" \"\\n\"' f",
        "git log --date=format:%Y-%m-%d --stat=120",
        "git shortlog -w76,6,9",
        "ls -l --time-style=+%Y-%m-%d",
        "sed 's/\\(a\\)-\\(b\\)/\\2-\\1/g; s/foo/foobar/g; s/x/[&]/' f",
        "jq '.[] | {name, version, x} | \"\\(.name)@\\(.version)\"' f",
        "jq '.a + \"-\" + .b + \"-\" + .c' f",
    ]);
}

#[test]
fn u7_numbers_in_the_text_of_a_format_pad_nothing() {
    accepted(&[
        "printf 'Build 20240101\\n'",
        "printf 'port %s 12345\\n' x",
        "printf '%s * %s\\n' 12345 67890",
        "date '+%Y since 19700101'",
        "find . -printf '%p 12345678\\n'",
        "stat -c '%n 12345678' f",
    ]);
}

#[test]
fn h11_what_links_lead_to_is_looked_at_by_more_than_readers() {
    for command in [
        "ls -L",
        "ls -lL .",
        "ls --dereference",
        "find . -xtype f",
        "find . -lname '*key*'",
        "find . -printf '%p %Y'",
    ] {
        let call = || Call::bash(command);
        assert_eq!(
            call().link("/repo/l", "/etc").decision(),
            "ask",
            "{command}"
        );
        assert_eq!(
            call().link("/repo/l", "src").decision(),
            "allow",
            "{command}"
        );
    }
}

#[test]
fn h12_what_a_shell_is_fed_and_builtins_register_is_looked_into() {
    for command in [
        "echo 'rm x' | sh",
        "echo rm x | bash",
        "echo -e 'ls\\nrm x' | sh -s",
        "printf 'rm x\\n' | sh",
        "printf '%s\\n' 'rm x' | sh",
        "printf '%s %s\\n' rm x | cat | sudo sh",
        "alias q=rm; q x",
        "hash -p /bin/rm q; q x",
        "mapfile -C 'rm x' -c 1 a < f",
        "readarray -tC 'rm x' -c 1 a < f",
        "compgen -C 'rm x'",
    ] {
        let call = || Call::bash(command).mode(BYPASS);
        assert_eq!(call().deny("Bash(rm:*)").decision(), "deny", "{command}");
        assert_eq!(call().ask("Bash(rm:*)").decision(), "ask", "{command}");
    }
    for command in [
        "echo 'rm x' | cat",
        "echo 'rm x'; sh -c ls",
        "mapfile -t a < f",
        "alias",
    ] {
        let call = Call::bash(command).mode(BYPASS).deny("Bash(rm:*)");
        assert_eq!(call.decision(), "allow", "{command}");
    }
    // Scripts that nobody looks into any more may be anything.
    let many = format!("let {}; sh -c 'rm x'", "'$(a)' ".repeat(1_001));
    let call = Call::bash(&many).mode(BYPASS).deny("Bash(rm:*)");
    assert_eq!(call.decision(), "ask");
}
