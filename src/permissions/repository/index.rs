//! git's index, as far as it takes to find submodules in it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Before the name of an entry: times, device, inode, mode, owner, size, hash, flags. SHA-1 only: another hash makes the
/// entries unreadable, which says so.
const ENTRY: usize = 62;
const MODE: usize = 24;
const FLAGS: usize = 60;
const GIT_LINK: u32 = 0o160_000;

/// The paths of the submodules; `None` for what is no index that we know.
pub fn links(index: &[u8]) -> Option<Vec<PathBuf>> {
    if index.get(..4)? != b"DIRC" {
        return None;
    }
    let version = number(index, 4)?;
    let count = number(index, 8)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut links = Vec::new();
    let mut at = 12;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let mode = number(index, at + MODE)?;
        // Another hash than SHA-1 would show here: what is read as a mode is none.
        if !matches!(
            mode,
            0o100_644 | 0o100_755 | 0o100_664 | 0o120_000 | 0o040_000 | GIT_LINK
        ) {
            return None;
        }
        let extended = version >= 3 && index.get(at + FLAGS)? & 0x40 != 0;
        let mut start = at + ENTRY + if extended { 2 } else { 0 };
        if version == 4 {
            let (dropped, length) = offset(index.get(start..)?)?;
            start += length;
            name.truncate(name.len().checked_sub(dropped)?);
        } else {
            name.clear();
        }
        let length = index.get(start..)?.iter().position(|&byte| byte == 0)?;
        name.extend_from_slice(&index[start..start + length]);
        let end = start + length + 1;
        at = if version == 4 {
            end
        } else {
            // Padded with NULs to a multiple of eight from the entry's start.
            at + (end - at).div_ceil(8) * 8
        };
        if mode == GIT_LINK {
            links.push(PathBuf::from(OsStr::from_bytes(&name)));
        }
    }
    Some(links)
}

fn number(index: &[u8], at: usize) -> Option<u32> {
    let bytes = index.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// git's variable-length number, and how many bytes it takes.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().take(8).enumerate() {
        if at > 0 {
            value += 1;
        }
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, at + 1));
        }
    }
    None
}
