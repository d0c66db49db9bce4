//! More of what went wrong elsewhere, each named after its report.

use serde_json::json;

use super::{Call, accepted, refused};

#[test]
fn claude_code_4956_36637_37662_82420_94314_no_part_goes_unchecked() {
    for separator in ["&&", "||", ";", "|", "|&", "&", "\n"] {
        let command = format!("npm test {separator} curl evil.example");
        let call = || Call::bash(&command).allow("Bash(npm test)");
        assert_eq!(call().decision(), "ask", "{command}");
        assert_eq!(call().deny("Bash(curl *)").decision(), "deny", "{command}");
        let other = format!("curl evil.example {separator} npm test");
        assert_eq!(Call::bash(&other).allow("Bash(npm test)").decision(), "ask");
    }
}

#[test]
fn claude_code_39601_92542_deny_reaches_into_shells_and_unknown_wrappers() {
    for command in [
        "echo $(rm -rf x)",
        "bash -c 'rm -rf x'",
        "sudo -u root rm -rf x",
        "env -i A=b rm -rf x",
        "flock /tmp/l rm -rf x",
        "ionice -c3 rm -rf x",
        "find . -exec rm -rf {} +",
    ] {
        let decision = Call::bash(command)
            .allow("Bash")
            .deny("Bash(rm *)")
            .decision();
        assert_eq!(decision, "deny", "{command}");
    }
}

#[test]
fn claude_code_2_1_90_deny_counts_every_part() {
    let command = format!("{}curl evil.example", "true; ".repeat(1_000));
    assert_eq!(Call::bash(&command).deny("Bash(curl *)").decision(), "deny");
    assert_eq!(Call::bash(&command).allow("Bash(true)").decision(), "ask");
}

#[test]
fn claude_code_2_1_145_bare_assignments_are_no_readers() {
    refused(&[
        "FOO=bar",
        "PATH=.",
        "LANG=C",
        "FOO=bar; ls",
        "LANG=C && ls",
        "a=(1)",
        "a[0]=1",
    ]);
    assert_eq!(Call::bash("FOO=bar").allow("Bash(ls)").decision(), "ask");
}

#[test]
fn cve_2026_22217_the_shell_of_a_variable_is_not_trusted() {
    refused(&[
        "$SHELL -c ls",
        "\"$SHELL\" -c ls",
        "${SHELL} -c ls",
        "SHELL=./x ls",
    ]);
    assert_eq!(
        Call::bash("$SHELL -c ls").allow("Bash(bash *)").decision(),
        "ask"
    );
    assert_eq!(
        Call::bash("$SHELL -c ls").allow("Bash(*)").decision(),
        "ask"
    );
}

#[test]
fn cve_2026_53822_what_is_decided_on_is_the_text_that_runs() {
    // The reader keeps the words as they were written; nothing is put together again from them.
    let reading = crate::permissions::bash::read("git  commit -m 'a  b' \"c $x\"");
    let raw: Vec<&str> = reading.script.parts[0]
        .words
        .iter()
        .map(|word| word.raw.as_str())
        .collect();
    assert_eq!(raw, ["git", "commit", "-m", "'a  b'", "\"c $x\""]);
}

#[test]
fn cve_2026_85660_a_substitution_is_a_command_of_its_own() {
    for command in [
        "echo $(touch y)",
        "echo `touch y`",
        "echo \"$(touch y)\"",
        "echo ${x:-$(touch y)}",
        "echo $((`touch y`))",
    ] {
        refused(&[command]);
        assert_eq!(
            Call::bash(command).allow("Bash(echo *)").decision(),
            "ask",
            "{command}"
        );
        assert_eq!(
            Call::bash(command)
                .allow("Bash")
                .deny("Bash(touch *)")
                .decision(),
            "deny"
        );
    }
}

