//! The loop: wait, take in everything that is ready, draw.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use ratatui::layout::Rect;
use tokio::time::sleep_until;

use super::agent::AgentUpdate;
use super::detached::{CHECK_EVERY, Reason};
use super::input::{Event, Reply};
use super::pacer::Urgency;
use super::signals::Signal;
use super::stopwatch::{Part, Stopwatch};
use super::{Exit, Refusal, Shell, Stage, colours, panic};
use crate::app::job::JobResult;
use crate::app::pointer::Pointer;
use crate::app::{Msg, Settings};
use crate::protocol::{AgentEvent, SessionEvent};
use crate::ui;
use crate::ui::text::Targets;

/// The least time between two ticks.
const SHORTEST_TICK: Duration = Duration::from_millis(8);
/// How much is taken in before a frame is drawn in between.
const MOST_IN_A_ROUND: usize = 64;

/// How long the agent's events are not read after only invisible ones arrived.
const UNSEEN: Duration = Duration::from_millis(8);
/// More events than this between two frames are a flood.
const FLOOD: usize = 256;

/// What the loop waited for.
enum Wakeup {
    Signal(Signal),
    Input(Vec<Event>),
    Job(JobResult),
    Agent(AgentUpdate),
    Written(io::Result<()>),
    Coloured(colours::Answer),
    Time,
}

impl Wakeup {
    /// Which part of a slow round it counts towards. `None` for a signal, which may have stopped the program for any
    /// time.
    fn part(&self) -> Option<Part> {
        match self {
            Wakeup::Signal(_) => None,
            Wakeup::Input(_) => Some(Part::Input),
            Wakeup::Job(_) => Some(Part::Jobs),
            Wakeup::Agent(_) => Some(Part::Agent),
            Wakeup::Written(_) | Wakeup::Coloured(_) | Wakeup::Time => Some(Part::Rest),
        }
    }
}

impl Shell {
    pub(super) async fn rounds(&mut self) -> Exit {
        loop {
            // Computed before the clock advances, because what is due depends on it.
            let tick = self.tick_at();
            let wakeup = self.wait(self.deadline(tick), self.reads_events()).await;
            self.state.now = Instant::now();
            let mut watch = Stopwatch::start(self.state.now);
            self.take(wakeup, &mut watch).await;
            for _ in 0..MOST_IN_A_ROUND {
                match self.wait(None, self.reads_events()).now_or_never() {
                    Some(wakeup) => self.take(wakeup, &mut watch).await,
                    None => break,
                }
            }
            if tick.is_some_and(|at| at <= self.state.now) {
                self.tick().await;
                watch.lap(Some(Part::Rest), Instant::now());
            }
            watch.stop("slow round");
            if let Some(exit) = self.exit.take() {
                return exit;
            }
            self.draw().await;
        }
    }

