//! The screen as a machine: one state, and one function that takes a [`Msg`] and returns [`Effect`]s.
//!
//! Pure: no clock, no disk, no terminal. Time comes in through [`AppState::now`]; slow work goes out as an effect and
//! its result comes back as a message. `ui` decides how the state looks.

mod asking;
pub mod call;
pub mod commands;
pub mod composer;
pub mod dialogs;
pub mod diff;
pub mod escape;
mod events;
pub mod flash;
pub mod folding;
pub mod job;
mod jobs_done;
pub mod page;
pub mod panel;
mod perform;
mod permissions;
mod pickers;
pub mod pointer;
pub mod preview;
pub mod queue;
mod queue_list;
pub mod scroll;
pub mod search;
pub mod select;
mod servers;
pub mod session;
mod sessions;
mod slash;
pub mod subagents;
mod tasks;
pub mod transcript;
mod typing;
mod why;

#[cfg(test)]
pub mod rig;
#[cfg(test)]
mod rig_subagents;
#[cfg(test)]
pub mod sample_session;
#[cfg(test)]
pub mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::KeyEvent;

use self::call::Calls;
use self::composer::Composer;
use self::dialogs::Dialog;
pub use self::events::short_problem;
use self::flash::Flash;
use self::job::{Job, JobResult};
use self::panel::ToolPanel;
use self::pointer::Pointer;
use self::queue::Queue;
use self::scroll::{Found, Scroll};
use self::search::Search;
use self::select::Selection;
use self::session::SessionInfo;
use self::subagents::{Subagents, View};
use self::transcript::{Cell, CellId, Transcript};
use crate::keymap::{Context, Key, Keymap};
use crate::protocol::todo::Todo;
use crate::protocol::{Command, Envelope, Mode, TurnId};
use crate::settings::trust::Review;
use crate::theme::{Depth, Theme};

/// What the screen is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Msg {
    Key(KeyEvent),
    Pasted(String),
    Pointed(Pointer),
    Resized {
        width: u16,
        height: u16,
    },
    /// The terminal window gained or lost the focus.
    Focused(bool),
    Agent(Envelope),
    /// The agent's task has ended, which should never happen.
    AgentLost,
    /// Another conversation could not be opened, so the previous one is restored.
    Refused {
        problem: String,
        hint: Option<String>,
    },
    /// The person wants to choose a session.
    SessionsWanted,
    /// The agent waits for the person's decision about the project.
    TrustAsked(Box<Review>),
    /// The result of an [`Effect::Start`].
    JobDone(JobResult),
    /// The layout has done the scrolling.
    LaidOut(Found),
    /// The moment that [`AppState::wake_at`] asked for.
    Tick,
}

