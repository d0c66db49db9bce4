//! The mouse for the application: what it does, and how often in quick succession.

use std::time::{Duration, Instant};

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use crate::app::pointer::PointerKind;

/// Presses this close together form a double or triple click.
const SUCCESSION: Duration = Duration::from_millis(400);

#[derive(Debug, Default)]
pub struct Clicks {
    last: Option<Click>,
}

#[derive(Debug, Clone, Copy)]
struct Click {
    at: Instant,
    place: (u16, u16),
    times: u8,
}

impl Clicks {
    /// `None` for what the application does not use.
    pub fn kind(&mut self, event: MouseEvent, now: Instant) -> Option<PointerKind> {
        Some(match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                let times = self.press((event.column, event.row), now);
                PointerKind::Pressed { times }
            }
            MouseEventKind::Drag(MouseButton::Left) => PointerKind::Dragged,
            MouseEventKind::Up(MouseButton::Left) => PointerKind::Released,
            MouseEventKind::ScrollUp => PointerKind::WheelUp,
            MouseEventKind::ScrollDown => PointerKind::WheelDown,
            MouseEventKind::Down(_)
            | MouseEventKind::Up(_)
            | MouseEventKind::Drag(_)
            | MouseEventKind::Moved
            | MouseEventKind::ScrollLeft
            | MouseEventKind::ScrollRight => return None,
        })
    }

    fn press(&mut self, place: (u16, u16), now: Instant) -> u8 {
        let before = self.last.filter(|last| {
            let soon = now.saturating_duration_since(last.at) <= SUCCESSION;
            soon && last.place == place
        });
        // After the third one it starts over.
        let times = before.map_or(1, |last| last.times % 3 + 1);
        self.last = Some(Click {
            at: now,
            place,
            times,
        });
        times
    }
}

#[cfg(test)]
mod tests {
    use super::Clicks;
    use std::time::{Duration, Instant};

    #[test]
    fn quick_presses_at_one_place_count_up_to_three() {
        let mut clicks = Clicks::default();
        let now = Instant::now();
        let times: Vec<u8> = (0..4).map(|_| clicks.press((3, 4), now)).collect();
        assert_eq!(times, [1, 2, 3, 1]);
    }

    #[test]
    fn a_press_elsewhere_or_later_starts_a_new_count() {
        let mut clicks = Clicks::default();
        let now = Instant::now();
        let later = now + Duration::from_millis(401);
        let presses = [((3, 4), now), ((3, 5), now), ((3, 5), later)];
        assert_eq!(
            presses.map(|(place, at)| clicks.press(place, at)),
            [1, 1, 1]
        );
    }
}
