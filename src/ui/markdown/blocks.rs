//! Lays out the blocks of one segment: walks over the parser's events with its own stack of open containers.
//!
//! Nothing here recurses, and the left margin never takes more than two thirds of the width: ten thousand nested quotes
//! are as cheap as ten.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::theme::Role;
use crate::ui::text::{Indent, Row, attach, width, wrap};

use super::inline::Inline;
use super::split::language;
use super::table::Table;
use super::{Page, Stage, code};

pub fn rows(source: &str, stage: Stage, page: &mut Page) -> Vec<Row> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let parser = Parser::new_ext(source, options);
    let mut definitions: Vec<_> = parser
        .reference_definitions()
        .iter()
        .map(|(label, definition)| {
            (
                definition.span.start,
                format!("[{label}]: {}", definition.dest),
            )
        })
        .collect();
    definitions.sort_unstable();
    let mut writer = Writer::new(source, stage, page);
    for (event, range) in parser.into_offset_iter() {
        writer.event(event, range.start, range.end);
    }
    writer.definitions(&definitions);
    writer.rows
}

const BAR: &str = "│ ";

struct Writer<'a, 'page> {
    source: &'a str,
    stage: Stage,
    page: &'a mut Page<'page>,
    rows: Vec<Row>,
    inline: Inline<'page>,
    containers: Vec<Container>,
    margin: Vec<Piece>,
    margin_width: usize,
    /// The empty row before the next row, if there is one.
    gap: Option<Row>,
    /// Nothing of the innermost container has been written yet.
    fresh: bool,
    code: Option<Code>,
    table: Table,
    row: Vec<Vec<Line<'static>>>,
}

enum Container {
    Quote { indented: bool },
    List { next: Option<u64> },
    Item { indented: bool },
}

/// What one container puts to the left of its text.
struct Piece {
    /// A list's mark, until it is written.
    mark: Option<Span<'static>>,
    rest: Span<'static>,
    quote: bool,
}

struct Code {
    language: String,
    text: String,
}

impl<'a, 'page> Writer<'a, 'page> {
    fn new(source: &'a str, stage: Stage, page: &'a mut Page<'page>) -> Self {
        let mut inline = Inline::new(page.theme);
        if stage == Stage::Open {
            inline.grows_behind(source.lines().next_back().unwrap_or_default());
        }
        Self {
            source,
            stage,
            inline,
            page,
            rows: Vec::new(),
            containers: Vec::new(),
            margin: Vec::new(),
            margin_width: 0,
            gap: None,
            fresh: true,
            code: None,
            table: Table::default(),
            row: Vec::new(),
        }
    }

