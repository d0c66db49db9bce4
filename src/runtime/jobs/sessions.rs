//! The sessions that can be resumed, newest first.

mod content;

use std::fs::OpenOptions;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::app::job::{JobResult, SessionRow};
use crate::config::open_regular;
use crate::session::store::Found;
use crate::session::{Record, Store, log};

/// More sessions are not listed.
const MOST: usize = 100;
/// How much of a log is read to find the first message.
const BEGINNING: u64 = 64 << 10;
const LONGEST_TITLE: usize = 100;

/// Reports all of them first, then the content of each. Stops when `report` returns false.
pub fn list(store: &Store, here: Option<&Path>, report: impl Fn(JobResult) -> bool) {
    let now = SystemTime::now();
    let mut found = here.map_or_else(|| store.everywhere(), |here| store.all(here));
    found.truncate(MOST);
    let row = |found: &Found| {
        let written = std::fs::metadata(&found.path).and_then(|data| data.modified());
        let ago = written.ok().and_then(|at| now.duration_since(at).ok());
        let ago = ago.unwrap_or_default();
        let begun = beginning(&found.path, &found.id.0)?;
        Some(SessionRow {
            title: begun.title,
            when: when(ago),
            age: age(ago),
            place: begun.place.filter(|_| here.is_none()).unwrap_or_default(),
            id: found.id.0.clone(),
            is_open: Store::is_open(found),
        })
    };
    let rows: Vec<SessionRow> = found.iter().filter_map(row).collect();
    if !report(JobResult::Sessions(rows)) {
        return;
    }
    for found in &found {
        let Some(content) = content::read(&found.path, &found.id.0) else {
            continue;
        };
        if !report(JobResult::SessionRead(Box::new(content))) {
            return;
        }
    }
}

struct Begun {
    title: String,
    /// The directory, as text.
    place: Option<String>,
}

/// The first line of the first message, or the id if that is too far away; `None` if the session is empty.
fn beginning(path: &Path, id: &str) -> Option<Begun> {
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
    let place = contents.records().find_map(|record| match record {
        Record::Session { cwd, .. } => Some(cwd.display().to_string()),
        _ => None,
    });
    Some(Begun {
        title: line.chars().take(LONGEST_TITLE).collect(),
        place,
    })
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

/// The heading of a session in the list.
fn age(ago: Duration) -> &'static str {
    match ago.as_secs() / 86_400 {
        0 => "Today",
        1..7 => "This week",
        _ => "Older",
    }
}

/// How long ago, in the largest unit that fits.
fn when(ago: Duration) -> String {
    let seconds = ago.as_secs();
    let units = [(86_400, "day"), (3_600, "hour"), (60, "min")];
    let fits = units.into_iter().find(|(length, _)| seconds >= *length);
    let Some((length, unit)) = fits else {
        return "just now".to_owned();
    };
    match seconds / length {
        count if count == 1 || unit == "min" => format!("{count} {unit} ago"),
        count => format!("{count} {unit}s ago"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{BEGINNING, beginning, when};

    fn titled(user: &str) -> Option<String> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log.jsonl");
        std::fs::write(&path, format!("{user}\n")).expect("written");
        beginning(&path, "the-id").map(|begun| begun.title)
    }

    fn user(content: &str) -> String {
        let message = format!(r#"{{"role":"user","content":[{content}]}}"#);
        format!(r#"{{"seq":1,"at_ms":1,"kind":"user","message":{message}}}"#)
    }

    #[test]
    fn a_very_long_first_message_is_listed_by_its_beginning_or_by_the_id() {
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
    fn times_are_shown_in_the_largest_unit_that_fits() {
        let texts = [5, 60, 3_599, 7_200, 90_000].map(|seconds| when(Duration::from_secs(seconds)));
        assert_eq!(
            texts,
            [
                "just now",
                "1 min ago",
                "59 min ago",
                "2 hours ago",
                "1 day ago"
            ]
        );
    }
}
