//! What children find in their environment.

use std::collections::BTreeMap;

use crate::config::key_variables;

/// The environment of the commands that tools run: the program's own, without the keys of providers,
/// which they have no need of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// `env` of the settings.
    pub more: BTreeMap<String, String>,
    /// The settings say that the keys are passed on.
    pub pass_keys: bool,
}

impl Variables {
    /// Gives a command its environment. What the program itself sets comes after it.
    pub fn apply(&self, command: &mut tokio::process::Command) {
        command.envs(&self.more);
        if !self.pass_keys {
            // Also where they stand in the settings.
            for variable in key_variables() {
                command.env_remove(variable);
            }
        }
    }
}
