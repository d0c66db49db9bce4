//! `agent-tui mcp login`: logs in to a server in the browser.

use super::super::args::Args;
use super::super::{UsageError, print_line};
use super::check::{interruptible, server_context};
use super::{find, unknown};
use crate::mcp::config::Transport;
use crate::mcp::login::{Login, Wish};
use crate::mcp::logins::Logins;
use crate::process::stderr::print_message;
use crate::text::clean;

/// The variable with the secret of a client that was registered before, as in Claude Code.
const SECRET: &str = "MCP_CLIENT_SECRET";

pub fn login(
    args: &Args,
    name: &str,
    port: Option<u16>,
    client: Option<&str>,
) -> Result<u8, UsageError> {
    let project = find(args)?;
    let Some(server) = project.servers.find(name) else {
        return Ok(unknown(&project.servers, name));
    };
    let Transport::Http { url, .. } = &server.transport else {
        print_message(&format!(
            "error: `{}` is a command; only http servers need a login",
            clean(name)
        ));
        return Ok(1);
    };
    if !server.trusted {
        print_message(&format!(
            "error: `{}` comes from {}, which you have not trusted",
            clean(name),
            server.file
        ));
        print_message("hint: start agent-tui here to review it, or use --trust");
        return Ok(1);
    }
    let wish = Wish {
        port: port.unwrap_or(0),
        client: client.map(|client| (client.to_owned(), std::env::var(SECRET).ok())),
    };
    let logins = server_context(args, &project).logins;
    let done = match interruptible(log_in(url, &logins, wish))? {
        Ok(done) => done,
        Err(code) => return Ok(code),
    };
    match done {
        Ok(()) => {
            print_line(&format!("Logged in to `{}`", clean(name)));
            Ok(0)
        }
        Err(problem) => {
            print_message(&format!("error: {}", clean(&problem)));
            Ok(1)
        }
    }
}

async fn log_in(url: &str, logins: &Logins, wish: Wish) -> Result<(), String> {
    let login = Login::begin(url, logins, wish).await?;
    let address = clean(login.address());
    if login.open_browser(logins) {
        print_line("Log in in your browser. If it does not open, go to:");
    } else {
        print_line("Open this address in your browser:");
    }
    print_line(&address);
    login.finish().await
}
