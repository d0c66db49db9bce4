//! Cleaning, measuring, wrapping and cutting text.

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use ratatui::buffer::{Buffer, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::theme::Theme;

use super::{
    Cleaner, Indent, Row, chop, clean, clean_line, graphemes, reveal, strip_ansi, truncate,
    truncate_middle, width, wrap,
};
use crate::text::is_hidden;

fn text(row: &Row) -> String {
    row.line
        .spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect()
}

fn wrapped(source: &str, width: u16) -> Vec<String> {
    wrap(Line::from(source.to_owned()), width, &Indent::default())
        .iter()
        .map(text)
        .collect()
}

/// What copying all rows gives.
fn copied(rows: &[Row]) -> String {
    let mut copy = String::new();
    for (index, row) in rows.iter().enumerate() {
        if row.continues {
            copy.extend(std::iter::repeat_n(' ', row.glue.into()));
        } else if index > 0 {
            copy.push('\n');
        }
        let mut left = usize::from(row.gutter);
        let clusters = row
            .line
            .spans
            .iter()
            .flat_map(|span| graphemes(&span.content));
        for (cluster, cells) in clusters {
            if left == 0 {
                copy.push_str(cluster);
            }
            left = left.saturating_sub(cells.into());
        }
    }
    copy
}

/// Hostile or accidental nonsense.
fn wild_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,9}",
        4 => Just(" ".to_owned()),
        1 => "[ \t]{1,5}",
        1 => Just("\r\n".to_owned()),
        2 => "[\u{0}-\u{1f}\u{7f}-\u{9f}]",
        2 => "[\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{206f}\u{fe0e}\u{fe0f}\u{e0020}-\u{e007f}\u{ad}]",
        2 => "[\u{300}-\u{340}]{1,12}",
        2 => "[漢字かな、。（）ｶﾞ]{1,6}",
        1 => prop_oneof![Just("👩‍👩‍👧‍👦"), Just("❤️"), Just("🇩🇪"), Just("1️⃣"), Just("👍🏽")].prop_map(str::to_owned),
        1 => "[\u{620}-\u{64a}\u{200c}क्षि]{1,6}",
        1 => Just("\u{1b}[31m".to_owned()),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn cleaned_text() -> impl Strategy<Value = String> {
    wild_text().prop_map(|text| clean_line(&text, 4).into_owned())
}

#[test]
fn harmless_text_is_borrowed() {
    for harmless in [
        "",
        "plain",
        "two\nlines",
        "naïve café",
        "漢字",
        "“quotes” — and …",
    ] {
        assert!(
            matches!(clean(harmless), std::borrow::Cow::Borrowed(_)),
            "{harmless}"
        );
    }
}

#[test]
fn control_characters_are_made_visible() {
    assert_eq!(clean("a\u{1b}[2Jb\u{7}\u{7f}\0"), "a␛[2Jb␇␡␀");
    assert_eq!(clean("\u{9b}31m\u{85}"), "<U+009B>31m<U+0085>");
    assert_eq!(clean("over\rwritten\r\nnext\n"), "over␍written\nnext\n");
    assert_eq!(clean_line("a\nb\r\nc", 4), "a␊b␊c");
}

#[test]
fn invisible_and_reordering_characters_are_named() {
    assert_eq!(clean("user\u{202e}cod.exe"), "user<U+202E>cod.exe");
    assert_eq!(
        clean("pass\u{200b}word\u{feff}"),
        "pass<U+200B>word<U+FEFF>"
    );
    assert_eq!(clean("hi\u{e0068}\u{e0069}"), "hi<U+E0068><U+E0069>");
    assert_eq!(clean("a\u{200d}b c\u{fe0f}"), "a<U+200D>b c<U+FE0F>");
    assert_eq!(clean("\u{3164}\u{ad}\u{fffe}"), "<U+3164><U+00AD><U+FFFE>");
}

#[test]
fn characters_that_belong_together_stay() {
    let flag = "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";
    for whole in [
        "👩‍👩‍👧‍👦",
        "👩🏽‍❤️‍💋‍👨🏽",
        "❤️",
        "1️⃣",
        "🇩🇪",
        flag,
        "می\u{200c}خواهم",
        "e\u{301}",
        "क्षि",
    ] {
        assert_eq!(clean(whole), whole);
    }
    assert_ne!(
        clean("🏴\u{e0068}\u{e0069}\u{e007f}"),
        "🏴\u{e0068}\u{e0069}\u{e007f}"
    );
}

#[test]
fn marks_need_a_letter_and_do_not_pile_up() {
    assert_eq!(clean("\u{301}a"), "<U+0301>a");
    let zalgo = format!("a{}b", "\u{315}".repeat(100));
    assert_eq!(
        clean(&zalgo),
        format!("a{}<+92 marks>b", "\u{315}".repeat(8))
    );
}

