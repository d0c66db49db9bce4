//! The view: paints the application's state, and changes nothing.
//!
//! [`Caches::lay_out`] finds the visible rows and caches the layout; [`view`] only reads. Neither knows a colour:
//! styles come from `theme`, by role.

pub mod caches;
pub mod cells;
pub mod composer;
pub mod conversation;
pub mod dialogs;
pub mod diff;
pub mod footer;
mod heading;
pub mod highlight;
mod inline_question;
pub mod layout;
mod list;
pub mod markdown;
pub mod page;
pub mod panel;
pub mod printed;
pub mod queue;
mod rule;
mod selection;
pub mod status;
pub mod text;
mod todos;

#[cfg(test)]
mod rig;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use self::caches::{CellCache, Measured};
use self::cells::CellContext;
use self::conversation::Pane;
use self::highlight::{CodeColours, Highlights};
use self::layout::Heights;
use self::panel::Listed;
use self::text::{Row, Targets, clean, truncate, width};
use crate::app::call::CallKey;
use crate::app::dialogs::{Dialog, DialogLayout};
use crate::app::panel::{CONVERSATION, WIDE_ENOUGH};
use crate::app::pointer::Target;
use crate::app::scroll::Found;
use crate::app::{AppState, Focus};
use crate::theme::Role;

/// A wider panel would only have longer bars.
const WIDEST_PANEL: u16 = 64;
/// A smaller terminal shows only a notice.
pub const SMALLEST: (u16, u16) = (20, 5);

/// The areas of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Areas {
    /// The name of the conversation, if it is a subagent's.
    pub heading: Rect,
    pub conversation: Rect,
    /// The empty row below the conversation.
    pub air: Rect,
    pub panel: Rect,
    pub strip: Rect,
    pub todos: Rect,
    pub queue: Rect,
    pub rule: Rect,
    pub composer: Rect,
    pub status: Rect,
}

/// The layout, for [`view`] to paint and for the mouse to hit.
#[derive(Default)]
pub struct Caches {
    pub highlights: Highlights,
    cells: CellCache,
    pane: Pane,
    areas: Areas,
    listed: Listed,
    /// The targets of the visible links.
    links: Targets,
    /// The mark that says how much is below.
    below: Rect,
    /// The detail view, and what it was laid out from.
    detail: Option<(DetailKey, Vec<Row>)>,
    help: dialogs::help::LaidOut,
    pager: dialogs::pager::LaidOut,
    /// The list in front.
    list: Rect,
    /// The question that replaces the input.
    asked: inline_question::LaidOut,
}

type DetailKey = (usize, u64, u16, u64, u64);

impl Caches {
    pub fn new() -> Self {
        Self::default()
    }

    /// Lays out what is visible.
    pub fn lay_out(&mut self, state: &AppState, whole: Rect) -> Found {
        if whole.width < SMALLEST.0 || whole.height < SMALLEST.1 {
            self.areas = Areas::default();
            self.pane = Pane::default();
            // A question can't be read here, so it can't be allowed.
            return Found {
                layout: None,
                selection: state.selection.clone(),
                dialog: Some(DialogLayout::default()),
                detail: None,
                diff_width: 0,
                matches: None,
            };
        }
        let asked = self
            .asked
            .lay_out(state, Areas::over_status(whole), &mut self.highlights);
        let areas = Areas::of(state, whole, self.asked.area().height);
        self.areas = areas;
        let (rest, selection) = self.pane.lay_out(
            state,
            areas.conversation,
            &mut self.cells,
            &mut self.highlights,
        );
        self.pane.find_links(&self.cells, &mut self.links);
        self.below = new_below(state, &self.pane, areas).map_or(Rect::default(), |(_, mark)| mark);
        let in_view = self.calls_in_view(state);
        self.listed = panel::lay_out(state, areas.panel, areas.strip, in_view);
        let detail = self.lay_out_detail(state);
        self.list = Rect::default();
        let dialog = match state.dialogs.last() {
            Some(Dialog::Picker(picker)) => {
                let (places, rest) = dialogs::picker::lay_out(picker, self.modal_area(whole));
                self.list = places.list;
                Some(rest)
            }
            Some(Dialog::Help(help)) => {
                let area = self.modal_area(whole);
                Some(self.help.lay_out(help, state, area))
            }
            Some(Dialog::Pager(pager)) => {
                let area = self.modal_area(whole);
                let code = &mut self.highlights;
                Some(self.pager.lay_out(pager, state, area, code))
            }
            Some(front) if front.replaces_input() => asked,
            Some(_) | None => None,
        };
        Found {
            layout: Some(rest),
            selection,
            dialog,
            detail,
            diff_width: self.diff_width(state, whole),
            matches: self.pager_matches(state),
        }
    }

