//! What a turn came to, in one quiet line.

use std::fmt::Write;
use std::time::Duration;

use ratatui::text::{Line, Span};

use super::{CellContext, marked, seconds};
use crate::app::transcript::{Summary, SummaryEnding};
use crate::theme::Role;
use crate::ui::text::Row;

/// Less than this was not worth the words.
const WORTH_SAYING: Duration = Duration::from_millis(50);

pub fn rows(summary: &Summary, cx: &CellContext) -> Vec<Row> {
    let mut words = match summary.ending {
        SummaryEnding::Done => seconds(summary.took),
        SummaryEnding::Interrupted => format!("interrupted after {}", seconds(summary.took)),
    };
    match summary.calls {
        0 => {}
        1 => words.push_str(" · 1 call"),
        calls => {
            let _ = write!(words, " · {calls} calls");
        }
    }
    if summary.saved >= WORTH_SAYING {
        let saved = seconds(summary.saved);
        let _ = write!(words, " · {saved} saved by overlapping");
    }
    let (mark, role) = match summary.ending {
        SummaryEnding::Done => ("· ", Role::Faint),
        SummaryEnding::Interrupted => ("■ ", Role::Warning),
    };
    let line = Line::from(Span::styled(words, cx.theme.style(Role::Muted)));
    marked(mark, role, line, cx)
}
