//! The body of an error, in any of the shapes that servers give it.

use serde_json::Value;

/// What an error body says, as far as it says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::provider) struct Body {
    /// `overloaded_error`, `invalid_request_error` …
    pub kind: Option<String>,
    /// A word or a number, as text.
    pub code: Option<String>,
    pub message: Option<String>,
}

impl Body {
    /// Reads `{"error":{…}}`, `{"error":"…"}`, a flat object, FastAPI's `{"detail":…}`, a list of these, or a string.
    pub(in crate::provider) fn read(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::with_message(text),
            Value::Array(items) => items.first().map(Self::read).unwrap_or_default(),
            Value::Object(object) => match (object.get("error"), object.get("detail")) {
                (Some(error @ Value::Object(_)), _) => Self::read_flat(error),
                (Some(Value::String(text)), _) | (_, Some(Value::String(text))) => {
                    Self::with_message(text)
                }
                (_, Some(detail)) if !detail.is_null() => Self::with_message(&detail.to_string()),
                _ => Self::read_flat(value),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) => Self::default(),
        }
    }

    fn with_message(text: &str) -> Self {
        Self {
            message: Some(text.to_owned()),
            ..Self::default()
        }
    }

    fn read_flat(error: &Value) -> Self {
        let word = |value: Option<&Value>| match value {
            Some(Value::String(word)) if !word.is_empty() => Some(word.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => None,
        };
        let details = error.pointer("/details/error_code");
        let message = word(error.get("message"));
        // A gateway's own message is often only "Provider returned error"; the cause is beside it.
        let raw = word(error.pointer("/metadata/raw"));
        Self {
            kind: word(error.get("type")),
            code: word(details).or_else(|| word(error.get("code"))),
            message: match (message, raw) {
                (Some(message), Some(raw)) => Some(format!("{message}: {raw}")),
                (message, raw) => message.or(raw),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Body;

    #[test]
    fn every_shape_of_an_error_body_is_read() {
        let cases: [(Value, [&str; 3]); 10] = [
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                ["overloaded_error", "", "Overloaded"],
            ),
            (
                json!({"error": {"message": "no", "type": "t", "param": null, "code": "context_length_exceeded"}}),
                ["t", "context_length_exceeded", "no"],
            ),
            (
                json!({"error": {"code": 400, "message": "long", "type": "exceed_context_size_error"}}),
                ["exceed_context_size_error", "400", "long"],
            ),
            (
                json!({"error": {"code": 429, "message": "limited", "metadata": {"raw": "slow down"}}}),
                ["", "429", "limited: slow down"],
            ),
            (
                json!({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}),
                ["BadRequestError", "400", "m"],
            ),
            (
                json!({"code": 20012, "message": "no such model", "data": null}),
                ["", "20012", "no such model"],
            ),
            (json!("Invalid token"), ["", "", "Invalid token"]),
            (
                json!({"error": "model not found"}),
                ["", "", "model not found"],
            ),
            (json!({"detail": "Not Found"}), ["", "", "Not Found"]),
            (
                json!([{"error": {"code": 400, "message": "m"}}]),
                ["", "400", "m"],
            ),
        ];
        for (value, [kind, code, message]) in cases {
            let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let expected = Body {
                kind: some(kind),
                code: some(code),
                message: some(message),
            };
            assert_eq!(Body::read(&value), expected, "{value}");
        }
    }

    #[test]
    fn a_body_that_says_nothing_is_empty() {
        for value in [
            json!(null),
            json!(7),
            json!([]),
            json!({}),
            json!({"error": null}),
        ] {
            assert_eq!(Body::read(&value), Body::default(), "{value}");
        }
    }
}
