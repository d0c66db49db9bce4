//! The task of a server: does what its [`Lifecycle`] says.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::config::Transport;
use super::connection::{Connection, Failure, Limit, RequestError};
use super::describe;
use super::lifecycle::{Fact, Lifecycle, Next, Phase};
use super::listing;
use super::names;
use super::pins::Changed;
use super::slot::{Link, Listing, Order, Slot, shown};
use super::wire::tap::Changes;
use crate::text::shortened;
use crate::tools::offered::{Tools, Unsettled};

/// A server that is late may still become ready within this many times its limit.
const MAX_WAIT: u32 = 4;

type Connected = Result<Arc<Connection>, Failure>;
type Listed = Result<Found, RequestError>;

/// What a listing found.
struct Found {
    offer: Listing,
    problems: Vec<String>,
    changed: Changed,
}

/// What the task waits for.
enum Doing {
    Nothing,
    Connecting(BoxFuture<'static, Connected>),
    Listing(BoxFuture<'static, Listed>, Changes),
    Waiting(Instant),
}

/// What ended the wait.
enum TaskEvent {
    Connected(Connected),
    Listed(Listed, Changes),
    TimeToTry,
}

impl Doing {
    /// Cancel-safe: nothing that has not come is lost.
    async fn next(&mut self) -> TaskEvent {
        let event = match self {
            Doing::Nothing => std::future::pending().await,
            Doing::Connecting(connecting) => TaskEvent::Connected(connecting.await),
            Doing::Listing(listing, changes) => TaskEvent::Listed(listing.await, *changes),
            Doing::Waiting(until) => {
                sleep_until(*until).await;
                TaskEvent::TimeToTry
            }
        };
        *self = Doing::Nothing;
        event
    }
}

/// Does what the server's [`Lifecycle`] says.
pub struct Task {
    slot: Arc<Slot>,
    lifecycle: Lifecycle,
    doing: Doing,
    connection: Option<Arc<Connection>>,
    changes: Option<watch::Receiver<Changes>>,
    begun: Instant,
    /// When a connection that is being made is late.
    late_at: Option<Instant>,
    /// Something that people see has changed.
    is_changed: bool,
    /// Held while the lists are read again.
    unsettled: Option<Unsettled>,
}

impl Task {
    pub fn new(slot: Arc<Slot>) -> Self {
        let is_address = matches!(slot.server.transport, Transport::Http { .. });
        Self {
            lifecycle: Lifecycle::new(is_address),
            slot,
            doing: Doing::Nothing,
            connection: None,
            changes: None,
            begun: Instant::now(),
            late_at: None,
            is_changed: false,
            unsettled: None,
        }
    }

    pub async fn run(mut self, mut orders: mpsc::UnboundedReceiver<Order>) {
        loop {
            let fact = tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => fact(&order),
                    None => break,
                },
                event = self.doing.next() => self.take_in(event),
                () = lost(self.connection.as_ref()) => {
                    let why = "the connection ended".to_owned();
                    self.slot.lock().why = Some(self.slot.log.last().unwrap_or(why));
                    Fact::Lost(self.begun.elapsed())
                }
                () = changed(self.changes.as_mut()) => Fact::Changed,
                () = until(self.late_at) => {
                    self.late_at = None;
                    let seconds = self.slot.server.timeout.as_secs();
                    let why = format!("no answer to `initialize` within {seconds} s; still waiting");
                    self.slot.lock().why = Some(why);
                    Fact::Late
                }
            };
            let nexts = self.lifecycle.handle(fact);
            for next in nexts {
                self.carry_out(next).await;
            }
            self.publish();
        }
        self.close().await;
    }

    async fn carry_out(&mut self, next: Next) {
        match next {
            Next::Connect => {
                self.begun = Instant::now();
                let limit = self.slot.server.timeout;
                self.late_at = Some(self.begun + limit);
                let slot = self.slot.clone();
                let connecting = async move {
                    let context = &slot.common.context;
                    let opening = Connection::open(&slot.server, context, slot.log.clone(), None);
                    match timeout(limit * MAX_WAIT, opening).await {
                        Ok(opened) => opened,
                        Err(_) => Err(Failure::Broken(format!(
                            "no answer to `initialize` within {} s",
                            (limit * MAX_WAIT).as_secs()
                        ))),
                    }
                };
                self.doing = Doing::Connecting(connecting.boxed());
                self.slot.link.send_replace(Link::Pending);
            }
            Next::List => {
                if let Some(connection) = self.connection.clone() {
                    let changes = *connection.changes().borrow();
                    let limit = self.slot.server.timeout;
                    let slot = self.slot.clone();
                    let listing = async move { list(&connection, limit, &slot).await }.boxed();
                    self.doing = Doing::Listing(listing, changes);
                }
            }
            Next::Close => self.close().await,
            Next::Wait(wait) => self.doing = Doing::Waiting(Instant::now() + wait),
        }
    }

    fn take_in(&mut self, event: TaskEvent) -> Fact {
        let slot = self.slot.clone();
        match event {
            TaskEvent::TimeToTry => Fact::TimeToTry,
            TaskEvent::Connected(Ok(connection)) => {
                self.late_at = None;
                self.changes = Some(connection.changes());
                self.connection = Some(connection);
                Fact::Connected
            }
            TaskEvent::Connected(Err(Failure::NeedsLogin)) => {
                self.late_at = None;
                let name = slot.name();
                slot.lock().why = Some(format!("log in with `agent-tui mcp login {name}`"));
                Fact::NeedsLogin
            }
            TaskEvent::Connected(Err(Failure::Broken(why))) => {
                self.late_at = None;
                tracing::info!(server = slot.name(), why = %crate::config::logged(&why), "MCP server failed");
                slot.lock().why = Some(why);
                Fact::Failed
            }
            TaskEvent::Listed(Ok(found), changes) => {
                for problem in &found.problems {
                    slot.log.push(problem);
                }
                self.take_over(found);
                slot.listed.send_replace(changes);
                Fact::Listed
            }
            TaskEvent::Listed(Err(error), changes) => {
                // The calls that wait for the list have to end.
                slot.listed.send_replace(changes);
                slot.lock().why = Some(format!("its tools could not be listed: {error}"));
                Fact::Failed
            }
        }
    }

