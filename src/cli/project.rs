//! The working directory, and what settings and flags say there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::UsageError;
use super::args::Args;
use super::reload;
use crate::app::commands::Commands;
use crate::config::Dirs;
use crate::executor::Places;
use crate::hooks::{Runner, scripts};
use crate::mcp;
use crate::mcp::config::{Inputs, Loaded};
use crate::permissions::{RuleList, Source, Store, names};
use crate::process::Programs;
use crate::protocol::{CustomTool, Mode, ServerTool, SessionId, WebSearch};
use crate::provider::models::context_window;
use crate::provider::wires::Wire;
use crate::settings::extensions::{Catalogue, Sources};
use crate::settings::files::{Files, Owner};
use crate::settings::memory::ProjectTrust;
use crate::settings::trust::{Memory, Review, State};
use crate::settings::{Settings, Trust};
use crate::tools::DescribeCx;
use crate::tools::custom;
use crate::tools::offered::Tools;
use crate::tools::registry::{Offer, Registry};
use crate::tools::subagents::read_only;

/// The workspace, its settings, and whether it is trusted.
pub struct Project {
    pub dirs: Dirs,
    pub workspace: PathBuf,
    pub settings: Settings,
    /// The settings files as they were read.
    pub files: Files,
    /// What the project's settings ask for.
    pub review: Review,
    /// Whether they get it.
    pub trusted: bool,
    audience: Audience,
    /// The MCP servers.
    pub servers: Loaded,
}

/// Whether a person can be asked about trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Person,
    /// Only `--trust` can trust the project.
    Nobody,
}

/// The person's decision about trust in this run, by the mark of what they were shown.
#[derive(Debug, Clone, Default)]
pub struct TrustAnswer {
    pub yes: Option<String>,
    pub no: Option<String>,
}

impl Project {
    /// The project at the working directory. Broken settings are an error.
    pub fn find(args: &Args, audience: Audience) -> Result<Self, UsageError> {
        let project = Self::inspect(args, audience, &TrustAnswer::default())?;
        let errors = project
            .settings
            .errors
            .iter()
            .chain(&project.servers.errors);
        let errors: Vec<String> = errors.map(ToString::to_string).collect();
        if errors.is_empty() {
            return Ok(project);
        }
        Err(UsageError::new(errors.join("\nerror: ")).hint("fix or move the file"))
    }

    /// The same, but broken settings are only reported: nothing that they may have forbidden runs without asking.
    pub fn inspect(
        args: &Args,
        audience: Audience,
        answer: &TrustAnswer,
    ) -> Result<Self, UsageError> {
        let dirs = Dirs::find();
        let workspace = std::env::current_dir().map_err(|error| {
            UsageError::new(format!("can't find the working directory: {error}"))
                .hint("change to a directory that exists")
        })?;
        let own = Store::new(&dirs.data, &workspace).saved();
        let files = Files::read(&dirs.config, &workspace, args.settings.as_deref());
        let memory = Memory::new(&dirs.data, &workspace);
        let review = Review::inspect(&workspace, &files, &own, &memory);
        let trusted = match audience {
            _ if args.trust => true,
            Audience::Person => review.is_trusted() || answer.yes == Some(review.mark()),
            Audience::Nobody => false,
        };
        let trust = if trusted {
            Trust::Full
        } else {
            Trust::OnlyTightens { own: &own }
        };
        let settings = Settings::merge(&files, trust);
        let servers = mcp::config::load(Inputs {
            files: &files,
            command_line: &args.mcp_config,
            trusted,
            memory: &memory,
            attended: audience == Audience::Person,
            variables: &|name| {
                let set = settings.env.get(name).cloned();
                set.or_else(|| std::env::var(name).ok())
            },
        });
        let mut project = Self {
            dirs,
            workspace,
            settings,
            files,
            review,
            trusted,
            audience,
            servers,
        };
        project.add_rules(args)?;
        for directory in &args.add_dir {
            if !directory.is_dir() {
                let problem = format!("--add-dir: `{}` is not a directory", directory.display());
                return Err(UsageError::new(problem));
            }
        }
        Ok(project)
    }

