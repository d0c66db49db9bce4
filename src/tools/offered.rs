//! The tools of a session, which can be added and removed while it runs.
//!
//! Each request takes a snapshot, [`Offered`], and the calls of its response find their tools there: a tool that was
//! offered can be called even if it was removed in the meantime. New tools are offered with the next request.
//!
//! Requests list the built-in tools by name, then the guests by name. A tool that was sent once keeps its position in all
//! later requests, and new tools are appended, so the provider's prompt cache stays valid.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use super::any::AnyTool;
use super::registry::{NameTaken, Offer, Origin, Registry};
use super::tool_search::{self, announcement};
use super::{DescribeCx, ToolSpec};
use crate::permissions::Rules;
use crate::protocol::{Deferral, Mode, SentTools, ToolDefinition, ToolInfo, ToolState};

/// With more tools than this, some are deferred.
const MOST_TOOLS: usize = 40;
/// How long a request waits for sources of tools that are being read again.
const LONGEST_SETTLING: Duration = Duration::from_secs(5);
/// The schemas may take this part of the context window before some are deferred.
const PART_OF_WINDOW: u64 = 10;

/// The tools that one request offers. Cheap to clone.
#[derive(Clone, Default)]
pub struct Offered {
    /// The tools that can be called or loaded.
    registry: Arc<Registry>,
    definitions: Arc<Vec<ToolDefinition>>,
    deferred: Arc<Vec<ToolDefinition>>,
    /// The names in the system prompt: tools that are deferred now or were at an earlier request.
    announced: Arc<Vec<String>>,
    /// How many of the definitions the first request of the session had.
    lasting: usize,
    /// Every tool, including those that this session does not use.
    all: Arc<Registry>,
    denied: Arc<Vec<String>>,
    about: DescribeCx,
}

/// The names that appear in a request for the first time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewNames {
    pub offered: Vec<String>,
    pub announced: Vec<String>,
}

/// All tools of a session, and those that are offered from now on. Clones share the same tools.
#[derive(Clone)]
pub struct Tools {
    state: watch::Sender<State>,
    /// How many of their sources are being read again.
    unsettled: watch::Sender<usize>,
}

/// Says that a source of tools is being read again, until it is dropped.
pub struct Unsettled(watch::Sender<usize>);

#[derive(Clone, Default)]
struct State {
    all: Registry,
    offer: Offer,
    sent: SentTools,
    offered: Offered,
}

/// Reports when the offered tools change.
pub struct Changes(watch::Receiver<State>);

impl Offered {
    fn new(all: &Registry, offer: &Offer, sent: &SentTools) -> Self {
        let registry = all.offered(offer);
        let sorted = registry.definitions(&offer.about);
        let waiting = deferred(&registry, &sorted, offer, sent);
        let (deferred, mut definitions): (Vec<_>, Vec<_>) = sorted
            .into_iter()
            .partition(|tool| waiting.contains(&tool.name));
        let places = places(&sent.offered);
        let place = |name: &str| places.get(name).copied().unwrap_or(usize::MAX);
        // The sort is stable: new tools stay in order, after those that were sent before.
        definitions.sort_by_key(|tool| place(&tool.name));
        let is_there = |name: &&String| registry.find(name).is_some();
        let mut announced: Vec<String> = sent.announced.iter().filter(is_there).cloned().collect();
        let names = deferred.iter().map(|tool| &tool.name);
        let new: Vec<String> = names
            .filter(|name| !announced.contains(name))
            .cloned()
            .collect();
        announced.extend(new);
        let lasting = match sent.first {
            0 => definitions.len(),
            first => definitions
                .iter()
                .filter(|tool| place(&tool.name) < first)
                .count(),
        };
        let denied = all.names().filter(|name| offer.rules.denies_whole(name));
        Self {
            registry: Arc::new(registry),
            definitions: Arc::new(definitions),
            deferred: Arc::new(deferred),
            announced: Arc::new(announced),
            lasting,
            denied: Arc::new(denied.map(str::to_owned).collect()),
            all: Arc::new(all.clone()),
            about: offer.about.clone(),
        }
    }

