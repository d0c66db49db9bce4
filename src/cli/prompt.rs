//! The prompt of `-p`: the argument, followed by piped input.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;
use std::time::Duration;

use super::UsageError;
use super::args::Args;
use crate::process::stderr::print_message;
use crate::settings::Settings;

/// How many megabytes of piped input are read, unless the settings say otherwise: no model accepts more.
const MAX_INPUT_MB: u32 = 10;
/// After this time the program says that it waits for input.
const MAX_WAIT: Duration = Duration::from_secs(2);

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

/// Says that the program waits for input, if that takes long: a pipe that is never closed looks like a hang. Dropping
/// the sender cancels the message.
fn notify_when_waiting() -> mpsc::Sender<()> {
    let (reading, over) = mpsc::channel();
    // Without a thread there is just no message.
    let _ = Builder::new().spawn(move || {
        if over.recv_timeout(MAX_WAIT) == Err(RecvTimeoutError::Timeout) {
            print_message("note: waiting for input on stdin; if there is none, add `< /dev/null`");
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
    // One byte more than allowed, so that endless input is not read to its end.
    let waiting = notify_when_waiting();
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