    /// A file named by a flag must be valid.
    pub fn check_named(&self, args: &Args) -> Result<(), UsageError> {
        let mut settings = self.files.layers.iter();
        let settings = settings.find(|layer| layer.owner == Owner::Named);
        let is_named = |path: &Path| {
            let mut servers = args.mcp_config.iter();
            settings.is_some_and(|layer| layer.path == path)
                || path == Path::new(mcp::config::FLAG)
                || servers.any(|named| Path::new(named) == path)
        };
        let mut errors = self.settings.errors.iter().chain(&self.servers.errors);
        let error = errors.find(|error| error.path().is_some_and(is_named));
        match error {
            Some(error) => {
                Err(UsageError::new(error.to_string()).hint("fix the file, or name another"))
            }
            None => Ok(()),
        }
    }

    /// Whether the person has to be asked before the project's settings apply.
    pub fn must_ask(&self, answer: &TrustAnswer) -> bool {
        !self.trusted
            && self.review.state != State::Nothing
            && answer.no != Some(self.review.mark())
    }

    /// Whether the person trusted the project. Settings that need no trust apply anyway, without asking.
    pub fn project_trust(&self, args: &Args) -> ProjectTrust {
        let accepted = self.trusted && self.review.state != State::Nothing;
        if args.trust || accepted {
            ProjectTrust::Trusted
        } else {
            ProjectTrust::Unknown
        }
    }

    /// What a person should know about the settings and the project, the most important first.
    pub fn notices(&self, custom: &[CustomTool]) -> Vec<String> {
        let errors = self.settings.errors.iter().map(|error| {
            format!("{error}; fix or move the file: until then, everything it might forbid asks")
        });
        let warnings = self.warnings(custom);
        let servers = self.servers.errors.iter();
        let servers = servers.map(|error| format!("{error}; fix the file, then start again"));
        let all = errors.chain(servers).chain(warnings);
        let all = all.chain(self.only_by_flag().map(str::to_owned));
        all.chain(self.dirs.problems()).collect()
    }

