//! Elements that are converted differently than the converter does it by itself: code, links, images and tables.

use std::fmt::Write;
use std::rc::Rc;

use htmd::Element;
use htmd::element_handler::{HandlerResult, Handlers};
use markup5ever_rcdom::Node;

use super::tree::{attribute, find, is, name, text_of};

/// Code as it is, without the links and colours inside it.
pub fn pre(node: &Rc<Node>) -> Option<String> {
    let text = text_of(node);
    let text = text.trim_matches('\n').trim_end();
    if text.is_empty() {
        return None;
    }
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    let language = language(node).unwrap_or_default();
    Some(format!("\n\n{fence}{language}\n{text}\n{fence}\n\n"))
}

/// The language of code, as its class or that of the `code` element inside it says.
fn language(node: &Rc<Node>) -> Option<String> {
    let code = find(node, "code");
    let classes = [code.as_ref(), Some(node)].into_iter().flatten();
    let classes: Vec<String> = classes.filter_map(|it| attribute(it, "class")).collect();
    let mut words = classes.iter().flat_map(|it| it.split_whitespace());
    words.find_map(|word| {
        let named = ["language-", "lang-", "highlight-source-"];
        let named = named.iter().find_map(|start| word.strip_prefix(start));
        named
            .or_else(|| (word == "rust").then_some(word))
            .map(str::to_owned)
    })
}

/// A link that leads elsewhere; a link inside the page is just its text.
pub fn link(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let leads_away = attribute(element.node, "href")
        .is_some_and(|href| !href.starts_with('#') && !href.starts_with("javascript:"));
    if leads_away {
        handlers.fallback(element)
    } else {
        Some(handlers.walk_children(element.node))
    }
}

/// Images that say nothing are left out, and those inside the page have no address.
pub fn image(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let alt = attribute(element.node, "alt");
    if alt.as_deref().is_some_and(|alt| alt.trim().is_empty()) {
        return None;
    }
    let is_inside = attribute(element.node, "src").is_some_and(|src| src.starts_with("data:"));
    if is_inside {
        return Some(format!("![{}]()", alt?.replace('\n', " ")).into());
    }
    handlers.fallback(element)
}

/// Rows without padding: a long cell would make every row as long.
pub fn table(handlers: &dyn Handlers, node: &Rc<Node>) -> String {
    let mut rows = Vec::new();
    collect_rows(node, &mut rows);
    if is_layout(node, &rows) {
        let content = handlers.walk_children(node).content;
        return format!("\n\n{}\n\n", content.trim_matches('\n'));
    }
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(handlers, row)).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut table = String::from("\n\n");
    if let Some(caption) = find(node, "caption") {
        let caption = text_of(&caption);
        table.push_str(caption.trim());
        table.push_str("\n\n");
    }
    for (number, mut row) in rows.into_iter().enumerate() {
        if number == 0 {
            row.resize(columns, String::new());
        }
        // Writing to a string cannot fail.
        let _ = writeln!(table, "| {} |", row.join(" | "));
        if number == 0 {
            let _ = writeln!(table, "|{}", " --- |".repeat(columns));
        }
    }
    table.push('\n');
    table
}

/// The rows of a table, without those of tables inside it.
fn collect_rows(node: &Rc<Node>, rows: &mut Vec<Rc<Node>>) {
    for child in node.children.borrow().iter() {
        match name(child) {
            Some("tr") => rows.push(child.clone()),
            Some("thead" | "tbody" | "tfoot") => collect_rows(child, rows),
            Some(_) | None => {}
        }
    }
}

fn is_cell(node: &Node) -> bool {
    is(node, "td") || is(node, "th")
}

/// Whether a table only arranges a page: it has one column, or blocks in its cells.
fn is_layout(table: &Rc<Node>, rows: &[Rc<Node>]) -> bool {
    let count = |row: &Rc<Node>| {
        row.children
            .borrow()
            .iter()
            .filter(|it| is_cell(it))
            .count()
    };
    let blocks = ["table", "pre", "h1", "h2", "h3", "ul", "ol"];
    let presents = attribute(table, "role").is_some_and(|role| role == "presentation");
    presents
        || rows.iter().map(count).max().unwrap_or(0) < 2
        || blocks
            .iter()
            .any(|block| rows.iter().any(|row| find(row, block).is_some()))
}

fn cells(handlers: &dyn Handlers, row: &Rc<Node>) -> Vec<String> {
    let mut cells = Vec::new();
    for cell in row.children.borrow().iter().filter(|it| is_cell(it)) {
        let content = handlers.walk_children(cell).content;
        let words: Vec<&str> = content.split_whitespace().collect();
        cells.push(words.join(" ").replace('|', "\\|"));
        let span: usize = attribute(cell, "colspan")
            .and_then(|it| it.parse().ok())
            .unwrap_or(1);
        let more = span.clamp(1, 50) - 1;
        cells.extend(std::iter::repeat_n(String::new(), more));
    }
    cells
}
