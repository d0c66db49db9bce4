//! What each known program does with its arguments.

use super::everyday::{LONGEST_SLEEP, only_prints_version, sleep_seconds};
use super::files::touches;
use super::flags::{Arguments, Named};
use super::lists::Lists;
use super::readers::{Globs, Operands, Reader, reader_named};
use super::script::{Traits, Word};
use super::{find, git, jq, ps, sed};

/// A command without its wrappers.
pub struct Command<'n, 'p> {
    pub name: &'n str,
    pub arguments: &'p [Word],
    /// It is run by `xargs`.
    pub fed: bool,
    pub lists: Lists,
}

impl<'p> Command<'_, 'p> {
    /// The paths that it names, if it is certainly read-only; the error says why it is not.
    pub fn check(&self) -> Result<Vec<Named<'p>>, String> {
        let reader = reader_named(self.name, self.lists);
        let globs =
            self.name == "echo" || reader.is_some_and(|reader| reader.globs == Globs::Harmless);
        if self.fed && !globs {
            return Err(format!(
                "an argument from `xargs` may become a flag of `{}`",
                self.name
            ));
        }
        for word in self.arguments {
            self.check_word(word, globs)?;
        }
        // Even `echo` lists a directory when a glob names it.
        let globbed = self
            .arguments
            .iter()
            .filter(|word| word.traits.has(Traits::GLOB));
        let mut paths = self.paths(reader)?;
        paths.extend(globbed.map(|word| Named {
            text: &word.text,
            word,
        }));
        Ok(paths)
    }

    /// The paths that the command names, if its flags and operands are accepted.
    fn paths(&self, reader: Option<Reader>) -> Result<Vec<Named<'p>>, String> {
        match self.name {
            "echo" => Ok(Vec::new()),
            "printf" => self.printf(),
            "find" => find::check(self.arguments),
            "sed" => sed::check(self.arguments, self.lists),
            "git" => git::check(self.arguments, self.lists),
            "jq" => jq::check(self.arguments),
            "ps" => ps::check(self.arguments).map(|()| Vec::new()),
            "xxd" => self.xxd(),
            "test" => self.test(self.arguments),
            "[" => match self.arguments.split_last() {
                Some((last, arguments)) if last.text == "]" => self.test(arguments),
                _ => Err("`[` has no `]`".to_owned()),
            },
            "cd" => match self
                .arguments
                .strip_prefix(&[Word::plain("--")])
                .unwrap_or(self.arguments)
            {
                [target]
                    if target.is_literal()
                        && !target.text.is_empty()
                        && !target.text.starts_with('-') =>
                {
                    Ok(Vec::new())
                }
                _ => Err("`cd` is only accepted with one literal directory".to_owned()),
            },
            name if self.lists == Lists::Everyday && self.is_everyday(name)? => Ok(Vec::new()),
            name => match reader {
                Some(reader) => self.reader(reader.flags.read(self.arguments), reader.operands),
                // Some commands are known to write.
                None if touches(name).1 => Err(format!("`{name}` can change files")),
                None => Err(format!("`{name}` is not known to be read-only")),
            },
        }
    }

    /// Whether it is a command without paths that is only on the longer list.
    fn is_everyday(&self, name: &str) -> Result<bool, String> {
        Ok(match name {
            "sleep" => match sleep_seconds(self.arguments) {
                Some(seconds) if seconds <= LONGEST_SLEEP => true,
                Some(_) => return Err("it waits longer than a minute".to_owned()),
                None => return Err("can't tell how long it waits".to_owned()),
            },
            // All its words are evaluated, and the result is printed.
            "expr" => !matches!(self.arguments, [only] if only.text.starts_with("--")),
            // A day in words, without a time zone, which may name a file.
            "date" => matches!(self.arguments, [flag, day, rest @ ..]
                if matches!(flag.text.as_str(), "-d" | "--date")
                    && !day.text.contains("TZ")
                    && rest.iter().all(|word| word.text == "-u" || word.text.starts_with('+') && !pads_conversions(&word.text))),
            name => only_prints_version(name, self.arguments),
        })
    }

    fn check_word(&self, word: &Word, globs: bool) -> Result<(), String> {
        let traits = word.traits;
        let odd = Traits::EXPANSION
            .or(Traits::BRACE)
            .or(Traits::DOLLAR_QUOTED);
        if traits.has(odd) || (traits.has(Traits::STATUS) && self.name != "echo") {
            return Err(format!("`{}` is expanded by the shell", word.raw));
        }
        if traits.has(Traits::TILDE) && word.text != "~" && !word.text.starts_with("~/") {
            return Err(format!("`{}` is expanded by the shell", word.raw));
        }
        if traits.has(Traits::GLOB) && !globs && !matches!(word.raw.as_str(), "[") {
            return Err(format!(
                "the glob `{}` may become a flag of `{}`",
                word.raw, self.name
            ));
        }
        Ok(())
    }

    fn reader(
        &self,
        arguments: Result<Arguments<'p>, &'p str>,
        operands: Operands,
    ) -> Result<Vec<Named<'p>>, String> {
        let name = self.name;
        let arguments = arguments.map_err(|flag| {
            format!("`{name}` is not known to be read-only with the flag `{flag}`")
        })?;
        let mut paths = arguments.operands.clone();
        match operands {
            Operands::None if !paths.is_empty() => {
                return Err(format!("`{name}` has an argument"));
            }
            Operands::OnePath if paths.len() > 1 => {
                return Err(format!("`{name}` writes its second argument"));
            }
            Operands::Data => {
                let fine = match name {
                    "date" => paths.iter().all(|operand| {
                        operand.text.starts_with('+') && !pads_conversions(operand.text)
                    }),
                    "seq" => ends_soon(&paths),
                    _ => true,
                };
                if !fine {
                    return Err(format!("`{name}` has an argument that is not accepted"));
                }
                paths.clear();
            }
            Operands::PatternThenPaths => {
                let no_pattern = [
                    "e",
                    "f",
                    "regexp",
                    "file",
                    "files",
                    "type-list",
                    "pcre2-version",
                    "version",
                    "help",
                ];
                if !arguments.has(&no_pattern) && !paths.is_empty() {
                    paths.remove(0);
                }
            }
            Operands::None | Operands::OnePath | Operands::Paths => {}
        }
        if is_padded(name, &arguments) {
            return Err(format!("`{name}` would print too much"));
        }
        if name == "tail" && paths.iter().any(|path| follows_by_operand(path.text)) {
            return Err("`tail` would keep waiting for more".to_owned());
        }
        // A file named like this is read for options.
        if name == "strings" && paths.iter().any(|path| path.text.starts_with('@')) {
            return Err("`strings` reads options from `@file`".to_owned());
        }
        let descends = matches!(name, "grep" | "egrep" | "fgrep" | "rg" | "diff");
        if descends && paths.iter().any(|path| reaches_processes(path.text)) {
            return Err(format!("`{name}` may read process environments there"));
        }
        paths.extend(arguments.paths);
        Ok(paths)
    }

    /// The format is data, except `%n`, which sets a variable; `-v` evaluates a subscript.
    fn printf(&self) -> Result<Vec<Named<'p>>, String> {
        let format = match self.arguments {
            [first, rest @ ..] if first.text == "--" => rest.first(),
            [first, ..] if first.text.starts_with('-') => {
                return Err("`printf` is not known to be read-only with a flag".to_owned());
            }
            all => all.first(),
        };
        if format.is_some_and(|format| !format.is_literal()) {
            return Err("the format of `printf` is expanded by the shell".to_owned());
        }
        let format = format.map_or_else(String::new, |format| format.text.replace("%%", ""));
        if pads_conversions(&format)
            || conversions(&format).any(|widths| widths.contains('*'))
                && self.arguments.iter().any(|word| pads(&word.text))
        {
            return Err("`printf` would print too much".to_owned());
        }
        let assigns = format.split('%').skip(1).any(|conversion| {
            let flags = |flag: char| flag.is_ascii_digit() || "-+ #.*'hlLjtz".contains(flag);
            conversion.trim_start_matches(flags).starts_with('n')
        });
        if assigns {
            Err("`printf` may set a variable".to_owned())
        } else {
            Ok(Vec::new())
        }
    }

    /// `-v` and `-R` evaluate subscripts. What follows a file test is a path.
    fn test(&self, arguments: &'p [Word]) -> Result<Vec<Named<'p>>, String> {
        if arguments
            .iter()
            .any(|word| matches!(word.text.as_str(), "-v" | "-R"))
        {
            return Err(format!(
                "`{}` evaluates its argument with -v and -R",
                self.name
            ));
        }
        let file_tests = "abcdefghkprsuwxGLNOS";
        let is_file_test = |word: &Word| {
            word.text.len() == 2
                && word.text.starts_with('-')
                && file_tests.contains(&word.text[1..])
        };
        let compares = |word: &Word| matches!(word.text.as_str(), "-nt" | "-ot" | "-ef");
        let tested = arguments
            .windows(2)
            .filter(|pair| is_file_test(&pair[0]) || compares(&pair[0]))
            .map(|pair| &pair[1]);
        let first_operands = arguments
            .windows(2)
            .filter(|pair| compares(&pair[1]))
            .map(|pair| &pair[0]);
        Ok(tested
            .chain(first_operands)
            .map(|word| Named {
                text: &word.text,
                word,
            })
            .collect())
    }

    /// Its flags do not bundle and match by prefix, so only exact ones are accepted.
    fn xxd(&self) -> Result<Vec<Named<'p>>, String> {
        let mut paths = Vec::new();
        let mut rest = self.arguments.iter();
        while let Some(word) = rest.next() {
            // After an operand even a flag is an operand, and the second operand is written.
            if !paths.is_empty() {
                return Err("`xxd` writes its second argument".to_owned());
            }
            match word.text.as_str() {
                "-a" | "-b" | "-e" | "-E" | "-i" | "-p" | "-ps" | "-r" | "-u" => {}
                "-c" | "-g" | "-l" | "-o" | "-s" => {
                    let value = rest.next().map_or("", |word| word.text.as_str());
                    if !is_count(value) {
                        return Err(format!("`xxd` has `{}` without a number", word.text));
                    }
                }
                text if text.len() > 2
                    && ["-c", "-g", "-l", "-o", "-s"].contains(&text.get(..2).unwrap_or("")) =>
                {
                    if !is_count(&text[2..]) {
                        return Err(format!(
                            "`xxd` is not known to be read-only with the flag `{text}`"
                        ));
                    }
                }
                text if text.len() > 1 && text.starts_with('-') => {
                    return Err(format!(
                        "`xxd` is not known to be read-only with the flag `{text}`"
                    ));
                }
                text => paths.push(Named { text, word }),
            }
        }
        Ok(paths)
    }
}

