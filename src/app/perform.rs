//! What each action does. One arm an action; what takes more than a few lines is next door.

use super::call::{Call, State};
use super::composer::Draft;
use super::dialogs::Dialog;
use super::dialogs::by_hand::ByHandDialog;
use super::dialogs::help::HelpDialog;
use super::dialogs::permission::{PermissionDialog, Verdict};
use super::dialogs::picker::{Choice, Item, Picker};
use super::job::Job;
use super::ladder::Rung;
use super::panel::Detail;
use super::scroll::Motion;
use super::select::{Move, Reach, Selection};
use super::transcript::{Cell, CellId};
use super::{
    Activity, AppState, Copied, DiffStyle, Effect, ExitReason, Focus, QUIT_WINDOW, Stage, Work,
};
use crate::keymap::Action;
use crate::protocol::{Answer, CallId, Command, Mode, PermissionRequest, Phase};

/// The modes that a key goes through, in this order.
const CYCLE: [Mode; 3] = [Mode::Default, Mode::AcceptEdits, Mode::Plan];

impl AppState {
    pub(super) fn perform(&mut self, action: Action) -> Vec<Effect> {
        if !matches!(action, Action::ClearOrQuit | Action::Interrupt) {
            self.quit_armed = None;
        }
        if !self.dialogs.is_empty() {
            return self.perform_in_dialog(action);
        }
        if self.focus == Focus::Composer
            && let Some(effects) = self.composer.perform(action, self.now)
        {
            return effects;
        }
        match action {
            Action::Send => return self.send(),
            Action::Interrupt | Action::ClearOrQuit => return self.climb(self.ctrl_c()),
            Action::Back => return self.climb(self.esc()),
            Action::Quit => return vec![Effect::Quit(ExitReason::Asked)],
            Action::RetryNow => return vec![Effect::Send(Command::RetryNow)],
            Action::NextMode => return self.next_mode(),
            Action::Suspend => return vec![Effect::Suspend],
            Action::Redraw => return vec![Effect::Redraw],
            Action::PrintConversation => return vec![Effect::PrintConversation],
            Action::TogglePanel => self.toggle_panel(),
            Action::Palette => self.open_palette(),
            Action::Help => self.dialogs.push(Dialog::Help(HelpDialog::default())),
            Action::ToggleDetails => self.toggle_details(),
            Action::ToggleThinking => self.toggle_thinking(),
            Action::ToggleDiffStyle => self.toggle_diff_style(),
            Action::Scroll => self.focus = Focus::Conversation,
            Action::Search => {
                self.focus = Focus::Conversation;
                self.start_search();
            }
            Action::Accept => self.accept_search(),
            Action::NextMatch => self.next_hit(1),
            Action::PreviousMatch => self.next_hit(-1),
            Action::Select => self.start_selection(),
            Action::Copy => return self.copy(),
            Action::Open | Action::Choose => self.open(),
            Action::CancelCall => return self.cancel_call(),
            Action::RunAgain => return self.on_call(|call| Command::RunAgain(call.id.clone())),
            Action::Background => return self.background(),
            Action::AnswerByHand => self.answer_by_hand(),
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
            // These belong to the input or to a dialog, which did not want them now.
            Action::Newline
            | Action::HistoryPrevious
            | Action::HistoryNext
            | Action::SearchHistory
            | Action::OpenEditor
            | Action::ToggleChoice
            | Action::AllowOnce
            | Action::AllowForSession
            | Action::AllowAlways
            | Action::Deny
            | Action::DenyWithReason
            | Action::DenyAndInterrupt
            | Action::ChooseHunks
            | Action::SaveRule
            | Action::SendReason
            | Action::AcceptHunk
            | Action::RejectHunk
            | Action::AcceptRest
            | Action::RejectRest
            | Action::SplitHunk
            | Action::ApplyHunks => {}
        }
        Vec::new()
    }

