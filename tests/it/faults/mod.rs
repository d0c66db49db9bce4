//! Faults played on the whole program: whatever happens, it says so and how to go on, loses nothing, leaves the terminal
//! as it was and nothing running, and nobody reads the text of a panic.

mod commands;
mod documents;
mod files;
mod held;
mod hooks;
mod scarcity;
mod screen;
mod sessions;
mod stream;
mod surroundings;
mod talk;
mod terminal;
mod trees;
mod wire;
