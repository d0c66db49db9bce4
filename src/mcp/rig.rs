//! Servers for tests: this test binary runs itself as one.

#[path = "../../tests/it/support/mcp_server.rs"]
mod server;

use std::collections::BTreeMap;
use std::time::Duration;

use super::config::{Server, Source, Transport};
use super::connection::{Connection, Failure, ServerContext};
use super::log::Log;
use super::logins::Logins;
use crate::process::Variables;

/// What a process of [`server`] runs.
#[test]
fn plays_a_server() {
    server::plays();
}

/// A server that behaves like this.
pub fn server(mode: &str) -> Server {
    let program = std::env::current_exe().expect("this test");
    let args = ["mcp::rig::plays_a_server", "--exact", "--nocapture", "-q"];
    Server {
        name: mode.to_owned(),
        source: Source::User,
        file: "settings.json".to_owned(),
        transport: Transport::Stdio {
            command: program.display().to_string(),
            args: args.map(str::to_owned).to_vec(),
            env: BTreeMap::from([(server::MODE.to_owned(), mode.to_owned())]),
        },
        shown: "test".to_owned(),
        timeout: Duration::from_secs(30),
        trusted: true,
        mark: mode.to_owned(),
    }
}

/// What servers of a test get, and the directory that they work in.
pub fn server_context() -> (ServerContext, tempfile::TempDir) {
    let home = tempfile::tempdir().expect("a directory");
    let workspace = home.path().canonicalize().expect("it exists");
    let context = ServerContext {
        roots: vec![workspace.clone()],
        workspace,
        variables: Variables::default(),
        logins: Logins::default(),
    };
    (context, home)
}

/// A connection to a server that behaves like this.
pub async fn connect(mode: &str) -> Result<std::sync::Arc<Connection>, Failure> {
    let (context, _home) = server_context();
    Connection::open(&server(mode), &context, Log::default(), None).await
}
