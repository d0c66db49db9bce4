use proptest::prelude::*;

use super::{MatchError, Quotes, Scope, apply, moved, replacements};
use crate::tools::files::text::Ending;
use crate::tools::files::weave::Weave;

/// The text after an edit of one place, or the error message.
fn edited(text: &str, old: &str, new: &str) -> Result<String, String> {
    run(text, old, new, Scope::One)
}

fn run(text: &str, old: &str, new: &str, scope: Scope) -> Result<String, String> {
    replacements(text, old, new, scope)
        .map(|replacement| apply(text, &replacement.splices).0)
        .map_err(|error| error.to_string())
}

#[test]
fn one_place_is_replaced() {
    assert_eq!(edited("a b c", "b", "x"), Ok("a x c".into()));
    assert_eq!(edited("a b c", " b", ""), Ok("a c".into()));
}

#[test]
fn replace_all_replaces_matches_that_do_not_overlap() {
    assert_eq!(run("a a a", "a", "aa", Scope::All), Ok("aa aa aa".into()));
    assert_eq!(run("aaaaa", "aa", "b", Scope::All), Ok("bba".into()));
}

#[test]
fn several_places_are_an_error_with_their_number_and_lines() {
    let error = edited("x\ny\nx\n", "x", "z").expect_err("ambiguous");
    assert!(
        error.starts_with("Found 2 matches of the string to replace, at lines 1, 3,"),
        "{error}"
    );
    let error = edited("aaa", "aa", "b").expect_err("ambiguous");
    assert!(error.starts_with("Found 2 overlapping matches"), "{error}");
    let error = edited(&"x\n".repeat(1000), "x", "y").expect_err("ambiguous");
    assert!(
        error.starts_with("Found 1000 matches") && error.contains("9, 10, …"),
        "{error}"
    );
}

#[test]
fn edits_that_change_nothing_are_refused_with_a_specific_message() {
    for (text, old, new, expected) in [
        ("a", "a", "a", MatchError::Same),
        ("a", "", "b", MatchError::Empty),
        ("a\r\nb\r\n", "a\r\n", "a\n", MatchError::OnlyEndings),
        ("a\nb\n", "a\nb", "a\r\nb", MatchError::OnlyEndings),
        ("“a”", "\"a\"", "“a”", MatchError::NothingChanges),
    ] {
        assert_eq!(replacements(text, old, new, Scope::One), Err(expected));
    }
}

#[test]
fn line_endings_are_ignored_and_kept() {
    let cases = [
        ("a\r\nb\r\nc\r\n", "a\nb", "a\nx", "a\r\nx\r\nc\r\n"),
        (
            "a\r\nb\r\nc\r\n",
            "b\r\n",
            "x\r\ny\r\n",
            "a\r\nx\r\ny\r\nc\r\n",
        ),
        ("a\r\nb\r\n", "b", "b\nc\nd", "a\r\nb\r\nc\r\nd\r\n"),
        ("a\rb\rc\r", "a\nb", "a\nnew\nb", "a\rnew\rb\rc\r"),
        ("a\nb\nc\n", "a\nb", "a\r\nnew\r\nb", "a\nnew\nb\nc\n"),
    ];
    for (text, old, new, expected) in cases {
        assert_eq!(edited(text, old, new), Ok(expected.into()), "{text:?}");
    }
}

#[test]
fn mixed_endings_stay_on_the_lines_that_have_them() {
    // Most lines end in CRLF, so the new line does too. Old lines keep their endings, also inside the replaced text.
    assert_eq!(
        edited("a\r\nb\nc\r\nd\r\n", "a\nb\nc", "a\nb\nnew\nc"),
        Ok("a\r\nb\nnew\r\nc\r\nd\r\n".into())
    );
    assert_eq!(
        edited("a\nb\r\nc\r\n", "a", "x"),
        Ok("x\nb\r\nc\r\n".into())
    );
}

#[test]
fn a_text_with_two_kinds_of_endings_is_found_in_both() {
    let error = edited("a\nb\n--\na\r\nb\r\n", "a\nb", "x").expect_err("both are meant");
    assert!(error.starts_with("Found 2 matches"), "{error}");
}

