//! The text field for a call's result, typed by the person.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::buttons::{self, Button, arrange};
use super::places::{self, Places, WantedRows};
use super::{draw_rows, foot, text_field, title};
use crate::app::AppState;
use crate::app::dialogs::by_hand::ByHandDialog;
use crate::keymap::{Action, Context};
use crate::theme::Role;
use crate::ui::text::{Indent, Row, clean, truncate, wrap};

#[derive(Debug, Default)]
pub struct LaidOut {
    rows: Vec<Row>,
    label: Vec<Row>,
    pub places: Places,
    pub buttons: buttons::Row,
}

impl LaidOut {
    pub fn lay_out(&mut self, dialog: &ByHandDialog, state: &AppState, over: Rect) {
        let (width, theme) = (places::inner_width(over), &state.settings.theme);
        let about = truncate(&clean(&dialog.about), width.into());
        let about = Line::styled(about, theme.style(Role::Text));
        self.rows = wrap(about, width, &Indent::default());
        let label = "type what the model should get as its result:";
        let label = Line::styled(label, theme.style(Role::Muted));
        self.label = wrap(label, width, &Indent::default());
        let button =
            |(action, words)| Button::new(action, words, Context::Reason, &state.settings.keymap);
        let answers = [(Action::SendReason, "send"), (Action::Back, "back")];
        let answers = answers.into_iter().filter_map(button).collect();
        let answers = arrange(answers, width.into(), 1);
        let wanted = WantedRows {
            content: self.rows.len(),
            label: self.label.len(),
            field: text_field::height(&dialog.field, width),
            buttons: answers.len(),
            ..WantedRows::default()
        };
        self.places = Places::new(over, wanted);
        self.buttons = buttons::Row::place(answers, self.places.buttons);
    }

    pub fn draw(
        &self,
        dialog: &ByHandDialog,
        state: &AppState,
        buf: &mut Buffer,
    ) -> Option<Position> {
        let (theme, places) = (&state.settings.theme, &self.places);
        title(places, "Answer for this call", Line::default(), theme, buf);
        draw_rows(places.content, &self.rows, buf);
        draw_rows(places.label, &self.label, buf);
        foot(places, Line::default(), theme, buf);
        self.buttons.draw(|_| true, theme, buf);
        text_field::draw(&dialog.field, theme, places.field, buf)
    }
}