    /// Enter: what the draft is decides what becomes of it.
    fn send(&mut self) -> Vec<Effect> {
        if self.composer.is_empty() {
            if self.queue.is_empty() {
                return Vec::new();
            }
            // A turn that runs is stopped for what waits.
            return vec![Effect::Send(Command::SendQueue)];
        }
        let Some(draft) = self.composer.submit(self.now) else {
            return Vec::new();
        };
        let mut effects = vec![Effect::Start(Job::KeepInHistory(draft.typed().to_owned()))];
        match draft {
            Draft::Message { blocks, shown } => effects.extend(self.submit(blocks, shown)),
            Draft::Slash { name, arguments } => effects.extend(self.slash(&name, &arguments)),
            Draft::Shell(command) => {
                self.scroll.follow();
                effects.push(Effect::Send(Command::Run(command)));
            }
            Draft::Note(note) => effects.push(Effect::Start(Job::Remember(note))),
        }
        effects
    }

    /// A message goes to the model; while a turn runs it waits.
    pub(super) fn submit(
        &mut self,
        blocks: Vec<crate::protocol::Block>,
        shown: String,
    ) -> Vec<Effect> {
        self.scroll.follow();
        if self.is_working() {
            self.queue.push(shown);
        } else {
            let images = blocks
                .iter()
                .filter(|block| matches!(block, crate::protocol::Block::Image(_)))
                .count();
            self.transcript.push(Cell::User {
                text: shown,
                images,
            });
            self.expected += 1;
            self.activity = Activity::Working(Work::begun(None, self.now));
            self.panel.start_turn();
        }
        vec![Effect::Send(Command::Submit(blocks))]
    }