/// The paths that a command on the list of readers names, with any expansions; `None` for other commands.
pub fn named_paths<'p>(
    name: &str,
    arguments: &'p [Word],
) -> Option<Result<Vec<Named<'p>>, String>> {
    let reader = reader_named(name, Lists::Everyday);
    let special = matches!(name, "find" | "sed" | "jq" | "xxd" | "test" | "[");
    let command = Command {
        name,
        arguments,
        fed: false,
        lists: Lists::Everyday,
    };
    (reader.is_some() || special).then(|| command.paths(reader))
}

/// Whether an operand is a device other than /dev/null, or a file of /proc that holds the environment or memory, or could
/// be one once the shell has expanded it. Relative paths are taken from a directory of unknown depth.
pub fn is_special(path: &Named<'_>) -> bool {
    let Some(components) = from_root(path) else {
        return false;
    };
    let Some((first, rest)) = components.split_first() else {
        return false;
    };
    let globs = path.word.traits.has(Traits::GLOB);
    let is_glob = |component: &str| globs && component.contains(['*', '?', '[']);
    is_special_below(first, rest, &is_glob) || is_glob(first)
}

/// Whether an absolute path without `.` and `..` is a device other than /dev/null, or shows the environment or memory of a
/// process.
pub fn is_special_path(absolute: &str) -> bool {
    let components: Vec<&str> = absolute
        .split('/')
        .filter(|name| !name.is_empty())
        .collect();
    components
        .split_first()
        .is_some_and(|(first, rest)| is_special_below(first, rest, &|_| false))
}

