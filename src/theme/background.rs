//! Whether the terminal is dark or light, from what it reports. The runtime asks it.

use super::colour::{self, Rgb};

/// The luminance that looks half way between black and white.
const MIDDLE: f64 = 0.18;

/// The background that a theme is made for, and that a terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Background {
    #[default]
    Dark,
    Light,
}

impl Background {
    /// From the variable `COLORFGBG`: `15;0`, or `15;default;0`. The last number is the background.
    pub fn from_colorfgbg(value: &str) -> Option<Self> {
        match value.rsplit(';').next()?.trim().parse::<u8>().ok()? {
            0..=6 | 8 => Some(Self::Dark),
            7 | 9..=15 => Some(Self::Light),
            _ => None,
        }
    }

    /// From the answer to an OSC 11 query, with or without the escape sequence around it: `rgb:1e1e/1e1e/2e2e`,
    /// `rgba:…`, `#1e1e2e`.
    pub fn from_osc11(reply: &str) -> Option<Self> {
        let reply = reply.trim_end_matches(['\u{7}', '\\', '\u{1b}', '\u{9c}']);
        let value = reply.rsplit(';').next()?.trim();
        let rgb = match value.strip_prefix('#') {
            Some(digits) => colour::hex(digits)?,
            None => channels(value)?,
        };
        Some(if rgb.luminance() < MIDDLE {
            Self::Dark
        } else {
            Self::Light
        })
    }
}

fn channels(value: &str) -> Option<Rgb> {
    let (wanted, value) = match value.strip_prefix("rgba:") {
        Some(value) => (4, value),
        None => (3, value.strip_prefix("rgb:")?),
    };
    let channels: Option<Vec<u8>> = value.split('/').map(colour::scaled).collect();
    match channels?[..] {
        [red, green, blue, ref rest @ ..] if rest.len() + 3 == wanted => {
            Some(Rgb(red, green, blue))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::Background;

    #[test]
    fn reads_what_terminals_answer() {
        let answers = [
            (
                "\u{1b}]11;rgb:1e1e/1e1e/2e2e\u{1b}\\",
                Some(Background::Dark),
            ),
            ("\u{1b}]11;rgb:fdfd/f6f6/e3e3\u{7}", Some(Background::Light)),
            ("rgb:00/00/00", Some(Background::Dark)),
            ("rgb:f/f/f", Some(Background::Light)),
            ("rgba:ffff/ffff/ffff/8080", Some(Background::Light)),
            ("#282c34", Some(Background::Dark)),
            ("#fff", Some(Background::Light)),
            ("#000000000000", Some(Background::Dark)),
            ("rgb:00/00", None),
            ("rgb:00/00/00/00", None),
            ("rgb:+1/00/00", None),
            ("rgb:00000/00/00", None),
            ("#", None),
            ("?", None),
            ("", None),
        ];
        for (answer, background) in answers {
            assert_eq!(Background::from_osc11(answer), background, "{answer:?}");
        }
    }

    #[test]
    fn reads_the_variable_that_terminals_set() {
        let values = [
            ("15;0", Some(Background::Dark)),
            ("0;15", Some(Background::Light)),
            ("12;default;8", Some(Background::Dark)),
            ("0;7", Some(Background::Light)),
            ("15;default", None),
            ("99", None),
            ("", None),
        ];
        for (value, background) in values {
            assert_eq!(Background::from_colorfgbg(value), background, "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn any_reply_of_the_terminal_is_harmless(answer in any::<String>(), digits in "(rgba?:|#)[0-9a-gé/]{0,20}") {
            Background::from_osc11(&answer);
            Background::from_osc11(&digits);
            Background::from_colorfgbg(&answer);
        }
    }
}
