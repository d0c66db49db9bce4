//! The prompt of `-p`: what the arguments say, followed by what is piped in.

use std::io::{self, IsTerminal, Read};

use super::UsageError;
use super::args::Args;
use crate::settings::Settings;

/// How many megabytes may be piped in, unless the settings say otherwise: no model takes in more.
const MAX_INPUT_MB: u32 = 10;

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

fn piped(most: u32) -> Result<String, UsageError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(String::new());
    }
    let most_bytes = u64::from(most) << 20;
    let mut bytes = Vec::new();
    // One more than may come: what never ends is not waited for.
    let read = stdin.take(most_bytes + 1).read_to_end(&mut bytes);
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
