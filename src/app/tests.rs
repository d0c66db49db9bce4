//! What the application does, told as stories. Those that need a layout are in `ui::tests`.

mod dialogs;
mod escape;
mod events;
mod panel;
mod permissions;
mod questions;
mod queue;
mod recalling;
mod recalling_agents;
mod sending;
pub mod servers;
mod sessions;
mod slash;
mod subagents;
mod tasks;
mod trust;
