//! `ToolSearch`: loads tools that were announced by name only.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ContextChange, DescribeCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::Grant;
use crate::protocol::{Deferral, Level, ToolDefinition, Touches};
use crate::text::{cut, first_line, nearest, plural};

pub const NAME: &str = "ToolSearch";

/// The prefix of a query that names tools.
const SELECT: &str = "select:";
/// How many tools a search loads by default.
const RESULTS: usize = 5;
/// The most tools that a search may load.
const MOST_RESULTS: usize = 20;
/// The longest line of a description.
const LONGEST_LINE: usize = 160;
/// A word in a tool's name counts this much more than one in its description.
const IN_NAME: usize = 10;
const BEGINS_IN_NAME: usize = 5;
const IN_DESCRIPTION: usize = 2;
const BEGINS_IN_DESCRIPTION: usize = 1;

pub struct ToolSearch;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// `select:A,B` to load tools by name, or words that describe what you need
    pub query: String,
    /// How many tools a search by words loads at most (default 5)
    #[serde(default)]
    #[schemars(range(min = 1, max = 20))]
    pub max_results: Option<usize>,
}

impl Tool for ToolSearch {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            doing: "loading tools".into(),
            ruled: None,
            ..ToolSpec::new(
                NAME,
                include_str!("../../assets/tools/tool_search.md"),
                Level::Safe,
                "query",
            )
        }
    }

    fn is_enabled(&self, about: &DescribeCx) -> bool {
        about.deferral != Deferral::Never
    }

    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, _input: &Value) -> Touches {
        Touches::Nothing
    }

    fn sample(&self) -> Value {
        json!({ "query": "select:NotebookEdit" })
    }

    async fn validate(&self, input: &Input, _cx: &ToolCx) -> Result<Validated, ToolError> {
        let wanted = input.query.trim();
        let wanted = wanted.strip_prefix(SELECT).unwrap_or(wanted);
        if wanted.chars().any(char::is_alphanumeric) {
            return Ok(Validated::Fine);
        }
        Err(ToolError::new(
            "`query` is empty: name tools with `select:A,B`, or describe what you need in a few words",
        ).with_sentence("the query is empty"))
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let query = input.query.trim();
        let most = input.max_results.unwrap_or(RESULTS).clamp(1, MOST_RESULTS);
        let found = match query.strip_prefix(SELECT) {
            Some(names) => by_name(names, &cx.deferred),
            None => Found {
                tools: ranked(query, &cx.deferred, most),
                missing: Vec::new(),
            },
        };
        if found.tools.is_empty() {
            return Err(none_found(query, &found, &cx.deferred));
        }
        Ok(ToolOutput {
            changes: vec![ContextChange::Activated(
                found.tools.iter().map(|tool| tool.name.clone()).collect(),
            )],
            ..ToolOutput::text(found.text())
        })
    }
}

/// The result of a query, best match first.
struct Found<'t> {
    tools: Vec<&'t ToolDefinition>,
    /// Names of unknown tools, and of tools that are already loaded.
    missing: Vec<String>,
}

impl Found<'_> {
    fn text(&self) -> String {
        let tools = plural(self.tools.len(), "tool");
        let mut text = format!("Loaded {tools}. You can call them from your next response on:");
        for tool in &self.tools {
            let about = first_line(tool.description.trim(), LONGEST_LINE);
            // Writing to a string cannot fail.
            let _ = write!(text, "\n- {}: {about}", tool.name);
        }
        for missing in &self.missing {
            let _ = write!(text, "\n{missing}");
        }
        text
    }
}

/// The list of tools that can be loaded, for the model.
pub fn announcement(names: &[String]) -> String {
    format!(
        "Tools that you can load\nThese tools are available, but their schemas are not in this request. Load one with {NAME} \
         before you call it: `{SELECT}NAME`, or a few words about what you need.\n{}",
        names.join(", ")
    )
}

/// The answer to a call of a tool that is not loaded.
pub fn how_to_load(name: &str) -> String {
    format!(
        "Error: {name} is available by name only, so it was not called. Load it with {NAME} first, \
         {{\"query\": \"{SELECT}{name}\"}}, and call it in your next response"
    )
}

fn by_name<'t>(names: &str, deferred: &'t [ToolDefinition]) -> Found<'t> {
    let mut found = Found {
        tools: Vec::new(),
        missing: Vec::new(),
    };
    let names = names.split([',', ' ']).map(str::trim);
    for name in names.filter(|name| !name.is_empty()) {
        let exact = deferred.iter().find(|tool| tool.name == name);
        let alike = || {
            let mut tools = deferred.iter();
            tools.find(|tool| tool.name.eq_ignore_ascii_case(name))
        };
        match exact.or_else(alike) {
            Some(tool) if found.tools.contains(&tool) => {}
            Some(tool) => found.tools.push(tool),
            None => found.missing.push(missing(name, deferred)),
        }
    }
    found
}

fn missing(name: &str, deferred: &[ToolDefinition]) -> String {
    let names = deferred.iter().map(|tool| tool.name.as_str());
    let meant = nearest(name, names).map(|meant| format!(" Did you mean {meant}?"));
    format!(
        "`{}` is not among the tools to load; call it directly if this request has it.{}",
        cut(name),
        meant.unwrap_or_default()
    )
}

