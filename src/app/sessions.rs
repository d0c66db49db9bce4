//! The list of sessions: opens at once and fills as they are read.

use super::dialogs::Dialog;
use super::dialogs::picker::{Choice, Item, Kind, Mark, Picker};
use super::job::{Job, SessionContent, SessionRow};
use super::page::Line;
use super::{AppState, Effect, OpeningSession};
use crate::keymap::{Action, Context};
use crate::protocol::{Command, SessionCommand};
use crate::text::one_line;

/// What the list says about sessions that a program has open.
const THIS_SESSION: &str = "this session";
const OPEN_ELSEWHERE: &str = "open elsewhere";

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
            | Kind::Hooks
            | Kind::Servers
            | Kind::ServerTools
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

    pub(super) fn offer_sessions(&mut self, mut sessions: Vec<SessionRow>) {
        let current = self.session.id.as_ref().map(|id| id.0.clone());
        // The list may have been closed.
        let Some(picker) = self.sessions_mut() else {
            return;
        };
        picker.is_loading = false;
        if let Some(id) = &current
            && picker.kind == Kind::Sessions
            && sessions.iter().all(|row| row.id != *id)
        {
            sessions.insert(0, without_messages(id));
        }
        let is_current = |row: &SessionRow| Some(&row.id) == current.as_ref();
        let starts_there = sessions.first().is_some_and(is_current);
        let items = sessions.into_iter().map(|row| {
            let (mark, state) = match (is_current(&row), row.is_open) {
                (true, _) => (Some(Mark::Current), THIS_SESSION),
                (false, true) => (Some(Mark::Running), OPEN_ELSEWHERE),
                (false, false) => (None, ""),
            };
            Item::new(row.title, Choice::Session(row.id))
                .about(joined(&[state, &row.place]))
                .hint(row.when)
                .under(row.age)
                .marked(mark)
        });
        picker.replace(items.collect());
        if starts_there && !picker.is_filtered() && picker.chosen_number() == 0 {
            // People come here for another session.
            picker.choose_next(1);
        }
    }

    /// Resumes the selected session, unless a program has it open.
    pub(super) fn resume_chosen(&mut self, id: String) -> Vec<Effect> {
        let mark = self.chosen_mark();
        if mark == Some(Mark::Running) {
            let key = self.key_in_list(Action::Fork);
            self.flash(format!(
                "another agent-tui is using it; {key} continues with a copy"
            ));
            return Vec::new();
        }
        self.dialogs.pop();
        if mark == Some(Mark::Current) {
            self.flash("this session is already open");
            return Vec::new();
        }
        self.reopen(OpeningSession::Id(id), None)
    }

    /// Deletes the selected session after a confirmation, unless a program has it open.
    pub(super) fn delete_chosen_session(&mut self, id: String) -> Vec<Effect> {
        match self.chosen_mark() {
            Some(Mark::Current) => {
                self.flash("this session is open; /clear starts a new one first");
                return Vec::new();
            }
            Some(Mark::Running) => {
                self.flash("another agent-tui is using it; quit that one first");
                return Vec::new();
            }
            Some(
                Mark::Done
                | Mark::Failed
                | Mark::Ready
                | Mark::Waiting
                | Mark::Attention
                | Mark::Off,
            )
            | None => {}
        }
        let Some(Dialog::Picker(picker)) = self.dialogs.last_mut() else {
            return Vec::new();
        };
        if !picker.confirm(Action::Delete, "delete this session for good") {
            return Vec::new();
        }
        vec![Effect::Start(Job::DeleteSession(id))]
    }

    fn chosen_mark(&self) -> Option<Mark> {
        match self.dialogs.last()? {
            Dialog::Picker(picker) => picker.chosen()?.mark,
            _ => None,
        }
    }

    /// The key of an action in a list.
    fn key_in_list(&self, action: Action) -> String {
        let contexts = [Context::Picker, Context::Global];
        let chord = self.settings.keymap.chord_for(action, &contexts);
        chord.map(|chord| chord.to_string()).unwrap_or_default()
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
                let is_current = self.session.id.as_ref().is_some_and(|open| open.0 == id);
                if is_current {
                    // Its log is locked by the agent, which writes the title itself.
                    if let Some(picker) = self.sessions_mut() {
                        picker.change(&Choice::Session(id), |item| set_title(item, title.clone()));
                    }
                    return self.rename(&title);
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
            picker.change(&Choice::Session(id), |item| set_title(item, title));
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

/// The session that is open: a session is listed by its first message, and this one has none yet.
fn without_messages(id: &str) -> SessionRow {
    SessionRow {
        id: id.to_owned(),
        title: "No messages yet".to_owned(),
        age: "Today",
        is_open: true,
        ..SessionRow::default()
    }
}

/// The preview starts with the title, too.
fn set_title(item: &mut Item, title: String) {
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
    let first = joined(&[&when, &content.model, &branch, &item.about]);
    let mut page = vec![
        Line::heading(item.label.clone()),
        Line::muted(first),
        Line::muted(about.clone()),
        Line::blank(),
    ];
    page.extend(content.end);
    item.preview = page.into();
    if let Some(title) = content.title {
        set_title(item, title);
    }
    item.about = joined(&[&item.about, &branch, &about]);
    if !change.is_empty() {
        item.hint = format!("{change}  {when}");
    }
}

/// The facts that are not empty, in one line.
fn joined(facts: &[&str]) -> String {
    let facts = facts.iter().filter(|fact| !fact.is_empty());
    facts.copied().collect::<Vec<_>>().join(" · ")
}
