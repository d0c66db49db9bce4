//! The screen as a machine: one state, and one function that takes a [`Msg`] and returns [`Effect`]s.
//!
//! Pure: no clock, no disk, no terminal. Time comes in with [`AppState::now`]; what may wait leaves as an effect and comes
//! back as a message. How it looks is `ui`'s matter; here are only the facts that it paints.

mod asking;
pub mod call;
pub mod commands;
pub mod composer;
pub mod dialogs;
pub mod diff;
mod events;
pub mod flash;
pub mod folding;
pub mod job;
mod jobs_done;
pub mod ladder;
pub mod page;
pub mod panel;
mod perform;
mod permissions;
mod pickers;
pub mod pointer;
pub mod preview;
pub mod queue;
pub mod scroll;
pub mod search;
pub mod select;
pub mod session;
mod sessions;
mod slash;
pub mod subagents;
mod tasks;
pub mod transcript;

#[cfg(test)]
pub mod rig;
#[cfg(test)]
mod rig_subagents;
#[cfg(test)]
pub mod story;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent};

use self::call::Calls;
use self::composer::Composer;
use self::dialogs::Dialog;
pub use self::events::in_short;
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
use crate::keymap::{Context, Key, Keymap, Resolved};
use crate::protocol::todo::Todo;
use crate::protocol::{Command, Mode, Told, TurnId};
use crate::settings::trust::Review;
use crate::theme::{Depth, Theme};

/// Facts that reach the application.
#[derive(Debug, Clone, PartialEq)]
pub enum Msg {
    Key(KeyEvent),
    Pasted(String),
    Pointed(Pointer),
    Resized {
        width: u16,
        height: u16,
    },
    /// The terminal window got or lost the focus.
    Focused(bool),
    Agent(Told),
    /// The agent's task has ended, which it never does by itself.
    AgentLost,
    /// Another conversation could not be opened; the one before comes back.
    Refused {
        problem: String,
        hint: Option<String>,
    },
    /// The person wants to choose a session.
    SessionsWanted,
    /// The agent waits for the person's word about the project.
    TrustAsked(Box<Review>),
    /// An [`Effect::Start`] has come back.
    JobDone(JobResult),
    /// The layout has carried out the scrolling.
    LaidOut(Found),
    /// The moment that [`AppState::wake_at`] asked for.
    Tick,
}

