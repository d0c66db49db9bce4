//! agent-tui: work with a language model that calls tools on your machine.
//!
//! Everything that has state is a *machine*: a plain struct and one function that takes a fact and returns requests. It
//! never awaits, reads a clock or does I/O; a thin *driver* around it does all three.

pub mod permissions;
pub mod protocol;
pub mod provider;
pub mod tools;
