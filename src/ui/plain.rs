//! The conversation as plain text, for the normal screen and for whoever comes after.

use super::cells::{Brush, rows};
use super::highlight::Highlights;
use crate::app::AppState;
use crate::theme::Theme;

/// All of it, as it is shown but without styles, wrapped to a width.
pub fn conversation(state: &AppState, width: u16) -> String {
    let theme = Theme::plain();
    let mut code = Highlights::default();
    let mut text = String::new();
    for entry in state.transcript.entries() {
        let mut brush = Brush {
            width,
            theme: &theme,
            code: &mut code,
        };
        for row in rows(entry, state, &mut brush) {
            text.push_str(row.line.to_string().trim_end());
            text.push('\n');
        }
    }
    text
}
