//! A page to read, over a dimmed screen.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::modal::{keys, keys_in_frame, say_in_frame};
use super::{centred, frame, inside};
use crate::app::AppState;
use crate::app::call::CallKey;
use crate::app::dialogs::DialogRest;
use crate::app::dialogs::pager::{Content, Pager};
use crate::app::page;
use crate::keymap::{Action, Context};
use crate::protocol::ChangeSize;
use crate::theme::Role;
use crate::ui::cells::{CellContext, shown_rows, shown_subject};
use crate::ui::conversation::draw_row;
use crate::ui::highlight::{CodeColours, Highlights};
use crate::ui::page as lines;
use crate::ui::text::{Row, clean};

const WIDE: u16 = 132;
const KEYS: &[(Action, &str)] = &[
    (Action::PageDown, "page down"),
    (Action::Top, "top"),
    (Action::Bottom, "end"),
    (Action::Back, "close"),
];

/// What the page was laid out from, and its rows.
#[derive(Default)]
pub struct Laid {
    known: Option<(Content, u16, u64)>,
    rows: Vec<Row>,
}

impl Laid {
    pub fn lay_out(
        &mut self,
        pager: &Pager,
        state: &AppState,
        whole: Rect,
        code: &mut Highlights,
    ) -> DialogRest {
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
        }
        let height = inside(self.area(whole)).height;
        let visible = usize::from(height).min(self.rows.len());
        DialogRest {
            furthest: self.rows.len().saturating_sub(visible),
            visible,
        }
    }

    /// As high as its content, if that fits.
    fn area(&self, whole: Rect) -> Rect {
        let full = full(whole);
        let rows = u16::try_from(self.rows.len()).unwrap_or(u16::MAX);
        centred(whole, full.width, rows.saturating_add(2).min(full.height))
    }

    pub fn draw(&self, pager: &Pager, state: &AppState, whole: Rect, buf: &mut Buffer) {
        let theme = &state.settings.theme;
        let area = self.area(whole);
        let title = clean(&pager.title);
        let inner = frame(area, &title, Role::BorderFocused, theme, buf);
        let more = match pager.paging.below() {
            0 => String::new(),
            below => format!("{below} more ↓"),
        };
        say_in_frame(area, &more, theme, buf);
        let contexts = [Context::Pager, Context::Global];
        let hints = keys(KEYS, &contexts, &state.settings);
        keys_in_frame(area, &hints, buf);
        let from = pager.paging.offset().min(self.rows.len());
        for (y, row) in (inner.y..inner.bottom()).zip(&self.rows[from..]) {
            draw_row(row, inner, y, buf);
        }
    }
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
