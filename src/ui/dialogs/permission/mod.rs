//! Paints the question whether a call may run, over the lower part of the conversation.
//!
//! All of the request is there to be scrolled through: nothing is cut, and what is out of view is counted. Where there is no
//! room to read, the layout says so ([`DialogRest::visible`] is 0), and nothing can be allowed. Which key answers what is
//! `app::dialogs::permission`'s; the hints come from the keymap.

mod content;
mod hints;
mod json;
#[cfg(test)]
mod tests;

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use crate::app::dialogs::DialogRest;
use crate::app::dialogs::permission::{PermissionDialog, Picking, Stage};
use crate::app::dialogs::question::{Asked, Questions};
use crate::app::{AppState, DiffStyle, Settings};
use crate::protocol::CallRef;
use crate::theme::{Role, Theme};
use crate::ui::conversation::draw_row;
use crate::ui::dialogs::places::{self, Places, Wanted};
use crate::ui::dialogs::{self, notice_rows, text_field};
use crate::ui::highlight::{CodeColours, Highlights};
use crate::ui::text::{Indent, Row, chop, clean_line, truncate, width};

/// Finds a place for everything in the lower part of `over`. What it returns is for the dialog to
/// [settle](PermissionDialog::settle) before it is drawn.
pub fn lay_out(
    questions: &Questions,
    state: &AppState,
    over: Rect,
    laid: &mut Laid,
    code: &mut Highlights,
) -> DialogRest {
    laid.lay_out(questions, &state.settings, over, code)
}

/// Paints what was laid out; says where the caret is, if something is being typed.
pub fn draw(
    questions: &Questions,
    state: &AppState,
    laid: &Laid,
    over: Rect,
    buf: &mut Buffer,
) -> Option<Position> {
    // A layout for another size has no place here.
    if laid.places.area.intersection(over) != laid.places.area {
        return None;
    }
    laid.draw(questions, &state.settings, state.now, buf)
}

/// A laid-out dialog. Its rows are kept for as long as the same is shown, so a frame costs what is in view.
#[derive(Debug, Default)]
pub struct Laid {
    key: Option<Key>,
    rows: Vec<Row>,
    /// Colours of its code were missing when it was laid out, at this revision of the colours.
    uncoloured: Option<u64>,
    notice: Vec<Row>,
    /// What the text field is for.
    label: Vec<Row>,
    places: Places,
    offset: usize,
}

/// What the rows depend on.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    call: CallRef,
    since: Instant,
    /// The hunk in view, and how many there are; `None` for the whole request.
    hunk: Option<(usize, usize)>,
    width: u16,
    is_compact: bool,
    theme_epoch: u64,
    diff_style: DiffStyle,
}

impl Laid {
    fn lay_out(
        &mut self,
        questions: &Questions,
        settings: &Settings,
        over: Rect,
        code: &mut Highlights,
    ) -> DialogRest {
        let (Some(asked), Some(dialog)) = (questions.current(), questions.permission()) else {
            *self = Self::default();
            return DialogRest::default();
        };
        let width = places::inner_width(over);
        self.keep_rows(asked, dialog, settings, over, code);
        self.notice = match dialog.notice() {
            Some(notice) => notice_rows(notice, width, &settings.theme),
            None => Vec::new(),
        };
        self.label = label_rows(dialog, width, &settings.theme);
        let wanted = Wanted {
            content: self.rows.len(),
            notice: self.notice.len(),
            label: self.label.len(),
            field: field_of(dialog).map_or(0, |field| text_field::height(field, width)),
            hints: hints::height(dialog, &settings.keymap, width),
        };
        self.places = Places::new(over, wanted);
        let visible = self.rows.len().min(self.places.content.height.into());
        let furthest = self.rows.len() - visible;
        self.offset = dialog.reading().offset.min(furthest);
        DialogRest { furthest, visible }
    }

    fn keep_rows(
        &mut self,
        asked: &Asked,
        dialog: &PermissionDialog,
        settings: &Settings,
        over: Rect,
        code: &mut Highlights,
    ) {
        let picking = picking_of(dialog);
        let key = Key {
            call: asked.call,
            since: dialog.since(),
            hunk: picking.map(|picking| (picking.at(), picking.choices().hunks().len())),
            width: places::inner_width(over),
            is_compact: !places::is_framed(over),
            theme_epoch: settings.theme_epoch,
            diff_style: settings.diff_style,
        };
        let colours = code.revision();
        let has_colours = self.uncoloured.is_none_or(|then| then == colours);
        if has_colours && self.key.as_ref() == Some(&key) {
            return;
        }
        let mut writer = content::Writer::new(settings, code, key.width, key.is_compact);
        self.rows = match picking {
            Some(picking) => writer.hunk(picking),
            None => writer.request(asked.asker.as_deref(), dialog.request(), dialog.diffs()),
        };
        self.uncoloured = code.take_missed().then_some(colours);
        self.key = Some(key);
    }

