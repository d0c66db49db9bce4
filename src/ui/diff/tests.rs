mod growing;

use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::{any, proptest};
use ratatui::style::{Modifier, Style as CellLook};

use super::{Options, Style, header, live, render};
use crate::app::diff::Diff;
use crate::app::preview::{Partial, Preview, Text};
use crate::protocol::{FileDiff, PreviewFields};
use crate::theme::{Role, Theme};
use crate::ui::highlight::{CodeColours, Highlighted, Uncoloured};
use crate::ui::text::{Row, graphemes, width};

fn diff(before: &str, after: &str) -> Diff {
    Diff::new(&FileDiff {
        path: "src/main.rs".into(),
        before: Some(before.into()),
        after: after.into(),
    })
}

fn unified(width: u16) -> Options {
    Options {
        style: Style::Unified,
        width,
        fold: None,
    }
}

fn side_by_side(width: u16) -> Options {
    Options {
        style: Style::SideBySide,
        ..unified(width)
    }
}

fn rows(diff: &Diff, options: &Options) -> Vec<Row> {
    let hunks = diff.hunks(3);
    render(diff, &hunks, options, &Theme::plain(), &mut Uncoloured)
}

fn shown(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| row.line.to_string()).collect()
}

/// What copying these rows gives.
fn copied(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        if row.gutter == Row::DECORATION {
            continue;
        }
        if !row.continues && !text.is_empty() {
            text.push('\n');
        }
        let mut column = 0;
        let line = row.line.to_string();
        for (cluster, cells) in graphemes(&line) {
            if column >= row.gutter {
                text.push_str(cluster);
            }
            column += cells;
        }
    }
    text
}

/// How the cells with this text look.
fn look(rows: &[Row], text: &str) -> CellLook {
    let found = rows.iter().find_map(|row| {
        let span = row.line.spans.iter().find(|span| span.content == text)?;
        Some(row.line.style.patch(span.style))
    });
    found.unwrap_or_else(|| panic!("`{text}` is one span of {rows:#?}"))
}

/// Gives the same words a colour everywhere.
struct Words(&'static [(&'static str, Role)]);

impl CodeColours for Words {
    fn colours(&mut self, language: &str, code: &str) -> Option<Arc<Highlighted>> {
        assert_eq!(language, "src/main.rs");
        let colour = |line: &str| -> Vec<(Range<usize>, Role)> {
            let mut parts: Vec<(Range<usize>, Role)> = self
                .0
                .iter()
                .filter_map(|(word, role)| {
                    let start = line.find(word)?;
                    Some((start..start + word.len(), *role))
                })
                .collect();
            parts.sort_by_key(|(range, _)| range.start);
            parts
        };
        let lines = code.lines().map(colour).collect();
        Some(Arc::new(Highlighted { lines }))
    }
}

const BEFORE: &str = "fn main() {\n    let a = 1;\n    run(a);\n}\n";
const AFTER: &str = "fn main() {\n    let a = 2;\n    log(a);\n    run(a);\n}\n";

#[test]
fn a_change_has_numbers_and_marks() {
    let rows = rows(&diff(BEFORE, AFTER), &unified(80));
    assert_eq!(
        shown(&rows),
        [
            "@@ -1,4 +1,5 @@",
            "1 1   fn main() {",
            "2   -     let a = 1;",
            "  2 +     let a = 2;",
            "  3 +     log(a);",
            "3 4       run(a);",
            "4 5   }",
        ]
    );
}

#[test]
fn narrow_diffs_show_one_line_number_or_none() {
    let diff = diff("a\nb\n", "a\nc\n");
    assert_eq!(
        shown(&rows(&diff, &unified(30))),
        ["@@ -1,2 +1,2 @@", "1   a", "2 - b", "2 + c"]
    );
    assert_eq!(
        shown(&rows(&diff, &unified(8))),
        ["@@ -1,2…", "  a", "- b", "+ c"]
    );
}

#[test]
fn a_new_file_has_neither_old_numbers_nor_hunks() {
    let diff = Diff::new(&FileDiff {
        path: "a.txt".into(),
        before: None,
        after: "one\ntwo".into(),
    });
    assert_eq!(
        shown(&rows(&diff, &unified(80))),
        ["1 + one", "2 + two", "    \\ No newline at end of file"]
    );
}

#[test]
fn copying_gives_the_code() {
    let diff = diff("", "first line that is long\nsecond\n");
    assert_eq!(
        copied(&rows(&diff, &unified(20))),
        "first line that is long\nsecond"
    );
}

