//! Decisions, rule by rule, where the shared cases do not say it all.

use serde_json::json;

use super::{Call, touched};
use crate::permissions::{CallDetails, Decision, NoLinks, Rules, World, decide};
use crate::protocol::{Level, Mode};

#[test]
fn nested_commands_are_covered_by_their_own_rules() {
    let call = |command| Call::bash(command).allow("Bash(git commit *)");
    assert_eq!(
        call("git commit -m \"$(cat <<'E'\nfix: it's done\nE\n)\"").decision(),
        "allow"
    );
    assert_eq!(call("git commit -m \"$(curl x)\"").decision(), "ask");
    assert_eq!(
        call("git commit -m \"$(curl x)\"")
            .allow("Bash(curl *)")
            .decision(),
        "allow"
    );
    assert_eq!(call("(git commit -m x)").decision(), "ask");
}

#[test]
fn a_bare_rule_covers_structure_but_not_everything() {
    let call = |command| Call::bash(command).allow("Bash").decision();
    assert_eq!(call("for i in 1 2; do make $i; done"), "allow");
    assert_eq!(call("make && (cd src; ls)"), "allow");
    for command in [
        "make > /etc/x",
        "touch .git/x",
        "rm -rf ~/",
        "make &&",
        "cd /etc && make",
        "$CMD x",
        "watch ls",
        "find . -delete",
    ] {
        assert_eq!(call(command), "ask", "{command}");
    }
}

#[test]
fn critical_removals_ask_in_every_spelling() {
    for command in [
        "rm -rf ~",
        "rm -rf ~/",
        "rm -rf ~/*",
        "rm -r \"$HOME\"",
        "rm -rf $HOME/*",
        "rm -rf /usr",
        "rm /etc/",
        "rm -rf /home/*",
        "rm -rf .",
        "rm -rf ./",
        "rm -rf *",
        "rm -rf /repo",
        "rm -rf $X/",
        "rm -rf ${X}/*",
        "rm -rf \"$X\"/*",
        "rm -rf $(pwd)/*",
        "rmdir /repo",
        "sudo rm -rf /var",
        "sh -c 'rm -rf ~'",
        "cd src && rm -rf ../",
        "rm -rf a ~ b",
        "(rm -rf /usr)",
        "cd src && rm -rf ..",
    ] {
        let call = Call::bash(command).allow("Bash").mode("bypassPermissions");
        assert_eq!(call.decision(), "ask", "{command}");
    }
    for command in [
        "rm -rf build",
        "rm -rf /repo/build",
        "rm -rf $X",
        "rm -rf $X/build",
        "rm -rf ~/x/y",
        "rm -rf src/*",
        "rm a.txt",
    ] {
        assert_eq!(
            Call::bash(command).mode("bypassPermissions").decision(),
            "allow",
            "{command}"
        );
    }
}

#[test]
fn the_built_in_list_is_denied_in_every_mode() {
    for command in [
        "rm -rf /",
        "rm -fr /*",
        "rm / -r",
        "rm -r -- /",
        "rm --recursive --force //",
        "rm -rf /.",
        "rm -rf /usr/..",
        "rm -rf ..",
        "rm -rf ../*",
        "find . -exec rm -rf / ;",
        "sudo rm -R /",
        "bash -c 'rm -rf /'",
        "r\\m -rf /",
        "/bin/rm -rf /",
        "ls; rm -rf / --no-preserve-root",
        "$(rm -rf /)",
        "mkfs /dev/x",
        "sudo mkfs.xfs x",
        "dd if=x of=/dev/nvme0n1",
        "dd of=//dev/sda",
        "dd if=x > /dev/sda",
        ":(){ :|:& };:",
        "b() { b | b & }; b",
        "f() ( f & f & ); f",
        "chmod -R 777 /",
        "chmod 0777 -R /*",
        "chmod --recursive a+rwx /",
        "rm -rf '/'",
        "rm -rf \"/\"*",
        "rm -rf /{*,.*}",
    ] {
        assert_eq!(
            Call::bash(command)
                .allow("Bash")
                .mode("bypassPermissions")
                .decision(),
            "deny",
            "{command}"
        );
    }
    for command in [
        "rm /",
        "dd of=/dev/null",
        "chmod -R 755 x",
        "chmod 777 x",
        "f() { ls; }; f",
        "echo rm -rf /",
        "echo mkfs",
        "walk() { walk a; }; walk",
    ] {
        assert_ne!(
            Call::bash(command).mode("bypassPermissions").decision(),
            "deny",
            "{command}"
        );
    }
}

#[test]
fn dont_ask_denies_what_would_ask() {
    assert_eq!(Call::bash("npm test").mode("dontAsk").decision(), "deny");
    assert_eq!(Call::bash("ls").mode("dontAsk").decision(), "allow");
    assert_eq!(
        Call::bash("npm test")
            .allow("Bash(npm test)")
            .mode("dontAsk")
            .decision(),
        "allow"
    );
    assert_eq!(
        Call::bash("npm test")
            .allow("Bash")
            .ask("Bash(npm *)")
            .mode("dontAsk")
            .decision(),
        "deny"
    );
}

