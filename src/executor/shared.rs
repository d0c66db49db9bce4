//! What all calls of a session share: rules and mode, hooks, places, background commands.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::config::logged;
use crate::hooks::Runner;
use crate::permissions::{Cause, Decision, Rule, RuleList, Rules, Source, Store, Verdict, Warning};
use crate::process::sandbox;
use crate::process::sandbox::Unasked;
use crate::protocol::{Block, CustomCommand, Extensions, InterruptBehavior, KnownRule, Mode};
use crate::settings::extensions::Catalogue;
use crate::settings::files::Files;
use crate::tools::Environment;

/// Shared by the calls of all conversations of a session; changed only by the session's owner.
pub struct Shared {
    pub asking: Asking,
    pub places: Places,
    pub env: Arc<Environment>,
    /// `interruptBehavior` of the settings, per tool.
    pub interrupt_overrides: HashMap<String, InterruptBehavior>,
    /// Where rules go that the person wants to keep.
    pub store: Option<Store>,
    /// `None` where no hook is configured: then nothing is done for them.
    pub hooks: Option<Runner>,
    /// The settings files, which may change while the program runs.
    pub live: Option<Live>,
    /// What files add; `None` where nothing does.
    pub catalogue: Option<Catalogue>,
    stance: watch::Sender<Stance>,
}

/// What decides about calls, and can change while some of them wait for a decision.
#[derive(Debug, Clone)]
pub struct Stance {
    pub mode: Mode,
    pub rules: Arc<Rules>,
}

/// Settings files that are looked at before every decision.
pub struct Live {
    files: Mutex<Files>,
    load: Load,
}

/// Takes the files before and now, and the active rules.
pub type Load = Box<dyn Fn(&Files, Files, &Rules) -> Reloaded + Send + Sync>;

/// What changed files mean.
pub struct Reloaded {
    /// The files whose content counts now.
    pub files: Files,
    pub rules: Rules,
    pub notices: Vec<String>,
}

impl Live {
    pub fn new(files: Files, load: Load) -> Self {
        let files = Mutex::new(files);
        Self { files, load }
    }
}

/// Who answers when a call needs a person's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    Person,
    /// No person is there: calls that would ask are denied.
    Nobody,
}

/// The directories that a permission decision knows.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub workspace: PathBuf,
    pub home: PathBuf,
    pub additional: Vec<PathBuf>,
    pub config_dir: Option<PathBuf>,
    pub data_dir: Option<PathBuf>,
    /// Settings files, and what hooks run.
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
            interrupt_overrides: HashMap::new(),
            store: None,
            hooks: None,
            live: None,
            catalogue: None,
            stance: watch::Sender::new(Stance {
                mode,
                rules: Arc::new(rules),
            }),
        }
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
        let command = self.extensions().command(name).cloned()?;
        Some((command, arguments.to_owned()))
    }

    pub fn stance(&self) -> Stance {
        self.stance.borrow().clone()
    }

    /// Tells when the stance changes from now on.
    pub fn watch(&self) -> watch::Receiver<Stance> {
        self.stance.subscribe()
    }

    pub fn mode(&self) -> Mode {
        self.stance.borrow().mode
    }

    pub fn set_mode(&self, mode: Mode) {
        tracing::info!(mode = mode.name(), "permission mode");
        self.stance.send_modify(|stance| stance.mode = mode);
    }

    /// Allows what the rule covers, from now on. The error says what is wrong with the rule.
    pub fn allow(&self, rule: &str, source: &Source) -> Result<(), String> {
        crate::permissions::check_rule(rule)?;
        self.add_rule(RuleList::Allow, rule, source).map(drop)
    }

    /// Adds a rule that counts from now on; returns what will surprise its author. The error says what is wrong with it.
    pub fn add_rule(
        &self,
        list: RuleList,
        rule: &str,
        source: &Source,
    ) -> Result<Option<Warning>, String> {
        let mut rules = self.stance().rules;
        let known = |other: &Rule| other.text == rule.trim();
        if rules.list(list).iter().any(known) {
            return Ok(None);
        }
        let warning = Arc::make_mut(&mut rules).add(list, rule, source)?;
        tracing::info!(?list, rule = %logged(rule), source = %logged(source), "rule added");
        self.stance.send_modify(|stance| stance.rules = rules);
        Ok(warning)
    }

    /// Takes a rule away; says whether it was there.
    pub fn remove_rule(&self, rule: &KnownRule) -> bool {
        self.stance.send_if_modified(|stance| {
            let is_it = |other: &Rule| other.text == rule.rule && other.source == rule.from;
            let there = stance.rules.list(rule.list).iter().any(is_it);
            if there {
                let (text, source) = (logged(&rule.rule), logged(&rule.from));
                tracing::info!(list = ?rule.list, rule = %text, %source, "rule removed");
                let rules = Arc::make_mut(&mut stance.rules);
                rules.list_mut(rule.list).retain(|other| !is_it(other));
            }
            there
        })
    }

    /// The active rules, as people know them.
    pub fn known_rules(&self) -> Vec<KnownRule> {
        let rules = self.stance().rules;
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

    /// What no person was to be asked about is asked about where the kernel should hold it, and cannot.
    pub fn unless_unheld(&self, verdict: Verdict) -> Verdict {
        match self.env.unasked {
            Unasked::Require => unless_unheld(verdict, sandbox::state()),
            Unasked::Auto | Unasked::Off => verdict,
        }
    }

    /// The file that the person's rules go to, as it is called in the workspace.
    pub fn rules_source(&self) -> Source {
        let file = self.rules_file();
        let name = file.strip_prefix(&self.places.workspace).unwrap_or(&file);
        let name = name.display().to_string();
        Source::file(file, name)
    }

    /// Looks whether the settings files have changed; if so, their rules count from now on. Returns what to say about it.
    /// Costs a few looks at the disk.
    pub fn refresh(&self) -> Vec<String> {
        let Some(live) = &self.live else {
            return Vec::new();
        };
        let mut files = live.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.changed() {
            return Vec::new();
        }
        let now = files.again();
        loop {
            let before = self.stance().rules;
            let Reloaded {
                files: used,
                rules,
                notices,
            } = (live.load)(&files, now.clone(), &before);
            let (mut late, rules) = (false, Arc::new(rules));
            self.stance.send_if_modified(|stance| {
                // The person may have given another rule in the meantime, which must not be lost.
                late = !Arc::ptr_eq(&stance.rules, &before);
                let changed = !late && stance.rules != rules;
                if changed {
                    stance.rules = rules;
                }
                changed
            });
            if !late {
                let said = notices.join("; ");
                tracing::info!(notices = %logged(said), "settings read again");
                *files = used;
                return notices;
            }
        }
    }

    /// The file that the person's rules go to.
    pub fn rules_file(&self) -> PathBuf {
        match &self.store {
            Some(store) => store.file(),
            None => Store::new(&self.places.workspace, &self.places.workspace).file(),
        }
    }
}

fn unless_unheld(verdict: Verdict, state: &sandbox::State) -> Verdict {
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
    use super::{Cause, Decision, Verdict, sandbox, unless_unheld};

    #[test]
    fn where_nothing_can_hold_a_command_that_nobody_was_asked_about_it_is_asked_about() {
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
            let found = unless_unheld(allowed, state).decision();
            assert_eq!(found, decision, "{cause:?} {state:?}");
        }
    }
}
