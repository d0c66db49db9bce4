//! Which characters are invisible, and how they are shown.

/// A character that hides, reorders or controls text, and is therefore made visible.
pub fn is_hidden(character: char) -> bool {
    matches!(character,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Soft hyphen, grapheme joiner, Arabic letter mark, fillers, inherent vowels, Mongolian selectors.
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        // Zero-width characters, joiners, bidi marks, embeddings and isolates, line and paragraph separators.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        // Variation selectors, byte order mark, interlinear annotations, noncharacters.
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}'
        // Shorthand and musical format controls, tags and the selectors beside them.
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
        || u32::from(character) & 0xfffe == 0xfffe
}

/// A blank that is not an ordinary space. Harmless in prose, suspicious in a command.
pub fn is_odd_space(character: char) -> bool {
    character != ' ' && (character.is_whitespace() || character == '\u{2800}')
}

/// What is painted for a hidden character: a control picture, or its code point.
pub fn picture(character: char) -> String {
    match character {
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character))
            .map_or_else(|| number(character), String::from),
        '\u{7f}' => '␡'.into(),
        other => number(other),
    }
}

/// The code point of a character that is not painted itself.
pub fn number(character: char) -> String {
    format!("<U+{:04X}>", u32::from(character))
}

/// Whether the hidden character at `index` of a cluster is used as intended: joins emoji, selects their coloured form,
/// or shapes a script that is written with joiners.
pub fn is_intended(cluster: &[char], index: usize) -> bool {
    let before = index.checked_sub(1).map(|before| cluster[before]);
    let after = cluster.get(index + 1).copied();
    match cluster[index] {
        '\u{200d}' if cluster.len() <= LONGEST_EMOJI => {
            after.is_some_and(is_pictograph) && is_pictograph(cluster[0])
        }
        '\u{fe0e}' | '\u{fe0f}' => {
            before.is_some_and(|base| is_pictograph(base) || is_keycap(base))
        }
        '\u{e0020}'..='\u{e007f}' => cluster[0] == '🏴' && is_flag(&cluster[1..]),
        _ => false,
    }
}

/// A kiss with two skin tones has ten characters; no valid emoji has more.
const LONGEST_EMOJI: usize = 10;

fn is_keycap(character: char) -> bool {
    matches!(character, '0'..='9' | '#' | '*')
}

/// The three flags that Unicode recommends; any other run of tags is a hidden message.
fn is_flag(tags: &[char]) -> bool {
    if tags.len() != 6 {
        return false;
    }
    let letters: Option<String> = tags
        .iter()
        .map(|tag| char::from_u32(u32::from(*tag).checked_sub(0xe0000)?))
        .collect();
    matches!(
        letters.as_deref(),
        Some("gbeng\u{7f}" | "gbsct\u{7f}" | "gbwls\u{7f}")
    )
}

fn is_pictograph(character: char) -> bool {
    matches!(character,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '\u{2194}'..='\u{21aa}' | '\u{231a}'..='\u{23ff}' | 'Ⓜ'
        | '\u{25aa}'..='\u{27bf}' | '\u{2934}' | '\u{2935}' | '\u{2b05}'..='\u{2b55}'
        | '〰' | '〽' | '㊗' | '㊙' | '\u{1f000}'..='\u{1faff}')
}

/// Persian, Urdu and the Indic scripts write words with (non-)joiners; between two of their letters one is spelling.
pub fn is_joiner_between(before: char, joiner: char, after: char) -> bool {
    let joins = |letter: char| matches!(letter, '\u{620}'..='\u{dff}') && !is_hidden(letter);
    matches!(joiner, '\u{200c}' | '\u{200d}') && joins(before) && joins(after)
}
