//! Exit statuses that are an answer, not a failure.

/// Commands whose status 1 says "no": nothing found, files differ, condition false.
const ANSWERS: [&str; 8] = ["grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "["];
const GIT_ANSWERS: [&str; 2] = ["diff", "grep"];

/// Options of git that take the next word as their value.
const GIT_VALUES: [&str; 2] = ["-C", "-c"];

/// Whether status 1 of this command is an answer. Only where the status surely is that of one such command: a `cd` that
/// led nowhere fails with the same status, so the shell must have `moved` if it was to.
pub fn one_is_an_answer(command: &str, moved: bool) -> bool {
    if !moved && command.trim_start().starts_with("cd ") {
        return false;
    }
    let Some(words) = crate::permissions::bash::last_words(command) else {
        return false;
    };
    let mut words = words.iter().map(String::as_str);
    match words.next() {
        Some("git") => {
            while let Some(word) = words.next() {
                if GIT_VALUES.contains(&word) {
                    words.next();
                } else if !word.starts_with('-') {
                    return GIT_ANSWERS.contains(&word);
                }
            }
            false
        }
        Some(name) => ANSWERS.contains(&name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::one_is_an_answer;

    #[test]
    fn a_search_that_finds_nothing_has_answered() {
        for command in [
            "grep -q x file",
            "rg TODO",
            "diff a b",
            "cmp a b",
            "test -f x",
            "[ -f x ]",
            "git diff --exit-code",
            "git --no-pager grep x",
            "cat a | grep b",
            "cd src && grep x y",
            "git -C src diff --quiet",
        ] {
            assert!(one_is_an_answer(command, true), "{command}");
        }
    }

    #[test]
    fn a_failing_command_has_not() {
        for command in [
            "false",
            "make",
            "make && grep x y",
            "git status",
            "grep x y | wc -l",
            "grep x y; false",
        ] {
            assert!(!one_is_an_answer(command, true), "{command}");
        }
    }

    #[test]
    fn a_directory_that_is_not_there_is_no_answer() {
        assert!(!one_is_an_answer("cd missing && grep x y", false));
    }
}
