//! Changes one place in a settings file and leaves the rest of it as it is: order, indentation, blanks. Pure.

use std::ops::Range;

use serde_json::{Map, Value};

use super::json::{self, Inside, Node, Wrong, place};

/// A change of a JSON object.
#[derive(Debug, Clone, PartialEq)]
pub enum Change<'c> {
    /// The key has this value.
    Set(&'c [&'c str], Value),
    /// The list has this text, at its end if it is new.
    Add(&'c [&'c str], &'c str),
    /// The list has this text no more.
    Remove(&'c [&'c str], &'c str),
}

impl Change<'_> {
    /// The text with the change made; what is missing on the way is made. `None` if there is nothing to change.
    pub fn apply(&self, text: &str) -> Result<Option<String>, Wrong> {
        let (old, node) = json::read(text)?;
        let mut new = old.clone();
        self.make(&mut new, &node, text)?;
        if new == old {
            return Ok(None);
        }
        let edit = Edit::new(text);
        let edited = match self {
            Change::Set(keys, value) => edit.set(&node, keys, value),
            Change::Add(keys, item) => edit.add(&node, keys, item),
            Change::Remove(keys, item) => edit.remove(&node, keys, item),
        };
        let same =
            |edited: &String| serde_json::from_str::<Value>(edited).is_ok_and(|value| value == new);
        // What the careful way did not get right, a key that stands there twice say, is written anew as a whole.
        let whole = || format!("{new:#}\n");
        Ok(Some(edited.filter(same).unwrap_or_else(whole)))
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
        }
        Ok(())
    }
}

/// The value that `keys` lead to; what is missing is made, with `last` at its end. `None` where something else than an
/// object is in the way.
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
    in_the_way(text, node, keys, "a list")
}

fn no_object(text: &str, node: &Node, keys: &[&str]) -> Wrong {
    in_the_way(text, node, keys, "a key of an object")
}

fn in_the_way(text: &str, node: &Node, keys: &[&str], what: &str) -> Wrong {
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

/// An edit of a text that is known to be JSON.
struct Edit<'t> {
    text: &'t str,
    /// One step of indentation, as the file has it.
    unit: &'t str,
}

impl<'t> Edit<'t> {
    fn new(text: &'t str) -> Self {
        let indented = text.lines().find_map(|line| {
            let width = line.len() - line.trim_start().len();
            (width > 0 && width < line.len()).then(|| &line[..width])
        });
        Self {
            text,
            unit: indented.unwrap_or("  "),
        }
    }

    fn set(&self, root: &Node, keys: &[&str], value: &Value) -> Option<String> {
        if let Some(node) = node_at(root, keys) {
            let indent = self.indent(node.span.start);
            return Some(self.with(node.span.clone(), &self.written(value, indent)));
        }
        self.insert_at(root, keys, value)
    }

    fn add(&self, root: &Node, keys: &[&str], item: &str) -> Option<String> {
        match node_at(root, keys) {
            Some(list) => Some(self.insert(list, &[], &Value::from(item))),
            None => self.insert_at(root, keys, &Value::from(vec![item])),
        }
    }

    fn remove(&self, root: &Node, keys: &[&str], item: &str) -> Option<String> {
        let list = node_at(root, keys)?;
        let Inside::List(items) = &list.inside else {
            return None;
        };
        let wanted = |node: &Node| {
            let text = &self.text[node.span.clone()];
            serde_json::from_str::<Value>(text).is_ok_and(|value| value == item)
        };
        let kept: Vec<&Node> = items.iter().filter(|node| !wanted(node)).collect();
        let (Some(first), Some(end)) = (kept.first(), items.last()) else {
            return Some(self.with(list.span.clone(), "[]"));
        };
        // From item to item, each with what stands before it; the first of those that stay takes the place of the first.
        let mut inner = self.text[list.span.start..items[0].span.start].to_owned();
        inner.push_str(&self.text[first.span.clone()]);
        for (before, node) in items.iter().zip(&items[1..]) {
            if kept[1..].iter().any(|kept| kept.span == node.span) {
                inner.push_str(&self.text[before.span.end..node.span.end]);
            }
        }
        inner.push_str(&self.text[end.span.end..list.span.end]);
        Some(self.with(list.span.clone(), &inner))
    }

    /// Puts a value at the end of the innermost object on the way to it.
    fn insert_at(&self, root: &Node, keys: &[&str], value: &Value) -> Option<String> {
        let mut object = root;
        for (depth, key) in keys.iter().enumerate() {
            match object.get(key) {
                Some(inner) => object = inner,
                None => return Some(self.insert(object, &keys[depth..], value)),
            }
        }
        None
    }

    /// Puts `value`, inside objects for the `keys` that are missing, at the end of an object or a list.
    fn insert(&self, node: &Node, keys: &[&str], value: &Value) -> String {
        let indent = self.indent(node.span.start);
        let inner = format!("{indent}{}", self.unit);
        let (open, close) = (node.span.start + 1, node.span.end - 1);
        let (first, last) = match &node.inside {
            Inside::Object(members) => (
                members.first().map(|member| member.start),
                members.last().map(|member| member.value.span.end),
            ),
            Inside::List(list) => (
                list.first().map(|item| item.span.start),
                list.last().map(|item| item.span.end),
            ),
            Inside::Plain => (None, None),
        };
        let (at, before, after) = match first.zip(last) {
            Some((first, last)) => {
                let gap = &self.text[open..first];
                let gap = if gap.is_empty() { " " } else { gap };
                (last..last, format!(",{gap}"), String::new())
            }
            None => (open..close, format!("\n{inner}"), format!("\n{indent}")),
        };
        let new = self.nested(keys, value, &inner);
        self.with(at, &format!("{before}{new}{after}"))
    }

    fn nested(&self, keys: &[&str], value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        match keys {
            [] => self.written(value, indent),
            [key] => format!("{}: {}", Value::from(*key), self.written(value, indent)),
            [key, rest @ ..] => {
                let rest = self.nested(rest, value, &inner);
                format!("{}: {{\n{inner}{rest}\n{indent}}}", Value::from(*key))
            }
        }
    }

    /// A value as the file would have it, at this indentation.
    fn written(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let lines = |items: Vec<String>, open: char, close: char| {
            let items = items.join(&format!(",\n{inner}"));
            format!("{open}\n{inner}{items}\n{indent}{close}")
        };
        match value {
            Value::Array(list) if !list.is_empty() => {
                let items = list.iter().map(|item| self.written(item, &inner));
                lines(items.collect(), '[', ']')
            }
            Value::Object(members) if !members.is_empty() => {
                let items = members.iter().map(|(name, value)| {
                    let value = self.written(value, &inner);
                    format!("{}: {value}", Value::from(name.as_str()))
                });
                lines(items.collect(), '{', '}')
            }
            plain => plain.to_string(),
        }
    }

    fn with(&self, at: Range<usize>, new: &str) -> String {
        format!("{}{new}{}", &self.text[..at.start], &self.text[at.end..])
    }

    /// The blanks at the beginning of the line that has `at`.
    fn indent(&self, at: usize) -> &'t str {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

#[cfg(test)]
mod tests;
