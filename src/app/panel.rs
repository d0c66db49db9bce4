//! The tool panel: the calls of each turn on the turn's own clock, the selected one, and its detail view.

use std::time::{Duration, Instant};

use super::call::{Author, Call, CallKey, Calls};
use super::{Activity, AppState, Focus};
use crate::text::whole_seconds;

/// The width that the conversation keeps beside the panel.
pub const CONVERSATION: u16 = 100;
/// Names and bars need at least this width.
pub const NARROWEST: u16 = 36;
/// The terminal width from which on the panel has a place at the right. One column separates it from the conversation.
pub const WIDE_ENOUGH: u16 = CONVERSATION + 1 + NARROWEST;
/// How long it stays visible after the last call has ended.
const LINGERS: Duration = Duration::from_secs(10);
/// Background commands show seconds until they have run this long, then minutes.
const COUNTS_SECONDS: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolPanel {
    /// All turns so far, the oldest first.
    turns: Vec<Turn>,
    /// The turn that is shown; `None` for the last one.
    looked_at: Option<usize>,
    /// The selected row, while the panel is focused.
    pub chosen: usize,
    /// The detail view of a call, and how far it is scrolled.
    pub detail: Option<Detail>,
    /// It stays open when nothing runs.
    pub pinned: bool,
    /// Everything has ended; the panel stays until then.
    lingers: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    pub call: CallKey,
    pub scroll: usize,
    pub opener: Opener,
}

/// Where a call was opened, which is where closing it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// The part of the screen that had the keys.
    Screen(Focus),
    /// The list of background commands.
    Tasks,
}

/// What happened from a message to the end of the answer, or what the person ran while no turn was running.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// `None` for the person's commands.
    pub number: Option<usize>,
    /// Its calls, in order of arrival.
    pub calls: Vec<CallKey>,
    /// When the model was writing: each response; the last one may still be open.
    pub writing: Vec<(Instant, Option<Instant>)>,
    /// Time saved because tools worked while the model was still writing.
    pub saved: Duration,
    pub is_over: bool,
}

/// A row of the list that can be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListRow {
    pub call: CallKey,
    pub place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A call of the turn; the calls of a subagent are indented below the call that started it.
    Turn { depth: u16 },
    /// Runs in the background, from any turn.
    Background { depth: u16 },
}

impl Place {
    pub const fn depth(self) -> u16 {
        match self {
            Place::Turn { depth } | Place::Background { depth } => depth,
        }
    }

    pub const fn is_background(self) -> bool {
        matches!(self, Place::Background { .. })
    }
}

impl ToolPanel {
    /// Another turn begins. The person's running commands stay in the list.
    pub fn start_turn(&mut self, known: &Calls) {
        let still = |key: &&CallKey| {
            let call = known.get(**key);
            call.by == Author::Person && !call.is_over()
        };
        let calls = self.calls().iter().filter(still).copied().collect();
        let before = self.turns.iter().filter_map(|turn| turn.number).max();
        self.end_turn();
        self.turns.push(Turn {
            number: Some(before.unwrap_or(0) + 1),
            calls,
            ..Turn::default()
        });
        self.looked_at = None;
        self.chosen = 0;
        self.lingers = None;
    }

    pub fn end_turn(&mut self) {
        if let Some(turn) = self.turns.last_mut() {
            turn.is_over = true;
        }
    }

    /// The last turn was cut off, and continues.
    pub fn reopen_turn(&mut self) {
        if let Some(turn) = self.turns.last_mut() {
            turn.is_over = false;
        }
        self.lingers = None;
    }

    /// A command of the person belongs to the running turn, or to their other commands that still run.
    pub fn add_aside(&mut self, call: CallKey, known: &Calls) {
        let runs = |key: &CallKey| !known.get(*key).is_over();
        let joins = self.turns.last().is_some_and(|turn| match turn.number {
            Some(_) => !turn.is_over,
            None => turn.calls.iter().any(runs),
        });
        if !joins {
            self.turns.push(Turn::default());
            self.looked_at = None;
        }
        self.lingers = None;
        self.last_mut().calls.push(call);
    }