    /// What a person should know who trusted the project on the screen, and now runs it without one.
    fn only_by_flag(&self) -> Option<&'static str> {
        let trusted_on_screen = !self.trusted && self.review.state == State::Trusted;
        let nobody = self.audience == Audience::Nobody;
        (trusted_on_screen && nobody).then_some(
            "without a screen, only --trust trusts a project, because nobody can review it",
        )
    }

    /// The warnings about the settings. A rule may name a custom tool.
    pub fn warnings(&self, custom: &[CustomTool]) -> Vec<String> {
        let known: Vec<String> = custom
            .iter()
            .filter_map(|it| names::mistyped(&it.name))
            .collect();
        let is_known = |warning: &&String| known.iter().any(|it| warning.ends_with(it));
        let warnings = self.settings.warnings.iter();
        let warnings = warnings.chain(&self.servers.warnings);
        let warnings = warnings.filter(|warning| !is_known(warning)).cloned();
        warnings.chain(self.mistyped_tools(custom)).collect()
    }

    /// Names in the setting `tools` that look like the name of another tool.
    fn mistyped_tools(&self, custom: &[CustomTool]) -> impl Iterator<Item = String> {
        let names = self.settings.tools.keys();
        let names = names.filter(|name| !custom.iter().any(|it| *it.name == *name.as_str()));
        names.filter_map(|name| Some(format!("the setting `tools` {}", names::mistyped(name)?)))
    }

    fn add_rules(&mut self, args: &Args) -> Result<(), UsageError> {
        for (list, rules) in [
            (RuleList::Deny, &args.deny),
            (RuleList::Ask, &args.ask),
            (RuleList::Allow, &args.allow),
        ] {
            for rule in rules {
                let added = self.settings.add_rule(list, rule, &Source::Flag(list));
                added.map_err(|error| {
                    UsageError::new(error.to_string())
                        .hint("a rule is `Tool` or `Tool(what)`, e.g. 'Bash(npm test:*)'")
                })?;
            }
        }
        Ok(())
    }

    /// Lets the model read results that were too long for it.
    pub fn allow_reading(&mut self, directory: &Path) -> Result<(), UsageError> {
        let Some(rule) = names::reading_below(directory) else {
            // If the directory can't be created, there are no results to read.
            return Ok(());
        };
        let added = self
            .settings
            .add_rule(RuleList::Allow, &rule, &Source::Program);
        added.map_err(|error| UsageError::new(error.to_string()))
    }

    /// The hooks of a session; there may be none yet.
    pub fn hooks(
        &self,
        session: &SessionId,
        transcript: &Path,
        programs: &Arc<Programs>,
    ) -> Runner {
        let runner = Runner::new(
            Vec::new(),
            &self.workspace,
            session.clone(),
            transcript,
            programs.clone(),
        );
        runner.replace(self.settings.active_hooks());
        runner
    }

    /// The web search, as far as it is known before the provider is.
    pub fn search(&self, args: &Args) -> Option<WebSearch> {
        let provider = args.provider.as_ref().or(self.settings.provider.as_ref());
        let serves = |name: &String| {
            Wire::named(name).is_some_and(|wire| wire.serves(ServerTool::WebSearch))
        };
        let search = self.settings.web_search.clone();
        search.filter(|search| *search != WebSearch::Provider || provider.is_none_or(serves))
    }

    /// What files add, and the problems with them.
    pub fn extensions(&self, args: &Args) -> (Catalogue, Vec<String>) {
        let commands = Commands::default();
        let names = commands
            .all()
            .iter()
            .map(|command| command.name.to_string());
        Catalogue::read(Sources {
            read_only: read_only(),
            built_in_commands: names.collect(),
            config: &self.dirs.config,
            home: &self.dirs.home,
            workspace: &self.workspace,
            trusts: reload::trusts(args, self),
            remedy: match self.audience {
                Audience::Person => "restart to review it",
                Audience::Nobody => "--trust uses it",
            },
        })
    }

    pub fn mode(&self, args: &Args) -> Mode {
        args.permission_mode
            .map(|mode| mode.0)
            .or(self.settings.mode)
            .unwrap_or_default()
    }

    /// The tools that this run offers.
    pub fn tools(&self, args: &Args) -> Tools {
        let (catalogue, _) = self.extensions(args);
        let (registry, _) = Self::registry(&catalogue);
        Tools::new(registry, self.offer(args, &catalogue))
    }

    /// All tools, and the problems with those of files.
    pub fn registry(catalogue: &Catalogue) -> (Registry, Vec<String>) {
        let mut registry = Registry::built_in();
        let problems = custom::replace(&mut registry, &catalogue.now().tools);
        (registry, problems)
    }

    /// What decides which tools are offered.
    pub fn offer(&self, args: &Args, catalogue: &Catalogue) -> Offer {
        let model = args.model.as_ref().or(self.settings.model.as_ref());
        let model = model.cloned().unwrap_or_default();
        Offer {
            simple: args.simple,
            rules: Arc::new(self.settings.rules.clone()),
            mode: self.mode(args),
            window: self.window(&model),
            about: DescribeCx {
                workspace: self.workspace.clone(),
                model,
                extensions: catalogue.now(),
                deferral: self.settings.tool_search.unwrap_or_default(),
                search: self.search(args),
            },
        }
    }

    /// The context window of a model, in tokens, if known.
    pub fn window(&self, model: &str) -> Option<u64> {
        self.settings
            .context_window
            .or_else(|| context_window(model))
    }

    /// The programs of the machine; none of them is inside the workspace.
    pub fn programs(&self, args: &Args) -> Arc<Programs> {
        let Places {
            workspace,
            additional,
            ..
        } = self.places(args);
        let own = std::iter::once(&workspace).chain(&additional);
        Arc::new(Programs::find(own.map(PathBuf::as_path)))
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
        let additional: Vec<PathBuf> = additional.map(resolve).collect();
        let directories = scripts::ScriptDirectories {
            project: &self.workspace,
            home: &self.dirs.home,
            additional: &additional,
        };
        let mut protected_files = scripts::named(&self.settings.hooks, directories);
        // A settings file can be anywhere: named by a flag, or behind a link.
        let settings = self.files.layers.iter().map(|layer| resolve(&layer.path));
        protected_files.extend(settings);
        Places {
            workspace: self.workspace.clone(),
            home: self.dirs.home.clone(),
            additional,
            config_dir: Some(self.dirs.config.clone()),
            data_dir: Some(self.dirs.data.clone()),
            protected_files,
        }
    }
}
