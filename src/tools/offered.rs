//! The tools of a session, which can be added and removed while it runs.
//!
//! Each request takes a snapshot, [`Offered`], and the calls of its response find their tools there: a tool that was
//! offered can be called even if it was removed in the meantime. New tools are offered with the next request.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::sync::watch;

use super::any::AnyTool;
use super::registry::{NameTaken, Offer, Origin, Registry};
use super::{DescribeCx, ToolSpec};
use crate::protocol::{ToolDefinition, ToolInfo};

/// The tools that one request offers. Cheap to clone.
#[derive(Clone, Default)]
pub struct Offered {
    registry: Arc<Registry>,
    definitions: Arc<Vec<ToolDefinition>>,
}

/// All tools of a session, and those that are offered from now on. Clones share the same tools.
#[derive(Clone)]
pub struct Tools {
    state: watch::Sender<State>,
}

#[derive(Clone, Default)]
struct State {
    all: Registry,
    offer: Offer,
    offered: Offered,
}

/// Reports when the offered tools change.
pub struct Changes(watch::Receiver<State>);

impl Offered {
    fn new(all: &Registry, offer: &Offer) -> Self {
        let registry = all.offered(offer);
        Self {
            definitions: Arc::new(registry.definitions(&offer.about)),
            registry: Arc::new(registry),
        }
    }

    pub fn find(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.registry.find(name)
    }

    /// The tool with the most similar name, if any is similar.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        self.registry.nearest(name)
    }

    /// The definitions for the model.
    pub fn definitions(&self) -> &Arc<Vec<ToolDefinition>> {
        &self.definitions
    }

    /// The tools for the screen.
    pub fn infos(&self) -> Vec<ToolInfo> {
        let told = |info: ToolInfo| {
            let mut definitions = self.definitions.iter();
            let definition = definitions.find(|it| *it.name == *info.name);
            ToolInfo {
                definition: definition.cloned().map(Arc::new),
                ..info
            }
        };
        self.registry.infos().into_iter().map(told).collect()
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
        let offered = Offered::new(&all, &offer);
        let state = watch::Sender::new(State {
            all,
            offer,
            offered,
        });
        Self { state }
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

    /// What is offered now.
    pub fn snapshot(&self) -> Offered {
        self.state.borrow().offered.clone()
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
    /// Returns whether the model now sees different tools.
    fn refresh_offer(&mut self) -> bool {
        let offered = Offered::new(&self.all, &self.offer);
        let changed = offered.definitions != self.offered.definitions;
        // Also if it looks the same: another tool may have taken the name.
        self.offered = offered;
        changed
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
    pub fn news(&mut self) -> Option<Offered> {
        // The sender lives as long as the session's context.
        let is_news = self.0.has_changed().unwrap_or(false);
        is_news.then(|| self.0.borrow_and_update().offered.clone())
    }

    /// Waits until there is a change that was not reported yet. Cancel-safe.
    pub async fn wait(&mut self) {
        // A seen value is not waited for again, so mark it as unseen for `news`.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.0.mark_changed();
    }
}