/// The tools that match most words of the query, best first.
fn ranked<'t>(query: &str, deferred: &'t [ToolDefinition], most: usize) -> Vec<&'t ToolDefinition> {
    let wanted: Vec<String> = words(query).collect();
    let scored = deferred.iter().map(|tool| {
        let (name, about) = (
            words(&tool.name).collect(),
            words(&tool.description).collect(),
        );
        let score: usize = wanted.iter().map(|word| score(word, &name, &about)).sum();
        (score, tool)
    });
    let mut scored: Vec<(usize, &ToolDefinition)> =
        scored.filter(|(score, _)| *score > 0).collect();
    scored.sort_by(|(one, a), (other, b)| other.cmp(one).then_with(|| a.name.cmp(&b.name)));
    scored
        .into_iter()
        .take(most)
        .map(|(_, tool)| tool)
        .collect()
}

fn score(word: &str, name: &Vec<String>, about: &Vec<String>) -> usize {
    let begins = |words: &Vec<String>| words.iter().any(|other| other.starts_with(word));
    if name.iter().any(|other| other == word) {
        IN_NAME
    } else if begins(name) {
        BEGINS_IN_NAME
    } else if about.iter().any(|other| other == word) {
        IN_DESCRIPTION
    } else if begins(about) {
        BEGINS_IN_DESCRIPTION
    } else {
        0
    }
}

/// The words of a text in lower case, including those in a name like `NotebookEdit` or `mcp__mail__send`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in text.chars() {
        if !letter.is_alphanumeric() {
            words.push(String::new());
        } else if letter.is_uppercase() && was_lower {
            words.push(letter.to_lowercase().collect());
        } else if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        was_lower = letter.is_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

fn none_found(query: &str, found: &Found<'_>, deferred: &[ToolDefinition]) -> ToolError {
    let text = if deferred.is_empty() {
        "Nothing to load: all tools are in this request already".to_owned()
    } else if found.missing.is_empty() {
        format!(
            "No tool matches `{}`. Use other words, or {SELECT}NAME with a name from the system prompt",
            cut(query)
        )
    } else {
        found.missing.join("\n")
    };
    ToolError::new(text).with_sentence("no tool found")
}

#[cfg(test)]
mod tests {
    use super::{Input, NAME, Tool, ToolSearch, ranked};
    use crate::permissions::Grant;
    use crate::protocol::{ResultBlock, ToolDefinition};
    use crate::tools::files::scratch::Scratch;
    use crate::tools::{ContextChange, ToolError, ToolOutput};
    use std::sync::Arc;

    fn tool(name: &str, description: &str) -> ToolDefinition {
        ToolDefinition {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: serde_json::json!({"type": "object"}),
            strict: false,
            input_examples: Vec::new(),
            server: None,
        }
    }

    fn some() -> Vec<ToolDefinition> {
        vec![
            tool("mcp__mail__send_message", "Sends a mail.\nTo anybody."),
            tool("mcp__mail__list", "Lists the mails of a folder"),
            tool("NotebookEdit", "Changes a cell of a notebook"),
            tool("deploy", "Sends the build to a server"),
        ]
    }

    async fn search(query: &str, most: Option<usize>) -> Result<ToolOutput, ToolError> {
        let mut scratch = Scratch::new();
        scratch.cx.deferred = Arc::new(some());
        let input = Input {
            query: query.to_owned(),
            max_results: most,
        };
        ToolSearch.validate(&input, &scratch.cx).await?;
        let grant = Grant::by_person();
        ToolSearch.call(input, grant, scratch.cx.clone()).await
    }

    fn activated(output: &ToolOutput) -> &[String] {
        match &output.changes[..] {
            [ContextChange::Activated(tools)] => tools,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn tools_are_loaded_by_name_in_the_order_of_the_query() {
        let output = search("select:deploy, notebookedit,deploy", None).await;
        let output = output.expect("found");
        assert_eq!(activated(&output), ["deploy", "NotebookEdit"]);
        assert_eq!(
            ResultBlock::texts(&output.for_model),
            "Loaded 2 tools. You can call them from your next response on:\n\
             - deploy: Sends the build to a server\n\
             - NotebookEdit: Changes a cell of a notebook"
        );
    }

    #[tokio::test]
    async fn an_unknown_name_is_reported_together_with_the_loaded_tools() {
        let output = search("select:deploy,deplyo", None).await.expect("found");
        assert_eq!(activated(&output), ["deploy"]);
        let text = ResultBlock::texts(&output.for_model);
        assert!(
            text.contains("`deplyo` is not among the tools to load"),
            "{text}"
        );
        assert!(text.contains("Did you mean deploy?"), "{text}");
        let error = search("select:NotebokEdit", None).await.expect_err("none");
        assert!(
            error.message.contains("Did you mean NotebookEdit?"),
            "{error:?}"
        );
    }

    #[tokio::test]
    async fn words_are_ranked_over_names_before_descriptions() {
        let output = search("send", None).await.expect("found");
        assert_eq!(activated(&output), ["mcp__mail__send_message", "deploy"]);
        let output = search("Mail list", Some(1)).await.expect("found");
        assert_eq!(activated(&output), ["mcp__mail__list"]);
        let output = search("notebook", None).await.expect("found");
        assert_eq!(activated(&output), ["NotebookEdit"]);
    }

    #[tokio::test]
    async fn a_query_without_results_is_an_error_with_a_hint() {
        for (query, expected) in [
            ("zebra", "No tool matches `zebra`"),
            ("", "`query` is empty"),
            ("select: ,", "`query` is empty"),
        ] {
            let error = search(query, None).await.expect_err(query);
            assert!(error.message.contains(expected), "{error:?}");
        }
    }

    #[test]
    fn no_more_tools_are_loaded_than_requested() {
        let many: Vec<_> = (0..30).map(|n| tool(&format!("look{n}"), "")).collect();
        assert_eq!(ranked("look", &many, 5).len(), 5);
        assert!(super::announcement(&["a".into(), "b".into()]).ends_with("\na, b"));
        assert!(super::how_to_load("a").contains(NAME));
    }
}
