//! Prompts of servers as commands that people type, and resources that messages mention as `@server:uri`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::describe::{description, line};
use super::listing::{ListedPrompt, PromptArgument};
use super::manager::Manager;
use super::names;
use super::result::{of_block, of_resource};
use super::slot::Slot;
use crate::protocol::{Allows, Block, CallRef, CustomCommand, NamedFile, ResultBlock};
use crate::tools::guard::result_file_as;

/// The most resources that one message adds.
const MOST_MENTIONS: usize = 10;

/// What a message is made of, once its servers have answered. The error says what is missing.
pub type Fetched = BoxFuture<'static, Result<Vec<Block>, String>>;

impl Manager {
    /// The prompts of all servers, as commands.
    pub fn commands(&self) -> Vec<CustomCommand> {
        let of_slot = |slot: &Arc<Slot>| -> Vec<CustomCommand> {
            let listing = slot.listing();
            let prompts = listing.prompts.iter();
            prompts.map(|prompt| command(slot, prompt)).collect()
        };
        self.slots().iter().flat_map(of_slot).collect()
    }

    /// Asks for the prompt that a command names; `None` if no server has it.
    pub fn prompt(&self, name: &str, arguments: &str, folder: PathBuf) -> Option<Fetched> {
        let (slot, prompt) = self.slots().iter().find_map(|slot| {
            let prompts = slot.listing().prompts;
            let mut prompts = prompts.into_iter();
            let found = prompts.find(|prompt| names::prompt(slot.part(), &prompt.name) == name)?;
            Some((slot.clone(), found))
        })?;
        let arguments = assigned(&prompt.arguments, arguments);
        let fetched = async move {
            let given =
                arguments.map_err(|missing| format!("it needs the argument `{missing}`"))?;
            let never = CancellationToken::new();
            let result = slot
                .prompt(&prompt.name, Value::Object(given), &never)
                .await?;
            Ok(messages(&result, &folder))
        };
        Some(fetched.boxed())
    }

    /// Reads the resources that a text mentions; `None` if it mentions none.
    pub fn mentions(&self, text: &str, folder: PathBuf) -> Option<Fetched> {
        let mut found: Vec<(Arc<Slot>, String)> = Vec::new();
        for (server, uri) in mentions(text) {
            if let Some(slot) = self.find(server)
                && found.len() < MOST_MENTIONS
            {
                found.push((slot.clone(), uri.to_owned()));
            }
        }
        if found.is_empty() {
            return None;
        }
        let fetched = async move {
            let mut blocks = Vec::new();
            for (slot, uri) in found {
                let never = CancellationToken::new();
                let params = json!({ "uri": uri });
                let read = slot.request("resources/read", params, &never).await;
                let name = slot.name();
                let result =
                    read.map_err(|why| format!("`@{name}:{uri}` could not be read: {why}"))?;
                let parts = of_resource(&result, &mut |bytes, extension| {
                    keep(&folder, bytes, extension)
                });
                blocks.extend(parts.into_iter().map(block));
            }
            Ok(blocks)
        };
        Some(fetched.boxed())
    }
}

fn command(slot: &Slot, prompt: &ListedPrompt) -> CustomCommand {
    let hints = prompt.arguments.iter().map(|argument| {
        let name = line(&argument.name);
        if argument.required {
            format!("<{name}>")
        } else {
            format!("[{name}]")
        }
    });
    let about = description(&prompt.description);
    CustomCommand {
        name: names::prompt(slot.part(), &prompt.name).into(),
        arguments: hints.collect::<Vec<_>>().join(" ").into(),
        about: line(&about).into(),
        prompt: "".into(),
        allows: Allows {
            rules: Vec::new(),
            file: NamedFile {
                path: PathBuf::new(),
                name: slot.name().to_owned(),
            },
        },
        model: None,
        for_model: false,
        skill: None,
    }
}

/// Gives words to arguments in their order; the last one gets the rest. The error is the argument that is missing.
fn assigned(arguments: &[PromptArgument], text: &str) -> Result<Map<String, Value>, String> {
    let mut given = Map::new();
    let mut rest = text.trim();
    for (at, argument) in arguments.iter().enumerate() {
        let is_last = at + 1 == arguments.len();
        let (word, after) = match rest.split_once(char::is_whitespace) {
            Some((word, after)) if !is_last => (word, after.trim_start()),
            Some(_) | None => (rest, ""),
        };
        rest = after;
        if !word.is_empty() {
            given.insert(argument.name.clone(), Value::from(word));
        } else if argument.required {
            return Err(argument.name.clone());
        }
    }
    Ok(given)
}

/// The mentions in a text: servers and addresses.
fn mentions(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split_whitespace().filter_map(|word| {
        let word = word
            .trim_start_matches(['(', '"', '\''])
            .strip_prefix('@')?;
        let (server, uri) = word.split_once(':')?;
        let uri = uri.trim_end_matches(['.', ',', ';', ')', '"', '\'', '!', '?']);
        (!server.is_empty() && !uri.is_empty()).then_some((server, uri))
    })
}

/// The messages of a prompt as one message of the person.
fn messages(result: &Value, folder: &Path) -> Vec<Block> {
    let messages = result["messages"].as_array().into_iter().flatten();
    let mut blocks = Vec::new();
    for message in messages {
        let contents = match &message["content"] {
            Value::Array(contents) => contents.as_slice(),
            one => std::slice::from_ref(one),
        };
        for content in contents {
            let parts = of_block(content, &mut |bytes, extension| {
                keep(folder, bytes, extension)
            });
            blocks.extend(parts.into_iter().map(block));
        }
    }
    blocks
}

fn block(part: ResultBlock) -> Block {
    match part {
        ResultBlock::Text { text } => Block::text(text),
        ResultBlock::Image(image) => Block::Image(image),
    }
}

fn keep(folder: &Path, bytes: &[u8], extension: &str) -> std::io::Result<PathBuf> {
    use std::io::Write;
    // It belongs to a message, and no call has this number.
    let (mut file, path) = result_file_as(folder, CallRef::main(0), extension)?;
    file.write_all(bytes)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argument(name: &str, required: bool) -> PromptArgument {
        PromptArgument {
            name: name.to_owned(),
            required,
        }
    }

    #[test]
    fn words_become_arguments_and_the_last_one_gets_the_rest() {
        let arguments = [argument("city", true), argument("why", false)];
        let given = assigned(&arguments, " Bern  because of the bears ").map(Value::Object);
        assert_eq!(
            given,
            Ok(json!({ "city": "Bern", "why": "because of the bears" }))
        );
        assert_eq!(
            assigned(&arguments, "Bern").map(Value::Object),
            Ok(json!({ "city": "Bern" }))
        );
        assert_eq!(assigned(&arguments, ""), Err("city".to_owned()));
    }

    #[test]
    fn mentions_are_found_between_other_words() {
        let found: Vec<_> =
            mentions("see @docs:note://one, @src/main.rs and (@db:x://y).").collect();
        assert_eq!(found, [("docs", "note://one"), ("db", "x://y")]);
    }
}
