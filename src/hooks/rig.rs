//! A hook for tests.

use std::time::Duration;

use super::config::Hook;
use super::event::Event;
use super::matcher::Matcher;

/// A hook for every subject of its event.
pub fn hook(event: Event, command: &str) -> Hook {
    Hook {
        event,
        matcher: Matcher::default(),
        command: command.to_owned(),
        timeout: Duration::from_secs(30),
        origin: "settings.json".to_owned(),
        file: "/settings.json".into(),
    }
}
