//! The rule that "always" would save for a call: as narrow as is useful, and sure to cover the call.
//!
//! Pure. Candidates are tried on [`decide`] itself, so a rule is offered only if the same call would be allowed with it:
//! protected paths, ask rules and what nobody can cover with one rule get no offer.

use super::bash::script::{Part, Word};
use super::bash::wrappers::unwrap;
use super::bash::{base_name, read};
use super::call::{Files, Subject};
use super::decide::{Asked, Decision, decide};
use super::path::{Ground, Spot, within};
use super::pattern::Role;
use super::rule::{RuleList, Rules, Source};
use super::world::World;
use crate::protocol::Mode;

/// A longer rule would not be read by the person who saves it.
const LONGEST_RULE: usize = 300;

/// Each one costs a decision; a line of more commands than this is not covered by one rule anyway.
const MOST_CANDIDATES: usize = 16;

/// Programs whose first argument is what they do: that belongs to the rule.
const MULTI_COMMAND: &[&str] = &[
    "apt",
    "apt-get",
    "aws",
    "az",
    "bazel",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "gcloud",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "gradlew",
    "helm",
    "hg",
    "jj",
    "just",
    "kubectl",
    "make",
    "mise",
    "mix",
    "mvn",
    "ninja",
    "nix",
    "npm",
    "nx",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "swift",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
    "zig",
];

/// Subcommands that run a script by its name, which belongs to the rule, too.
const NAMES_A_SCRIPT: [&str; 2] = ["run", "run-script"];
const SCRIPT_RUNNERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

/// Subcommands that run any program, or change what others run.
const RUNS_ANYTHING: [&str; 11] = [
    "api", "config", "dlx", "exec", "execute", "eval", "run", "shell", "ssh", "tool", "x",
];

/// Programs whose first argument is only a group of what they do.
const GROUPED: [&str; 4] = ["aws", "az", "gcloud", "gh"];

/// Programs for which a rule with a wildcard would allow anything, or what cannot be taken back: only the exact command.
const ONLY_EXACT: &[&str] = &[
    ".",
    "Rscript",
    "agent-tui",
    "ash",
    "at",
    "awk",
    "bash",
    "batch",
    "bunx",
    "busybox",
    "chgrp",
    "chmod",
    "chown",
    "chroot",
    "cp",
    "crontab",
    "csh",
    "curl",
    "dash",
    "dd",
    "doas",
    "ed",
    "emacs",
    "env",
    "eval",
    "ex",
    "exec",
    "expect",
    "export",
    "fd",
    "find",
    "fish",
    "flock",
    "gawk",
    "gdb",
    "install",
    "ionice",
    "ipython",
    "java",
    "julia",
    "kill",
    "killall",
    "ksh",
    "ln",
    "lua",
    "mawk",
    "mv",
    "mysql",
    "nawk",
    "nc",
    "ncat",
    "nix-shell",
    "node",
    "nodejs",
    "npx",
    "nsenter",
    "nvim",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pkexec",
    "pkill",
    "pnpx",
    "psql",
    "pwsh",
    "pypy",
    "python",
    "python2",
    "python3",
    "rbash",
    "rm",
    "rmdir",
    "rsync",
    "ruby",
    "runuser",
    "scp",
    "screen",
    "script",
    "sed",
    "setsid",
    "sftp",
    "sh",
    "shred",
    "socat",
    "source",
    "sqlite3",
    "ssh",
    "strace",
    "su",
    "sudo",
    "tcsh",
    "tee",
    "tmux",
    "truncate",
    "ts-node",
    "tsx",
    "unshare",
    "uvx",
    "vi",
    "vim",
    "watch",
    "wget",
    "xargs",
    "zsh",
];

/// The rule to offer for a call that would be asked about, if there is one.
pub fn offer(asked: &Asked<'_>, rules: &Rules, mode: Mode, world: &World<'_>) -> Option<String> {
    let ground = Ground::new(world);
    let candidates = match Subject::of(asked.tool, asked.input, &ground) {
        Subject::Bash(command) => bash(&command),
        Subject::Edit(files) => paths("Edit", &files, &ground),
        Subject::Read(files) => paths("Read", &files, &ground),
        Subject::Web(Some(host)) => vec![format!("WebFetch(domain:{host})")],
        Subject::Web(None) | Subject::Unclear(_) => Vec::new(),
        Subject::Other => vec![asked.tool.to_owned()],
    };
    let source = Source(String::new());
    let allows = |candidate: &String| {
        let mut with = rules.clone();
        let understood = with.add(RuleList::Allow, candidate, &source).is_ok();
        understood && decide(asked, &with, mode, world).decision == Decision::Allow
    };
    candidates
        .into_iter()
        .filter(|rule| rule.chars().count() <= LONGEST_RULE && !rule.chars().any(char::is_control))
        .find(allows)
}

