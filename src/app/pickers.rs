//! The lists that a person chooses from: their items, and what choosing does.

use std::sync::Arc;

use super::commands::GROUPS;
use super::dialogs::Dialog;
use super::dialogs::pager::{Content, Pager};
use super::dialogs::picker::{Choice, Item, Kind, Mark, Picker};
use super::job::{Job, ModelRow};
use super::page::{Line, Tone, fields, lines};
use super::session::SessionInfo;
use super::{AppState, Effect};
use crate::keymap::{Action, Context};
use crate::protocol::{
    AgentKind, Command, Level, RulesCommand, SessionCommand, Skill, ToolInfo, ToolState,
};
use crate::theme::Theme;

/// How much of a skill's description is shown in its row.
const LONGEST_ABOUT: usize = 200;

/// What the palette offers besides the commands.
const PALETTE: &[(&str, &[Action])] = &[
    (
        "View",
        &[
            Action::Scroll,
            Action::Search,
            Action::TogglePanel,
            Action::ToggleDetails,
            Action::ToggleThinking,
            Action::ToggleDiffStyle,
            Action::PrintConversation,
            Action::Redraw,
        ],
    ),
    (
        "Input",
        &[
            Action::SearchHistory,
            Action::OpenEditor,
            Action::EditQueue,
            Action::NextMode,
        ],
    ),
    (
        "Program",
        &[Action::Background, Action::Suspend, Action::Quit],
    ),
];

impl AppState {
    pub(super) fn open_picker(&mut self, picker: Picker) {
        self.dialogs.push(Dialog::Picker(Box::new(picker)));
    }

    /// The open list of a kind, even if another dialog covers it.
    pub(super) fn picker_mut(&mut self, kind: Kind) -> Option<&mut Picker> {
        self.dialogs.iter_mut().find_map(|dialog| match dialog {
            Dialog::Picker(picker) if picker.kind == kind => Some(&mut **picker),
            _ => None,
        })
    }

    pub(super) fn close_picker(&mut self, kind: Kind) {
        self.dialogs.retain(|dialog| match dialog {
            Dialog::Picker(picker) => picker.kind != kind,
            _ => true,
        });
    }

    /// The palette: all actions, by name.
    pub(super) fn open_palette(&mut self) {
        let mut commands: Vec<Item> = self
            .composer
            .commands()
            .all()
            .iter()
            .map(|command| {
                let choice = Choice::Slash(command.name.clone());
                let item = Item::new(command.usage(), choice).about(&*command.about);
                item.under(command.does.group())
            })
            .collect();
        commands.sort_by_key(|item| GROUPS.iter().position(|group| **group == *item.group));
        let actions = PALETTE.iter().flat_map(|(group, actions)| {
            actions.iter().map(|action| {
                let words = action.explain().trim_end_matches('.');
                let item = Item::new(words, Choice::Do(*action)).under(*group);
                item.hint(self.keys_from_input(*action))
            })
        });
        commands.extend(actions);
        self.open_picker(Picker::new(Kind::Commands, commands));
    }

    /// The keys that trigger an action from the input; some are bound only in the conversation.
    fn keys_from_input(&self, action: Action) -> String {
        let keymap = &self.settings.keymap;
        let outside = [Context::Composer, Context::Working, Context::Global];
        if let Some(chord) = keymap.chord_for(action, &outside) {
            return chord.to_string();
        }
        let way = keymap.chord_for(Action::Scroll, &outside);
        let chord = keymap.chord_for(action, &[Context::Scroll, Context::Global]);
        match (way, chord) {
            (Some(way), Some(chord)) => format!("{way} {chord}"),
            (None, _) | (_, None) => String::new(),
        }
    }

    /// Opens the list of models with the current one; the others are loaded.
    pub(super) fn choose_model(&mut self) -> Vec<Effect> {
        let mut picker = Picker::new(Kind::Models, self.model_items(Vec::new()));
        picker.is_loading = true;
        self.open_picker(picker);
        let provider = self.session.provider.clone();
        vec![Effect::Start(Job::ListModels { provider })]
    }

    pub(super) fn offer_models(&mut self, models: Vec<ModelRow>) {
        let items = self.model_items(models);
        if let Some(picker) = self.picker_mut(Kind::Models) {
            picker.is_loading = false;
            picker.replace(items);
        }
    }

    fn model_items(&self, mut models: Vec<ModelRow>) -> Vec<Item> {
        let SessionInfo {
            model,
            provider,
            context_window,
            ..
        } = &self.session;
        if models.iter().all(|row| row.name != *model) {
            let current = ModelRow {
                name: model.clone(),
                context: *context_window,
                price: None,
                source: provider.clone(),
            };
            models.insert(0, current);
        }
        let item = |row: ModelRow| {
            let mark = (row.name == *model).then_some(Mark::Current);
            let context = row
                .context
                .map(|tokens| format!("{}k context", tokens / 1000));
            let price = row.price;
            let price = price.map(|price| format!("${} in · ${} out", price.input, price.output));
            let hint: Vec<String> = [price, context].into_iter().flatten().collect();
            Item::new(row.name.clone(), Choice::Model(row.name))
                .about(row.source)
                .hint(hint.join(" · "))
                .marked(mark)
        };
        models.into_iter().map(item).collect()
    }

