//! What a session gives to its servers.

use std::path::PathBuf;

use super::logins::Logins;
use crate::process::Variables;

/// What every server of a session gets.
#[derive(Debug, Clone)]
pub struct ServerContext {
    pub workspace: PathBuf,
    /// The directories that count as workspace.
    pub roots: Vec<PathBuf>,
    pub variables: Variables,
    pub logins: Logins,
}
