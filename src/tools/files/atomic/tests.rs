use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::{Expected, Step, Written, replace, replace_watched};
use crate::tools::files::error::FileError;
use crate::tools::files::lock::Locks;
use crate::tools::files::path::{Located, locate};
use crate::tools::files::place::Place;
use crate::tools::files::{ContentHash, Stamp};

const STEPS: [Step; 6] = [
    Step::CreateTemporary,
    Step::WriteContent,
    Step::KeepAttributes,
    Step::Sync,
    Step::Check,
    Step::Rename,
];

struct Scratch {
    dir: tempfile::TempDir,
    root: PathBuf,
}

impl Scratch {
    fn with_file() -> Self {
        let scratch = Self::empty();
        fs::write(scratch.file(), "old").expect("write");
        scratch
    }

    fn empty() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists");
        Self { dir, root }
    }

    fn file(&self) -> PathBuf {
        self.root.join("file")
    }

    fn place(&self) -> Place {
        Place::of(&self.file()).expect("its directory exists")
    }

    fn locks(&self) -> Locks {
        Locks::new(self.dir.path().with_extension("locks"))
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.root).expect("list").flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.dir.path().with_extension("locks"));
    }
}

fn as_it_is(path: &Path) -> Expected {
    Expected::File {
        stamp: Stamp::of(&fs::metadata(path).expect("there")),
        hash: ContentHash::of(&fs::read(path).expect("readable")),
    }
}

fn set_mtime(path: &Path, to: std::time::SystemTime) {
    let file = fs::File::options().write(true).open(path).expect("open");
    file.set_modified(to).expect("set the time");
}

#[test]
fn content_is_replaced_and_the_mode_kept_with_its_set_id_bits() {
    for mode in [0o755, 0o400, 0o4755, 0o2711] {
        let scratch = Scratch::with_file();
        let file = scratch.file();
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("chmod");
        let written =
            replace(&scratch.place(), b"new", as_it_is(&file), &scratch.locks()).expect("replaced");
        assert_eq!(fs::read(&file).expect("readable"), b"new");
        let metadata = fs::metadata(&file).expect("there");
        assert_eq!(metadata.mode() & 0o7777, mode);
        assert_eq!(
            written,
            Written {
                stamp: Stamp::of(&metadata),
                other_links: 0,
                lost_owner: None,
            }
        );
        assert_eq!(scratch.names(), ["file"]);
    }
}

/// Changing the owner needs rights that tests do not have on every machine; the tests of `attributes` cover that.
#[test]
fn the_owner_is_kept_or_its_loss_is_reported() {
    let scratch = Scratch::with_file();
    let file = scratch.file();
    if std::os::unix::fs::chown(&file, Some(12_345), Some(54_321)).is_err() {
        return;
    }
    let written = replace(&scratch.place(), b"new", as_it_is(&file), &scratch.locks());
    assert_eq!(written.expect("replaced").lost_owner, None);
    let data = fs::metadata(&file).expect("there");
    assert_eq!((data.uid(), data.gid()), (12_345, 54_321));
}

#[test]
fn extended_attributes_are_kept_where_the_file_system_has_them() {
    let scratch = Scratch::with_file();
    let file = scratch.file();
    let marked = rustix::fs::setxattr(&file, "user.mark", b"kept", rustix::fs::XattrFlags::empty());
    replace(&scratch.place(), b"new", as_it_is(&file), &scratch.locks()).expect("replaced");
    let mut value = [0; 16];
    let mark = rustix::fs::getxattr(&file, "user.mark", &mut value[..]);
    match marked {
        Ok(()) => assert_eq!(mark.map(|length| &value[..length]), Ok(&b"kept"[..])),
        Err(reason) => {
            assert_eq!(
                reason,
                Errno::OPNOTSUPP,
                "only a file system without attributes may refuse"
            );
            assert_eq!(fs::read(&file).expect("readable"), b"new");
        }
    }
}

#[test]
fn a_new_file_gets_the_mode_that_the_umask_allows() {
    let scratch = Scratch::empty();
    let beside = scratch.root.join("beside");
    fs::write(&beside, "").expect("write");
    replace(
        &scratch.place(),
        b"new",
        Expected::Nothing,
        &scratch.locks(),
    )
    .expect("created");
    assert_eq!(
        fs::metadata(scratch.file()).expect("there").mode(),
        fs::metadata(beside).expect("there").mode()
    );
}

#[test]
fn a_failure_at_any_step_leaves_the_old_file_and_no_temporary_one() {
    for failing in STEPS {
        for errno in [
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::IO,
            Errno::ROFS,
            Errno::ACCESS,
            Errno::MFILE,
        ] {
            let scratch = Scratch::with_file();
            let mut fail = |step| {
                if step == failing {
                    return Err(io::Error::from_raw_os_error(errno.raw_os_error()));
                }
                Ok(())
            };
            let expected = as_it_is(&scratch.file());
            let error = replace_watched(
                &scratch.place(),
                b"new",
                expected,
                &scratch.locks(),
                &mut fail,
            )
            .expect_err("the step fails");
            let text = error.to_string();
            assert!(
                text.starts_with(&format!("Could not {} for ", failing.words())),
                "{text}"
            );
            assert!(text.ends_with("The file is unchanged"), "{text}");
            assert_eq!(fs::read(scratch.file()).expect("readable"), b"old");
            assert_eq!(scratch.names(), ["file"]);
        }
    }
}

