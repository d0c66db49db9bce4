//! The arguments, as clap reads them.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::headless::OutputFormat;
use crate::protocol::Mode;

/// Work with a language model that uses tools on your machine.
#[derive(Debug, Clone, Parser)]
#[command(name = "agent-tui", version, about, max_term_width = 100)]
#[expect(
    clippy::struct_excessive_bools,
    clippy::option_option,
    reason = "each is a flag that the command line has"
)]
pub struct Args {
    /// Prompt to send right away.
    pub prompt: Option<String>,

    /// Print the answer and exit, without the screen; piped input is appended to the prompt.
    #[arg(short, long, value_name = "PROMPT", num_args = 0..=1)]
    pub print: Option<Option<String>>,

    /// Output format of -p.
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub output_format: OutputFormat,

    /// Provider: anthropic, openai, responses, builtin or script:FILE.
    #[arg(long, global = true)]
    pub provider: Option<String>,

    /// Model to use.
    #[arg(long, global = true)]
    pub model: Option<String>,

    /// Address of the provider, e.g. `http://127.0.0.1:8080/v1`.
    #[arg(long, value_name = "URL", global = true)]
    pub base_url: Option<String>,

    /// Permission mode: default, acceptEdits, plan, dontAsk or bypassPermissions.
    #[arg(long, value_name = "MODE", value_enum, global = true)]
    pub permission_mode: Option<ModeName>,

    /// Allow matching calls, e.g. 'Bash(cargo test:*)' (repeatable).
    #[arg(long, value_name = "RULE", global = true)]
    pub allow: Vec<String>,

    /// Always ask before matching calls (repeatable).
    #[arg(long, value_name = "RULE", global = true)]
    pub ask: Vec<String>,

    /// Deny matching calls (repeatable).
    #[arg(long, value_name = "RULE", global = true)]
    pub deny: Vec<String>,

    /// Extra settings file (highest priority).
    #[arg(long, value_name = "FILE", global = true)]
    pub settings: Option<PathBuf>,

    /// More MCP servers: a file like .mcp.json, or JSON (repeatable).
    #[arg(long, value_name = "FILE|JSON", global = true)]
    pub mcp_config: Vec<String>,

    /// Treat another directory as part of the workspace (repeatable).
    #[arg(long, value_name = "DIR", global = true)]
    pub add_dir: Vec<PathBuf>,

    /// Continue the last session in this directory.
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub go_on: bool,

    /// Resume a session by its ID, or pick one from a list.
    #[arg(short, long, value_name = "ID", num_args = 0..=1)]
    pub resume: Option<Option<String>>,

    /// With --continue or --resume: continue in a copy, and leave the session as it is.
    #[arg(long)]
    pub fork: bool,

    /// Stop after N model turns.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Offer only Bash, Read and Edit.
    #[arg(long, global = true)]
    pub simple: bool,

    /// Trust the project's own settings without asking.
    #[arg(long, global = true)]
    pub trust: bool,

    /// Theme: auto, dark, light or another theme's name.
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,

    /// Log requests, retries, calls, decisions and hooks to a file in the data directory.
    #[arg(long, global = true)]
    pub debug: bool,

    #[command(subcommand)]
    pub command: Option<Subcommand>,
}

