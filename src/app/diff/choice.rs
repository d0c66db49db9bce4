//! Which hunks of a change a person wants, like `git add -p`.

use std::ops::Range;
use std::sync::Arc;

use super::{Diff, Hunk};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
    #[default]
    Undecided,
    Yes,
    No,
}

/// A choice for every hunk of some files. Undecided means not wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    files: Vec<Arc<Diff>>,
    /// File by file, with one index across all of them.
    hunks: Vec<Chosen>,
}

/// A hunk, and what was chosen for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// The index of its file.
    file: usize,
    pub hunk: Hunk,
    pub choice: Choice,
}

impl Choices {
    pub fn new(files: Vec<Arc<Diff>>, context: usize) -> Self {
        let of_file = |(file, diff): (usize, &Arc<Diff>)| {
            let hunks = diff.hunks(context).into_iter();
            hunks.map(move |hunk| Chosen {
                file,
                hunk,
                choice: Choice::Undecided,
            })
        };
        let hunks = files.iter().enumerate().flat_map(of_file).collect();
        Self { files, hunks }
    }

    pub fn files(&self) -> &[Arc<Diff>] {
        &self.files
    }

    /// The diff of the hunk's file.
    pub fn diff_of(&self, chosen: &Chosen) -> &Diff {
        &self.files[chosen.file]
    }

    pub fn hunks(&self) -> &[Chosen] {
        &self.hunks
    }

    /// All hunks in the file of this one.
    pub fn file_of(&self, index: usize) -> Range<usize> {
        let file = self.hunks[index].file;
        let start = self.hunks.partition_point(|hunk| hunk.file < file);
        let end = self.hunks.partition_point(|hunk| hunk.file <= file);
        start..end
    }

    pub fn set(&mut self, index: usize, choice: Choice) {
        if let Some(hunk) = self.hunks.get_mut(index) {
            hunk.choice = choice;
        }
    }

    /// Decides a hunk and all undecided ones after it.
    pub fn set_rest(&mut self, index: usize, choice: Choice) {
        self.set(index, choice);
        for later in self.hunks.iter_mut().skip(index) {
            if later.choice == Choice::Undecided {
                later.choice = choice;
            }
        }
    }

    /// Splits a hunk; the parts inherit its choice. Returns how many parts there are.
    pub fn split(&mut self, index: usize) -> usize {
        let Some(Chosen { file, hunk, choice }) = self.hunks.get(index) else {
            return 0;
        };
        let (file, choice) = (*file, *choice);
        let parts = self.files[file].split(hunk);
        let count = parts.len();
        let parts = parts.into_iter().map(|hunk| Chosen { file, hunk, choice });
        self.hunks.splice(index..=index, parts);
        count
    }

    pub fn can_split(&self, index: usize) -> bool {
        self.hunks
            .get(index)
            .is_some_and(|chosen| self.diff_of(chosen).edits(&chosen.hunk).len() > 1)
    }

    /// The nearest undecided hunk after this one, wrapping at the end; `None` if there is no other.
    pub fn next_undecided(&self, from: usize) -> Option<usize> {
        let count = self.hunks.len();
        (1..count)
            .map(|step| (from + step) % count)
            .find(|&index| self.hunks[index].choice == Choice::Undecided)
    }

    /// Like [`next_undecided`](Self::next_undecided), in the other direction.
    pub fn previous_undecided(&self, from: usize) -> Option<usize> {
        let count = self.hunks.len();
        (1..count)
            .map(|step| (from % count + count - step) % count)
            .find(|&index| self.hunks[index].choice == Choice::Undecided)
    }

    pub fn is_decided(&self) -> bool {
        self.count(Choice::Undecided) == 0
    }

    /// How many hunks have this choice.
    pub fn count(&self, choice: Choice) -> usize {
        let hunks = self.hunks.iter();
        hunks.filter(|chosen| chosen.choice == choice).count()
    }

    /// How many hunks are wanted.
    pub fn wanted(&self) -> usize {
        self.count(Choice::Yes)
    }

    /// The content of each file with only the wanted hunks. A file without any is left out: rejecting all of a new file
    /// must not create it.
    pub fn apply(&self) -> Vec<(&Diff, String)> {
        let files = self.files.iter().enumerate();
        files
            .filter_map(|(file, diff)| Some((&**diff, self.apply_to(file)?)))
            .collect()
    }

    fn apply_to(&self, file: usize) -> Option<String> {
        let diff = &self.files[file];
        let (before, after) = (diff.before(), diff.after());
        let is_wanted = |chosen: &&Chosen| chosen.file == file && chosen.choice == Choice::Yes;
        let mut wanted = self.hunks.iter().filter(is_wanted).peekable();
        wanted.peek()?;
        let mut result = String::with_capacity(before.text().len().max(after.text().len()));
        let mut copied = 0;
        for edit in wanted.flat_map(|chosen| diff.edits(&chosen.hunk)) {
            result.push_str(before.slice(copied..edit.old.start));
            result.push_str(after.slice(edit.new.clone()));
            copied = edit.old.end;
        }
        result.push_str(before.slice(copied..before.len()));
        Some(result)
    }
}
