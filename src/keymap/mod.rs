//! Which key means what.