#[test]
fn quotes_are_ignored_and_kept_where_nothing_changed() {
    assert_eq!(
        edited(
            "say “hello” to ‘them’",
            "\"hello\" to 'them'",
            "\"hello\" to 'all of them'"
        ),
        Ok("say “hello” to ‘all of them’".into())
    );
    assert_eq!(
        edited("it’s “one”\n", "it's \"one\"", "it's \"one\" and \"two\""),
        Ok("it’s “one” and \"two\"\n".into())
    );
}

#[test]
fn exact_quotes_win_over_similar_ones() {
    assert_eq!(edited("“a” \"a\"", "\"a\"", "b"), Ok("“a” b".into()));
}

#[test]
fn positions_move_with_the_text_before_them() {
    let text = "0123456789";
    let splice = |range, with: &str| super::Splice {
        range,
        with: with.into(),
    };
    let splices = [splice(2..4, "abcd"), splice(6..7, "")];
    let (result, ranges) = apply(text, &splices);
    assert_eq!(result, "01abcd45789");
    assert_eq!(ranges, [2..6, 8..8]);
    for (position, expected) in [(0, 0), (2, 2), (3, 6), (4, 6), (6, 8), (7, 8), (10, 11)] {
        assert_eq!(moved(position, &splices), expected, "{position}");
    }
}

#[test]
fn too_many_matches_are_refused_with_an_alternative() {
    let text = "x".repeat(100_001);
    let many = run(&text, "x", "y", Scope::All).expect_err("too many");
    assert!(
        many.contains("more than 100000 times") && many.contains("`sed -i`"),
        "{many}"
    );
    assert_eq!(
        run(&text[1..], "x", "y", Scope::All),
        Ok("y".repeat(100_000))
    );
    let large = run(&text[1..], "x", &"y".repeat(1000), Scope::All).expect_err("too large");
    assert!(
        large.contains("at all 100000 places") && large.contains("`sed -i`"),
        "{large}"
    );
}

fn line() -> impl Strategy<Value = String> {
    ("[a-cé ‘“'\"]{0,6}", prop_oneof!["\n", "\r\n", "\r"]).prop_map(|(text, ending)| text + &ending)
}

proptest! {
    #[test]
    fn exactly_the_replaced_bytes_change(
        before in prop::collection::vec(line(), 0..6),
        after in prop::collection::vec(line(), 0..6),
        old in "[x-z][x-zé“]{0,5}(\r\n|\n)?[x-z]{0,3}",
        new in "[p-rä]{0,8}",
    ) {
        let (before, after) = (before.concat(), after.concat());
        let text = format!("{before}{old}{after}");
        // The model saw the text without CR.
        let asked = old.replace("\r\n", "\n");
        let result = edited(&text, &asked, &new);
        prop_assert_eq!(result, Ok(format!("{before}{new}{after}")));
    }

    #[test]
    fn without_cr_the_new_text_is_what_weaving_would_make_of_it(
        region in "[ab“'\n]{0,12}",
        new in "([ab“'\n]|\r\n|\r){0,12}",
        has_lines in prop::bool::ANY,
    ) {
        prop_assume!(has_lines || !region.contains('\n'));
        let weave = Weave { quotes: Quotes::Exact, terminator: b'\n', ending: has_lines.then_some(Ending::Lf) };
        prop_assert_eq!(weave.plain(&new), weave.replace(&region, &new));
    }

    #[test]
    fn lines_that_the_new_text_repeats_keep_their_bytes(
        lines in prop::collection::vec(line(), 2..8),
        at in 0usize..8,
    ) {
        // Every line is unique, so that there is only one way to match them.
        let lines: Vec<String> = lines.iter().enumerate().map(|(n, line)| format!("<{n}>{line}")).collect();
        let text = lines.concat();
        prop_assume!(text.contains('\n'));
        let at = at % lines.len();
        let seen = text.replace("\r\n", "\n").replace(['“'], "\"").replace(['‘'], "'");
        let wanted = seen.replace(&format!("<{at}>"), &format!("<{at}!>"));
        let expected = text.replace(&format!("<{at}>"), &format!("<{at}!>"));
        prop_assert_eq!(edited(&text, &seen, &wanted), Ok(expected));
    }
}
