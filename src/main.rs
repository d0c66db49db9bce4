//! The `agent-tui` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    agent_tui::cli::main()
}
