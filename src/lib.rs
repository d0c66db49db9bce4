#![doc = include_str!("ARCHITECTURE.md")]

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

pub mod mcp;

pub mod executor;

pub mod conversation;

pub mod agent;

pub mod headless;

pub mod keymap;
pub mod theme;

pub mod app;
pub mod ui;

pub mod runtime;

pub mod cli;
