//! A text file that is being changed: opened, checked against the ledger, changed in memory, saved atomically.
//!
//! From opening to saving, the file is locked against other calls of this process. Dropping a document changes
//! nothing, so that a call can be previewed before the person is asked.

pub mod batch;

use std::ffi::OsString;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::atomic::{self, Expected, Written};
use super::error::{FileError, human_size};
use super::ledger::{Seen, Stale};
use super::lock::PathLock;
use super::matching::{self, MatchError, Scope, Splice};
use super::numbered::line_number;
use super::open::{check_type, missing};
use super::part;
use super::path::{Located, is_inside, locate, shown, shown_from};
use super::place::Place;
use super::saved::Saved;
use super::stamp::{ContentHash, Stamp};
use super::text::{Encoding, Ending, NotText, Text};
use crate::config::plain;
use crate::permissions::Places;
use crate::protocol::FileDiff;
use crate::text::shortened;
use crate::tools::{Environment, NotLogged, ToolCx};

/// Larger files are not changed, because old and new content are in memory, several times over.
pub const MAX_SIZE: u64 = 64 << 20;
/// Larger texts get no diff before the change.
const MAX_SHOWN: usize = 4 << 20;

/// A text file with its lock and checks.
#[derive(Debug)]
pub struct Document {
    /// The path from the call, made absolute.
    path: PathBuf,
    origin: Origin,
    text: Text,
    /// Which bytes of `text` the model has seen.
    seen: Seen,
    _lock: PathLock,
}

/// The state on the disk.
#[derive(Debug)]
enum Origin {
    Nothing {
        directory: PathBuf,
        missing: Vec<OsString>,
    },
    File {
        place: Place,
        stamp: Stamp,
        bytes: Vec<u8>,
    },
}

/// How much of a file the model must have read before it may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The replaced text; [`Document::replace`] checks that.
    Parts,
    Whole,
    /// Nothing: the call itself has read this content, and the person has seen the change.
    Exactly(ContentHash),
}

/// What [`Document::replace`] did, as positions in the new text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    pub ranges: Vec<Range<usize>>,
    pub quotes_differ: bool,
}

/// What a call did to a file: everything needed to undo it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Without links.
    pub path: PathBuf,
    /// The checkpoint with the old content; `None` for a file that was created.
    pub before: Option<ContentHash>,
    pub after: ContentHash,
}

impl Document {
    /// Opens the file at `path`, which must exist and be unchanged since it was read.
    pub fn open(path: &Path, need: Need, cx: &ToolCx, places: &Places) -> Result<Self, FileError> {
        match decided(path, places)? {
            Located::Existing(real) => Self::existing(path, &real, need, cx),
            Located::Missing { .. } => Err(missing(path, &cx.env.workspace)),
        }
    }

    /// Like [`open`](Self::open), but a missing file is an empty document.
    pub fn open_or_new(
        path: &Path,
        need: Need,
        cx: &ToolCx,
        places: &Places,
    ) -> Result<Self, FileError> {
        match decided(path, places)? {
            Located::Existing(real) => Self::existing(path, &real, need, cx),
            Located::Missing { directory, missing } => Self::new(path, directory, missing, &cx.env),
        }
    }

    fn new(
        path: &Path,
        directory: PathBuf,
        missing: Vec<OsString>,
        env: &Environment,
    ) -> Result<Self, FileError> {
        let mut roots = std::iter::once(&env.workspace).chain(&env.additional);
        if missing.len() > 1 && !roots.any(|root| is_inside(&directory, root)) {
            return Err(FileError::BadPath(format!(
                "The directory {} does not exist, and outside the workspace none are created. Make it with Bash first",
                shown(path.parent().unwrap_or(path))
            )));
        }
        let real: PathBuf = std::iter::once(directory.as_os_str())
            .chain(missing.iter().map(OsString::as_os_str))
            .collect();
        Ok(Self {
            path: path.to_owned(),
            _lock: PathLock::acquire(&real),
            origin: Origin::Nothing { directory, missing },
            text: Text {
                content: String::new(),
                encoding: Encoding::Utf8,
            },
            seen: Seen::all(0),
        })
    }

