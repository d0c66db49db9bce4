//! Faults played on the whole program: it says what happened, loses nothing, and goes on or ends cleanly.

mod files;
mod hooks;
mod surroundings;
mod talk;
mod wire;