fn is_special_below(first: &str, rest: &[&str], is_glob: &dyn Fn(&str) -> bool) -> bool {
    match first {
        "dev" => rest != ["null"],
        "proc" => rest.iter().any(|name| {
            is_glob(name)
                || matches!(
                    *name,
                    "environ" | "mem" | "kcore" | "kmsg" | "root" | "cwd" | "fd" | "map_files"
                )
        }),
        _ => false,
    }
}

/// Whether such paths may lie below this one.
pub fn holds_special(path: &Named<'_>) -> bool {
    from_root(path).is_some_and(|components| match components.first() {
        None => true,
        Some(first) => {
            matches!(*first, "proc" | "dev")
                || path.word.traits.has(Traits::GLOB) && first.contains(['*', '?', '['])
        }
    })
}

/// The components of a path that may start at the root; `None` for one that certainly starts elsewhere.
fn from_root<'p>(path: &Named<'p>) -> Option<Vec<&'p str>> {
    let mut components: Vec<&str> = Vec::new();
    let text = path.text;
    let mut rooted = text.starts_with('/');
    let place = path.word.traits.has(Traits::PLACE.or(Traits::TILDE));
    for component in text
        .split('/')
        .filter(|component| !component.is_empty() && *component != ".")
    {
        if component != ".." {
            components.push(component);
        } else if components.pop().is_none() || (place && components.is_empty()) {
            // Enough `..` reach the root from anywhere, and the depth of the home directory is not known.
            rooted = true;
        }
    }
    rooted.then_some(components)
}