#[test]
fn tabs_reach_their_stops_also_across_pieces() {
    assert_eq!(clean_line("\ta\tbcd\te", 4), "    a   bcd e");
    assert_eq!(clean_line("漢\tx", 8), "漢      x");
    let mut cleaner = Cleaner::new(4);
    let pieces = ["ab", "\t", "c\td"].map(|piece| cleaner.clean(piece).into_owned());
    assert_eq!(pieces, ["ab", "  ", "c   d"]);
}

#[test]
fn escape_sequences_are_removed_from_tool_output() {
    assert_eq!(strip_ansi("\u{1b}[1;31merror\u{1b}[0m: no"), "error: no");
    assert_eq!(
        strip_ansi("\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\!"),
        "link!"
    );
    assert_eq!(
        strip_ansi("\u{1b}(B\u{1b}=\u{1b}7a\u{9b}2Kb\u{1b}P1$q\u{1b}\\c"),
        "abc"
    );
    assert!(matches!(
        strip_ansi("plain ©"),
        std::borrow::Cow::Borrowed("plain ©")
    ));
}

#[test]
fn unfinished_escape_sequences_stay_to_be_shown() {
    for broken in [
        "a\u{1b}",
        "a\u{1b}[12",
        "a\u{1b}]0;title\nnext",
        "a\u{1b}[\u{1b}",
        "\u{1b}é",
    ] {
        assert_eq!(strip_ansi(broken), broken);
    }
    assert_eq!(clean(&strip_ansi("a\u{1b}]0;t\u{1b}[1mb")), "a␛]0;tb");
}

#[test]
fn a_command_to_allow_hides_nothing() {
    let plain = |line: Line| {
        line.spans
            .iter()
            .map(|span| span.content.to_string())
            .collect::<Vec<_>>()
    };
    let shown = reveal("rm\u{a0}-rf\t/\u{202e}x", &Theme::plain());
    assert_eq!(
        plain(shown),
        ["rm", "<U+00A0>", "-rf", "␉", "/", "<U+202E>", "x"]
    );
}

#[test]
fn c7_a_look_alike_letter_is_shown_with_its_code_point() {
    let shown = reveal("curl p\u{430}ypal.com/\u{5d0}", &Theme::plain());
    let shown: String = shown.spans.iter().map(|span| &*span.content).collect();
    assert_eq!(shown, "curl p<U+0430>ypal.com/<U+05D0>");
}

#[test]
fn words_wrap_at_spaces_and_remember_them() {
    assert_eq!(
        wrapped("the quick brown fox", 10),
        ["the quick", "brown fox"]
    );
    let rows = wrap(Line::from("one   two"), 5, &Indent::default());
    let second = Row {
        continues: true,
        glue: 3,
        ..Row::new("two")
    };
    assert_eq!(rows, [Row::new("one"), second]);
    assert_eq!(copied(&rows), "one   two");
}

#[test]
fn a_long_word_is_broken_only_when_it_has_a_row_for_itself() {
    assert_eq!(wrapped("a abcdefgh b", 4), ["a", "abcd", "efgh", "b"]);
    assert_eq!(wrapped("  x", 2), ["  ", "x"]);
}

#[test]
fn wide_characters_break_anywhere_but_before_closing_marks() {
    assert_eq!(wrapped("漢字漢字", 5), ["漢字", "漢字"]);
    assert_eq!(wrapped("漢字。漢", 4), ["漢", "字。", "漢"]);
    assert_eq!(wrapped("漢", 1), ["漢"]);
}

#[test]
fn styles_survive_a_break() {
    let line = Line::from(vec!["ab ".into(), "cd ef".bold(), Span::from("g")]);
    let rows = wrap(line, 5, &Indent::default());
    let lines: Vec<_> = rows.iter().map(|row| row.line.clone()).collect();
    assert_eq!(
        lines,
        [
            Line::from(vec!["ab ".into(), "cd".bold()]),
            Line::from(vec!["ef".bold(), "g".into()])
        ]
    );
}

#[test]
fn an_indent_hangs_and_is_not_copied() {
    let indent = Indent {
        first: vec!["• ".into()],
        gutter: 0,
        rest: vec!["  ".into()],
    };
    let rows = wrap(Line::from("one two"), 5, &indent);
    assert_eq!(
        rows.iter().map(text).collect::<Vec<_>>(),
        ["• one", "  two"]
    );
    assert_eq!(
        rows.iter().map(|row| row.gutter).collect::<Vec<_>>(),
        [0, 2]
    );
    assert_eq!(copied(&rows), "• one two");
}