/// What the screen asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Send(Command),
    Start(Job),
    /// Copy a text or the selection to the clipboard.
    Copy(Copied),
    /// Leave this conversation and open another.
    Open(Opening),
    /// Whether the person trusts the project.
    Trust(bool),
    /// Notify the person, who is looking elsewhere.
    Notify(String),
    Redraw,
    Suspend,
    /// Print the whole conversation to the normal screen, where the terminal can scroll and search it.
    PrintConversation,
    Quit(ExitReason),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Copied {
    Text(String),
    Selection,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    pub session: OpeningSession,
    /// The model to switch to, if another one.
    pub model: Option<String>,
    /// The permission mode to use; `None` for the one in the settings.
    pub mode: Option<Mode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpeningSession {
    New,
    /// The open one, or the one with that id.
    Same,
    Id(String),
    /// A copy of the one with that id.
    Fork(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// The person asked for it.
    Asked,
    /// The agent is gone.
    Lost,
}

/// What a person can configure about the screen; replaced as a whole.
#[derive(Debug, Clone)]
pub struct Settings {
    pub keymap: Keymap,
    pub theme: Theme,
    /// How many colours the terminal has.
    pub depth: Depth,
    /// Changes with the theme, so that cached drawings become invalid.
    pub theme_epoch: u64,
    pub diff_style: DiffStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiffStyle {
    /// Side by side if there is room.
    #[default]
    Auto,
    Unified,
    SideBySide,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    Idle,
    Working(Work),
}

/// A turn that is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// `None` until the agent has accepted the message.
    pub turn: Option<TurnId>,
    pub since: Instant,
    pub stage: Stage,
    /// The cells that the current response has created so far.
    pub response: Vec<CellId>,
    /// When its last text arrived.
    pub last_text_at: Option<Instant>,
    /// What that response has shown is removed when it is requested again.
    pub void: bool,
    /// Why the last request failed, if it is going to be retried.
    pub failed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    Running,
    /// A request failed and waits for its retry.
    Retrying {
        problem: String,
        attempt: u32,
        until: Instant,
    },
    /// The person has interrupted it; calls that must not be cut off finish first.
    Stopping,
    /// It stops so that the queued messages can be sent.
    Interrupting,
    /// Being killed: nothing is allowed to finish.
    Killing,
}

/// What has the keys when no dialog is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    #[default]
    Composer,
    Conversation,
    Panel,
}

pub struct AppState {
    /// The runtime sets it before each batch of messages; time is an input.
    pub now: Instant,
    /// When the event that is being applied happened.
    moment: Instant,
    /// A reading of the records' clock and our own at the same moment.
    clock: Option<(u64, Instant)>,
    pub width: u16,
    pub height: u16,
    /// How wide the diff in front is.
    diff_width: u16,
    /// Whether the terminal window has the focus; `true` for terminals that don't report it.
    pub focused: bool,
    pub focus: Focus,
    pub activity: Activity,
    pub transcript: Transcript,
    pub calls: Calls,
    /// The conversations of subagents.
    pub subagents: Subagents,
    /// The subagent's conversation that is shown instead of the main one.
    pub view: Option<View>,
    pub scroll: Scroll,
    pub search: Option<Search>,
    pub selection: Option<Selection>,
    pub composer: Composer,
    /// Messages that wait for the running turn to finish.
    pub queue: Queue,
    /// The model's todo list, while something on it is open.
    pub todos: Vec<Todo>,
    /// The MCP servers.
    pub(in crate::app) servers: servers::Servers,
    /// Enter was pressed while queued messages were on their way back to the input: they are sent once they are there.
    send_when_returned: bool,
    /// Messages that are already shown, but that the agent has not accepted yet.
    expected: VecDeque<CellId>,
    pub panel: ToolPanel,
    /// The last one has the keys, unless the person looks back.
    pub dialogs: Vec<Dialog>,
    /// The person left a question to look at the conversation; it ignores keys until they return.
    viewing_conversation: bool,
    pub session: SessionInfo,
    pub settings: Arc<Settings>,
    /// Set while another Ctrl+C would quit.
    pub quit_armed: Option<Instant>,
    /// How many background commands `/quit` has warned about, and until when another `/quit` quits.
    quit_warned: Option<(usize, Instant)>,
    pub flash: Option<Flash>,
    /// The theme before another one was previewed.
    theme_before: Option<Theme>,
    /// The name of a theme that may be one of the person's own, which are still being read.
    theme_wanted: Option<String>,
    /// The first key of a sequence.
    pending: Option<Key>,
}

/// How long the first Ctrl+C is remembered.
const QUIT_WINDOW: Duration = Duration::from_secs(2);
/// The width from which on a diff has two columns.
pub const WIDE_ENOUGH_FOR_TWO: u16 = 140;
/// How often running seconds are redrawn.
const SECONDS: Duration = Duration::from_millis(200);

impl AppState {
    pub fn new(settings: Arc<Settings>, workspace: &str, now: Instant) -> Self {
        let mut transcript = Transcript::default();
        transcript.push(Cell::Welcome);
        Self {
            now,
            moment: now,
            clock: None,
            width: 80,
            height: 24,
            diff_width: 0,
            focused: true,
            focus: Focus::Composer,
            activity: Activity::Idle,
            transcript,
            calls: Calls::default(),
            subagents: Subagents::default(),
            view: None,
            scroll: Scroll::default(),
            search: None,
            selection: None,
            composer: Composer::default(),
            queue: Queue::default(),
            todos: Vec::new(),
            servers: servers::Servers::default(),
            send_when_returned: false,
            expected: VecDeque::new(),
            panel: ToolPanel::default(),
            dialogs: Vec::new(),
            viewing_conversation: false,
            session: SessionInfo {
                workspace: workspace.to_owned(),
                ..SessionInfo::default()
            },
            settings,
            quit_armed: None,
            quit_warned: None,
            flash: None,
            theme_before: None,
            theme_wanted: None,
            pending: None,
        }
    }

    /// When the screen changes by time alone. With `None` the program sleeps.
    pub fn wake_at(&self) -> Option<Instant> {
        let seconds = match &self.activity {
            Activity::Working(work) => Some(next_step(work.since, self.now)),
            Activity::Idle => {
                let begun = self.running_aside().map(|call| call.times.arrived);
                begun.map(|begun| next_step(begun, self.now))
            }
        };
        let dialog = self
            .dialogs
            .last()
            .and_then(|dialog| dialog.wake_at(self.now));
        let flash = self.flash.as_ref().map(|flash| flash.until);
        let draft = self.composer.wake_at();
        let panel = self.panel_wakes_at();
        let servers = self.servers_wake_at();
        let quit = self.quit_armed;
        [seconds, dialog, flash, draft, panel, servers, quit]
            .into_iter()
            .flatten()
            .min()
    }

    pub fn is_working(&self) -> bool {
        matches!(self.activity, Activity::Working(_))
    }

    pub fn work(&self) -> Option<&Work> {
        match &self.activity {
            Activity::Working(work) => Some(work),
            Activity::Idle => None,
        }
    }

    fn work_mut(&mut self) -> Option<&mut Work> {
        match &mut self.activity {
            Activity::Working(work) => Some(work),
            Activity::Idle => None,
        }
    }

    fn running_aside(&self) -> Option<&call::Call> {
        let mut asides = self.panel.calls().iter().map(|key| self.calls.get(*key));
        asides.find(|call| call.by == call::Author::Person && !call.is_over())
    }

    /// Whether Esc in the input goes to the end of the conversation. After scrolling it does so even while a turn runs:
    /// someone who pressed Esc to leave scrolling and presses it again wants to go back, not to stop the turn.
    fn is_away_from_end(&self) -> bool {
        let rests = self.turn_step().is_none() && self.composer.is_empty();
        self.scroll.is_parked() || (rests && !self.scroll.is_following())
    }

    /// The contexts that the next key is looked up in, the innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        if let Some(dialog) = self.dialogs.last().filter(|_| !self.viewing_conversation) {
            return vec![dialog.context(), Context::Global];
        }
        let mut contexts = Vec::with_capacity(5);
        match self.focus {
            Focus::Conversation if self.search.as_ref().is_some_and(Search::is_typing) => {
                contexts.push(Context::Search);
            }
            Focus::Conversation => {
                if self.selection.is_some() {
                    contexts.push(Context::Select);
                }
                contexts.push(Context::Scroll);
            }
            Focus::Panel if self.panel.detail.is_some() => contexts.push(Context::Detail),
            Focus::Panel => contexts.push(Context::Panel),
            Focus::Composer => {
                contexts.extend(self.composer.contexts());
                if self.is_away_from_end() {
                    contexts.push(Context::Scrolled);
                }
            }
        }
        if let Some(work) = self.work() {
            // These keys are available only if nothing is typed and they mean nothing else.
            let is_free = contexts.first() == Some(&Context::ComposerEmpty);
            if matches!(work.stage, Stage::Retrying { .. }) && is_free {
                contexts.insert(0, Context::Retry);
            }
        }
        if self.turn_step().is_some() {
            contexts.push(Context::Working);
        }
        contexts.push(Context::Global);
        contexts
    }
}

