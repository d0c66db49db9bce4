//! Words in messages.

use super::beginning;

/// A suggestion that is less similar would only confuse.
const ALIKE: f64 = 0.75;

/// Longer words are cut in messages.
const LONGEST: usize = 40;

/// The known word that `word` was probably meant to be.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = cut(word).to_lowercase();
    let likeness = |candidate: &str| strsim::jaro_winkler(&word, &candidate.to_lowercase());
    known
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, candidate)| candidate)
}

/// The known word that `word` is a typing mistake of: only a letter or two differ.
pub fn mistyped<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = cut(word).to_lowercase();
    let most = if word.len() < 6 { 1 } else { 2 };
    let distance = |candidate: &str| strsim::osa_distance(&word, &candidate.to_lowercase());
    known
        .into_iter()
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The word, cut for a message.
pub fn cut(word: &str) -> &str {
    beginning(word, LONGEST)
}

/// A count with its noun: `1 file`, `2 files`.
pub fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// A duration that may still increase: `12s`, `4m 12s`.
pub fn whole_seconds(whole: u64) -> String {
    match whole {
        0..60 => format!("{whole}s"),
        _ => format!("{}m {:02}s", whole / 60, whole % 60),
    }
}

/// A number of tokens, in a few characters.
pub fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..100_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        100_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::{mistyped, nearest};

    #[test]
    fn a_typing_mistake_differs_by_a_letter_or_two() {
        let known = ["Bash", "LS", "Write", "WebFetch"];
        for (word, meant) in [
            ("Bahs", Some("Bash")),
            ("bash", Some("Bash")),
            ("Wirte", Some("Write")),
            ("WebFecht", Some("WebFetch")),
            ("Brush", None),
            ("WebFetchTwice", None),
            ("Writer2000", None),
        ] {
            assert_eq!(mistyped(word, known), meant, "{word}");
        }
    }

    #[test]
    fn suggests_only_similar_words() {
        let known = ["scroll", "select", "search"];
        assert_eq!(nearest("Scrol", known), Some("scroll"));
        assert_eq!(nearest("panel", known), None);
        assert_eq!(nearest(&"scroll".repeat(1_000_000), known), Some("scroll"));
    }
}