#[test]
fn long_lines_are_wrapped() {
    let diff = diff("", "abcdefgh漢字漢字\n");
    let rows = rows(&diff, &unified(12));
    assert_eq!(shown(&rows), ["@@ -0,0 +1 …", "+ abcdefgh漢", "↪ 字漢字"]);
    let continues: Vec<bool> = rows.iter().map(|row| row.continues).collect();
    assert_eq!(continues, [false, false, true]);
}

#[test]
fn control_and_invisible_characters_are_made_visible() {
    let diff = diff("", "a\u{1b}[31mb\u{202e}c\td\re\n");
    assert_eq!(
        shown(&rows(&diff, &unified(50)))[1],
        "1 + a␛[31mb<U+202E>c    d␍e"
    );
}

#[test]
fn white_space_at_the_end_of_an_added_line_is_visible() {
    let theme = theme();
    let diff = diff("same  \n", "same  \nnew  \nold\t\n");
    let rows = render(&diff, &diff.hunks(3), &unified(50), &theme, &mut Uncoloured);
    let trailing = theme.style(Role::Added).patch(theme.style(Role::Escaped));
    assert_eq!(look(&rows[2..3], "  "), trailing);
    assert_eq!(look(&rows[3..4], "→"), trailing);
    assert_eq!(shown(&rows)[1..], ["1   same  ", "2 + new  ", "3 + old→"]);
}

#[test]
fn a_tab_that_became_spaces_is_visible() {
    let rows = rows(&diff("\tf(a);\n", "    f(a);\n"), &unified(50));
    assert_eq!(shown(&rows)[1..], ["1 - →   f(a);", "1 +     f(a);"]);
}

#[test]
fn line_endings_are_shown_where_they_differ() {
    let mixed = rows(&diff("a\r\nb\r\n", "a\r\nb\n"), &unified(50));
    assert_eq!(shown(&mixed)[1..], ["1   a␍", "2 - b␍", "2 + b"]);
    let all_alike = rows(&diff("a\r\n", "b\r\n"), &unified(50));
    assert_eq!(shown(&all_alike)[1..], ["1 - a", "1 + b"]);
}

#[test]
fn a_missing_newline_is_noted_but_not_copied() {
    let rows = rows(&diff("a", "a\n"), &unified(50));
    assert_eq!(
        shown(&rows)[1..],
        ["1 - a", "    \\ No newline at end of file", "1 + a"]
    );
    assert_eq!(copied(&rows), "a\na");
}

#[test]
fn blanks_are_never_underlined() {
    for theme in [
        Theme::plain(),
        Theme::builtin("ansi16").expect("a theme of the program"),
    ] {
        let diff = diff("  sum(row)\n", "      sum(n, row)\n");
        let rows = render(&diff, &diff.hunks(3), &unified(50), &theme, &mut Uncoloured);
        let spans = rows.iter().flat_map(|row| &row.line.spans);
        let underlined = spans
            .filter(|span| span.style.add_modifier.contains(Modifier::UNDERLINED))
            .map(|span| &*span.content);
        assert_eq!(underlined.collect::<Vec<_>>(), ["n,"], "{}", theme.name);
    }
}

fn theme() -> Theme {
    Theme::builtin("dark").expect("a theme that comes with the program")
}

#[test]
fn syntax_colours_are_drawn_on_the_background_of_the_change() {
    let theme = theme();
    let diff = diff("let a = one;\nlet same;\n", "let b = one;\nlet same;\n");
    let mut code = Words(&[("let", Role::Keyword)]);
    let rows = render(&diff, &diff.hunks(3), &unified(80), &theme, &mut code);
    let keyword = theme.style(Role::Keyword);
    assert_eq!(
        look(&rows[1..2], "let"),
        theme.style(Role::Removed).patch(keyword)
    );
    assert_eq!(
        look(&rows[2..3], "let"),
        theme.style(Role::Added).patch(keyword)
    );
    assert_eq!(
        look(&rows[3..4], "let"),
        theme.style(Role::Text).patch(keyword)
    );
    assert_eq!(rows[2].line.style, theme.style(Role::Added));
}

#[test]
fn changed_words_stand_out() {
    let theme = theme();
    let diff = diff("let a = one;\n", "let b = one;\n");
    let mut code = Words(&[("let", Role::Keyword), ("b", Role::Variable)]);
    let rows = render(&diff, &diff.hunks(3), &unified(80), &theme, &mut code);
    assert_eq!(
        look(&rows, "a"),
        theme
            .style(Role::Removed)
            .patch(theme.style(Role::RemovedWord))
    );
    assert_eq!(
        look(&rows, "b"),
        theme
            .style(Role::Added)
            .patch(theme.style(Role::Variable))
            .patch(theme.style(Role::AddedWord))
    );
}

