//! A list to choose from, with a filter, groups and a preview.
//!
//! Holds the selection and the scroll position; `ui::dialogs::picker` draws it, and `app::pickers` acts on a choice.

mod item;
mod kind;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::ops::Range;

use crossterm::event::KeyEvent;

pub use self::item::{Choice, Item, Mark};
pub use self::kind::{Kind, Preview};
use super::DialogLayout;
use super::filter::Filter;
use crate::keymap::Action;

#[derive(Debug, Clone, PartialEq)]
pub struct Picker {
    pub kind: Kind,
    items: Vec<Item>,
    filter: Filter,
    shown: Vec<Shown>,
    /// The rows of the list: items and headings.
    rows: Vec<Row>,
    /// The index of the selected item among those shown.
    chosen: usize,
    /// The first visible row, and how many rows are visible.
    top: usize,
    visible: usize,
    /// More items are being loaded.
    pub is_loading: bool,
    /// The new title of the selected item, while it is being typed.
    renaming: Option<Filter>,
    /// An action that needs its key pressed twice.
    confirming: Option<(Action, &'static str)>,
}

#[derive(Debug, Clone, PartialEq)]
struct Shown {
    source: ItemSource,
    /// The letters of its label that match the filter.
    matched: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq)]
enum ItemSource {
    /// An item, by its index.
    Listed(usize),
    /// An item made from the filter itself.
    Typed(Box<Item>),
}

/// A row of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// The heading above an item, by that item's index among those shown.
    Heading(usize),
    /// An item, by its index among those shown.
    Item(usize),
}

impl Picker {
    pub fn new(kind: Kind, items: Vec<Item>) -> Self {
        let mut picker = Self {
            kind,
            items,
            filter: Filter::default(),
            shown: Vec::new(),
            rows: Vec::new(),
            chosen: 0,
            top: 0,
            visible: 0,
            is_loading: false,
            renaming: None,
            confirming: None,
        };
        picker.narrow();
        picker
    }

    /// A list whose items come later.
    pub fn loading(kind: Kind) -> Self {
        Self {
            is_loading: true,
            ..Self::new(kind, Vec::new())
        }
    }

    /// Selects an item, if it is listed.
    pub fn choose(&mut self, choice: &Choice) {
        let found = self.shown().position(|item| item.choice == *choice);
        self.chosen = found.unwrap_or(self.chosen);
        self.show_chosen();
    }

    /// Begins at the item marked as current.
    #[must_use]
    pub fn starting_at_current(mut self) -> Self {
        let current = |item: &Item| item.mark == Some(Mark::Current);
        self.chosen = self.items.iter().position(current).unwrap_or(0);
        self
    }

    pub fn filter(&self) -> &str {
        self.filter.text()
    }

    pub fn is_filtered(&self) -> bool {
        !self.filter.is_empty()
    }

    /// How many items there are, with or without a filter.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// How many rows the list has without a filter, so that its box keeps its size.
    pub fn full_height(&self) -> usize {
        self.items.len() + headings(self.items.iter())
    }

    pub fn has_marks(&self) -> bool {
        self.items.iter().any(|item| item.mark.is_some())
    }

    pub fn has_hints(&self) -> bool {
        self.items.iter().any(|item| !item.hint.is_empty())
    }

    pub fn shown(&self) -> impl ExactSizeIterator<Item = &Item> {
        self.shown.iter().map(|shown| self.item(shown))
    }

    /// An item among those shown, and the letters of its label that match the filter.
    pub fn get(&self, number: usize) -> Option<(&Item, &[u32])> {
        let shown = self.shown.get(number)?;
        Some((self.item(shown), &shown.matched))
    }

    pub fn chosen(&self) -> Option<&Item> {
        self.get(self.chosen).map(|(item, _)| item)
    }

    /// The index of the selected item among those shown.
    pub fn chosen_number(&self) -> usize {
        self.chosen
    }

    /// The visible rows.
    pub fn window(&self) -> &[Row] {
        &self.rows[self.in_view()]
    }

    /// How many items are hidden above and below the visible rows.
    pub fn out_of_view(&self) -> (usize, usize) {
        let items = |rows: &[Row]| {
            let items = rows.iter().filter(|row| matches!(row, Row::Item(_)));
            items.count()
        };
        let view = self.in_view();
        (
            items(&self.rows[..view.start]),
            items(&self.rows[view.end..]),
        )
    }

