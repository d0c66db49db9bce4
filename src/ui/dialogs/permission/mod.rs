//! Paints the question whether a call may run.
//!
//! The whole request can be scrolled: nothing is cut, and hidden lines are counted. If there is no room to read, the
//! layout says so ([`DialogLayout::visible`] is 0), and nothing can be allowed. `app::dialogs::permission` decides which
//! key answers what; the keymap provides the keys on the buttons.

mod answers;
mod content;
mod facts;
mod json;
#[cfg(test)]
mod tests;

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use self::content::{ShownElsewhere, Written};
use self::facts::Facts;
use crate::app::dialogs::DialogLayout;
use crate::app::dialogs::permission::{PermissionDialog, Picking, Stage};
use crate::app::dialogs::question::{CurrentQuestion, Questions};
use crate::app::diff::Diff;
use crate::app::{DiffStyle, Settings};
use crate::keymap::{Action, Context};
use crate::protocol::CallRef;
use crate::theme::{Role, Theme};
use crate::ui::dialogs::buttons;
use crate::ui::dialogs::places::{self, Places, WantedRows};
use crate::ui::dialogs::{self, draw_rows, more_lines, notice_rows, room_of_heading, text_field};
use crate::ui::highlight::{CodeColours, Highlights};
use crate::ui::text::{Indent, Row, chop, clean_line, reveal, truncate, width};

/// A laid-out dialog. Its rows are cached while the same content is shown, so a frame costs only the visible rows.
#[derive(Debug, Default)]
pub struct LaidOut {
    key: Option<Key>,
    written: Written,
    /// The revision of the colours at layout time, if some of its code's colours were missing.
    uncoloured: Option<u64>,
    facts: Facts,
    notice: Vec<Row>,
    /// What the text field is for.
    label: Vec<Row>,
    pub places: Places,
    pub buttons: buttons::Row,
    /// In the line below the content.
    pub others: buttons::Row,
    offset: usize,
}

/// With fewer rows, the facts are part of the content.
const ENOUGH_FOR_FACTS: u16 = 16;

/// What the rows depend on.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    call: CallRef,
    since: Instant,
    /// The visible hunk, and how many there are; `None` for the whole request.
    hunk: Option<(usize, usize)>,
    width: u16,
    is_compact: bool,
    elsewhere: ShownElsewhere,
    theme_epoch: u64,
    diff_style: DiffStyle,
}

impl LaidOut {
    /// Places everything at the bottom of `over`. Pass the result to [`record_layout`](PermissionDialog::record_layout) before drawing.
    pub fn lay_out(
        &mut self,
        questions: &Questions,
        settings: &Settings,
        over: Rect,
        code: &mut Highlights,
    ) -> DialogLayout {
        let (Some(current), Some(dialog)) = (questions.current(), questions.permission()) else {
            *self = Self::default();
            return DialogLayout::default();
        };
        let (width, theme) = (places::inner_width(over), &settings.theme);
        self.facts = if over.height < ENOUGH_FOR_FACTS {
            Facts::inside()
        } else {
            Facts::new(dialog, settings, width)
        };
        self.keep_rows(current, dialog, settings, over, code);
        self.notice = match dialog.notice() {
            Some(notice) => notice_rows(notice, width, theme),
            None => Vec::new(),
        };
        self.label = label_rows(dialog, width, theme);
        let most = places::most_buttons(over);
        let answers = answers::rows(dialog, settings, (width, most));
        let wanted = WantedRows {
            content: self.written.rows.len(),
            sticky: usize::from(places::is_ruled(over) && !self.written.files.is_empty()),
            facts: self.shown_facts(dialog).len(),
            notice: self.notice.len(),
            label: self.label.len(),
            field: field_of(dialog).map_or(0, |field| text_field::height(field, width)),
            buttons: answers.len(),
        };
        self.places = Places::new(over, wanted);
        self.buttons = buttons::Row::place(answers, self.places.buttons);
        let visible = self
            .written
            .rows
            .len()
            .min(self.places.content.height.into());
        let furthest = self.written.rows.len() - visible;
        self.offset = dialog.reading().offset.min(furthest);
        let rest = DialogLayout {
            furthest,
            visible,
            ..DialogLayout::default()
        };
        self.place_others(dialog, settings, rest);
        rest
    }

