//! What can happen to the screen: keys, the mouse, pastes, sizes, results of jobs, and time.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;

use super::agent::any_agent_event;
use crate::app::job::{Candidate, JobResult, SessionContent, SessionRow};
use crate::app::page::{Tone, lines};
use crate::app::pointer::PointerKind;
use crate::protocol::AgentEvent;
use crate::theme::Theme;

/// What happens to the application.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Key(KeyEvent),
    Named(&'static str),
    Pasted(String),
    Mouse(PointerKind, u16, u16),
    Resized(u16, u16),
    Focused(bool),
    Agent(AgentEvent),
    Job(JobResult),
    Passed(u64),
    /// Scrolls to the end of a question, and waits until it is armed.
    Read,
}

/// Keys that are bound somewhere; those that leave a part are more frequent.
const KEYS: &[&str] = &[
    "enter",
    "esc",
    "esc",
    "esc",
    "q",
    "tab",
    "shift+tab",
    "up",
    "down",
    "left",
    "right",
    "pgup",
    "pgdn",
    "home",
    "end",
    "ctrl+home",
    "ctrl+end",
    "shift+up",
    "shift+down",
    "backspace",
    "shift+enter",
    "ctrl+c",
    "ctrl+d",
    "ctrl+t",
    "ctrl+p",
    "ctrl+o",
    "ctrl+s",
    "ctrl+b",
    "ctrl+r",
    "ctrl+g",
    "ctrl+l",
    "ctrl+z",
    "ctrl+u",
    "ctrl+n",
    "f1",
    "?",
    "/",
    "n",
    "N",
    "v",
    "y",
    "o",
    "j",
    "k",
    "g",
    "G",
    "J",
    "K",
    "t",
    "d",
    "i",
    "q",
    "x",
    "r",
    "b",
    "s",
    "a",
    "e",
    "w",
    "0",
    "$",
    "[",
    "h",
    "l",
    "space",
];

const TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    "word ",
    "\n",
    "\n\n",
    "```rust\nfn main() {",
    "\n```\n",
    "| a | b |\n|---|---|\n",
    "| 1 | 2 |\n",
    "- item\n",
    "> quote\n",
    "# Heading\n",
    "**bold",
    "`code`",
    "[link](http://x)",
    "\x1b[31mred\x1b[0m",
    "\u{9b}2J",
    "\u{202e}evil",
    "e\u{301}",
    "\u{200b}",
    "漢字かな",
    "👩‍👩‍👧",
    "\t",
    "\r",
    "a long line of many words that has to be wrapped somewhere because it does not fit ",
    "unbreakablewordthatislongerthanmostscreensarewideandgoesonandonandonandonandon",
];

pub(super) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(TEXTS), 1..6).prop_map(|parts| parts.concat()),
        1 => "\\PC{0,20}",
        1 => ".{0,20}",
    ]
}

fn any_key() -> impl Strategy<Value = KeyEvent> {
    let code = prop_oneof![
        any::<char>().prop_map(KeyCode::Char),
        (1u8..13).prop_map(KeyCode::F),
        Just(KeyCode::Delete),
        Just(KeyCode::Insert),
        Just(KeyCode::BackTab),
        Just(KeyCode::Null),
    ];
    (code, 0u8..16)
        .prop_map(|(code, bits)| KeyEvent::new(code, KeyModifiers::from_bits_truncate(bits)))
}

fn any_job() -> impl Strategy<Value = JobResult> {
    prop_oneof![
        (0u64..9, any_text()).prop_map(|(generation, path)| JobResult::Paths {
            generation,
            paths: vec![Candidate {
                path,
                matched: vec![0, 7]
            }],
            found: 1,
            complete: true,
        }),
        any_text().prop_map(|text| JobResult::Edited(Ok(text))),
        any_text().prop_map(|text| JobResult::History(vec![text])),
        any_text().prop_map(JobResult::Draft),
        any_text().prop_map(|problem| JobResult::Remembered(Err(problem))),
        Just(JobResult::Themes(
            Theme::names().filter_map(Theme::builtin).collect()
        )),
        any_text().prop_map(|title| JobResult::Sessions(vec![SessionRow {
            id: "id".to_owned(),
            when: "now".to_owned(),
            title,
            ..SessionRow::default()
        }])),
        any_text().prop_map(|text| JobResult::Examined(lines(&text, Tone::Code))),
        any_text().prop_map(|text| {
            JobResult::SessionRead(Box::new(SessionContent {
                id: "id".to_owned(),
                end: lines(&text, Tone::Person),
                ..SessionContent::default()
            }))
        }),
        any_text().prop_map(JobResult::Failed),
    ]
}

pub(super) fn any_event() -> impl Strategy<Value = Event> {
    let kinds = vec![
        PointerKind::Pressed { times: 1 },
        PointerKind::Pressed { times: 2 },
        PointerKind::Pressed { times: 3 },
        PointerKind::Dragged,
        PointerKind::Released,
        PointerKind::WheelUp,
        PointerKind::WheelDown,
    ];
    let size = prop_oneof![
        4 => (1u16..90, 1u16..40),
        1 => (1u16..501, 1u16..201),
        1 => Just((20, 5)),
        1 => Just((1, 1)),
        1 => Just((500, 200)),
    ];
    prop_oneof![
        12 => prop::sample::select(KEYS).prop_map(Event::Named),
        3 => any_key().prop_map(Event::Key),
        1 => any_text().prop_map(Event::Pasted),
        3 => (prop::sample::select(kinds), 0u16..130, 0u16..50)
            .prop_map(|(kind, x, y)| Event::Mouse(kind, x, y)),
        1 => size.prop_map(|(width, height)| Event::Resized(width, height)),
        1 => any::<bool>().prop_map(Event::Focused),
        16 => any_agent_event().prop_map(Event::Agent),
        1 => any_job().prop_map(Event::Job),
        4 => (0u64..700).prop_map(Event::Passed),
        2 => Just(Event::Read),
    ]
}