    fn take_over(&mut self, found: Found) {
        let Found { offer, changed, .. } = found;
        let mut state = self.slot.lock();
        let own = offer.tools.iter().map(|tool| tool.name.as_str());
        let names = names::tools(&self.slot.part, own, &state.names);
        state.names.extend(names);
        self.is_changed |= state.offer != offer;
        state.offer = offer;
        state.why = self.withheld(&changed);
        self.is_changed |= state.changed != changed;
        if state.changed != changed
            && let Some(why) = &state.why
        {
            self.slot.remark(why.clone());
        }
        state.changed = changed;
        state.ready_after.get_or_insert(self.begun.elapsed());
        drop(state);
        tracing::info!(server = self.slot.name(), took = ?self.begun.elapsed(), "MCP server listed");
        if let Some(connection) = &self.connection {
            self.slot.link.send_replace(Link::Up(connection.clone()));
        }
    }

    /// Which tools are off because they have changed.
    fn withheld(&self, changed: &Changed) -> Option<String> {
        if changed.is_empty() {
            return None;
        }
        let names: Vec<String> = changed.keys().map(|name| describe::line(name)).collect();
        let (server, names) = (self.slot.name(), names.join(", "));
        let names = shortened(&names, 80, "…");
        Some(format!(
            "{server}: tools changed and are off until you accept them in /mcp: {names}"
        ))
    }

    async fn close(&mut self) {
        self.doing = Doing::Nothing;
        self.late_at = None;
        self.changes = None;
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
    }

    fn publish(&mut self) {
        let phase = self.lifecycle.phase();
        let was = {
            let mut state = self.slot.lock();
            if phase == Phase::Off {
                state.why = None;
            }
            std::mem::replace(&mut state.phase, phase)
        };
        match phase {
            Phase::Failed | Phase::NeedsLogin | Phase::Off => {
                self.slot.link.send_replace(Link::Down);
            }
            Phase::Waiting => drop(self.slot.link.send_replace(Link::Pending)),
            Phase::Connecting
            | Phase::Overdue
            | Phase::Listing
            | Phase::Ready
            | Phase::Relisting => {}
        }
        let listed = matches!(phase, Phase::Ready | Phase::Relisting);
        if listed || (phase == Phase::Off && was != Phase::Off) {
            self.slot.offer();
        }
        self.unsettled = match phase {
            Phase::Relisting => self.unsettled.take().or_else(|| {
                let tools = self.slot.common.tools.lock();
                let tools = tools.unwrap_or_else(PoisonError::into_inner);
                tools.as_ref().map(Tools::unsettle)
            }),
            Phase::Off
            | Phase::Connecting
            | Phase::Overdue
            | Phase::Listing
            | Phase::Ready
            | Phase::Waiting
            | Phase::Failed
            | Phase::NeedsLogin => None,
        };
        if shown(was) != shown(phase) || std::mem::take(&mut self.is_changed) {
            self.slot.notify();
        }
    }
}

fn fact(order: &Order) -> Fact {
    match order {
        Order::Connect => Fact::Begun,
        Order::Restart => Fact::Restarted,
        Order::SwitchOn => Fact::SwitchedOn,
        Order::SwitchOff => Fact::SwitchedOff,
        Order::Want => Fact::Wanted,
    }
}

async fn lost(connection: Option<&Arc<Connection>>) {
    match connection {
        Some(connection) => connection.closed().await,
        None => std::future::pending().await,
    }
}

async fn changed(changes: Option<&mut watch::Receiver<Changes>>) {
    let closed = match changes {
        Some(changes) => changes.changed().await.is_err(),
        None => true,
    };
    if closed {
        std::future::pending::<()>().await;
    }
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Asks for everything that the server offers, at the same time.
async fn list(connection: &Connection, limit: Duration, slot: &Slot) -> Listed {
    let never = CancellationToken::new();
    let limit = Limit {
        idle: limit,
        cancel: &never,
    };
    let offered = &connection.capabilities;
    let entries = |can: bool, method: &'static str, key: &'static str| {
        let limit = &limit;
        async move {
            if can {
                connection.list(method, key, limit).await
            } else {
                Ok(Vec::new())
            }
        }
    };
    let (tools, prompts, resources) = tokio::join!(
        entries(offered.tools, "tools/list", "tools"),
        entries(offered.prompts, "prompts/list", "prompts"),
        entries(offered.resources, "resources/list", "resources"),
    );
    let (tools, mut problems) = listing::tools(&tools?);
    for error in [prompts.as_ref().err(), resources.as_ref().err()]
        .into_iter()
        .flatten()
    {
        problems.push(format!("a list could not be read: {error}"));
    }
    let (pins, mark) = (slot.common.pins.clone(), slot.server().mark.clone());
    let checking = tokio::task::spawn_blocking(move || {
        let changed = pins.check(&mark, &tools);
        (tools, changed)
    });
    let (tools, changed) = checking.await.unwrap_or_default();
    let offer = Listing {
        tools,
        prompts: listing::prompts(&prompts.unwrap_or_default()),
        resources: listing::resources(&resources.unwrap_or_default()),
    };
    Ok(Found {
        offer,
        problems,
        changed,
    })
}
