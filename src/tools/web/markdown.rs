//! Converts HTML to readable Markdown: the text of a page with its headings, links, lists, tables and code, without
//! scripts and navigation.

mod handlers;
#[cfg(test)]
mod tests;
mod tree;

use std::rc::Rc;
use std::sync::LazyLock;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BulletListMarker, LinkStyle, Options};
use htmd::{Element, HtmlToMarkdown};
use markup5ever_rcdom::Node;
use reqwest::Url;

use self::tree::{Keep, TooDeep};

/// If the content is shorter than this, the page is shown with its navigation, provided that it is much longer.
const SHORT: usize = 200;

static CONVERTER: LazyLock<HtmlToMarkdown> = LazyLock::new(|| {
    HtmlToMarkdown::builder()
        .options(Options {
            bullet_list_marker: BulletListMarker::Dash,
            ul_bullet_spacing: 1,
            ol_number_spacing: 1,
            link_style: LinkStyle::Inlined,
            ..Options::default()
        })
        .add_handler(vec!["pre"], |_: &dyn Handlers, element: Element| {
            handlers::pre(element.node).map(HandlerResult::from)
        })
        .add_handler(vec!["a"], handlers::link)
        .add_handler(vec!["img"], handlers::image)
        .add_handler(
            vec!["table"],
            |handlers: &dyn Handlers, element: Element| {
                Some(handlers::table(handlers, element.node).into())
            },
        )
        .build()
});

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub title: Option<String>,
    pub text: String,
}

/// Links become absolute addresses, relative to `base` or to what the page declares.
pub fn document(html: &str, base: &Url) -> Document {
    converted(html, base).unwrap_or_else(|TooDeep| Document {
        title: None,
        text: plain(html),
    })
}

/// The text of a piece of HTML on one line.
pub fn plain(html: &str) -> String {
    description(&tree::plain_text(html))
}

fn converted(html: &str, base: &Url) -> Result<Document, TooDeep> {
    let page = tree::parse(html)?;
    let title = tree::find(&page, "title").map(|title| description(&tree::text_of(&title)));
    let declared = tree::find(&page, "base").and_then(|it| tree::attribute(&it, "href"));
    let base = declared
        .and_then(|href| base.join(&href).ok())
        .unwrap_or_else(|| base.clone());
    tree::clean(&page, &base, Keep::Content)?;
    let mut text = tree::main_part(&page).map_or_else(String::new, |main| markdown(&main));
    if text.len() < SHORT {
        text = markdown(&page);
    }
    if text.len() < SHORT {
        let page = tree::parse(html)?;
        tree::clean(&page, &base, Keep::Everything)?;
        let everything = markdown(&page);
        if everything.len() > 2 * text.len() {
            text = everything;
        }
    }
    Ok(Document {
        title: title.filter(|title| !title.is_empty()),
        text,
    })
}

fn markdown(node: &Rc<Node>) -> String {
    tidy(&CONVERTER.tree_to_markdown(node))
}

fn description(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
