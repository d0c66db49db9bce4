//! The agent behind the screen: started beside it, replaced when another conversation is opened, ended with it.
//!
//! What the person asks for before it is there is kept and handed on.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::agent::AgentHandle;
use crate::app::{Opening, OpeningSession};
use crate::protocol::{AgentEvent, Command, SessionId};

/// How many events are taken at once; as many as may wait.
const EVENTS: usize = 1024;
/// How long it has to stop what runs. With what it leaves in the background the program still ends within two seconds.
const LAST_GRACE: Duration = Duration::from_millis(1200);

/// Sets an agent up: the one that the command line describes, or another conversation.
pub type Launcher =
    Box<dyn Fn(Option<Opening>) -> BoxFuture<'static, Result<AgentHandle, Refusal>> + Send + Sync>;

/// Why there is no agent, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub problem: String,
    pub hint: Option<String>,
}

pub struct Agent {
    launcher: Launcher,
    link: Link,
    /// What waits for it.
    commands: Vec<Command>,
    /// The conversation that was open last.
    session: Option<SessionId>,
    /// The model that the person has chosen since the start.
    model: Option<String>,
}

enum Link {
    Starting(JoinHandle<Result<AgentHandle, Refusal>>),
    Running(AgentHandle),
    Ended,
}

pub enum Heard {
    Events(Vec<AgentEvent>),
    Refused(Refusal),
    /// It has ended, which it never does by itself.
    Lost,
}

impl Agent {
    pub fn new(launcher: Launcher) -> Self {
        Self {
            launcher,
            link: Link::Ended,
            commands: Vec::new(),
            session: None,
            model: None,
        }
    }

    /// Starts the one that the command line describes.
    pub fn start(&mut self) {
        let launch = (self.launcher)(None);
        self.link = Link::Starting(tokio::spawn(launch));
    }

    pub fn send(&mut self, command: Command) {
        match &self.link {
            // One that has ended is told of by the end of its events.
            Link::Running(agent) => drop(agent.commands.send(command)),
            Link::Starting(_) => self.commands.push(command),
            Link::Ended => {}
        }
    }

    /// What it tells next. Cancel-safe.
    pub async fn next(&mut self) -> Heard {
        loop {
            match &mut self.link {
                Link::Starting(starting) => {
                    let agent = match starting.await {
                        Ok(Ok(agent)) => agent,
                        Ok(Err(refusal)) => {
                            self.link = Link::Ended;
                            return Heard::Refused(refusal);
                        }
                        Err(_) => {
                            self.link = Link::Ended;
                            return Heard::Lost;
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
                        return Heard::Lost;
                    }
                    self.note_session(&events);
                    return Heard::Events(events);
                }
                Link::Ended => return std::future::pending().await,
            }
        }
    }

    fn note_session(&mut self, events: &[AgentEvent]) {
        for event in events {
            if let AgentEvent::Opened(opened) = event {
                self.session = Some(opened.session.clone());
            }
        }
    }

    /// Ends the conversation, and then opens another. What the old one still says is not heard.
    pub fn open(&mut self, mut opening: Opening) {
        let old = std::mem::replace(&mut self.link, Link::Ended);
        self.commands.clear();
        if opening.session == OpeningSession::Same {
            opening.session = match &self.session {
                Some(session) => OpeningSession::Id(session.0.clone()),
                None => OpeningSession::New,
            };
        }
        opening.model = opening.model.or_else(|| self.model.clone());
        self.model.clone_from(&opening.model);
        let launch = (self.launcher)(Some(opening));
        self.link = Link::Starting(tokio::spawn(async move {
            old.end(&mut Vec::new()).await;
            launch.await
        }));
    }

    /// The conversation that was open before another one could not be opened.
    pub fn go_back(&mut self) -> bool {
        let there = self.session.is_some();
        if there {
            self.model = None;
            self.open(Opening {
                session: OpeningSession::Same,
                model: None,
            });
            // Once is enough: one that cannot be gone back to is lost.
            self.session = None;
        }
        there
    }

    /// Stops what runs, and returns what was said meanwhile.
    pub async fn end(&mut self) -> Vec<AgentEvent> {
        let link = std::mem::replace(&mut self.link, Link::Ended);
        let mut said = Vec::new();
        link.end(&mut said).await;
        said
    }
}

impl Link {
    async fn end(self, said: &mut Vec<AgentEvent>) {
        let agent = match self {
            Link::Running(agent) => agent,
            // It may be ending another one, whose calls must not outlive the program either.
            Link::Starting(starting) => match timeout(LAST_GRACE, starting).await {
                Ok(Ok(Ok(agent))) => agent,
                Ok(Ok(Err(_)) | Err(_)) | Err(_) => return,
            },
            Link::Ended => return,
        };
        let AgentHandle {
            commands,
            mut events,
            session,
            groups,
        } = agent;
        let _ = commands.send(Command::Interrupt);
        let _ = commands.send(Command::Interrupt);
        drop(commands);
        let gone = async { while events.recv_many(said, EVENTS).await > 0 {} };
        let _ = timeout(LAST_GRACE, gone).await;
        session.cancel();
        groups.end().await;
    }
}
