//! The shell around `app` and `ui`.
mod encoder;
pub mod input;
mod pacer;
mod screen;
mod writer;
