//! Reads the lists of a server: its tools, prompts and resources. One bad entry costs only itself.

use std::collections::BTreeSet;

use serde_json::Value;

use super::describe;

/// The most tools that are taken from one server.
const MOST_ENTRIES: usize = 1_000;

/// A tool as its server describes it, safe to show and to send.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTool {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input_schema: Value,
    pub hints: Hints,
}

/// What a server says about its tool. Nobody checks it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hints {
    pub read_only: bool,
    /// It may destroy something. Servers that say nothing are not believed to be destructive or harmless.
    pub destructive: Option<bool>,
}

/// A prompt that people can use like a slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPrompt {
    pub name: String,
    pub description: String,
    pub arguments: Vec<PromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: String,
    pub required: bool,
}

/// A resource that a message can mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedResource {
    pub uri: String,
    pub name: String,
    pub description: String,
}

/// The tools of a list, and what was wrong with the others.
pub fn tools(entries: &[Value]) -> (Vec<ListedTool>, Vec<String>) {
    let (mut tools, mut problems) = (Vec::new(), Vec::new());
    let mut names = BTreeSet::new();
    for entry in entries.iter().take(MOST_ENTRIES) {
        let name = entry["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            problems.push("a tool without a name is left out".to_owned());
        } else if !names.insert(name) {
            let name = describe::line(name);
            problems.push(format!("`{name}` is listed twice; the first one is used"));
        } else if let Some(schema) = describe::schema(entry.get("inputSchema")) {
            tools.push(tool(name, schema, entry));
        } else {
            let name = describe::line(name);
            problems.push(format!("`{name}` is left out: its schema is too large"));
        }
    }
    if entries.len() > MOST_ENTRIES {
        let more = entries.len() - MOST_ENTRIES;
        problems.push(format!(
            "{more} tools are left out: the limit is {MOST_ENTRIES}"
        ));
    }
    (tools, problems)
}

fn tool(name: &str, input_schema: Value, entry: &Value) -> ListedTool {
    let hints = &entry["annotations"];
    let title = entry["title"].as_str().or(hints["title"].as_str());
    ListedTool {
        name: name.to_owned(),
        title: title.map(describe::line).filter(|title| !title.is_empty()),
        description: text(entry, "description"),
        input_schema,
        hints: Hints {
            read_only: hints["readOnlyHint"] == true,
            destructive: hints["destructiveHint"].as_bool(),
        },
    }
}

pub fn prompts(entries: &[Value]) -> Vec<ListedPrompt> {
    let named = entries.iter().take(MOST_ENTRIES).filter_map(|entry| {
        let arguments = entry["arguments"].as_array().into_iter().flatten();
        Some(ListedPrompt {
            name: entry["name"]
                .as_str()
                .filter(|it| !it.is_empty())?
                .to_owned(),
            description: text(entry, "description"),
            arguments: arguments.filter_map(argument).collect(),
        })
    });
    named.collect()
}

fn argument(entry: &Value) -> Option<PromptArgument> {
    Some(PromptArgument {
        name: entry["name"].as_str()?.to_owned(),
        required: entry["required"] == true,
    })
}

pub fn resources(entries: &[Value]) -> Vec<ListedResource> {
    let with_uri = entries.iter().take(MOST_ENTRIES).filter_map(|entry| {
        Some(ListedResource {
            uri: entry["uri"]
                .as_str()
                .filter(|it| !it.is_empty())?
                .to_owned(),
            name: describe::line(entry["name"].as_str().unwrap_or_default()),
            description: text(entry, "description"),
        })
    });
    with_uri.collect()
}

fn text(entry: &Value, key: &str) -> String {
    describe::description(entry[key].as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_bad_entry_costs_only_itself() {
        let (tools, problems) = tools(&[
            json!({ "name": 5 }),
            json!("tool"),
            json!({ "name": "good", "description": "Good\u{200b}", "annotations": { "readOnlyHint": true } }),
            json!({ "name": "good", "description": "again" }),
        ]);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["good"]);
        assert_eq!(tools[0].description, "Good");
        assert_eq!(
            tools[0].hints,
            Hints {
                read_only: true,
                destructive: None
            }
        );
        assert_eq!(problems.len(), 3, "{problems:?}");
    }

    #[test]
    fn prompts_and_resources_are_read() {
        let prompts = prompts(&[
            json!({ "name": "p", "arguments": [{ "name": "a", "required": true }, 7] }),
            json!({}),
        ]);
        assert_eq!(prompts.len(), 1);
        assert_eq!(
            prompts[0].arguments,
            [PromptArgument {
                name: "a".to_owned(),
                required: true
            }]
        );
        let resources = resources(&[
            json!({ "uri": "x://y", "name": "Y" }),
            json!({ "name": "no uri" }),
        ]);
        assert_eq!(resources.len(), 1);
    }
}
