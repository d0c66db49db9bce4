//! The story as a recording (asciicast, version 2): what the program would send to a terminal, and when.
//!
//! `AGENT_TUI_RECORDING=demo.cast cargo test --lib recording` writes it to a file.

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;

use super::played::{COLUMNS, ROWS, play};
use crate::app::sample_session::FRAME;

/// The recording, and its duration.
fn recorded() -> (String, Duration) {
    let header = json!({
        "version": 2,
        "width": COLUMNS,
        "height": ROWS,
        "title": "agent-tui",
        "env": {"TERM": "xterm-256color"},
    });
    let mut cast = format!("{header}\n");
    let mut time = Duration::ZERO;
    play(&mut |played| {
        if played.moment.is_none() {
            time += FRAME;
        }
        if !played.bytes.is_empty() {
            let text = String::from_utf8_lossy(played.bytes);
            let _ = writeln!(cast, "{}", json!([time.as_secs_f64(), "o", text]));
        }
    });
    (cast, time)
}

#[test]
fn a_recording_of_about_twenty_seconds_is_the_same_every_time() {
    let (cast, took) = recorded();
    assert!((15..=25).contains(&took.as_secs()), "{took:?}");
    assert!(cast == recorded().0, "two recordings differ");
    let mut terminal = vt100::Parser::new(ROWS, COLUMNS, 0);
    let mut last = 0.0;
    for line in cast.lines().skip(1) {
        let event: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
        let time = event[0].as_f64().expect("a time");
        assert!(time >= last, "{line}");
        last = time;
        terminal.process(event[2].as_str().expect("a text").as_bytes());
    }
    let end = terminal.screen().contents();
    assert!(end.contains("empty lines are skipped"), "{end}");
    if let Some(path) = std::env::var_os("AGENT_TUI_RECORDING") {
        std::fs::write(path, cast).expect("the recording can be written");
    }
}
