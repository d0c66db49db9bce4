use serde_json::{Value, json};

use super::cells::{CellType, Order, Problem, change};
use super::{Input, NotebookEdit};
use crate::permissions::Grant;
use crate::protocol::{PartOfFile, Shown};
use crate::tools::Tool;
use crate::tools::files::scratch::{Scratch, text};

/// As Jupyter writes it: one blank per level, sorted keys, a line end at the end.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {"tags": [1.50]},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["2\n"]}
   ],
   "source": [
    "1 + 1"
   ]
  }
 ],
 "metadata": {"note": "\u00e4"},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

fn replace(cell: &str, source: &str) -> Order {
    Order::Replace {
        cell: cell.into(),
        source: source.into(),
        cell_type: None,
    }
}

fn parsed(notebook: &str) -> Value {
    serde_json::from_str(notebook).expect("JSON")
}

#[test]
fn only_the_cell_changes_and_its_outputs_are_cleared() {
    let done = change(NOTEBOOK, &replace("sum", "a = 1\na + 1")).expect("changed");
    assert_eq!(
        (done.before.as_str(), done.after.as_str()),
        ("1 + 1", "a = 1\na + 1")
    );
    let start = NOTEBOOK
        .find("  {\n   \"cell_type\": \"code\"")
        .expect("there");
    let end = NOTEBOOK.find("\n ],\n \"metadata\"").expect("there");
    assert_eq!(done.notebook[..start], NOTEBOOK[..start]);
    assert!(done.notebook.ends_with(&NOTEBOOK[end..]));
    let cell = &done.notebook[start..done.notebook.len() - (NOTEBOOK.len() - end)];
    assert_eq!(
        cell,
        "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"sum\",\n   \"metadata\": {\n    \
         \"tags\": [\n     1.5\n    ]\n   },\n   \"outputs\": [],\n   \"source\": [\n    \"a = 1\\n\",\n    \"a + 1\"\n   ]\n  }"
    );
}

#[test]
fn a_cell_can_change_its_type() {
    let order = Order::Replace {
        cell: "sum".into(),
        source: "words".into(),
        cell_type: Some(CellType::Markdown),
    };
    let notebook = parsed(&change(NOTEBOOK, &order).expect("changed").notebook);
    assert_eq!(
        notebook["cells"][1],
        json!({"cell_type": "markdown", "id": "sum", "metadata": {"tags": [1.5]}, "source": ["words"]})
    );
    let order = Order::Replace {
        cell: "intro".into(),
        source: "2".into(),
        cell_type: Some(CellType::Code),
    };
    let notebook = parsed(&change(NOTEBOOK, &order).expect("changed").notebook);
    assert_eq!(notebook["cells"][0]["outputs"], json!([]));
    assert_eq!(notebook["cells"][0]["execution_count"], Value::Null);
}

#[test]
fn cells_are_inserted_after_a_cell_or_at_the_beginning_with_new_ids() {
    let insert = |behind: Option<&str>| Order::Insert {
        behind: behind.map(Into::into),
        source: "new".into(),
        cell_type: CellType::Code,
    };
    for (behind, place) in [(None, 0), (Some("intro"), 1), (Some("sum"), 2)] {
        let done = change(NOTEBOOK, &insert(behind)).expect("inserted");
        let notebook = parsed(&done.notebook);
        let cells = notebook["cells"].as_array().expect("cells");
        assert_eq!(cells.len(), 3);
        assert_eq!(cells[place]["source"], json!(["new"]));
        assert_eq!(cells[place]["id"], done.cell.as_str());
        assert_eq!(done.cell.len(), 8);
        assert!(done.notebook.contains("\n  {\n   \"cell_type\": \"code\""));
    }
    let empty = r#"{"cells": [], "nbformat": 4, "nbformat_minor": 4}"#;
    let done = change(empty, &insert(None)).expect("inserted");
    assert_eq!(done.cell, "cell-0", "before 4.5 cells have no ids");
    assert_eq!(parsed(&done.notebook)["cells"][0].get("id"), None);
}

#[test]
fn cells_are_deleted_together_with_their_comma() {
    let delete = |cell: &str| Order::Delete { cell: cell.into() };
    for (cell, left) in [("intro", "sum"), ("sum", "intro")] {
        let done = change(NOTEBOOK, &delete(cell)).expect("deleted");
        let notebook = parsed(&done.notebook);
        assert_eq!(notebook["cells"].as_array().map(Vec::len), Some(1));
        assert_eq!(notebook["cells"][0]["id"], left);
        let none = change(&done.notebook, &delete(left)).expect("deleted");
        assert_eq!(parsed(&none.notebook)["cells"], json!([]));
    }
}

#[test]
fn cells_can_also_be_named_by_position() {
    let done = change(NOTEBOOK, &replace("cell-1", "x")).expect("changed");
    assert_eq!(done.cell, "sum");
    let compact = r#"{"cells":[{"cell_type":"raw","metadata":{},"source":"a"}],"nbformat":4}"#;
    let done = change(compact, &replace("cell-0", "b")).expect("changed");
    assert_eq!(
        done.notebook,
        r#"{"cells":[{"cell_type":"raw","metadata":{},"source":"b"}],"nbformat":4}"#
    );
}

