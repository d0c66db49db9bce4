//! Changes one cell in the text of a notebook and nothing else. Pure.
//!
//! The notebook stays valid: cells have ids if the format requires them, code cells have outputs and others have
//! none, and the outputs of a replaced code cell are cleared. Everything outside the cell keeps its bytes.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

use crate::config::json::{Inside, Node, read};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellType {
    Code,
    Markdown,
    Raw,
}

/// The change to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    Replace {
        cell: String,
        source: String,
        cell_type: Option<CellType>,
    },
    Insert {
        /// `None` inserts at the beginning.
        behind: Option<String>,
        source: String,
        cell_type: CellType,
    },
    Delete {
        cell: String,
    },
}

/// A notebook with one cell changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub notebook: String,
    /// The name of the cell.
    pub cell: String,
    /// Its old and new source; empty if the cell was inserted or deleted.
    pub before: String,
    pub after: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("it is not a notebook: {0}")]
    NoNotebook(String),
    #[error(
        "it has version {0} of the notebook format, and only version 4 can be changed. Convert it first, with \
         `jupyter nbconvert --to notebook`"
    )]
    OldFormat(u64),
    #[error("it has no cell `{wanted}`; its cells are {known}")]
    NoCell { wanted: String, known: String },
    #[error("several of its cells have the id `{0}`")]
    Ambiguous(String),
}

impl CellType {
    fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw => "raw",
        }
    }
}

pub fn change(text: &str, order: &Order) -> Result<Change, Problem> {
    let notebook = Notebook::read(text)?;
    match order {
        Order::Replace {
            cell,
            source,
            cell_type,
        } => notebook.replace(cell, source, *cell_type),
        Order::Insert {
            behind,
            source,
            cell_type,
        } => notebook.insert(behind.as_deref(), source, *cell_type),
        Order::Delete { cell } => notebook.delete(cell),
    }
}

struct Notebook<'t> {
    text: &'t str,
    /// The range of the list of cells, including its brackets.
    list: Range<usize>,
    cells: Vec<Cell>,
    has_ids: bool,
}

struct Cell {
    name: String,
    span: Range<usize>,
    value: Map<String, Value>,
}

impl<'t> Notebook<'t> {
    fn read(text: &'t str) -> Result<Self, Problem> {
        let no_notebook = |problem: &str| Problem::NoNotebook(problem.to_owned());
        let (value, node) = read(text).map_err(|wrong| Problem::NoNotebook(wrong.to_string()))?;
        let format = value["nbformat"]
            .as_u64()
            .ok_or_else(|| no_notebook("`nbformat` is missing"))?;
        if format != 4 {
            return Err(Problem::OldFormat(format));
        }
        let list = node.get("cells").and_then(|list| match &list.inside {
            Inside::List(nodes) => Some((list.span.clone(), nodes)),
            Inside::Object(_) | Inside::Plain => None,
        });
        let (list, nodes) = list.ok_or_else(|| no_notebook("it has no list of cells"))?;
        let values = value["cells"].as_array().into_iter().flatten();
        let cells: Option<Vec<Cell>> = (0..)
            .zip(nodes.iter().zip(values))
            .map(|(index, (node, value))| Cell::new(index, node, value))
            .collect();
        let cells = cells.ok_or_else(|| no_notebook("a cell is not an object"))?;
        let minor = value["nbformat_minor"].as_u64().unwrap_or(0);
        let has_ids = minor >= 5 || cells.iter().any(|cell| cell.value.contains_key("id"));
        Ok(Self {
            text,
            list,
            cells,
            has_ids,
        })
    }

    fn find(&self, name: &str) -> Result<usize, Problem> {
        let mut named = (0..self.cells.len()).filter(|index| self.cells[*index].name == name);
        match (named.next(), named.next()) {
            (Some(_), Some(_)) => Err(Problem::Ambiguous(name.to_owned())),
            (Some(index), None) => Ok(index),
            (None, _) => self.by_place(name).ok_or_else(|| Problem::NoCell {
                wanted: name.to_owned(),
                known: self.known(),
            }),
        }
    }

    /// `cell-3` also names a cell that has an id.
    fn by_place(&self, name: &str) -> Option<usize> {
        let index: usize = name.strip_prefix("cell-")?.parse().ok()?;
        (index < self.cells.len()).then_some(index)
    }

    fn known(&self) -> String {
        const MOST: usize = 20;
        let names = self.cells.iter().take(MOST).map(|cell| cell.name.as_str());
        let names: Vec<&str> = names.collect();
        match self.cells.len() {
            0 => "none".to_owned(),
            count if count > MOST => format!("{}, and {} more", names.join(", "), count - MOST),
            _ => names.join(", "),
        }
    }

    fn replace(
        &self,
        name: &str,
        source: &str,
        cell_type: Option<CellType>,
    ) -> Result<Change, Problem> {
        let cell = &self.cells[self.find(name)?];
        let mut value = cell.value.clone();
        if let Some(cell_type) = cell_type {
            value.insert("cell_type".into(), cell_type.name().into());
        }
        let as_list = !matches!(value.get("source"), Some(Value::String(_)));
        value.insert("source".into(), source_value(source, as_list));
        if value.get("cell_type").and_then(Value::as_str) == Some(CellType::Code.name()) {
            value.insert("execution_count".into(), Value::Null);
            value.insert("outputs".into(), json!([]));
        } else {
            value.shift_remove("execution_count");
            value.shift_remove("outputs");
        }
        Ok(Change {
            notebook: self.with(cell.span.clone(), &self.written(&value, cell.span.start)),
            cell: cell.name.clone(),
            before: cell.source(),
            after: source.to_owned(),
        })
    }

