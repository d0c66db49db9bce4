//! What each slash command does.

use super::call::CallKey;
use super::commands::Slash;
use super::dialogs::Dialog;
use super::dialogs::help::HelpDialog;
use super::dialogs::pager::{Content, Pager};
use super::dialogs::picker::{Choice, Item, Kind, Picker};
use super::job::Job;
use super::page::{Line, Tone, fields, lines};
use super::panel::ToolPanel;
use super::subagents::Subagents;
use super::transcript::{Cell, NoticeKind};
use super::{AppState, Effect, Focus, Opening, OpeningSession};
use crate::protocol::todo::{Todo, TodoStatus, progress};
use crate::protocol::{Block, Command, HookInfo, SessionCommand, Spending};
use crate::text::first_line;
use crate::theme::{AUTO, Theme};

impl AppState {
    pub(super) fn slash(&mut self, name: &str, arguments: &str) -> Vec<Effect> {
        let Some(command) = self.composer.commands().find(name) else {
            self.flash_error(format!("unknown command /{name}; see /help"));
            return Vec::new();
        };
        match command.does.clone() {
            Slash::Help => self.open_help(),
            Slash::Clear => return self.reopen(OpeningSession::New, None),
            Slash::Model => return self.model(arguments),
            Slash::Theme => return self.theme(arguments),
            Slash::Tools => self.list_tools(),
            Slash::Hooks => {
                return vec![Effect::Send(Command::Session(SessionCommand::ListHooks))];
            }
            Slash::Mcp => return self.ask_for_servers(),
            Slash::Tasks => self.list_tasks(),
            Slash::Agents => {
                return vec![Effect::Send(Command::Session(SessionCommand::ListAgents))];
            }
            Slash::Skills => {
                return vec![Effect::Send(Command::Session(SessionCommand::ListSkills))];
            }
            Slash::Sessions if arguments.is_empty() => {
                return self.choose_session();
            }
            Slash::Sessions => return self.reopen(OpeningSession::Id(arguments.to_owned()), None),
            Slash::Rename => return self.rename(arguments),
            Slash::Diff => self.list_changes(),
            Slash::Permissions => return self.permissions(arguments),
            Slash::Why => self.show_decision(arguments),
            Slash::Cost => self.show_cost(),
            Slash::Todos => self.list_todos(),
            Slash::Init => {
                let message = Block::text(INIT).shown_as("/init");
                return self.submit(vec![message], "/init".to_owned());
            }
            Slash::Doctor => {
                self.flash("checking …");
                return vec![Effect::Start(Job::Examine)];
            }
            Slash::Vim => {
                self.composer.toggle_vim();
                let on = self.composer.vim().is_some();
                self.flash_done(if on { "vim mode on" } else { "vim mode off" });
            }
            Slash::Quit => return self.quit_by_name(),
            Slash::Custom => {
                let line = format!("/{name} {arguments}").trim_end().to_owned();
                return self.submit(vec![Block::text(&line)], line);
            }
        }
        Vec::new()
    }

    /// Opens another conversation, or the same with another model. Refused while something runs, because it would be
    /// stopped.
    pub(super) fn reopen(&mut self, session: OpeningSession, model: Option<String>) -> Vec<Effect> {
        if self.is_working() {
            self.flash("still working; press Esc first");
            return Vec::new();
        }
        if self.running_aside().is_some() {
            self.flash("your command is still running; press Esc first");
            return Vec::new();
        }
        let stopped: Vec<String> = self
            .calls
            .in_background()
            .map(|key| self.calls.get(key).subject())
            .collect();
        // Queued messages were not sent: they go back to the input.
        let waited = self.queue.take();
        if !waited.is_empty() {
            self.composer.take_back(&waited.join("\n\n"), self.now);
        }
        self.expected.clear();
        self.end_preview();
        self.dialogs.clear();
        self.flash = None;
        self.quit_armed = None;
        self.show_main();
        self.subagents = Subagents::default();
        self.transcript.clear();
        self.calls.clear();
        self.todos.clear();
        self.panel = ToolPanel::default();
        self.scroll.follow();
        self.selection = None;
        self.search = None;
        self.focus = Focus::Composer;
        self.session.id = None;
        self.session.wanted_model.clone_from(&model);
        self.session.last_model = None;
        self.transcript.push(Cell::Welcome);
        for command in stopped {
            let command = first_line(&command, usize::MAX);
            self.notice(
                NoticeKind::Warning,
                format!("stopped with the previous conversation: {command}"),
            );
        }
        vec![Effect::Open(Opening {
            session,
            model,
            mode: self.session.known_mode(),
        })]
    }

    pub(super) fn model(&mut self, name: &str) -> Vec<Effect> {
        if name.is_empty() {
            return self.choose_model();
        }
        if name == self.session.model {
            self.flash(format!("already using {name}"));
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
            self.flash_done("theme: automatic (from the next start)");
            return vec![Effect::Start(Job::KeepTheme(name.to_owned()))];
        }
        if let Some(theme) = Theme::builtin(name) {
            return self.save_theme(theme);
        }
        self.theme_wanted = Some(name.to_owned());
        vec![Effect::Start(Job::ListThemes)]
    }