#[test]
fn without_backgrounds_the_letters_keep_the_colour_of_the_change() {
    let theme = Theme::builtin("ansi16").expect("a theme that comes with the program");
    let diff = diff("", "let it = be;\n");
    let mut code = Words(&[("let", Role::Keyword)]);
    let rows = render(&diff, &diff.hunks(3), &unified(80), &theme, &mut code);
    assert_eq!(look(&rows, "let it = be;"), theme.style(Role::Added));
}

#[test]
fn a_colour_range_that_ends_inside_a_letter_leaves_it_whole() {
    let theme = theme();
    let diff = diff("", "e\u{301}x\n");
    let mut code = Words(&[("e", Role::Keyword)]);
    let rows = render(&diff, &diff.hunks(3), &unified(80), &theme, &mut code);
    assert_eq!(
        look(&rows, "e\u{301}"),
        theme.style(Role::Added).patch(theme.style(Role::Keyword))
    );
}

#[test]
fn the_rest_is_folded_and_counted() {
    let lines: Vec<String> = (1..=9).map(|line| line.to_string()).collect();
    let diff = diff("", &(lines.join("\n") + "\n"));
    let folded = |fold| {
        let options = Options {
            fold: Some(fold),
            ..unified(50)
        };
        shown(&rows(&diff, &options))
    };
    assert_eq!(
        folded(3),
        ["@@ -0,0 +1,9 @@", "1 + 1", "2 + 2", "… 7 more lines"]
    );
    assert_eq!(folded(0), ["… 9 more lines"]);
    // Ten rows: a fold would take as much room as what it hides.
    assert_eq!(folded(9).len(), 10);
    assert_eq!(folded(9)[9], "9 + 9");
}

#[test]
fn only_the_visible_part_of_a_folded_line_is_painted() {
    let options = Options {
        fold: Some(2),
        ..unified(20)
    };
    let letters = diff("", &("x".repeat(1_000_000) + "\n"));
    assert_eq!(
        shown(&rows(&letters, &options)),
        [
            "@@ -0,0 +1 @@",
            &format!("+ {}", "x".repeat(18)),
            "… 1 more line"
        ]
    );
    // Even if the text has no width, the fold says that there is more.
    let marks = diff("", &format!("e{}end\n", "\u{301}".repeat(10_000)));
    assert_eq!(shown(&rows(&marks, &options))[2], "… and more");
}

#[test]
fn side_by_side_puts_together_what_belongs_together() {
    let rows = rows(&diff(BEFORE, AFTER), &side_by_side(61));
    let text: Vec<String> = shown(&rows)
        .iter()
        .map(|row| row.trim_end().to_owned())
        .collect();
    assert_eq!(
        text,
        [
            "@@ -1,4 +1,5 @@",
            "1   fn main() {               │1   fn main() {",
            "2 -     let a = 1;            │2 +     let a = 2;",
            "                              │3 +     log(a);",
            "3       run(a);               │4       run(a);",
            "4   }                         │5   }",
        ]
    );
    assert!(rows[1..].iter().all(|row| row.line.width() == 61));
}

#[test]
fn side_by_side_wraps_each_side_for_itself_and_copies_the_new_one() {
    let diff = diff("a long old line with words\n", "a long new line\nx\n");
    let rows = rows(&diff, &side_by_side(41));
    let text: Vec<String> = shown(&rows)
        .iter()
        .map(|row| row.trim_end().to_owned())
        .collect();
    assert_eq!(
        text,
        [
            "@@ -1 +1,2 @@",
            "1 - a long old line │1 + a long new line",
            "  ↪ with words      │",
            "                    │2 + x",
        ]
    );
    assert_eq!(
        copied(&rows).lines().map(str::trim_end).collect::<Vec<_>>(),
        ["a long new line", "x"]
    );
}

#[test]
fn a_fold_side_by_side_counts_lines_and_not_rows() {
    let diff = diff("a1\nb2\nc3\nd4\n", "x\ny\nz\nw\n");
    let options = Options {
        fold: Some(2),
        ..side_by_side(60)
    };
    assert_eq!(shown(&rows(&diff, &options))[2], "… 6 more lines");
}

#[test]
fn two_columns_need_room() {
    assert_eq!(Style::fitting(139), Style::Unified);
    assert_eq!(Style::fitting(140), Style::SideBySide);
    let diff = diff(BEFORE, AFTER);
    assert_eq!(rows(&diff, &side_by_side(39)), rows(&diff, &unified(39)));
}

