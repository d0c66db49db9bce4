//! The agent behind the screen: started next to it, replaced when another conversation is opened, ended with it.
//!
//! Commands sent before it is ready are kept and sent later.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agent::AgentHandle;
use crate::app::{Opening, OpeningSession};

use crate::protocol::{
    AgentEvent, Block, Command, Envelope, LeaveReason, Mode, QueuedSelection, SessionCommand,
    SessionEvent, SessionId,
};
use crate::settings::trust::Review;

/// How many events are received at once; the channel holds as many.
const EVENTS: usize = 1024;
/// How long it has to stop running calls. Including background commands, the program still ends within two seconds.
const LAST_GRACE: Duration = Duration::from_millis(1200);

/// Sets up an agent.
pub type Launcher = Box<
    dyn Fn(LaunchRequest) -> BoxFuture<'static, Result<AgentHandle, LaunchFailure>> + Send + Sync,
>;

/// What to set up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaunchRequest {
    /// Another conversation than the one on the command line.
    pub opening: Option<Opening>,
    /// The person's decision about the project.
    pub trust: Option<(Review, bool)>,
}

/// Why there is no agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchFailure {
    Refused(Refusal),
    /// The person must decide first whether to trust the project.
    Untrusted(Box<Review>),
}

/// Why there is no agent, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub problem: String,
    pub hint: Option<String>,
}

pub struct Agent {
    launcher: Launcher,
    link: Link,
    /// Commands that wait for it.
    commands: Vec<Command>,
    /// The last open conversation, and the model that the person chose for it.
    last: Option<(SessionId, Option<String>)>,
    /// The conversation that is being opened; `None` once it is, and for the one on the command line.
    opening: Option<OpeningSession>,
    /// The model that the person has chosen since the start.
    model: Option<String>,
    /// The mode that the last opening asked for.
    mode: Option<Mode>,
    /// The last order.
    ordered: Option<Opening>,
}

enum Link {
    Starting(JoinHandle<Result<AgentHandle, LaunchFailure>>),
    /// For the person's answer about the project.
    Waiting(Box<Review>),
    Running(AgentHandle),
    Ended,
}

pub enum AgentUpdate {
    Events(Vec<Envelope>),
    Refused(Refusal),
    /// The person has to be asked; until then nothing of the project applies.
    Untrusted(Box<Review>),
    /// It has ended, which should never happen.
    Lost,
}

impl Agent {
    pub fn new(launcher: Launcher) -> Self {
        Self {
            launcher,
            link: Link::Ended,
            commands: Vec::new(),
            last: None,
            opening: None,
            model: None,
            mode: None,
            ordered: None,
        }
    }

    /// Starts the one on the command line.
    pub fn start(&mut self) {
        let launch = (self.launcher)(LaunchRequest::default());
        self.link = Link::Starting(tokio::spawn(launch));
    }

    /// The person has decided about the project, so starting continues.
    pub fn trust(&mut self, yes: bool) {
        let Link::Waiting(review) = &self.link else {
            return;
        };
        let launch = (self.launcher)(LaunchRequest {
            opening: self.ordered.clone(),
            trust: Some((Review::clone(review), yes)),
        });
        self.link = Link::Starting(tokio::spawn(launch));
    }

    pub fn send(&mut self, command: Command) {
        match &self.link {
            // If it has ended, the end of its events reports that.
            Link::Running(agent) => drop(agent.commands.send(command)),
            Link::Starting(_) | Link::Waiting(_) => self.commands.push(command),
            Link::Ended => {}
        }
    }

    /// Its next event. Cancel-safe.
    pub async fn next(&mut self) -> AgentUpdate {
        loop {
            match &mut self.link {
                Link::Starting(starting) => {
                    let agent = match starting.await {
                        Ok(Ok(agent)) => agent,
                        Ok(Err(LaunchFailure::Refused(refusal))) => {
                            self.link = Link::Ended;
                            return AgentUpdate::Refused(refusal);
                        }
                        Ok(Err(LaunchFailure::Untrusted(review))) => {
                            self.link = Link::Waiting(review.clone());
                            return AgentUpdate::Untrusted(review);
                        }
                        Err(_) => {
                            self.link = Link::Ended;
                            return AgentUpdate::Lost;
                        }
                    };
                    for command in self.commands.drain(..) {
                        let _ = agent.commands.send(command);
                    }
                    self.link = Link::Running(agent);
                }
                Link::Running(agent) => {
                    let mut events = Vec::new();
                    if agent.events.recv_many(&mut events, EVENTS).await == 0 {
                        self.link = Link::Ended;
                        return AgentUpdate::Lost;
                    }
                    self.note_session(&events);
                    return AgentUpdate::Events(events);
                }
                Link::Waiting(_) | Link::Ended => return std::future::pending().await,
            }
        }
    }

