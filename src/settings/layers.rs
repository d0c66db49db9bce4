//! Merges the settings files, each layer over the previous one.

use std::path::Path;

use super::file::{File, Sandbox, keys, permission_keys, sandbox_keys};
use super::files::{Content, Files, Layer, Owner};
use super::read::{self, Group, Reading, Unknown};
use super::{Settings, SettingsError, Sourced, Trust};
use crate::config::json::{Inside, Wrong, place};
use crate::hooks::HooksFile;
use crate::permissions::names::tools_meant;
use crate::permissions::{RuleList, Source};
use crate::process::sandbox::Unasked;
use crate::protocol::{Mode, WebSearch};
use crate::text::{self, cut};

/// Keys of Claude Code inside `permissions` that are not lists of rules.
const CLAUDE_KEYS: [&str; 2] = ["disableBypassPermissionsMode", "disableAutoMode"];
/// How much of a rule a message repeats.
const LONGEST_PROBLEM: usize = 300;

/// The context of one file while it is merged.
struct Page<'f> {
    layer: &'f Layer,
    text: &'f str,
    source: Source,
    trust: Trust<'f>,
}

impl Settings {
    /// All existing files, lowest priority first.
    pub fn load(
        config_dir: &Path,
        workspace: &Path,
        named: Option<&Path>,
        project: Trust<'_>,
    ) -> Self {
        Self::merge(&Files::read(config_dir, workspace, named), project)
    }

    /// Merges the files, lowest priority first.
    pub fn merge(files: &Files, project: Trust<'_>) -> Self {
        let mut settings = Self::default();
        for layer in &files.layers {
            let trust = match (layer.owner, project) {
                (Owner::Person | Owner::Named, _) => Trust::Full,
                // The person's rules are saved in one file only; in another file, someone else wrote them.
                (Owner::Claude | Owner::Project, Trust::OnlyTightens { .. }) => {
                    Trust::OnlyTightens { own: &[] }
                }
                (Owner::Claude | Owner::Project | Owner::Local, trust) => trust,
            };
            settings.add_layer(layer, trust);
        }
        settings
    }

    /// Adds a rule from a flag.
    pub fn add_rule(
        &mut self,
        list: RuleList,
        text: &str,
        source: &Source,
    ) -> Result<(), SettingsError> {
        let added = self.rules.add(list, text, source);
        let warning = added.map_err(|problem| SettingsError::BadRule {
            source_name: source.to_string(),
            problem: shortened(&problem),
        })?;
        self.warnings
            .extend(warning.map(|warning| format!("{source}: {}", shortened(&warning.0))));
        Ok(())
    }

    fn add_layer(&mut self, layer: &Layer, trust: Trust<'_>) {
        let text = match &layer.content {
            Content::Missing => return,
            Content::Text(text) => text,
            Content::Unreadable(problem) => {
                self.ask_for_tools(layer, "*");
                return self.errors.push(SettingsError::Unreadable {
                    path: layer.path.clone(),
                    problem: problem.clone(),
                });
            }
        };
        let groups = [
            Group {
                name: "permissions",
                fields: permission_keys(),
                holds: "an object with rules",
            },
            Group {
                name: "sandbox",
                fields: sandbox_keys(),
                holds: "an object",
            },
        ];
        let reading = match read::read::<File>(text, keys(), &groups) {
            Ok(reading) => reading,
            Err(wrong) => {
                self.ask_for_tools(layer, "*");
                return self.wrong(layer, wrong);
            }
        };
        let page = Page {
            layer,
            text,
            source: Source::file(&layer.path, &layer.name),
            trust,
        };
        self.add_page(&page, reading);
    }

