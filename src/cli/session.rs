//! Which session a run belongs to: a new one, the last one, or the one that was asked for.

use std::path::PathBuf;

use super::UsageError;
use super::args::Args;
use super::place::Place;
use crate::protocol::{CallId, Message, SessionId, Spending, ToolCall, ToolResult};
use crate::session::log::Contents;
use crate::session::store::StoreError;
use crate::session::{Log, Record, Store, replay};
use crate::tools::files::atomic;

pub struct Session {
    pub id: SessionId,
    pub log: Log,
    /// It has been there before.
    pub resumed: bool,
    pub history: Vec<Message>,
    /// What the person ran, and the model was not told yet.
    pub asides: Vec<(ToolCall, ToolResult)>,
    /// What it has used before.
    pub spending: Option<Spending>,
    /// Where the shell was when the session was left.
    pub cwd: Option<PathBuf>,
    /// What a person should know about it.
    pub notices: Vec<String>,
}

pub fn open(args: &Args, place: &Place) -> Result<Session, UsageError> {
    let store = Store::new(place.dirs.sessions());
    let found = match (&args.resume, args.go_on) {
        (Some(Some(id)), _) => store.find(id),
        (Some(None), _) => {
            return Err(UsageError::new("--resume needs the id of a session here")
                .hint("or use --continue for the last one"));
        }
        (None, true) => store.last(&place.workspace),
        (None, false) if args.fork => {
            return Err(UsageError::new(
                "--fork goes with --continue or --resume ID",
            ));
        }
        (None, false) => return Ok(create(&store, place)),
    };
    let found = found.map_err(|error| explain(&error))?;
    let opened = if args.fork {
        store.fork(&found, &place.workspace)
    } else {
        let id = found.id.clone();
        store
            .open(&found)
            .map(|(log, contents)| (id, log, contents))
    };
    let (id, log, contents) = opened.map_err(|error| explain(&error))?;
    Ok(resumed(id, log, &contents, place))
}

/// A new session; one that cannot be saved goes on in memory.
fn create(store: &Store, place: &Place) -> Session {
    let (id, log, notices) = match store.create(&place.workspace, None) {
        Ok((id, log)) => (id, log, Vec::new()),
        Err(error) => {
            let notice = format!("the session cannot be saved, it goes on in memory: {error}");
            (
                crate::session::store::new_id(),
                Log::nowhere(),
                vec![notice],
            )
        }
    };
    Session {
        id,
        log,
        resumed: false,
        history: Vec::new(),
        asides: Vec::new(),
        spending: None,
        cwd: None,
        notices,
    }
}

fn resumed(id: SessionId, log: Log, contents: &Contents, place: &Place) -> Session {
    let replay::Conversation {
        messages,
        cut_off,
        workspace,
        cwd,
        asides,
        spending,
    } = replay::conversation(&contents.records);
    sweep_after(&contents.records, &cut_off);
    let mut notices = contents.remarks();
    if !cut_off.is_empty() {
        let calls = cut_off.len();
        notices.push(format!(
            "calls under way when the program ended, and not run again: {calls}"
        ));
    }
    let elsewhere = workspace.filter(|workspace| *workspace != place.workspace);
    if let Some(workspace) = &elsewhere {
        notices.push(format!("the session began in `{}`", workspace.display()));
    }
    let cwd = cwd.filter(|cwd| elsewhere.is_none() && cwd.is_dir());
    Session {
        id,
        log,
        resumed: true,
        history: messages,
        asides,
        spending,
        cwd,
        notices,
    }
}

/// A call that was cut off while it wrote a file may have left a half-written one beside it.
fn sweep_after(records: &[Record], cut_off: &[CallId]) {
    for record in records {
        if let Record::Change { call, path, .. } = record
            && cut_off.contains(call)
            && let Some(directory) = path.parent()
        {
            atomic::sweep(directory);
        }
    }
}

fn explain(error: &StoreError) -> UsageError {
    let usage = UsageError::new(error.to_string());
    match error {
        StoreError::NoSuchSession(_) => {
            usage.hint("`agent-tui --resume` without an id shows the sessions of this directory")
        }
        StoreError::Ambiguous(_) => usage.hint("give more of the id"),
        StoreError::NothingToContinue => usage.hint("leave --continue out to begin one"),
        StoreError::Unusable { .. } => usage.hint("use --fork to go on with a copy"),
    }
}
