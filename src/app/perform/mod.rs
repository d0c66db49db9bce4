//! What each action does. One arm per action; longer ones are in the other files of this folder.

mod dialogs;
mod panel;
mod travel;

use std::time::Duration;

use crate::app::call::{Call, State};
use crate::app::composer::{Draft, Sent};
use crate::app::escape::EscapeStep;
use crate::app::job::Job;
use crate::app::select::{Hold, Reach};
use crate::app::transcript::{Cell, CellId, Entry};
use crate::app::{AppState, Copied, DiffStyle, Effect, ExitReason, Focus, QUIT_WINDOW, Stage};
use crate::keymap::Action;
use crate::protocol::{Block, Command, Mode, QueuedSelection, SessionCommand, Shown, TurnCommand};
use crate::text::first_line;

/// The modes that the key cycles through.
const CYCLE: [Mode; 3] = [Mode::Default, Mode::AcceptEdits, Mode::Plan];
/// How long another `/quit` confirms the first one.
const QUIT_AGAIN: Duration = Duration::from_secs(30);
/// A longer command is shortened in messages.
const LONGEST_COMMAND: usize = 30;

/// These belong to the input or to a dialog. If they come here, neither has handled them.
const ELSEWHERE: &[Action] = &[
    Action::Newline,
    Action::HistoryPrevious,
    Action::HistoryNext,
    Action::SearchHistory,
    Action::OpenEditor,
    Action::AllowOnce,
    Action::AllowForSession,
    Action::AllowAlways,
    Action::Deny,
    Action::DenyWithReason,
    Action::DenyAndInterrupt,
    Action::ChooseHunks,
    Action::SaveRule,
    Action::WidenRule,
    Action::SendReason,
    Action::Mark,
    Action::Dismiss,
    Action::Submit,
    Action::Decline,
    Action::NextOption,
    Action::PreviousOption,
    Action::NextQuestion,
    Action::PreviousQuestion,
    Action::Trust,
    Action::DoNotTrust,
    Action::AcceptHunk,
    Action::RejectHunk,
    Action::AcceptRest,
    Action::RejectRest,
    Action::AcceptFile,
    Action::RejectFile,
    Action::SplitHunk,
    Action::ApplyHunks,
    Action::Fork,
    Action::Rename,
    Action::Delete,
    Action::AllDirectories,
    Action::RestartServer,
    Action::Switch,
    Action::ShowLog,
    Action::TrustServer,
    Action::Login,
];

impl AppState {
    pub(in crate::app) fn perform(&mut self, action: Action) -> Vec<Effect> {
        let may_quit = [Action::ClearOrQuit, Action::Interrupt, Action::Quit];
        if !may_quit.contains(&action) {
            self.quit_armed = None;
        }
        if !self.dialogs.is_empty() && !self.viewing_conversation {
            return self.perform_in_dialog(action);
        }
        if action == Action::HistoryPrevious
            && let Some(effects) = self.take_back_queued()
        {
            return effects;
        }
        if self.focus == Focus::Composer
            && let Some(effects) = self.composer.perform(action, self.now)
        {
            return effects;
        }
        self.perform_outside(action)
    }