    fn in_view(&self) -> Range<usize> {
        let top = self.top.min(self.rows.len());
        top..(top + self.visible).min(self.rows.len())
    }

    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// What the last line asks instead of listing keys.
    pub fn question(&self) -> Option<(Action, &'static str)> {
        self.confirming
    }

    /// Whether to perform an action now. The first time this only asks for confirmation, with these words.
    pub fn confirm(&mut self, action: Action, words: &'static str) -> bool {
        if self.confirming.take() == Some((action, words)) {
            return true;
        }
        self.confirming = Some((action, words));
        false
    }

    /// A key other than the confirmation was pressed.
    pub fn forget_question(&mut self) {
        self.confirming = None;
    }

    pub fn choose_next(&mut self, by: i64) {
        let last = self.shown.len().saturating_sub(1);
        let by = isize::try_from(by).unwrap_or(0);
        self.chosen = self.chosen.saturating_add_signed(by).min(last);
        self.show_chosen();
    }

    /// Moves by one page less one row, up if negative.
    pub fn page(&mut self, direction: i64) {
        let rows = i64::try_from(self.visible.saturating_sub(1).max(1)).unwrap_or(1);
        self.choose_next(rows * direction);
    }

    pub fn choose_first(&mut self) {
        self.choose_next(i64::MIN / 2);
    }

    pub fn choose_last(&mut self) {
        self.choose_next(i64::MAX / 2);
    }

    /// Selects the item in a visible row; returns whether there is one.
    pub fn choose_row(&mut self, row: usize) -> bool {
        let found = self.window().get(row).copied();
        if let Some(Row::Item(number)) = found {
            self.chosen = number;
        }
        matches!(found, Some(Row::Item(_)))
    }

    /// Scrolls by rows, up if negative; the selected item stays visible.
    pub fn scroll(&mut self, rows: i64) {
        let rows = isize::try_from(rows).unwrap_or(0);
        self.top = self.top.saturating_add_signed(rows).min(self.furthest());
        let mut numbers = self.window().iter().filter_map(|row| match row {
            Row::Item(number) => Some(*number),
            Row::Heading(_) => None,
        });
        if let Some(first) = numbers.next() {
            let last = numbers.next_back().unwrap_or(first);
            self.chosen = self.chosen.clamp(first, last);
        }
        self.show_chosen();
    }

    /// The new title of the selected item, while it is being typed.
    pub fn renaming(&self) -> Option<&str> {
        self.renaming.as_ref().map(Filter::text)
    }

    pub fn start_renaming(&mut self) {
        self.renaming = self.chosen().map(|item| Filter::of(&item.label));
    }

    pub fn end_renaming(&mut self) -> Option<String> {
        let title = self.renaming.take()?;
        Some(title.text().trim().to_owned())
    }

