//! A valid search: the regex, globs and types of an input, compiled.
//!
//! Every error in an input is found here, before the person is asked and before a file is opened.

use std::fs;
use std::path::{Path, PathBuf};

use grep_matcher::LineTerminator;
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};

use super::{Input, OutputMode};
use crate::tools::ToolError;
use crate::tools::tree::first::Limit;
use crate::tools::tree::{self, Hidden, names};

/// A larger result does not help a model; the rest is dropped, and the result says so.
const MAX_LINES: usize = 100_000;
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// Limits for a compiled pattern. ripgrep's are ten and thirty times as high, but these patterns come from a model.
const MAX_PATTERN_BYTES: usize = 10 * 1024 * 1024;
const MAX_CACHE_BYTES: usize = 32 * 1024 * 1024;

/// How many type names an error suggests.
const SUGGESTIONS: usize = 5;

pub(super) struct Query {
    pub(super) matcher: RegexMatcher,
    pub(super) line_terminator: LineTerminator,
    pub(super) root: Root,
    /// Paths below it are shown relative to it.
    pub(super) cwd: PathBuf,
    pub(super) filter: Filter,
    pub(super) mode: OutputMode,
    pub(super) line_numbers: bool,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) multiline: bool,
    pub(super) limit: Limit,
    pub(super) cut: Cut,
}

/// Where the search starts. A file that the input names is searched in any case; files found by the walk are
/// filtered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Root {
    File(PathBuf),
    Directory(PathBuf),
}

/// Which files below a directory are searched, in addition to ignore files.
pub(super) struct Filter {
    pub(super) globs: Override,
    pub(super) types: Types,
    pub(super) hidden: Hidden,
}

/// Who set the limit of the result: if the model did, the cut needs no remark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Asked,
    Ours,
}

impl Query {
    pub(super) fn new(input: &Input, cwd: &Path) -> Result<Self, ToolError> {
        tree::check_length("pattern", &input.pattern)?;
        tree::check_length("glob", input.glob.as_deref().unwrap_or_default())?;
        let root = root(input.path.as_deref(), cwd)?;
        let (matcher, line_terminator) = compile(input)?;
        let context = input.context.unwrap_or(0);
        let lines = |own: Option<u32>| match input.output_mode {
            OutputMode::Content => own.unwrap_or(context) as usize,
            OutputMode::FilesWithMatches | OutputMode::Count => 0,
        };
        let (head_limit, cut) = match input.head_limit {
            Some(limit @ 1..) if (limit as usize) <= MAX_LINES => (limit as usize, Cut::Asked),
            _ => (MAX_LINES, Cut::Ours),
        };
        Ok(Self {
            matcher,
            line_terminator,
            filter: Filter {
                globs: globs(input.glob.as_deref(), root.path())?,
                types: types(input.kind.as_deref())?,
                hidden: hidden(input.glob.as_deref())?,
            },
            root,
            cwd: cwd.to_owned(),
            mode: input.output_mode,
            line_numbers: input.line_numbers.unwrap_or(true),
            before: lines(input.before),
            after: lines(input.after),
            multiline: input.multiline,
            limit: Limit {
                lines: head_limit,
                bytes: MAX_BYTES,
            },
            cut,
        })
    }

    pub(super) fn has_context(&self) -> bool {
        self.before > 0 || self.after > 0
    }

    pub(super) fn is_filtered(&self) -> bool {
        !self.filter.globs.is_empty() || !self.filter.types.is_empty()
    }
}

impl Root {
    pub(super) fn path(&self) -> &Path {
        match self {
            Root::File(path) | Root::Directory(path) => path,
        }
    }
}

fn root(path: Option<&str>, cwd: &Path) -> Result<Root, ToolError> {
    let path = tree::root(path, cwd)?;
    let shown = names::show(&path);
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Ok(Root::Directory(path)),
        Ok(metadata) if metadata.is_file() => Ok(Root::File(path)),
        Ok(_) => Err(ToolError::new(format!(
            "`{shown}` is neither a file nor a directory and cannot be searched"
        ))
        .with_sentence("this is neither a file nor a directory")),
        Err(error) => Err(tree::unreachable(&shown, &error)),
    }
}

