//! A page for a model: readable text, or an image. Pure.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use encoding_rs::{Encoding, UTF_8};

use super::fetch::Fetched;
use super::markdown;
use crate::protocol::{Image, ResultBlock};
use crate::text::shortened;
use crate::tools::files::error::human_size;
use crate::tools::files::image::{self, Format};
use crate::tools::files::pdf;

/// How far into a page to look for its charset declaration.
const HEAD: usize = 4096;
/// The rest of a longer title is left out on the screen.
const LONGEST_TITLE: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    pub url: String,
    pub status: u16,
    /// Its media type, without parameters.
    pub kind: String,
    pub title: Option<String>,
    /// The number of bytes received.
    pub received: usize,
    pub is_cut: bool,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    Image(Image),
    /// Not readable for a model.
    Binary,
}

impl Page {
    pub fn new(fetched: &Fetched) -> Self {
        let (kind, charset) = media_type(&fetched.content_type);
        let bytes = fetched.bytes.as_slice();
        let mut page = Self {
            url: fetched.url.to_string(),
            status: fetched.status.as_u16(),
            title: None,
            received: bytes.len(),
            is_cut: fetched.is_cut,
            content: Content::Binary,
            kind,
        };
        if let Some(image) = image_of(bytes) {
            page.content = Content::Image(image);
        } else if page.kind == "application/pdf" || bytes.starts_with(b"%PDF-") {
            page.content = Content::Text(pdf_text(bytes, &page.url));
        } else if is_text(&page.kind, bytes) {
            let text = decoded(bytes, charset.as_deref());
            if is_html(&page.kind, &text) {
                let document = markdown::document(&text, &fetched.url);
                page.title = document.title;
                page.content = Content::Text(document.text);
            } else {
                page.content = Content::Text(text);
            }
        }
        page
    }

    pub fn size(&self) -> usize {
        match &self.content {
            Content::Text(text) => text.len(),
            Content::Image(_) => self.received * 4 / 3,
            Content::Binary => 0,
        }
    }

    /// The lines above the content: its address and type.
    pub fn heading(&self) -> String {
        let mut heading = format!(
            "{} · {} · {} · {}",
            self.url,
            self.status,
            if self.kind.is_empty() {
                "unknown type"
            } else {
                &self.kind
            },
            human_size(self.received as u64)
        );
        if self.is_cut {
            heading.push_str(" (the beginning; the rest was not fetched)");
        }
        if let Some(title) = &self.title {
            heading.push_str("\nTitle: ");
            heading.push_str(title);
        }
        heading
    }

    /// Its text, if it has any.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text).filter(|text| !text.trim().is_empty()),
            Content::Image(_) | Content::Binary => None,
        }
        .map(String::as_str)
    }

    /// The page in a few words for the person: its title and its size.
    pub fn summary(&self) -> String {
        let size = human_size(self.received as u64);
        match &self.title {
            Some(title) => format!("{} · {size}", shortened(title, LONGEST_TITLE, "…")),
            None => size,
        }
    }

    /// A text below the heading and what was asked.
    pub fn with_heading(&self, prompt: &str, text: &str) -> String {
        let (heading, prompt) = (self.heading(), prompt.trim());
        let asked = if prompt.is_empty() {
            String::new()
        } else {
            format!("\nAsked: {prompt}")
        };
        format!("{heading}{asked}\n\n{text}")
    }

    pub fn blocks(&self, prompt: &str) -> Vec<ResultBlock> {
        let below = |text: &str| ResultBlock::text(self.with_heading(prompt, text));
        match &self.content {
            Content::Text(text) if text.trim().is_empty() => vec![below("(the page has no text)")],
            Content::Text(text) => vec![below(text)],
            Content::Image(image) => vec![
                below("(the image follows)"),
                ResultBlock::Image(image.clone()),
            ],
            Content::Binary => vec![below(
                "(not text, so it cannot be shown; download it with Bash if you need it)",
            )],
        }
    }
}

/// The media type and the charset of a header.
fn media_type(header: &str) -> (String, Option<String>) {
    let mut parts = header.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim_matches(['"', '\'', ' ']).to_owned())
    });
    (kind, charset)
}

fn image_of(bytes: &[u8]) -> Option<Image> {
    let format = Format::of(bytes)?;
    if bytes.len() as u64 > image::MAX_BYTES || format.check(bytes).is_err() {
        return None;
    }
    Some(Image::base64(format.media_type(), STANDARD.encode(bytes)))
}

fn pdf_text(bytes: &[u8], url: &str) -> String {
    pdf::describe(bytes, Path::new(url), &|| false)
}

fn is_text(kind: &str, bytes: &[u8]) -> bool {
    let by_name = kind.starts_with("text/")
        || [
            "json",
            "xml",
            "javascript",
            "yaml",
            "toml",
            "x-sh",
            "graphql",
        ]
        .iter()
        .any(|name| kind.ends_with(name));
    let wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    by_name || wide || !bytes.iter().take(HEAD).any(|byte| *byte == 0)
}

