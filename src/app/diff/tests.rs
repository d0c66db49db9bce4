use std::sync::Arc;

use proptest::prelude::{any, prop, proptest};
use proptest::strategy::Strategy;

use super::words::{Pair, Words, pairs, words};
use super::{Choice, Choices, Counts, Diff, Edit, Ending, Endings, Kind, Line};
use crate::protocol::FileDiff;

fn diff(before: &str, after: &str) -> Diff {
    Diff::new(&FileDiff {
        path: "a.txt".into(),
        before: Some(before.into()),
        after: after.into(),
    })
}

/// A diff as `diff -u` prints it, without the file names.
fn unified(diff: &Diff, context: usize) -> String {
    let mut text = String::new();
    for hunk in diff.hunks(context) {
        text += &hunk.header();
        text += "\n";
        for line in diff.lines(&hunk) {
            text += match line.kind {
                Kind::Context { .. } => " ",
                Kind::Removed { .. } => "-",
                Kind::Added { .. } => "+",
            };
            text += line.text;
            text += match line.ending {
                Ending::Lf => "\n",
                Ending::CrLf => "␍\n",
                Ending::Missing => "⊣\n",
            };
        }
    }
    text
}

fn lines<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    let lines: Vec<String> = names
        .into_iter()
        .map(|name| name.to_string() + "\n")
        .collect();
    lines.concat()
}

/// Lines named by single letters.
fn letters(text: &str) -> String {
    lines(text.chars())
}

#[test]
fn lines_around_a_difference_are_shown_with_it() {
    let diff = diff(&letters("abcdefgh"), &letters("abcdXfgh"));
    assert_eq!(unified(&diff, 1), "@@ -4,3 +4,3 @@\n d\n-e\n+X\n f\n");
    assert_eq!(
        diff.counts(),
        Counts {
            added: 1,
            removed: 1
        }
    );
}

#[test]
fn differences_near_each_other_share_a_hunk() {
    let diff = diff(&letters("abcdefgh"), &letters("aXcdeYgh"));
    assert_eq!(
        unified(&diff, 2),
        "@@ -1,8 +1,8 @@\n a\n-b\n+X\n c\n d\n e\n-f\n+Y\n g\n h\n"
    );
    assert_eq!(
        unified(&diff, 1),
        "@@ -1,3 +1,3 @@\n a\n-b\n+X\n c\n@@ -5,3 +5,3 @@\n e\n-f\n+Y\n g\n"
    );
}

#[test]
fn every_line_knows_its_place_in_both_files() {
    let diff = diff("a\nb\n", "a\nB\nc\n");
    let hunks = diff.hunks(3);
    let lines: Vec<Line<'_>> = diff.lines(&hunks[0]).collect();
    let line = |kind, text| Line {
        kind,
        text,
        ending: Ending::Lf,
    };
    assert_eq!(
        lines,
        [
            line(Kind::Context { old: 0, new: 0 }, "a"),
            line(Kind::Removed { old: 1 }, "b"),
            line(Kind::Added { new: 1 }, "B"),
            line(Kind::Added { new: 2 }, "c"),
        ]
    );
}

#[test]
fn a_missing_newline_is_a_difference() {
    assert_eq!(unified(&diff("a", "a\n"), 3), "@@ -1 +1 @@\n-a⊣\n+a\n");
    assert_eq!(unified(&diff("a", "a"), 3), "");
}

#[test]
fn line_endings_are_a_difference() {
    let diff = diff("a\r\nb\r\n", "a\r\nb\n");
    assert_eq!(unified(&diff, 3), "@@ -1,2 +1,2 @@\n a␍\n-b␍\n+b\n");
    assert_eq!(diff.endings(), Endings::Mixed);
}

#[test]
fn line_endings_are_reported_for_the_whole_change() {
    assert_eq!(diff("a\r\n", "a\r\nb\r\n").endings(), Endings::CrLf);
    assert_eq!(diff("a\n", "b").endings(), Endings::Lf);
    assert_eq!(diff("", "a\r\n").endings(), Endings::CrLf);
    assert_eq!(diff("a\n", "a\r\n").endings(), Endings::Mixed);
}

#[test]
fn a_new_file_is_all_additions() {
    let diff = Diff::new(&FileDiff {
        path: "a.txt".into(),
        before: None,
        after: "a\nb".into(),
    });
    assert!(diff.is_new());
    assert_eq!(unified(&diff, 3), "@@ -0,0 +1,2 @@\n+a\n+b⊣\n");
}

#[test]
fn a_huge_change_is_taken_as_a_whole() {
    let before = lines((0..6_000).map(|line| line % 7));
    let after = lines((0..6_000).map(|line| line % 11));
    let diff = diff(&format!("{before}old\n"), &after);
    assert_eq!(
        diff.edits,
        [Edit {
            old: 7..6_001,
            new: 7..6_000
        }]
    );
}

