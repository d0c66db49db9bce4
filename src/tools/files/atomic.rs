//! Replaces the content of a file: all of it or nothing.
//!
//! The content is written to a temporary file in the same directory, gets the mode, owner and extended attributes of
//! the old file, is synced, and is then exchanged with it. Immediately before that, the old file is checked once
//! more, under a lock against other processes of this program. After the exchange it is checked again, because an
//! editor may have saved in between; in that case it is put back. If any step fails, the old file is unchanged and
//! the temporary one is removed. `config::save` is the simpler version for the program's own files, which nobody else
//! edits.
//!
//! **Hard links.** Only the given name gets the new content; other names of the file keep the old one. Writing
//! through all of them would mean writing in place, which is not atomic, and would change files that the person did
//! not approve: other names can be outside the workspace (package stores link files into many projects). The result
//! says how many there are. Symbolic links are followed before: their target is written and they stay.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};

use super::attributes::{self, LostOwner};
use super::error::FileError;
use super::lock::Locks;
use super::path::shown;
use super::place::Place;
use super::stamp::{ContentHash, Stamp};
use crate::config::plain;

/// What must be there for the write to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Nothing,
    File { stamp: Stamp, hash: ContentHash },
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub stamp: Stamp,
    /// Other names of the old file, which still have the old content.
    pub other_links: u64,
    /// The owner of the old file, if the new one could not get it.
    pub lost_owner: Option<LostOwner>,
}

/// The steps of a write, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    CreateTemporary,
    WriteContent,
    KeepAttributes,
    Sync,
    Check,
    Rename,
    Verify,
}

/// The new content of a file in a temporary file next to it, synced. Dropping it removes the temporary file.
pub struct Prepared<'a> {
    temporary: Temporary<'a>,
    expected: Expected,
    lost_owner: Option<LostOwner>,
}

/// Makes `content` the content of the file at `place`, if the file there is the expected one.
pub fn replace(
    place: &Place,
    content: &[u8],
    expected: Expected,
    locks: &Locks,
) -> Result<Written, FileError> {
    replace_watched(place, content, expected, locks, &mut |_| Ok(()))
}

/// [`replace`], with `before` called before every step: tests make steps fail there, or change the file.
fn replace_watched(
    place: &Place,
    content: &[u8],
    expected: Expected,
    locks: &Locks,
    before: &mut dyn FnMut(Step) -> io::Result<()>,
) -> Result<Written, FileError> {
    prepare_watched(place, content, expected, before)?.finish_watched(locks, before)
}

/// The first half of [`replace`]: everything that waits for the disk. [`Prepared::finish`] is the second.
pub fn prepare<'a>(
    place: &'a Place,
    content: &[u8],
    expected: Expected,
) -> Result<Prepared<'a>, FileError> {
    prepare_watched(place, content, expected, &mut |_| Ok(()))
}

fn prepare_watched<'a>(
    place: &'a Place,
    content: &[u8],
    expected: Expected,
    before: &mut dyn FnMut(Step) -> io::Result<()>,
) -> Result<Prepared<'a>, FileError> {
    let mut step = Step::CreateTemporary;
    let mut attempt = || -> io::Result<Prepared<'a>> {
        let mut enter = |next: Step| {
            step = next;
            before(next)
        };
        enter(Step::CreateTemporary)?;
        let mut temporary = Temporary::new(place, expected)?;
        enter(Step::WriteContent)?;
        temporary.file.write_all(content)?;
        enter(Step::KeepAttributes)?;
        let lost_owner = match expected {
            Expected::File { .. } => attributes::keep(&place.open()?, &temporary.file)?,
            Expected::Nothing => None,
        };
        enter(Step::Sync)?;
        temporary.file.sync_all()?;
        Ok(Prepared {
            temporary,
            expected,
            lost_owner,
        })
    };
    attempt().map_err(|error| failed(step, place, expected, &error))
}

