//! `agent-tui tools`: what the model would be offered, and the state of the other tools.

pub mod run;
mod terminal;

use serde_json::{Value, json};

use super::args::Args;
use super::launch::engine;
use super::project::{Audience, Project};
use super::servers::{self, Servers};
use super::{UsageError, print_line};
use crate::protocol::{ToolDefinition, ToolInfo};
use crate::runtime::{end_guard, guard_commands};
use crate::tools::offered::Offered;

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// A table for people.
    Table,
    /// The exact array that is sent to the model.
    Sent,
    /// Every tool with its source, state and size, as JSON.
    All,
}

pub fn run(args: &Args, listing: Listing) -> Result<u8, UsageError> {
    let project = Project::find(args, Audience::Person)?;
    let offered = offered(args, &project)?;
    match listing {
        Listing::Table => print_table(&offered.infos()),
        Listing::Sent => print_json(&json!(**offered.definitions()))?,
        Listing::All => {
            let tools: Value = offered.infos().iter().map(in_full).collect();
            print_json(&tools)?;
        }
    }
    Ok(0)
}

/// What the first request would offer, including the tools of servers.
fn offered(args: &Args, project: &Project) -> Result<Offered, UsageError> {
    let tools = project.tools(args);
    if project.servers.servers.is_empty() {
        return Ok(tools.snapshot());
    }
    let runtime = engine()?;
    guard_commands();
    let offered = runtime.block_on(async {
        let servers = Servers::default();
        servers::connect(servers.open(args, project), &tools).await;
        let offered = tools.snapshot();
        servers.close().await;
        offered
    });
    runtime.shutdown_background();
    end_guard();
    Ok(offered)
}

fn print_json(value: &Value) -> Result<(), UsageError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| UsageError::new(format!("can't write the tools as JSON: {error}")))?;
    print_line(&text);
    Ok(())
}

fn print_table(tools: &[ToolInfo]) {
    let widest = |length: fn(&ToolInfo) -> usize| tools.iter().map(length).max().unwrap_or(0);
    let names = widest(|tool| tool.name.len());
    let sources = widest(|tool| tool.source().len());
    for tool in tools {
        let (source, state) = (tool.source(), tool.state.name());
        let definition = tool.definition.as_deref();
        let tokens = definition.map_or(0, ToolDefinition::tokens);
        let summary = definition.and_then(|definition| definition.description.lines().next());
        let line = format!(
            "{:<names$}  {source:<sources$}  {state:<8}  {tokens:>5} tokens  {}",
            tool.name,
            summary.unwrap_or_default()
        );
        if !print_line(&line) {
            break;
        }
    }
}

fn in_full(tool: &ToolInfo) -> Value {
    let definition = tool.definition.as_deref();
    json!({
        "name": &*tool.name,
        "source": tool.source(),
        "state": tool.state,
        "tokens": definition.map_or(0, ToolDefinition::tokens),
        "description": definition.map(|definition| &definition.description),
        "input_schema": definition.map(|definition| &definition.input_schema),
    })
}
