//! `agent-tui mcp`: adds, lists, shows and removes MCP servers. Secrets are never printed.

mod add;
#[cfg(feature = "mcp")]
mod check;
#[cfg(feature = "oauth")]
mod login;

use serde_json::json;

#[cfg(feature = "oauth")]
use self::login::login;
use super::args::{Args, McpCommand, ScopeName};
use super::project::{Audience, Project, TrustAnswer};
use super::{UsageError, print_line};
use crate::config::save::SaveError;
use crate::mcp::config::{Loaded, Server, Source, Transport};
use crate::mcp::mask::MASK;
use crate::mcp::store::{Places, Scope};
use crate::process::stderr::print_message;
use crate::protocol::McpState;
use crate::text::{clean, nearest};

pub fn run(args: &Args, command: &McpCommand) -> Result<u8, UsageError> {
    match command {
        McpCommand::List { json } => list(args, *json),
        McpCommand::Test { name } => test(args, name),
        McpCommand::Login {
            name,
            callback_port,
            client_id,
        } => login(args, name, *callback_port, client_id.as_deref()),
        McpCommand::Get { name } => get(args, name),
        McpCommand::Remove { scope, name } => remove(args, scope.map(Scope::from), name),
        McpCommand::Add {
            scope,
            transport,
            env,
            header,
            timeout,
            name,
            target,
        } => {
            let wanted = add::Wanted {
                transport: *transport,
                env,
                headers: header,
                timeout: *timeout,
                target,
            };
            add::add(args, (*scope).into(), name, &wanted.definition()?)
        }
        McpCommand::AddJson { scope, name, json } => {
            add::add(args, (*scope).into(), name, &add::parsed(json)?)
        }
    }
}

/// The project; a wrong file is an error with its name, line and column.
fn find(args: &Args) -> Result<Project, UsageError> {
    let project = Project::find(args, Audience::Person)?;
    for warning in &project.servers.warnings {
        print_message(&format!("note: {warning}"));
    }
    Ok(project)
}

fn places(args: &Args) -> Result<Places, UsageError> {
    let project = Project::inspect(args, Audience::Person, &TrustAnswer::default())?;
    Ok(Places {
        dirs: project.dirs,
        workspace: project.workspace,
    })
}

fn list(args: &Args, as_json: bool) -> Result<u8, UsageError> {
    let project = find(args)?;
    let mut rows = rows(&project.servers);
    if let Some(code) = check_all(args, &project, &mut rows)? {
        return Ok(code);
    }
    if as_json {
        let rows = rows.iter().map(|row| {
            json!({
                "name": row.name, "source": row.source, "transport": row.shown,
                "status": row.state.name(), "detail": row.detail, "tools": row.tools,
            })
        });
        print_line(&rows.collect::<serde_json::Value>().to_string());
        return Ok(0);
    }
    if rows.is_empty() {
        print_line("No MCP servers. Add one: agent-tui mcp add NAME -- COMMAND");
    }
    for row in rows {
        let detail = row.detail.map(|detail| format!(": {detail}"));
        let line = format!(
            "{}: {} - {}{} ({})",
            row.name,
            row.shown,
            mark(row.state),
            detail.unwrap_or_default(),
            row.source
        );
        if !print_line(&clean(&line)) {
            break;
        }
    }
    Ok(0)
}

struct Row {
    name: String,
    source: String,
    shown: String,
    state: McpState,
    detail: Option<String>,
    /// The names of its tools.
    tools: Vec<String>,
}

/// All servers by name, as far as their configuration tells.
fn rows(servers: &Loaded) -> Vec<Row> {
    let usable = servers.servers.iter().map(|server| Row {
        name: server.name.clone(),
        source: server.file.clone(),
        shown: server.shown.clone(),
        state: if server.trusted {
            McpState::Connecting
        } else {
            McpState::Untrusted
        },
        detail: None,
        tools: Vec::new(),
    });
    let unusable = servers.unusable.iter().map(|server| Row {
        name: server.name.clone(),
        source: server.file.clone(),
        shown: server.shown.clone(),
        state: server.state,
        detail: Some(server.why.clone()),
        tools: Vec::new(),
    });
    let mut rows: Vec<Row> = usable.chain(unusable).collect();
    rows.sort_by(|one, other| one.name.cmp(&other.name));
    rows
}

/// Connects to all servers that may be started, and notes what was found. Returns an exit code if it was interrupted.
#[cfg(feature = "mcp")]
fn check_all(args: &Args, project: &Project, rows: &mut [Row]) -> Result<Option<u8>, UsageError> {
    check::all(args, project, rows)
}

#[cfg(not(feature = "mcp"))]
#[expect(clippy::unnecessary_wraps, reason = "the other one can fail")]
fn check_all(_: &Args, _: &Project, _: &mut [Row]) -> Result<Option<u8>, UsageError> {
    Ok(None)
}