/// Requests that leave it.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Send(Command),
    Start(Job),
    /// Put a text, or what is selected, into the clipboard.
    Copy(Copied),
    /// Leave this conversation and open another.
    Open(Opening),
    /// Whether the person trusts the project.
    Trust(bool),
    /// Call the person, who looks elsewhere.
    Notify(String),
    Redraw,
    Suspend,
    /// Print the whole conversation to the normal screen, to scroll and search it with the terminal's own means.
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
    /// Another model than the one so far.
    pub model: Option<String>,
    /// The mode to go on in; `None` for the one that the settings say.
    pub mode: Option<Mode>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpeningSession {
    New,
    /// The one that is open, or one of that id.
    Same,
    Id(String),
    /// A copy of the one of that id.
    Fork(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitReason {
    /// The person wants to.
    Asked,
    /// The agent is gone.
    Lost,
}

/// What a person can configure of the screen; replaced whole when it changes.
#[derive(Debug, Clone)]
pub struct Settings {
    pub keymap: Keymap,
    pub theme: Theme,
    /// How many colours the terminal has.
    pub depth: Depth,
    /// Changes whenever the theme does, so that what was drawn with another one is drawn again.
    pub theme_epoch: u64,
    pub diff_style: DiffStyle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiffStyle {
    /// Side by side where there is room.
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

/// A turn that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// `None` until the agent has taken the message up.
    pub turn: Option<TurnId>,
    pub since: Instant,
    pub stage: Stage,
    /// The cells that the response under way has made so far.
    pub response: Vec<CellId>,
    /// When the last text of it came.
    pub heard: Option<Instant>,
    /// What that response has shown goes when it is asked for again.
    pub void: bool,
    /// Why the last request failed that is to be tried again.
    pub failed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    Running,
    /// A request failed and waits for its next try.
    Retrying {
        problem: String,
        attempt: u32,
        until: Instant,
    },
    /// The person has interrupted it; what may not be cut off comes to its end.
    Stopping,
    /// It stops for the messages that wait, which go out as soon as it has.
    MakingWay,
    /// Stopped with force.
    Killing,
}

/// Who gets the keys when no dialog is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Focus {
    #[default]
    Composer,
    Conversation,
    Panel,
}

pub struct AppState {
    /// Written by the runtime before each batch; time is an input.
    pub now: Instant,
    /// When that happened which is being heard.
    moment: Instant,
    /// What the clock of the records said at some moment.
    clock: Option<(u64, Instant)>,
    pub width: u16,
    pub height: u16,
    /// How wide a diff in front is.
    diff_width: u16,
    /// Whether the terminal window has the focus; terminals that do not tell count as focused.
    pub focused: bool,
    pub focus: Focus,
    pub activity: Activity,
    pub transcript: Transcript,
    pub calls: Calls,
    /// The conversations that calls have started.
    pub subagents: Subagents,
    /// The one that is in view in place of the person's conversation.
    pub view: Option<View>,
    pub scroll: Scroll,
    pub search: Option<Search>,
    pub selection: Option<Selection>,
    pub composer: Composer,
    /// Messages that wait for the running turn.
    pub queue: Queue,
    /// What the model plans to do, as long as something of it is open.
    pub todos: Vec<Todo>,
    /// Enter was pressed while what had waited was on its way back to the input: it is sent when it is there.
    sends_when_back: bool,
    /// Messages that are in the transcript already, but that the agent has not taken up yet.
    expected: VecDeque<CellId>,
    pub panel: ToolPanel,
    /// The last one has the keys, unless the person looks back.
    pub dialogs: Vec<Dialog>,
    /// The person has gone into the conversation from what is asked, which waits and takes no keys until they return.
    looks_back: bool,
    pub session: SessionInfo,
    pub settings: Arc<Settings>,
    /// Set while another Ctrl+C would quit.
    pub quit_armed: Option<Instant>,
    /// Of how many commands in the background the person knows that quitting ends them.
    quit_told: usize,
    pub flash: Option<Flash>,
    /// How it looked before a theme was tried on.
    theme_before: Option<Theme>,
    /// A theme that was named and may be one of the person's own, which are being read.
    theme_wanted: Option<String>,
    /// The first key of a sequence.
    pending: Option<Key>,
}

/// How long a first Ctrl+C counts.
const QUIT_WINDOW: Duration = Duration::from_secs(2);
/// From this width on a diff has room for two columns.
pub const WIDE_ENOUGH_FOR_TWO: u16 = 140;
/// How often what shows seconds is drawn again while something runs.
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
            sends_when_back: false,
            expected: VecDeque::new(),
            panel: ToolPanel::default(),
            dialogs: Vec::new(),
            looks_back: false,
            session: SessionInfo {
                workspace: workspace.to_owned(),
                ..SessionInfo::default()
            },
            settings,
            quit_armed: None,
            quit_told: 0,
            flash: None,
            theme_before: None,
            theme_wanted: None,
            pending: None,
        }
    }

    /// When time alone will change the screen. With `None` the program sleeps.
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
        [seconds, dialog, flash, draft, panel, self.quit_armed]
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

    /// Whether Esc in the input goes to the end of the conversation. Where scrolling was left it does even while a turn
    /// runs: who pressed it once to leave presses it again to go back, and does not mean to stop anything.
    fn is_away_from_end(&self) -> bool {
        let rests = self.turn_rung().is_none() && self.composer.is_empty();
        self.scroll.is_parked() || (rests && !self.scroll.is_following())
    }

    /// What the next key can mean, the innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        if let Some(dialog) = self.dialogs.last().filter(|_| !self.looks_back) {
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
            // Its keys are free only where nothing is typed and they mean nothing else.
            let is_free = contexts.first() == Some(&Context::ComposerEmpty);
            if matches!(work.stage, Stage::Retrying { .. }) && is_free {
                contexts.insert(0, Context::Retry);
            }
        }
        if self.turn_rung().is_some() {
            contexts.push(Context::Working);
        }
        contexts.push(Context::Global);
        contexts
    }
}

