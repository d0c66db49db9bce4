//! The help before anything is typed: the most used keys and commands on one screen, in columns. What does not fit
//! follows below.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Column, Entry, GAP, MOST_CHORDS, block, commands};
use crate::app::AppState;
use crate::app::dialogs::help::HelpDialog;
use crate::keymap::{Action, Chord, Context, Keymap};
use crate::theme::Theme;
use crate::ui::text::width;

/// The least width of a column on average.
const COLUMN: u16 = 33;
const MOST_COLUMNS: u16 = 4;
/// With room for fewer entries, a group begins on the next page.
const LEAST_ENTRIES: usize = 4;
/// The keys of the input. Those of other places are groups of their own.
const INPUT: [Context; 4] = [
    Context::Composer,
    Context::ComposerEmpty,
    Context::Working,
    Context::Global,
];
/// The other actions follow these.
const MOST_USED: [Action; 16] = [
    Action::Send,
    Action::Newline,
    Action::Interrupt,
    Action::NextMode,
    Action::HistoryPrevious,
    Action::SearchHistory,
    Action::ToggleDetails,
    Action::Scroll,
    Action::TogglePanel,
    Action::Palette,
    Action::Background,
    Action::OpenEditor,
    Action::EditQueue,
    Action::ClearOrQuit,
    Action::PageUp,
    Action::Help,
];

/// What keys and commands do, for columns in which the usual words do not fit.
const SHORT_KEYS: [(Action, &str); 13] = [
    (Action::Interrupt, "Stop"),
    (Action::NextMode, "Permission mode"),
    (Action::ToggleDetails, "Show details"),
    (Action::Scroll, "Scroll, search"),
    (Action::TogglePanel, "Tool calls"),
    (Action::Palette, "Find a command"),
    (Action::Background, "To background"),
    (Action::OpenEditor, "Open your editor"),
    (Action::EditQueue, "Edit the queue"),
    (Action::ClearOrQuit, "Clear, then quit"),
    (Action::Fold, "Fold a subagent"),
    (Action::RunAgain, "Run it again"),
    (Action::AnswerByHand, "Type its result"),
];
const SHORT_COMMANDS: [(&str, &str); 12] = [
    ("!COMMAND", "run a shell command"),
    ("#NOTE", "add a note to memory"),
    ("@FILE", "name a file"),
    ("/diff", "show all changes"),
    ("/permissions", "edit permission rules"),
    ("/why", "why a call was allowed"),
    ("/todos", "the model's plan"),
    ("/init", "write AGENTS.md"),
    ("/doctor", "check the setup"),
    ("/agents", "list subagent types"),
    ("/rename", "rename this session"),
    ("/vim", "toggle vim keys"),
];

pub fn columns(help: &HelpDialog, state: &AppState, room: Rect) -> Vec<Column> {
    let height = usize::from(room.height);
    let widths = widths(room.width);
    let groups = groups(help, state, &widths);
    let mut filling: Vec<Filling> = widths
        .iter()
        .map(|width| Filling::new(*width, &state.settings.theme))
        .collect();
    let alone = filling.len() == 1;
    for (number, (title, entries)) in groups.into_iter().enumerate() {
        // The first groups have a column each; the others go where most room is left.
        let place = if number < filling.len() {
            number
        } else {
            let shortest = (0..filling.len()).min_by_key(|at| filling[*at].rows());
            shortest.unwrap_or(0)
        };
        // In a single column the first group leaves room for the second.
        let height = if alone && number == 0 {
            height / 2
        } else {
            height
        };
        filling[place].add(&title, &entries, height);
    }
    let mut x = room.x;
    let placed = filling.into_iter().map(|column| {
        let placed = Column {
            x,
            width: column.width,
            lines: column.finish(height),
        };
        x += placed.width + GAP;
        placed
    });
    placed.collect()
}

/// Commands need more room than keys, so the second column is wider.
fn widths(room: u16) -> Vec<u16> {
    let count = ((room + GAP) / (COLUMN + GAP)).clamp(1, MOST_COLUMNS);
    let shares: &[u16] = match count {
        1 => &[1],
        2 => &[2, 3],
        3 => &[3, 4, 3],
        _ => &[3, 4, 3, 3],
    };
    let free = room.saturating_sub(GAP * (count - 1));
    let total: u16 = shares.iter().sum();
    shares.iter().map(|share| free * share / total).collect()
}

