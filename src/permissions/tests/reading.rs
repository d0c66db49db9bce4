//! What counts as reading: one test for each finding about commands that run without a question.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use super::{Call, accepted, refused, touched};
use crate::permissions::bash::classify::classify_by;
use crate::permissions::bash::lists::Lists;
use crate::permissions::bash::{is_concurrency_safe, read};
use crate::permissions::world::RealLinks;
use crate::permissions::{CallDetails, Decision, Rules, World, decide};
use crate::protocol::{Level, Mode};

/// What is decided about a command in a real directory, without rules.
fn decided_in(directory: &Path, command: &str) -> Decision {
    let world = World {
        cwd: directory.to_owned(),
        home: "/home/u".into(),
        shell_dir: None,
        additional_directories: Vec::new(),
        config_dir: None,
        data_dir: None,
        protected_files: Vec::new(),
        links: &RealLinks,
    };
    let input = json!({ "command": command });
    let call = CallDetails {
        tool: "Bash",
        input: &input,
        touches: touched("Bash", &input),
        level: Level::Confirm,
        read_only: false,
    };
    decide(&call, &Rules::default(), Mode::Default, &world).decision
}

fn workspace(files: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for file in files {
        let path = root.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(path, "x").expect("a file");
    }
    root
}

fn asks(command: &str) {
    assert_eq!(Call::bash(command).decision(), "ask", "{command}");
}

fn runs(command: &str) {
    assert_eq!(Call::bash(command).decision(), "allow", "{command}");
}

#[test]
fn a4_xargs_reads_only_the_pipe() {
    refused(&[
        "find . | xargs cat <<'E'\n/etc/passwd\nE",
        "ls | sort <<'E' | xargs cat\n/etc/passwd\nE",
        "ls | xargs cat < list",
        "ls | head -3 < list | xargs cat",
        "find . <<'E' | xargs cat\nx\nE",
        "find 'x /etc/passwd y' 2>&1 | xargs cat",
        "find 'x /etc/passwd y' | xargs cat",
        "find . |& xargs cat",
        "ls | sort 2>&1 | xargs cat",
        "echo /proc/self/environ | xargs cat",
        "echo /proc/self/environ | xargs -0 cat",
        "find /proc/self -name environ | xargs cat",
        "find /proc/self -name environ -print0 | xargs -0 cat",
        "find ../../../../proc | xargs cat",
        "cat list | xargs cat",
        "xargs cat",
        "rg --json -l x | xargs cat",
        "rg -l --json x | xargs cat",
        "rg x | xargs cat",
        "grep x f | xargs cat",
        "sort 12 | xargs cat",
        "ls | sort 12 | xargs cat",
        "ls | head -c 3 | xargs cat",
        "ls | sed 's/^/x/' | xargs cat",
        "ls && xargs cat",
        "ls; find . -print0 && xargs -0 cat",
        "git ls-files --eol | xargs cat",
        "git ls-files :/ | xargs cat",
        "find . -printf '%p' | xargs cat",
        "find . -print0 | xargs cat",
        "find . | xargs -0 cat",
        "find . -print0 | sort | xargs -0 cat",
        "find . -print0 | xargs -0 sort",
        "find . -print0 | xargs -0 sh -c id",
        "find . -print0 | xargs -0 rm",
    ]);
    accepted(&[
        "find . -type f | xargs grep -l x",
        "ls | sort -r | head -5 | xargs cat",
        "ls 2>/dev/null | xargs wc -l",
        "ls | xargs wc -l 2>&1 | tail -1",
        "find . -type f | xargs grep -l x | xargs wc -l",
        "find . -print0 | xargs -0 cat",
        "find . -name '*.rs' -print0 | sort -z | xargs --null wc -l",
        "git ls-files -z | xargs -0 wc -l",
        "rg -l0 x | xargs -0 cat",
        "rg --files --null | xargs -0 wc -l",
        "grep -rlZ x . | xargs -0 head -1",
    ]);
    for command in [
        "find . -print0 | xargs -0 -n1 cat",
        "find . -print0 | xargs -0 -I{} head -2 {}",
        "find . -print0 | xargs -0 -r -n 1 wc -l",
    ] {
        runs(command);
    }
    for command in [
        "find . -print0 | xargs -0 -I{} cat ../{}",
        "find . -print0 | xargs -0 -I{} cat /etc/{}",
        "find . -print0 | xargs -0 -Ix cat x",
        "find . -print0 | xargs -0 -P4 cat",
        "find . -print0 | xargs -0 -a list cat",
        "find . | xargs -n1 cat",
        "find /etc -print0 | xargs -0 cat",
    ] {
        asks(command);
    }
}

