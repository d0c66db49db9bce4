//! Faults that the program has to survive, each played on the built binary.

mod hooks;
mod surroundings;
mod talk;
mod wire;
