//! Paints one line of code: syntax, changed words, and characters that would be invisible.

use std::ops::Range;

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::app::diff::{self, Ending, Endings, Kind};
use crate::text::number;
use crate::theme::{Role, Theme};
use crate::ui::text::{Indent, Lookalike, Row, TAB, alike_in_file, chop, clean, graphemes, width};

use super::gutter::Gutter;

/// The background of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineBackground {
    Same,
    Removed,
    Added,
}

impl LineBackground {
    pub fn of(kind: Kind) -> Self {
        match kind {
            Kind::Context { .. } => LineBackground::Same,
            Kind::Removed { .. } => LineBackground::Removed,
            Kind::Added { .. } => LineBackground::Added,
        }
    }

    pub fn mark(self) -> char {
        match self {
            LineBackground::Same => ' ',
            LineBackground::Removed => '-',
            LineBackground::Added => '+',
        }
    }

    pub fn style(self, theme: &Theme) -> Style {
        theme.style(match self {
            LineBackground::Same => Role::Text,
            LineBackground::Removed => Role::Removed,
            LineBackground::Added => Role::Added,
        })
    }

    fn word(self) -> Role {
        match self {
            LineBackground::Same => Role::Text,
            LineBackground::Removed => Role::RemovedWord,
            LineBackground::Added => Role::AddedWord,
        }
    }
}

/// What is known about a line besides its text: ordered byte ranges.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ranges<'a> {
    pub colours: &'a [(Range<usize>, Role)],
    pub words: &'a [Range<usize>],
}

pub struct Painter<'a> {
    pub theme: &'a Theme,
    /// If all lines end alike, their endings are not shown.
    pub endings: Endings,
}

impl Painter<'_> {
    /// One line of a diff in as many rows as it needs.
    pub fn rows(
        &self,
        line: &diff::Line<'_>,
        ranges: Ranges<'_>,
        gutter: Gutter,
        columns: u16,
    ) -> Vec<Row> {
        let mut painted = self.line(line.text, LineBackground::of(line.kind), ranges);
        let background = painted.style;
        if line.ending == Ending::CrLf && self.endings == Endings::Mixed {
            painted.push_span(Span::styled(
                "␍",
                background.patch(self.theme.style(Role::Escaped)),
            ));
        }
        let indent = gutter.indent(line.kind, self.theme);
        let mut rows = chop(painted, columns, &indent);
        if line.ending == Ending::Missing {
            let style = background.patch(self.theme.style(Role::Muted));
            let note = Line::styled("\\ No newline at end of file", style);
            let blanks = " ".repeat(gutter.width());
            let below = Indent::all(vec![Span::styled(blanks, background)]);
            let note = chop(note, columns, &below).into_iter();
            rows.extend(note.map(|row| Row::decoration(row.line)));
        }
        rows
    }

    /// A line without a gutter.
    pub fn line(
        &self,
        text: &str,
        background: LineBackground,
        ranges: Ranges<'_>,
    ) -> Line<'static> {
        let mut builder = LineBuilder::new(self.theme, background);
        builder.code(text, ranges);
        Line::from(builder.spans).style(builder.background)
    }
}

/// A line that is being built.
struct LineBuilder<'a> {
    theme: &'a Theme,
    side: LineBackground,
    background: Style,
    spans: Vec<Span<'static>>,
    column: usize,
}

impl<'a> LineBuilder<'a> {
    fn new(theme: &'a Theme, side: LineBackground) -> Self {
        Self {
            theme,
            side,
            background: side.style(theme),
            spans: Vec::new(),
            column: 0,
        }
    }

