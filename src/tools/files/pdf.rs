//! PDF files as text, as far as simple means can extract it.
//!
//! It finds the pages, unpacks their content, and decodes the text that they draw with the tables of their fonts. If
//! that is not enough (encryption, other compression, scanned pages, fonts without a table), the result says that the
//! text was not extracted and points to `pdftotext`, because wrong text would be worse.

mod content;
mod file;
mod font;
mod inflate;
mod object;

use std::fmt::Write;
use std::path::Path;

use super::error::human_size;
use super::path::shown;
use file::File;
use font::Fonts;

/// Text after this is left out.
const MAX_CHARS: usize = 150_000;

/// What the model is shown of the PDF file in `bytes`.
pub fn describe(bytes: &[u8], path: &Path, cancelled: &dyn Fn() -> bool) -> String {
    let file = File::new(bytes, cancelled);
    let pages = file.pages();
    let mut result = format!(
        "PDF file: {} ({}, {} {})",
        shown(path),
        human_size(bytes.len() as u64),
        pages.len(),
        if pages.len() == 1 { "page" } else { "pages" },
    );
    if file.is_encrypted() {
        result.push_str("\nThe file is encrypted: its text was not extracted.");
        return result;
    }
    let mut fonts = Fonts::new(&file);
    let mut without_text = 0;
    for (number, page) in (1..).zip(&pages) {
        if cancelled() {
            break;
        }
        if result.len() > MAX_CHARS {
            let _ = write!(
                result,
                "\n\nThe pages from {number} on are left out: use `pdftotext -f {number}` with Bash."
            );
            break;
        }
        let text = content::text(&mut fonts, &file.page(page));
        // Without its fonts or a part of its content, a page would show wrong text.
        if file.is_exhausted() {
            break;
        }
        if is_readable(&text) {
            let _ = write!(result, "\n\n--- Page {number} ---\n{text}");
        } else {
            without_text += 1;
        }
    }
    if file.is_exhausted() {
        result.push_str(
            "\n\nReading the file would take far more work than a file of its size should: it may be damaged, or made \
             to do harm. What is missing here was not extracted. If it is needed, try `pdftotext` with Bash and a timeout.",
        );
    } else if pages.is_empty() {
        result.push_str(
            "\n\nNo pages were found: the file is damaged, or in an unusual form. Try `pdftotext` with Bash.",
        );
    } else if without_text > 0 {
        let _ = write!(
            result,
            "\n\nThe text of {without_text} of {} pages could not be extracted (scanned, or in an unusual form). \
             If it is needed, try `pdftotext` with Bash.",
            pages.len()
        );
    }
    result
}

/// Whether a text has letters, and is not mostly codes that could not be decoded.
fn is_readable(text: &str) -> bool {
    let (mut letters, mut unknown) = (0, 0);
    for character in text.chars() {
        if character.is_alphanumeric() {
            letters += 1;
        } else if character == char::REPLACEMENT_CHARACTER
            || character.is_control() && character != '\n'
        {
            unknown += 1;
        }
    }
    letters > unknown
}

#[cfg(test)]
mod tests;