    /// The next thing to do, at the latest at the deadline. Cancel-safe: what is not taken arrives again.
    async fn wait(&mut self, deadline: Option<Instant>, listens: bool) -> Wakeup {
        let time = async {
            match deadline {
                Some(at) => sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            signal = self.signals.next() => Wakeup::Signal(signal),
            events = self.input.events.recv() => Wakeup::Input(events.unwrap_or(vec![Event::Gone])),
            Some(result) = self.jobs.results.recv() => Wakeup::Job(result),
            written = self.writer.done() => Wakeup::Written(written),
            wakeup = self.agent.next(), if listens => Wakeup::Agent(wakeup),
            answer = self.colours.answer() => Wakeup::Coloured(answer),
            () = time => Wakeup::Time,
        }
    }

    /// When time alone changes something.
    fn tick_at(&self) -> Option<Instant> {
        let again = self.last_tick.map(|tick| tick + SHORTEST_TICK);
        let at = self.state.wake_at()?;
        Some(again.map_or(at, |again| at.max(again)))
    }

    fn deadline(&self, tick: Option<Instant>) -> Option<Instant> {
        let frame = self.pacer.deadline().filter(|_| self.may_draw());
        let stopped = self.stage == Stage::Detached(Reason::Stopped);
        let check_at = stopped.then(|| self.state.now + CHECK_EVERY);
        let listen = self.events_paused_until.filter(|_| !self.reads_events());
        [frame, tick, check_at, listen].into_iter().flatten().min()
    }

    /// Whether to read the agent's events again.
    fn reads_events(&self) -> bool {
        self.events_paused_until
            .is_none_or(|until| until <= self.state.now)
    }

    async fn take(&mut self, wakeup: Wakeup, watch: &mut Stopwatch) {
        let (part, stage) = (wakeup.part(), self.stage);
        self.handle_wakeup(wakeup).await;
        // A program that steps out or is stopped waits for others, which is not its own time.
        let part = part.filter(|_| self.stage == stage);
        watch.lap(part, Instant::now());
    }

    async fn handle_wakeup(&mut self, wakeup: Wakeup) {
        match wakeup {
            Wakeup::Signal(signal) => self.handle_signal(signal).await,
            Wakeup::Input(events) => {
                for event in events {
                    self.on_input(event).await;
                }
            }
            Wakeup::Job(result) => {
                if matches!(result, JobResult::Edited(_) | JobResult::EditedAsked { .. }) {
                    self.retake_terminal().await;
                }
                self.pacer.want(Urgency::Now);
                self.dispatch(Msg::JobDone(result)).await;
            }
            Wakeup::Agent(wakeup) => self.on_agent_update(wakeup).await,
            Wakeup::Written(Err(_)) => self.exit = Some(Exit::Gone),
            Wakeup::Coloured(answer) => {
                self.pacer.want(Urgency::Soon);
                self.caches.highlights.ready(answer.key, answer.colours);
            }
            Wakeup::Time if self.stage == Stage::Detached(Reason::Stopped) => {
                self.continued().await;
            }
            Wakeup::Written(Ok(())) | Wakeup::Time => {}
        }
    }

    async fn handle_signal(&mut self, signal: Signal) {
        match signal {
            Signal::Resized => {
                self.pacer.want(Urgency::Soon);
                self.resized().await;
            }
            Signal::Stop => self.suspend().await,
            Signal::Continued => self.continued().await,
            // A Ctrl+C meant for the editor also reaches the program.
            Signal::Interrupted if self.stage == Stage::Detached(Reason::Editor) => {}
            Signal::Interrupted => self.exit = Some(Exit::Ended(130)),
            Signal::End(code) => self.exit = Some(Exit::Ended(code)),
        }
    }

    async fn on_input(&mut self, event: Event) {
        if self.stage == Stage::Detached(Reason::Printed) && event != Event::Gone {
            return self.press_below_print(&event);
        }
        self.pacer.want(Urgency::Now);
        match event {
            Event::Key(key) => {
                panic::inject_fault();
                self.dispatch(Msg::Key(key)).await;
            }
            Event::Pasted(text) => self.dispatch(Msg::Pasted(text)).await,
            Event::Focused(focused) => self.dispatch(Msg::Focused(focused)).await,
            Event::Pointed(event) => {
                if let Some(kind) = self.clicks.kind(event, self.state.now) {
                    let target = self.caches.hit(event.column, event.row);
                    self.dispatch(Msg::Pointed(Pointer { kind, target })).await;
                }
            }
            Event::Reply(Reply::Background(colour)) => {
                if let Some(theme) = self.appearance.set_background(&colour) {
                    let settings = &*self.state.settings;
                    self.state.settings = Arc::new(Settings {
                        theme,
                        theme_epoch: settings.theme_epoch + 1,
                        ..settings.clone()
                    });
                }
            }
            Event::Reply(Reply::Other) => {}
            Event::Gone => self.exit = Some(Exit::Gone),
        }
    }

    async fn on_agent_update(&mut self, update: AgentUpdate) {
        if self.can_show(&update) {
            self.pacer.want(Urgency::Soon);
        } else {
            self.events_paused_until = Some(self.state.now + UNSEEN);
        }
        match update {
            AgentUpdate::Events(events) => {
                self.unseen += events.len();
                for envelope in events {
                    if let AgentEvent::Session(SessionEvent::Opened(opened)) = &envelope.event {
                        panic::session_is(&opened.session.0);
                    }
                    self.dispatch(Msg::Agent(envelope)).await;
                }
            }
            AgentUpdate::Untrusted(review) => self.dispatch(Msg::TrustAsked(review)).await,
            AgentUpdate::Lost => self.dispatch(Msg::AgentLost).await,
            AgentUpdate::Refused(refusal) if self.agent.go_back() => {
                let Refusal { problem, hint } = refusal;
                self.dispatch(Msg::Refused { problem, hint }).await;
            }
            AgentUpdate::Refused(refusal) => self.exit = Some(Exit::Refused(refusal)),
        }
    }

    /// Whether any of it may change the screen.
    fn can_show(&self, update: &AgentUpdate) -> bool {
        match update {
            AgentUpdate::Events(events) => events.iter().any(|it| self.state.can_show(&it.event)),
            AgentUpdate::Untrusted(_) | AgentUpdate::Lost | AgentUpdate::Refused(_) => true,
        }
    }

    async fn tick(&mut self) {
        self.last_tick = Some(self.state.now);
        self.pacer.want(Urgency::Soon);
        self.dispatch(Msg::Tick).await;
    }

    /// A frame is only made once the terminal has taken the last one, so the newest state is drawn.
    fn may_draw(&self) -> bool {
        self.stage == Stage::Shown && !self.writer.is_busy()
    }

    /// Draws what is due, if anything is.
    pub(super) async fn draw(&mut self) {
        if !self.may_draw() {
            return;
        }
        let mut bytes = Vec::new();
        if self.pacer.is_due(self.state.now) {
            bytes = self.frame().await.unwrap_or_default();
            bytes.extend(self.title.change(&self.state).unwrap_or_default());
            self.pacer.frame_drawn(self.state.now);
            self.rest();
        }
        bytes.append(&mut self.aside);
        if !bytes.is_empty() {
            self.writer.write(bytes);
        }
    }

    /// After a little text, the next piece is read only when the next frame is due: reading it sooner would wake the
    /// program for nothing. A flood is read at once: left unread, it would block its sender.
    fn rest(&mut self) {
        let is_slow = (1..FLOOD).contains(&std::mem::take(&mut self.unseen));
        self.events_paused_until = self.pacer.next_output().filter(|_| is_slow);
    }

    async fn frame(&mut self) -> Option<Vec<u8>> {
        let mut watch = Stopwatch::start(Instant::now());
        let area = Rect::new(0, 0, self.state.width, self.state.height);
        let found = self.caches.lay_out(&self.state, area);
        self.dispatch(Msg::LaidOut(found)).await;
        watch.lap(Some(Part::Layout), Instant::now());
        let (state, caches) = (&self.state, &self.caches);
        let (spare, no_links) = (self.writer.spare(), Targets::default());
        let links = if self.knows_links {
            caches.links()
        } else {
            &no_links
        };
        let bytes = self
            .screen
            .draw(spare, caches.conversation(), links, |area, buf| {
                ui::paint(state, caches, area, buf)
            });
        watch.lap(Some(Part::Paint), Instant::now());
        watch.stop("slow frame");
        for request in self.caches.highlights.take_wanted() {
            self.colours.ask(request);
        }
        bytes
    }
}
