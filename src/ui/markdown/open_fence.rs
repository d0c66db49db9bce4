//! A code fence without its end: complete lines keep their rows, the last one is written again.
//!
//! Colours are requested whenever the number of lines doubles, and when they arrive all rows are written again; in
//! total this costs a few times the whole, not its square.

use std::sync::Arc;

use crate::ui::highlight::{Highlighted, settled};
use crate::ui::text::Row;

use super::split::{Fence, Joint};
use super::{Page, append, code};

#[derive(Debug, Clone, Default)]
pub struct OpenFence {
    /// The rows before it, and those up to the end of its complete lines.
    first_row: usize,
    end_row: usize,
    /// How much of the body has rows, and how many lines that is.
    written: usize,
    lines: usize,
    /// How much of the code was requested, in lines and bytes, whether the colours are still missing, and whether to
    /// check again.
    asked_lines: usize,
    asked: usize,
    missing: bool,
    ask_again: bool,
    colours: Arc<Highlighted>,
}

impl OpenFence {
    pub fn new(first_row: usize) -> Self {
        Self {
            first_row,
            end_row: first_row,
            ..Self::default()
        }
    }

    /// New colours arrived, perhaps those of this code.
    pub fn ask_again(&mut self) {
        self.ask_again = true;
    }

    pub fn is_waiting(&self) -> bool {
        self.missing
    }

    /// Replaces all rows that may have changed since the last time.
    pub fn write(
        &mut self,
        (fence, joint): (&Fence, Joint),
        source: &str,
        rows: &mut Vec<Row>,
        page: &mut Page,
    ) {
        let body = &source[fence.body.clone()];
        self.ask(fence, body, page);
        rows.truncate(self.end_row);
        if self.end_row == self.first_row {
            append(
                rows,
                code::label(&fence.language, page).into_iter().collect(),
                joint,
            );
        }
        for line in body[self.written..].split_inclusive('\n') {
            self.write_line(&fence.text(line), joint, rows, page);
            self.lines += 1;
        }
        self.written = body.len();
        self.end_row = rows.len();
        let tail = &source[fence.body.end..];
        if !fence.is_closed_by(tail) {
            self.write_line(&fence.text(tail), joint, rows, page);
        }
    }

    fn write_line(&self, line: &str, joint: Joint, rows: &mut Vec<Row>, page: &Page) {
        if line.is_empty() {
            return;
        }
        let mut more = Vec::new();
        let text = line.strip_suffix('\n').unwrap_or(line);
        code::line_rows(text, self.colours.line(self.lines), page, &mut more);
        let first = rows.len() == self.first_row;
        append(rows, more, if first { joint } else { Joint::Line });
    }

    fn ask(&mut self, fence: &Fence, body: &str, page: &mut Page) {
        let new_lines = memchr::memchr_iter(b'\n', &body.as_bytes()[self.written..]).count();
        let lines = self.lines + new_lines;
        let doubled = lines >= self.asked_lines * 2;
        let look = std::mem::take(&mut self.ask_again) && self.missing;
        if !doubled && !look {
            return;
        }
        let code = fence.text(body);
        if doubled {
            let Some(prefix) = settled(&code) else {
                return;
            };
            self.asked = prefix.len();
            self.asked_lines = 1 << lines.ilog2();
        }
        let found = page.code.colours(&fence.language, &code[..self.asked]);
        self.missing = found.is_none();
        if let Some(colours) = found.filter(|colours| *colours != self.colours) {
            self.colours = colours;
            (self.written, self.lines, self.end_row) = (0, 0, self.first_row);
        }
    }
}
