//! Jupyter notebooks as text: the cells in order, each with its source and outputs.

use std::fmt::Write;

use serde_json::Value;

use super::error::human_size;
use crate::text::{shortened, strip_ansi};

/// How much of one output is shown.
const MOST_OUTPUT_CHARS: usize = 10_000;

/// The cells of the notebook in `json`; an error says what is wrong with it.
pub fn cells(json: &[u8]) -> Result<String, String> {
    let notebook: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    // Version 3 of the format has its cells in worksheets.
    let cells = notebook["cells"]
        .as_array()
        .or_else(|| notebook["worksheets"][0]["cells"].as_array())
        .ok_or("it has no list of cells")?;
    let language = notebook["metadata"]["language_info"]["name"]
        .as_str()
        .or_else(|| notebook["metadata"]["kernelspec"]["language"].as_str())
        .unwrap_or("python");
    let mut text = String::new();
    for (index, cell) in cells.iter().enumerate() {
        push_cell(&mut text, index, cell, language);
    }
    Ok(text)
}

fn push_cell(text: &mut String, index: usize, cell: &Value, language: &str) {
    let id = match cell["id"].as_str() {
        Some(id) => id.to_owned(),
        None => format!("cell-{index}"),
    };
    let kind = cell["cell_type"].as_str().unwrap_or("code");
    if !text.is_empty() {
        text.push('\n');
    }
    let _ = write!(text, "<cell id=\"{id}\"><cell_type>{kind}</cell_type>");
    if kind == "code" {
        let _ = write!(text, "<language>{language}</language>");
    }
    let source = if cell["source"].is_null() {
        &cell["input"]
    } else {
        &cell["source"]
    };
    let _ = write!(text, "\n{}\n</cell id=\"{id}\">", joined(source));
    for output in cell["outputs"].as_array().into_iter().flatten() {
        let shown = output_text(output);
        if !shown.is_empty() {
            let _ = write!(
                text,
                "\n<output>\n{}\n</output>",
                shortened(shown.trim_end(), MOST_OUTPUT_CHARS, "… [output cut]")
            );
        }
    }
}

fn output_text(output: &Value) -> String {
    match output["output_type"].as_str() {
        Some("stream") => strip_ansi(&joined(&output["text"])).into_owned(),
        Some("error" | "pyerr") => {
            let traceback = output["traceback"].as_array().map(|lines| {
                let lines: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
                lines.join("\n")
            });
            let name = output["ename"].as_str().unwrap_or("error");
            let value = output["evalue"].as_str().unwrap_or_default();
            let traceback = traceback.unwrap_or_default();
            format!("{name}: {value}\n{}", strip_ansi(&traceback))
        }
        _ => data_text(&output["data"]),
    }
}

/// The plain text of an output; other kinds are only named.
fn data_text(data: &Value) -> String {
    let Some(kinds) = data.as_object() else {
        return String::new();
    };
    let mut text = kinds.get("text/plain").map(joined).unwrap_or_default();
    for (kind, content) in kinds {
        if kind.starts_with("image/") {
            let size = human_size(joined(content).len() as u64 / 4 * 3);
            let _ = write!(text, "\n[{kind}, {size}, not shown]");
        } else if text.is_empty() {
            text = joined(content);
        }
    }
    text.trim_end().to_owned()
}

/// A text in a notebook is a string or a list of lines.
fn joined(text: &Value) -> String {
    match text {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::cells;

    #[test]
    fn cells_are_shown_with_their_outputs() {
        let notebook = json!({
            "metadata": {"language_info": {"name": "python"}},
            "cells": [
                {"cell_type": "markdown", "id": "intro", "source": ["# Title\n", "text"]},
                {"cell_type": "code", "source": "1 + 1", "outputs": [
                    {"output_type": "stream", "name": "stdout", "text": ["a\n", "b\n"]},
                    {"output_type": "execute_result", "data": {"text/plain": "2", "image/png": "AAAA"}},
                    {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["\u{1b}[31mt1\u{1b}[0m", "t2"]},
                ]},
            ],
        });
        assert_eq!(
            cells(notebook.to_string().as_bytes()),
            Ok("<cell id=\"intro\"><cell_type>markdown</cell_type>\n# Title\ntext\n</cell id=\"intro\">\n\
                <cell id=\"cell-1\"><cell_type>code</cell_type><language>python</language>\n1 + 1\n\
                </cell id=\"cell-1\">\n\
                <output>\na\nb\n</output>\n\
                <output>\n2\n[image/png, 3 bytes, not shown]\n</output>\n\
                <output>\nE: bad\nt1\nt2\n</output>"
                .into())
        );
    }

    #[test]
    fn a_file_that_is_not_a_notebook_is_an_error() {
        assert!(cells(b"{").is_err());
        assert_eq!(cells(b"{}"), Err("it has no list of cells".into()));
    }
}
