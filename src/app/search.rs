//! Searching the conversation.

use std::borrow::Cow;

use crossterm::event::{KeyCode, KeyEvent};

use super::call::{Call, Calls, Completed, OPENED_LINES};
use super::diff::{CONTEXT, Diff};
use super::scroll::Motion;
use super::transcript::{Cell, CellId, Entry};
use super::typing::is_text;
use super::{AppState, Effect};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Search {
    pub query: String,
    stage: Stage,
    /// The matches: a cell, and the index of the match in it.
    pub hits: Vec<(CellId, usize)>,
    pub current: usize,
    /// The cell that was opened to show the match; it is folded again when the search moves on.
    opened: Option<CellId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    #[default]
    Typing,
    /// The query is complete; the keys go from match to match.
    Walking,
}

impl Search {
    pub fn is_typing(&self) -> bool {
        self.stage == Stage::Typing
    }

    pub fn current(&self) -> Option<(CellId, usize)> {
        self.hits.get(self.current).copied()
    }
}

/// Where `text` contains `query`; case matters only if the query has a capital letter.
pub fn find_all(text: &str, query: &str) -> Vec<std::ops::Range<usize>> {
    if query.is_empty() {
        return Vec::new();
    }
    if query.chars().any(char::is_uppercase) {
        let found = text.match_indices(query);
        return found.map(|(at, hit)| at..at + hit.len()).collect();
    }
    if query.is_ascii() && !text.contains(KELVIN) {
        return find_ascii(text, query);
    }
    find_in_any_case(text, query)
}

/// The Kelvin sign: the only non-ASCII letter whose lower case is ASCII.
const KELVIN: char = '\u{212a}';

/// The same for an ASCII query, fast enough for a long conversation.
fn find_ascii(text: &str, query: &str) -> Vec<std::ops::Range<usize>> {
    let (text, query) = (text.as_bytes(), query.as_bytes());
    let mut found = Vec::new();
    let (low, high) = (query[0], query[0].to_ascii_uppercase());
    let mut from = 0;
    while let Some(at) = memchr::memchr2(low, high, &text[from..]) {
        let start = from + at;
        let end = start + query.len();
        match text.get(start..end) {
            Some(there) if there.eq_ignore_ascii_case(query) => {
                found.push(start..end);
                from = end;
            }
            Some(_) => from = start + 1,
            None => break,
        }
    }
    found
}

/// Compares letter by letter, because lower-casing a text may change its length.
fn find_in_any_case(text: &str, query: &str) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    let first = query.chars().next();
    let mut from = 0;
    while from < text.len() {
        let rest = &text[from..];
        match starts_with_in_any_case(rest, query, first) {
            Some(length) => {
                found.push(from..from + length);
                from += length.max(1);
            }
            None => from += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    found
}

fn starts_with_in_any_case(text: &str, query: &str, first: Option<char>) -> Option<usize> {
    let begins = text.chars().next()?.to_lowercase().next();
    if begins != first {
        return None;
    }
    let mut wanted = query.chars().peekable();
    let mut length = 0;
    for letter in text.chars() {
        if wanted.peek().is_none() {
            break;
        }
        for low in letter.to_lowercase() {
            if wanted.next()? != low {
                return None;
            }
        }
        length += letter.len_utf8();
    }
    wanted.peek().is_none().then_some(length)
}

impl AppState {
    pub(super) fn start_search(&mut self) {
        self.search = Some(Search::default());
    }

    pub(super) fn end_search(&mut self) {
        self.search = None;
    }

    /// The query is complete: from now on the keys go from match to match.
    pub(super) fn accept_search(&mut self) {
        if let Some(search) = &mut self.search {
            search.stage = Stage::Walking;
            if search.query.is_empty() {
                self.search = None;
            }
        }
    }

    pub(super) fn search_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(search) = self.search.as_mut().filter(|search| search.is_typing()) else {
            return Vec::new();
        };
        match key.code {
            KeyCode::Char(letter) if is_text(key) => {
                search.query.push(letter);
            }
            KeyCode::Backspace => {
                search.query.pop();
            }
            _ => return Vec::new(),
        }
        self.find();
        Vec::new()
    }

    /// Searches, and shows the match nearest to the view, upwards.
    fn find(&mut self) {
        let Some(mut search) = self.search.take() else {
            return;
        };
        search.hits.clear();
        for entry in self.conversation().entries() {
            let text = searchable(entry, &self.calls, &search.query);
            let found = find_all(&text, &search.query);
            search
                .hits
                .extend((0..found.len()).map(|nth| (entry.id, nth)));
        }
        let last_in_view = self.scroll.layout.map(|rest| rest.bottom.cell);
        search.current = match last_in_view {
            Some(last) => search
                .hits
                .partition_point(|(cell, _)| *cell <= last)
                .saturating_sub(1),
            None => search.hits.len().saturating_sub(1),
        };
        self.search = Some(search);
        self.show_hit();
    }

    pub(super) fn next_hit(&mut self, by: isize) {
        let Some(search) = self
            .search
            .as_mut()
            .filter(|search| !search.hits.is_empty())
        else {
            return;
        };
        let count = search.hits.len();
        search.current = match by {
            0.. => (search.current + 1) % count,
            _ => (search.current + count - 1) % count,
        };
        self.show_hit();
    }

    /// Scrolls to the current match, and opens the cell that hides it.
    fn show_hit(&mut self) {
        let Some(mut search) = self.search.take() else {
            return;
        };
        let hit = search.current();
        let left = |opened: &mut CellId| hit.is_none_or(|(cell, _)| cell != *opened);
        if let Some(before) = search.opened.take_if(left) {
            self.conversation_mut()
                .change(before, |entry| entry.open = false);
        }
        if let Some(hit) = hit {
            self.reveal_hit(hit, &mut search);
        }
        self.search = Some(search);
    }

    fn reveal_hit(&mut self, (cell, nth): (CellId, usize), search: &mut Search) {
        let entry = self.conversation().get(cell).filter(|entry| !entry.open);
        let folded = entry.is_some_and(|entry| {
            let shown = shown_folded(entry, &self.calls);
            shown.is_some_and(|text| find_all(&text, &search.query).len() <= nth)
        });
        if folded {
            self.conversation_mut()
                .change(cell, |entry| entry.open = true);
            search.opened = Some(cell);
        }
        self.scroll.go(Motion::Match { cell, nth });
    }
}