    /// A tool that the request has sent with its schema.
    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.registry.find(name).filter(|_| !self.is_deferred(name))
    }

    /// A tool that can be called, or loaded to be called.
    pub fn find_or_deferred(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.registry.find(name)
    }

    /// The names of all tools, including those that this session does not use.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.names()
    }

    /// The tool with the most similar name, if any is similar.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        self.registry.nearest(name)
    }

    /// The definitions for the model.
    pub fn definitions(&self) -> &Arc<Vec<ToolDefinition>> {
        &self.definitions
    }

    /// How many of the definitions, from the beginning, are the same in all requests of the session.
    pub fn lasting(&self) -> usize {
        self.lasting
    }

    /// The tools that the request announces by name only.
    pub fn deferred(&self) -> &Arc<Vec<ToolDefinition>> {
        &self.deferred
    }

    /// What the system prompt says about them.
    pub fn announcement(&self) -> Option<String> {
        (!self.announced.is_empty()).then(|| announcement(&self.announced))
    }

    /// The answer to a call of a deferred tool: how to load it.
    pub fn how_to_load(&self, name: &str) -> Option<String> {
        self.is_deferred(name)
            .then(|| tool_search::how_to_load(name))
    }

    fn is_deferred(&self, name: &str) -> bool {
        self.deferred.iter().any(|tool| tool.name == name)
    }

    /// The tools for the screen.
    pub fn infos(&self) -> Vec<ToolInfo> {
        let mut infos = self.all.infos(&self.about);
        for info in &mut infos {
            info.state = self.state(&info.name);
        }
        let names: Vec<String> = self.definitions.iter().map(|it| it.name.clone()).collect();
        let places = places(&names);
        infos.sort_by_key(|info| places.get(&*info.name).copied().unwrap_or(usize::MAX));
        infos
    }

    fn state(&self, name: &str) -> ToolState {
        if self.is_deferred(name) {
            ToolState::Deferred
        } else if self.registry.find(name).is_some() {
            ToolState::Offered
        } else if self.denied.iter().any(|denied| denied == name) {
            ToolState::Denied
        } else {
            ToolState::Off
        }
    }

    /// The tool that runs commands, and its input field for the command.
    pub fn shell(&self) -> Option<(&ToolSpec, &str)> {
        self.registry.shell()
    }

    /// Does the work that the first call of each tool would otherwise wait for.
    pub fn prepare(&self) {
        self.registry.prepare();
    }
}

impl Tools {
    pub fn new(all: Registry, offer: Offer) -> Self {
        Self::resumed(all, offer, SentTools::default())
    }

    /// The tools of a resumed session: `sent` is what its earlier requests said about them.
    pub fn resumed(all: Registry, offer: Offer, sent: SentTools) -> Self {
        let offered = Offered::new(&all, &offer, &sent);
        let state = watch::Sender::new(State {
            all,
            offer,
            sent,
            offered,
        });
        Self {
            state,
            unsettled: watch::Sender::new(0),
        }
    }

    /// A source of tools is being read again: the next request waits a moment for it.
    pub fn unsettle(&self) -> Unsettled {
        self.unsettled.send_modify(|sources| *sources += 1);
        Unsettled(self.unsettled.clone())
    }

    /// Waits until all sources have been read, but not for long; `None` if there is nothing to wait for.
    pub fn settling(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut sources = self.unsettled.subscribe();
        if *sources.borrow_and_update() == 0 {
            return None;
        }
        Some(async move {
            let settled = sources.wait_for(|sources| *sources == 0);
            let _ = timeout(LONGEST_SETTLING, settled).await;
        })
    }

    /// A copy of some of them, for another conversation.
    #[must_use]
    pub fn only(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let state = self.state.borrow();
        Self::new(state.all.only(keeps), state.offer.clone())
    }

    /// Changes the state that descriptions depend on.
    pub fn describe(&self, change: impl FnOnce(&mut DescribeCx)) {
        self.state.send_if_modified(|state| {
            change(&mut state.offer.about);
            state.refresh_offer()
        });
    }

    /// Offers what these rules and this mode leave.
    pub fn follow(&self, rules: &Arc<Rules>, mode: Mode) {
        self.state.send_if_modified(|state| {
            let offer = &mut state.offer;
            if offer.mode == mode && offer.rules == *rules {
                return false;
            }
            (offer.mode, offer.rules) = (mode, rules.clone());
            state.refresh_offer()
        });
    }

    /// What is offered now.
    pub fn snapshot(&self) -> Offered {
        self.state.borrow().offered.clone()
    }