/// Both kinds of line end are handled alike: `$` also matches before `\r
/// `. Only a pattern that contains `\r` sees the line ends as they are.
fn compile(input: &Input) -> Result<(RegexMatcher, LineTerminator), ToolError> {
    let crlf = LineTerminator::crlf();
    let failed = match builder(input, crlf).build(&input.pattern) {
        Ok(matcher) => return Ok((matcher, crlf)),
        Err(error) => error,
    };
    match failed.kind() {
        ErrorKind::NotAllowed(literal) if literal == "\r" => {
            let lf = LineTerminator::byte(b'\n');
            match builder(input, lf).build(&input.pattern) {
                Ok(matcher) => Ok((matcher, lf)),
                Err(error) => Err(bad_pattern(&error)),
            }
        }
        _ => Err(bad_pattern(&failed)),
    }
}

fn builder(input: &Input, terminator: LineTerminator) -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(input.ignore_case)
        .crlf(terminator.is_crlf())
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_CACHE_BYTES);
    if input.multiline {
        builder.line_terminator(None).dot_matches_new_line(true);
    } else if !terminator.is_crlf() {
        builder.line_terminator(Some(b'\n'));
    }
    builder
}

fn bad_pattern(error: &grep_regex::Error) -> ToolError {
    ToolError::new(match error.kind() {
        ErrorKind::NotAllowed(literal) if literal == "\n" => {
            "the pattern contains a line end; set `multiline` to match across lines".to_owned()
        }
        _ => format!(
            "`pattern` is not a regular expression that can be searched for: {error}\n\
             To look for one of `. * + ? ( ) [ ] {{ }} | ^ $ \\` itself, put a backslash before it"
        ),
    })
    .with_sentence("the pattern is not a valid regular expression")
}

fn globs(glob: Option<&str>, root: &Path) -> Result<Override, ToolError> {
    let mut builder = OverrideBuilder::new(root);
    for glob in glob.map(split_globs).unwrap_or_default() {
        builder.add(glob).map_err(|error| bad_glob(&error))?;
    }
    builder.build().map_err(|error| bad_glob(&error))
}

fn hidden(glob: Option<&str>) -> Result<Hidden, ToolError> {
    let globs = glob.map(split_globs).unwrap_or_default();
    let included = globs.into_iter().filter(|glob| !glob.starts_with('!'));
    tree::hidden_names(included).map_err(|error| bad_glob(&error))
}

fn bad_glob(error: &dyn std::error::Error) -> ToolError {
    invalid_glob("glob", error)
}

fn invalid_glob(field: &str, error: &dyn std::error::Error) -> ToolError {
    ToolError::new(format!("`{field}` is not valid: {error}"))
        .with_sentence("the glob is not valid")
}

/// Checks globs that another tool takes from its own field.
pub(in crate::tools) fn check_globs(field: &str, globs: &str) -> Result<(), ToolError> {
    let mut builder = OverrideBuilder::new("/");
    for glob in split_globs(globs) {
        let added = builder.add(glob);
        added.map_err(|error| invalid_glob(field, &error))?;
    }
    Ok(())
}

/// Splits at commas outside of braces and brackets.
pub(in crate::tools) fn split_globs(globs: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    globs
        .split(move |character| {
            match character {
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            character == ',' && depth == 0
        })
        .map(str::trim)
        .filter(|glob| !glob.is_empty())
        .collect()
}

fn types(kind: Option<&str>) -> Result<Types, ToolError> {
    let Some(kind) = kind else {
        return Ok(Types::empty());
    };
    let mut builder = TypesBuilder::new();
    builder.add_defaults().select(kind);
    builder.build().map_err(|_| unknown_type(kind, &builder))
}

fn unknown_type(kind: &str, builder: &TypesBuilder) -> ToolError {
    let definitions = builder.definitions();
    let extension = format!("*.{}", kind.trim_start_matches('.'));
    let mut near: Vec<(usize, &str)> = definitions
        .iter()
        .map(|definition| {
            // Models often give an extension: `rs` means `rust`.
            let distance = if definition.globs().contains(&extension) {
                0
            } else {
                distance(kind, definition.name())
            };
            (distance, definition.name())
        })
        .collect();
    near.sort_unstable();
    let near: Vec<String> = near
        .into_iter()
        .take(SUGGESTIONS)
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    ToolError::new(format!(
        "unknown file type `{}`; near names: {}. Or use `glob`",
        names::escape(kind),
        near.join(", ")
    ))
    .with_sentence("unknown file type")
}

/// How many letters differ. A name that the other one begins with counts as near, whatever its length.
fn distance(a: &str, b: &str) -> usize {
    if !a.is_empty() && (a.starts_with(b) || b.starts_with(a)) {
        return 1;
    }
    strsim::levenshtein(a, b)
}
