//! Converts HTML to readable Markdown: the text of a page with its headings, links, lists, tables and code, without
//! scripts and navigation.

use std::sync::LazyLock;

use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, LinkStyle, Options};
use reqwest::Url;

/// Elements that are not part of the content.
const DROPPED: [&str; 17] = [
    "script", "style", "noscript", "template", "nav", "header", "footer", "aside", "form",
    "button", "iframe", "svg", "canvas", "dialog", "select", "object", "head",
];

static CONVERTER: LazyLock<HtmlToMarkdown> = LazyLock::new(|| converter(&DROPPED));
/// For pages whose content is inside elements that are usually dropped.
static GENEROUS: LazyLock<HtmlToMarkdown> =
    LazyLock::new(|| converter(&["script", "style", "noscript", "template", "svg", "head"]));

fn converter(dropped: &[&str]) -> HtmlToMarkdown {
    HtmlToMarkdown::builder()
        .skip_tags(dropped.to_vec())
        .options(Options {
            bullet_list_marker: BulletListMarker::Dash,
            ul_bullet_spacing: 1,
            ol_number_spacing: 1,
            link_style: LinkStyle::Inlined,
            ..Options::default()
        })
        .build()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub title: Option<String>,
    pub text: String,
}

/// Links become absolute addresses, relative to `base`.
pub fn document(html: &str, base: &Url) -> Document {
    let convert = |converter: &HtmlToMarkdown| tidy(&converter.convert(html).unwrap_or_default());
    let mut text = convert(&CONVERTER);
    if text.len() < 200 {
        let generous = convert(&GENEROUS);
        if generous.len() > 2 * text.len() {
            text = generous;
        }
    }
    Document {
        title: title(html),
        text: with_whole_links(&text, base),
    }
}

fn title(html: &str) -> Option<String> {
    let lower = html.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    let text = CONVERTER.convert(&html[start..end]).ok()?;
    let text: Vec<&str> = text.split_whitespace().collect();
    (!text.is_empty()).then(|| text.join(" "))
}

/// At most one empty line in a row, and none at the end.
fn tidy(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let line = line.trim_end();
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 && !(tidied.is_empty() && line.is_empty()) {
            tidied.push_str(line);
            tidied.push('\n');
        }
    }
    tidied.truncate(tidied.trim_end().len());
    tidied
}

/// Makes the address in `](path)` absolute, so that it can be fetched. Code and text that is not a link stay
/// unchanged.
fn with_whole_links(text: &str, base: &Url) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut in_code = false;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            whole.push_str(line);
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find("](") {
            let (before, link) = rest.split_at(at + 2);
            whole.push_str(before);
            let end = link
                .find([')', ' ', '\n', '<', '>', '"'])
                .unwrap_or(link.len());
            match base.join(&link[..end]) {
                Ok(url) if end > 0 => whole.push_str(url.as_str()),
                Ok(_) | Err(_) => whole.push_str(&link[..end]),
            }
            rest = &link[end..];
        }
        whole.push_str(rest);
    }
    whole
}

#[cfg(test)]
mod tests {
    use reqwest::Url;

    use super::document;

    const PAGE: &str = r#"<!doctype html><html><head><title>Guide &amp; notes</title><style>p{}</style></head><body>
<nav><a href="/">Home</a><a href="/x">X</a></nav>
<main><h1>Guide</h1><p>Read <a href="../start?a=1">the start</a> and <b>then</b> <code>run it</code>.</p>
<h2>Steps</h2><ol><li>One</li><li>Two<ul><li>Inner</li></ul></li></ol>
<pre><code class="language-sh">ls -l
[a](b)
</code></pre>
<table><thead><tr><th>Name</th><th>Value</th></tr></thead><tbody><tr><td>a</td><td>1</td></tr></tbody></table>
<script>alert("no")</script></main><footer>Imprint</footer></body></html>"#;

    #[test]
    fn a_page_keeps_its_text_and_loses_its_navigation() {
        let base = Url::parse("https://example.com/docs/page.html").expect("a URL");
        let document = document(PAGE, &base);
        assert_eq!(document.title.as_deref(), Some("Guide & notes"));
        let text = document.text;
        for part in [
            "# Guide\n",
            "Read [the start](https://example.com/start?a=1) and **then** `run it`.",
            "## Steps",
            "1. One\n2. Two",
            "- Inner",
            "```sh\nls -l\n[a](b)\n```",
            "| Name | Value |",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        for part in ["Home", "alert", "Imprint", "p{}"] {
            assert!(!text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("\n\n\n"), "{text}");
    }

    #[test]
    fn a_page_that_is_all_navigation_is_still_shown() {
        let base = Url::parse("https://example.com/").expect("a URL");
        let page =
            "<header><p>All that there is to say stands in here, in the header.</p></header>";
        assert!(document(page, &base).text.contains("All that there is"));
    }
}