fn chopped(source: &str, width: u16) -> Vec<String> {
    let rows = chop(Line::from(source.to_owned()), width, &Indent::default());
    assert_eq!(copied(&rows), source);
    rows.iter().map(text).collect()
}

#[test]
fn code_breaks_between_words_and_keeps_its_spaces() {
    assert_eq!(chopped("let a = b;", 6), ["let a ", "= b;"]);
    assert_eq!(chopped("  if x y", 5), ["  if ", "x y"]);
    assert_eq!(chopped("one  two", 5), ["one  ", "two"]);
    assert_eq!(chopped("a b    c", 4), ["a b ", "   c"]);
    assert_eq!(chopped("    word", 6), ["    ", "word"]);
}

#[test]
fn a_space_goes_with_the_word_before_it() {
    assert_eq!(chopped("a one two", 5), ["a ", "one ", "two"]);
    assert_eq!(chopped("one two", 3), ["one", " ", "two"]);
    assert_eq!(chopped("one ", 3), ["one", " "]);
}

#[test]
fn a_word_of_code_longer_than_a_row_fills_the_one_it_begins_on() {
    assert_eq!(chopped("a abcdefgh b", 4), ["a ab", "cdef", "gh b"]);
    assert_eq!(chopped("a abcd b", 4), ["a ", "abcd", " b"]);
}

#[test]
fn what_does_not_fit_ends_in_an_ellipsis() {
    assert_eq!(
        [0, 1, 4, 5].map(|room| truncate("hello", room)),
        ["", "…", "hel…", "hello"]
    );
    assert_eq!(truncate("漢字漢", 4), "漢…");
    assert_eq!(truncate_middle("src/deep/down/main.rs", 11), "src/d…in.rs");
    assert_eq!(
        [0, 1, 2, 3].map(|room| truncate_middle("hello", room)),
        ["", "…", "…o", "h…o"]
    );
}

#[test]
fn plain_characters_are_clusters_of_the_width_assumed() {
    for first in '\u{1}'..'\u{20000}' {
        let text = format!("{first}a");
        let expected: Vec<_> = text
            .graphemes(true)
            .map(|cluster| (cluster, measured(cluster)))
            .collect();
        assert_eq!(graphemes(&text).collect::<Vec<_>>(), expected);
    }
}

fn measured(cluster: &str) -> u16 {
    if cluster.contains(char::is_control) {
        0
    } else {
        cluster.cell_width()
    }
}

proptest! {
    #[test]
    fn cleaned_text_is_harmless_and_cleaning_it_again_changes_nothing(source in wild_text()) {
        let once = clean(&source).into_owned();
        assert!(!once.chars().any(|c| c.is_control() && c != '\n'));
        assert!(!once.contains(['\u{200b}', '\u{202e}', '\u{2066}', '\u{ad}']));
        assert_eq!(clean(&once), once.as_str());
        let line = clean_line(&source, 3);
        assert!(line.chars().all(|c| !is_hidden(c) || matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')));
    }

    #[test]
    fn width_is_what_a_buffer_fills(source in cleaned_text()) {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 600, 1));
        let (end, _) = buffer.set_stringn(0, 0, &source, 600, Style::default());
        assert_eq!(width(&source), usize::from(end));
        let clusters: Vec<_> = graphemes(&source).map(|(cluster, _)| cluster).collect();
        assert_eq!(clusters, source.graphemes(true).collect::<Vec<_>>());
    }

    #[test]
    fn rows_fit_and_give_the_line_back(source in cleaned_text(), cells in 0_u16..30, split in 0_usize..40) {
        let middle = source.char_indices().nth(split).map_or(source.len(), |(index, _)| index);
        let line = || Line::from(vec![Span::from(source[..middle].to_owned()), source[middle..].to_owned().bold()]);
        let indent = Indent { first: vec!["- ".into()], gutter: 2, rest: vec!["  ".into()] };
        for rows in [wrap(line(), cells, &indent), chop(line(), cells, &indent)] {
            for row in &rows {
                let inner = text(row);
                let widest = graphemes(&inner).map(|(_, cells)| cells).max().unwrap_or(0);
                let painted: usize = row.line.spans.iter().map(|span| width(&span.content)).sum();
                assert!(painted <= usize::from(cells.max(widest + row.gutter)), "{inner:?}");
            }
            assert_eq!(copied(&rows).trim_end_matches(' '), source.trim_end_matches(' '));
        }
    }

    #[test]
    fn cut_text_fits(source in cleaned_text(), room in 0_usize..20) {
        assert!(width(&truncate(&source, room)) <= room);
        assert!(width(&truncate_middle(&source, room)) <= room);
    }

    #[test]
    fn stripping_never_adds_and_never_panics(source in wild_text()) {
        assert!(strip_ansi(&source).len() <= source.len());
    }
}
