//! The tools of a session, which come and go while it runs.
//!
//! Each request takes a snapshot, [`Offered`], and the calls of its response find their tools there: a tool that was offered
//! can be called, even if it was taken away meanwhile. What has come is offered with the next request.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio::sync::watch;

use super::any::AnyTool;
use super::registry::{NameTaken, Offer, Origin, Registry};
use super::{DescribeCx, ToolSpec};
use crate::protocol::{ToolDefinition, ToolInfo};

/// The tools as one request offers them. Cheap to clone.
#[derive(Clone, Default)]
pub struct Offered {
    registry: Arc<Registry>,
    definitions: Arc<Vec<ToolDefinition>>,
}

/// All tools of a session, and those of them that are offered from now on. A clone stands for the same tools.
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

/// Tells when other tools are offered.
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

    /// The tool whose name is most like the given one, if any is at all like it.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        self.registry.nearest(name)
    }

    /// The tools as the model is told about them.
    pub fn definitions(&self) -> &Arc<Vec<ToolDefinition>> {
        &self.definitions
    }

    /// The tools as the screen knows them.
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

    /// The tool that runs commands, and the field of its input that takes one.
    pub fn shell(&self) -> Option<(&ToolSpec, &str)> {
        self.registry.shell()
    }

    /// Gets everything ready that the first call of a tool would have to wait for.
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

    /// Some of them as they are now, for a conversation of its own.
    #[must_use]
    pub fn only(&self, keeps: impl Fn(&str) -> bool) -> Self {
        let state = self.state.borrow();
        Self::new(state.all.only(keeps), state.offer.clone())
    }

    /// The descriptions speak of something else from now on.
    pub fn describe(&self, change: impl FnOnce(&mut DescribeCx)) {
        self.state.send_if_modified(|state| {
            change(&mut state.offer.about);
            state.offer_anew()
        });
    }

    /// What is offered now.
    pub fn snapshot(&self) -> Offered {
        self.state.borrow().offered.clone()
    }

    /// Tells what changes from now on.
    pub fn watch(&self) -> Changes {
        Changes(self.state.subscribe())
    }

    pub fn add(&self, tool: Arc<dyn AnyTool>, origin: Origin) -> Result<(), NameTaken> {
        self.change(|all| all.insert(tool, origin))
    }

    /// Takes a tool away; says whether it was there.
    pub fn remove(&self, name: &str) -> bool {
        self.change(|all| all.remove(name))
    }

    /// Makes several changes that are offered, and told, as one.
    pub fn change<T>(&self, change: impl FnOnce(&mut Registry) -> T) -> T {
        let mut outcome = None;
        self.state.send_if_modified(|state| {
            outcome = Some(change(&mut state.all));
            state.offer_anew()
        });
        outcome.expect("the change was made")
    }
}

impl State {
    /// Says whether the model sees another offer now.
    fn offer_anew(&mut self) -> bool {
        let offered = Offered::new(&self.all, &self.offer);
        let changed = offered.definitions != self.offered.definitions;
        // Also where it looks the same: another tool may have taken the name.
        self.offered = offered;
        changed
    }
}

impl From<Registry> for Tools {
    /// All of them are offered.
    fn from(all: Registry) -> Self {
        Self::new(all, Offer::default())
    }
}

impl Changes {
    /// What is offered now, if that has not been told yet.
    pub fn news(&mut self) -> Option<Offered> {
        // The sender lives as long as the session's context.
        let is_news = self.0.has_changed().unwrap_or(false);
        is_news.then(|| self.0.borrow_and_update().offered.clone())
    }

    /// Waits until there is something that has not been told yet. Cancel-safe.
    pub async fn wait(&mut self) {
        // A value that was seen is not waited for again, so it is left unseen for `news`.
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.0.mark_changed();
    }
}
