//! Text as cells: made harmless, measured and wrapped.

mod row;

pub use row::Row;
