//! What was sent before, in this session and earlier ones: ↑ and ↓ go through it, Ctrl+R searches it.

use std::collections::HashSet;

use crate::app::search::find_all;

/// A search reads only this much of an entry.
const LOOKED_AT: usize = 4_000;

#[derive(Debug, Default)]
pub struct History {
    /// From the oldest to the newest. Those of this session may contain tokens.
    entries: Vec<String>,
    browsing: Option<Browsing>,
}

#[derive(Debug)]
struct Browsing {
    at: usize,
    /// What was in the input before.
    draft: String,
    /// Only entries with this prefix are shown.
    prefix: String,
}

impl History {
    /// Adds what earlier sessions sent, as the oldest entries.
    pub fn load(&mut self, mut older: Vec<String>) {
        older.dedup();
        let count = older.len();
        older.append(&mut self.entries);
        self.entries = older;
        if let Some(browsing) = &mut self.browsing {
            browsing.at += count;
        }
    }

    pub fn add(&mut self, text: String) {
        self.stop();
        if self.entries.last() != Some(&text) {
            self.entries.push(text);
        }
    }

    pub fn get(&self, entry: usize) -> Option<&str> {
        self.entries.get(entry).map(String::as_str)
    }

    pub fn is_browsing(&self) -> bool {
        self.browsing.is_some()
    }

    /// The draft was changed, so it is no longer an entry of the history.
    pub fn stop(&mut self) {
        self.browsing = None;
    }

    /// The entry before the one shown. The draft is kept; if any entries begin with it, only those are shown.
    pub fn older(&mut self, shown: &str) -> Option<&str> {
        let (end, prefix) = if let Some(browsing) = &self.browsing {
            (browsing.at, browsing.prefix.clone())
        } else {
            let begins = |entry: &String| entry.starts_with(shown) && entry != shown;
            let any = self.entries.iter().any(begins);
            let prefix = if any { shown } else { "" };
            (self.entries.len(), prefix.to_owned())
        };
        let at = self.entries[..end]
            .iter()
            .rposition(|entry| entry.starts_with(&prefix) && entry != shown)?;
        match &mut self.browsing {
            Some(browsing) => browsing.at = at,
            None => {
                self.browsing = Some(Browsing {
                    at,
                    draft: shown.to_owned(),
                    prefix,
                });
            }
        }
        self.get(at)
    }

    /// The entry after the one shown; after the last one, the draft.
    pub fn newer(&mut self, shown: &str) -> Option<String> {
        let browsing = self.browsing.as_mut()?;
        let newer = self.entries.iter().enumerate().skip(browsing.at + 1);
        let next = newer
            .filter(|(_, entry)| entry.starts_with(&browsing.prefix) && *entry != shown)
            .map(|(at, _)| at)
            .next();
        match next {
            Some(at) => {
                browsing.at = at;
                self.get(at).map(str::to_owned)
            }
            None => self.browsing.take().map(|browsing| browsing.draft),
        }
    }
}

/// An incremental search; the draft stays unchanged until an entry is accepted.
#[derive(Debug, Default)]
pub struct HistorySearch {
    pub query: String,
    /// The matching entries, the newest first, each text once.
    pub hits: Vec<usize>,
    pub chosen: usize,
}

impl HistorySearch {
    pub fn start(history: &History) -> Self {
        let mut search = Self::default();
        search.find(history);
        search
    }

    /// Extends the query: only what has matched so far can still match.
    pub fn push(&mut self, text: &str, history: &History) {
        self.query.push_str(text);
        let query = &self.query;
        self.hits.retain(|hit| matches(history.get(*hit), query));
        self.chosen = 0;
    }

    pub fn pop(&mut self, history: &History) {
        self.query.pop();
        self.find(history);
    }

    pub fn clear(&mut self, history: &History) {
        self.query.clear();
        self.find(history);
    }

    pub fn find(&mut self, history: &History) {
        let mut seen = HashSet::new();
        self.hits = (0..history.entries.len())
            .rev()
            .filter(|entry| matches(history.get(*entry), &self.query))
            .filter(|entry| seen.insert(&history.entries[*entry]))
            .collect();
        self.chosen = 0;
    }

    pub fn choose(&mut self, by: isize) {
        let last = self.hits.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }

    pub fn chosen<'a>(&self, history: &'a History) -> Option<&'a str> {
        history.get(*self.hits.get(self.chosen)?)
    }
}

fn matches(entry: Option<&str>, query: &str) -> bool {
    let entry = entry.unwrap_or_default();
    let mut end = entry.len().min(LOOKED_AT);
    while !entry.is_char_boundary(end) {
        end -= 1;
    }
    let head = &entry[..end];
    query.is_empty() || !find_all(head, query).is_empty()
}

#[cfg(test)]
mod tests {
    use super::{History, HistorySearch};

    fn history(entries: &[&str]) -> History {
        let mut history = History::default();
        for entry in entries {
            history.add((*entry).to_owned());
        }
        history
    }

    #[test]
    fn history_goes_back_and_forth_and_restores_the_draft() {
        let mut history = history(&["one", "two", "two"]);
        assert_eq!(history.older("draft"), Some("two"));
        assert_eq!(history.older("two"), Some("one"));
        assert_eq!(history.older("one"), None);
        assert_eq!(history.newer("one"), Some("two".into()));
        assert_eq!(history.newer("two"), Some("draft".into()));
        assert_eq!(history.newer("draft"), None);
    }

    #[test]
    fn only_entries_that_begin_like_the_draft_are_shown_if_there_are_any() {
        let mut history = history(&["cargo test", "ls", "cargo build", "git"]);
        assert_eq!(history.older("cargo"), Some("cargo build"));
        assert_eq!(history.older("cargo build"), Some("cargo test"));
        assert_eq!(history.older("cargo test"), None);
    }

    #[test]
    fn earlier_sessions_come_before_this_one_even_when_they_are_read_late() {
        let mut history = history(&["new"]);
        assert_eq!(history.older(""), Some("new"));
        history.load(vec!["old".into(), "old".into()]);
        assert_eq!(history.older("new"), Some("old"));
        assert_eq!(history.newer("old"), Some("new".into()));
    }

    #[test]
    fn a_search_narrows_and_widens_with_the_query() {
        let history = history(&["Fix the test", "run", "fix it", "run"]);
        let mut search = HistorySearch::start(&history);
        assert_eq!(search.hits, [3, 2, 0]);
        search.push("fix", &history);
        assert_eq!(search.hits, [2, 0]);
        search.push(" t", &history);
        assert_eq!(search.chosen(&history), Some("Fix the test"));
        search.pop(&history);
        search.choose(1);
        assert_eq!(search.chosen(&history), Some("Fix the test"));
        search.choose(5);
        search.choose(-1);
        assert_eq!(search.chosen(&history), Some("fix it"));
        search.clear(&history);
        assert_eq!(search.hits, [3, 2, 0]);
    }
}
