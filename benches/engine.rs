//! The engine's figures, each against its limit: `cargo bench --bench engine`. Exits with 1 if one is missed.
//!
//! Latencies are medians. Anything that starts processes or uses loopback is measured from outside, on the built
//! program.

#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench prints its figures"
)]

#[path = "engine/copies.rs"]
mod copies;
#[path = "../tests/it/support/server.rs"]
#[expect(dead_code, reason = "the bench needs a part of what the tests need")]
mod server;
#[path = "../tests/it/support/wire.rs"]
#[expect(dead_code, reason = "the bench needs a part of what the tests need")]
mod wire;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_tui::agent::{self, AgentHandle};
use agent_tui::conversation::Limits;
use agent_tui::executor::{Asking, Context, Places, Policy, Shared};
use agent_tui::git::Git;
use agent_tui::permissions::Rules;
use agent_tui::process::Programs;
use agent_tui::protocol::{
    AgentEvent, Block, Command as Ask, Mode, SessionCommand, SessionId, TurnEvent,
};
use agent_tui::provider::script::Script;
use agent_tui::provider::{Decoder, anthropic, retry, sse};
use agent_tui::session::subagents::PastSubagents;
use agent_tui::session::{History, Log, Writer};
use agent_tui::settings::extensions::Catalogue;
use agent_tui::tools::Environment;
use agent_tui::tools::bash::groups::Groups;
use agent_tui::tools::files::{Checkpoints, Locks};
use agent_tui::tools::offered::Tools;
use agent_tui::tools::registry::{Offer, Registry};
use agent_tui::tools::subagents::{Tasks, port, read_only};
use server::{Piece, Reply, Server};
use wire::{Wire, bash, text};

const ROUNDS: usize = 21;

fn main() -> ExitCode {
    let figures = [
        reader_throughput(),
        decoder_throughput(),
        cost_of_a_turn(),
        copies::of_an_input(),
        exec_to_request(),
        block_end_to_command(),
        block_end_to_start_of_shell(),
        turn_with_overlap(),
    ];
    let mut missed = 0;
    for figure in &figures {
        println!("{figure}");
        missed += usize::from(!figure.holds());
    }
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A measured value and its limit.
struct Figure {
    what: &'static str,
    value: f64,
    unit: &'static str,
    bar: Bar,
}

enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    fn holds(&self) -> bool {
        match self.bar {
            Bar::AtMost(most) => self.value <= most,
            Bar::AtLeast(least) => self.value >= least,
        }
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (sign, bar) = match self.bar {
            Bar::AtMost(bar) => ("≤", bar),
            Bar::AtLeast(bar) => ("≥", bar),
        };
        let verdict = if self.holds() { "ok" } else { "MISSED" };
        write!(
            f,
            "{:<58} {:>9.2} {:<4} ({sign} {bar}) {verdict}",
            self.what, self.value, self.unit
        )
    }
}

/// An Anthropic stream of many small deltas, as models send them.
fn long_stream() -> Vec<u8> {
    let delta = serde_json::json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": " walks each node"}});
    let one = wire::event(&delta);
    let start = serde_json::json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "text", "text": ""}});
    let mut stream = Wire::Anthropic.head() + &wire::event(&start);
    while stream.len() < 32 << 20 {
        stream.push_str(&one);
    }
    stream.into_bytes()
}

fn megabytes_per_second(bytes: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..3 {
        let since = Instant::now();
        work();
        best = best.min(since.elapsed().as_secs_f64());
    }
    bytes as f64 / 1e6 / best
}

fn reader_throughput() -> Figure {
    let stream = long_stream();
    let value = megabytes_per_second(stream.len(), || {
        let (mut reader, mut frames) = (sse::Reader::default(), 0_usize);
        for chunk in stream.chunks(16 << 10) {
            reader
                .push(chunk, &mut |_| frames += 1)
                .expect("short lines");
        }
        assert!(frames > 100_000);
    });
    Figure {
        what: "SSE reader, one core",
        value,
        unit: "MB/s",
        bar: Bar::AtLeast(300.0),
    }
}

