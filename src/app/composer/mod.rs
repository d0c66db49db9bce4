//! The input: a draft of several lines with folded pastes, attached images, completion and a history.
//!
//! Owns the draft from the first key until it is sent, and never loses it: cleared text goes to the history, replaced
//! text can be undone, and half a second after a change it asks for the draft to be saved. The runtime reads files,
//! starts the editor and writes to disk; `ui::composer` draws.

pub mod complete;
pub mod draft;
pub mod editor;
pub mod history;
mod intake;
mod keys;
pub mod layout;
mod paste;
mod perform;
pub mod token;
pub mod vim;

#[cfg(test)]
pub mod tests;

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use self::complete::Completion;
pub use self::draft::{Draft, Prompt};
use self::editor::{Editor, Place};
use self::history::{History, HistorySearch};
use self::keys::Pressed;
use self::layout::{Layout, MARK, Spot};
use self::paste::ImagePath;
use self::token::{Form, Tokens};
use self::vim::{Outcome, Vim};
use crate::app::Effect;
use crate::app::commands::Commands;
use crate::app::job::{Job, JobResult};
use crate::keymap::Context;
use crate::protocol::Block;

/// How long after a change the draft is saved, and the longest delay while changes continue.
const KEEP_AFTER: Duration = Duration::from_millis(500);
const KEEP_AT_LEAST: Duration = Duration::from_secs(2);
/// Longer texts are saved in the history with their pastes folded.
const LONGEST_KEPT: usize = 100_000;

#[derive(Debug)]
pub struct Composer {
    editor: Editor,
    tokens: Tokens,
    history: History,
    commands: Commands,
    search: Option<HistorySearch>,
    completion: Option<Completion>,
    /// Where a completion was closed, so that the next letter does not open it again.
    dismissed: Option<Place>,
    generation: u64,
    vim: Option<Vim>,
    /// The images that are being read.
    awaited: Vec<ImagePath>,
    unsaved: Option<Unsaved>,
    /// The column that ↑ and ↓ try to keep.
    goal: Option<usize>,
    width: u16,
    rows: u16,
    top: Spot,
}

/// A change that is not saved yet.
#[derive(Debug, Clone, Copy)]
struct Unsaved {
    since: Instant,
    due: Instant,
}

/// What caused a change; completion and history depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Typed,
    /// The caret moved by rows, which remembers the column.
    Rows,
    /// The text came from the history.
    Recalled,
    /// Anything else; it opens no completion.
    Other,
}

/// A draft that was sent, and what else to do because of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub draft: Draft,
    pub effects: Vec<Effect>,
}

impl Default for Composer {
    fn default() -> Self {
        Self {
            editor: Editor::default(),
            tokens: Tokens::default(),
            history: History::default(),
            commands: Commands::default(),
            search: None,
            completion: None,
            dismissed: None,
            generation: 0,
            vim: None,
            awaited: Vec::new(),
            unsaved: None,
            goal: None,
            width: 80,
            rows: 8,
            top: Spot::default(),
        }
    }
}

/// What others read.
impl Composer {
    /// The commands that a draft can name.
    pub fn commands(&self) -> &Commands {
        &self.commands
    }

    pub fn set_commands(&mut self, commands: Commands) {
        self.commands = commands;
        if let Some(open) = &mut self.completion {
            open.update_commands(&self.commands);
        }
    }

    /// The contexts that the next key is looked up in, the innermost first.
    pub fn contexts(&self) -> Vec<Context> {
        if self.search.is_some() {
            return vec![Context::HistorySearch];
        }
        let mut contexts = Vec::with_capacity(3);
        if self.completion.as_ref().is_some_and(Completion::can_accept) {
            contexts.push(Context::Completion);
        }
        if self.is_empty() {
            contexts.push(Context::ComposerEmpty);
        }
        contexts.push(Context::Composer);
        contexts
    }

