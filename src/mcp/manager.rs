//! All servers of a run: started in the background, offered to the session that is open, ended together.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

#[cfg(feature = "oauth")]
use super::config::Transport;
use super::config::{Loaded, Unusable};
use super::connection::ServerContext;
use super::lifecycle::Phase;
#[cfg(feature = "oauth")]
use super::login::{Login, Wish};
use super::names;
use super::pins::Pins;
pub use super::prompts::Fetched;
use super::slot::{Common, Order, Slot};
use super::store::Switches;
use crate::protocol::{McpCommand, McpServerStatus, McpState};
use crate::settings::trust::Memory;
use crate::tools::offered::Tools;

/// How long servers have to end.
const LAST_GRACE: Duration = Duration::from_secs(3);

/// The servers of a run. Clones share them.
#[derive(Clone)]
pub struct Manager(Arc<Inner>);

struct Inner {
    common: Arc<Common>,
    slots: Vec<Arc<Slot>>,
    unusable: Vec<Unusable>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
    switches: Switches,
    memory: Memory,
}

/// Reports changes of the servers.
pub struct ServerChanges(watch::Receiver<u64>);

impl Manager {
    /// Nothing is started yet. `memory` knows which servers of the project the person trusts.
    pub fn new(loaded: Loaded, context: ServerContext, switches: Switches, memory: Memory) -> Self {
        let off = switches.read();
        let common = Arc::new(Common {
            context,
            tools: Mutex::default(),
            changes: watch::Sender::default(),
            remarks: Mutex::default(),
            pins: Pins::new(switches.folder().join("tools")),
        });
        let parts = names::servers(loaded.servers.iter().map(|server| server.name.as_str()));
        let (mut slots, mut tasks) = (Vec::new(), Vec::new());
        for server in loaded.servers {
            let tools_off = off.tools.get(&server.name).cloned().unwrap_or_default();
            let part = parts[&server.name].clone();
            let (slot, task) = Slot::new(server, part, tools_off, common.clone());
            tasks.push(tokio::spawn(task));
            slots.push(slot);
        }
        Self(Arc::new(Inner {
            common,
            slots,
            unusable: loaded.unusable,
            tasks: Mutex::new(tasks),
            switches,
            memory,
        }))
    }

    /// Connects all servers that may be started and are not yet. Returns at once.
    pub fn begin(&self) {
        let off = self.0.switches.read();
        let slots = self.0.slots.iter();
        for slot in slots.filter(|slot| slot.is_trusted() && !off.servers.contains(slot.name())) {
            slot.begin();
        }
    }

    /// Offers the servers' tools to this session from now on, and to no other.
    pub fn attach(&self, tools: &Tools) {
        let mut open = self
            .0
            .common
            .tools
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *open = Some(tools.clone());
        drop(open);
        for slot in &self.0.slots {
            slot.offer();
        }
    }

    pub fn changes(&self) -> ServerChanges {
        ServerChanges(self.0.common.changes.subscribe())
    }

    pub fn statuses(&self) -> Vec<McpServerStatus> {
        let unusable = self.0.unusable.iter().map(|server| McpServerStatus {
            name: server.name.clone(),
            source: server.file.clone(),
            state: server.state,
            detail: Some(server.why.clone()),
            transport: server.shown.clone(),
            tools: Vec::new(),
            ready_after: None,
            calls: 0,
            stderr_tail: Vec::new(),
        });
        let mut all: Vec<McpServerStatus> = self.0.slots.iter().map(|slot| slot.status()).collect();
        all.extend(unusable);
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// What the person should be told, once.
    pub fn take_remarks(&self) -> Vec<String> {
        let mut remarks = self
            .0
            .common
            .remarks
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *remarks)
    }