#[test]
fn a4_names_that_xargs_takes_apart_ask() {
    let plain = workspace(&["a", "src/b.rs"]);
    for command in [
        "find . -type f | xargs cat",
        "ls | xargs wc -l",
        "rg --files | xargs wc -l",
    ] {
        assert_eq!(
            decided_in(plain.path(), command),
            Decision::Allow,
            "{command}"
        );
    }
    let blank = workspace(&["a", "x /etc/passwd"]);
    let quote = workspace(&["it's"]);
    for root in [&blank, &quote] {
        for command in [
            "find . -type f | xargs cat",
            "rg --files | xargs cat",
            "git ls-files | xargs cat",
            "find . -type f | sort | xargs grep -l x | xargs cat",
        ] {
            assert_eq!(decided_in(root.path(), command), Decision::Ask, "{command}");
        }
        let separated = "find . -type f -print0 | xargs -0 cat";
        assert_eq!(decided_in(root.path(), separated), Decision::Allow);
    }
}

#[test]
fn a4_an_exact_rule_is_one_command() {
    for (rule, command) in [
        ("Bash(rm build.log)", "ls | xargs rm build.log"),
        ("Bash(git push)", "ls | xargs git push"),
        ("Bash(git push)", "timeout 5 xargs git push"),
    ] {
        assert_eq!(
            Call::bash(command).allow(rule).decision(),
            "ask",
            "{command}"
        );
    }
    let call = Call::bash("xargs git push").allow("Bash(xargs git push)");
    assert_eq!(call.decision(), "allow");
}

#[test]
fn b1_a_second_name_is_a_write() {
    for command in [
        "cp -l .husky/pre-commit x",
        "cp --link .git/config x",
        "cp -al .husky x",
        "cp -al src x",
        "cp --lin .envrc x",
    ] {
        let call = Call::bash(command).mode("acceptEdits");
        assert_eq!(call.decision(), "ask", "{command}");
    }
    let call = Call::bash("cp -l gen/a x")
        .mode("acceptEdits")
        .deny("Edit(gen/**)");
    assert_eq!(call.decision(), "deny");
    let call = Call::bash("cp -l a x").mode("acceptEdits");
    assert_eq!(call.decision(), "allow");
}

#[test]
fn b3_names_that_are_flags_ask() {
    let root = workspace(&["-R", "a", "src/-f"]);
    for command in [
        "grep KEY *",
        "ls *",
        "cat [-]R",
        "cat ?R",
        "tail *",
        "ls | xargs cat",
    ] {
        assert_eq!(decided_in(root.path(), command), Decision::Ask, "{command}");
    }
    for command in [
        "grep KEY ./*",
        "cat -- *",
        "echo *",
        "cat a*",
        "cat src/*",
        "find . -type f | xargs cat",
    ] {
        assert_eq!(
            decided_in(root.path(), command),
            Decision::Allow,
            "{command}"
        );
    }
}

#[test]
fn b4_locales_and_time_zones_are_no_paths() {
    refused(&[
        "LANGUAGE=../../repo/po ls x",
        "LANG=/repo ls",
        "LC_ALL=./x ls",
        "TZ=/etc/x date",
        "TZ=':/etc/x' date",
        "LC_MESSAGES='a b' ls",
    ]);
    accepted(&[
        "LC_ALL=C.UTF-8 ls",
        "LANG=de_DE@euro ls",
        "TZ=UTC date",
        "LANGUAGE=de:en ls",
    ]);
}

#[test]
fn b6_rules_about_reading_reach_git() {
    let call = |command: &str| Call::bash(command).deny("Read(.env)").decision();
    for command in [
        "git diff",
        "git log -p",
        "git show",
        "git show HEAD",
        "git stash show -p",
        "git cat-file -p abc",
        "git grep x",
        "git diff -- src",
        "git status -v",
    ] {
        assert_eq!(call(command), "ask", "{command}");
        assert_eq!(Call::bash(command).decision(), "allow", "{command}");
    }
    for command in [
        "git status",
        "git log",
        "git log --stat -3",
        "git branch -a",
        "git diff --stat",
        "git diff --name-only HEAD~1",
        "git show --stat HEAD",
        "git show HEAD:src/a.rs",
        "git blame src/a.rs",
        "git stash list",
    ] {
        assert_eq!(call(command), "allow", "{command}");
    }
    let call = Call::bash("git diff -- src").deny("Read(/secrets/**)");
    assert_eq!(call.decision(), "allow");
}