fn is_html(kind: &str, text: &str) -> bool {
    let start = text.trim_start().get(..200.min(text.trim_start().len()));
    let start = start.unwrap_or_default().to_ascii_lowercase();
    matches!(kind, "text/html" | "application/xhtml+xml")
        || (kind.is_empty() && (start.starts_with("<!doctype html") || start.starts_with("<html")))
}

/// The text in the charset of its byte order mark, its header or its own declaration; otherwise UTF-8, with invalid
/// bytes made visible.
fn decoded(bytes: &[u8], charset: Option<&str>) -> String {
    let marked = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
    let named = || charset.and_then(|name| Encoding::for_label(name.as_bytes()));
    let encoding = marked
        .or_else(named)
        .or_else(|| declared(bytes))
        .unwrap_or(UTF_8);
    encoding.decode(bytes).0.into_owned()
}

/// The charset that a page declares: `<meta charset=…>`, `content="…; charset=…"`, or an XML declaration.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(HEAD)]).to_ascii_lowercase();
    ["charset", "encoding"].iter().find_map(|word| {
        head.match_indices(word).find_map(|(at, _)| {
            let rest = head[at + word.len()..].trim_start().strip_prefix('=')?;
            let rest = rest.trim_start().trim_start_matches(['"', '\'']);
            let end = rest.find(|it: char| !(it.is_ascii_alphanumeric() || "-_:.".contains(it)));
            Encoding::for_label(&rest.as_bytes()[..end.unwrap_or(rest.len())])
        })
    })
}

#[cfg(test)]
mod tests {
    use reqwest::{StatusCode, Url};

    use super::{Content, Page};
    use crate::protocol::ResultBlock;
    use crate::tools::web::fetch::Fetched;
    use crate::tools::web::server::DOT;

    fn page(content_type: &str, bytes: &[u8]) -> Page {
        Page::new(&Fetched {
            url: Url::parse("https://example.com/a/").expect("a URL"),
            status: StatusCode::OK,
            content_type: content_type.into(),
            bytes: bytes.to_vec(),
            is_cut: false,
        })
    }

    fn text(page: &Page) -> &str {
        match &page.content {
            Content::Text(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_charset_is_taken_from_mark_header_or_page() {
        for (content_type, bytes) in [
            ("text/plain; charset=ISO-8859-1", b"gr\xfc\xdfe".as_slice()),
            ("text/plain; Charset=\"windows-1252\"", b"gr\xfc\xdfe"),
            ("text/plain", "grüße".as_bytes()),
            (
                "text/plain; charset=latin1",
                b"\xef\xbb\xbfgr\xc3\xbc\xc3\x9fe",
            ),
            ("text/plain", b"\xff\xfeg\0r\0\xfc\0\xdf\0e\0"),
        ] {
            assert_eq!(text(&page(content_type, bytes)), "grüße", "{content_type}");
        }
        for declaration in [
            "<meta charset=iso-8859-1>",
            "<META http-equiv=Content-Type content='text/html; charset=ISO-8859-1'>",
        ] {
            let mut bytes = format!("<html><head>{declaration}</head><body><p>gr").into_bytes();
            bytes.extend_from_slice(b"\xfc\xdfe</p></body></html>");
            assert_eq!(text(&page("text/html", &bytes)), "grüße", "{declaration}");
        }
    }

    #[test]
    fn json_and_text_stay_as_they_are() {
        assert_eq!(
            text(&page("application/json", b"{\"a\": 1}\n")),
            "{\"a\": 1}\n"
        );
        assert_eq!(
            text(&page("text/markdown", b"# <b>A</b>\n")),
            "# <b>A</b>\n"
        );
        assert_eq!(text(&page("", b"plain")), "plain");
    }

    #[test]
    fn images_are_recognised_by_content_and_other_bytes_are_not_shown() {
        let shown = page("application/octet-stream", DOT);
        assert!(matches!(shown.content, Content::Image(_)));
        assert!(matches!(
            shown.blocks("what is it?")[1],
            ResultBlock::Image(_)
        ));
        let binary = page("application/octet-stream", b"a\0b");
        assert_eq!(binary.content, Content::Binary);
        let ResultBlock::Text { text } = &binary.blocks("")[0] else {
            panic!("text");
        };
        assert!(text.contains("download it with Bash"), "{text}");
    }

    #[test]
    fn the_heading_has_the_address_and_the_prompt() {
        let page = page(
            "text/html; charset=utf-8",
            b"<title>A  page</title><h1>Hi</h1>",
        );
        assert_eq!(
            page.blocks(" what? "),
            [ResultBlock::text(
                "https://example.com/a/ · 200 · text/html · 33 bytes\nTitle: A page\nAsked: what?\n\n# Hi"
            )]
        );
    }
}
