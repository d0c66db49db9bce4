//! PDF files in a build without the feature `pdf`: only that they are there.

use std::path::Path;

use super::error::human_size;
use super::path::shown;

/// What is said about a file, like the real one's.
pub fn describe(bytes: &[u8], path: &Path, _cancelled: &dyn Fn() -> bool) -> String {
    format!(
        "PDF file: {} ({}). This build of agent-tui cannot read PDF files; use Bash, for example with `pdftotext`",
        shown(path),
        human_size(bytes.len() as u64)
    )
}