    fn pager_matches(&mut self, state: &AppState) -> Option<Arc<[usize]>> {
        match state.dialogs.last() {
            Some(Dialog::Pager(pager)) => {
                let find = pager.find.as_ref()?;
                Some(self.pager.matches(find.query()))
            }
            _ => None,
        }
    }

    /// The calls whose rows are visible in the conversation.
    fn calls_in_view(&self, state: &AppState) -> Vec<CallKey> {
        if state.panel.detail.is_some() {
            return Vec::new();
        }
        let cells = self.pane.rows.chunk_by(|one, other| one.0 == other.0);
        let cells = cells.filter_map(|rows| state.conversation().get(rows.first()?.0));
        cells.filter_map(|entry| entry.cell.call()).collect()
    }

    fn diff_width(&self, state: &AppState, whole: Rect) -> u16 {
        match state.dialogs.last() {
            Some(Dialog::Question(_)) => dialogs::places::inner_width(Areas::over_status(whole)),
            _ => self.areas.conversation.width.saturating_sub(cells::MARGIN),
        }
    }

    fn lay_out_detail(&mut self, state: &AppState) -> Option<usize> {
        let Some(detail) = &state.panel.detail else {
            self.detail = None;
            return None;
        };
        let call = state.calls.get(detail.call);
        let area = self.areas.conversation;
        // A running call shows its seconds.
        let runs = !call.is_over() || call.is_in_background();
        let running = call.ran(state.now).filter(|_| runs);
        let time = running.map_or(0, |time| time.as_secs() + 1);
        let key = (
            detail.call.0,
            call.revision,
            area.width,
            state.settings.theme_epoch + self.highlights.revision(),
            time,
        );
        if self.detail.as_ref().is_none_or(|(known, _)| *known != key) {
            let mut cx = CellContext {
                width: area.width,
                theme: &state.settings.theme,
                code: &mut self.highlights,
            };
            let rows = panel::detail_rows(call, state, &mut cx);
            self.detail = Some((key, rows));
        }
        let rows = self.detail.as_ref().map_or(0, |(_, rows)| rows.len());
        Some(rows.saturating_sub(usize::from(area.height)))
    }

    /// Lists and pages cover everything but the footer, which may show a message.
    fn modal_area(&self, whole: Rect) -> Rect {
        Rect {
            height: whole.height - self.areas.status.height,
            ..whole
        }
    }

    /// The area of the conversation, whose rows scroll.
    pub fn conversation(&self) -> Rect {
        self.areas.conversation
    }

    /// The targets of the visible links.
    pub fn links(&self) -> &Targets {
        &self.links
    }

    /// What is under the mouse.
    pub fn hit(&self, column: u16, row: u16) -> Target {
        let at = Position::new(column, row);
        let areas = &self.areas;
        if self.list.contains(at) {
            return Target::ListRow(usize::from(row - self.list.y));
        }
        if let Some(target) = self.asked.hit(column, row) {
            return target;
        }
        if areas.composer.contains(at) {
            return Target::Composer {
                row: row - areas.composer.y,
                column: column - areas.composer.x,
            };
        }
        if self.listed.area.contains(at) {
            let line = usize::from(row - self.listed.area.y);
            let marks = usize::from(column - self.listed.area.x) < panel::MARKS;
            return match self.listed.row(line) {
                Some(index) if marks && self.listed.folds(index) => Target::Fold(index),
                Some(index) => Target::Call(index),
                None => Target::Panel,
            };
        }
        if areas.panel.contains(at) {
            return Target::Panel;
        }
        if self.below.contains(at) && self.detail.is_none() {
            return Target::NewBelow;
        }
        if let Some(message) = self.pane.pinned
            && self.detail.is_none()
            && areas.conversation.contains(at)
            && row < self.pane.area.y
        {
            return Target::Message(message);
        }
        if areas.conversation.contains(at)
            && self.detail.is_none()
            && let Some(spot) = self.pane.spot(column, row)
        {
            return Target::Conversation(spot);
        }
        if areas.queue.contains(at)
            && let Some(number) = queue::message_at(areas.queue, row)
        {
            return Target::Queued(number);
        }
        Target::Elsewhere
    }

