//! Resuming: applies all earlier events of the session again, so that it looks as it did before.

use std::collections::HashMap;

use crate::app::call::Call;
use crate::app::commands::Commands;
use crate::app::transcript::{CellId, NoticeKind, Progress};
use crate::app::{Activity, AppState, Work};
use crate::protocol::{CallRef, Envelope, SessionOpened, TurnId};

impl AppState {
    pub(super) fn opened(&mut self, mut opened: SessionOpened) {
        let past = std::mem::take(&mut opened.past);
        let custom = &opened.extensions.commands;
        self.composer.set_commands(Commands::with(custom));
        let wanted = self.session.wanted_model.take();
        let (provider, model) = (opened.provider.clone(), opened.model.clone());
        self.session.opened(opened);
        match wanted {
            Some(wanted) if wanted == model => {
                self.flash_done(format!("using {model} ({provider})"));
            }
            Some(wanted) => {
                let text = format!("no model named {wanted}; still using {model}");
                self.flash_error(text);
            }
            None => {}
        }
        if past.is_empty() {
            return;
        }
        // Notices from the time before the agent was ready come after the conversation that it resumes.
        let since = self.transcript.take_after_welcome();
        self.recall(past);
        self.note_model_switch(&provider, &model);
        if !since.is_empty() {
            self.selection = None;
            self.end_search();
        }
        let mut moved: HashMap<CellId, CellId> = HashMap::new();
        for entry in since {
            let id = self.transcript.push(entry.cell);
            self.transcript.change(id, |it| {
                it.open = entry.open;
                it.unfolded = entry.unfolded;
            });
            moved.insert(entry.id, id);
        }
        for cell in &mut self.expected {
            *cell = moved.get(cell).copied().unwrap_or(*cell);
        }
    }

    /// Applies past events. They only change what is shown: no command, no dialog, no notification.
    fn recall(&mut self, past: Vec<Envelope>) {
        let activity = std::mem::replace(&mut self.activity, Activity::Idle);
        let queue = std::mem::take(&mut self.queue);
        let expected = std::mem::take(&mut self.expected);
        let dialogs = std::mem::take(&mut self.dialogs);
        let (mode, spending) = (self.session.mode, self.session.spending);
        let flash = self.flash.take();
        // The last record counts as now.
        let records = past.iter().rev().filter_map(|envelope| envelope.record);
        self.clock = records.map(|record| (record.at_ms, self.now)).next();
        for envelope in past {
            self.on_event(envelope);
        }
        self.run_ended();
        self.hide_lingering_panel();
        self.clock = None;
        self.flash = flash;
        self.activity = activity;
        self.queue = queue;
        self.expected = expected;
        self.dialogs = dialogs;
        self.session.mode = mode;
        self.session.spending = spending;
    }

    /// Another run of the program continues the session.
    pub(super) fn run_began(&mut self, provider: &str, model: &str) {
        self.run_ended();
        self.note_model_switch(provider, model);
    }

    /// Says where in the conversation another model takes over.
    fn note_model_switch(&mut self, provider: &str, model: &str) {
        let before = self.session.last_model.replace(model.to_owned());
        if before.is_some_and(|before| before != model) {
            let text = format!("switched to {model} ({provider})");
            self.notice(NoticeKind::Info, text);
        }
    }

    /// The program ended while these calls waited for the person. They and their turn continue.
    pub(super) fn reopened(&mut self, turn: TurnId, calls: &[CallRef]) {
        match &mut self.activity {
            // A message was sent in the meantime; it is queued for this turn.
            Activity::Working(work) => work.turn = Some(turn),
            Activity::Idle => {
                self.activity = Activity::Working(Work::begun(Some(turn), self.now));
            }
        }
        self.panel.reopen_turn();
        self.reopen_calls(calls);
    }

    pub(super) fn reopen_calls(&mut self, calls: &[CallRef]) {
        for call in calls {
            if let Some(key) = self.calls.find(*call) {
                self.calls.change(key, Call::reopen);
            }
        }
    }

    /// A run of the program ended, and everything that was running ended with it.
    pub(super) fn run_ended(&mut self) {
        if let Some(mut answering) = self.answering() {
            answering.stop_writing(Progress::Cut);
            answering.turn.response_ended(answering.moment);
            self.panel.end_turn();
            self.activity = Activity::Idle;
        }
        self.end_nested();
        self.calls.end_run(self.moment);
    }
}
