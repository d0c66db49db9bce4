//! Which matches a call finds and what it would change: every file with its matches, before and after. Writes
//! nothing.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use grep_matcher::{Captures, Matcher};
use grep_regex::RegexMatcher;

use super::Input;
use crate::permissions::Places;
use crate::protocol::FileDiff;
use crate::tools::ToolError;
use crate::tools::files::matching::{Splice, apply};
use crate::tools::files::path::shown_from;
use crate::tools::files::place::Place;
use crate::tools::files::text::Text;
use crate::tools::files::{ContentHash, document};
use crate::tools::grep::{self, Files, OutputMode};
use crate::tools::off_limits::OffLimits;
use crate::tools::tree::{self, Stop, Unread, names};

/// A larger file is not changed, as with Edit.
const LARGEST: u64 = document::MAX_SIZE;
/// The files to change are all in memory at once, before and after.
const MOST_BYTES: usize = 256 << 20;

/// A valid call.
pub struct Query {
    files: Files,
    matcher: RegexMatcher,
    replacement: Option<Vec<u8>>,
    writes: bool,
    cwd: PathBuf,
}

/// The result of the search.
#[derive(Debug, Default)]
pub struct Plan {
    /// Sorted by path.
    pub files: Vec<Planned>,
    /// Files with matches that must not be changed.
    pub kept: Vec<PathBuf>,
    pub stopped: bool,
    /// There are more files with matches than were searched.
    pub more: bool,
    pub unread: Unread,
    pub cwd: PathBuf,
}

/// A file with matches.
#[derive(Debug)]
pub struct Planned {
    /// As the search found it.
    pub path: PathBuf,
    /// Without links.
    pub real: PathBuf,
    pub hash: ContentHash,
    pub before: String,
    pub matches: Vec<Range<usize>>,
    /// One for each match, if there is a replacement.
    pub splices: Vec<Splice>,
}

impl Query {
    pub fn new(input: &Input, cwd: &Path) -> Result<Self, ToolError> {
        grep::check_globs("file_glob", &input.file_glob)?;
        if let Some(exclude) = &input.exclude {
            grep::check_globs("exclude", exclude)?;
        }
        let exclude = input.exclude.as_deref().map(grep::split_globs);
        let mut globs = input.file_glob.clone();
        if globs.trim().is_empty() {
            globs = super::every_file();
        }
        for glob in exclude.unwrap_or_default() {
            globs.push_str(",!");
            globs.push_str(glob.trim_start_matches('!'));
        }
        let search = grep::Input {
            pattern: input.pattern.clone(),
            path: input.path.clone(),
            glob: Some(globs),
            multiline: input.multiline,
            output_mode: OutputMode::FilesWithMatches,
            ..grep::Input::default()
        };
        let files = Files::new(&search, cwd)?;
        let matcher = files.matcher().clone();
        if let Some(replacement) = &input.replace_with {
            check_groups(replacement, &matcher)?;
        }
        if matcher.is_match(b"").unwrap_or(false) {
            return Err(ToolError::new(
                "`pattern` matches the empty text, which is everywhere; make it match at least one character",
            ).with_sentence("the pattern matches everywhere"));
        }
        Ok(Self {
            files,
            matcher,
            replacement: input
                .replace_with
                .as_ref()
                .map(|it| it.clone().into_bytes()),
            writes: input.writes(),
            cwd: cwd.to_owned(),
        })
    }

