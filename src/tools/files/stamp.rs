//! What identifies a state of a file: the hash of its content, and a cheap stamp.
//!
//! The stamp (modification time and size) detects most changes with one `fstat`. The hash detects the rest: a change
//! within one tick of the clock, or a program that set the time back.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// SHA-256 of some bytes; written and parsed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash([u8; 32]);

/// The metadata that changes with nearly every change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub mtime_seconds: i64,
    pub mtime_nanoseconds: i64,
    pub size: u64,
}

/// A text that is not a [`ContentHash`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a content hash")]
pub struct NotAHash(String);

impl ContentHash {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Hashes the rest of a reader without holding it in memory.
    pub fn of_reader(mut reader: impl Read) -> io::Result<Self> {
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return Ok(hasher.into()),
                Ok(count) => hasher.update(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl From<Sha256> for ContentHash {
    fn from(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

impl FromStr for ContentHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let wrong = || NotAHash(text.to_owned());
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut hash = [0; 32];
        for (index, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(hash))
    }
}

impl Stamp {
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            mtime_seconds: metadata.mtime(),
            mtime_nanoseconds: metadata.mtime_nsec(),
            size: metadata.size(),
        }
    }

    pub fn of_file(file: &File) -> io::Result<Self> {
        Ok(Self::of(&file.metadata()?))
    }
}

#[cfg(test)]
mod tests {
    use super::ContentHash;

    #[test]
    fn a_hash_can_be_written_and_parsed() {
        let hash = ContentHash::of(b"content");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert!("12".parse::<ContentHash>().is_err());
        assert!("é".repeat(32).parse::<ContentHash>().is_err());
    }

    #[test]
    fn a_reader_hashes_like_its_bytes() {
        let bytes = vec![7; 200_000];
        let hash = ContentHash::of_reader(bytes.as_slice()).expect("a slice can be read");
        assert_eq!(hash, ContentHash::of(&bytes));
    }
}