    pub(super) fn list_tools(&mut self) {
        let tools = self.session.tools.iter().map(tool_item);
        self.open_picker(Picker::new(Kind::Tools, tools.collect()));
    }

    pub(super) fn list_agents(&mut self, kinds: &[AgentKind]) {
        let items = kinds.iter().map(|kind| {
            let model = kind.model.as_deref().unwrap_or("same model");
            let mut preview = lines(&kind.description, Tone::Text);
            preview.push(Line::blank());
            preview.push(Line::text(kind.tools_text()).lead(Tone::Muted, "tools  "));
            preview.push(Line::text(model).lead(Tone::Muted, "model  "));
            if let Some(mode) = kind.mode {
                preview.push(Line::text(mode.name()).lead(Tone::Muted, "mode   "));
            }
            preview.push(Line::text(&kind.source).lead(Tone::Muted, "from   "));
            let about = format!("{} · {model}", kind.tools_text());
            let item = Item::new(&kind.name, Choice::Nothing).about(about);
            item.hint(&kind.source).preview(preview)
        });
        self.open_picker(Picker::new(Kind::Agents, items.collect()));
    }

    pub(super) fn list_skills(&mut self, skills: &[Skill]) {
        if skills.is_empty() {
            self.flash("no skills (add them as .agent-tui/skills/NAME/SKILL.md)");
            return;
        }
        let items = skills.iter().map(|skill| {
            let mut preview = lines(&skill.description, Tone::Text);
            preview.push(Line::blank());
            let who = if skill.for_model {
                format!("you with /{}, and the model", skill.name)
            } else {
                format!("only you, with /{}", skill.name)
            };
            preview.push(Line::text(who).lead(Tone::Muted, "used by  "));
            let allows = skill.allows.rules.join(", ");
            if !allows.is_empty() {
                preview.push(Line::text(allows).lead(Tone::Muted, "allows   "));
            }
            let file = &skill.allows.file.name;
            preview.push(Line::text(file).lead(Tone::Muted, "from     "));
            let about = crate::text::first_line(&skill.description, LONGEST_ABOUT);
            let item = Item::new(&*skill.name, Choice::Nothing).about(about);
            item.hint(file).preview(preview)
        });
        self.open_picker(Picker::new(Kind::Skills, items.collect()));
    }

    pub(super) fn offer_themes(&mut self, themes: Vec<Theme>) {
        let now = self.settings.theme.name.clone();
        let items = themes.into_iter().map(|theme| {
            let mark = (theme.name == now).then_some(Mark::Current);
            Item::new(&theme.name, Choice::Theme(Box::new(theme.clone()))).marked(mark)
        });
        let picker = Picker::new(Kind::Themes, items.collect()).starting_at_current();
        self.theme_before = Some(self.settings.theme.clone());
        self.open_picker(picker);
    }

