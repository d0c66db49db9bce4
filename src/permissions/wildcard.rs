//! Text with `*` for any text, blanks and newlines included.

/// A compiled pattern. Matching is linear in the text for each piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wildcard {
    /// The text between the stars.
    pieces: Vec<String>,
}

impl Wildcard {
    pub fn new(pattern: &str) -> Self {
        Self {
            pieces: pattern.split('*').map(str::to_owned).collect(),
        }
    }

    /// A pattern in which a star after a colon is an ordinary character.
    pub fn with_literal_colon_star(pattern: &str) -> Self {
        let mut pieces = vec![String::new()];
        for (at, piece) in pattern.split('*').enumerate() {
            let last = pieces.last_mut().expect("there is a first piece");
            if at > 0 && last.ends_with(':') {
                last.push('*');
                last.push_str(piece);
            } else if at > 0 {
                pieces.push(piece.to_owned());
            } else {
                last.push_str(piece);
            }
        }
        Self { pieces }
    }

    /// Whether there is no star in it.
    pub fn is_exact(&self) -> bool {
        self.pieces.len() == 1
    }

    /// Whether it contains one of these characters.
    pub fn contains(&self, characters: &[char]) -> bool {
        self.pieces.iter().any(|piece| piece.contains(characters))
    }

    pub fn matches(&self, text: &str) -> bool {
        let (Some(first), Some(last)) = (self.pieces.first(), self.pieces.last()) else {
            return false;
        };
        if self.is_exact() {
            return text == first;
        }
        let Some(mut rest) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        for piece in &self.pieces[1..self.pieces.len() - 1] {
            match rest.find(piece.as_str()) {
                Some(at) => rest = &rest[at + piece.len()..],
                None => return false,
            }
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Wildcard;

    #[test]
    fn a_star_behind_a_colon_may_be_itself() {
        let pattern = Wildcard::with_literal_colon_star("a:* b*");
        assert!(pattern.matches("a:* bc"));
        assert!(!pattern.matches("a:x bc"));
        assert!(Wildcard::with_literal_colon_star("a:*").is_exact());
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text) in [
            ("*", ""),
            ("*", "a b\nc"),
            ("a*", "a"),
            ("*a", "ba"),
            ("a*b*c", "a-b-b-c"),
            ("a**b", "ab"),
            ("ab", "ab"),
        ] {
            assert!(Wildcard::new(pattern).matches(text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("a*", "ba"),
            ("a*a", "a"),
            ("a*b*c", "a-c-b"),
            ("ab", "abc"),
            ("", "a"),
        ] {
            assert!(!Wildcard::new(pattern).matches(text), "{pattern} {text}");
        }
    }
}
