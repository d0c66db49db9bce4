//! A page to read, over a dimmed screen.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::modal::{draw_filter, draw_in_frame, keys, keys_in_frame, mark_matches};
use super::{centred, clear, frame, inside};
use crate::app::call::CallKey;
use crate::app::dialogs::DialogLayout;
use crate::app::dialogs::pager::{Content, Pager};
use crate::app::page;
use crate::app::search::find_all;
use crate::app::{AppState, Settings};
use crate::keymap::{Action, Context};
use crate::protocol::ChangeSize;
use crate::theme::{Role, Theme};
use crate::ui::cells::{CellContext, shown_rows, shown_subject};
use crate::ui::conversation::draw_row;
use crate::ui::highlight::{CodeColours, Highlights};
use crate::ui::page as lines;
use crate::ui::text::{Row, clean};

const WIDE: u16 = 132;
const KEYS: &[(Action, &str)] = &[
    (Action::PageDown, "page down"),
    (Action::Search, "search"),
    (Action::Top, "top"),
    (Action::Bottom, "end"),
    (Action::Back, "close"),
];
const KEYS_OF_SEARCH: &[(Action, &str)] = &[
    (Action::NextMatch, "next match"),
    (Action::PreviousMatch, "previous match"),
    (Action::Back, "end search"),
];

/// What the page was laid out from, and its rows.
#[derive(Default)]
pub struct LaidOut {
    known: Option<(Content, u16, u64)>,
    rows: Vec<Row>,
    /// The last query, and the rows that match it.
    matches: Option<(String, Arc<[usize]>)>,
}

impl LaidOut {
    pub fn lay_out(
        &mut self,
        pager: &Pager,
        state: &AppState,
        whole: Rect,
        code: &mut Highlights,
    ) -> DialogLayout {
        let width = inside(full(whole)).width;
        let epoch = state.settings.theme_epoch + code.revision();
        let is_known = self.known.as_ref().is_some_and(|(content, at, of)| {
            same(content, &pager.content) && (*at, *of) == (width, epoch)
        });
        if !is_known {
            self.rows = match &pager.content {
                Content::Lines(page) => lines::rows(page, width, &state.settings.theme),
                Content::Changes(calls) => {
                    let mut cx = CellContext {
                        width,
                        theme: &state.settings.theme,
                        code,
                    };
                    changes(calls, state, &mut cx)
                }
            };
            self.known = Some((pager.content.clone(), width, epoch));
            self.matches = None;
        }
        let height = inside(self.area(whole)).height;
        let visible = usize::from(height).min(self.rows.len());
        DialogLayout {
            furthest: self.rows.len().saturating_sub(visible),
            visible,
            ..DialogLayout::default()
        }
    }

    /// As high as its content, if that fits.
    fn area(&self, whole: Rect) -> Rect {
        let full = full(whole);
        let rows = u16::try_from(self.rows.len()).unwrap_or(u16::MAX);
        centred(whole, full.width, rows.saturating_add(2).min(full.height))
    }

    /// The rows that contain a query.
    pub fn matches(&mut self, query: &str) -> Arc<[usize]> {
        if let Some((known, rows)) = &self.matches
            && known == query
        {
            return rows.clone();
        }
        let matches = |row: &Row| !find_all(&row.line.to_string(), query).is_empty();
        let rows = self.rows.iter().enumerate();
        let rows = rows.filter_map(|(number, row)| matches(row).then_some(number));
        let rows: Arc<[usize]> = rows.collect();
        self.matches = Some((query.to_owned(), rows.clone()));
        rows
    }

