//! The screen's figures, each against its limit: `cargo bench --bench screen`. Exits with 1 if one is missed.
//!
//! Everything up to the painted buffer, without a terminal; medians. A terminal's part is measured from outside.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::fmt;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_tui::app::{AppState, DiffStyle, Msg, Settings, update};
use agent_tui::keymap::Keymap;
use agent_tui::protocol::{
    AgentEvent, AgentId, CallEvent, CallOutcome, CallRef, Ending, Envelope, ForPerson, Message,
    Mode, Phase, SessionEvent, SessionId, SessionOpened, Shown, Spending, Subagent, ToolResult,
    TurnEvent, TurnId, TurnSummary, Usage,
};
use agent_tui::theme::{Depth, Theme};
use agent_tui::ui::{self, Caches};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Rect;

const ROUNDS: usize = 41;
const WIDTH: u16 = 120;
const HEIGHT: u16 = 40;
const FIRST_TURN: TurnId = TurnId {
    agent: AgentId::MAIN,
    number: 1,
};

fn main() -> ExitCode {
    let small = frame_after_key(10);
    let figures = [
        Figure::new("first frame, keymap and theme read", first_frame(), 2.0),
        Figure::new("key to frame, 10 messages", small, 0.5),
        Figure::new("key to frame, 1,000 messages", frame_after_key(1_000), 0.5),
        Figure::new(
            "key to frame, 100,000 messages",
            frame_after_key(100_000),
            0.5,
        ),
        Figure::new(
            "scrolling a page, 100,000 messages",
            scroll_a_page(100_000),
            3.0,
        ),
        Figure::new(
            "3,000 deltas (210 KB), a frame after each 10th",
            deltas(),
            60.0,
        ),
        Figure::new("re-wrap after a resize, 1,000 messages", rewrap(1_000), 4.0),
        Figure::new(
            "key to frame, a draft of 5,000 lines",
            key_in_long_draft(),
            0.5,
        ),
        Figure::new("a frame at 500×200 with 50,000 lines", large_frame(), 50.0),
        Figure::new(
            "1,000 deltas of ten subagents, out of view",
            deltas_of_subagents(),
            10.0,
        ),
        Figure::new(
            "key to frame, ten subagents stream",
            key_beside_subagents(),
            0.5,
        ),
    ];
    let mut missed = 0;
    for figure in &figures {
        println!("{figure}");
        missed += usize::from(!figure.holds());
    }
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A measured time and its limit, in milliseconds.
struct Figure {
    what: &'static str,
    value: f64,
    most: f64,
}

impl Figure {
    fn new(what: &'static str, value: Duration, most: f64) -> Self {
        let value = value.as_secs_f64() * 1e3;
        Self { what, value, most }
    }

    fn holds(&self) -> bool {
        self.value <= self.most
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.holds() { "ok" } else { "MISSED" };
        let Self { what, value, most } = self;
        write!(f, "{what:<50} {value:>9.3} ms   (≤ {most} ms)  {verdict}")
    }
}

/// A screen with its state, as the runtime has it.
struct Screen {
    state: AppState,
    caches: Caches,
    terminal: Terminal<TestBackend>,
}

impl Screen {
    fn new(width: u16, height: u16) -> Self {
        let settings = Settings {
            keymap: Keymap::builtin(),
            theme: Theme::builtin("dark").expect("a built-in theme"),
            depth: Depth::True,
            theme_epoch: 0,
            diff_style: DiffStyle::Auto,
        };
        let mut state = AppState::new(Arc::new(settings), "/project", Instant::now());
        update(&mut state, Msg::Resized { width, height });
        let backend = TestBackend::new(width, height);
        Self {
            state,
            caches: Caches::new(),
            terminal: Terminal::new(backend).expect("a terminal in memory"),
        }
    }

    fn with_messages(width: u16, height: u16, count: usize) -> Self {
        let mut screen = Self::new(width, height);
        screen.receive(AgentEvent::Session(SessionEvent::Opened(SessionOpened {
            session: SessionId("bench".into()),
            provider: "builtin".into(),
            model: "builtin".into(),
            mode: Mode::Default,
            tools: Vec::new(),
            branch: None,
            context_window: None,
            spending: Spending::default(),
            servers: Vec::new(),
            extensions: Arc::default(),
            past: (0..count).flat_map(exchange).collect(),
        })));
        screen.draw();
        screen
    }

    fn receive(&mut self, event: AgentEvent) {
        update(&mut self.state, Msg::Agent(event.into()));
    }

    fn press(&mut self, code: KeyCode) {
        let key = KeyEvent::new(code, KeyModifiers::NONE);
        update(&mut self.state, Msg::Key(key));
    }

    fn draw(&mut self) {
        let area = Rect::new(0, 0, self.state.width, self.state.height);
        let found = self.caches.lay_out(&self.state, area);
        update(&mut self.state, Msg::LaidOut(found));
        let (state, caches) = (&self.state, &self.caches);
        self.terminal
            .draw(|frame| {
                ui::view(state, caches, frame);
            })
            .expect("memory can be drawn to");
    }
}

/// The events of a message: a question, or the answer to it.
fn exchange(number: usize) -> Vec<Envelope> {
    let turn = TurnId {
        agent: AgentId::MAIN,
        number: number as u64 / 2,
    };
    let events = if number.is_multiple_of(2) {
        let text = format!("question {number}: what does `parse` do with an empty line?");
        vec![
            TurnEvent::Prompted(Message::user(text)),
            TurnEvent::Requested { attempt: 0 },
        ]
    } else {
        let text = format!(
            "Answer {number}.\n\nIt **skips** it, as `lines()` does:\n\n- first the blanks go,\n- then what is left is read.\n\n\
             ```rust\nfn parse(line: &str) -> Option<Rule> {{\n    let line = line.trim();\n    (!line.is_empty()).then(|| Rule::new(line))\n}}\n```\n"
        );
        let summary = TurnSummary {
            ending: Ending::Done,
            text: String::new(),
            responses: 1,
            usage: Usage::default(),
            cost: None,
            took: Duration::from_millis(500),
            denials: Vec::new(),
        };
        vec![TurnEvent::Text(text), TurnEvent::Finished(summary)]
    };
    let events = events.into_iter();
    events
        .map(|event| AgentEvent::Turn(turn, event).into())
        .collect()
}

/// A turn in which ten subagents were started, and each has its prompt.
fn with_subagents() -> Screen {
    let mut screen = Screen::with_messages(WIDTH, HEIGHT, 10);
    let turn = TurnId {
        agent: AgentId::MAIN,
        number: 100,
    };
    screen.receive(AgentEvent::Turn(
        turn,
        TurnEvent::Prompted(Message::user("split it")),
    ));
    for number in 1..=SUBAGENTS {
        let call = CallRef::main(number);
        let mut receive = |event| {
            let at = Duration::ZERO;
            screen.receive(AgentEvent::Call { call, at, event });
        };
        receive(CallEvent::Arriving {
            tool: "Task".to_owned(),
        });
        receive(CallEvent::Reached(Phase::Running));
        let agent = AgentId(1 + number);
        receive(CallEvent::Started(Subagent {
            agent,
            call,
            kind: "explore".to_owned(),
            description: format!("part {number}"),
            model: "m".to_owned(),
            background: false,
        }));
        let turn = TurnId { agent, number: 1 };
        for event in [
            TurnEvent::Prompted(Message::user("look")),
            TurnEvent::Requested { attempt: 0 },
        ] {
            screen.receive(AgentEvent::Turn(turn, event));
        }
    }
    screen.draw();
    screen
}

const SUBAGENTS: u32 = 10;

/// One delta of each subagent.
fn delta_of_each(screen: &mut Screen) {
    for number in 1..=SUBAGENTS {
        let agent = AgentId(1 + number);
        let turn = TurnId { agent, number: 1 };
        let text = TurnEvent::Text("some **words** of an answer ".to_owned());
        let event = AgentEvent::Turn(turn, text);
        screen.state.can_show(&event);
        screen.receive(event);
    }
}

/// What ten subagents that write a hundred deltas a second each cost in a second, apart from frames.
fn deltas_of_subagents() -> Duration {
    let mut screen = with_subagents();
    median(|| {
        let begun = Instant::now();
        for _ in 0..100 {
            delta_of_each(&mut screen);
        }
        begun.elapsed()
    })
}

fn key_beside_subagents() -> Duration {
    let mut screen = with_subagents();
    median(|| {
        delta_of_each(&mut screen);
        let begun = Instant::now();
        screen.press(KeyCode::Char('x'));
        screen.draw();
        begun.elapsed()
    })
}

fn first_frame() -> Duration {
    median(|| {
        let begun = Instant::now();
        let mut screen = Screen::new(WIDTH, HEIGHT);
        screen.draw();
        begun.elapsed()
    })
}

fn frame_after_key(messages: usize) -> Duration {
    let mut screen = Screen::with_messages(WIDTH, HEIGHT, messages);
    median(|| {
        let begun = Instant::now();
        screen.press(KeyCode::Char('x'));
        screen.draw();
        begun.elapsed()
    })
}

/// In the middle of it, so that lines are hidden above and below.
fn key_in_long_draft() -> Duration {
    let mut screen = Screen::with_messages(WIDTH, HEIGHT, 10);
    let draft = "a line of the draft, as long as lines mostly are\n".repeat(5_000);
    screen.state.composer.set_text(&draft, Instant::now());
    for _ in 0..2_500 {
        screen.press(KeyCode::Up);
    }
    median(|| {
        let begun = Instant::now();
        screen.press(KeyCode::Char('x'));
        screen.draw();
        begun.elapsed()
    })
}

fn scroll_a_page(messages: usize) -> Duration {
    let mut screen = Screen::with_messages(WIDTH, HEIGHT, messages);
    median(|| {
        let begun = Instant::now();
        screen.press(KeyCode::PageUp);
        screen.draw();
        begun.elapsed()
    })
}

fn deltas() -> Duration {
    let delta = "a word of **weight** and `code` that the model writes, and then some more ";
    median(|| {
        let mut screen = Screen::new(WIDTH, HEIGHT);
        let turn = FIRST_TURN;
        screen.receive(AgentEvent::Turn(
            turn,
            TurnEvent::Prompted(Message::user("go")),
        ));
        screen.receive(AgentEvent::Turn(turn, TurnEvent::Requested { attempt: 0 }));
        let begun = Instant::now();
        for number in 0..3_000 {
            let end = if number % 12 == 11 { "\n\n" } else { "" };
            let text = format!("{delta}{end}");
            screen.receive(AgentEvent::Turn(turn, TurnEvent::Text(text)));
            if number % 10 == 9 {
                screen.draw();
            }
        }
        begun.elapsed()
    })
}

fn rewrap(messages: usize) -> Duration {
    let mut screen = Screen::with_messages(WIDTH, HEIGHT, messages);
    let mut width = WIDTH;
    median(|| {
        width = if width == WIDTH { WIDTH - 13 } else { WIDTH };
        let begun = Instant::now();
        let height = HEIGHT;
        update(&mut screen.state, Msg::Resized { width, height });
        screen.terminal.backend_mut().resize(width, height);
        screen.draw();
        begun.elapsed()
    })
}

fn large_frame() -> Duration {
    let mut screen = Screen::with_messages(500, 200, 6_000);
    let turn = FIRST_TURN;
    screen.receive(AgentEvent::Turn(
        turn,
        TurnEvent::Prompted(Message::user("go")),
    ));
    let arriving = CallEvent::Arriving {
        tool: "Bash".into(),
    };
    let completed = CallEvent::Completed {
        result: ToolResult::text("big".into(), "line\n".repeat(5_000)),
        ran: Duration::from_secs(1),
        outcome: CallOutcome::Succeeded,
        for_person: ForPerson::default(),
        shown: Shown::Nothing,
        changed: Vec::new(),
    };
    for event in [arriving, completed] {
        let (call, at) = (CallRef::main(1), Duration::ZERO);
        screen.receive(AgentEvent::Call { call, at, event });
    }
    median(|| {
        let begun = Instant::now();
        screen.press(KeyCode::Char('x'));
        screen.draw();
        begun.elapsed()
    })
}

fn median(mut round: impl FnMut() -> Duration) -> Duration {
    let mut taken: Vec<Duration> = (0..ROUNDS).map(|_| round()).collect();
    taken.sort_unstable();
    taken[ROUNDS / 2]
}
