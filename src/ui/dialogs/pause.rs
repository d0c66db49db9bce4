//! Asks whether to continue after a limit was reached.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::buttons::{self, Button, arrange};
use super::places::{self, Places, WantedRows};
use super::{draw_rows, foot, title};
use crate::app::AppState;
use crate::app::dialogs::pause::PauseDialog;
use crate::keymap::{Action, Context};
use crate::theme::Role;
use crate::ui::text::{Indent, Row, clean, wrap};

#[derive(Debug, Default)]
pub struct LaidOut {
    rows: Vec<Row>,
    pub places: Places,
    pub buttons: buttons::Row,
}

impl LaidOut {
    pub fn lay_out(&mut self, dialog: &PauseDialog, state: &AppState, over: Rect) {
        let (width, theme) = (places::inner_width(over), &state.settings.theme);
        let why = clean(&dialog.why).into_owned();
        let why = Line::from(Span::styled(why, theme.style(Role::Text)));
        self.rows = wrap(why, width, &Indent::default());
        let button =
            |(action, words)| Button::new(action, words, Context::Question, &state.settings.keymap);
        let answers = [
            (Action::Choose, "continue"),
            (Action::Back, "stop the turn"),
        ];
        let answers = answers.into_iter().filter_map(button).collect();
        let answers = arrange(answers, width.into(), places::most_buttons(over));
        let wanted = WantedRows {
            content: self.rows.len(),
            buttons: answers.len(),
            ..WantedRows::default()
        };
        self.places = Places::new(over, wanted);
        self.buttons = buttons::Row::place(answers, self.places.buttons);
    }

    pub fn draw(&self, dialog: &PauseDialog, state: &AppState, buf: &mut Buffer) {
        let (theme, places) = (&state.settings.theme, &self.places);
        title(places, "Continue?", Line::default(), theme, buf);
        draw_rows(places.content, &self.rows, buf);
        foot(places, Line::default(), theme, buf);
        self.buttons
            .draw(|_| dialog.is_armed(state.now), theme, buf);
    }
}