/// Takes a message, changes the state, and returns what to do.
pub fn update(state: &mut AppState, msg: Msg) -> Vec<Effect> {
    let open = state.dialogs.len();
    let effects = take(state, msg);
    state.refresh_queue_list();
    state.focus_newest_dialog(open);
    effects
}

fn take(state: &mut AppState, msg: Msg) -> Vec<Effect> {
    match msg {
        Msg::Key(key) => state.press(key),
        Msg::Pasted(text) => state.paste(text),
        Msg::Pointed(pointer) => state.point(pointer),
        Msg::Resized { width, height } => {
            state.resize(width, height);
            Vec::new()
        }
        Msg::Focused(focused) => {
            state.focused = focused;
            Vec::new()
        }
        Msg::Agent(envelope) => state.on_event(envelope),
        Msg::AgentLost => vec![Effect::Quit(ExitReason::Lost)],
        Msg::Refused { problem, hint } => {
            state.explain(problem, hint);
            Vec::new()
        }
        Msg::SessionsWanted => state.choose_session(),
        Msg::TrustAsked(review) => state.ask_trust(*review),
        Msg::JobDone(result) => state.job_done(result),
        Msg::LaidOut(found) => {
            state.record_layout(&found);
            Vec::new()
        }
        Msg::Tick => state.tick(),
    }
}