    fn insert(
        &self,
        behind: Option<&str>,
        source: &str,
        cell_type: CellType,
    ) -> Result<Change, Problem> {
        let place = match behind {
            Some(name) => self.find(name)? + 1,
            None => 0,
        };
        let id = self.has_ids.then(|| self.new_id());
        let value = new_cell(id.as_deref(), source, cell_type);
        let notebook = match (place.checked_sub(1), self.cells.first()) {
            (Some(before), _) => {
                let before = &self.cells[before].span;
                let written = self.written(&value, before.start);
                let gap = self.gap(before.start);
                self.with(before.end..before.end, &format!(",{gap}{written}"))
            }
            (None, Some(first)) => {
                let start = first.span.start;
                let written = self.written(&value, start);
                let gap = self.gap(start);
                self.with(start..start, &format!("{written},{gap}"))
            }
            (None, None) => {
                let cell = serde_json::to_string(&value).unwrap_or_default();
                self.with(self.list.clone(), &format!("[{cell}]"))
            }
        };
        Ok(Change {
            notebook,
            cell: id.unwrap_or_else(|| format!("cell-{place}")),
            before: String::new(),
            after: source.to_owned(),
        })
    }

    fn delete(&self, name: &str) -> Result<Change, Problem> {
        let index = self.find(name)?;
        let span = &self.cells[index].span;
        let without_comma = match (self.cells.get(index + 1), index.checked_sub(1)) {
            (Some(next), _) => span.start..next.span.start,
            (None, Some(before)) => self.cells[before].span.end..span.end,
            (None, None) => self.list.start + 1..self.list.end - 1,
        };
        Ok(Change {
            notebook: self.with(without_comma, ""),
            cell: self.cells[index].name.clone(),
            before: self.cells[index].source(),
            after: String::new(),
        })
    }

    /// The text with this range replaced.
    fn with(&self, range: Range<usize>, written: &str) -> String {
        let (before, after) = (&self.text[..range.start], &self.text[range.end..]);
        [before, written, after].concat()
    }

    /// What separates two cells if one begins at `start`: a line break and indentation, if cells are on their own
    /// lines.
    fn gap(&self, start: usize) -> String {
        match self.indentation(start) {
            Some(indentation) => format!("\n{indentation}"),
            None => " ".to_owned(),
        }
    }

    /// The indentation of the line, if `start` is its first character after white space.
    fn indentation(&self, start: usize) -> Option<&'t str> {
        let line = self.text[..start].rfind('\n')? + 1;
        let before = &self.text[line..start];
        before
            .bytes()
            .all(|byte| byte == b' ' || byte == b'\t')
            .then_some(before)
    }

    /// The JSON of a cell in the style of a cell that begins at `start`.
    fn written(&self, cell: &Map<String, Value>, start: usize) -> String {
        let Some(outer) = self.indentation(start) else {
            return serde_json::to_string(cell).unwrap_or_default();
        };
        // Cells are two levels deep.
        let unit = &outer[..(outer.len() / 2).max(1).min(outer.len())];
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(unit.as_bytes());
        let mut serializer = Serializer::with_formatter(&mut bytes, formatter);
        if cell.serialize(&mut serializer).is_err() {
            return String::new();
        }
        String::from_utf8_lossy(&bytes).replace('\n', &format!("\n{outer}"))
    }

    fn new_id(&self) -> String {
        loop {
            let id = format!("{:08x}", fastrand::u32(..));
            if self.cells.iter().all(|cell| cell.name != id) {
                return id;
            }
        }
    }
}

impl Cell {
    fn new(index: usize, node: &Node, value: &Value) -> Option<Self> {
        let value = value.as_object()?.clone();
        let name = match value.get("id").and_then(Value::as_str) {
            Some(id) => id.to_owned(),
            None => format!("cell-{index}"),
        };
        Some(Self {
            name,
            span: node.span.clone(),
            value,
        })
    }

    fn source(&self) -> String {
        match self.value.get("source") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                String::new()
            }
        }
    }
}

/// With its keys in the order that Jupyter uses.
fn new_cell(id: Option<&str>, source: &str, cell_type: CellType) -> Map<String, Value> {
    let mut cell = Map::new();
    cell.insert("cell_type".into(), cell_type.name().into());
    if cell_type == CellType::Code {
        cell.insert("execution_count".into(), Value::Null);
    }
    if let Some(id) = id {
        cell.insert("id".into(), id.into());
    }
    cell.insert("metadata".into(), json!({}));
    if cell_type == CellType::Code {
        cell.insert("outputs".into(), json!([]));
    }
    cell.insert("source".into(), source_value(source, true));
    cell
}

/// A source as a list of lines with their ends, or as one string.
fn source_value(source: &str, as_list: bool) -> Value {
    if as_list {
        source.split_inclusive('\n').map(Value::from).collect()
    } else {
        source.into()
    }
}
