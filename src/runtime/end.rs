//! The end of the program: stops the agent, restores the terminal, and prints how to resume.

use std::time::Duration;

use super::{Exit, Shell, Stage, terminal};
use crate::app::job::Job;
use crate::app::transcript::Cell;
use crate::app::{Effect, Msg, update};
use crate::process::stderr::print_message;
use crate::ui::printed;
use crate::ui::text::clean;

/// How many of the conversation's last lines stay on the normal screen.
const LAST_LINES: usize = 16;
/// After this time everything that waits for time alone is due.
const KEEP_BY_THEN: Duration = Duration::from_secs(60);

impl Shell {
    pub(super) async fn end(&mut self, exit: &Exit) {
        let events = self.agent.end().await;
        if *exit == Exit::Panicked {
            // The state may be inconsistent, and the panic hook has already reported the problem.
            return;
        }
        for envelope in events {
            // Effects are not performed any more.
            update(&mut self.state, Msg::Agent(envelope));
        }
        self.keep_draft();
        self.finish_frame().await;
        let shown = self.stage == Stage::Shown;
        self.leave();
        match exit {
            Exit::Asked | Exit::Ended(_) if shown => terminal::write_message(&self.closing_text()),
            Exit::Lost => {
                print_message("error: internal error; the conversation so far is saved");
                print_message(
                    "hint: resume with --continue; `logs/panic.log` in the data directory may say more",
                );
            }
            Exit::Asked | Exit::Ended(_) | Exit::Gone | Exit::Refused(_) | Exit::Panicked => {}
        }
    }

    /// A draft is saved after a delay; now it is saved at once.
    fn keep_draft(&mut self) {
        self.state.now += KEEP_BY_THEN;
        for effect in update(&mut self.state, Msg::Tick) {
            if let Effect::Start(job @ Job::KeepDraft(_)) = effect {
                self.jobs.start(job);
            }
        }
        self.jobs.finish();
    }

    /// The end of the conversation and how to resume it; empty if there was none.
    fn closing_text(&mut self) -> String {
        self.state.show_main();
        let entries = self.state.transcript.entries();
        let events = entries
            .iter()
            .any(|entry| matches!(entry.cell, Cell::User { .. }));
        let Some(session) = self.state.session.id.as_ref().filter(|_| events) else {
            return String::new();
        };
        let (width, code) = (self.state.width, &mut self.caches.highlights);
        let last = printed::last_rows(&self.state, width, LAST_LINES, code);
        let last = self.print().lines(&last);
        match &self.state.session.unsaved {
            None => format!("{last}\n\nResume with: agent-tui --resume {session}\n"),
            Some(problem) => {
                let problem = clean(problem);
                format!("{last}\n\nThe conversation could not be saved: {problem}\n")
            }
        }
    }
}