#[test]
fn a_failed_creation_leaves_nothing() {
    for failing in STEPS {
        let scratch = Scratch::empty();
        let mut fail = |step| {
            if step == failing {
                return Err(io::Error::from_raw_os_error(Errno::NOSPC.raw_os_error()));
            }
            Ok(())
        };
        let error = replace_watched(
            &scratch.place(),
            b"new",
            Expected::Nothing,
            &scratch.locks(),
            &mut fail,
        )
        .expect_err("the step fails");
        assert!(
            error
                .to_string()
                .contains("no space left on device. Nothing was created")
        );
        assert_eq!(scratch.names(), Vec::<String>::new());
    }
}

#[test]
fn a_change_right_before_the_rename_is_detected_even_if_only_the_content_differs() {
    let scratch = Scratch::with_file();
    let file = scratch.file();
    let expected = as_it_is(&file);
    let mtime = fs::metadata(&file)
        .expect("there")
        .modified()
        .expect("a time");
    let mut change = |step| {
        if step == Step::Check {
            fs::write(&file, "OLD")?;
            set_mtime(&file, mtime);
        }
        Ok(())
    };
    let error = replace_watched(
        &scratch.place(),
        b"new",
        expected,
        &scratch.locks(),
        &mut change,
    );
    assert!(matches!(error, Err(FileError::Changed { .. })), "{error:?}");
    assert_eq!(fs::read(&file).expect("readable"), b"OLD");
    assert_eq!(scratch.names(), ["file"]);
}

/// An editor saves after the check.
#[test]
fn a_save_by_an_editor_between_check_and_rename_is_kept_and_reported() {
    type Save = fn(&Path) -> io::Result<()>;
    let by_rename: Save = |file| {
        fs::write(file.with_extension("new"), "theirs")?;
        fs::rename(file.with_extension("new"), file)
    };
    let in_place: Save = |file| fs::write(file, "theirs");
    for (moment, save) in [
        (Step::Rename, by_rename),
        (Step::Rename, in_place),
        (Step::Verify, by_rename),
    ] {
        let scratch = Scratch::with_file();
        let file = scratch.file();
        let expected = as_it_is(&file);
        let mut saves = |step| if step == moment { save(&file) } else { Ok(()) };
        let error = replace_watched(
            &scratch.place(),
            b"new",
            expected,
            &scratch.locks(),
            &mut saves,
        );
        assert!(matches!(error, Err(FileError::Changed { .. })), "{error:?}");
        assert_eq!(fs::read(&file).expect("readable"), b"theirs");
        assert_eq!(scratch.names(), ["file"]);
    }
}

#[test]
fn a_file_deleted_between_check_and_rename_stays_deleted() {
    let scratch = Scratch::with_file();
    let file = scratch.file();
    let expected = as_it_is(&file);
    let mut delete = |step| match step {
        Step::Rename => fs::remove_file(&file),
        _ => Ok(()),
    };
    let error = replace_watched(
        &scratch.place(),
        b"new",
        expected,
        &scratch.locks(),
        &mut delete,
    );
    assert!(matches!(error, Err(FileError::Changed { .. })), "{error:?}");
    assert_eq!(scratch.names(), Vec::<String>::new());
}

#[test]
fn a_file_deleted_before_the_rename_is_a_change_and_stays_deleted() {
    let scratch = Scratch::with_file();
    let file = scratch.file();
    let expected = as_it_is(&file);
    let mut delete = |step| match step {
        Step::Check => fs::remove_file(&file),
        _ => Ok(()),
    };
    let error = replace_watched(
        &scratch.place(),
        b"new",
        expected,
        &scratch.locks(),
        &mut delete,
    );
    assert!(matches!(error, Err(FileError::Changed { .. })), "{error:?}");
    assert_eq!(scratch.names(), Vec::<String>::new());
}

#[test]
fn a_file_that_appears_in_the_meantime_is_never_overwritten() {
    for moment in [Step::Check, Step::Rename] {
        let scratch = Scratch::empty();
        let file = scratch.file();
        let mut appear = |step| match step {
            step if step == moment => fs::write(&file, "theirs"),
            _ => Ok(()),
        };
        let error = replace_watched(
            &scratch.place(),
            b"new",
            Expected::Nothing,
            &scratch.locks(),
            &mut appear,
        );
        assert!(
            matches!(error, Err(FileError::Appeared { .. })),
            "{error:?}"
        );
        assert_eq!(fs::read(&file).expect("readable"), b"theirs");
        assert_eq!(scratch.names(), ["file"]);
    }
}

#[test]
fn a_link_stays_and_its_target_is_written() {
    let scratch = Scratch::with_file();
    let link = scratch.root.join("link");
    symlink("file", &link).expect("link");
    let Ok(Located::Existing(real)) = locate(&link) else {
        panic!("the link leads to a file");
    };
    let place = Place::of(&real).expect("its directory exists");
    replace(&place, b"new", as_it_is(&link), &scratch.locks()).expect("replaced");
    assert!(link.is_symlink());
    assert_eq!(fs::read(scratch.file()).expect("readable"), b"new");
}

#[test]
fn only_the_given_name_of_a_hard_linked_file_changes() {
    let scratch = Scratch::with_file();
    let other = scratch.root.join("other");
    fs::hard_link(scratch.file(), &other).expect("link");
    let expected = as_it_is(&scratch.file());
    let written = replace(&scratch.place(), b"new", expected, &scratch.locks()).expect("replaced");
    assert_eq!(written.other_links, 1);
    assert_eq!(fs::read(scratch.file()).expect("readable"), b"new");
    assert_eq!(fs::read(other).expect("readable"), b"old");
}
