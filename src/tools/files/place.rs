//! A place in a directory that cannot be swapped for another one.
//!
//! Between finding out where a path leads and using it, a directory on the way can be replaced by a link. So the
//! directory of a file is opened once, without following any link, and everything after that is relative to the open
//! directory.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags};

/// The name of a file in a directory that is held open.
#[derive(Debug)]
pub struct Place {
    pub(super) directory: Arc<OwnedFd>,
    pub(super) name: OsString,
    real: PathBuf,
}

/// Directories that were created for a file. If this is dropped before [`keep`](Self::keep), they are removed again.
#[derive(Debug, Default)]
pub struct MadeDirectories {
    made: Vec<(OwnedFd, OsString)>,
}

/// Opening a file must not wait for a FIFO's writer, and commands must not inherit it.
const READING: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

/// If the system allows it, a directory is opened with `O_PATH`, which does not need the right to list it.
#[cfg(target_os = "linux")]
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

impl Place {
    /// The place of `real`, a path without links whose directory exists.
    pub fn of(real: &Path) -> io::Result<Self> {
        let (Some(parent), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        Ok(Self {
            directory: Arc::new(open_without_links(parent, DIRECTORY)?),
            name: name.to_owned(),
            real: real.to_owned(),
        })
    }

    /// The place `missing` below `directory`. Creates all its directories.
    pub fn make(directory: &Path, missing: &[OsString]) -> io::Result<(Self, MadeDirectories)> {
        let (name, parents) = missing.split_last().ok_or(io::ErrorKind::InvalidInput)?;
        let mut made = MadeDirectories::default();
        let mut current = open_without_links(directory, DIRECTORY)?;
        let mut real = directory.to_owned();
        for parent in parents {
            match rustix::fs::mkdirat(&current, parent, Mode::from_raw_mode(0o777)) {
                Ok(()) => made.made.push((current.try_clone()?, parent.clone())),
                // Another process created it first, which is fine.
                Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            current = rustix::fs::openat(
                &current,
                parent,
                DIRECTORY | OFlags::NOFOLLOW,
                Mode::empty(),
            )?;
            real.push(parent);
        }
        real.push(name);
        let place = Self {
            directory: Arc::new(current),
            name: name.clone(),
            real,
        };
        Ok((place, made))
    }

    /// Uses the open directory of `other` if it is the same, so that many files in few directories do not need a file
    /// descriptor each.
    pub fn share_directory(&mut self, other: &Self) {
        let identity = |place: &Self| {
            let stat = rustix::fs::fstat(&place.directory).ok()?;
            Some((stat.st_dev, stat.st_ino))
        };
        if self.real.parent() == other.real.parent()
            && identity(self).is_some_and(|ours| identity(other) == Some(ours))
        {
            self.directory = other.directory.clone();
        }
    }

    /// The path of the place, without links.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// Opens the file that is there now for reading. Does not follow a link.
    pub fn open(&self) -> io::Result<File> {
        self.open_beside(&self.name)
    }

    /// The same for another name in its directory.
    pub(super) fn open_beside(&self, name: &OsStr) -> io::Result<File> {
        let flags = READING | OFlags::NOFOLLOW;
        let file = rustix::fs::openat(&self.directory, name, flags, Mode::empty())?;
        Ok(File::from(file))
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            &self.directory,
            name,
            AtFlags::empty(),
        )?)
    }
}

impl MadeDirectories {
    pub fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        for (parent, name) in self.made.drain(..).rev() {
            // A directory that is no longer empty stays.
            let _ = rustix::fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR);
        }
    }
}

/// Opens the file at `real`, a path without links, for reading.
pub fn open_real(real: &Path) -> io::Result<File> {
    Ok(File::from(open_without_links(real, READING)?))
}

/// The directory in which a search starts, held open: files opened through it are below it, even if something is
/// swapped for a link meanwhile.
#[derive(Debug)]
pub struct Anchor(OwnedFd);

impl Anchor {
    /// At `real`, a path without links.
    pub fn at(real: &Path) -> io::Result<Self> {
        Ok(Self(open_without_links(real, DIRECTORY)?))
    }

    /// Opens the file at `path`, relative to this directory, for reading. Follows no link.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        Ok(File::from(open_below(self.0.as_fd(), path, READING)?))
    }
}