    /// What the keys do, for the last line.
    pub fn keys(&self) -> &'static [(Action, &'static str)] {
        match self.chosen().map(|item| item.keys) {
            None | Some([]) => self.kind.keys(),
            Some(keys) => keys,
        }
    }

    pub fn key(&mut self, key: KeyEvent) {
        self.forget_question();
        if !self.kind.has_filter() {
            return;
        }
        if let Some(title) = &mut self.renaming {
            title.key(key);
            return;
        }
        if self.filter.key(key) {
            self.chosen = 0;
            self.narrow();
        }
    }

    pub fn paste(&mut self, text: &str) {
        self.forget_question();
        if !self.kind.has_filter() {
            return;
        }
        if let Some(title) = &mut self.renaming {
            title.paste(text);
            return;
        }
        if self.filter.paste(text) {
            self.chosen = 0;
            self.narrow();
        }
    }

    /// Replaces the items; the selected one stays selected if it is among them.
    pub fn replace(&mut self, items: Vec<Item>) {
        let before = self.chosen().map(|item| item.choice.clone());
        self.set(items, before.as_ref());
    }

    fn set(&mut self, items: Vec<Item>, chosen: Option<&Choice>) {
        self.items = items;
        self.narrow();
        let same = self.shown().position(|item| Some(&item.choice) == chosen);
        self.chosen = same.unwrap_or(self.chosen);
        self.show_chosen();
    }

    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Changes an item; the selected one stays selected.
    pub fn change(&mut self, choice: &Choice, change: impl FnOnce(&mut Item)) {
        let Some(item) = self.items.iter_mut().find(|item| item.choice == *choice) else {
            return;
        };
        change(item);
        if self.is_filtered() {
            let chosen = self.chosen().map(|item| item.choice.clone());
            let items = std::mem::take(&mut self.items);
            self.set(items, chosen.as_ref());
        }
    }

    pub fn remove(&mut self, choice: &Choice) {
        let rest = self.items.iter().filter(|item| item.choice != *choice);
        self.replace(rest.cloned().collect());
    }

    /// Records how many rows fit.
    pub fn record_layout(&mut self, layout: DialogLayout) {
        self.visible = layout.visible;
        self.show_chosen();
    }

    fn item<'a>(&'a self, shown: &'a Shown) -> &'a Item {
        match &shown.source {
            ItemSource::Listed(index) => &self.items[*index],
            ItemSource::Typed(item) => item,
        }
    }

    fn narrow(&mut self) {
        self.shown = if self.filter.is_empty() {
            let all = 0..self.items.len();
            all.map(|index| Shown::listed(index, Vec::new())).collect()
        } else {
            self.fitting()
        };
        let typed = self.filter.text().trim();
        let is_listed = self.items.iter().any(|item| item.label == typed);
        if !typed.is_empty() && !is_listed {
            self.shown.extend(self.kind.typed(typed).map(Shown::typed));
        }
        self.rows = self.laid_out();
        self.chosen = self.chosen.min(self.shown.len().saturating_sub(1));
        self.show_chosen();
    }

    fn fitting(&self) -> Vec<Shown> {
        let mut matching = self.filter.matching();
        let items = self.items.iter().enumerate();
        let mut fitting: Vec<_> = items
            .filter_map(|(index, item)| {
                let mut also = vec![&*item.about, &*item.hint, &*item.group, &*item.keywords];
                also.extend(item.preview.iter().map(|line| line.text.as_str()));
                let (fit, matched) = matching.fit(&item.label, &also)?;
                Some((Reverse(fit), index, matched))
            })
            .collect();
        fitting.sort();
        let shown = fitting.into_iter();
        shown
            .map(|(_, index, matched)| Shown::listed(index, matched))
            .collect()
    }

    /// With a filter the best match comes first in the whole list, so there are no headings.
    fn laid_out(&self) -> Vec<Row> {
        let mut rows = Vec::with_capacity(self.shown.len());
        let mut group = "";
        for (number, item) in self.shown().enumerate() {
            if *item.group != *group && self.filter.is_empty() {
                rows.push(Row::Heading(number));
            }
            group = &item.group;
            rows.push(Row::Item(number));
        }
        rows
    }

    fn furthest(&self) -> usize {
        self.rows.len().saturating_sub(self.visible)
    }

    /// Scrolls just far enough to show the selected item, and its heading if it is the first below it.
    fn show_chosen(&mut self) {
        let is_it = |row: &Row| *row == Row::Item(self.chosen);
        let Some(row) = self.rows.iter().position(is_it) else {
            self.top = 0;
            return;
        };
        let above = row.checked_sub(1);
        let heading = above.filter(|above| matches!(self.rows[*above], Row::Heading(_)));
        let from = heading.filter(|_| self.visible > 1).unwrap_or(row);
        self.top = self.top.min(from);
        if self.visible > 0 {
            self.top = self.top.max((row + 1).saturating_sub(self.visible));
        }
        self.top = self.top.min(self.furthest());
    }
}

impl Shown {
    fn listed(index: usize, matched: Vec<u32>) -> Self {
        let source = ItemSource::Listed(index);
        Self { source, matched }
    }

    fn typed(item: Item) -> Self {
        let (source, matched) = (ItemSource::Typed(Box::new(item)), Vec::new());
        Self { source, matched }
    }
}

/// How many headings the items need.
fn headings<'a>(items: impl Iterator<Item = &'a Item>) -> usize {
    let mut group = "";
    let mut count = 0;
    for item in items {
        count += usize::from(*item.group != *group);
        group = &item.group;
    }
    count
}
