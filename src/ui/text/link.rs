//! Links in what the model and the person write.
//!
//! A terminal opens a link on a click, so the person has to see its target: only a URL that is on the screen becomes a
//! link. A target contains no control characters and no second URL.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::clean::clean_line;
use super::row::Row;
use super::width::width;
use crate::theme::LinkId;

/// Terminals accept no longer ones.
const LONGEST: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub id: LinkId,
    /// Printable ASCII without blanks.
    pub target: Arc<str>,
}

impl Link {
    /// A link to a web or mail address; other schemes could start programs.
    pub fn to(address: &str) -> Option<Self> {
        let (scheme, rest) = address.split_once(':')?;
        let leads = match &*scheme.to_ascii_lowercase() {
            "http" | "https" => rest.strip_prefix("//").is_some_and(names_a_host),
            "mailto" => rest.contains('@'),
            _ => false,
        };
        if !leads || address.len() > LONGEST || clean_line(address, 1) != address {
            return None;
        }
        let target = escaped(address);
        Some(Self {
            id: LinkId::of(&target),
            target: target.into(),
        })
    }
}

/// Whether a URL continues with a plain host. Letters of other scripts can imitate another host, and a user name before
/// an `@` can imitate the host itself.
fn names_a_host(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-._:[]".contains(&letter);
    !host.is_empty() && host.bytes().all(plain)
}

/// The URL with everything that is not allowed in one as `%xx`.
fn escaped(address: &str) -> String {
    let mut target = String::with_capacity(address.len());
    for byte in address.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            target.push(char::from(byte));
        } else {
            target.push('%');
            for digit in [byte >> 4, byte & 15] {
                let digit = char::from_digit(digit.into(), 16).unwrap_or('0');
                target.push(digit.to_ascii_uppercase());
            }
        }
    }
    target
}

/// Turns the URLs in a line into links, except those that are one already and those that `is_open` says may still grow.
pub fn link_addresses(
    line: Line<'static>,
    link_style: Style,
    is_open: impl Fn(&str) -> bool,
) -> (Line<'static>, Vec<Link>) {
    let has_one = |span: &Span| memmem::find(span.content.as_bytes(), MARK).is_some();
    if !line.spans.iter().any(has_one) {
        return (line, Vec::new());
    }
    let mut links = Vec::new();
    let mut spans = Vec::new();
    for span in line.spans {
        if LinkId::in_style(&span.style).is_some() {
            spans.push(span);
            continue;
        }
        let text = span.content;
        let mut at = 0;
        for range in addresses(&text) {
            let address = &text[range.clone()];
            let Some(found) = Link::to(address).filter(|_| !is_open(address)) else {
                continue;
            };
            spans.push(Span::styled(text[at..range.start].to_owned(), span.style));
            let style = found.id.put_on(span.style.patch(link_style));
            spans.push(Span::styled(address.to_owned(), style));
            links.push(found);
            at = range.end;
        }
        spans.push(Span::styled(text[at..].to_owned(), span.style));
    }
    spans.retain(|span| !span.content.is_empty());
    let line = Line { spans, ..line };
    (line, links)
}

const MARK: &[u8] = b"://";

/// Where web addresses are in a text, without the punctuation after them.
fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for mark in memmem::find_iter(text.as_bytes(), MARK) {
        let before = &text[..mark];
        let scheme = ["https", "http"]
            .into_iter()
            .find(|scheme| before.ends_with(scheme));
        let Some(start) = scheme.map(|scheme| mark - scheme.len()) else {
            continue;
        };
        let joined = text[..start].ends_with(|letter: char| letter.is_ascii_alphanumeric());
        if joined || found.last().is_some_and(|last| start < last.end) {
            continue;
        }
        let end = text[start..].find(|letter| !belongs(letter));
        let address = &text[start..end.map_or(text.len(), |end| start + end)];
        let length = without_punctuation(address).len();
        if length > mark - start + MARK.len() {
            found.push(start..start + length);
        }
    }
    found
}

fn belongs(letter: char) -> bool {
    if letter.is_ascii() {
        letter.is_ascii_graphic() && !"\"<>\\^`{|}".contains(letter)
    } else {
        letter.is_alphanumeric() && width(letter.encode_utf8(&mut [0; 4])) == 1
    }
}