#[test]
fn invalid_notebooks_and_inputs_are_explained() {
    assert_eq!(
        change(NOTEBOOK, &replace("nowhere", "")),
        Err(Problem::NoCell {
            wanted: "nowhere".into(),
            known: "intro, sum".into(),
        })
    );
    assert_eq!(
        change(r#"{"nbformat": 3, "worksheets": []}"#, &replace("a", "")),
        Err(Problem::OldFormat(3))
    );
    for broken in [
        "{",
        "[]",
        r#"{"nbformat": 4}"#,
        r#"{"nbformat": 4, "cells": [1]}"#,
    ] {
        let problem = change(broken, &replace("a", ""));
        assert!(
            matches!(problem, Err(Problem::NoNotebook(_))),
            "{broken}: {problem:?}"
        );
    }
    let twice = NOTEBOOK.replace("\"sum\"", "\"intro\"");
    assert_eq!(
        change(&twice, &replace("intro", "")),
        Err(Problem::Ambiguous("intro".into()))
    );
}

async fn opened() -> Scratch {
    let scratch = Scratch::new();
    scratch.put("a.ipynb", NOTEBOOK);
    scratch.read("a.ipynb").await.expect("readable");
    scratch
}

fn input(extra: &Value) -> Value {
    let mut input = json!({"notebook_path": "a.ipynb", "cell_id": "sum", "new_source": "2 + 2\n"});
    for (name, value) in extra.as_object().expect("an object") {
        input[name] = value.clone();
    }
    input
}

#[tokio::test]
async fn the_person_sees_the_change_of_the_cell() {
    let scratch = opened().await;
    let output = scratch
        .run(&NotebookEdit, input(&json!({})))
        .await
        .expect("edited");
    assert_eq!(
        text(&output),
        format!(
            "Updated cell sum of {}:\n2 + 2\n",
            scratch.path("a.ipynb").display()
        )
    );
    let Shown::Excerpts(shown) = &output.shown else {
        panic!("{:?}", output.shown);
    };
    assert_eq!(shown[0].path, "a.ipynb cell sum");
    assert_eq!(shown[0].before.as_deref(), Some("1 + 1"));
    assert_eq!(&*shown[0].after, "2 + 2\n");
    for text in ["1 + 1", "2 + 2\n"] {
        let name = crate::tools::files::ContentHash::of(text.as_bytes()).to_string();
        let kept = scratch.cx.env.checkpoints.text(&name);
        assert_eq!(kept.as_deref(), Some(text), "to be shown again");
    }
    let notebook: Value = serde_json::from_slice(&scratch.bytes("a.ipynb")).expect("JSON");
    assert_eq!(notebook["cells"][1]["source"], json!(["2 + 2\n"]));
}

#[tokio::test]
async fn a_notebook_must_have_been_read_and_the_input_complete() {
    let scratch = Scratch::new();
    scratch.put("a.ipynb", NOTEBOOK);
    let refused = async |extra: Value| {
        let error = scratch.run(&NotebookEdit, input(&extra)).await;
        error.expect_err("refused").message
    };
    assert!(
        refused(json!({}))
            .await
            .starts_with("File has not been read yet")
    );
    scratch.read("a.ipynb").await.expect("readable");
    assert!(
        refused(json!({"cell_id": null}))
            .await
            .contains("`cell_id` must say")
    );
    let insert = json!({"edit_mode": "insert"});
    assert!(refused(insert).await.contains("needs a `cell_type`"));
    assert!(
        refused(json!({"cell_id": "x"}))
            .await
            .contains("it has no cell `x`")
    );
    let other = json!({"notebook_path": "notes.txt"});
    assert!(refused(other).await.contains("is not a notebook"));
    assert_eq!(scratch.bytes("a.ipynb"), NOTEBOOK.as_bytes());
}

#[tokio::test]
async fn a_part_of_a_cells_change_can_be_allowed() {
    let scratch = opened().await;
    let whole: Input =
        serde_json::from_value(input(&json!({"new_source": "1 + 1\n\n\n\n2"}))).expect("an input");
    let part = PartOfFile {
        path: "a.ipynb cell sum".into(),
        after: "1 + 1\n".into(),
    };
    let output = NotebookEdit
        .call_in_part(whole, vec![part], Grant::by_person(), scratch.cx.clone())
        .await
        .expect("edited");
    let notebook: Value = serde_json::from_slice(&scratch.bytes("a.ipynb")).expect("JSON");
    assert_eq!(notebook["cells"][1]["source"], json!(["1 + 1\n"]));
    assert_eq!(
        output.for_model.len(),
        2,
        "the model is told what is missing"
    );
}

#[tokio::test]
async fn a_cell_stays_if_its_deletion_was_not_accepted() {
    let scratch = opened().await;
    let whole: Input =
        serde_json::from_value(input(&json!({"edit_mode": "delete"}))).expect("an input");
    let diffs = NotebookEdit.preview(&whole, &scratch.cx).await;
    assert_eq!((diffs.len(), &*diffs[0].after), (1, ""));
    scratch
        .run(&NotebookEdit, input(&json!({"edit_mode": "delete"})))
        .await
        .expect("deleted");
    let notebook: Value = serde_json::from_slice(&scratch.bytes("a.ipynb")).expect("JSON");
    assert_eq!(notebook["cells"].as_array().map(Vec::len), Some(1));
}
