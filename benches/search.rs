//! Grep, Glob and `FileSearch` on a tree of 100,000 files, compared with `rg` on the same task; and 10,000 replacements in
//! 1,000 files.
//!
//! Prints a table of medians and fails if one of ours takes more than 1.2 times as long as `rg`, or if the replacements take
//! more than 2 seconds. Without `rg` on the `PATH` `FileSearch` is compared with Grep, which has the same walk and searcher,
//! and of the others only our figures are printed. A word as argument (`-- Glob`) selects the searches that contain it. Each round
//! runs ours and then `rg`, so that both see the same load.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use agent_tui::permissions::Places;
use agent_tui::tools::off_limits::OffLimits;
use agent_tui::tools::tree::Stop;
use agent_tui::tools::{file_search, glob, grep};
use serde_json::{Value, json};

const FILES: usize = 100_000;
const FILES_PER_DIRECTORY: usize = 100;
const ROUNDS: usize = 15;
const ALLOWED: f64 = 1.2;

/// A search for both programs.
struct Job {
    name: &'static str,
    ours: Ours,
    /// Arguments of `rg`; the tree is its working directory.
    theirs: &'static [&'static str],
    judged: Judged,
}

/// Whether the job counts for the outcome.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judged {
    Yes,
    /// `rg` does less work here, so the figures are only shown.
    No,
}

