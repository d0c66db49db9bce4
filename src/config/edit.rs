//! Changes one place in a settings file and keeps the rest as it is: order, indentation, blanks, comments. Pure.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

use super::json::{self, Inside, Node, Wrong, place};

/// A change of a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change<'c> {
    /// Set the key to this value.
    Set(&'c [&'c str], Value),
    /// Add this text to the end of the list, unless it is there.
    Add(&'c [&'c str], &'c str),
    /// Remove this text from the list.
    Remove(&'c [&'c str], &'c str),
    /// Remove the key with its value.
    Unset(&'c [&'c str]),
}

impl Change<'_> {
    /// The text after the change; missing parents are created. `None` if there is nothing to change.
    pub fn apply(&self, text: &str) -> Result<Option<String>, Wrong> {
        let (old, node) = json::read(text)?;
        let mut new = old.clone();
        self.make(&mut new, &node, text)?;
        if new == old {
            return Ok(None);
        }
        let same = |edited: &String| json::read(edited).is_ok_and(|(value, _)| value == new);
        // If the careful edit fails, for example because a key occurs twice, the file is written as a whole.
        let whole = || format!("{new:#}\n");
        Ok(Some(self.edited(text).filter(same).unwrap_or_else(whole)))
    }

    /// The text after the change, in its own layout.
    fn edited(&self, text: &str) -> Option<String> {
        let root = CstRootNode::parse(text, &ParseOptions::default()).ok()?;
        let object = root.object_value()?;
        match self {
            Change::Set(keys, value) => set(&object, keys, value)?,
            Change::Add(keys, item) => match list_at(&object, keys) {
                Some(list) => drop(list.append((*item).into())),
                None => set(&object, keys, &Value::from(vec![*item]))?,
            },
            Change::Remove(keys, item) => remove(&list_at(&object, keys)?, item),
            Change::Unset(keys) => match innermost(&object, keys) {
                (inner, [key]) => member(&inner, key)?.remove(),
                _ => return None,
            },
        }
        Some(root.to_string())
    }

    /// The same on the parsed value: what the text must mean afterwards.
    fn make(&self, value: &mut Value, node: &Node, text: &str) -> Result<(), Wrong> {
        match self {
            Change::Set(keys, new) => {
                *find(value, keys, &Value::Null).ok_or_else(|| no_object(text, node, keys))? =
                    new.clone();
            }
            Change::Add(keys, item) => {
                let list = find(value, keys, &Value::Array(Vec::new()));
                let list = list.and_then(Value::as_array_mut);
                let list = list.ok_or_else(|| no_list(text, node, keys))?;
                if !list.iter().any(|other| other == item) {
                    list.push(Value::from(*item));
                }
            }
            Change::Remove(keys, item) => {
                let there = node_at(node, keys).is_some();
                if !there && node.members().is_empty() && !matches!(node.inside, Inside::Object(_))
                {
                    return Err(no_object(text, node, keys));
                }
                if there {
                    let list = find(value, keys, &Value::Null).and_then(Value::as_array_mut);
                    let list = list.ok_or_else(|| no_list(text, node, keys))?;
                    list.retain(|other| other != item);
                }
            }
            Change::Unset(keys) => {
                let Some((last, parents)) = keys.split_last() else {
                    return Ok(());
                };
                if node_at(node, parents).is_some() {
                    let object = find(value, parents, &Value::Null).and_then(Value::as_object_mut);
                    let object = object.ok_or_else(|| no_object(text, node, parents))?;
                    object.shift_remove(*last);
                }
            }
        }
        Ok(())
    }
}

/// The value at `keys`; missing parents are created, with `last` at the end. `None` if something on the way is not an
/// object.
fn find<'v>(value: &'v mut Value, keys: &[&str], last: &Value) -> Option<&'v mut Value> {
    let Some((key, rest)) = keys.split_first() else {
        return Some(value);
    };
    let missing = || match rest {
        [] => last.clone(),
        _ => Value::Object(Map::new()),
    };
    let inner = value.as_object_mut()?.entry(*key).or_insert_with(missing);
    find(inner, rest, last)
}

fn node_at<'n>(node: &'n Node, keys: &[&str]) -> Option<&'n Node> {
    keys.iter().try_fold(node, |node, key| node.get(key))
}

fn no_list(text: &str, node: &Node, keys: &[&str]) -> Wrong {
    blocked_by(text, node, keys, "a list")
}

fn no_object(text: &str, node: &Node, keys: &[&str]) -> Wrong {
    blocked_by(text, node, keys, "a key of an object")
}

fn blocked_by(text: &str, node: &Node, keys: &[&str], what: &str) -> Wrong {
    let mut last = node;
    for key in keys {
        match last.get(key) {
            Some(node) => last = node,
            None => break,
        }
    }
    let (line, column) = place(text, last.span.start);
    let problem = format!("`{}` is not {what}", keys.join("."));
    Wrong {
        line,
        column,
        problem,
    }
}

/// The list at `keys`.
fn list_at(object: &CstObject, keys: &[&str]) -> Option<CstArray> {
    match innermost(object, keys) {
        (inner, [key]) => member(&inner, key)?.array_value(),
        _ => None,
    }
}

/// Sets a value in place, or at the end of the innermost existing object.
fn set(object: &CstObject, keys: &[&str], value: &Value) -> Option<()> {
    let (inner, rest) = innermost(object, keys);
    let (key, rest) = rest.split_first()?;
    let value = rest.iter().rfold(input(value), |value, key| {
        CstInputValue::Object(vec![((*key).to_owned(), value)])
    });
    let new = match member(&inner, key) {
        Some(member) => {
            member.set_value(value);
            member.value()
        }
        None => inner.append(key, value).value(),
    };
    spread(&new?);
    Some(())
}

/// The object that contains the value at `keys`, as deep as objects exist; and the remaining keys.
fn innermost<'k>(object: &CstObject, keys: &'k [&'k str]) -> (CstObject, &'k [&'k str]) {
    if let [key, rest @ ..] = keys
        && !rest.is_empty()
        && let Some(inner) = member(object, key).and_then(|member| member.object_value())
    {
        return innermost(&inner, rest);
    }
    (object.clone(), keys)
}

/// If a key occurs twice, the last one, as JSON readers do.
fn member(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    let mut members = object.properties().into_iter().rev();
    members.find(|member| member.decoded_name().as_deref() == Some(key))
}

fn remove(list: &CstArray, item: &str) {
    let starts_with_blank =
        |list: &CstArray| list.children().get(1).is_some_and(CstNode::is_whitespace);
    let had_blank = starts_with_blank(list);
    for element in list.elements() {
        let text = element.as_string_lit();
        if text.is_some_and(|text| text.decoded_value().is_ok_and(|text| text == item)) {
            element.remove();
        }
    }
    // The blank before the second item, which is now the first.
    if !had_blank
        && starts_with_blank(list)
        && let Some(blank) = list.child_at_index(1)
    {
        blank.remove();
    }
}

/// Puts every item of a new list on its own line, because the list will grow.
fn spread(node: &CstNode) {
    if let Some(list) = node.as_array().filter(|list| !list.elements().is_empty()) {
        list.ensure_multiline();
    }
    for inner in node.children() {
        spread(&inner);
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(members) => {
            let members = members.iter();
            CstInputValue::Object(
                members
                    .map(|(key, value)| (key.clone(), input(value)))
                    .collect(),
            )
        }
    }
}

#[cfg(test)]
mod tests;
