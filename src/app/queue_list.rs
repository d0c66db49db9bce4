//! The queued messages as a list, to take one back into the input or to remove it.

use super::dialogs::Dialog;
use super::dialogs::picker::{Choice, Item, Kind, Picker};
use super::perform::request_back;
use super::queue::Waiting;
use super::{AppState, Effect};

impl AppState {
    /// Begins at the last message.
    pub(super) fn list_queue(&mut self) {
        if self.queue.is_empty() {
            self.flash("no queued messages");
            return;
        }
        let mut picker = Picker::new(Kind::Queue, self.queue_items());
        picker.choose_last();
        self.open_picker(picker);
    }

    fn queue_items(&self) -> Vec<Item> {
        let item = |waiting: &Waiting| {
            let mut lines = waiting.shown.lines();
            let first = lines.next().unwrap_or_default();
            let hint = match lines.count() {
                0 => String::new(),
                1 => "1 more line".to_owned(),
                more => format!("{more} more lines"),
            };
            Item::new(first, Choice::Queued(waiting.number)).hint(hint)
        };
        self.queue.iter().map(item).collect()
    }

    /// Updates the list if it is open; closes it when nothing is queued any more.
    pub(super) fn refresh_queue_list(&mut self) {
        let Some(Dialog::Picker(picker)) = self.dialogs.last() else {
            return;
        };
        if picker.kind != Kind::Queue {
            return;
        }
        let items = self.queue_items();
        if items.is_empty() {
            self.close_picker(Kind::Queue);
        } else if items != picker.items()
            && let Some(picker) = self.picker_mut(Kind::Queue)
        {
            picker.replace(items);
        }
    }

    /// Removes a queued message for good.
    pub(super) fn drop_queued(&mut self, number: u64) -> Vec<Effect> {
        let message = self.queue.ask_to_drop(number);
        message.map(request_back).into_iter().collect()
    }
}
