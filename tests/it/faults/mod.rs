//! Faults played on the whole program: it says what happened, loses nothing, and goes on or ends cleanly.

mod files;