/// Whether a rule is well written, as an allow rule; the error says what is wrong, in words for a person.
pub fn check_rule(text: &str) -> Result<(), String> {
    let source = Source(String::new());
    let mut rules = Rules::default();
    match rules.add(RuleList::Allow, text, &source)? {
        Some(warning) if rules.allow.is_empty() => Err(warning.0),
        Some(_) | None => Ok(()),
    }
}

/// One rule for each command of the line, prefixes first. Which of them covers the whole line, the decision says.
fn bash(command: &str) -> Vec<String> {
    let reading = read(command);
    let parts = reading.script.parts.iter();
    let prefixes = parts.clone().filter_map(prefix);
    let all = prefixes
        .map(|prefix| format!("Bash({prefix}:*)"))
        .chain(parts.filter_map(exact).map(|text| format!("Bash({text})")));
    let mut rules: Vec<String> = Vec::new();
    for rule in all {
        if rules.len() < MOST_CANDIDATES && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}

/// The leading words that say what a command does.
fn prefix(part: &Part) -> Option<String> {
    let unwrapped = unwrap(&part.words);
    let (program, arguments) = unwrapped.words.split_first()?;
    let name = base_name(&program.text);
    let dangerous = [name, without_version(name)]
        .iter()
        .any(|name| ONLY_EXACT.contains(name))
        || name.starts_with("python")
        || name.starts_with("mkfs");
    if dangerous || unwrapped.fed || !is_plain(program) {
        return None;
    }
    let mut words = vec![program.raw.as_str()];
    if MULTI_COMMAND.contains(&name) {
        let subcommand = arguments.first().filter(|word| is_plain(word))?;
        words.push(&subcommand.raw);
        if SCRIPT_RUNNERS.contains(&name) && NAMES_A_SCRIPT.contains(&subcommand.raw.as_str()) {
            let script = arguments.get(1).filter(|word| is_plain(word))?;
            words.push(&script.raw);
        } else if name != "cargo" && RUNS_ANYTHING.contains(&subcommand.raw.as_str()) {
            return None;
        } else if GROUPED.contains(&name) {
            let what = arguments.get(1).filter(|word| is_plain(word))?;
            words.push(&what.raw);
        }
    }
    Some(words.join(" "))
}

/// `python` for `python3.12`.
fn without_version(name: &str) -> &str {
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    bare.trim_end_matches('-')
}

/// The whole command, where no letter of it means more in a rule.
fn exact(part: &Part) -> Option<String> {
    let words: Vec<&str> = part.words.iter().map(|word| word.raw.as_str()).collect();
    let text = words.join(" ");
    (!text.is_empty() && !text.contains('*')).then_some(text)
}

/// A word that stands for itself, and is no flag.
fn is_plain(word: &Word) -> bool {
    let text = &word.raw;
    word.is_bare() && !text.is_empty() && !text.starts_with('-') && !text.contains([':', '*', '='])
}

/// The directory of the file, or the file where the directory would be too much; `~` and the project stand for themselves.
fn paths(tool: &str, files: &Files, ground: &Ground<'_>) -> Vec<String> {
    let outside = files.spots.iter().filter(|spot| !ground.contains(spot));
    let spots: Vec<&Spot> = match tool {
        // What lies inside may be read anyway.
        "Read" => outside.collect(),
        _ => files.spots.iter().collect(),
    };
    let [spot] = spots.as_slice() else {
        return Vec::new();
    };
    let path = spot.lexical.as_str();
    let directory = match files.role {
        Role::File => path.rsplit_once('/').map_or("", |(directory, _)| directory),
        Role::Start => path,
    };
    let whole_project = directory == ground.cwd.lexical;
    let too_much =
        directory.is_empty() || directory == "/" || within(&ground.home.lexical, directory);
    let below = (!whole_project && !too_much).then(|| format!("{}/**", pattern(directory, ground)));
    let file = (files.role == Role::File).then(|| pattern(path, ground));
    below
        .into_iter()
        .chain(file)
        .map(|pattern| format!("{tool}({pattern})"))
        .collect()
}

/// A path as a pattern that matches nothing else.
fn pattern(path: &str, ground: &Ground<'_>) -> String {
    let below = |directory: &str| {
        let rest = path.strip_prefix(directory)?;
        (directory != "/" && rest.starts_with('/')).then_some(rest)
    };
    let anchored = match (below(&ground.cwd.lexical), below(&ground.home.lexical)) {
        (Some(rest), _) => rest.to_owned(),
        (None, Some(rest)) => format!("~{rest}"),
        (None, None) => format!("/{path}"),
    };
    let mut pattern = String::with_capacity(anchored.len());
    for letter in anchored.chars() {
        if "*?[]\\".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::permissions::NoLinks;
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

    fn offered(tool: &str, input: &Value) -> Option<String> {
        let asked = Asked {
            tool,
            input,
            level: Level::Dangerous,
            read_only: false,
        };
        offer(&asked, &Rules::default(), Mode::Default, &world())
    }

    fn file(path: &str) -> Value {
        json!({ "file_path": path })
    }

    fn for_command(command: &str) -> String {
        offered("Bash", &json!({ "command": command })).unwrap_or_else(|| "none".into())
    }

    #[test]
    fn a_command_is_offered_by_the_words_that_say_what_it_does() {
        for (command, rule) in [
            ("cargo test --lib parser", "Bash(cargo test:*)"),
            ("pytest -k slow", "Bash(pytest:*)"),
            ("gh pr view 12 --json title", "Bash(gh pr view:*)"),
            ("aws s3 ls s3://bucket", "Bash(aws s3 ls:*)"),
            ("gcc-12 -c x.c", "Bash(gcc-12:*)"),
            ("npm run build -- --watch", "Bash(npm run build:*)"),
            ("git push origin main", "Bash(git push:*)"),
            ("./gradlew test", "Bash(./gradlew test:*)"),
            ("timeout 60 cargo build", "Bash(cargo build:*)"),
            ("RUST_LOG=debug cargo run", "Bash(cargo run:*)"),
            ("cargo test 2>&1 | tail -5", "Bash(cargo test:*)"),
            ("cargo test a && cargo test b", "Bash(cargo test:*)"),
        ] {
            assert_eq!(for_command(command), rule, "{command}");
        }
    }

    #[test]
    fn what_could_run_or_remove_anything_is_offered_exactly() {
        for command in [
            "python3 setup.py test",
            "bash -c 'make all'",
            "sudo make install",
            "rm -r build",
            "npx jest",
            "docker exec web ls",
            "curl https://example.org",
            "git -C sub push",
            "make -j4",
            "gh api user",
            "gh pr",
            "nodejs build.js",
            "perl5.36 -c x.pl",
            "ruby3.2 x.rb",
            "lua5.4 x.lua",
            "php8 x.php",
            "emacs-29.1 x",
            "tee out",
            "sqlite3 app.db",
        ] {
            assert_eq!(for_command(command), format!("Bash({command})"));
        }
    }

    #[test]
    fn no_rule_is_offered_where_one_would_not_cover_the_call_or_cover_more() {
        for command in [
            "cargo build && npm test",
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
    fn a_change_is_offered_for_the_directory_and_in_the_root_for_the_file() {
        let edit = |path: &str| offered("Edit", &file(path)).unwrap_or_else(|| "none".into());
        assert_eq!(edit("src/lib.rs"), "Edit(/src/**)");
        assert_eq!(edit("/repo/src/a[1]/b.rs"), "Edit(/src/a\\[1\\]/**)");
        assert_eq!(edit("Cargo.toml"), "Edit(/Cargo.toml)");
        assert_eq!(edit(".git/config"), "none");
        assert_eq!(edit("/etc/app/x.conf"), "Edit(//etc/app/**)");
        let write = offered("Write", &json!({"file_path": "src/new.rs", "content": ""}));
        assert_eq!(write.as_deref(), Some("Edit(/src/**)"));
    }

    #[test]
    fn reading_outside_is_offered_for_the_directory_but_not_for_a_home_or_the_root() {
        let read = |path: &str| offered("Read", &file(path)).unwrap_or_else(|| "none".into());
        assert_eq!(read("/usr/share/dict/words"), "Read(//usr/share/dict/**)");
        assert_eq!(read("~/notes/todo.md"), "Read(~/notes/**)");
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
        let source = Source("test".into());
        let added = rules.add(RuleList::Ask, "Bash(git push:*)", &source);
        assert_eq!(added, Ok(None));
        let input = json!({ "command": "git push" });
        let asked = Asked {
            tool: "Bash",
            input: &input,
            level: Level::Dangerous,
            read_only: false,
        };
        assert_eq!(offer(&asked, &rules, Mode::Default, &world()), None);
    }

    #[test]
    fn a_rule_that_would_not_count_is_told_apart() {
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
                let asked = Asked { tool, input: &input, level: Level::Dangerous, read_only: false };
                if let Some(rule) = offer(&asked, &Rules::default(), Mode::Default, &world()) {
                    let mut rules = Rules::default();
                    prop_assert_eq!(check_rule(&rule), Ok(()));
                    let added = rules.add(RuleList::Allow, &rule, &Source(String::new()));
                    prop_assert_eq!(added, Ok(None));
                    let decision = decide(&asked, &rules, Mode::Default, &world()).decision;
                    prop_assert_eq!(decision, Decision::Allow);
                }
            }
        }
    }
}
