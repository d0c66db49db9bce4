//! What all calls of a session share: rules and mode, hooks, places, background commands.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::pace::Pace;
use crate::config::logged;
use crate::hooks::{Active, Runner, scripts};
use crate::permissions::{Cause, Decision, Rule, RuleList, Rules, Source, Store, Verdict, Warning};
use crate::process::sandbox;
use crate::process::sandbox::Unasked;
use crate::protocol::{Block, CustomCommand, Extensions, KnownRule, Mode};
use crate::settings::ToolSettings;
use crate::settings::extensions::Catalogue;
use crate::settings::files::Files;
use crate::tools::Environment;

/// Shared by the calls of all conversations of a session; changed only by the session's owner.
pub struct Shared {
    pub asking: Asking,
    pub places: Places,
    pub env: Arc<Environment>,
    /// `tools` of the settings.
    tools: BTreeMap<String, ToolSettings>,
    pace: Mutex<Pace>,
    began: Instant,
    /// Where rules are saved that the person wants to keep.
    pub store: Option<Store>,
    /// `None` if no hook is configured; nothing is done for hooks then.
    pub hooks: Option<Runner>,
    /// The settings files, which may change while the program runs.
    pub live: Option<Live>,
    /// What the files of extensions add; `None` if there are none.
    pub catalogue: Option<Catalogue>,
    /// Commands that MCP servers add.
    guests: RwLock<Vec<CustomCommand>>,
    active_policy: watch::Sender<ActivePolicy>,
    /// The scripts of hooks that were added while the program runs.
    new_scripts: Mutex<Vec<PathBuf>>,
}

/// What decides about calls. It can change while calls wait for a decision.
#[derive(Debug, Clone)]
pub struct ActivePolicy {
    pub mode: Mode,
    pub rules: Arc<Rules>,
}

/// Settings files that are checked before every decision.
pub struct Live {
    files: Mutex<Files>,
    load: Load,
}

/// Takes the old and new files and the active rules.
pub type Load = Box<dyn Fn(&Files, Files, &Rules, &Active) -> Reloaded + Send + Sync>;

/// The result of reading changed files.
pub struct Reloaded {
    /// The files that are now in use.
    pub files: Files,
    pub rules: Rules,
    pub hooks: Active,
    pub notices: Vec<String>,
}

impl Live {
    pub fn new(files: Files, load: Load) -> Self {
        let files = Mutex::new(files);
        Self { files, load }
    }
}

/// Who answers if a call needs a person's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    Person,
    /// No person is there: calls that would ask are denied.
    Nobody,
}

/// The directories that permission decisions use.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub workspace: PathBuf,
    pub home: PathBuf,
    pub additional: Vec<PathBuf>,
    pub config_dir: Option<PathBuf>,
    pub data_dir: Option<PathBuf>,
    /// Settings files, and scripts of hooks.
    pub protected_files: Vec<PathBuf>,
}

impl Shared {
    pub fn new(
        rules: Rules,
        mode: Mode,
        asking: Asking,
        places: Places,
        env: Arc<Environment>,
    ) -> Self {
        Self {
            asking,
            places,
            env,
            tools: BTreeMap::new(),
            pace: Mutex::default(),
            began: Instant::now(),
            store: None,
            hooks: None,
            live: None,
            catalogue: None,
            new_scripts: Mutex::default(),
            guests: RwLock::default(),
            active_policy: watch::Sender::new(ActivePolicy {
                mode,
                rules: Arc::new(rules),
            }),
        }
    }

    pub fn set_tool_settings(&mut self, tools: BTreeMap<String, ToolSettings>) {
        let limits = tools.iter().filter_map(|(name, settings)| {
            let limit = settings.rate_limit()?;
            Some((name.clone(), limit))
        });
        self.pace = Mutex::new(Pace::new(limits));
        self.tools = tools;
    }

    /// What the settings say about a tool.
    pub fn tool_settings(&self, name: &str) -> Option<&ToolSettings> {
        self.tools.get(name)
    }

    /// Asks which calls may start now.
    pub(super) fn with_pace<T>(&self, ask: impl FnOnce(&mut Pace) -> T) -> T {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        pace.set_now(self.began.elapsed());
        ask(&mut pace)
    }

    /// A time of the pace on the clock.
    pub(super) fn time_of(&self, at: Duration) -> Instant {
        self.began + at
    }