    /// The selection as text, including what is not visible.
    pub fn selected_text(&mut self, state: &AppState) -> String {
        let Some(selection) = &state.selection else {
            return String::new();
        };
        let mut measured = Measured {
            cache: &mut self.cells,
            code: &mut self.highlights,
            state,
            width: self.areas.conversation.width,
        };
        for cell in selection::cells(selection, state) {
            if let Some(index) = state.conversation().index_of(cell) {
                measured.height(index);
            }
        }
        selection::text(selection, state, &self.cells)
    }
}

impl Areas {
    /// Everything above the status line.
    fn over_status(whole: Rect) -> Rect {
        Rect {
            height: whole.height - status::height(whole),
            ..whole
        }
    }

    /// A question takes `asked` rows: the input's first, then the conversation's.
    fn of(state: &AppState, whole: Rect, asked: u16) -> Self {
        let height = whole.height;
        let status = status::height(whole);
        let air = u16::from(height >= 12 && asked == 0);
        let (rule, composer) = if asked > 0 {
            (0, asked)
        } else {
            let most = state.composer_rows().min(height);
            let composer = composer::height(&state.composer, whole.width, most).clamp(1, most);
            (u16::from(height >= 7), composer)
        };
        let wide = whole.width >= WIDE_ENOUGH && state.shows_panel();
        let left = height.saturating_sub(status + rule + air + composer);
        let queue = queue::height(state).min(left / 4);
        // A question leaves the strip's rows to the conversation, which also shows the calls.
        let strip = if wide || asked > 0 {
            0
        } else {
            panel::strip_height(state, (left / 4).max(1)).min(left.saturating_sub(2))
        };
        let free = left.saturating_sub(queue + strip);
        let todos = match asked {
            0 => todos::height(state, free, height),
            _ => 0,
        };
        let mut y = whole.bottom();
        let mut take = |rows: u16| {
            y -= rows;
            Rect {
                y,
                height: rows,
                ..whole
            }
        };
        let status = take(status);
        let mut composer = take(composer);
        if asked > 0 {
            composer.height = 0;
        }
        let rule = take(rule);
        let queue = take(queue);
        let todos = take(todos);
        let strip = take(strip);
        let air = take(air);
        let rest = Rect {
            height: y - whole.y,
            ..whole
        };
        let aside = if wide {
            (whole.width - CONVERSATION - 1).min(WIDEST_PANEL)
        } else {
            0
        };
        // An empty column on the right.
        let text = Rect {
            width: rest.width - aside - 1,
            ..rest
        };
        let (heading, conversation) = heading::split(state, text);
        Self {
            heading,
            conversation,
            air: Rect {
                width: air.width - aside,
                ..air
            },
            panel: Rect {
                x: rest.right() - aside,
                width: aside,
                height: rest.height + air.height,
                ..rest
            },
            strip,
            todos,
            queue,
            rule,
            composer,
            status,
        }
    }
}

/// Paints the layout; returns the caret.
pub fn paint(state: &AppState, caches: &Caches, whole: Rect, buf: &mut Buffer) -> Option<Position> {
    if whole.width < SMALLEST.0 || whole.height < SMALLEST.1 {
        draw_notice(state, whole, buf)
    } else {
        draw(state, caches, whole, buf)
    }
}

/// [`paint`] on a ratatui frame.
pub fn view(state: &AppState, caches: &Caches, frame: &mut Frame) -> Option<Position> {
    let whole = frame.area();
    let caret = paint(state, caches, whole, frame.buffer_mut());
    if let Some(caret) = caret {
        frame.set_cursor_position(caret);
    }
    caret
}

fn draw_notice(state: &AppState, whole: Rect, buf: &mut Buffer) -> Option<Position> {
    let text = if state.dialogs.is_empty() {
        "too small"
    } else {
        "asks: enlarge"
    };
    let text = truncate(text, usize::from(whole.width));
    buf.set_string(
        whole.x,
        whole.y,
        text,
        state.settings.theme.style(Role::Warning),
    );
    (whole.area() > 0).then_some(Position::new(whole.x, whole.y))
}

