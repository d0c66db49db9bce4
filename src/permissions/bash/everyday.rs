//! More programs that do not write, do not run others and end soon. They run without asking, although they are not on
//! the agreed list of read-only commands.

use super::flags::Flags;
use super::readers::{Operands, Reader, reader, strict};
use super::script::Word;

/// Commands that sleep longer than this, in total, ask.
pub const LONGEST_SLEEP: f64 = 60.0;

/// These programs, with their permitted flags.
pub(super) const EVERYDAY: &[Reader] = {
    use Operands::{Data, None, Paths, PatternThenPaths};
    const HELP: Flags = Flags::new("", "help version");
    &[
        // Without -o and -i, which name files on systems other than GNU.
        reader(
            "base64",
            Flags::new("dw:", "decode wrap= help version"),
            Paths,
        ),
        strict(
            "numfmt",
            Flags::new(
                "d:z",
                "delimiter= field= format= from= from-unit= grouping header? invalid= padding= round= suffix= to= to-unit= \
                 zero-terminated debug help version",
            ),
            Data,
        ),
        // Without -v, which runs another getconf. The name of a value is followed by a path.
        strict("getconf", Flags::new("a", "version"), PatternThenPaths),
        reader(
            "fmt",
            Flags::with_numbers(
                "cstuw:g:p:",
                "crown-margin prefix= split-only tagged-paragraph uniform-spacing width= goal= help version",
            ),
            Paths,
        ),
        reader(
            "pr",
            Flags::with_numbers(
                "acde?Ffh:i?Jl:mn?N:o:rs?S?tTvw:W:",
                "across show-control-chars double-space form-feed header= length= merge indent= no-file-warnings \
                 omit-header omit-pagination show-nonprinting width= page-width= help version",
            ),
            Paths,
        ),
        reader(
            "expand",
            Flags::new("it:", "initial tabs= help version"),
            Paths,
        ),
        reader(
            "unexpand",
            Flags::new("at:", "all first-only tabs= help version"),
            Paths,
        ),
        strict(
            "cal",
            Flags::new("13jmsy", "one three julian monday sunday year help version"),
            Data,
        ),
        strict("groups", HELP, Data),
        // Without -s and -c, which do not end.
        strict(
            "free",
            Flags::new(
                "bkmghtlwv",
                "bytes kibi mebi gibi kilo mega giga human total wide lohi si help version",
            ),
            None,
        ),
        // Without -s, which looks into another directory.
        strict(
            "lscpu",
            Flags::new(
                "abcBe?Jp?xyhV",
                "all online offline bytes extended? json parse? hex physical help version",
            ),
            None,
        ),
        // Without -F, which reads a file, and without --env.
        strict(
            "pgrep",
            Flags::new(
                "acd:fg:G:ilnoP:s:t:u:U:vwxr:",
                "list-full list-name count delimiter= full pgroup= group= ignore-case newest oldest parent= session= \
                 terminal= euid= uid= inverse lightweight exact runstates= help version",
            ),
            Data,
        ),
        // Without -B, -M and -S, which name directories to look into.
        strict("whereis", Flags::new("bmsul", "help version"), Data),
        // Without --check, which opens every file named in a list.
        reader(
            "cksum",
            Flags::new(
                "a:l:z",
                "algorithm= base64 length= raw tag untagged zero debug help version",
            ),
            Paths,
        ),
        reader(
            "b2sum",
            Flags::new("bl:tz", "binary length= tag text zero help version"),
            Paths,
        ),
    ]
};

/// How long a `sleep` with these arguments takes.
pub fn sleep_seconds(arguments: &[Word]) -> Option<f64> {
    if arguments.is_empty() {
        return None;
    }
    arguments.iter().map(duration).sum()
}

fn duration(word: &Word) -> Option<f64> {
    let text = word.raw.as_str();
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) if text.ends_with('m') => (number, 60.0),
        Some(number) if text.ends_with('h') => (number, 3_600.0),
        Some(number) => (number, 1.0),
        None => (text, 1.0),
    };
    let plain = word.is_bare()
        && number.starts_with(|first: char| first.is_ascii_digit())
        && number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain
        .then(|| number.parse::<f64>().ok())
        .flatten()
        .map(|number| number * unit)
}

/// Programs that do nothing but print their version with `--version`. Programs that first read a configuration file of
/// the project are not included.
pub fn only_prints_version(name: &str, arguments: &[Word]) -> bool {
    matches!(name, "node" | "python3" | "gcc" | "g++" | "clang")
        && matches!(arguments, [only] if only.raw == "--version")
}