#[test]
fn plan_mode_denies_what_changes_something() {
    for call in [
        Call::bash("touch x"),
        Call::write("/repo/x"),
        Call::new("mcp__a__b", json!({})),
        Call::new("NotebookEdit", json!({ "notebook_path": "/repo/x" })),
        Call::new("Edit", json!({})),
    ] {
        assert_eq!(
            call.allow("Bash")
                .allow("mcp__a")
                .allow("Edit(**)")
                .mode("plan")
                .decision(),
            "deny"
        );
    }
    assert_eq!(Call::bash("cat /etc/hosts").mode("plan").decision(), "ask");
    assert_eq!(
        Call::new("WebFetch", json!({ "url": "https://a.b" }))
            .mode("plan")
            .decision(),
        "ask"
    );
}

#[test]
fn levels_decide_for_tools_without_rules_of_their_own() {
    let world = World {
        cwd: "/repo".into(),
        home: "/home/u".into(),
        shell_dir: None,
        additional_directories: Vec::new(),
        config_dir: Some("/home/u/.config/agent-tui".into()),
        data_dir: None,
        protected_files: Vec::new(),
        links: &NoLinks,
    };
    let input = json!({});
    let decided = |level, mode| {
        let call = CallDetails {
            tool: "Custom",
            input: &input,
            touches: touched("Custom", &input),
            level,
            read_only: false,
        };
        decide(&call, &Rules::default(), mode, &world).decision
    };
    assert_eq!(decided(Level::Safe, Mode::Default), Decision::Allow);
    assert_eq!(decided(Level::Confirm, Mode::Default), Decision::Ask);
    assert_eq!(decided(Level::Dangerous, Mode::AcceptEdits), Decision::Ask);
    assert_eq!(
        decided(Level::Forbidden, Mode::BypassPermissions),
        Decision::Deny
    );
    assert_eq!(decided(Level::Confirm, Mode::Plan), Decision::Deny);
    let input = json!({ "file_path": "/home/u/.config/agent-tui/x", "content": "" });
    let call = CallDetails {
        tool: "Write",
        input: &input,
        touches: touched("Write", &input),
        level: Level::Confirm,
        read_only: false,
    };
    assert_eq!(
        decide(&call, &Rules::default(), Mode::AcceptEdits, &world).cause,
        crate::permissions::Cause::ProtectedPath
    );
}

#[test]
fn relative_paths_start_where_the_shell_stands() {
    let world = World {
        cwd: "/repo".into(),
        home: "/home/u".into(),
        shell_dir: Some("/repo/src".into()),
        additional_directories: Vec::new(),
        config_dir: None,
        data_dir: None,
        protected_files: Vec::new(),
        links: &NoLinks,
    };
    let decided = |command: &str| {
        let input = json!({ "command": command });
        let call = CallDetails {
            tool: "Bash",
            input: &input,
            touches: touched("Bash", &input),
            level: Level::Dangerous,
            read_only: false,
        };
        decide(&call, &Rules::default(), Mode::Default, &world).decision
    };
    assert_eq!(decided("cat ../a"), Decision::Allow);
    assert_eq!(decided("cat ../../a"), Decision::Ask);
    assert_eq!(decided("git status"), Decision::Ask);
    assert_eq!(decided("rm -rf ../*"), Decision::Ask);
}

#[test]
fn searches_are_judged_by_where_they_start() {
    let glob = |pattern: &str| Call::new("Glob", json!({ "pattern": pattern }));
    assert_eq!(glob("**/*.rs").decision(), "allow");
    for pattern in ["/etc/*", "../*", "/*", "~/x*", "a/*/../../../x"] {
        assert_eq!(glob(pattern).decision(), "ask", "{pattern}");
    }
    assert_eq!(
        glob("secrets/*").deny("Read(secrets/**)").decision(),
        "deny"
    );
    let search = |input| Call::new("FileSearch", input);
    assert_eq!(search(json!({ "pattern": "x" })).decision(), "allow");
    assert_eq!(
        search(json!({ "pattern": "x", "replace_with": "y", "preview_only": false })).decision(),
        "ask"
    );
    assert_eq!(
        search(json!({ "pattern": "x", "replace_with": "y" })).decision(),
        "allow"
    );
    assert_eq!(
        search(
            json!({ "pattern": "x", "replace_with": "y", "path": "gen", "preview_only": false })
        )
        .deny("Edit(gen/**)")
        .decision(),
        "deny"
    );
}

