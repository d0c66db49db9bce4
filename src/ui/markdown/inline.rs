//! Collects the text inside a block: styled pieces, in lines.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::theme::{Role, Theme};
use crate::ui::text::{self, clean, link_addresses, without_punctuation};

/// The text of one block while its events arrive.
pub struct Inline<'theme> {
    theme: &'theme Theme,
    /// The end of a text that may still grow: a URL there is not complete.
    open_end: String,
    /// All links so far.
    targets: Vec<text::Link>,
    /// The style of each open element; the last one is active.
    styles: Vec<Style>,
    links: Vec<Link>,
    lines: Vec<Line<'static>>,
    spans: Vec<Span<'static>>,
}

struct Link {
    url: String,
    text: String,
    target: Option<text::Link>,
}

impl<'theme> Inline<'theme> {
    pub fn new(theme: &'theme Theme) -> Self {
        Self {
            theme,
            open_end: String::new(),
            targets: Vec::new(),
            styles: vec![theme.style(Role::Text)],
            links: Vec::new(),
            lines: Vec::new(),
            spans: Vec::new(),
        }
    }

    /// The text may still grow after this line.
    pub fn grows_behind(&mut self, last_line: &str) {
        without_punctuation(last_line).clone_into(&mut self.open_end);
    }

    /// The targets of the links.
    pub fn targets(&self) -> &[text::Link] {
        &self.targets
    }

    /// From here on text has this role, on top of the current style.
    pub fn enter(&mut self, role: Role) {
        self.styles.push(self.style().patch(self.theme.style(role)));
    }

    pub fn leave(&mut self) {
        if self.styles.len() > 1 {
            self.styles.pop();
        }
    }

    pub fn text(&mut self, text: &str) {
        if let Some(link) = self.links.last_mut() {
            link.text.push_str(text);
        }
        self.push(text, self.style());
    }

    pub fn code(&mut self, text: &str) {
        self.enter(Role::InlineCode);
        self.text(text);
        self.leave();
    }

    /// A tag is plain text, except the one that models use in tables.
    pub fn html(&mut self, tag: &str) {
        match tag.trim_end() {
            "<br>" | "<br/>" | "<br />" => self.end_line(),
            _ => self.text(tag),
        }
    }

    pub fn enter_link(&mut self, url: String) {
        self.enter(Role::Link);
        let target = text::Link::to(&url);
        if let (Some(style), Some(target)) = (self.styles.last_mut(), &target) {
            *style = target.id.put_on(*style);
            self.targets.push(target.clone());
        }
        self.links.push(Link {
            url,
            text: String::new(),
            target,
        });
    }

    /// Shows the target of a link, unless its text does.
    pub fn leave_link(&mut self) {
        self.leave();
        let Some(Link { url, text, target }) = self.links.pop() else {
            return;
        };
        if !shows_url(&text, &url) {
            let style = self.style().patch(self.theme.style(Role::Muted));
            let linked = target.map_or(style, |target| target.id.put_on(style));
            self.push(" (", style);
            self.push(&url, linked);
            self.push(")", style);
        }
        if let Some(outer) = self.links.last_mut() {
            outer.text.push_str(&text);
        }
    }

    pub fn end_line(&mut self) {
        let spans = std::mem::take(&mut self.spans)
            .into_iter()
            .map(cleaned)
            .collect::<Vec<_>>();
        let style = self.theme.style(Role::Link);
        let is_open = |address: &str| self.open_end.ends_with(address);
        let (line, mut targets) = link_addresses(Line::from(spans), style, is_open);
        self.targets.append(&mut targets);
        self.lines.push(line);
    }

    /// The lines so far; the block is over.
    pub fn take(&mut self) -> Vec<Line<'static>> {
        if !self.spans.is_empty() {
            self.end_line();
        }
        std::mem::take(&mut self.lines)
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    /// The parser delivers text in small pieces; those of one style become one span.
    fn push(&mut self, text: &str, style: Style) {
        match self.spans.last_mut() {
            Some(span) if span.style == style => span.content.to_mut().push_str(text),
            _ => self.spans.push(Span::styled(text.to_owned(), style)),
        }
    }
}

fn cleaned(span: Span<'static>) -> Span<'static> {
    match clean(&span.content) {
        std::borrow::Cow::Borrowed(_) => span,
        std::borrow::Cow::Owned(cleaned) => Span::styled(cleaned.replace('\n', " "), span.style),
    }
}

fn shows_url(text: &str, url: &str) -> bool {
    let bare = |address: &str| {
        let address = address.strip_prefix("mailto:").unwrap_or(address);
        let address = address
            .strip_prefix("https://")
            .or(address.strip_prefix("http://"))
            .unwrap_or(address);
        address.trim_end_matches('/').to_owned()
    };
    url.is_empty() || bare(text) == bare(url)
}