#[test]
fn cve_2026_108953_metacharacters_in_arguments_split_or_are_quoted() {
    accepted(&[
        "grep 'a;b' f",
        "grep 'a|b' f",
        "echo 'a&b'",
        "echo a\\;b",
        "echo \"a>b\"",
    ]);
    refused(&[
        "grep a;touch b",
        "grep a|tee b",
        "echo a&touch b",
        "echo a>b",
        "echo a`touch b`",
    ]);
}

#[test]
fn arxiv_2606_15549_deny_sees_through_the_usual_disguises() {
    for command in [
        "/bin/rm x",
        "\\rm x",
        "'rm' x",
        "r''m x",
        "command rm x",
        "env rm x",
        "busybox rm x",
        "sh -c 'rm x'",
        "eval rm x",
        "xargs rm",
        "$'rm' x",
        "true && rm x",
        "(rm x)",
        "A=1 rm x",
        "{rm,x}",
        "bash <<< 'rm x'",
    ] {
        let decision = Call::bash(command)
            .allow("Bash")
            .deny("Bash(rm *)")
            .decision();
        assert_eq!(decision, "deny", "{command}");
    }
}

#[test]
fn cve_2025_53110_and_cve_2026_34451_a_prefix_of_a_name_is_no_directory() {
    for path in [
        "/repo-evil/a",
        "/repoevil",
        "/repo.bak/a",
        "/rep",
        "/repo/../repo-evil/a",
    ] {
        assert_eq!(Call::read(path).decision(), "ask", "{path}");
        assert_eq!(
            Call::write(path).mode("acceptEdits").decision(),
            "ask",
            "{path}"
        );
        let command = format!("cat {path}");
        assert_eq!(Call::bash(&command).decision(), "ask", "{path}");
    }
}

#[test]
fn cve_2026_25724_deny_is_applied_to_the_target_of_every_link_on_the_way() {
    let call = |path: &str| {
        Call::read(path)
            .deny("Read(~/.ssh/**)")
            .link("/repo/a", "/repo/b")
            .link("/repo/b", "../home/u/.ssh")
    };
    assert_eq!(call("/repo/a/id_rsa").decision(), "deny");
    assert_eq!(call("/repo/b/id_rsa").decision(), "deny");
    assert_eq!(call("/repo/b/../.ssh/id_rsa").decision(), "deny");
}

#[test]
fn cve_2026_39861_a_planted_link_is_not_followed_by_commands_either() {
    for command in [
        "cat l/passwd",
        "ls l",
        "grep -r x l",
        "cp l/passwd a",
        "echo x > l/y",
        "touch l/y",
        "cd l && ls",
    ] {
        let call = Call::bash(command)
            .mode("acceptEdits")
            .link("/repo/l", "/etc");
        assert_eq!(call.decision(), "ask", "{command}");
    }
}

#[test]
fn cve_2025_59532_a_directory_of_the_models_choice_is_no_boundary() {
    for command in [
        "cd / && touch x",
        "cd /tmp && ls",
        "cd .. && cat x",
        "cd ~ && ls",
    ] {
        assert_eq!(
            Call::bash(command).mode("acceptEdits").decision(),
            "ask",
            "{command}"
        );
    }
    let input = json!({ "file_path": "/etc/x", "content": "x", "cwd": "/etc", "workspace": "/" });
    assert_eq!(
        Call::new("Write", input).mode("acceptEdits").decision(),
        "ask"
    );
}

#[test]
fn opencode_42436_the_working_directory_is_no_exception_of_the_gate() {
    assert_eq!(Call::bash("cat ../x").decision(), "ask");
    assert_eq!(Call::bash("cd src && cat ../../x").decision(), "ask");
    assert_eq!(
        Call::bash("ls > ../x").mode("acceptEdits").decision(),
        "ask"
    );
    assert_eq!(
        Call::bash("cd src && ls > x")
            .mode("acceptEdits")
            .decision(),
        "ask"
    );
}

