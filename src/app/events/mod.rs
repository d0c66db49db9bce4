//! Applies the agent's events to the state.

mod calls;
mod past;
mod writing;

use std::time::{Duration, Instant};

use crate::app::call::Author;
use crate::app::commands::Commands;
use crate::app::dialogs::Dialog;
use crate::app::dialogs::pause::PauseDialog;
use crate::app::page::{Tone, lines};
use crate::app::transcript::{Cell, Changed, NoticeKind, Progress, Summary, SummaryEnding};
use crate::app::{Activity, AppState, Effect, Stage, Work};
use crate::protocol::todo::{Todo, TodoStatus};
use crate::protocol::{
    AgentEvent, Block, Ending, Message, SessionEvent, Told, TurnEvent, TurnId, TurnSummary,
};

/// Shown for a refused message when resuming, because its text was not saved.
const NOT_KEPT: &str = "(a message that was not sent)";
/// If a record's time is further in the future than this, the machine's clock was changed.
const CLOCKS_APART: Duration = Duration::from_secs(1);

impl AppState {
    pub(in crate::app) fn hear(&mut self, told: Told) -> Vec<Effect> {
        self.moment = match told.record {
            Some(record) => self.moment_of(record.at_ms),
            None => self.now,
        };
        self.transcript
            .tell_of(told.record.map(|record| record.seq));
        let effects = match told.event {
            AgentEvent::Session(event) => self.hear_session(event),
            AgentEvent::Turn(turn, event) => self.hear_turn(turn, event),
            AgentEvent::Call { call, event, .. } => self.hear_call(call, event),
        };
        self.transcript.tell_of(None);
        effects
    }

    /// When a record was written. Displayed times use this clock instead of the screen's, which hears of events a
    /// little later and again when the session is resumed.
    fn moment_of(&mut self, at_ms: u64) -> Instant {
        let now = self.now;
        let (known, then) = *self.clock.get_or_insert((at_ms, now));
        let apart = Duration::from_millis(at_ms.abs_diff(known));
        let moment = if at_ms < known {
            then.checked_sub(apart)
        } else {
            then.checked_add(apart)
                .filter(|at| *at <= now + CLOCKS_APART)
        };
        moment.unwrap_or_else(|| {
            // The machine's clock was changed.
            self.clock = Some((at_ms, now));
            now
        })
    }

    fn hear_session(&mut self, event: SessionEvent) -> Vec<Effect> {
        match event {
            SessionEvent::Opened(opened) => self.opened(opened),
            SessionEvent::RunBegan { provider, model } => self.run_began(&provider, &model),
            SessionEvent::Notice(text) => self.notice(NoticeKind::Warning, text),
            SessionEvent::Saving(saving) => self.session.unsaved = saving.err(),
            SessionEvent::Reply(text) => self.answer("Answer", lines(&text, Tone::Text)),
            SessionEvent::Rules(rules) => self.offer_rules(&rules),
            SessionEvent::Commands(custom) => self.composer.set_commands(Commands::with(custom)),
            SessionEvent::Agents(kinds) => self.list_agents(&kinds),
            SessionEvent::Tools(tools) => self.session.offer(tools),
            SessionEvent::ModeIs(mode) => self.session.mode = mode,
            SessionEvent::Renamed(_) => self.flash_done("session renamed"),
            SessionEvent::TakenBack(messages) => return self.taken_back(&messages),
        }
        Vec::new()
    }

    pub(in crate::app) fn notice(&mut self, kind: NoticeKind, text: impl Into<String>) {
        let text = text.into();
        self.transcript.push(Cell::Notice { kind, text });
    }

    /// Shows what went wrong, and what to do about it.
    pub(in crate::app) fn explain(&mut self, problem: String, hint: Option<String>) {
        self.notice(NoticeKind::Error, problem);
        if let Some(hint) = hint {
            self.notice(NoticeKind::Hint, hint);
        }
    }

    fn taken_back(&mut self, messages: &[Vec<Block>]) -> Vec<Effect> {
        let sends = std::mem::take(&mut self.sends_when_back);
        if messages.is_empty() {
            self.flash("already sent");
            return Vec::new();
        }
        let messages = self.queue.given_back(messages);
        if messages.is_empty() {
            self.flash_done("message removed");
            return Vec::new();
        }
        let texts: Vec<String> = messages.iter().map(|blocks| text_of(blocks)).collect();
        let blocks = messages.iter().flatten();
        let images: Vec<&Block> = blocks
            .filter(|block| matches!(block, Block::Image(_)))
            .collect();
        let text = texts.join("\n\n");
        let lost = self
            .composer
            .take_back_with_images(&text, &images, self.now);
        match lost {
            0 if sends => return self.send(),
            0 => {}
            1 => self.flash_error("an image could not be put back; attach it again"),
            lost => self.flash_error(format!(
                "{lost} images could not be put back; attach them again"
            )),
        }
        Vec::new()
    }

