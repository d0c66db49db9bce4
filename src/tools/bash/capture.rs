//! The output of a command: bounded in memory, whole on disk.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::config::read_regular;
use crate::config::secrets::KeyRedactor;

use crate::process::output::plain;
use crate::protocol::CallRef;
use crate::tools::files::image::Format;
use crate::tools::guard;

/// How much output stays in memory before it goes to a file.
const HEAD: usize = 128 * 1024;
const TAIL: usize = 64 * 1024;
/// Space for the notice between head and tail, so that the shortened output is not shortened again.
const NOTICE: usize = 1_000;
/// A longer output cannot be an image that a provider accepts.
const LONGEST_WHOLE: u64 = 8 << 20;
/// More output than this stops the command.
pub const FILE_CAP: u64 = 64 << 20;

pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
    /// Where the file for the output may be created.
    place: (PathBuf, CallRef),
    file: Option<File>,
    path: PathBuf,
    problem: Option<String>,
    /// Removes secrets from all output.
    redactor: KeyRedactor,
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.end();
    }
}

impl Capture {
    /// Keeps small output in memory, and writes larger output to a new file in `directory`.
    pub fn new(directory: &Path, call: CallRef) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
            place: (directory.to_owned(), call),
            file: None,
            path: PathBuf::new(),
            problem: None,
            redactor: KeyRedactor::new(),
        }
    }

    /// Writes to the file from the first byte, so that others can follow it.
    pub fn to_file(directory: &Path, call: CallRef) -> Self {
        let mut capture = Self::new(directory, call);
        capture.spill();
        capture
    }

    /// Writes all further output to the file, after what was captured so far.
    pub fn follow(&mut self) {
        if self.file.is_none() && self.problem.is_none() {
            self.spill();
        }
    }

    /// Why the output is not in a file although it should be.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// How many bytes were captured so far.
    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let bytes = self.redactor.pass(bytes);
        self.take(&bytes);
    }

    /// The output is complete.
    fn end(&mut self) {
        let bytes = self.redactor.rest();
        self.take(&bytes);
    }

    fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = HEAD.saturating_sub(self.head.len()).min(bytes.len());
        if room < bytes.len() && self.file.is_none() && self.problem.is_none() {
            self.spill();
        }
        self.head.extend_from_slice(&bytes[..room]);
        self.keep_tail(&bytes[room..]);
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_all(bytes)
        {
            self.problem = Some(error.to_string());
            self.file = None;
        }
    }

    /// True once the command has printed more than anyone will read.
    pub fn is_flooded(&self) -> bool {
        self.total > FILE_CAP
    }

    /// All of the output, if it begins like an image. Images may be larger than the limit for text.
    pub fn data_url(&mut self) -> Option<String> {
        let begins = self.head.trim_ascii_start().starts_with(b"data:image/");
        begins.then(|| self.whole()).flatten()
    }

    /// All of the output, if it is the bytes of an image.
    pub fn image(&mut self) -> Option<Vec<u8>> {
        Format::of(&self.head)?;
        self.whole_bytes()
    }

    /// All of the output, if it is text of a size that a picture may have.
    pub fn whole(&mut self) -> Option<String> {
        String::from_utf8(self.whole_bytes()?).ok()
    }

    fn whole_bytes(&mut self) -> Option<Vec<u8>> {
        self.end();
        if self.total > LONGEST_WHOLE {
            return None;
        }
        if self.is_all_in_memory() {
            Some([self.head.as_slice(), &Vec::from(self.tail.clone())].concat())
        } else if self.problem.is_none() {
            read_regular(&self.path, LONGEST_WHOLE).ok()
        } else {
            None
        }
    }

    /// The output as text of at most `limit` characters, without escape sequences.
    pub fn finish(mut self, limit: usize) -> String {
        self.end();
        self.so_far(limit)
    }

    /// The same for what was captured so far.
    pub fn so_far(&mut self, limit: usize) -> String {
        let whole_limit = limit;
        let limit = limit.saturating_sub(NOTICE);
        let all = self.is_all_in_memory();
        if all {
            self.head.extend(self.tail.drain(..));
        }
        let text = plain(&self.head);
        let size = text.chars().count();
        if all && size <= whole_limit {
            return text;
        }
        if self.file.is_none() && self.problem.is_none() {
            self.spill();
        }
        let place = match &self.problem {
            None => format!(
                "The whole output is in `{}`; Read can read it.",
                self.path.display()
            ),
            Some(problem) => format!("The whole output could not be kept: {problem}."),
        };
        if all {
            return guard::cut(&text, size, limit, &place);
        }
        let (head, tail) = (text, plain(self.tail.make_contiguous()));
        let head: String = head.chars().take(limit * 2 / 3).collect();
        let skipped = tail.chars().count().saturating_sub(limit / 3);
        let tail: String = tail.chars().skip(skipped).collect();
        let size = usize::try_from(self.total).unwrap_or(usize::MAX);
        guard::join(
            &head,
            &tail,
            size.saturating_sub(head.len() + tail.len()),
            size,
            &place,
        )
    }

    fn is_all_in_memory(&self) -> bool {
        self.total == (self.head.len() + self.tail.len()) as u64
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        let new = &bytes[bytes.len().saturating_sub(TAIL)..];
        let excess = (self.tail.len() + new.len()).saturating_sub(TAIL);
        self.tail.drain(..excess);
        self.tail.extend(new);
    }

    fn spill(&mut self) {
        let (directory, call) = &self.place;
        let opened = guard::result_file(directory, *call).and_then(|(mut file, path)| {
            file.write_all(&self.head)?;
            Ok((file, path))
        });
        match opened {
            Ok((file, path)) => (self.file, self.path) = (Some(file), path),
            Err(error) => self.problem = Some(error.to_string()),
        }
    }
}
