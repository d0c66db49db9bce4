//! What each action does. One arm per action; longer ones are in the other files of this folder.

mod dialogs;
mod panel;
mod travel;

use crate::app::call::Call;
use crate::app::composer::{Draft, Sent};
use crate::app::job::Job;
use crate::app::ladder::Rung;
use crate::app::select::{Hold, Reach};
use crate::app::transcript::{Cell, CellId, Entry};
use crate::app::{AppState, Copied, DiffStyle, Effect, ExitReason, Focus, QUIT_WINDOW, Stage};
use crate::keymap::Action;
use crate::protocol::{Block, Command, Mode, SessionCommand, TurnCommand, Wanted};

/// The modes that the key cycles through.
const CYCLE: [Mode; 3] = [Mode::Default, Mode::AcceptEdits, Mode::Plan];

impl AppState {
    pub(in crate::app) fn perform(&mut self, action: Action) -> Vec<Effect> {
        if !matches!(action, Action::ClearOrQuit | Action::Interrupt) {
            self.quit_armed = None;
        }
        if !self.dialogs.is_empty() && !self.looks_back {
            return self.perform_in_dialog(action);
        }
        if action == Action::HistoryPrevious
            && let Some(effects) = self.ask_back()
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
            Action::Interrupt | Action::ClearOrQuit => return self.take_rung(self.ctrl_c()),
            Action::Back => return self.take_rung(self.esc()),
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
            // These belong to the input or to a dialog, neither of which handled them.
            Action::Newline
            | Action::HistoryPrevious
            | Action::HistoryNext
            | Action::SearchHistory
            | Action::OpenEditor
            | Action::AllowOnce
            | Action::AllowForSession
            | Action::AllowAlways
            | Action::Deny
            | Action::DenyWithReason
            | Action::DenyAndInterrupt
            | Action::ChooseHunks
            | Action::SaveRule
            | Action::WidenRule
            | Action::SendReason
            | Action::Mark
            | Action::Dismiss
            | Action::NextQuestion
            | Action::PreviousQuestion
            | Action::Trust
            | Action::DoNotTrust
            | Action::AcceptHunk
            | Action::RejectHunk
            | Action::AcceptRest
            | Action::RejectRest
            | Action::SplitHunk
            | Action::ApplyHunks
            | Action::Fork
            | Action::Rename
            | Action::Delete
            | Action::AllDirectories => {}
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
        self.focus_on(if self.looks_back {
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
            self.sends_when_back = self.queue.returns();
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
    fn ask_back(&mut self) -> Option<Vec<Effect>> {
        let is_free = self.focus == Focus::Composer && self.composer.is_free();
        if !is_free || self.queue.is_empty() {
            return None;
        }
        Some(self.ask_back_number(None))
    }

    /// Takes back the queued message with this number, or the last one. The agent answers whether it still has it.
    pub(in crate::app) fn ask_back_number(&mut self, number: Option<u64>) -> Vec<Effect> {
        let message = self.queue.ask_back(number);
        message.map(give_back).into_iter().collect()
    }

    fn send_queue(&mut self) -> Vec<Effect> {
        if !self.sends_queue() {
            return Vec::new();
        }
        if let Some(work) = self.work_mut() {
            work.stage = Stage::MakingWay;
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

    fn take_rung(&mut self, rung: Rung) -> Vec<Effect> {
        match rung {
            Rung::Dialog => return self.close_dialog(),
            Rung::Selection => {
                self.selection = None;
                self.end_search();
            }
            Rung::Focus => self.leave_focus(),
            Rung::Interrupt => {
                if let Some(work) = self.work_mut() {
                    work.stage = Stage::Stopping;
                    self.queue.return_all();
                }
                return vec![Effect::Send(Command::Turn(TurnCommand::Interrupt))];
            }
            Rung::Force => {
                if let Some(work) = self.work_mut() {
                    work.stage = Stage::Killing;
                }
                return vec![Effect::Send(Command::Turn(TurnCommand::Interrupt))];
            }
            Rung::Draft => {
                self.quit_armed = None;
                self.composer.clear(self.now);
                self.flash("cleared (↑ to restore)");
            }
            Rung::ArmQuit => self.arm_quit(),
            Rung::Quit => return vec![Effect::Quit(ExitReason::Asked)],
            Rung::Nothing => {}
        }
        Vec::new()
    }

    fn leave_focus(&mut self) {
        match self.focus {
            Focus::Panel if self.panel.detail.is_some() => self.panel.detail = None,
            Focus::Panel if self.view.is_some() => self.focus_on(Focus::Conversation),
            Focus::Conversation if self.view.is_some() => self.leave_view(),
            Focus::Conversation if self.looks_back => self.focus_on(Focus::Composer),
            Focus::Conversation => {
                self.focus_on(Focus::Composer);
                self.scroll.park();
            }
            Focus::Panel | Focus::Composer => self.focus_on(Focus::Composer),
        }
    }

    /// Another press quits.
    fn arm_quit(&mut self) {
        self.quit_armed = Some(self.now + QUIT_WINDOW);
        self.quit_warned = self.calls.in_background().len();
        match self.quit_warned {
            0 => {}
            1 => self.flash("press again to quit; this also stops the background command"),
            some => self.flash(format!(
                "press again to quit; this also stops {some} background commands"
            )),
        }
    }

    /// One key must not stop running work.
    fn quit(&mut self) -> Vec<Effect> {
        if self.turn_rung().is_some() {
            self.flash("still working: Esc to stop it, or /quit");
            return Vec::new();
        }
        self.quit_after_asking()
    }

    /// Asks once before quitting stops what runs in the background.
    pub(in crate::app) fn quit_after_asking(&mut self) -> Vec<Effect> {
        if self.calls.in_background().len() > self.quit_warned {
            self.arm_quit();
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
        let (first, last) = match self.scroll.rest {
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
        for (id, _) in foldable {
            self.conversation_mut().change(id, |entry| {
                entry.open = open;
                entry.unfolded = false;
            });
        }
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
                if let Some(rest) = self.scroll.rest {
                    let spot = self.selection.as_ref().map_or(rest.top, |it| it.head);
                    self.toggle_first_from(spot.cell);
                }
            }
            Focus::Composer => {}
        }
    }

    /// Opens or folds the first visible cell from this one on that can be folded.
    fn toggle_first_from(&mut self, cell: CellId) {
        let last = self.scroll.rest.map_or(cell, |rest| rest.bottom.cell);
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
pub(in crate::app) fn give_back(message: Vec<Block>) -> Effect {
    let take_back = SessionCommand::TakeBack(Wanted::One(message));
    Effect::Send(Command::Session(take_back))
}
