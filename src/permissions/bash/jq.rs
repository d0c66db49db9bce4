//! jq: flags, and filters that do not read the environment, load code, grow without bound or run forever.

use super::flags::{Flags, Named};
use super::script::Word;

const FLAGS: Flags = Flags::new(
    "acCeMnrRsSjhV",
    "ascii-output compact-output color-output exit-status monochrome-output null-input raw-output raw-output0 slurp sort-keys \
     join-output tab indent= unbuffered seq stream raw-input help version",
);

/// Keywords and functions that end and whose results are not much larger than their input. Left out on purpose: those
/// that loop (`while`, `repeat`, `reduce`), multiplies (`combinations`, `walk`), makes an array as long as a number
/// says (`setpath`, `getpath`, `nth`, `pick`), reads the environment or loads code.
const KNOWN: &str = "if then elif else end and or not as try catch true false null empty error length utf8bytelength \
     keys keys_unsorted values has in map map_values path paths leaf_paths del to_entries from_entries with_entries select \
     add any all flatten floor ceil round sqrt fabs abs tostring tonumber type infinite nan isinfinite isnan isnormal \
     isvalid sort sort_by group_by min max min_by max_by unique unique_by reverse contains inside index rindex indices \
     startswith endswith ltrimstr rtrimstr trim ltrim rtrim explode implode split splits join ascii ascii_downcase \
     ascii_upcase recurse recurse_down transpose first last limit isempty input inputs input_filename input_line_number \
     arrays objects iterables booleans numbers strings nulls scalars tojson fromjson todate fromdate todateiso8601 \
     fromdateiso8601 now gmtime localtime mktime strftime strptime date test match capture scan sub tostream toarray \
     INDEX IN";
const FORMATS: [&str; 10] = [
    "text", "json", "html", "uri", "csv", "tsv", "sh", "base64", "base64d", "base32",
];
/// Each may multiply the work by what a file holds.
const MOST_ITERATIONS: usize = 4;
const LONGEST: usize = 1_000;
/// How many times longer than its input a result may be: `.+.` twenty times over is a million times as long.
const MOST_GROWTH: u64 = 10_000;

/// The files that jq reads; the error says what is not accepted.
pub fn check(words: &[Word]) -> Result<Vec<Named<'_>>, String> {
    let refused = |flag: &str| format!("`jq` is not known to be read-only with the flag `{flag}`");
    let mut paths = Vec::new();
    let mut filter: Option<&Word> = None;
    let mut flags = true;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        if flags && text == "--" {
            flags = false;
        } else if flags && text.len() > 1 && text.starts_with('-') {
            let values = match text {
                "--arg" | "--argjson" | "--slurpfile" | "--rawfile" => 2,
                "--indent" => 1,
                _ => {
                    FLAGS.read(std::slice::from_ref(word)).map_err(refused)?;
                    0
                }
            };
            let values: Vec<&Word> = rest.by_ref().take(values).collect();
            if let ("--slurpfile" | "--rawfile", [_, file]) = (text, values.as_slice()) {
                paths.push(Named {
                    text: &file.text,
                    word: file,
                });
            }
        } else if filter.is_none() {
            filter = Some(word);
        } else {
            paths.push(Named { text, word });
        }
    }
    match filter {
        None => Err("jq needs a filter".to_owned()),
        Some(filter) if !filter.is_literal() || !is_plain(&filter.text) => Err(format!(
            "the jq filter `{}` may do more than select",
            filter.raw
        )),
        Some(_) => Ok(paths),
    }
}

/// Checks every name in the filter, including those in code inside strings: `"\(env)"`. A field `.env` and a key
/// `{env}` are not functions.
fn is_plain(filter: &str) -> bool {
    let mut scan = Scan {
        filter,
        at: 0,
        open: Vec::new(),
        in_string: false,
        iterations: 0,
        ranges: 0,
        products: 0,
        growth: 1,
        copies: 1,
        assigns: false,
        indexes: false,
    };
    filter.len() <= LONGEST
        && scan.run().is_some()
        && !scan.in_string
        && scan.open.is_empty()
        && scan.iterations <= MOST_ITERATIONS
        && scan.ranges <= 1
        && scan.products <= 1
        && scan.growth.saturating_mul(scan.copies) <= MOST_GROWTH
        // Assigning to an index makes the array that long.
        && !(scan.assigns && scan.indexes)
}

