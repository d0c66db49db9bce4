//! Inputs whose meaning is clear although their JSON is not exactly what the schema says.
//!
//! Models send `null` for optional fields that they leave out, and `2.0` for integers. The first counts as missing,
//! the second as `2`. Everything else has to match the schema.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

/// Integers up to this are exact in a floating-point number.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The input as it is meant.
pub fn meant<'v>(schema: &Value, input: &'v Value) -> Cow<'v, Value> {
    if !may_differ(input) {
        return Cow::Borrowed(input);
    }
    let mut input = input.clone();
    correct(schema, &mut input);
    Cow::Owned(input)
}

fn may_differ(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(may_differ),
        Value::Object(fields) => fields.values().any(may_differ),
        Value::Bool(_) | Value::String(_) => false,
    }
}

fn correct(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => correct_fields(schema, fields),
        Value::Array(items) => {
            for item in items {
                correct(&schema["items"], item);
            }
        }
        Value::Number(number) => {
            if let Some(whole) = whole(number)
                && is_integer(schema)
            {
                *number = whole;
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn correct_fields(schema: &Value, fields: &mut Map<String, Value>) {
    let properties = &schema["properties"];
    let required = schema["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|it| it.as_str() == Some(name)));
    fields.retain(|name, value| {
        let is_optional = properties.get(name).is_some() && !is_required(name);
        !(value.is_null() && is_optional)
    });
    for (name, value) in fields {
        correct(&properties[name.as_str()], value);
    }
}

fn is_integer(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(name) => name == "integer",
        Value::Array(names) => names.iter().any(|name| name.as_str() == Some("integer")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn whole(number: &Number) -> Option<Number> {
    let value = number.as_f64().filter(|_| number.is_f64())?;
    if value.fract() != 0.0 || value.abs() > LARGEST_EXACT {
        return None;
    }
    // The exact digits, without a cast that could cut some off.
    format!("{value:.0}").parse::<i64>().ok().map(Number::from)
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::{Value, json};

    use super::meant;

    fn schema() -> Value {
        json!({
            "required": ["path"],
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": ["integer", "null"]},
                "share": {"type": "number"},
                "edits": {"items": {"properties": {"all": {"type": "boolean"}, "at": {"type": "integer"}}}},
            },
        })
    }

    #[test]
    fn null_is_missing_where_a_field_is_optional_and_whole_numbers_are_integers() {
        let input = json!({
            "path": "a", "limit": 2.0, "share": 1.0, "edits": [{"all": null, "at": -3.0}, {"at": 1.5}],
        });
        assert_eq!(
            meant(&schema(), &input).into_owned(),
            json!({"path": "a", "limit": 2, "share": 1.0, "edits": [{"at": -3}, {"at": 1.5}]})
        );
    }

    #[test]
    fn required_and_unknown_fields_stay_for_the_schema_to_refuse() {
        let input = json!({"path": null, "colour": null, "limit": 1e300});
        assert_eq!(meant(&schema(), &input).into_owned(), input);
        assert!(matches!(
            meant(&schema(), &json!({"path": "a", "limit": 3})),
            Cow::Borrowed(_)
        ));
    }
}