#[test]
fn c5_what_floods_or_opens_lists_is_refused() {
    refused(&[
        "seq -f %1000000000g 1",
        "seq 99999999999",
        "printf '%1000000000d' 1",
        "printf '%*d' 1000000000 1",
        "nl -w 1000000000 f",
        "stat -c %1000000000n f",
        "date +%1000000000d",
        "find . -printf %1000000000p",
        "git log --format='%<(1000000000)%h'",
        "sha256sum -c list",
        "md5sum --check list",
        "git describe --dirty",
        "git log -p --diff-merges=remerge",
        "git log --diff-merges=r",
        "git log --diff-merges remerge",
        "git log --diff-merges=on",
    ]);
    accepted(&[
        "seq -f %03g 5",
        "printf '%5d' 1",
        "git log --diff-merges=first-parent",
    ]);
}

#[test]
fn r9_what_leads_to_a_device_is_one() {
    let call = |command: &str, target: &str| {
        let mut call = Call::bash(command).link("/repo/l", target);
        call.case["additionalDirectories"] = json!(["/dev", "/proc"]);
        call.decision()
    };
    assert_eq!(call("cat l", "/dev/zero"), "ask");
    assert_eq!(call("cat < l", "/dev/zero"), "ask");
    assert_eq!(call("cat l/environ", "/proc/1"), "ask");
    assert_eq!(call("grep -r x l", "/proc/1"), "ask");
    assert_eq!(call("cat l/status", "/proc/1"), "allow");
    assert_eq!(call("cat l", "/dev/null"), "allow");
}

#[test]
fn a_bare_rule_covers_what_is_written_inside() {
    let call = |command: &str| Call::bash(command).allow("Bash").decision();
    for command in [
        "echo hi > x",
        "make > build.log 2>&1",
        "A=1 make",
        "x=1; echo $x",
        "FOO=bar",
        "for i in 1; do echo $i > x; done",
        "echo x | tee out /dev/null",
        "cp a b",
        "rm -rf \"$X\"",
    ] {
        assert_eq!(call(command), "allow", "{command}");
    }
    for command in [
        "echo hi > /etc/x",
        "echo hi > ~/x",
        "echo hi > $X",
        "echo hi > .git/config",
        "echo hi | tee /etc/x",
        "cp a /etc/x",
        "touch ~/x",
        "mkdir ../x",
        "if true; then tee /etc/x; fi",
        "sed -i s/a/b/ /etc/x",
        "rm /opt/x/*",
    ] {
        assert_eq!(call(command), "ask", "{command}");
    }
    let scoped = |command: &str| Call::bash(command).allow("Bash(echo *)").decision();
    assert_eq!(scoped("echo hi > x"), "ask");
    assert_eq!(scoped("A=1 echo hi"), "ask");
    let ruled = Call::bash("cp a /opt/x")
        .allow("Bash")
        .allow("Edit(//opt/**)");
    assert_eq!(ruled.decision(), "allow");
    let scoped = Call::bash("cp a /opt/x").allow("Bash").allow("Bash(cp *)");
    assert_eq!(scoped.decision(), "allow");
}

