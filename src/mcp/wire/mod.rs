//! Between rmcp and a server: what rmcp leaves open is decided here.
//!
//! rmcp drops messages that it can't read, and the requests that they answer never end. It handles notifications in
//! tasks of their own, without limit and in no order. So [`stdio`] reads the lines itself and answers for those that
//! it can't use, and [`tap`] takes notifications out before rmcp sees them. [`client`] does the same for answers
//! over HTTP.

mod client;
pub mod http;
pub mod stdio;
pub mod tap;