    fn note_session(&mut self, events: &[Envelope]) {
        for envelope in events {
            if let AgentEvent::Session(SessionEvent::Opened(opened)) = &envelope.event {
                self.last = Some((opened.session.clone(), self.model.clone()));
                self.opening = None;
            }
        }
    }

    /// Ends the conversation, then opens another. Events of the old one are dropped.
    pub fn open(&mut self, mut opening: Opening) {
        // Waiting commands were meant for the old one, except the mode, which the person set.
        self.commands
            .retain(|command| matches!(command, Command::Session(SessionCommand::SetMode(_))));
        if opening.session == OpeningSession::Same {
            let last = self.last.as_ref();
            let last = last.map(|(session, _)| OpeningSession::Id(session.0.clone()));
            opening.session = self
                .opening
                .clone()
                .or(last)
                .unwrap_or(OpeningSession::Same);
        }
        opening.model = opening.model.or_else(|| self.model.clone());
        self.launch(opening);
    }

    fn launch(&mut self, opening: Opening) {
        let old = std::mem::replace(&mut self.link, Link::Ended);
        self.opening = Some(opening.session.clone());
        self.model.clone_from(&opening.model);
        self.mode = opening.mode;
        let why = match opening.session {
            OpeningSession::New => LeaveReason::ForNew,
            OpeningSession::Id(_) | OpeningSession::Fork(_) | OpeningSession::Same => {
                LeaveReason::ForOther
            }
        };
        self.ordered = Some(opening.clone());
        let launch = (self.launcher)(LaunchRequest {
            opening: Some(opening),
            trust: None,
        });
        self.link = Link::Starting(tokio::spawn(async move {
            old.end(why, &mut Vec::new()).await;
            launch.await
        }));
    }

    /// Reopens the previous conversation, because another one could not be opened. Waiting commands go to it.
    pub fn go_back(&mut self) -> bool {
        // Only once: if this fails too, it is lost.
        let Some((session, model)) = self.last.take() else {
            return false;
        };
        self.launch(Opening {
            session: OpeningSession::Id(session.0),
            model,
            mode: self.mode,
        });
        true
    }

    /// Stops running calls, and returns the events of that time.
    pub async fn end(&mut self) -> Vec<Envelope> {
        let link = std::mem::replace(&mut self.link, Link::Ended);
        let mut events = Vec::new();
        link.end(LeaveReason::Quit, &mut events).await;
        // Messages that never reached it go back to the person, too.
        let waiting = self.commands.drain(..);
        let unsent: Vec<Vec<Block>> = waiting
            .filter_map(|command| match command {
                Command::Session(SessionCommand::Submit(message)) => Some(message),
                _ => None,
            })
            .collect();
        events.push(AgentEvent::Session(SessionEvent::TakenBack(unsent)).into());
        events
    }
}

