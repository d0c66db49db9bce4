//! The kinds of lists, and what can be done in each.

use super::item::{Choice, Item};
use crate::keymap::{Action, Context};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Commands,
    Models,
    Sessions,
    /// Of all directories.
    AllSessions,
    Themes,
    Tools,
    Agents,
    Skills,
    Hooks,
    /// MCP servers.
    Servers,
    /// The tools of one of them.
    ServerTools,
    Rules,
    Tasks,
    /// Messages that wait for the running turn.
    Queue,
}

/// Which part of an item's preview is visible first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preview {
    None,
    FromStart,
    FromEnd,
}

impl Kind {
    pub fn title(self) -> &'static str {
        match self {
            Kind::Commands => "Commands",
            Kind::Models => "Models",
            Kind::Sessions => "Sessions in this directory",
            Kind::AllSessions => "Sessions in all directories",
            Kind::Themes => "Themes",
            Kind::Tools => "Tools",
            Kind::Agents => "Agents",
            Kind::Skills => "Skills",
            Kind::Hooks => "Hooks",
            Kind::Servers => "MCP servers",
            Kind::ServerTools => "Tools of an MCP server",
            Kind::Rules => "Permissions",
            Kind::Tasks => "Background commands",
            Kind::Queue => "Queued messages",
        }
    }

    /// What the keys do, for the last line.
    pub fn keys(self) -> &'static [(Action, &'static str)] {
        match self {
            Kind::Commands => &[(Action::Choose, "run"), (Action::Back, "close")],
            Kind::Models => &[(Action::Choose, "switch"), (Action::Back, "close")],
            Kind::Sessions => &[
                (Action::Choose, "resume"),
                (Action::AllDirectories, "all directories"),
                (Action::Rename, "rename"),
                (Action::Delete, "delete"),
                (Action::Fork, "fork"),
                (Action::Back, "close"),
            ],
            Kind::AllSessions => &[
                (Action::Choose, "resume"),
                (Action::AllDirectories, "this directory"),
                (Action::Rename, "rename"),
                (Action::Delete, "delete"),
                (Action::Fork, "fork"),
                (Action::Back, "close"),
            ],
            Kind::Themes => &[(Action::Choose, "use"), (Action::Back, "keep the old one")],
            Kind::Tools | Kind::Agents | Kind::Skills | Kind::Hooks => {
                &[(Action::Choose, "read all"), (Action::Back, "close")]
            }
            Kind::Servers => &[
                (Action::Choose, "tools"),
                (Action::RestartServer, "restart"),
                (Action::Switch, "off/on"),
                (Action::ShowLog, "log"),
                (Action::Back, "close"),
            ],
            Kind::ServerTools => &[
                (Action::Switch, "off/on"),
                (Action::Choose, "read all"),
                (Action::Back, "back"),
            ],
            Kind::Rules => &[
                (Action::Choose, "choose"),
                (Action::Delete, "remove"),
                (Action::Back, "close"),
            ],
            Kind::Tasks => &[
                (Action::Choose, "open"),
                (Action::CancelCall, "stop"),
                (Action::Back, "close"),
            ],
            Kind::Queue => &[
                (Action::Choose, "edit"),
                (Action::Delete, "remove"),
                (Action::Back, "close"),
            ],
        }
    }

    pub fn has_preview(self) -> Preview {
        match self {
            Kind::Commands | Kind::Themes | Kind::Models | Kind::Queue => Preview::None,
            Kind::Tools
            | Kind::Agents
            | Kind::Skills
            | Kind::Hooks
            | Kind::Servers
            | Kind::ServerTools
            | Kind::Rules => Preview::FromStart,
            Kind::Sessions | Kind::AllSessions | Kind::Tasks => Preview::FromEnd,
        }
    }

    /// Where its keys are looked up. In a list with letters as keys nothing can be typed.
    pub fn context(self) -> Context {
        match self {
            Kind::Servers | Kind::ServerTools => Context::Servers,
            Kind::Commands
            | Kind::Models
            | Kind::Sessions
            | Kind::AllSessions
            | Kind::Themes
            | Kind::Tools
            | Kind::Agents
            | Kind::Skills
            | Kind::Hooks
            | Kind::Rules
            | Kind::Tasks
            | Kind::Queue => Context::Picker,
        }
    }

    /// Whether typing filters the list.
    pub fn has_filter(self) -> bool {
        self.context().takes_text()
    }

    /// What the list offers for a filter that no item matches.
    pub(super) fn typed(self, text: &str) -> Option<Item> {
        match self {
            Kind::Models => {
                let item = Item::new(format!("Use \"{text}\""), Choice::Model(text.to_owned()));
                Some(item.about("not listed here"))
            }
            Kind::Commands
            | Kind::Sessions
            | Kind::AllSessions
            | Kind::Themes
            | Kind::Tools
            | Kind::Agents
            | Kind::Skills
            | Kind::Hooks
            | Kind::Servers
            | Kind::ServerTools
            | Kind::Rules
            | Kind::Tasks
            | Kind::Queue => None,
        }
    }
}
