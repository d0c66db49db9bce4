use std::sync::Arc;

use super::{Words, shown, unified};
use crate::app::preview::{Preview, Text};
use crate::app::rig::numbered;
use crate::theme::{Role, Theme};
use crate::ui::diff::{Options, live};
use crate::ui::highlight::{CodeColours, Highlighted, Uncoloured};
use crate::ui::text::Row;

/// The last lines of a file that is being written.
fn growing(content: &str, fold: usize, theme: &Theme, code: &mut dyn CodeColours) -> Vec<Row> {
    let preview = Preview::Write {
        path: "src/main.rs",
        content: Text::new(content),
    };
    let options = Options {
        fold: Some(fold),
        ..unified(40)
    };
    live(&preview, &options, theme, code)
}

#[test]
fn a_growing_file_has_the_numbers_of_its_lines() {
    let content = numbered("line", 1..12, "\n");
    assert_eq!(
        shown(&growing(
            &(content + "half"),
            3,
            &Theme::plain(),
            &mut Uncoloured
        )),
        [
            "… 9 earlier lines",
            "10 + line 10",
            "11 + line 11",
            "12 + half"
        ]
    );
}

#[test]
fn a_growing_file_is_coloured_as_far_as_its_lines_are_complete() {
    let theme = Theme::builtin("dark").expect("a theme that comes with the program");
    let keyword = theme.style(Role::Keyword).fg;
    let mut content = String::new();
    for line in 0_usize..200 {
        content.push_str("fn f() {}\n");
        let mut words = Words(&[("fn", Role::Keyword)]);
        let rows = growing(&content, 10, &theme, &mut words);
        let coloured = rows.iter().filter(|row| {
            let mut spans = row.line.spans.iter();
            spans.any(|span| span.content == "fn" && span.style.fg == keyword)
        });
        let complete = line / 8 * 8;
        let in_view = (line + 1).min(10);
        let expected = (complete + in_view).saturating_sub(line + 1);
        assert_eq!(coloured.count(), expected, "{} lines", line + 1);
    }
}

/// Records how much was requested, and never answers.
struct Slow(Vec<usize>);

impl CodeColours for Slow {
    fn colours(&mut self, _language: &str, code: &str) -> Option<Arc<Highlighted>> {
        self.0.push(code.lines().count());
        None
    }
}

#[test]
fn colours_of_a_growing_file_are_requested_in_bounded_pieces() {
    let content = numbered("line", 0..5_000, "\n");
    let mut slow = Slow(Vec::new());
    growing(&content, 10, &Theme::plain(), &mut slow);
    assert!(slow.0.iter().all(|lines| *lines <= 80), "{:?}", slow.0);
    assert_eq!(slow.0.len(), 2, "the newest, and those before them");
    let mut slow = Slow(Vec::new());
    // Lines this long are hardly code.
    growing(
        &"x\n".repeat(20).replace('x', &"x".repeat(10_000)),
        10,
        &Theme::plain(),
        &mut slow,
    );
    assert!(slow.0.is_empty(), "{:?}", slow.0);
}
