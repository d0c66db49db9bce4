//! The whole program, from outside: the built binary, real files, real processes, a scripted server on loopback.

mod support;

mod calls;
mod conversation;
mod debug;
mod extensions;
mod faults;
mod headless;
mod hooks;
mod hostile;
mod lists;
mod live_hooks;
mod mcp;
mod mcp_files;
mod mcp_hostile;
mod mcp_login;
mod messages;
mod nested;
mod offering;
mod questions;
mod resume;
mod retries;
mod same_screen;
mod sandbox;
mod screen;
mod settings;
mod streaming;
mod subagents;
mod terminal;
mod tidy;
mod tidy_readers;
mod tidy_words;
mod tools;
mod tools_run;
mod trust;
mod web;
