//! The conversation as plain text, for the normal screen and for whoever comes after.

use super::cells::{self, Brush};
use super::highlight::Highlights;
use crate::app::AppState;
use crate::theme::Theme;

/// All of it, as it is shown but without styles, wrapped to a width.
pub fn conversation(state: &AppState, width: u16) -> String {
    let theme = Theme::plain();
    let mut code = Highlights::default();
    let mut text = String::new();
    for entry in state.transcript.entries() {
        let margin = cells::margin(&entry.cell);
        let mut brush = Brush {
            width: width.saturating_sub(margin),
            theme: &theme,
            code: &mut code,
        };
        if !cells::hugs(entry, state) {
            text.push('\n');
        }
        for row in cells::rows(entry, state, &mut brush) {
            let line = format!("{:1$}{2}", "", usize::from(margin), row.line);
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text
}
