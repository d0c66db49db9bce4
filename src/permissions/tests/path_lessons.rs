//! What went wrong elsewhere with paths, links, hosts and arguments.

use super::{Call, accepted, refused, touched};

#[test]
fn cve_2025_54794_paths_are_compared_by_components() {
    assert_eq!(Call::read("/repo-evil/x").decision(), "ask");
    assert_eq!(Call::bash("cat ../repo-evil/x").decision(), "ask");
    assert_eq!(
        Call::read("/repo/../repo-evil/x")
            .allow("Read(//repo/**)")
            .decision(),
        "ask"
    );
}

#[test]
fn cve_2025_59829_deny_follows_links() {
    let linked = |call: Call| {
        call.link("/repo/a", "/repo/b")
            .link("/repo/b", ".env")
            .deny("Read(.env)")
    };
    assert_eq!(linked(Call::read("/repo/a")).decision(), "deny");
    assert_eq!(linked(Call::bash("head a")).decision(), "deny");
    assert_eq!(linked(Call::bash("cat < a")).decision(), "deny");
    assert_eq!(
        linked(Call::write("/repo/a"))
            .mode("acceptEdits")
            .decision(),
        "deny"
    );
}

#[test]
fn cve_2025_55345_links_do_not_lead_out_of_the_workspace() {
    let call = Call::write("/repo/d/x")
        .link("/repo/d", "../outside")
        .mode("acceptEdits");
    assert_eq!(call.decision(), "ask");
    let call = Call::bash("cp a d/x")
        .link("/repo/d", "/outside")
        .mode("acceptEdits");
    assert_eq!(call.decision(), "ask");
    let call = Call::bash("cp a.txt d")
        .link("/repo/d/a.txt", "/outside/a.txt")
        .mode("acceptEdits");
    assert_eq!(call.decision(), "ask");
}

#[test]
fn cve_2026_32055_dangling_and_endless_links_are_outside() {
    let call = Call::write("/repo/new")
        .link("/repo/new", "/outside/none")
        .mode("acceptEdits");
    assert_eq!(call.decision(), "ask");
    let call = Call::read("/repo/loop").link("/repo/loop", "/repo/loop");
    assert_eq!(call.decision(), "ask");
}

#[test]
fn dots_after_a_link_are_counted_from_its_target() {
    let call = Call::read("/repo/d/../x").link("/repo/d", "/etc/ssl");
    assert_eq!(call.decision(), "ask");
}

#[test]
fn opencode_32628_redirect_targets_pass_the_gate() {
    assert_eq!(
        Call::bash("echo x > /etc/cron.d/x")
            .mode("acceptEdits")
            .decision(),
        "ask"
    );
    assert_eq!(
        Call::bash("echo x > ../x").mode("acceptEdits").decision(),
        "ask"
    );
    assert_eq!(Call::bash("cat < /etc/shadow").decision(), "ask");
}

#[test]
fn cve_2026_25725_own_settings_are_protected_before_they_exist() {
    for path in [
        "/repo/.agent-tui/settings.json",
        "/repo/.claude/settings.json",
        "/home/u/.agent-tui/x",
        "/repo/.GIT/config",
    ] {
        assert_eq!(
            Call::write(path)
                .mode("acceptEdits")
                .allow("Edit(//**)")
                .decision(),
            "ask",
            "{path}"
        );
    }
    assert_eq!(
        Call::write("/repo/.claude/worktrees/a/x")
            .mode("acceptEdits")
            .decision(),
        "allow"
    );
}

#[test]
fn cve_2025_53773_copies_onto_protected_names_are_seen() {
    for command in [
        "cp evil/.mcp.json .",
        "mv a/.envrc .",
        "cp -t . a/.bashrc",
        "cp -r evil .git",
        "ln -s x .husky/pre-commit",
    ] {
        assert_eq!(
            Call::bash(command)
                .mode("acceptEdits")
                .allow("Bash(ln *)")
                .decision(),
            "ask",
            "{command}"
        );
    }
}

#[test]
fn cve_2026_24052_domains_are_compared_by_labels() {
    for url in [
        "https://example.com.evil.com/",
        "https://evil.com/example.com",
        "https://example.com@evil.com",
        "https://evil.com\\@example.com",
        "https://evilexample.com",
        "file:///example.com",
        "https:evil.com#example.com",
        "javascript:example.com",
        "example.com",
        "",
    ] {
        let call = Call::new("WebFetch", serde_json::json!({ "url": url }))
            .allow("WebFetch(domain:example.com)");
        assert_eq!(call.decision(), "ask", "{url}");
    }
    for url in [
        "https:\\\\example.com\\x",
        "HTTPS://EXAMPLE.COM:8443/x",
        "http:example.com",
        "https://a@example.com./",
        "https://ex%61mple.com",
    ] {
        let call = Call::new("WebFetch", serde_json::json!({ "url": url }))
            .deny("WebFetch(domain:example.com)");
        assert_eq!(call.decision(), "deny", "{url}");
    }
}

