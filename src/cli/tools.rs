//! `agent-tui tools`: what the model would be offered.

use super::args::Args;
use super::project::{Audience, Project};
use super::{UsageError, print_line};

pub fn run(args: &Args, json: bool) -> Result<u8, UsageError> {
    let project = Project::find(args, Audience::Person)?;
    let definitions = project.registry(args).definitions(&project.describe(args));
    if json {
        let text = serde_json::to_string_pretty(&definitions)
            .map_err(|error| UsageError::new(format!("can't write the tools as JSON: {error}")))?;
        print_line(&text);
        return Ok(0);
    }
    for tool in definitions {
        let summary = tool.description.lines().next().unwrap_or_default();
        if !print_line(&format!("{:<8} {summary}", tool.name)) {
            break;
        }
    }
    Ok(0)
}
