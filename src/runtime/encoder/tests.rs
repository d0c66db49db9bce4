use proptest::prelude::{Just, Strategy, prop, prop_assert_eq, prop_oneof, proptest};
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};

use crate::runtime::screen::Screen;

/// One styled text at a place.
#[derive(Debug, Clone)]
struct Piece {
    x: u16,
    y: u16,
    text: &'static str,
    style: Style,
}

const SIZE: (u16, u16) = (20, 6);
const WHOLE: Rect = Rect::new(0, 0, SIZE.0, SIZE.1);

fn draw(screen: &mut Screen, pieces: &[Piece]) -> String {
    let bytes = screen.draw(Vec::new(), WHOLE, |area, buffer| {
        for piece in pieces {
            if piece.x < area.width && piece.y < area.height {
                buffer.set_string(piece.x, piece.y, piece.text, piece.style);
            }
        }
        Some(Position::new(1, 1))
    });
    String::from_utf8(bytes.unwrap_or_default()).expect("text")
}

fn plain(x: u16, y: u16, text: &'static str) -> Piece {
    Piece {
        x,
        y,
        text,
        style: Style::new(),
    }
}

#[test]
fn a_frame_is_one_piece_with_the_cursor_where_it_belongs() {
    let mut screen = Screen::new(SIZE.into());
    assert_eq!(
        draw(&mut screen, &[plain(0, 0, "hi")]),
        "\x1b[?2026h\x1b[0m\x1b[2J\x1b[1Hhi\x1b[2;2H\x1b[?25h\x1b[?2026l"
    );
}

#[test]
fn a_frame_in_which_nothing_changed_is_no_bytes() {
    let mut screen = Screen::new(SIZE.into());
    draw(&mut screen, &[plain(0, 0, "hi")]);
    assert_eq!(draw(&mut screen, &[plain(0, 0, "hi")]), "");
}

#[test]
fn only_what_changed_is_sent() {
    let mut screen = Screen::new(SIZE.into());
    draw(&mut screen, &[plain(0, 1, "abc")]);
    assert_eq!(
        draw(&mut screen, &[plain(0, 1, "abcd")]),
        "\x1b[?2026h\x1b[2Cd\x1b[2;2H\x1b[?2026l"
    );
}

#[test]
fn a_style_is_told_once_and_in_full_only_when_something_of_it_ends() {
    let mut screen = Screen::new(SIZE.into());
    let red = Style::new().fg(Color::Red);
    let bold = red.add_modifier(Modifier::BOLD);
    let pieces = [
        Piece {
            style: red,
            ..plain(0, 0, "aa")
        },
        Piece {
            style: bold,
            ..plain(2, 0, "b")
        },
        Piece {
            style: Style::new().bg(Color::Rgb(1, 2, 3)),
            ..plain(3, 0, "c")
        },
    ];
    assert_eq!(
        draw(&mut screen, &pieces),
        "\x1b[?2026h\x1b[0m\x1b[2J\x1b[1H\x1b[31maa\x1b[1mb\x1b[0;48;2;1;2;3mc\x1b[2;2H\x1b[?25h\x1b[?2026l"
    );
}

#[test]
fn after_a_character_of_doubtful_width_the_cursor_is_placed_anew() {
    let mut screen = Screen::new(SIZE.into());
    assert_eq!(
        draw(&mut screen, &[plain(0, 0, "漢─👍a")]),
        "\x1b[?2026h\x1b[0m\x1b[2J\x1b[1H漢─👍\x1b[1;6Ha\x1b[2;2H\x1b[?25h\x1b[?2026l"
    );
}

#[test]
fn another_size_begins_with_an_empty_screen() {
    let mut screen = Screen::new(SIZE.into());
    draw(&mut screen, &[plain(0, 0, "hi")]);
    screen.resize((10, 3).into());
    let bytes = draw(&mut screen, &[plain(0, 0, "hi")]);
    assert!(
        bytes.contains("\x1b[2J") && bytes.contains("hi"),
        "{bytes:?}"
    );
}

fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    let text = prop::sample::select(vec!["a", "hello", "漢字", "─│", "e\u{301}", "   ", "x y"]);
    let colour = prop_oneof![
        Just(Color::Reset),
        Just(Color::Red),
        Just(Color::LightBlue),
        Just(Color::Indexed(99)),
        Just(Color::Rgb(9, 8, 7)),
    ];
    let modifier =
        prop::sample::select(vec![Modifier::empty(), Modifier::BOLD, Modifier::REVERSED]);
    let piece = (0..20_u16, 0..6_u16, text, colour.clone(), colour, modifier).prop_map(
        |(x, y, text, fg, bg, modifier)| Piece {
            x,
            y,
            text,
            style: Style::new().fg(fg).bg(bg).add_modifier(modifier),
        },
    );
    prop::collection::vec(piece, 0..12)
}

/// A cell as one sees it: of a blank one, only the ground.
type Seen = (String, vt100::Color, bool, Option<(vt100::Color, bool)>);

fn seen(terminal: &vt100::Parser) -> Vec<Seen> {
    let screen = terminal.screen();
    let places = (0..SIZE.1).flat_map(|row| (0..SIZE.0).map(move |column| (row, column)));
    let cells = places.filter_map(|(row, column)| screen.cell(row, column));
    let see = |cell: &vt100::Cell| {
        let text = cell.contents().trim().to_owned();
        let letter = (!text.is_empty() || cell.inverse()).then(|| (cell.fgcolor(), cell.bold()));
        (text, cell.bgcolor(), cell.inverse(), letter)
    };
    cells.map(see).collect()
}

proptest! {
    #[test]
    fn frame_upon_frame_looks_like_the_last_one_alone(frames in prop::collection::vec(pieces(), 1..5)) {
        let mut screen = Screen::new(SIZE.into());
        let mut terminal = vt100::Parser::new(SIZE.1, SIZE.0, 0);
        for frame in &frames {
            terminal.process(draw(&mut screen, frame).as_bytes());
        }
        let mut fresh = vt100::Parser::new(SIZE.1, SIZE.0, 0);
        let last = frames.last().expect("one at least");
        let mut alone = Screen::new(SIZE.into());
        fresh.process(draw(&mut alone, last).as_bytes());
        prop_assert_eq!(seen(&terminal), seen(&fresh));
    }
}
