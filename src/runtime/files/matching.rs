//! Which paths match a query, and how well.
//!
//! Matches are kept: new paths are matched alone, and a query that extends the last one only checks its matches. All
//! paths get a quick score; the best are then scored exactly.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::index::Index;
use crate::app::job::Candidate;

/// More are never shown.
const MOST_SHOWN: usize = 50;
/// How many are scored exactly.
const MOST_WEIGHED: usize = 500;

pub struct Matching {
    matcher: Matcher,
    query: String,
    atom: Atom,
    hits: Vec<Hit>,
    /// How many paths of the index have been checked.
    seen: usize,
    letters: Vec<char>,
}

/// The smallest is the best; of equals, the shortest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hit {
    score: Reverse<u16>,
    length: u16,
    number: u32,
}

impl Default for Matching {
    fn default() -> Self {
        Self {
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            query: String::new(),
            atom: atom(""),
            hits: Vec::new(),
            seen: 0,
            letters: Vec::new(),
        }
    }
}

impl Matching {
    /// Starts another query in the same index.
    pub fn ask(&mut self, query: &str, index: &Index) {
        self.atom = atom(query);
        // Scoring anything sets the matcher to the atom's case; the quick scores bypass the atom.
        self.atom.score(Utf32Str::Ascii(b""), &mut self.matcher);
        let narrows = query.starts_with(&self.query);
        query.clone_into(&mut self.query);
        if narrows {
            let hits = std::mem::take(&mut self.hits);
            let kept = hits.iter().filter_map(|hit| self.score(hit.number, index));
            self.hits = kept.collect();
        } else {
            self.hits.clear();
            self.seen = 0;
        }
        self.search_new(index);
    }

    /// Checks the paths that were added to the index since.
    pub fn search_new(&mut self, index: &Index) {
        for number in self.seen..index.len() {
            let hit = u32::try_from(number).ok();
            let hit = hit.and_then(|number| self.score(number, index));
            self.hits.extend(hit);
        }
        self.seen = index.len();
    }

    /// The index was replaced by another.
    pub fn restart(&mut self, index: &Index) {
        self.hits.clear();
        self.seen = 0;
        self.search_new(index);
    }

    /// How many paths match.
    pub fn found(&self) -> usize {
        self.hits.len()
    }

    /// The best matches, with the matching letters.
    pub fn best(&mut self, index: &Index) -> Vec<Candidate> {
        let mut best = self.hits.clone();
        if best.len() > MOST_WEIGHED {
            best.select_nth_unstable(MOST_WEIGHED);
            best.truncate(MOST_WEIGHED);
        }
        if !self.query.is_empty() {
            for hit in &mut best {
                let text = Utf32Str::new(index.get(place(hit.number)), &mut self.letters);
                let exact = self.atom.score(text, &mut self.matcher);
                hit.score = exact.map_or(hit.score, Reverse);
            }
        }
        best.sort_unstable();
        best.truncate(MOST_SHOWN);
        best.into_iter()
            .map(|hit| self.candidate(index.get(place(hit.number))))
            .collect()
    }

    fn score(&mut self, number: u32, index: &Index) -> Option<Hit> {
        let path = index.get(place(number));
        let score = if self.query.is_empty() {
            // Without a query, paths near the root come first.
            let depth = path.trim_end_matches('/').matches('/').count();
            u16::MAX - u16::try_from(depth).unwrap_or(u16::MAX)
        } else {
            let text = Utf32Str::new(path, &mut self.letters);
            self.matcher
                .fuzzy_match_greedy(text, self.atom.needle_text())?
        };
        Some(Hit {
            score: Reverse(score),
            length: u16::try_from(path.len()).unwrap_or(u16::MAX),
            number,
        })
    }

    fn candidate(&mut self, path: &str) -> Candidate {
        let mut matched = Vec::new();
        if !self.query.is_empty() {
            let text = Utf32Str::new(path, &mut self.letters);
            self.atom.indices(text, &mut self.matcher, &mut matched);
            matched.sort_unstable();
            matched.dedup();
        }
        Candidate {
            path: path.to_owned(),
            matched,
        }
    }
}

fn atom(query: &str) -> Atom {
    let (case, normal) = (CaseMatching::Smart, Normalization::Smart);
    Atom::new(query, case, normal, AtomKind::Fuzzy, false)
}

fn place(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
