//! The summary of a turn, in one line: `✓ 6.9s · 3 calls · 5.8s saved · +5 −2 in app.py`.

use std::time::Duration;

use ratatui::text::{Line, Span};

use super::{CellContext, marked, seconds};
use crate::app::transcript::{Changed, Summary, SummaryEnding};
use crate::theme::Role;
use crate::ui::text::{Row, clean};

/// A shorter saving is not mentioned.
const WORTH_SHOWING: Duration = Duration::from_millis(50);

pub fn rows(summary: &Summary, cx: &CellContext) -> Vec<Row> {
    let took = seconds(summary.took);
    let (mark, role, took) = match summary.ending {
        SummaryEnding::Done => ("✓ ", Role::Completed, took),
        SummaryEnding::Interrupted => ("■ ", Role::Warning, format!("interrupted after {took}")),
    };
    let calls = match summary.calls {
        0 => None,
        1 => Some("1 call".to_owned()),
        calls => Some(format!("{calls} calls")),
    };
    let saved =
        (summary.saved >= WORTH_SHOWING).then(|| format!("{} saved", seconds(summary.saved)));
    let parts = [Some(took), calls, saved, changed_words(&summary.changed)];
    let words: Vec<String> = parts.into_iter().flatten().collect();
    let style = cx.theme.style(Role::Muted);
    let line = Line::from(Span::styled(words.join(" · "), style));
    marked(mark, role, line, cx)
}

/// `+5 −2 in app.py`, `+38 −9 in 4 files`.
fn changed_words(changed: &Changed) -> Option<String> {
    let place = match changed.files.as_slice() {
        [] => return None,
        [file] => clean(file).into_owned(),
        files => format!("{} files", files.len()),
    };
    let size = match (changed.added, changed.removed) {
        (0, 0) => return Some(format!("changed {place}")),
        (added, 0) => format!("+{added}"),
        (0, removed) => format!("−{removed}"),
        (added, removed) => format!("+{added} −{removed}"),
    };
    Some(format!("{size} in {place}"))
}
