//! The title of the terminal's window: which project, and whether it works or waits for the person.

use crate::app::AppState;
use crate::app::dialogs::Dialog;
use crate::text::{beginning, one_line};

/// Directory names can have any length.
const LONGEST: usize = 200;

#[derive(Debug, Default)]
pub struct Title {
    written: String,
}

impl Title {
    /// The bytes that set it; `None` while it stays the same.
    pub fn change(&mut self, state: &AppState) -> Option<Vec<u8>> {
        let title = title(&state.session.workspace, Mark::of(state));
        if title == self.written {
            return None;
        }
        self.written = title;
        Some(format!("\x1b]2;{}\x07", self.written).into_bytes())
    }

    /// The terminal has its own title again.
    pub fn forget(&mut self) {
        self.written.clear();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Rests,
    Works,
    /// For the person's answer.
    Waits,
}

impl Mark {
    fn of(state: &AppState) -> Self {
        let asks = |dialog: &Dialog| match dialog {
            Dialog::Question(_) | Dialog::Pause(_) | Dialog::Trust(_) => true,
            Dialog::ByHand(_) | Dialog::Picker(_) | Dialog::Pager(_) | Dialog::Help(_) => false,
        };
        if state.dialogs.iter().any(asks) {
            Mark::Waits
        } else if state.is_working() {
            Mark::Works
        } else {
            Mark::Rests
        }
    }
}

fn title(workspace: &str, mark: Mark) -> String {
    let mark = match mark {
        Mark::Rests => "",
        Mark::Works => "● working · ",
        Mark::Waits => "? waiting for you · ",
    };
    let name = workspace.trim_end_matches('/').rsplit('/').next();
    let name = name.filter(|name| !name.is_empty()).unwrap_or("/");
    format!("{mark}{} — agent-tui", beginning(&one_line(name), LONGEST))
}

#[cfg(test)]
mod tests {
    use super::{Mark, title};

    #[test]
    fn the_title_names_the_project_and_its_state() {
        assert_eq!(title("/home/me/shop", Mark::Rests), "shop — agent-tui");
        assert_eq!(
            title("/home/me/shop", Mark::Works),
            "● working · shop — agent-tui"
        );
        assert_eq!(title("/", Mark::Waits), "? waiting for you · / — agent-tui");
    }

    #[test]
    fn a_directory_name_cannot_control_the_terminal() {
        assert_eq!(
            title("/a/b\x07\x1b]52;c;eA==\x07\u{9d}", Mark::Rests),
            "b]52;c;eA== — agent-tui"
        );
    }
}
