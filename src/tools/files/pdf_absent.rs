//! PDF files in a build without the `pdf` feature: only name and size.

use std::path::Path;

use super::error::human_size;
use super::path::shown;

/// Same signature as the real one.
pub fn describe(bytes: &[u8], path: &Path, _cancelled: &dyn Fn() -> bool) -> String {
    format!(
        "PDF file: {} ({}). This build of agent-tui cannot read PDF files; use Bash, for example with `pdftotext`",
        shown(path),
        human_size(bytes.len() as u64)
    )
}