    fn code(&mut self, line: &str, ranges: Ranges<'_>) {
        let trail = match self.side {
            LineBackground::Added => line.trim_end_matches([' ', '\t']).len(),
            LineBackground::Same | LineBackground::Removed => line.len(),
        };
        let alike = alike_in_file(line);
        let mut alike = alike.iter().peekable();
        let (mut start, mut colour, mut word) = (0, 0, 0);
        for end in cuts(&line[..trail], ranges, alike.clone().copied()) {
            while ranges
                .colours
                .get(colour)
                .is_some_and(|(range, _)| range.end <= start)
            {
                colour += 1;
            }
            while ranges
                .words
                .get(word)
                .is_some_and(|range| range.end <= start)
            {
                word += 1;
            }
            let role = ranges
                .colours
                .get(colour)
                .and_then(|(range, role)| (range.start <= start).then_some(*role));
            let changed = ranges
                .words
                .get(word)
                .is_some_and(|range| range.start <= start);
            while alike.next_if(|letter| letter.at < start).is_some() {}
            match alike.next_if(|letter| letter.at == start) {
                Some(letter) => self.escaped(&number(letter.letter)),
                None => self.run(&line[start..end], role, changed),
            }
            start = end;
        }
        self.trail(&line[trail..]);
    }

    /// A piece in one style.
    fn run(&mut self, text: &str, role: Option<Role>, changed: bool) {
        let mut style = self.background;
        // Without a background, an added line is recognised only by the colour of its letters.
        if let Some(role) = role
            && (self.side == LineBackground::Same || self.background.bg.is_some())
        {
            style = style.patch(self.theme.style(role));
        }
        if changed {
            style = style.patch(self.theme.style(self.side.word()));
        }
        if changed && style.add_modifier.contains(Modifier::UNDERLINED) {
            return self.underlined(text, style);
        }
        self.tabbed(text, style, changed);
    }

    /// Blanks are never underlined, because they would look like underscores.
    fn underlined(&mut self, text: &str, style: Style) {
        let bare = style.remove_modifier(Modifier::UNDERLINED);
        let is_blank = |letter: char| matches!(letter, ' ' | '\t');
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let blank = is_blank(first);
            let end = rest.find(|letter| is_blank(letter) != blank);
            let (part, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.tabbed(part, if blank { bare } else { style }, true);
            rest = after;
        }
    }

    fn tabbed(&mut self, text: &str, style: Style, changed: bool) {
        for (index, part) in text.split('\t').enumerate() {
            if index > 0 {
                // A tab that was added or removed must not look like the spaces that replace it.
                self.tab(if changed { "→" } else { " " }, style);
            }
            self.text(part, style);
        }
    }

    /// White space at the end of an added line, made visible.
    fn trail(&mut self, blanks: &str) {
        let style = self.background.patch(self.theme.style(Role::Escaped));
        for (index, part) in blanks.split('\t').enumerate() {
            if index > 0 {
                self.tab("→", style);
            }
            self.push(part, style);
        }
    }

    fn tab(&mut self, sign: &str, style: Style) {
        let blanks = TAB - self.column % TAB;
        self.push(&format!("{sign}{}", " ".repeat(blanks - 1)), style);
    }

    fn text(&mut self, text: &str, style: Style) {
        if clean(text) == text {
            return self.push(text, style);
        }
        for (cluster, _) in graphemes(text) {
            let shown = clean(cluster);
            if shown == cluster {
                self.push(cluster, style);
            } else {
                self.escaped(&shown);
            }
        }
    }

    fn escaped(&mut self, shown: &str) {
        self.push(
            shown,
            self.background.patch(self.theme.style(Role::Escaped)),
        );
    }

    fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        self.column += width(text);
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            Some(_) | None => self.spans.push(Span::styled(text.to_owned(), style)),
        }
    }
}

/// Where the pieces of one style end: ordered, never inside a cluster, the last one at the end of the line.
fn cuts(line: &str, ranges: Ranges<'_>, alike: impl Iterator<Item = Lookalike>) -> Vec<usize> {
    let letters = alike.flat_map(|letter| [letter.at, letter.at + letter.letter.len_utf8()]);
    let mut cuts: Vec<usize> = ranges
        .colours
        .iter()
        .map(|(range, _)| range)
        .chain(ranges.words)
        .flat_map(|range| [range.start, range.end])
        .chain(letters)
        .chain([line.len()])
        .filter(|cut| (1..=line.len()).contains(cut))
        .collect();
    if !line.is_ascii() {
        let mut at = 0;
        let bounds: Vec<usize> = graphemes(line)
            .map(|(cluster, _)| {
                at += cluster.len();
                at
            })
            .collect();
        for cut in &mut cuts {
            *cut = bounds[bounds.partition_point(|bound| bound < cut)];
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}
