//! The tool panel: the calls of the turn, the one chosen among them, and its detail view.

use std::time::{Duration, Instant};

use super::call::{Author, CallKey, Calls};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolPanel {
    /// The calls of the turn, or of the last one, in the order in which they came.
    pub calls: Vec<CallKey>,
    /// The chosen one, while the panel is focused.
    pub chosen: usize,
    /// The detail view of a call, with how far it is scrolled.
    pub detail: Option<Detail>,
    pub stream: Stream,
    /// Work that the tools did while the model was still writing.
    pub saved: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    pub call: CallKey,
    pub scroll: usize,
}

/// When the model wrote, for the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stream {
    /// Each response of the turn; the last one may still be open.
    pub spans: Vec<(Instant, Option<Instant>)>,
}

impl ToolPanel {
    /// Another turn begins; the calls of the one before are in the conversation. What the person runs beside the turns
    /// stays as long as it runs.
    pub fn start_turn(&mut self, known: &Calls) {
        let detail = self.detail.take();
        let mut calls = std::mem::take(&mut self.calls);
        calls.retain(|key| {
            let call = known.get(*key);
            call.by == Author::Person && !call.is_over()
        });
        *self = Self {
            calls,
            detail,
            ..Self::default()
        };
    }

    pub fn add(&mut self, call: CallKey) {
        self.calls.push(call);
    }

    pub fn response_started(&mut self, now: Instant) {
        self.response_ended(now);
        self.stream.spans.push((now, None));
    }

    pub fn response_ended(&mut self, now: Instant) {
        if let Some((_, end @ None)) = self.stream.spans.last_mut() {
            *end = Some(now);
        }
    }

    pub fn chosen(&self) -> Option<CallKey> {
        self.calls.get(self.chosen).copied()
    }

    pub fn choose_next(&mut self, by: isize) {
        let last = self.calls.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
    }

    /// The call that actions are for: the one in detail, else the chosen one.
    pub fn target(&self) -> Option<CallKey> {
        self.detail
            .as_ref()
            .map(|detail| detail.call)
            .or_else(|| self.chosen())
    }

    /// Chooses the call that a person most likely wants when the panel gets the keys: the one that runs.
    pub fn choose_running(&mut self, calls: &Calls) {
        let running = self
            .calls
            .iter()
            .rposition(|key| !calls.get(*key).is_over());
        self.chosen = running.unwrap_or(self.calls.len().saturating_sub(1));
    }
}
