//! The proof that a call may run, what allowed it, and which places it is for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::decide::Reach;
use super::verdict::{Cause, Decision, Verdict};

/// `Tool::call` needs one, so no tool runs without a decision. There are two ways to get one: a [`Verdict`] that allows
/// the call, and the person's answer to a verdict that does not deny it. Outside `permissions`, no code can create a
/// verdict that allows something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    cause: Cause,
    places: Places,
    reach: Reach,
}

/// Where the paths of a call led, links followed, when it was decided on. If a path leads elsewhere when it is used,
/// the decision does not cover it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places(Option<Arc<[String]>>);

impl Grant {
    pub(super) fn new(cause: Cause) -> Self {
        Self {
            cause,
            places: Places::default(),
            reach: Reach::default(),
        }
    }

    /// As if the person had said yes.
    #[cfg(test)]
    pub fn by_person() -> Self {
        Self::new(Cause::Person)
    }

    /// As if the classifier had called it harmless, so that only the sandbox restricts it.
    #[cfg(test)]
    pub fn by_forced_classifier() -> Self {
        Self::new(Cause::Classifier)
    }

    pub fn cause(&self) -> &Cause {
        &self.cause
    }

    /// The verdict that this grant stands for, to be told and written down.
    pub fn verdict(&self, reason: String) -> Verdict {
        Verdict {
            decision: Decision::Allow,
            reason,
            cause: self.cause.clone(),
        }
    }

    /// The same grant for these places, unless it has been given for some already.
    #[must_use]
    pub fn at(mut self, places: Places) -> Self {
        if self.places == Places::default() {
            self.places = places;
        }
        self
    }

    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The same grant with the reach of the command.
    #[must_use]
    pub fn reaching(mut self, reach: Reach) -> Self {
        self.reach = reach;
        self
    }

    /// What a command may read besides the working directories.
    pub fn reads(&self) -> &[PathBuf] {
        &self.reach.outside
    }

    /// Whether a rule allows some parts of a command, and the others run without asking.
    pub fn is_partly_unasked(&self) -> bool {
        matches!(self.cause, Cause::Rule(_)) && self.reach.unasked
    }
}

impl Places {
    pub(super) fn these(paths: impl IntoIterator<Item = String>) -> Self {
        Self(Some(paths.into_iter().collect()))
    }

    /// Whether `real`, a path without links, is one of them. Before anything is decided, every path is.
    pub fn admit(&self, real: &Path) -> bool {
        let real = real.to_string_lossy();
        self.any(|place| same(place, &real))
    }

    /// Whether a search may start at `real`: at one of them, or in its directory, if that name is searched for.
    pub fn admit_start(&self, real: &Path) -> bool {
        let parent = |place: &str| {
            Path::new(place)
                .parent()
                .is_some_and(|parent| same(&parent.to_string_lossy(), &real.to_string_lossy()))
        };
        self.admit(real) || self.any(parent)
    }

    fn any(&self, fits: impl Fn(&str) -> bool) -> bool {
        match &self.0 {
            None => true,
            Some(places) => places.iter().any(|place| fits(place)),
        }
    }
}

/// On systems other than Linux, file systems usually ignore case and may report either spelling.
fn same(one: &str, other: &str) -> bool {
    one == other || (!cfg!(target_os = "linux") && one.to_lowercase() == other.to_lowercase())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Grant, Places};

    #[test]
    fn a_grant_is_for_the_places_that_were_decided_on_first() {
        let first = Places::these(["/repo/a".to_owned()]);
        let grant = Grant::by_person()
            .at(first.clone())
            .at(Places::these(["/etc/b".to_owned()]));
        assert_eq!(grant.places(), &first);
        assert!(grant.places().admit(Path::new("/repo/a")));
        assert!(!grant.places().admit(Path::new("/repo")));
        assert!(grant.places().admit_start(Path::new("/repo")));
        assert!(!grant.places().admit_start(Path::new("/etc")));
    }
}
