//! How many bytes a conversation sends to the terminal; the README's pictures and the recording.

mod pictures;
mod played;
mod recording;

use std::fmt::Write;
use std::time::Duration;

use ratatui::layout::Rect;

use super::Screen;
use crate::app::Msg;
use crate::app::rig::App;
use crate::theme::Depth;
use crate::ui::highlight::Highlighter;
use crate::ui::{self, Caches};

const WHOLE: Rect = Rect::new(0, 0, 120, 40);

/// Prose, lists, links, code and tables, as models write them.
fn section(number: usize) -> String {
    let words = "the parser walks each node in order and keeps a small stack of open scopes so that later passes can look";
    let code = [
        "```rust\nfn walk(node: &Node, depth: usize, out: &mut Vec<String>) {\n    for (i, child) in node.iter().enumerate() {\n        let label = format!(\"{}:{}\", depth, i);\n        out.push(label); // one each\n    }\n}\n```\n",
        "```python\ndef walk(node, depth=0, out=None):\n    \"\"\"Collect the labels of all named children.\"\"\"\n    for i, child in enumerate(node.children):\n        out.append(f\"{depth}:{i} {child.name}\")\n    return out\n```\n",
        "| pass | input | cost |\n|------|-------|------|\n| lex | bytes | low |\n| bind | tree | high |\n",
    ];
    let mut text = format!("## Section {number}\n\n{words} {words}. **{words}**\n\n");
    for item in 0..4 {
        let _ = writeln!(
            text,
            "- item {item}: see [the guide](https://example.com/guide/{number}) and `node`"
        );
    }
    text + "\n" + code[number % 3] + "\n"
}

#[test]
fn three_thousand_deltas_of_markdown_cost_less_than_a_hundred_kibibytes() {
    let source: String = (0..).map(section).take(30).collect();
    let deltas: Vec<char> = source.chars().take(15_000).collect();
    let mut app = App::working().with_theme("dark", Depth::True);
    app.resize(WHOLE.width, WHOLE.height);
    let (mut caches, mut screen) = (Caches::new(), Screen::new(WHOLE.as_size()));
    let mut highlighter = Highlighter::new();
    let (mut bytes, mut links) = (0, 0);
    // Five letters each, 500 a second, a frame every 20 milliseconds.
    for frame in deltas.chunks(50) {
        for delta in frame.chunks(5) {
            app.model_writes(&delta.iter().collect::<String>());
        }
        app.after(Duration::from_millis(20));
        let found = caches.lay_out(&app.state, WHOLE);
        app.update(Msg::LaidOut(found));
        let moves = caches.conversation();
        let drawn = screen.draw(Vec::new(), moves, caches.links(), |area, buffer| {
            ui::paint(&app.state, &caches, area, buffer)
        });
        let drawn = drawn.unwrap_or_default();
        bytes += drawn.len();
        links += memchr::memmem::find_iter(&drawn, b"\x1b]8;id=").count();
        for request in caches.highlights.take_wanted() {
            let colours = highlighter.highlight(&request.language, &request.code);
            caches.highlights.ready(request.key, colours);
        }
    }
    assert!(links > 50, "{links} links");
    assert!(bytes < 100 << 10, "{bytes} bytes");
}
