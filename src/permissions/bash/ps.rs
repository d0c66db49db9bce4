//! ps: complete forms that are known not to show the environment.
//!
//! Not a list of letters: when procps finds its options in conflict it reads all of them again as BSD ones, and the `e` of
//! `-e` then shows the environment of every process.

use super::script::Word;

/// What may come first. `LIST` is a list of columns, `NUMBERS` of processes, `NAME` of users or commands.
const FORMS: [&str; 42] = [
    "",
    "aux",
    "-aux",
    "auxf",
    "auxw",
    "auxww",
    "ax",
    "axu",
    "axf",
    "a",
    "x",
    "u",
    "-e",
    "-A",
    "-ef",
    "-efww",
    "-eF",
    "-ely",
    "-eLf",
    "-efH",
    "-ejH",
    "-f",
    "-l",
    "-F",
    "-eo LIST",
    "-e -o LIST",
    "-Ao LIST",
    "-A -o LIST",
    "axo LIST",
    "ax -o LIST",
    "-o LIST",
    "-p NUMBERS",
    "-fp NUMBERS",
    "-f -p NUMBERS",
    "-p NUMBERS -f",
    "-p NUMBERS -o LIST",
    "-o LIST -p NUMBERS",
    "-u NAME",
    "-fu NAME",
    "-u NAME -o LIST",
    "-C NAME",
    "-C NAME -o LIST",
];
/// What may follow every form, once each.
const TAIL: [&str; 3] = ["--sort=", "--no-headers", "--no-heading"];

/// The error says what is not accepted.
pub fn check(words: &[Word]) -> Result<(), String> {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    if matches!(texts.as_slice(), ["--version" | "-V" | "--help"]) {
        return Ok(());
    }
    let in_tail = |text: &str| TAIL.iter().any(|flag| text.starts_with(flag));
    let (form, tail) = texts.split_at(
        texts
            .iter()
            .position(|text| in_tail(text))
            .unwrap_or(texts.len()),
    );
    let plain_tail = tail.len() <= 2
        && tail.iter().all(|text| match text.strip_prefix("--sort=") {
            Some(keys) => is_list(keys.trim_start_matches(['-', '+'])),
            None => TAIL.contains(text),
        });
    let fits = |known: &&str| {
        let known: Vec<&str> = known.split_ascii_whitespace().collect();
        known.len() == form.len()
            && known.iter().zip(form).all(|(known, text)| match *known {
                "LIST" => is_list(text),
                "NUMBERS" => is_numbers(text),
                "NAME" => is_name(text),
                literal => literal == *text,
            })
    };
    if plain_tail && FORMS.iter().any(fits) {
        Ok(())
    } else {
        Err(format!(
            "`ps {}` may show process environments",
            texts.join(" ")
        ))
    }
}

/// Columns, each optionally with `=` and a heading.
fn is_list(text: &str) -> bool {
    !text.is_empty()
        && !text.contains("env")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_,%=:+-".contains(&byte))
        && !text.starts_with('-')
}

fn is_numbers(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b',')
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::{Word, check};

    fn is_accepted(form: &str) -> bool {
        let words: Vec<Word> = form.split_ascii_whitespace().map(Word::plain).collect();
        check(&words).is_ok()
    }

    #[test]
    fn a7_whole_forms_are_accepted() {
        for form in [
            "",
            "aux",
            "-ef",
            "-eo pid,args",
            "axo pid,comm",
            "-p 1 -o pid,cmd",
            "-p 1,2",
            "aux --sort=-%mem",
            "-eo pid,args --sort=-pid --no-headers",
            "-u root",
        ] {
            assert!(is_accepted(form), "{form}");
        }
    }

    #[test]
    fn a7_mixtures_that_procps_reads_again_are_not() {
        for form in [
            "-eT --forest",
            "-H -eT",
            "-eH -T",
            "-eo args -ec --user=root",
            "-eT --pid=1 -eH",
            "-ef --forest",
            "-ef --sort=pid -T",
            "--sort=pid -eT",
            "e",
            "auxe",
            "-ef e",
            "eww",
            "-o environ",
            "-eo pid,environ",
            "--sort=environ",
            "-p 1 e",
            "-p 1e",
            "-u -e",
        ] {
            assert!(!is_accepted(form), "{form}");
        }
    }
}
