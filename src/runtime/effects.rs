//! Performs the effects of `app::update`.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::{Exit, Shell, detached};
use crate::app::job::{Job, JobResult};
use crate::app::{Copied, Effect, ExitReason, Msg, update};
use crate::text::{beginning, one_line};

/// Terminals refuse more, some silently.
const LONGEST_COPY: usize = 100 << 10;
/// Terminals don't show longer notifications.
const LONGEST_CALL: usize = 200;

impl Shell {
    /// Updates the state, and performs the effects.
    pub(super) async fn dispatch(&mut self, msg: Msg) {
        let mut msgs = vec![msg];
        while let Some(msg) = msgs.pop() {
            for effect in update(&mut self.state, msg) {
                msgs.extend(self.carry_out(effect).await);
            }
        }
    }

    /// Returns a message that follows immediately.
    async fn carry_out(&mut self, effect: Effect) -> Option<Msg> {
        match effect {
            Effect::Send(command) => self.agent.send(command),
            Effect::Start(job @ (Job::EditDraft(_) | Job::EditAsked { .. })) => {
                self.release_terminal(detached::Reason::Editor).await;
                self.jobs.start(job);
            }
            Effect::Start(job) => {
                if let Job::KeepTheme(name) = &job {
                    self.appearance.chosen(name);
                }
                self.jobs.start(job);
            }
            Effect::Copy(copied) => return self.copy(copied),
            Effect::Open(opening) => self.agent.open(opening),
            Effect::Trust(yes) => self.agent.trust(yes),
            Effect::Notify(text) => self.aside.extend(notification(&text)),
            Effect::Redraw => self.screen.repaint(),
            Effect::Suspend => self.suspend().await,
            Effect::PrintConversation => self.print_conversation(),
            Effect::Quit(ExitReason::Asked) => self.exit = Some(Exit::Asked),
            Effect::Quit(ExitReason::Lost) => self.exit = Some(Exit::Lost),
        }
        None
    }

    /// Only the terminal can reach the clipboard of the person's own machine.
    fn copy(&mut self, copied: Copied) -> Option<Msg> {
        let text = match copied {
            Copied::Text(text) => text,
            Copied::Selection => self.caches.selected_text(&self.state),
        };
        if text.is_empty() {
            let problem = "nothing to copy here".to_owned();
            return Some(Msg::JobDone(JobResult::Failed(problem)));
        }
        let Some(bytes) = clipboard(&text) else {
            let problem = "too long for the clipboard; select less".to_owned();
            return Some(Msg::JobDone(JobResult::Failed(problem)));
        };
        self.aside.extend_from_slice(&bytes);
        None
    }
}

/// The escape sequence that sets the clipboard.
fn clipboard(text: &str) -> Option<Vec<u8>> {
    let coded = BASE64_STANDARD.encode(text);
    (coded.len() <= LONGEST_COPY).then(|| format!("\x1b]52;c;{coded}\x07").into_bytes())
}

/// The escape sequences that notify the person, and the bell for terminals that know none of them.
fn notification(text: &str) -> Vec<u8> {
    let text = one_line(text);
    let text = beginning(&text, LONGEST_CALL);
    // The second form separates its fields by semicolons.
    let field = text.replace(';', ",");
    format!("\x1b]9;{text}\x07\x1b]777;notify;agent-tui;{field}\x07\x07").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{LONGEST_COPY, clipboard, notification};

    #[test]
    fn a_copy_goes_through_the_terminal_unless_it_is_too_long() {
        let bytes = clipboard("hi\x1b").expect("short enough");
        assert_eq!(bytes, b"\x1b]52;c;aGkb\x07");
        assert_eq!(clipboard(&"x".repeat(LONGEST_COPY)), None);
    }

    #[test]
    fn messages_to_the_person_cannot_control_the_terminal() {
        assert_eq!(
            String::from_utf8(notification("allow\x07\x1b]52;c;x\n?")).expect("text"),
            "\x1b]9;allow]52;c;x?\x07\x1b]777;notify;agent-tui;allow]52,c,x?\x07\x07"
        );
    }
}
