//! Text styles as terminal escape codes.

use std::io::Write;

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

use crate::ui::text::{Row, width};

/// The style of the next character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CellStyle {
    pub text: Color,
    pub background: Color,
    pub modifier: Modifier,
}

impl CellStyle {
    pub fn of(cell: &Cell) -> Self {
        Self {
            text: cell.fg,
            background: cell.bg,
            modifier: cell.modifier,
        }
    }

    fn of_style(style: Style) -> Self {
        Self {
            text: style.fg.unwrap_or_default(),
            background: style.bg.unwrap_or_default(),
            modifier: style.add_modifier - style.sub_modifier,
        }
    }

    fn after(self, before: Self, bytes: &mut Vec<u8>) -> Self {
        self.write(Some(before), bytes);
        self
    }

    /// Writes the codes that change the style from `before`, which is `None` if unknown.
    pub fn write(self, before: Option<Self>, bytes: &mut Vec<u8>) {
        if before == Some(self) {
            return;
        }
        let known = before.unwrap_or_default();
        // The terminal's style before the first frame is unknown; and some attributes can only be reset together.
        let reset = before.is_none() || !self.modifier.contains(known.modifier);
        let known = if reset { Self::default() } else { known };
        bytes.extend_from_slice(b"\x1b[");
        let mut codes = Codes { bytes, first: true };
        if reset {
            codes.push(format_args!("0"));
        }
        for (modifier, code) in MODIFIERS {
            if (self.modifier - known.modifier).contains(modifier) {
                codes.push(format_args!("{code}"));
            }
        }
        codes.colour(known.text, self.text, 30);
        codes.colour(known.background, self.background, 40);
        bytes.push(b'm');
    }
}

/// How rows are printed as lines of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Print {
    /// Without any escape codes.
    Plain,
    /// With colours. A background is extended to the right edge by erasing the rest of the line: blanks would be copied
    /// with the text, and wrap when the window gets narrower. If the terminal does not erase in colour, only the text has it.
    Coloured { columns: u16, erases: bool },
}

impl Print {
    pub fn lines(self, rows: &[Row]) -> String {
        let lines: Vec<String> = rows.iter().map(|row| self.line(&row.line)).collect();
        lines.join("\n")
    }

    fn line(self, line: &Line) -> String {
        let text = line.to_string();
        let end = text.trim_end().len();
        let Self::Coloured { columns, erases } = self else {
            return text[..end].to_owned();
        };
        let mut bytes = Vec::new();
        let mut before = CellStyle::default();
        let mut left = end;
        for span in &line.spans {
            let part = &span.content[..span.content.len().min(left)];
            left -= part.len();
            if !part.is_empty() {
                before = CellStyle::of_style(span.style).after(before, &mut bytes);
                bytes.extend_from_slice(part.as_bytes());
            }
        }
        let background = CellStyle::of_style(line.style);
        // After the last column the cursor is still on the last character.
        let has_room = width(&text[..end]) < usize::from(columns);
        if erases && has_room && background != CellStyle::default() {
            before = background.after(before, &mut bytes);
            bytes.extend_from_slice(b"\x1b[K");
        }
        CellStyle::default().after(before, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

const MODIFIERS: [(Modifier, u8); 9] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

/// The numbers of one `SGR`.
struct Codes<'a> {
    bytes: &'a mut Vec<u8>,
    first: bool,
}

impl Codes<'_> {
    fn push(&mut self, code: std::fmt::Arguments) {
        if !std::mem::take(&mut self.first) {
            self.bytes.push(b';');
        }
        self.bytes
            .write_fmt(code)
            .expect("a vector takes all that is written to it");
    }

    /// `base` is 30 for the foreground, 40 for the background.
    fn colour(&mut self, before: Color, after: Color, base: u8) {
        if before == after {
            return;
        }
        let (bright, extended) = (base + 60, base + 8);
        let code = match after {
            Color::Reset => base + 9,
            Color::Black => base,
            Color::Red => base + 1,
            Color::Green => base + 2,
            Color::Yellow => base + 3,
            Color::Blue => base + 4,
            Color::Magenta => base + 5,
            Color::Cyan => base + 6,
            Color::Gray => base + 7,
            Color::DarkGray => bright,
            Color::LightRed => bright + 1,
            Color::LightGreen => bright + 2,
            Color::LightYellow => bright + 3,
            Color::LightBlue => bright + 4,
            Color::LightMagenta => bright + 5,
            Color::LightCyan => bright + 6,
            Color::White => bright + 7,
            Color::Indexed(index) => return self.push(format_args!("{extended};5;{index}")),
            Color::Rgb(red, green, blue) => {
                return self.push(format_args!("{extended};2;{red};{green};{blue}"));
            }
        };
        self.push(format_args!("{code}"));
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Color, Style};
    use ratatui::text::{Line, Span};

    use super::Print;
    use crate::ui::text::Row;

    fn rows() -> Vec<Row> {
        let background = Style::new().bg(Color::Black);
        let bold = Style::new().bold().bg(Color::Black);
        let line = Line::from(vec![
            Span::styled("hi", bold),
            Span::styled("  ", background),
        ]);
        let red = Line::from(Span::styled("no", Style::new().fg(Color::Red)));
        vec![
            Row::new(line.style(background)),
            Row::default(),
            Row::new(red),
        ]
    }

    #[test]
    fn printed_lines_are_coloured_and_have_no_trailing_blanks() {
        let print = |columns, erases| Print::Coloured { columns, erases }.lines(&rows());
        let rest = "\n\n\x1b[31mno\x1b[39m";
        let text = "\x1b[1;40mhi";
        assert_eq!(
            print(9, true),
            format!("{text}\x1b[0;40m\x1b[K\x1b[49m{rest}")
        );
        // Erasing in the last column would take the last letter.
        assert_eq!(print(2, true), format!("{text}\x1b[0m{rest}"));
        assert_eq!(print(9, false), format!("{text}\x1b[0m{rest}"));
    }

    #[test]
    fn printed_lines_without_colours_have_no_escape_codes() {
        assert_eq!(Print::Plain.lines(&rows()), "hi\n\nno");
    }
}