#[derive(Debug, Clone, clap::Subcommand)]
pub enum Subcommand {
    /// List the tools offered to the model.
    Tools {
        /// Print the exact array sent to the model.
        #[arg(long)]
        json: bool,
        /// With --json: every tool, with source, state and size.
        #[arg(long, requires = "json")]
        all: bool,
        #[command(subcommand)]
        command: Option<ToolsCommand>,
    },
    /// Add, list, test and remove MCP servers.
    Mcp {
        #[command(subcommand)]
        command: McpCommand,
    },
    /// Test hooks.
    Hooks {
        #[command(subcommand)]
        command: HooksCommand,
    },
    /// Check the setup and suggest fixes.
    Doctor {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print shell completions, e.g. for `source <(agent-tui completions bash)`.
    Completions { shell: clap_complete::Shell },
    /// Check permission rules.
    Permissions {
        #[command(subcommand)]
        command: PermissionsCommand,
    },
}

#[derive(Debug, Clone, clap::Subcommand)]
pub enum ToolsCommand {
    /// Run one tool like a call of the model: validation, rules, hooks, asking on the terminal.
    Run {
        /// Tool name.
        name: String,
        /// Input of the call as a JSON object (`-` reads stdin).
        #[arg(default_value = "{}")]
        input: String,
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Clone, clap::Subcommand)]
pub enum McpCommand {
    /// List the servers and check each connection.
    List {
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add a server, e.g. `mcp add github -- npx -y some-server` or `mcp add --transport http docs https://…`.
    Add {
        /// Where to save it: for you in this project, for everyone in it (.mcp.json), or for all your projects.
        #[arg(short, long, value_enum, default_value = "local")]
        scope: ScopeName,
        /// How to reach it; an address means http unless given.
        #[arg(short, long, value_enum)]
        transport: Option<TransportName>,
        /// Environment variable for the server, e.g. `API_KEY=value` (repeatable).
        #[arg(short, long, value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// Header for every request to the server, e.g. 'Authorization: Bearer ${TOKEN}' (repeatable).
        #[arg(short = 'H', long, value_name = "NAME: VALUE")]
        header: Vec<String>,
        /// Milliseconds that connecting may take (default: 30000).
        #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
        timeout: Option<u64>,
        /// Name of the server.
        name: String,
        /// Command and arguments after `--`, or address of the server.
        #[arg(value_name = "COMMAND|URL", required = true)]
        target: Vec<String>,
    },
    /// Add a server from its JSON, as in .mcp.json.
    AddJson {
        /// Where to save it.
        #[arg(short, long, value_enum, default_value = "local")]
        scope: ScopeName,
        /// Name of the server.
        name: String,
        /// Its definition, e.g. `{"command": "npx", "args": ["-y", "some-server"]}`.
        json: String,
    },
    /// Connect to a server and list its tools, with the time each step takes.
    Test {
        /// Name of the server.
        name: String,
    },
    /// Log in to an http server in your browser.
    Login {
        /// Port that the browser returns to (default: any free one).
        #[arg(long, value_name = "PORT")]
        callback_port: Option<u16>,
        /// Client that you have registered yourself; its secret is read from `MCP_CLIENT_SECRET`.
        #[arg(long, value_name = "ID")]
        client_id: Option<String>,
        /// Name of the server.
        name: String,
    },
    /// Show how a server is configured.
    Get {
        /// Name of the server.
        name: String,
    },
    /// Remove a server.
    Remove {
        /// Where it is saved; needed if several files have one of this name.
        #[arg(short, long, value_enum)]
        scope: Option<ScopeName>,
        /// Name of the server.
        name: String,
    },
}

/// Where a server is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScopeName {
    Local,
    Project,
    User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TransportName {
    Stdio,
    Http,
}

#[derive(Debug, Clone, clap::Subcommand)]
pub enum HooksCommand {
    /// Run an event's hooks; show what each received and answered.
    Test {
        /// Event: `PreToolUse`, `PostToolUse`, `UserPromptSubmit`, `Stop`, …
        event: String,
        /// Event as JSON, instead of the built-in example (`-` reads stdin). Missing fields come from the example.
        #[arg(long, value_name = "FILE")]
        input: Option<PathBuf>,
        /// Tool used in the example (default: Bash).
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
    },
}

#[derive(Debug, Clone, clap::Subcommand)]
pub enum PermissionsCommand {
    /// Show whether a call would be allowed.
    Check {
        /// Permission mode to use.
        #[arg(long, value_enum)]
        mode: Option<ModeName>,
        /// Workspace to use.
        #[arg(long)]
        cwd: Option<PathBuf>,
        /// Read cases from stdin, one JSON object per line.
        #[arg(long, conflicts_with_all = ["tool", "input"])]
        batch: bool,
        /// Tool name.
        #[arg(required_unless_present = "batch")]
        tool: Option<String>,
        /// Input of the call, as JSON.
        #[arg(required_unless_present = "batch")]
        input: Option<String>,
    },
    /// Show whether a shell command is certainly read-only.
    Classify {
        /// Read `{"command": …}` from stdin, one JSON object per line.
        #[arg(long, conflicts_with = "shell")]
        batch: bool,
        /// Command to classify.
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
