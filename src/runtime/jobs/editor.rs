//! Opens the draft in the person's editor, which has the terminal meanwhile.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use crate::config::dirs::create_private_dir;
use crate::config::read_regular;

/// A longer draft is not read back.
const LONGEST_DRAFT: u64 = 16 << 20;
/// An absolute path, because a name would be looked up in `PATH`, which may include the workspace.
const SHELL: &str = "/bin/sh";

/// Returns the draft as it was saved.
pub fn edit(draft: &str, folder: &Path) -> Result<String, String> {
    edit_with(&command(), draft, folder)
}

fn command() -> OsString {
    let set = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(std::env::var_os);
    set.into_iter()
        .find(|command| !command.is_empty())
        .unwrap_or_else(|| "vi".into())
}

fn edit_with(editor: &OsString, draft: &str, folder: &Path) -> Result<String, String> {
    let unusable = |error: std::io::Error| format!("can't write the draft to a file: {error}");
    create_private_dir(folder).map_err(unusable)?;
    // Only the person can read it.
    let mut builder = tempfile::Builder::new();
    let file = builder.prefix("draft-").suffix(".md").tempfile_in(folder);
    let mut file = file.map_err(unusable)?;
    file.write_all(draft.as_bytes()).map_err(unusable)?;
    let name = editor.to_string_lossy().into_owned();
    // The variables hold a command with arguments, for a shell to parse.
    let mut script = editor.clone();
    script.push(" \"$1\"");
    let status = Command::new(SHELL)
        .arg("-c")
        .arg(script)
        .arg("sh")
        .arg(file.path())
        .status()
        .map_err(|error| format!("can't start `{name}`: {error}"))?;
    if !status.success() {
        return Err(format!(
            "`{name}` ended with {status}; your draft is unchanged"
        ));
    }
    // An editor may have replaced the file.
    let read = read_regular(file.path(), LONGEST_DRAFT).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    let text = read.map_err(|error| format!("can't read the draft back: {error}"))?;
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests {
    use super::edit_with;

    #[test]
    fn the_draft_comes_back_as_it_was_saved() {
        let folder = tempfile::tempdir().expect("a directory");
        let edited = edit_with(&"sed -i s/old/new/".into(), "old\ntext\n", folder.path());
        assert_eq!(edited, Ok("new\ntext".to_owned()));
        let left = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(left, 0, "nothing stays behind");
    }

    #[test]
    fn an_editor_that_fails_changes_nothing_and_says_so() {
        let folder = tempfile::tempdir().expect("a directory");
        let edited = edit_with(&"false".into(), "text", folder.path());
        assert!(edited.is_err_and(|problem| problem.contains("`false` ended with")));
    }
}
