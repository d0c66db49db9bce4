//! The conversations of a workspace that can be resumed, the newest first.

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::app::job::SessionRow;
use crate::config::open_regular;
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
            title: title(&found.path, &found.id.0)?,
            when: when(ago.unwrap_or_default()),
            id: found.id.0,
        })
    });
    rows.take(MOST).collect()
}

/// The first line of the first message, or the id where that is too far away; `None` when nothing was said.
fn title(path: &Path, id: &str) -> Option<String> {
    let mut beginning = Vec::new();
    let file = open_regular(path, OpenOptions::new().read(true)).ok()?;
    file.take(BEGINNING).read_to_end(&mut beginning).ok()?;
    let contents = log::read(&beginning);
    let text = contents.records().find_map(|record| match record {
        Record::User { message } => Some(message.text()).filter(|text| !text.trim().is_empty()),
        _ => None,
    });
    let is_cut = beginning.len() as u64 == BEGINNING;
    let text = match text {
        Some(text) => text,
        None if is_cut => text_of_cut(&beginning).unwrap_or_else(|| id.to_owned()),
        None => return None,
    };
    let line = text.trim().lines().next().unwrap_or_default();
    Some(line.chars().take(LONGEST_TITLE).collect())
}

/// The beginning of the text in a message that is longer than what was read.
fn text_of_cut(beginning: &[u8]) -> Option<String> {
    let line = beginning.rsplit(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line);
    if !line.contains(r#""kind":"user""#) {
        return None;
    }
    let (_, text) = line.split_once(r#""text":""#)?;
    let mut letters: String = text.chars().take(2 * LONGEST_TITLE).collect();
    // Up to its end, or to where it is cut, but not in the middle of an escape.
    loop {
        let quoted = format!("\"{letters}\"");
        if let Ok(text) = serde_json::from_str::<String>(&quoted) {
            return Some(text).filter(|text| !text.trim().is_empty());
        }
        letters.pop()?;
    }
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
    use std::time::Duration;

    use super::{BEGINNING, title, when};

    fn titled(user: &str) -> Option<String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log.jsonl");
        std::fs::write(&path, format!("{user}\n")).expect("written");
        title(&path, "the-id")
    }

    fn user(content: &str) -> String {
        let message = format!(r#"{{"role":"user","content":[{content}]}}"#);
        format!(r#"{{"seq":1,"at_ms":1,"kind":"user","message":{message}}}"#)
    }

    #[test]
    fn a_first_message_that_is_too_long_to_read_is_named_by_its_beginning_or_by_the_id() {
        let long = "x".repeat(usize::try_from(BEGINNING).expect("fits"));
        let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        let title = |content: &str| titled(&user(content));
        assert_eq!(title(&text("hi")).as_deref(), Some("hi"));
        let cut = title(&text(&format!(r#"a \"b\"\n{long}"#)));
        assert_eq!(cut.as_deref(), Some(r#"a "b""#));
        let escaped = r"\u00e9".repeat(long.len());
        let cut = title(&text(&escaped)).unwrap_or_default();
        assert!(cut.starts_with("éé") && cut.ends_with('é'), "{cut}");
        let image = format!(r#"{{"type":"image","data":"{long}"}}"#);
        let both = format!("{image},{}", text("what is this?"));
        assert_eq!(title(&both).as_deref(), Some("the-id"));
        let both = format!("{},{image}", text("what is this?"));
        assert_eq!(title(&both).as_deref(), Some("what is this?"));
        assert_eq!(titled(""), None);
    }

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
