//! Text to read, as lines with a tone each. Shown by a pager, or beside the list of a picker.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What is to the left of the text: a mark, a name, or spaces. Wrapped rows are indented by its width.
    pub lead: String,
    pub lead_tone: Tone,
    pub text: String,
    pub tone: Tone,
}

/// What a piece of a line is; the theme decides how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Text,
    Muted,
    Heading,
    /// The part that matters most, such as a rule.
    Accent,
    /// The person's words.
    Person,
    /// Shown as it is, including spaces.
    Code,
    Good,
    Warning,
    Bad,
}

impl Line {
    pub fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            lead: String::new(),
            lead_tone: Tone::Muted,
            text: text.into(),
            tone,
        }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Tone::Text, text)
    }

    pub fn heading(text: impl Into<String>) -> Self {
        Self::new(Tone::Heading, text)
    }

    pub fn muted(text: impl Into<String>) -> Self {
        Self::new(Tone::Muted, text)
    }

    pub fn blank() -> Self {
        Self::text("")
    }

    #[must_use]
    pub fn lead(mut self, tone: Tone, lead: impl Into<String>) -> Self {
        self.lead = lead.into();
        self.lead_tone = tone;
        self
    }

    pub fn plain(&self) -> String {
        format!("{}{}", self.lead, self.text)
    }
}

/// The lines of a text, all of one tone. Wrapped rows of a list's item are indented like its text.
pub fn lines(text: &str, tone: Tone) -> Vec<Line> {
    let line = |line: &str| {
        let item = line.trim_start_matches(' ').strip_prefix("- ");
        match item.filter(|_| tone == Tone::Text) {
            Some(text) => {
                let mark = &line[..line.len() - text.len()];
                Line::new(tone, text).lead(tone, mark)
            }
            None => Line::new(tone, line),
        }
    };
    text.lines().map(line).collect()
}

/// Names and their values, aligned.
pub fn fields<'a>(fields: impl IntoIterator<Item = (&'a str, String)> + Clone) -> Vec<Line> {
    let names = fields.clone().into_iter();
    let column = names.map(|(name, _)| name.chars().count()).max();
    let column = column.unwrap_or(0) + 2;
    let line = |(name, value)| Line::text(value).lead(Tone::Muted, format!("{name:<column$}"));
    fields.into_iter().map(line).collect()
}