impl Link {
    async fn end(self, why: LeaveReason, events: &mut Vec<Envelope>) {
        let agent = match self {
            Link::Running(agent) => agent,
            // It may be ending another one, whose calls must not outlive the program either.
            Link::Starting(starting) => match timeout(LAST_GRACE, starting).await {
                Ok(Ok(Ok(agent))) => agent,
                Ok(Ok(Err(_)) | Err(_)) | Err(_) => return,
            },
            Link::Waiting(_) | Link::Ended => return,
        };
        // The writer of the log must have it before the end.
        let _ = agent
            .commands
            .send(Command::Session(SessionCommand::TakeBack(
                QueuedSelection::All,
            )));
        let _ = agent
            .commands
            .send(Command::Session(SessionCommand::Leave(why)));
        agent.stop();
        events.extend(agent.end(LAST_GRACE).await);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::FutureExt;
    use tokio::sync::mpsc;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::protocol::{SessionOpened, Spending};
    use crate::settings::trust::State;

    type Openings = Arc<Mutex<Vec<Option<Opening>>>>;
    type Commands = Arc<Mutex<Vec<Command>>>;

    fn refusal() -> Refusal {
        Refusal {
            problem: "no".to_owned(),
            hint: None,
        }
    }

    /// An agent that refuses the model `bad` and the session `bad`, and records what it was asked to open.
    fn agent() -> (Agent, Openings, Commands) {
        let (openings, received) = (Openings::default(), Commands::default());
        let (seen, kept) = (openings.clone(), received.clone());
        let launcher: Launcher = Box::new(move |order| {
            let LaunchRequest { opening, trust } = order;
            let must_ask = trust.is_none()
                && opening
                    .as_ref()
                    .is_some_and(|opening| opening.session == id("hostile"));
            seen.lock().expect("unpoisoned").push(opening.clone());
            let (commands, mut inbox) = mpsc::unbounded_channel();
            let (outbox, events) = mpsc::channel(EVENTS);
            let refused = opening.as_ref().is_some_and(|opening| {
                opening.model.as_deref() == Some("bad") || opening.session == id("bad")
            });
            let session = match opening.map(|opening| opening.session) {
                Some(OpeningSession::Id(id) | OpeningSession::Fork(id)) => id,
                Some(OpeningSession::New) => "new".to_owned(),
                Some(OpeningSession::Same) | None => "first".to_owned(),
            };
            let kept = kept.clone();
            async move {
                if refused {
                    return Err(LaunchFailure::Refused(refusal()));
                }
                if must_ask {
                    return Err(LaunchFailure::Untrusted(Box::new(Review::wanting(
                        State::Unknown,
                        &[],
                    ))));
                }
                let opened = AgentEvent::Session(SessionEvent::Opened(SessionOpened {
                    session: SessionId(session),
                    provider: "script".to_owned(),
                    model: "m".to_owned(),
                    mode: Mode::Default,
                    tools: Vec::new(),
                    servers: Vec::new(),
                    branch: None,
                    context_window: None,
                    spending: Spending::default(),
                    extensions: Arc::default(),
                    past: Vec::new(),
                }));
                let _ = outbox.send(opened.into()).await;
                tokio::spawn(async move {
                    while let Some(command) = inbox.recv().await {
                        kept.lock().expect("unpoisoned").push(command);
                    }
                    drop(outbox);
                });
                Ok(AgentHandle {
                    commands,
                    events,
                    session: CancellationToken::new(),
                    groups: crate::tools::bash::groups::Groups::default(),
                })
            }
            .boxed()
        });
        let mut agent = Agent::new(launcher);
        agent.start();
        (agent, openings, received)
    }

    fn id(session: &str) -> OpeningSession {
        OpeningSession::Id(session.to_owned())
    }

    fn opening(session: OpeningSession, model: Option<&str>) -> Opening {
        Opening {
            session,
            model: model.map(str::to_owned),
            mode: Some(Mode::Plan),
        }
    }

    async fn opened(agent: &mut Agent) -> String {
        match agent.next().await {
            AgentUpdate::Events(events) => match &events[0].event {
                AgentEvent::Session(SessionEvent::Opened(opened)) => opened.session.0.clone(),
                other => panic!("{other:?}"),
            },
            AgentUpdate::Refused(refusal) => refusal.problem,
            AgentUpdate::Untrusted(_) => "untrusted".to_owned(),
            AgentUpdate::Lost => "lost".to_owned(),
        }
    }

    #[tokio::test]
    async fn after_a_refusal_the_last_conversation_is_restored_with_its_model_and_waiting_commands()
    {
        let (mut agent, openings, received) = agent();
        assert_eq!(opened(&mut agent).await, "first");
        agent.open(opening(OpeningSession::Same, Some("good")));
        assert_eq!(opened(&mut agent).await, "first");
        agent.open(opening(OpeningSession::Same, Some("bad")));
        let message = Command::Session(SessionCommand::Submit(vec![Block::text("hello")]));
        agent.send(message.clone());
        assert_eq!(opened(&mut agent).await, "no");
        assert!(agent.go_back());
        assert_eq!(opened(&mut agent).await, "first");
        let last = openings.lock().expect("unpoisoned").last().cloned();
        assert_eq!(last, Some(Some(opening(id("first"), Some("good")))));
        agent.end().await;
        assert!(received.lock().expect("unpoisoned").contains(&message));
    }

    #[tokio::test]
    async fn switching_the_model_after_a_new_conversation_applies_to_the_new_one() {
        let (mut agent, ..) = agent();
        assert_eq!(opened(&mut agent).await, "first");
        agent.open(opening(OpeningSession::New, None));
        agent.open(opening(OpeningSession::Same, Some("good")));
        assert_eq!(opened(&mut agent).await, "new");
    }

    #[tokio::test]
    async fn a_conversation_that_cannot_be_restored_is_lost() {
        let (mut agent, ..) = agent();
        agent.open(opening(id("bad"), None));
        assert_eq!(opened(&mut agent).await, "no");
        assert!(!agent.go_back());
    }

    #[tokio::test]
    async fn a_message_sent_during_the_trust_question_waits_for_the_answer() {
        let (mut agent, openings, received) = agent();
        assert_eq!(opened(&mut agent).await, "first");
        agent.open(opening(id("hostile"), None));
        assert_eq!(opened(&mut agent).await, "untrusted");
        let message = Command::Session(SessionCommand::Submit(vec![Block::text("hello")]));
        agent.send(message.clone());
        agent.trust(false);
        assert_eq!(opened(&mut agent).await, "hostile");
        let asked_for = openings.lock().expect("unpoisoned").len();
        assert_eq!(asked_for, 3, "the same conversation, once more");
        agent.trust(true);
        agent.end().await;
        assert!(received.lock().expect("unpoisoned").contains(&message));
    }
}
