//! Which rules are offered for which calls.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::permissions::tests::touched;
use crate::permissions::{NoLinks, RealLinks};
use crate::protocol::Level;

fn world() -> World<'static> {
    World {
        cwd: PathBuf::from("/repo"),
        home: PathBuf::from("/home/u"),
        shell_dir: None,
        additional_directories: Vec::new(),
        config_dir: None,
        data_dir: None,
        protected_files: Vec::new(),
        links: &NoLinks,
    }
}

fn offers(tool: &str, input: &Value) -> Option<Offer> {
    let call = CallDetails {
        tool,
        input,
        touches: touched(tool, input),
        level: Level::Dangerous,
        read_only: false,
    };
    offer(&call, &Rules::default(), Mode::Default, &world())
}

fn offered(tool: &str, input: &Value) -> Option<String> {
    offers(tool, input).map(|offer| offer.rule)
}

/// The exact rule and the wider one.
fn both(tool: &str, input: &Value) -> (String, String) {
    let offer = offers(tool, input).expect("a rule covers it");
    (offer.rule, offer.wider.unwrap_or_else(|| "none".into()))
}

fn file(path: &str) -> Value {
    json!({ "file_path": path })
}

fn for_command(command: &str) -> String {
    offered("Bash", &json!({ "command": command })).unwrap_or_else(|| "none".into())
}

#[test]
fn a_command_is_offered_exactly_as_written() {
    for command in [
        "cargo test --lib parser",
        "npm run build -- --watch",
        "git push origin main",
        "git commit -m 'one change'",
        "git add src/lib.rs",
        "python3 setup.py test",
        "bash -c 'make all'",
        "sudo make install",
        "rm -r build",
        "docker exec web ls",
        "timeout 60 cargo build",
        // Prefixes of these would run anything, or write any file.
        "tar xf a.tar",
        "git fetch origin",
        "git rebase main",
        "git bisect start",
        "git submodule update",
        "git log --output=x",
        "rg --pre=cat x",
        "sort -o x y",
        "man ls",
        "split big",
        "zip -r a.zip a",
        "gcc -c x.c",
        "go test ./...",
        "make test",
        "docker compose up",
        "hyperfine ls",
        "valgrind ./a",
        "xvfb-run ./a",
        "elixir x.exs",
        "R CMD check",
    ] {
        assert_eq!(for_command(command), format!("Bash({command})"));
    }
    for (command, rule) in [
        ("RUST_LOG=debug cargo run", "Bash(cargo run)"),
        ("cargo test 2>&1 | tail -5", "Bash(cargo test)"),
        ("cargo test a && cargo test a", "Bash(cargo test a)"),
    ] {
        assert_eq!(for_command(command), rule, "{command}");
    }
}

#[test]
fn arguments_are_left_open_only_in_the_wider_rule_and_only_for_harmless_commands() {
    for (command, rule, wider) in [
        ("mkdir -p a/b", "Bash(mkdir -p a/b)", "Bash(mkdir:*)"),
        ("touch x.txt", "Bash(touch x.txt)", "Bash(touch:*)"),
        ("./mkdir a", "Bash(./mkdir a)", "none"),
        ("cargo test", "Bash(cargo test)", "none"),
        ("cat /etc/hosts", "Read(//etc/hosts)", "none"),
        // No exact rule covers both.
        ("mkdir a && mkdir b", "Bash(mkdir:*)", "none"),
    ] {
        let found = both("Bash", &json!({ "command": command }));
        assert_eq!(found, (rule.to_owned(), wider.to_owned()), "{command}");
    }
}

#[test]
fn cat_of_one_file_does_not_offer_every_file() {
    for (command, rule) in [
        ("cat /etc/hosts", "Read(//etc/hosts)"),
        ("head -n 3 ~/notes.md", "Read(~/notes.md)"),
        ("grep x /etc/hosts | wc -l", "Read(//etc/hosts)"),
        ("wc -l < /etc/hosts", "Read(//etc/hosts)"),
        ("cat '/etc/a[1]'", "Read(//etc/a\\[1\\])"),
        // Two files, or all below a directory: only this command.
        (
            "cat /etc/hosts /etc/group",
            "Bash(cat /etc/hosts /etc/group)",
        ),
        ("grep -r x /etc", "Bash(grep -r x /etc)"),
        ("ls /etc", "Bash(ls /etc)"),
        ("cat /etc/", "Bash(cat /etc/)"),
    ] {
        assert_eq!(for_command(command), rule, "{command}");
    }
}

#[test]
fn no_rule_is_offered_if_it_would_not_cover_the_call_or_cover_too_much() {
    for command in [
        "cargo build && npm test",
        "cargo test a && cargo test b",
        "cargo test > log.txt",
        "rm *.o",
        "for f in a b; do cargo test; done",
        "echo $(cargo test)",
        "PATH=. cargo test",
        "cargo test &&",
        "rm -rf /",
        "rm -r /repo",
        "python3 -c 'a = 2 * 3'",
        "",
    ] {
        assert_eq!(for_command(command), "none", "{command}");
    }
}

