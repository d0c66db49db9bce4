//! Text for people and models: cleaned for a terminal, shortened, split into lines and compared. Depends on nothing, so
//! that every room can use it.

mod ansi;
pub mod compare;
mod controls;
mod length;
pub mod lines;
mod visible;
mod words;

pub use ansi::{overwritten, strip_ansi};
pub use controls::{clean, one_line, without_controls};
pub use length::{beginning, first_line, shortened};
pub use visible::{is_hidden, is_intended, is_joiner_between, is_odd_space, number, picture};
pub use words::{cut, mistyped, nearest, plural, thousands, whole_seconds};
