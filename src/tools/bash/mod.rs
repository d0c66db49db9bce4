//! Bash: one command in a shell of its own.
//!
//! [`shell`] starts and stops processes, [`capture`] keeps their output, [`groups`] remembers the process groups that
//! outlive their call, and ends them with the program.

pub mod capture;
pub mod groups;
pub mod jobs;
mod reports;
mod sandboxed;
#[cfg(test)]
mod sandboxed_tests;
pub mod shell;
mod status;

#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::capture::Capture;
use self::sandboxed::SandboxedCommand;
use self::shell::{Ended, Shell, Start};
use super::files::image::Format;
use super::{
    ContextChange, Demand, MAX_RESULT_CHARS, Tool, ToolCx, ToolError, ToolErrorKind, ToolOutput,
    ToolSpec, Validated,
};
use crate::permissions::{Grant, bash as reader};
use crate::process::child;
use crate::process::sandbox::BlockedAccess;
use crate::protocol::{ForPerson, Image, Level, PreviewFields, ResultBlock, Touches};

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);

/// Tools for background commands are offered only together with it.
pub const NAME: &str = "Bash";

pub struct Bash;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The command to run.
    pub command: String,
    /// What the command does, in five to ten words, for the person who watches.
    #[serde(default)]
    pub description: Option<String>,
    /// Milliseconds after which the command is stopped: 120000 unless given, at most 600000.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// Start the command and return at once; its output goes to a file.
    #[serde(default)]
    pub run_in_background: Option<bool>,
}

impl Tool for Bash {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            preview: PreviewFields::Command {
                command: "command".into(),
            },
            can_background: true,
            demand: Demand::Essential,
            ..ToolSpec::new(
                NAME,
                include_str!("../../../assets/tools/bash.md"),
                Level::Dangerous,
                "command",
            )
        }
    }

    fn is_concurrency_safe(&self, input: &Input) -> bool {
        !input.run_in_background.unwrap_or(false) && reader::is_concurrency_safe(&input.command)
    }

    fn is_read_only(&self, input: &Input) -> bool {
        reader::classify(&input.command).read_only
    }

    fn touches(&self, input: &Value) -> Touches {
        Touches::command(input, "command")
    }

    fn sample(&self) -> Value {
        json!({ "command": "echo hello", "description": "Say hello" })
    }

    async fn validate(&self, input: &Input, _cx: &ToolCx) -> Result<Validated, ToolError> {
        if input.command.trim().is_empty() {
            return Err(ToolError::new("`command` is empty").with_sentence("the command is empty"));
        }
        if input.command.contains('\0') {
            return Err(
                ToolError::new("`command` contains a NUL byte, which no shell can take")
                    .with_sentence("the command contains a NUL byte"),
            );
        }
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let background = input.run_in_background.unwrap_or(false);
        let follows_cd =
            !background && may_move(&input.command) && !self.is_concurrency_safe(&input);
        let mut shell = start(&input.command, &grant, follows_cd, &cx).map_err(|error| {
            ToolError::new(format!("The command could not be started: {error}"))
                .with_sentence(format!("could not be started: {error}"))
        })?;
        if background {
            let capture = Capture::to_file(&cx.env.results_dir, cx.call);
            return Ok(leave_running(shell, capture, &input, &cx));
        }
        let mut capture = Capture::new(&cx.env.results_dir, cx.call);
        let ended = shell.run(&mut capture, timeout(&input), &cx).await;
        if matches!(ended, Ended::Backgrounded) {
            capture.follow();
            return Ok(leave_running(shell, capture, &input, &cx));
        }
        let left = shell.transfer_to(&cx.env.groups, &input.command);
        let picture = match capture.image() {
            Some(bytes) => image(&bytes),
            None => capture.data_url().as_deref().and_then(image_in_url),
        };
        let text = capture.finish(MAX_RESULT_CHARS);
        let changes: Vec<ContextChange> = shell
            .directory_afterwards()
            .into_iter()
            .map(ContextChange::Cwd)
            .collect();
        if let (Ended::Process(child::Ended::Exited(0)), Some(picture)) = (&ended, picture) {
            let left = left.map(ResultBlock::text);
            return Ok(ToolOutput {
                for_model: [ResultBlock::Image(picture)]
                    .into_iter()
                    .chain(left)
                    .collect(),
                changes,
                ..ToolOutput::default()
            });
        }
        let blocked_access = shell.blocked_access(&text, &cx.cwd);
        let moved = changes
            .iter()
            .any(|change| *change != ContextChange::Cwd(cx.cwd.clone()));
        let answered = status::one_is_an_answer(&input.command, moved);
        let concluded = conclude(ended, answered, text, left);
        let mut concluded = match blocked_access {
            Some(access) => blocked(concluded, &access),
            None => concluded,
        };
        match &mut concluded {
            Ok(output) => output.changes = changes,
            Err(error) => error.changes = changes,
        }
        concluded
    }
}