fn decoder_throughput() -> Figure {
    let stream = long_stream();
    let value = megabytes_per_second(stream.len(), || {
        let (mut reader, mut decoder) = (sse::Reader::default(), anthropic::Decoder::default());
        let mut events = Vec::new();
        for chunk in stream.chunks(16 << 10) {
            let read = reader.push(chunk, &mut |frame| decoder.frame(&frame, &mut events));
            read.expect("short lines");
            events.clear();
        }
    });
    Figure {
        what: "SSE reader and Anthropic decoder, one core",
        value,
        unit: "MB/s",
        bar: Bar::AtLeast(200.0),
    }
}

/// The loop's own cost of a turn: a Read call on a small file, no process, no network, the log written.
fn cost_of_a_turn() -> Figure {
    const TURNS: usize = 400;
    let home = tempfile::tempdir().expect("a directory");
    let mut script = String::new();
    for turn in 0..TURNS {
        let path = home.path().join(format!("{turn}.txt"));
        std::fs::write(&path, "one\ntwo\n").expect("written");
        let step = serde_json::json!({"call": "Read", "input": {"file_path": path}});
        script.push_str(&serde_json::json!({"text": "Reading.", "steps": [step]}).to_string());
        script.push('\n');
    }
    script.push_str("{\"text\": \"Over.\"}\n");
    let script_path = home.path().join("script.jsonl");
    std::fs::write(&script_path, script).expect("written");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let took = runtime.block_on(run_script(home.path(), &script_path));
    let value = took.as_secs_f64() * 1000.0 / TURNS as f64;
    Figure {
        what: "the loop's own cost of a turn (mean of 400)",
        value,
        unit: "ms",
        bar: Bar::AtMost(1.0),
    }
}

async fn run_script(home: &Path, script: &Path) -> Duration {
    let permissions = (Mode::BypassPermissions, Asking::Nobody);
    let mut agent = spawn(home, script, Registry::built_in(), permissions);
    let since = Instant::now();
    submit(&agent);
    while let Some(envelope) = agent.events.recv().await {
        if matches!(envelope.event, AgentEvent::Turn(_, TurnEvent::Finished(_))) {
            break;
        }
    }
    since.elapsed()
}

fn submit(agent: &AgentHandle) {
    let go = SessionCommand::Submit(vec![Block::text("go")]);
    agent.commands.send(Ask::Session(go)).expect("it listens");
}

fn spawn(
    home: &Path,
    script: &Path,
    tools: Registry,
    (mode, asking): (Mode, Asking),
) -> AgentHandle {
    let programs = Arc::new(Programs::find([home]));
    let env = Environment {
        workspace: home.to_owned(),
        additional: Vec::new(),
        results_dir: home.join("results"),
        checkpoints: Checkpoints::new(home.join("checkpoints")),
        locks: Locks::new(home.join("locks")),
        groups: Groups::default(),
        tasks: Tasks::default(),
        variables: agent_tui::process::Variables::default(),
        home: home.to_owned(),
        unasked: agent_tui::process::sandbox::Unasked::Auto,
        base_access: std::sync::OnceLock::new(),
        search: None,
        small_model: None,
        git: Git::new(programs.clone()),
        programs,
    };
    let places = Places {
        workspace: home.to_owned(),
        ..Places::default()
    };
    let mut shared = Shared::new(Rules::default(), mode, asking, places, Arc::new(env));
    let catalogue = Catalogue::built_in(read_only());
    let mut offer = Offer::default();
    offer.about.extensions = catalogue.now();
    shared.catalogue = Some(catalogue);
    let mut context = Context::new(Arc::new(shared), Tools::new(tools, offer));
    let (starter, start_requests) = port();
    context.starter = starter;
    agent::spawn(agent::Setup {
        provider: Arc::new(Script::load(script).expect("a script")),
        model: "script".into(),
        system: Vec::new(),
        context: Arc::new(context),
        policy: Policy::default(),
        limits: Limits::default(),
        prices: Arc::default(),
        retry: retry::Policy::default(),
        max_output_tokens: 1000,
        session: SessionId("bench".into()),
        log: Writer::new(Log::create(&home.join("log.jsonl")).expect("a log")),
        history: History::default(),
        start_requests,
        subagents: PastSubagents::default(),
        past: Vec::new(),
        branch: None,
        context_window: None,
        beginning: agent_tui::hooks::payload::Source::Startup,
        notices: Vec::new(),
        servers: None,
    })
}

