//! Applies the agent's events to the state.

mod calls;
mod nested;
mod past;
mod writing;

use std::time::{Duration, Instant};

use self::writing::Answering;
use crate::app::commands::Commands;
use crate::app::dialogs::Dialog;
use crate::app::dialogs::pause::PauseDialog;
use crate::app::job::Job;
use crate::app::page::{Tone, lines};
use crate::app::transcript::{Cell, NoticeKind, Progress, Summary, SummaryEnding};
use crate::app::{Activity, AppState, Effect, Stage, Work};
use crate::protocol::todo::{Todo, TodoStatus};
use crate::protocol::{
    AgentEvent, Block, Ending, Envelope, Message, SessionEvent, TurnEvent, TurnId, TurnSummary,
};

/// Shown for a refused message when resuming, because its text was not saved.
const NOT_KEPT: &str = "(a message that was not sent)";
/// If a record's time is further in the future than this, the machine's clock was changed.
const CLOCKS_APART: Duration = Duration::from_secs(1);

impl AppState {
    pub(in crate::app) fn on_event(&mut self, envelope: Envelope) -> Vec<Effect> {
        self.moment = match envelope.record {
            Some(record) => self.moment_of(record.at_ms),
            None => self.now,
        };
        self.transcript
            .begin_record(envelope.record.map(|record| record.seq));
        let effects = match envelope.event {
            AgentEvent::Session(event) => self.on_session_event(event),
            AgentEvent::Turn(turn, event) => self.on_turn_event(turn, event),
            AgentEvent::Call { call, event, .. } => self.on_call_event(call, event),
        };
        self.transcript.begin_record(None);
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

    fn on_session_event(&mut self, event: SessionEvent) -> Vec<Effect> {
        match event {
            SessionEvent::Opened(opened) => self.opened(opened),
            SessionEvent::RunBegan { provider, model } => self.run_began(&provider, &model),
            SessionEvent::Notice(text) => self.notice(NoticeKind::Warning, text),
            SessionEvent::Saving(saving) => self.session.unsaved = saving.err(),
            SessionEvent::Reply(text) => self.answer("Answer", lines(&text, Tone::Text)),
            SessionEvent::Rules(rules) => self.offer_rules(&rules),
            SessionEvent::Commands(custom) => self.composer.set_commands(Commands::with(&custom)),
            SessionEvent::Agents(kinds) => self.list_agents(&kinds),
            SessionEvent::Skills(skills) => self.list_skills(&skills),
            SessionEvent::Hooks(hooks) => self.list_hooks(&hooks),
            SessionEvent::Mcp(servers) => self.on_servers(servers),
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
        let sends = std::mem::take(&mut self.send_when_returned);
        if messages.is_empty() {
            self.flash("already sent");
            return Vec::new();
        }
        let messages = self.queue.returned(messages);
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
            0 => self.flash(match messages.len() {
                1 => "your queued message is back in the input".to_owned(),
                count => format!("{count} queued messages are back in the input, as one"),
            }),
            1 => self.flash_error("an image could not be put back; attach it again"),
            lost => self.flash_error(format!(
                "{lost} images could not be put back; attach them again"
            )),
        }
        Vec::new()
    }

    fn on_turn_event(&mut self, turn: TurnId, event: TurnEvent) -> Vec<Effect> {
        if turn.agent.is_subagent() {
            self.on_nested_event(turn, event);
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
            TurnEvent::Reopened { calls } => {
                self.reopened(turn, &calls);
                return Vec::new();
            }
            // Subagents in the background use tokens even while no turn runs.
            TurnEvent::Spent(spending) => {
                self.session.spending = spending;
                return Vec::new();
            }
            event => event,
        };
        if self.work().is_none_or(|work| work.turn != Some(turn)) {
            return Vec::new();
        }
        match event {
            TurnEvent::Paused { why } => {
                self.dialogs
                    .push(Dialog::Pause(PauseDialog::new(why.clone(), self.now)));
                return self.notify_person(&why);
            }
            TurnEvent::Planned(todos) => self.todos = unless_done(todos),
            TurnEvent::Finished(summary) => return self.finished(&summary),
            event => {
                if let Some(mut answering) = self.answering() {
                    answering.on_event(event);
                }
            }
        }
        Vec::new()
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
        self.send_when_returned &= self.queue.returns();
        self.continue_turn_work(turn);
    }

    fn continue_turn_work(&mut self, turn: TurnId) {
        match &mut self.activity {
            Activity::Working(work) if work.turn.is_none_or(|known| known == turn) => {
                if work.turn.replace(turn).is_none() {
                    self.panel.start_turn(&self.calls);
                }
                if work.stage == Stage::Interrupting && self.queue.is_empty() {
                    // The message that it was stopping for has already gone out.
                    work.stage = Stage::Running;
                }
            }
            Activity::Working(_) | Activity::Idle => self.begin_turn(Some(turn)),
        }
    }

    fn push_user(&mut self, message: &Message) {
        if let Some(cell) = user_cell(message) {
            self.transcript.push(cell);
        }
    }

    fn finished(&mut self, summary: &TurnSummary) -> Vec<Effect> {
        let stopped = summary.ending != Ending::Done;
        let failed = self.work_mut().and_then(|work| work.failed.take());
        self.close_turn_dialogs();
        let Some(mut answering) = self.answering() else {
            return Vec::new();
        };
        answering.end(if stopped {
            Progress::Cut
        } else {
            Progress::Whole
        });
        let cells = summary_cells(summary, failed.as_deref(), &answering);
        for cell in cells {
            answering.transcript.push(cell);
        }
        self.activity = Activity::Idle;
        self.panel.end_turn();
        self.keep_panel_briefly();
        let mut effects = self.notify_person(match &summary.ending {
            Ending::Done => "done",
            Ending::Interrupted | Ending::MaxTurns | Ending::Failed { .. } => "stopped",
        });
        if self.session.branch.is_none() {
            // At the start git may have been too slow to answer in time.
            effects.push(Effect::Start(Job::FindBranch));
        }
        effects
    }

    /// Notifies the person, if they are looking elsewhere.
    pub(in crate::app) fn notify_person(&self, why: &str) -> Vec<Effect> {
        if self.focused {
            return Vec::new();
        }
        vec![Effect::Notify(why.to_owned())]
    }
}

/// A list on which everything is done is not shown.
fn unless_done(todos: Vec<Todo>) -> Vec<Todo> {
    let is_done = |todo: &Todo| todo.status == TodoStatus::Completed;
    if todos.iter().all(is_done) {
        return Vec::new();
    }
    todos
}

impl Work {
    pub fn begun(turn: Option<TurnId>, now: Instant) -> Self {
        Self {
            turn,
            since: now,
            stage: Stage::Running,
            response: Vec::new(),
            last_text_at: None,
            void: false,
            failed: None,
        }
    }
}

/// The summary of a turn, as cells.
fn summary_cells(summary: &TurnSummary, failed: Option<&str>, answering: &Answering) -> Vec<Cell> {
    let (calls, changed) = answering.totals();
    let saved = answering.turn.saved;
    let cell = |ending| {
        Cell::Summary(Summary {
            took: summary.took,
            saved,
            calls,
            changed: changed.clone(),
            ending,
        })
    };
    let notice = |kind, text: &str| Cell::Notice {
        kind,
        text: text.to_owned(),
    };
    match &summary.ending {
        Ending::Done => vec![cell(SummaryEnding::Done)],
        Ending::Interrupted => {
            let retried = failed.map(|problem| {
                let text = format!("stopped while retrying: {}", short_problem(problem));
                notice(NoticeKind::Warning, &text)
            });
            let stopped = cell(SummaryEnding::Interrupted);
            retried.into_iter().chain([stopped]).collect()
        }
        Ending::MaxTurns => vec![
            notice(NoticeKind::Error, "turn limit reached"),
            notice(NoticeKind::Hint, "send \"continue\" to keep going"),
        ],
        Ending::Failed { problem, hint } => {
            let hint = hint.iter().map(|hint| notice(NoticeKind::Hint, hint));
            let problem = notice(NoticeKind::Error, problem);
            std::iter::once(problem).chain(hint).collect()
        }
    }
}

/// A problem without the provider's own words about it.
pub fn short_problem(problem: &str) -> &str {
    problem.split(": ").next().unwrap_or(problem)
}

/// What the person has written. The conversation already shows what their commands printed.
fn text_of(blocks: &[Block]) -> String {
    // Notes are for the model: the conversation already shows what the person's commands printed.
    let written = |block: &&Block| !matches!(block, Block::Text { note: Some(_), .. });
    Block::texts(blocks.iter().filter(written))
}

/// The cell of a message to the model, written by the person or by another agent; `None` if it is empty.
fn user_cell(message: &Message) -> Option<Cell> {
    let text = shown_of(&message.content);
    let images = images_in(&message.content);
    (!text.is_empty() || images > 0).then_some(Cell::User { text, images })
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
