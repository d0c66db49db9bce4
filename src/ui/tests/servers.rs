use insta::assert_snapshot;

use crate::app::rig::App;
use crate::app::tests::servers::{listed, ready, server};
use crate::protocol::McpState;

const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 40), (200, 60)];

fn at_all_sizes(name: &str, app: impl Fn() -> App) {
    for (width, height) in SIZES {
        let drawn = app().on(width, height).draw();
        assert_snapshot!(format!("{name}_{width}x{height}"), drawn);
    }
}

/// A server in every state.
fn servers() -> App {
    let mut github = ready("github", &["search", "merge", "list_issues"]);
    github.calls = 3;
    let mut postgres = ready("postgres", &["query"]);
    postgres.source = "/home/somebody/.config/agent-tui/settings.json".to_owned();
    let mut sentry = server(
        "sentry",
        McpState::Failed,
        Some("exit 1: SENTRY_TOKEN is required"),
    );
    sentry.stderr_tail = vec![
        "Error: SENTRY_TOKEN is required".to_owned(),
        "at main (index.js:41)".to_owned(),
    ];
    listed(&[
        github,
        postgres,
        server("browser", McpState::Connecting, None),
        sentry,
        server("docs", McpState::NeedsLogin, None),
        server("files", McpState::Untrusted, None),
        server("old", McpState::Disabled, None),
        server(
            "search",
            McpState::Unusable,
            Some("${SEARCH_KEY} is not set; set it, or write ${SEARCH_KEY:-default}"),
        ),
    ])
}

#[test]
fn the_servers() {
    at_all_sizes("servers", servers);
}

#[test]
fn a_failed_server_shows_its_last_lines() {
    at_all_sizes("servers_failed", || {
        let mut app = servers();
        app.press("down down down");
        app
    });
}

#[test]
fn an_untrusted_server_shows_its_command_and_asks_twice() {
    at_all_sizes("servers_untrusted", || {
        let mut app = servers();
        app.press("down down down down down t");
        app
    });
}

#[test]
fn the_tools_of_a_server() {
    at_all_sizes("servers_tools", || {
        let mut app = servers();
        app.press("enter down");
        app
    });
}
