//! File contents before and after a tool changed them, stored by hash.
//!
//! Each content is one file, `aa/rest-of-the-hash`, readable by its owner only, and written atomically. The session
//! knows what was changed when, and whether it can be undone.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::document::MAX_SIZE;
use super::stamp::ContentHash;
use super::text::Text;
use crate::config::save::{put_private, put_private_unsynced};
use crate::config::{open_regular, read_regular};

pub struct Checkpoints {
    directory: PathBuf,
}

impl Checkpoints {
    /// Stores contents below `directory`, which is created with the first one.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Stores `content` once and returns its hash. It is on the disk when this returns.
    pub fn store(&self, content: &[u8]) -> io::Result<ContentHash> {
        let hash = ContentHash::of(content);
        let path = self.path(&hash);
        if holds(&path, content) {
            // It may have been stored by `keep`. Syncing a file that is already on the disk costs almost nothing.
            open_regular(&path, OpenOptions::new().read(true))?.sync_data()?;
            return Ok(hash);
        }
        make_parent(&path)?;
        // It may contain secrets of a private file.
        put_private(&path, content)?;
        Ok(hash)
    }

    /// Stores `content`, whose hash is `hash`, so that it can be shown again. Does not wait for the disk: if the
    /// machine crashes, only a diff on the screen is lost.
    pub fn keep(&self, hash: &ContentHash, content: &[u8]) -> io::Result<()> {
        let path = self.path(hash);
        if !holds(&path, content) {
            make_parent(&path)?;
            put_private_unsynced(&path, content)?;
        }
        Ok(())
    }

    /// The text of the content with this name, if it exists and still matches its hash.
    pub fn text(&self, name: &str) -> Option<Arc<str>> {
        let content = self.get(&name.parse().ok()?).ok()?;
        Some(Text::decode(&content).ok()?.content.into())
    }

    /// The content with this hash. A content that no longer matches its hash is an error.
    pub fn get(&self, hash: &ContentHash) -> io::Result<Vec<u8>> {
        let content = read_regular(&self.path(hash), MAX_SIZE)?;
        if ContentHash::of(&content) == *hash {
            Ok(content)
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the checkpoint {hash} is damaged"),
            ))
        }
    }

    #[cfg(test)]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn path(&self, hash: &ContentHash) -> PathBuf {
        let name = hash.to_string();
        let (group, rest) = name.split_at(2);
        self.directory.join(group).join(rest)
    }
}

fn make_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().unwrap_or(path);
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(parent)
}

/// Whether the file exists and is complete: a crash of the machine can truncate it.
fn holds(path: &Path, content: &[u8]) -> bool {
    let there = std::fs::metadata(path);
    there.is_ok_and(|there| there.len() == content.len() as u64)
        && read_regular(path, MAX_SIZE).is_ok_and(|there| there == content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::Checkpoints;
    use crate::tools::files::ContentHash;

    #[test]
    fn a_content_comes_back_by_its_hash_and_is_kept_once() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let checkpoints = Checkpoints::new(dir.path().join("kept"));
        let hash = checkpoints.store(b"before").expect("stored");
        assert_eq!(checkpoints.store(b"before").expect("stored"), hash);
        assert_eq!(hash, ContentHash::of(b"before"));
        assert_eq!(checkpoints.get(&hash).expect("there"), b"before");

        let path = checkpoints.path(&hash);
        let mode = path.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let beside = path
            .parent()
            .expect("in a group")
            .read_dir()
            .expect("there");
        assert_eq!(beside.count(), 1);
    }

    #[test]
    fn a_damaged_content_is_stored_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let checkpoints = Checkpoints::new(dir.path());
        let hash = ContentHash::of("später".as_bytes());
        for damage in ["", "other"] {
            checkpoints.keep(&hash, "später".as_bytes()).expect("kept");
            let text = checkpoints.text(&hash.to_string());
            assert_eq!(text.as_deref(), Some("später"));
            std::fs::write(checkpoints.path(&hash), damage).expect("written");
            assert_eq!(checkpoints.text(&hash.to_string()), None);
            checkpoints.store("später".as_bytes()).expect("stored");
            assert!(checkpoints.get(&hash).is_ok());
        }
    }

    #[test]
    fn a_damaged_content_is_an_error() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let checkpoints = Checkpoints::new(dir.path());
        let hash = checkpoints.store(b"before").expect("stored");
        std::fs::write(checkpoints.path(&hash), "other").expect("write");
        assert!(checkpoints.get(&hash).is_err());
        assert!(checkpoints.get(&ContentHash::of(b"never stored")).is_err());
    }
}
