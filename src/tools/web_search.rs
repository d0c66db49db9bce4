//! `WebSearch`: finds web pages, with title, address and text.
//!
//! Either the provider of the model searches, and then runs the calls itself, or a search service, which is queried
//! here.

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::web::search::{self, Question};
use super::{DescribeCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::Grant;
use crate::protocol::{self, ForPerson, Level, ResultBlock, ServerTool, Touches, served};

pub struct WebSearch;

/// All services refuse longer queries.
const LONGEST_QUERY: usize = 400;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to search for
    pub query: String,
    /// Only pages of these domains and what is below them: `docs.rs`
    #[serde(default)]
    pub allowed_domains: Vec<String>,
    /// No pages of these domains
    #[serde(default)]
    pub blocked_domains: Vec<String>,
}

impl Tool for WebSearch {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            doing: "searching the web".into(),
            server: Some(ServerTool::WebSearch),
            ..ToolSpec::new(
                "WebSearch",
                include_str!("../../assets/tools/web_search.md"),
                Level::Confirm,
                "query",
            )
        }
    }

    fn is_enabled(&self, about: &DescribeCx) -> bool {
        about.search.is_some()
    }

    fn served_by(&self, about: &DescribeCx) -> Option<ServerTool> {
        match about.search {
            Some(protocol::WebSearch::Provider) => Some(ServerTool::WebSearch),
            Some(protocol::WebSearch::Service(_)) | None => None,
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

    fn sample(&self) -> Value {
        json!({ "query": "rust async book" })
    }

    async fn validate(&self, input: &Input, _cx: &ToolCx) -> Result<Validated, ToolError> {
        question(input).map(|_| Validated::Fine)
    }

    async fn call(&self, input: Input, _grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let question = question(&input)?;
        let service = match &cx.env.search {
            Some(protocol::WebSearch::Service(service)) => service,
            Some(protocol::WebSearch::Provider) => {
                return Err(ToolError::new(
                    "The provider searches itself: use its own tool `web_search`",
                )
                .with_sentence("the provider searches itself"));
            }
            None => {
                return Err(ToolError::new(
                    "Web search is off: the setting `webSearch` is not set",
                )
                .with_sentence("web search is off; set `webSearch` in the settings"));
            }
        };
        cx.progress
            .report(format!("asking {}", service.backend.name()));
        let found = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(ToolError::cancelled()),
            found = search::search(service, &question) => found,
        };
        let found = found.map_err(|problem| {
            let message = problem.to_string();
            let sentence = message.split('\n').next().unwrap_or_default().to_owned();
            ToolError::new(message).with_sentence(sentence)
        })?;
        let mut text = format!("Search results for \"{}\":\n\n", question.query);
        let start = text.len();
        if found.is_empty() {
            text.push_str("No results. Try other words, or fewer restrictions on domains.");
        } else {
            text.push_str(&served::listed(&found));
        }
        Ok(ToolOutput {
            for_person: ForPerson {
                sentence: Some(served::summary(&found)),
                output: Some(start..text.len()),
                ..ForPerson::default()
            },
            for_model: vec![ResultBlock::text(text)],
            ..ToolOutput::default()
        })
    }
}

/// The input as a query for a service.
fn question(input: &Input) -> Result<Question, ToolError> {
    let query = input.query.trim();
    if query.is_empty() {
        return Err(ToolError::new("`query` is empty: say what to search for")
            .with_sentence("the query is empty"));
    }
    if query.chars().count() > LONGEST_QUERY {
        return Err(ToolError::new(format!(
            "`query` is longer than {LONGEST_QUERY} characters: use the few words that matter"
        ))
        .with_sentence("the query is too long"));
    }
    Ok(Question {
        query: query.to_owned(),
        allowed: domains("allowed_domains", &input.allowed_domains)?,
        blocked: domains("blocked_domains", &input.blocked_domains)?,
    })
}

fn domains(field: &str, domains: &[String]) -> Result<Vec<String>, ToolError> {
    let domain = |text: &String| {
        let domain = text.trim().trim_start_matches("*.").trim_end_matches('.');
        let is_name = |letter: char| letter.is_alphanumeric() || "-._".contains(letter);
        if domain.is_empty() || !domain.chars().all(is_name) {
            return Err(ToolError::new(format!(
                "`{text}` in `{field}` is not a domain: give names such as `docs.rs`, without scheme and path"
            )).with_sentence("a domain is not valid"));
        }
        Ok(domain.to_lowercase())
    };
    domains.iter().map(domain).collect()
}
