use std::io::{self, BufReader, Read};

use super::{Budget, Page, Rest, read_page};
use crate::tools::files::{ContentHash, View};

fn page_of(bytes: impl Read, offset: u64, limit: u64, budget: Budget) -> Page {
    // A tiny buffer, so that lines and characters cross its boundaries.
    let reader = BufReader::with_capacity(7, bytes);
    read_page(reader, View { offset, limit }, b'\n', budget, &|| false).expect("readable")
}

fn page(text: &[u8], offset: u64, limit: u64) -> Page {
    page_of(text, offset, limit, Budget::default())
}

#[test]
fn lines_are_numbered_and_the_bytes_they_came_from_are_known() {
    let text = b"one\ntwo, which is longer\r\nthree";
    let shown = page(text, 1, 2000);
    assert_eq!(
        shown,
        Page {
            text: "     1\tone\n     2\ttwo, which is longer\n     3\tthree".into(),
            lines: 3,
            bytes: 0..text.len() as u64,
            hash: ContentHash::of(text),
            invalid: false,
            rest: Rest::End { total: 3 },
        }
    );
    let second = page(text, 2, 1);
    assert_eq!(second.text, "     2\ttwo, which is longer");
    assert_eq!(
        (second.bytes, second.rest),
        (4..26, Rest::More { total: Some(3) })
    );
    assert_eq!(second.hash, ContentHash::of(&text[4..26]));
}

#[test]
fn a_page_that_ends_with_the_file_says_so() {
    assert_eq!(page(b"a\nb\n", 1, 2).rest, Rest::End { total: 2 });
    assert_eq!(page(b"a\nb", 2, 1).rest, Rest::End { total: 2 });
    assert_eq!(page(b"a\nb\nc", 1, 2).rest, Rest::More { total: Some(3) });
}

#[test]
fn a_page_after_the_end_is_empty() {
    for (text, total) in [(&b""[..], 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2)] {
        let shown = page(text, total + 1, 10);
        assert_eq!(
            (shown.lines, shown.rest),
            (0, Rest::End { total }),
            "{text:?}"
        );
        assert_eq!(page(text, 99, 10).rest, Rest::End { total }, "{text:?}");
    }
}

#[test]
fn long_lines_are_cut_and_wrong_bytes_marked() {
    let long = "é".repeat(5000) + "\nshort\n";
    let shown = page(long.as_bytes(), 1, 10);
    let expected = format!("     1\t{}… [line cut]\n     2\tshort", "é".repeat(2000));
    assert_eq!((shown.text, shown.invalid), (expected, false));

    let wide = "𝄞".repeat(2001) + "\n";
    assert!(!page(wide.as_bytes(), 1, 10).invalid);
    let latin = page(b"caf\xe9\n", 1, 10);
    assert_eq!(
        (latin.text.as_str(), latin.invalid),
        ("     1\tcaf\u{fffd}", true)
    );
}

#[test]
fn a_byte_order_mark_is_not_shown() {
    assert_eq!(page("\u{feff}a\n".as_bytes(), 1, 10).text, "     1\ta");
}

#[test]
fn an_endless_line_is_read_as_far_as_the_budget_goes() {
    let budget = Budget {
        read: 100_000,
        ..Budget::default()
    };
    let reader = BufReader::new(io::repeat(b'x'));
    let view = View {
        offset: 1,
        limit: 10,
    };
    let shown = read_page(reader, view, b'\n', budget, &|| false).expect("readable");
    assert_eq!((shown.lines, shown.rest), (1, Rest::OfLine));
    assert!(shown.bytes.end >= 100_000 && shown.bytes.end < 120_000);
    assert!(shown.text.ends_with("… [line cut]"));
}

#[test]
fn lines_beyond_the_budget_are_not_reached() {
    let budget = Budget {
        skipped: 1000,
        counted: 10,
        ..Budget::default()
    };
    let text = "a\n".repeat(5000);
    let shown = page_of(text.as_bytes(), 4000, 1, budget);
    assert!(matches!(shown.rest, Rest::TooFar { reached } if (500..600).contains(&reached)));
    assert_eq!(
        page_of(text.as_bytes(), 1, 1, budget).rest,
        Rest::More { total: None }
    );
}

#[test]
fn a_page_ends_when_it_is_long_enough() {
    let text = "0123456789\n".repeat(20_000);
    let shown = page_of(text.as_bytes(), 1, 20_000, Budget::default());
    assert!(shown.text.len() < 160_100, "{}", shown.text.len());
    assert_eq!(
        shown.rest,
        Rest::More {
            total: Some(20_000)
        }
    );
}

#[test]
fn reading_ends_when_the_call_is_cancelled() {
    let reader = BufReader::new(io::repeat(b'\n'));
    let view = View {
        offset: u64::MAX,
        limit: 1,
    };
    let asked = std::cell::Cell::new(0);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let result = read_page(reader, view, b'\n', Budget::default(), &cancelled);
    assert_eq!(
        result.map_err(|error| error.kind()),
        Err(io::ErrorKind::TimedOut)
    );
}
