//! How programs are started: what holds a command that nobody was asked about.

pub mod sandbox;
