//! What the calls of a session run with.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use crate::permissions::{RealLinks, Rules, World};
use crate::protocol::{InterruptBehavior, Mode};
use crate::tools::Environment;
use crate::tools::registry::Registry;

/// Shared by all calls; changed only between them, by the session's owner.
pub struct Context {
    pub registry: Registry,
    pub rules: Rules,
    pub asking: Asking,
    pub places: Places,
    pub env: Arc<Environment>,
    /// `interruptBehavior` of the settings, per tool.
    pub interrupt_overrides: HashMap<String, InterruptBehavior>,
    mode: RwLock<Mode>,
    cwd: RwLock<PathBuf>,
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
            rules,
            asking,
            places,
            env,
            interrupt_overrides: HashMap::new(),
            mode: RwLock::new(mode),
            cwd,
        }
    }

    pub fn mode(&self) -> Mode {
        *self.mode.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_mode(&self, mode: Mode) {
        *self.mode.write().unwrap_or_else(PoisonError::into_inner) = mode;
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