    pub fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    /// Whether it is empty and no completion or search uses its keys.
    pub fn is_free(&self) -> bool {
        self.is_empty() && self.search.is_none() && self.completion.is_none()
    }

    /// The whole draft, with folded pastes in full.
    pub fn text(&self) -> String {
        self.tokens.expand(&self.editor.text(), Form::Sent)
    }

    /// The arguments that the command in the draft takes, while none is typed.
    pub fn missing_arguments(&self) -> Option<&str> {
        let [line] = self.editor.lines() else {
            return None;
        };
        let is_end = self.editor.before_caret().len() == line.len();
        self.commands.arguments_after(line).filter(|_| is_end)
    }

    pub fn prompt(&self) -> Prompt {
        Prompt::of(self.editor.lines())
    }

    pub fn caret(&self) -> Place {
        self.editor.caret()
    }

    pub fn completion(&self) -> Option<&Completion> {
        self.completion.as_ref()
    }

    pub fn search(&self) -> Option<&HistorySearch> {
        self.search.as_ref()
    }

    /// An entry of the history as it is shown.
    pub fn past(&self, entry: usize) -> String {
        let entry = self.history.get(entry).unwrap_or_default();
        self.tokens.expand(entry, Form::Shown)
    }

    /// Vim's mode, if vim keys are on.
    pub fn vim(&self) -> Option<vim::Mode> {
        self.vim.as_ref().map(|vim| vim.mode)
    }

    /// What is selected in vim's visual mode.
    pub fn marked(&self) -> Option<std::ops::Range<Place>> {
        self.vim.as_ref()?.marked(&self.editor)
    }

    /// Whether Esc is for the input first, because it leaves one of vim's modes.
    pub fn wants_escape(&self) -> bool {
        self.search.is_none()
            && matches!(
                self.vim(),
                Some(vim::Mode::Insert | vim::Mode::Visual { .. })
            )
    }

    pub fn layout(&self, width: u16) -> Layout<'_> {
        Layout::new(self.editor.lines(), &self.tokens, width)
    }

    /// The first visible row: the caret is visible and no row stays empty.
    pub fn first_row(&self, width: u16, height: u16) -> Spot {
        let layout = self.layout(width);
        let (caret, _) = layout.locate(self.caret());
        let reach = height.saturating_sub(1);
        let lowest = layout.up(caret, reach);
        let highest = layout.up(layout.last(), reach);
        let mut top = self.top.min(caret).min(highest).max(lowest);
        top.row = top.row.min(layout.rows(top.line).len() - 1);
        top
    }

    /// How many lines are hidden above and below, in a box of this width and at most this height. A partly visible line
    /// is not counted.
    pub fn out_of_view(&self, width: u16, most: u16) -> (usize, usize) {
        let layout = self.layout(width);
        let height = layout.height(most);
        if self.search.is_some() || height < most {
            return (0, 0);
        }
        let top = self.first_row(width, height);
        let mut last = top;
        for _ in 1..height {
            last = layout.below(last).unwrap_or(last);
        }
        let above = top.line;
        (above, self.editor.lines().len() - 1 - last.line)
    }

    pub fn wake_at(&self) -> Option<Instant> {
        self.unsaved.map(|unkept| unkept.due)
    }
}

/// What changes it.
impl Composer {
    /// Sets its width, and how many rows it may use.
    pub fn resize(&mut self, width: u16, rows: u16) {
        self.width = width;
        self.rows = rows.max(1);
        self.goal = None;
        self.follow();
    }

    /// A key that the keymap does not bind.
    pub fn key(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        if self.search.is_some() {
            self.search_key(key);
            return Vec::new();
        }
        let before = self.editor.revision();
        if let Some(vim) = &mut self.vim {
            match vim.key(key, &mut self.editor) {
                Outcome::Unused => {}
                Outcome::Done => return self.settle(before, Cause::Other, now),
                Outcome::Rows(by) => return self.go_rows(by, now),
            }
        }
        match keys::press(&mut self.editor, key) {
            Pressed::Edited => self.settle(before, Cause::Typed, now),
            Pressed::Row(by) => self.go_rows(by, now),
            Pressed::Unused => Vec::new(),
        }
    }

