//! Markdown on the screen, complete and while it is being written.

use std::sync::Arc;

use proptest::prelude::{Just, Strategy, prop_oneof, proptest};

use crate::theme::{LinkId, Role, Theme};
use crate::ui::highlight::{CodeColours, Highlighted, Highlights, Uncoloured};
use crate::ui::text::{Row, width};

use super::{Page, Stage, Streaming, blocks, render};

fn rows(source: &str, width: u16) -> Vec<Row> {
    render(source, width, &Theme::plain(), &mut Uncoloured)
}

fn text(rows: &[Row]) -> Vec<String> {
    let line = |row: &Row| {
        row.line
            .spans
            .iter()
            .map(|span| span.content.as_ref())
            .collect::<String>()
    };
    rows.iter().map(line).collect()
}

fn shown(source: &str, width: u16) -> Vec<String> {
    text(&rows(source, width))
}

#[test]
fn blocks_have_a_blank_row_between_them_and_none_around() {
    assert_eq!(
        shown("\n\n# Title\ntext\n\n\nmore\n***\n", 10),
        ["Title", "", "text", "", "more", "", "──────────"]
    );
    assert_eq!(shown("", 10), [""; 0]);
    assert_eq!(shown("Title\n=====\n- a", 10), ["Title", "", "• a"]);
}

#[test]
fn line_breaks_of_the_model_are_kept() {
    assert_eq!(shown("one\ntwo  \nthree", 80), ["one", "two", "three"]);
}

#[test]
fn lists_hang_nest_and_count() {
    assert_eq!(
        shown("- one two\n  1. a\n  2. b c\n- [x] done\n- [ ] open\n-", 9),
        ["• one two", "  1. a", "  2. b c", "☑ done", "☐ open", "• "]
    );
    assert_eq!(shown("9. aa bb\n10. cc\n", 6), ["9. aa", "   bb", "10. cc"]);
    assert_eq!(
        shown("- a\n\n  b\n- c\n\n- d", 9),
        ["• a", "", "  b", "• c", "", "• d"]
    );
}

#[test]
fn quotes_have_a_bar_that_is_not_copied() {
    let quoted = rows("> one two\n>\n> - three\n>\n>> four", 10);
    assert_eq!(
        text(&quoted),
        ["│ one two", "│ ", "│ • three", "│ ", "│ │ four"]
    );
    assert_eq!(
        quoted.iter().map(|row| row.gutter).collect::<Vec<_>>(),
        [2, 2, 2, 2, 4]
    );
    let narrow = rows("> one two", 7);
    let second = Row {
        gutter: 2,
        continues: true,
        glue: 1,
        ..narrow[1].clone()
    };
    assert_eq!(
        (text(&narrow), &second),
        (vec!["│ one".to_owned(), "│ two".to_owned()], &narrow[1])
    );
}

#[test]
fn code_has_an_edge_a_label_at_the_right_and_marks_for_continued_lines() {
    let code = rows("```rust ignore\nlet a;\n\n\tb\n```", 7);
    assert_eq!(text(&code), ["│ rust", "│ let ", "↪ a;", "│ ", "│     b"]);
    let kinds: Vec<_> = code.iter().map(|row| (row.gutter, row.continues)).collect();
    assert_eq!(
        kinds,
        [
            (Row::DECORATION, false),
            (2, false),
            (2, true),
            (2, false),
            (2, false)
        ]
    );
    assert_eq!(
        shown("- x\n  ~~~\n  y\n  ~~~\n\n      z", 20),
        ["• x", "  │ y", "", "  │ z"]
    );
}

#[test]
fn code_with_a_background_has_no_edge_and_keeps_the_margin_of_a_list() {
    let theme = Theme::builtin("dark").expect("a theme of the program");
    let code = render("- x\n  ~~~\n  y\n  ~~~", 20, &theme, &mut Uncoloured);
    assert_eq!(text(&code), ["• x", "    y"]);
    let background = theme.style(Role::CodeBlock).bg;
    let grounds: Vec<_> = code[1]
        .line
        .spans
        .iter()
        .map(|span| code[1].line.style.patch(span.style).bg == background)
        .collect();
    assert_eq!(grounds, [false, true, true]);
}

#[test]
fn headings_of_each_level_look_different() {
    let theme = Theme::plain();
    let look = |source| {
        let rows = render(source, 20, &theme, &mut Uncoloured);
        rows[0].line.spans[0].clone()
    };
    let levels = ["# a", "## a", "### a", "a"].map(look);
    assert!(levels.iter().all(|span| span.content == "a"));
    for (index, level) in levels.iter().enumerate() {
        assert!(!levels[..index].contains(level), "{levels:?}");
    }
    assert_eq!(look("### a"), look("###### a"));
}

