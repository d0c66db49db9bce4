//! Changes one setting of the person's own file and leaves the others as they are.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value};

use super::read_regular;

const LONGEST_FILE: u64 = 4 << 20;

/// Sets a setting of a JSON file, which is made if it is missing. One that is not an object is never overwritten. Blocks:
/// not for an async thread. Several programs may do it at the same time.
pub fn set(file: &Path, key: &str, value: &str) -> io::Result<()> {
    let folder = file.parent().unwrap_or(file);
    std::fs::create_dir_all(folder)?;
    // The file itself is replaced, so it cannot be what is locked.
    let lock = File::create(folder.join(".settings.lock"))?;
    lock.lock()?;
    // Where people keep their files together, this is a link.
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let mut settings: Map<String, Value> = match read_regular(&file, LONGEST_FILE) {
        Ok(bytes) => serde_json::from_slice(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(error),
    };
    settings.insert(key.to_owned(), value.into());
    let mut new = tempfile::NamedTempFile::new_in(file.parent().unwrap_or(folder))?;
    if let Ok(data) = file.metadata() {
        new.as_file().set_permissions(data.permissions())?;
    }
    new.write_all(serde_json::to_string_pretty(&settings)?.as_bytes())?;
    new.write_all(b"\n")?;
    new.persist(&file).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::set;

    #[test]
    fn a_setting_changes_and_the_others_stay_in_their_order() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("config/settings.json");
        set(&file, "theme", "dark").expect("made");
        std::fs::write(&file, r#"{"z": 1, "theme": "dark", "a": {"b": []}}"#).expect("written");
        set(&file, "theme", "light").expect("changed");
        let text = std::fs::read_to_string(&file).expect("readable");
        assert_eq!(
            text,
            "{\n  \"z\": 1,\n  \"theme\": \"light\",\n  \"a\": {\n    \"b\": []\n  }\n}\n"
        );
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a directory");
        let file = folder.path().join("settings.json");
        for broken in ["{\"theme\": ", "[]", "\u{0}"] {
            std::fs::write(&file, broken).expect("written");
            assert!(set(&file, "theme", "light").is_err());
            assert_eq!(std::fs::read_to_string(&file).expect("readable"), broken);
        }
    }
}
