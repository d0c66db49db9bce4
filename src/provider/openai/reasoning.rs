//! `reasoning_details` of gateways: a list that streams in and goes back as it was.

use serde_json::Value;

/// The fields that grow from delta to delta; all others arrive complete.
const GROWING: [&str; 3] = ["text", "summary", "data"];

/// Joins a delta with the entry that it continues: same kind, same index, and the last of its kind.
pub(super) fn merge(details: &mut Vec<Value>, delta: Value) {
    let same = |known: &Value| {
        delta.get("index").is_some_and(|index| !index.is_null())
            && ["type", "index"]
                .iter()
                .all(|key| known.get(key) == delta.get(key))
    };
    let Some(Value::Object(known)) = details.last_mut().filter(|known| same(known)) else {
        details.push(delta);
        return;
    };
    let Value::Object(delta) = delta else { return };
    for (key, value) in delta {
        match (known.get_mut(&key), value) {
            (Some(Value::String(text)), Value::String(more)) if GROWING.contains(&key.as_str()) => {
                text.push_str(&more);
            }
            (Some(Value::Null) | None, value) => {
                known.insert(key, value);
            }
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::merge;

    fn merged(deltas: Vec<Value>) -> Value {
        let mut details = Vec::new();
        for delta in deltas {
            merge(&mut details, delta);
        }
        Value::Array(details)
    }

    #[test]
    fn text_grows_and_a_late_signature_is_added() {
        let whole = merged(vec![
            json!({"type": "reasoning.text", "text": "Let ", "index": 0, "format": "f", "signature": null}),
            json!({"type": "reasoning.text", "text": "me see", "index": 0, "format": "f"}),
            json!({"type": "reasoning.text", "index": 0, "signature": "sig"}),
        ]);
        assert_eq!(
            whole,
            json!([{"type": "reasoning.text", "text": "Let me see", "index": 0, "format": "f", "signature": "sig"}])
        );
    }

    #[test]
    fn entries_of_another_kind_or_without_index_stay_apart() {
        let deltas = vec![
            json!({"type": "reasoning.text", "text": "a", "index": 0}),
            json!({"type": "reasoning.encrypted", "data": "b", "index": 0}),
            json!({"type": "reasoning.text", "text": "c", "index": 1}),
            json!({"type": "reasoning.text", "text": "d"}),
            json!("odd"),
        ];
        assert_eq!(merged(deltas.clone()), Value::Array(deltas));
    }
}
