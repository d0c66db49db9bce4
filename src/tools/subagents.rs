//! Subagents, as tools see them: how a call starts one, which tools a subagent can have, and the state of those in
//! the background.
//!
//! The room that runs conversations receives the [`StartRequest`]s of a [`Starter`]; nothing here depends on it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::ToolError;
use crate::protocol::{AgentKind, CallRef, TurnSummary};

/// Tools that no subagent has: it cannot start others, and only the main conversation talks to the person.
const NEVER: [&str; 4] = ["Task", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];
/// Tools of subagents in the background.
const IN_BACKGROUND: [&str; 10] = [
    "Read",
    "Edit",
    "TodoWrite",
    "Grep",
    "Glob",
    "Bash",
    "Skill",
    "SlashCommand",
    "WebFetch",
    "WebSearch",
];
/// Tools that certainly change nothing.
const READ_ONLY: [&str; 6] = ["Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch"];
/// How many finished subagents are remembered.
const MOST_OVER: usize = 100;

/// Lets a call start a conversation. Conversations that must not start any have an empty one.
#[derive(Clone, Default)]
pub struct Starter(Option<mpsc::UnboundedSender<StartRequest>>);

/// The receiving end of a [`Starter`].
pub type StartRequests = mpsc::UnboundedReceiver<StartRequest>;

/// A request to start a conversation.
#[derive(Debug)]
pub struct StartRequest {
    pub call: CallRef,
    /// Its working directory.
    pub cwd: PathBuf,
    pub wanted: Wanted,
    /// Cancelled to stop it, as if the person had interrupted it.
    pub stop: CancellationToken,
    /// The running conversation, or why it was not started, worded for the model.
    pub started: oneshot::Sender<Result<Started, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// A few words for people.
    pub description: String,
    pub prompt: String,
    /// The name of its type.
    pub kind: String,
    pub model: Option<String>,
    /// The call does not wait for it.
    pub background: bool,
}

/// A running conversation.
#[derive(Debug)]
pub struct Started {
    /// Its id for the tools that read its result or end it.
    pub id: String,
    pub end: watch::Receiver<Option<Report>>,
    /// Cancels the conversation when it is dropped.
    pub end_with: Option<tokio_util::sync::DropGuard>,
}

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub summary: TurnSummary,
    pub calls: u32,
}

/// A connected pair.
pub fn port() -> (Starter, StartRequests) {
    let (sender, requests) = mpsc::unbounded_channel();
    (Starter(Some(sender)), requests)
}

impl Starter {
    /// Whether conversations can be started at all.
    pub fn can_start(&self) -> bool {
        self.0.is_some()
    }

    /// Starts a conversation. It runs until it ends or `stop` is cancelled.
    pub async fn start(
        &self,
        call: CallRef,
        cwd: PathBuf,
        wanted: Wanted,
        stop: CancellationToken,
    ) -> Result<Started, ToolError> {
        let nobody = || {
            ToolError::new(
                "No subagents here: only a conversation can start one. Ask for it with `agent-tui -p`",
            )
            .with_sentence("only a conversation can start a subagent")
        };
        let requests = self.0.as_ref().ok_or_else(nobody)?;
        let (started, answer) = oneshot::channel();
        let request = StartRequest {
            call,
            cwd,
            wanted,
            stop,
            started,
        };
        // The session is ending.
        requests.send(request).map_err(|_| ToolError::cancelled())?;
        let answer = answer.await.map_err(|_| ToolError::cancelled())?;
        answer.map_err(ToolError::new)
    }
}

/// Whether a subagent can have a tool.
pub fn can_have(tool: &str, kind: &AgentKind, background: bool) -> bool {
    !NEVER.contains(&tool) && kind.has(tool) && (!background || IN_BACKGROUND.contains(&tool))
}

/// The tools of a read-only subagent.
pub fn read_only() -> Vec<String> {
    READ_ONLY.iter().map(|&name| name.to_owned()).collect()
}

/// The subagents in the background. Clones share the same list.
#[derive(Clone, Default)]
pub struct Tasks(Arc<Mutex<Vec<Known>>>);

struct Known {
    id: String,
    call: CallRef,
    description: String,
    stop: CancellationToken,
    end: watch::Receiver<Option<Report>>,
}

/// The state of one.
#[derive(Debug, Clone)]
pub struct Task {
    pub id: String,
    pub description: String,
    end: watch::Receiver<Option<Report>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no subagent in the background has the ID `{wanted}`; {there}")]
pub struct NoSuchTask {
    wanted: String,
    there: String,
}

impl Tasks {
    /// Adds a subagent that continues in the background, so that it can be found by its id.
    pub fn add(
        &self,
        id: &str,
        call: CallRef,
        description: &str,
        stop: CancellationToken,
        end: watch::Receiver<Option<Report>>,
    ) {
        let mut known = self.lock();
        if known.iter().any(|known| known.id == id) {
            return;
        }
        let is_over = |known: &Known| known.end.borrow().is_some();
        if known.iter().filter(|known| is_over(known)).count() >= MOST_OVER
            && let Some(oldest) = known.iter().position(is_over)
        {
            known.remove(oldest);
        }
        known.push(Known {
            id: id.to_owned(),
            call,
            description: description.to_owned(),
            stop,
            end,
        });
    }

