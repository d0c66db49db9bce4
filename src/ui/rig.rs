//! An [`App`] as text, for tests and snapshots.

use std::ops::{Deref, DerefMut};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{Caches, paint};
use crate::app::pointer::{Pointer, PointerKind, Target};
use crate::app::rig::App;
use crate::app::{Effect, Msg};

/// An application on a screen that persists from frame to frame.
pub struct Screen {
    pub app: App,
    pub caches: Caches,
    terminal: Terminal<TestBackend>,
    /// `None` while the cursor is hidden.
    caret: Option<Position>,
}

impl Deref for Screen {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl DerefMut for Screen {
    fn deref_mut(&mut self) -> &mut App {
        &mut self.app
    }
}

impl App {
    /// A single first frame of it.
    pub fn draw(self, width: u16, height: u16) -> String {
        Screen::new(self, width, height).draw()
    }

    pub fn on(self, width: u16, height: u16) -> Screen {
        Screen::new(self, width, height)
    }
}

impl Screen {
    /// With its first frame drawn.
    pub fn new(app: App, width: u16, height: u16) -> Self {
        let terminal = Terminal::new(TestBackend::new(width, height));
        let mut screen = Self {
            app,
            caches: Caches::new(),
            terminal: terminal.expect("a backend without errors"),
            caret: None,
        };
        screen.resize(width, height);
        screen.frame();
        screen
    }

    pub fn resize(&mut self, width: u16, height: u16) {
        self.app.resize(width, height);
        self.terminal.backend_mut().resize(width, height);
        let area = Rect::new(0, 0, width, height);
        let resized = self.terminal.resize(area);
        resized.expect("a backend without errors");
    }

    /// Lays out, settles and paints, like the runtime.
    pub fn frame(&mut self) {
        let area = self.terminal.backend().buffer().area;
        let found = self.caches.lay_out(&self.app.state, area);
        self.app.update(Msg::LaidOut(found));
        let (state, caches) = (&self.app.state, &self.caches);
        let caret = &mut self.caret;
        let drawn = self.terminal.draw(|frame| {
            *caret = paint(state, caches, frame.area(), frame.buffer_mut());
        });
        drawn.expect("a backend without errors");
    }

    /// The next frame as text, and the caret.
    pub fn draw(&mut self) -> String {
        let text = self.text();
        match self.caret {
            Some(Position { x, y }) => format!("{text}\ncaret: row {y}, column {x}"),
            None => format!("{text}\nno caret"),
        }
    }

    pub fn text(&mut self) -> String {
        self.frame();
        lines(self.buffer()).join("\n")
    }

    /// The lines of the next frame that contain this text, without the scroll bar.
    pub fn lines_with(&mut self, part: &str) -> Vec<String> {
        self.frame();
        let mut lines = lines(self.buffer());
        lines.retain(|line| line.contains(part));
        let text = lines.iter().map(|line| line.trim_end_matches(['┃', ' ']));
        text.map(str::to_owned).collect()
    }

    pub fn footer(&mut self) -> String {
        self.frame();
        lines(self.buffer()).pop().unwrap_or_default()
    }

    pub fn buffer(&self) -> &Buffer {
        self.terminal.backend().buffer()
    }

    /// The cursor in the last frame.
    pub fn caret(&self) -> Option<Position> {
        self.caret
    }

    /// A mouse event at a text on the screen.
    pub fn point(&mut self, kind: PointerKind, text: &str) -> Vec<Effect> {
        let at = self.find(text);
        self.point_at(kind, at)
    }

    pub fn point_at(&mut self, kind: PointerKind, at: Position) -> Vec<Effect> {
        let target = self.target(at);
        self.app.update(Msg::Pointed(Pointer { kind, target }))
    }

    pub fn target(&self, at: Position) -> Target {
        self.caches.hit(at.x, at.y)
    }

    /// Where a text begins on the screen.
    pub fn find(&self, text: &str) -> Position {
        let lines = lines(self.buffer());
        let found = (0..).zip(&lines).find_map(|(y, line)| {
            let at = line.find(text)?;
            let x = super::text::width(&line[..at]);
            Some(Position::new(u16::try_from(x).ok()?, y))
        });
        found.unwrap_or_else(|| panic!("`{text}` is not on the screen:\n{}", lines.join("\n")))
    }

    pub fn selected(&mut self) -> String {
        self.frame();
        self.caches.selected_text(&self.app.state)
    }
}

/// The rows of a buffer, without trailing spaces.
pub fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width).max(1);
    let rows = buffer.content().chunks(width).map(|cells| {
        let mut line = String::new();
        let mut covered = 0;
        for cell in cells {
            if covered == 0 {
                line.push_str(cell.symbol());
                covered = super::text::width(cell.symbol()).max(1);
            }
            covered -= 1;
        }
        line.trim_end().to_owned()
    });
    rows.collect()
}