#[test]
fn links_show_where_they_lead() {
    assert_eq!(
        shown(
            "[a](http://x.y) <http://x.y> [x.y](https://x.y/) ![pic](p.png)",
            80
        ),
        ["a (http://x.y) http://x.y x.y pic (p.png)"]
    );
    assert_eq!(
        shown("see [a][1]\n\n[1]: http://x.y\n", 80),
        ["see [a][1]", "", "[1]: http://x.y"]
    );
}

#[test]
fn links_and_addresses_can_be_opened_and_know_where_they_lead() {
    let source =
        "[the guide](https://a.b/guide) and https://a.b/faq, ![pic](p.png) [x](javascript:y)";
    let wrapped = rows(source, 12);
    let parts = |target: &str| {
        let id = LinkId::of(target);
        let in_row = |row: &Row| {
            let spans = row.line.spans.iter();
            let parts = spans.filter(|span| LinkId::in_style(&span.style) == Some(id));
            let text: String = parts.map(|span| span.content.to_string()).collect();
            assert!(text.is_empty() || row.links.iter().any(|link| *link.target == *target));
            text
        };
        let found: String = wrapped.iter().map(in_row).collect();
        found
    };
    assert_eq!(parts("https://a.b/guide"), "the guidehttps://a.b/guide");
    assert_eq!(parts("https://a.b/faq"), "https://a.b/faq");
    let links: usize = wrapped.iter().map(|row| row.links.len()).sum();
    assert!(links >= 4, "{links}");
    assert!(!text(&wrapped).concat().contains("https://a.b/faq,)"));
}

#[test]
fn code_has_no_links() {
    let code = rows("```sh\ncurl https://a.b/c\n```", 40);
    assert!(code.iter().all(|row| row.links.is_empty()));
}

#[test]
fn an_address_becomes_a_link_once_it_is_complete() {
    let theme = Theme::plain();
    let mut answer = Streaming::default();
    let mut links = |delta: &str| {
        answer.push(delta);
        answer.rows(40, &theme, &mut Uncoloured)[0].links.len()
    };
    assert_eq!(["see https://a.", "b/c", " and"].map(&mut links), [0, 0, 1]);
}

#[test]
fn html_is_text() {
    assert_eq!(
        shown("<b>hi</b>\n\n<div>\n <p>\n</div>\n", 80),
        ["<b>hi</b>", "", "<div>", " <p>", "</div>"]
    );
    assert_eq!(shown("a<br>b", 80), ["a", "b"]);
}

#[test]
fn tables_align_their_columns() {
    let table = "|a|bb|c|\n|:--|:-:|--:|\n|one|x|1|\n|t|yyyy|222|";
    assert_eq!(
        shown(table, 40),
        [
            "a   │  bb  │   c",
            "────┼──────┼────",
            "one │  x   │   1",
            "t   │ yyyy │ 222"
        ]
    );
}

#[test]
fn tables_shrink_and_then_become_fields() {
    let table = "|name|what\n|-|-|\n|a|some long words here|\n|b|c|";
    assert_eq!(
        shown(table, 18),
        [
            "name │ what",
            "─────┼────────────",
            "a    │ some long",
            "     │ words here",
            "─────┼────────────",
            "b    │ c"
        ]
    );
    assert_eq!(
        shown(table, 9),
        [
            "name: a", "what:", "  some", "  long", "  words", "  here", "", "name: b", "what: c"
        ]
    );
}

#[test]
fn control_sequences_from_outside_are_harmless() {
    let source =
        "a\u{1b}[2J`\u{202e}`\n\n```\u{7}x\n\u{1b}]0;t\u{7}\n```\n[l](http://\u{200b}) &#27;[1m";
    let all = shown(source, 80).join("\n");
    assert!(
        !all.chars()
            .any(|character| character.is_control() && character != '\n'),
        "{all:?}"
    );
    assert!(
        all.contains("␛[2J") && all.contains("<U+202E>") && all.contains("<U+200B>"),
        "{all}"
    );
}

#[test]
fn depth_costs_nothing() {
    for opener in [
        ">", "> ", "- ", "* ", "*", "**", "_", "[", "![", "![a](", "`", "<", "1. ", "~~", "|",
        "\\", "&",
    ] {
        let source = opener.repeat(10_000) + "x";
        assert!(rows(&source, 40).len() < 40_000, "{opener}");
    }
    let staircase: String = (0..300)
        .map(|depth| " ".repeat(depth * 2) + "- x\n")
        .collect();
    assert!(
        rows(&staircase, 30)
            .iter()
            .all(|row| row.line.width() <= 30)
    );
}

