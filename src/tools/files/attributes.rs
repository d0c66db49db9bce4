//! A file's metadata: owner, mode, and extended attributes, which include access lists.

use std::fmt;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

/// Copies the metadata from `from` to `to`. Setting the mode must succeed; owner and extended attributes are kept if
/// the system allows it. Returns the owner that was lost, if it could not be kept.
pub fn keep(from: &File, to: &File) -> io::Result<Option<LostOwner>> {
    let old = from.metadata()?;
    // The order matters: changing the owner clears the set-id bits, and an access list carries a part of the mode.
    let lost = lost_with_owner(
        Owner::of(&old),
        Owner::of(&to.metadata()?),
        |user, group| fchown(to, user, group),
    );
    let mode = old.mode() & 0o7777 & !lost;
    keep_extended(from, to);
    to.set_permissions(Permissions::from_mode(mode))?;
    let (was, is) = (Owner::of(&old), Owner::of(&to.metadata()?));
    Ok((was != is).then_some(LostOwner { was, is }))
}

/// The user and group of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    user: u32,
    group: u32,
}

/// A file whose owner could not be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostOwner {
    was: Owner,
    is: Owner,
}

impl fmt::Display for LostOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { was, is } = self;
        write!(
            f,
            "The file belonged to user {} and group {}, which could not be kept: it belongs to user {} and group {} now, \
             with the same mode. Whoever used it before may no longer be able to; tell the user",
            was.user, was.group, is.user, is.group
        )
    }
}

impl Owner {
    fn of(metadata: &Metadata) -> Self {
        Self {
            user: metadata.uid(),
            group: metadata.gid(),
        }
    }
}

/// Sets the owner with `change`. If that fails, returns the mode bits that must be cleared: a program that runs as
/// its owner must not run as another user.
fn lost_with_owner(
    old: Owner,
    new: Owner,
    mut change: impl FnMut(Option<u32>, Option<u32>) -> io::Result<()>,
) -> u32 {
    let mut lost = 0;
    if new.user != old.user && change(Some(old.user), None).is_err() {
        lost |= SET_USER_ID;
    }
    if new.group != old.group && change(None, Some(old.group)).is_err() {
        lost |= SET_GROUP_ID;
    }
    lost
}

/// Best effort: a file system may have no attributes, and the kernel reserves some.
fn keep_extended(from: &File, to: &File) {
    /// The kernel's limit for a list of names and for a value.
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

#[cfg(test)]
mod tests {
    use std::io;

    use super::{LostOwner, Owner, SET_GROUP_ID, SET_USER_ID, lost_with_owner};

    const OLD: Owner = Owner { user: 1, group: 2 };

    /// The user and the group that a change sets.
    type Change = (Option<u32>, Option<u32>);

    /// The changes that are attempted and the bits that are lost, given which changes fail.
    fn taken_over(new: Owner, refused: fn(Option<u32>, Option<u32>) -> bool) -> (Vec<Change>, u32) {
        let mut asked = Vec::new();
        let lost = lost_with_owner(OLD, new, |user, group| {
            asked.push((user, group));
            if refused(user, group) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            Ok(())
        });
        (asked, lost)
    }

    #[test]
    fn a_lost_owner_is_reported_together_with_the_new_owner() {
        let is = Owner { user: 8, group: 9 };
        let output = LostOwner { was: OLD, is }.to_string();
        assert!(
            output.contains("belonged to user 1 and group 2"),
            "{output}"
        );
        assert!(
            output.contains("belongs to user 8 and group 9 now"),
            "{output}"
        );
    }

    #[test]
    fn nothing_changes_if_the_owner_is_the_same() {
        assert_eq!(taken_over(OLD, |_, _| true), (vec![], 0));
    }

    #[test]
    fn owner_and_group_are_set_independently() {
        let asked = vec![(Some(1), None), (None, Some(2))];
        let new = Owner { user: 8, group: 9 };
        assert_eq!(taken_over(new, |_, _| false), (asked.clone(), 0));
        assert_eq!(
            taken_over(new, |user, _| user.is_some()),
            (asked.clone(), SET_USER_ID)
        );
        assert_eq!(
            taken_over(new, |_, group| group.is_some()),
            (asked.clone(), SET_GROUP_ID)
        );
        assert_eq!(
            taken_over(new, |_, _| true),
            (asked, SET_USER_ID | SET_GROUP_ID)
        );
    }
}
