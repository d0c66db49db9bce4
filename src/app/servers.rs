//! `/mcp`: the MCP servers as a list, the tools of one of them, and what a person can do with them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::dialogs::Dialog;
use super::dialogs::picker::{Choice, Item, Kind, Mark, Picker};
use super::page::{Line, Tone, fields, lines};
use super::{AppState, Effect};
use crate::keymap::Action;
use crate::protocol::{
    Command, McpCommand, McpServerStatus, McpState, McpToolStatus, SessionCommand,
};
use crate::text::{first_line, plural, whole_seconds};

/// How much of a problem is shown in a server's row.
const LONGEST_STATE: usize = 100;
/// How much of a file's name is shown in a server's row: its end.
const LONGEST_SOURCE: usize = 18;
/// How many of a server's last lines are shown below the list.
const LAST_LINES: usize = 6;
/// How much of a tool's description is shown in its row.
const LONGEST_ABOUT: usize = 200;

/// What the screen knows about the MCP servers.
#[derive(Debug, Default)]
pub struct Servers {
    list: Vec<McpServerStatus>,
    /// When those that are connecting began.
    since: BTreeMap<String, Instant>,
    /// The servers whose failure the person has seen. Each is told once, however often it tries again.
    reported: BTreeSet<String>,
    /// The person asked for the list.
    wanted: bool,
}

/// The keys for a server that waits for the person's trust.
const UNTRUSTED: &[(Action, &str)] = &[
    (Action::TrustServer, "trust and start"),
    (Action::Back, "close"),
];
/// The keys for a server whose tools have changed.
const CHANGED: &[(Action, &str)] = &[
    (Action::TrustServer, "accept changes"),
    (Action::Choose, "tools"),
    (Action::Switch, "off/on"),
    (Action::ShowLog, "log"),
    (Action::Back, "close"),
];
/// The keys for a server that wants a login.
const LOGIN: &[(Action, &str)] = &[
    (Action::Login, "log in"),
    (Action::RestartServer, "restart"),
    (Action::Switch, "off/on"),
    (Action::ShowLog, "log"),
    (Action::Back, "close"),
];
/// The keys for a server that has no tools yet.
const WITHOUT_TOOLS: &[(Action, &str)] = &[
    (Action::RestartServer, "restart"),
    (Action::Switch, "off/on"),
    (Action::ShowLog, "log"),
    (Action::Choose, "read all"),
    (Action::Back, "close"),
];
/// The keys for a server whose file has to be changed first.
const UNUSABLE: &[(Action, &str)] = &[(Action::Back, "close")];

impl AppState {
    /// Opens the list as soon as the agent has reported the servers.
    pub(super) fn ask_for_servers(&mut self) -> Vec<Effect> {
        self.servers.wanted = true;
        vec![send(McpCommand::List)]
    }

    pub(super) fn on_servers(&mut self, servers: Vec<McpServerStatus>) {
        let now = self.now;
        let before = std::mem::take(&mut self.servers.since);
        for server in &servers {
            if server.state == McpState::Connecting {
                let since = before.get(&server.name).copied().unwrap_or(now);
                self.servers.since.insert(server.name.clone(), since);
            }
        }
        self.servers.list = servers;
        self.show_failures();
        if !std::mem::take(&mut self.servers.wanted) {
            return self.refresh_servers();
        }
        if self.servers.list.is_empty() {
            self.flash("no MCP servers; add one: agent-tui mcp add NAME -- COMMAND");
            return;
        }
        let items = self.server_items();
        self.open_picker(Picker::new(Kind::Servers, items));
    }

    /// One line for all that has failed since the last one.
    fn show_failures(&mut self) {
        let Servers { list, reported, .. } = &mut self.servers;
        let mut failed: Vec<(&str, McpState)> = Vec::new();
        let mut is_new = false;
        for server in list {
            match server.state {
                McpState::Failed | McpState::NeedsLogin | McpState::Unusable => {
                    is_new |= reported.insert(server.name.clone());
                    failed.push((&server.name, server.state));
                }
                McpState::Ready | McpState::Disabled | McpState::Untrusted => {
                    reported.remove(&server.name);
                }
                // It may be another attempt of one that was told.
                McpState::Connecting => {}
            }
        }
        let text = match failed[..] {
            _ if !is_new => return,
            [(name, McpState::NeedsLogin)] => format!("MCP server {name} needs a login · /mcp"),
            [(name, _)] => format!("MCP server {name} failed · /mcp"),
            _ => format!("{} failed · /mcp", plural(failed.len(), "MCP server")),
        };
        self.flash_error(text);
    }

