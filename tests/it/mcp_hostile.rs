//! Hostile MCP servers beside a healthy one, measured from outside: the time and memory that the program takes, what it
//! prints, and the processes that are left.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::mcp::{STREAM, calling, definition, results};
use crate::support::program::finish;
use crate::support::{Output, Program};

/// More than the program needs, and much less than what the servers send.
const MOST_MEMORY: u64 = 300 << 20;

struct Run {
    output: Output,
    took: Duration,
    /// The most memory that the program had at once, in bytes.
    peak: u64,
    /// Processes of the servers that are still there.
    left: Vec<String>,
}

/// Runs the program with a healthy server `good` and others, each with a name, a behaviour and a time limit in
/// milliseconds.
fn run(others: &[(&str, &str, u64)], calls: &[(&str, &str)]) -> Run {
    let program = Program::new();
    let mark = program.workspace().display().to_string();
    let mut servers = Map::new();
    for (name, mode, limit) in [("good", "healthy", 30_000)].iter().chain(others) {
        let mut server = definition(mode);
        server["env"]["TEST_MARK"] = json!(mark);
        server["timeout"] = json!(limit);
        servers.insert((*name).to_owned(), server);
    }
    let config = json!({ "mcpServers": servers }).to_string();
    let script = program.put("script.toml", calling(calls));
    let provider = format!("script:{}", script.display());
    let settings = program.put("never.json", r#"{ "toolSearch": "never" }"#);
    let settings = settings.display().to_string();
    let line = [
        "--provider",
        &provider,
        "--mcp-config",
        &config,
        "--settings",
        &settings,
        "--permission-mode",
        "bypassPermissions",
        "-p",
        "go",
    ];
    let begun = Instant::now();
    let mut command = program.command(&[&line[..], &STREAM[..]].concat());
    let child = command.spawn().expect("the program starts");
    let peak = Peak::of(child.id());
    let output = finish(child);
    Run {
        took: begun.elapsed(),
        peak: peak.bytes(),
        left: processes_with(&mark),
        output,
    }
}

/// Reads the high-water mark of a process again and again until it ends.
struct Peak {
    over: Arc<AtomicBool>,
    reader: std::thread::JoinHandle<u64>,
}

impl Peak {
    fn of(process: u32) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = over.clone();
        let reader = std::thread::spawn(move || {
            let mut peak = 0;
            while !seen.load(Ordering::Relaxed) {
                let status = std::fs::read_to_string(format!("/proc/{process}/status"));
                let status = status.unwrap_or_default();
                let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
                peak = peak.max(kilobytes.unwrap_or(0) * 1024);
                std::thread::park_timeout(Duration::from_millis(20));
            }
            peak
        });
        Self { over, reader }
    }

    fn bytes(self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.reader.join().expect("no panic")
    }
}

/// The processes whose environment contains this.
fn processes_with(mark: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").expect("a list of processes");
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let has_mark = |number: &String| {
        let variables = std::fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        memchr::memmem::find(&variables, mark.as_bytes()).is_some()
    };
    let others = numbers.filter(|number| *number != own);
    others.filter(has_mark).collect()
}

/// One at a time: together they would measure each other.
static ALONE: Mutex<()> = Mutex::new(());

fn check(run: &Run, seconds: u64) {
    let (output, peak) = (&run.output, run.peak >> 20);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(run.peak < MOST_MEMORY, "{peak} MiB");
    assert!(run.peak > 0, "nothing was measured");
    assert!(run.took < Duration::from_secs(seconds), "{:?}", run.took);
    assert_eq!(run.left, Vec::<String>::new());
    let results = results(output);
    let last = results.last().expect("results");
    assert_eq!(*last, ("fine".to_owned(), false), "{results:?}");
    for text in [&output.stdout, &output.stderr] {
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{7}']), "{text}");
    }
}

const FINE: (&str, &str) = ("mcp__good__echo", "{ text = \"fine\" }");

#[test]
fn servers_that_hang_cost_their_own_time_limit() {
    let _alone = ALONE.lock();
    let servers = [
        ("begin", "hangs", 1_000),
        ("call", "healthy", 1_000),
        ("end", "stays", 30_000),
    ];
    let calls = [
        ("mcp__call__hangs", "{}"),
        ("mcp__call__wrong-id", "{}"),
        ("mcp__call__garbage", "{}"),
        FINE,
    ];
    let run = run(&servers, &calls);
    check(&run, 60);
    let results = results(&run.output);
    assert!(
        results.iter().take(3).all(|(_, is_error)| *is_error),
        "{results:?}"
    );
    assert!(
        results[0].0.contains("did not answer within 1 s"),
        "{results:?}"
    );
    let stderr = &run.output.stderr;
    assert!(
        stderr.contains("no answer to `initialize` within"),
        "{stderr}"
    );
}

#[test]
fn floods_and_storms_cost_neither_memory_nor_the_other_servers() {
    let _alone = ALONE.lock();
    let servers = [
        ("stderr", "floods-stderr", 30_000),
        ("stdout", "floods-stdout", 30_000),
        ("storm", "storms", 30_000),
        ("list", "large-list", 30_000),
    ];
    let calls = [
        ("mcp__storm__echo", "{ text = \"dry\" }"),
        ("mcp__stderr__echo", "{ text = \"loud\" }"),
        ("mcp__good__large", "{}"),
        ("mcp__good__works", "{ steps = 20000 }"),
        FINE,
    ];
    let run = run(&servers, &calls);
    check(&run, 120);
    let results = results(&run.output);
    assert_eq!(results[0], ("dry".to_owned(), false));
    assert_eq!(results[1], ("loud".to_owned(), false));
    assert!(results[2].1, "{:?}", results[2]);
    assert_eq!(results[3], ("worked".to_owned(), false));
}

#[test]
fn servers_that_die_or_fork_leave_no_process() {
    let _alone = ALONE.lock();
    let calls = [
        ("mcp__other__dies", "{}"),
        ("mcp__other__forks", "{}"),
        FINE,
    ];
    let run = run(
        &[("other", "healthy", 30_000), ("exits", "exits", 30_000)],
        &calls,
    );
    check(&run, 60);
    let results = results(&run.output);
    assert!(results[0].0.contains("exited with code 7"), "{results:?}");
    assert!(results[1].1, "{results:?}");
}

#[test]
fn escape_sequences_reach_neither_the_model_nor_the_output() {
    let _alone = ALONE.lock();
    let calls = [("mcp__evil__refuses", "{}"), FINE];
    let run = run(&[("evil", "escapes", 30_000)], &calls);
    check(&run, 60);
    let lines = run.output.lines();
    let init = lines.iter().find(|line| line["subtype"] == "init");
    let tools = init.expect("a first line")["tools"].as_array().cloned();
    let names: Vec<Value> = tools.unwrap_or_default();
    let evil = |name: &&Value| {
        name.as_str()
            .is_some_and(|name| name.starts_with("mcp__evil__"))
    };
    assert_eq!(names.iter().filter(evil).count(), 2, "{names:?}");
    let (refusal, is_error) = &results(&run.output)[0];
    assert!(refusal.contains(">wrong input<") && *is_error, "{refusal}");
}
