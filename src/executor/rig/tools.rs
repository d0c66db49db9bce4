//! Test tools with features that no built-in tool has yet.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::permissions::Grant;
use crate::protocol::{
    ChoiceOption, ChoiceRequest, FileDiff, InterruptBehavior, Level, MissingInput, PartOfFile,
    Paths, Reply, Touches,
};
use crate::tools::files::part::left_out;
use crate::tools::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};

/// Asks these questions all at once, and returns the replies.
pub struct Asks<const BLOCKS: bool>;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Questions {
    questions: Vec<String>,
    /// Stops waiting for the replies after this many milliseconds.
    patience: Option<u64>,
}

pub fn question(text: &str) -> ChoiceRequest {
    let option = |label: &str| ChoiceOption {
        label: label.to_owned(),
        about: String::new(),
    };
    ChoiceRequest {
        question: text.to_owned(),
        options: vec![option("yes"), option("no")],
        several: false,
        free_text: true,
        ..ChoiceRequest::default()
    }
}

impl<const BLOCKS: bool> Tool for Asks<BLOCKS> {
    type Input = Questions;

    fn spec(&self) -> ToolSpec {
        let (name, interrupt) = if BLOCKS {
            ("AsksAndBlocks", InterruptBehavior::Block)
        } else {
            ("Asks", InterruptBehavior::Cancel)
        };
        ToolSpec {
            interrupt,
            max_result_chars: 1000,
            ..ToolSpec::new(name, "", Level::Safe, "questions")
        }
    }

    fn is_read_only(&self, _: &Questions) -> bool {
        true
    }

    fn touches(&self, _: &Value) -> Touches {
        Touches::Nothing
    }

    async fn call(&self, input: Questions, _: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let asking = input.questions.iter().map(|text| cx.ask(question(text)));
        let asking = futures_util::future::try_join_all(asking);
        let replies = match input.patience {
            None => asking.await?,
            Some(max_wait) => {
                let replies = timeout(Duration::from_millis(max_wait), asking).await;
                let Ok(replies) = replies else {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    return Ok(ToolOutput::text("never mind"));
                };
                replies?
            }
        };
        let words = replies.iter().map(|reply| match reply {
            Reply::Chosen(_) => {
                let chosen = reply.only().cloned().unwrap_or_default();
                format!("{:?} {:?}", chosen.options, chosen.text)
            }
            other => format!("{other:?}"),
        });
        Ok(ToolOutput::text(words.collect::<Vec<_>>().join(", ")))
    }
}

/// Changes nothing, and still wants to be confirmed.
pub struct AlwaysConfirms;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Nothing {}

impl Tool for AlwaysConfirms {
    type Input = Nothing;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new("Insists", "", Level::Safe, "")
    }

    fn is_read_only(&self, _: &Nothing) -> bool {
        true
    }

    fn touches(&self, _: &Value) -> Touches {
        Touches::Nothing
    }

    async fn validate(&self, _: &Nothing, _: &ToolCx) -> Result<Validated, ToolError> {
        Ok(Validated::Ask("it wants to be confirmed".to_owned()))
    }

    async fn call(&self, _: Nothing, _: Grant, _: ToolCx) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("it ran"))
    }
}

/// Writes several files.
pub struct Several;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Files {
    /// Names and contents.
    files: Vec<(String, String)>,
}

impl Files {
    /// The path of each file, and its change.
    fn changes(&self, cx: &ToolCx) -> Vec<(PathBuf, FileDiff)> {
        let change = |(name, content): &(String, String)| {
            let path = cx.cwd.join(name);
            let before = fs::read_to_string(&path).ok();
            let diff = FileDiff {
                path: name.clone(),
                before: before.map(Into::into),
                after: content.as_str().into(),
            };
            (path, diff)
        };
        self.files.iter().map(change).collect()
    }
}

impl Tool for Several {
    type Input = Files;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            interrupt: InterruptBehavior::Block,
            max_result_chars: 1000,
            ..ToolSpec::new("Several", "", Level::Confirm, "files")
        }
    }

    fn touches(&self, input: &Value) -> Touches {
        match Files::deserialize(input) {
            Ok(input) => {
                let names = input.files.into_iter().map(|(name, _)| name);
                Touches::Writes(Paths::Files(names.collect()))
            }
            Err(_) => Touches::Unclear(MissingInput::FileToWrite),
        }
    }

    async fn preview(&self, input: &Files, cx: &ToolCx) -> Vec<FileDiff> {
        let changes = input.changes(cx).into_iter();
        changes.map(|(_, diff)| diff).collect()
    }

    async fn call_in_part(
        &self,
        input: Files,
        files: Vec<PartOfFile>,
        _: Grant,
        cx: ToolCx,
    ) -> Result<ToolOutput, ToolError> {
        let (mut words, mut changed) = (Vec::new(), Vec::new());
        for (path, diff) in input.changes(&cx) {
            let Some(part) = files.iter().find(|part| part.path == diff.path) else {
                words.push(format!("{} not at all", diff.path));
                continue;
            };
            fs::write(path, &part.after).expect("a file that can be written");
            words.push(match left_out(&part.after, &diff.after) {
                Some(missing) => format!("{} without:\n{missing}", diff.path),
                None => diff.path.clone(),
            });
            changed.push(FileDiff {
                after: part.after.as_str().into(),
                ..diff
            });
        }
        Ok(ToolOutput {
            shown: changed.into(),
            ..ToolOutput::text(words.join("\n"))
        })
    }

    async fn call(&self, input: Files, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let whole = |(path, after): (String, String)| PartOfFile { path, after };
        let files = input.files.iter().cloned().map(whole).collect();
        self.call_in_part(input, files, grant, cx).await
    }
}