struct Scan<'f> {
    filter: &'f str,
    at: usize,
    /// What is open: brackets, and `"` for code inside a string.
    open: Vec<char>,
    in_string: bool,
    iterations: usize,
    ranges: usize,
    products: usize,
    /// How many copies of the input the earlier stages may output, and how many this one.
    growth: u64,
    copies: u64,
    assigns: bool,
    /// There are brackets that contain more than one string.
    indexes: bool,
}

impl<'f> Scan<'f> {
    fn run(&mut self) -> Option<()> {
        while let Some(character) = self.filter[self.at..].chars().next() {
            let rest = &self.filter[self.at..];
            let mut step = character.len_utf8();
            match character {
                '\\' if self.in_string && rest.starts_with("\\(") => {
                    self.open.push('"');
                    self.in_string = false;
                    self.copies += 1;
                    step = 2;
                }
                '\\' if self.in_string => {
                    step += rest[1..].chars().next().map_or(0, char::len_utf8);
                }
                '"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                // Where a comment ends differs between versions.
                '#' => return None,
                '[' => {
                    self.open.push('[');
                    self.bracket(rest);
                }
                '(' | '{' => self.open.push(character),
                ')' => match self.open.pop()? {
                    '(' => {}
                    '"' => self.in_string = true,
                    _ => return None,
                },
                ']' => (self.open.pop()? == '[').then_some(())?,
                '}' => (self.open.pop()? == '{').then_some(())?,
                '=' => step = self.equals(rest),
                '+' => self.copies += 1,
                ',' => self.comma(),
                '|' => self.stage(),
                '*' => self.product(rest)?,
                '.' if rest.starts_with("..") => {
                    self.iterations += 1;
                    step = 2;
                }
                'a'..='z' | 'A'..='Z' | '_' => {
                    let length = rest
                        .find(|other: char| !other.is_ascii_alphanumeric() && other != '_')
                        .unwrap_or(rest.len());
                    self.name(&rest[..length], &rest[length..])?;
                    step = length;
                }
                '0'..='9' => {
                    // The `e` of an exponent is not a name.
                    step = rest
                        .find(|other: char| !other.is_ascii_alphanumeric() && other != '.')
                        .unwrap_or(rest.len());
                }
                _ => {}
            }
            self.at += step;
        }
        Some(())
    }

    fn bracket(&mut self, rest: &str) {
        let inside = rest[1..].trim_start();
        if inside.starts_with(']') {
            self.iterations += 1;
        } else if !inside.starts_with('"') {
            self.indexes = true;
        }
    }

    /// Inside parentheses, each alternative is combined with all others.
    fn comma(&mut self) {
        match self.open.last() {
            Some('(' | '"') => self.growth = self.growth.saturating_mul(2),
            Some(_) | None => self.copies += 1,
        }
    }

    /// Copies multiply from stage to stage.
    fn stage(&mut self) {
        self.growth = self.growth.saturating_mul(self.copies);
        self.copies = 1;
    }

    /// `==` and other comparisons are not assignments.
    fn equals(&mut self, rest: &str) -> usize {
        if rest.starts_with("==") {
            return 2;
        }
        self.assigns |= !self.filter[..self.at].ends_with(['!', '<', '>']);
        1
    }

    /// A string times a number is as long as the number says, so the number must be a small literal.
    fn product(&mut self, rest: &str) -> Option<()> {
        self.products += 1;
        let digits = rest[1..].trim_start();
        let length = digits
            .find(|other: char| !other.is_ascii_digit())
            .unwrap_or(digits.len());
        let whole = !digits[length..].starts_with(|next: char| next.is_ascii_alphanumeric());
        ((1..=4).contains(&length) && whole).then_some(())
    }

    fn name(&mut self, name: &'f str, behind: &'f str) -> Option<()> {
        let before = &self.filter[..self.at];
        let field = before.ends_with('.') && !before.ends_with("..");
        let key = self.open.last() == Some(&'{') && before.trim_end().ends_with(['{', ',']);
        if field || key {
            return Some(());
        }
        if before.ends_with('$') {
            return (name != "ENV" && !name.starts_with("__")).then_some(());
        }
        // Each one escapes the result of the one before.
        self.copies += u64::from(before.ends_with('@') || name == "tojson");
        if before.ends_with('@') {
            return FORMATS.contains(&name).then_some(());
        }
        let arguments = behind.trim_start().strip_prefix('(');
        match name {
            "range" => {
                self.ranges += 1;
                let (numbers, _) = arguments?.split_once(')')?;
                let small = |number: &str| {
                    let number = number.trim();
                    (1..=6).contains(&number.len())
                        && number.bytes().all(|byte| byte.is_ascii_digit())
                };
                (numbers.split(';').count() <= 2 && numbers.split(';').all(small)).then_some(())
            }
            "recurse" => {
                self.iterations += 1;
                arguments.is_none().then_some(())
            }
            "gsub" => finds_something(arguments?).then_some(()),
            _ => KNOWN
                .split_ascii_whitespace()
                .any(|known| known == name)
                .then_some(()),
        }
    }
}