fn start(command: &str, grant: &Grant, follow_cd: bool, cx: &ToolCx) -> io::Result<Shell> {
    let sandboxed = match sandboxed::sandbox_mode(grant) {
        Some(mode) => Some(SandboxedCommand::new(mode, command, follow_cd, grant, cx)?),
        None => None,
    };
    Shell::start(Start {
        follow_cd,
        sandboxed,
        partly_unasked: grant.is_partly_unasked(),
        ..Start::new(command, &cx.cwd, &cx.env)
    })
}

/// A command that failed because the sandbox blocked it may ask to run without the sandbox. One that succeeded anyway
/// only says what was blocked.
fn blocked(
    concluded: Result<ToolOutput, ToolError>,
    access: &BlockedAccess,
) -> Result<ToolOutput, ToolError> {
    let text = format!("blocked: {access}");
    match concluded {
        Ok(mut output) => {
            let text = format!("({text}, which a command that runs without asking can't do)");
            output.for_model.push(ResultBlock::text(text));
            Ok(output)
        }
        Err(mut error) if error.kind == ToolErrorKind::CommandFailed => {
            let shift = text.len() + 1;
            if let Some(printed) = &mut error.for_person.output {
                *printed = printed.start + shift..printed.end + shift;
            }
            Err(ToolError {
                kind: ToolErrorKind::Blocked,
                message: format!("{text}\n{}", error.message),
                ..error
            })
        }
        Err(error) => Err(error),
    }
}

/// The outcome of a command that has printed this, and left that running.
pub fn conclude(
    ended: Ended,
    one_is_an_answer: bool,
    mut output: String,
    left: Option<String>,
) -> Result<ToolOutput, ToolError> {
    let printed = output.len();
    let mut for_person = ForPerson {
        output: Some(0..printed),
        ..ForPerson::default()
    };
    if let Some(left) = left {
        add_line(&mut output, &left);
        for_person.sentence = Some("left processes running".to_owned());
    }
    let failed = |head: String, for_person: ForPerson, output: &str| {
        let (message, from) = if output.is_empty() {
            (head, 0)
        } else {
            let from = head.len() + 1;
            (format!("{head}\n{output}"), from)
        };
        Err(ToolError {
            kind: ToolErrorKind::CommandFailed,
            for_person: ForPerson {
                output: Some(from..from + printed),
                ..for_person
            },
            ..ToolError::new(message)
        })
    };
    match ended {
        Ended::Process(child::Ended::Exited(0)) => {
            if output.is_empty() {
                output.push_str("(no output)");
            }
            for_person.exit = Some(0);
            Ok(ToolOutput {
                for_person,
                ..ToolOutput::text(output)
            })
        }
        Ended::Process(child::Ended::Exited(1)) if one_is_an_answer => {
            add_line(&mut output, "(exit code 1)");
            for_person.exit = Some(1);
            Ok(ToolOutput {
                for_person,
                ..ToolOutput::text(output)
            })
        }
        Ended::Cancelled => Err(ToolError::cancelled_after(output)),
        Ended::Backgrounded => Ok(ToolOutput::text(output)),
        ended @ (Ended::Process(_) | Ended::TimedOut(_) | Ended::Flooded | Ended::Lost(_)) => {
            let (head, side) = failure_texts(&ended);
            failed(head, side, &output)
        }
    }
}