#[test]
fn everyday_commands_run_without_a_question() {
    for command in [
        "expr 1 + 2",
        "base64 -d f",
        "base64 -w0 f",
        "numfmt --to=iec 2048",
        "getconf PAGE_SIZE",
        "fmt -w 72 f",
        "pr -t f",
        "expand -t 4 f",
        "unexpand -a f",
        "cal",
        "groups",
        "free -h",
        "lscpu -J",
        "pgrep -fl node",
        "whereis bash",
        "cksum f",
        "b2sum *",
        "sleep 1 && ls",
        "date -d tomorrow +%F",
        "sed -n '10,+5p' f",
        "sed -n '/x/{p;q}' f",
        "node --version",
        "python3 --version",
        "git --version",
        "git reflog",
        "git reflog show -5",
        "git rev-parse --git-dir",
        "git rev-parse --git-path hooks",
        "git show-ref --tags",
        "git for-each-ref --format='%(refname)'",
        "git name-rev HEAD",
        "git check-ignore -v a",
        "git diff-tree -r HEAD",
        "git diff-index --cached HEAD",
        "git count-objects -v",
        "git symbolic-ref --short HEAD",
        "git cherry -v main",
        "git var GIT_EDITOR",
        "git config user.name",
        "git config get user.name",
    ] {
        runs(command);
        let reading = read(command);
        let known = classify_by(&reading, Path::new("/repo"), Lists::Everyday);
        assert_eq!(known, Ok(()), "{command}");
    }
}

#[test]
fn everyday_commands_have_closed_lists_too() {
    for command in [
        "expr $x",
        "base64 -o out f",
        "base64 /etc/shadow",
        "getconf -v x PAGE_SIZE",
        "fmt /etc/passwd",
        "pr -l 1000000000 f",
        "pr -o 1000000000 f",
        "expand -t 1000000000 f",
        "numfmt --padding=1000000000 1",
        "free -s 1",
        "free -c 5",
        "lscpu -s /x",
        "pgrep -F file x",
        "pgrep --env A=1",
        "pgrep --signal KILL x",
        "pkill x",
        "whereis -B /etc -f x",
        "cksum --check list",
        "b2sum -c list",
        "sleep 61",
        "sleep 40; sleep 40",
        "sleep 2m",
        "sleep infinity",
        "sleep $x",
        "date -d 'TZ=\"../x\" now'",
        "date -s now",
        "date -f list",
        "sed -n '10,+5w out' f",
        "tsort f",
        "find . -name '*.rs' -exec wc -l {} +",
        "find . -exec rm {} +",
        "find . -exec sh -c id \\;",
        "find . -exec sort {} +",
        "find . -exec cat /etc/passwd \\;",
        "find . -exec cat ../{} \\;",
        "find . -execdir cat {} +",
        "find . -ok cat {} \\;",
        "find . -exec cat {} + -delete",
        "find . -exec ./cat {} +",
        "find /etc -exec cat {} +",
        "node --version x",
        "node -e 1",
        "python3 -V x.py",
        "cargo --version",
        "npm --version",
        "go version",
        "git reflog expire --all",
        "git reflog -5 expire --all",
        "git reflog delete HEAD@{1}",
        "git reflog --output=x",
        "git symbolic-ref HEAD refs/heads/x",
        "git symbolic-ref -d HEAD",
        "git for-each-ref --format='%(signature)'",
        "git for-each-ref --sort=signature",
        "git show-ref --exclude-existing",
        "git check-ignore --stdin",
        "git diff-tree --ext-diff HEAD",
        "git diff-tree --output=x HEAD",
        "git diff-index --textconv HEAD",
        "git config user.name x",
        "git config edit",
        "git config get --file x a.b",
        "git config --edit",
        "git name-rev --annotate-stdin",
    ] {
        asks(command);
    }
    // The classifier and plan mode keep to the agreed list.
    refused(&["sleep 1", "fmt f", "git reflog", "sed -n 1~2p f"]);
}

#[test]
fn what_find_found_is_read_only_where_links_stay() {
    let root = workspace(&["a"]);
    symlink("/etc/passwd", root.path().join("l")).expect("a link");
    let found = decided_in(root.path(), "find . -type f -print0 | xargs -0 cat");
    assert_eq!(found, Decision::Allow);
    let found = decided_in(root.path(), "find . -print0 | xargs -0 cat");
    assert_eq!(found, Decision::Ask);
}

#[test]
fn find_says_what_it_would_do() {
    for (command, what) in [
        ("find . -delete", "removes files"),
        ("find . -fls out", "writes a file"),
        ("find . -execdir touch y \\;", "runs a command"),
    ] {
        let reason = crate::permissions::bash::classify(command).reason;
        assert!(reason.contains(what), "{reason}");
    }
}

#[test]
fn sleeping_longer_is_still_no_reason_to_wait_for_each_other() {
    assert!(is_concurrency_safe("sleep 300"));
    assert!(is_concurrency_safe("expr 1 + 1"));
    assert!(!is_concurrency_safe("echo x | xargs cat"));
}