    /// Paints the page, and returns the caret if a query is being typed.
    pub fn draw(
        &self,
        pager: &Pager,
        state: &AppState,
        whole: Rect,
        buf: &mut Buffer,
    ) -> Option<Position> {
        let theme = &state.settings.theme;
        let area = self.area(whole);
        let title = clean(&pager.title);
        let inner = frame(area, &title, Role::BorderFocused, theme, buf);
        draw_in_frame(area, &words(pager), theme, buf);
        let from = pager.paging.offset().min(self.rows.len());
        let rows = (from..).zip(&self.rows[from..]);
        for (y, (number, row)) in (inner.y..inner.bottom()).zip(rows) {
            draw_row(row, inner, y, buf);
            if let Some(find) = &pager.find {
                let role = if find.row() == Some(number) {
                    Role::CurrentMatch
                } else {
                    Role::Match
                };
                let line = Rect {
                    y,
                    height: 1,
                    ..inner
                };
                mark_matches(row, find.query(), line, theme.style(role), buf);
            }
        }
        draw_last_line(pager, &state.settings, area, buf)
    }
}

/// How much follows, and where the search is.
fn words(pager: &Pager) -> String {
    let below = match pager.paging.below() {
        0 => None,
        below => Some(format!("{below} more ↓")),
    };
    let found = pager.find.as_ref().filter(|find| !find.query().is_empty());
    let found = found.map(|find| match find.position() {
        Some((current, count)) => format!("{current} of {count}"),
        None => "nothing found".to_owned(),
    });
    let words: Vec<String> = found.into_iter().chain(below).collect();
    words.join(" · ")
}

/// The keys, or the query while it is being typed.
fn draw_last_line(
    pager: &Pager,
    settings: &Settings,
    area: Rect,
    buf: &mut Buffer,
) -> Option<Position> {
    let contexts = [Context::Pager, Context::Global];
    let wanted = match &pager.find {
        Some(find) if find.is_typing() => {
            return draw_query(find.query(), &settings.theme, area, buf);
        }
        Some(_) => KEYS_OF_SEARCH,
        None => KEYS,
    };
    keys_in_frame(area, &keys(wanted, &contexts, settings), buf);
    None
}

fn draw_query(query: &str, theme: &Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let line = Rect {
        x: area.x + 2.min(area.width),
        y: area.bottom().checked_sub(1)?,
        width: area.width.saturating_sub(4),
        height: 1,
    };
    clear(line, buf);
    let field = Rect {
        x: line.x + 1.min(line.width),
        width: line.width.saturating_sub(2),
        ..line
    };
    draw_filter(query, "search this page", theme, field, buf)
}

fn full(whole: Rect) -> Rect {
    let margin = if whole.width >= 80 { 4 } else { 0 };
    let high = whole.height - u16::from(whole.height >= 12) * 2;
    centred(whole, WIDE.min(whole.width - margin), high)
}

/// Long pages are compared by address.
fn same(one: &Content, other: &Content) -> bool {
    match (one, other) {
        (Content::Lines(one), Content::Lines(other)) => Arc::<[page::Line]>::ptr_eq(one, other),
        (Content::Changes(one), Content::Changes(other)) => one == other,
        (Content::Lines(_), Content::Changes(_)) | (Content::Changes(_), Content::Lines(_)) => {
            false
        }
    }
}

/// Every change in full, below the call that made it.
fn changes(calls: &[CallKey], state: &AppState, cx: &mut CellContext) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for key in calls {
        let call = state.calls.get(*key);
        let Some(completed) = call.completed() else {
            continue;
        };
        if !rows.is_empty() {
            rows.push(Row::default());
        }
        let subject = shown_subject(call, state);
        let subject = clean(subject.lines().next().unwrap_or_default()).into_owned();
        rows.push(Row::new(Line::from(vec![
            Span::styled(call.tool.name.to_string(), cx.theme.style(Role::Heading)),
            Span::styled(format!(" {subject}"), cx.theme.style(Role::Muted)),
        ])));
        rows.extend(shown_rows(&completed.shown, None, state, cx));
        if completed.shown.changes().is_empty() {
            let size = |it: &ChangeSize| {
                let ChangeSize {
                    path,
                    added,
                    removed,
                } = it;
                page::Line::muted(format!("{path} +{added} −{removed}, too old to show"))
            };
            let sizes: Vec<page::Line> = completed.changed.iter().map(size).collect();
            rows.extend(lines::rows(&sizes, cx.width, cx.theme));
        }
    }
    rows
}
