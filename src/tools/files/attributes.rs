//! What a file has besides its content: owner, mode, extended attributes (access lists among them).

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

/// Gives `to` what `from` has. The mode must succeed; owner and extended attributes are kept where the system lets us.
pub fn keep(from: &File, to: &File) -> io::Result<()> {
    let old = from.metadata()?;
    // The order matters: changing the owner clears the set-id bits, and an access list carries a part of the mode.
    let mode = old.mode() & 0o7777 & !lost_with_owner(&old, to)?;
    keep_extended(from, to);
    to.set_permissions(Permissions::from_mode(mode))
}

/// Takes over the owner, and returns the mode bits that must not survive because it could not be: a program that runs
/// as its owner must not come to run as somebody else.
fn lost_with_owner(old: &Metadata, to: &File) -> io::Result<u32> {
    let new = to.metadata()?;
    let mut lost = 0;
    if new.uid() != old.uid() && fchown(to, Some(old.uid()), None).is_err() {
        lost |= SET_USER_ID;
    }
    if new.gid() != old.gid() && fchown(to, None, Some(old.gid())).is_err() {
        lost |= SET_GROUP_ID;
    }
    Ok(lost)
}

/// Best effort: a file system may have none, and some belong to the kernel.
fn keep_extended(from: &File, to: &File) {
    /// The kernel's own limit for a list of names and for a value.
    const LARGEST: usize = 64 * 1024;
    let mut names = vec![0; LARGEST];
    let Ok(length) = flistxattr(from, names.as_mut_slice()) else {
        return;
    };
    let mut value = vec![0; LARGEST];
    for name in names[..length].split(|byte| *byte == 0) {
        if name.is_empty() {
            continue;
        }
        if let Ok(length) = fgetxattr(from, name, value.as_mut_slice()) {
            let _ = fsetxattr(to, name, &value[..length], XattrFlags::empty());
        }
    }
}
