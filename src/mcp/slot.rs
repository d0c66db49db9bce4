//! One configured server: its task, its connection, and what it offers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::adapter::McpTool;
use super::config::{Server, TIMEOUT};
use super::connection::{Connection, Limit};
use super::describe::line;
use super::lifecycle::Phase;
use super::listing::{ListedPrompt, ListedResource, ListedTool};
use super::log::Log;
use super::pins::{Changed, Pins};
use super::server_context::ServerContext;
use super::task::Task;
use super::wire::tap::Changes;
use crate::protocol::{McpServerStatus, McpState, McpToolStatus, ToolDefinition};
use crate::tools::offered::Tools;
use crate::tools::registry::Origin;

/// How long a call may take without any progress, unless the configuration sets a limit.
const CALL_LIMIT: Duration = Duration::from_secs(600);
/// How long a result waits for the lists that it changed.
const SETTLE: Duration = Duration::from_secs(5);
/// How many of its last lines are shown.
const TAIL: usize = 20;

/// What all servers of a session share.
pub struct Common {
    pub context: ServerContext,
    /// The tools of the session that is open.
    pub tools: Mutex<Option<Tools>>,
    /// Counts the changes that a person may want to see.
    pub changes: watch::Sender<u64>,
    /// What the person should be told in a line.
    pub remarks: Mutex<Vec<String>>,
    pub pins: Pins,
}

pub struct Slot {
    pub(super) server: Server,
    /// Its name in the names of its tools.
    pub(super) part: String,
    pub(super) log: Log,
    calls: AtomicU64,
    trusted: AtomicBool,
    pub(super) state: Mutex<State>,
    pub(super) link: watch::Sender<Link>,
    /// The changes that the last listing has seen.
    pub(super) listed: watch::Sender<Changes>,
    orders: mpsc::UnboundedSender<Order>,
    pub(super) common: Arc<Common>,
}

/// What the person or a call wants of it.
#[derive(Debug)]
pub enum Order {
    Connect,
    Restart,
    SwitchOn,
    SwitchOff,
    /// A call needs it.
    Want,
}

#[derive(Clone)]
pub enum Link {
    /// It is being connected, or will be.
    Pending,
    Up(Arc<Connection>),
    Down,
}

pub struct State {
    pub phase: Phase,
    pub begun: bool,
    /// Why it is not ready.
    pub why: Option<String>,
    pub ready_after: Option<Duration>,
    pub offer: Listing,
    /// The wire names of its tools, by its own names. Names are never given to another tool.
    pub names: BTreeMap<String, String>,
    /// Its own names of the tools that the person switched off.
    pub off: BTreeSet<String>,
    /// The tools that are not what the person knows. They are not offered.
    pub changed: Changed,
}

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    pub tools: Vec<ListedTool>,
    pub prompts: Vec<ListedPrompt>,
    pub resources: Vec<ListedResource>,
}

impl Slot {
    /// A slot and its task, which the caller has to run.
    pub fn new(
        server: Server,
        part: String,
        off: BTreeSet<String>,
        common: Arc<Common>,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let (orders, inbox) = mpsc::unbounded_channel();
        let slot = Arc::new(Self {
            part,
            log: Log::default(),
            calls: AtomicU64::new(0),
            trusted: AtomicBool::new(server.trusted),
            state: Mutex::new(State {
                phase: Phase::Off,
                begun: false,
                why: None,
                ready_after: None,
                offer: Listing::default(),
                names: BTreeMap::new(),
                off,
                changed: Changed::new(),
            }),
            link: watch::Sender::new(Link::Pending),
            listed: watch::Sender::default(),
            orders,
            common,
            server,
        });
        let task = Task::new(slot.clone()).run(inbox);
        (slot, task)
    }