/// The text that a cell shows when it is open.
fn searchable<'a>(entry: &'a Entry, calls: &Calls, query: &str) -> Cow<'a, str> {
    match &entry.cell {
        Cell::User { text, .. } | Cell::Notice { text, .. } | Cell::Thinking { text, .. } => {
            text.into()
        }
        Cell::Answer(answer) => (&answer.text).into(),
        Cell::Call(key) => {
            let call = calls.get(*key);
            let mut text = head(call);
            if let Some(completed) = call.completed() {
                add_result(&mut text, completed, query);
            }
            text.into()
        }
        Cell::Welcome | Cell::Summary(_) => "".into(),
    }
}

/// The text that a cell shows while it is folded; `None` for one that cannot be.
fn shown_folded(entry: &Entry, calls: &Calls) -> Option<String> {
    match &entry.cell {
        Cell::Thinking { .. } => Some(String::new()),
        Cell::Call(key) => Some(head(calls.get(*key))),
        Cell::User { .. }
        | Cell::Notice { .. }
        | Cell::Answer(_)
        | Cell::Welcome
        | Cell::Summary(_) => None,
    }
}

fn head(call: &Call) -> String {
    format!("{} {}", call.tool.shown_name(), call.subject())
}

/// Adds the result of a call: its files, its change, or the beginning of its output.
fn add_result(text: &mut String, completed: &Completed, query: &str) {
    let mut add = |line: &str| {
        text.push('\n');
        text.push_str(line);
    };
    let changes = completed.shown.changes();
    if completed.is_forgotten() {
        for change in &completed.changed {
            add(&change.path);
        }
    } else if changes.is_empty() {
        for line in completed.output().lines().take(OPENED_LINES) {
            add(line);
        }
    }
    for change in changes {
        add(&change.path);
        // Comparing two files takes longer than searching them.
        let before = change.before.as_deref().unwrap_or_default();
        if [before, &change.after]
            .iter()
            .any(|text| !find_all(text, query).is_empty())
        {
            let diff = Diff::new(change);
            for hunk in diff.hunks(CONTEXT) {
                for line in diff.lines(&hunk) {
                    add(line.text);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::{find_all, find_in_any_case};

    proptest! {
        #[test]
        fn the_fast_search_finds_the_same_as_the_slow_one(
            text in "[aAbBkK\u{212a}iI\u{130}ß日 ]{0,40}",
            query in "[abki ]{1,3}",
        ) {
            prop_assert_eq!(find_all(&text, &query), find_in_any_case(&text, &query));
        }
    }

    #[test]
    fn a_word_is_found_in_any_case() {
        assert_eq!(find_all("日 Error, error", "error"), [4..9, 11..16]);
        assert_eq!(find_all("Error, error, Error", "Error"), [0..5, 14..19]);
        assert!(find_all("err", "error").is_empty());
    }
}
