//! The input of a tool call.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// The input of a call, as the model wrote it. Many parts of the program hold it at the same time (the history, the
/// log, the executor, the screen, a question) and it may be as long as a file, so clones share one allocation.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "Value")]
pub struct CallInput(Arc<Value>);

impl CallInput {
    /// Whether both are the same allocation, which is more than being equal.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<Value> for CallInput {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl Deref for CallInput {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Serialize for CallInput {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_ref().serialize(serializer)
    }
}

impl PartialEq for CallInput {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.0 == other.0
    }
}

impl PartialEq<Value> for CallInput {
    fn eq(&self, other: &Value) -> bool {
        *self.0 == *other
    }
}

#[cfg(test)]
mod tests {
    use super::CallInput;
    use serde_json::json;

    #[test]
    fn a_clone_is_the_same_and_an_equal_one_is_not() {
        let input = CallInput::from(json!({"command": "ls"}));
        let equal = CallInput::from(json!({"command": "ls"}));
        assert!(input.is_same(&input.clone()));
        assert!(!input.is_same(&equal));
        assert_eq!(input, equal);
        assert_eq!(input, json!({"command": "ls"}));
    }

    #[test]
    fn it_is_serialized_as_plain_json() {
        let input = CallInput::from(json!({"command": "ls"}));
        let text = serde_json::to_string(&input).expect("it is JSON");
        assert_eq!(text, r#"{"command":"ls"}"#);
        let read: CallInput = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(read, input);
    }
}
