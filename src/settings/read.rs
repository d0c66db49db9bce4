//! Reads a settings file into its type, with the place of every mistake. Pure.
//!
//! A mistake only affects its own key: possible misspellings are reported, and the rest of the file applies.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::config::json::{self, Inside, Node, Wrong, place};
use crate::text::{cut, nearest};

/// The content of a file, and its mistakes.
#[derive(Debug)]
pub struct Reading<T> {
    pub value: T,
    /// Keys that are not used: their value is invalid, or they occur twice.
    pub faults: Vec<Fault>,
    /// Unknown keys.
    pub unknown: Vec<Unknown>,
    /// The positions of all values.
    pub node: Node,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// `["permissions", "deny"]`.
    pub keys: Vec<String>,
    pub wrong: Wrong,
}

/// An unknown key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// `["permissions", "denny"]`.
    pub keys: Vec<String>,
    /// The most similar known key.
    pub meant: Option<&'static str>,
    pub wrong: Wrong,
}

/// An object in the file whose keys are also known.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    pub name: &'static str,
    pub fields: &'static [String],
    /// Its description.
    pub holds: &'static str,
}

/// Reads a file that may have the `known` keys. Anything but a JSON object is an error.
pub fn read<T: DeserializeOwned + Default>(
    text: &str,
    known: &'static [String],
    groups: &[Group],
) -> Result<Reading<T>, Wrong> {
    let (_, node) = json::read(text)?;
    if !matches!(node.inside, Inside::Object(_)) {
        let (line, column) = place(text, node.span.start);
        let problem = "a settings file must be an object: `{ … }`".to_owned();
        return Err(Wrong {
            line,
            column,
            problem,
        });
    }
    let file = ParsedFile {
        text,
        node: &node,
        groups,
    };
    let unknown = file.unknown(known);
    let mut faults = file.duplicates();
    faults.extend(file.no_groups());
    if faults.is_empty()
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(Reading {
            value,
            faults,
            unknown,
            node,
        });
    }
    for path in file.paths(known) {
        if faults.iter().any(|fault| path.starts_with(&fault.keys)) {
            continue;
        }
        if let Err(error) = serde_json::from_str::<T>(&file.only(&|other| other == path)) {
            let wrong = file.wrong(&error);
            faults.push(Fault { keys: path, wrong });
        }
    }
    let is_wrong = |path: &[String]| faults.iter().any(|fault| path.starts_with(&fault.keys));
    let good = file.only(&|path| !is_wrong(path));
    let value = serde_json::from_str(&good).unwrap_or_default();
    Ok(Reading {
        value,
        faults,
        unknown,
        node,
    })
}

/// The names of a struct's fields in a file, taken from its schema.
pub fn fields<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T).to_value();
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.map_or_else(Vec::new, |properties| properties.keys().cloned().collect())
}

struct ParsedFile<'t> {
    text: &'t str,
    node: &'t Node,
    groups: &'t [Group],
}

