//! The README's pictures, drawn from the screen itself.
//!
//! A test compares them with those in `assets/`; `INSTA_UPDATE=always cargo test --lib pictures` draws them again.

use std::fmt::Write;
use std::path::Path;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;

use super::played::play;
use crate::app::sample_session::Moment;
use crate::runtime::screen::{column, width as cells_of};

const CELL_WIDTH: f32 = 8.4;
const CELL_HEIGHT: f32 = 18.0;
const BACKGROUND: &str = "#16181d";
const TEXT: &str = "#d8dbe2";

#[test]
fn the_pictures_in_assets_show_the_screen_as_it_is() {
    let mut stale = Vec::new();
    play(&mut |played| {
        let Some(moment) = played.moment else {
            return;
        };
        let name = match moment {
            Moment::AtWork => "screen.svg",
            Moment::Choosing => "question.svg",
            Moment::Running => "command.svg",
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("assets")
            .join(name);
        let picture = picture_of(played.shown);
        if std::fs::read_to_string(&path).ok().as_ref() == Some(&picture) {
            return;
        }
        match std::env::var("INSTA_UPDATE").as_deref() {
            Ok("always") => std::fs::write(path, picture).expect("assets can be written"),
            Ok(_) | Err(_) => stale.push(name),
        }
    });
    assert!(
        stale.is_empty(),
        "{stale:?} in assets show another screen: `INSTA_UPDATE=always cargo test --lib pictures` draws them again"
    );
}

fn picture_of(screen: &Buffer) -> String {
    let (width, height) = (
        f32::from(screen.area.width) * CELL_WIDTH + 24.0,
        f32::from(screen.area.height) * CELL_HEIGHT + 24.0,
    );
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"ui-monospace, \
         SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" \
         fill=\"{BACKGROUND}\"/>\n<g transform=\"translate(12 12)\">"
    );
    let columns = usize::from(screen.area.width);
    for (row, cells) in (0..).zip(screen.content.chunks(columns)) {
        for run in runs(cells) {
            draw(&run, row, &mut svg);
        }
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Adjacent cells that look the same.
struct Run {
    column: u16,
    cells: u16,
    text: String,
    style: Style,
}

#[derive(Clone, PartialEq)]
struct Style {
    foreground: String,
    background: Option<String>,
    bold: bool,
    italic: bool,
    underlined: bool,
}

fn runs(cells: &[Cell]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut x = 0;
    while let Some(cell) = cells.get(x) {
        let style = style_of(cell);
        let wide = cells_of(cell);
        let (first, count) = (column(x), column(wide));
        match runs.last_mut() {
            Some(run) if run.style == style => {
                run.text.push_str(cell.symbol());
                run.cells += count;
            }
            _ => runs.push(Run {
                column: first,
                cells: count,
                text: cell.symbol().to_owned(),
                style,
            }),
        }
        x += wide;
    }
    runs
}

fn style_of(cell: &Cell) -> Style {
    let colour = |colour: String| colour.starts_with('#').then_some(colour);
    let foreground = colour(cell.fg.to_string());
    let background = colour(cell.bg.to_string());
    let has = |modifier| cell.modifier.contains(modifier);
    let (foreground, background) = if has(Modifier::REVERSED) {
        (
            background.unwrap_or(BACKGROUND.into()),
            Some(foreground.unwrap_or(TEXT.into())),
        )
    } else {
        (foreground.unwrap_or(TEXT.into()), background)
    };
    Style {
        foreground,
        background,
        bold: has(Modifier::BOLD),
        italic: has(Modifier::ITALIC),
        underlined: has(Modifier::UNDERLINED),
    }
}

fn draw(run: &Run, row: u16, svg: &mut String) {
    let (x, y) = (
        f32::from(run.column) * CELL_WIDTH,
        f32::from(row) * CELL_HEIGHT,
    );
    let width = f32::from(run.cells) * CELL_WIDTH;
    if let Some(background) = &run.style.background {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT}\" fill=\"{background}\"/>"
        );
    }
    if run.text.trim().is_empty() {
        return;
    }
    let text = run.text.replace('&', "&amp;");
    let text = text.replace('<', "&lt;").replace('>', "&gt;");
    let mut look = String::new();
    for (has, attribute) in [
        (run.style.bold, " font-weight=\"bold\""),
        (run.style.italic, " font-style=\"italic\""),
        (run.style.underlined, " text-decoration=\"underline\""),
    ] {
        if has {
            look.push_str(attribute);
        }
    }
    let (fill, baseline) = (&run.style.foreground, y + 13.5);
    // The length is given, so that a font of another width does not shift the rest.
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{baseline:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" \
         fill=\"{fill}\"{look}>{text}</text>"
    );
}
