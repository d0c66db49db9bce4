use proptest::prelude::{any, prop, proptest};
use proptest::strategy::Strategy;
use serde_json::{Map, Value};

use super::{Partial, Preview, Progress, Text};
use crate::protocol::PreviewFields;
use crate::tools::registry::Registry;

/// The preview fields of a built-in tool.
fn fields(tool: &str) -> PreviewFields {
    let tools = Registry::built_in();
    let tool = tools.find(tool).expect("a tool");
    tool.spec().preview.clone()
}

fn read(fragments: &[&str]) -> Partial {
    let mut partial = Partial::default();
    for fragment in fragments {
        partial.push(fragment);
    }
    partial
}

#[test]
fn a_string_is_available_before_it_has_ended() {
    let partial = read(&[r#"{"file_path": "src/ma"#]);
    assert_eq!(partial.get("file_path"), Some(("src/ma", Progress::Open)));
    let partial = read(&[r#"{"file_path": "src/ma"#, r#"in.rs""#]);
    assert_eq!(
        partial.get("file_path"),
        Some(("src/main.rs", Progress::Complete))
    );
}

#[test]
fn an_escape_sequence_is_decoded_once_it_is_complete() {
    let pieces = [r#"{"a":"x\"#, "ud8", r"3d\u", "de0", "0y"];
    let mut partial = Partial::default();
    let mut seen = Vec::new();
    for piece in pieces {
        partial.push(piece);
        seen.push(partial.get("a").expect("begun").0.to_owned());
    }
    assert_eq!(seen, ["x", "x", "x", "x", "x😀y"]);
}

#[test]
fn half_a_character_becomes_a_replacement() {
    for (written, read_as) in [
        (r#"{"a":"\ud83dx"}"#, "\u{fffd}x"),
        (r#"{"a":"\ud83d\n"}"#, "\u{fffd}\n"),
        (r#"{"a":"\ud83d\ud83d\ude00"}"#, "\u{fffd}😀"),
        (r#"{"a":"\ude00"}"#, "\u{fffd}"),
        (r#"{"a":"\ud83d"}"#, "\u{fffd}"),
        (r#"{"a":"\u12"}"#, "\u{fffd}"),
        (r#"{"a":"\u1é"}"#, "\u{fffd}é"),
    ] {
        assert_eq!(
            read(&[written]).get("a"),
            Some((read_as, Progress::Complete)),
            "{written}"
        );
    }
}

#[test]
fn nested_values_are_skipped() {
    let partial = read(&[
        r#"{"edits":[{"a":"]}\""},[]],"o":{"path":"no"},"n":-1.5e3,"t":true,"path":"yes"}"#,
    ]);
    assert_eq!(partial.get("path"), Some(("yes", Progress::Complete)));
    assert_eq!(partial.get("a"), None);
    assert_eq!(partial.get("edits"), None);
}

#[test]
fn a_repeated_name_starts_over() {
    let partial = read(&[r#"{"a":"first","a":"sec"#]);
    assert_eq!(partial.get("a"), Some(("sec", Progress::Open)));
    let partial = read(&[r#"{"a":"first","a":1}"#]);
    assert_eq!(partial.get("a"), None);
}

#[test]
fn text_after_the_object_is_not_read() {
    let partial = read(&[r#"{"a":"x"} {"b":"y"}"#]);
    assert_eq!(partial.get("b"), None);
    assert_eq!(read(&[r#"["a", {"b":"y"}]"#]).get("b"), None);
}

#[test]
fn an_edit_shows_what_is_replaced_by_what() {
    let partial = read(&[r#"{"file_path":"a.rs","old_string":"one\ntwo","new_string":"1\n2\n3"#]);
    assert_eq!(
        Preview::of(&fields("Edit"), &partial),
        Preview::Edit {
            path: "a.rs",
            old: Text::new("one\ntwo"),
            new: Text::new("1\n2\n3"),
        }
    );
}

#[test]
fn there_is_nothing_to_show_before_the_text_begins() {
    let partial = read(&[r#"{"file_path":"a.rs""#]);
    assert_eq!(Preview::of(&fields("Edit"), &partial), Preview::None);
    assert_eq!(Preview::of(&fields("Write"), &partial), Preview::None);
    assert_eq!(Preview::of(&fields("Grep"), &partial), Preview::None);
}

#[test]
fn a_write_shows_its_last_lines_and_counts_all() {
    let partial = read(&[r#"{"content":"one\r\ntwo\nthr"#]);
    let Preview::Write { path, content } = Preview::of(&fields("Write"), &partial) else {
        panic!("a write");
    };
    assert_eq!(path, "");
    assert_eq!(content.lines(), 3);
    assert_eq!(content.tail(2), ["two", "thr"]);
    assert_eq!(content.tail(9), ["one", "two", "thr"]);
}

#[test]
fn a_command_shows_as_far_as_it_is_written() {
    let partial = read(&[r#"{"command":"cargo te"#]);
    assert_eq!(
        Preview::of(&fields("Bash"), &partial),
        Preview::Command {
            command: Text::new("cargo te")
        }
    );
}

/// Text cut at random places.
fn cut(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut places: Vec<usize> = cuts
        .iter()
        .map(|cut| cut.index(characters.len() + 1))
        .chain([0, characters.len()])
        .collect();
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| characters[pair[0]..pair[1]].iter().collect())
        .collect()
}

/// The same object with every character of its strings escaped in some valid way.
fn escaped(object: &Map<String, Value>) -> String {
    let string = |text: &str| {
        let units: Vec<String> = text
            .encode_utf16()
            .map(|unit| format!("\\u{unit:04X}"))
            .collect();
        format!("\"{}\"", units.concat())
    };
    let fields: Vec<String> = object
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{} : {}", string(name), string(text)),
            other => format!("{} : {other}", string(name)),
        })
        .collect();
    format!(" {{ {} }} ", fields.join(" ,\n"))
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = proptest::prop_oneof![
        4 => any::<String>().prop_map(Value::String),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => proptest::strategy::Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        proptest::prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_cut_gives_prefixes_and_then_the_same_strings(
        fields in prop::collection::btree_map("[a-z\"\\\\é]{0,4}", value(), 0..5),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        escape in any::<bool>(),
    ) {
        let object: Map<String, Value> = fields.into_iter().collect();
        let text = if escape {
            escaped(&object)
        } else {
            serde_json::to_string(&object).expect("an object")
        };
        let mut partial = Partial::default();
        for piece in cut(&text, &cuts) {
            partial.push(&piece);
            for (name, value) in &object {
                if let Some((got, _)) = partial.get(name) {
                    let whole = value.as_str().expect("only strings are given");
                    assert!(whole.starts_with(got));
                    assert_eq!(
                        partial.newlines(name),
                        got.matches('\n').count()
                    );
                }
            }
        }
        for (name, value) in &object {
            let wanted = value.as_str().map(|text| (text, Progress::Complete));
            assert_eq!(partial.get(name), wanted);
        }
    }

    #[test]
    fn garbage_is_survived_and_cuts_do_not_matter(
        text in "[{}\\[\\]\":,\\\\u0-9a-fd\n é]{0,60}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let whole = read(&[&text]);
        let pieces = cut(&text, &cuts);
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let cut = read(&pieces);
        for name in ["", "a", "b", "0"] {
            assert_eq!(whole.get(name), cut.get(name));
        }
    }

    #[test]
    fn a_tail_is_the_end_of_all_lines(text in "[ab\r\n]{0,20}", count in 0_usize..6) {
        let all: Vec<&str> = text.lines().collect();
        let text = Text::new(&text);
        assert_eq!(text.lines(), all.len());
        assert_eq!(text.tail(count), all[all.len().saturating_sub(count)..]);
    }
}
