//! What the model writes: colours, headings, code, line breaks.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::themes::styled;
use crate::app::rig::App;
use crate::protocol::Ending;
use crate::theme::{Depth, LinkId, Role};
use crate::ui::highlight::Highlighted;
use crate::ui::rig::Screen;

/// An answer with everything that models write.
pub const ANSWER: &str = "# Parsing rows

See [the guide](https://example.com/guide) or https://example.com/faq.

## What is wrong

A row that is *not* a number **stops** the program in `total()`:

```python
def total(path):
    return sum(int(row[1]) for row in csv.reader(open(path)) if row and row[1].isdigit())
```

### What to do

- [x] read the file
- [ ] skip bad rows
  1. and say so

> One line each.

| file | lines |
|:-----|------:|
| app.py | 20 |
";

pub fn answered() -> App {
    let mut app = App::working();
    app.model_writes(ANSWER);
    app.ends(Ending::Done);
    app
}

/// Plays the worker that finds colours: everything requested is a keyword.
fn deliver_colours(screen: &mut Screen) {
    for request in screen.caches.highlights.take_wanted() {
        let lines = request.code.lines();
        let lines = lines.map(|line| vec![(0..line.len(), Role::Keyword)]);
        let colours = Highlighted {
            lines: lines.collect(),
        };
        screen.caches.highlights.ready(request.key, Some(colours));
    }
    screen.frame();
}

fn is_coloured(screen: &Screen, text: &str) -> bool {
    let at = screen.find(text);
    let keyword = screen.state.settings.theme.style(Role::Keyword).fg;
    Some(screen.buffer()[at].fg) == keyword
}

#[test]
fn code_that_arrived_at_once_is_coloured_when_the_colours_arrive() {
    for end in ["", "\n\nThat is all."] {
        let mut app = App::working().with_theme("dark", Depth::True);
        let code = "```rust\nfn first() {}\n```\n\nand\n\n```rust\nfn last() {}\n```";
        app.model_writes(&format!("{code}{end}"));
        let mut screen = app.on(60, 24);
        screen.ends(Ending::Done);
        screen.frame();
        assert!(!is_coloured(&screen, "fn first"));
        deliver_colours(&mut screen);
        assert!(is_coloured(&screen, "fn first"), "{end}");
        assert!(is_coloured(&screen, "fn last"), "{end}");
    }
}

#[test]
fn links_of_the_person_and_the_model_show_their_targets_and_output_has_none() {
    let mut app = App::new();
    app.accept_message("look at https://example.com/person");
    app.model_writes("Or [here](https://example.com/model).");
    app.tool("a", "Bash")
        .arrives()
        .queued(serde_json::json!({"command": "echo https://example.com/tool"}))
        .running()
        .fails("https://example.com/tool");
    let screen = app.on(60, 24);
    let mut linked: Vec<(String, String)> = Vec::new();
    for cell in screen.buffer().content() {
        let target = LinkId::in_cell(cell).and_then(|id| screen.caches.links().of(id));
        if let Some(target) = target {
            match linked.last_mut() {
                Some((known, text)) if known == target => text.push_str(cell.symbol()),
                _ => linked.push((target.to_owned(), cell.symbol().to_owned())),
            }
        }
    }
    let expected = [
        ("https://example.com/person", "https://example.com/person"),
        ("https://example.com/model", "herehttps://example.com/model"),
    ];
    let expected = expected.map(|(target, text)| (target.to_owned(), text.to_owned()));
    assert_eq!(linked, expected);
}

/// Only the rows of the answer matter here.
fn rows_of_the_answer(screen: &Screen) -> Buffer {
    let (first, last) = (screen.find("Parsing rows").y, screen.find("app.py").y);
    let width = screen.buffer().area.width;
    let area = Rect::new(0, first, width, last - first + 1);
    let mut part = Buffer::empty(area);
    for at in area.positions() {
        part[at] = screen.buffer()[at].clone();
    }
    part
}

#[test]
fn an_answer_in_every_kind_of_theme() {
    let themes = [
        ("dark", Depth::True),
        ("light", Depth::True),
        ("high-contrast", Depth::True),
        ("colour-blind", Depth::True),
        ("ansi16", Depth::Ansi16),
        ("dark", Depth::None),
    ];
    for (theme, depth) in themes {
        let screen = answered().with_theme(theme, depth).on(60, 50);
        let name = match depth {
            Depth::None => "an_answer_without_colours".to_owned(),
            Depth::Ansi16 | Depth::Ansi256 | Depth::True => format!("an_answer_{theme}"),
        };
        insta::assert_snapshot!(name, styled(&rows_of_the_answer(&screen)));
    }
}
