//! More read-only subcommands, which are not on the agreed list.

use super::{Arguments, DIFF_SHORT, Flags, LOG, Word};

const REV_PARSE: Flags = Flags::new(
    "",
    "git-dir git-path= show-toplevel show-prefix git-common-dir absolute-git-dir path-format=",
);
const SHOW_REF: Flags = Flags::new(
    "ds?q",
    "dereference hash? abbrev? head heads branches tags verify exists quiet",
);
const FOR_EACH_REF: Flags = Flags::new(
    "",
    "sort= format= count= contains= no-contains= merged= no-merged= points-at= ignore-case omit-empty exclude= color?",
);
const NAME_REV: Flags = Flags::new(
    "",
    "name-only always undefined no-undefined tags refs= exclude= all",
);
const CHECK_IGNORE: Flags = Flags::new("qvn", "quiet verbose non-matching no-index");
const DIFF_TREE: Flags = Flags::with_numbers(
    "rtpusRaWbwzqU?S:G:l:I:M?B?D",
    concat!(
        diff_flags!(),
        "root no-commit-id pretty? format= merge-base always"
    ),
);
const DIFF_INDEX: Flags =
    Flags::with_numbers(DIFF_SHORT, concat!(diff_flags!(), "cached merge-base"));
const CONFIG_GET: Flags = Flags::new(
    "z",
    "all regexp= value= fixed-value default= global local system worktree null name-only show-origin show-scope \
     show-names includes no-includes type= bool int path",
);

/// The arguments of such a subcommand; `None` for every other. The error says what is not accepted.
pub fn read<'w>(subcommand: &Word, rest: &'w [Word]) -> Result<Option<Arguments<'w>>, String> {
    let name = subcommand.raw.as_str();
    let read = |flags: &Flags| super::read(flags, name, rest);
    let with = |arguments: Arguments<'w>, fits: bool| {
        if fits {
            // They are not paths.
            Ok(Some(Arguments {
                operands: Vec::new(),
                ..arguments
            }))
        } else {
            Err(format!("`git {name}` may write with these arguments"))
        }
    };
    match name {
        "--version" | "version" => with(read(&Flags::NONE)?, rest.is_empty()),
        "reflog" => {
            let rest = match rest.split_first() {
                Some((action, rest)) if action.raw == "show" => rest,
                _ => rest,
            };
            let arguments = super::read(&LOG, name, rest)?;
            let acts = ["expire", "delete", "drop", "exists", "write", "list"];
            let fits = !arguments
                .operands
                .iter()
                .any(|operand| acts.contains(&operand.text));
            with(arguments, fits)
        }
        "rev-parse" if rest.iter().any(|word| word.text.starts_with("--git-")) => {
            let arguments = read(&REV_PARSE)?;
            let fits = arguments.operands.is_empty();
            with(arguments, fits)
        }
        "show-ref" => with(read(&SHOW_REF)?, true),
        "for-each-ref" => with(read(&FOR_EACH_REF)?, true),
        "name-rev" => with(read(&NAME_REV)?, true),
        "check-ignore" => read(&CHECK_IGNORE).map(Some),
        "diff-tree" => read(&DIFF_TREE).map(Some),
        "diff-index" => read(&DIFF_INDEX).map(Some),
        "count-objects" => {
            let arguments = read(&Flags::new("vH", "verbose human-readable"))?;
            let fits = arguments.operands.is_empty();
            with(arguments, fits)
        }
        // A second operand would be the new value.
        "symbolic-ref" => {
            let arguments = read(&Flags::new("q", "quiet short no-recurse"))?;
            let fits = arguments.operands.len() == 1;
            with(arguments, fits)
        }
        "cherry" => with(read(&Flags::new("v", "abbrev="))?, true),
        "var" => {
            let arguments = read(&Flags::new("l", ""))?;
            let fits = arguments.operands.len() + arguments.given.len() == 1;
            with(arguments, fits)
        }
        "config" => match rest {
            [name] if is_key(name) => with(Arguments::default(), true),
            [action, rest @ ..] if action.raw == "get" => {
                let arguments = super::read(&CONFIG_GET, "config get", rest)?;
                let fits = arguments.operands.len() == 1;
                with(arguments, fits)
            }
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The name of a variable. Subcommands have no dot.
fn is_key(word: &Word) -> bool {
    word.is_literal()
        && !word.text.starts_with('-')
        && word.text.contains('.')
        && !word.text.contains(char::is_whitespace)
}
