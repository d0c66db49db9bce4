//! `agent-tui permissions`: asks the permission engine without running anything.

use std::io::{self, BufRead};

use super::args::{Args, PermissionsCommand};
use super::launch::this_thread;
use super::project::{Audience, Project};
use super::{UsageError, print_line};
use crate::git::Git;
use crate::permissions::{CallDetails, Remembered, World, check, decide};
use crate::tools::registry::Registry;

pub fn run(args: &Args, command: &PermissionsCommand) -> Result<u8, UsageError> {
    match command {
        PermissionsCommand::Check { batch: true, .. } => {
            let tools = Registry::built_in();
            each_line(|line| check::check_case(line, |tool, input| tools.touches(tool, input)))
        }
        PermissionsCommand::Classify { batch: true, .. } => {
            each_line(|line| check::classify_case(line))
        }
        PermissionsCommand::Classify { shell, .. } => {
            let case = serde_json::json!({ "command": shell });
            print_line(&check::classify_case(case.to_string()));
            Ok(0)
        }
        PermissionsCommand::Check {
            mode,
            cwd,
            tool,
            input,
            ..
        } => {
            let project = Project::find(args, Audience::Person)?;
            let input =
                serde_json::from_str(input.as_deref().unwrap_or("{}")).map_err(|error| {
                    UsageError::new(format!("the input is not valid JSON: {error}"))
                })?;
            let tool = tool.as_deref().unwrap_or_default();
            let offered = project.tools(args).snapshot();
            let known = offered
                .find_or_deferred(tool)
                .map(|tool| (tool.spec().level, tool.facts(&input).read_only));
            let (level, read_only) = known.unwrap_or((crate::protocol::Level::Confirm, false));
            let call = CallDetails {
                tool,
                input: &input,
                touches: Registry::built_in().touches(tool, &input),
                level,
                read_only,
            };
            let mode = mode
                .or(args.permission_mode)
                .map(|mode| mode.0)
                .or(project.settings.mode)
                .unwrap_or_default();
            let places = project.places(args);
            let links = Remembered::default();
            let world = World {
                cwd: cwd.clone().unwrap_or(places.workspace),
                home: places.home,
                shell_dir: None,
                additional_directories: places.additional,
                config_dir: places.config_dir,
                data_dir: places.data_dir,
                protected_files: places.protected_files,
                links: &links,
            };
            let git = Git::new(project.programs(args));
            let deciding = git.deciding(&links, || {
                decide(&call, &project.settings.rules, mode, &world)
            });
            let verdict = this_thread()?.block_on(deciding);
            print_line(&check::answer(&verdict).to_string());
            Ok(0)
        }
    }
}

fn each_line(answer: impl Fn(&[u8]) -> String) -> Result<u8, UsageError> {
    // Every line gets an answer, even if it is blank or not text, so that callers can match them by position.
    for line in io::stdin().lock().split(b'\n') {
        let line = line.map_err(|error| UsageError::new(format!("can't read stdin: {error}")))?;
        if !print_line(&answer(&line)) {
            break;
        }
    }
    Ok(0)
}