impl ParsedFile<'_> {
    /// The group with this name, if the value is an object.
    fn group(&self, name: &str, value: &Node) -> Option<&Group> {
        let mut groups = self.groups.iter();
        groups.find(|group| group.name == name && matches!(value.inside, Inside::Object(_)))
    }

    /// Every known key; keys of a group include its name.
    fn paths(&self, known: &'static [String]) -> Vec<Vec<String>> {
        let mut paths = Vec::new();
        let is_known = |member: &&json::Member| known.contains(&member.name);
        for member in self.node.members().iter().filter(is_known) {
            if let Some(group) = self.group(&member.name, &member.value) {
                let known = group.fields;
                let inner = member.value.members().iter();
                let inner = inner.filter(|inner| known.contains(&inner.name));
                paths.extend(inner.map(|inner| vec![member.name.clone(), inner.name.clone()]));
            } else {
                paths.push(vec![member.name.clone()]);
            }
        }
        paths
    }

    fn duplicates(&self) -> Vec<Fault> {
        let repeated = self.node.repeated().map(|member| (None, member));
        let group = self.node.members().iter();
        let group = group.filter(|member| self.group(&member.name, &member.value).is_some());
        let inner = group.flat_map(|group| {
            let repeated = group.value.repeated();
            repeated.map(|member| (Some(group.name.clone()), member))
        });
        let fault = |(group, member): (Option<String>, &json::Member)| {
            let (line, column) = place(self.text, member.start);
            let problem = format!("`{}` appears twice; both are ignored", cut(&member.name));
            Fault {
                keys: group.into_iter().chain([member.name.clone()]).collect(),
                wrong: Wrong {
                    line,
                    column,
                    problem,
                },
            }
        };
        repeated.chain(inner).map(fault).collect()
    }

    /// Serde accepts a list in place of an object, with the fields in order; people do not mean that.
    fn no_groups(&self) -> Vec<Fault> {
        let wrong = |member: &json::Member| {
            let group = self.groups.iter().find(|group| group.name == member.name)?;
            let Inside::List(_) = member.value.inside else {
                return None;
            };
            let (line, column) = place(self.text, member.value.span.start);
            Some(Fault {
                keys: vec![member.name.clone()],
                wrong: Wrong {
                    line,
                    column,
                    problem: format!("invalid type: a list, expected {}", group.holds),
                },
            })
        };
        self.node.members().iter().filter_map(wrong).collect()
    }

    fn unknown(&self, known: &'static [String]) -> Vec<Unknown> {
        let mut unknown = Vec::new();
        let mut check =
            |members: &[json::Member], known: &'static [String], group: Option<&str>| {
                for member in members {
                    let name = member.name.as_str();
                    if known.contains(&member.name) || name == "$schema" {
                        continue;
                    }
                    let (line, column) = place(self.text, member.start);
                    let shown = cut(name);
                    let shown = group.map_or(shown.to_owned(), |group| format!("{group}.{shown}"));
                    let meant = nearest(name, known.iter().map(String::as_str));
                    let ask = meant.map(|meant| format!("; did you mean `{meant}`?"));
                    let problem = format!("unknown setting `{shown}`{}", ask.unwrap_or_default());
                    let keys = group.into_iter().chain([name]);
                    unknown.push(Unknown {
                        keys: keys.map(str::to_owned).collect(),
                        meant,
                        wrong: Wrong {
                            line,
                            column,
                            problem,
                        },
                    });
                }
            };
        check(self.node.members(), known, None);
        for member in self.node.members() {
            if let Some(group) = self.group(&member.name, &member.value) {
                check(member.value.members(), group.fields, Some(group.name));
            }
        }
        unknown
    }

    /// The text with blanks in place of every key that is not wanted, so that the rest keeps its position.
    fn only(&self, wanted: &dyn Fn(&[String]) -> bool) -> String {
        let blank = |byte: u8| if byte == b'\n' { b'\n' } else { b' ' };
        let mut page: Vec<u8> = self.text.bytes().map(blank).collect();
        self.copy(self.node, &mut Vec::new(), wanted, &mut page);
        String::from_utf8(page).unwrap_or_default()
    }

    fn copy(
        &self,
        object: &Node,
        path: &mut Vec<String>,
        wanted: &dyn Fn(&[String]) -> bool,
        page: &mut [u8],
    ) {
        let text = self.text.as_bytes();
        let (open, close) = (object.span.start, object.span.end - 1);
        (page[open], page[close]) = (text[open], text[close]);
        let mut last_end = None;
        for member in object.members() {
            path.push(member.name.clone());
            let value = &member.value;
            let is_group = path.len() == 1 && self.group(&member.name, value).is_some();
            if is_group || wanted(path) {
                if let Some(end) = last_end {
                    // Every member except the last is followed by a comma.
                    let comma = text[end..].iter().position(|byte| *byte == b',');
                    page[end + comma.unwrap_or_default()] = b',';
                }
                last_end = Some(value.span.end);
                let end = if is_group {
                    value.span.start
                } else {
                    value.span.end
                };
                page[member.start..end].copy_from_slice(&text[member.start..end]);
                if is_group {
                    self.copy(value, path, wanted, page);
                }
            }
            path.pop();
        }
    }

    /// The mistake, at the beginning of the wrong value.
    fn wrong(&self, error: &serde_json::Error) -> Wrong {
        let mut lines = self.text.split_inclusive('\n');
        let before: usize = (1..error.line())
            .filter_map(|_| lines.next())
            .map(str::len)
            .sum();
        let at = (before + error.column()).saturating_sub(1);
        let mut node = innermost(self.node, at);
        if std::ptr::eq(node, self.node) {
            // The parser stops before a wrong list or object, not inside it.
            node = innermost(self.node, at + 1);
        }
        let (line, column) = place(self.text, node.span.start);
        Wrong {
            line,
            column,
            problem: plain(&json::wrong(self.text, error).problem),
        }
    }
}

fn innermost(node: &Node, at: usize) -> &Node {
    let inner = match &node.inside {
        Inside::Object(members) => {
            let mut values = members.iter().map(|member| &member.value);
            values.find(|value| value.span.contains(&at))
        }
        Inside::List(items) => items.iter().find(|item| item.span.contains(&at)),
        Inside::Plain => None,
    };
    inner.map_or(node, |inner| innermost(inner, at))
}

/// The parser's message without names of Rust types.
fn plain(problem: &str) -> String {
    let words = [
        (
            "expected struct Permissions",
            "expected an object with rules",
        ),
        (
            "expected struct Price",
            "expected an object with `input` and `output`",
        ),
        (
            "expected struct ToolSettings",
            "expected an object with `timeout` and the like",
        ),
        ("expected a nonzero u64", "expected a whole number above 0"),
        ("expected usize", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected an object"),
        ("invalid type: sequence", "invalid type: a list"),
        ("invalid type: map", "invalid type: an object"),
    ];
    let mut problem = problem.to_owned();
    for (word, better) in words {
        problem = problem.replace(word, better);
    }
    problem
}
