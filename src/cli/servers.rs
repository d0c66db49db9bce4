//! The MCP servers of a run. They outlive the session that is open: a new one finds them connected.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::args::Args;
use super::project::Project;
use crate::executor::Asking;
use crate::mcp::config::Loaded;
use crate::mcp::logins::Logins;
use crate::mcp::manager::Manager;
use crate::mcp::server_context::ServerContext;
use crate::mcp::store::Switches;
use crate::process::Variables;
use crate::process::stderr::print_message;
use crate::protocol::McpServerStatus;
use crate::settings::trust::Memory;
use crate::tools::offered::Tools;

/// How long a run without a screen waits for its servers.
pub const HEADLESS_WAIT: Duration = Duration::from_secs(30);

#[derive(Clone, Default)]
pub struct Servers(Arc<Mutex<Option<(Loaded, Manager)>>>);

impl Servers {
    /// The servers of a project; `None` if it has none. If they are not those of the last session, those end.
    pub fn open(&self, args: &Args, project: &Project) -> Option<Manager> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((loaded, manager)) = &*kept
            && *loaded == project.servers
        {
            return Some(manager.clone());
        }
        if let Some((_, old)) = kept.take() {
            tokio::spawn(async move { old.close().await });
        }
        let loaded = project.servers.clone();
        if loaded.servers.is_empty() && loaded.unusable.is_empty() {
            return None;
        }
        let places = project.places(args);
        let mut roots = vec![project.workspace.clone()];
        roots.extend(places.additional);
        let context = ServerContext {
            workspace: project.workspace.clone(),
            roots,
            variables: Variables {
                more: project.settings.env.clone(),
                pass_keys: false,
            },
            logins: logins(args, project),
        };
        let switches = Switches::new(&project.dirs.data, &project.workspace);
        let memory = Memory::new(&project.dirs.data, &project.workspace);
        let manager = Manager::new(loaded.clone(), context, switches, memory);
        *kept = Some((loaded, manager.clone()));
        Some(manager)
    }

    /// Ends all servers.
    pub async fn close(&self) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((_, manager)) = kept {
            manager.close().await;
        }
    }
}

/// The tokens of servers that the person has logged in to.
pub fn logins(args: &Args, project: &Project) -> Logins {
    let browser = std::env::var_os("BROWSER");
    Logins::new(
        &project.dirs.data,
        browser.as_deref(),
        &project.programs(args),
    )
}

/// Without a screen the servers are connected first: the first request has their tools.
pub async fn ready(manager: Option<&Manager>, asking: Asking) {
    if let (Some(manager), Asking::Nobody) = (manager, asking) {
        manager.begin();
        manager.wait(HEADLESS_WAIT).await;
    }
}

/// Connects the servers for a command without a session: their tools are among `tools` until they are closed.
pub async fn connect(manager: Option<Manager>, tools: &Tools) {
    let Some(manager) = manager else {
        return;
    };
    manager.attach(tools);
    ready(Some(&manager), Asking::Nobody).await;
    let statuses = manager.statuses();
    for problem in statuses.iter().filter_map(McpServerStatus::problem) {
        print_message(&format!("note: {problem}"));
    }
}