    /// What files have added.
    pub fn extensions(&self) -> Arc<Extensions> {
        let catalogue = self.catalogue.as_ref();
        catalogue.map(Catalogue::now).unwrap_or_default()
    }

    /// The custom command that a message is, with its arguments.
    pub fn typed_command(&self, message: &[Block]) -> Option<(CustomCommand, String)> {
        let [Block::Text { text, .. }] = message else {
            return None;
        };
        let (name, arguments) = CustomCommand::split(text)?;
        let command = self.commands().into_iter().find(|it| *it.name == *name)?;
        Some((command, arguments.to_owned()))
    }

    /// All commands that the person can type besides those of the program.
    pub fn commands(&self) -> Vec<CustomCommand> {
        let mut commands = self.extensions().commands.clone();
        let guests = self.guests.read().unwrap_or_else(PoisonError::into_inner);
        commands.extend(guests.iter().cloned());
        commands
    }

    /// Sets the commands that MCP servers add. Returns whether they have changed.
    pub fn set_guests(&self, commands: Vec<CustomCommand>) -> bool {
        let mut guests = self.guests.write().unwrap_or_else(PoisonError::into_inner);
        let changed = *guests != commands;
        *guests = commands;
        changed
    }

    pub fn active_policy(&self) -> ActivePolicy {
        self.active_policy.borrow().clone()
    }

    /// Reports later changes of the active policy.
    pub fn watch(&self) -> watch::Receiver<ActivePolicy> {
        self.active_policy.subscribe()
    }

    pub fn mode(&self) -> Mode {
        self.active_policy.borrow().mode
    }

    pub fn set_mode(&self, mode: Mode) {
        tracing::info!(mode = mode.name(), "permission mode");
        self.active_policy
            .send_modify(|active_policy| active_policy.mode = mode);
    }

    /// Allows what the rule covers from now on. The error says what is wrong with the rule.
    pub fn allow(&self, rule: &str, source: &Source) -> Result<(), String> {
        crate::permissions::check_rule(rule)?;
        self.add_rule(RuleList::Allow, rule, source).map(drop)
    }

    /// Adds a rule that applies from now on. Returns a warning if the rule may not do what its author expects. The
    /// error says what is wrong with it.
    pub fn add_rule(
        &self,
        list: RuleList,
        rule: &str,
        source: &Source,
    ) -> Result<Option<Warning>, String> {
        let mut rules = self.active_policy().rules;
        let known = |other: &Rule| other.text == rule.trim();
        if rules.list(list).iter().any(known) {
            return Ok(None);
        }
        let warning = Arc::make_mut(&mut rules).add(list, rule, source)?;
        tracing::info!(?list, rule = %logged(rule), source = %logged(source), "rule added");
        self.active_policy
            .send_modify(|active_policy| active_policy.rules = rules);
        Ok(warning)
    }

    /// Removes a rule. Returns whether it existed.
    pub fn remove_rule(&self, rule: &KnownRule) -> bool {
        self.active_policy.send_if_modified(|active_policy| {
            let is_it = |other: &Rule| other.text == rule.rule && other.source == rule.from;
            let there = active_policy.rules.list(rule.list).iter().any(is_it);
            if there {
                let (text, source) = (logged(&rule.rule), logged(&rule.from));
                tracing::info!(list = ?rule.list, rule = %text, %source, "rule removed");
                let rules = Arc::make_mut(&mut active_policy.rules);
                rules.list_mut(rule.list).retain(|other| !is_it(other));
            }
            there
        })
    }

    /// The active rules for people.
    pub fn known_rules(&self) -> Vec<KnownRule> {
        let rules = self.active_policy().rules;
        let known = |list: RuleList| {
            let rules = rules.list(list).iter();
            rules.map(move |rule| KnownRule {
                list,
                rule: rule.text.clone(),
                from: rule.source.clone(),
            })
        };
        RuleList::ALL.into_iter().flat_map(known).collect()
    }

    /// Makes a call ask that would run without asking, if `require` demands a sandbox and there is none.
    pub fn require_sandbox(&self, verdict: Verdict) -> Verdict {
        match self.env.unasked {
            Unasked::Require => require_sandbox(verdict, sandbox::state()),
            Unasked::Auto | Unasked::Off => verdict,
        }
    }

    /// The file of the person's rules, by its name in the workspace.
    pub fn rules_source(&self) -> Source {
        let file = self.rules_file();
        let name = file.strip_prefix(&self.places.workspace).unwrap_or(&file);
        let name = name.display().to_string();
        Source::file(file, name)
    }