    fn existing(path: &Path, real: &Path, need: Need, cx: &ToolCx) -> Result<Self, FileError> {
        let lock = PathLock::acquire(real);
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => missing(path, &cx.env.workspace),
            _ => FileError::io("read", path, &error),
        };
        let metadata = real.metadata().map_err(failed)?;
        check_type(path, metadata.file_type())?;
        // Before looking at the content: an error must not reveal anything of a file that was not read.
        let must_be_read = !matches!(need, Need::Exactly(_));
        if must_be_read && metadata.len() > 0 && !cx.ledger.was_read(real) {
            return Err(FileError::not_read(path));
        }
        let place = Place::of(real).map_err(failed)?;
        let file = place.open().map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        check_type(path, metadata.file_type())?;
        let stamp = Stamp::of(&metadata);
        let too_large = |size: u64| FileError::TooLarge {
            path: shown(path),
            size: human_size(size),
            limit: human_size(MAX_SIZE),
            advice: "Change it with Bash, for example with `sed -i`",
        };
        if stamp.size > MAX_SIZE {
            return Err(too_large(stamp.size));
        }
        let mut bytes = Vec::new();
        (&file)
            .take(MAX_SIZE + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        // The file may have grown, and the size of kernel files is not known before reading.
        if bytes.len() as u64 > MAX_SIZE {
            return Err(too_large(bytes.len() as u64));
        }
        if matches!(need, Need::Exactly(hash) if ContentHash::of(&bytes) != hash) {
            return Err(FileError::changed(path));
        }
        let seen = match cx.ledger.check_unchanged(real, stamp, &bytes) {
            Ok(seen) => seen,
            Err(Stale::NotRead | Stale::Changed) if !must_be_read => Seen::new([]),
            // An empty file has nothing that the model could have missed. If it had content when it was read, it
            // counts as changed.
            Err(Stale::NotRead) if bytes.is_empty() => Seen::all(0),
            Err(Stale::NotRead) => return Err(FileError::not_read(path)),
            Err(Stale::Changed) => return Err(FileError::changed(path)),
        };
        if need == Need::Whole && !seen.covers(&(0..bytes.len())) {
            return Err(FileError::NotReadWhole { path: shown(path) });
        }
        let text = Text::decode(&bytes).map_err(|reason| match reason {
            NotText::Binary => FileError::Binary {
                path: shown(path),
                size: human_size(stamp.size),
            },
            NotText::Invalid { at } => FileError::NotUtf8 {
                path: shown(path),
                at,
            },
        })?;
        Ok(Self {
            path: path.to_owned(),
            seen: seen.map(|position| text.position_in_content(position)),
            text,
            origin: Origin::File {
                place,
                stamp,
                bytes,
            },
            _lock: lock,
        })
    }

    pub fn is_new(&self) -> bool {
        matches!(self.origin, Origin::Nothing { .. })
    }

    pub fn text(&self) -> &str {
        &self.text.content
    }

    /// Whether saving would change anything.
    pub fn is_changed(&self) -> bool {
        match &self.origin {
            Origin::Nothing { .. } => true,
            Origin::File { bytes, .. } => *bytes != self.text.encode(),
        }
    }

    /// What saving would change, for the person; `None` if the text is too large to show.
    pub fn diff(&self, workspace: &Path) -> Option<FileDiff> {
        let before: Option<Arc<str>> = match &self.origin {
            Origin::Nothing { .. } => None,
            Origin::File { bytes, .. } if bytes.len() > MAX_SHOWN => return None,
            Origin::File { bytes, .. } => Some(Text::decode(bytes).ok()?.content.into()),
        };
        let after = self.text();
        (after.len() <= MAX_SHOWN).then(|| FileDiff {
            path: shown_from(&self.path, workspace),
            before,
            after: after.into(),
        })
    }

    /// Replaces `old` by `new`. The model must have seen every place.
    pub fn replace(&mut self, old: &str, new: &str, scope: Scope) -> Result<Replaced, FileError> {
        let text = &self.text.content;
        let replacement = matching::replacements(text, old, new, scope).map_err(|error| {
            let in_short = error.for_person();
            let message = match error {
                MatchError::NotFound(_) | MatchError::Ambiguous { .. } => {
                    format!(
                        "{error}\nString: {}\nFile: {}",
                        excerpt(old),
                        shown(&self.path)
                    )
                }
                error => error.to_string(),
            };
            FileError::NoMatch {
                message,
                summary: in_short,
            }
        })?;
        let ranges = self.splice(&replacement.splices)?;
        Ok(Replaced {
            ranges,
            quotes_differ: replacement.quotes_differ,
        })
    }

    /// Turns the text into `after` with the smallest change. The model must have seen what changes.
    pub fn turn_into(&mut self, after: &str) -> Result<(), FileError> {
        let splices = part::splices(&self.text.content, after);
        self.splice(&splices).map(drop)
    }

    /// Makes these changes even where the model has not seen the text. What it knows of the file stays the same.
    pub fn splice_unseen(&mut self, splices: &[Splice]) {
        let (content, _) = matching::apply(&self.text.content, splices);
        self.seen = self.seen.map(|position| matching::moved(position, splices));
        self.text.content = content;
    }

    fn splice(&mut self, splices: &[Splice]) -> Result<Vec<Range<usize>>, FileError> {
        let text = &self.text.content;
        if let Some(unseen) = splices
            .iter()
            .find(|splice| !self.seen.covers(&splice.range))
        {
            return Err(FileError::NotSeen {
                path: shown(&self.path),
                line: line_number(text, unseen.range.start),
            });
        }
        let (content, ranges) = matching::apply(text, splices);
        self.seen = self.seen.map(|position| matching::moved(position, splices));
        self.text.content = content;
        Ok(ranges)
    }

