//! What the calls of a session run with.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::watch;

use crate::permissions::{RealLinks, RuleList, Rules, Source, Store, World};
use crate::protocol::{InterruptBehavior, Mode};
use crate::tools::Environment;
use crate::tools::registry::Registry;

/// Shared by all calls; changed only between them, by the session's owner.
pub struct Context {
    pub registry: Registry,
    pub asking: Asking,
    pub places: Places,
    pub env: Arc<Environment>,
    /// `interruptBehavior` of the settings, per tool.
    pub interrupt_overrides: HashMap<String, InterruptBehavior>,
    /// Where rules go that the person wants to keep.
    pub store: Option<Store>,
    stance: watch::Sender<Stance>,
    cwd: RwLock<PathBuf>,
}

/// What decides about calls, and can change while some of them wait for a decision.
#[derive(Debug, Clone)]
pub struct Stance {
    pub mode: Mode,
    pub rules: Arc<Rules>,
}

/// Who answers when a call needs a person's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    Person,
    /// Nobody is there: what would have to be asked is denied.
    Nobody,
}

/// The directories that a permission decision knows.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub workspace: PathBuf,
    pub home: PathBuf,
    pub additional: Vec<PathBuf>,
    pub config_dir: Option<PathBuf>,
}

impl Context {
    pub fn new(
        registry: Registry,
        rules: Rules,
        mode: Mode,
        asking: Asking,
        places: Places,
        env: Arc<Environment>,
    ) -> Self {
        let cwd = RwLock::new(places.workspace.clone());
        Self {
            registry,
            asking,
            places,
            env,
            interrupt_overrides: HashMap::new(),
            store: None,
            stance: watch::Sender::new(Stance {
                mode,
                rules: Arc::new(rules),
            }),
            cwd,
        }
    }

    pub fn stance(&self) -> Stance {
        self.stance.borrow().clone()
    }

    /// Tells when the stance changes from now on.
    pub fn watch(&self) -> watch::Receiver<Stance> {
        self.stance.subscribe()
    }

    pub fn mode(&self) -> Mode {
        self.stance.borrow().mode
    }

    pub fn set_mode(&self, mode: Mode) {
        self.stance.send_modify(|stance| stance.mode = mode);
    }

    /// Allows what the rule covers, from now on. The error says what is wrong with the rule.
    pub fn allow(&self, rule: &str, source: &Source) -> Result<(), String> {
        crate::permissions::check_rule(rule)?;
        self.stance.send_modify(|stance| {
            let known = |other: &crate::permissions::Rule| other.text == rule.trim();
            if !stance.rules.allow.iter().any(known) {
                // It was checked just now.
                let _ = Arc::make_mut(&mut stance.rules).add(RuleList::Allow, rule, source);
            }
        });
        Ok(())
    }

    /// The file that rules of the person go to.
    pub fn rules_file(&self) -> PathBuf {
        match &self.store {
            Some(store) => store.file(),
            None => Store::new(&self.places.workspace, &self.places.workspace).file(),
        }
    }

    /// Where relative paths start from; falls back to the workspace when the directory is gone.
    pub fn cwd(&self) -> PathBuf {
        let cwd = self
            .cwd
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if rustix::fs::access(&cwd, rustix::fs::Access::EXEC_OK).is_ok() && cwd.is_dir() {
            cwd
        } else {
            self.places.workspace.clone()
        }
    }

    pub fn set_cwd(&self, cwd: PathBuf) {
        *self.cwd.write().unwrap_or_else(PoisonError::into_inner) = cwd;
    }

    pub fn world(&self) -> World<'static> {
        World {
            cwd: self.places.workspace.clone(),
            home: self.places.home.clone(),
            shell_dir: Some(self.cwd()),
            additional_directories: self.places.additional.clone(),
            config_dir: self.places.config_dir.clone(),
            links: &RealLinks,
        }
    }
}
