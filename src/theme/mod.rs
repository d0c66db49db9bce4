//! How the screen looks: styles by role. Only this module knows colours.
//!
//! Themes are TOML (`themes/`, or a person's own that the caller has read). A theme is written in full colour, and
//! [`Theme::at`] reduces it to what the terminal has. It never paints the whole background: that is the terminal's own.

mod background;
mod colour;
mod depth;
mod link;
mod load;
mod marks;
mod role;

#[cfg(test)]
mod tests;

use std::path::Path;

use ratatui::style::Style;

pub use background::Background;
pub use depth::Depth;
pub use link::LinkId;
pub use role::Role;

use crate::config::Problem;

/// The setting that follows the terminal.
pub const AUTO: &str = "auto";

/// A style for every role.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub name: String,
    pub background: Background,
    /// By role.
    styles: [Style; Role::ALL.len()],
}

impl Theme {
    /// One of the built-in themes.
    pub fn builtin(name: &str) -> Option<Self> {
        load::builtin(name)
    }

    /// The built-in themes.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        load::BUILTIN.iter().map(|(name, _)| *name)
    }

    /// A person's own theme. A wrong role or colour is reported and keeps the base theme's value; a file that is not
    /// TOML is refused, because half a palette can be unreadable.
    pub fn parse(toml: &str, file: &Path) -> Result<(Self, Vec<Problem>), Problem> {
        load::parse(toml, file)
    }

    /// Without any colour: for `NO_COLOR`, and for layout tests.
    pub fn plain() -> Self {
        let colourless = Self {
            name: "plain".into(),
            background: Background::default(),
            styles: [Style::new(); Role::ALL.len()],
        };
        colourless.at(Depth::None)
    }

    /// The theme with the colours that a terminal has.
    #[must_use]
    pub fn at(mut self, depth: Depth) -> Self {
        for (role, style) in Role::ALL.iter().zip(&mut self.styles) {
            *style = depth.fit(*style, *role, self.background);
        }
        self
    }

    /// The name of the theme to use. `auto` follows the terminal, and so does a theme with a light variant.
    pub fn pick(setting: Option<&str>, background: Background) -> &str {
        let setting = setting.unwrap_or(AUTO);
        match background {
            Background::Dark if setting == AUTO => "dark",
            Background::Light if setting == AUTO => "light",
            Background::Dark => setting,
            Background::Light => Self::names()
                .find(|name| name.strip_suffix("-light") == Some(setting))
                .unwrap_or(setting),
        }
    }

    pub fn style(&self, role: Role) -> Style {
        self.styles[role as usize]
    }
}
