//! The program's messages to the person on stderr.

use std::io::{self, Write};

use crate::config::hidden;
use crate::text::clean;

/// Prints a message to the person on stderr.
pub fn print_message(text: &str) {
    // Ignored, because nobody may be reading it.
    let text = hidden(clean(text));
    let _ = writeln!(io::stderr(), "{text}");
}
