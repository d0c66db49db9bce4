//! What a call touches, with its paths resolved: files to read or edit, a host, a command.

use super::grant::Places;
use super::path::{PathContext, Spot};
use super::pattern::Role;
use super::web;
use super::world::World;
use crate::protocol::{MissingInput, Paths, Touches};

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
    Unclear(MissingInput),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    pub spots: Vec<Spot>,
    pub role: Role,
}

impl Subject {
    pub fn of(touches: &Touches, context: &PathContext) -> Self {
        match touches {
            Touches::Command(command) => Self::Bash(command.clone()),
            Touches::Reads(paths) => Self::Read(files(paths, context)),
            Touches::Writes(paths) => Self::Edit(files(paths, context)),
            Touches::Web(url) => Self::Web(url.as_deref().and_then(web::host)),
            Touches::Nothing => Self::Other,
            Touches::Unclear(lacks) => Self::Unclear(*lacks),
        }
    }
}

/// Where the paths of a call lead. If none is named, or a path's links never end, every path is permitted.
pub fn places(touches: &Touches, world: &World<'_>) -> Places {
    let (Touches::Reads(paths) | Touches::Writes(paths)) = touches else {
        return Places::default();
    };
    let spots = files(paths, &PathContext::new(world)).spots.into_iter();
    let physical: Option<Vec<String>> = spots.map(|spot| spot.physical).collect();
    physical.map(Places::these).unwrap_or_default()
}

fn files(paths: &Paths, context: &PathContext) -> Files {
    match paths {
        Paths::Files(files) => {
            // The tools start in the shell's directory.
            let spot = |path: &String| context.spot(path, &context.shell.lexical);
            Files {
                spots: files.iter().map(spot).collect(),
                role: Role::File,
            }
        }
        Paths::Below { directory, glob } => starts(directory.as_deref(), glob.as_deref(), context),
    }
}

/// Where a search starts: its directory, and the literal beginning of a glob that may lead out of it.
fn starts(directory: Option<&str>, glob: Option<&str>, context: &PathContext) -> Files {
    let root = match directory {
        None => context.shell.clone(),
        Some(path) => context.spot(path, &context.shell.lexical),
    };
    let mut spots = Vec::new();
    if let Some(glob) = glob {
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
            spots.push(context.spot(literal, &root.lexical));
        }
        // `..` after a wildcard may lead anywhere.
        if glob.split('/').any(|name| name == "..") || glob.contains("../") {
            spots.push(context.spot("..", &root.lexical));
        }
    }
    spots.insert(0, root);
    Files {
        spots,
        role: Role::Start,
    }
}
