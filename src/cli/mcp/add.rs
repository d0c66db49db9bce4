//! `agent-tui mcp add` and `mcp add-json`.

use serde_json::{Map, Value, json};

use super::super::args::{Args, TransportName};
use super::super::{UsageError, print_line};
use super::{places, unsaved};
use crate::mcp::config::{check_address, check_definition};
use crate::mcp::store::Scope;
use crate::text::clean;

/// The arguments of `mcp add`.
pub struct Wanted<'w> {
    pub transport: Option<TransportName>,
    pub env: &'w [String],
    pub headers: &'w [String],
    pub timeout: Option<u64>,
    /// A command with its arguments, or an address.
    pub target: &'w [String],
}

impl Wanted<'_> {
    /// The server as a file defines it.
    pub fn definition(&self) -> Result<Value, UsageError> {
        let (first, rest) = self.target.split_first().ok_or_else(|| {
            UsageError::new("no command or address given")
                .hint("e.g. `agent-tui mcp add NAME -- npx -y some-server`")
        })?;
        let is_address = first.starts_with("http://") || first.starts_with("https://");
        let is_http = match self.transport {
            Some(TransportName::Http) => true,
            Some(TransportName::Stdio) => false,
            None => is_address && rest.is_empty(),
        };
        let mut server = if is_http {
            self.address(first, rest)?
        } else {
            self.command(first, rest)?
        };
        if let Some(timeout) = self.timeout {
            server["timeout"] = timeout.into();
        }
        Ok(server)
    }

    fn command(&self, command: &str, arguments: &[String]) -> Result<Value, UsageError> {
        if !self.headers.is_empty() {
            return Err(UsageError::new("--header needs --transport http")
                .hint("a command gets its values with --env NAME=VALUE"));
        }
        let mut server = json!({"type": "stdio", "command": command, "args": arguments});
        let env = self.env.iter().map(|pair| match pair.split_once('=') {
            Some((name, value)) if !name.trim().is_empty() => Ok((name.to_owned(), value.into())),
            _ => Err(
                UsageError::new(format!("--env: `{}` is not NAME=VALUE", clean(pair)))
                    .hint("e.g. --env API_KEY=value"),
            ),
        });
        let env = env.collect::<Result<Map<String, Value>, _>>()?;
        if !env.is_empty() {
            server["env"] = env.into();
        }
        Ok(server)
    }

    fn address(&self, url: &str, rest: &[String]) -> Result<Value, UsageError> {
        if let [extra, ..] = rest {
            let problem = format!("`{}` after the address", clean(extra));
            return Err(UsageError::new(problem).hint("an http server takes an address only"));
        }
        if !self.env.is_empty() {
            return Err(UsageError::new("--env needs a command")
                .hint("an http server gets its values with --header"));
        }
        // With a variable in it, the address is known only later.
        if !url.contains("${") {
            check_address(url).map_err(|problem| {
                UsageError::new(problem).hint("e.g. https://mcp.example.com/mcp")
            })?;
        }
        let mut server = json!({"type": "http", "url": url});
        let headers = self
            .headers
            .iter()
            .map(|header| match header.split_once(':') {
                Some((name, value)) if !name.trim().is_empty() => {
                    Ok((name.trim().to_owned(), value.trim().into()))
                }
                _ => Err(UsageError::new("--header: expected NAME: VALUE")
                    .hint("e.g. --header 'Authorization: Bearer ${TOKEN}'")),
            });
        let headers = headers.collect::<Result<Map<String, Value>, _>>()?;
        if !headers.is_empty() {
            server["headers"] = headers.into();
        }
        Ok(server)
    }
}

/// A definition that the person wrote.
pub fn parsed(text: &str) -> Result<Value, UsageError> {
    serde_json::from_str(text)
        .map_err(|error| UsageError::new(format!("the definition is not valid JSON: {error}")))
}

pub fn add(args: &Args, scope: Scope, name: &str, server: &Value) -> Result<u8, UsageError> {
    let is_legal = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    if name.is_empty() || !name.chars().all(is_legal) {
        let problem = format!("`{}` is not a valid name", clean(name));
        return Err(UsageError::new(problem).hint("use letters, digits, - and _"));
    }
    check_definition(name, server).map_err(UsageError::new)?;
    let places = places(args)?;
    if places.find(scope, name).is_some() {
        let problem = format!(
            "`{name}` exists already in {}",
            places.file(scope).display()
        );
        let remove = format!("agent-tui mcp remove --scope {} {name}", scope.name());
        return Err(UsageError::new(problem).hint(format!("remove it first: `{remove}`")));
    }
    let file = places.add(scope, name, server);
    let file = file.map_err(|error| unsaved(&error))?;
    print_line(&format!("Added `{name}` to {}", file.display()));
    print_line(&format!("Check it: agent-tui mcp test {name}"));
    Ok(0)
}
