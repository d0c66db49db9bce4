//! Files that rules protect from being read or changed: a search that starts above them leaves them out.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells whether a file is off limits, and remembers whether any was.
#[derive(Clone, Default)]
pub struct OffLimits {
    rules: Option<Rules>,
    writing: Option<Rules>,
    met: Arc<AtomicBool>,
}

type Rules = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

impl OffLimits {
    pub fn new(rules: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self {
            rules: Some(Arc::new(rules)),
            ..Self::default()
        }
    }

    /// The same, and these files must not be changed either.
    #[must_use]
    pub fn with_writing(self, rules: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self {
            writing: Some(Arc::new(rules)),
            ..self
        }
    }

    /// Whether a file must not be changed by a call that was allowed as a whole.
    pub fn cover_writing(&self, path: &Path) -> bool {
        self.writing.as_ref().is_some_and(|rules| rules(path))
    }

    /// Whether no file is off limits.
    pub fn is_nothing(&self) -> bool {
        self.rules.is_none()
    }

    pub fn cover(&self, path: &Path) -> bool {
        let covers = self.rules.as_ref().is_some_and(|rules| rules(path));
        if covers {
            self.met.store(true, Ordering::Relaxed);
        }
        covers
    }

    /// The text of a search, with a remark if files were left out.
    pub fn with_remark(&self, mut text: String) -> String {
        if self.met.load(Ordering::Relaxed) {
            text.push_str("\n[Files that permission rules protect were left out]");
        }
        text
    }
}