enum Ours {
    Grep(Value),
    Glob(Value),
    FileSearch(Value),
}

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            print_error(&format!("the bench could not run: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<ExitCode> {
    let tree = tempfile::tempdir()?;
    let began = Instant::now();
    grow(tree.path())?;
    print(&format!(
        "{FILES} files in {:.1} s\n",
        began.elapsed().as_secs_f64()
    ));
    let has_rg = Command::new("rg")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    print(&format!(
        "{:<42} {:>8} {:>10} {:>10} {:>7}",
        "search", "lines", "ours", "rg", "ratio"
    ));
    let mut is_slow = false;
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    for job in jobs() {
        if !chosen.is_empty() && !chosen.iter().any(|word| job.name.contains(word.as_str())) {
            continue;
        }
        is_slow |= measure(&job, tree.path(), has_rg)?;
    }
    if chosen.is_empty() || chosen.iter().any(|word| REPLACING.contains(word.as_str())) {
        is_slow |= replace()?;
    }
    Ok(if is_slow {
        print_error(&format!(
            "slower than {ALLOWED} times rg, or than {} s",
            REPLACED_WITHIN.as_secs()
        ));
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn jobs() -> Vec<Job> {
    vec![
        Job {
            name: "Grep rare literal",
            ours: Ours::Grep(json!({ "pattern": "xylophone_marker" })),
            theirs: &["-l", "xylophone_marker", "."],
            judged: Judged::Yes,
        },
        Job {
            name: "Grep rare literal, content",
            ours: Ours::Grep(json!({ "pattern": "xylophone_marker", "output_mode": "content" })),
            theirs: &["-n", "xylophone_marker", "."],
            judged: Judged::Yes,
        },
        Job {
            name: "Grep common word, count",
            ours: Ours::Grep(json!({ "pattern": "return", "output_mode": "count" })),
            theirs: &["-c", "return", "."],
            judged: Judged::Yes,
        },
        Job {
            name: "Grep common word, files, rg not sorting",
            ours: Ours::Grep(json!({ "pattern": "return" })),
            theirs: &["-l", "return", "."],
            judged: Judged::Yes,
        },
        Job {
            name: "Grep regex, no case, type rust",
            ours: Ours::Grep(
                json!({ "pattern": r"HANDLE_\w+\d{4}[57]\b", "-i": true, "type": "rust" }),
            ),
            theirs: &["-l", "-i", "-t", "rust", r"HANDLE_\w+\d{4}[57]\b", "."],
            judged: Judged::Yes,
        },
        Job {
            name: "Grep regex, no case",
            ours: Ours::Grep(json!({ "pattern": r"HANDLE_\w+\d{4}[57]\b", "-i": true })),
            theirs: &["-l", "-i", r"HANDLE_\w+\d{4}[57]\b", "."],
            judged: Judged::Yes,
        },
        Job {
            name: "FileSearch rare literal",
            ours: Ours::FileSearch(json!({ "pattern": "xylophone_marker" })),
            theirs: &["-n", "xylophone_marker", "."],
            judged: Judged::Yes,
        },
        Job {
            name: "FileSearch regex in *.rs",
            ours: Ours::FileSearch(json!({ "pattern": r"handle_1_\d+95\b", "file_glob": "*.rs" })),
            theirs: &["-n", "-g", "*.rs", r"handle_1_\d+95\b", "."],
            judged: Judged::Yes,
        },
        Job {
            name: "Glob **/*.rs, rg not sorting (not judged)",
            ours: Ours::Glob(json!({ "pattern": "**/*.rs" })),
            theirs: &["--files", "-g", "**/*.rs", "."],
            judged: Judged::No,
        },
        Job {
            name: "Glob **/*.rs, rg sorting by time too",
            ours: Ours::Glob(json!({ "pattern": "**/*.rs" })),
            theirs: &["--files", "--sortr", "modified", "-g", "**/*.rs", "."],
            judged: Judged::Yes,
        },
    ]
}

impl Job {
    /// The same search by Grep, for a `FileSearch` on a machine without `rg`.
    fn by_grep(&self) -> Option<Ours> {
        let Ours::FileSearch(input) = &self.ours else {
            return None;
        };
        let mut input = input.clone();
        let fields = input.as_object_mut()?;
        if let Some(glob) = fields.remove("file_glob") {
            fields.insert("glob".to_owned(), glob);
        }
        fields.insert("output_mode".to_owned(), json!("content"));
        Some(Ours::Grep(input))
    }
}

/// Replaces 10,000 matches in 1,000 files with the whole program: permission, checkpoints, log and all. Returns whether it
/// is too slow.
fn replace() -> io::Result<bool> {
    let home = tempfile::tempdir()?;
    let work = home.path().join("work");
    let line = "fn run() { old_name(); }\n// another line\n";
    for number in 0..1_000 {
        let folder = work.join(format!("part{}", number % 20));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("file{number}.rs")), line.repeat(10))?;
    }
    let script = home.path().join("script.toml");
    fs::write(&script, REPLACE)?;
    let output = Command::new(env!("CARGO_BIN_EXE_agent-tui"))
        .args(["-p", "go", "--permission-mode", "bypassPermissions"])
        .args(["--output-format", "stream-json", "--provider"])
        .arg(format!("script:{}", script.display()))
        .current_dir(&work)
        .env("HOME", home.path())
        .env("AGENT_TUI_CONFIG_DIR", home.path().join("config"))
        .env("AGENT_TUI_DATA_DIR", home.path().join("data"))
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let took = lines
        .filter(|line| line["state"] == "completed" && line["is_error"] == false)
        .find_map(|line| line["ran_ms"].as_u64());
    let changed = text.contains("Replaced 10000 matches in 1000 files");
    let Some(took) = took.filter(|_| changed) else {
        return Err(io::Error::other(format!("nothing was replaced: {text}")));
    };
    let took = Duration::from_millis(took);
    print(&format!(
        "{REPLACING:<42} {:>8} {:>10}",
        10_000,
        figure(took)
    ));
    Ok(took > REPLACED_WITHIN)
}

const REPLACING: &str = "FileSearch 10,000 replacements, 1,000 files";
const REPLACED_WITHIN: Duration = Duration::from_secs(2);
const REPLACE: &str = r#"
[[turn]]
step = [{ call = "FileSearch", input = { pattern = "old_name", replace_with = "new_name", preview_only = false } }]
[[turn]]
text = "Done."
"#;

/// Measures one job and prints its line; returns whether it is too slow.
fn measure(job: &Job, tree: &Path, has_rg: bool) -> io::Result<bool> {
    let mut ours = Vec::with_capacity(ROUNDS);
    let mut theirs = Vec::with_capacity(ROUNDS);
    let mut lines = 0;
    // One extra round warms the caches.
    for round in 0..=ROUNDS {
        let began = Instant::now();
        lines = search(&job.ours, tree)?;
        let our_time = began.elapsed();
        let began = Instant::now();
        if let (false, Some(same)) = (has_rg, job.by_grep()) {
            search(&same, tree)?;
        } else if has_rg {
            // A pipe, as in any tool that calls `rg`; reading it is part of the job.
            Command::new("rg")
                .args(job.theirs)
                .current_dir(tree)
                .stdin(Stdio::null())
                .output()?;
        }
        let their_time = began.elapsed();
        if round > 0 {
            ours.push(our_time);
            theirs.push(their_time);
        }
    }
    let (ours, theirs) = (median(ours), median(theirs));
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    let compared = has_rg || job.by_grep().is_some();
    let (their_figure, ratio_figure) = if compared {
        (figure(theirs), format!("{ratio:.2}"))
    } else {
        ("-".into(), "-".into())
    };
    print(&format!(
        "{:<42} {lines:>8} {:>10} {their_figure:>10} {ratio_figure:>7}",
        job.name,
        figure(ours)
    ));
    Ok(compared && job.judged == Judged::Yes && ratio > ALLOWED)
}

/// Compiles, runs and writes the answer, like a call of the tool; returns the number of its lines.
fn search(ours: &Ours, tree: &Path) -> io::Result<usize> {
    let stop = Stop::default();
    let answer = match ours {
        Ours::Grep(input) => grep::answer(
            &serde_json::from_value(input.clone())?,
            tree,
            &OffLimits::default(),
            &Places::default(),
            &stop,
        ),
        Ours::Glob(input) => glob::answer(
            &serde_json::from_value(input.clone())?,
            tree,
            &OffLimits::default(),
            &Places::default(),
            &stop,
        ),
        Ours::FileSearch(input) => file_search::answer(
            &serde_json::from_value(input.clone())?,
            tree,
            &OffLimits::default(),
            &Places::default(),
            &stop,
        ),
    };
    let text = answer.map_err(|error| io::Error::other(error.message))?;
    Ok(text.lines().count())
}

/// A tree like a large repository: nested directories, several kinds of files, some of them ignored.
fn grow(root: &Path) -> io::Result<()> {
    fs::create_dir(root.join(".git"))?;
    fs::write(root.join(".gitignore"), "*.log\n/build/\nnode_modules/\n")?;
    for directory in 0..FILES / FILES_PER_DIRECTORY {
        let path = root.join(format!("part{}/module{directory}", directory % 20));
        fs::create_dir_all(&path)?;
        for number in 0..FILES_PER_DIRECTORY {
            let id = directory * FILES_PER_DIRECTORY + number;
            let kind = ["rs", "ts", "md", "txt", "log"][id % 5];
            fs::write(path.join(format!("file{number}.{kind}")), text(id))?;
        }
    }
    Ok(())
}

/// About 1.5 kB that looks like code; one file in a thousand has the rare word.
fn text(id: usize) -> String {
    const BODY: &str = "(input: &str) -> usize {\n    return input.len() + 1;\n}\n";
    let number = format!("{id:05}");
    let mut text = format!("// file {id}\n");
    for line in 0..20 {
        text += &["fn handle_", &line.to_string(), "_", &number, BODY].concat();
    }
    if id.is_multiple_of(1_000) {
        text.push_str("// xylophone_marker\n");
    }
    text
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn figure(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

#[expect(clippy::print_stdout, reason = "the table is what a bench is for")]
fn print(line: &str) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "a bench has no screen to protect")]
fn print_error(line: &str) {
    eprintln!("{line}");
}
