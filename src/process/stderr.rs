//! What the program itself says to the person beside its output.

use std::io::{self, Write};

use crate::config::hidden;
use crate::text::clean;

/// Says something to the person beside the output.
pub fn say(text: &str) {
    // Nobody may be listening there either.
    let text = hidden(clean(text));
    let _ = writeln!(io::stderr(), "{text}");
}
