//! What a provider runs itself while its model answers: its tools, and what the blocks of an answer say about their
//! calls.
//!
//! We never run these calls. Their blocks go back to the provider unchanged; here they are only read in order to show
//! them.

use serde_json::{Value, json};

use super::for_person::ForPerson;
use super::id::WireId;
use super::input::CallInput;
use super::message::{Block, ToolResult};

/// A tool that a provider runs itself, if a request asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerTool {
    WebSearch,
}

impl ServerTool {
    /// Its name in the providers' APIs.
    pub const fn name(self) -> &'static str {
        match self {
            ServerTool::WebSearch => "web_search",
        }
    }
}

/// The most hosts that are named in one line.
const HOSTS_IN_SHORT: usize = 3;

/// What one block says about a call that the provider ran.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerCall {
    pub id: WireId,
    /// The provider's name of the tool, and its input.
    pub made: Option<(String, CallInput)>,
    pub result: Option<(ToolResult, ForPerson)>,
}

/// A page that a search has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    pub title: String,
    pub url: String,
    /// The text of the page about the query.
    pub text: String,
}

impl ServerCall {
    /// `None` for a block that is not such a call.
    pub fn of(block: &Block) -> Option<Self> {
        match block {
            Block::ServerToolUse { id, name, input } => Some(Self {
                id: WireId(id.clone()),
                made: Some((name.clone(), input.clone().into())),
                result: None,
            }),
            Block::Other { wire_type, start } if wire_type == "web_search_call" => {
                Some(whole_search(start))
            }
            Block::Other { wire_type, start } if wire_type.ends_with("_tool_result") => {
                let id = WireId(text(start, "tool_use_id")?);
                let result = result(&id, &start["content"]);
                Some(Self {
                    id,
                    made: None,
                    result: Some(result),
                })
            }
            _ => None,
        }
    }
}

/// The item of the Responses API: call and result in one.
fn whole_search(item: &Value) -> ServerCall {
    let id = WireId(text(item, "id").unwrap_or_default());
    let action = &item["action"];
    let mut input = json!({});
    for field in ["query", "queries", "url", "pattern"] {
        if let Some(value) = action.get(field) {
            input[field] = value.clone();
        }
    }
    let first = action["queries"].get(0).and_then(Value::as_str);
    if let (None, Some(first)) = (input.get("query"), first) {
        input["query"] = first.into();
    }
    let result = if item["status"] == "failed" {
        failed(&id, "the provider's search failed")
    } else {
        let sources = action["sources"].as_array();
        let found = sources.into_iter().flatten().map(|source| Found {
            url: text(source, "url")
                .or(text(source, "name"))
                .unwrap_or_default(),
            ..Found::default()
        });
        searched(&id, &found.collect::<Vec<_>>())
    };
    ServerCall {
        id,
        made: Some((ServerTool::WebSearch.name().to_owned(), input.into())),
        result: Some(result),
    }
}

/// The content of a result block of the Messages API.
fn result(id: &WireId, content: &Value) -> (ToolResult, ForPerson) {
    if let Some(code) = text(content, "error_code") {
        let sentence = match code.as_str() {
            "max_uses_exceeded" => "too many searches in one answer".to_owned(),
            "too_many_requests" => "the provider's search is busy; try again later".to_owned(),
            "query_too_long" => "the query is too long".to_owned(),
            other => format!("the provider's search failed: {other}"),
        };
        return failed(id, &sentence);
    }
    let is_page = |item: &Value| item["type"] == "web_search_result";
    match content.as_array() {
        Some(items) if items.iter().all(is_page) => {
            let found = items.iter().map(|item| Found {
                title: text(item, "title").unwrap_or_default(),
                url: text(item, "url").unwrap_or_default(),
                text: text(item, "page_age").unwrap_or_default(),
            });
            searched(id, &found.collect::<Vec<_>>())
        }
        // The result of a tool that we did not request.
        Some(_) | None => {
            let result = ToolResult::text(id.clone(), content.to_string());
            (result, ForPerson::default())
        }
    }
}

fn failed(id: &WireId, sentence: &str) -> (ToolResult, ForPerson) {
    let result = ToolResult::error(id.clone(), sentence);
    (result, ForPerson::sentence(sentence))
}

fn searched(id: &WireId, found: &[Found]) -> (ToolResult, ForPerson) {
    let for_person = ForPerson {
        sentence: Some(summary(found)),
        ..ForPerson::default()
    };
    (ToolResult::text(id.clone(), listed(found)), for_person)
}

/// The pages one after the other: title, address, text.
pub fn listed(found: &[Found]) -> String {
    let page = |(index, found): (usize, &Found)| {
        let Found { title, url, text } = found;
        let lines = [title.as_str(), url, text];
        let lines = lines.into_iter().filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        format!("{}. {}", index + 1, lines.join("\n   "))
    };
    let pages: Vec<String> = found.iter().enumerate().map(page).collect();
    pages.join("\n\n")
}