impl AppState {
    /// A turn begins; its number is not known until the agent has accepted it.
    fn begin_turn(&mut self, turn: Option<TurnId>) {
        self.activity = Activity::Working(Work::begun(turn, self.now));
        // Calls that end before the agent has accepted the turn belong to the previous one.
        if turn.is_some() {
            self.panel.start_turn(&self.calls);
        }
        if self.focus == Focus::Panel && self.panel.detail.is_none() {
            self.focus_on(Focus::Composer);
        }
    }

    /// Moves the keys to another part of the screen, and closes what only the previous part could close.
    fn focus_on(&mut self, focus: Focus) {
        if focus != Focus::Panel {
            self.panel.detail = None;
        }
        if focus != Focus::Conversation {
            self.end_search();
        }
        self.focus = focus;
        if focus == Focus::Composer {
            // A sent message goes to the main conversation, so that one is shown.
            self.show_main();
            self.return_to_question();
        }
    }

    fn resize(&mut self, width: u16, height: u16) {
        if (self.width, self.height) != (width, height) {
            // The selection refers to rows of the old width.
            self.selection = None;
        }
        self.width = width;
        self.height = height;
        self.composer.resize(width, self.composer_rows());
    }

    /// How many rows the input may use.
    pub fn composer_rows(&self) -> u16 {
        (self.height / 3).max(1)
    }

    /// Records what the layout reports.
    fn record_layout(&mut self, found: &Found) {
        if let Some(layout) = &found.layout {
            self.scroll.record_layout(layout, self.conversation().len());
            if self.selection.is_some() {
                self.selection.clone_from(&found.selection);
            }
        }
        self.diff_width = found.diff_width;
        if let (Some(dialog), Some(layout)) = (self.dialogs.last_mut(), found.dialog) {
            dialog.record_layout(layout);
        }
        if let (Some(Dialog::Pager(pager)), Some(rows)) = (self.dialogs.last_mut(), &found.matches)
        {
            pager.record_matches(rows);
        }
        if let (Some(detail), Some(furthest)) = (&mut self.panel.detail, found.detail) {
            detail.scroll = detail.scroll.min(furthest);
        }
    }

    fn tick(&mut self) -> Vec<Effect> {
        let now = self.now;
        if self.flash.as_ref().is_some_and(|flash| flash.until <= now) {
            self.flash = None;
        }
        if self.quit_armed.is_some_and(|until| until <= now) {
            self.quit_armed = None;
        }
        self.refresh_tasks();
        self.refresh_servers();
        self.composer.tick(now)
    }
}

/// When the displayed duration of something that began at `since` changes next.
fn next_step(since: Instant, now: Instant) -> Instant {
    let passed = now.saturating_duration_since(since).as_millis() / SECONDS.as_millis();
    let steps = u32::try_from(passed).unwrap_or(u32::MAX - 1) + 1;
    since + SECONDS * steps
}