/// Whether a pattern cannot match the empty string, for which jq 1.6 replaces without end: a literal, or a class.
fn finds_something(arguments: &str) -> bool {
    let Some(pattern) = arguments.trim_start().strip_prefix('"') else {
        return false;
    };
    let mut characters = pattern.chars();
    let mut found = false;
    while let Some(character) = characters.next() {
        match character {
            '"' => return found,
            '*' | '?' | '^' | '$' | '|' | '(' | ')' | '{' | '}' => return false,
            '\\' => match characters.next() {
                Some('n' | 't') => {}
                Some('\\') if characters.next().is_some_and(|next| ".-/s".contains(next)) => {}
                Some(_) | None => return false,
            },
            _ => {}
        }
        found = true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn filters_that_select_are_accepted() {
        for filter in [
            ".",
            ".a.b[0]",
            ".env",
            ".scripts | keys",
            ".[] | select(.environment == \"x\")",
            "map(.name) | sort",
            ".[\"env\"]",
            "\"env: \\(.a | length) def\"",
            "[range(3)]",
            "[recurse | numbers]",
            "{env, name: .a, (.b): 1}",
            "[.[] | {name, version}]",
            ".a * 100 | floor",
            ".a = 1 | .b |= length | .c += 1",
            "gsub(\"\\n\"; \" \") | sub(\"^x\"; \"\")",
            ".[] | @base64d, @csv",
            ".dependencies | to_entries[] | \"\\(.key)@\\(.value)\"",
            ".a >= 1e3 and .b != null",
        ] {
            assert!(is_plain(filter), "{filter}");
        }
    }

    #[test]
    fn filters_that_reach_further_are_not() {
        for filter in [
            "env",
            "$ENV",
            "$ENV.HOME",
            "\"\\(env)\"",
            "..env",
            "[env]",
            "{a: env}",
            "{(env): 1}",
            "import \"a\" as a; .",
            "\"\\(\"\\(env)\")\"",
            "# \"\nenv",
            "\"a\" | env",
            "$__prog_args",
            "\"",
            ")",
            "def f: f; f",
        ] {
            assert!(!is_plain(filter), "{filter}");
        }
    }

    #[test]
    fn c5_filters_that_may_not_end_or_grow_are_not() {
        for filter in [
            "range(1e9)",
            "range(.n)",
            "range(length)",
            "range(0; 9; 0)",
            "range(9999999)|range(9999999)",
            "range(99)|range(99)",
            "[range(9999999)]|combinations(9)",
            "combinations",
            "recurse(.)",
            "repeat(1)",
            "input|until(false;.)",
            "while(true; .)",
            "reduce .[] as $x (\"x\"; . + .)",
            "foreach .[] as $x (0; 1)",
            "walk([., .])",
            "[.[500000000]=1]",
            "[.[.n] = 1]",
            "[.[$n] |= 1]",
            "setpath([500000000]; 1)",
            "getpath($p) = 1",
            "nth(500000000) = 1",
            "pick(.[500000000])",
            "\"x\" * 1000000000",
            "\"x\" * .n",
            "\"x\" * 1e9",
            "\"x\" * 9999 * 9999",
            "[.[] + .[] + .[] + .[] + .[]]",
            "gsub(\"\"; \"a\")",
            &[".+."; 20].join("|"),
            &["[.,.]"; 20].join("|"),
            &["{a:.,b:.}"; 20].join("|"),
            &["\"\\(.)\\(.)\""; 20].join("|"),
            &["tojson"; 20].join("|"),
            &["@json"; 20].join("|"),
            &[".a += .a"; 20].join("|"),
            &["(.,.)"; 20].join("+"),
            "gsub(\"x*\"; \"a\")",
            "gsub(\"^\"; \"a\")",
            "gsub($x; \"a\")",
        ] {
            assert!(!is_plain(filter), "{filter}");
        }
    }
}