    /// All turns so far, the oldest first.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The running turn, or the last one.
    pub fn last(&self) -> Option<&Turn> {
        self.turns.last()
    }

    pub(super) fn last_mut(&mut self) -> &mut Turn {
        if self.turns.is_empty() {
            self.turns.push(Turn::default());
        }
        self.turns.last_mut().expect("one was just added")
    }

    /// The calls of the running turn, or of the last one.
    pub fn calls(&self) -> &[CallKey] {
        self.turns.last().map_or(&[], |turn| &turn.calls)
    }

    /// The turn that is shown.
    pub fn shown(&self) -> Option<&Turn> {
        match self.looked_at {
            Some(at) => self.turns.get(at),
            None => self.turns.last(),
        }
    }

    /// Shows a later turn, or an earlier one if negative. Returns whether there is one.
    pub fn go_to_turn(&mut self, by: isize) -> bool {
        let (at, to, last) = self.turn_at(by);
        self.looked_at = (to < last).then_some(to);
        self.chosen = 0;
        to != at
    }

    /// Whether there is a later turn to show, or an earlier one if negative.
    pub fn has_turn(&self, by: isize) -> bool {
        let (at, to, _) = self.turn_at(by);
        to != at
    }

    /// The index of the turn that is shown, of the one that is this far from it, and of the last one.
    fn turn_at(&self, by: isize) -> (usize, usize, usize) {
        let last = self.turns.len().saturating_sub(1);
        let at = self.looked_at.unwrap_or(last);
        (at, at.saturating_add_signed(by).min(last), last)
    }

    /// Shows the last turn that has calls, if the last one has none.
    pub fn look_at_calls(&mut self) {
        let last = self.turns.len().saturating_sub(1);
        let found = self.turns.iter().rposition(|turn| !turn.calls.is_empty());
        self.looked_at = found.filter(|at| *at < last);
    }
}

/// How long a command has run in the background, in seconds or minutes.
pub fn background_time(passed: Duration) -> String {
    if passed < COUNTS_SECONDS {
        whole_seconds(passed.as_secs())
    } else {
        format!("{}m", passed.as_secs() / 60)
    }
}

impl Turn {
    pub fn response_started(&mut self, now: Instant) {
        self.response_ended(now);
        self.writing.push((now, None));
    }

    pub fn response_ended(&mut self, now: Instant) {
        if let Some((_, end @ None)) = self.writing.last_mut() {
            *end = Some(now);
        }
    }

    /// When its clock starts: with the first request, or with the person's first command.
    pub fn start(&self, known: &Calls) -> Option<Instant> {
        let written = self.writing.first().map(|(from, _)| *from);
        written.or_else(|| {
            let first = self.calls.first()?;
            Some(known.get(*first).times.arrived)
        })
    }

    /// The last moment so far: `now`, unless everything has ended.
    pub fn end(&self, known: &Calls, now: Instant) -> Instant {
        let calls = || self.calls.iter().map(|key| known.get(*key));
        let runs = |call: &Call| !call.is_over() && (call.by == Author::Person || !self.is_over);
        let writes = self.writing.last().is_some_and(|(_, end)| end.is_none());
        if writes || calls().any(runs) || self.number.is_some() && !self.is_over {
            return now;
        }
        let wrote = self.writing.iter().filter_map(|(_, end)| *end);
        let ran = calls().filter_map(|call| call.times.ended);
        wrote.chain(ran).max().unwrap_or(now)
    }
}

impl AppState {
    /// The turn whose calls are listed: that of the conversation in view.
    pub fn listed_turn(&self) -> Option<&Turn> {
        match self.viewed() {
            Some(nested) => Some(&nested.turn),
            None => self.panel.shown(),
        }
    }

