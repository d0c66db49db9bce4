//! A scratch workspace in which tests call the file tools as the executor does.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::SystemTime;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::git::Git;
use crate::permissions::Grant;
use crate::process::sandbox::Unasked;
use crate::process::{Programs, Variables};
use crate::protocol::{CallRef, Mode, ResultBlock};
use crate::tools::ask::Asker;
use crate::tools::bash::groups::Groups;
use crate::tools::edit::Edit;
use crate::tools::files::{Checkpoints, FileChange, Ledger, Locks};
use crate::tools::inner::Inner;
use crate::tools::off_limits::OffLimits;
use crate::tools::read::Read;
use crate::tools::subagents::{Starter, Tasks};
use crate::tools::write::Write;
use crate::tools::{Environment, Journal, Progress, Tool, ToolCx, ToolError, ToolOutput};

pub struct Scratch {
    _dir: Option<tempfile::TempDir>,
    pub root: PathBuf,
    pub cx: ToolCx,
    announced: Arc<Mutex<Vec<FileChange>>>,
}

impl Scratch {
    #[expect(
        clippy::new_without_default,
        reason = "making one does things on the disk"
    )]
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let home = dir.path().canonicalize().expect("it exists");
        std::fs::create_dir(home.join("work")).expect("mkdir");
        Self {
            _dir: Some(dir),
            ..Self::at(&home)
        }
    }

    /// In the home of another workspace, possibly of another process.
    pub fn at(home: &Path) -> Self {
        let root = home.join("work");
        let programs = Arc::new(Programs::find([root.as_path()]));
        let env = Environment {
            workspace: root.clone(),
            additional: Vec::new(),
            results_dir: home.join("results"),
            checkpoints: Checkpoints::new(home.join("checkpoints")),
            locks: Locks::new(home.join("locks")),
            groups: Groups::default(),
            tasks: Tasks::default(),
            variables: Variables::default(),
            home: home.join("home"),
            unasked: Unasked::Auto,
            base_access: OnceLock::new(),
            search: None,
            small_model: None,
            git: Git::new(programs.clone()),
            programs,
        };
        let announced = Arc::new(Mutex::new(Vec::new()));
        let cx = ToolCx {
            call: CallRef::main(1),
            cwd: root.clone(),
            mode: Mode::Default,
            ledger: Arc::new(Ledger::default()),
            cancel: CancellationToken::new(),
            background: CancellationToken::new(),
            progress: Progress::silent(),
            journal: {
                let announced = announced.clone();
                Journal::new(move |change| {
                    announced.lock().expect("unpoisoned").push(change);
                    Ok(())
                })
            },
            asker: Asker::nobody(),
            starter: Starter::default(),
            inner: Inner::nothing(),
            extensions: Arc::default(),
            deferred: Arc::default(),
            off_limits: OffLimits::default(),
            env: Arc::new(env),
        };
        Self {
            _dir: None,
            root,
            cx,
            announced,
        }
    }

    /// The changes that were announced before they were made.
    pub fn announced(&self) -> Vec<FileChange> {
        self.announced.lock().expect("unpoisoned").clone()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes a file without going through the tools.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("write");
        path
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("readable")
    }

    /// All names in the workspace, so that tests notice leftover temporary files.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.root).expect("list").flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub async fn read(&self, name: &str) -> Result<String, String> {
        self.read_lines(name, json!({})).await
    }

    pub async fn read_lines(&self, name: &str, extra: Value) -> Result<String, String> {
        let output = self
            .run(&Read, with(json!({"file_path": name}), extra))
            .await;
        output
            .map(|output| text(&output))
            .map_err(|error| error.message)
    }

    pub async fn write(&self, name: &str, content: &str) -> Result<String, String> {
        let input = json!({"file_path": name, "content": content});
        let output = self.run(&Write, input).await;
        output
            .map(|output| text(&output))
            .map_err(|error| error.message)
    }

    pub async fn edit(&self, name: &str, old: &str, new: &str) -> Result<String, String> {
        let input = json!({"file_path": name, "old_string": old, "new_string": new});
        let output = self.run(&Edit, input).await;
        output
            .map(|output| text(&output))
            .map_err(|error| error.message)
    }

    /// Validates and calls a tool, in the order of the executor.
    pub async fn run<T: Tool>(&self, tool: &T, input: Value) -> Result<ToolOutput, ToolError> {
        self.run_with(tool, input, Grant::by_person()).await
    }

    pub async fn run_with<T: Tool>(
        &self,
        tool: &T,
        input: Value,
        grant: Grant,
    ) -> Result<ToolOutput, ToolError> {
        let parsed: T::Input = serde_json::from_value(input).expect("an input of the tool");
        tool.validate(&parsed, &self.cx).await?;
        tool.call(parsed, grant, self.cx.clone()).await
    }

    /// What all calls share. It can be changed before the first call.
    pub fn environment(&mut self) -> &mut Environment {
        Arc::get_mut(&mut self.cx.env).expect("no call has it yet")
    }

    /// Calls without validating first, to test what the call itself checks.
    pub async fn call<T: Tool>(&self, tool: &T, input: Value) -> Result<ToolOutput, ToolError> {
        let parsed: T::Input = serde_json::from_value(input).expect("an input of the tool");
        tool.call(parsed, Grant::by_person(), self.cx.clone()).await
    }
}

/// The only block of an output, which is text.
pub fn text(output: &ToolOutput) -> String {
    match output.for_model.as_slice() {
        [ResultBlock::Text { text }] => text.clone(),
        other => panic!("not one text: {other:?}"),
    }
}

/// Changes the content of a file and nothing else: its size and times stay.
pub fn change_secretly(path: &Path, content: &[u8]) {
    let before = path.metadata().expect("there").modified().expect("a time");
    let size = path.metadata().expect("there").len();
    assert_eq!(size, content.len() as u64, "the size is to stay");
    std::fs::write(path, content).expect("write");
    set_modified(path, before);
}

/// Sets the modification time, because two quick changes can have the same time.
pub fn set_modified(path: &Path, to: SystemTime) {
    let file = std::fs::File::options()
        .write(true)
        .open(path)
        .expect("open");
    file.set_modified(to).expect("set the time");
}

fn with(mut input: Value, extra: Value) -> Value {
    if let (Some(input), Value::Object(extra)) = (input.as_object_mut(), extra) {
        input.extend(extra);
    }
    input
}
