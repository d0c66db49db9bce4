//! The conversations of a workspace that can be gone on with, the newest first.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::app::job::SessionRow;
use crate::session::{Record, Store, log};

/// More than these nobody looks through.
const MOST: usize = 100;
/// Where the first message is, if there is one.
const BEGINNING: u64 = 64 << 10;
const LONGEST_TITLE: usize = 100;

pub fn list(store: &Store, workspace: &Path) -> Vec<SessionRow> {
    let now = SystemTime::now();
    let rows = store.all(workspace).into_iter().filter_map(|found| {
        let written = std::fs::metadata(&found.path).and_then(|data| data.modified());
        let ago = written.ok().and_then(|at| now.duration_since(at).ok());
        Some(SessionRow {
            title: title(&found.path)?,
            when: when(ago.unwrap_or_default()),
            id: found.id.0,
        })
    });
    rows.take(MOST).collect()
}

/// The first line of the first message; `None` when nothing was said.
fn title(path: &Path) -> Option<String> {
    let mut beginning = Vec::new();
    let file = File::open(path).ok()?;
    file.take(BEGINNING).read_to_end(&mut beginning).ok()?;
    let records = log::read(&beginning).records;
    let text = records.iter().find_map(|record| match record {
        Record::User { message } => Some(message.text()).filter(|text| !text.trim().is_empty()),
        _ => None,
    })?;
    let line = text.trim().lines().next().unwrap_or_default();
    Some(line.chars().take(LONGEST_TITLE).collect())
}

/// How long ago, in the largest unit that fits.
fn when(ago: Duration) -> String {
    let seconds = ago.as_secs();
    let units = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
    let fits = units.into_iter().find(|(length, _)| seconds >= *length);
    let Some((length, unit)) = fits else {
        return "just now".to_owned();
    };
    match seconds / length {
        1 => format!("1 {unit} ago"),
        count => format!("{count} {unit}s ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::when;
    use std::time::Duration;

    #[test]
    fn times_are_told_in_the_largest_unit_that_fits() {
        let told = [5, 60, 3_599, 7_200, 90_000].map(|seconds| when(Duration::from_secs(seconds)));
        assert_eq!(
            told,
            [
                "just now",
                "1 minute ago",
                "59 minutes ago",
                "2 hours ago",
                "1 day ago"
            ]
        );
    }
}