/// The words before the output of a failed command: for the model, and for the person.
fn failure_texts(ended: &Ended) -> (String, ForPerson) {
    let because = |sentence: String| ForPerson {
        sentence: Some(sentence),
        ..ForPerson::default()
    };
    match ended {
        Ended::Process(child::Ended::Exited(code)) => {
            let exit = ForPerson {
                exit: Some(*code),
                ..ForPerson::default()
            };
            (format!("Exit code {code}{}", meaning(*code)), exit)
        }
        Ended::Process(ended @ child::Ended::Signalled(_)) => (
            format!("The command was {ended}"),
            because(ended.to_string()),
        ),
        Ended::TimedOut(after) => (
            format!(
                "The command was stopped: it was still running after {} ms",
                after.as_millis()
            ),
            because(format!("stopped at its time limit, {after:?}")),
        ),
        Ended::Flooded => {
            let most = capture::FILE_CAP >> 20;
            (
                format!("The command was stopped: it printed more than {most} MiB"),
                because(format!("stopped: more than {most} MiB of output")),
            )
        }
        Ended::Lost(error) => (
            format!("The command's end could not be awaited: {error}"),
            because(format!("its end is not known: {error}")),
        ),
        Ended::Cancelled | Ended::Backgrounded => (String::new(), ForPerson::default()),
    }
}

/// Lets the command continue in the background, and says where to find it, with what it printed so far.
fn leave_running(shell: Shell, mut capture: Capture, input: &Input, cx: &ToolCx) -> ToolOutput {
    let place = match capture.problem() {
        None => format!(
            "Output is being written to: {}. Look at it with BashOutput or Read.",
            capture.path().display()
        ),
        Some(problem) => format!("Its output cannot be kept: {problem}."),
    };
    let (printed, known) = (capture.so_far(MAX_RESULT_CHARS / 2), capture.total());
    let groups = &cx.env.groups;
    let id = groups.adopt(cx.call, shell, capture, &input.command);
    groups.jobs.skip(&id, known);
    let mut text = format!("Command running in background with ID: {id}. {place}");
    if !input.run_in_background.unwrap_or(false) {
        text.insert_str(0, "The user moved the command to the background. ");
    }
    if !printed.is_empty() {
        text.push_str(" Its output so far:\n");
        text.push_str(&printed);
    }
    ToolOutput {
        backgrounded: true,
        for_person: ForPerson {
            output: Some(text.len() - printed.len()..text.len()),
            ..ForPerson::default()
        },
        ..ToolOutput::text(text)
    }
}

fn timeout(input: &Input) -> Duration {
    match input.timeout {
        Some(millis) if millis >= 1.0 => Duration::try_from_secs_f64(millis / 1000.0)
            .unwrap_or(LONGEST_TIMEOUT)
            .min(LONGEST_TIMEOUT),
        _ => DEFAULT_TIMEOUT,
    }
}

/// Whether a command could change the shell's directory. If not, the shell does not have to write it down.
fn may_move(command: &str) -> bool {
    ["cd", "pushd", "popd", "source", "eval", ". "]
        .iter()
        .any(|word| command.contains(word))
}

/// What the shell's own exit codes mean, so that the model does not have to guess.
fn meaning(code: i32) -> &'static str {
    match code {
        126 => " (found, but not executable)",
        127 => " (command not found)",
        _ => "",
    }
}

/// Output that is an image becomes an image block, if providers accept it: an image that they refuse would make every
/// later request fail.
fn image(output: &[u8]) -> Option<Image> {
    let format = Format::of(output)?;
    format.check(output).ok()?;
    Some(Image::base64(
        format.media_type(),
        BASE64_STANDARD.encode(output),
    ))
}

/// The same for output that is one data URL.
fn image_in_url(output: &str) -> Option<Image> {
    let (media_type, data) = output
        .trim()
        .strip_prefix("data:")?
        .split_once(";base64,")?;
    let bytes = BASE64_STANDARD.decode(data).ok()?;
    let format = Format::of(&bytes)?;
    format.check(&bytes).ok()?;
    (format.media_type() == media_type).then(|| Image::base64(media_type, data))
}

fn add_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}