    /// Waits until every server is ready or has failed, but not longer than this.
    pub async fn wait(&self, most: Duration) {
        let mut changes = self.0.common.changes.subscribe();
        let waiting = async {
            loop {
                changes.borrow_and_update();
                if self
                    .statuses()
                    .iter()
                    .all(|it| it.state != McpState::Connecting)
                {
                    return;
                }
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        let _ = timeout(most, waiting).await;
    }

    /// Does what the person wants, and remembers it. Returns what they should know about that.
    pub async fn handle(&self, command: McpCommand) -> Option<String> {
        match &command {
            McpCommand::List => {}
            McpCommand::Login(server) => return self.login(server).await,
            McpCommand::Restart(server) => self.order(server, Order::Restart),
            McpCommand::SetServer { server, on: true } => self.order(server, Order::SwitchOn),
            McpCommand::SetServer { server, on: false } => self.order(server, Order::SwitchOff),
            McpCommand::SetTool { server, tool, on } => {
                if let Some(slot) = self.find(server) {
                    slot.switch_tool(tool, *on);
                }
            }
            McpCommand::Trust(server) => {
                if let Some(slot) = self.find(server) {
                    slot.trust();
                    slot.begin();
                    slot.accept_all();
                }
            }
        }
        let (switches, memory) = (self.0.switches.clone(), self.0.memory.clone());
        let mark = match &command {
            McpCommand::Trust(server) => self.find(server).map(|slot| slot.server().mark.clone()),
            _ => None,
        };
        let saving = move || match &command {
            McpCommand::SetServer { server, on } => switches.set_server(server, *on),
            McpCommand::SetTool { server, tool, on } => switches.set_tool(server, tool, *on),
            McpCommand::Trust(_) => mark.map_or(Ok(()), |mark| memory.trust_server(&mark)),
            McpCommand::List | McpCommand::Restart(_) | McpCommand::Login(_) => Ok(()),
        };
        let saved = tokio::task::spawn_blocking(saving).await.ok()?;
        let problem = saved.err()?;
        Some(format!(
            "this holds for this run only; saving it failed: {problem}"
        ))
    }

    /// Begins a login in the person's browser. The server is restarted when it is done.
    #[cfg(feature = "oauth")]
    async fn login(&self, server: &str) -> Option<String> {
        let slot = self.find(server).filter(|slot| slot.is_trusted())?.clone();
        let Transport::Http { url, .. } = &slot.server().transport else {
            return Some(format!("{server} is a command and needs no login"));
        };
        let logins = &self.0.common.context.logins;
        let login = match Login::begin(url, logins, Wish::default()).await {
            Ok(login) => login,
            Err(problem) => return Some(format!("login to {server} failed: {problem}")),
        };
        let address = login.address().to_owned();
        let is_open = login.open_browser(logins);
        let waiting = async move {
            match login.finish().await {
                Ok(()) => slot.order(Order::Restart),
                Err(problem) => slot.log.push(&format!("login failed: {problem}")),
            }
        };
        tokio::spawn(waiting);
        (!is_open).then(|| format!("log in to {server} in your browser: {address}"))
    }

    #[cfg(not(feature = "oauth"))]
    #[expect(clippy::unused_async, reason = "the other one waits")]
    async fn login(&self, server: &str) -> Option<String> {
        Some(format!("this build can't log in to {server}"))
    }

    fn order(&self, server: &str, order: Order) {
        if let Some(slot) = self.find(server).filter(|slot| slot.is_trusted()) {
            slot.order(order);
        }
    }

    pub fn find(&self, server: &str) -> Option<&Arc<Slot>> {
        self.0.slots.iter().find(|slot| slot.name() == server)
    }

    pub fn slots(&self) -> &[Arc<Slot>] {
        &self.0.slots
    }

    /// Whether any server is in use.
    pub fn is_used(&self) -> bool {
        self.0.slots.iter().any(|slot| slot.phase() != Phase::Off)
    }

    /// Ends all servers at the same time.
    pub async fn close(&self) {
        let tasks: Vec<JoinHandle<()>> = {
            let mut tasks = self.0.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            tasks.drain(..).collect()
        };
        for slot in &self.0.slots {
            slot.order(Order::SwitchOff);
        }
        let mut changes = self.0.common.changes.subscribe();
        let gone = async { while self.is_used() && changes.changed().await.is_ok() {} };
        let _ = timeout(LAST_GRACE, gone).await;
        for task in &tasks {
            task.abort();
        }
        join_all(tasks).await;
    }
}

impl ServerChanges {
    /// Waits for the next change. Cancel-safe.
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
