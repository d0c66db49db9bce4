//! Decides the changes of files one by one, like `git add -p`.

use std::ops::Range;
use std::sync::Arc;

use super::super::DialogLayout;
use super::reading::Reading;
use crate::app::diff::{CONTEXT, Choice, Choices, Chosen, Diff};
use crate::protocol::{Answer, LeftOut, PartOfFile};

/// Shows one hunk at a time. A hunk can be accepted once its end was visible.
#[derive(Debug, Clone, PartialEq)]
pub struct Picking {
    choices: Choices,
    at: usize,
    /// Which hunks have been read; one entry per hunk.
    read: Vec<bool>,
    pub(super) reading: Reading,
    /// The person knows which hunks applying now would skip.
    is_warned: bool,
}

/// A message to the person about the last key.
type Notice = Option<String>;

impl Picking {
    /// `None` if there is nothing to choose from.
    pub fn new(files: Vec<Arc<Diff>>) -> Option<Self> {
        let choices = Choices::new(files, CONTEXT);
        let count = choices.hunks().len();
        (count > 0).then(|| Self {
            choices,
            at: 0,
            read: vec![false; count],
            reading: Reading::default(),
            is_warned: false,
        })
    }

    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// The index of the visible hunk, counted across all files.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The visible hunk.
    pub fn current(&self) -> &Chosen {
        &self.choices.hunks()[self.at]
    }

    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// Whether the visible hunk can be accepted.
    pub fn can_take(&self) -> bool {
        self.obstacle().is_none()
    }

    pub(super) fn record_layout(&mut self, layout: DialogLayout) {
        self.reading.record_layout(layout);
        self.read[self.at] |= self.reading.has_reached_end();
    }

    /// All of it was visible in another view.
    pub(super) fn note_all_read(&mut self) {
        self.read.fill(true);
    }

    pub(super) fn step(&mut self, by: isize) {
        let last = self.read.len() - 1;
        self.show(self.at.saturating_add_signed(by).min(last));
    }

    pub(super) fn take(&mut self) -> Notice {
        match self.obstacle() {
            Some(obstacle) => Some(obstacle.into()),
            None => self.decide(Choice::Yes),
        }
    }

    pub(super) fn leave_out(&mut self) -> Notice {
        self.decide(Choice::No)
    }

    /// Accepts this hunk and the undecided ones after it, up to the first that has not been read.
    pub(super) fn take_rest(&mut self) -> Notice {
        if let Some(obstacle) = self.obstacle() {
            return Some(obstacle.into());
        }
        self.choices.set(self.at, Choice::Yes);
        self.take_undecided(self.at + 1..self.read.len())
    }

    pub(super) fn skip_rest(&mut self) -> Notice {
        self.choices.set_rest(self.at, Choice::No);
        self.go_to_next()
    }

    /// Accepts this hunk and the undecided ones of its file, up to the first that has not been read.
    pub(super) fn take_file(&mut self) -> Notice {
        if let Some(obstacle) = self.obstacle() {
            return Some(obstacle.into());
        }
        self.choices.set(self.at, Choice::Yes);
        self.take_undecided(self.choices.file_of(self.at))
    }

    pub(super) fn leave_out_file(&mut self) -> Notice {
        for index in self.choices.file_of(self.at) {
            self.choices.set(index, Choice::No);
        }
        self.go_to_next()
    }

    fn take_undecided(&mut self, hunks: Range<usize>) -> Notice {
        for index in hunks {
            if self.choices.hunks()[index].choice != Choice::Undecided {
                continue;
            }
            if !self.read[index] {
                self.show(index);
                return Some("the changes from here on have not been shown yet".into());
            }
            self.choices.set(index, Choice::Yes);
        }
        self.go_to_next()
    }

    pub(super) fn split(&mut self) -> String {
        if !self.choices.can_split(self.at) {
            return "this change cannot be split further".into();
        }
        let parts = self.choices.split(self.at);
        let read = self.read[self.at];
        self.read
            .splice(self.at..=self.at, std::iter::repeat_n(read, parts));
        self.show(self.at);
        format!("split into {parts}")
    }

    /// The answer that the choices amount to. Undecided hunks are skipped, which has to be confirmed.
    pub(super) fn apply(&mut self) -> Result<Answer, String> {
        let undecided = self.undecided();
        if undecided > 0 && !self.is_warned {
            self.is_warned = true;
            return Err(match self.choices.wanted() {
                0 => "nothing accepted: Enter denies the call".into(),
                _ => format!("{undecided} undecided will be skipped"),
            });
        }
        let wanted = self.choices.wanted();
        Ok(if wanted == self.read.len() {
            Answer::Allow
        } else if wanted == 0 {
            Answer::Deny { reason: None }
        } else {
            let part = |(diff, after): (&Diff, String)| PartOfFile {
                path: diff.path().to_owned(),
                after,
            };
            let files = self.choices.apply().into_iter().map(part).collect();
            let left_out = LeftOut {
                count: self.read.len() - wanted,
                of: self.read.len(),
            };
            Answer::AllowPart { files, left_out }
        })
    }

    pub fn undecided(&self) -> usize {
        self.choices.count(Choice::Undecided)
    }

    fn obstacle(&self) -> Option<&'static str> {
        if !self.reading.is_visible() {
            Some("this change is not shown yet")
        } else if !self.read[self.at] {
            Some("read this change to the end first")
        } else {
            None
        }
    }

    fn decide(&mut self, choice: Choice) -> Notice {
        self.choices.set(self.at, choice);
        self.go_to_next()
    }

    /// Moves to the next undecided hunk.
    fn go_to_next(&mut self) -> Notice {
        match self.choices.next_undecided(self.at) {
            Some(index) => {
                self.show(index);
                None
            }
            None => Some("all changes are decided".into()),
        }
    }

    fn show(&mut self, index: usize) {
        self.at = index;
        self.reading = Reading::default();
        self.is_warned = false;
    }
}