/// The groups with the width of their columns, which decides between long and short words.
fn groups(help: &HelpDialog, state: &AppState, widths: &[u16]) -> Vec<(String, Vec<Entry>)> {
    let keymap = &state.settings.keymap;
    let mut contexts = vec![Context::Scroll, Context::Panel];
    // What the keys do where the help was opened comes first.
    let here = help.first.first().filter(|here| !INPUT.contains(here));
    contexts.retain(|context| Some(context) != here);
    let room = |number: usize| usize::from(widths.get(number).copied().unwrap_or(widths[0]));
    let before = usize::from(here.is_some());
    let keys = in_the_input(keymap);
    let mut groups = vec![
        ("Keys".to_owned(), entries_for(&keys, room(before))),
        ("Commands".to_owned(), of_commands(state, room(before + 1))),
    ];
    for context in contexts {
        let keys = entries_for(&keymap.group(context), room(2));
        groups.push((context.title().to_owned(), keys));
    }
    if let Some(here) = here {
        let keys = entries_for(&keymap.group(*here), room(0));
        groups.insert(0, (here.title().to_owned(), keys));
    }
    groups
}

/// The keys of the input, the most used first.
fn in_the_input(keymap: &Keymap) -> Vec<(Action, Vec<Chord>)> {
    let mut actions: Vec<(Action, Vec<Chord>)> = Vec::new();
    for context in INPUT {
        for (action, mut chords) in keymap.group(context) {
            chords.truncate(1);
            if actions.iter().all(|(known, _)| *known != action) {
                actions.push((action, chords));
            }
        }
    }
    let rank = |action: &Action| MOST_USED.iter().position(|used| used == action);
    actions.sort_by_key(|(action, _)| rank(action).unwrap_or(MOST_USED.len()));
    actions
}

/// Keys with what they do, in short words where the long ones do not fit.
fn entries_for(actions: &[(Action, Vec<Chord>)], room: usize) -> Vec<Entry> {
    let keys = |chords: &[Chord]| {
        let chords = chords.iter().take(MOST_CHORDS);
        chords
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("  ")
    };
    let widest = actions.iter().map(|(_, chords)| width(&keys(chords))).max();
    let room = room.saturating_sub(widest.unwrap_or(0) + 2);
    let words = |action: Action| {
        let long = action.explain();
        if width(long) <= room {
            return long.to_owned();
        }
        if let Some((_, short)) = SHORT_KEYS.iter().find(|(known, _)| *known == action) {
            return (*short).to_owned();
        }
        let mut short = action.describe().chars();
        let first = short.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(short).collect()
    };
    let entries = actions.iter();
    entries
        .map(|(action, chords)| (keys(chords), words(*action)))
        .collect()
}

/// The commands without their arguments.
fn of_commands(state: &AppState, room: usize) -> Vec<Entry> {
    let name = |usage: &str| usage.split(' ').next().unwrap_or_default().to_owned();
    let entries: Vec<Entry> = commands(state)
        .into_iter()
        .map(|(usage, about)| (name(&usage), about))
        .collect();
    let widest = entries.iter().map(|(name, _)| width(name)).max();
    let room = room.saturating_sub(widest.unwrap_or(0) + 2);
    let short = |(name, about): Entry| {
        let short = SHORT_COMMANDS.iter().find(|(known, _)| *known == name);
        let about = match short {
            Some((_, short)) if width(&about) > room => (*short).to_owned(),
            Some(_) | None => about,
        };
        (name, about)
    };
    entries.into_iter().map(short).collect()
}

/// A column that is being filled: what is on the first screen, and what follows.
struct Filling<'a> {
    width: u16,
    theme: &'a Theme,
    first: Vec<Line<'static>>,
    later: Vec<Line<'static>>,
}

impl<'a> Filling<'a> {
    fn new(width: u16, theme: &'a Theme) -> Self {
        Self {
            width,
            theme,
            first: Vec::new(),
            later: Vec::new(),
        }
    }

    fn rows(&self) -> usize {
        self.first.len() + self.later.len()
    }

    /// Adds as many entries as fit into the height of the first screen, and the others below it.
    fn add(&mut self, title: &str, entries: &[Entry], height: usize) {
        let gap = usize::from(!self.first.is_empty());
        let room = height.saturating_sub(self.first.len() + gap);
        let fits = |count: &usize| self.block(title, &entries[..*count]).len() <= room;
        let count = (0..=entries.len()).rev().find(fits).unwrap_or(0);
        let count = if count < LEAST_ENTRIES.min(entries.len()) {
            0
        } else {
            count
        };
        let (now, rest) = entries.split_at(count);
        if !now.is_empty() {
            let lines = self.block(title, now);
            append(&mut self.first, lines);
        }
        if !rest.is_empty() {
            let lines = self.block(title, rest);
            append(&mut self.later, lines);
        }
    }

    fn block(&self, title: &str, entries: &[Entry]) -> Vec<Line<'static>> {
        block(title, entries, self.width, self.theme)
    }

    fn finish(self, height: usize) -> Vec<Line<'static>> {
        let mut lines = self.first;
        if !self.later.is_empty() {
            lines.resize(height.max(lines.len()), Line::default());
            lines.extend(self.later);
        }
        lines
    }
}

/// Adds a group below an empty row.
fn append(lines: &mut Vec<Line<'static>>, group: Vec<Line<'static>>) {
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines.extend(group);
}
