//! The view: paints the state of the application, and changes nothing.

pub mod text;
