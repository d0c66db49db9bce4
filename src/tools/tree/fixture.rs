//! A real tree of files in a temporary directory, for tests.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::protocol::ResultBlock;
use crate::tools::{ToolError, ToolOutput};

pub struct Tree {
    directory: TempDir,
    root: PathBuf,
}

impl Tree {
    /// A tree with these files. All get the same time, so that they sort by path until a test sets other times.
    pub fn new<const N: usize>(files: [(&str, &str); N]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        // The temporary directory may be behind a link, and tests compare paths as text.
        let root = fs::canonicalize(directory.path()).expect("the directory exists");
        let tree = Self { directory, root };
        for (path, text) in files {
            tree.write(path, text.as_bytes());
        }
        tree
    }

    pub fn repository<const N: usize>(files: [(&str, &str); N]) -> Self {
        let tree = Self::new(files);
        fs::create_dir_all(tree.path(".git")).expect("a directory");
        tree
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    pub fn write(&self, path: impl AsRef<Path>, bytes: &[u8]) {
        let path = self.path(path);
        let parent = path.parent().expect("it is below the root");
        fs::create_dir_all(parent).expect("directories");
        fs::write(&path, bytes).expect("a file");
        self.set_age(&path, 1_000);
    }

    /// Sets the age of a file, relative to one moment for all files.
    pub fn set_age(&self, path: impl AsRef<Path>, seconds: u64) {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let time = now - Duration::from_secs(seconds);
        File::options()
            .write(true)
            .open(self.path(path))
            .and_then(|file| file.set_times(FileTimes::new().set_modified(time)))
            .expect("the test owns the file");
    }

    /// An answer without the root of the tree, which differs in each run.
    pub fn relative(&self, answer: &str) -> String {
        let root = format!("{}/", self.root.display());
        answer.replace(&root, "/")
    }

    /// The text of an answer or an error, without the root.
    pub fn text_of(&self, result: Result<ToolOutput, ToolError>) -> String {
        let text = match result {
            Ok(output) => match output.for_model.as_slice() {
                [ResultBlock::Text { text }] => text.clone(),
                other => panic!("one text was expected, not {other:?}"),
            },
            Err(error) => format!("error: {}", error.message),
        };
        assert!(self.directory.path().exists());
        self.relative(&text)
    }
}