fn open_without_links(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let below = path
        .strip_prefix("/")
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    if below.as_os_str().is_empty() {
        return Ok(rustix::fs::open("/", flags, Mode::empty())?);
    }
    let root = rustix::fs::open("/", DIRECTORY, Mode::empty())?;
    open_below(root.as_fd(), below, flags)
}

#[cfg(target_os = "linux")]
fn open_below(directory: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    use rustix::io::Errno;

    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened =
        rustix::io::retry_on_intr(|| openat2(directory, path, flags, Mode::empty(), resolve));
    match opened {
        // Kernels before 5.6, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => open_step_by_step(directory, path, flags),
        opened => Ok(opened?),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_below(directory: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    open_step_by_step(directory, path, flags)
}

/// Opens one name after the other. None of them may be a link.
fn open_step_by_step(directory: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let names: Vec<&OsStr> = path
        .components()
        .map(|component| match component {
            Component::Normal(name) => Ok(name),
            Component::CurDir
            | Component::ParentDir
            | Component::RootDir
            | Component::Prefix(_) => Err(io::Error::from(io::ErrorKind::InvalidInput)),
        })
        .collect::<io::Result<_>>()?;
    let (last, parents) = names.split_last().ok_or(io::ErrorKind::InvalidInput)?;
    let mut open_directory: Option<OwnedFd> = None;
    for name in parents {
        let from = open_directory.as_ref().map_or(directory, AsFd::as_fd);
        let next = rustix::fs::openat(from, *name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        open_directory = Some(next);
    }
    let from = open_directory.as_ref().map_or(directory, AsFd::as_fd);
    Ok(rustix::fs::openat(
        from,
        *last,
        flags | OFlags::NOFOLLOW,
        Mode::empty(),
    )?)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::{Anchor, DIRECTORY, Place, READING, open_real, open_step_by_step};

    #[test]
    fn a_directory_swapped_for_a_link_is_not_followed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists");
        std::fs::create_dir_all(root.join("inside")).expect("mkdir");
        std::fs::create_dir_all(root.join("outside")).expect("mkdir");
        std::fs::write(root.join("inside/file"), "inside").expect("write");
        std::fs::write(root.join("outside/file"), "outside").expect("write");
        let place = Place::of(&root.join("inside/file")).expect("it exists");

        std::fs::rename(root.join("inside"), root.join("moved")).expect("rename");
        symlink(root.join("outside"), root.join("inside")).expect("link");

        let mut text = String::new();
        let mut file = place.open().expect("the pinned directory still has it");
        file.read_to_string(&mut text).expect("read");
        assert_eq!(text, "inside");
        assert!(open_real(&root.join("inside/file")).is_err());
    }

    #[test]
    fn no_path_below_an_anchor_escapes_on_old_kernels_either() {
        use std::os::fd::AsFd;

        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists");
        std::fs::create_dir_all(root.join("in/sub")).expect("mkdir");
        std::fs::create_dir_all(root.join("out")).expect("mkdir");
        std::fs::write(root.join("in/sub/file"), "inside").expect("write");
        std::fs::write(root.join("out/file"), "outside").expect("write");
        symlink(root.join("out"), root.join("in/link")).expect("link");
        symlink(root.join("out/file"), root.join("in/file")).expect("link");
        let anchor = Anchor::at(&root.join("in")).expect("a directory");
        let start = rustix::fs::open(root.join("in"), DIRECTORY, rustix::fs::Mode::empty())
            .expect("a directory");
        for (path, opens) in [
            ("sub/file", true),
            ("link/file", false),
            ("file", false),
            ("../out/file", false),
            ("/etc/hosts", false),
        ] {
            let path = std::path::Path::new(path);
            assert_eq!(anchor.open(path).is_ok(), opens, "{}", path.display());
            let by_hand = open_step_by_step(start.as_fd(), path, READING);
            assert_eq!(by_hand.is_ok(), opens, "{}", path.display());
        }
    }

    #[test]
    fn created_directories_are_removed_if_the_write_fails() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists");
        let missing = ["a".into(), "b".into(), "c.txt".into()];
        let (place, made) = Place::make(&root, &missing).expect("made");
        assert_eq!(place.real(), root.join("a/b/c.txt"));
        assert!(root.join("a/b").is_dir());
        drop(made);
        assert!(!root.join("a").exists());
        let (_, made) = Place::make(&root, &missing).expect("made");
        made.keep();
        assert!(root.join("a/b").is_dir());
    }
}
