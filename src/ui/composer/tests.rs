use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent};
use proptest::prelude::{ProptestConfig, proptest};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{draw, draw_popup, height};
use crate::app::composer::Composer;
use crate::app::composer::tests::random::random_composer;
use crate::app::job::{Candidate, JobResult};
use crate::keymap::Action;
use crate::theme::Theme;

fn typed(text: &str) -> Composer {
    let mut composer = Composer::default();
    for letter in text.chars() {
        match letter {
            '\n' => drop(composer.perform(Action::Newline, now())),
            letter => drop(composer.key(KeyEvent::from(KeyCode::Char(letter)), now())),
        }
    }
    composer
}

fn now() -> Instant {
    <Instant>::now()
}

/// The composer at the bottom of a small screen, with `▏` before the caret's cell.
fn screen(composer: &Composer, width: u16, rows: u16) -> Vec<String> {
    let whole = Rect::new(0, 0, width, rows);
    let mut buf = Buffer::empty(whole);
    let height = height(composer, width, rows.min(4));
    let area = Rect::new(0, rows - height, width, height);
    let above = Rect::new(0, 0, width, rows - height);
    draw_popup(composer, &Theme::plain(), above, &mut buf);
    let caret = draw(composer, true, &Theme::plain(), area, &mut buf);
    let line = |y| {
        let cell = |x| {
            let mark = if caret == Position::new(x, y) {
                "▏"
            } else {
                ""
            };
            format!("{mark}{}", buf[(x, y)].symbol())
        };
        let line: String = (0..width).map(cell).collect();
        line.trim_end().to_owned()
    };
    (0..rows).map(line).collect()
}

#[test]
fn the_mark_comes_first_and_an_empty_input_shows_a_hint() {
    assert_eq!(
        screen(&Composer::default(), 30, 1),
        ["❯ ▏Ask anything · / commands ·"]
    );
}

#[test]
fn long_lines_are_wrapped_at_words_and_wide_characters_stay_whole() {
    assert_eq!(
        screen(&typed("one two three 日本語日本語日本語\nend"), 20, 3),
        ["❯ one two three 日", "  本 語 日 本 語 日 本 語", "  end▏"]
    );
}

#[test]
fn a_draft_that_is_too_high_scrolls_with_the_caret() {
    let mut composer = typed("1\n2\n3\n4\n5\n6");
    composer.resize(20, 4);
    assert_eq!(screen(&composer, 20, 4), ["❯ 3", "  4", "  5", "  6▏"]);
    for _ in 0..4 {
        composer.perform(Action::HistoryPrevious, now());
    }
    assert_eq!(screen(&composer, 20, 4), ["❯ 2▏", "  3", "  4", "  5"]);
}

#[test]
fn folded_and_invisible_text_is_shown() {
    let mut composer = typed("a\u{202e}b\t");
    composer.paste("x\n".repeat(50), now());
    assert_eq!(
        screen(&composer, 50, 1),
        ["❯ a<U+202E>b    [pasted 50 lines]▏"]
    );
}

#[test]
fn commands_are_suggested_with_their_descriptions() {
    assert_eq!(
        screen(&typed("/mod"), 60, 3),
        ["", "› /model [NAME]  show or switch the model", "❯ /mod▏"]
    );
}

#[test]
fn a_long_path_shows_its_end_and_its_hidden_characters() {
    let mut composer = typed("@x");
    let candidate = |path: &str| Candidate {
        path: path.to_owned(),
        matched: vec![0],
    };
    let paths = vec![
        candidate("a/very/long/path/to/x.rs"),
        candidate("x\u{1b}[2J"),
    ];
    let found = JobResult::Paths {
        generation: 2,
        paths,
        found: 2,
        complete: true,
    };
    composer.done(found, now()).expect("taken");
    assert_eq!(
        screen(&composer, 20, 3),
        ["› …long/path/to/x.rs", "  x␛[2J", "❯ @x▏"]
    );
}

#[test]
fn a_list_with_more_items_says_so_even_beyond_the_reachable_ones() {
    let mut composer = typed("@x");
    let candidate = |number: u32| Candidate {
        path: format!("x{number}"),
        matched: vec![0],
    };
    let found = JobResult::Paths {
        generation: 2,
        paths: (0..10).map(candidate).collect(),
        found: 1_234,
        complete: true,
    };
    composer.done(found, now()).expect("taken");
    assert_eq!(
        screen(&composer, 20, 4),
        ["› x0", "  x1", "  1232 more ↓", "❯ @x▏"]
    );
    composer.perform(Action::Previous, now());
    assert_eq!(
        screen(&composer, 30, 4),
        ["  x8", "› x9", "  8 more ↑   1224 more ↓", "❯ @x▏"]
    );
    let commands = screen(&typed("/"), 60, 12);
    assert!(commands[10].contains("more ↓"), "{commands:#?}");
}

#[test]
fn a_search_shows_what_it_finds() {
    let mut composer = typed("");
    let older = vec![
        "fix the parser".to_owned(),
        "run".to_owned(),
        "a\nfix".to_owned(),
    ];
    composer
        .done(JobResult::History(older), now())
        .expect("read");
    composer.perform(Action::SearchHistory, now());
    for letter in "fix".chars() {
        composer.key(KeyEvent::from(KeyCode::Char(letter)), now());
    }
    assert_eq!(
        screen(&composer, 30, 3),
        ["› fix …", "  fix the parser", "❯ history: fix▏"]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_composer_can_be_drawn_at_any_size(
        composer in random_composer(),
        width in 0..50_u16,
        rows in 0..12_u16,
    ) {
        let mut buf = Buffer::empty(Rect::new(0, 0, width, rows));
        let height = height(&composer, width, rows);
        assert!(height <= rows);
        let area = Rect::new(0, rows - height, width, height);
        draw_popup(&composer, &Theme::plain(), Rect::new(0, 0, width, rows - height), &mut buf);
        let caret = draw(&composer, true, &Theme::plain(), area, &mut buf);
        assert!(area.is_empty() || area.contains(caret));
    }
}