    /// All themes are known now: applies the requested one, or lists them.
    pub(super) fn themes_listed(&mut self, themes: Vec<Theme>) -> Vec<Effect> {
        let Some(name) = self.theme_wanted.take() else {
            self.offer_themes(themes);
            return Vec::new();
        };
        if let Some(theme) = themes.into_iter().find(|theme| theme.name == name) {
            return self.save_theme(theme);
        }
        self.flash_error(format!("no theme named \"{name}\"; see /theme"));
        Vec::new()
    }

    /// Switches to a theme, and saves it for the next start.
    pub(super) fn save_theme(&mut self, theme: Theme) -> Vec<Effect> {
        let keep = Job::KeepTheme(theme.name.clone());
        self.theme_before = None;
        self.use_theme(theme);
        vec![Effect::Start(keep)]
    }

    pub(super) fn list_hooks(&mut self, hooks: &[HookInfo]) {
        if hooks.is_empty() {
            self.flash("no active hooks (add them under \"hooks\" in settings)");
            return;
        }
        let items = hooks.iter().map(|hook| {
            let mut preview = fields([
                ("event", hook.event.to_owned()),
                ("for", hook.matcher.clone()),
                ("from", hook.origin.clone()),
            ]);
            preview.push(Line::blank());
            preview.push(Line::heading("Command"));
            preview.extend(lines(&hook.command, Tone::Code));
            let command = first_line(&hook.command, LONGEST_COMMAND);
            let item = Item::new(&hook.matcher, Choice::Nothing).about(command);
            item.under(hook.event).hint(&hook.origin).preview(preview)
        });
        self.open_picker(Picker::new(Kind::Hooks, items.collect()));
    }

    /// Shows each change of the session in full.
    fn list_changes(&mut self) {
        let changed: Vec<CallKey> = self
            .calls
            .iter()
            .filter(|(_, call)| {
                let completed = call.completed();
                completed.is_some_and(|it| !it.changed.is_empty())
            })
            .map(|(key, _)| key)
            .collect();
        if changed.is_empty() {
            self.flash("no changes in this session yet");
            return;
        }
        let count = |key: &CallKey| {
            let completed = self.calls.get(*key).completed();
            completed.map_or(0, |it| it.changed.len())
        };
        let title = match changed.iter().map(count).sum() {
            1 => "1 change in this session".to_owned(),
            count => format!("{count} changes in this session"),
        };
        let pager = Pager::new(title, Content::Changes(changed));
        self.dialogs.push(Dialog::Pager(Box::new(pager)));
    }

    fn show_cost(&mut self) {
        let Spending {
            used,
            cost,
            context,
        } = self.session.spending;
        let window = self.session.context_window;
        let context = match (context, window) {
            (Some(tokens), Some(window)) => {
                let percent = self.session.context_percent().unwrap_or(0);
                format!("{tokens} of {window} tokens ({percent} %)")
            }
            (Some(tokens), None) => format!("{tokens} tokens"),
            (None, Some(window)) => format!("up to {window} tokens"),
            (None, None) => "not known yet".to_owned(),
        };
        let lines = fields([
            ("tokens in", used.input().to_string()),
            ("tokens out", used.output().to_string()),
            ("from the cache", used.cached().to_string()),
            ("context", context),
            (
                "cost",
                cost.map_or_else(|| NO_PRICE.to_owned(), |cost| format!("${cost:.2}")),
            ),
        ]);
        self.answer("Cost", lines);
    }

    fn list_todos(&mut self) {
        let Some(title) = progress(&self.todos) else {
            self.flash("no todos");
            return;
        };
        let line = |todo: &Todo| match todo.status {
            TodoStatus::Completed => Line::muted(&todo.content).lead(Tone::Good, "✓ "),
            TodoStatus::InProgress => Line::text(&todo.active_form).lead(Tone::Heading, "● "),
            TodoStatus::Pending => Line::text(&todo.content).lead(Tone::Muted, "○ "),
        };
        let lines = self.todos.iter().map(line).collect();
        self.open_page(&title, lines);
    }

    /// A long answer opens a page that Esc closes; a short one goes into the conversation.
    pub(super) fn answer(&mut self, title: &str, lines: Vec<Line>) {
        if lines.len() <= LONGEST_NOTICE {
            let lines: Vec<String> = lines.iter().map(Line::plain).collect();
            self.notice(NoticeKind::Info, lines.join("\n"));
            return;
        }
        self.open_page(title, lines);
    }

    pub(super) fn open_page(&mut self, title: &str, lines: Vec<Line>) {
        let pager = Pager::new(title, Content::Lines(lines.into()));
        self.dialogs.push(Dialog::Pager(Box::new(pager)));
    }

    pub(super) fn open_help(&mut self) {
        let help = HelpDialog::new(self.contexts());
        self.dialogs.push(Dialog::Help(Box::new(help)));
    }

    /// The result of the setup check; removes the flash that announced it.
    pub(super) fn examined(&mut self, findings: Vec<Line>) {
        self.flash = None;
        self.answer("Setup", findings);
    }
}

/// How much of a hook's command is shown in its row.
const LONGEST_COMMAND: usize = 200;
/// A longer answer opens a page.
const LONGEST_NOTICE: usize = 3;
const NO_PRICE: &str = "no price known for this model; set it under \"prices\"";

/// What `/init` asks the model for.
const INIT: &str = include_str!("../../assets/prompts/init.md");
