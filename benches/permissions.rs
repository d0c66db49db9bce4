//! How fast calls are decided, each figure against its limit: `cargo bench --bench permissions`. Exits with 1 if one is
//! missed.

#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench prints its figures"
)]

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use agent_tui::permissions::{CallDetails, NoLinks, RuleList, Rules, Source, World, decide};
use agent_tui::protocol::{Level, Mode, Touches};
use serde_json::{Value, json};

const SHARED: &str = include_str!("../tests/fixtures/security/bash_cases.jsonl");
const OWN: &str = include_str!("../tests/fixtures/security/own_bash_cases.jsonl");

/// Commands that models use all the time.
const ORDINARY: [&str; 20] = [
    "ls -la src",
    "git status",
    "git diff --stat HEAD~3",
    "cargo test --all-targets",
    "npm run build && npm test",
    "grep -rn 'fn main' src | head -20",
    "find . -name '*.rs' -not -path './target/*'",
    "cat src/main.rs | sed -n '10,40p'",
    "cd packages/api && npm test -- --watch=false",
    "git add -A && git commit -m \"fix: keep the order of results\"",
    "python3 -c 'print(1 + 1)'",
    "rg -n 'TODO|FIXME' --glob '!vendor' src",
    "mkdir -p build/out && cp a.txt build/out/",
    "docker compose up -d",
    "curl -s https://example.org/api | jq '.items[0]'",
    "for f in a b c; do echo \"$f\"; done",
    "echo \"$(git rev-parse --short HEAD)\"",
    "NODE_ENV=test timeout 60 npx vitest run",
    "rm -rf build dist",
    "cat <<'EOF' > notes.md\nhello\nEOF",
];

const DENY: [&str; 8] = [
    "Bash(curl *)",
    "Bash(sudo *)",
    "Bash(git push *)",
    "Bash(rm -rf /*)",
    "Read(.env)",
    "Read(~/.ssh/**)",
    "Edit(secrets/**)",
    "mcp__evil",
];
const ASK: [&str; 4] = [
    "Bash(npm publish:*)",
    "Bash(git rebase *)",
    "Edit(Cargo.lock)",
    "Read(*.pem)",
];
const ALLOW: [&str; 10] = [
    "Bash(cargo test *)",
    "Bash(npm run *)",
    "Bash(npm test *)",
    "Bash(git add *)",
    "Bash(git commit *)",
    "Edit(src/**)",
    "Edit(tests/**)",
    "WebFetch(domain:docs.rs)",
    "Bash(make)",
    "Read(//usr/share/**)",
];

fn main() -> ExitCode {
    let bench = Bench::new();
    let figures = [bench.ordinary(), bench.short(), bench.hostile()];
    let mut missed = 0;
    for figure in &figures {
        println!("{figure}");
        missed += usize::from(!figure.holds);
    }
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

struct Figure {
    name: &'static str,
    measured: String,
    bar: &'static str,
    holds: bool,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.holds { "ok" } else { "MISSED" };
        write!(
            f,
            "{:<42} {:>14}   bar {:<12} {verdict}",
            self.name, self.measured, self.bar
        )
    }
}

struct Bench {
    rules: Rules,
    world: World<'static>,
}

impl Bench {
    fn new() -> Self {
        let mut rules = Rules::default();
        let source = Source::Session;
        let lists = [
            (RuleList::Deny, DENY.as_slice()),
            (RuleList::Ask, ASK.as_slice()),
            (RuleList::Allow, ALLOW.as_slice()),
        ];
        for (list, texts) in lists {
            for text in texts {
                rules.add(list, text, &source).expect("a rule");
            }
        }
        let world = World {
            cwd: PathBuf::from("/repo"),
            home: PathBuf::from("/home/u"),
            shell_dir: None,
            additional_directories: Vec::new(),
            config_dir: None,
            data_dir: None,
            protected_files: Vec::new(),
            links: &NoLinks,
        };
        Self { rules, world }
    }

    fn decide(&self, command: &str) -> Duration {
        let input = json!({ "command": command });
        let call = CallDetails {
            tool: "Bash",
            input: &input,
            touches: Touches::command(&input, "command"),
            level: Level::Dangerous,
            read_only: false,
        };
        let start = Instant::now();
        std::hint::black_box(decide(&call, &self.rules, Mode::Default, &self.world));
        start.elapsed()
    }

    fn ordinary(&self) -> Figure {
        const ROUNDS: usize = 2_000;
        for command in ORDINARY {
            self.decide(command);
        }
        let total: Duration = (0..ROUNDS)
            .flat_map(|_| ORDINARY)
            .map(|command| self.decide(command))
            .sum();
        let rate = (ROUNDS * ORDINARY.len()) as f64 / total.as_secs_f64();
        Figure {
            name: "decisions on ordinary commands",
            measured: format!("{rate:.0}/s"),
            bar: "50,000/s",
            holds: rate >= 50_000.0,
        }
    }

    /// Every command of the cases, and each of them repeated up to a kilobyte.
    fn short(&self) -> Figure {
        let mut commands: Vec<String> = Vec::new();
        for line in SHARED.lines().chain(OWN.lines()) {
            let case: Value = serde_json::from_str(line).expect("a case is JSON");
            let command = case["command"].as_str().expect("a case has a command");
            if command.len() > 1_000 || command.is_empty() {
                continue;
            }
            commands.push(command.to_owned());
            let repeated = format!("{command}; ").repeat(1_000 / (command.len() + 2));
            commands.push(repeated);
        }
        let mut times: Vec<Duration> = (0..5)
            .flat_map(|_| &commands)
            .map(|command| self.decide(command))
            .collect();
        times.sort();
        let slow = times[times.len() * 99 / 100];
        Figure {
            name: "99 % of commands up to 1 kB",
            measured: format!("{slow:?}"),
            bar: "1 ms",
            holds: slow < Duration::from_millis(1),
        }
    }

    fn hostile(&self) -> Figure {
        let pieces = [
            "(",
            "{ ",
            "$(",
            "`",
            "\"$(",
            "${x:-",
            "$((",
            "((",
            "[[ (",
            "if ",
            "while ",
            "case x in x) ",
            "f() { ",
            "<(",
            "a=(",
            "$[",
            "a[",
            "! ",
            "time ",
            "eval ",
            "sh -c '",
            "sudo ",
            "sudo rm ",
            "sudo git -C . ",
            "eval \"$(",
            "\\",
            "'",
            "<<E\n",
            "echo \"`",
            "{a,",
            "{",
            "cd a; ",
            "cd a && cat b; ",
            "xargs ",
            "find . -exec ",
            "> a ",
            "*",
            "../",
            "ls; ",
            "cat a b c; ",
        ];
        let worst = pieces
            .iter()
            .flat_map(|piece| {
                let open = piece.repeat(10_000 / piece.len());
                let closed = format!("{}{}", piece.repeat(5_000 / piece.len()), ")".repeat(4_999));
                [(piece, open), (piece, closed)]
            })
            .map(|(piece, text)| (self.decide(&text), piece))
            .max()
            .expect("there are pieces");
        Figure {
            name: "the slowest 10 kB of hostile nesting",
            measured: format!("{:?} {:?}", worst.0, worst.1),
            bar: "50 ms",
            holds: worst.0 < Duration::from_millis(50),
        }
    }
}