#[test]
fn a_change_is_offered_for_the_file_and_inside_the_workspace_also_for_its_directory() {
    for (path, rule, wider) in [
        ("src/lib.rs", "Edit(/src/lib.rs)", "Edit(/src/**)"),
        (
            "/repo/src/a[1]/b.rs",
            "Edit(/src/a\\[1\\]/b.rs)",
            "Edit(/src/a\\[1\\]/**)",
        ),
        ("Cargo.toml", "Edit(/Cargo.toml)", "none"),
        ("/etc/app/x.conf", "Edit(//etc/app/x.conf)", "none"),
    ] {
        let found = both("Edit", &file(path));
        assert_eq!(found, (rule.to_owned(), wider.to_owned()), "{path}");
    }
    assert_eq!(offered("Edit", &file(".git/config")), None);
    let write = both("Write", &json!({"file_path": "src/new.rs", "content": ""}));
    assert_eq!(write, ("Edit(/src/new.rs)".into(), "Edit(/src/**)".into()));
}

#[test]
fn reading_outside_is_offered_for_the_file_and_a_search_for_its_directory() {
    let read = |path: &str| offered("Read", &file(path)).unwrap_or_else(|| "none".into());
    assert_eq!(
        read("/usr/share/dict/words"),
        "Read(//usr/share/dict/words)"
    );
    assert_eq!(read("~/notes/todo.md"), "Read(~/notes/todo.md)");
    assert_eq!(read("~/todo.md"), "Read(~/todo.md)");
    assert_eq!(read("/home/x"), "Read(//home/x)");
    let grep = |path: &str| {
        let input = json!({ "pattern": "x", "path": path });
        offered("Grep", &input).unwrap_or_else(|| "none".into())
    };
    assert_eq!(grep("/usr/include"), "Read(//usr/include/**)");
    assert_eq!(grep("~"), "none");
    assert_eq!(grep("/"), "none");
}

#[test]
fn a_directory_that_is_named_as_a_file_is_not_offered_with_everything_below_it() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    let path = outside.path().display().to_string();
    let world = World {
        links: &RealLinks,
        ..world()
    };
    let offered = |tool: &str, input: &Value| {
        let call = CallDetails {
            tool,
            input,
            touches: touched(tool, input),
            level: Level::Dangerous,
            read_only: false,
        };
        offer(&call, &Rules::default(), Mode::Default, &world).map(|offer| offer.rule)
    };
    assert_eq!(offered("Read", &file(&path)), None);
    let command = format!("stat {path}");
    assert_eq!(
        offered("Bash", &json!({ "command": command })),
        Some(format!("Bash({command})"))
    );
}

#[test]
fn a_fetch_is_offered_by_its_host_and_other_tools_by_their_names() {
    let fetch = offered(
        "WebFetch",
        &json!({ "url": "https://docs.rs/x", "prompt": "" }),
    );
    assert_eq!(fetch.as_deref(), Some("WebFetch(domain:docs.rs)"));
    let call = offered("mcp__github__search", &json!({}));
    assert_eq!(call.as_deref(), Some("mcp__github__search"));
}

#[test]
fn an_ask_rule_leaves_nothing_to_offer() {
    let mut rules = Rules::default();
    let source = Source::Session;
    let added = rules.add(RuleList::Ask, "Bash(git push:*)", &source);
    assert_eq!(added, Ok(None));
    let input = json!({ "command": "git push" });
    let call = CallDetails {
        tool: "Bash",
        input: &input,
        touches: touched("Bash", &input),
        level: Level::Dangerous,
        read_only: false,
    };
    assert_eq!(offer(&call, &rules, Mode::Default, &world()), None);
}

#[test]
fn a_rule_that_would_not_apply_is_an_error() {
    assert_eq!(check_rule("Bash(cargo test:*)"), Ok(()));
    for wrong in [
        "",
        "Bash(",
        "Bash()",
        "(x)",
        "Read(/[)",
        "Write(src/**)",
        "Bash(command:x)",
    ] {
        assert!(check_rule(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn what_is_offered_allows_the_call(command in "[a-z*$ ;&|>'\"/.:=-]{0,40}", path in "[a-z./~*\\[ ]{1,20}") {
        for (tool, input) in [
            ("Bash", json!({ "command": command })),
            ("Edit", file(&path)),
            ("Read", file(&path)),
        ] {
            let call = CallDetails { tool, input: &input, touches: touched(tool, &input), level: Level::Dangerous, read_only: false };
            let offer = offer(&call, &Rules::default(), Mode::Default, &world());
            for rule in offer.into_iter().flat_map(|offer| [Some(offer.rule), offer.wider]).flatten() {
                let mut rules = Rules::default();
                prop_assert_eq!(check_rule(&rule), Ok(()));
                let added = rules.add(RuleList::Allow, &rule, &Source::Session);
                prop_assert_eq!(added, Ok(None));
                let decision = decide(&call, &rules, Mode::Default, &world()).decision;
                prop_assert_eq!(decision, Decision::Allow);
            }
        }
    }
}
