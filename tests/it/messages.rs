//! Messages that are sent while a turn runs or stops, and an answer that breaks off.

use crate::support::program::Program;
use crate::support::pty::{Pty, script};

/// A command that ignores the first signal, then an answer.
const STUBBORN: &str = r#"
[[turn]]
step = [
  { text = "I wait for it." },
  { call = "Bash", input = { command = "trap '' TERM; touch begun; while :; do sleep 1; done" } },
]
[[turn]]
text = "Instead I do that."
"#;

/// The connection breaks in the middle of a sentence, after a command has started.
const BREAKS: &str = r#"
[[turn]]
step = [
  { text = "First I look." },
  { call = "Bash", input = { command = "echo seen" } },
  { delay_ms = 300 },
  { text = "Then I would say that" },
  { delay_ms = 100 },
  { cut = true },
]
[[turn]]
text = "Now to its end."
"#;

fn play(program: Program, toml: &str, more: &[&str]) -> Pty {
    let provider = script(&program, toml);
    let mut arguments = vec!["--theme", "ansi16", "--provider", &provider];
    arguments.extend(["--allow", "Bash"]);
    arguments.extend(more);
    Pty::spawn_in(program, &arguments, 100, 30)
}

/// The command is running.
fn stubborn() -> Pty {
    let mut tui = play(Program::new(), STUBBORN, &[]);
    tui.wait_for("❯").send("go\r");
    let begun = tui.program().path("begun");
    tui.wait_until(|_| begun.exists());
    tui
}

fn sent(tui: &Pty) -> Vec<String> {
    let log = tui.program().session_log();
    let users = log.lines().filter(|line| line.contains(r#""kind":"user""#));
    users.map(str::to_owned).collect()
}

#[test]
fn a_message_sent_while_a_command_stops_is_sent_once_it_has_stopped() {
    let mut tui = stubborn();
    tui.send("\x1b").wait_for("stopping");
    tui.send("rather this\r")
        .wait_for("sent when it has stopped");
    tui.wait_for("interrupted after")
        .wait_for("Instead I do that.");
    let sent = sent(&tui);
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent[1].contains("rather this"));
    assert!(!tui.screen().contains("❯ rather this"));
}

#[test]
fn queued_messages_come_back_after_an_interrupt_with_a_notice() {
    let mut tui = stubborn();
    tui.send("later\r").wait_for("» later");
    tui.send("\x1b")
        .wait_for("Your queued message was not sent; it is back in the input")
        .wait_for("❯ later")
        .wait_for("interrupted after");
    assert_eq!(sent(&tui).len(), 1);
}

#[test]
fn a_queued_message_can_be_edited_and_is_sent_once() {
    let mut tui = stubborn();
    tui.send("first\r").wait_for("» first");
    tui.send("secnd\r").wait_for("» secnd");
    tui.wait_for("sent after the current tool call · Enter now · ↑ edit");
    tui.send("\x1b[A").wait_for("❯ secnd").wait_gone("» secnd");
    tui.send("\x7f\x7fond\r").wait_for("» second");
    tui.send("\r").wait_for("Instead I do that.");
    let sent = sent(&tui);
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert!(sent[1].contains("first") && sent[2].contains("second"));
}

#[test]
fn text_of_a_broken_answer_stays_and_is_there_after_resuming() {
    let mut tui = play(Program::new(), BREAKS, &[]);
    tui.wait_for("❯").send("go\r");
    tui.wait_for("Now to its end.").wait_gone("interrupt");
    let logged = [
        "First I look.",
        "Then I would say that",
        "… cut off here",
        "The connection broke; what had arrived was kept",
        "Now to its end.",
    ];
    let assert_logged = |screen: String| {
        let places: Vec<Option<usize>> = logged.iter().map(|text| screen.find(text)).collect();
        assert!(places.iter().all(Option::is_some), "{screen}");
        assert!(places.is_sorted(), "{screen}");
    };
    assert_logged(tui.screen());
    tui.send("\x03\x03").exit();
    let mut again = play(tui.into_program(), BREAKS, &["--continue"]);
    again.wait_for("Now to its end.");
    assert_logged(again.screen());
}
