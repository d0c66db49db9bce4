use std::time::Duration;

use super::slash::{flash, run};
use crate::app::dialogs::Dialog;
use crate::app::dialogs::picker::{Kind, Picker};
use crate::app::rig::App;
use crate::app::{Effect, Msg};
use crate::keymap::Context;
use crate::protocol::{
    AgentEvent, Command, McpCommand, McpServerStatus, McpState, McpToolStatus, SessionCommand,
    SessionEvent,
};

/// A server in a state, with its details.
pub fn server(name: &str, state: McpState, detail: Option<&str>) -> McpServerStatus {
    McpServerStatus {
        name: name.to_owned(),
        source: ".mcp.json".to_owned(),
        state,
        detail: detail.map(str::to_owned),
        transport: format!("npx -y @{name}/mcp"),
        tools: Vec::new(),
        ready_after: None,
        calls: 0,
        stderr_tail: Vec::new(),
    }
}

/// A server that is ready, with these tools.
pub fn ready(name: &str, tools: &[&str]) -> McpServerStatus {
    let tool = |tool: &&str| McpToolStatus {
        name: (*tool).to_owned(),
        wire_name: format!("mcp__{name}__{tool}"),
        description: format!("What {tool} does, in a sentence"),
        tokens: 120,
        enabled: true,
    };
    McpServerStatus {
        tools: tools.iter().map(tool).collect(),
        ready_after: Some(Duration::from_millis(820)),
        ..server(name, McpState::Ready, None)
    }
}

pub fn receive_servers(app: &mut App, servers: &[McpServerStatus]) {
    let event = SessionEvent::Mcp(servers.to_vec());
    app.receive(AgentEvent::Session(event));
}

/// The list of these servers.
pub fn listed(servers: &[McpServerStatus]) -> App {
    let mut app = App::new();
    run(&mut app, "/mcp");
    receive_servers(&mut app, servers);
    app
}

fn list(app: &App) -> &Picker {
    match app.state.dialogs.last() {
        Some(Dialog::Picker(picker)) => picker,
        other => panic!("no list is open: {other:?}"),
    }
}

/// The number of tools and the state of each server.
fn states(app: &App) -> Vec<&str> {
    let items = list(app).items().iter();
    items.map(|item| item.about.trim_start()).collect()
}

fn sends(app: &mut App, keys: &str) -> Vec<McpCommand> {
    let commands = app.commands(keys).into_iter();
    let about_servers = commands.filter_map(|command| match command {
        Command::Session(SessionCommand::Mcp(command)) => Some(command),
        _ => None,
    });
    about_servers.collect()
}

#[test]
fn the_list_opens_with_what_the_agent_reports() {
    let mut app = App::new();
    let asks = run(&mut app, "/mcp");
    let list_them = Command::Session(SessionCommand::Mcp(McpCommand::List));
    assert_eq!(asks, [Effect::Send(list_them)]);
    assert!(app.state.dialogs.is_empty());
    receive_servers(&mut app, &[ready("github", &["search"])]);
    assert_eq!(list(&app).kind, Kind::Servers);
    assert_eq!(app.state.contexts()[0], Context::Servers);
    assert_eq!(states(&app), ["1 tool  ready in 0.8s"]);
}

#[test]
fn without_servers_it_says_how_to_add_one() {
    let app = listed(&[]);
    assert!(app.state.dialogs.is_empty());
    let words = "no MCP servers; add one: agent-tui mcp add NAME -- COMMAND";
    assert_eq!(flash(&app), Some(words));
}

#[test]
fn a_server_that_starts_shows_for_how_long_and_the_list_follows_events() {
    let mut app = listed(&[server("browser", McpState::Connecting, None)]);
    assert_eq!(states(&app), ["–  starting · 0s"]);
    let wake = app.state.wake_at().expect("the seconds change");
    assert!(wake <= app.state.now + Duration::from_secs(1));
    app.after(Duration::from_secs(4));
    app.update(Msg::Tick);
    receive_servers(&mut app, &[server("browser", McpState::Connecting, None)]);
    assert_eq!(states(&app), ["–  starting · 4s"]);
    receive_servers(&mut app, &[ready("browser", &["click"])]);
    assert_eq!(states(&app), ["1 tool  ready in 0.8s"]);
    assert_eq!(app.state.wake_at(), None, "nothing changes by itself");
}