#[test]
fn small_changes_all_over_a_huge_file_are_found() {
    let before = lines(0..20_000);
    let after = before.replace("7777\n", "\n");
    let edits = diff(&before, &after).edits;
    assert_eq!(
        edits,
        [7_777, 17_777].map(|line| Edit {
            old: line..line + 1,
            new: line..line + 1
        })
    );
}

#[test]
fn a_small_change_of_a_huge_file_is_found() {
    let before = lines(0..100_000);
    let after = before.replacen("\n50000\n", "\nx\n", 1);
    assert_eq!(
        unified(&diff(&before, &after), 0),
        "@@ -50001 +50001 @@\n-50000\n+x\n"
    );
}

#[test]
fn a_split_shows_every_line_once() {
    let diff = diff(&letters("abcdefgh"), &letters("aXcdeYgZ"));
    let hunks = diff.hunks(3);
    assert_eq!(hunks.len(), 1);
    let parts = diff.split(&hunks[0]);
    assert_eq!(parts.len(), 3);
    let whole: Vec<Line<'_>> = diff.lines(&hunks[0]).collect();
    let together: Vec<Line<'_>> = parts.iter().flat_map(|part| diff.lines(part)).collect();
    assert_eq!(together, whole);
}

fn three_hunks() -> Choices {
    of_one_file(diff(&letters("abcdefghi"), &letters("aXcdYfgZi")), 0)
}

fn of_one_file(diff: Diff, context: usize) -> Choices {
    Choices::new(vec![Arc::new(diff)], context)
}

/// The final content of the only file.
fn applied(choices: &Choices) -> String {
    match choices.apply().pop() {
        Some((_, text)) => text,
        None => choices.files()[0].before().text().to_owned(),
    }
}

#[test]
fn the_hunks_of_several_files_are_numbered_through_and_applied_file_by_file() {
    let file = |path: &str, before: Option<&str>, after: &str| {
        Arc::new(Diff::new(&FileDiff {
            path: path.to_owned(),
            before: before.map(Into::into),
            after: after.into(),
        }))
    };
    let mut choices = Choices::new(
        vec![
            file("a", Some(&letters("abcdef")), &letters("aXcdYf")),
            file("new", None, &letters("ab")),
            file("c", Some(&letters("abc")), &letters("abZ")),
        ],
        0,
    );
    let paths: Vec<&str> = choices
        .hunks()
        .iter()
        .map(|chosen| choices.diff_of(chosen).path())
        .collect();
    assert_eq!(paths, ["a", "a", "new", "c"]);
    choices.set(1, Choice::Yes);
    choices.set(3, Choice::Yes);
    let applied = choices.apply();
    let applied: Vec<(&str, &str)> = applied
        .iter()
        .map(|(diff, text)| (diff.path(), text.as_str()))
        .collect();
    let (a, c) = (letters("abcdYf"), letters("abZ"));
    assert_eq!(applied, [("a", a.as_str()), ("c", c.as_str())]);
}

#[test]
fn only_wanted_hunks_are_applied() {
    let mut choices = three_hunks();
    choices.set(0, Choice::No);
    choices.set(1, Choice::Yes);
    assert_eq!(applied(&choices), letters("abcdYfghi"));
    assert_eq!(choices.wanted(), 1);
    assert!(!choices.is_decided());
}

#[test]
fn the_rest_leaves_earlier_decisions_alone() {
    let mut choices = three_hunks();
    choices.set(2, Choice::No);
    choices.set_rest(1, Choice::Yes);
    let chosen: Vec<Choice> = choices.hunks().iter().map(|it| it.choice).collect();
    assert_eq!(chosen, [Choice::Undecided, Choice::Yes, Choice::No]);
}

#[test]
fn the_next_undecided_hunk_wraps_around() {
    let mut choices = three_hunks();
    assert_eq!(choices.next_undecided(2), Some(0));
    assert_eq!(choices.previous_undecided(0), Some(2));
    choices.set(0, Choice::Yes);
    assert_eq!(choices.next_undecided(2), Some(1));
    choices.set_rest(0, Choice::No);
    assert_eq!(choices.next_undecided(0), None);
    assert!(choices.is_decided());
}

#[test]
fn a_split_hunk_can_be_chosen_in_parts() {
    let mut choices = of_one_file(diff(&letters("abcdef"), &letters("aXcdYf")), 3);
    assert!(choices.can_split(0));
    assert_eq!(choices.split(0), 2);
    assert!(!choices.can_split(0));
    choices.set(1, Choice::Yes);
    assert_eq!(applied(&choices), letters("abcdYf"));
}

#[test]
fn nothing_happens_to_hunks_that_are_not_there() {
    let mut choices = of_one_file(diff("a", "a"), 3);
    choices.set(0, Choice::Yes);
    choices.set_rest(7, Choice::Yes);
    assert_eq!(choices.split(0), 0);
    assert_eq!(choices.next_undecided(0), None);
    assert_eq!(choices.previous_undecided(3), None);
    assert_eq!(applied(&choices), "a");
}

