//! What a call touches: files to read or edit, a host, a command.

use serde_json::Value;

use super::grant::Places;
use super::path::{Ground, Spot};
use super::pattern::Role;
use super::web;
use super::world::World;

/// The part of a call that rules look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Bash(String),
    Read(Files),
    Edit(Files),
    /// The host of a fetch, if its URL has one.
    Web(Option<String>),
    Other,
    /// The input lacks what rules would look at.
    Unclear(&'static str),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub spots: Vec<Spot>,
    pub role: Role,
}

impl Subject {
    pub fn of(tool: &str, input: &Value, ground: &Ground) -> Self {
        // The tools start where the shell stands.
        let base = ground.shell.lexical.as_str();
        let file = |field: &str| match input.get(field).and_then(Value::as_str) {
            Some(path) if !path.is_empty() => Some(Files {
                spots: vec![ground.spot(path, base)],
                role: Role::File,
            }),
            _ => None,
        };
        let unclear = Self::Unclear("it names no file");
        match tool {
            "Bash" => match input.get("command").and_then(Value::as_str) {
                Some(command) => Self::Bash(command.to_owned()),
                None => Self::Unclear("it has no command"),
            },
            "Read" => file("file_path").map_or(unclear, Self::Read),
            "Edit" | "MultiEdit" | "Write" => file("file_path").map_or(unclear, Self::Edit),
            "NotebookEdit" => file("notebook_path").map_or(unclear, Self::Edit),
            "Grep" | "LS" => starts(input, ground, None).map_or(unclear, Self::Read),
            "Glob" => starts(input, ground, Some("pattern")).map_or(unclear, Self::Read),
            "FileSearch" => {
                let replaces = input
                    .get("replace_with")
                    .is_some_and(|value| !value.is_null())
                    && input.get("preview_only") != Some(&Value::Bool(true));
                let kind = if replaces { Self::Edit } else { Self::Read };
                starts(input, ground, Some("file_glob")).map_or(unclear, kind)
            }
            "WebFetch" => Self::Web(input.get("url").and_then(Value::as_str).and_then(web::host)),
            _ => Self::Other,
        }
    }
}

/// Where the paths of a call lead. Every path is admitted where none is named, or where the links of one never end.
pub fn places(tool: &str, input: &Value, world: &World<'_>) -> Places {
    let (Subject::Read(files) | Subject::Edit(files)) =
        Subject::of(tool, input, &Ground::new(world))
    else {
        return Places::default();
    };
    let physical: Option<Vec<String>> = files.spots.into_iter().map(|spot| spot.physical).collect();
    physical.map(Places::these).unwrap_or_default()
}

/// Where a search starts: its `path`, and the literal beginning of a glob that may lead out of it.
fn starts(input: &Value, ground: &Ground, glob: Option<&str>) -> Option<Files> {
    let root = match input.get("path") {
        None | Some(Value::Null) => ground.shell.clone(),
        Some(Value::String(path)) => ground.spot(path, &ground.shell.lexical),
        Some(_) => return None,
    };
    let mut spots = Vec::new();
    if let Some(glob) = glob
        .and_then(|field| input.get(field))
        .and_then(Value::as_str)
    {
        let names: Vec<&str> = glob
            .split('/')
            .take_while(|name| !name.contains(['*', '?', '[', '{', '\\']))
            .collect();
        let literal = if names.len() == glob.split('/').count() {
            glob.to_owned()
        } else {
            names.join("/")
        };
        if glob.starts_with('/') || !literal.is_empty() {
            let literal = if literal.is_empty() { "/" } else { &literal };
            spots.push(ground.spot(literal, &root.lexical));
        }
        // `..` behind a wildcard leads anywhere.
        if glob.split('/').any(|name| name == "..") || glob.contains("../") {
            spots.push(ground.spot("..", &root.lexical));
        }
    }
    spots.insert(0, root);
    Some(Files {
        spots,
        role: Role::Start,
    })
}
