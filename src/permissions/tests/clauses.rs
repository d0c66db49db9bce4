//! One test for each clause of the agreed text that has none under its own name elsewhere.

use serde_json::json;

use super::{Call, accepted, refused};

#[test]
fn r3_characters_that_hide_or_fake_text_are_refused_anywhere() {
    refused(&[
        "ls\u{a0}",
        "echo '\u{200b}'",
        "echo \u{202e}",
        "ls \u{1b}",
        "echo '\u{85}'",
        "ls\r",
        "echo \u{40000}",
    ]);
    accepted(&["echo '日本語 é 😀'", "ls\t-la\n"]);
    assert_eq!(
        Call::bash("npm\u{2003}test")
            .allow("Bash(npm *)")
            .decision(),
        "ask"
    );
}

#[test]
fn r4_there_is_no_cap_on_parts() {
    accepted(&["ls; ".repeat(2_000).as_str()]);
    refused(&[format!("{}touch x", "ls; ".repeat(2_000)).as_str()]);
    refused(&["$(".repeat(4_000).as_str(), "{ ".repeat(4_000).as_str()]);
}

#[test]
fn step_1_a_deny_rule_or_the_built_in_list_denies_in_every_mode() {
    for mode in [
        "default",
        "acceptEdits",
        "plan",
        "dontAsk",
        "bypassPermissions",
    ] {
        assert_eq!(
            Call::bash("ls")
                .allow("Bash")
                .deny("Bash(ls)")
                .mode(mode)
                .decision(),
            "deny"
        );
        assert_eq!(
            Call::bash("rm -rf /").allow("Bash").mode(mode).decision(),
            "deny"
        );
        assert_eq!(
            Call::read("/repo/a")
                .allow("Read")
                .deny("*")
                .mode(mode)
                .decision(),
            "deny"
        );
        assert_eq!(
            Call::new("mcp__a__b", json!({}))
                .deny("mcp__*")
                .mode(mode)
                .decision(),
            "deny"
        );
    }
}

#[test]
fn step_2_plan_denies_what_is_not_read_only_whatever_rule_allows_or_asks() {
    for call in [
        Call::bash("npm test").allow("Bash"),
        Call::bash("npm test").ask("Bash"),
        Call::write("/repo/a").allow("Edit(**)"),
        Call::new("mcp__a__b", json!({})).allow("mcp__a"),
    ] {
        assert_eq!(call.mode("plan").decision(), "deny");
    }
    assert_eq!(Call::bash("git diff").mode("plan").decision(), "allow");
}

#[test]
fn step_3_an_ask_rule_asks_in_every_mode_however_specific_an_allow_rule_is() {
    for mode in ["default", "acceptEdits", "bypassPermissions"] {
        let call = Call::bash("git push")
            .allow("Bash(git push)")
            .ask("Bash(git *)");
        assert_eq!(call.mode(mode).decision(), "ask");
    }
}

#[test]
fn step_4_a_critical_removal_asks_wherever_it_is_nested() {
    for command in [
        "rm -rf ~",
        "rmdir /usr",
        "echo $(rm -rf .)",
        "sh -c 'rm -rf /etc/'",
        "rm -rf $X/*",
    ] {
        let call = Call::bash(command).allow("Bash").mode("bypassPermissions");
        assert_eq!(call.decision(), "ask", "{command}");
    }
}

#[test]
fn steps_5_and_6_bypass_allows_what_protection_would_ask_about() {
    let call = || Call::write("/repo/.git/config").allow("Edit(**)");
    assert_eq!(call().mode("bypassPermissions").decision(), "allow");
    assert_eq!(call().mode("acceptEdits").decision(), "ask");
}

#[test]
fn steps_7_and_8_allow_rules_and_then_the_default_of_the_tool() {
    assert_eq!(
        Call::read("/etc/x").allow("Read(//etc/**)").decision(),
        "allow"
    );
    assert_eq!(Call::read("/etc/x").decision(), "ask");
    assert_eq!(Call::read("/repo/x").decision(), "allow");
    assert_eq!(Call::write("/repo/x").decision(), "ask");
    assert_eq!(
        Call::write("/repo/x").mode("acceptEdits").decision(),
        "allow"
    );
    assert_eq!(
        Call::new("WebFetch", json!({ "url": "https://a.example" })).decision(),
        "ask"
    );
}

#[test]
fn matching_text_stars_blanks_and_colons() {
    for (rule, command, expected) in [
        ("Bash(npm test)", "npm  test", "allow"),
        ("Bash(npm test)", "npm test x", "ask"),
        ("Bash(npm run *)", "npm run", "allow"),
        ("Bash(npm run:*)", "npm run x", "allow"),
        ("Bash(npm run:*)", "npm runx", "ask"),
        ("Bash(npm run:* x)", "npm run:y x", "ask"),
        ("Bash(npm*)", "npmx", "allow"),
        ("Bash(a * b *)", "a x b", "ask"),
    ] {
        assert_eq!(
            Call::bash(command).allow(rule).decision(),
            expected,
            "{rule} {command}"
        );
    }
}

#[test]
fn parts_are_covered_one_by_one_and_cd_is_followed() {
    let covered = |command: &str| Call::bash(command).allow("Bash(npm test)").decision();
    assert_eq!(covered("npm test && git status"), "allow");
    assert_eq!(covered("npm test && make"), "ask");
    assert_eq!(covered("cd src && npm test"), "allow");
    assert_eq!(covered("cd .. && npm test"), "ask");
    assert_eq!(covered("cd src && git status"), "ask");
    assert_eq!(covered("npm test &&"), "ask");
}

#[test]
fn redirections_are_writes_of_their_own() {
    for operator in [">", ">>", ">|", "&>", ">&", "<>"] {
        let command = format!("npm test {operator} out");
        let call = || Call::bash(&command).allow("Bash(npm test)");
        assert_eq!(call().decision(), "ask", "{command}");
        assert_eq!(call().allow("Edit(out)").decision(), "allow", "{command}");
        assert_eq!(call().mode("acceptEdits").decision(), "allow", "{command}");
        assert_eq!(call().deny("Edit(out)").decision(), "deny", "{command}");
    }
}

#[test]
fn paths_need_both_spellings_to_allow_and_one_to_deny() {
    let link = |call: Call| call.link("/repo/l", "/etc/x");
    assert_eq!(link(Call::read("/repo/l")).decision(), "ask");
    assert_eq!(
        link(Call::read("/repo/l").allow("Read(l)")).decision(),
        "ask"
    );
    assert_eq!(
        link(Call::read("/repo/l").deny("Read(l)")).decision(),
        "deny"
    );
    assert_eq!(
        link(Call::read("/repo/l").deny("Read(//etc/**)")).decision(),
        "deny"
    );
}

#[test]
fn a_rule_that_is_not_understood_never_widens() {
    assert_eq!(Call::bash("npm test").allow("Bash(").decision(), "ask");
    assert_eq!(Call::bash("ls").deny("Read(!x)").decision(), "ask");
    assert_eq!(Call::new("Foo", json!({})).allow("Foo").decision(), "ask");
}
