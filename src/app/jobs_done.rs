//! Applies the results of jobs.

use std::path::Path;

use super::job::JobResult;
use super::{AppState, Effect};

impl AppState {
    pub(super) fn job_done(&mut self, result: JobResult) -> Vec<Effect> {
        match result {
            JobResult::Paths { .. }
            | JobResult::Edited(_)
            | JobResult::History(_)
            | JobResult::Draft(_)
            | JobResult::Attached { .. } => match self.composer.done(result, self.now) {
                Ok(effects) => effects,
                Err(problem) => {
                    self.flash_error(problem);
                    Vec::new()
                }
            },
            JobResult::EditedAsked { call, result } => {
                self.edited_asked(call, result);
                Vec::new()
            }
            JobResult::Remembered(Ok(path)) => {
                self.flash_done(format!("noted in {}", shown_path(&path)));
                Vec::new()
            }
            JobResult::Remembered(Err(problem)) | JobResult::Failed(problem) => {
                self.flash_error(problem);
                Vec::new()
            }
            JobResult::Examined(findings) => {
                self.examined(findings);
                Vec::new()
            }
            JobResult::Branch(branch) => {
                self.session.branch = Some(branch);
                Vec::new()
            }
            JobResult::Themes(themes) => self.themes_listed(themes),
            JobResult::Sessions(sessions) => {
                self.offer_sessions(sessions);
                Vec::new()
            }
            JobResult::SessionRead(content) => {
                self.session_read(*content);
                Vec::new()
            }
            JobResult::SessionDeleted { id, result } => {
                self.session_deleted(id, result);
                Vec::new()
            }
            JobResult::SessionRenamed { id, result } => {
                self.session_renamed(id, result);
                Vec::new()
            }
            JobResult::Models(models) => {
                self.offer_models(models);
                Vec::new()
            }
        }
    }
}

fn shown_path(path: &Path) -> String {
    path.display().to_string()
}