    fn event(&mut self, event: Event, start: usize, end: usize) {
        match event {
            Event::Start(tag) => self.start(tag, start),
            Event::End(tag) => self.end(tag, end),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.inline.text(&text),
            },
            Event::Code(text) => self.inline.code(&text),
            Event::Html(text) => self.html_lines(&text),
            Event::InlineHtml(tag) => self.inline.html(&tag),
            Event::SoftBreak | Event::HardBreak => self.inline.end_line(),
            Event::Rule => self.rule(start),
            Event::TaskListMarker(done) => self.task_mark(done),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.inline.text(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag, start: usize) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin(start),
            Tag::Heading { level, .. } => {
                self.begin(start);
                self.inline.enter(heading(level));
            }
            Tag::BlockQuote(_) => {
                self.begin(start);
                self.inline.enter(Role::Quote);
                let bar = Span::styled(BAR, self.page.theme.style(Role::Faint));
                let indented = self.indent(Piece {
                    mark: None,
                    rest: bar,
                    quote: true,
                });
                self.containers.push(Container::Quote { indented });
                self.fresh = true;
            }
            Tag::List(next) => {
                self.begin(start);
                self.containers.push(Container::List { next });
                self.fresh = true;
            }
            Tag::Item => self.start_item(start),
            Tag::CodeBlock(kind) => {
                self.begin(start);
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => language(info).to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some(Code {
                    language,
                    text: String::new(),
                });
            }
            Tag::Table(alignments) => {
                self.begin(start);
                self.table = Table {
                    alignments,
                    rows: Vec::new(),
                };
            }
            Tag::Emphasis => self.inline.enter(Role::Emphasis),
            Tag::Strong => self.inline.enter(Role::Strong),
            Tag::Strikethrough => self.inline.enter(Role::Strike),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.inline.enter_link(dest_url.into_string());
            }
            // The ends of the first three are enough; the others are extensions that are not enabled.
            Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd, end: usize) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.inline.leave();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.inline.leave();
                self.end_container();
            }
            TagEnd::List(_) => self.end_container(),
            TagEnd::Item => {
                self.flush();
                if self.margin.last().is_some_and(|piece| piece.mark.is_some()) {
                    self.emit(vec![Row::default()]);
                }
                self.end_container();
            }
            TagEnd::CodeBlock => self.end_code(end),
            TagEnd::Table => {
                let table = std::mem::take(&mut self.table);
                let rows = table.lay_out(self.room(), self.page.theme);
                self.emit(rows);
            }
            TagEnd::TableHead | TagEnd::TableRow => {
                self.table.rows.push(std::mem::take(&mut self.row));
            }
            TagEnd::TableCell => {
                let cell = self.inline.take();
                self.row.push(cell);
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.inline.leave(),
            TagEnd::Link | TagEnd::Image => self.inline.leave_link(),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// A block starts: writes what was open, and adds an empty row if needed. In a list, that is where the source has a
    /// blank line, so that an item looks the same whatever follows it.
    fn begin(&mut self, start: usize) {
        self.flush();
        let listed = matches!(
            self.containers.last(),
            Some(Container::List { .. } | Container::Item { .. })
        );
        if self.rows.is_empty() || self.fresh || listed && !follows_blank(self.source, start) {
            return;
        }
        let bars = self
            .margin
            .iter()
            .rposition(|piece| piece.quote)
            .map_or(0, |last| last + 1);
        let spans: Vec<_> = self.margin[..bars]
            .iter()
            .map(|piece| piece.rest.clone())
            .collect();
        let Indent { first, gutter, .. } = Indent::all(spans);
        let gap = Row {
            gutter,
            ..Row::new(first)
        };
        self.gap.get_or_insert(gap);
    }

    fn start_item(&mut self, start: usize) {
        self.begin(start);
        let mark = match self.containers.last_mut() {
            Some(Container::List { next: Some(number) }) => {
                *number = number.saturating_add(1);
                format!("{}. ", number.saturating_sub(1))
            }
            Some(
                Container::List { next: None } | Container::Item { .. } | Container::Quote { .. },
            )
            | None => "• ".to_owned(),
        };
        let rest = Span::raw(" ".repeat(width(&mark)));
        let mark = Some(Span::styled(mark, self.page.theme.style(Role::ListMark)));
        let indented = self.indent(Piece {
            mark,
            rest,
            quote: false,
        });
        self.containers.push(Container::Item { indented });
        self.fresh = true;
    }

    fn task_mark(&mut self, done: bool) {
        if let Some(Piece {
            mark: Some(mark), ..
        }) = self.margin.last_mut()
        {
            mark.content = if done { "☑ " } else { "☐ " }.into();
        }
    }

    /// Indents the text, unless it is indented too far already.
    fn indent(&mut self, piece: Piece) -> bool {
        let cells = width(&piece.rest.content);
        let most = (self.page.width / 3 * 2).min(self.page.width.saturating_sub(2));
        let fits = self.margin_width + cells <= usize::from(most);
        if fits {
            self.margin_width += cells;
            self.margin.push(piece);
        }
        fits
    }

    fn end_container(&mut self) {
        let indented = match self.containers.pop() {
            Some(Container::Quote { indented } | Container::Item { indented }) => indented,
            Some(Container::List { .. }) | None => false,
        };
        if let Some(piece) = self.margin.pop_if(|_| indented) {
            self.margin_width -= width(&piece.rest.content);
        }
    }

    fn end_code(&mut self, end: usize) {
        let Some(Code { language, text }) = self.code.take() else {
            return;
        };
        let last = end >= self.source.trim_end().len();
        let stage = match self.stage {
            Stage::Open if !last => Stage::Closed,
            stage => stage,
        };
        let mut page = Page {
            width: self.room(),
            theme: self.page.theme,
            code: self.page.code,
        };
        let rows = code::rows(&text, &language, stage, &mut page);
        self.emit(rows);
    }

    /// HTML arrives line by line, with line endings.
    fn html_lines(&mut self, text: &str) {
        for line in text.split_inclusive('\n') {
            self.inline.text(line.trim_end());
            self.inline.end_line();
        }
    }

    fn rule(&mut self, start: usize) {
        self.begin(start);
        let dashes = "─".repeat(self.room().into());
        self.emit(vec![Row::new(Line::styled(
            dashes,
            self.page.theme.style(Role::Faint),
        ))]);
    }

    /// The parser hides definitions; the person may want to see the targets of links.
    fn definitions(&mut self, definitions: &[(usize, String)]) {
        if definitions.is_empty() {
            return;
        }
        self.begin(self.source.len());
        self.inline.enter(Role::Muted);
        for (_, definition) in definitions {
            self.inline.text(definition);
            self.inline.end_line();
        }
        self.flush();
    }

    fn flush(&mut self) {
        for line in self.inline.take() {
            let rows = wrap(line, self.room(), &Indent::default());
            self.emit(rows);
        }
    }

    fn room(&self) -> u16 {
        let margin = u16::try_from(self.margin_width).unwrap_or(u16::MAX);
        self.page.width.saturating_sub(margin).max(1)
    }

    /// Adds rows after the containers' left margin.
    fn emit(&mut self, mut rows: Vec<Row>) {
        attach(&mut rows, self.inline.targets());
        if !rows.is_empty() {
            self.fresh = false;
            self.rows.extend(self.gap.take());
        }
        for mut row in rows {
            if !self.margin.is_empty() {
                let marked = self.margin.iter().any(|piece| piece.mark.is_some());
                let decoration = if marked && row.gutter == 0 {
                    self.bars()
                } else {
                    self.margin_width
                };
                let decoration = u16::try_from(decoration).unwrap_or(u16::MAX);
                row.gutter = row.gutter.saturating_add(decoration);
                let left = self.margin.iter_mut();
                let left =
                    left.map(|piece| piece.mark.take().unwrap_or_else(|| piece.rest.clone()));
                // A row's background begins at its own text.
                let bare = row.line.style.bg.map_or(Style::new(), |_| Style::reset());
                let left = left.map(|span| Span::styled(span.content, bare.patch(span.style)));
                row.line.spans.splice(0..0, left);
            }
            self.rows.push(row);
        }
    }

    /// The width of the bars at the left: the part of the margin that is not copied when a mark follows.
    fn bars(&self) -> usize {
        let bars = self.margin.iter().take_while(|piece| piece.quote);
        bars.map(|piece| width(&piece.rest.content)).sum()
    }
}

fn heading(level: HeadingLevel) -> Role {
    match level {
        HeadingLevel::H1 => Role::Title,
        HeadingLevel::H2 => Role::Heading,
        HeadingLevel::H3 | HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => {
            Role::Subheading
        }
    }
}

/// Whether the line before `start` is blank, or has only quote marks.
fn follows_blank(source: &str, start: usize) -> bool {
    let line_start = source[..start].rfind('\n').unwrap_or(0);
    let before = source[..line_start].rsplit('\n').next().unwrap_or_default();
    line_start > 0 && before.trim_matches(['>', ' ', '\t', '\r']).is_empty()
}
