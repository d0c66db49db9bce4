//! The MCP servers of the session: what the person wants of them, and what changes about them.

use tokio::sync::mpsc;

use super::driver::Agent;
use crate::mcp::manager::{Fetched, Manager, ServerChanges};
use crate::protocol::{Block, CustomCommand, McpCommand, McpServerStatus, Note, SessionEvent};

/// The servers, and what is new about them.
pub(super) struct Servers {
    manager: Manager,
    changes: ServerChanges,
    /// What the person should know about their commands.
    remarks: mpsc::UnboundedSender<String>,
    remarked: mpsc::UnboundedReceiver<String>,
    /// The message that waits for servers.
    fetching: Option<Fetching>,
}

/// A message that waits for what servers have to add.
struct Fetching {
    /// As the person wrote it.
    message: Vec<Block>,
    /// What people see of it, if it is a command.
    line: Option<String>,
    fetched: Fetched,
}

/// What has happened.
pub(super) enum ServerUpdate {
    Changed,
    Remark(String),
    Fetched(Result<Vec<Block>, String>),
}

impl Servers {
    pub fn new(manager: Manager) -> Self {
        let changes = manager.changes();
        let (remarks, remarked) = mpsc::unbounded_channel();
        Self {
            manager,
            changes,
            remarks,
            remarked,
            fetching: None,
        }
    }

    /// Waits for the next news. Cancel-safe; waits forever without servers.
    pub async fn next(servers: Option<&mut Self>) -> ServerUpdate {
        let Some(servers) = servers else {
            return std::future::pending().await;
        };
        let fetched = async {
            match &mut servers.fetching {
                Some(fetching) => (&mut fetching.fetched).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = servers.changes.next() => ServerUpdate::Changed,
            Some(remark) = servers.remarked.recv() => ServerUpdate::Remark(remark),
            fetched = fetched => ServerUpdate::Fetched(fetched),
        }
    }
}

/// All servers as a person sees them.
pub(super) fn statuses(manager: Option<&Manager>) -> Vec<McpServerStatus> {
    manager.map(Manager::statuses).unwrap_or_default()
}

impl Agent {
    /// Connects the servers, in the background.
    pub(super) fn begin_servers(&mut self) {
        if let Some(servers) = &self.servers {
            servers.manager.begin();
            self.report_servers();
        }
    }

    pub(super) fn on_server_update(&mut self, update: ServerUpdate) {
        match update {
            ServerUpdate::Changed => self.report_servers(),
            ServerUpdate::Remark(remark) => self.journal().emit_notice(remark),
            ServerUpdate::Fetched(fetched) => self.send_fetched(fetched),
        }
    }

    /// Begins the turn of a command that is a server's prompt. Returns whether it is one.
    pub(super) fn fetch_prompt(&mut self, command: &CustomCommand, arguments: &str) -> bool {
        let folder = self.shared().env.results_dir.clone();
        let Some(servers) = &mut self.servers else {
            return false;
        };
        let Some(fetched) = servers.manager.prompt(&command.name, arguments, folder) else {
            return false;
        };
        let line = format!("/{} {arguments}", command.name);
        servers.fetching = Some(Fetching {
            message: Vec::new(),
            line: Some(line.trim_end().to_owned()),
            fetched,
        });
        self.conversation.open(None);
        true
    }

    /// Begins the turn of a message that mentions resources. Returns whether it does.
    pub(super) fn fetch_mentions(&mut self, message: &[Block]) -> bool {
        let folder = self.shared().env.results_dir.clone();
        let Some(servers) = &mut self.servers else {
            return false;
        };
        let texts = message.iter().filter_map(|block| match block {
            Block::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let Some(fetched) = servers.manager.mentions(&text, folder) else {
            return false;
        };
        servers.fetching = Some(Fetching {
            message: message.to_vec(),
            line: None,
            fetched,
        });
        self.conversation.open(None);
        true
    }

    /// The turn has ended: nothing is waited for any more.
    pub(super) fn forget_fetched(&mut self) {
        if let Some(servers) = &mut self.servers {
            servers.fetching = None;
        }
    }

    fn send_fetched(&mut self, fetched: Result<Vec<Block>, String>) {
        let servers = self.servers.as_mut();
        let Some(fetching) = servers.and_then(|servers| servers.fetching.take()) else {
            return;
        };
        let Fetching {
            mut message, line, ..
        } = fetching;
        match fetched {
            Ok(blocks) => {
                for (at, block) in blocks.into_iter().enumerate() {
                    // People see the command that they typed, once.
                    message.push(match (&line, block) {
                        (Some(line), block) if at == 0 => block.shown_as(line),
                        (Some(_), block) => block.shown_as(""),
                        (None, Block::Text { text, .. }) => Block::note(Note::Program, text),
                        (None, block) => block,
                    });
                }
                self.conversation.prompt(message);
            }
            Err(problem) => {
                let what = line.map(|line| format!("{line}: ")).unwrap_or_default();
                self.conversation.refuse(format!("{what}{problem}"));
            }
        }
    }

    fn report_servers(&mut self) {
        let manager = self.servers.as_ref().map(|servers| &servers.manager);
        let event = SessionEvent::Mcp(statuses(manager));
        let prompts = manager.map(Manager::commands).unwrap_or_default();
        let remarks = manager.map(Manager::take_remarks).unwrap_or_default();
        self.journal().emit_session(event);
        for remark in remarks {
            self.journal().emit_notice(remark);
        }
        if self.shared().set_guests(prompts) {
            let commands = self.shared().commands();
            self.journal()
                .emit_session(SessionEvent::Commands(commands));
        }
    }

    pub(super) fn handle_mcp(&mut self, command: McpCommand) {
        if let Some(servers) = &self.servers {
            let (manager, remarks) = (servers.manager.clone(), servers.remarks.clone());
            // It saves what the person decided.
            tokio::spawn(async move {
                if let Some(remark) = manager.handle(command).await {
                    let _ = remarks.send(remark);
                }
            });
        }
        self.report_servers();
    }
}
