//! `BashOutput`: what a background command printed since the last look.

use std::fmt::Write;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::bash::jobs::{NewOutput, unknown};
use super::{Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::Grant;
use crate::process::output::plain;
use crate::protocol::{Level, Touches};

pub struct BashOutput;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The ID of the command, as Bash gave it
    pub bash_id: String,
    /// A regular expression: only matching lines are shown, and the others are dropped
    #[serde(default)]
    pub filter: Option<String>,
}

impl Tool for BashOutput {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            ruled: None,
            needs: Some(super::bash::NAME.into()),
            ..ToolSpec::new(
                "BashOutput",
                include_str!("../../assets/tools/bash_output.md"),
                Level::Safe,
                "bash_id",
            )
        }
    }

    fn is_concurrency_safe(&self, _input: &Input) -> bool {
        true
    }

    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    async fn validate(&self, input: &Input, _cx: &ToolCx) -> Result<Validated, ToolError> {
        matcher(input)?;
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let filter = matcher(&input)?;
        let looked =
            tokio::task::spawn_blocking(move || cx.env.groups.jobs.read_new(&input.bash_id));
        match looked.await {
            Ok(Ok(output)) => Ok(ToolOutput::text(report(&output, filter.as_ref()))),
            Ok(Err(error)) => Err(unknown(&error)),
            // The runtime is shutting down.
            Err(_) => Err(ToolError::cancelled()),
        }
    }
}

fn matcher(input: &Input) -> Result<Option<RegexMatcher>, ToolError> {
    let Some(filter) = &input.filter else {
        return Ok(None);
    };
    let matcher = RegexMatcher::new(filter).map_err(|error| {
        ToolError::new(format!("`filter` is not a regular expression: {error}"))
            .with_sentence("the filter is not a valid regular expression")
    })?;
    Ok(Some(matcher))
}

fn report(new_output: &NewOutput, filter: Option<&RegexMatcher>) -> String {
    let mut text = format!(
        "Status: {}\nCommand: {}\n",
        new_output.status.description(),
        new_output.command
    );
    if new_output.skipped > 0 {
        let _ = writeln!(
            text,
            "[{} earlier bytes are not shown; they are in `{}`]",
            new_output.skipped,
            new_output.file.display()
        );
    }
    let output = plain(&new_output.output);
    let shown: Vec<&str> = output
        .lines()
        .filter(|line| filter.is_none_or(|filter| is_match(filter, line)))
        .collect();
    text.push('\n');
    match (shown.is_empty(), output.is_empty()) {
        (false, _) => text.push_str(&shown.join("\n")),
        (true, true) => text.push_str("(no new output)"),
        (true, false) => text.push_str("(new output, but no line of it matches `filter`)"),
    }
    text
}

fn is_match(filter: &RegexMatcher, line: &str) -> bool {
    filter.is_match(line.as_bytes()).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::BashOutput;
    use crate::tools::bash::Bash;
    use crate::tools::files::scratch::{Scratch, text};
    use crate::tools::kill_shell::KillShell;

    async fn read_new(scratch: &Scratch, extra: serde_json::Value) -> String {
        let mut input = json!({ "bash_id": "bash_1" });
        if let (Some(input), Some(extra)) = (input.as_object_mut(), extra.as_object()) {
            input.extend(extra.clone());
        }
        match scratch.run(&BashOutput, input).await {
            Ok(output) => text(&output),
            Err(error) => error.message,
        }
    }

    async fn start(scratch: &Scratch, command: &str) {
        let input = json!({ "command": command, "run_in_background": true });
        scratch.run(&Bash, input).await.expect("started");
    }

    /// Calls `BashOutput` until the output contains `wanted`.
    async fn seen(scratch: &Scratch, wanted: &str) -> String {
        loop {
            let output = read_new(scratch, json!({})).await;
            if output.contains(wanted) {
                return output;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn every_look_shows_what_is_new() {
        let scratch = Scratch::new();
        let go = scratch.path("go");
        start(
            &scratch,
            &format!(
                "echo one; until [ -e {} ]; do :; done; echo two; exit 3",
                go.display()
            ),
        )
        .await;
        let first = seen(&scratch, "\n\none").await;
        assert!(first.starts_with("Status: running\n"), "{first}");
        assert!(
            read_new(&scratch, json!({}))
                .await
                .ends_with("(no new output)")
        );
        scratch.put("go", "");
        let second = seen(&scratch, "\n\ntwo").await;
        assert!(!second.contains("\none"), "{second}");
        let over = seen(&scratch, "exited with code 3").await;
        assert!(over.starts_with("Status: exited with code 3"), "{over}");
    }

    #[tokio::test]
    async fn only_lines_that_match_are_shown() {
        let scratch = Scratch::new();
        start(&scratch, "printf 'a1\\nb\\na2\\n'").await;
        let file = scratch.cx.env.results_dir.join("call-1.1.txt");
        while std::fs::read(&file).expect("there") != b"a1\nb\na2\n" {
            tokio::task::yield_now().await;
        }
        let output = read_new(&scratch, json!({ "filter": "^a" })).await;
        assert!(output.ends_with("\n\na1\na2"), "{output}");
        let wrong = read_new(&scratch, json!({ "filter": "(" })).await;
        assert!(wrong.contains("not a regular expression"), "{wrong}");
    }

    #[tokio::test]
    async fn an_unknown_id_is_answered_with_the_known_ones() {
        let scratch = Scratch::new();
        let output = read_new(&scratch, json!({})).await;
        assert!(output.ends_with("`bash_1`; none was started"), "{output}");
        start(&scratch, "true").await;
        let output = read_new(&scratch, json!({ "bash_id": "x" })).await;
        assert!(output.ends_with("`x`; known IDs: bash_1"), "{output}");
    }

    #[tokio::test]
    async fn killing_a_command_also_ends_its_children() {
        let scratch = Scratch::new();
        start(&scratch, "sleep 600 & sleep 600").await;
        let kill = json!({ "shell_id": "bash_1" });
        let output = scratch.run(&KillShell, kill.clone()).await.expect("killed");
        assert_eq!(text(&output), "Killed bash_1 (sleep 600 & sleep 600)");
        assert_eq!(scratch.cx.env.groups.running(), [] as [&str; 0]);
        assert!(
            read_new(&scratch, json!({}))
                .await
                .starts_with("Status: killed")
        );
        let again = scratch.run(&KillShell, kill).await.expect_err("over");
        assert_eq!(again.message, "bash_1 is no longer running: killed");
    }
}
