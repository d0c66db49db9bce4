//! Extracts the text of a page from its drawing operators.
//!
//! A move to another line ends the line; a move within a line becomes a blank. That does not reproduce the layout,
//! but it can be read as text.

use std::collections::HashMap;
use std::rc::Rc;

use super::file::Page;
use super::font::{Font, Fonts};
use super::object::{Object, Parser};

/// No operator has this many operands.
const MAX_OPERANDS: usize = 1_000;

/// The text of a page.
pub fn text(fonts: &mut Fonts<'_>, page: &Page) -> String {
    let fonts: HashMap<&str, Rc<Font>> = page
        .fonts
        .iter()
        .map(|(name, font)| (name.as_str(), fonts.get(font)))
        .collect();
    let unknown = Font::unknown();
    let mut pen = Pen {
        text: String::new(),
        font: &unknown,
        height: 0.0,
        written: 0.0,
    };
    let mut parser = Parser::new(&page.content, 0);
    let mut operands = Vec::new();
    while let Some(object) = parser.next() {
        let Object::Keyword(operator) = &object else {
            operands.push(object);
            operands.truncate(MAX_OPERANDS);
            continue;
        };
        match operator.as_slice() {
            b"Tf" => {
                let name = operands.first().and_then(Object::as_name);
                let font = name.and_then(|name| fonts.get(name));
                pen.font = font.map_or(&unknown, Rc::as_ref);
            }
            // The data of an inline image is not an operator.
            b"ID" => {
                let rest = &page.content[parser.position..];
                let end = memchr::memmem::find(rest, b"EI").unwrap_or(rest.len());
                parser.position += end;
            }
            operator => pen.draw(operator, &operands),
        }
        operands.clear();
    }
    pen.text.trim().to_owned()
}

struct Pen<'a> {
    text: String,
    font: &'a Font,
    /// Where on the page the pen is.
    height: f64,
    /// Where the pen was when it last wrote.
    written: f64,
}

impl Pen<'_> {
    fn draw(&mut self, operator: &[u8], operands: &[Object]) {
        let number = |index: usize| {
            operands
                .get(index)
                .and_then(Object::as_number)
                .unwrap_or(0.0)
        };
        match operator {
            b"Tj" => self.write(operands.first()),
            b"'" => {
                self.end_line();
                self.write(operands.first());
            }
            b"\"" => {
                self.end_line();
                self.write(operands.get(2));
            }
            b"TJ" => {
                if let Some(Object::Array(items)) = operands.first() {
                    for item in items {
                        self.write_or_move(item);
                    }
                }
            }
            // A text object begins, which resets the coordinates.
            b"BT" => self.height = 0.0,
            b"Td" | b"TD" => self.move_to(self.height + number(1)),
            b"Tm" => self.move_to(number(5)),
            b"T*" => self.end_line(),
            _ => {}
        }
    }

    fn write(&mut self, object: Option<&Object>) {
        if let Some(Object::Text(codes)) = object {
            self.font.decode(codes, &mut self.text);
        }
    }

    /// An array contains texts, and distances in thousandths of the font size; a large distance is a blank.
    fn write_or_move(&mut self, item: &Object) {
        const BLANK: f64 = -180.0;
        match item.as_number() {
            Some(distance) if distance < BLANK => self.blank(),
            Some(_) => {}
            None => self.write(Some(item)),
        }
    }

    fn move_to(&mut self, height: f64) {
        self.height = height;
        if (height - self.written).abs() < 1.0 {
            self.blank();
        } else {
            self.end_line();
        }
        self.written = height;
    }

    fn blank(&mut self) {
        if !self.text.ends_with([' ', '\n']) && !self.text.is_empty() {
            self.text.push(' ');
        }
    }

    fn end_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.ends_with('\n') && !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}
