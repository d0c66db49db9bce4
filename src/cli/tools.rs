//! `agent-tui tools`: what the model would be offered.

use super::args::Args;
use super::project::{Audience, Project};
use super::{UsageError, print_line};

pub fn run(args: &Args, json: bool) -> Result<u8, UsageError> {
    let project = Project::find(args, Audience::Person)?;
    let about = project.describe(args);
    let (all, _) = Project::registry(&about.extensions);
    let offered = all.offered(&project.offer(args, about.clone()));
    if json {
        let text = serde_json::to_string_pretty(&offered.definitions(&about))
            .map_err(|error| UsageError::new(format!("can't write the tools as JSON: {error}")))?;
        print_line(&text);
        return Ok(0);
    }
    let width = all.names().map(str::len).max().unwrap_or(0);
    for tool in all.definitions(&about) {
        let name = &tool.name;
        let state = if offered.find(name).is_some() {
            "offered"
        } else if project.settings.rules.denies_whole(name) {
            "denied"
        } else {
            "off"
        };
        let tokens = tool.tokens();
        let summary = tool.description.lines().next().unwrap_or_default();
        let line = format!("{name:<width$}  built in  {state:<7}  {tokens:>5} tokens  {summary}");
        if !print_line(&line) {
            break;
        }
    }
    Ok(0)
}
