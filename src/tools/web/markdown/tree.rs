//! Parses HTML into a tree and removes what is not content.
//!
//! A page may be hostile. Parsers search their stack of open elements and converters recurse, so the depth and the time
//! are limited; a page above the limits has no tree.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use html5ever::interface::TokenizerResult;
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Node, NodeData, RcDom};
use reqwest::Url;

/// The deepest nesting of elements that is converted.
const DEEPEST: usize = 200;
/// The deepest nesting of lists and quotes, because each level indents all lines inside it.
const DEEPEST_INDENT: usize = 20;
/// The parser gets this many bytes at a time, and the limits are checked in between.
const PIECE: usize = 4096;
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Elements that are never content.
const DROPPED: [&str; 16] = [
    "button", "canvas", "datalist", "dialog", "head", "iframe", "input", "noscript", "object",
    "script", "select", "style", "svg", "template", "textarea", "video",
];
/// Elements around the content: navigation and the like.
const AROUND: [&str; 3] = ["aside", "footer", "nav"];
/// Elements that are removed if nothing is left in them.
const CONTAINERS: [&str; 14] = [
    "a",
    "blockquote",
    "dd",
    "dt",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "li",
    "ol",
    "p",
    "ul",
];
/// The text of links from a heading to itself.
const PERMALINKS: [&str; 6] = ["#", "¶", "§", "🔗", "link", "permalink"];

/// Whether navigation counts as content, for pages that have nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Content,
    Everything,
}

/// The tree is too deep to be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooDeep;

pub fn parse(html: &str) -> Result<Rc<Node>, TooDeep> {
    let began = Instant::now();
    let mut parser = parse_document(RcDom::default(), ParseOpts::default());
    let mut rest = html;
    while !rest.is_empty() {
        let mut end = PIECE.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        parser.process(StrTendril::from_slice(piece));
        rest = after;
        let open = depth_at_the_end(&parser.tokenizer.sink.sink.document);
        if open > DEEPEST || began.elapsed() > MAX_WAIT {
            return Err(TooDeep);
        }
    }
    Ok(parser.finish().document)
}

/// The number of elements that are open while the parser is in the middle of a page.
fn depth_at_the_end(document: &Rc<Node>) -> usize {
    let mut node = document.clone();
    let mut depth = 0;
    loop {
        let last = node.children.borrow().last().cloned();
        let Some(last) = last else { return depth };
        (node, depth) = (last, depth + 1);
    }
}

/// The first element with this name.
pub fn find(node: &Rc<Node>, name: &str) -> Option<Rc<Node>> {
    let children = node.children.borrow();
    children.iter().find_map(|child| {
        if is(child, name) {
            Some(child.clone())
        } else {
            find(child, name)
        }
    })
}

/// The part of a page that it declares as its content, if it is the only one.
pub fn main_part(document: &Rc<Node>) -> Option<Rc<Node>> {
    let mut found = Vec::new();
    collect_main(document, &mut found);
    match found.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}

fn collect_main(node: &Rc<Node>, found: &mut Vec<Rc<Node>>) {
    for child in node.children.borrow().iter() {
        if is(child, "main") || attribute(child, "role").as_deref() == Some("main") {
            found.push(child.clone());
        } else {
            collect_main(child, found);
        }
    }
}

pub fn name(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        NodeData::Document
        | NodeData::Doctype { .. }
        | NodeData::Text { .. }
        | NodeData::Comment { .. }
        | NodeData::ProcessingInstruction { .. } => None,
    }
}

pub fn is(node: &Node, wanted: &str) -> bool {
    name(node) == Some(wanted)
}

pub fn attribute(node: &Node, wanted: &str) -> Option<String> {
    let NodeData::Element { attrs, .. } = &node.data else {
        return None;
    };
    let attributes = attrs.borrow();
    let found = attributes.iter().find(|it| &*it.name.local == wanted);
    found.map(|it| it.value.to_string())
}

/// The text inside an element, with its line breaks.
pub fn text_of(node: &Rc<Node>) -> String {
    let mut text = String::new();
    add_text(node, &mut text);
    text
}

fn add_text(node: &Rc<Node>, text: &mut String) {
    if let NodeData::Text { contents } = &node.data {
        text.push_str(&contents.borrow());
    } else if is(node, "br") {
        text.push('\n');
    }
    let is_block = |node: &Node| matches!(name(node), Some("div" | "p" | "li" | "tr"));
    let mut after_code = false;
    for child in node.children.borrow().iter() {
        let is_code = is(child, "code");
        if is_block(child) || after_code && is_code {
            break_line(text);
        }
        add_text(child, text);
        if is_block(child) {
            break_line(text);
        }
        after_code = is_code;
    }
}

fn break_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Removes what is not content, and makes all addresses absolute.
pub fn clean(document: &Rc<Node>, base: &Url, keep: Keep) -> Result<(), TooDeep> {
    let cleaner = Cleaner { base, keep };
    cleaner.visit(document, Place::default()).map(|_| ())
}

struct Cleaner<'a> {
    base: &'a Url,
    keep: Keep,
}

#[derive(Debug, Clone, Copy, Default)]
struct Place {
    depth: usize,
    /// The number of lists and quotes around it.
    indent: usize,
    in_main: bool,
}