    /// A click on a row and column of the input.
    pub fn click(&mut self, row: u16, column: u16) {
        let layout = self.layout(self.width);
        let mut spot = self.first_row(self.width, self.rows);
        for _ in 0..row {
            spot = layout.below(spot).unwrap_or(spot);
        }
        let place = layout.place_at(spot, usize::from(column.saturating_sub(MARK)));
        self.editor.go(place);
        self.goal = None;
        self.completion = None;
    }

    /// Takes the draft to send it. A draft that cannot be sent stays, and the error says why. `None` if it is empty or
    /// Enter begins a new line.
    pub fn submit(&mut self, now: Instant) -> Result<Option<Sent>, String> {
        let text = self.editor.text();
        if text.trim().is_empty() {
            return Ok(None);
        }
        let caret = self.editor.caret();
        if self.editor.before_caret().ends_with('\\') && caret == self.editor.line_end(caret.line) {
            let before = self.editor.revision();
            self.editor.replace(self.editor.left(caret)..caret, "\n");
            self.settle(before, Cause::Other, now);
            return Ok(None);
        }
        let draft = self.read(&text)?;
        let effects = vec![
            Effect::Start(Job::KeepInHistory(self.kept(&text))),
            Effect::Start(Job::KeepDraft(String::new())),
        ];
        self.history.add(text);
        self.editor.reset();
        self.tokens.start_draft();
        self.awaited.clear();
        self.unsaved = None;
        self.close_completion();
        self.follow();
        if let Some(vim) = &mut self.vim {
            *vim = Vim::default();
        }
        Ok(Some(Sent { draft, effects }))
    }

    /// Empties the input; the text goes to the history.
    pub fn clear(&mut self, now: Instant) {
        let text = self.editor.text();
        if !text.trim().is_empty() {
            self.history.add(text);
        }
        self.set_text("", now);
    }

    /// Replaces the draft; can be undone.
    pub fn set_text(&mut self, text: &str, now: Instant) {
        let before = self.editor.revision();
        let text = self.fit(text);
        self.editor.replace_all(&text);
        self.settle(before, Cause::Other, now);
    }

    /// Inserts messages that were not sent before the draft.
    pub fn take_back(&mut self, text: &str, now: Instant) {
        self.take_back_with_images(text, &[], now);
    }

    /// The same with their images, in place of their labels. Returns how many could not be restored.
    pub fn take_back_with_images(&mut self, text: &str, images: &[&Block], now: Instant) -> usize {
        let before = self.editor.revision();
        let (text, lost) = self.tokens.put_back(&token::clean(text), images);
        let mut text = self.fold_longest(text);
        if !self.is_empty() {
            text.push('\n');
        }
        self.editor.replace(Place::START..Place::START, &text);
        self.editor.go(self.editor.end());
        self.settle(before, Cause::Other, now);
        lost
    }

    pub fn toggle_vim(&mut self) {
        self.vim = match self.vim {
            Some(_) => None,
            None => Some(Vim::default()),
        };
    }

    pub fn tick(&mut self, now: Instant) -> Vec<Effect> {
        if self.unsaved.is_none_or(|unkept| unkept.due > now) {
            return Vec::new();
        }
        self.unsaved = None;
        let text = self.tokens.expand(&self.editor.text(), Form::Kept);
        vec![Effect::Start(Job::KeepDraft(text))]
    }

