//! The conversation as plain text, for the normal screen and for whoever comes after.

use super::cells::{self, CellContext};
use super::highlight::Highlights;
use crate::app::AppState;
use crate::app::transcript::Entry;
use crate::theme::Theme;

/// All of it, as it is shown but without styles, wrapped to a width.
pub fn conversation(state: &AppState, width: u16) -> String {
    let mut plain = Plain::new(state, width);
    let entries = state.conversation().entries().iter();
    entries.map(|entry| plain.entry(entry)).collect()
}

/// The last lines of it; what comes before them is not laid out.
pub fn last_lines(state: &AppState, width: u16, most: usize) -> String {
    let mut plain = Plain::new(state, width);
    let mut texts = Vec::new();
    let mut count = 0;
    for entry in state.conversation().entries().iter().rev() {
        let text = plain.entry(entry);
        count += text.lines().count();
        texts.push(text);
        if count > most {
            break;
        }
    }
    texts.reverse();
    let text = texts.concat();
    let lines: Vec<&str> = text.trim_matches('\n').lines().collect();
    lines[lines.len().saturating_sub(most)..].join("\n")
}

struct Plain<'a> {
    state: &'a AppState,
    width: u16,
    theme: Theme,
    code: Highlights,
}

impl<'a> Plain<'a> {
    fn new(state: &'a AppState, width: u16) -> Self {
        Self {
            state,
            width,
            theme: Theme::plain(),
            code: Highlights::default(),
        }
    }

    fn entry(&mut self, entry: &Entry) -> String {
        let margin = cells::margin(&entry.cell);
        let mut cx = CellContext {
            width: self.width.saturating_sub(margin),
            theme: &self.theme,
            code: &mut self.code,
        };
        let mut text = String::new();
        if !cells::hugs(entry, self.state) {
            text.push('\n');
        }
        for row in cells::rows(entry, self.state, &mut cx) {
            let line = format!("{:1$}{2}", "", usize::from(margin), row.line);
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}
