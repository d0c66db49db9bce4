//! The definition of one server in a file.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::{Entry, Inputs, Loaded, Page, Server, TIMEOUT, Transport, Unusable};
use crate::config::json::Node;
use crate::mcp::expand::expand;
use crate::mcp::mask;
use crate::protocol::McpState;
use crate::settings::SettingsError;
use crate::settings::trust::server_mark;
use crate::text::{cut, nearest};

const FIELDS: [&str; 8] = [
    "type", "command", "args", "env", "url", "headers", "timeout", "disabled",
];
/// Values of `type` that other clients know.
const OTHER_TYPES: [&str; 5] = ["sse", "sse-ide", "ws", "ws-ide", "sdk"];
/// Claude Code counts `timeout` in milliseconds. A smaller number can only be meant as seconds.
const FEWEST_MILLIS: u64 = 1_000;
/// Longer names could not be part of a tool's name anyway.
const LONGEST_NAME: usize = 100;

pub(super) struct Definition<'d> {
    pub(super) name: &'d str,
    pub(super) value: &'d Value,
    pub(super) node: &'d Node,
    pub(super) page: &'d Page<'d>,
}

/// The values of the fields, before variables are expanded.
struct Fields {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    timeout: Duration,
    disabled: bool,
    /// The value of `type`.
    kind: Option<String>,
}

impl Definition<'_> {
    /// The server. `None` if its definition is wrong, which is then one of the errors.
    pub(super) fn read(&self, inputs: Inputs<'_>, found: &mut Loaded) -> Option<Entry> {
        self.warn_about_unknown(found);
        let fields = match self.fields() {
            Ok(fields) => fields,
            Err(error) => {
                found.errors.push(error);
                return None;
            }
        };
        let shown = match (&fields.command, &fields.url) {
            (Some(command), _) => mask::command_line(command, &fields.args),
            (None, Some(url)) => mask::address(url),
            (None, None) => String::new(),
        };
        let unusable = |state, why: String| {
            Some(Entry::Unusable(Unusable {
                name: self.name.to_owned(),
                source: self.page.source.clone(),
                file: self.page.name.clone(),
                shown: shown.clone(),
                state,
                why,
            }))
        };
        if let Some(kind) = fields.kind.as_deref().filter(|it| OTHER_TYPES.contains(it)) {
            let why = format!("type `{kind}` is not supported; use `http` or `stdio`");
            return unusable(McpState::Unusable, why);
        }
        if fields.disabled {
            let why = format!("`disabled` in {}", self.page.name);
            return unusable(McpState::Disabled, why);
        }
        let timeout = fields.timeout;
        let transport = match transport(fields, inputs) {
            Ok(transport) => transport,
            Err(why) => return unusable(McpState::Unusable, why),
        };
        let mark = server_mark(&self.page.name, self.name, self.value);
        Some(Entry::Usable(Server {
            name: self.name.to_owned(),
            source: self.page.source.clone(),
            file: self.page.name.clone(),
            transport,
            shown,
            timeout,
            trusted: self.is_trusted(inputs, &mark),
            mark,
        }))
    }

    /// What is wrong with it, without a place.
    pub(super) fn check(&self) -> Result<(), String> {
        let checked = self.fields().map(drop);
        checked.map_err(|error| match error {
            SettingsError::Wrong { wrong, .. } => wrong.problem,
            other => other.to_string(),
        })
    }

    fn is_trusted(&self, inputs: Inputs<'_>, mark: &str) -> bool {
        !self.page.of_project
            || inputs.trusted
            || inputs.memory.has_added(mark)
            || (inputs.attended && inputs.memory.has_trusted(mark))
    }

    fn warn_about_unknown(&self, found: &mut Loaded) {
        for member in self.node.members() {
            let name = member.name.as_str();
            if FIELDS.contains(&name) {
                continue;
            }
            let meant = nearest(name, FIELDS).map(|meant| format!("; did you mean `{meant}`?"));
            let (field, server) = (cut(name), cut(self.name));
            let meant = meant.unwrap_or_default();
            let problem = format!("unknown field `{field}` of MCP server `{server}`{meant}");
            let wrong = self.page.wrong_at(member.start, problem);
            found.warnings.push(wrong.to_string());
        }
    }

    fn fields(&self) -> Result<Fields, SettingsError> {
        let name = self.name;
        if name.trim().is_empty() || name.contains(char::is_control) || name.len() > LONGEST_NAME {
            let problem = format!("`{}` is not a valid name of an MCP server", cut(name));
            return Err(self.page.wrong_at(self.node.span.start, problem));
        }
        if !self.value.is_object() {
            return Err(self.wrong(None, "must be an object with `command` or `url`"));
        }
        let fields = Fields {
            kind: self.text("type")?,
            command: self.text("command")?,
            args: self.list("args")?,
            env: self.map("env")?,
            url: self.text("url")?,
            headers: self.map("headers")?,
            timeout: self.timeout()?,
            disabled: match &self.value["disabled"] {
                Value::Null => false,
                Value::Bool(disabled) => *disabled,
                _ => return Err(self.wrong(Some("disabled"), "must be true or false")),
            },
        };
        let has = (fields.command.is_some(), fields.url.is_some());
        match (fields.kind.as_deref(), has) {
            (None, (true, true)) => Err(self.wrong(None, "has `command` and `url`; remove one")),
            (None, (false, false)) => Err(self.wrong(None, "needs `command` or `url`")),
            (Some("stdio"), (false, _)) => Err(self.wrong(None, "needs `command`")),
            (Some("http" | "streamable-http"), (_, false)) => Err(self.wrong(None, "needs `url`")),
            (None | Some("stdio" | "http" | "streamable-http"), _) => Ok(fields),
            (Some(other), _) if OTHER_TYPES.contains(&other) => Ok(fields),
            (Some(_), _) => Err(self.wrong(Some("type"), "must be `stdio` or `http`")),
        }
    }

    /// A mistake in this server, at the value of a field or at the whole.
    fn wrong(&self, field: Option<&str>, problem: &str) -> SettingsError {
        let node = field.and_then(|field| self.node.get(field));
        let name = cut(self.name);
        let problem = match field {
            Some(field) => format!("`{field}` of MCP server `{name}` {problem}"),
            None => format!("MCP server `{name}` {problem}"),
        };
        let at = node.unwrap_or(self.node).span.start;
        self.page.wrong_at(at, problem)
    }

    fn text(&self, field: &str) -> Result<Option<String>, SettingsError> {
        match &self.value[field] {
            Value::Null => Ok(None),
            Value::String(text) if text.trim().is_empty() => {
                Err(self.wrong(Some(field), "is empty"))
            }
            Value::String(text) if text.contains('\0') => {
                Err(self.wrong(Some(field), "contains a null character"))
            }
            Value::String(text) => Ok(Some(text.clone())),
            _ => Err(self.wrong(Some(field), "must be a text")),
        }
    }

    fn list(&self, field: &str) -> Result<Vec<String>, SettingsError> {
        let wrong = || self.wrong(Some(field), "must be a list of texts");
        let items = match &self.value[field] {
            Value::Null => return Ok(Vec::new()),
            Value::Array(items) => items.iter(),
            _ => return Err(wrong()),
        };
        let text = |item: &Value| match item {
            Value::String(text) if !text.contains('\0') => Ok(text.clone()),
            _ => Err(wrong()),
        };
        items.map(text).collect()
    }

    fn map(&self, field: &str) -> Result<BTreeMap<String, String>, SettingsError> {
        let wrong = || self.wrong(Some(field), "must be an object of texts");
        let members = match &self.value[field] {
            Value::Null => return Ok(BTreeMap::new()),
            Value::Object(members) => members.iter(),
            _ => return Err(wrong()),
        };
        let text = |(name, value): (&String, &Value)| match value {
            _ if name.is_empty() || name.contains(['=', '\0', ' ', '\n']) => Err(wrong()),
            Value::String(text) if !text.contains('\0') => Ok((name.clone(), text.clone())),
            Value::Number(number) => Ok((name.clone(), number.to_string())),
            Value::Bool(value) => Ok((name.clone(), value.to_string())),
            _ => Err(wrong()),
        };
        members.map(text).collect()
    }

    fn timeout(&self) -> Result<Duration, SettingsError> {
        match &self.value["timeout"] {
            Value::Null => Ok(TIMEOUT),
            value => match value.as_u64() {
                Some(0) | None => Err(self.wrong(
                    Some("timeout"),
                    "must be a whole number of milliseconds above 0",
                )),
                Some(seconds) if seconds < FEWEST_MILLIS => Ok(Duration::from_secs(seconds)),
                Some(millis) => Ok(Duration::from_millis(millis)),
            },
        }
    }
}