impl Prepared<'_> {
    /// Moves the new content into place, if the file there is still the expected one.
    pub fn finish(self, locks: &Locks) -> Result<Written, FileError> {
        self.finish_watched(locks, &mut |_| Ok(()))
    }

    fn finish_watched(
        mut self,
        locks: &Locks,
        before: &mut dyn FnMut(Step) -> io::Result<()>,
    ) -> Result<Written, FileError> {
        let (place, expected) = (self.temporary.place, self.expected);
        let mut step = Step::Check;
        let mut attempt = || -> io::Result<Attempt> {
            let mut enter = |next: Step| {
                step = next;
                before(next)
            };
            let Ok(_alone) = locks.hold(place.real()) else {
                return Ok(Attempt::Busy);
            };
            enter(Step::Check)?;
            let Some(other_links) = check(place, expected)? else {
                return Ok(Attempt::Unexpected);
            };
            enter(Step::Rename)?;
            let moved = self.temporary.move_into_place(expected)?;
            // The new content is in place; a failure from here on does not change that.
            let _ = enter(Step::Verify);
            let stamp = match moved {
                Moved::Overtaken => None,
                Moved::Into(stamp) => self.temporary.is_in_place().then_some(stamp),
            };
            Ok(match stamp {
                None => Attempt::Unexpected,
                Some(stamp) => Attempt::Written(Written {
                    stamp,
                    other_links,
                    lost_owner: self.lost_owner,
                }),
            })
        };
        match attempt() {
            Ok(Attempt::Written(written)) => Ok(written),
            Ok(Attempt::Unexpected) => Err(unexpected(place, expected)),
            Ok(Attempt::Busy) => Err(FileError::Busy {
                path: shown(place.real()),
            }),
            // The rename found a file although there was none before.
            Err(error) if step == Step::Rename && error.kind() == io::ErrorKind::AlreadyExists => {
                Err(unexpected(place, expected))
            }
            Err(error) => Err(failed(step, place, expected, &error)),
        }
    }
}

fn failed(step: Step, place: &Place, expected: Expected, error: &io::Error) -> FileError {
    FileError::Write {
        step: step.words(),
        path: shown(place.real()),
        cause: plain(error),
        state: match expected {
            Expected::Nothing => "Nothing was created",
            Expected::File { .. } => "The file is unchanged",
        },
    }
}

enum Attempt {
    Written(Written),
    /// There is something else.
    Unexpected,
    /// Another process holds the lock.
    Busy,
}

/// The result of moving the new file into place.
enum Moved {
    Into(Stamp),
    /// The old file had changed in the meantime, and was put back.
    Overtaken,
}

/// Whether the file is the expected one: the number of its other links, or `None` if it is not.
fn check(place: &Place, expected: Expected) -> io::Result<Option<u64>> {
    check_file(place.open(), expected)
}

fn check_file(opened: io::Result<File>, expected: Expected) -> io::Result<Option<u64>> {
    match (opened, expected) {
        (Err(error), Expected::Nothing) if error.kind() == io::ErrorKind::NotFound => Ok(Some(0)),
        (Ok(_), Expected::Nothing) => Ok(None),
        (Err(error), Expected::File { .. }) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        (Err(error), _) => Err(error),
        (Ok(file), Expected::File { stamp, hash }) => {
            let metadata = file.metadata()?;
            // The hash comes last, because it has to read the file.
            let same = metadata.is_file()
                && Stamp::of(&metadata) == stamp
                && ContentHash::of_reader(&file)? == hash;
            Ok(same.then(|| metadata.nlink().saturating_sub(1)))
        }
    }
}

fn unexpected(place: &Place, expected: Expected) -> FileError {
    match expected {
        Expected::Nothing => FileError::Appeared {
            path: shown(place.real()),
        },
        Expected::File { .. } => FileError::changed(place.real()),
    }
}