/// A home for the program, and its command line.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn command(&self, server: &Server) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-tui"));
        command
            .args([
                "-p",
                "go",
                "--provider",
                "anthropic",
                "--model",
                "m",
                "--permission-mode",
                "bypassPermissions",
            ])
            .args(["--base-url", &server.url()])
            .current_dir(self.0.path())
            .env("AGENT_TUI_CONFIG_DIR", self.0.path().join("config"))
            .env("AGENT_TUI_DATA_DIR", self.0.path().join("data"))
            .env("ANTHROPIC_API_KEY", "key")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn exec_to_request() -> Figure {
    let values = (0..ROUNDS).map(|_| {
        let home = Home::new();
        let server = Server::start([Wire::Anthropic.reply(&[text("ok")])]);
        let since = Instant::now();
        let mut child = home.command(&server).spawn().expect("it starts");
        server.wait_for(1);
        let took = since.elapsed();
        child.wait().expect("it ends");
        took.as_secs_f64() * 1000.0
    });
    let value = median(values.collect());
    Figure {
        what: "-p: exec to the request at the server",
        value,
        unit: "ms",
        bar: Bar::AtMost(8.0),
    }
}

/// From the block's last byte leaving the server to the command's first effect, including the start of the shell.
fn block_end_to_command() -> Figure {
    let value = median((0..ROUNDS).map(|_| until_the_command_runs()).collect());
    Figure {
        what: "tool_use block's end to the command running in its shell",
        value,
        unit: "ms",
        bar: Bar::AtMost(8.0),
    }
}

/// The same, without bash's own start: the time until the command's process exists.
fn block_end_to_start_of_shell() -> Figure {
    let running = median((0..ROUNDS).map(|_| until_the_command_runs()).collect());
    let shell = median((0..ROUNDS).map(|_| until_bash_runs()).collect());
    let value = running - shell;
    Figure {
        what: "tool_use block's end to the start of its shell",
        value,
        unit: "ms",
        bar: Bar::AtMost(2.0),
    }
}

fn until_the_command_runs() -> f64 {
    let home = Home::new();
    let mark = home.0.path().join("mark");
    let part = bash("c1", "echo $EPOCHREALTIME >| mark.new && mv mark.new mark");
    let sent: Arc<Mutex<Option<SystemTime>>> = Arc::default();
    let (stamp, seen) = (sent.clone(), mark.clone());
    let wire = Wire::Anthropic;
    let server = Server::start([
        Reply::pieces(vec![
            Piece::Bytes(wire.head().into_bytes()),
            // The program is warm: it has read the head and waits for more.
            Piece::Pause(Duration::from_millis(50)),
            Piece::until(move || {
                *stamp.lock().expect("unpoisoned") = Some(SystemTime::now());
                true
            }),
            Piece::Bytes(wire.part(0, &part).into_bytes()),
            Piece::until(move || seen.exists()),
            Piece::Bytes(wire.tail(&[part]).into_bytes()),
        ]),
        wire.reply(&[text("ok")]),
    ]);
    home.command(&server).status().expect("it runs");
    let sent = sent.lock().expect("unpoisoned").expect("sent");
    let ran = std::fs::read_to_string(mark).expect("a mark");
    (epoch(&ran) - seconds(sent)) * 1000.0
}

fn until_bash_runs() -> f64 {
    let since = SystemTime::now();
    let output = Command::new("bash")
        .args(["-c", "echo $EPOCHREALTIME"])
        .output()
        .expect("bash");
    (epoch(&String::from_utf8_lossy(&output.stdout)) - seconds(since)) * 1000.0
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_secs_f64()
}

fn epoch(text: &str) -> f64 {
    text.trim().replace(',', ".").parse().expect("a time")
}

/// A command of 1 s whose block ends 1 s before the stream does: the turn takes 1 s, not 2.
fn turn_with_overlap() -> Figure {
    let home = Home::new();
    let wire = Wire::Anthropic;
    let part = bash("c1", "sleep 1");
    let server = Server::start([
        Reply::pieces(vec![
            Piece::Bytes((wire.head() + &wire.part(0, &part)).into_bytes()),
            Piece::Pause(Duration::from_secs(1)),
            Piece::Bytes(wire.tail(&[part]).into_bytes()),
        ]),
        wire.reply(&[text("ok")]),
    ]);
    let since = Instant::now();
    home.command(&server).status().expect("it runs");
    let value = since.elapsed().as_secs_f64() * 1000.0;
    Figure {
        what: "a turn of max(stream 1 s, tool 1 s)",
        value,
        unit: "ms",
        bar: Bar::AtMost(1100.0),
    }
}