    /// What a key does in the list in front.
    pub(super) fn perform_in_picker(&mut self, action: Action) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last_mut() else {
            return Vec::new();
        };
        if picker.question().is_some_and(|(asked, _)| asked != action) {
            picker.forget_question();
        }
        if picker.renaming().is_some() {
            return self.perform_while_renaming(action);
        }
        match action {
            Action::Next | Action::LineDown => picker.choose_next(1),
            Action::Previous | Action::LineUp => picker.choose_next(-1),
            Action::PageDown => picker.page(1),
            Action::PageUp => picker.page(-1),
            Action::Top => picker.choose_first(),
            Action::Bottom => picker.choose_last(),
            Action::Choose | Action::Open => return self.choose(),
            Action::Back => return self.close_dialog(),
            Action::Rename => return self.rename_chosen(),
            Action::CancelCall => return self.stop_chosen_task(),
            Action::Fork => return self.fork_chosen(),
            Action::Delete => return self.delete_chosen(),
            Action::AllDirectories => return self.change_directories(),
            Action::RestartServer
            | Action::Switch
            | Action::ShowLog
            | Action::TrustServer
            | Action::Login => return self.perform_on_server(action),
            _ => {}
        }
        self.preview_chosen();
        Vec::new()
    }

    /// A click on a row of the list in front.
    pub(super) fn click_in_picker(&mut self, row: usize) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last_mut() else {
            return Vec::new();
        };
        if picker.choose_row(row) {
            self.choose()
        } else {
            Vec::new()
        }
    }

    /// Applies the selected item of the list.
    fn choose(&mut self) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last_mut() else {
            return Vec::new();
        };
        let Some(choice) = picker.chosen().map(|item| item.choice.clone()) else {
            return Vec::new();
        };
        match choice {
            Choice::Nothing | Choice::ServerTool { .. } => return self.read_chosen(),
            Choice::Server(name) => return self.open_server(&name),
            Choice::Rule(_) => return self.delete_chosen(),
            Choice::Session(id) => return self.resume_chosen(id),
            Choice::Do(_)
            | Choice::Slash(_)
            | Choice::Theme(_)
            | Choice::Model(_)
            | Choice::Queued(_)
            | Choice::Call(_)
            | Choice::Write(_) => self.dialogs.pop(),
        };
        match choice {
            Choice::Do(action) => self.perform(action),
            Choice::Slash(name) => self.slash(&name, ""),
            Choice::Theme(theme) => self.save_theme(*theme),
            Choice::Model(name) => self.model(&name),
            Choice::Queued(number) => self.ask_back_number(Some(number)),
            Choice::Call(call) => {
                self.look_at_task(call);
                Vec::new()
            }
            Choice::Write(text) => {
                self.write_draft(text);
                Vec::new()
            }
            Choice::Rule(_)
            | Choice::Session(_)
            | Choice::Server(_)
            | Choice::ServerTool { .. }
            | Choice::Nothing => Vec::new(),
        }
    }

    /// Opens the whole text of an item that is only to be read; closing it returns to the list.
    pub(super) fn read_chosen(&mut self) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last() else {
            return Vec::new();
        };
        let chosen = picker.chosen().filter(|item| !item.preview.is_empty());
        if let Some(item) = chosen {
            let pager = Pager::new(&item.label, Content::Lines(item.preview.clone()));
            self.dialogs.push(Dialog::Pager(Box::new(pager)));
        }
        Vec::new()
    }

    /// Asks for confirmation first.
    fn delete_chosen(&mut self) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last_mut() else {
            return Vec::new();
        };
        let Some(choice) = picker.chosen().map(|item| item.choice.clone()) else {
            return Vec::new();
        };
        match choice {
            Choice::Session(id) => self.delete_chosen_session(id),
            Choice::Rule(rule) => {
                if !picker.confirm(Action::Delete, "remove this rule") {
                    return Vec::new();
                }
                picker.remove(&Choice::Rule(rule.clone()));
                let remove = SessionCommand::Rules(RulesCommand::Remove(rule));
                vec![Effect::Send(Command::Session(remove))]
            }
            Choice::Queued(number) => self.drop_queued(number),
            Choice::Do(_)
            | Choice::Slash(_)
            | Choice::Theme(_)
            | Choice::Model(_)
            | Choice::Call(_)
            | Choice::Server(_)
            | Choice::ServerTool { .. }
            | Choice::Write(_)
            | Choice::Nothing => Vec::new(),
        }
    }

    /// Shows a theme while it is selected in the list.
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

    /// The list was closed without a choice: restores the previous theme.
    pub(super) fn end_preview(&mut self) {
        if let Some(theme) = self.theme_before.take() {
            self.use_theme(theme);
        }
    }

    /// Switches to a theme.
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

fn state_text(state: ToolState) -> &'static str {
    match state {
        ToolState::Offered => "offered: sent with every request",
        ToolState::Deferred => "deferred: announced by name until the model loads it",
        ToolState::Denied => "denied: a permission rule names the whole tool",
        ToolState::Off => "off: not used in this session",
    }
}

fn tool_item(tool: &ToolInfo) -> Item {
    let source = tool.source();
    let asks = match tool.level {
        Level::Safe => "runs without asking",
        Level::Confirm => "asks first",
        Level::Dangerous => "asks unless read-only",
        Level::Forbidden => "never runs",
    };
    let state = match tool.state {
        ToolState::Offered => asks,
        ToolState::Deferred | ToolState::Denied | ToolState::Off => tool.state.name(),
    };
    let item = Item::new(&*tool.name, Choice::Nothing).about(format!("{source} · {state}"));
    let Some(definition) = &tool.definition else {
        return item;
    };
    let schema = serde_json::to_string_pretty(&definition.input_schema).unwrap_or_default();
    let tokens = definition.tokens();
    let mut page = lines(&definition.description, Tone::Text);
    page.push(Line::blank());
    page.extend(fields([
        ("from", source.to_owned()),
        ("state", state_text(tool.state).to_owned()),
        ("permission", asks.to_owned()),
        ("size", format!("about {tokens} tokens")),
    ]));
    page.push(Line::blank());
    page.push(Line::heading("Input"));
    page.extend(lines(&schema, Tone::Code));
    item.hint(format!("~{tokens} tokens")).preview(page)
}