#[test]
fn surprises_found_under_strace_are_refused() {
    refused(&[
        "git blame --output=F x",
        "git shortlog --output=F",
        "git rev-list --output=F HEAD",
        "GIT_TRACE=x git status",
        "uniq a b",
        "xxd a b",
        "xxd -ps a b",
        "xxd a -la",
        "xxd a -l4",
        "xxd -la a",
        "printf -v x a",
        "printf '%n' x",
        "ls >&x",
        "tree -R -L 2",
        "tree -Lo 2 out",
        "diff -l a b",
        "ps -eu x",
        "file -z f",
        "seq 1 1e18",
        "tail -f x",
        "tail --follow=name x",
        "jq -n '[range(1e12)]'",
        "grep -r KEY /proc",
        "cat /proc/self/root/dev/zero",
        "cat ../../../../dev/tty",
        "cat /pro*/self/environ",
        "git branch -v new",
        "git remote update",
        "git config --get a --unset b",
    ]);
}

#[test]
fn cve_2026_42074_no_argument_of_a_call_loosens_it() {
    let input = serde_json::json!({ "command": "npm test", "dangerouslyDisableSandbox": true, "mode": "bypassPermissions" });
    assert_eq!(Call::new("Bash", input).decision(), "ask");
}

#[test]
fn cve_2025_59041_and_others_names_in_arguments_run_nothing() {
    accepted(&[
        "git log --author='$(id)'",
        "grep '`id`' f",
        "echo 'x; id'",
        "find . -name '*;id'",
    ]);
}

#[test]
fn what_xargs_reads_has_to_be_named() {
    assert_eq!(Call::bash("echo /etc/shadow | xargs cat").decision(), "ask");
    assert_eq!(Call::bash("cat list | sort | xargs cat").decision(), "ask");
    assert_eq!(
        Call::bash("find . -printf /etc/shadow | xargs cat").decision(),
        "ask"
    );
    assert_eq!(
        Call::bash("find . -name '*.rs' | sort | xargs wc -l").decision(),
        "allow"
    );
}

#[test]
fn a_glob_of_echo_lists_no_directory_outside() {
    assert_eq!(Call::bash("echo /etc/*").decision(), "ask");
    assert_eq!(Call::bash("echo ../*").decision(), "ask");
    assert_eq!(Call::bash("echo src/*").decision(), "allow");
}

#[test]
fn a_copy_whose_targets_are_not_told_by_its_names_asks() {
    for command in [
        "cp -rt . vendor/foo/.",
        "cp -r --target-directory=. vendor/foo/.",
        "cp -rT vendor/foo .",
        "cp --parents secret/x out",
    ] {
        let call = Call::bash(command).mode("acceptEdits");
        assert_eq!(call.decision(), "ask", "{command}");
    }
    assert_eq!(
        Call::bash("cp -t sub a b").mode("acceptEdits").decision(),
        "allow"
    );
}

#[test]
fn a_link_whose_target_is_no_text_is_never_inside() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use crate::permissions::{CallDetails, Decision, Links, Rules, World, decide};
    use crate::protocol::{Level, Mode};

    struct Odd;
    impl Links for Odd {
        fn target(&self, path: &Path) -> Option<PathBuf> {
            (path == Path::new("/repo/a")).then(|| PathBuf::from(OsStr::from_bytes(b"\xff")))
        }

        fn links_below(
            &self,
            _directory: &Path,
            _levels: usize,
            _wanted: &dyn Fn(usize, &str) -> bool,
        ) -> Option<Vec<String>> {
            None
        }

        fn repository_starts(&self, _directory: &Path) -> Option<String> {
            None
        }
    }
    let world = World {
        cwd: "/repo".into(),
        home: "/home/u".into(),
        shell_dir: None,
        additional_directories: Vec::new(),
        config_dir: None,
        data_dir: None,
        protected_files: Vec::new(),
        links: &Odd,
    };
    let input = serde_json::json!({"file_path": "/repo/a/passwd"});
    let call = CallDetails {
        tool: "Read",
        input: &input,
        touches: touched("Read", &input),
        level: Level::Safe,
        read_only: true,
    };
    let verdict = decide(&call, &Rules::default(), Mode::Default, &world);
    assert_eq!(verdict.decision, Decision::Ask);
}