    fn climb(&mut self, rung: Rung) -> Vec<Effect> {
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
                }
                return vec![Effect::Send(Command::Interrupt)];
            }
            Rung::Force => {
                if let Some(work) = self.work_mut() {
                    work.stage = Stage::Killing;
                }
                return vec![Effect::Send(Command::Interrupt)];
            }
            Rung::Draft => return self.composer.clear(self.now),
            Rung::ArmQuit => self.quit_armed = Some(self.now + QUIT_WINDOW),
            Rung::Quit => return vec![Effect::Quit(ExitReason::Asked)],
            Rung::Nothing => {}
        }
        Vec::new()
    }

    fn leave_focus(&mut self) {
        match self.focus {
            Focus::Panel if self.panel.detail.is_some() => self.panel.detail = None,
            Focus::Conversation => {
                self.focus = Focus::Composer;
                self.scroll.follow();
            }
            Focus::Panel | Focus::Composer => self.focus = Focus::Composer,
        }
    }

    fn next_mode(&mut self) -> Vec<Effect> {
        let at = CYCLE.iter().position(|mode| *mode == self.session.mode);
        let mode = CYCLE[at.map_or(0, |at| (at + 1) % CYCLE.len())];
        self.session.mode = mode;
        vec![Effect::Send(Command::SetMode(mode))]
    }

    fn toggle_diff_style(&mut self) {
        let wide = self.width >= super::WIDE_ENOUGH_FOR_TWO;
        let mut settings = (*self.settings).clone();
        settings.diff_style = match (settings.diff_style, wide) {
            (DiffStyle::Auto, true) | (DiffStyle::SideBySide, _) => DiffStyle::Unified,
            (DiffStyle::Auto, false) | (DiffStyle::Unified, _) => DiffStyle::SideBySide,
        };
        settings.theme_epoch += 1;
        self.settings = std::sync::Arc::new(settings);
    }

    fn toggle_thinking(&mut self) {
        let cells = self.transcript.entries().iter();
        let thoughts: Vec<(CellId, bool)> = cells
            .filter(|entry| matches!(entry.cell, Cell::Thinking { .. }))
            .map(|entry| (entry.id, entry.open))
            .collect();
        let open = !thoughts.last().is_some_and(|(_, open)| *open);
        for (id, _) in thoughts {
            self.transcript.change(id, |entry| entry.open = open);
        }
    }

    /// Opens the calls of the last answer in place, or folds them again.
    fn toggle_details(&mut self) {
        let entries = self.transcript.entries();
        let since = entries
            .iter()
            .rposition(|entry| matches!(entry.cell, Cell::User { .. }))
            .unwrap_or(0);
        let foldable: Vec<(CellId, bool)> = entries[since..]
            .iter()
            .filter(|entry| matches!(entry.cell, Cell::Call(_) | Cell::Thinking { .. }))
            .map(|entry| (entry.id, entry.open))
            .collect();
        let open = foldable.iter().any(|(_, open)| !open);
        for (id, _) in foldable {
            self.transcript.change(id, |entry| entry.open = open);
        }
    }

    /// Opens a cell that can be folded, or folds it again.
    pub(super) fn toggle(&mut self, cell: CellId) {
        let foldable = self
            .transcript
            .get(cell)
            .is_some_and(|entry| matches!(entry.cell, Cell::Call(_) | Cell::Thinking { .. }));
        if foldable {
            self.transcript.change(cell, |entry| entry.open = !entry.open);
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

    /// The first cell from there on that can be folded and is in view.
    fn toggle_first_from(&mut self, cell: CellId) {
        let last = self.scroll.rest.map_or(cell, |rest| rest.bottom.cell);
        let entries = self.transcript.entries().iter();
        let found = entries
            .skip_while(|entry| entry.id < cell)
            .take_while(|entry| entry.id <= last)
            .find(|entry| matches!(entry.cell, Cell::Call(_) | Cell::Thinking { .. }))
            .map(|entry| entry.id);
        if let Some(id) = found {
            self.toggle(id);
        }
    }

    fn travel(&mut self, action: Action) {
        match self.focus {
            Focus::Panel => self.travel_panel(action),
            Focus::Conversation if self.selection.is_some() => self.stretch(action),
            Focus::Conversation | Focus::Composer => self.travel_conversation(action),
        }
    }

    fn travel_conversation(&mut self, action: Action) {
        let motion = match action {
            Action::LineDown | Action::Next => Motion::Rows(1),
            Action::LineUp | Action::Previous => Motion::Rows(-1),
            Action::PageDown => Motion::HalfPages(2),
            Action::PageUp => Motion::HalfPages(-2),
            Action::HalfPageDown => Motion::HalfPages(1),
            Action::HalfPageUp => Motion::HalfPages(-1),
            Action::Top => Motion::Start,
            Action::Bottom => Motion::End,
            Action::NextMessage => match self.message_from_top(1) {
                Some(cell) => Motion::Cell(cell),
                None => Motion::End,
            },
            Action::PreviousMessage => match self.message_from_top(-1) {
                Some(cell) => Motion::Cell(cell),
                None => Motion::Start,
            },
            _ => return,
        };
        self.scroll.go(motion);
    }

    /// The next message of the person below what is on top, or the one before.
    fn message_from_top(&self, direction: isize) -> Option<CellId> {
        let top = self.scroll.rest?.top;
        let mut messages = self
            .transcript
            .entries()
            .iter()
            .filter(|entry| matches!(entry.cell, Cell::User { .. }))
            .map(|entry| entry.id);
        if direction > 0 {
            return messages.find(|id| *id > top.cell);
        }
        let above = messages.take_while(|id| *id < top.cell || (*id == top.cell && top.row > 0));
        above.last()
    }

    fn stretch(&mut self, action: Action) {
        let step = match action {
            Action::Left => Move::Left,
            Action::Right => Move::Right,
            Action::LineUp | Action::Previous => Move::Up,
            Action::LineDown | Action::Next => Move::Down,
            Action::WordRight => Move::WordForward,
            Action::WordLeft => Move::WordBack,
            Action::LineStart => Move::RowStart,
            Action::LineEnd => Move::RowEnd,
            _ => return,
        };
        if let Some(selection) = &mut self.selection {
            selection.moves.push(step);
        }
    }

    fn start_selection(&mut self) {
        self.focus = Focus::Conversation;
        if let Some(rest) = self.scroll.rest {
            let from = self.search.as_ref().and_then(super::search::Search::current);
            let spot = match from {
                Some((cell, _)) => super::select::Spot {
                    cell,
                    row: 0,
                    column: 0,
                },
                None => rest.top,
            };
            self.selection = Some(Selection::at(spot, Reach::Letters));
            self.selection_by_keys();
        }
    }

    /// A selection by keys is one from its first letter on.
    fn selection_by_keys(&mut self) {
        if let Some(selection) = &mut self.selection {
            selection.moves.push(Move::RowStart);
        }
    }

    fn copy(&mut self) -> Vec<Effect> {
        if self.focus == Focus::Panel {
            let Some(key) = self.panel.target() else {
                return Vec::new();
            };
            let text = as_text(self.calls.get(key));
            self.flash("copied the call");
            return vec![Effect::Copy(Copied::Text(text))];
        }
        if self.selection.is_some() {
            self.flash("copied");
            return vec![Effect::Copy(Copied::Selection)];
        }
        match self.last_answer() {
            Some(text) => {
                self.flash("copied the last answer");
                vec![Effect::Copy(Copied::Text(text))]
            }
            None => Vec::new(),
        }
    }

    fn last_answer(&self) -> Option<String> {
        let mut entries = self.transcript.entries().iter().rev();
        entries.find_map(|entry| match &entry.cell {
            Cell::Answer(answer) => Some(answer.text.clone()),
            _ => None,
        })
    }
}

/// The panel and its calls.
impl AppState {
    fn toggle_panel(&mut self) {
        if self.focus == Focus::Panel {
            self.panel.detail = None;
            self.focus = Focus::Composer;
        } else {
            self.focus_panel();
        }
    }

    pub(super) fn focus_panel(&mut self) {
        if self.panel.calls.is_empty() {
            self.flash("no tool has been called yet");
            return;
        }
        self.panel.choose_running(&self.calls);
        self.focus = Focus::Panel;
    }

    pub(super) fn open_detail(&mut self) {
        self.panel.detail = match self.panel.detail.take() {
            Some(_) => None,
            None => self.panel.chosen().map(|call| Detail { call, scroll: 0 }),
        };
    }

    fn open_chosen(&mut self) {
        self.panel.detail = self.panel.chosen().map(|call| Detail { call, scroll: 0 });
    }

    fn travel_panel(&mut self, action: Action) {
        let by: isize = match action {
            Action::LineDown | Action::Next => 1,
            Action::LineUp | Action::Previous => -1,
            Action::PageDown => 10,
            Action::PageUp => -10,
            Action::HalfPageDown => 5,
            Action::HalfPageUp => -5,
            Action::Top => isize::MIN / 2,
            Action::Bottom => isize::MAX / 2,
            _ => return,
        };
        if matches!(action, Action::Next | Action::Previous)
            && self.panel.detail.is_some()
        {
            self.panel.choose_next(by);
            self.open_chosen();
            return;
        }
        match &mut self.panel.detail {
            Some(detail) => detail.scroll = detail.scroll.saturating_add_signed(by),
            None => self.panel.choose_next(by),
        }
    }

    fn on_call(&mut self, command: impl FnOnce(&Call) -> Command) -> Vec<Effect> {
        match self.panel.target() {
            Some(key) => vec![Effect::Send(command(self.calls.get(key)))],
            None => Vec::new(),
        }
    }

    fn cancel_call(&mut self) -> Vec<Effect> {
        match self.panel.target().map(|key| self.calls.get(key)) {
            Some(call) if call.is_over() => {
                self.flash("this call is over already");
                Vec::new()
            }
            Some(call) => vec![Effect::Send(Command::Cancel(call.id.clone()))],
            None => Vec::new(),
        }
    }

    /// The chosen command, or from the input the one that runs, goes to the background.
    fn background(&mut self) -> Vec<Effect> {
        let runs = |call: &Call| {
            call.tool == "Bash" && matches!(call.state, State::Executing(Phase::Running))
        };
        let target = match self.focus {
            Focus::Panel => self.panel.target(),
            Focus::Composer | Focus::Conversation => {
                let mut calls = self.panel.calls.iter().rev().copied();
                calls.find(|key| runs(self.calls.get(*key)))
            }
        };
        match target.map(|key| self.calls.get(key)) {
            Some(call) if runs(call) => vec![Effect::Send(Command::Background(call.id.clone()))],
            Some(_) | None => {
                self.flash("only a running command can go to the background");
                Vec::new()
            }
        }
    }

    fn answer_by_hand(&mut self) {
        let Some(call) = self.panel.target().map(|key| self.calls.get(key)) else {
            return;
        };
        if call.is_over() {
            self.flash("this call has its result already");
            return;
        }
        let about = format!("{} {}", call.tool, call.subject());
        let dialog = ByHandDialog::new(call.id.clone(), about);
        self.dialogs.push(Dialog::ByHand(Box::new(dialog)));
    }
}

/// Dialogs.
impl AppState {
    fn perform_in_dialog(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Interrupt | Action::ClearOrQuit => return self.close_dialog(),
            Action::Redraw => return vec![Effect::Redraw],
            Action::Suspend => return vec![Effect::Suspend],
            Action::ToggleDiffStyle => {
                self.toggle_diff_style();
                return Vec::new();
            }
            _ => {}
        }
        let now = self.now;
        let Some(dialog) = self.dialogs.last_mut() else {
            return Vec::new();
        };
        match dialog {
            Dialog::Permission(permission) => {
                let verdict = permission.perform(action, now);
                self.obey_verdict(verdict)
            }
            Dialog::Pause(pause) => {
                if !pause.is_armed(now) {
                    return Vec::new();
                }
                match action {
                    Action::Choose | Action::AllowOnce => {
                        self.dialogs.pop();
                        vec![Effect::Send(Command::GoOn)]
                    }
                    Action::Deny | Action::Back => self.close_dialog(),
                    _ => Vec::new(),
                }
            }
            Dialog::ByHand(by_hand) => match action {
                Action::SendReason | Action::Choose | Action::Send => {
                    let answer = Command::AnswerByHand(by_hand.call.clone(), by_hand.text());
                    self.dialogs.pop();
                    vec![Effect::Send(answer)]
                }
                Action::Back => self.close_dialog(),
                _ => Vec::new(),
            },
            Dialog::Picker(picker) => {
                match action {
                    Action::Next | Action::LineDown => picker.choose_next(1),
                    Action::Previous | Action::LineUp => picker.choose_next(-1),
                    Action::PageDown => picker.choose_next(10),
                    Action::PageUp => picker.choose_next(-10),
                    Action::Choose | Action::Open => return self.choose(),
                    Action::Back => return self.close_dialog(),
                    _ => {}
                }
                self.preview_chosen();
                Vec::new()
            }
            Dialog::Help(help) => {
                match action {
                    Action::LineDown | Action::Next => help.scroll(1),
                    Action::LineUp | Action::Previous => help.scroll(-1),
                    Action::PageDown | Action::HalfPageDown => help.scroll(10),
                    Action::PageUp | Action::HalfPageUp => help.scroll(-10),
                    Action::Top => help.scroll(i64::MIN / 2),
                    Action::Bottom => help.scroll(i64::MAX / 2),
                    Action::Back | Action::Help => return self.close_dialog(),
                    _ => {}
                }
                Vec::new()
            }
        }
    }

    pub(super) fn ask_permission(&mut self, request: PermissionRequest) {
        let now = self.now;
        for dialog in &mut self.dialogs {
            if let Dialog::Permission(permission) = dialog {
                permission.push(request, now);
                return;
            }
        }
        let dialog = PermissionDialog::new(request, now);
        self.dialogs.push(Dialog::Permission(Box::new(dialog)));
    }

    /// A call waits no more: its question goes.
    pub(super) fn withdraw(&mut self, call: &CallId) {
        let now = self.now;
        self.dialogs.retain_mut(|dialog| match dialog {
            Dialog::Permission(permission) => {
                permission.withdraw(call, now);
                !permission.is_empty()
            }
            Dialog::Pause(_) | Dialog::ByHand(_) | Dialog::Picker(_) | Dialog::Help(_) => true,
        });
    }

    /// The turn is over: nobody waits for these answers any more.
    pub(super) fn close_turn_dialogs(&mut self) {
        self.dialogs
            .retain(|dialog| !matches!(dialog, Dialog::Permission(_) | Dialog::Pause(_)));
    }

    fn obey_verdict(&mut self, verdict: Option<Verdict>) -> Vec<Effect> {
        let (effects, over) = match verdict {
            None | Some(Verdict::Stays) => return Vec::new(),
            Some(Verdict::Answered(call, answer)) => {
                (vec![Effect::Send(Command::Answer(call, answer))], false)
            }
            Some(Verdict::AnsweredAndInterrupt(call)) => {
                let deny = Command::Answer(call, Answer::Deny { reason: None });
                (vec![Effect::Send(deny)], true)
            }
        };
        self.dialogs.retain(|dialog| match dialog {
            Dialog::Permission(permission) => !over && !permission.is_empty(),
            Dialog::Pause(_) | Dialog::ByHand(_) | Dialog::Picker(_) | Dialog::Help(_) => true,
        });
        let mut effects = effects;
        if over {
            effects.extend(self.climb(Rung::Interrupt));
        }
        effects
    }

    fn close_dialog(&mut self) -> Vec<Effect> {
        let now = self.now;
        match self.dialogs.last_mut() {
            Some(Dialog::Permission(permission)) => {
                let verdict = permission.perform(Action::DenyAndInterrupt, now);
                self.obey_verdict(verdict)
            }
            Some(Dialog::Pause(_)) => {
                self.dialogs.pop();
                self.climb(Rung::Interrupt)
            }
            Some(Dialog::Picker(_)) => {
                self.dialogs.pop();
                self.end_preview();
                Vec::new()
            }
            Some(Dialog::ByHand(_) | Dialog::Help(_)) => {
                self.dialogs.pop();
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// The palette: all that can be done, by name.
    fn open_palette(&mut self) {
        let commands = super::slash::COMMANDS.iter().map(|command| Item {
            label: format!("/{} {}", command.name, command.arguments)
                .trim_end()
                .to_owned(),
            about: command.about.to_owned(),
            choice: Choice::Slash(command.name),
        });
        let keymap = &self.settings.keymap;
        let actions = PALETTE.iter().map(|action| Item {
            label: action.explain().trim_end_matches('.').to_owned(),
            about: keymap
                .chord_for(*action, &[crate::keymap::Context::Composer, crate::keymap::Context::Working, crate::keymap::Context::Global, crate::keymap::Context::Scroll])
                .map(|chord| chord.to_string())
                .unwrap_or_default(),
            choice: Choice::Do(*action),
        });
        let picker = Picker::new("commands", commands.chain(actions).collect());
        self.dialogs.push(Dialog::Picker(picker));
    }
}

/// What the palette offers beside the commands.
const PALETTE: &[Action] = &[
    Action::Scroll,
    Action::Search,
    Action::TogglePanel,
    Action::ToggleDetails,
    Action::ToggleThinking,
    Action::ToggleDiffStyle,
    Action::NextMode,
    Action::SearchHistory,
    Action::OpenEditor,
    Action::Background,
    Action::PrintConversation,
    Action::Redraw,
    Action::Suspend,
    Action::Quit,
];

/// A call as text, for the clipboard.
fn as_text(call: &Call) -> String {
    let input = serde_json::to_string_pretty(&call.input).unwrap_or_default();
    let output = match call.completed() {
        Some(completed) => &completed.text,
        None => &call.output,
    };
    format!("{} {input}\n\n{output}\n", call.tool)
}
