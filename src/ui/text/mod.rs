//! Text as cells: cleaned, measured, wrapped and cut.
//!
//! Everything that the model, a tool or a file wrote goes through [`clean()`] before it becomes a [`Row`]. Widths are
//! those of `Buffer::set_line`, so what is measured here is what gets painted. Pure functions; the caller chooses
//! styles.

mod clean;
mod link;
mod lookalike;
mod row;
mod truncate;
mod width;
mod wrap;

pub use clean::{Cleaner, TAB, clean, clean_line, reveal, reveal_hidden};
pub use link::{Link, Targets, attach, link_addresses, without_punctuation};
pub use lookalike::{Lookalike, alike_in_file, lookalikes, note as note_letters};
pub use row::Row;
pub use truncate::{truncate, truncate_middle};
pub use width::{graphemes, width};
pub use wrap::{CONTINUED, Indent, chop, wrap};

pub use crate::text::{overwritten, strip_ansi};

#[cfg(test)]
mod tests;