    pub fn name(&self) -> &str {
        &self.server.name
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Its name in the names of its tools.
    pub fn part(&self) -> &str {
        &self.part
    }

    pub fn is_trusted(&self) -> bool {
        self.trusted.load(Ordering::Relaxed)
    }

    pub fn trust(&self) {
        self.trusted.store(true, Ordering::Relaxed);
    }

    pub fn count_call(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Connects it for the first time.
    pub fn begin(&self) {
        let mut state = self.lock();
        if !std::mem::replace(&mut state.begun, true) {
            // It counts as connecting before its task has run.
            state.phase = Phase::Connecting;
            drop(state);
            self.order(Order::Connect);
        }
    }

    pub fn order(&self, order: Order) {
        // Without its task the session has ended.
        let _ = self.orders.send(order);
    }

    pub fn phase(&self) -> Phase {
        self.lock().phase
    }

    pub fn listing(&self) -> Listing {
        self.lock().offer.clone()
    }

    /// How long a call may take without any progress.
    pub fn call_limit(&self) -> Duration {
        if self.server.timeout == TIMEOUT {
            CALL_LIMIT
        } else {
            self.server.timeout
        }
    }

    /// The connection, once there is one. A server that is gone is started again.
    pub async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut link = self.link.subscribe();
        if !matches!(&*link.borrow_and_update(), Link::Up(up) if !up.is_closed()) {
            self.order(Order::Want);
        }
        let mut asked = false;
        let waiting = async {
            loop {
                match link.borrow_and_update().clone() {
                    Link::Up(up) if !up.is_closed() => return Some(up),
                    Link::Down if asked => return None,
                    Link::Up(_) | Link::Pending | Link::Down => {}
                }
                asked = true;
                if link.changed().await.is_err() {
                    return None;
                }
            }
        };
        let found = timeout(self.server.timeout, waiting).await.ok().flatten();
        found.ok_or_else(|| {
            let why = self.lock().why.clone();
            why.unwrap_or_else(|| "it is not connected".to_owned())
        })
    }

    /// Waits until the lists are as new as the server's last word about them.
    pub async fn settle(&self) {
        let Link::Up(up) = self.link.borrow().clone() else {
            return;
        };
        let wanted = up.changes().borrow().tools;
        let mut listed = self.listed.subscribe();
        let _ = timeout(SETTLE, listed.wait_for(|seen| seen.tools >= wanted)).await;
    }

    /// Switches a tool on or off. Switching it on accepts what has changed about it.
    pub fn switch_tool(self: &Arc<Self>, tool: &str, on: bool) {
        let mut state = self.lock();
        let mut listed = state.offer.tools.iter();
        // People know it without what they can't see.
        let found = listed
            .find(|it| it.name == tool || line(&it.name) == tool)
            .cloned();
        let name = found
            .as_ref()
            .map_or(tool, |found| found.name.as_str())
            .to_owned();
        if on {
            state.off.remove(&name);
        } else {
            state.off.insert(name.clone());
        }
        let was_changed = on && state.changed.remove(&name).is_some();
        drop(state);
        if was_changed {
            self.accept(found.into_iter().collect());
        }
        self.offer();
        self.notify();
    }

    /// The person has seen what has changed about its tools.
    pub fn accept_all(self: &Arc<Self>) {
        let tools = {
            let mut state = self.lock();
            if std::mem::take(&mut state.changed).is_empty() {
                return;
            }
            state.why = None;
            state.offer.tools.clone()
        };
        self.accept(tools);
        self.offer();
        self.notify();
    }

    fn accept(&self, tools: Vec<ListedTool>) {
        let (pins, mark) = (self.common.pins.clone(), self.server.mark.clone());
        let log = self.log.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = pins.accept(&mark, &tools) {
                log.push(&format!("what you accepted could not be saved: {error}"));
            }
        });
    }

    /// Offers its tools to the open session, or takes them away.
    pub fn offer(self: &Arc<Self>) {
        let tools = self
            .common
            .tools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some(tools) = tools else {
            return;
        };
        let origin = Origin::Guest(self.server.name.as_str().into());
        let adapters: Vec<McpTool> = {
            let state = self.lock();
            let is_on = state.phase != Phase::Off;
            let offered = state.offer.tools.iter().filter(|tool| {
                is_on && state.is_offered(&tool.name) && state.names.contains_key(&tool.name)
            });
            offered
                .map(|tool| McpTool::new(self.clone(), tool.clone(), &state.names[&tool.name]))
                .collect()
        };
        let taken = tools.change(|all| {
            all.remove_all_of(&origin);
            let mut taken = Vec::new();
            for tool in adapters {
                taken.extend(all.insert(Arc::new(tool), origin.clone()).err());
            }
            taken
        });
        for taken in taken {
            self.log.push(&taken.to_string());
        }
    }

    pub fn status(&self) -> McpServerStatus {
        let state = self.lock();
        McpServerStatus {
            name: self.server.name.clone(),
            source: self.server.file.clone(),
            state: if self.is_trusted() {
                shown(state.phase)
            } else {
                McpState::Untrusted
            },
            detail: state.why.clone(),
            transport: self.server.shown.clone(),
            tools: state.tools(),
            ready_after: state.ready_after,
            calls: self.calls.load(Ordering::Relaxed),
            stderr_tail: self.log.tail(TAIL),
        }
    }

    /// Tells the person something in a line.
    pub(super) fn remark(&self, text: String) {
        let remarks = self.common.remarks.lock();
        remarks.unwrap_or_else(PoisonError::into_inner).push(text);
    }

    pub(super) fn notify(&self) {
        self.common.changes.send_modify(|changes| *changes += 1);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_offered(&self, tool: &str) -> bool {
        !self.off.contains(tool) && !self.changed.contains_key(tool)
    }

    fn tools(&self) -> Vec<McpToolStatus> {
        let shown = self.offer.tools.iter().map(|tool| McpToolStatus {
            wire_name: self.names.get(&tool.name).cloned().unwrap_or_default(),
            tokens: ToolDefinition {
                name: String::new(),
                description: tool.description.clone(),
                input_schema: tool.input_schema.clone(),
                strict: false,
                input_examples: Vec::new(),
                server: None,
            }
            .tokens(),
            description: match self.changed.get(&tool.name) {
                Some(difference) => {
                    format!("Changed since you last used it; switch it on to accept\n{difference}")
                }
                None => tool.description.clone(),
            },
            enabled: self.is_offered(&tool.name),
            name: line(&tool.name),
        });
        shown.collect()
    }
}

/// What people see of a phase.
pub fn shown(phase: Phase) -> McpState {
    match phase {
        Phase::Off => McpState::Disabled,
        Phase::Connecting | Phase::Listing => McpState::Connecting,
        Phase::Ready | Phase::Relisting => McpState::Ready,
        Phase::Overdue | Phase::Waiting | Phase::Failed => McpState::Failed,
        Phase::NeedsLogin => McpState::NeedsLogin,
    }
}

impl Slot {
    /// Sends a request that is no tool call.
    pub async fn request(
        &self,
        method: &'static str,
        params: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, String> {
        let connection = self.connection().await?;
        let limit = Limit {
            idle: self.server.timeout,
            cancel,
        };
        let result = connection.request(method, params, &limit, None).await;
        result.map_err(|error| error.to_string())
    }

    /// The messages of a prompt.
    pub async fn prompt(
        &self,
        prompt: &str,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, String> {
        let params = json!({ "name": prompt, "arguments": arguments });
        self.request("prompts/get", params, cancel).await
    }
}
