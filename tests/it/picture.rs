//! The picture of the README, drawn from the real program's screen:
//! `cargo test --test it picture -- --ignored` writes `assets/screen.svg`.

use std::cell::RefCell;
use std::fmt::Write;
use std::path::Path;

use crate::support::program::Program;
use crate::support::pty::{Pty, script};

const COLUMNS: u16 = 120;
const ROWS: u16 = 36;
const CELL_WIDTH: f32 = 8.4;
const CELL_HEIGHT: f32 = 18.0;
const GROUND: &str = "#16181d";
const TEXT: &str = "#d8dbe2";

const SCRIPT: &str = r#"
[[turn]]
step = [
  { text = "I'll look at the parser and its tests first." },
  { call = "Read", input = { file_path = "src/parse.rs" } },
  { call = "Grep", input = { pattern = "parse\\(", path = "src" } },
  { call = "Bash", input = { command = "sleep 0.4; git log --oneline | head -3", description = "Recent commits" } },
  { text = "\n\nMeanwhile: `parse` takes an **empty line** for a rule." },
  { delay_ms = 600 },
]
[[turn]]
step = [
  { text = "An empty line must be skipped, so `parse` has to say that there is nothing:" },
  { call = "Edit", input = { file_path = "src/parse.rs", old_string = "pub fn parse(line: &str) -> Rule {\n    Rule::new(line.trim())\n}", new_string = "pub fn parse(line: &str) -> Option<Rule> {\n    let line = line.trim();\n    (!line.is_empty()).then(|| Rule::new(line))\n}" } },
]
[[turn]]
step = [
  { text = "Now the tests." },
  { call = "Bash", input = { command = "cargo test parse", description = "Run the parser's tests" } },
]
"#;

const PARSER: &str = "use crate::Rule;\n\n/// Reads one line of a file of rules.\npub fn parse(line: &str) -> Rule {\n    \
                      Rule::new(line.trim())\n}\n";

#[test]
#[ignore = "writes into assets"]
fn the_picture_of_the_readme() {
    let program = Program::new();
    program.put("src/parse.rs", PARSER);
    let provider = script(&program, SCRIPT);
    let arguments = [
        "--theme",
        "dark",
        "--provider",
        &provider,
        "--allow",
        "Edit",
        "--allow",
        "Bash(sleep:*)",
    ];
    let colours = [("COLORTERM", "truecolor")];
    let mut tui = Pty::spawn_with(program, &arguments, &colours, COLUMNS, ROWS);
    tui.wait_for("❯")
        .send("empty lines break the parser, please fix it\r");
    tui.wait_for("Run this command?")
        .wait_for("cargo test parse")
        .wait_for("waiting for you · 2s");
    let home = tui.program().workspace().display().to_string();
    let picture = RefCell::new(String::new());
    tui.wait_until(|screen| {
        picture_of(screen, &mut picture.borrow_mut());
        true
    });
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/screen.svg");
    // Whoever draws it: the place on the disk is nobody's business.
    let shown = format!("{:1$}", "~/project", home.len());
    let picture = picture.into_inner().replace(&home, &shown);
    std::fs::write(path, picture).expect("written");
}

fn picture_of(screen: &vt100::Screen, svg: &mut String) {
    let (rows, columns) = screen.size();
    let (width, height) = (
        f32::from(columns) * CELL_WIDTH,
        f32::from(rows) * CELL_HEIGHT,
    );
    let (outer_width, outer_height) = (width + 24.0, height + 24.0);
    svg.clear();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {outer_width:.0} {outer_height:.0}\" font-family=\"ui-monospace, \
         SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" \
         fill=\"{GROUND}\"/>\n<g transform=\"translate(12 12)\">"
    );
    for row in 0..rows {
        for run in runs(screen, row) {
            draw(&run, row, svg);
        }
    }
    svg.push_str("</g>\n</svg>\n");
}

/// Cells next to each other that look the same.
struct Run {
    column: u16,
    cells: u16,
    text: String,
    style: Style,
}

#[derive(Clone, PartialEq)]
struct Style {
    foreground: String,
    ground: Option<String>,
    bold: bool,
    italic: bool,
}

fn runs(screen: &vt100::Screen, row: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..screen.size().1 {
        let Some(cell) = screen
            .cell(row, column)
            .filter(|cell| !cell.is_wide_continuation())
        else {
            continue;
        };
        let style = style_of(cell);
        let text = if cell.has_contents() {
            cell.contents()
        } else {
            " "
        };
        let cells = if cell.is_wide() { 2 } else { 1 };
        match runs.last_mut() {
            Some(run) if run.style == style => {
                run.text.push_str(text);
                run.cells += cells;
            }
            _ => runs.push(Run {
                column,
                cells,
                text: text.to_owned(),
                style,
            }),
        }
    }
    runs
}

fn style_of(cell: &vt100::Cell) -> Style {
    let foreground = colour(cell.fgcolor());
    let ground = colour(cell.bgcolor());
    let (foreground, ground) = if cell.inverse() {
        (
            ground.unwrap_or(GROUND.into()),
            Some(foreground.unwrap_or(TEXT.into())),
        )
    } else {
        (foreground.unwrap_or(TEXT.into()), ground)
    };
    Style {
        foreground,
        ground,
        bold: cell.bold(),
        italic: cell.italic(),
    }
}

fn colour(colour: vt100::Color) -> Option<String> {
    match colour {
        vt100::Color::Default => None,
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
        vt100::Color::Idx(_) => panic!("the picture is drawn with true colours"),
    }
}

fn draw(run: &Run, row: u16, svg: &mut String) {
    let (x, y) = (
        f32::from(run.column) * CELL_WIDTH,
        f32::from(row) * CELL_HEIGHT,
    );
    let width = f32::from(run.cells) * CELL_WIDTH;
    if let Some(ground) = &run.style.ground {
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT}\" fill=\"{ground}\"/>"
        );
    }
    if run.text.trim().is_empty() {
        return;
    }
    let text = run
        .text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let weight = if run.style.bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    let slant = if run.style.italic {
        " font-style=\"italic\""
    } else {
        ""
    };
    let (fill, baseline) = (&run.style.foreground, y + 13.5);
    // The length is given, so that a font of another width does not shift what follows.
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{baseline:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" \
         fill=\"{fill}\"{weight}{slant}>{text}</text>"
    );
}
