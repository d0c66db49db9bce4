//! How the screen looks: styles by role. Only this module knows colours.

mod role;

pub use role::Role;

use ratatui::style::Style;

/// A style for every role.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub name: String,
}

impl Theme {
    /// Without any colour: what NO_COLOR asks for, and what tests of layout use.
    pub fn plain() -> Self {
        Self {
            name: "plain".into(),
        }
    }

    pub fn style(&self, _role: Role) -> Style {
        Style::default()
    }
}
