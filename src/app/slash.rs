//! The commands that begin with a slash, and what each does.

use std::fmt::Write;
use std::sync::Arc;

use super::call::CallKey;
use super::dialogs::Dialog;
use super::dialogs::help::HelpDialog;
use super::dialogs::picker::{Choice, Item, Picker};
use super::job::{Job, SessionRow};
use super::panel::ToolPanel;
use super::session::SessionInfo;
use super::transcript::{Cell, NoticeKind};
use super::{AppState, Effect, Focus, Opening, OpeningSession};
use crate::protocol::{AgentKind, Block, Command, RulesCommand, SessionCommand, Spending};
use crate::theme::{AUTO, Theme};

/// One command, as completion and help show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashCommand {
    pub name: &'static str,
    /// What may follow it, for people.
    pub arguments: &'static str,
    pub about: &'static str,
    pub does: Slash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slash {
    Help,
    Clear,
    Model,
    Theme,
    Tools,
    Hooks,
    Agents,
    Sessions,
    Diff,
    Permissions,
    Why,
    Cost,
    Init,
    Doctor,
    Vim,
    Quit,
}

pub const COMMANDS: &[SlashCommand] = &[
    command("help", "", "keys and commands", Slash::Help),
    command("clear", "", "start a new conversation", Slash::Clear),
    command(
        "model",
        "[NAME]",
        "show the model, or switch to another one",
        Slash::Model,
    ),
    command("theme", "[NAME]", "choose how it looks", Slash::Theme),
    command("tools", "", "what the model can use", Slash::Tools),
    command("hooks", "", "the active hooks", Slash::Hooks),
    command("agents", "", "the types of subagents", Slash::Agents),
    command(
        "sessions",
        "",
        "resume an earlier conversation",
        Slash::Sessions,
    ),
    command("resume", "[ID]", "the same as /sessions", Slash::Sessions),
    command("diff", "", "all changes of this conversation", Slash::Diff),
    command(
        "permissions",
        "[add | test …]",
        "the rules, and what they say",
        Slash::Permissions,
    ),
    command(
        "why",
        "[CALL]",
        "what decided about the last call, or another one",
        Slash::Why,
    ),
    command("cost", "", "tokens and money used so far", Slash::Cost),
    command(
        "init",
        "",
        "let the model write an AGENTS.md for this project",
        Slash::Init,
    ),
    command(
        "doctor",
        "",
        "what is configured, what is missing, what to do about it",
        Slash::Doctor,
    ),
    command(
        "vim",
        "",
        "turn vim keys in the input on or off",
        Slash::Vim,
    ),
    command("quit", "", "leave", Slash::Quit),
];

const fn command(
    name: &'static str,
    arguments: &'static str,
    about: &'static str,
    does: Slash,
) -> SlashCommand {
    SlashCommand {
        name,
        arguments,
        about,
        does,
    }
}

pub fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| command.name == name)
}

impl AppState {
    pub(super) fn slash(&mut self, name: &str, arguments: &str) -> Vec<Effect> {
        let Some(command) = find(name) else {
            self.flash(format!("there is no command /{name}"));
            return Vec::new();
        };
        match command.does {
            Slash::Help => self.dialogs.push(Dialog::Help(HelpDialog::default())),
            Slash::Clear => return self.reopen(OpeningSession::New, None),
            Slash::Model => return self.model(arguments),
            Slash::Theme => return self.theme(arguments),
            Slash::Tools => self.list_tools(),
            Slash::Hooks => self.list_hooks(),
            Slash::Agents => {
                return vec![Effect::Send(Command::Session(SessionCommand::ListAgents))];
            }
            Slash::Sessions if arguments.is_empty() => {
                return vec![Effect::Start(Job::ListSessions)];
            }
            Slash::Sessions => return self.reopen(OpeningSession::Id(arguments.to_owned()), None),
            Slash::Diff => self.list_changes(),
            Slash::Permissions => return self.permissions(arguments),
            Slash::Why => self.tell_why(arguments),
            Slash::Cost => self.tell_cost(),
            Slash::Init => {
                let message = Block::text(INIT).shown_as("/init");
                return self.submit(vec![message], "/init".to_owned());
            }
            Slash::Doctor => {
                self.flash("looking …");
                return vec![Effect::Start(Job::Examine)];
            }
            Slash::Vim => {
                self.composer.toggle_vim();
                let on = self.composer.vim().is_some();
                self.flash(if on { "vim keys on" } else { "vim keys off" });
            }
            Slash::Quit => return self.quit_after_asking(),
        }
        Vec::new()
    }

