//! agent-tui: work with a language model that calls tools on your machine.
//!
//! Everything that has state is a *machine*: a plain struct and one function that takes a fact and returns requests. It
//! never awaits, reads a clock or does I/O; a thin *driver* around it does all three.
//!
//! | machine (pure) | driver (I/O) | takes → returns |
//! |---|---|---|
//! | [`app::update`]: the screen | [`runtime`] | `Msg` → `Vec<Effect>` |
//! | [`agent::turn::Turn`]: one exchange with the model | [`agent::driver`] | `Fact` → `Vec<Next>` |
//! | [`executor::Machine`]: the tool calls of a response | [`executor::driver`] | `Input` → `Vec<Step>` |
//!
//! One tool call, from bytes to result: [`provider::sse`] cuts the bytes into frames, a [`provider::Decoder`] makes
//! neutral events of them, [`agent::turn`] hands each call over at the moment its block ends, [`executor::schedule`]
//! says when it may start, [`executor::pipeline`] takes it through validation, [`hooks`], [`permissions::decide`] and the
//! tool, and [`session::log`] has a record of each step before anyone sees it.

pub mod protocol;
pub mod text;

pub mod config;
pub mod permissions;
pub mod process;

pub mod git;

pub mod provider;
pub mod session;
pub mod tools;

pub mod hooks;

pub mod settings;

pub mod executor;

pub mod agent;

pub mod headless;

pub mod keymap;
pub mod theme;

pub mod app;
pub mod ui;

pub mod runtime;

pub mod cli;