#[test]
fn the_header_names_the_file_and_counts() {
    let theme = Theme::plain();
    let head = |diff: &Diff, width| header(diff, width, &theme).line.to_string();
    assert_eq!(head(&diff(BEFORE, AFTER), 60), "src/main.rs +2 −1");
    assert_eq!(
        head(&diff("a\n", "a\n"), 60),
        "src/main.rs no lines changed"
    );
    assert_eq!(head(&diff("", "a\r\n"), 60), "src/main.rs +1 CRLF");
    assert_eq!(
        head(&diff("", "a\r\nb\n"), 60),
        "src/main.rs +2 CRLF and LF"
    );
    let new = Diff::new(&FileDiff {
        path: "a/very/long/path/\u{1b}to/a/file.rs".into(),
        before: None,
        after: "a\n".into(),
    });
    assert_eq!(head(&new, 60), "a/very/long/path/␛to/a/file.rs new +1");
    assert_eq!(head(&new, 24), "a/very/l…/file.rs new +1");
    assert!(width(&head(&new, 5)) <= 5);
    let empty = Diff::new(&FileDiff {
        path: "a.rs".into(),
        before: None,
        after: "".into(),
    });
    assert_eq!(head(&empty, 60), "a.rs new empty");
}

#[test]
fn an_edit_grows_below_what_it_replaces() {
    let mut input = Partial::default();
    input.push(r#"{"file_path":"a.rs","old_string":"one\ntwo","new_string":"1\n2\n"#);
    let options = unified(40);
    let fields = PreviewFields::Edit {
        path: "file_path".into(),
        old: "old_string".into(),
        new: "new_string".into(),
    };
    let preview = Preview::of(&fields, &input);
    assert_eq!(
        shown(&live(&preview, &options, &Theme::plain(), &mut Uncoloured)),
        ["- one", "- two", "+ 1", "+ 2"]
    );
    let folded = Options {
        fold: Some(3),
        ..options
    };
    assert_eq!(
        shown(&live(&preview, &folded, &Theme::plain(), &mut Uncoloured)),
        ["… 1 earlier line", "- two", "+ 1", "+ 2"]
    );
}

#[test]
fn a_file_of_one_very_long_line_shows_its_end() {
    let content = "x".repeat(100_000) + "end";
    let preview = Preview::Write {
        path: "a",
        content: Text::new(&content),
    };
    let options = Options {
        fold: Some(2),
        ..unified(12)
    };
    let rows = live(&preview, &options, &Theme::plain(), &mut Uncoloured);
    assert_eq!(rows.len(), 2);
    assert!(shown(&rows)[1].ends_with("end"));
}

#[test]
fn a_command_is_shown_as_it_is_typed() {
    let preview = Preview::Command {
        command: Text::new("cargo test \\\n  --lib\u{7}"),
    };
    assert_eq!(
        shown(&live(
            &preview,
            &unified(40),
            &Theme::plain(),
            &mut Uncoloured
        )),
        ["$ cargo test \\", "    --lib␇"]
    );
}

proptest! {
    #[test]
    fn no_row_is_too_wide_or_contains_control_characters(
        before in any::<String>(),
        after in "[ab\t\r\n漢é\u{301}\u{202e}\u{1b}👩‍👧]{0,60}",
        width in 0_u16..90,
        fold in proptest::option::of(0_usize..6),
        beside in any::<bool>(),
    ) {
        let style = if beside { Style::SideBySide } else { Style::Unified };
        let options = Options { style, width, fold };
        let diff = diff(&before, &after);
        let mut all = rows(&diff, &options);
        let content = Text::new(&after);
        let old = Text::new(&before);
        for preview in [
            Preview::Edit { path: "", old, new: content },
            Preview::Command { command: content },
        ] {
            all.extend(live(&preview, &options, &Theme::plain(), &mut Uncoloured));
        }
        all.push(header(&diff, width, &Theme::plain()));
        for row in all {
            let text = row.line.to_string();
            // The screen cuts off a cluster that is wider than the area.
            assert!(width < 8 || super::width(&text) <= usize::from(width) + 1, "{text:?}");
            assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        }
    }

    #[test]
    fn copying_gives_the_new_file_back(after in "[ab 漢é\n]{0,60}", width in 3_u16..60) {
        let diff = Diff::new(&FileDiff { path: "a".into(), before: None, after: after.as_str().into() });
        let lines: Vec<&str> = after.lines().collect();
        let whole = copied(&rows(&diff, &unified(width)));
        // An empty first row can't be distinguished from no row.
        assert_eq!(whole.trim_start_matches('\n'), lines.join("\n").trim_start_matches('\n'));
    }
}