/// Takes a fact, changes the state, and returns what is to be done about it.
pub fn update(state: &mut AppState, msg: Msg) -> Vec<Effect> {
    let open = state.dialogs.len();
    let effects = take(state, msg);
    state.turn_to_front(open);
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
        Msg::Agent(told) => state.hear(told),
        Msg::AgentLost => vec![Effect::Quit(ExitReason::Lost)],
        Msg::Refused { problem, hint } => {
            state.explain(problem, hint);
            Vec::new()
        }
        Msg::SessionsWanted => state.choose_session(),
        Msg::TrustAsked(review) => state.ask_trust(*review),
        Msg::JobDone(result) => state.job_done(result),
        Msg::LaidOut(found) => {
            state.settle(&found);
            Vec::new()
        }
        Msg::Tick => state.tick(),
    }
}

impl AppState {
    fn press(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.flash = None;
        if self.types_escape(key) {
            return self.composer.key(key, self.now);
        }
        let contexts = self.contexts();
        let settings = self.settings.clone();
        match settings.keymap.resolve(&contexts, &mut self.pending, key) {
            Resolved::Action(action) => self.perform(action),
            Resolved::Prefix | Resolved::Ignored => Vec::new(),
            Resolved::Unbound => self.type_key(key),
        }
    }

    /// Esc that leaves a mode of vim, before it can mean anything else.
    fn types_escape(&self, key: KeyEvent) -> bool {
        key.code == KeyCode::Esc
            && self.dialogs.is_empty()
            && self.focus == Focus::Composer
            && self.composer.wants_escape()
    }

    /// A key that no map binds belongs to the field that has the caret.
    fn type_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        self.quit_armed = None;
        if let Some(dialog) = self.dialogs.last_mut().filter(|_| !self.looks_back) {
            let effects = dialog.key(key, self.now);
            self.preview_chosen();
            return effects;
        }
        match self.focus {
            Focus::Composer => self.composer.key(key, self.now),
            Focus::Conversation => self.search_key(key),
            Focus::Panel => Vec::new(),
        }
    }

    fn paste(&mut self, text: String) -> Vec<Effect> {
        if self.looks_back {
            self.focus_on(Focus::Composer);
        }
        if let Some(dialog) = self.dialogs.last_mut() {
            dialog.paste(&text, self.now);
            return Vec::new();
        }
        self.quit_armed = None;
        self.focus_on(Focus::Composer);
        self.composer.paste(text, self.now)
    }

    /// A turn is on its way; its number is not known before the agent has taken it up.
    fn begin_turn(&mut self, turn: Option<TurnId>) {
        self.activity = Activity::Working(Work::begun(turn, self.now));
        // What ends before the agent has taken it up belongs to what was before the turn.
        if turn.is_some() {
            self.panel.start_turn(&self.calls);
        }
        if self.focus == Focus::Panel && self.panel.detail.is_none() {
            self.focus_on(Focus::Composer);
        }
    }

    /// Gives the keys to another part of the screen; what only the one before could close is closed.
    fn focus_on(&mut self, focus: Focus) {
        if focus != Focus::Panel {
            self.panel.detail = None;
        }
        if focus != Focus::Conversation {
            self.end_search();
        }
        self.focus = focus;
        if focus == Focus::Composer {
            // What is written goes to the person's conversation, so that is what is seen.
            self.show_main();
            self.return_to_question();
        }
    }

    fn resize(&mut self, width: u16, height: u16) {
        if (self.width, self.height) != (width, height) {
            // What is selected is told in rows of the old width.
            self.selection = None;
        }
        self.width = width;
        self.height = height;
        self.composer.resize(width, self.composer_rows());
    }

    /// How high the input may become.
    pub fn composer_rows(&self) -> u16 {
        (self.height / 3).max(1)
    }

    /// Takes over what the layout found out.
    fn settle(&mut self, found: &Found) {
        if let Some(rest) = &found.rest {
            self.scroll.settle(rest, self.conversation().len());
            if self.selection.is_some() {
                self.selection.clone_from(&found.selection);
            }
        }
        self.diff_width = found.diff_width;
        if let (Some(dialog), Some(rest)) = (self.dialogs.last_mut(), found.dialog) {
            dialog.settle(rest);
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
        self.composer.tick(now)
    }
}

/// The next moment after `now` at which a time that is shown changes, for something that began at `since`.
fn next_step(since: Instant, now: Instant) -> Instant {
    let passed = now.saturating_duration_since(since).as_millis() / SECONDS.as_millis();
    let steps = u32::try_from(passed).unwrap_or(u32::MAX - 1) + 1;
    since + SECONDS * steps
}