    /// A job has finished; an error is shown to the person.
    pub fn done(&mut self, result: JobResult, now: Instant) -> Result<Vec<Effect>, String> {
        match result {
            JobResult::Paths {
                generation,
                paths,
                found,
                complete,
            } => {
                if let Some(completion) = &mut self.completion {
                    completion.answer(generation, paths, found, complete);
                }
            }
            JobResult::Edited(text) => self.edited(&text?, now),
            JobResult::History(entries) => {
                let entries = entries.iter().map(|entry| token::clean(entry));
                self.history.load(entries.collect());
                if let Some(search) = &mut self.search {
                    search.find(&self.history);
                }
            }
            JobResult::Draft(text) if self.is_empty() => self.set_text(&text, now),
            JobResult::Draft(text) => self.history.add(token::clean(&text)),
            JobResult::Attached { path, result } => {
                let waited = self.awaited.iter().position(|image| image.path == path);
                let image = waited.map(|at| self.awaited.remove(at));
                let block = result?;
                if let Some(image) = image {
                    self.attached(&image, block, now);
                }
            }
            JobResult::Remembered(_)
            | JobResult::EditedAsked { .. }
            | JobResult::Themes(_)
            | JobResult::Sessions(_)
            | JobResult::SessionRead(_)
            | JobResult::SessionDeleted { .. }
            | JobResult::SessionRenamed { .. }
            | JobResult::Models(_)
            | JobResult::Examined(_)
            | JobResult::Branch(_)
            | JobResult::Failed(_) => {}
        }
        Ok(Vec::new())
    }
}

impl Composer {
    /// Updates everything that depends on the draft.
    fn settle(&mut self, before: u64, cause: Cause, now: Instant) -> Vec<Effect> {
        let changed = self.editor.revision() != before;
        if changed {
            let since = self.unsaved.map_or(now, |unkept| unkept.since);
            self.unsaved = Some(Unsaved {
                since,
                due: (now + KEEP_AFTER).min(since + KEEP_AT_LEAST),
            });
            if cause != Cause::Recalled {
                self.history.stop();
            }
            if self.is_empty() {
                self.tokens.start_draft();
            }
        }
        if cause != Cause::Rows {
            self.goal = None;
        }
        if let Some(vim) = &self.vim {
            vim.settle(&mut self.editor);
        }
        self.follow();
        match cause {
            Cause::Typed if !changed => self.refresh_completion(Cause::Other),
            cause => self.refresh_completion(cause),
        }
    }

    fn follow(&mut self) {
        self.top = self.first_row(self.width, self.rows);
    }

    fn search_key(&mut self, key: KeyEvent) {
        let Some(search) = &mut self.search else {
            return;
        };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u' | 'w') if control => search.clear(&self.history),
            KeyCode::Char('h') if control => search.pop(&self.history),
            KeyCode::Char(_) if control || key.modifiers.contains(KeyModifiers::ALT) => {}
            KeyCode::Char(letter) => {
                search.push(&token::clean(&letter.to_string()), &self.history);
            }
            KeyCode::Backspace => search.pop(&self.history),
            _ => {}
        }
    }

    fn read(&self, text: &str) -> Result<Draft, String> {
        let sent = |text: &str| self.tokens.expand(text, Form::Sent);
        // Read before folded pastes are expanded: a paste is never a command.
        Ok(match draft::special(text, &self.commands)? {
            Some(Draft::Slash { name, arguments }) => Draft::Slash {
                name,
                arguments: sent(&arguments),
            },
            Some(Draft::Shell(command)) => Draft::Shell(sent(&command)),
            Some(Draft::Note(note)) => Draft::Note(sent(&note)),
            Some(message @ Draft::Message { .. }) => message,
            None => {
                let mut blocks: Vec<Block> = self.tokens.images(text).cloned().collect();
                let shown = self.tokens.expand(text.trim(), Form::Shown);
                blocks.push(Block::text(sent(text.trim())).shown_as(&shown));
                Draft::Message { blocks, shown }
            }
        })
    }

    /// A text as it is saved in the history file.
    fn kept(&self, text: &str) -> String {
        let whole = self.tokens.expand(text, Form::Kept);
        if whole.len() > LONGEST_KEPT {
            return self.tokens.expand(text, Form::Shown);
        }
        whole
    }
}
