//! Every built-in theme, style by style, so that a change of looks is noticed.

use std::collections::BTreeMap;
use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};

use super::screens::{busy, finished};
use crate::app::rig::App;
use crate::theme::{Depth, Theme};

/// The same screens for all: a running turn, one with a diff, a table and a failure, a question, and a list.
fn screens(theme: &str, depth: Depth) -> String {
    let paint = |app: App, height| -> String {
        let screen = app.with_theme(theme, depth).on(76, height);
        styled(screen.buffer())
    };
    let mut chosen = App::new();
    chosen.press("ctrl+p down");
    let screens = [
        paint(busy(), 22),
        paint(finished(), 36),
        paint(App::asked("Edit"), 26),
        paint(chosen, 12),
    ];
    screens.join("\n")
}

/// Below each row a letter for the style of each of its cells; the letters are explained at the end.
pub fn styled(buffer: &Buffer) -> String {
    let mut letters: BTreeMap<String, char> = BTreeMap::new();
    let mut text = String::new();
    let plain = describe(&Cell::default());
    let width = usize::from(buffer.area.width);
    for (cells, line) in buffer
        .content()
        .chunks(width)
        .zip(crate::ui::rig::lines(buffer))
    {
        let mut styles = String::new();
        for cell in cells {
            let style = describe(cell);
            if style == plain {
                styles.push(' ');
                continue;
            }
            let next = char::from_u32('a' as u32 + u32::try_from(letters.len()).unwrap_or(0));
            styles.push(*letters.entry(style).or_insert(next.unwrap_or('?')));
        }
        let styles = styles.trim_end();
        let _ = write!(text, "{line}\n{styles}\n");
    }
    let mut legend: Vec<(char, String)> =
        letters.into_iter().map(|(style, at)| (at, style)).collect();
    legend.sort_unstable();
    for (letter, style) in legend {
        let _ = writeln!(text, "{letter} {style}");
    }
    text
}

fn describe(cell: &Cell) -> String {
    let mut words = format!("{} on {}", cell.fg, cell.bg);
    if !cell.modifier.is_empty() {
        let _ = write!(words, " {:?}", cell.modifier);
    }
    words
}

#[test]
fn dark() {
    insta::assert_snapshot!(screens("dark", Depth::True));
}

#[test]
fn light() {
    insta::assert_snapshot!(screens("light", Depth::True));
}

#[test]
fn high_contrast() {
    insta::assert_snapshot!(screens("high-contrast", Depth::True));
}

#[test]
fn high_contrast_light() {
    insta::assert_snapshot!(screens("high-contrast-light", Depth::True));
}

#[test]
fn colour_blind() {
    insta::assert_snapshot!(screens("colour-blind", Depth::True));
}

#[test]
fn colour_blind_light() {
    insta::assert_snapshot!(screens("colour-blind-light", Depth::True));
}

#[test]
fn ansi16() {
    insta::assert_snapshot!(screens("ansi16", Depth::Ansi16));
}

#[test]
fn dark_without_colours() {
    insta::assert_snapshot!(screens("dark", Depth::None));
}

#[test]
fn every_theme_has_its_screens() {
    let shown = [
        "dark",
        "light",
        "high-contrast",
        "high-contrast-light",
        "colour-blind",
        "colour-blind-light",
        "ansi16",
    ];
    let mut names: Vec<&str> = Theme::names().collect();
    names.sort_unstable();
    let mut expected = shown.to_vec();
    expected.sort_unstable();
    assert_eq!(names, expected);
}
