//! Subagents from outside, on the built program, each figure against its limit: `cargo bench --bench subagents`. Exits
//! with 1 if one is missed.

#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a bench prints its figures"
)]

#[path = "../tests/it/support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the bench needs a part of what the tests need"
)]
mod support;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use support::program::finish;
use support::wire::{Part, call, event, text};
use support::{Piece, Program, Pty, Reply, Server, Wire};

const WIRE: Wire = Wire::Anthropic;
const ROUNDS: usize = 21;
const AT_ONCE: usize = 10;
const BETWEEN_DELTAS: Duration = Duration::from_millis(10);
/// Long enough for all keys.
const DELTAS: usize = 1_200;
const KEYS: usize = 100;
/// The unit of CPU time in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

fn main() -> ExitCode {
    let (key, cpu) = ten_at_once();
    let figures = [
        (
            "Task block's end to the subagent's request, ms",
            start(),
            5.0,
        ),
        (
            "key to screen while ten subagents stream, p99, ms",
            key,
            6.0,
        ),
        ("CPU while ten subagents stream, % of a core", cpu, 15.0),
    ];
    let mut missed = 0;
    for (what, value, most) in figures {
        let verdict = if value <= most { "ok" } else { "MISSED" };
        println!("{what:<58} {value:>9.2} (≤ {most}) {verdict}");
        missed += usize::from(value > most);
    }
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn task(id: &str) -> Part {
    let input = json!({ "description": id, "prompt": id, "subagent_type": "general" });
    call(id, "Task", input)
}

/// The median time from the last byte of the block to the subagent's request at the server.
fn start() -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| one_start()).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn one_start() -> f64 {
    let sent: Arc<Mutex<Option<Instant>>> = Arc::default();
    let stamp = sent.clone();
    let part = task("t1");
    let server = Server::start([
        Reply::pieces(vec![
            Piece::Bytes(WIRE.head().into_bytes()),
            // The program has read the head and waits for more.
            Piece::Pause(Duration::from_millis(50)),
            Piece::until(move || {
                *stamp.lock().expect("unpoisoned") = Some(Instant::now());
                true
            }),
            Piece::Bytes(WIRE.part(0, &part).into_bytes()),
            Piece::Bytes(WIRE.tail(&[part]).into_bytes()),
        ]),
        WIRE.reply(&[text("found")]),
        WIRE.reply(&[text("done")]),
    ]);
    let program = Program::new();
    let child = program.start(&server, WIRE, &["-p", "go"]);
    server.wait_for(2);
    let arrived = Instant::now();
    finish(child);
    let sent = sent.lock().expect("unpoisoned").expect("sent");
    (arrived - sent).as_secs_f64() * 1000.0
}

/// The 99th percentile of key to screen in milliseconds, and the share of a core in percent.
fn ten_at_once() -> (f64, f64) {
    let parts: Vec<Part> = (0..AT_ONCE)
        .map(|number| task(&format!("t{number}")))
        .collect();
    let mut replies = vec![WIRE.reply(&parts)];
    replies.extend((0..AT_ONCE).map(|_| slow_answer()));
    let server = Server::start(replies);
    let base = WIRE.base_url(&server.url());
    let arguments = [
        "--provider",
        WIRE.provider(),
        "--model",
        "m",
        "--base-url",
        &base,
    ];
    let key = [("ANTHROPIC_API_KEY", "key")];
    let mut pty = Pty::spawn_with(Program::new(), &arguments, &key, 120, 40);
    pty.wait_for("❯").send("go").wait_for("❯ go").send("\r");
    pty.wait_for("10 agents");
    let (cpu, since) = (cpu_seconds(&pty), Instant::now());
    let mut times = Vec::new();
    let mut typed = "❯ ".to_owned();
    for letter in ('a'..='z').cycle().take(KEYS) {
        std::thread::sleep(Duration::from_millis(40));
        typed.push(letter);
        let pressed = Instant::now();
        pty.send(letter.to_string()).wait_for(&typed);
        times.push(pressed.elapsed().as_secs_f64() * 1000.0);
    }
    let share = (cpu_seconds(&pty) - cpu) / since.elapsed().as_secs_f64() * 100.0;
    pty.wait_for("10 agents");
    times.sort_by(f64::total_cmp);
    (times[KEYS * 99 / 100], share)
}

/// An answer that takes [`DELTAS`] times [`BETWEEN_DELTAS`].
fn slow_answer() -> Reply {
    let begin = json!({"type": "content_block_start", "index": 0,
        "content_block": {"type": "text", "text": ""}});
    let delta = json!({"type": "content_block_delta", "index": 0,
        "delta": {"type": "text_delta", "text": " walks each node"}});
    let delta = event(&delta).into_bytes();
    let mut pieces = vec![Piece::Bytes((WIRE.head() + &event(&begin)).into_bytes())];
    for _ in 0..DELTAS {
        pieces.push(Piece::Bytes(delta.clone()));
        pieces.push(Piece::Pause(BETWEEN_DELTAS));
    }
    Reply::pieces(pieces)
}

fn cpu_seconds(pty: &Pty) -> f64 {
    let stat = format!("/proc/{}/stat", pty.pid().as_raw_nonzero());
    let stat = std::fs::read_to_string(stat).expect("Linux");
    let behind_name = stat.rsplit_once(')').expect("a name").1;
    let fields: Vec<&str> = behind_name.split_whitespace().collect();
    let ticks: u64 = fields[11..=12]
        .iter()
        .map(|field| field.parse::<u64>().expect("a number"))
        .sum();
    ticks as f64 / TICKS_PER_SECOND
}
