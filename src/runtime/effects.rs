//! What the application asks for, done.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::title::harmless;
use super::{Exit, Shell, away};
use crate::app::job::{Job, JobResult};
use crate::app::{Copied, Effect, ExitReason, Msg, update};

/// Terminals refuse more, some without a word.
const LONGEST_COPY: usize = 100 << 10;

impl Shell {
    /// Takes a fact into the state and does what comes of it.
    pub(super) async fn tell(&mut self, msg: Msg) {
        let mut msgs = vec![msg];
        while let Some(msg) = msgs.pop() {
            for effect in update(&mut self.state, msg) {
                msgs.extend(self.carry_out(effect).await);
            }
        }
    }

    /// Returns what there is to say about it at once.
    async fn carry_out(&mut self, effect: Effect) -> Option<Msg> {
        match effect {
            Effect::Send(command) => self.agent.send(command),
            Effect::Start(Job::EditDraft(draft)) => {
                self.step_out(away::Reason::Editor).await;
                self.jobs.start(Job::EditDraft(draft));
            }
            Effect::Start(job) => {
                if let Job::KeepTheme(name) = &job {
                    self.look.chosen(name);
                }
                self.jobs.start(job);
            }
            Effect::Copy(copied) => return self.copy(copied),
            Effect::Open(opening) => self.agent.open(opening),
            Effect::Notify(text) => self.notify(&text),
            Effect::Redraw => self.screen.repaint(),
            Effect::Suspend => self.suspend().await,
            Effect::PrintConversation => self.print_conversation(),
            Effect::Quit(ExitReason::Asked) => self.exit = Some(Exit::Asked),
            Effect::Quit(ExitReason::Lost) => self.exit = Some(Exit::Lost),
        }
        None
    }

    /// Only the terminal knows the clipboard of the person's own machine.
    fn copy(&mut self, copied: Copied) -> Option<Msg> {
        let text = match copied {
            Copied::Text(text) => text,
            Copied::Selection => self.caches.selected_text(&self.state),
        };
        let coded = BASE64_STANDARD.encode(text);
        if coded.len() > LONGEST_COPY {
            let problem = "too long to be copied by a terminal; select less".to_owned();
            return Some(Msg::JobDone(JobResult::Failed(problem)));
        }
        self.aside
            .extend_from_slice(format!("\x1b]52;c;{coded}\x07").as_bytes());
        None
    }

    /// In the words of the terminals that know any, and with the bell for the others.
    fn notify(&mut self, text: &str) {
        let text = harmless(text);
        // The second form separates its fields by semicolons.
        let field = text.replace(';', ",");
        let said = format!("\x1b]9;{text}\x07\x1b]777;notify;agent-tui;{field}\x07\x07");
        self.aside.extend_from_slice(said.as_bytes());
    }
}
