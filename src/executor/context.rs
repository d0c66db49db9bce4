//! What the calls of one conversation need to run.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

use serde_json::Value;

use super::shared::{ActivePolicy, Shared};
use crate::config::logged;
use crate::hooks::CommonFields;
use crate::permissions::{
    CallDetails, Links, RealLinks, Remembered, Rule, RuleList, Rules, Source, Verdict, World,
    decide,
};
use crate::protocol::{Allows, Mode};
use crate::tools::custom;
use crate::tools::files::Ledger;
use crate::tools::offered::Tools;
use crate::tools::subagents::Starter;

/// The state of a conversation: the shell's directory, what its model has read, its tools.
pub struct Context {
    pub shared: Arc<Shared>,
    /// Its tools, which can change while it runs.
    pub tools: Tools,
    /// The files that were read, and may therefore be changed.
    pub ledger: Arc<Ledger>,
    /// The name of the conversation for people; `None` for the person's own.
    pub name: Option<String>,
    /// Starts subagents for its calls.
    pub starter: Starter,
    /// The mode for its calls, unless the session's is stricter.
    pub strictest: Option<Mode>,
    cwd: RwLock<PathBuf>,
    /// What needs no question until the turn ends.
    for_turn: RwLock<Vec<Rule>>,
}

impl Context {
    /// A conversation that starts in the workspace, with nothing read.
    pub fn new(shared: Arc<Shared>, tools: impl Into<Tools>) -> Self {
        let cwd = RwLock::new(shared.places.workspace.clone());
        Self {
            shared,
            tools: tools.into(),
            ledger: Arc::default(),
            name: None,
            starter: Starter::default(),
            strictest: None,
            cwd,
            for_turn: RwLock::default(),
        }
    }

    /// The mode and the rules for its calls.
    pub fn active_policy(&self) -> ActivePolicy {
        let mut active_policy = self.shared.active_policy();
        let for_turn = self.for_turn.read().unwrap_or_else(PoisonError::into_inner);
        if !for_turn.is_empty() {
            let rules = Arc::make_mut(&mut active_policy.rules);
            rules.allow.extend(for_turn.iter().cloned());
        }
        ActivePolicy {
            mode: self.tightened(active_policy.mode),
            ..active_policy
        }
    }

    /// Until the turn ends, what these rules cover needs no question.
    pub fn allow_for_turn(&self, allows: &Allows) {
        let source = Source::File(allows.file.clone());
        let mut rules = Rules::default();
        for rule in &allows.rules {
            // What is no rule was named when the file was read.
            let _ = rules.add(RuleList::Allow, rule, &source);
        }
        if !rules.allow.is_empty() {
            let added = allows.rules.join(", ");
            tracing::info!(rules = %logged(added), source = %logged(source), "rules for this turn");
        }
        self.for_turn().extend(rules.allow);
    }

    /// A turn begins, or has ended.
    pub fn end_turn(&self) {
        self.for_turn().clear();
    }

    fn for_turn(&self) -> RwLockWriteGuard<'_, Vec<Rule>> {
        let for_turn = self.for_turn.write();
        for_turn.unwrap_or_else(PoisonError::into_inner)
    }

    pub fn mode(&self) -> Mode {
        self.tightened(self.shared.mode())
    }

    fn tightened(&self, mode: Mode) -> Mode {
        self.strictest.map_or(mode, |own| mode.stricter(own))
    }

    /// Checks whether the files of extensions have changed; changes are offered from the next request on. Returns the
    /// problems found, or `None` if nothing has changed. Costs a few file system calls.
    pub fn refresh_extensions(&self) -> Option<Vec<String>> {
        let catalogue = self.shared.catalogue.as_ref();
        let catalogue = catalogue.filter(|_| self.starter.can_start())?;
        let mut problems = catalogue.refresh()?;
        let now = catalogue.now();
        problems.extend(self.tools.change(|all| custom::replace(all, &now.tools)));
        self.tools.describe(|about| about.extensions = now);
        Some(problems)
    }

    /// Offers only the tools that the rules and the mode leave.
    pub fn follow_policy(&self) {
        let ActivePolicy { mode, rules } = self.active_policy();
        self.tools.follow(&rules, mode);
    }

    /// What would be decided about a call; `None` if the tool does not exist.
    pub async fn judge(&self, tool: &str, input: &Value) -> Option<Verdict> {
        let offered = self.tools.snapshot();
        let found = offered.find_or_deferred(tool)?;
        let call = CallDetails {
            tool,
            input,
            touches: found.touches(input),
            level: found.spec().level,
            read_only: found.facts(input).read_only,
        };
        let ActivePolicy { mode, rules } = self.active_policy();
        let links = Remembered::default();
        let deciding = || decide(&call, &rules, mode, &self.world_with(&links));
        Some(
            self.shared
                .require_sandbox(self.shared.env.git.deciding(&links, deciding).await),
        )
    }

    /// The directory that relative paths start from; the workspace if that directory no longer exists.
    pub fn cwd(&self) -> PathBuf {
        let cwd = self
            .cwd
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if rustix::fs::access(&cwd, rustix::fs::Access::EXEC_OK).is_ok() && cwd.is_dir() {
            cwd
        } else {
            self.shared.places.workspace.clone()
        }
    }

    pub fn set_cwd(&self, cwd: PathBuf) {
        *self.cwd.write().unwrap_or_else(PoisonError::into_inner) = cwd;
    }

    /// The current state for hooks.
    pub fn scene(&self) -> CommonFields {
        CommonFields {
            cwd: self.cwd(),
            mode: self.mode(),
        }
    }

    pub fn world(&self) -> World<'static> {
        self.world_with(&RealLinks)
    }

    /// The state for a decision about a call whose links are resolved once.
    pub fn world_with<'l>(&self, links: &'l dyn Links) -> World<'l> {
        World {
            cwd: self.shared.places.workspace.clone(),
            home: self.shared.places.home.clone(),
            shell_dir: Some(self.cwd()),
            additional_directories: self.shared.places.additional.clone(),
            config_dir: self.shared.places.config_dir.clone(),
            data_dir: self.shared.places.data_dir.clone(),
            protected_files: self.shared.protected_files(),
            links,
        }
    }
}
