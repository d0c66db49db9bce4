//! The prompt of `-p`: what the arguments say, followed by what is piped in.

use std::io::{self, IsTerminal, Read};

use super::UsageError;
use super::args::Args;

pub fn read(args: &Args) -> Result<String, UsageError> {
    if let (Some(Some(one)), Some(other)) = (&args.print, &args.prompt) {
        return Err(
            UsageError::new(format!("there are two prompts: `{one}` and `{other}`"))
                .hint("put quotes round the whole prompt"),
        );
    }
    let given = args
        .print
        .clone()
        .flatten()
        .or_else(|| args.prompt.clone())
        .unwrap_or_default();
    let piped = piped()
        .map_err(|error| UsageError::new(format!("standard input cannot be read: {error}")))?;
    let prompt = match (given.trim().is_empty(), piped.trim().is_empty()) {
        (false, false) => format!("{given}\n\n{piped}"),
        (false, true) => given,
        (true, false) => piped,
        (true, true) => {
            return Err(UsageError::new("there is no prompt")
                .hint("give one after -p, or pipe it in: `echo 'find *.rs' | agent-tui -p`"));
        }
    };
    Ok(prompt)
}

fn piped() -> io::Result<String> {
    let mut stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(String::new());
    }
    let mut bytes = Vec::new();
    stdin.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
