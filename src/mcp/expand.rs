//! Variables in the configuration of a server: `${NAME}` and `${NAME:-default}`. Pure.

/// The value of a variable, if it is set.
pub type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

/// The text with the values of its variables; or the name of the first variable that is not set and has no default.
/// As in a shell, a default also replaces an empty value. Anything else with a `$` stays as it is.
pub fn expand(text: &str, variables: Variables<'_>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => expanded.push_str(text),
            Piece::Variable { name, default } => {
                let value = variables(name);
                let value = match default {
                    Some(default) => value
                        .filter(|value| !value.is_empty())
                        .or_else(|| Some(default.to_owned())),
                    None => value,
                };
                expanded.push_str(&value.ok_or_else(|| name.to_owned())?);
            }
        }
    }
    Ok(expanded)
}

/// The part of a text before and between its variables, or a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'t> {
    Text(&'t str),
    Variable {
        name: &'t str,
        default: Option<&'t str>,
    },
}

pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(start) = rest[from..].find("${").map(|at| from + at) {
        let inside = &rest[start + 2..];
        let variable = inside.find('}').and_then(|end| {
            let (name, default) = match inside[..end].split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (&inside[..end], None),
            };
            is_name(name).then_some((name, default, start + 2 + end + 1))
        });
        let Some((name, default, end)) = variable else {
            from = start + 2;
            continue;
        };
        if start > 0 {
            pieces.push(Piece::Text(&rest[..start]));
        }
        pieces.push(Piece::Variable { name, default });
        rest = &rest[end..];
        from = 0;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

fn is_name(name: &str) -> bool {
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts_well
        && name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        expand(text, &|name| match name {
            "HOME" => Some("/home/me".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${HOME}".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn variables_and_defaults_are_replaced_and_other_dollars_stay() {
        for (text, expected) in [
            ("", Ok("")),
            ("plain $HOME", Ok("plain $HOME")),
            ("${HOME}/bin:${HOME}", Ok("/home/me/bin:/home/me")),
            ("${NOT_SET:-x y}", Ok("x y")),
            ("${NOT_SET:-}", Ok("")),
            ("${HOME:-x}", Ok("/home/me")),
            ("${EMPTY:-x}", Ok("x")),
            ("a${EMPTY}b", Ok("ab")),
            ("${NESTED}", Ok("${HOME}")),
            ("${", Ok("${")),
            ("${}", Ok("${}")),
            ("${1A} ${HOME}", Ok("${1A} /home/me")),
            ("${a b}", Ok("${a b}")),
            ("${NOT_SET}", Err("NOT_SET")),
            ("${HOME}${_x}", Err("_x")),
            ("ä${HOME}ö", Ok("ä/home/meö")),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(expanded(text), expected, "{text}");
        }
    }
}