    /// Another conversation, or the same with another model. Not while something runs: it would be cut off unasked.
    fn reopen(&mut self, session: OpeningSession, model: Option<String>) -> Vec<Effect> {
        if self.is_working() {
            self.flash("a turn is running; interrupt it first");
            return Vec::new();
        }
        if self.running_aside().is_some() {
            self.flash("a command is running; interrupt it first");
            return Vec::new();
        }
        // What waited was not sent: it is the person's again.
        let waited = std::mem::take(&mut self.queue);
        if !waited.is_empty() {
            self.composer.take_back(&waited.join("\n\n"), self.now);
        }
        self.expected.clear();
        self.end_preview();
        self.dialogs.clear();
        self.flash = None;
        self.quit_armed = None;
        self.transcript.clear();
        self.calls.clear();
        self.panel = ToolPanel::default();
        self.scroll.follow();
        self.selection = None;
        self.search = None;
        self.focus = Focus::Composer;
        self.session.id = None;
        self.transcript.push(Cell::Welcome);
        vec![Effect::Open(Opening {
            session,
            model,
            mode: self.session.known_mode(),
        })]
    }

    fn model(&mut self, name: &str) -> Vec<Effect> {
        if name.is_empty() {
            let SessionInfo {
                model, provider, ..
            } = &self.session;
            let text = format!("{model} ({provider}); /model NAME switches to another one");
            self.notice(NoticeKind::Info, text);
            return Vec::new();
        }
        self.reopen(OpeningSession::Same, Some(name.to_owned()))
    }

    fn theme(&mut self, name: &str) -> Vec<Effect> {
        self.theme_wanted = None;
        if name.is_empty() {
            return vec![Effect::Start(Job::ListThemes)];
        }
        if name == AUTO {
            self.flash("the theme follows the terminal from the next start");
            return vec![Effect::Start(Job::KeepTheme(name.to_owned()))];
        }
        if let Some(theme) = Theme::builtin(name) {
            return self.wear(theme);
        }
        self.theme_wanted = Some(name.to_owned());
        vec![Effect::Start(Job::ListThemes)]
    }

    /// All themes are known now: takes the one that was named, or lets the person choose.
    pub(super) fn themes_listed(&mut self, themes: Vec<Theme>) -> Vec<Effect> {
        let Some(name) = self.theme_wanted.take() else {
            self.offer_themes(themes);
            return Vec::new();
        };
        if let Some(theme) = themes.into_iter().find(|theme| theme.name == name) {
            return self.wear(theme);
        }
        self.flash(format!("there is no theme `{name}`; /theme shows them"));
        Vec::new()
    }

    /// Looks like this from now on, and after the next start.
    fn wear(&mut self, theme: Theme) -> Vec<Effect> {
        let keep = Job::KeepTheme(theme.name.clone());
        self.theme_before = None;
        self.use_theme(theme);
        vec![Effect::Start(keep)]
    }

    fn list_tools(&mut self) {
        let tools = self.session.tools.iter().map(|tool| Item {
            label: tool.name.to_string(),
            about: String::new(),
            choice: Choice::Nothing,
        });
        let picker = Picker::new("tools", tools.collect());
        self.dialogs.push(Dialog::Picker(picker));
    }

    fn list_hooks(&mut self) {
        if self.session.hooks.is_empty() {
            self.flash("no hooks are configured; add them under `hooks` in the settings");
            return;
        }
        let hooks = self.session.hooks.iter().map(|hook| Item {
            label: format!("{} {}: {}", hook.event, hook.matcher, hook.command),
            about: hook.origin.clone(),
            choice: Choice::Nothing,
        });
        let picker = Picker::new("hooks", hooks.collect());
        self.dialogs.push(Dialog::Picker(picker));
    }

    pub(super) fn list_agents(&mut self, kinds: &[AgentKind]) {
        let kinds = kinds.iter().map(|kind| {
            let model = kind.model.as_deref().unwrap_or("the same model");
            Item {
                label: format!("{}: {}", kind.name, kind.tools_in_words()),
                about: format!("{model}, {}", kind.source),
                choice: Choice::Nothing,
            }
        });
        let picker = Picker::new("agents", kinds.collect());
        self.dialogs.push(Dialog::Picker(picker));
    }

