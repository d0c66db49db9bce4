//! The session of [`crate::app::sample_session`] on a screen, frame by frame.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Screen;
use crate::app::Msg;
use crate::app::rig::App;
use crate::app::sample_session::{self, Moment};
use crate::ui::highlight::Highlighter;
use crate::ui::{self, Caches};

pub const COLUMNS: u16 = 120;
pub const ROWS: u16 = 36;
const WHOLE: Rect = Rect::new(0, 0, COLUMNS, ROWS);

/// A frame: the bytes sent to the terminal, and what it shows then.
pub struct Played<'a> {
    pub moment: Option<Moment>,
    pub bytes: &'a [u8],
    pub shown: &'a Buffer,
}

/// Plays the story from its beginning to its end.
pub fn play(show: &mut dyn FnMut(Played)) {
    let (mut caches, mut screen) = (Caches::new(), Screen::new(WHOLE.as_size()));
    let mut highlighter = Highlighter::new();
    sample_session::play(COLUMNS, ROWS, &mut |app, moment| {
        // A frame may request colours; the next one has them.
        let mut bytes = Vec::new();
        for _ in 0..2 {
            bytes.extend(frame(app, &mut caches, &mut screen));
            for request in caches.highlights.take_wanted() {
                let colours = highlighter.highlight(&request.language, &request.code);
                caches.highlights.ready(request.key, colours);
            }
        }
        let (bytes, shown) = (&*bytes, &screen.shown);
        show(Played {
            moment,
            bytes,
            shown,
        });
    });
}

fn frame(app: &mut App, caches: &mut Caches, screen: &mut Screen) -> Vec<u8> {
    let found = caches.lay_out(&app.state, WHOLE);
    app.update(Msg::LaidOut(found));
    let moves = caches.conversation();
    let drawn = screen.draw(Vec::new(), moves, caches.links(), |area, buffer| {
        ui::paint(&app.state, caches, area, buffer)
    });
    drawn.unwrap_or_default()
}
