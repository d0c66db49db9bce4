//! The built program in its own home.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::server::Server;
use super::wire::Wire;

/// A home, a workspace, and the flags of a run.
pub struct Program {
    home: tempfile::TempDir,
}

#[derive(Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Program {
    pub fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(home.path().join("work")).expect("a workspace");
        Self { home }
    }

    pub fn workspace(&self) -> PathBuf {
        self.home
            .path()
            .join("work")
            .canonicalize()
            .expect("it exists")
    }

    pub fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    pub fn config(&self) -> PathBuf {
        self.home.path().join("config")
    }

    /// A path in the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::fs::write(&path, content).expect("written");
        path
    }

    /// All that the sessions have logged.
    pub fn session_log(&self) -> String {
        let logs = files_below(&self.data().join("sessions"));
        let texts = logs.iter().map(std::fs::read_to_string);
        texts.filter_map(Result::ok).collect()
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The program without the machine's own environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-tui"));
        command
            .args(arguments)
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("AGENT_TUI_CONFIG_DIR", self.config())
            .env("AGENT_TUI_DATA_DIR", self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts `-p` against a server.
    pub fn start(&self, server: &Server, wire: Wire, arguments: &[&str]) -> Child {
        let base_url = wire.base_url(&server.url());
        let mut all = vec![
            "--provider",
            wire.provider(),
            "--base-url",
            &base_url,
            "--model",
            "m",
        ];
        all.extend(arguments);
        let mut command = self.command(&all);
        command
            .env("ANTHROPIC_API_KEY", "sk-secret-a")
            .env("OPENAI_API_KEY", "sk-secret-o");
        command.spawn().expect("the program starts")
    }

    pub fn ask(&self, server: &Server, wire: Wire, arguments: &[&str]) -> Output {
        finish(self.start(server, wire, arguments))
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        finish(self.command(arguments).spawn().expect("the program starts"))
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Output {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // A program that refuses its arguments does not read its input.
            let _ = stdin.write_all(&input);
        });
        let output = finish(child);
        writer.join().expect("written");
        output
    }
}

pub fn finish(child: Child) -> Output {
    let output = child.wait_with_output().expect("the program ends");
    Output {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

impl Output {
    /// The lines of stream-json.
    pub fn lines(&self) -> Vec<Value> {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        self.stdout.lines().map(parse).collect()
    }

    /// The states of a call, in order, without progress.
    pub fn states(&self, call: &str) -> Vec<String> {
        let tools = self
            .lines()
            .into_iter()
            .filter(|line| line["type"] == "tool" && line["tool_use_id"] == call);
        let states = tools.map(|line| line["state"].as_str().expect("a state").to_owned());
        states.filter(|state| state != "progress").collect()
    }

    /// The result line.
    pub fn result(&self) -> Value {
        let last = self
            .lines()
            .pop()
            .unwrap_or_else(|| panic!("no output; stderr: {}", self.stderr));
        assert_eq!(last["type"], "result");
        last
    }
}

pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        if entry.path().is_dir() {
            files.extend(files_below(&entry.path()));
        } else {
            files.push(entry.path());
        }
    }
    files.sort();
    files
}
