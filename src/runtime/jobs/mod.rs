//! What the screen asks for and may wait: done on threads of its own, answered with a [`JobResult`].

mod editor;
mod image;
mod memory;
mod sessions;

use std::path::PathBuf;

use tokio::sync::mpsc;

use super::look;
use crate::app::job::{Job, JobResult};
use crate::config::{Dirs, save};
use crate::session::Store;

pub struct Jobs {
    pub results: mpsc::UnboundedReceiver<JobResult>,
    done: mpsc::UnboundedSender<JobResult>,
    dirs: Dirs,
    workspace: PathBuf,
}

impl Jobs {
    pub fn new(dirs: Dirs, workspace: PathBuf) -> Self {
        let (done, results) = mpsc::unbounded_channel();
        Self {
            results,
            done,
            dirs,
            workspace,
        }
    }

    pub fn start(&mut self, job: Job) {
        let (dirs, workspace) = (self.dirs.clone(), self.workspace.clone());
        match job {
            Job::EditDraft(draft) => {
                self.run(move || Some(JobResult::Edited(editor::edit(&draft, &dirs.data))));
            }
            Job::Remember(note) => {
                self.run(move || Some(JobResult::Remembered(memory::remember(&note, &workspace))));
            }
            Job::Attach(path) => self.run(move || {
                let result = image::read(&workspace.join(&path));
                Some(JobResult::Attached { path, result })
            }),
            Job::ListThemes => self.run(move || Some(JobResult::Themes(look::all_themes(&dirs)))),
            Job::KeepTheme(name) => self.run(move || {
                let file = dirs.config.join("settings.json");
                let kept = save::set(&file, "theme", &name);
                let problem = kept.err()?;
                Some(JobResult::Failed(format!(
                    "the theme is not kept: {problem}"
                )))
            }),
            Job::ListSessions => self.run(move || {
                let store = Store::new(dirs.sessions());
                Some(JobResult::Sessions(sessions::list(&store, &workspace)))
            }),
            // Answered by the index of files and by what is kept of earlier runs, once these are here.
            Job::CompletePath { .. }
            | Job::LoadHistory
            | Job::KeepInHistory(_)
            | Job::KeepDraft(_) => {}
        }
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