    /// The rows that can be selected, from the top: the turn's calls, then what runs in the background, each with the
    /// calls of its subagent.
    pub fn rows(&self) -> Vec<ListRow> {
        let calls = self.listed_turn().map_or(&[][..], |turn| &turn.calls);
        let mut rows = Vec::with_capacity(calls.len());
        for call in calls {
            if !self.calls.get(*call).is_in_background() {
                self.add_rows(*call, |depth| Place::Turn { depth }, &mut rows);
            }
        }
        for call in self.calls.in_background() {
            self.add_rows(call, |depth| Place::Background { depth }, &mut rows);
        }
        rows
    }

    fn add_rows(&self, call: CallKey, place: fn(u16) -> Place, rows: &mut Vec<ListRow>) {
        rows.push(ListRow {
            call,
            place: place(0),
        });
        if let Some(nested) = self.subagents.of_call(call) {
            let listed = nested.listed(&self.calls).into_iter();
            rows.extend(listed.map(|call| ListRow {
                call,
                place: place(1),
            }));
        }
    }

    pub(super) fn choose_next(&mut self, by: isize) {
        let last = self.rows().len().saturating_sub(1);
        let panel = &mut self.panel;
        panel.chosen = panel.chosen.min(last).saturating_add_signed(by).min(last);
    }

    pub fn chosen_call(&self) -> Option<CallKey> {
        self.rows().get(self.panel.chosen).map(|row| row.call)
    }

    /// The call that actions apply to: the one in the detail view, else the selected one.
    pub fn target_call(&self) -> Option<CallKey> {
        let detail = self.panel.detail.as_ref().map(|detail| detail.call);
        detail.or_else(|| self.chosen_call())
    }

    /// Selects the call that the person most likely wants when the panel gets the keys: the running one.
    pub(super) fn choose_running(&mut self) {
        let rows = self.rows();
        let of_turn = |row: &ListRow| !row.place.is_background();
        let runs = |row: &ListRow| !self.calls.get(row.call).is_over();
        let running = rows
            .iter()
            .rposition(|row| row.place.depth() == 0 && runs(row));
        let last = rows.iter().rposition(of_turn);
        self.panel.chosen = running.or(last).unwrap_or(rows.len().saturating_sub(1));
    }

    /// Whether to show the panel, if there is room for it.
    pub fn shows_panel(&self) -> bool {
        let lingers = self.panel.lingers.is_some_and(|until| self.now < until);
        let asked_for = self.panel.pinned || self.focus == Focus::Panel;
        let viewed = self.viewed();
        let of_view = viewed.is_some_and(|nested| !nested.turn.calls.is_empty());
        !self.calls.is_empty() && (asked_for || lingers || of_view || self.has_running_calls())
    }

    /// Whether something worth watching runs: a turn that has called tools, or a command of the person.
    fn has_running_calls(&self) -> bool {
        let works = matches!(self.activity, Activity::Working(_));
        works && !self.panel.calls().is_empty() || self.running_aside().is_some()
    }

    /// Everything has ended: the panel stays for a moment.
    pub(super) fn keep_panel_briefly(&mut self) {
        if !self.panel.calls().is_empty() && !self.has_running_calls() {
            self.panel.lingers = Some(self.now + LINGERS);
        }
    }

    pub(super) fn hide_lingering_panel(&mut self) {
        self.panel.lingers = None;
    }

    /// When the panel or the strip changes by time alone while nothing else runs.
    pub(super) fn panel_wakes_at(&self) -> Option<Instant> {
        let until = self.panel.lingers;
        let gone = until.filter(|until| *until > self.now && !self.panel.pinned);
        let calls = self.calls.in_background();
        let counts = calls.filter_map(|key| {
            let since = self.calls.get(key).background_since()?;
            let passed = self.now.saturating_duration_since(since);
            let step = if passed < COUNTS_SECONDS {
                Duration::from_secs(1)
            } else {
                Duration::from_secs(60)
            };
            let steps = passed.as_secs() / step.as_secs() + 1;
            Some(since + step * u32::try_from(steps).unwrap_or(u32::MAX))
        });
        counts.chain(gone).min()
    }
}
