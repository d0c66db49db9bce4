//! The command line: reads arguments, starts something, returns an exit code.
//!
//! Exit codes: 0 done, 1 the run failed, 2 wrong usage or unreadable configuration, 130 interrupted.

mod args;
mod debug;
mod doctor;
mod hooks;
mod launch;
mod mcp;
mod models;
mod permissions;
mod project;
mod prompt;
mod reload;
mod screen;
mod servers;
mod session;
mod tools;

use std::io::{self, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use self::args::{Args, Subcommand, ToolsCommand};
use crate::process::running;
use crate::process::stderr::print_message;
use crate::text::{mistyped, without_controls};

/// What went wrong before anything ran, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct UsageError {
    problem: String,
    hint: Option<String>,
}

impl UsageError {
    fn new(problem: impl Into<String>) -> Self {
        Self {
            problem: problem.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

pub fn main() -> ExitCode {
    if let Some(code) = crate::runtime::run_if_guard() {
        return code;
    }
    keep_memory_private();
    debug::quiet_panics();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let code = error.exit_code();
            // The reader of the help is gone.
            let _ = error.print();
            return ExitCode::from(u8::try_from(code).unwrap_or(2));
        }
    };
    let ran = std::panic::catch_unwind(AssertUnwindSafe(|| run(&args)));
    running::kill_all();
    let Ok(ran) = ran else {
        print_message("error: internal error");
        print_message(&debug::panic_note());
        return ExitCode::FAILURE;
    };
    match ran {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            print_message(&format!("error: {}", error.problem));
            if let Some(hint) = error.hint {
                print_message(&format!("hint: {hint}"));
            }
            ExitCode::from(2)
        }
    }
}

/// The program's memory and environment hold keys, so no core dump is written, and no command that it runs can read
/// them through `/proc`.
fn keep_memory_private() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // If the kernel refuses, nothing is worse than before.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// A single word is a message, too, but `doctr` is hardly one.
fn refuse_mistyped_subcommand(args: &Args) -> Result<(), UsageError> {
    let Some(word) = &args.prompt else {
        return Ok(());
    };
    if args.command.is_some() || args.print.is_some() {
        return Ok(());
    }
    let known = Args::command();
    let known = known.get_subcommands().map(clap::Command::get_name);
    let Some(meant) = mistyped(word, known) else {
        return Ok(());
    };
    let hint =
        format!("did you mean `agent-tui {meant}`? To send it as a message, start without it");
    Err(UsageError::new(format!("no command `{word}`")).hint(hint))
}

fn run(args: &Args) -> Result<u8, UsageError> {
    if args.debug {
        debug::log_to_file()?;
    }
    refuse_mistyped_subcommand(args)?;
    match &args.command {
        Some(Subcommand::Tools {
            command: Some(ToolsCommand::Run { name, input, json }),
            ..
        }) => {
            let json = *json;
            tools::run::run(
                args,
                &tools::run::RequestedCall {
                    tool: name,
                    input,
                    json,
                },
            )
        }
        Some(Subcommand::Tools {
            json,
            all,
            command: None,
        }) => tools::run(args, listing(*json, *all)),
        Some(Subcommand::Mcp { command }) => mcp::run(args, command),
        Some(Subcommand::Hooks { command }) => hooks::run(args, command),
        Some(Subcommand::Doctor { json }) => doctor::run(args, *json),
        Some(Subcommand::Completions { shell }) => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Args::command(), "agent-tui", &mut script);
            print_line(String::from_utf8_lossy(&script).trim_end());
            Ok(0)
        }
        Some(Subcommand::Permissions { command }) => permissions::run(args, command),
        None if args.print.is_some() => launch::headless(args),
        None => screen::run(args),
    }
}

fn listing(json: bool, all: bool) -> tools::Listing {
    match (json, all) {
        (false, _) => tools::Listing::Table,
        (true, false) => tools::Listing::Sent,
        (true, true) => tools::Listing::All,
    }
}

/// Prints a line of a subcommand's output. Returns false once the reader is gone.
fn print_line(text: &str) -> bool {
    let mut stdout = io::stdout();
    writeln!(stdout, "{}", without_controls(text))
        .and_then(|()| stdout.flush())
        .is_ok()
}