    /// Actions that neither a dialog nor the input has handled.
    fn perform_outside(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Send => return self.send(),
            Action::Interrupt | Action::ClearOrQuit => return self.take_step(self.ctrl_c()),
            Action::Back => return self.take_step(self.esc()),
            Action::Quit => return self.quit(),
            Action::RetryNow => return vec![Effect::Send(Command::Turn(TurnCommand::RetryNow))],
            Action::NextMode => return self.next_mode(),
            Action::Suspend => return vec![Effect::Suspend],
            Action::Redraw => return vec![Effect::Redraw],
            Action::PrintConversation => return vec![Effect::PrintConversation],
            Action::Palette | Action::EditQueue | Action::Help => self.open_list(action),
            Action::ToggleDetails => self.toggle_details(),
            Action::ToggleThinking => self.toggle_thinking(),
            Action::ToggleDiffStyle => self.toggle_diff_style(),
            Action::Scroll => self.switch_to_conversation_or_back(),
            Action::Search | Action::Accept | Action::NextMatch | Action::PreviousMatch => {
                self.search(action);
            }
            Action::Select => self.select(),
            Action::Copy => return self.copy(),
            Action::Open | Action::Choose => self.open(),
            Action::NextTurn | Action::PreviousTurn => self.change_turn(action),
            Action::TogglePanel | Action::Fold => return self.change_panel(action),
            Action::CancelCall | Action::RunAgain | Action::Background | Action::AnswerByHand => {
                return self.do_to_call(action);
            }
            Action::LineDown
            | Action::LineUp
            | Action::PageDown
            | Action::PageUp
            | Action::HalfPageDown
            | Action::HalfPageUp
            | Action::Top
            | Action::Bottom
            | Action::NextMessage
            | Action::PreviousMessage
            | Action::Next
            | Action::Previous
            | Action::Left
            | Action::Right
            | Action::WordLeft
            | Action::WordRight
            | Action::LineStart
            | Action::LineEnd => self.travel(action),
            other => debug_assert!(ELSEWHERE.contains(&other), "{other:?} does nothing"),
        }
        Vec::new()
    }

    fn open_list(&mut self, action: Action) {
        match action {
            Action::EditQueue => self.list_queue(),
            Action::Help => self.open_help(),
            _ => self.open_palette(),
        }
    }

    fn switch_to_conversation_or_back(&mut self) {
        self.focus_on(if self.viewing_conversation {
            Focus::Composer
        } else {
            Focus::Conversation
        });
    }

    fn change_turn(&mut self, action: Action) {
        self.go_to_turn(if action == Action::NextTurn { 1 } else { -1 });
    }

    /// Enter: the kind of draft decides what happens.
    pub(in crate::app) fn send(&mut self) -> Vec<Effect> {
        if self.composer.is_empty() {
            self.send_when_returned = self.queue.returns();
            return self.send_queue();
        }
        let Sent { draft, mut effects } = match self.composer.submit(self.now) {
            Ok(Some(sent)) => sent,
            Ok(None) => return Vec::new(),
            Err(problem) => {
                self.flash_error(problem);
                return Vec::new();
            }
        };
        match draft {
            Draft::Message { blocks, shown } => effects.extend(self.submit(blocks, shown)),
            Draft::Slash { name, arguments } => effects.extend(self.slash(&name, &arguments)),
            Draft::Shell(command) => {
                self.scroll.follow();
                effects.push(Effect::Send(Command::Session(SessionCommand::Run(command))));
            }
            Draft::Note(note) => effects.push(Effect::Start(Job::Remember(note))),
        }
        effects
    }

    /// Whether Enter would stop the turn to send what is queued. A turn that is already stopping sends it anyway, and
    /// before a retry it goes out with the next attempt.
    pub fn sends_queue(&self) -> bool {
        let runs = self.work().is_some_and(|work| work.stage == Stage::Running);
        runs && self.composer.is_empty() && self.queue.stays()
    }

    /// ↑ in an empty input first takes back the last queued message, before it goes through the history.
    fn take_back_queued(&mut self) -> Option<Vec<Effect>> {
        let is_free = self.focus == Focus::Composer && self.composer.is_free();
        if !is_free || self.queue.is_empty() {
            return None;
        }
        Some(self.ask_back_number(None))
    }

    /// Takes back the queued message with this number, or the last one. The agent answers whether it still has it.
    pub(in crate::app) fn ask_back_number(&mut self, number: Option<u64>) -> Vec<Effect> {
        let message = self.queue.take_back_queued(number);
        message.map(request_back).into_iter().collect()
    }

    fn send_queue(&mut self) -> Vec<Effect> {
        if !self.sends_queue() {
            return Vec::new();
        }
        if let Some(work) = self.work_mut() {
            work.stage = Stage::Interrupting;
        }
        self.scroll.follow();
        vec![Effect::Send(Command::Turn(TurnCommand::SendQueue))]
    }

    /// Sends a message to the model, or queues it while a turn runs.
    pub(in crate::app) fn submit(
        &mut self,
        blocks: Vec<crate::protocol::Block>,
        shown: String,
    ) -> Vec<Effect> {
        self.show_main();
        self.scroll.follow();
        // Messages queued during a turn that has just ended go first.
        if self.is_working() || !self.queue.is_empty() {
            self.queue.push(blocks.clone(), shown);
        } else {
            let images = blocks
                .iter()
                .filter(|block| matches!(block, crate::protocol::Block::Image(_)))
                .count();
            let cell = self.transcript.push(Cell::User {
                text: shown,
                images,
            });
            self.expected.push_back(cell);
            self.begin_turn(None);
        }
        vec![Effect::Send(Command::Session(SessionCommand::Submit(
            blocks,
        )))]
    }

    fn take_step(&mut self, step: EscapeStep) -> Vec<Effect> {
        match step {
            EscapeStep::Dialog => return self.close_dialog(),
            EscapeStep::Selection => {
                self.selection = None;
                self.end_search();
            }
            EscapeStep::Focus => self.leave_focus(),
            EscapeStep::Interrupt => {
                if let Some(work) = self.work_mut() {
                    work.stage = Stage::Stopping;
                    self.queue.return_all();
                }
                if self.focus == Focus::Panel {
                    // The next thing that people type is a correction for the model.
                    self.return_to_input();
                }
                return vec![Effect::Send(Command::Turn(TurnCommand::Interrupt))];
            }
            EscapeStep::Force => {
                if let Some(work) = self.work_mut() {
                    work.stage = Stage::Killing;
                }
                return vec![Effect::Send(Command::Turn(TurnCommand::Interrupt))];
            }
            EscapeStep::Draft => {
                self.quit_armed = None;
                self.composer.clear(self.now);
                self.flash("cleared (↑ to restore)");
            }
            EscapeStep::ArmQuit => self.arm_quit(),
            EscapeStep::Quit => return vec![Effect::Quit(ExitReason::Asked)],
            EscapeStep::Nothing => self.flash("nothing to stop; Ctrl+C twice quits"),
        }
        Vec::new()
    }

    fn leave_focus(&mut self) {
        match self.focus {
            Focus::Panel if self.panel.detail.is_some() => self.close_detail(),
            Focus::Panel if self.view.is_some() => self.focus_on(Focus::Conversation),
            Focus::Conversation if self.view.is_some() => self.leave_view(),
            Focus::Conversation if self.viewing_conversation => self.focus_on(Focus::Composer),
            Focus::Conversation | Focus::Panel | Focus::Composer => self.return_to_input(),
        }
    }

    /// Another press quits.
    fn arm_quit(&mut self) {
        self.quit_armed = Some(self.now + QUIT_WINDOW);
        if let Some(commands) = self.background_text() {
            self.flash(format!("press again to quit; this stops {commands}"));
        }
    }

    /// What runs in the background, in a few words.
    pub(in crate::app) fn background_text(&self) -> Option<String> {
        let mut running = self.calls.in_background();
        let count = running.len();
        let first = running.next()?;
        Some(if count == 1 {
            let command = self.calls.get(first).subject();
            format!(
                "`{}` in the background",
                first_line(&command, LONGEST_COMMAND)
            )
        } else {
            format!("{count} background commands")
        })
    }

    /// One key must not stop running work.
    fn quit(&mut self) -> Vec<Effect> {
        if self.turn_step().is_some() {
            self.flash("still working: Esc to stop it, or /quit");
            return Vec::new();
        }
        if self.background_text().is_some() && self.quit_armed.is_none() {
            self.arm_quit();
            return Vec::new();
        }
        vec![Effect::Quit(ExitReason::Asked)]
    }

    /// `/quit` asks for confirmation if something runs in the background, since quitting stops it.
    pub(in crate::app) fn quit_by_name(&mut self) -> Vec<Effect> {
        let running = self.calls.in_background().len();
        let warned = self.quit_warned.take();
        let knows = warned.is_some_and(|(known, until)| known >= running && self.now < until);
        if let Some(commands) = self.background_text().filter(|_| !knows) {
            self.quit_warned = Some((running, self.now + QUIT_AGAIN));
            self.flash(format!("/quit again to quit; this stops {commands}"));
            return Vec::new();
        }
        vec![Effect::Quit(ExitReason::Asked)]
    }

    fn next_mode(&mut self) -> Vec<Effect> {
        let at = CYCLE.iter().position(|mode| *mode == self.session.mode);
        let mode = CYCLE[at.map_or(0, |at| (at + 1) % CYCLE.len())];
        self.session.mode = mode;
        vec![Effect::Send(Command::Session(SessionCommand::SetMode(
            mode,
        )))]
    }

    fn toggle_diff_style(&mut self) {
        let wide = self.diff_width >= crate::app::WIDE_ENOUGH_FOR_TWO;
        let mut settings = (*self.settings).clone();
        settings.diff_style = match (settings.diff_style, wide) {
            (DiffStyle::Auto, true) | (DiffStyle::SideBySide, _) => DiffStyle::Unified,
            (DiffStyle::Auto, false) | (DiffStyle::Unified, _) => DiffStyle::SideBySide,
        };
        settings.theme_epoch += 1;
        self.settings = std::sync::Arc::new(settings);
    }

    fn toggle_thinking(&mut self) {
        let cells = self.conversation().entries().iter();
        let thoughts: Vec<(CellId, bool)> = cells
            .filter(|entry| matches!(entry.cell, Cell::Thinking { .. }))
            .map(|entry| (entry.id, entry.open))
            .collect();
        let open = !thoughts.last().is_some_and(|(_, open)| *open);
        for (id, _) in thoughts {
            self.conversation_mut()
                .change(id, |entry| entry.open = open);
        }
    }

    /// Opens the last visible calls and all others of their turn, or folds them again.
    fn toggle_details(&mut self) {
        let entries = self.conversation().entries();
        let (first, last) = match self.scroll.layout {
            Some(rest) => (rest.top.cell, rest.bottom.cell),
            None => (CellId(0), CellId(u64::MAX)),
        };
        let in_view = |entry: &Entry| (first..=last).contains(&entry.id);
        let found = entries
            .iter()
            .rposition(|entry| in_view(entry) && is_foldable(entry));
        let Some(found) = found else {
            self.flash("no calls on the screen to open");
            return;
        };
        let is_message = |entry: &Entry| matches!(entry.cell, Cell::User { .. });
        let from = entries[..found].iter().rposition(is_message).unwrap_or(0);
        let to = entries[found..].iter().position(is_message);
        let to = to.map_or(entries.len(), |to| found + to);
        let foldable: Vec<(CellId, bool)> = entries[from..to]
            .iter()
            .filter(|entry| is_foldable(entry))
            .map(|entry| (entry.id, entry.open))
            .collect();
        let open = foldable.iter().any(|(_, open)| !open);
        if open && !entries[from..to].iter().any(|entry| self.has_more(entry)) {
            self.flash("everything is shown already");
            return;
        }
        for (id, _) in foldable {
            self.conversation_mut().change(id, |entry| {
                entry.open = open;
                entry.unfolded = false;
            });
        }
    }

    /// Whether opening a cell may show more of it.
    fn has_more(&self, entry: &Entry) -> bool {
        let Some(key) = entry.cell.call() else {
            return matches!(entry.cell, Cell::Thinking { .. }) && !entry.open;
        };
        let call = self.calls.get(key);
        let hides = match &call.state {
            State::Arriving(_) | State::Queued => false,
            State::Executing(_) => call.printed_lines() > 0,
            State::Completed(completed) | State::Yielded(completed) => {
                completed.lines > completed.lines_in_place() || completed.shown != Shown::Nothing
            }
        };
        !entry.open && (hides || self.subagents.of_call(key).is_some())
    }

    /// Opens or folds a cell. A cell that represents several shows each of them first.
    pub(in crate::app) fn toggle(&mut self, cell: CellId) {
        if self.conversation().get(cell).is_some_and(is_foldable) {
            self.scroll.hold();
            if !self.unfold(cell) {
                self.conversation_mut()
                    .change(cell, |entry| entry.open = !entry.open);
            }
        }
    }

    fn open(&mut self) {
        match self.focus {
            Focus::Panel => self.open_detail(),
            Focus::Conversation => {
                if let Some(rest) = self.scroll.layout {
                    let spot = self.selection.as_ref().map_or(rest.top, |it| it.head);
                    self.toggle_first_from(spot.cell);
                }
            }
            Focus::Composer => {}
        }
    }

    /// Opens or folds the first visible cell from this one on that can be folded.
    fn toggle_first_from(&mut self, cell: CellId) {
        let last = self.scroll.layout.map_or(cell, |rest| rest.bottom.cell);
        let entries = self.conversation().entries().iter();
        let found = entries
            .skip_while(|entry| entry.id < cell)
            .take_while(|entry| entry.id <= last)
            .find(|entry| is_foldable(entry))
            .map(|entry| entry.id);
        if let Some(id) = found {
            self.toggle(id);
        }
    }

    fn copy(&mut self) -> Vec<Effect> {
        if self.focus == Focus::Panel {
            let Some(key) = self.target_call() else {
                return Vec::new();
            };
            let text = as_text(self.calls.get(key));
            self.flash_done("copied the call");
            return vec![Effect::Copy(Copied::Text(text))];
        }
        if let Some(selection) = &mut self.selection {
            if selection.hold == Hold::Loose {
                // Nothing is selected yet: copy the caret's line.
                selection.reach = Reach::Rows;
            }
            self.flash_done("copied");
            return vec![Effect::Copy(Copied::Selection)];
        }
        match self.last_answer() {
            Some(text) => {
                self.flash_done("copied the last answer");
                vec![Effect::Copy(Copied::Text(text))]
            }
            None => Vec::new(),
        }
    }

    fn last_answer(&self) -> Option<String> {
        let mut entries = self.conversation().entries().iter().rev();
        entries.find_map(|entry| match &entry.cell {
            Cell::Answer(answer) => Some(answer.text.clone()),
            _ => None,
        })
    }
}

fn is_foldable(entry: &Entry) -> bool {
    matches!(entry.cell, Cell::Call(_) | Cell::Thinking { .. })
}

/// A call as text, for the clipboard.
fn as_text(call: &Call) -> String {
    let input = serde_json::to_string_pretty(&call.input).unwrap_or_default();
    let output = match call.completed() {
        Some(completed) => &completed.text,
        None => &call.output,
    };
    format!("{} {input}\n\n{output}\n", call.tool.name)
}

/// Asks the agent to give back a queued message.
pub(in crate::app) fn request_back(message: Vec<Block>) -> Effect {
    let take_back = SessionCommand::TakeBack(QueuedSelection::One(message));
    Effect::Send(Command::Session(take_back))
}
