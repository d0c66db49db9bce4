//! A session is opened: all that was told of it before is heard once more, and seen again as it was.

use std::collections::HashMap;

use crate::app::commands::Commands;
use crate::app::transcript::{CellId, Progress};
use crate::app::{Activity, AppState};
use crate::protocol::{SessionOpened, Told};

impl AppState {
    pub(super) fn opened(&mut self, mut opened: SessionOpened) {
        let past = std::mem::take(&mut opened.past);
        let custom = &opened.extensions.commands;
        self.composer.set_commands(Commands::with(custom));
        self.session.opened(opened);
        if past.is_empty() {
            return;
        }
        // What was said while the agent still started stands behind the conversation that it resumes.
        let since = self.transcript.take_after_welcome();
        self.recall(past);
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

    /// Hears of the past. Nothing comes of it but what is seen: no command, no dialog, no call for the person.
    fn recall(&mut self, past: Vec<Told>) {
        let activity = std::mem::replace(&mut self.activity, Activity::Idle);
        let queue = std::mem::take(&mut self.queue);
        let expected = std::mem::take(&mut self.expected);
        let dialogs = std::mem::take(&mut self.dialogs);
        let (mode, spending) = (self.session.mode, self.session.spending);
        // The last of it is as good as now.
        let records = past.iter().rev().filter_map(|told| told.record);
        self.clock = records.map(|record| (record.at_ms, self.now)).next();
        for told in past {
            self.hear(told);
        }
        self.run_ended();
        self.hide_lingering_panel();
        self.clock = None;
        self.activity = activity;
        self.queue = queue;
        self.expected = expected;
        self.dialogs = dialogs;
        self.session.mode = mode;
        self.session.spending = spending;
    }

    /// A run of the program is over, and with it all that was under way.
    pub(super) fn run_ended(&mut self) {
        if self.is_working() {
            self.stop_writing(Progress::Cut);
            self.panel.response_ended(self.moment);
            self.panel.end_turn();
            self.activity = Activity::Idle;
        }
        self.calls.end_run(self.moment);
    }
}