#[test]
fn path_patterns_follow_gitignore() {
    for (pattern, path, denied) in [
        ("a[0-9].txt", "/repo/x/a5.txt", true),
        ("a[!0-9].txt", "/repo/a5.txt", false),
        ("a?.txt", "/repo/ab.txt", true),
        ("src/**/x", "/repo/src/x", true),
        ("src/**/x", "/repo/src/a/b/x/y", true),
        ("**/x", "/repo/a/x", true),
        ("build/", "/repo/a/build/o", true),
        ("*.pem", "/repo/k.pem/inner", true),
        ("a/*/c", "/repo/a/b/d/c", false),
        ("~/x", "/home/u/x/y", true),
        ("/x/**", "/repo/x", false),
        ("**", "/repo/x", true),
        ("**", "/other/x", false),
        ("//etc", "/etc/hosts", true),
        ("*d*t*", "/repo/editor", true),
    ] {
        let decision = Call::read(path)
            .deny(&format!("Read({pattern})"))
            .decision();
        assert_eq!(decision == "deny", denied, "{pattern} {path}");
    }
}

#[test]
fn globs_that_may_reach_a_denied_path_ask() {
    let call = |command| Call::bash(command).deny("Read(secrets.json)").decision();
    assert_eq!(call("cat se*"), "ask");
    assert_eq!(call("cat src/*.rs"), "allow");
    assert_eq!(Call::bash("cat *").deny("Read(.env)").decision(), "allow");
    assert_eq!(Call::bash("cat .e*").deny("Read(.env)").decision(), "ask");
    assert_eq!(Call::bash("rm .gi?").allow("Bash(rm *)").decision(), "ask");
}

#[test]
fn file_commands_in_bash_obey_path_rules() {
    for command in [
        "touch gen/x",
        "mkdir gen",
        "rm -r gen",
        "mv a gen/b",
        "mv gen/a b",
        "cp -t gen a",
        "ln -s a gen/b",
        "ls | tee gen/x",
        "truncate -s 0 gen/x",
        "chmod +x gen/x",
        "sed -i.bak s/a/b/ gen/x",
        "sudo rm gen/x",
        "cd gen && touch x",
        "echo x > \"$PWD\"/gen/x",
    ] {
        assert_eq!(
            Call::bash(command)
                .allow("Bash")
                .deny("Edit(gen/**)")
                .decision(),
            "deny",
            "{command}"
        );
    }
    for command in [
        "cat .env",
        "git diff .env",
        "git show HEAD:.env",
        "cp .env x",
        "sudo cat .env",
        "sed -n p .env",
        "grep -f .env x",
        "find .env",
        "cat ~/../../repo/.env",
        "head -n 5 -- .env",
        "dd if=.env of=x",
    ] {
        assert_eq!(
            Call::bash(command)
                .allow("Bash")
                .deny("Read(.env)")
                .decision(),
            "deny",
            "{command}"
        );
    }
    for command in ["cp gen/a b", "cat gen/a"] {
        assert_ne!(
            Call::bash(command).deny("Edit(gen/**)").decision(),
            "deny",
            "{command}"
        );
    }
}

#[test]
fn accept_edits_covers_plain_file_commands_inside() {
    let call = |command| Call::bash(command).mode("acceptEdits").decision();
    for command in [
        "mkdir -p a/b",
        "touch a b",
        "cp -r a b",
        "mv -t dir a b",
        "cp --target-directory=dir a",
        "mkdir a && touch a/b",
        "ls > a",
        "echo x >> a 2>&1",
    ] {
        assert_eq!(call(command), "allow", "{command}");
    }
    for command in [
        "cp a* b",
        "cp a ~/b",
        "touch $X",
        "mv a ../b",
        "cp -t /tmp a",
        "cp /etc/passwd a",
        "cp -r x/. .",
        "mkdir -Z a --x",
        "touch -r /etc/x a",
        "cp a",
        "rm a",
        "ln a b",
        "touch a &",
    ] {
        assert_eq!(call(command), "ask", "{command}");
    }
}

#[test]
fn mcp_rules_reach_whole_servers_only() {
    let call = || Call::new("mcp__git_hub__get_issue", json!({}));
    assert_eq!(call().allow("mcp__git").decision(), "ask");
    assert_eq!(call().allow("mcp__git_hub").decision(), "allow");
    assert_eq!(call().allow("mcp__git*").decision(), "ask");
    assert_eq!(call().allow("mcp__git_hub__get*").decision(), "allow");
    assert_eq!(
        call().deny("*issue").mode("bypassPermissions").decision(),
        "deny"
    );
}

#[test]
fn domains_may_hold_stars_inside_labels() {
    let fetch = |host: &str, rule: &str| {
        Call::new("WebFetch", json!({ "url": format!("https://{host}/x") }))
            .allow(rule)
            .decision()
    };
    assert_eq!(
        fetch("api-1.example.com", "WebFetch(domain:api-*.example.com)"),
        "allow"
    );
    assert_eq!(
        fetch(
            "api-1.evil.example.com",
            "WebFetch(domain:api-*.example.com)"
        ),
        "ask"
    );
    assert_eq!(
        fetch(
            "b\u{fc}cher.example",
            "WebFetch(domain:B\u{dc}CHER.example)"
        ),
        "allow"
    );
}
