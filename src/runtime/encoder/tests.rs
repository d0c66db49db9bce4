use proptest::prelude::{Just, Strategy, prop, prop_assert_eq, prop_oneof, proptest};
use ratatui::layout::{Position, Rect};
use ratatui::style::{Color, Modifier, Style};

use crate::runtime::screen::Screen;
use crate::ui::text::{Link, Targets};

/// A styled text at a place.
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
    draw_linked(screen, pieces, &[])
}

fn draw_linked(screen: &mut Screen, pieces: &[Piece], links: &[Link]) -> String {
    let mut targets = Targets::default();
    for link in links {
        targets.add(link);
    }
    let bytes = screen.draw(Vec::new(), WHOLE, &targets, |area, buffer| {
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
fn a_background_is_erased_if_the_terminal_can_and_written_if_not() {
    let background = |erases_in_colour| {
        let mut screen = Screen::new(SIZE.into());
        screen.erases_in_colour = erases_in_colour;
        draw(&mut screen, &[]);
        let style = Style::new().bg(Color::Red);
        let blanks = Piece {
            style,
            ..plain(2, 1, "            ")
        };
        draw(&mut screen, &[blanks])
    };
    assert!(
        background(true).contains("\x1b[41m\x1b[12X\x1b["),
        "{:?}",
        background(true)
    );
    assert!(
        background(false).contains("\x1b[41m            \x1b["),
        "{:?}",
        background(false)
    );
}

fn link() -> Link {
    Link::to("https://a.b/c").expect("an address")
}

fn linked(x: u16, y: u16, text: &'static str) -> Piece {
    let style = link().id.put_on(Style::new());
    Piece {
        style,
        ..plain(x, y, text)
    }
}

#[test]
fn the_parts_of_a_link_have_one_number_and_the_link_ends_with_its_text() {
    let mut screen = Screen::new(SIZE.into());
    let pieces = [linked(2, 0, "one"), plain(5, 0, "-x"), linked(0, 2, "two")];
    let bytes = draw_linked(&mut screen, &pieces, &[link()]);
    let id = link().id;
    let open = format!("\x1b]8;id={id};https://a.b/c\x1b\\");
    let close = "\x1b]8;;\x1b\\";
    assert_eq!(
        bytes,
        format!(
            "\x1b[?2026h\x1b[0m\x1b[2J\x1b[1;3H{open}one{close}-x\x1b[3H{open}two{close}\x1b[2;2H\x1b[?25h\x1b[?2026l"
        )
    );
    assert_eq!(draw_linked(&mut screen, &pieces, &[link()]), "");
}

#[test]
fn text_with_an_unknown_link_is_plain_text() {
    let mut screen = Screen::new(SIZE.into());
    let bytes = draw(&mut screen, &[linked(0, 0, "one")]);
    assert!(
        bytes.contains("one") && !bytes.contains("\x1b]8"),
        "{bytes:?}"
    );
}

#[test]
fn text_that_gets_or_loses_its_link_is_sent_again() {
    let mut screen = Screen::new(SIZE.into());
    draw(&mut screen, &[plain(0, 0, "one")]);
    let bytes = draw_linked(&mut screen, &[linked(0, 0, "one")], &[link()]);
    assert!(
        bytes.contains("https://a.b/c\x1b\\one\x1b]8;;"),
        "{bytes:?}"
    );
    let bytes = draw(&mut screen, &[plain(0, 0, "one")]);
    assert!(
        bytes.contains("one") && !bytes.contains("\x1b]8"),
        "{bytes:?}"
    );
}

#[test]
fn rows_with_links_move_like_others() {
    let texts = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let frame = |first: usize| -> Vec<Piece> {
        let rows = (0..SIZE.1).zip(&texts[first..]);
        rows.map(|(y, text)| linked(0, y, text)).collect()
    };
    let mut screen = Screen::new(SIZE.into());
    draw_linked(&mut screen, &frame(0), &[link()]);
    let bytes = draw_linked(&mut screen, &frame(1), &[link()]);
    assert_eq!(bytes.matches("https://a.b/c").count(), 1, "{bytes:?}");
    assert!(bytes.contains("\x1b[1;6r"), "{bytes:?}");
}

#[test]
fn an_unchanged_frame_sends_no_bytes() {
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
fn a_style_is_sent_once_and_in_full_only_when_an_attribute_ends() {
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
fn after_a_character_of_uncertain_width_the_cursor_is_placed_again() {
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

/// A cell as it looks: for a blank one, only the background.
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
    fn many_frames_give_the_same_screen_as_the_last_one_alone(frames in prop::collection::vec(pieces(), 1..5)) {
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

/// Several characters each. The terminal of these tests measures a family as eight columns and a thumb as four.
const CLUSTERS: [&str; 4] = [
    "👨\u{200d}👩\u{200d}👧\u{200d}👦",
    "👍\u{1f3fd}",
    "🇩🇪",
    "❤\u{fe0f}",
];

/// The texts of the rows, without the columns of the clusters themselves.
fn beside_clusters(terminal: &vt100::Parser) -> Vec<String> {
    let screen = terminal.screen();
    let text = |row| {
        let cells = (0..SIZE.0).filter_map(move |column| screen.cell(row, column));
        let letter = |cell: &vt100::Cell| match cell.contents() {
            "" => " ".to_owned(),
            text if text.is_ascii() => text.to_owned(),
            _ => "?".to_owned(),
        };
        let row: String = cells.map(letter).collect();
        row.replace("??", "? ").trim_end().to_owned()
    };
    (0..SIZE.1).map(text).collect()
}

#[test]
fn d13_clusters_that_are_wider_in_the_terminal_leave_nothing_behind() {
    for cluster in CLUSTERS {
        let mut screen = Screen::new(SIZE.into());
        let mut terminal = vt100::Parser::new(SIZE.1, SIZE.0, 0);
        let row = |y, word| [plain(0, y, "a"), plain(1, y, cluster), plain(4, y, word)];
        terminal.process(draw(&mut screen, &row(0, "end")).as_bytes());
        assert_eq!(beside_clusters(&terminal)[0], "a?  end", "{cluster}");
        terminal.process(draw(&mut screen, &row(0, "e")).as_bytes());
        assert_eq!(beside_clusters(&terminal)[0], "a?  e", "{cluster}");
        terminal.process(draw(&mut screen, &[plain(0, 0, "b")]).as_bytes());
        assert_eq!(beside_clusters(&terminal)[0], "b", "{cluster}");
    }
}

#[test]
fn d13_moved_rows_with_uncertain_widths_are_drawn_as_a_whole() {
    let texts = ["1", "2", "3", "4", "5", "6", "7", "8"];
    let frame = |first: usize| -> Vec<Piece> {
        let rows = (0..SIZE.1).zip(&texts[first..]);
        let mut pieces: Vec<Piece> = rows.map(|(y, text)| plain(0, y, text)).collect();
        let y = u16::try_from(4 - first).expect("a row");
        pieces.push(plain(2, y, CLUSTERS[0]));
        pieces
    };
    let mut screen = Screen::new(SIZE.into());
    let mut terminal = vt100::Parser::new(SIZE.1, SIZE.0, 0);
    for first in 0..=2 {
        let bytes = draw(&mut screen, &frame(first));
        assert_eq!(bytes.matches(CLUSTERS[0]).count(), 1, "{bytes:?}");
        terminal.process(bytes.as_bytes());
        let shown = beside_clusters(&terminal);
        let expected = texts[first..].iter().take(6).enumerate();
        let expected = expected.map(|(y, text)| match y + first {
            4 => format!("{text} ?"),
            _ => (*text).to_owned(),
        });
        assert_eq!(shown, expected.collect::<Vec<_>>());
    }
}

#[test]
fn d13_nothing_wraps_into_the_next_row() {
    let mut screen = Screen::new(SIZE.into());
    let bytes = draw(&mut screen, &[plain(18, 5, CLUSTERS[0])]);
    let (before, after) = bytes.split_once(CLUSTERS[0]).expect("it is drawn");
    assert!(before.ends_with("\x1b[?7l\x1b[2K\x1b[18C"), "{before:?}");
    assert!(after.starts_with("\x1b[?7h"), "{after:?}");
}
