//! Notes for the model that outlive the conversation: lines of the project's memory file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::config::read_regular;

/// A longer file is refused.
const LONGEST_FILE: u64 = 4 << 20;

/// Adds a line to `AGENTS.md`, or to `CLAUDE.md` if only that exists. Returns the file.
pub fn remember(note: &str, workspace: &Path) -> Result<PathBuf, String> {
    let file = ["AGENTS.md", "CLAUDE.md"]
        .map(|name| workspace.join(name))
        .into_iter()
        .find(|file| file.symlink_metadata().is_ok())
        .unwrap_or_else(|| workspace.join("AGENTS.md"));
    let failed = |error: io::Error| format!("`{}`: {error}", file.display());
    let target = inside(&file, workspace).map_err(failed)?;
    append(note, &target).map_err(failed)?;
    Ok(file)
}

/// The file behind a path. It may be a link inside the workspace, but not to the outside.
fn inside(file: &Path, workspace: &Path) -> io::Result<PathBuf> {
    if file.symlink_metadata().is_err() {
        return Ok(file.to_owned());
    }
    let target = file.canonicalize()?;
    if target.starts_with(workspace.canonicalize()?) {
        return Ok(target);
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "it points outside the workspace",
    ))
}

fn append(note: &str, file: &Path) -> io::Result<()> {
    let before = match read_regular(file, LONGEST_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let gap = match before.last() {
        None | Some(b'\n') => "",
        Some(_) => "\n",
    };
    let note = note.trim().replace('\n', "\n  ");
    // The file that was checked must not be replaced.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
        .open(file)?;
    file.write_all(format!("{gap}- {note}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::remember;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn the_first_note_creates_the_file_and_the_next_ones_are_appended() {
        let workspace = tempfile::tempdir().expect("a directory");
        let file = workspace.path().join("AGENTS.md");
        assert_eq!(remember("use tabs", workspace.path()), Ok(file.clone()));
        fs::write(&file, "# Rules\n- use tabs").expect("written");
        remember("two\nlines ", workspace.path()).expect("noted");
        let text = fs::read_to_string(&file).expect("readable");
        assert_eq!(text, "# Rules\n- use tabs\n- two\n  lines\n");
    }

    #[test]
    fn a_project_with_only_claude_md_keeps_using_it() {
        let workspace = tempfile::tempdir().expect("a directory");
        let file = workspace.path().join("CLAUDE.md");
        fs::write(&file, "").expect("written");
        assert_eq!(remember("x", workspace.path()), Ok(file));
        assert!(!workspace.path().join("AGENTS.md").exists());
    }

    #[test]
    fn a_link_may_lead_to_a_file_inside_the_workspace_but_not_outside() {
        let workspace = tempfile::tempdir().expect("a directory");
        let elsewhere = tempfile::tempdir().expect("a directory");
        let outside = elsewhere.path().join("profile");
        fs::write(&outside, "").expect("written");
        let link = workspace.path().join("AGENTS.md");
        symlink(&outside, &link).expect("linked");
        assert!(remember("x", workspace.path()).is_err());
        assert_eq!(fs::read_to_string(&outside).expect("readable"), "");
        fs::remove_file(&link).expect("removed");
        fs::write(workspace.path().join("CLAUDE.md"), "").expect("written");
        symlink("CLAUDE.md", &link).expect("linked");
        assert_eq!(remember("x", workspace.path()), Ok(link));
    }
}
