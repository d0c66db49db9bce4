//! Without the Cargo feature `mcp` no server is ever started.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::config::Loaded;
use super::server_context::ServerContext;
use super::store::Switches;
use crate::protocol::{Block, CustomCommand, McpCommand, McpServerStatus};
use crate::settings::trust::Memory;
use crate::tools::offered::Tools;

/// What a message is made of, once its servers have answered.
pub type Fetched = BoxFuture<'static, Result<Vec<Block>, String>>;

/// The servers of a run: none.
#[derive(Clone)]
pub struct Manager;

/// Reports changes of the servers.
pub struct ServerChanges;

impl Manager {
    pub fn new(
        _loaded: Loaded,
        _context: ServerContext,
        _switches: Switches,
        _memory: Memory,
    ) -> Self {
        Self
    }

    pub fn begin(&self) {}

    pub fn attach(&self, _tools: &Tools) {}

    pub fn changes(&self) -> ServerChanges {
        ServerChanges
    }

    pub fn statuses(&self) -> Vec<McpServerStatus> {
        Vec::new()
    }

    pub fn take_remarks(&self) -> Vec<String> {
        Vec::new()
    }

    pub async fn wait(&self, _most: Duration) {}

    pub async fn handle(&self, _command: McpCommand) -> Option<String> {
        Some("this build has no MCP".to_owned())
    }

    pub fn commands(&self) -> Vec<CustomCommand> {
        Vec::new()
    }

    pub fn prompt(&self, _name: &str, _arguments: &str, _folder: PathBuf) -> Option<Fetched> {
        None
    }

    pub fn mentions(&self, _text: &str, _folder: PathBuf) -> Option<Fetched> {
        None
    }

    pub async fn close(&self) {}
}

impl ServerChanges {
    pub async fn next(&mut self) {
        std::future::pending().await
    }
}
