//! Exit statuses that are an answer and not a failure.

/// Commands whose status 1 says "no": nothing found, files differ, condition false.
const ANSWERS: [&str; 8] = ["grep", "egrep", "fgrep", "rg", "diff", "cmp", "test", "["];
const GIT_ANSWERS: [&str; 2] = ["diff", "grep"];

/// Options of git that take the next word as their value.
const GIT_VALUES: [&str; 2] = ["-C", "-c"];

/// Whether status 1 of this command is an answer. Only if the status certainly comes from one of these commands: a
/// failed `cd` has the same status, so after a `cd` the shell must have `moved`.
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
    fn status_one_of_a_search_or_comparison_is_an_answer() {
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
    fn status_one_of_other_commands_is_a_failure() {
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
    fn a_failed_cd_is_not_an_answer() {
        assert!(!one_is_an_answer("cd missing && grep x y", false));
    }
}