/// Without punctuation that surrounds a URL.
pub fn without_punctuation(address: &str) -> &str {
    let mut address = address;
    loop {
        let count = |letter: char| address.matches(letter).count();
        let shorter = match address.chars().next_back() {
            Some('.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '~') => true,
            Some(')') => count(')') > count('('),
            Some(']') => count(']') > count('['),
            _ => false,
        };
        if !shorter {
            return address;
        }
        address = &address[..address.len() - 1];
    }
}

/// Adds to each row the links that are in it.
pub fn attach(rows: &mut [Row], links: &[Link]) {
    if links.is_empty() {
        return;
    }
    for row in rows {
        for span in &row.line.spans {
            let Some(id) = LinkId::in_style(&span.style) else {
                continue;
            };
            let new = row.links.iter().all(|link| link.id != id);
            row.links
                .extend(links.iter().find(|link| link.id == id && new).cloned());
        }
    }
}

/// The targets of the links on the screen.
#[derive(Debug, Default)]
pub struct Targets(HashMap<LinkId, Option<Arc<str>>>);

impl Targets {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn add(&mut self, link: &Link) {
        let known = self.0.entry(link.id);
        let target = known.or_insert_with(|| Some(link.target.clone()));
        // If two targets share an id, neither becomes a link: one of them would be wrong.
        if target.as_ref().is_some_and(|target| *target != link.target) {
            *target = None;
        }
    }

    pub fn of(&self, id: LinkId) -> Option<&str> {
        self.0.get(&id)?.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use ratatui::style::Style;
    use ratatui::text::Line;

    use super::{Link, LinkId, Targets, addresses, link_addresses};

    fn target(address: &str) -> Option<String> {
        Link::to(address).map(|link| link.target.to_string())
    }

    #[test]
    fn only_web_and_mail_addresses_become_links() {
        for address in [
            "https://example.com",
            "http://localhost:3000/a?b=c;d#e",
            "HTTPS://[::1]:80/",
            "mailto:a@b.c",
        ] {
            assert_eq!(target(address).as_deref(), Some(address));
        }
        for address in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "ssh://host/",
            "https:/x",
            "https://",
            "https://bank.com@evil.com/",
            "https://bank.com\\@evil.com",
            "https://b\u{430}nk.com/",
            "https://a.b/\u{202e}c",
            "https://a.b/\u{1b}]8;;",
            "https://a.b/\n",
            "mailto:x",
            "docs/guide.md",
            "",
        ] {
            assert_eq!(target(address), None, "{address:?}");
        }
        assert_eq!(target(&format!("https://a.b/{}", "c".repeat(3_000))), None);
    }

    #[test]
    fn characters_that_are_not_allowed_in_an_address_are_escaped() {
        assert_eq!(
            target("https://a.b/Zürich (x)\"").as_deref(),
            Some("https://a.b/Z%C3%BCrich%20(x)%22")
        );
    }

    fn found(text: &str) -> Vec<&str> {
        let found = addresses(text).into_iter();
        found.map(|range| &text[range]).collect()
    }

    #[test]
    fn addresses_end_before_the_punctuation_around_them() {
        assert_eq!(
            found("See https://a.b/c. And (http://d.e/f_(g))!"),
            ["https://a.b/c", "http://d.e/f_(g)"]
        );
        assert_eq!(
            found("**https://a.b**, <https://c.d> `https://e.f`"),
            ["https://a.b", "https://c.d", "https://e.f"]
        );
        assert_eq!(
            found("见https://a.b/c。https://de.w.org/wiki/Zürich"),
            ["https://a.b/c", "https://de.w.org/wiki/Zürich"]
        );
        assert_eq!(
            found("http:// xhttp://a.b ://c http://a?u=http://b"),
            ["http://a?u=http://b"]
        );
    }

    #[test]
    fn an_address_that_may_still_grow_is_not_a_link_yet() {
        let line = || Line::from("to https://a.b");
        let (open, links) = link_addresses(line(), Style::new(), |_| true);
        assert_eq!((open, links), (line(), vec![]));
        let (closed, links) = link_addresses(line(), Style::new(), |_| false);
        assert_eq!(closed.spans.len(), 2);
        assert_eq!(links, [Link::to("https://a.b").expect("an address")]);
    }

    #[test]
    fn two_targets_with_the_same_id_are_not_links() {
        let id = LinkId::of("x");
        let link = |target: &str| Link {
            id,
            target: target.into(),
        };
        let mut targets = Targets::default();
        targets.add(&link("https://a.b"));
        targets.add(&link("https://a.b"));
        assert_eq!(targets.of(id), Some("https://a.b"));
        targets.add(&link("https://c.d"));
        assert_eq!(targets.of(id), None);
        targets.add(&link("https://a.b"));
        assert_eq!(targets.of(id), None);
    }

    proptest! {
        #[test]
        fn a_target_contains_no_control_characters(rest in any::<String>(), text in any::<String>()) {
            let target = target(&format!("https://a.b/{rest}")).unwrap_or_default();
            assert!(target.bytes().all(|byte| byte.is_ascii_graphic()));
            for range in addresses(&format!("{text} https://a.b/{rest}")) {
                assert!(range.start < range.end);
            }
        }
    }
}