    fn keep_rows(
        &mut self,
        current: &CurrentQuestion,
        dialog: &PermissionDialog,
        settings: &Settings,
        over: Rect,
        code: &mut Highlights,
    ) {
        let picking = picking_of(dialog);
        let width = places::inner_width(over);
        let key = Key {
            call: current.call,
            since: dialog.since(),
            hunk: picking.map(|picking| (picking.at(), picking.choices().hunks().len())),
            width,
            is_compact: !places::is_ruled(over),
            elsewhere: ShownElsewhere {
                file: places::is_ruled(over) && names_file(dialog, width, &settings.theme),
                facts: !self.facts.are_inside,
            },
            theme_epoch: settings.theme_epoch,
            diff_style: settings.diff_style,
        };
        let colours = code.revision();
        let has_colours = self.uncoloured.is_none_or(|then| then == colours);
        if has_colours && self.key.as_ref() == Some(&key) {
            return;
        }
        let mut writer =
            content::Writer::new(settings, code, key.width, key.is_compact, key.elsewhere);
        self.written = match picking {
            Some(picking) => writer.hunk(picking),
            None => writer.request(current.asker.as_deref(), dialog.request(), dialog.diffs()),
        };
        self.uncoloured = code.take_missed().then_some(colours);
        self.key = Some(key);
    }

    /// The keys that do something besides answering, at the right of the line below the content: as many as fit.
    fn place_others(&mut self, dialog: &PermissionDialog, settings: &Settings, rest: DialogLayout) {
        let foot = self.places.foot;
        self.others = buttons::Row::default();
        if !self.places.is_ruled || foot.is_empty() {
            return;
        }
        let below = rest.furthest - self.offset;
        let words = self.foot_text(dialog, settings, below, usize::from(foot.width));
        let others = answers::others(dialog, settings, foot.width);
        self.others = buttons::Row::place_right(others, foot, words.width());
    }

    pub fn draw(
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
        let place = place(dialog, self.names_file(), questions.position(), theme);
        dialogs::title(places, &heading(dialog), place, theme, buf);
        if let Some(file) = self.file_in_view() {
            for row in places.sticky.rows() {
                buf.set_line(row.x, row.y, file, row.width);
            }
        }
        let shown = self.written.rows.iter().skip(self.offset);
        draw_rows(places.content, shown, buf);
        draw_rows(places.facts, self.shown_facts(dialog), buf);
        draw_rows(places.notice, &self.notice, buf);
        let room = usize::from(places.foot.width);
        let words = self.foot_text(dialog, settings, dialog.reading().below(), room);
        dialogs::foot(places, words, theme, buf);
        let can = |action| answers::has_effect(dialog, action, now);
        self.others.draw_over(can, theme, buf);
        self.buttons.draw(can, theme, buf);
        if let Some(chosen) = dialog.chosen() {
            self.buttons.mark(chosen, theme, buf);
        }
        let field = field_of(dialog)?;
        draw_rows(places.label, &self.label, buf);
        text_field::draw(field, theme, places.field, buf)
    }

