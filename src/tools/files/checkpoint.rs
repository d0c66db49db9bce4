//! Contents of files before a tool changed them, kept by hash.
//!
//! A content is one file, `aa/rest-of-the-hash`, readable by its owner only, and appears whole or not at all. What was
//! changed when, and whether it may be taken back, is the session's to know.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use super::document::MAX_SIZE;
use super::stamp::ContentHash;
use crate::config::read_regular;
use crate::config::save::put_private;

pub struct Checkpoints {
    directory: PathBuf,
}

impl Checkpoints {
    /// Keeps contents below `directory`, which is made when the first one comes.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Keeps `content`, once, and returns the name to get it back by.
    pub fn store(&self, content: &[u8]) -> io::Result<ContentHash> {
        let hash = ContentHash::of(content);
        let path = self.path(&hash);
        if path.exists() {
            return Ok(hash);
        }
        let parent = path.parent().unwrap_or(&self.directory);
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
        // It may hold secrets of a private file.
        put_private(&path, content)?;
        Ok(hash)
    }

    /// The content of that name. A content that is no longer what its name says is an error, not an answer.
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

    fn path(&self, hash: &ContentHash) -> PathBuf {
        let name = hash.to_string();
        let (group, rest) = name.split_at(2);
        self.directory.join(group).join(rest)
    }
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
    fn a_damaged_content_is_not_handed_out() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let checkpoints = Checkpoints::new(dir.path());
        let hash = checkpoints.store(b"before").expect("stored");
        std::fs::write(checkpoints.path(&hash), "other").expect("write");
        assert!(checkpoints.get(&hash).is_err());
        assert!(checkpoints.get(&ContentHash::of(b"never stored")).is_err());
    }
}