    fn hear_turn(&mut self, turn: TurnId, event: TurnEvent) -> Vec<Effect> {
        if turn.agent.is_subagent() {
            return Vec::new();
        }
        let event = match event {
            TurnEvent::Prompted(message) => {
                self.prompted(turn, &message);
                return Vec::new();
            }
            TurnEvent::Refused => {
                self.prompted(turn, &Message::user(NOT_KEPT));
                return Vec::new();
            }
            // Subagents in the background use tokens even while no turn runs.
            TurnEvent::Spent(spending) => {
                self.session.spending = spending;
                return Vec::new();
            }
            event => event,
        };
        let Some(work) = self.work_mut() else {
            return Vec::new();
        };
        if work.turn != Some(turn) {
            return Vec::new();
        }
        match event {
            // The first three were handled above; the others are visible in the states of the calls and in the next
            // request.
            TurnEvent::Prompted(_)
            | TurnEvent::Refused
            | TurnEvent::Spent(_)
            | TurnEvent::Delivered(_)
            | TurnEvent::GoneOn => {}
            TurnEvent::Requested { .. } => self.requested(),
            TurnEvent::Discarded => work.void = true,
            TurnEvent::Broken(text) => self.broken(text),
            TurnEvent::Retrying {
                problem,
                attempt,
                wait,
            } => self.retrying(problem, attempt, wait),
            TurnEvent::Text(text) => self.write(&text),
            TurnEvent::Thinking(text) => self.think(&text),
            TurnEvent::Paused { why } => {
                self.dialogs
                    .push(Dialog::Pause(PauseDialog::new(why.clone(), self.now)));
                return self.call_person(&why);
            }
            TurnEvent::Answered { .. } => self.answered(),
            TurnEvent::Planned(todos) => self.planned(todos),
            TurnEvent::Streamed => self.panel.response_ended(self.moment),
            TurnEvent::Saved(saved) => self.panel.save_time(saved),
            TurnEvent::Finished(summary) => return self.finished(&summary),
        }
        Vec::new()
    }

    /// A list on which everything is done is not shown.
    fn planned(&mut self, todos: Vec<Todo>) {
        let is_done = |todo: &Todo| todo.status == TodoStatus::Completed;
        self.todos = if todos.iter().all(is_done) {
            Vec::new()
        } else {
            todos
        };
    }

    fn prompted(&mut self, turn: TurnId, message: &Message) {
        if let Some(cell) = self.expected.pop_front() {
            self.transcript.recorded(cell);
        } else if let Some(text) = self.queue.take_first() {
            // In the words shown in the queue: long pastes stay folded.
            let images = images_in(&message.content);
            self.transcript.push(Cell::User { text, images });
        } else {
            self.push_user(message);
        }
        self.sends_when_back &= self.queue.returns();
        self.works_on(turn);
    }

    fn works_on(&mut self, turn: TurnId) {
        match &mut self.activity {
            Activity::Working(work) if work.turn.is_none_or(|known| known == turn) => {
                if work.turn.replace(turn).is_none() {
                    self.panel.start_turn(&self.calls);
                }
                if work.stage == Stage::MakingWay && self.queue.is_empty() {
                    // The message that it was stopping for has already gone out.
                    work.stage = Stage::Running;
                }
            }
            Activity::Working(_) | Activity::Idle => self.begin_turn(Some(turn)),
        }
    }

    pub(super) fn push_user(&mut self, message: &Message) {
        let text = shown_of(&message.content);
        let images = images_in(&message.content);
        if !text.is_empty() || images > 0 {
            self.transcript.push(Cell::User { text, images });
        }
    }

    fn requested(&mut self) {
        let now = self.moment;
        if self.work().is_some_and(|work| work.void) {
            self.void_response();
        }
        if let Some(work) = self.work_mut() {
            work.response.clear();
            work.heard = None;
            work.void = false;
            work.failed = None;
            if matches!(work.stage, Stage::Retrying { .. }) {
                work.stage = Stage::Running;
            }
        }
        self.panel.response_started(now);
    }

    /// The response broke off; what had arrived stays.
    fn broken(&mut self, text: String) {
        self.stop_writing(Progress::Cut);
        self.close_unwritten();
        self.panel.response_ended(self.moment);
        self.notice(NoticeKind::Warning, text);
    }