    /// The tools of a request that is sent now, and which of them are new.
    pub fn send(&self) -> (Offered, NewNames) {
        let mut sent = None;
        self.state.send_if_modified(|state| {
            let new_names = state.unreported();
            state.sent.record(&new_names.offered, &new_names.announced);
            sent = Some((state.offered.clone(), new_names));
            // Sending changes no tool's state.
            false
        });
        sent.expect("the closure has run")
    }

    /// Offers tools that the model has asked for.
    pub fn activate(&self, tools: &[String]) {
        self.state.send_if_modified(|state| {
            state.sent.activate(tools);
            state.refresh_offer()
        });
    }

    /// Reports changes from now on.
    pub fn watch(&self) -> Changes {
        Changes(self.state.subscribe())
    }

    pub fn add(&self, tool: Arc<dyn AnyTool>, origin: Origin) -> Result<(), NameTaken> {
        self.change(|all| all.insert(tool, origin))
    }

    /// Removes a tool. Returns whether it existed.
    pub fn remove(&self, name: &str) -> bool {
        self.change(|all| all.remove(name))
    }

    /// Makes several changes, and reports them as one.
    pub fn change<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        let mut outcome = None;
        self.state.send_if_modified(|state| {
            outcome = Some(change(&mut state.all));
            state.refresh_offer()
        });
        outcome.expect("the change was made")
    }
}

impl State {
    fn unreported(&self) -> NewNames {
        let offered = self.offered.definitions.iter().map(|tool| &tool.name);
        let announced = self.offered.announced.iter();
        NewNames {
            offered: unknown(offered, &self.sent.offered),
            announced: unknown(announced, &self.sent.announced),
        }
    }

    /// Returns whether the model or the screen now sees different tools.
    fn refresh_offer(&mut self) -> bool {
        let offered = Offered::new(&self.all, &self.offer, &self.sent);
        let changed = offered.definitions != self.offered.definitions
            || offered.deferred != self.offered.deferred;
        // Also if it looks the same: another tool may have taken the name.
        self.offered = offered;
        changed
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        self.0.send_modify(|sources| *sources -= 1);
    }
}

impl From<Registry> for Tools {
    /// Offers all of them.
    fn from(all: Registry) -> Self {
        Self::new(all, Offer::default())
    }
}

impl Changes {
    /// What is offered now, if it was not reported yet.
    pub fn unreported(&mut self) -> Option<Offered> {
        // The sender lives as long as the session's context.
        let has_changed = self.0.has_changed().unwrap_or(false);
        has_changed.then(|| self.0.borrow_and_update().offered.clone())
    }

    /// Waits until there is a change that was not reported yet. Cancel-safe.
    pub async fn wait(&mut self) {
        // A seen value is not waited for again, so mark it as unseen for `unreported`.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.0.mark_changed();
    }
}

/// The names of the tools that a request announces without their schemas.
fn deferred(
    registry: &Registry,
    definitions: &[ToolDefinition],
    offer: &Offer,
    sent: &SentTools,
) -> Vec<String> {
    let are_many = || {
        let tokens: usize = definitions.iter().map(ToolDefinition::tokens).sum();
        let tokens = u64::try_from(tokens).unwrap_or(u64::MAX);
        let room = offer.window.map(|window| window / PART_OF_WINDOW);
        definitions.len() > MOST_TOOLS || room.is_some_and(|room| tokens > room)
    };
    let defers = match offer.about.deferral {
        Deferral::Auto => are_many(),
        Deferral::Always => true,
        Deferral::Never => false,
    };
    // Without ToolSearch the model could not load them.
    if !defers || registry.find(tool_search::NAME).is_none() {
        return Vec::new();
    }
    let names = registry.deferrable().map(str::to_owned);
    // A tool that was sent once is never deferred again.
    let is_known = |name: &String| sent.offered.contains(name) || sent.activated.contains(name);
    names.filter(|name| !is_known(name)).collect()
}

fn places(names: &[String]) -> HashMap<&str, usize> {
    let names = names.iter().enumerate();
    names.map(|(at, name)| (name.as_str(), at)).collect()
}

fn unknown<'n>(names: impl Iterator<Item = &'n String>, known: &[String]) -> Vec<String> {
    names
        .filter(|name| !known.contains(name))
        .cloned()
        .collect()
}
