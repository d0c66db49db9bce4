//! Faults that the program has to survive, each played on the built binary.

mod talk;
mod wire;
