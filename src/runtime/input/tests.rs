use std::io::Write;

use crossterm::event::{
    KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use proptest::prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

use super::decode::LONGEST_PASTE;
use super::{Decoder, Event, Input, Reply};

const NONE: KeyModifiers = KeyModifiers::NONE;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
const ALT: KeyModifiers = KeyModifiers::ALT;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;

/// What the bytes mean if nothing follows them.
fn decode(bytes: impl AsRef<[u8]>) -> Vec<Event> {
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    decoder.push(bytes.as_ref(), &mut events);
    decoder.flush(&mut events);
    assert_eq!(decoder.max_wait(), None, "nothing is left to wait for");
    events
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

fn letter(letter: char) -> Event {
    key(KeyCode::Char(letter), NONE)
}

fn other() -> Event {
    Event::Reply(Reply::Other)
}

#[test]
fn characters_of_any_length_are_keys() {
    assert_eq!(
        decode("aß漢🦀"),
        [letter('a'), letter('ß'), letter('漢'), letter('🦀')]
    );
    assert_eq!(decode("A"), [key(KeyCode::Char('A'), SHIFT)]);
}

#[test]
fn control_characters_are_keys_with_names() {
    let cases = [
        ("\r", key(KeyCode::Enter, NONE)),
        ("\n", key(KeyCode::Char('j'), CTRL)),
        ("\t", key(KeyCode::Tab, NONE)),
        ("\x7f", key(KeyCode::Backspace, NONE)),
        ("\x08", key(KeyCode::Char('h'), CTRL)),
        ("\x03", key(KeyCode::Char('c'), CTRL)),
        ("\0", key(KeyCode::Char(' '), CTRL)),
        ("\x1f", key(KeyCode::Char('_'), CTRL)),
        ("\x1c", key(KeyCode::Char('\\'), CTRL)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decode(bytes), [expected], "{bytes:?}");
    }
}

#[test]
fn an_escape_before_a_key_is_alt_and_alone_it_is_the_esc_key() {
    assert_eq!(decode("\x1b"), [key(KeyCode::Esc, NONE)]);
    assert_eq!(
        decode("\x1b\x1b"),
        [key(KeyCode::Esc, NONE), key(KeyCode::Esc, NONE)]
    );
    assert_eq!(decode("\x1b\r"), [key(KeyCode::Enter, ALT)]);
    assert_eq!(decode("\x1bb"), [key(KeyCode::Char('b'), ALT)]);
    assert_eq!(decode("\x1bß"), [key(KeyCode::Char('ß'), ALT)]);
    assert_eq!(decode("\x1b["), [key(KeyCode::Char('['), ALT)]);
    assert_eq!(decode("\x1bO"), [key(KeyCode::Char('O'), SHIFT | ALT)]);
    assert_eq!(decode("\x1b]"), [key(KeyCode::Char(']'), ALT)]);
    assert_eq!(decode("\x1b\x1b[A"), [key(KeyCode::Up, ALT)]);
    assert_eq!(
        decode("\x1b\x1bx"),
        [key(KeyCode::Esc, NONE), key(KeyCode::Char('x'), ALT)]
    );
}

#[test]
fn only_an_escape_delays_a_key() {
    let waits = |bytes: &[u8]| {
        let mut decoder = Decoder::default();
        decoder.push(bytes, &mut Vec::new());
        decoder.max_wait().map(|max_wait| max_wait.as_millis())
    };
    assert_eq!(waits(b"a\r\x03\x1b[A"), None);
    assert_eq!(waits(b"\x1b"), Some(20));
    assert_eq!(waits(b"\x1b[1;"), Some(100));
    assert_eq!(waits(b"\x1b[200~half"), Some(5000));
}

#[test]
fn keys_are_decoded_from_the_sequences_of_every_terminal() {
    let cases = [
        ("\x1b[A", key(KeyCode::Up, NONE)),
        ("\x1bOA", key(KeyCode::Up, NONE)),
        ("\x1b[1;5D", key(KeyCode::Left, CTRL)),
        ("\x1b[Z", key(KeyCode::BackTab, SHIFT)),
        ("\x1b[H", key(KeyCode::Home, NONE)),
        ("\x1b[4~", key(KeyCode::End, NONE)),
        ("\x1b[5~", key(KeyCode::PageUp, NONE)),
        ("\x1b[3;5~", key(KeyCode::Delete, CTRL)),
        ("\x1bOP", key(KeyCode::F(1), NONE)),
        ("\x1b[[A", key(KeyCode::F(1), NONE)),
        ("\x1b[11~", key(KeyCode::F(1), NONE)),
        ("\x1b[1;2R", key(KeyCode::F(3), SHIFT)),
        ("\x1b[24~", key(KeyCode::F(12), NONE)),
        ("\x1bOM", key(KeyCode::Enter, NONE)),
        ("\x1bOx", letter('8')),
        // kitty: Shift+Enter, Escape, Ctrl+Shift+A, Shift+Tab, keypad 5
        ("\x1b[13;2u", key(KeyCode::Enter, SHIFT)),
        ("\x1b[27u", key(KeyCode::Esc, NONE)),
        ("\x1b[97;6u", key(KeyCode::Char('A'), CTRL | SHIFT)),
        ("\x1b[9;2u", key(KeyCode::BackTab, SHIFT)),
        ("\x1b[57404u", letter('5')),
        // xterm's modifyOtherKeys
        ("\x1b[27;2;13~", key(KeyCode::Enter, SHIFT)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decode(bytes), [expected], "{bytes:?}");
    }
    let released = KeyEvent::new_with_kind(KeyCode::Char('a'), NONE, KeyEventKind::Release);
    assert_eq!(decode("\x1b[97;1:3u"), [Event::Key(released)]);
}

#[test]
fn a_paste_is_one_event_whatever_it_holds() {
    let cases = [
        ("two\r/quit\r", "two\r/quit\r"),
        ("\x1b[A\x1b]11;x\x07\x03", "\x1b[A\x1b]11;x\x07\x03"),
        ("", ""),
        ("\x1b[200~", "\x1b[200~"),
        ("\x1b[201", "\x1b[201"),
    ];
    for (content, text) in cases {
        let bytes = format!("\x1b[200~{content}\x1b[201~x");
        let expected = [Event::Pasted(text.into()), letter('x')];
        assert_eq!(decode(bytes), expected, "{content:?}");
    }
    assert_eq!(
        decode(b"\x1b[200~never ends"),
        [Event::Pasted("never ends".into())]
    );
    assert_eq!(decode(b"\x1b[201~"), [], "an end without a beginning");
}

#[test]
fn a_huge_paste_is_cut_and_still_ends() {
    let mut bytes = b"\x1b[200~".to_vec();
    bytes.resize(bytes.len() + LONGEST_PASTE + 100_000, b'a');
    bytes.extend_from_slice(b"\x1b[201~x");
    let mut decoder = Decoder::default();
    let mut events = Vec::new();
    for read in bytes.chunks(4095) {
        decoder.push(read, &mut events);
    }
    let lengths: Vec<usize> = events
        .iter()
        .map(|event| match event {
            Event::Pasted(text) => text.len(),
            _ => 0,
        })
        .collect();
    assert_eq!(
        (lengths, events.last()),
        (vec![LONGEST_PASTE, 0], Some(&letter('x')))
    );
}

#[test]
fn replies_of_the_terminal_are_never_typed() {
    let colour = Event::Reply(Reply::Background("rgb:1e1e/1e1e/2e2e".into()));
    assert_eq!(
        decode("\x1b]11;rgb:1e1e/1e1e/2e2e\x07"),
        std::slice::from_ref(&colour)
    );
    assert_eq!(decode("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\"), [colour]);
    for reply in [
        "\x1b[?62;22c",
        "\x1b[>41;377;0c",
        "\x1b[?1u",
        "\x1b[12;40R",
        "\x1bP>|XTerm(377)\x1b\\",
        "\x1b[?2026;2$y",
        "\x1b[?997;1n",
        "\x1b[8;40;120t",
        "\x1b_Gi=1;OK\x1b\\",
        "\x1b]4;1;rgb:0/0/0\x07",
    ] {
        assert_eq!(decode(reply), [other()], "{reply:?}");
    }
    assert_eq!(decode("\x1b]11;rgb:1e1e/1e"), [], "one that is cut off");
}

#[test]
fn the_mouse_and_the_focus_are_decoded() {
    let pointed = |kind, column, row, modifiers| {
        Event::Pointed(MouseEvent {
            kind,
            column,
            row,
            modifiers,
        })
    };
    let left = MouseButton::Left;
    let cases = [
        (
            "\x1b[<0;1;1M",
            pointed(MouseEventKind::Down(left), 0, 0, NONE),
        ),
        (
            "\x1b[<0;10;5m",
            pointed(MouseEventKind::Up(left), 9, 4, NONE),
        ),
        (
            "\x1b[<32;2;3M",
            pointed(MouseEventKind::Drag(left), 1, 2, NONE),
        ),
        (
            "\x1b[<64;2;3M",
            pointed(MouseEventKind::ScrollUp, 1, 2, NONE),
        ),
        (
            "\x1b[<81;2;3M",
            pointed(MouseEventKind::ScrollDown, 1, 2, CTRL),
        ),
        ("\x1b[I", Event::Focused(true)),
        ("\x1b[O", Event::Focused(false)),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decode(bytes), [expected], "{bytes:?}");
    }
    assert_eq!(
        decode("\x1b[M !!x"),
        [letter('x')],
        "the old kind of report"
    );
    assert_eq!(decode("\x1b[<0;99999999;1M"), [], "off every screen");
}

#[test]
fn broken_sequences_are_dropped_and_what_follows_is_decoded() {
    assert_eq!(decode(b"\xffa"), [letter('a')]);
    assert_eq!(decode(b"\xe6\xbca"), [letter('a')]);
    assert_eq!(decode(b"\xc2\x9ba"), [letter('a')], "a C1 control");
    assert_eq!(
        decode("\x1b[12\rx"),
        [key(KeyCode::Enter, NONE), letter('x')]
    );
    let long = format!("\x1b[{}Ax", "1;".repeat(5000));
    assert_eq!(decode(long), [letter('x')]);
    let endless = format!("\x1b]52;{}\x07x", "a".repeat(100_000));
    assert_eq!(decode(endless), [other(), letter('x')]);
}

/// Bytes that look like what terminals send, and bytes that do not.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "\x1b",
        "\x1b[",
        "\x1bO",
        "\x1b]",
        "\x1bP",
        "\x1b[200~",
        "\x1b[201~",
        "\x1b[A",
        "1;5",
        ";",
        "<",
        "M",
        "m",
        "~",
        "u",
        "\x07",
        "\x1b\\",
        "\r",
        "漢",
        "🦀",
        "11;rgb:",
        "[M",
        "?",
        "R",
        "c",
        "\x1b[<0;3;4M",
    ]);
    let piece = prop_oneof![
        known.prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_gives_the_same_events(bytes in noise(), size in 1_usize..7) {
        let whole = decode(&bytes);
        let mut decoder = Decoder::default();
        let mut cut = Vec::new();
        for read in bytes.chunks(size) {
            decoder.push(read, &mut cut);
        }
        decoder.flush(&mut cut);
        prop_assert_eq!(whole, cut);
    }
}

#[tokio::test]
async fn the_end_of_the_terminal_is_reported_once() {
    let (terminal, mut keys) = std::io::pipe().expect("a pipe");
    let mut input = Input::start_with(terminal).expect("a thread");
    keys.write_all(b"a").expect("written");
    assert_eq!(input.events.recv().await, Some(vec![letter('a')]));
    drop(keys);
    assert_eq!(input.events.recv().await, Some(vec![Event::Gone]));
    assert_eq!(input.events.recv().await, None);
}

#[tokio::test]
async fn a_lone_escape_is_reported_without_another_key() {
    let (terminal, mut keys) = std::io::pipe().expect("a pipe");
    let mut input = Input::start_with(terminal).expect("a thread");
    keys.write_all(b"\x1b").expect("written");
    assert_eq!(
        input.events.recv().await,
        Some(vec![key(KeyCode::Esc, NONE)])
    );
}

#[tokio::test]
async fn keys_typed_while_input_is_paused_are_left_to_others() {
    let (terminal, mut keys) = std::io::pipe().expect("a pipe");
    let others = terminal.try_clone().expect("a second reader");
    let mut input = Input::start_with(terminal).expect("a thread");
    input.pause();
    keys.write_all(b"x").expect("written");
    let mut byte = [0];
    std::io::Read::read_exact(&mut &others, &mut byte).expect("not taken");
    assert_eq!(byte, *b"x");
    input.resume();
    keys.write_all(b"y").expect("written");
    assert_eq!(input.events.recv().await, Some(vec![letter('y')]));
}