    /// Checks whether the settings files have changed; if so, their rules apply from now on. Returns notices about
    /// it. Costs a few file system calls.
    pub fn refresh(&self) -> Vec<String> {
        let Some(live) = &self.live else {
            return Vec::new();
        };
        let mut files = live.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.changed() {
            return Vec::new();
        }
        let now = files.again();
        let active = self.hooks.as_ref().map(Runner::active).unwrap_or_default();
        loop {
            let before = self.active_policy().rules;
            let Reloaded {
                files: used,
                rules,
                hooks,
                notices,
            } = (live.load)(&files, now.clone(), &before, &active);
            let (mut late, rules) = (false, Arc::new(rules));
            self.active_policy.send_if_modified(|active_policy| {
                // The person may have added another rule in the meantime, which must not be lost.
                late = !Arc::ptr_eq(&active_policy.rules, &before);
                let changed = !late && active_policy.rules != rules;
                if changed {
                    active_policy.rules = rules;
                }
                changed
            });
            if !late {
                let text = notices.join("; ");
                tracing::info!(notices = %logged(text), "settings read again");
                *files = used;
                if let Some(runner) = &self.hooks {
                    self.protect_scripts(&hooks);
                    runner.replace(hooks);
                }
                return notices;
            }
        }
    }

    /// Protects the scripts of hooks before the hooks run for the first time.
    fn protect_scripts(&self, active: &Active) {
        let scripts = scripts::named(
            &active.hooks,
            scripts::ScriptDirectories {
                project: &self.places.workspace,
                home: &self.places.home,
                additional: &self.places.additional,
            },
        );
        let mut known = self
            .new_scripts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for script in scripts {
            if !known.contains(&script) && !self.places.protected_files.contains(&script) {
                known.push(script);
            }
        }
    }

    /// Settings files, and scripts of hooks. A script stays protected when its hook is removed.
    pub fn protected_files(&self) -> Vec<PathBuf> {
        let new = self
            .new_scripts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let at_start = self.places.protected_files.iter();
        at_start.chain(new.iter()).cloned().collect()
    }

    /// The file of the person's rules.
    pub fn rules_file(&self) -> PathBuf {
        match &self.store {
            Some(store) => store.file(),
            None => Store::new(&self.places.workspace, &self.places.workspace).file(),
        }
    }
}

fn require_sandbox(verdict: Verdict, state: &sandbox::State) -> Verdict {
    match (state, verdict.decision(), verdict.cause()) {
        (sandbox::State::Nothing(why), Decision::Allow, Cause::Classifier) => Verdict::ask(
            Cause::Default,
            format!("it can't be sandboxed, and `sandbox.unasked` is `require`: {why}"),
        ),
        _ => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Active, Asking, Cause, Decision, Mode, PathBuf, Places, Rules, Shared, Verdict,
        require_sandbox, sandbox,
    };
    use crate::hooks::Event;
    use crate::hooks::rig::hook;
    use crate::tools::files::scratch::Scratch;

    #[test]
    fn the_script_of_a_hook_that_was_added_later_is_protected() {
        let scratch = Scratch::new();
        scratch.put("guard.sh", "exit 0\n");
        let places = Places {
            workspace: scratch.root.clone(),
            ..Places::default()
        };
        let (asking, env) = (Asking::Nobody, scratch.cx.env.clone());
        let shared = Shared::new(Rules::default(), Mode::Default, asking, places, env);
        assert_eq!(shared.protected_files(), [] as [PathBuf; 0]);
        let active = Active {
            hooks: vec![hook(Event::PreToolUse, "./guard.sh")],
            ..Active::default()
        };
        shared.protect_scripts(&active);
        assert_eq!(shared.protected_files(), [scratch.root.join("guard.sh")]);
    }

    #[test]
    fn without_a_sandbox_require_makes_unasked_commands_ask() {
        let nothing = sandbox::State::Nothing("the kernel has no Landlock".to_owned());
        for (cause, state, decision) in [
            (Cause::Classifier, &nothing, Decision::Ask),
            (
                Cause::Classifier,
                &sandbox::State::Landlock(1),
                Decision::Allow,
            ),
            (Cause::Person, &nothing, Decision::Allow),
        ] {
            let allowed = Verdict::forged(Decision::Allow, cause.clone(), "");
            let found = require_sandbox(allowed, state).decision();
            assert_eq!(found, decision, "{cause:?} {state:?}");
        }
    }
}
