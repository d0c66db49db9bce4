//! `agent-tui mcp test` and the states of `mcp list`: connects to servers.

use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;

use super::super::args::Args;
use super::super::launch::this_thread;
use super::super::project::Project;
use super::super::servers::logins;
use super::super::{UsageError, print_line};
use super::{Row, mark};
use crate::mcp::config::Server;
use crate::mcp::connection::ServerContext;
use crate::mcp::listing::ListedTool;
use crate::mcp::names;
use crate::mcp::probe::{Probe, probe};
use crate::process::Variables;
use crate::process::signals::Signals;
use crate::protocol::McpState;
use crate::text::{clean, first_line, plural};

/// More of a tool's description is not printed.
const LONGEST_ABOUT: usize = 60;

/// Connects to every server that is trusted, all at the same time.
pub fn all(args: &Args, project: &Project, rows: &mut [Row]) -> Result<Option<u8>, UsageError> {
    let servers: Vec<&Server> = project
        .servers
        .servers
        .iter()
        .filter(|it| it.trusted)
        .collect();
    if servers.is_empty() {
        return Ok(None);
    }
    let context = server_context(args, project);
    let probes = join_all(servers.iter().map(|server| probe(server, &context, None)));
    let probes = match interruptible(probes)? {
        Ok(probes) => probes,
        Err(code) => return Ok(Some(code)),
    };
    for (server, probe) in servers.iter().zip(probes) {
        if let Some(row) = rows.iter_mut().find(|row| row.name == server.name) {
            row.state = probe.state;
            row.detail = detail(&probe, &server.name);
            row.tools = probe.tools.into_iter().map(|tool| tool.name).collect();
        }
    }
    Ok(None)
}

/// Connects to one server and shows every step. The exit code says whether it works.
pub fn one(args: &Args, project: &Project, server: &Server) -> Result<u8, UsageError> {
    let context = server_context(args, project);
    let probe = match interruptible(probe(server, &context, None))? {
        Ok(probe) => probe,
        Err(code) => return Ok(code),
    };
    print_line(&clean(&format!("{}: {}", server.name, server.shown)));
    for (step, took) in [
        ("connected", probe.connected),
        ("listed tools", probe.listed),
    ] {
        if let Some(took) = took {
            print_line(&format!("✓ {step:<12}  {}", seconds(took)));
        }
    }
    if probe.state == McpState::Ready {
        let tokens: usize = probe.tools.iter().map(tokens).sum();
        print_line(&format!(
            "{}, about {tokens} tokens",
            plural(probe.tools.len(), "tool")
        ));
        show_tools(project, server, &probe.tools);
        for problem in &probe.left_out {
            print_line(&format!("! {}", clean(problem)));
        }
        return Ok(0);
    }
    let detail = detail(&probe, &server.name).unwrap_or_default();
    print_line(&clean(&format!("{}: {detail}", mark(probe.state))));
    for line in &probe.lines {
        print_line(&format!("  {}", clean(line)));
    }
    Ok(1)
}

fn show_tools(project: &Project, server: &Server, tools: &[ListedTool]) {
    let all = project
        .servers
        .servers
        .iter()
        .map(|server| server.name.as_str());
    let legal = names::servers(all);
    let part = legal.get(&server.name).unwrap_or(&server.name);
    let own = tools.iter().map(|tool| tool.name.as_str());
    let names = names::tools(part, own, &std::collections::BTreeMap::new());
    let widest = names.values().map(String::len).max().unwrap_or(0);
    for tool in tools {
        let name = names.get(&tool.name).unwrap_or(&tool.name);
        let about = first_line(&tool.description, LONGEST_ABOUT);
        let tokens = tokens(tool);
        print_line(&clean(&format!(
            "  {name:<widest$}  {tokens:>5} tokens  {about}"
        )));
    }
}

/// The size of a tool's definition, at four bytes per token.
fn tokens(tool: &ListedTool) -> usize {
    (tool.description.len() + tool.input_schema.to_string().len()) / 4
}

fn detail(probe: &Probe, name: &str) -> Option<String> {
    match probe.state {
        McpState::Ready => {
            let took = probe.connected.unwrap_or_default() + probe.listed.unwrap_or_default();
            Some(format!(
                "{} in {}",
                plural(probe.tools.len(), "tool"),
                seconds(took)
            ))
        }
        McpState::NeedsLogin => Some(format!("agent-tui mcp login {name}")),
        McpState::Connecting
        | McpState::Failed
        | McpState::Disabled
        | McpState::Untrusted
        | McpState::Unusable => probe.problem.clone(),
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.2} s", took.as_secs_f64())
}

pub fn server_context(args: &Args, project: &Project) -> ServerContext {
    let places = project.places(args);
    let mut roots = vec![places.workspace.clone()];
    roots.extend(places.additional);
    ServerContext {
        workspace: places.workspace,
        roots,
        variables: Variables {
            more: project.settings.env.clone(),
            pass_keys: false,
        },
        logins: logins(args, project),
    }
}

/// Runs until the end, or until a signal: then the error is the exit code. Dropping the work ends its processes.
pub fn interruptible<T>(work: impl Future<Output = T>) -> Result<Result<T, u8>, UsageError> {
    let runtime = this_thread()?;
    let done = runtime.block_on(async {
        let mut signals = Signals::listen()
            .map_err(|error| UsageError::new(format!("can't listen for signals: {error}")))?;
        tokio::select! {
            done = work => Ok(Ok(done)),
            signal = signals.next() => Ok(Err(signal.exit_code())),
        }
    });
    runtime.shutdown_background();
    done
}
