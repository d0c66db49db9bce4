//! How many colours the terminal has, and how a style is reduced to them.

use ratatui::style::{Color, Modifier, Style};

use super::colour::Rgb;
use super::{Background, Role, marks};

/// The colours of a terminal, from none to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Depth {
    None,
    Ansi16,
    Ansi256,
    True,
}

/// Terminals that show all colours without setting `COLORTERM`.
const RICH: [&str; 10] = [
    "iterm.app",
    "wezterm",
    "ghostty",
    "vscode",
    "zed",
    "warpterminal",
    "hyper",
    "rio",
    "tabby",
    "mintty",
];

impl Depth {
    /// From the environment. What a person asked for (`NO_COLOR`, `FORCE_COLOR`, `CLICOLOR`) overrides what the
    /// terminal claims.
    pub fn detect(environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| environment(name).unwrap_or_default().trim().to_lowercase();
        if !get("NO_COLOR").is_empty() {
            return Self::None;
        }
        match get("FORCE_COLOR").as_str() {
            "0" | "false" => return Self::None,
            "2" => return Self::Ansi256,
            "3" => return Self::True,
            "" if get("CLICOLOR") == "0" && matches!(&*get("CLICOLOR_FORCE"), "" | "0") => {
                return Self::None;
            }
            "" => {}
            _ => return Self::of_terminal(&get).max(Self::Ansi16),
        }
        Self::of_terminal(&get)
    }

    fn of_terminal(get: &dyn Fn(&str) -> String) -> Self {
        let term = get("TERM");
        let starts = |names: &[&str]| names.iter().any(|name| term.starts_with(name));
        if term == "dumb"
            || term.ends_with("-m")
            || term.ends_with("-mono")
            || starts(&["vt1", "vt2"])
        {
            return Self::None;
        }
        let program = get("TERM_PROGRAM");
        let claims = matches!(&*get("COLORTERM"), "truecolor" | "24bit");
        let rich = RICH.contains(&&*program)
            || !get("WT_SESSION").is_empty()
            || term.ends_with("-direct")
            || term.ends_with("-truecolor")
            || starts(&[
                "xterm-kitty",
                "xterm-ghostty",
                "alacritty",
                "foot",
                "contour",
                "wezterm",
            ]);
        // A multiplexer decides: the terminal that it was started in may be another one by now.
        let inside = starts(&["screen", "tmux"]);
        if claims || (rich && !inside) {
            Self::True
        } else if term.contains("256") || program == "apple_terminal" {
            Self::Ansi256
        } else {
            Self::Ansi16
        }
    }

    /// The style with the available colours. If a background cannot be shown, an attribute replaces it.
    pub(super) fn fit(self, style: Style, role: Role, background: Background) -> Style {
        match self {
            Self::True => style,
            Self::Ansi256 => recolour(style, Rgb::to_256),
            Self::Ansi16 => Self::fit_16(style, role, background),
            Self::None => {
                let marked = style.add_modifier | marks::of(role);
                Style::new().add_modifier(marked)
            }
        }
    }

    /// The 16 colours include no calm background: a full green behind every added line would be unreadable.
    fn fit_16(style: Style, role: Role, background: Background) -> Style {
        let mut fitted = recolour(style, |rgb| rgb.to_16(background));
        if style.bg.and_then(Rgb::of).is_none() {
            return fitted;
        }
        fitted.bg = None;
        let mark = marks::of(role) & (Modifier::REVERSED | Modifier::UNDERLINED);
        if mark.contains(Modifier::REVERSED) {
            // The text colour was chosen for the background that is gone; reversed, the terminal's own pair is
            // readable.
            fitted.fg = None;
        }
        fitted.add_modifier(mark)
    }
}

fn recolour(mut style: Style, to: impl Fn(Rgb) -> Color) -> Style {
    let map = |color: Color| Rgb::of(color).map_or(color, &to);
    style.fg = style.fg.map(map);
    style.bg = style.bg.map(map);
    style
}
