//! Which session a run belongs to: a new one, the last one, or the one that was requested.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::UsageError;
use super::args::Args;
use super::project::Project;
use crate::executor::Asking;
use crate::protocol::{AgentId, CallRef, Envelope, SessionId};
use crate::session::events::{Recalled, recall};
use crate::session::log::Contents;
use crate::session::record::Line;
use crate::session::store::StoreError;
use crate::session::subagents::PastSubagents;
use crate::session::{History, Log, Record, Store, Writer};
use crate::tools::files::{Checkpoints, atomic};

pub struct Session {
    pub id: SessionId,
    pub log: Writer,
    /// It existed before.
    pub resumed: bool,
    /// The subagents of earlier runs.
    pub subagents: PastSubagents,
    /// Its messages so far.
    pub history: History,
    /// All earlier events, only for a screen that shows them again.
    pub past: Vec<Envelope>,
    /// The shell's directory when the session was left.
    pub cwd: Option<PathBuf>,
    /// What a person should know about it.
    pub notices: Vec<String>,
}

pub fn open(args: &Args, project: &Project, asking: Asking) -> Result<Session, UsageError> {
    let store = Store::new(project.dirs.sessions());
    let found = match (&args.resume, args.go_on) {
        (Some(Some(id)), _) => store.find(id),
        (Some(None), _) => {
            return Err(UsageError::new("--resume needs a session ID with -p")
                .hint("use --continue for the last session"));
        }
        (None, true) => store.last(&project.workspace),
        (None, false) if args.fork => {
            return Err(UsageError::new("--fork needs --continue or --resume ID"));
        }
        (None, false) => return Ok(create(&store, project)),
    };
    let found = found.map_err(|error| explain(&error, asking))?;
    let opened = if args.fork {
        store.fork(&found, &project.workspace)
    } else {
        let id = found.id.clone();
        store
            .open(&found)
            .map(|(log, contents)| (id, log, contents))
    };
    let (id, log, contents) = opened.map_err(|error| explain(&error, asking))?;
    Ok(resumed(id, log, contents, project, asking))
}

/// A new session; if it can't be saved, it stays in memory.
fn create(store: &Store, project: &Project) -> Session {
    let (id, log, notices) = match store.create(&project.workspace, None) {
        Ok((id, log)) => (id, log, Vec::new()),
        Err(error) => {
            let notice =
                format!("the session can't be saved, so it is kept in memory only: {error}");
            (
                crate::session::store::new_id(),
                Log::without_file(),
                vec![notice],
            )
        }
    };
    Session {
        id,
        log: Writer::new(log),
        resumed: false,
        subagents: PastSubagents::default(),
        history: History::default(),
        past: Vec::new(),
        cwd: None,
        notices,
    }
}

fn resumed(
    id: SessionId,
    log: Log,
    contents: Contents,
    project: &Project,
    asking: Asking,
) -> Session {
    let mut notices = contents.remarks();
    let changes = changes(&contents.lines);
    let subagents = PastSubagents::of(&contents.lines);
    let Recalled {
        history,
        events: past,
    } = match asking {
        Asking::Person => {
            let checkpoints = Checkpoints::new(project.dirs.checkpoints());
            recall(contents.lines, |name| checkpoints.text(name))
        }
        Asking::Nobody => Recalled {
            history: History::of(&contents.lines, AgentId::MAIN),
            events: Vec::new(),
        },
    };
    // A call that was interrupted while writing may have left a temporary file.
    for directory in changes.into_values().flatten() {
        atomic::sweep(&directory);
    }
    let began = history.workspace();
    let elsewhere = began.filter(|workspace| **workspace != project.workspace);
    if let Some(workspace) = elsewhere {
        notices.push(format!(
            "this session was started in `{}`",
            workspace.display()
        ));
    }
    let here = elsewhere.is_none();
    let cwd = history.cwd().filter(|cwd| here && cwd.is_dir()).cloned();
    Session {
        id,
        log: Writer::new(log),
        resumed: true,
        subagents,
        history,
        past,
        cwd,
        notices,
    }
}

/// The directories in which calls without a result have changed files.
fn changes(lines: &[Line]) -> HashMap<CallRef, Vec<PathBuf>> {
    let mut changes: HashMap<CallRef, Vec<PathBuf>> = HashMap::new();
    for line in lines {
        match &line.record {
            Record::Change { call, path, .. } => {
                let directory = path.parent().map(Path::to_owned);
                changes.entry(*call).or_default().extend(directory);
            }
            Record::Result { call, .. } => drop(changes.remove(call)),
            _ => {}
        }
    }
    changes
}

fn explain(error: &StoreError, asking: Asking) -> UsageError {
    let usage = UsageError::new(error.to_string());
    match error {
        StoreError::InUse => usage.hint(match asking {
            Asking::Person => "Ctrl+F in /sessions, or --fork, continues with a copy",
            Asking::Nobody => "use --fork to continue with a copy",
        }),
        StoreError::NoSuchSession(_) => {
            usage.hint("`agent-tui --resume` lists the sessions in this directory")
        }
        StoreError::Ambiguous(_) => usage.hint("type more of the ID"),
        StoreError::NothingToContinue => usage.hint("start one without --continue"),
        StoreError::Unusable { .. } => usage.hint("use --fork to continue with a copy"),
    }
}
