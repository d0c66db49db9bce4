//! Slow work that the screen asks for: done on other threads, answered with a [`JobResult`].

mod editor;
mod image;
mod input_saver;
mod memory;
mod sessions;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use self::input_saver::{InputSaver, SaverCommand};
use super::files::Finder;
use super::saved_input::SavedInput;
use super::{Answers, appearance};
use crate::app::job::{Job, JobResult};
use crate::config::{Dirs, save};
use crate::session::Store;

pub struct Jobs {
    pub results: mpsc::UnboundedReceiver<JobResult>,
    done: mpsc::UnboundedSender<JobResult>,
    dirs: Dirs,
    workspace: PathBuf,
    answers: Answers,
    input_saver: InputSaver,
    finder: Finder,
    /// How many lists of sessions were requested.
    listing: Arc<AtomicU64>,
}

impl Jobs {
    pub fn new(dirs: Dirs, workspace: PathBuf, answers: Answers) -> Self {
        let (done, results) = mpsc::unbounded_channel();
        let input_saver = InputSaver::start(SavedInput::new(&dirs.data, &workspace), done.clone());
        let found = done.clone();
        let answer = Box::new(move |result| drop(found.send(result)));
        let finder = Finder::new(workspace.clone(), answer);
        Self {
            results,
            done,
            dirs,
            workspace,
            answers,
            input_saver,
            finder,
            listing: Arc::default(),
        }
    }

    /// Waits until everything typed is saved for the next run.
    pub fn finish(&mut self) {
        self.input_saver.finish();
    }

    pub fn start(&mut self, job: Job) {
        let (dirs, workspace) = (self.dirs.clone(), self.workspace.clone());
        match job {
            Job::EditDraft(draft) => {
                self.run(move || Some(JobResult::Edited(editor::edit(&draft, &dirs.data))));
            }
            Job::EditAsked { call, text } => {
                self.run(move || {
                    let result = editor::edit(&text, &dirs.data);
                    Some(JobResult::EditedAsked { call, result })
                });
            }
            Job::Remember(note) => {
                self.run(move || Some(JobResult::Remembered(memory::remember(&note, &workspace))));
            }
            Job::Attach(path) => self.run(move || {
                let result = image::read(&workspace.join(&path));
                Some(JobResult::Attached { path, result })
            }),
            Job::Examine => {
                let doctor = self.answers.doctor.clone();
                self.run(move || Some(JobResult::Examined(doctor())));
            }
            Job::FindBranch => {
                let branch = self.answers.branch.clone();
                self.run(move || branch().map(JobResult::Branch));
            }
            Job::ListThemes => {
                self.run(move || Some(JobResult::Themes(appearance::all_themes(&dirs))));
            }
            Job::KeepTheme(name) => self.run(move || {
                let file = dirs.config.join("settings.json");
                let kept = save::set(&file, "theme", &name);
                let problem = kept.err()?;
                Some(JobResult::Failed(format!(
                    "the theme could not be saved: {problem}"
                )))
            }),
            Job::KeepPanel { pinned } => self.run(move || {
                let problem = appearance::keep_panel(&dirs, pinned).err()?;
                let text = format!("can't save whether the panel stays open: {problem}");
                Some(JobResult::Failed(text))
            }),
            Job::ListSessions { everywhere } => self.list_sessions(everywhere),
            Job::DeleteSession(id) => self.run(move || {
                let store = Store::new(dirs.sessions());
                let found = store.find(&id);
                let result = found.and_then(|found| store.remove(&found));
                let result = result.map_err(|error| error.to_string());
                Some(JobResult::SessionDeleted { id, result })
            }),
            Job::RenameSession { id, title } => self.run(move || {
                let store = Store::new(dirs.sessions());
                let found = store.find(&id);
                let result = found.and_then(|found| store.rename(&found, &title));
                let result = result.map(|()| title).map_err(|error| error.to_string());
                Some(JobResult::SessionRenamed { id, result })
            }),
            Job::ListModels { provider } => {
                let models = self.answers.models.clone();
                self.run(move || Some(JobResult::Models(models(&provider))));
            }
            Job::CompletePath { query, generation } => self.finder.find(query, generation),
            Job::LoadHistory => self.input_saver.send(SaverCommand::Load),
            Job::KeepInHistory(text) => self.input_saver.send(SaverCommand::Sent(text)),
            Job::KeepDraft(text) => self.input_saver.send(SaverCommand::Draft(text)),
        }
    }

    /// They arrive one after the other; another list replaces this one.
    fn list_sessions(&self, everywhere: bool) {
        let done = self.done.clone();
        let number = self.listing.fetch_add(1, Ordering::Relaxed) + 1;
        let listing = self.listing.clone();
        let report =
            move |result| listing.load(Ordering::Relaxed) == number && done.send(result).is_ok();
        let store = Store::new(self.dirs.sessions());
        let workspace = self.workspace.clone();
        self.run(move || {
            let here = (!everywhere).then_some(workspace.as_path());
            sessions::list(&store, here, report);
            None
        });
    }

    fn run(&self, work: impl FnOnce() -> Option<JobResult> + Send + 'static) {
        let done = self.done.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(result) = work() {
                let _ = done.send(result);
            }
        });
    }
}
