//! A screen that is checked after each event.

use std::time::{Duration, Instant};

use ratatui::layout::Position;

use super::agent::THIS_TURN;
use super::events::Event;
use crate::app::dialogs::Dialog;
use crate::app::rig::App;
use crate::app::{Effect, Msg, OpeningSession};
use crate::protocol::{AgentEvent, CallCommand, CallRef, Command, TurnEvent};
use crate::ui::rig::Screen;

pub(super) struct Watched {
    screen: Screen,
    /// Since when the current question has been in front.
    asked: Option<(CallRef, Instant)>,
}

impl Watched {
    pub(super) fn new(start: fn() -> App, way: &str, width: u16, height: u16) -> Self {
        let mut watched = Self {
            screen: start().on(width, height),
            asked: None,
        };
        watched.look();
        watched.screen.press(way);
        watched.look();
        watched
    }

    pub(super) fn happens(&mut self, event: Event) {
        let screen = &mut self.screen;
        let before = screen.state.now;
        let effects = match event {
            Event::Key(key) => screen.update(Msg::Key(key)),
            Event::Named(key) => screen.press(key),
            Event::Pasted(text) => screen.update(Msg::Pasted(text)),
            Event::Mouse(kind, x, y) => screen.point_at(kind, Position::new(x, y)),
            Event::Resized(width, height) => {
                screen.resize(width, height);
                Vec::new()
            }
            Event::Focused(focused) => screen.update(Msg::Focused(focused)),
            Event::Agent(AgentEvent::Turn(turn, event)) if turn.number == THIS_TURN => {
                let over = matches!(event, TurnEvent::Finished(_));
                let effects = screen.turn_event(event);
                screen.turn.number += u64::from(over);
                effects
            }
            Event::Agent(event) => screen.receive(event),
            Event::Read => {
                screen.press("end");
                screen.frame();
                screen.after(Duration::from_millis(300));
                Vec::new()
            }
            Event::Job(result) => screen.update(Msg::JobDone(result)),
            Event::Passed(time) => {
                screen.state.now += Duration::from_millis(time);
                let effects = screen.update(Msg::Tick);
                let now = screen.state.now;
                assert!(
                    screen.state.wake_at().is_none_or(|at| at > now),
                    "it would wake again at once"
                );
                effects
            }
        };
        self.check_answers(&effects, before);
        self.follow(&effects);
        self.look();
    }

    /// Every yes came after the question was armed.
    fn check_answers(&self, effects: &[Effect], now: Instant) {
        for effect in effects {
            if let Effect::Send(Command::Call(call, CallCommand::Reply(_))) = effect {
                let (asked, since) = self.asked.as_ref().expect("a question was in front");
                assert_eq!(asked, call);
                assert!(
                    now >= *since + Duration::from_millis(300),
                    "answered too early"
                );
            }
        }
    }

    /// Answers the effects like the runtime would.
    fn follow(&mut self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::Copy(_) => drop(self.screen.caches.selected_text(&self.screen.app.state)),
                Effect::Open(opening) if opening.session != OpeningSession::Same => {
                    let fresh = App::new().state.session;
                    self.screen.state.session = fresh;
                }
                Effect::Send(_)
                | Effect::Start(_)
                | Effect::Open(_)
                | Effect::Trust(_)
                | Effect::Notify(_)
                | Effect::Redraw
                | Effect::Suspend
                | Effect::PrintConversation
                | Effect::Quit(_) => {}
            }
        }
    }

    fn look(&mut self) {
        self.screen.frame();
        let area = self.screen.buffer().area;
        let caret = self.screen.caret();
        if let Some(caret) = caret {
            assert!(area.contains(caret), "{caret} is outside of {area}");
        }
        let question = match self.screen.state.dialogs.last() {
            Some(Dialog::Question(questions)) => questions.current().map(|it| it.call),
            _ => None,
        };
        let now = self.screen.state.now;
        self.asked = match (question, self.asked.take()) {
            (Some(call), Some((known, since))) if call == known => Some((call, since)),
            (question, _) => question.map(|call| (call, now)),
        };
        self.check_text();
    }

    /// No control character reaches the terminal.
    fn check_text(&self) {
        for cell in self.screen.buffer().content() {
            let is_control = |letter: char| {
                letter.is_control()
                    || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            };
            assert!(!cell.symbol().contains(is_control), "{:?}", cell.symbol());
        }
    }
}
