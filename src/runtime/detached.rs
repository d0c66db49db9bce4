//! When the screen is not ours: stopped by the person, behind an editor, or below the printed conversation.
//!
//! Everything else continues: the agent works, and its events are applied. Only drawing stops.

use std::time::Duration;

use crossterm::event::KeyCode;
use tokio::time::timeout;

use super::input::Event;
use super::pacer::Urgency;
use super::style_codes::Print;
use super::{Shell, Stage, terminal};
use crate::app::Msg;
use crate::theme::Depth;
use crate::ui::printed;

/// How long the last frame may take to be written.
const LAST_FRAME: Duration = Duration::from_millis(500);
/// A shell may return the terminal without a signal. While the program is in the background, it checks this often.
pub(super) const CHECK_EVERY: Duration = Duration::from_millis(300);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The shell has the terminal.
    Stopped,
    Editor,
    /// The conversation is on the normal screen; any key comes back.
    Printed,
}

impl Shell {
    /// Releases the terminal and stops reading keys.
    pub(super) async fn release_terminal(&mut self, reason: Reason) {
        self.finish_frame().await;
        self.input.pause();
        terminal::leave();
        self.title.forget();
        self.stage = Stage::Detached(reason);
    }

    /// Takes the terminal back, whatever it shows now.
    pub(super) async fn retake_terminal(&mut self) {
        // Its modes may have changed meanwhile.
        self.leave();
        if terminal::enter().is_err() {
            self.exit = Some(super::Exit::Gone);
            return;
        }
        self.input.resume();
        self.stage = Stage::Shown;
        self.screen.repaint();
        // The screen is empty, so draw even if nothing else has changed.
        self.pacer.want(Urgency::Now);
        self.resized().await;
    }

    /// Restores the terminal; below a printed conversation the normal screen is already shown.
    pub(super) fn leave(&self) {
        match self.stage {
            Stage::Detached(Reason::Printed) => terminal::leave_normal(),
            Stage::Shown | Stage::Detached(Reason::Stopped | Reason::Editor) => terminal::leave(),
        }
    }

    pub(super) async fn suspend(&mut self) {
        if !terminal::has_shell() {
            self.state.flash_error("no shell to suspend to");
            return;
        }
        match self.stage {
            Stage::Shown => self.release_terminal(Reason::Stopped).await,
            Stage::Detached(Reason::Printed) => {
                self.show_screen();
                self.release_terminal(Reason::Stopped).await;
            }
            // The editor and the program stop and continue together.
            Stage::Detached(Reason::Editor | Reason::Stopped) => {}
        }
        terminal::stop();
    }

    /// The program was continued, or checks whether the terminal is its own again.
    pub(super) async fn continued(&mut self) {
        match self.stage {
            Stage::Detached(Reason::Editor) => {}
            Stage::Detached(Reason::Stopped) if !terminal::is_foreground() => {}
            Stage::Detached(Reason::Stopped) => self.retake_terminal().await,
            // It was stopped by SIGSTOP, which a program can't notice.
            Stage::Shown | Stage::Detached(Reason::Printed) if terminal::is_foreground() => {
                self.retake_terminal().await;
            }
            Stage::Shown | Stage::Detached(Reason::Printed) => {
                self.input.pause();
                self.stage = Stage::Detached(Reason::Stopped);
            }
        }
    }

    /// Puts the conversation on the normal screen, where the terminal can scroll and search it.
    pub(super) fn print_conversation(&mut self) {
        let code = &mut self.caches.highlights;
        let rows = printed::conversation(&self.state, self.state.width, code);
        let lines = self.print().lines(&rows).replace('\n', "\r\n");
        let off = terminal::SCREEN_OFF;
        let printed = format!("{off}{lines}\r\n\r\n(press Enter to return)\r\n");
        self.writer.write(printed.into_bytes());
        terminal::report_normal_screen(true);
        self.stage = Stage::Detached(Reason::Printed);
        self.title.forget();
    }

    /// How text goes to the normal screen.
    pub(super) fn print(&self) -> Print {
        match self.state.settings.depth {
            Depth::None => Print::Plain,
            Depth::Ansi16 | Depth::Ansi256 | Depth::True => Print::Coloured {
                columns: self.state.width,
                erases: terminal::erases_in_colour(),
            },
        }
    }

    /// From the normal screen.
    pub(super) fn show_screen(&mut self) {
        self.writer.write(terminal::SCREEN_ON.as_bytes().to_vec());
        terminal::report_normal_screen(false);
        self.stage = Stage::Shown;
        self.screen.repaint();
    }

    /// A key below the printed conversation only comes back from it.
    pub(super) fn press_below_print(&mut self, event: &Event) {
        if let Event::Key(key) = event
            && matches!(key.code, KeyCode::Enter | KeyCode::Esc | KeyCode::Char(_))
        {
            self.show_screen();
        }
    }

    /// Waits until everything has been written to the terminal.
    pub(super) async fn finish_frame(&mut self) {
        let arrived = async { while self.writer.is_busy() && self.writer.done().await.is_ok() {} };
        // A terminal that does not read gets the rest later, or never.
        let _ = timeout(LAST_FRAME, arrived).await;
    }

    pub(super) async fn resized(&mut self) {
        let size = terminal::size();
        self.screen.resize(size);
        let (width, height) = (size.width, size.height);
        self.dispatch(Msg::Resized { width, height }).await;
    }
}
