//! The list of earlier sessions: opens at once and fills as they are read.

use super::dialogs::Dialog;
use super::dialogs::picker::{Choice, Item, Kind, Picker};
use super::job::{Job, SessionContent, SessionRow};
use super::page::Line;
use super::{AppState, Effect, OpeningSession};
use crate::keymap::Action;
use crate::protocol::{Command, SessionCommand};
use crate::text::one_line;

impl AppState {
    pub(super) fn choose_session(&mut self) -> Vec<Effect> {
        self.list_sessions(Kind::Sessions)
    }

    fn list_sessions(&mut self, kind: Kind) -> Vec<Effect> {
        self.open_picker(Picker::loading(kind));
        let everywhere = kind == Kind::AllSessions;
        vec![Effect::Start(Job::ListSessions { everywhere })]
    }

    /// Switches between the sessions of this directory and those of all.
    pub(super) fn change_directories(&mut self) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last() else {
            return Vec::new();
        };
        let other = match picker.kind {
            Kind::Sessions => Kind::AllSessions,
            Kind::AllSessions => Kind::Sessions,
            Kind::Commands
            | Kind::Models
            | Kind::Themes
            | Kind::Tools
            | Kind::Agents
            | Kind::Skills
            | Kind::Rules
            | Kind::Tasks
            | Kind::Queue => {
                return Vec::new();
            }
        };
        self.dialogs.pop();
        self.list_sessions(other)
    }

    fn sessions_mut(&mut self) -> Option<&mut Picker> {
        self.dialogs.iter_mut().find_map(|dialog| match dialog {
            Dialog::Picker(picker) if matches!(picker.kind, Kind::Sessions | Kind::AllSessions) => {
                Some(&mut **picker)
            }
            _ => None,
        })
    }

    pub(super) fn offer_sessions(&mut self, sessions: Vec<SessionRow>) {
        let open = self.session.id.clone();
        // The list may have been closed.
        let Some(picker) = self.sessions_mut() else {
            return;
        };
        picker.is_loading = false;
        let others = sessions.into_iter();
        let others = others.filter(|row| open.as_ref().is_none_or(|open| open.0 != row.id));
        let items: Vec<Item> = others
            .map(|row| {
                Item::new(row.title, Choice::Session(row.id))
                    .about(row.place)
                    .hint(row.when)
                    .under(row.age)
            })
            .collect();
        let kind = picker.kind;
        if items.is_empty() && kind == Kind::Sessions {
            self.close_picker(kind);
            self.flash("no earlier sessions here");
            return;
        }
        picker.replace(items);
    }

    /// The content of a session was read.
    pub(super) fn session_read(&mut self, content: SessionContent) {
        let Some(picker) = self.sessions_mut() else {
            return;
        };
        let choice = Choice::Session(content.id.clone());
        picker.change(&choice, |item| describe(item, content));
    }

    pub(super) fn session_deleted(&mut self, id: String, result: Result<(), String>) {
        if let Err(problem) = result {
            self.flash(problem);
            return;
        }
        if let Some(picker) = self.sessions_mut() {
            picker.remove(&Choice::Session(id));
        }
        self.flash("session deleted");
    }

    /// Starts typing another title for the selected session.
    pub(super) fn rename_chosen(&mut self) -> Vec<Effect> {
        if let Some(picker) = self.sessions_mut() {
            picker.start_renaming();
        }
        Vec::new()
    }

    pub(super) fn perform_while_renaming(&mut self, action: Action) -> Vec<Effect> {
        let Some(picker) = self.sessions_mut() else {
            return Vec::new();
        };
        let chosen = picker.chosen().map(|item| item.choice.clone());
        match (action, chosen) {
            (Action::Choose, Some(Choice::Session(id))) => {
                let title = picker.end_renaming().unwrap_or_default();
                if title.is_empty() {
                    return Vec::new();
                }
                vec![Effect::Start(Job::RenameSession { id, title })]
            }
            (Action::Back, _) => {
                picker.end_renaming();
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn session_renamed(&mut self, id: String, result: Result<String, String>) {
        let title = match result {
            Ok(title) => title,
            Err(problem) => return self.flash_error(problem),
        };
        if let Some(picker) = self.sessions_mut() {
            picker.change(&Choice::Session(id), |item| entitle(item, title));
        }
        self.flash_done("session renamed");
    }

    /// Gives the open session a title.
    pub(super) fn rename(&mut self, title: &str) -> Vec<Effect> {
        let title = one_line(title).trim().to_owned();
        if title.is_empty() {
            self.flash_error("type a title after /rename");
            return Vec::new();
        }
        vec![Effect::Send(Command::Session(SessionCommand::Rename(
            title,
        )))]
    }

    /// Continues with a copy of the selected session.
    pub(super) fn fork_chosen(&mut self) -> Vec<Effect> {
        let Some(Dialog::Picker(picker)) = self.dialogs.last() else {
            return Vec::new();
        };
        match picker.chosen().map(|item| &item.choice) {
            Some(Choice::Session(id)) => {
                let fork = OpeningSession::Fork(id.clone());
                self.dialogs.pop();
                self.reopen(fork, None)
            }
            _ => Vec::new(),
        }
    }
}

/// The preview starts with the title, too.
fn entitle(item: &mut Item, title: String) {
    let mut page = item.preview.to_vec();
    if let Some(first) = page.first_mut() {
        *first = Line::heading(title.clone());
    }
    item.preview = page.into();
    item.label = title;
}

fn describe(item: &mut Item, content: SessionContent) {
    let change = match (content.added, content.removed) {
        (0, 0) => String::new(),
        (added, 0) => format!("+{added}"),
        (0, removed) => format!("−{removed}"),
        (added, removed) => format!("+{added} −{removed}"),
    };
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let branch = content.branch.unwrap_or_default();
    let mut facts = vec![count(content.messages, "message")];
    if content.calls > 0 {
        facts.push(count(content.calls, "call"));
    }
    facts.extend(content.cost.map(|cost| format!("${cost:.2}")));
    let about = facts.join(" · ");
    let when = item.hint.clone();
    let first = [when.as_str(), &content.model, &branch, &item.about];
    let first: Vec<&str> = first.into_iter().filter(|fact| !fact.is_empty()).collect();
    let mut page = vec![
        Line::heading(item.label.clone()),
        Line::muted(first.join(" · ")),
        Line::muted(about.clone()),
        Line::blank(),
    ];
    page.extend(content.end);
    item.preview = page.into();
    if let Some(title) = content.title {
        entitle(item, title);
    }
    let columns = [item.about.as_str(), &branch, &about];
    let columns = columns.into_iter().filter(|text| !text.is_empty());
    item.about = columns.collect::<Vec<_>>().join(" · ");
    if !change.is_empty() {
        item.hint = format!("{change}  {when}");
    }
}