    fn draw(
        &self,
        questions: &Questions,
        settings: &Settings,
        now: Instant,
        buf: &mut Buffer,
    ) -> Option<Position> {
        let dialog = questions.permission()?;
        let places = &self.places;
        if places.area.is_empty() {
            return None;
        }
        let theme = &settings.theme;
        dialogs::title(
            &self.places,
            &heading(dialog),
            &place(dialog, questions.position()),
            theme,
            buf,
        );
        let shown = self.rows.iter().skip(self.offset);
        for (place, row) in places.content.rows().zip(shown) {
            draw_row(row, place, place.y, buf);
        }
        for place in places.tail.rows() {
            let tail = tail(dialog, place.width.into(), theme);
            buf.set_line(place.x, place.y, &tail, place.width);
        }
        for (place, row) in places.notice.rows().zip(&self.notice) {
            draw_row(row, place, place.y, buf);
        }
        let hints = hints::lines(dialog, settings, now, places.hints);
        for (place, line) in places.hints.rows().zip(&hints) {
            buf.set_line(place.x, place.y, line, place.width);
        }
        self.draw_field(dialog, theme, buf)
    }

    fn draw_field(
        &self,
        dialog: &PermissionDialog,
        theme: &Theme,
        buf: &mut Buffer,
    ) -> Option<Position> {
        let field = field_of(dialog)?;
        for (place, row) in self.places.label.rows().zip(&self.label) {
            draw_row(row, place, place.y, buf);
        }
        text_field::draw(field, theme, self.places.field, buf)
    }
}

/// The changes, while they are being picked.
fn picking_of(dialog: &PermissionDialog) -> Option<&Picking> {
    dialog.picking().filter(|_| dialog.stage() == Stage::Hunks)
}

fn field_of(dialog: &PermissionDialog) -> Option<&text_field::Field> {
    match dialog.stage() {
        Stage::Rule => Some(dialog.rule()),
        Stage::Reason => Some(dialog.reason()),
        Stage::Asking | Stage::Hunks => None,
    }
}

fn label_rows(dialog: &PermissionDialog, width: u16, theme: &Theme) -> Vec<Row> {
    let offer = dialog.request().rule.as_ref();
    let label = match (dialog.stage(), offer) {
        (Stage::Rule, Some(offer)) => format!("saved in {}", offer.file.display()),
        (Stage::Reason, _) => "what the model is told".into(),
        (Stage::Rule, None) | (Stage::Asking | Stage::Hunks, _) => return Vec::new(),
    };
    let line = Line::styled(clean_line(&label, 1).into_owned(), theme.style(Role::Muted));
    chop(line, width, &Indent::default())
}

fn heading(dialog: &PermissionDialog) -> String {
    let tool = clean_line(&dialog.request().tool, 1);
    match dialog.stage() {
        Stage::Asking => format!("Allow {tool}?"),
        Stage::Rule => format!("Always allow {tool}"),
        Stage::Reason => format!("Deny {tool}"),
        Stage::Hunks => format!("Pick changes of {tool}"),
    }
}

/// Where one is: in the queue, or among the changes.
fn place(dialog: &PermissionDialog, position: (usize, usize)) -> String {
    match picking_of(dialog) {
        Some(picking) => {
            let count = picking.choices().hunks().len();
            format!(" change {}/{count} ", picking.at() + 1)
        }
        None => dialogs::place_in_queue(position),
    }
}

/// What is out of view, further down, and what that means.
fn tail(dialog: &PermissionDialog, room: usize, theme: &Theme) -> Line<'static> {
    let (reading, picking) = (dialog.reading(), picking_of(dialog));
    let below = reading.below();
    let is_unread = match picking {
        Some(picking) => !picking.can_take(),
        None => !reading.has_reached_end(),
    };
    let mut parts = Vec::new();
    if !reading.is_visible() {
        parts.push("too small to show it".to_owned());
    } else if below > 0 {
        parts.push(below_text(below, is_unread, room));
    }
    parts.extend(picking.map(hints::counts));
    let role = if is_unread {
        Role::Warning
    } else {
        Role::Muted
    };
    Line::styled(truncate(&parts.join(" · "), room), theme.style(role))
}

/// How many lines are further down, in as many words as there is room for.
fn below_text(below: usize, is_unread: bool, room: usize) -> String {
    let lines = if below == 1 { "line" } else { "lines" };
    let mut forms = vec![
        format!("{below} more {lines} below"),
        format!("{below} more below"),
    ];
    if is_unread {
        let asked = [
            format!("{} · scroll to the end to allow", forms[0]),
            format!("{} · scroll to allow", forms[1]),
        ];
        forms.splice(0..0, asked);
    }
    let fitting = forms.iter().find(|form| width(form) <= room);
    fitting.or(forms.last()).cloned().unwrap_or_default()
}
