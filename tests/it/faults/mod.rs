//! Faults played on the whole program: whatever happens, the terminal is as before, nothing is left running, nobody reads
//! the text of a panic, and a message says how to go on.

mod scarcity;
mod terminal;
