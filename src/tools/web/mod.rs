//! What the web tools share: which addresses need permission, how a page is fetched, and how it is converted.

pub mod cache;
pub mod fetch;
pub mod markdown;
pub mod page;
pub mod search;
#[cfg(test)]
pub mod server;
