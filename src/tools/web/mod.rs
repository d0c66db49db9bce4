//! What the tools of the web share: which addresses need a question, how a page is fetched, and what is made of it.

pub mod cache;
pub mod fetch;
pub mod markdown;
pub mod page;
pub mod search;
#[cfg(test)]
pub mod server;