    /// A failed attempt is discarded: its text, and its calls that never ran.
    fn void_response(&mut self) {
        let cells = match self.work_mut() {
            Some(work) => std::mem::take(&mut work.response),
            None => return,
        };
        for cell in cells {
            let Some(entry) = self.transcript.get(cell) else {
                continue;
            };
            match &entry.cell {
                Cell::Call(key) if self.calls.get(*key).times.begun.is_some() => {}
                Cell::Call(key) => {
                    let key = *key;
                    self.panel.forget(key);
                    self.transcript.remove(cell);
                    self.close_call(key, "cut off");
                }
                Cell::Answer(_) | Cell::Thinking { .. } => self.transcript.remove(cell),
                Cell::Welcome | Cell::User { .. } | Cell::Notice { .. } | Cell::Summary(_) => {}
            }
        }
    }

    fn retrying(&mut self, problem: String, attempt: u32, wait: Duration) {
        self.stop_writing(Progress::Cut);
        let until = self.now + wait;
        self.panel.response_ended(self.moment);
        let Some(work) = self.work_mut() else { return };
        // An answer that the provider paused has not failed.
        work.failed = (attempt > 0).then(|| problem.clone());
        // A turn that is already stopping keeps stopping.
        if matches!(work.stage, Stage::Running | Stage::Retrying { .. }) {
            work.stage = Stage::Retrying {
                problem,
                attempt,
                until,
            };
        }
    }

    fn answered(&mut self) {
        self.stop_writing(Progress::Whole);
        self.panel.response_ended(self.moment);
    }

    fn finished(&mut self, summary: &TurnSummary) -> Vec<Effect> {
        let stopped = summary.ending != Ending::Done;
        let failed = self.work_mut().and_then(|work| work.failed.take());
        self.stop_writing(if stopped {
            Progress::Cut
        } else {
            Progress::Whole
        });
        self.panel.response_ended(self.moment);
        self.close_turn_dialogs();
        self.close_calls();
        let (calls, changed) = self.sum_up_calls();
        self.activity = Activity::Idle;
        self.panel.end_turn();
        self.let_panel_linger();
        let said = |ending| {
            Cell::Summary(Summary {
                took: summary.took,
                saved: self.panel.last().map_or(Duration::ZERO, |turn| turn.saved),
                calls,
                changed: changed.clone(),
                ending,
            })
        };
        match &summary.ending {
            Ending::Done => {
                let cell = said(SummaryEnding::Done);
                self.transcript.push(cell);
            }
            Ending::Interrupted => {
                let cell = said(SummaryEnding::Interrupted);
                if let Some(problem) = failed {
                    let text = format!("stopped while retrying: {}", in_short(&problem));
                    self.notice(NoticeKind::Warning, text);
                }
                self.transcript.push(cell);
            }
            Ending::MaxTurns => {
                self.notice(NoticeKind::Error, "turn limit reached");
                self.notice(NoticeKind::Hint, "send \"continue\" to keep going");
            }
            Ending::Failed { problem, hint } => self.explain(problem.clone(), hint.clone()),
        }
        self.call_person(match &summary.ending {
            Ending::Done => "done",
            Ending::Interrupted | Ending::MaxTurns | Ending::Failed { .. } => "stopped",
        })
    }

    /// How many calls the turn made, and what they changed.
    fn sum_up_calls(&self) -> (usize, Changed) {
        let calls = self.panel.calls().iter().map(|key| self.calls.get(*key));
        let mut count = 0;
        let mut changed = Changed::default();
        for call in calls.filter(|call| call.by == Author::Model) {
            count += 1;
            let sizes = call.completed().map_or(&[][..], |it| &it.changed);
            for change in sizes {
                changed.add(change);
            }
        }
        (count, changed)
    }

    /// Notifies the person, if they are looking elsewhere.
    pub(in crate::app) fn call_person(&self, why: &str) -> Vec<Effect> {
        if self.focused {
            return Vec::new();
        }
        vec![Effect::Notify(why.to_owned())]
    }
}

impl Work {
    pub fn begun(turn: Option<TurnId>, now: Instant) -> Self {
        Self {
            turn,
            since: now,
            stage: Stage::Running,
            response: Vec::new(),
            heard: None,
            void: false,
            failed: None,
        }
    }
}

/// A problem without the provider's own words about it.
pub fn in_short(problem: &str) -> &str {
    problem.split(": ").next().unwrap_or(problem)
}

/// What the person has written. The conversation already shows what their commands printed.
fn text_of(blocks: &[Block]) -> String {
    // Notes are for the model: the conversation already shows what the person's commands printed.
    let written = |block: &&Block| !matches!(block, Block::Text { note: Some(_), .. });
    Block::texts(blocks.iter().filter(written))
}

/// The same as it looked in the input.
fn shown_of(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text {
            text,
            shown,
            note: None,
            ..
        } => Some(shown.as_deref().unwrap_or(text)),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn images_in(blocks: &[Block]) -> usize {
    let images = blocks.iter();
    images
        .filter(|block| matches!(block, Block::Image(_)))
        .count()
}
