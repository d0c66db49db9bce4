//! The driver of the screen: it owns the terminal, the clock and the state, and calls `app` and `ui`.
//!
//! One loop on the main thread. A round waits for something, takes in everything that is ready, performs the effects,
//! and draws at most one frame. Reading, writing and everything that may block happens on other threads. With nothing
//! to do the loop sleeps; nothing ticks.

mod agent;
mod appearance;
mod colours;
mod detached;
mod effects;
mod encoder;
mod end;
mod files;
mod guard;
mod input;
mod jobs;
mod pacer;
mod panic;
mod pointer;
mod rounds;
mod saved_input;
mod screen;
mod shift;
mod signals;
mod stopwatch;
mod style_codes;
mod terminal;
mod title;
mod writer;

use std::io;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;

use self::agent::Agent;
use self::appearance::Appearance;
use self::colours::Colours;
use self::input::Input;
use self::jobs::Jobs;
use self::pacer::{Pacer, Urgency};
use self::pointer::Clicks;
use self::screen::Screen;
use self::signals::Signals;
use self::title::Title;
use self::writer::Writer;
use crate::app::job::{Job, ModelRow};
use crate::app::page::Line;
use crate::app::{AppState, Msg, Settings, update};
use crate::config::Dirs;
use crate::process::scarce;
use crate::protocol::{AgentEvent, Block, Command, SessionCommand, SessionEvent};
use crate::ui::Caches;

pub use self::agent::{LaunchFailure, LaunchRequest, Launcher, Refusal};
pub use self::guard::{end as end_guard, guard_commands, run_if_guard};
pub use self::terminal::{Found as FoundTerminal, NoTerminal, check as check_terminal};

/// Everything that the screen needs.
pub struct Launch {
    pub dirs: Dirs,
    pub workspace: PathBuf,
    pub theme: Option<RequestedTheme>,
    /// Prompt to send right away.
    pub prompt: Option<String>,
    /// Let the person choose a session first.
    pub choose_session: bool,
    pub launcher: Launcher,
    pub answers: Answers,
}

/// Checks what is configured and what is missing; slow.
pub type Doctor = Arc<dyn Fn() -> Vec<Line> + Send + Sync>;
/// The known models of a provider; reads the settings.
pub type Models = Arc<dyn Fn(&str) -> Vec<ModelRow> + Send + Sync>;

/// The branch that the workspace is on, if it is in a repository.
pub type Branch = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// What the program can report about itself.
pub struct Answers {
    pub doctor: Doctor,
    pub models: Models,
    pub branch: Branch,
}

/// A theme's name, and the settings file that names it; none for the flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedTheme {
    pub name: String,
    pub file: Option<String>,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    Asked,
    /// The agent is gone.
    Lost,
    /// The screen itself panicked.
    Panicked,
    /// The terminal is gone.
    Gone,
    Ended(u8),
    /// The agent could not be started.
    Refused(Refusal),
}

impl Exit {
    pub fn code(&self) -> u8 {
        match self {
            Exit::Asked => 0,
            Exit::Lost | Exit::Panicked => 1,
            Exit::Refused(_) => 2,
            // As if it received SIGHUP.
            Exit::Gone => 129,
            Exit::Ended(code) => *code,
        }
    }
}

/// Shows the screen until it ends. When this returns, the terminal is as it was before.
pub async fn run(launch: Launch) -> Result<Exit, Refusal> {
    let Launch {
        dirs,
        workspace,
        theme,
        prompt,
        choose_session,
        launcher,
        answers,
    } = launch;
    let (appearance, settings, problems) = Appearance::find(theme, dirs.clone())?;
    let shell = Shell::start(appearance, settings, dirs, workspace, launcher, answers);
    let mut shell = shell.map_err(|error| {
        let hint = scarce::is_scarcity(&error).then(|| scarce::HINT.to_owned());
        Refusal {
            problem: format!("can't use the terminal: {error}"),
            hint,
        }
    })?;
    // After a panic the terminal has been restored already; the agent is ended as usual.
    let ran = AssertUnwindSafe(async {
        // Nothing that may block comes before the first frame.
        shell.draw().await;
        guard::start();
        shell.agent.start();
        for problem in problems {
            let notice = AgentEvent::Session(SessionEvent::Notice(problem));
            shell.dispatch(Msg::Agent(notice.into())).await;
        }
        shell.jobs.start(Job::LoadHistory);
        if choose_session {
            shell.dispatch(Msg::SessionsWanted).await;
        }
        if let Some(prompt) = prompt {
            let message = vec![Block::text(prompt)];
            shell
                .agent
                .send(Command::Session(SessionCommand::Submit(message)));
        }
        shell.rounds().await
    });
    let exit = ran.catch_unwind().await.unwrap_or(Exit::Panicked);
    shell.end(&exit).await;
    guard::end();
    Ok(exit)
}

struct Shell {
    state: AppState,
    caches: Caches,
    agent: Agent,
    input: Input,
    signals: Signals,
    writer: Writer,
    screen: Screen,
    pacer: Pacer,
    jobs: Jobs,
    colours: Colours,
    appearance: Appearance,
    title: Title,
    /// Whether the terminal supports links.
    knows_links: bool,
    clicks: Clicks,
    stage: Stage,
    /// Bytes that are sent with the next frame, but are not part of it.
    aside: Vec<u8>,
    last_tick: Option<Instant>,
    /// The agent's events are not read until then.
    events_paused_until: Option<Instant>,
    /// How many of its events no frame has shown yet.
    unseen: usize,
    exit: Option<Exit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Shown,
    Detached(detached::Reason),
}

impl Shell {
    /// Takes the terminal.
    fn start(
        appearance: Appearance,
        settings: Settings,
        dirs: Dirs,
        workspace: PathBuf,
        launcher: Launcher,
        answers: Answers,
    ) -> io::Result<Self> {
        let signals = Signals::listen()?;
        let (writer, input) = (Writer::start()?, Input::start()?);
        let panic_log = dirs.panic_log();
        panic::guard(panic_log);
        terminal::enter()?;
        let size = terminal::size();
        let shown = workspace.display().to_string();
        let mut state = AppState::new(Arc::new(settings), &shown, Instant::now());
        state.panel.pinned = appearance::keeps_panel(&dirs);
        let (width, height) = (size.width, size.height);
        update(&mut state, Msg::Resized { width, height });
        let mut pacer = Pacer::default();
        pacer.want(Urgency::Now);
        let mut screen = Screen::new(size);
        screen.erases_in_colour = terminal::erases_in_colour();
        Ok(Self {
            state,
            caches: Caches::new(),
            agent: Agent::new(launcher),
            input,
            signals,
            writer,
            screen,
            pacer,
            jobs: Jobs::new(dirs, workspace, answers),
            colours: Colours::default(),
            appearance,
            title: Title::default(),
            knows_links: terminal::knows_links(),
            clicks: Clicks::default(),
            stage: Stage::Shown,
            aside: terminal::questions().as_bytes().to_vec(),
            last_tick: None,
            events_paused_until: None,
            unseen: 0,
            exit: None,
        })
    }
}