/// Removes temporary files that a killed program left in a directory.
pub fn sweep(directory: &Path) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let ours = name.to_str().is_some_and(|name| {
            let middle = name
                .strip_prefix(".agent-tui-")
                .and_then(|rest| rest.strip_suffix(".tmp"));
            middle.is_some_and(|middle| {
                middle.len() == 16 && middle.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
        });
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            // A file that cannot be removed does no harm.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// A temporary file next to the target, removed again unless it was moved into place.
struct Temporary<'a> {
    place: &'a Place,
    name: OsString,
    file: File,
    moved: bool,
}

impl<'a> Temporary<'a> {
    fn new(place: &'a Place, expected: Expected) -> io::Result<Self> {
        const ATTEMPTS: usize = 8;
        // A new file gets the mode that the umask allows. A replacement stays private until it has the mode of the
        // old file.
        let mode = Mode::from_raw_mode(match expected {
            Expected::Nothing => 0o666,
            Expected::File { .. } => 0o600,
        });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for _ in 0..ATTEMPTS {
            let name = OsString::from(format!(".agent-tui-{:016x}.tmp", fastrand::u64(..)));
            match rustix::fs::openat(&place.directory, &name, flags, mode) {
                Ok(file) => {
                    return Ok(Self {
                        place,
                        name,
                        file: file.into(),
                        moved: false,
                    });
                }
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn move_into_place(&mut self, expected: Expected) -> io::Result<Moved> {
        match expected {
            Expected::File { .. } => {
                if !self.move_over(expected)? {
                    return Ok(Moved::Overtaken);
                }
            }
            Expected::Nothing => self.rename_without_replacing()?,
        }
        // From the open file and not from the path, which may already be another file.
        Stamp::of_file(&self.file).map(Moved::Into)
    }

    /// Exchanges the new file with the old one, and checks the old one again, now that nobody can save under its
    /// name. Returns false if it was not the expected one; it is then back in place. A file system without this
    /// operation gets a plain rename.
    fn move_over(&mut self, expected: Expected) -> io::Result<bool> {
        match self.exchange() {
            Ok(()) => {}
            Err(rustix::io::Errno::NOENT) => return Ok(false),
            Err(
                rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP,
            ) => {
                let directory = &self.place.directory;
                rustix::fs::renameat(directory, &self.name, directory, &self.place.name)?;
                self.moved = true;
                return Ok(true);
            }
            Err(error) => return Err(error.into()),
        }
        let aside = self.place.open_beside(&self.name);
        if matches!(check_file(aside, expected), Ok(Some(_))) {
            return Ok(true);
        }
        // Another program saved between the check and now: its version wins.
        let back = self.exchange();
        if back.is_ok() && self.is_beside() {
            return Ok(false);
        }
        // Another program has also saved over the new file since, or removed it: the newest version stays. The other
        // version is kept next to it under its temporary name, so that it is not lost.
        self.moved = true;
        if back.is_ok() {
            let _ = self.exchange();
        }
        Ok(false)
    }

    fn exchange(&self) -> rustix::io::Result<()> {
        let directory = &self.place.directory;
        let (ours, theirs): (&OsStr, &OsStr) = (&self.name, &self.place.name);
        rustix::fs::renameat_with(directory, ours, directory, theirs, RenameFlags::EXCHANGE)
    }

    /// Whether the file in place is the new one.
    fn is_in_place(&self) -> bool {
        self.is_same(self.place.open())
    }

    fn is_beside(&self) -> bool {
        self.is_same(self.place.open_beside(&self.name))
    }

    fn is_same(&self, other: io::Result<File>) -> bool {
        let same = || -> io::Result<bool> {
            let (ours, theirs) = (self.file.metadata()?, other?.metadata()?);
            Ok((ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()))
        };
        same().unwrap_or(false)
    }

    /// A rename that refuses to replace anything. On a file system without one, the file gets a second name, which
    /// cannot replace anything either; dropping removes the first name.
    fn rename_without_replacing(&mut self) -> io::Result<()> {
        let (directory, name): (_, &OsStr) = (&self.place.directory, &self.place.name);
        match rustix::fs::renameat_with(
            directory,
            &self.name,
            directory,
            name,
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => {
                self.moved = true;
                Ok(())
            }
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => Ok(rustix::fs::linkat(
                directory,
                &self.name,
                directory,
                name,
                AtFlags::empty(),
            )?),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.moved {
            let _ = self.place.remove(&self.name);
        }
    }
}

impl Step {
    /// Completes "could not …".
    const fn words(self) -> &'static str {
        match self {
            Self::CreateTemporary => "create a temporary file in the directory",
            Self::WriteContent => "write the new content",
            Self::KeepAttributes => "keep the mode and owner",
            Self::Sync => "sync the new content to the disk",
            Self::Check => "check the old content again",
            Self::Rename => "move the new content into place",
            Self::Verify => "look at the new content in its place",
        }
    }
}

#[cfg(test)]
mod tests;