/// The transport with the values of all variables; or why it cannot be used.
fn transport(fields: Fields, inputs: Inputs<'_>) -> Result<Transport, String> {
    let expanded = |text: &str| {
        expand(text, inputs.variables).map_err(|name| {
            format!("${{{name}}} is not set; set it, or write ${{{name}:-default}}")
        })
    };
    let all = |texts: BTreeMap<String, String>| {
        let texts = texts.into_iter();
        let pairs = texts.map(|(name, text)| Ok((name, expanded(&text)?)));
        pairs.collect::<Result<BTreeMap<String, String>, String>>()
    };
    let is_http = match fields.kind.as_deref() {
        Some(kind) => kind != "stdio",
        None => fields.url.is_some(),
    };
    match (fields.command, fields.url) {
        (_, Some(url)) if is_http => {
            let (url, headers) = (expanded(&url)?, all(fields.headers)?);
            check_address(&url)?;
            for (name, value) in &headers {
                let is_valid = HeaderName::try_from(name.as_str()).is_ok()
                    && HeaderValue::try_from(value.as_str()).is_ok();
                if !is_valid {
                    return Err(format!("header `{}` is not valid in HTTP", cut(name)));
                }
            }
            Ok(Transport::Http { url, headers })
        }
        (Some(command), _) => {
            let args = fields.args.iter().map(|argument| expanded(argument));
            Ok(Transport::Stdio {
                command: expanded(&command)?,
                args: args.collect::<Result<_, _>>()?,
                env: all(fields.env)?,
            })
        }
        // The fields were checked before.
        (None, _) => Err("needs `command` or `url`".to_owned()),
    }
}

/// Whether this is an address that a server can have.
pub fn check_address(url: &str) -> Result<(), String> {
    let parsed = reqwest::Url::parse(url);
    let is_web = |url: &reqwest::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if parsed.as_ref().is_ok_and(is_web) {
        return Ok(());
    }
    Err(format!(
        "`{}` is not an http or https address",
        mask::address(url)
    ))
}