    /// Updates the lists that are open.
    pub(super) fn refresh_servers(&mut self) {
        if self.picker_mut(Kind::Servers).is_none() {
            return;
        }
        let items = self.server_items();
        if let Some(picker) = self.picker_mut(Kind::Servers)
            && items != picker.items()
        {
            picker.replace(items);
        }
        let shown = self.picker_mut(Kind::ServerTools);
        let shown = shown.and_then(|picker| picker.items().first().map(|it| it.choice.clone()));
        let Some(Choice::ServerTool { server, .. }) = shown else {
            return;
        };
        let items = self.tool_items(&server);
        if items.is_empty() {
            self.close_picker(Kind::ServerTools);
        } else if let Some(picker) = self.picker_mut(Kind::ServerTools)
            && items != picker.items()
        {
            picker.replace(items);
        }
    }

    /// When the list changes by time alone: it shows how long a server has been connecting.
    pub(super) fn servers_wake_at(&self) -> Option<Instant> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last() else {
            return None;
        };
        let since = self.servers.since.values();
        let next = since.map(|since| super::next_step(*since, self.now)).min();
        next.filter(|_| picker.kind == Kind::Servers)
    }

    /// The chosen server's tools; if it has none, all that is known about it.
    pub(super) fn open_server(&mut self, name: &str) -> Vec<Effect> {
        let items = self.tool_items(name);
        if items.is_empty() {
            return self.read_chosen();
        }
        self.open_picker(Picker::new(Kind::ServerTools, items));
        Vec::new()
    }

    /// What a key does to the chosen server or tool.
    pub(super) fn perform_on_server(&mut self, action: Action) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last_mut() else {
            return Vec::new();
        };
        let choice = picker.chosen().map(|item| item.choice.clone());
        let name = match choice {
            Some(Choice::ServerTool { server, tool }) => {
                return match action {
                    Action::Switch => self.switch_tool(server, tool),
                    _ => Vec::new(),
                };
            }
            Some(Choice::Server(name)) => name,
            _ => return Vec::new(),
        };
        let mut list = self.servers.list.iter();
        let Some(server) = list.find(|server| server.name == name) else {
            return Vec::new();
        };
        match (action, server.state) {
            (Action::ShowLog, _) => {
                let log = server.stderr_tail.join("\n");
                if log.is_empty() {
                    self.flash(format!("{name} has printed nothing"));
                } else {
                    self.open_page(&format!("Log of {name}"), lines(&log, Tone::Code));
                }
                Vec::new()
            }
            (_, McpState::Unusable) => {
                self.flash_error("fix its configuration, then start again");
                Vec::new()
            }
            (Action::TrustServer, McpState::Untrusted) => {
                if !picker.confirm(Action::TrustServer, "trust and start it") {
                    return Vec::new();
                }
                vec![send(McpCommand::Trust(name))]
            }
            (Action::TrustServer, McpState::Ready) if server.detail.is_some() => {
                if !picker.confirm(Action::TrustServer, "accept its changed tools") {
                    return Vec::new();
                }
                vec![send(McpCommand::Trust(name))]
            }
            (Action::TrustServer, _) => {
                self.flash("already trusted");
                Vec::new()
            }
            (_, McpState::Untrusted) => {
                self.flash("not trusted yet");
                Vec::new()
            }
            (Action::Switch, state) => {
                let on = state == McpState::Disabled;
                vec![send(McpCommand::SetServer { server: name, on })]
            }
            (Action::RestartServer, McpState::Disabled) => {
                self.flash(format!("{name} is off"));
                Vec::new()
            }
            (Action::RestartServer, _) => {
                self.servers.reported.remove(&name);
                self.flash(format!("restarting {name} …"));
                vec![send(McpCommand::Restart(name))]
            }
            (Action::Login, McpState::NeedsLogin) => {
                self.flash("opening the browser …");
                vec![send(McpCommand::Login(name))]
            }
            (Action::Login, _) => {
                self.flash(format!("{name} needs no login"));
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn switch_tool(&self, server: String, tool: String) -> Vec<Effect> {
        let mut list = self.servers.list.iter();
        let tools = list
            .find(|it| it.name == server)
            .map(|server| &server.tools[..]);
        let mut tools = tools.unwrap_or_default().iter();
        let known = tools.find(|it| it.name == tool);
        let set = known.map(|known| McpCommand::SetTool {
            server,
            tool,
            on: !known.enabled,
        });
        set.map(send).into_iter().collect()
    }

    fn server_items(&self) -> Vec<Item> {
        let item = |server: &McpServerStatus| {
            let tools = match (server.state, server.tools.len()) {
                (McpState::Ready, count) => plural(count, "tool"),
                (_, 0) => "–".to_owned(),
                (_, count) => plural(count, "tool"),
            };
            Item::new(&server.name, Choice::Server(server.name.clone()))
                .about(format!("{tools:>8}  {}", self.state_of(server)))
                .hint(source(server))
                .marked(Some(mark(server.state)))
                .preview(preview(server))
                .keys(match server.state {
                    McpState::Untrusted => UNTRUSTED,
                    McpState::NeedsLogin => LOGIN,
                    McpState::Unusable => UNUSABLE,
                    McpState::Connecting | McpState::Failed => WITHOUT_TOOLS,
                    McpState::Ready if server.detail.is_some() => CHANGED,
                    McpState::Ready | McpState::Disabled => &[],
                })
        };
        self.servers.list.iter().map(item).collect()
    }

    /// In a few words.
    fn state_of(&self, server: &McpServerStatus) -> String {
        let problem = |otherwise: &str| {
            let detail = server.detail.as_deref().unwrap_or(otherwise);
            first_line(detail, LONGEST_STATE)
        };
        match server.state {
            McpState::Ready => ready(server),
            McpState::Connecting => {
                let since = self.servers.since.get(&server.name);
                let passed = since.map(|since| self.now.saturating_duration_since(*since));
                let passed = passed.unwrap_or_default().as_secs();
                format!("starting · {}", whole_seconds(passed))
            }
            McpState::Failed => problem("failed"),
            McpState::NeedsLogin => "needs login".to_owned(),
            McpState::Disabled => "off".to_owned(),
            McpState::Untrusted => "not trusted yet".to_owned(),
            McpState::Unusable => problem("unusable"),
        }
    }

    fn tool_items(&self, server: &str) -> Vec<Item> {
        let mut list = self.servers.list.iter();
        let Some(status) = list.find(|it| it.name == server) else {
            return Vec::new();
        };
        let total: usize = status.tools.iter().map(|tool| tool.tokens).sum();
        let heading = format!(
            "{server} · {} · {total} tokens",
            plural(status.tools.len(), "tool")
        );
        let item = |tool: &McpToolStatus| {
            let choice = Choice::ServerTool {
                server: server.to_owned(),
                tool: tool.name.clone(),
            };
            let (mark, state) = if tool.enabled {
                (Mark::Ready, "on")
            } else {
                (Mark::Off, "off: the model does not get it")
            };
            let mut preview = lines(&tool.description, Tone::Text);
            preview.push(Line::blank());
            preview.extend(fields([
                ("in rules", tool.wire_name.clone()),
                ("size", format!("{} tokens", tool.tokens)),
                ("state", state.to_owned()),
            ]));
            Item::new(&tool.name, choice)
                .about(first_line(&tool.description, LONGEST_ABOUT))
                .hint(format!("{} tokens", tool.tokens))
                .under(heading.as_str())
                .marked(Some(mark))
                .preview(preview)
        };
        status.tools.iter().map(item).collect()
    }
}

fn send(command: McpCommand) -> Effect {
    Effect::Send(Command::Session(SessionCommand::Mcp(command)))
}

fn mark(state: McpState) -> Mark {
    match state {
        McpState::Ready => Mark::Ready,
        McpState::Connecting => Mark::Waiting,
        McpState::Failed | McpState::Unusable => Mark::Failed,
        McpState::NeedsLogin => Mark::Attention,
        McpState::Disabled | McpState::Untrusted => Mark::Off,
    }
}

/// The end of its file's name, which says more than the beginning.
fn source(server: &McpServerStatus) -> String {
    let letters = server.source.chars().count();
    if letters <= LONGEST_SOURCE {
        return server.source.clone();
    }
    let end = server.source.chars().skip(letters + 1 - LONGEST_SOURCE);
    std::iter::once('…').chain(end).collect()
}

fn ready(server: &McpServerStatus) -> String {
    let after = server.ready_after.map(|after| {
        let seconds = after.as_secs_f64();
        format!("ready in {seconds:.1}s")
    });
    let after = after.unwrap_or_else(|| "ready".to_owned());
    match usize::try_from(server.calls) {
        Ok(0) | Err(_) => after,
        Ok(calls) => format!("{after} · {}", plural(calls, "call")),
    }
}

/// What is known about a server, the most important first.
fn preview(server: &McpServerStatus) -> Vec<Line> {
    let name = format!("{}  ", server.name);
    let mut page = vec![Line::text(&server.transport).lead(Tone::Heading, name)];
    let tone = match server.state {
        McpState::Failed | McpState::Unusable => Tone::Bad,
        McpState::NeedsLogin | McpState::Untrusted => Tone::Warning,
        McpState::Ready | McpState::Connecting | McpState::Disabled => Tone::Muted,
    };
    if let Some(detail) = &server.detail {
        page.extend(lines(detail, tone));
    } else if server.state == McpState::Untrusted {
        let words = "It comes with the project. Check the command before you trust it.";
        page.push(Line::new(tone, words));
    }
    if server.state == McpState::Ready {
        let tokens: usize = server.tools.iter().map(|tool| tool.tokens).sum();
        let count = plural(server.tools.len(), "tool");
        page.push(Line::muted(format!(
            "{count} · {tokens} tokens · {}",
            ready(server)
        )));
    }
    let from = server.stderr_tail.len().saturating_sub(LAST_LINES);
    if let [first, rest @ ..] = &server.stderr_tail[from..] {
        page.push(Line::blank());
        let last = |line: &String| Line::new(Tone::Code, line).lead(Tone::Muted, "  ");
        page.push(Line::muted("Last lines"));
        page.push(last(first));
        page.extend(rest.iter().map(last));
    }
    page
}