/// Whether a flag makes the output many times larger than what is read.
fn is_padded(name: &str, arguments: &Arguments<'_>) -> bool {
    let widths: &[&str] = match name {
        "nl" => &["w", "number-width", "l", "join-blank-lines"],
        "stat" => &["c", "format", "printf"],
        "du" => &["time-style"],
        "tree" => &["timefmt"],
        "seq" => &["f", "format"],
        "od" => &["w", "width"],
        "column" => &["c", "columns", "output-width"],
        "ls" => &["T", "tabsize", "w", "width", "time-style"],
        "diff" => &["W", "width", "tabsize"],
        "expand" | "unexpand" => &["t", "tabs"],
        "pr" => &[
            "e",
            "i",
            "indent",
            "l",
            "length",
            "n",
            "N",
            "o",
            "w",
            "W",
            "width",
            "page-width",
        ],
        "numfmt" => &["format", "padding", "from-unit", "to-unit"],
        _ => &[],
    };
    let long = |value: &str| name == "seq" && value.len() > 100;
    let wide = |value: &str| {
        if value.contains('%') {
            pads_conversions(value)
        } else {
            pads(value)
        }
    };
    // Its counts and widths multiply, for every byte that it reads.
    let dumps = |flag: &str, value: &str| {
        name == "hexdump" && matches!(flag, "e" | "format") && longest_number(value) > 2
    };
    arguments.values.iter().any(|(flag, value)| {
        long(value) || dumps(flag, value) || widths.contains(flag) && wide(value)
    })
}

/// A search below `/` or in `/proc` reads the environment of processes.
fn reaches_processes(text: &str) -> bool {
    let mut components = text
        .split('/')
        .filter(|component| !component.is_empty() && *component != ".");
    text.starts_with('/') && matches!(components.next(), None | Some("proc" | ".."))
}

/// Whether a width may produce far too many blanks or digits.
pub fn pads(text: &str) -> bool {
    longest_number(text) > 4
}

fn longest_number(text: &str) -> usize {
    let numbers = text.split(|other: char| !other.is_ascii_digit());
    numbers.map(str::len).max().unwrap_or_default()
}

/// The same for a format: only numbers that are the width of a conversion matter.
pub fn pads_conversions(format: &str) -> bool {
    conversions(format).any(pads)
}

/// The text between each `%` and its letter.
fn conversions(format: &str) -> impl Iterator<Item = &str> {
    let widths = |behind: &'_ str| behind.find(|letter: char| letter.is_ascii_alphabetic());
    format
        .split('%')
        .skip(1)
        .map(move |behind| &behind[..widths(behind).unwrap_or(behind.len())])
}

/// `tail +1f` is an old way to write `tail -n +1 -f`, which never ends.
fn follows_by_operand(text: &str) -> bool {
    let count = text
        .strip_prefix('+')
        .and_then(|rest| rest.strip_suffix('f'));
    count.is_some_and(|count| {
        let known = |letter: char| letter.is_ascii_digit() || "bclkm".contains(letter);
        count.chars().all(known)
    })
}

/// Whether `seq` ends after few enough steps.
fn ends_soon(operands: &[Named<'_>]) -> bool {
    const MOST: f64 = 1_000_000.0;
    let number = |operand: &Named<'_>| {
        let digits = operand.text.strip_prefix('-').unwrap_or(operand.text);
        let plain = |byte: u8| byte.is_ascii_digit() || byte == b'.';
        (digits.len() <= 12 && digits.bytes().all(plain))
            .then(|| operand.text.parse::<f64>().ok())
            .flatten()
    };
    let Some(numbers) = operands.iter().map(number).collect::<Option<Vec<f64>>>() else {
        return false;
    };
    let (distance, step) = match numbers.as_slice() {
        [] => (0.0, 1.0),
        [last] => (*last, 1.0),
        [first, last] => (last - first, 1.0),
        [first, step, last] => (last - first, *step),
        _ => return false,
    };
    (distance / step).abs() <= MOST
}

fn is_count(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    match digits.strip_prefix("0x") {
        Some(hexadecimal) => {
            !hexadecimal.is_empty() && hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        None => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()),
    }
}