    /// Blocks until it is done or cancelled.
    pub fn run(
        &self,
        off_limits: &OffLimits,
        places: &Places,
        stop: &Stop,
        searched: &AtomicUsize,
    ) -> Result<Plan, ToolError> {
        let found = self.files.find(off_limits, places, stop, searched)?;
        let (start, mut paths) = (found.start, found.paths);
        paths.sort_unstable();
        let plan = Mutex::new(Plan {
            stopped: found.stopped,
            more: found.more,
            unread: found.unread,
            cwd: self.cwd.clone(),
            ..Plan::default()
        });
        let next = AtomicUsize::new(0);
        let bytes = AtomicUsize::new(0);
        let work = || {
            while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                if stop.is_set() || bytes.load(Ordering::Relaxed) > MOST_BYTES {
                    return;
                }
                let looked = self.search_one(path, &start, off_limits);
                let mut plan = plan.lock().unwrap_or_else(PoisonError::into_inner);
                match looked {
                    Ok(Searched::Found(file)) => {
                        bytes.fetch_add(file.size(), Ordering::Relaxed);
                        plan.files.push(file);
                    }
                    Ok(Searched::Kept) => plan.kept.push(path.clone()),
                    Ok(Searched::Nothing) => {}
                    Err(error) => plan.unread.note_file(path, &error),
                }
            }
        };
        std::thread::scope(|scope| {
            let more = if paths.len() > 16 {
                tree::spare_threads()
            } else {
                0
            };
            for _ in 0..more {
                scope.spawn(work);
            }
            work();
        });
        let mut plan = plan.into_inner().unwrap_or_else(PoisonError::into_inner);
        if bytes.into_inner() > MOST_BYTES {
            return Err(ToolError::new(
                "The files with matches are too large to be looked at together; narrow `path` or `file_glob`",
            ).with_sentence("the files are too large together"));
        }
        if self.writes && stop.is_set() {
            return Err(ToolError::new(
                "The search took too long, so nothing was written; narrow `path` or `file_glob`",
            )
            .with_sentence("the search took too long; nothing was written"));
        }
        plan.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        plan.kept.sort_unstable();
        Ok(plan)
    }

    /// Searches one file in full.
    fn search_one(
        &self,
        path: &Path,
        start: &Path,
        off_limits: &OffLimits,
    ) -> std::io::Result<Searched> {
        let real = std::fs::canonicalize(path)?;
        if !real.starts_with(start) {
            return Err(std::io::Error::other("it is now a link to another place"));
        }
        if self.writes && off_limits.cover_writing(&real) {
            return Ok(Searched::Kept);
        }
        let mut bytes = Vec::new();
        let file = Place::of(&real)?.open()?;
        (&file).take(LARGEST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > LARGEST {
            return Err(std::io::Error::other("it is too large to change"));
        }
        let hash = ContentHash::of(&bytes);
        let before = match Text::decode(&bytes) {
            Ok(text) => text.content,
            // Text that cannot be written back unchanged is not changed.
            Err(_) if self.replacement.is_some() => {
                return Err(std::io::Error::other("it is not text in UTF-8 or UTF-16"));
            }
            Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
        };
        let (matches, splices) = self.matches(&before);
        if matches.is_empty() {
            return Ok(Searched::Nothing);
        }
        Ok(Searched::Found(Planned {
            path: path.to_owned(),
            real,
            hash,
            before,
            matches,
            splices,
        }))
    }

    /// All matches in a text, and their replacements.
    fn matches(&self, text: &str) -> (Vec<Range<usize>>, Vec<Splice>) {
        let (mut matches, mut splices) = (Vec::new(), Vec::new());
        let Some(replacement) = &self.replacement else {
            // The regex matcher never fails.
            let _ = self.matcher.find_iter(text.as_bytes(), |found| {
                matches.push(found.start()..found.end());
                true
            });
            return (matches, splices);
        };
        let Ok(mut groups) = self.matcher.new_captures() else {
            return (matches, splices);
        };
        let _ = self
            .matcher
            .captures_iter(text.as_bytes(), &mut groups, |groups| {
                let Some(found) = groups.get(0).filter(|found| !found.is_empty()) else {
                    return true;
                };
                let range = found.start()..found.end();
                let mut with = Vec::new();
                let index = |name: &str| self.matcher.capture_index(name);
                groups.interpolate(index, text.as_bytes(), replacement, &mut with);
                splices.push(Splice {
                    range: range.clone(),
                    with: String::from_utf8_lossy(&with).into_owned(),
                });
                matches.push(range);
                true
            });
        (matches, splices)
    }
}

enum Searched {
    Found(Planned),
    /// It must not be changed.
    Kept,
    Nothing,
}

impl Planned {
    fn size(&self) -> usize {
        let added: usize = self.splices.iter().map(|splice| splice.with.len()).sum();
        2 * self.before.len() + added
    }

    /// Whether the replacement changes anything: it may equal the match.
    pub fn changes(&self) -> bool {
        let mut splices = self.splices.iter();
        splices.any(|splice| self.before[splice.range.clone()] != splice.with)
    }

    pub fn after(&self) -> String {
        apply(&self.before, &self.splices).0
    }

    /// The name for the screen and the model.
    pub fn name(&self, base: &Path) -> String {
        shown_from(&self.path, base)
    }
}

impl Plan {
    /// The contents of the files that change.
    pub fn seen(&self) -> super::Seen {
        let files = self.files.iter().filter(|file| file.changes());
        files.map(|file| (file.real.clone(), file.hash)).collect()
    }

    pub fn diffs(&self, workspace: &Path) -> Vec<FileDiff> {
        let files = self.files.iter().filter(|file| file.changes());
        files
            .map(|file| FileDiff {
                path: file.name(workspace),
                before: Some(Arc::from(file.before.as_str())),
                after: file.after().into(),
            })
            .collect()
    }

    /// Whether everything was searched.
    pub fn is_complete(&self) -> bool {
        !self.stopped && !self.more && self.kept.is_empty() && self.unread.count == 0
    }

    pub fn count(&self) -> usize {
        self.files.iter().map(|file| file.matches.len()).sum()
    }
}

/// A group that the pattern does not have would be replaced by nothing, which is always a mistake.
fn check_groups(replacement: &str, matcher: &RegexMatcher) -> Result<(), ToolError> {
    for name in groups(replacement) {
        let known = match name.parse::<usize>() {
            Ok(number) => number < matcher.capture_count(),
            Err(_) => matcher.capture_index(name).is_some(),
        };
        if !known {
            return Err(ToolError::new(format!(
                "`replace_with` uses the group `{}`, which `pattern` does not have. A dollar sign is written `$$`, \
                 and `${{1}}x` is the first group followed by x",
                names::escape(name)
            )).with_sentence("the replacement uses an unknown group"));
        }
    }
    Ok(())
}

/// The names of the groups in a replacement.
fn groups(replacement: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = replacement;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
            continue;
        }
        if let Some(braced) = rest.strip_prefix('{') {
            if let Some(end) = braced.find('}') {
                names.push(&braced[..end]);
                rest = &braced[end + 1..];
            }
            continue;
        }
        let end = rest
            .find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))
            .unwrap_or(rest.len());
        if end > 0 {
            names.push(&rest[..end]);
        }
        rest = &rest[end..];
    }
    names
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn groups_are_found_by_name_and_number_and_dollar_signs_are_none() {
        assert_eq!(groups("a$1b ${name}c $$2 $ $x_1-"), ["1b", "name", "x_1"]);
        assert_eq!(groups("${open"), Vec::<&str>::new());
    }
}