/// How many pages, and from which hosts.
pub fn summary(found: &[Found]) -> String {
    let mut hosts: Vec<&str> = Vec::new();
    for host in found.iter().filter_map(|found| host(&found.url)) {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    let count = match found.len() {
        0 => return "no results".to_owned(),
        1 => "1 result".to_owned(),
        count => format!("{count} results"),
    };
    let more = if hosts.len() > HOSTS_IN_SHORT {
        ", …"
    } else {
        ""
    };
    hosts.truncate(HOSTS_IN_SHORT);
    if hosts.is_empty() {
        return count;
    }
    format!("{count}: {}{more}", hosts.join(", "))
}

/// The host of an address, without `www`.
pub fn host(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    (!host.is_empty()).then_some(host)
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Found, ServerCall, host, summary};
    use crate::protocol::Block;

    fn other(start: Value) -> Block {
        let wire_type = start["type"].as_str().expect("a type").to_owned();
        Block::Other { wire_type, start }
    }

    /// What is shown of a result, and its short form.
    fn displayed(block: &Block) -> (String, Option<String>) {
        let call = ServerCall::of(block).expect("a call of the provider");
        let (result, for_person) = call.result.expect("a result");
        (result.as_text(), for_person.sentence)
    }

    #[test]
    fn a_search_of_the_messages_api_is_two_blocks() {
        let block = Block::ServerToolUse {
            id: "srv".into(),
            name: "web_search".into(),
            input: json!({"query": "eclipse"}),
        };
        let call = ServerCall::of(&block).expect("a call");
        let (name, input) = call.made.expect("it was made");
        assert_eq!(
            (name.as_str(), &input["query"]),
            ("web_search", &json!("eclipse"))
        );
        assert_eq!((call.id.0.as_str(), call.result), ("srv", None));
        let block = other(json!({
            "type": "web_search_tool_result", "tool_use_id": "srv", "content": [
                {"type": "web_search_result", "title": "A", "url": "https://www.a.org/x", "encrypted_content": "…", "page_age": "1 week ago"},
                {"type": "web_search_result", "title": "B", "url": "https://b.org/", "encrypted_content": "…"},
            ],
        }));
        let text = "1. A\n   https://www.a.org/x\n   1 week ago\n\n2. B\n   https://b.org/";
        let short = Some("2 results: a.org, b.org".to_owned());
        assert_eq!(displayed(&block), (text.to_owned(), short));
    }

    #[test]
    fn a_search_of_the_responses_api_is_one_item() {
        let block = other(json!({
            "type": "web_search_call", "id": "ws", "status": "completed", "action": {
                "type": "search", "queries": ["eclipse"],
                "sources": [{"type": "url", "url": "https://a.org/x"}],
            },
        }));
        let call = ServerCall::of(&block).expect("a call");
        let (name, input) = call.made.expect("it was made");
        assert_eq!(
            (name.as_str(), &input["query"]),
            ("web_search", &json!("eclipse"))
        );
        let short = Some("1 result: a.org".to_owned());
        assert_eq!(displayed(&block), ("1. https://a.org/x".to_owned(), short));
    }

    #[test]
    fn a_search_that_failed_says_so() {
        let block = other(json!({
            "type": "web_search_tool_result", "tool_use_id": "srv",
            "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
        }));
        let words = "too many searches in one answer".to_owned();
        assert_eq!(displayed(&block), (words.clone(), Some(words)));
        let block = other(json!({"type": "web_search_call", "id": "ws", "status": "failed"}));
        let words = "the provider's search failed".to_owned();
        assert_eq!(displayed(&block), (words.clone(), Some(words)));
    }

    #[test]
    fn other_blocks_are_not_calls() {
        assert_eq!(ServerCall::of(&Block::text("hi")), None);
        assert_eq!(ServerCall::of(&other(json!({"type": "compaction"}))), None);
    }

    #[test]
    fn hosts_are_named_once_and_only_a_few() {
        let found = |urls: &[&str]| -> Vec<Found> {
            let page = |url: &&str| Found {
                url: (*url).to_owned(),
                ..Found::default()
            };
            urls.iter().map(page).collect()
        };
        assert_eq!(summary(&[]), "no results");
        let many = found(&[
            "https://a/1",
            "https://a/2",
            "https://b",
            "https://c?x",
            "https://d",
        ]);
        assert_eq!(summary(&many), "5 results: a, b, c, …");
        assert_eq!(summary(&found(&["oai-weather"])), "1 result");
        assert_eq!(host("https://me@www.docs.rs:443/a"), Some("docs.rs"));
    }
}