fn changed<'a>(removed: &'a str, added: &'a str) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
    let Words {
        removed: old,
        added: new,
    } = words(removed, added)?;
    Some((
        old.into_iter().map(|range| &removed[range]).collect(),
        new.into_iter().map(|range| &added[range]).collect(),
    ))
}

#[test]
fn changed_words_are_found_inside_a_line() {
    assert_eq!(
        changed("let count = items.len();", "let total = items.len() + 1;"),
        Some((vec!["count"], vec!["total", " + 1"]))
    );
    assert_eq!(
        changed("\tfoo(bar);", "    foo(bar);"),
        Some((vec!["\t"], vec!["    "]))
    );
    assert_eq!(
        changed("naïve = 👩‍👩‍👧;", "naïve = 👩‍👩‍👦;"),
        Some((vec!["👩‍👩‍👧"], vec!["👩‍👩‍👦"]))
    );
}

#[test]
fn lines_with_little_in_common_are_not_paired() {
    assert_eq!(changed("let a = 1;", "return Err(problem);"), None);
    assert_eq!(changed("", "something"), None);
}

#[test]
fn changed_lines_are_paired_past_new_ones() {
    let pairs = pairs(
        &["let a = one();", "let b = two();"],
        &["// A comment.", "let a = one(1);", "let b = two(2);"],
    );
    let pair = |removed, added, at: usize| Pair {
        removed,
        added,
        words: Words {
            removed: vec![],
            added: vec![std::ops::Range {
                start: at,
                end: at + 1,
            }],
        },
    };
    assert_eq!(pairs, [pair(0, 1, 12), pair(1, 2, 12)]);
}

/// Few different lines, so that many are equal; some end with CR LF, and the last one often without a newline.
fn file() -> impl Strategy<Value = String> {
    (
        prop::collection::vec("[ab]{0,1}(\n|\r\n)", 0..16),
        "[ab]{0,1}\r?",
    )
        .prop_map(|(lines, last)| lines.concat() + &last)
}

proptest! {
    #[test]
    fn all_hunks_make_the_new_file_and_none_the_old_one(
        before in file(),
        after in file(),
        context in 0_usize..5,
        splits in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let mut choices = of_one_file(diff(&before, &after), context);
        for split in splits {
            if !choices.hunks().is_empty() {
                choices.split(split.index(choices.hunks().len()));
            }
        }
        assert_eq!(applied(&choices), before);
        choices.set_rest(0, Choice::Yes);
        assert_eq!(applied(&choices), after);
    }

    #[test]
    fn each_hunk_is_decided_separately(
        before in file(),
        after in file(),
        wanted in prop::collection::vec(any::<bool>(), 24),
    ) {
        // Applying some of the hunks and diffing the result against the new file leaves just the others.
        let diff = Arc::new(diff(&before, &after));
        let mut choices = Choices::new(vec![Arc::clone(&diff)], 0);
        let mut left = Counts::default();
        for (index, wanted) in wanted.iter().enumerate().take(choices.hunks().len()) {
            let edit = &diff.edits[index];
            if *wanted {
                choices.set(index, Choice::Yes);
            } else {
                left.added += edit.new.len();
                left.removed += edit.old.len();
            }
        }
        let length = super::Lines::new(applied(&choices).into()).len();
        assert_eq!(length + left.added, diff.after().len() + left.removed);
    }

    #[test]
    fn both_files_can_be_read_off_a_diff(before in file(), after in file()) {
        let diff = diff(&before, &after);
        let (mut old, mut new) = (String::new(), String::new());
        for hunk in diff.hunks(usize::MAX) {
            for line in diff.lines(&hunk) {
                let ending = match line.ending {
                    Ending::Lf => "\n",
                    Ending::CrLf => "\r\n",
                    Ending::Missing => "",
                };
                let raw = format!("{}{ending}", line.text);
                match line.kind {
                    Kind::Context { .. } => {
                        old += &raw;
                        new += &raw;
                    }
                    Kind::Removed { .. } => old += &raw,
                    Kind::Added { .. } => new += &raw,
                }
            }
        }
        if before == after {
            assert_eq!((old, new), (String::new(), String::new()));
        } else {
            assert_eq!((old, new), (before, after));
        }
    }

    #[test]
    fn taking_the_changed_words_out_leaves_the_same(removed in any::<String>(), added in "[ab .é\u{301}👩‍👧]{0,20}") {
        for (removed, added) in [(removed.as_str(), added.as_str()), (&added, &added), (&added, &added[..0])] {
            let Some(words) = words(removed, added) else { continue };
            let kept = |line: &str, ranges: &[std::ops::Range<usize>]| {
                let mut kept = String::new();
                let mut at = 0;
                for range in ranges {
                    kept += &line[at..range.start];
                    at = range.end;
                }
                (kept + &line[at..]).replace(char::is_whitespace, "")
            };
            assert_eq!(kept(removed, &words.removed), kept(added, &words.added));
        }
    }
}
