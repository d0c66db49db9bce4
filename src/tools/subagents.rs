//! Conversations beside the one that a call belongs to: how a call starts one, which tools one can have, and what is known of
//! those that nobody waits for.
//!
//! Whoever runs conversations takes the [`Order`]s from the other end of the [`Starter`]; here nothing is known of that.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::ToolError;
use crate::protocol::{AgentKind, CallRef, TurnSummary};

/// What no subagent has: it starts no others, and the person talks to the conversation that started it.
const NEVER: [&str; 4] = ["Task", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode"];
/// What those have that nobody waits for.
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
/// What surely changes nothing.
const READ_ONLY: [&str; 6] = ["Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch"];
/// Of those that are over, only so many are remembered.
const MOST_OVER: usize = 100;

/// Where a call starts a conversation. A conversation that must not start any has one that leads nowhere.
#[derive(Clone, Default)]
pub struct Starter(Option<mpsc::UnboundedSender<Order>>);

/// The other end of a [`Starter`].
pub type Orders = mpsc::UnboundedReceiver<Order>;

/// A conversation that a call wants.
#[derive(Debug)]
pub struct Order {
    pub call: CallRef,
    /// Where it begins.
    pub cwd: PathBuf,
    pub wanted: Wanted,
    /// Cancelled when it is to stop, as if the person had interrupted it.
    pub stop: CancellationToken,
    /// How it was started, or why not, in words for the model.
    pub started: oneshot::Sender<Result<Started, String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// In a few words, for people.
    pub description: String,
    pub prompt: String,
    /// The name of a type.
    pub kind: String,
    pub model: Option<String>,
    /// Nobody waits for it.
    pub background: bool,
}

/// A conversation under way.
#[derive(Debug)]
pub struct Started {
    /// What the tools know it by that read its result or end it.
    pub id: String,
    pub end: watch::Receiver<Option<Report>>,
    /// Cancels the conversation, whatever it does, when it is dropped.
    pub end_with: Option<tokio_util::sync::DropGuard>,
}

/// How a conversation ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    pub summary: TurnSummary,
    pub calls: u32,
}

/// The two ends of a way to start conversations.
pub fn port() -> (Starter, Orders) {
    let (sender, orders) = mpsc::unbounded_channel();
    (Starter(Some(sender)), orders)
}

impl Starter {
    /// Whether conversations can be started at all.
    pub fn leads_on(&self) -> bool {
        self.0.is_some()
    }

    /// Starts a conversation. It goes on until it is over or `stop` is cancelled.
    pub async fn start(
        &self,
        call: CallRef,
        cwd: PathBuf,
        wanted: Wanted,
        stop: CancellationToken,
    ) -> Result<Started, ToolError> {
        let nobody = || ToolError::new("A subagent cannot start another one");
        let orders = self.0.as_ref().ok_or_else(nobody)?;
        let (started, answer) = oneshot::channel();
        let order = Order {
            call,
            cwd,
            wanted,
            stop,
            started,
        };
        // The session is ending.
        orders.send(order).map_err(|_| ToolError::cancelled())?;
        let answer = answer.await.map_err(|_| ToolError::cancelled())?;
        answer.map_err(ToolError::new)
    }
}

/// Whether a subagent can have a tool.
pub fn can_have(tool: &str, kind: &AgentKind, background: bool) -> bool {
    !NEVER.contains(&tool) && kind.has(tool) && (!background || IN_BACKGROUND.contains(&tool))
}

/// The tools of a subagent that only looks.
pub fn read_only() -> Vec<String> {
    READ_ONLY.iter().map(|&name| name.to_owned()).collect()
}

/// The subagents that nobody waits for. A clone stands for the same.
#[derive(Clone, Default)]
pub struct Tasks(Arc<Mutex<Vec<Known>>>);

struct Known {
    id: String,
    call: CallRef,
    description: String,
    stop: CancellationToken,
    end: watch::Receiver<Option<Report>>,
}

/// What is known of one.
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
    /// Nobody waits for it any more: it can be asked about.
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
                "there is none".to_owned()
            } else {
                format!("there are {}", ids.join(", "))
            };
            NoSuchTask {
                wanted: id.to_owned(),
                there,
            }
        })
    }

    /// Whether it was started by this call, and is known here.
    pub fn is_of(&self, call: CallRef) -> bool {
        self.lock().iter().any(|known| known.call == call)
    }

    /// Stops the one that a call has left running; says whether there is one.
    pub fn stop(&self, call: CallRef) -> bool {
        let known = self.lock();
        let runs = |known: &&Known| known.call == call && known.end.borrow().is_none();
        let found = known.iter().find(runs);
        if let Some(found) = found {
            found.stop.cancel();
        }
        found.is_some()
    }

    /// Stops one, and waits until it has; how it had ended before, if it had.
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
    /// How it ended, if it has.
    pub fn report(&self) -> Option<Report> {
        self.end.borrow().clone()
    }

    /// Waits until it is over.
    pub async fn wait(&mut self) -> Option<Report> {
        wait(&mut self.end).await
    }
}

/// Waits until a conversation is over; `None` if whoever ran it is gone.
pub async fn wait(end: &mut watch::Receiver<Option<Report>>) -> Option<Report> {
    let report = end.wait_for(Option::is_some).await.ok()?;
    report.clone()
}

impl Report {
    /// What it took, in a few words.
    pub fn cost_in_words(&self) -> String {
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
    fn no_subagent_starts_another_or_talks_to_the_person() {
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
    fn one_in_the_background_has_fewer_tools() {
        for tool in IN_BACKGROUND {
            assert!(can_have(tool, &general(), true), "{tool}");
        }
        for tool in ["Write", "KillShell", "mcp__a__b"] {
            assert!(!can_have(tool, &general(), true), "{tool}");
        }
    }

    #[test]
    fn one_that_only_looks_has_no_tool_that_changes_anything() {
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
