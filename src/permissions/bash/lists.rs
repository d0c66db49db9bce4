//! Which list of commands is consulted.

/// How much counts as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lists {
    /// What is called read-only: the list that plan mode and the classifier keep to.
    Agreed,
    /// That, and more programs that neither write, nor run others, nor go on: they run without a question, too.
    Everyday,
}
