//! The environment variables of children.

use std::collections::BTreeMap;

use crate::config::key_variables;

/// The environment of commands that tools run: the program's own, without the API keys of providers, which they do
/// not need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// `env` of the settings.
    pub more: BTreeMap<String, String>,
    /// The settings say that API keys are passed on.
    pub pass_keys: bool,
}

impl Variables {
    /// Sets the environment of a command. The program's own variables are set after it.
    pub fn apply(&self, command: &mut tokio::process::Command) {
        command.envs(&self.more);
        if !self.pass_keys {
            // Also if the settings contain them.
            for variable in key_variables() {
                command.env_remove(variable);
            }
        }
    }
}
