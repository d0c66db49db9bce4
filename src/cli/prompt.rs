//! The prompt of `-p`: what the arguments say, followed by what is piped in.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;
use std::time::Duration;

use super::UsageError;
use super::args::Args;
use crate::process::stderr::say;
use crate::settings::Settings;

/// How many megabytes may be piped in, unless the settings say otherwise: no model takes in more.
const MAX_INPUT_MB: u32 = 10;
/// Who pipes something in and waits longer than this wants to know what for.
const PATIENCE: Duration = Duration::from_secs(2);

pub fn read(args: &Args, settings: &Settings) -> Result<String, UsageError> {
    if let (Some(Some(one)), Some(other)) = (&args.print, &args.prompt) {
        return Err(
            UsageError::new(format!("two prompts given: `{one}` and `{other}`"))
                .hint("put quotes around the whole prompt"),
        );
    }
    let given = args
        .print
        .clone()
        .flatten()
        .or_else(|| args.prompt.clone())
        .unwrap_or_default();
    let most = settings.max_input_mb.unwrap_or(MAX_INPUT_MB);
    let piped = piped(most)?;
    let prompt = match (given.trim().is_empty(), piped.trim().is_empty()) {
        (false, false) => format!("{given}\n\n{piped}"),
        (false, true) => given,
        (true, false) => piped,
        (true, true) => {
            return Err(UsageError::new("no prompt given")
                .hint("add one after -p, or pipe it in: `echo 'find *.rs' | agent-tui -p`"));
        }
    };
    Ok(prompt)
}

/// Says what is waited for, if that takes long: a pipe that nobody closes looks like a program that hangs. Nothing is said
/// once the returned end is dropped.
fn say_when_waiting() -> mpsc::Sender<()> {
    let (reading, over) = mpsc::channel();
    // Without a thread it is only not said.
    let _ = Builder::new().spawn(move || {
        if over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            say("note: waiting for the end of standard input …; without any, add `< /dev/null`");
        }
    });
    reading
}

fn piped(most: u32) -> Result<String, UsageError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(String::new());
    }
    let most_bytes = u64::from(most) << 20;
    let mut bytes = Vec::new();
    // One more than may come: what never ends is not waited for.
    let waiting = say_when_waiting();
    let read = stdin.take(most_bytes + 1).read_to_end(&mut bytes);
    drop(waiting);
    read.map_err(|error| UsageError::new(format!("can't read stdin: {error}")))?;
    if bytes.len() as u64 > most_bytes {
        return Err(
            UsageError::new(format!("the piped input is longer than {most} MB")).hint(
                "name the file in the prompt so the model can read it, or raise `maxInputMb` in settings",
            ),
        );
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