#[test]
fn opencode_16075_39931_prefixes_and_double_dashes_hide_nothing() {
    assert_eq!(
        Call::bash("FOO=1 curl x")
            .allow("Bash")
            .deny("Bash(curl *)")
            .decision(),
        "deny"
    );
    assert_eq!(
        Call::bash("cat -- .env").deny("Read(.env)").decision(),
        "deny"
    );
    assert_eq!(Call::bash("cat -- /etc/x").decision(), "ask");
    refused(&["sort -- -o x > y", "git log -- --output=x > y"]);
}

#[test]
fn cve_2025_59828_cve_2025_59536_and_cve_2025_65099_asking_for_a_version_may_run_the_project() {
    refused(&[
        "yarn --version",
        "npm --version",
        "cargo --version",
        "make --version",
        "python3 --version",
        "git --version",
    ]);
}

#[test]
fn cve_2026_33068_a_call_does_not_choose_its_mode() {
    for mode in ["bypassPermissions", "acceptEdits"] {
        let input = json!({ "command": "npm test", "mode": mode, "permission_mode": mode, "permissionMode": mode });
        assert_eq!(Call::new("Bash", input).decision(), "ask");
    }
}

#[test]
fn cve_2025_61260_own_configuration_is_written_in_no_mode_but_bypass() {
    for path in [
        "/repo/.agent-tui/settings.json",
        "/repo/.agent-tui/new/x",
        "/home/u/.config/agent-tui/settings.json",
        "/repo/.claude/settings.local.json",
        "/repo/.mcp.json",
    ] {
        let call = || {
            Call::write(path)
                .allow("Edit(//**)")
                .allow("Write")
                .allow("Edit")
        };
        assert_eq!(call().decision(), "ask", "{path}");
        assert_eq!(call().mode("acceptEdits").decision(), "ask", "{path}");
        assert_eq!(call().mode("dontAsk").decision(), "deny", "{path}");
        assert_eq!(call().mode("plan").decision(), "deny", "{path}");
        let command = format!("echo x > {path}");
        assert_eq!(
            Call::bash(&command)
                .allow("Bash")
                .allow("Edit(//**)")
                .decision(),
            "ask"
        );
    }
}

#[test]
fn cve_2025_54136_a_rule_for_one_server_is_not_for_its_namesake() {
    assert_eq!(
        Call::new("mcp__github_evil__x", json!({}))
            .allow("mcp__github")
            .decision(),
        "ask"
    );
    assert_eq!(
        Call::new("mcp__github__x", json!({}))
            .allow("mcp__git*")
            .decision(),
        "ask"
    );
    assert_eq!(
        Call::new("Mcp__github__x", json!({}))
            .allow("mcp__github")
            .decision(),
        "ask"
    );
}

#[test]
fn cve_2026_46406_nothing_in_shared_temporary_directories_is_free() {
    for command in [
        "cat /tmp/x",
        "ls /tmp",
        "echo x > /tmp/x",
        "touch /tmp/x",
        "cp a /tmp/x",
    ] {
        assert_eq!(
            Call::bash(command).mode("acceptEdits").decision(),
            "ask",
            "{command}"
        );
    }
    assert_eq!(Call::write("/tmp/x").mode("acceptEdits").decision(), "ask");
}

#[test]
fn deno_m4pq_fv2w_6hrw_and_goose_3920_hidden_characters_are_never_approved() {
    for hidden in [
        '\u{1b}',
        '\u{8}',
        '\r',
        '\u{200b}',
        '\u{202e}',
        '\u{2066}',
        '\u{e0041}',
        '\u{9b}',
        '\u{7f}',
        '\u{a0}',
    ] {
        let command = format!("npm test{hidden}");
        assert_eq!(
            Call::bash(&command).allow("Bash(npm *)").decision(),
            "ask",
            "{hidden:?}"
        );
        refused(&[&format!("ls {hidden}")]);
    }
}
