//! The proof that a call may run, and what allowed it.

use super::decide::Cause;

/// Only this module's parent can make one, and `Tool::call` wants one: no tool runs unasked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    cause: Cause,
}

impl Grant {
    pub(super) fn new(cause: Cause) -> Self {
        Self { cause }
    }

    /// The person said yes to this call.
    pub fn by_person() -> Self {
        Self::new(Cause::Person)
    }

    pub fn cause(&self) -> &Cause {
        &self.cause
    }
}
