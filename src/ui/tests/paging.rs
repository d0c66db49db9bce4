use insta::assert_snapshot;

use crate::app::dialogs::Dialog;
use crate::app::dialogs::pager::{Content, Pager};
use crate::app::page::Line;
use crate::app::rig::App;
use crate::ui::rig::Screen;

/// A page on which every tenth line is about rows.
fn page() -> Screen {
    let line = |number: usize| match number % 10 {
        0 => Line::text(format!("{number} bad Rows, and rows again")),
        _ => Line::muted(format!("{number} something else")),
    };
    let lines: Vec<Line> = (1..=60).map(line).collect();
    let mut app = App::new();
    let pager = Pager::new("Answer", Content::Lines(lines.into()));
    app.state.dialogs.push(Dialog::Pager(Box::new(pager)));
    app.on(60, 20)
}

fn typed(screen: &mut Screen, keys: &str, text: &str) {
    screen.press(keys);
    screen.frame();
    screen.types(text);
    screen.frame();
}

fn top(screen: &mut Screen) -> String {
    screen.text().lines().nth(2).unwrap_or_default().to_owned()
}

#[test]
fn a_page_is_searched_while_the_query_is_typed() {
    let mut screen = page();
    typed(&mut screen, "space /", "rows");
    assert_snapshot!(screen.draw());
    typed(&mut screen, "enter n", "");
    assert_snapshot!("the_next_match_of_a_page", screen.draw());
}

#[test]
fn the_last_match_is_followed_by_the_first_and_the_other_way_round() {
    let mut screen = page();
    typed(&mut screen, "/", "rows");
    typed(&mut screen, "enter N", "");
    assert_eq!(screen.lines_with("6 of 6").len(), 1);
    typed(&mut screen, "n", "");
    assert_eq!(screen.lines_with("1 of 6").len(), 1);
}

#[test]
fn a_search_that_is_abandoned_returns_to_where_it_began() {
    let mut screen = page();
    let before = top(&mut screen);
    typed(&mut screen, "/", "40 bad");
    assert_ne!(top(&mut screen), before);
    typed(&mut screen, "esc", "");
    assert_eq!(top(&mut screen), before);
    assert!(!screen.state.dialogs.is_empty(), "the page stays open");
    typed(&mut screen, "/", "40 bad");
    typed(&mut screen, "enter", "");
    let found = top(&mut screen);
    typed(&mut screen, "esc", "");
    assert_eq!(top(&mut screen), found);
    typed(&mut screen, "esc", "");
    assert!(screen.state.dialogs.is_empty());
}

#[test]
fn a_query_without_matches_says_so() {
    let mut screen = page();
    typed(&mut screen, "/", "nowhere");
    assert_eq!(screen.lines_with("nothing found").len(), 1);
}