    fn names_file(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.elsewhere.file)
    }

    /// The name of the file in the first visible row.
    fn file_in_view(&self) -> Option<&Line<'static>> {
        let mut files = self.written.files.iter().rev();
        let found = files.find(|(first, _)| *first <= self.offset);
        found.or(self.written.files.first()).map(|(_, line)| line)
    }

    /// The facts are hidden while the person writes or picks changes.
    fn shown_facts(&self, dialog: &PermissionDialog) -> &[Row] {
        match dialog.stage() {
            Stage::Asking => &self.facts.rows,
            Stage::Rule | Stage::Reason | Stage::Hunks => &[],
        }
    }

    /// How much is hidden, the progress of picking, and the rule.
    fn foot_text(
        &self,
        dialog: &PermissionDialog,
        settings: &Settings,
        below: usize,
        room: usize,
    ) -> Line<'static> {
        let theme = &settings.theme;
        let (reading, picking) = (dialog.reading(), picking_of(dialog));
        let is_unread = match picking {
            Some(picking) => !picking.can_take(),
            None => !reading.has_reached_end(),
        };
        let mut parts: Vec<Line<'static>> = Vec::new();
        let style = theme.style(if is_unread {
            Role::Warning
        } else {
            Role::Muted
        });
        if !reading.is_visible() {
            parts.push(Line::styled("too small to show it", style));
        } else if below > 0 {
            let key = settings
                .keymap
                .chord_for(Action::PageDown, &[dialog.context(), Context::Global]);
            let key = key.map(|key| key.to_string());
            let text = more_lines(below, key.as_deref(), room);
            parts.push(Line::styled(text, style));
        }
        if let Some(picking) = picking {
            let counts = truncate(&answers::counts(picking), room);
            parts.push(Line::styled(counts, theme.style(Role::Muted)));
        }
        if dialog.stage() == Stage::Asking {
            parts.extend(self.facts.foot.clone());
        }
        let between = Span::styled(" ── ", theme.style(Role::BorderAlert));
        let mut line = Line::default();
        for part in parts {
            if line.width() > 0 {
                line.push_span(between.clone());
            }
            let style = part.style;
            line.extend(part.spans.into_iter().map(|span| span.patch_style(style)));
        }
        line
    }
}

/// The changes, while the person picks them.
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
        (Stage::Rule, Some(offer)) => format!("will be saved to {}", offer.file.display()),
        (Stage::Reason, _) => "tell the model why:".into(),
        (Stage::Rule, None) | (Stage::Asking | Stage::Hunks, _) => return Vec::new(),
    };
    let line = Line::styled(clean_line(&label, 1).into_owned(), theme.style(Role::Muted));
    chop(line, width, &Indent::default())
}

/// The only changed file, or the file of the hunk being picked.
fn only_file(dialog: &PermissionDialog) -> Option<&Diff> {
    match (picking_of(dialog), dialog.diffs()) {
        (Some(picking), _) => Some(picking.choices().diff_of(picking.current())),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

/// Whether the heading shows the file's whole name without hidden characters.
fn names_file(dialog: &PermissionDialog, columns: u16, theme: &Theme) -> bool {
    let Some(diff) = only_file(dialog) else {
        return false;
    };
    if reveal(diff.path(), theme).to_string() != diff.path() {
        return false;
    }
    // The largest width of its number in the queue.
    let aside = place(dialog, true, (99, 99), theme).width();
    width(&heading(dialog)) <= room_of_heading(columns, aside)
}

fn heading(dialog: &PermissionDialog) -> String {
    let request = dialog.request();
    let tool = clean_line(&request.tool, 1);
    let file = only_file(dialog).map(|diff| clean_line(diff.path(), 1));
    match (dialog.stage(), file, dialog.diffs()) {
        (Stage::Asking, Some(file), _) => format!("{tool} {file}?"),
        (Stage::Asking, None, [_, ..]) => format!("{tool} {} files?", dialog.diffs().len()),
        (Stage::Asking, None, []) if request.is_command => "Run this command?".to_owned(),
        (Stage::Asking, None, []) => format!("Allow {tool}?"),
        (Stage::Rule, ..) => format!("Always allow {tool}"),
        (Stage::Reason, ..) => format!("Deny {tool}"),
        (Stage::Hunks, Some(file), _) => format!("Pick changes in {file}"),
        (Stage::Hunks, None, _) => "Pick changes".to_owned(),
    }
}

/// How much changes in the file that the heading names, and the number in the queue.
fn place(
    dialog: &PermissionDialog,
    names_file: bool,
    position: (usize, usize),
    theme: &Theme,
) -> Line<'static> {
    let mut line = Line::default();
    if let Some(diff) = only_file(dialog).filter(|_| names_file) {
        line.extend(content::size(diff, theme));
    }
    let place = dialogs::place_in_queue(position);
    if !place.is_empty() {
        if line.width() > 0 {
            line.push_span(Span::styled(" ── ", theme.style(Role::BorderAlert)));
        }
        line.push_span(Span::styled(place, theme.style(Role::Muted)));
    }
    line
}