fn draw(state: &AppState, caches: &Caches, whole: Rect, buf: &mut Buffer) -> Option<Position> {
    let theme = &state.settings.theme;
    let areas = caches.areas;
    if let (Some((_, rows)), Some(detail)) = (&caches.detail, &state.panel.detail) {
        panel::draw_detail(rows, detail.scroll, areas.conversation, buf);
    } else {
        caches.pane.draw(state, &caches.cells, buf);
    }
    if areas.panel.width > 0 {
        panel::draw(state, &caches.listed, areas.panel, buf);
    } else {
        panel::draw_strip(state, &caches.listed, buf);
    }
    heading::draw(state, areas.heading, buf);
    todos::draw(state, areas.todos, buf);
    queue::draw(state, areas.queue, buf);
    rule::draw(state, areas.rule, buf);
    draw_new_below(state, caches, buf);
    let focused = state.focus == Focus::Composer;
    let typed = state.dialogs.is_empty() && focused;
    let (mut caret, line) = if inline_question::front(state).is_some() {
        let caret = caches.asked.draw(state, Areas::over_status(whole), buf);
        (caret, caches.asked.last_line())
    } else {
        let at = composer::draw(&state.composer, focused, theme, areas.composer, buf);
        (typed.then_some(at), areas.composer)
    };
    if !typed {
        let faint = theme.style(Role::Faint);
        buf.set_style(areas.composer, faint);
    }
    status::draw(state, areas.status, buf);
    draw_search(state, line, buf).inspect(|at| caret = Some(*at));
    if typed {
        let above = Rect {
            height: areas.rule.y - whole.y,
            ..whole
        };
        composer::draw_popup(&state.composer, theme, above, buf);
    }
    let modal = caches.modal_area(whole);
    match state.dialogs.last() {
        Some(Dialog::Picker(picker)) => {
            dialogs::modal::dim(modal, theme, buf);
            dialogs::picker::draw(picker, &state.settings, modal, buf)
        }
        Some(Dialog::Help(help)) => {
            dialogs::modal::dim(modal, theme, buf);
            caches.help.draw(help, state, buf)
        }
        Some(Dialog::Pager(pager)) => {
            dialogs::modal::dim(modal, theme, buf);
            caches.pager.draw(pager, state, modal, buf)
        }
        Some(Dialog::Question(_) | Dialog::Trust(_) | Dialog::Pause(_) | Dialog::ByHand(_))
        | None => caret,
    }
}

fn draw_new_below(state: &AppState, caches: &Caches, buf: &mut Buffer) {
    if caches.detail.is_some() {
        return;
    }
    if let Some((text, mark)) = new_below(state, &caches.pane, caches.areas) {
        let style = state.settings.theme.style(Role::Chosen);
        buf.set_stringn(mark.x, mark.y, text, usize::from(mark.width), style);
    }
}

/// How much arrived since the person scrolled up, and where to show it: in the empty row below the conversation or on
/// the line above the input, where it covers no text.
fn new_below(state: &AppState, pane: &Pane, areas: Areas) -> Option<(String, Rect)> {
    if pane.follows || pane.area.height == 0 {
        return None;
    }
    let area = match (areas.air.height, areas.rule.height) {
        (0, 0) => Rect {
            // The column beside the text.
            x: pane.area.right(),
            y: pane.area.bottom() - 1,
            width: 1,
            height: 1,
        },
        (0, _) => areas.rule,
        (_, _) => areas.air,
    };
    if area.width == 1 {
        return Some(("↓".to_owned(), area));
    }
    let text = match state.scroll.unseen(state.conversation().len()) {
        0 => " ↓ ".to_owned(),
        unseen => format!(" {unseen} new ↓ "),
    };
    let cells = u16::try_from(width(&text)).unwrap_or(0).min(area.width);
    let mark = Rect::new(area.right() - cells, area.bottom() - 1, cells, 1);
    Some((text, mark))
}

/// The search query, in place of the input.
fn draw_search(state: &AppState, place: Rect, buf: &mut Buffer) -> Option<Position> {
    let search = state.search.as_ref()?;
    let theme = &state.settings.theme;
    let area = Rect { height: 1, ..place };
    dialogs::clear(place, buf);
    let found = match (search.query.is_empty(), search.hits.len()) {
        (true, _) => String::new(),
        (false, 0) => "  nothing found".to_owned(),
        (false, hits) => format!("  {} of {hits}", search.current + 1),
    };
    let line = Line::from(vec![
        Span::styled("/ ", theme.style(Role::Accent)),
        Span::styled(clean(&search.query).into_owned(), theme.style(Role::Text)),
        Span::styled(found, theme.style(Role::Muted)),
    ]);
    buf.set_line(area.x, area.y, &line, area.width);
    let caret = 2 + u16::try_from(width(&clean(&search.query))).unwrap_or(0);
    let is_typed = state.dialogs.is_empty() && search.is_typing();
    is_typed.then_some(Position::new(
        area.x + caret.min(area.width.saturating_sub(1)),
        area.y,
    ))
}