    /// Replaces everything. An existing file keeps its encoding and byte order mark, and its line endings if they are
    /// all the same. If they are mixed, `content` gets the most frequent one unless it has its own.
    pub fn set_text(&mut self, content: &str) {
        let content = match self.text.encoding {
            Encoding::Utf8 => content,
            Encoding::Utf8WithMark | Encoding::Utf16LittleEndian | Encoding::Utf16BigEndian => {
                content.strip_prefix('\u{feff}').unwrap_or(content)
            }
        };
        let old = &self.text.content;
        let ending = Ending::uniform(old).or_else(|| {
            let has_own_endings = content.contains('\r');
            Ending::dominant(old).filter(|_| !has_own_endings)
        });
        self.text.content = match ending {
            Some(ending) => ending.on_every_line_of(content),
            None => content.to_owned(),
        };
        self.seen = Seen::all(self.text.content.len());
    }

    /// Writes the new text to the disk and the old one to the checkpoints, and updates the ledger. Blocks, because
    /// the journal must have the change before the disk does.
    pub fn save(self, cx: &ToolCx) -> Result<Saved, FileError> {
        let bytes = self.text.encode();
        let (change, written) = match &self.origin {
            Origin::Nothing { directory, missing } => {
                let (place, made) = Place::make(directory, missing).map_err(|error| {
                    write_error("create the parent directories", &self.path, &error)
                })?;
                let change = announce(&place, None, &bytes, cx)?;
                let written = atomic::replace(&place, &bytes, Expected::Nothing, &cx.env.locks)?;
                made.keep();
                (change, written)
            }
            Origin::File {
                place,
                stamp,
                bytes: old,
            } => {
                let hash = self.store(old, cx)?;
                let change = announce(place, Some(hash), &bytes, cx)?;
                let expected = Expected::File {
                    stamp: *stamp,
                    hash,
                };
                let written = atomic::replace(place, &bytes, expected, &cx.env.locks)?;
                (change, written)
            }
        };
        Ok(self.saved(&bytes, change, written, cx))
    }

    /// Uses the open directory of `other` if both files are in it.
    pub fn share_directory(&mut self, other: &Self) {
        if let (Origin::File { place, .. }, Origin::File { place: other, .. }) =
            (&mut self.origin, &other.origin)
        {
            place.share_directory(other);
        }
    }

    /// Stores the old content as a checkpoint.
    fn store(&self, old: &[u8], cx: &ToolCx) -> Result<ContentHash, FileError> {
        cx.env.checkpoints.store(old).map_err(|error| {
            write_error("keep the old content as a checkpoint", &self.path, &error)
        })
    }

    /// Updates the ledger after `bytes` were written.
    fn saved(self, bytes: &[u8], change: FileChange, written: Written, cx: &ToolCx) -> Saved {
        // Only needed to show the change again; the next change of the file stores it safely.
        let _ = cx.env.checkpoints.keep(&change.after, bytes);
        let seen = self
            .seen
            .map(|position| self.text.position_in_file(position));
        cx.ledger
            .record_write(&change.path, written.stamp, bytes, &seen);
        let before = match &self.origin {
            Origin::Nothing { .. } => None,
            Origin::File { bytes: old, .. } => {
                Some(Text::decode(old).map_or_else(|_| String::new(), |text| text.content))
            }
        };
        Saved {
            name: shown_from(&self.path, &cx.env.workspace),
            path: self.path,
            before,
            after: self.text.content,
            change,
            stamp: written.stamp,
            other_links: written.other_links,
            lost_owner: written.lost_owner,
        }
    }
}

/// Tells the journal that `bytes` are about to be written.
fn announce(
    place: &Place,
    before: Option<ContentHash>,
    bytes: &[u8],
    cx: &ToolCx,
) -> Result<FileChange, FileError> {
    let change = FileChange {
        path: place.real().to_owned(),
        before,
        after: ContentHash::of(bytes),
    };
    match cx.journal.announce(change.clone()) {
        Ok(()) => Ok(change),
        Err(NotLogged) => Err(FileError::GivenUp),
    }
}

/// Where a path leads, if that is where it led when the call was decided on. The result is used from here on, and the
/// path is not followed again.
fn decided(path: &Path, places: &Places) -> Result<Located, FileError> {
    let located = locate(path)?;
    let real = match &located {
        Located::Existing(real) => real.clone(),
        Located::Missing { directory, missing } => {
            directory.join(missing.iter().collect::<PathBuf>())
        }
    };
    if places.admit(&real) {
        Ok(located)
    } else {
        Err(FileError::Moved { path: shown(path) })
    }
}

fn write_error(step: &'static str, path: &Path, error: &std::io::Error) -> FileError {
    FileError::Write {
        step,
        path: shown(path),
        cause: plain(error),
        state: "Nothing was written",
    }
}

/// The beginning of a text that is quoted in an error.
fn excerpt(text: &str) -> String {
    const MOST: usize = 400;
    shortened(text, MOST, "…").into_owned()
}