impl Cleaner<'_> {
    /// Returns whether anything visible is left in the node.
    fn visit(&self, node: &Rc<Node>, place: Place) -> Result<bool, TooDeep> {
        let mut place = place;
        place.depth += 1;
        match name(node) {
            Some("ul" | "ol" | "blockquote" | "dl") => place.indent += 1,
            Some("main" | "article") => place.in_main = true,
            Some(_) | None => {}
        }
        if place.depth > DEEPEST || place.indent > DEEPEST_INDENT {
            return Err(TooDeep);
        }
        let children = node.children.take();
        let mut kept: Vec<Rc<Node>> = Vec::with_capacity(children.len());
        let mut is_visible = false;
        for child in children {
            if self.is_dropped(&child, place) {
                continue;
            }
            let shows = self.visit(&child, place)?;
            if !shows && name(&child).is_some_and(|it| CONTAINERS.contains(&it)) {
                continue;
            }
            self.link(&child);
            is_visible |= shows;
            if is(node, "pre") || !kept.last().is_some_and(|last| joined(last, &child)) {
                kept.push(child);
            }
        }
        *node.children.borrow_mut() = kept;
        Ok(is_visible || shows_itself(node))
    }

    fn is_dropped(&self, node: &Rc<Node>, place: Place) -> bool {
        let Some(name) = name(node) else { return false };
        if DROPPED.contains(&name) || is_permalink(node) {
            return true;
        }
        if self.keep == Keep::Everything {
            return false;
        }
        let role = attribute(node, "role");
        let is_around = matches!(name, "footer" | "nav")
            || (AROUND.contains(&name) && !place.in_main)
            || (name == "header" && !place.in_main && find(node, "h1").is_none())
            || matches!(
                role.as_deref(),
                Some("navigation" | "search" | "contentinfo")
            );
        is_around
            || attribute(node, "hidden").is_some_and(|value| value != "until-found")
            || attribute(node, "aria-hidden").as_deref() == Some("true")
    }

    /// Makes the address of a link or an image absolute, so that it can be fetched.
    fn link(&self, node: &Rc<Node>) {
        let NodeData::Element { attrs, .. } = &node.data else {
            return;
        };
        let mut attributes = attrs.borrow_mut();
        // What a browser shows when the mouse is over a link.
        attributes.retain(|it| &*it.name.local != "title");
        for it in attributes.iter_mut() {
            let is_address = matches!(&*it.name.local, "href" | "src");
            if is_address
                && !it.value.starts_with('#')
                && let Ok(url) = self.base.join(it.value.trim())
            {
                it.value = url.as_str().into();
            }
        }
    }
}

fn shows_itself(node: &Rc<Node>) -> bool {
    match &node.data {
        NodeData::Text { contents } => !contents.borrow().trim().is_empty(),
        NodeData::Element { .. } => is(node, "img") || is(node, "hr"),
        NodeData::Document
        | NodeData::Doctype { .. }
        | NodeData::Comment { .. }
        | NodeData::ProcessingInstruction { .. } => false,
    }
}

/// A link from a heading to itself, or over the navigation to the content.
fn is_permalink(node: &Rc<Node>) -> bool {
    if !is(node, "a") || !attribute(node, "href").is_some_and(|href| href.starts_with('#')) {
        return false;
    }
    let text = text_of(node);
    let text = text.trim().to_ascii_lowercase();
    PERMALINKS.contains(&text.as_str()) || text.starts_with("skip to")
}

/// Adds an inline element with nothing but text to the same element before it. The converter does the same, but needs
/// time quadratic in their number.
fn joined(before: &Rc<Node>, node: &Rc<Node>) -> bool {
    let (NodeData::Element { attrs, .. }, NodeData::Element { attrs: others, .. }) =
        (&node.data, &before.data)
    else {
        return false;
    };
    let inline = name(node).is_some_and(|it| {
        matches!(
            it,
            "b" | "strong"
                | "i"
                | "em"
                | "code"
                | "span"
                | "font"
                | "tt"
                | "u"
                | "s"
                | "small"
                | "big"
        ) || it.contains('-')
    });
    if !inline || name(before) != name(node) || *attrs.borrow() != *others.borrow() {
        return false;
    }
    let (text, other) = (node.children.borrow(), before.children.borrow());
    let ([text], [other]) = (text.as_slice(), other.as_slice()) else {
        return false;
    };
    let (NodeData::Text { contents }, NodeData::Text { contents: other }) =
        (&text.data, &other.data)
    else {
        return false;
    };
    other.borrow_mut().push_slice(&contents.borrow());
    true
}

/// All text of a page without its structure, for pages that cannot be converted.
pub fn plain_text(html: &str) -> String {
    let tokenizer = Tokenizer::new(PlainText::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    while let TokenizerResult::Script(()) = tokenizer.feed(&input) {}
    tokenizer.end();
    tokenizer.sink.text.take()
}

#[derive(Default)]
struct PlainText {
    text: RefCell<String>,
    /// Inside a script or a style.
    in_raw: RefCell<bool>,
}

impl TokenSink for PlainText {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::CharacterTokens(text) if !*self.in_raw.borrow() => {
                self.text.borrow_mut().push_str(&text);
            }
            Token::TagToken(tag) => {
                let raw = raw_kind(&tag);
                *self.in_raw.borrow_mut() = raw.is_some();
                self.text.borrow_mut().push(' ');
                if let Some(kind) = raw {
                    return TokenSinkResult::RawData(kind);
                }
            }
            Token::CharacterTokens(_)
            | Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

fn raw_kind(tag: &Tag) -> Option<RawKind> {
    match &*tag.name {
        "script" if tag.kind == TagKind::StartTag => Some(RawKind::ScriptData),
        "style" | "noscript" | "iframe" if tag.kind == TagKind::StartTag => Some(RawKind::Rawtext),
        _ => None,
    }
}
