//! Which hunks of a change a person wants, as in `git add -p`.

use std::sync::Arc;

use super::{Diff, Hunk};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    #[default]
    Undecided,
    Yes,
    No,
}

/// A choice for every hunk. What is undecided counts as not wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    diff: Arc<Diff>,
    hunks: Vec<(Hunk, Choice)>,
}

impl Choices {
    pub fn new(diff: Arc<Diff>, context: usize) -> Self {
        let hunks = diff
            .hunks(context)
            .into_iter()
            .map(|hunk| (hunk, Choice::Undecided))
            .collect();
        Self { diff, hunks }
    }

    pub fn diff(&self) -> &Diff {
        &self.diff
    }

    pub fn hunks(&self) -> &[(Hunk, Choice)] {
        &self.hunks
    }

    pub fn set(&mut self, index: usize, choice: Choice) {
        if let Some(hunk) = self.hunks.get_mut(index) {
            hunk.1 = choice;
        }
    }

    /// Decides a hunk and all after it that are undecided.
    pub fn set_rest(&mut self, index: usize, choice: Choice) {
        self.set(index, choice);
        for (_, later) in self.hunks.iter_mut().skip(index) {
            if *later == Choice::Undecided {
                *later = choice;
            }
        }
    }

    /// Makes several hunks of one, which take over what was chosen for it; says how many there are now in its place.
    pub fn split(&mut self, index: usize) -> usize {
        let Some((hunk, choice)) = self.hunks.get(index) else {
            return 0;
        };
        let choice = *choice;
        let parts = self.diff.split(hunk);
        let count = parts.len();
        self.hunks
            .splice(index..=index, parts.into_iter().map(|hunk| (hunk, choice)));
        count
    }

    pub fn can_split(&self, index: usize) -> bool {
        self.hunks
            .get(index)
            .is_some_and(|(hunk, _)| self.diff.edits(hunk).len() > 1)
    }

    /// The nearest undecided hunk after this one, going round at the end; `None` if it would be this one or none.
    pub fn next_undecided(&self, from: usize) -> Option<usize> {
        let count = self.hunks.len();
        (1..count)
            .map(|step| (from + step) % count)
            .find(|&index| self.hunks[index].1 == Choice::Undecided)
    }

    /// As [`next_undecided`](Self::next_undecided), the other way.
    pub fn previous_undecided(&self, from: usize) -> Option<usize> {
        let count = self.hunks.len();
        (1..count)
            .map(|step| (from % count + count - step) % count)
            .find(|&index| self.hunks[index].1 == Choice::Undecided)
    }

    pub fn is_decided(&self) -> bool {
        self.hunks
            .iter()
            .all(|(_, choice)| *choice != Choice::Undecided)
    }

    /// How many hunks are wanted.
    pub fn wanted(&self) -> usize {
        self.hunks
            .iter()
            .filter(|(_, choice)| *choice == Choice::Yes)
            .count()
    }

    /// What the file holds with the wanted hunks and without the others.
    pub fn apply(&self) -> String {
        let (before, after) = (self.diff.before(), self.diff.after());
        let mut result = String::with_capacity(before.text().len().max(after.text().len()));
        let mut copied = 0;
        let wanted = self
            .hunks
            .iter()
            .filter(|(_, choice)| *choice == Choice::Yes)
            .flat_map(|(hunk, _)| self.diff.edits(hunk));
        for edit in wanted {
            result.push_str(before.slice(copied..edit.old.start));
            result.push_str(after.slice(edit.new.clone()));
            copied = edit.old.end;
        }
        result.push_str(before.slice(copied..before.len()));
        result
    }
}
