//! Swapping a directory or a file for a link to the outside while the tools work must never make them follow it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::scratch::{Scratch, text};
use crate::permissions::{CallDetails, Decision, Grant, Remembered, Rules, World, decide, places};
use crate::protocol::{Level, Mode};
use crate::tools::edit::Edit;
use crate::tools::glob::Glob;
use crate::tools::grep::Grep;
use crate::tools::read::Read;
use crate::tools::write::Write;
use crate::tools::{Tool, ToolError, ToolOutput};

/// How often something is swapped; `RACE_SWAPS` sets another number.
const SWAPS: usize = 20_000;

/// A workspace with `d/file`, and an outside with a file of the same name.
struct Workspace {
    scratch: Scratch,
    outside: PathBuf,
}

impl Workspace {
    async fn new() -> Self {
        let scratch = Scratch::new();
        let outside = scratch.root.parent().expect("a parent").join("outside");
        std::fs::create_dir(&outside).expect("mkdir");
        std::fs::create_dir(scratch.path("d")).expect("mkdir");
        std::fs::write(outside.join("file"), "secret\n").expect("write");
        scratch.put("d/file", "inside\n");
        // It was read with permission, so that only its place can prevent the change.
        let path = outside.join("file").display().to_string();
        scratch.read(&path).await.expect("readable");
        Self { scratch, outside }
    }

    fn grant(&self, tool: &impl Tool, input: &Value) -> Option<Grant> {
        let touches = tool.touches(input);
        let links = Remembered::default();
        let world = World {
            cwd: self.scratch.root.clone(),
            home: PathBuf::from("/nowhere"),
            shell_dir: None,
            additional_directories: Vec::new(),
            config_dir: None,
            data_dir: None,
            protected_files: Vec::new(),
            links: &links,
        };
        let call = CallDetails {
            tool: &tool.spec().name,
            input,
            touches: touches.clone(),
            level: Level::Confirm,
            read_only: false,
        };
        let verdict = decide(&call, &Rules::default(), Mode::AcceptEdits, &world);
        let allowed = verdict.decision() == Decision::Allow;
        allowed.then(|| Grant::by_person().at(places(&touches, &world)))
    }

    /// The result of a call that is allowed; `None` if it is not.
    async fn call<T: Tool>(&self, tool: &T, input: Value) -> Option<Result<ToolOutput, ToolError>> {
        let grant = self.grant(tool, &input)?;
        let input: T::Input = serde_json::from_value(input).expect("an input of the tool");
        Some(tool.call(input, grant, self.scratch.cx.clone()).await)
    }

    fn assert_untouched(&self) {
        let names: Vec<_> = std::fs::read_dir(&self.outside)
            .expect("list")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(names, ["file"]);
        let secret = std::fs::read_to_string(self.outside.join("file")).expect("readable");
        assert_eq!(secret, "secret\n");
    }
}

/// Swaps the directory and then the file for links to the outside, and back. Failures are ignored; the next round
/// tries again.
fn swap(root: &Path, outside: &Path, round: usize) {
    let (d, kept) = (root.join("d"), root.join("kept"));
    let (file, kept_file) = (root.join("d/file"), root.join("kept-file"));
    match round % 4 {
        0 => {
            let _ = std::fs::rename(&d, &kept);
            let _ = symlink(outside, &d);
        }
        1 => {
            let _ = std::fs::remove_file(&d);
            let _ = std::fs::rename(&kept, &d);
        }
        2 => {
            let _ = std::fs::rename(&file, &kept_file);
            let _ = symlink(outside.join("file"), &file);
        }
        _ => {
            let _ = std::fs::rename(&kept_file, &file);
        }
    }
}

#[test]
fn c10_whatever_is_swapped_between_decision_and_use_nothing_outside_is_touched() {
    let swaps = std::env::var("RACE_SWAPS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(SWAPS);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let workspace = runtime.block_on(Workspace::new());
    let over = AtomicBool::new(false);
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..swaps {
                swap(&workspace.scratch.root, &workspace.outside, round);
                std::thread::yield_now();
            }
            over.store(true, Ordering::Release);
        });
        while !over.load(Ordering::Acquire) {
            runtime.block_on(every_tool(&workspace, &mut tally));
        }
    });
    workspace.assert_untouched();
    // Otherwise the test has tested nothing.
    assert!(tally.done > 0 && tally.refused > 0, "{tally:?}");
}

#[derive(Debug, Default)]
struct Tally {
    done: usize,
    refused: usize,
}

async fn every_tool(workspace: &Workspace, tally: &mut Tally) {
    let file = json!({"file_path": "d/file"});
    let outputs = [
        workspace.call(&Read, file).await,
        workspace
            .call(
                &Edit,
                json!({"file_path": "d/file", "old_string": "s", "new_string": "ss"}),
            )
            .await,
        workspace
            .call(
                &Write,
                json!({"file_path": "d/file", "content": "inside\n"}),
            )
            .await,
        workspace
            .call(&Write, json!({"file_path": "d/new", "content": "new\n"}))
            .await,
        workspace
            .call(&Write, json!({"file_path": "d/e/new", "content": "new\n"}))
            .await,
        workspace
            .call(
                &Grep,
                json!({"pattern": "secret", "path": "d", "output_mode": "content"}),
            )
            .await,
        workspace
            .call(&Grep, json!({"pattern": "secret", "path": "d/file"}))
            .await,
        workspace
            .call(&Glob, json!({"pattern": "*", "path": "d"}))
            .await,
    ];
    for output in outputs {
        match output {
            None => tally.refused += 1,
            Some(Err(error)) => {
                assert!(!error.message.contains("secret\n"), "{}", error.message);
                tally.refused += 1;
            }
            Some(Ok(output)) => {
                let text = text(&output);
                assert!(!text.contains("secret"), "{text}");
                tally.done += 1;
            }
        }
    }
}
