//! Colours: how files write them, and the nearest ones that a limited terminal has.

use ratatui::style::Color;

use super::Background;

/// If its strongest and weakest channel differ by less, a colour counts as grey.
const GREY: u8 = 24;

/// Colours whose hues are further apart, in degrees, have different names.
const SAME_HUE: i32 = 35;

/// The steps of a channel in the 256-colour cube.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

pub(super) const NAMED: [(&str, Color); 16] = [
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("white", Color::Gray),
    ("bright-black", Color::DarkGray),
    ("bright-red", Color::LightRed),
    ("bright-green", Color::LightGreen),
    ("bright-yellow", Color::LightYellow),
    ("bright-blue", Color::LightBlue),
    ("bright-magenta", Color::LightMagenta),
    ("bright-cyan", Color::LightCyan),
    ("bright-white", Color::White),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rgb(pub u8, pub u8, pub u8);

/// `#rrggbb`, `#rgb`, one of the 16 names, a number of the 256 colours, or `default`: the terminal's own.
pub(super) fn parse(word: &str) -> Option<Color> {
    if let Some(digits) = word.strip_prefix('#') {
        return hex(digits).map(|Rgb(red, green, blue)| Color::Rgb(red, green, blue));
    }
    if word == "default" {
        return Some(Color::Reset);
    }
    let named = NAMED.iter().find(|(name, _)| *name == word);
    named
        .map(|(_, color)| *color)
        .or_else(|| word.parse().ok().map(Color::Indexed))
}

/// Digits of three channels, one to four for each.
pub(super) fn hex(digits: &str) -> Option<Rgb> {
    let width = digits.len() / 3;
    if !digits.is_ascii() || digits.len() != width * 3 {
        return None;
    }
    let channel = |number: usize| scaled(&digits[number * width..][..width]);
    Some(Rgb(channel(0)?, channel(1)?, channel(2)?))
}

/// One to four hexadecimal digits as a channel: `f`, `ff` and `ffff` are all the maximum.
pub(super) fn scaled(digits: &str) -> Option<u8> {
    let wide =
        (1..=4).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let value = u32::from_str_radix(digits, 16).ok().filter(|_| wide)?;
    let most = (1 << (4 * digits.len())) - 1;
    u8::try_from((value * 255 + most / 2) / most).ok()
}

impl Rgb {
    /// The value of a colour, if it is the same on every terminal. The first 16 are the terminal's own, so unknown.
    pub fn of(color: Color) -> Option<Self> {
        match color {
            Color::Rgb(red, green, blue) => Some(Self(red, green, blue)),
            Color::Indexed(index @ 16..) => Some(Self::indexed(index)),
            _ => None,
        }
    }

    fn indexed(index: u8) -> Self {
        if index >= 232 {
            let grey = 8 + 10 * (index - 232);
            return Self(grey, grey, grey);
        }
        let step = |weight: u8| CUBE[usize::from((index - 16) / weight % 6)];
        Self(step(36), step(6), step(1))
    }

    /// From black, 0, to white, 1, as the eye perceives it (WCAG).
    pub fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// In degrees; a grey has none.
    fn hue(self) -> Option<i32> {
        let [red, green, blue] = [self.0, self.1, self.2].map(i32::from);
        let most = red.max(green).max(blue);
        let range = most - red.min(green).min(blue);
        if range < i32::from(GREY) || range * 5 < most {
            return None;
        }
        let degrees = if most == red {
            60 * (green - blue) / range
        } else if most == green {
            120 + 60 * (blue - red) / range
        } else {
            240 + 60 * (red - green) / range
        };
        Some(degrees.rem_euclid(360))
    }

    /// The nearest of the 240 colours that all terminals agree on. A tint stays a tint: the dark background of an added
    /// line must not turn grey because grey is nearer.
    pub fn to_256(self) -> Color {
        let hue = self.hue();
        let mut nearest = (u32::MAX, 16);
        for index in 16..=255 {
            let other = Self::indexed(index);
            let distance = self.distance(other);
            // Few are nearer than all before them, so the hue is rarely computed.
            if distance < nearest.0 && keeps_tint(hue, other.hue()) {
                nearest = (distance, index);
            }
        }
        Color::Indexed(nearest.1)
    }

    fn distance(self, other: Self) -> u32 {
        let square = |one: u8, other: u8| u32::from(one.abs_diff(other)).pow(2);
        // The eye is most sensitive to green, least to red.
        2 * square(self.0, other.0) + 4 * square(self.1, other.1) + 3 * square(self.2, other.2)
    }

    /// The one of the 16 colours with its name. The terminal decides how they look; the bright half is made for dark
    /// backgrounds.
    pub fn to_16(self, background: Background) -> Color {
        let luminance = self.luminance();
        let Some(hue) = self.hue() else {
            return match background {
                Background::Dark if luminance < 0.01 => Color::Black,
                Background::Dark if luminance < 0.3 => Color::DarkGray,
                Background::Dark if luminance < 0.75 => Color::Gray,
                Background::Dark => Color::White,
                Background::Light if luminance < 0.03 => Color::Black,
                Background::Light => Color::DarkGray,
            };
        };
        let (calm, bright) = match hue {
            20..70 => (Color::Yellow, Color::LightYellow),
            70..165 => (Color::Green, Color::LightGreen),
            165..200 => (Color::Cyan, Color::LightCyan),
            200..260 => (Color::Blue, Color::LightBlue),
            260..330 => (Color::Magenta, Color::LightMagenta),
            _ => (Color::Red, Color::LightRed),
        };
        match background {
            Background::Dark if luminance > 0.2 => bright,
            Background::Dark | Background::Light => calm,
        }
    }
}

fn keeps_tint(hue: Option<i32>, other: Option<i32>) -> bool {
    match (hue, other) {
        (Some(hue), Some(other)) => {
            let apart = (hue - other).rem_euclid(360);
            apart.min(360 - apart) <= SAME_HUE
        }
        (Some(_), None) => false,
        (None, _) => true,
    }
}
