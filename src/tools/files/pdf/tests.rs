use std::cell::Cell;
use std::fmt::Write;
use std::path::Path;

use proptest::prelude::*;

use super::describe;

/// A file with these objects, numbered from 1. It has no cross-reference table, because none is needed.
fn pdf(objects: &[&str]) -> Vec<u8> {
    let mut file = "%PDF-1.4\n".to_owned();
    for (number, object) in (1..).zip(objects) {
        let _ = write!(file, "{number} 0 obj\n{object}\nendobj\n");
    }
    file.push_str("trailer << /Root 1 0 R >>\n%%EOF\n");
    file.into_bytes()
}

fn stream(content: &str) -> String {
    format!(
        "<< /Length {} >>\nstream\n{content}\nendstream",
        content.len()
    )
}

fn described(bytes: &[u8]) -> String {
    describe(bytes, Path::new("/a.pdf"), &|| false)
}

#[test]
fn the_text_of_every_page_is_shown() {
    let first = stream(
        "BT /F1 12 Tf 72 700 Td (Hello,) Tj 40 0 Td (world) Tj 0 -14 Td [(Se) -20 (cond) -300 (line)] TJ ET",
    );
    let second = stream("BT /F2 12 Tf 1 0 0 1 72 700 Tm <00010002> Tj ET");
    let map = stream(
        "1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfchar <0001> <00C4> endbfchar 1 beginbfrange <0002> <0003> <0062> endbfrange",
    );
    let bytes = pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 /Resources << /Font << /F1 7 0 R /F2 8 0 R >> >> >>",
        "<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>",
        "<< /Type /Page /Parent 2 0 R /Contents [6 0 R] >>",
        &first,
        &second,
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        "<< /Type /Font /Subtype /Type0 /ToUnicode 9 0 R >>",
        &map,
    ]);
    let text = described(&bytes);
    let (head, rest) = text.split_once('\n').expect("several lines");
    assert!(
        head.starts_with("PDF file: /a.pdf (") && head.ends_with("2 pages)"),
        "{head}"
    );
    assert_eq!(
        rest,
        "\n--- Page 1 ---\nHello, world\nSecond line\n\n--- Page 2 ---\nÄb"
    );
}

#[test]
fn glyphs_are_known_by_their_names() {
    let content = stream("BT /F1 12 Tf (\\001\\002A\\003) Tj ET");
    let bytes = pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] >>",
        "<< /Type /Page /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        &content,
        "<< /Type /Font /Encoding << /Differences [1 /fi /eacute /uni2014] >> >>",
    ]);
    assert!(described(&bytes).ends_with("--- Page 1 ---\nfiéA—"));
}

#[test]
fn text_that_cannot_be_extracted_is_reported_and_not_guessed() {
    let content = stream("BT /F1 12 Tf <00010002> Tj ET");
    let catalog = "<< /Type /Catalog /Pages 2 0 R >>";
    let tree = "<< /Type /Pages /Kids [3 0 R] >>";
    let page = "<< /Type /Page /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>";
    let bytes = pdf(&[catalog, tree, page, &content, "<< /Subtype /Type0 >>"]);
    assert!(described(&bytes).contains("The text of 1 of 1 pages could not be extracted"));
    let bytes = pdf(&[catalog, tree, page, &content, "<< /Encrypt 9 0 R >>"]);
    assert!(described(&bytes).ends_with("its text was not extracted."));
    assert!(described(b"%PDF-1.7 and nothing else").contains("`pdftotext`"));
}

#[test]
fn reading_cycles_and_invalid_files_ends() {
    let bytes = pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [2 0 R 3 0 R 2 0 R] /Resources 4 0 R >>",
        "<< /Type /Page /Contents [3 0 R 5 0 R 99 0 R] >>",
        "4 0 R",
        "<< /Length 4 0 R /Filter /FlateDecode >> stream\nxx",
    ]);
    for length in 0..bytes.len() {
        described(&bytes[..length]);
    }
}

/// A page tree in a compressed stream, 32 nodes deep, in which every node lists the next one twice: a small file with
/// four billion paths.
fn doubling_tree() -> Vec<u8> {
    const FIRST: usize = 10;
    let (mut header, mut nodes) = (String::new(), String::new());
    for node in FIRST..FIRST + 32 {
        let _ = write!(header, "{node} {} ", nodes.len());
        let next = node + 1;
        let _ = write!(nodes, "<< /Type /Pages /Kids [{next} 0 R {next} 0 R] >> ");
    }
    let content = format!("{header}{nodes}");
    let packed = format!(
        "<< /Type /ObjStm /N 32 /First {} /Length {} >>\nstream\n{content}\nendstream",
        header.len(),
        content.len()
    );
    pdf(&["<< /Type /Catalog /Pages 10 0 R >>", &packed])
}

#[test]
fn a_tree_that_doubles_at_every_node_ends_at_once_and_says_so() {
    let bytes = doubling_tree();
    assert!(bytes.len() < 4096);
    let text = described(&bytes);
    assert!(
        text.contains("far more work than a file of its size should"),
        "{text}"
    );
    assert!(text.contains("`pdftotext`"), "{text}");
}

#[test]
fn the_walk_through_the_pages_stops_when_the_call_is_cancelled() {
    let looks = Cell::new(0);
    let cancelled = || {
        looks.set(looks.get() + 1);
        looks.get() > 100
    };
    describe(&doubling_tree(), Path::new("/a.pdf"), &cancelled);
    assert!(looks.get() < 200, "{}", looks.get());
}

#[test]
fn a_stream_that_every_page_uses_is_charged_each_time() {
    let kids = "3 0 R ".repeat(2_000);
    let tree = format!("<< /Type /Pages /Kids [{kids}] >>");
    // In an unknown compression and without an end, so that every access scans everything that follows.
    let filler = "x".repeat(1 << 20);
    let content = format!("<< /Filter /LZWDecode >>\nstream\n{filler}");
    let bytes = pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        &tree,
        "<< /Type /Page /Contents [4 0 R] >>",
        &content,
    ]);
    assert!(described(&bytes).contains("far more work than a file of its size should"));
}

#[test]
fn a_table_of_all_codes_is_read() {
    let content = stream("BT /F1 12 Tf <00410042> Tj ET");
    let map = stream("1 beginbfrange <0000> <ffff> <0000> endbfrange");
    let bytes = pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] >>",
        "<< /Type /Page /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        &content,
        "<< /Subtype /Type0 /ToUnicode 6 0 R >>",
        &map,
    ]);
    assert!(described(&bytes).ends_with("--- Page 1 ---\nAB"));
}

proptest! {
    #[test]
    fn no_damaged_file_causes_a_panic(at in prop::collection::vec((0usize..2000, any::<u8>()), 1..20)) {
        let map = stream("1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfrange <0000> <000f> <0062> endbfrange");
        let content = stream("BT /F1 12 Tf 72 700 Td (Hello) Tj [(a) -300 <0001>] TJ ET BI ID xx EI");
        let mut bytes = pdf(&[
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [3 0 R] /Resources << /Font << /F1 5 0 R >> >> >>",
            "<< /Type /Page /Contents [4 0 R 4 0 R] >>",
            &content,
            "<< /Type /Font /Subtype /Type0 /ToUnicode 6 0 R /Encoding << /Differences [4294967295 /a /b] >> >>",
            &map,
            "<< /Type /ObjStm /N 2 /First 8 /Length 20 >>\nstream\n8 0 9 2 (a) (b) \nendstream",
        ]);
        described(&bytes);
        for (place, byte) in at {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        described(&bytes);
    }
}