#[test]
fn keys_restart_switch_and_show_the_log_of_the_chosen_server() {
    let mut off = server("b", McpState::Disabled, None);
    off.stderr_tail = vec!["bye".to_owned()];
    let mut app = listed(&[ready("a", &["x"]), off]);
    assert_eq!(sends(&mut app, "r"), [McpCommand::Restart("a".to_owned())]);
    let set = |server: &str, on| McpCommand::SetServer {
        server: server.to_owned(),
        on,
    };
    assert_eq!(sends(&mut app, "space"), [set("a", false)]);
    assert_eq!(sends(&mut app, "j space"), [set("b", true)]);
    app.press("l");
    assert!(matches!(app.state.dialogs.last(), Some(Dialog::Pager(_))));
    app.press("esc");
    assert_eq!(list(&app).chosen_number(), 1);
}

#[test]
fn enter_opens_the_tools_which_can_be_switched_one_by_one() {
    let mut github = ready("github", &["search", "merge"]);
    let mut app = listed(std::slice::from_ref(&github));
    app.press("enter");
    assert_eq!(list(&app).kind, Kind::ServerTools);
    let set = |on| McpCommand::SetTool {
        server: "github".to_owned(),
        tool: "merge".to_owned(),
        on,
    };
    assert_eq!(sends(&mut app, "down space"), [set(false)]);
    github.tools[1].enabled = false;
    receive_servers(&mut app, std::slice::from_ref(&github));
    assert_eq!(list(&app).chosen_number(), 1, "the same tool is chosen");
    assert_eq!(sends(&mut app, "space"), [set(true)]);
    app.press("esc");
    assert_eq!(list(&app).kind, Kind::Servers);
    app.press("q");
    assert!(app.state.dialogs.is_empty());
}

#[test]
fn a_server_of_the_project_is_trusted_with_the_same_key_twice() {
    let mut app = listed(&[server("files", McpState::Untrusted, None)]);
    assert_eq!(sends(&mut app, "t"), []);
    assert_eq!(
        sends(&mut app, "t"),
        [McpCommand::Trust("files".to_owned())]
    );
    assert_eq!(sends(&mut app, "t j t"), [], "another key in between");
    assert_eq!(sends(&mut app, "space r i"), []);
}

#[test]
fn a_failure_is_told_in_one_line_and_only_once() {
    let mut app = App::new();
    let failed = |name: &str| server(name, McpState::Failed, Some("exit 1"));
    receive_servers(
        &mut app,
        &[failed("a"), server("b", McpState::Connecting, None)],
    );
    assert_eq!(flash(&app), Some("MCP server a failed · /mcp"));
    app.state.flash = None;
    // It tries again, and fails again.
    receive_servers(&mut app, &[server("a", McpState::Connecting, None)]);
    receive_servers(&mut app, &[failed("a")]);
    assert_eq!(flash(&app), None);
    receive_servers(&mut app, &[failed("a"), failed("b")]);
    assert_eq!(flash(&app), Some("2 MCP servers failed · /mcp"));
    app.state.flash = None;
    // It worked in between.
    receive_servers(&mut app, &[ready("a", &[]), failed("b")]);
    receive_servers(&mut app, &[failed("a"), failed("b")]);
    assert_eq!(flash(&app), Some("2 MCP servers failed · /mcp"));
}

#[test]
fn a_login_is_offered_where_it_is_needed() {
    let mut app = listed(&[server("docs", McpState::NeedsLogin, None), ready("a", &[])]);
    assert_eq!(flash(&app), Some("MCP server docs needs a login · /mcp"));
    assert_eq!(sends(&mut app, "i"), [McpCommand::Login("docs".to_owned())]);
    assert_eq!(sends(&mut app, "down i"), []);
}