    fn add_page(&mut self, page: &Page<'_>, reading: Reading<File>) {
        let layer = page.layer;
        for fault in reading.faults {
            let keys: Vec<&str> = fault.keys.iter().map(String::as_str).collect();
            let about_rules = matches!(
                keys[..],
                ["permissions"] | ["permissions", "allow" | "ask" | "deny"]
            );
            // A hook that cannot be understood may also have denied something.
            let about_hooks = keys.first() == Some(&"hooks") && page.trust == Trust::Full;
            if about_rules || about_hooks {
                self.ask_for_tools(layer, "*");
            }
            // If Claude Code understands a key differently, that is not the person's mistake.
            if layer.owner == Owner::Claude && !about_rules && !about_hooks {
                self.warn_at(layer, &fault.wrong);
            } else {
                self.wrong(layer, fault.wrong);
            }
        }
        for unknown in reading.unknown {
            if may_forbid(&unknown, layer.owner) {
                self.ask_for_tools(layer, "*");
                self.wrong(layer, unknown.wrong);
            } else if layer.owner != Owner::Claude {
                self.warn_at(layer, &unknown.wrong);
            }
        }
        let file = reading.value;
        let permissions = reading.node.get("permissions");
        for (list, name, rules) in [
            (RuleList::Deny, "deny", &file.permissions.deny),
            (RuleList::Ask, "ask", &file.permissions.ask),
            (RuleList::Allow, "allow", &file.permissions.allow),
        ] {
            let at = |index: usize| match permissions?.get(name).map(|list| &list.inside) {
                Some(Inside::List(items)) => Some(items.get(index)?.span.start),
                Some(Inside::Object(_) | Inside::Plain) | None => None,
            };
            self.add_rules(page, list, rules, at);
        }
        self.take(page, file);
    }

    fn add_rules(
        &mut self,
        page: &Page<'_>,
        list: RuleList,
        rules: &[String],
        at: impl Fn(usize) -> Option<usize>,
    ) {
        let mut left_out = false;
        for (index, rule) in rules.iter().enumerate() {
            if let (RuleList::Allow, Trust::OnlyTightens { own }) = (list, page.trust)
                && !own.contains(rule)
            {
                left_out = true;
                continue;
            }
            let added = match self.rules.add(list, rule, &page.source) {
                Ok(None) => continue,
                Ok(Some(warning)) => Ok(warning.0),
                Err(problem) => Err(problem),
            };
            let (line, column) = place(page.text, at(index).unwrap_or_default());
            let wrong = |problem: &str| Wrong {
                line,
                column,
                problem: shortened(problem),
            };
            match (added, list) {
                (Ok(warning), _) => self.warn_at(page.layer, &wrong(&warning)),
                (Err(problem), RuleList::Allow) => {
                    let problem = format!("{problem}; ignored");
                    self.warn_at(page.layer, &wrong(&problem));
                }
                (Err(problem), RuleList::Deny | RuleList::Ask) => {
                    self.ask_for_tools(page.layer, tools_meant(rule));
                    self.wrong(page.layer, wrong(&problem));
                }
            }
        }
        if left_out {
            self.warn(
                &page.layer.path,
                "its allow rules are ignored: the project is not trusted",
            );
        }
    }

    /// Takes over everything except the rules.
    fn take(&mut self, page: &Page<'_>, mut file: File) {
        let unasked = self.unasked_of(page, &file.sandbox);
        self.set(page, "sandbox.unasked", unasked, |it| &mut it.unasked);
        let mode = self.mode_of(page, file.permissions.default_mode);
        self.set(page, "permissions.defaultMode", mode, |it| &mut it.mode);
        if page.trust != Trust::Full {
            if !file.hooks.is_empty() {
                let what = "its hooks are ignored: the project is not trusted";
                self.warn(&page.layer.path, what);
            }
            return;
        }
        self.take_collections(page, &mut file);
        self.take_values(page, file);
    }

