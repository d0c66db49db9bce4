//! Which list of commands is consulted.

/// How many commands are treated as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// The agreed read-only list, used by plan mode and the classifier.
    Agreed,
    /// That, and more programs that do not write, do not run others and end soon: they run without asking as well.
    Everyday,
}