#[cfg(feature = "mcp")]
fn test(args: &Args, name: &str) -> Result<u8, UsageError> {
    let project = find(args)?;
    let mut unusable = project.servers.unusable.iter();
    match (
        project.servers.find(name),
        unusable.find(|server| server.name == name),
    ) {
        (Some(server), _) if server.trusted => check::one(args, &project, server),
        (Some(server), _) => {
            let file = &server.file;
            print_message(&format!(
                "error: `{}` comes from {file}, which you have not trusted",
                clean(name)
            ));
            print_message("hint: start agent-tui here to review it, or use --trust");
            Ok(1)
        }
        (None, Some(server)) => {
            print_message(&format!("error: {}: {}", clean(name), clean(&server.why)));
            Ok(1)
        }
        (None, None) => Ok(unknown(&project.servers, name)),
    }
}

#[cfg(not(feature = "mcp"))]
fn test(_: &Args, _: &str) -> Result<u8, UsageError> {
    Err(UsageError::new("this build can't connect to MCP servers")
        .hint("build it with the feature `mcp`"))
}

#[cfg(not(feature = "oauth"))]
fn login(_: &Args, _: &str, _: Option<u16>, _: Option<&str>) -> Result<u8, UsageError> {
    Err(UsageError::new("this build can't log in to MCP servers")
        .hint("build it with the feature `oauth`"))
}

fn mark(state: McpState) -> &'static str {
    match state {
        McpState::Ready => "✓ connected",
        McpState::Connecting => "◌ not checked",
        McpState::Failed => "✗ failed",
        McpState::NeedsLogin => "! needs login",
        McpState::Disabled => "○ off",
        McpState::Untrusted => "○ not trusted; start agent-tui here to review it",
        McpState::Unusable => "✗ unusable",
    }
}

fn get(args: &Args, name: &str) -> Result<u8, UsageError> {
    let project = find(args)?;
    if let Some(server) = project.servers.find(name) {
        show(server);
        return Ok(0);
    }
    let mut unusable = project.servers.unusable.iter();
    if let Some(server) = unusable.find(|server| server.name == name) {
        field("name", &server.name);
        field("file", &server.file);
        field("target", &server.shown);
        field("state", &format!("{}: {}", mark(server.state), server.why));
        return Ok(0);
    }
    Ok(unknown(&project.servers, name))
}

fn show(server: &Server) {
    field("name", &server.name);
    let scope = match &server.source {
        Source::User => Scope::User.name(),
        Source::Project => Scope::Project.name(),
        Source::Local => Scope::Local.name(),
        Source::CommandLine(_) => "this run only",
    };
    field("scope", &format!("{scope} ({})", server.file));
    let values = match &server.transport {
        Transport::Stdio { env, .. } => {
            field("type", "stdio");
            field("command", &server.shown);
            ("env", env)
        }
        Transport::Http { headers, .. } => {
            field("type", "http");
            field("url", &server.shown);
            ("header", headers)
        }
    };
    for name in values.1.keys() {
        field(values.0, &format!("{name}: {MASK}"));
    }
    field("timeout", &format!("{} ms", server.timeout.as_millis()));
    let trusted = if server.trusted {
        "yes"
    } else {
        "no; start agent-tui here to review it"
    };
    field("trusted", trusted);
}

fn field(name: &str, value: &str) {
    print_line(&format!("{name:<8} {}", clean(value)));
}

fn remove(args: &Args, scope: Option<Scope>, name: &str) -> Result<u8, UsageError> {
    let places = places(args)?;
    let found: Vec<Scope> = Scope::ALL
        .into_iter()
        .filter(|it| scope.is_none_or(|scope| scope == *it))
        .filter(|it| places.find(*it, name).is_some())
        .collect();
    match found[..] {
        [scope] => {
            let file = places
                .remove(scope, name)
                .map_err(|error| unsaved(&error))?;
            print_line(&format!(
                "Removed `{}` from {}",
                clean(name),
                file.display()
            ));
            Ok(0)
        }
        [] => {
            let project = find(args)?;
            let defined = project.servers.find(name).map(|server| server.file.clone());
            match defined {
                Some(file) => {
                    print_message(&format!("error: `{}` is defined in {file}", clean(name)));
                    print_message("hint: remove it from that file");
                    Ok(1)
                }
                None => Ok(unknown(&project.servers, name)),
            }
        }
        _ => {
            let scopes: Vec<&str> = found.iter().map(|scope| scope.name()).collect();
            let problem = format!("`{}` exists in scope {}", clean(name), scopes.join(" and "));
            Err(UsageError::new(problem).hint("choose one with --scope"))
        }
    }
}

/// Says that there is no such server; returns the exit code.
fn unknown(servers: &Loaded, name: &str) -> u8 {
    print_message(&format!("error: no MCP server named `{}`", clean(name)));
    let usable = servers.servers.iter().map(|server| server.name.as_str());
    let unusable = servers.unusable.iter().map(|server| server.name.as_str());
    match nearest(name, usable.chain(unusable)) {
        Some(nearest) => print_message(&format!("hint: did you mean `{}`?", clean(nearest))),
        None => print_message("hint: see `agent-tui mcp list`"),
    }
    1
}

fn unsaved(error: &SaveError) -> UsageError {
    UsageError::new(error.to_string()).hint("fix the file, then try again")
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Local => Scope::Local,
            ScopeName::Project => Scope::Project,
            ScopeName::User => Scope::User,
        }
    }
}
