//! What the person sees: stories that need a layout, snapshots of every screen, and random events in any order.

mod acting;
mod arming;
mod asking;
mod calls;
mod footer;
mod listing;
mod matrix;
mod paging;
mod picking;
mod planning;
mod prose;
mod random;
mod screens;
mod scrolling;
mod searching;
mod selecting;
mod servers;
mod subagents;
mod themes;
mod trusting;