    pub fn find(&self, id: &str) -> Result<Task, NoSuchTask> {
        let known = self.lock();
        let found = known.iter().find(|known| known.id == id);
        found.map(Known::task).ok_or_else(|| {
            let ids: Vec<&str> = known.iter().map(|known| known.id.as_str()).collect();
            let there = if ids.is_empty() {
                "none was started".to_owned()
            } else {
                format!("known IDs: {}", ids.join(", "))
            };
            NoSuchTask {
                wanted: id.to_owned(),
                there,
            }
        })
    }

    /// Whether this call started it, and it is known here.
    pub fn is_of(&self, call: CallRef) -> bool {
        self.lock().iter().any(|known| known.call == call)
    }

    /// Stops the one that a call has left running. Returns whether there was one.
    pub fn stop(&self, call: CallRef) -> bool {
        let known = self.lock();
        let runs = |known: &&Known| known.call == call && known.end.borrow().is_none();
        let found = known.iter().find(runs);
        if let Some(found) = found {
            found.stop.cancel();
        }
        found.is_some()
    }

    /// Stops one and waits for its end. Returns how it ended if it had ended before.
    pub async fn kill(&self, id: &str) -> Result<Option<Report>, NoSuchTask> {
        let mut task = self.find(id)?;
        if let Some(report) = task.report() {
            return Ok(Some(report));
        }
        let known = self
            .lock()
            .iter()
            .find(|known| known.id == id)
            .map(|known| known.stop.clone());
        if let Some(stop) = known {
            stop.cancel();
        }
        let _ = task.wait().await;
        Ok(None)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn task(&self) -> Task {
        Task {
            id: self.id.clone(),
            description: self.description.clone(),
            end: self.end.clone(),
        }
    }
}

impl Task {
    /// How it ended, if it has ended.
    pub fn report(&self) -> Option<Report> {
        self.end.borrow().clone()
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> Option<Report> {
        wait(&mut self.end).await
    }
}

/// Waits for the end of a conversation; `None` if the task that ran it is gone.
pub async fn wait(end: &mut watch::Receiver<Option<Report>>) -> Option<Report> {
    let report = end.wait_for(Option::is_some).await.ok()?;
    report.clone()
}

impl Report {
    /// What it cost, in a few words.
    pub fn cost_text(&self) -> String {
        let TurnSummary {
            responses,
            usage,
            took,
            ..
        } = &self.summary;
        let count = |number: u32, one: &str, more: &str| match number {
            1 => format!("1 {one}"),
            number => format!("{number} {more}"),
        };
        format!(
            "{}, {}, {} tokens in, {} out, {}",
            count(*responses, "answer", "answers"),
            count(self.calls, "call", "calls"),
            usage.input().saturating_add(usage.cached()),
            usage.output(),
            seconds(*took),
        )
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{IN_BACKGROUND, NEVER, READ_ONLY, can_have, read_only};
    use crate::protocol::AgentKind;

    fn general() -> AgentKind {
        AgentKind {
            name: "general".into(),
            description: String::new(),
            prompt: String::new(),
            tools: None,
            disallowed: Vec::new(),
            model: None,
            mode: None,
            max_turns: 50,
            source: String::new(),
        }
    }

    #[test]
    fn no_subagent_can_start_another_or_ask_the_person() {
        let listing = AgentKind {
            tools: Some(vec!["Task".into(), "AskUserQuestion".into()]),
            ..general()
        };
        for tool in NEVER {
            assert!(!can_have(tool, &general(), false), "{tool}");
            assert!(!can_have(tool, &listing, false), "{tool}");
        }
        assert!(can_have("Write", &general(), false));
    }

    #[test]
    fn a_background_subagent_has_fewer_tools() {
        for tool in IN_BACKGROUND {
            assert!(can_have(tool, &general(), true), "{tool}");
        }
        for tool in ["Write", "KillShell", "mcp__a__b"] {
            assert!(!can_have(tool, &general(), true), "{tool}");
        }
    }

    #[test]
    fn a_read_only_subagent_has_no_tool_that_changes_anything() {
        let explore = AgentKind {
            tools: Some(read_only()),
            ..general()
        };
        for tool in READ_ONLY {
            assert!(can_have(tool, &explore, false), "{tool}");
        }
        for tool in ["Write", "Edit", "Bash", "KillShell"] {
            assert!(!can_have(tool, &explore, false), "{tool}");
        }
    }
}
