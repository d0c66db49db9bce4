//! The arguments, as clap reads them.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::headless::OutputFormat;
use crate::protocol::Mode;

/// Work with a language model that calls tools on your machine.
#[derive(Debug, Clone, Parser)]
#[command(name = "agent-tui", version, about, max_term_width = 100)]
#[expect(
    clippy::struct_excessive_bools,
    clippy::option_option,
    reason = "each is a flag that the command line has"
)]
pub struct Args {
    /// What to ask right away.
    pub prompt: Option<String>,

    /// Answer on stdout, without a screen; piped stdin is appended to the prompt.
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1)]
    pub print: Option<Option<String>>,

    /// How -p prints.
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub output_format: OutputFormat,

    /// anthropic, openai, responses, builtin or script:FILE.
    #[arg(long, global = true)]
    pub provider: Option<String>,

    /// The model to ask for.
    #[arg(long, global = true)]
    pub model: Option<String>,

    /// Where the provider is, e.g. `http://127.0.0.1:8080/v1`.
    #[arg(long, value_name = "URL", global = true)]
    pub base_url: Option<String>,

    /// What needs a question: default, acceptEdits, plan, dontAsk or bypassPermissions.
    #[arg(long, value_name = "MODE", value_enum, global = true)]
    pub permission_mode: Option<ModeName>,

    /// Allow calls that match, e.g. 'Bash(cargo test:*)'; may be repeated.
    #[arg(long, value_name = "RULE", global = true)]
    pub allow: Vec<String>,

    /// Ask about calls that match; may be repeated.
    #[arg(long, value_name = "RULE", global = true)]
    pub ask: Vec<String>,

    /// Deny calls that match; may be repeated.
    #[arg(long, value_name = "RULE", global = true)]
    pub deny: Vec<String>,

    /// One more settings file, above the others.
    #[arg(long, value_name = "FILE", global = true)]
    pub settings: Option<PathBuf>,

    /// One more directory that counts as workspace; may be repeated.
    #[arg(long, value_name = "DIR", global = true)]
    pub add_dir: Vec<PathBuf>,

    /// Go on with the last session of this directory.
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub go_on: bool,

    /// Go on with the session ID, or with one that you choose.
    #[arg(short, long, value_name = "ID", num_args = 0..=1)]
    pub resume: Option<Option<String>>,

    /// With --continue or --resume: leave that session as it is and continue with a copy.
    #[arg(long)]
    pub fork: bool,

    /// End after N answers of the model.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Offer only Bash, Read and Edit.
    #[arg(long, global = true)]
    pub simple: bool,

    /// Use the project's own settings in full, without asking.
    #[arg(long, global = true)]
    pub trust: bool,

    /// How the screen looks: auto, dark, light, or another theme's name.
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,

    /// Write all that happens to a file in the data directory: requests, retries, calls, decisions, hooks.
    #[arg(long, global = true)]
    pub debug: bool,

    #[command(subcommand)]
    pub command: Option<Subcommand>,
}

#[derive(Debug, Clone, clap::Subcommand)]
pub enum Subcommand {
    /// Show the tools that would be offered to the model.
    Tools {
        /// Print the exact array that would be sent.
        #[arg(long)]
        json: bool,
    },
    /// Try hooks out.
    Hooks {
        #[command(subcommand)]
        command: HooksCommand,
    },
    /// Show what is configured, what is missing, and what to do about it.
    Doctor {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the completions for a shell, e.g. for `source <(agent-tui completions bash)`.
    Completions { shell: clap_complete::Shell },
    /// Ask what the permission rules say.
    Permissions {
        #[command(subcommand)]
        command: PermissionsCommand,
    },
}

#[derive(Debug, Clone, clap::Subcommand)]
pub enum HooksCommand {
    /// Run the hooks of an event, and show what each got and answered.
    Test {
        /// What hooks are for: `PreToolUse`, `PostToolUse`, `UserPromptSubmit`, `Stop`, …
        event: String,
        /// The event as JSON, instead of an example; `-` is standard input. What it leaves out is as in the example.
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
        /// The tool that the example is about; Bash unless given.
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
    },
}

#[derive(Debug, Clone, clap::Subcommand)]
pub enum PermissionsCommand {
    /// Would this call be allowed?
    Check {
        /// The permission mode to decide in.
        #[arg(long, value_enum)]
        mode: Option<ModeName>,
        /// The workspace to decide for.
        #[arg(long)]
        cwd: Option<PathBuf>,
        /// Read cases from stdin, one JSON object a line.
        #[arg(long, conflicts_with_all = ["tool", "input"])]
        batch: bool,
        /// The tool's name.
        #[arg(required_unless_present = "batch")]
        tool: Option<String>,
        /// The call's input, as JSON.
        #[arg(required_unless_present = "batch")]
        input: Option<String>,
    },
    /// Is this command surely read-only?
    Classify {
        /// Read `{"command": …}` from stdin, one JSON object a line.
        #[arg(long, conflicts_with = "shell")]
        batch: bool,
        /// The command.
        #[arg(value_name = "COMMAND", required_unless_present = "batch")]
        shell: Option<String>,
    },
}

/// A permission mode by its name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeName(pub Mode);

impl ValueEnum for ModeName {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [ModeName; 5] = [
            ModeName(Mode::Default),
            ModeName(Mode::AcceptEdits),
            ModeName(Mode::Plan),
            ModeName(Mode::DontAsk),
            ModeName(Mode::BypassPermissions),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}
