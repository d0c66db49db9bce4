use proptest::prelude::*;
use serde_json::json;

use super::*;

const ALLOW: &[&str] = &["permissions", "allow"];

fn added(text: &str) -> String {
    let change = Change::Add(ALLOW, "Bash(x)");
    change.apply(text).expect("JSON").expect("new")
}

fn removed(text: &str) -> Option<String> {
    Change::Remove(ALLOW, "b").apply(text).expect("JSON")
}

fn set(text: &str, keys: &[&str], value: Value) -> String {
    let change = Change::Set(keys, value);
    change.apply(text).expect("JSON").expect("new")
}

#[test]
fn a_list_grows_in_its_own_style() {
    assert_eq!(
        added(
            "{\n    \"model\": \"m\",\n    \"permissions\": {\n        \"allow\": [\n            \"a\",\n            \"b\"\n        ],\n        \"deny\": []\n    }\n}\n"
        ),
        "{\n    \"model\": \"m\",\n    \"permissions\": {\n        \"allow\": [\n            \"a\",\n            \"b\",\n            \"Bash(x)\"\n        ],\n        \"deny\": []\n    }\n}\n"
    );
    assert_eq!(
        added(r#"{"permissions":{"allow":["a"],"x":1e3}}"#),
        r#"{"permissions":{"allow":["a", "Bash(x)"],"x":1e3}}"#
    );
}

#[test]
fn missing_keys_are_created() {
    let whole = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(x)\"\n    ]\n  }\n}\n";
    assert_eq!(added("{}\n"), whole);
    assert_eq!(
        added("{\n\t\"permissions\": {\n\t\t\"deny\": [\"a\"]\n\t}\n}"),
        "{\n\t\"permissions\": {\n\t\t\"deny\": [\"a\"],\n\t\t\"allow\": [\n\t\t\t\"Bash(x)\"\n\t\t]\n\t}\n}"
    );
}

#[test]
fn an_existing_item_is_not_added_again_and_a_missing_one_is_not_removed() {
    let text = r#"{"permissions":{"allow":["Bash(x)"]}}"#;
    assert_eq!(Change::Add(ALLOW, "Bash(x)").apply(text), Ok(None));
    assert_eq!(removed(text), None);
    assert_eq!(removed("{}"), None);
    assert_eq!(Change::Set(&["a"], json!(1)).apply(r#"{"a": 1}"#), Ok(None));
}

#[test]
fn an_item_is_removed_and_its_neighbours_keep_their_style() {
    let text = "{\n  \"permissions\": {\n    \"allow\": [\n      \"a\",\n      \"b\",\n      \"c\"\n    ]\n  }\n}\n";
    assert_eq!(
        removed(text).as_deref(),
        Some(text.replace("      \"b\",\n", "").as_str())
    );
    for (before, after) in [
        (r#"["b", "a"]"#, r#"["a"]"#),
        (r#"["a", "b"]"#, r#"["a"]"#),
        (r#"["b"]"#, "[]"),
        (r#"[ "b", "a","b", "c" ]"#, r#"[ "a", "c" ]"#),
    ] {
        let file = |list: &str| format!(r#"{{"permissions": {{"allow": {list} }}, "z": 1}}"#);
        assert_eq!(removed(&file(before)), Some(file(after)), "{before}");
    }
}

#[test]
fn a_value_is_set_in_place_or_at_the_end() {
    let text = "{\n  \"theme\" : \"dark\",  \"z\": 1e3\n}\n";
    assert_eq!(
        set(text, &["theme"], json!("light")),
        text.replace("dark", "light")
    );
    assert_eq!(
        set(text, &["model"], json!("m")),
        "{\n  \"theme\" : \"dark\",  \"z\": 1e3,\n  \"model\": \"m\"\n}\n"
    );
    assert_eq!(
        set("{}", &["a", "b"], json!({"c": [1]})),
        "{\n  \"a\": {\n    \"b\": {\n      \"c\": [\n        1\n      ]\n    }\n  }\n}"
    );
}

#[test]
fn comments_stay_where_they_are() {
    let text = "{\n  // mine\n  \"permissions\": {\n    \"allow\": [\n      \"a\", // why\n      \"b\" // gone\n    ]\n  } /* end */\n}\n";
    assert_eq!(
        added(text),
        text.replace("\"b\" // gone\n", "\"b\", // gone\n      \"Bash(x)\"\n")
    );
    assert_eq!(
        removed(text),
        Some(text.replace("\"a\", // why\n      \"b\" // gone\n", "\"a\" // why\n"))
    );
    assert!(set(text, &["theme"], json!("x")).starts_with("{\n  // mine\n"));
}

#[test]
fn of_a_duplicate_key_the_last_one_is_changed() {
    assert_eq!(
        set(r#"{"a": 1, "b": 2, "a": 3}"#, &["a"], json!(4)),
        r#"{"a": 1, "b": 2, "a": 4}"#
    );
}

#[test]
fn invalid_json_and_wrong_types_are_errors_with_their_place() {
    let add = |text: &str| Change::Add(ALLOW, "x").apply(text);
    let wrong = add("{\n  \"a\": oops\n}").expect_err("no JSON");
    assert_eq!((wrong.line, wrong.problem.as_str()), (2, "expected value"));
    for (text, column) in [
        ("[]", 1),
        ("3", 1),
        (r#"{"permissions":[]}"#, 16),
        (r#"{"permissions":{"allow":"x"}}"#, 25),
    ] {
        let wrong = add(text).expect_err("no list");
        assert_eq!(wrong.problem, "`permissions.allow` is not a list", "{text}");
        assert_eq!((wrong.line, wrong.column), (1, column), "{text}");
    }
    assert!(Change::Set(&["theme"], json!("x")).apply("[]").is_err());
    assert!(Change::Remove(ALLOW, "x").apply("[]").is_err());
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\"\\\\,:{}\\[\\] \n]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c\"]{1,2}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_rest_of_the_file_stays(rest in json_value(), rules in prop::collection::vec("[a-c(\"]{0,2}", 0..4), pretty in any::<bool>()) {
        let old = json!({ "before": rest, "permissions": { "x": rest, "allow": rules }, "after": rest });
        let text = if pretty { format!("{old:#}") } else { old.to_string() };
        let mut expected = old.clone();
        expected["permissions"]["allow"].as_array_mut().expect("a list").push("Bash(x)".into());
        let new: Value = serde_json::from_str(&added(&text)).expect("JSON");
        prop_assert_eq!(new, expected);

        let mut expected = old.clone();
        expected["permissions"]["allow"].as_array_mut().expect("a list").retain(|rule| rule != "b");
        let left = removed(&text).unwrap_or(text.clone());
        prop_assert_eq!(serde_json::from_str::<Value>(&left).expect("JSON"), expected);

        let mut expected = old.clone();
        expected["permissions"]["x"] = json!([1]);
        let changed = Change::Set(&["permissions", "x"], json!([1])).apply(&text).expect("JSON").unwrap_or(text);
        prop_assert_eq!(serde_json::from_str::<Value>(&changed).expect("JSON"), expected);
    }

    #[test]
    fn any_text_gives_a_result_or_an_error(text in "[\\[\\]{}\",:a-c0-9 \n]{0,40}") {
        let _ = Change::Add(&["a", "b"], "c").apply(&text);
        let _ = Change::Remove(&["a", "b"], "c").apply(&text);
        let _ = Change::Set(&["a", "b"], json!(1)).apply(&text);
    }
}