#[test]
fn cutting_large_segments_does_not_change_the_rows() {
    let lines = "some words in a line\n".repeat(10_000);
    assert_eq!(rows(&lines, 40).len(), 10_000);
    let word = "x".repeat(200_000);
    let cut = rows(&word, 100);
    assert_eq!(text(&cut).concat().len(), word.len());
    assert_eq!(cut.iter().filter(|row| !row.continues).count(), 1);
    let items = "- an item\n".repeat(10_000);
    assert_eq!(rows(&items, 40).len(), 10_000);
}

#[test]
fn the_rows_of_a_closed_block_are_not_laid_out_again() {
    let mut answer = Streaming::default();
    let mut asked = Counting::default();
    for _ in 0..50 {
        answer.push("```rs\nlet a = 1;\n```\ntext\n\n");
        answer.rows(40, &Theme::plain(), &mut asked);
    }
    assert_eq!(asked.questions, 50);
}

#[test]
fn colours_that_arrive_later_are_applied() {
    let mut highlights = Highlights::default();
    let theme = Theme::plain();
    let mut answer = Streaming::default();
    answer.push("para\n\n```rs\nfn\n```\nmore\n\nend");
    let before = answer.rows(40, &theme, &mut highlights).to_vec();
    for request in highlights.take_wanted() {
        highlights.ready(
            request.key,
            Some(Highlighted {
                lines: vec![vec![(0..1, Role::Keyword)]],
            }),
        );
    }
    let after = answer.rows(40, &theme, &mut highlights).to_vec();
    assert_eq!(text(&before), text(&after));
    assert_eq!(spans(&before[3]), ["│ ", "fn"]);
    assert_eq!(spans(&after[3]), ["│ ", "f", "n"]);
    assert_eq!(after, render(answer.source(), 40, &theme, &mut highlights));
}

#[test]
fn code_at_the_very_end_of_an_answer_gets_all_its_colours() {
    let mut highlights = Highlights::default();
    let theme = Theme::plain();
    let mut answer = Streaming::default();
    answer.push("para\n\n```rs\nfn\n```");
    answer.rows(40, &theme, &mut highlights);
    assert_eq!(highlights.take_wanted(), [], "it may still grow");
    answer.finish();
    let before = answer.rows(40, &theme, &mut highlights).to_vec();
    assert!(answer.waits_for_colours());
    for request in highlights.take_wanted() {
        let lines = vec![vec![(0..1, Role::Keyword)]];
        highlights.ready(request.key, Some(Highlighted { lines }));
    }
    let after = answer.rows(40, &theme, &mut highlights).to_vec();
    assert!(!answer.waits_for_colours());
    assert_eq!(text(&before), text(&after));
    assert_eq!(after, render(answer.source(), 40, &theme, &mut highlights));
    let wider = answer.rows(60, &theme, &mut highlights).to_vec();
    assert_eq!(wider, render(answer.source(), 60, &theme, &mut highlights));
}

#[test]
fn an_open_fence_is_coloured_as_far_as_colours_were_requested() {
    let mut highlights = Highlights::default();
    let theme = Theme::plain();
    let mut answer = Streaming::default();
    answer.push("```rs\n");
    let mut asked = Vec::new();
    for _ in 0..100 {
        answer.push("let a = 1;\n");
        answer.rows(40, &theme, &mut highlights);
        for request in highlights.take_wanted() {
            let lines = request.code.lines().count();
            asked.push(lines);
            highlights.ready(
                request.key,
                Some(Highlighted {
                    lines: vec![vec![(0..3, Role::Keyword)]; lines],
                }),
            );
        }
    }
    assert_eq!(asked, [8, 16, 32, 64]);
    let rows = answer.rows(40, &theme, &mut highlights);
    assert_eq!(
        [&rows[64], &rows[65]].map(spans),
        [vec!["│ ", "let", " a = 1;"], vec!["│ ", "let a = 1;"]]
    );
}

fn spans(row: &Row) -> Vec<&str> {
    row.line
        .spans
        .iter()
        .map(|span| span.content.as_ref())
        .collect()
}

#[derive(Default)]
struct Counting {
    questions: usize,
}

impl CodeColours for Counting {
    fn colours(&mut self, _language: &str, _code: &str) -> Option<Arc<Highlighted>> {
        self.questions += 1;
        Some(Arc::default())
    }
}

