//! Where the program runs, and what the settings and flags say there.

use std::path::{Path, PathBuf};

use super::UsageError;
use super::args::Args;
use crate::config::settings::Trust;
use crate::config::{Dirs, Settings};
use crate::executor::Places;
use crate::hooks::Runner;
use crate::permissions::{RuleList, Source, Store};
use crate::protocol::{Mode, SessionId};
use crate::tools::DescribeCx;
use crate::tools::registry::{Offer, Registry};

pub struct Place {
    pub dirs: Dirs,
    pub workspace: PathBuf,
    pub settings: Settings,
}

impl Place {
    pub fn find(args: &Args) -> Result<Self, UsageError> {
        let dirs = Dirs::find();
        let workspace = std::env::current_dir().map_err(|error| {
            UsageError::new(format!("the working directory cannot be found: {error}"))
                .hint("change to a directory that exists")
        })?;
        let own = Store::new(&dirs.data, &workspace).saved();
        let trust = if args.trust {
            Trust::Full
        } else {
            Trust::OnlyTightens { own: &own }
        };
        let loaded = Settings::load(&dirs.config, &workspace, args.settings.as_deref(), trust);
        if let Some(error) = loaded.errors.first() {
            return Err(UsageError::new(error.to_string()).hint("mend or move the file"));
        }
        let settings = loaded;
        let mut place = Self {
            dirs,
            workspace,
            settings,
        };
        place.add_rules(args)?;
        for directory in &args.add_dir {
            if !directory.is_dir() {
                let problem = format!("--add-dir: `{}` is not a directory", directory.display());
                return Err(UsageError::new(problem));
            }
        }
        Ok(place)
    }

    fn add_rules(&mut self, args: &Args) -> Result<(), UsageError> {
        for (list, flag, rules) in [
            (RuleList::Deny, "--deny", &args.deny),
            (RuleList::Ask, "--ask", &args.ask),
            (RuleList::Allow, "--allow", &args.allow),
        ] {
            for rule in rules {
                let added = self.settings.add_rule(list, rule, &Source(flag.to_owned()));
                added.map_err(|error| {
                    UsageError::new(error.to_string())
                        .hint("a rule is `Tool` or `Tool(what)`, e.g. 'Bash(npm test:*)'")
                })?;
            }
        }
        Ok(())
    }

    /// Lets the model read what was too long to be shown to it.
    pub fn allow_reading(&mut self, directory: &Path) -> Result<(), UsageError> {
        let mut pattern = String::new();
        for letter in directory.display().to_string().chars() {
            if "*?[]\\".contains(letter) {
                pattern.push('\\');
            }
            pattern.push(letter);
        }
        let own = Source("agent-tui itself".to_owned());
        if directory
            .components()
            .any(|part| part == std::path::Component::ParentDir)
        {
            // A place that cannot be made has no results to read.
            return Ok(());
        }
        let added = self
            .settings
            .add_rule(RuleList::Allow, &format!("Read(/{pattern}/**)"), &own);
        added.map_err(|error| UsageError::new(error.to_string()))
    }

    /// The hooks of a session, if there are any.
    pub fn hooks(&self, session: &SessionId, transcript: &Path) -> Option<Runner> {
        let Settings {
            hooks,
            disable_all_hooks,
            ..
        } = &self.settings;
        if hooks.is_empty() || *disable_all_hooks == Some(true) {
            return None;
        }
        let runner = Runner::new(hooks.clone(), &self.workspace, session.clone(), transcript);
        Some(runner)
    }

    pub fn describe(&self, args: &Args) -> DescribeCx {
        DescribeCx {
            workspace: self.workspace.clone(),
            model: args.model.clone().unwrap_or_default(),
        }
    }

    pub fn mode(&self, args: &Args) -> Mode {
        args.permission_mode
            .map(|mode| mode.0)
            .or(self.settings.mode)
            .unwrap_or_default()
    }

    /// The tools that this run offers.
    pub fn registry(&self, args: &Args) -> Registry {
        let all = Registry::built_in();
        let rules = &self.settings.rules;
        let denied = all
            .names()
            .into_iter()
            .filter(|tool| rules.denies_whole(tool))
            .collect();
        all.offered(&Offer {
            simple: args.simple,
            denied,
            about: self.describe(args),
        })
    }

    pub fn places(&self, args: &Args) -> Places {
        let resolve = |directory: &PathBuf| {
            std::path::absolute(directory).unwrap_or_else(|_| directory.clone())
        };
        let additional = args.add_dir.iter().chain(
            self.settings
                .additional_directories
                .iter()
                .map(|directory| &directory.value),
        );
        Places {
            workspace: self.workspace.clone(),
            home: self.dirs.home.clone(),
            additional: additional.map(resolve).collect(),
            config_dir: Some(self.dirs.config.clone()),
        }
    }
}
