//! MCP servers: tools that other programs offer.
//!
//! [`config`] reads which servers there are. [`connection`] talks to one of them, through a [`wire`] that answers for
//! servers that don't. What a server says goes through [`describe`], [`listing`], [`names`] and [`result`] before a
//! person or a model sees it. A server that hangs, floods, lies or dies costs only its own tools.

#[cfg(feature = "mcp")]
mod adapter;
pub mod config;
#[cfg(feature = "mcp")]
pub mod connection;
pub mod describe;
#[cfg(feature = "mcp")]
mod elicitation;
mod expand;
#[cfg(feature = "mcp")]
mod failure;
#[cfg(feature = "mcp")]
pub mod handler;
pub mod lifecycle;
pub mod listing;
pub mod log;
#[cfg(feature = "oauth")]
pub mod login;
pub mod logins;
#[cfg(feature = "mcp")]
pub mod manager;
#[cfg(not(feature = "mcp"))]
#[path = "manager_absent.rs"]
pub mod manager;
pub mod mask;
pub mod names;
#[cfg(feature = "mcp")]
mod pins;
#[cfg(feature = "mcp")]
pub mod probe;
#[cfg(feature = "mcp")]
pub mod process;
#[cfg(feature = "mcp")]
mod prompts;
pub mod result;
#[cfg(all(test, feature = "mcp"))]
mod rig;
pub mod server_context;
#[cfg(feature = "mcp")]
mod slot;
pub mod store;
#[cfg(feature = "mcp")]
mod task;
#[cfg(feature = "mcp")]
mod wire;