    /// Shows each change of the conversation again, whole.
    fn list_changes(&mut self) {
        let changed: Vec<CallKey> = self
            .calls
            .iter()
            .filter(|(_, call)| {
                let completed = call.completed();
                completed.is_some_and(|it| !it.shown.changes().is_empty() || !it.told.is_empty())
            })
            .map(|(key, _)| key)
            .collect();
        if changed.is_empty() {
            self.flash("nothing has been changed since this conversation was opened");
            return;
        }
        let count = |key: &CallKey| {
            let completed = self.calls.get(*key).completed();
            completed.map_or(0, |it| it.shown.changes().len() + it.told.len())
        };
        let text = match changed.iter().map(count).sum() {
            1 => "1 change".to_owned(),
            count => format!("{count} changes"),
        };
        self.notice(NoticeKind::Info, text);
        for key in changed {
            let id = self.transcript.push(Cell::Call(key));
            self.transcript.change(id, |entry| entry.open = true);
        }
        self.scroll.follow();
    }

    fn tell_cost(&mut self) {
        let Spending { used, cost, .. } = self.session.spending;
        let mut text = format!("{} tokens in, {} out", used.input(), used.output());
        if used.cached() > 0 {
            let _ = write!(text, ", {} from the cache", used.cached());
        }
        if let Some(cost) = cost {
            let _ = write!(text, "; ${cost:.2}");
        } else {
            text.push_str("; the price of this model is not known (setting `prices`)");
        }
        self.notice(NoticeKind::Info, text);
    }

    fn offer_themes(&mut self, themes: Vec<Theme>) {
        let now = self.settings.theme.name.clone();
        let items = themes.into_iter().map(|theme| Item {
            label: theme.name.clone(),
            about: String::new(),
            choice: Choice::Theme(Box::new(theme)),
        });
        let picker = Picker::new("themes", items.collect()).starting_at(|item| item.label == now);
        self.theme_before = Some(self.settings.theme.clone());
        self.dialogs.push(Dialog::Picker(picker));
    }

    pub(super) fn offer_sessions(&mut self, sessions: Vec<SessionRow>) {
        if sessions.is_empty() {
            self.flash("there is no earlier conversation in this directory");
            return;
        }
        let items = sessions.into_iter().map(|session| Item {
            label: session.title,
            about: session.when,
            choice: Choice::Session(session.id),
        });
        self.dialogs
            .push(Dialog::Picker(Picker::new("sessions", items.collect())));
    }

    /// Takes what is chosen in the list.
    pub(super) fn choose(&mut self) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last() else {
            return Vec::new();
        };
        let Some(item) = picker.chosen().cloned() else {
            return Vec::new();
        };
        self.dialogs.pop();
        match item.choice {
            Choice::Do(action) => self.perform(action),
            Choice::Slash(name) => self.slash(name, ""),
            Choice::Theme(theme) => self.wear(*theme),
            Choice::Session(id) => self.reopen(OpeningSession::Id(id), None),
            Choice::Write(text) => {
                self.write_draft(text);
                Vec::new()
            }
            Choice::Rule(rule) => {
                self.offer_removal(rule);
                Vec::new()
            }
            Choice::RemoveRule(rule) => {
                vec![Effect::Send(Command::Session(SessionCommand::Rules(
                    RulesCommand::Remove(rule),
                )))]
            }
            Choice::Nothing => Vec::new(),
        }
    }

    /// A theme shows itself while it is chosen in the list.
    pub(super) fn preview_chosen(&mut self) {
        let Some(Dialog::Picker(picker)) = self.dialogs.last() else {
            return;
        };
        if let Some(Item {
            choice: Choice::Theme(theme),
            ..
        }) = picker.chosen()
        {
            let theme = (**theme).clone();
            self.use_theme(theme);
        }
    }

    /// The list is closed without a choice: it looks as before.
    pub(super) fn end_preview(&mut self) {
        if let Some(theme) = self.theme_before.take() {
            self.use_theme(theme);
        }
    }

    /// Looks different from now on.
    pub fn use_theme(&mut self, theme: Theme) {
        if theme == self.settings.theme {
            return;
        }
        let mut settings = (*self.settings).clone();
        settings.theme = theme.at(settings.depth);
        settings.theme_epoch += 1;
        self.settings = Arc::new(settings);
    }
}

/// What `/init` asks the model for.
const INIT: &str = include_str!("../../assets/prompts/init.md");