    /// Takes over what accumulates from file to file, or is overridden by name.
    fn take_collections(&mut self, page: &Page<'_>, file: &mut File) {
        let source = &page.source;
        self.add_hooks(page, std::mem::take(&mut file.hooks));
        let directories = std::mem::take(&mut file.permissions.additional_directories).into_iter();
        self.additional_directories
            .extend(directories.map(|value| Sourced {
                value,
                source: source.clone(),
            }));
        for (name, value) in std::mem::take(&mut file.env) {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let shown = cut(&name);
                self.warn(
                    &page.layer.path,
                    &format!("`env.{shown}` is not a valid variable name; ignored"),
                );
                continue;
            }
            self.origins.insert(format!("env.{name}"), source.clone());
            self.env.insert(name, value);
        }
        for (name, price) in std::mem::take(&mut file.prices) {
            self.origins
                .insert(format!("prices.{name}"), source.clone());
            self.prices.insert(name, price);
        }
        for (name, behavior) in std::mem::take(&mut file.interrupt_behavior) {
            let key = format!("interruptBehavior.{name}");
            self.origins.insert(key, source.clone());
            self.interrupt_behavior.insert(name, behavior);
        }
        for (name, settings) in std::mem::take(&mut file.tools) {
            self.origins.insert(format!("tools.{name}"), source.clone());
            self.tools.entry(name).or_default().override_with(settings);
        }
    }

    /// Takes over the single values.
    fn take_values(&mut self, page: &Page<'_>, file: File) {
        self.set(page, "disableAllHooks", file.disable_all_hooks, |it| {
            &mut it.disable_all_hooks
        });
        let pass_keys = file.pass_provider_keys;
        let pass_keys = pass_keys.filter(|pass| {
            let refused = *pass && page.layer.owner.is_project();
            if refused {
                let what =
                    "`passProviderKeys` of a project is ignored; set it in your own settings";
                self.warn(&page.layer.path, what);
            }
            !refused
        });
        self.set(page, "passProviderKeys", pass_keys, |it| {
            &mut it.pass_provider_keys
        });
        self.set(page, "provider", file.provider, |it| &mut it.provider);
        self.set(page, "model", file.model, |it| &mut it.model);
        self.set(page, "baseUrl", file.base_url, |it| &mut it.base_url);
        self.set(page, "maxTurns", file.max_turns, |it| &mut it.max_turns);
        self.set(page, "maxTokens", file.max_tokens, |it| &mut it.max_tokens);
        self.set(page, "maxCost", file.max_cost, |it| &mut it.max_cost);
        self.set(page, "maxOutputTokens", file.max_output_tokens, |it| {
            &mut it.max_output_tokens
        });
        self.set(page, "contextWindow", file.context_window, |it| {
            &mut it.context_window
        });
        self.set(
            page,
            "maxToolConcurrency",
            file.max_tool_concurrency,
            |it| &mut it.max_tool_concurrency,
        );
        self.set(page, "streamingExecution", file.streaming_execution, |it| {
            &mut it.streaming_execution
        });
        self.set(page, "onBashError", file.on_bash_error, |it| {
            &mut it.on_bash_error
        });
        self.set(page, "maxInputMb", file.max_input_mb, |it| {
            &mut it.max_input_mb
        });
        self.set(page, "stallSeconds", file.stall_seconds, |it| {
            &mut it.stall_seconds
        });
        self.set(page, "retries", file.retries, |it| &mut it.retries);
        self.set(page, "theme", file.theme, |it| &mut it.theme);
        self.set(page, "smallModel", file.small_model, |it| {
            &mut it.small_model
        });
        let search = self.search_of(page, file.web_search);
        self.set(page, "webSearch", search, |it| &mut it.web_search);
        self.set(page, "toolSearch", file.tool_search, |it| {
            &mut it.tool_search
        });
    }

    /// The mode that a file may choose. A project never allows more than acceptEdits, trusted or not; an untrusted
    /// one can only choose the strictest mode.
    fn mode_of(&mut self, page: &Page<'_>, mode: Option<Mode>) -> Option<Mode> {
        let mode = mode?;
        let problem = match (mode, page.trust) {
            _ if !page.layer.owner.is_project() => return Some(mode),
            (Mode::Plan, _) | (Mode::Default | Mode::AcceptEdits, Trust::Full) => {
                return Some(mode);
            }
            (Mode::Default | Mode::AcceptEdits, Trust::OnlyTightens { .. }) => {
                "because the project is not trusted"
            }
            (Mode::DontAsk | Mode::BypassPermissions, _) => {
                "because a project can't choose it; use --permission-mode"
            }
        };
        let name = mode.name();
        let what = format!("its defaultMode `{name}` is ignored, {problem}");
        self.warn(&page.layer.path, &what);
        None
    }

    /// Who searches. A project could name any variable as the key, and any address to send it to.
    fn search_of(&mut self, page: &Page<'_>, search: Option<WebSearch>) -> Option<WebSearch> {
        let search = search?;
        let sends_a_key =
            matches!(&search, WebSearch::Service(service) if service.key_variable().is_some());
        if page.layer.owner.is_project() && sends_a_key {
            let what =
                "its `webSearch` is ignored: a service with a key belongs in your own settings";
            self.warn(&page.layer.path, what);
            return None;
        }
        Some(search)
    }

    /// The sandbox setting of a file. A project can only make it stricter.
    fn unasked_of(&mut self, page: &Page<'_>, sandbox: &Sandbox) -> Option<Unasked> {
        let unasked = sandbox.unasked?;
        if page.layer.owner.is_project() && unasked != Unasked::Require {
            let what = "its `sandbox.unasked` is ignored: a project can only choose `require`";
            self.warn(&page.layer.path, what);
            return None;
        }
        Some(unasked)
    }

    fn set<T>(
        &mut self,
        page: &Page<'_>,
        key: &str,
        value: Option<T>,
        setting: impl FnOnce(&mut Self) -> &mut Option<T>,
    ) {
        if value.is_some() {
            *setting(self) = value;
            self.origins.insert(key.to_owned(), page.source.clone());
        }
    }

    /// Something that may have denied calls of these tools cannot be understood: they ask.
    fn ask_for_tools(&mut self, layer: &Layer, tools: &str) {
        let source = Source::broken(&layer.path, &layer.name);
        let known = self.rules.ask.iter();
        if known
            .clone()
            .any(|rule| rule.source == source && rule.text == tools)
        {
            return;
        }
        // An invalid name of a tool must not be a way around it.
        if self.rules.add(RuleList::Ask, tools, &source).is_err() {
            let _ = self.rules.add(RuleList::Ask, "*", &source);
        }
    }

    fn wrong(&mut self, layer: &Layer, wrong: Wrong) {
        self.errors.push(SettingsError::Wrong {
            path: layer.path.clone(),
            wrong,
        });
    }

    fn warn_at(&mut self, layer: &Layer, wrong: &Wrong) {
        let path = layer.path.display();
        self.warnings.push(format!("`{path}`, {wrong}"));
    }

    fn add_hooks(&mut self, page: &Page<'_>, file: HooksFile) {
        let (hooks, warnings) = file.hooks(&page.layer.path, &page.layer.name);
        self.hooks.extend(hooks);
        for warning in warnings {
            self.warn(&page.layer.path, &warning);
        }
    }

    fn warn(&mut self, path: &Path, what: &str) {
        self.warnings.push(format!("`{}`: {what}", path.display()));
    }
}

/// Whether an unknown key may be a misspelt list of deny or ask rules.
fn may_forbid(unknown: &Unknown, owner: Owner) -> bool {
    let is_list = |key: &str| key == "deny" || key == "ask";
    let keys: Vec<&str> = unknown.keys.iter().map(String::as_str).collect();
    match (&keys[..], owner) {
        // Claude Code has more keys, and gets new ones.
        (["permissions", key], Owner::Claude) => {
            !CLAUDE_KEYS.contains(key) && unknown.meant.is_some_and(is_list)
        }
        (["permissions", _], _) => true,
        // The whole group is misspelt, or the list is outside of it.
        ([key], _) => unknown.meant == Some("permissions") || is_list(&key.to_lowercase()),
        _ => false,
    }
}

fn shortened(problem: &str) -> String {
    text::shortened(problem, LONGEST_PROBLEM, "…").into_owned()
}