/// Lines that mean something in Markdown, in any order.
fn markdownish() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        6 => "[a-z]{1,8}( [a-z*`_]{1,8}){0,6}",
        4 => Just(String::new()),
        2 => " {0,5}[-*+] [a-z ]{0,9}",
        2 => " {0,5}[0-9]{1,3}[.)] [a-z ]{0,9}",
        2 => " {0,6}(```|~~~~?)[a-z]{0,3}",
        1 => "#{1,7} ?[a-z]{0,5}",
        1 => "> ?[a-z]{0,5}(```|- x)?",
        1 => "[|] ?[a-z]{0,4} ?[|] ?[a-z]{0,4} ?[|]?",
        1 => Just("|-|:-:|".to_owned()),
        1 => "(---|===|\\* \\* \\*|___)",
        1 => " {1,9}[a-z]{1,5}",
        1 => "\t{1,2}[a-z]{0,5}",
        1 => "[漢字\u{1b}\u{202e}é]{1,5}",
    ];
    proptest::collection::vec(line, 0..16).prop_map(|lines| lines.join("\n"))
}

/// Blocks as models write them, one after the other.
fn well_formed() -> impl Strategy<Value = String> {
    let words = "[a-z]{1,8}( [a-z*`_]{1,8}){0,6}";
    let code =
        "((let x = 1;|- x|# y|  z|1. a|> q)?\n){0,4}".prop_map(|body| format!("```rs\n{body}```"));
    let item = (
        words,
        "(|\n~- [a-z]{1,5}|\n\n~[a-z]{1,5}|\n~```\n~x\n\n~y\n~```)",
        "\n{1,2}",
    );
    let list = (0_usize..2, proptest::collection::vec(item, 1..4)).prop_map(|(kind, items)| {
        let (mark, column) = [("- ", "  "), ("1. ", "   ")][kind];
        let item = |(words, more, end)| format!("{mark}{words}{more}{end}").replace('~', column);
        items
            .into_iter()
            .map(item)
            .collect::<String>()
            .trim_end()
            .to_owned()
    });
    let block = prop_oneof![
        "[a-z]{1,8}( [a-z*`_]{1,8}){0,6}(\n[a-z]{1,8}){0,2}",
        "#{1,6} [a-z]{1,9}",
        "> [a-z]{1,9}\n>\n> - [a-z]{1,9}(\n>   [a-z]{1,3})?",
        "[|]a[|]b[|]\n[|]-[|]-[|](\n[|][a-z]{0,4}[|][a-z]{0,4}[|]){0,3}",
        "(---|Title\n===|    indented\n\n    code)",
        code,
        list,
    ];
    proptest::collection::vec(block, 0..9).prop_map(|blocks| blocks.join("\n\n"))
}

fn with_links_and_html() -> impl Strategy<Value = String> {
    let odd = "(\\[a\\]: /u|\\[a\\]\\[\\]|<div>|<!--|-->|<pre>|&lt;|\\[x\\]\\(y\\)|\r)";
    (markdownish(), odd, markdownish())
        .prop_map(|(before, odd, after)| format!("{before}{odd}\n{after}"))
}

proptest! {
    #[test]
    fn at_every_moment_the_rows_are_those_of_the_text_so_far(
        source in with_links_and_html(), cuts in proptest::collection::vec(1_usize..12, 1..80), cells in 1_u16..60
    ) {
        let theme = Theme::plain();
        let mut answer = Streaming::default();
        let mut rest = source.as_str();
        for cut in cuts.iter().cycle() {
            let (delta, after) = rest.split_at(rest.ceil_char_boundary((*cut).min(rest.len())));
            answer.push(delta);
            rest = after;
            let whole = rows(answer.source(), cells);
            assert_eq!(answer.rows(cells, &theme, &mut Uncoloured), whole);
            if rest.is_empty() {
                break;
            }
        }
        assert_eq!(answer.source(), source);
        answer.finish();
        assert_eq!(answer.rows(cells, &theme, &mut Uncoloured), rows(&source, cells));
    }

    #[test]
    fn the_segments_together_are_the_whole_text(source in well_formed()) {
        let theme = Theme::plain();
        let mut page = Page { width: 60, theme: &theme, code: &mut Uncoloured };
        assert_eq!(text(&blocks::rows(&source, Stage::Finished, &mut page)), shown(&source, 60));
    }

    #[test]
    fn rows_fit_the_width(source in with_links_and_html(), cells in 0_u16..40) {
        for row in rows(&source, cells) {
            let painted: usize = row.line.spans.iter().map(|span| width(&span.content)).sum();
            assert!(painted <= usize::from(cells.max(2)), "{row:?}");
        }
    }
}
