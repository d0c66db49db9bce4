//! Editing keys that the keymap does not bind: typing, and the keys that people know from the shell.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::editor::{Editor, Place};
use super::token;

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    Edited,
    /// Move up or down by rows; this needs the layout.
    Row(isize),
    Unused,
}

pub fn press(editor: &mut Editor, key: KeyEvent) -> Pressed {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let caret = editor.caret();
    match key.code {
        KeyCode::Char(letter) if control => return press_control(editor, letter),
        KeyCode::Char(letter) if alt => return press_alt(editor, letter),
        KeyCode::Char(letter) => editor.type_text(&token::clean(&letter.to_string())),
        KeyCode::Backspace if control || alt => editor.cut(editor.word_left(caret)..caret),
        KeyCode::Backspace => editor.remove(editor.left(caret)..caret),
        KeyCode::Delete if control || alt => editor.cut(caret..editor.word_end(caret)),
        KeyCode::Delete => editor.remove(caret..editor.right(caret)),
        KeyCode::Left if control || alt => editor.go(editor.word_left(caret)),
        KeyCode::Left => editor.go(editor.left(caret)),
        KeyCode::Right if control || alt => editor.go(editor.word_end(caret)),
        KeyCode::Right => editor.go(editor.right(caret)),
        KeyCode::Home => editor.go(Place::new(caret.line, 0)),
        KeyCode::End => editor.go(editor.line_end(caret.line)),
        KeyCode::Up => return Pressed::Row(-1),
        KeyCode::Down => return Pressed::Row(1),
        _ => return Pressed::Unused,
    }
    Pressed::Edited
}

fn press_control(editor: &mut Editor, letter: char) -> Pressed {
    let caret = editor.caret();
    let line_start = Place::new(caret.line, 0);
    let line_end = editor.line_end(caret.line);
    match letter {
        'a' => editor.go(line_start),
        'e' => editor.go(line_end),
        'b' => editor.go(editor.left(caret)),
        'f' => editor.go(editor.right(caret)),
        'h' => editor.remove(editor.left(caret)..caret),
        'd' => editor.remove(caret..editor.right(caret)),
        // At the end of a line there is only the newline to cut.
        'k' if caret == line_end => editor.cut(caret..editor.right(caret)),
        'k' => editor.cut(caret..line_end),
        'u' if caret == line_start => editor.cut(editor.left(caret)..caret),
        'u' => editor.cut(line_start..caret),
        'w' => editor.cut(editor.blank_left(caret)..caret),
        'y' => editor.yank(),
        // Terminals send the same byte for all of these.
        '_' | '/' | '7' | '-' => editor.undo(),
        'p' => return Pressed::Row(-1),
        'n' => return Pressed::Row(1),
        _ => return Pressed::Unused,
    }
    Pressed::Edited
}

fn press_alt(editor: &mut Editor, letter: char) -> Pressed {
    let caret = editor.caret();
    match letter {
        'b' => editor.go(editor.word_left(caret)),
        'f' => editor.go(editor.word_end(caret)),
        'd' => editor.cut(caret..editor.word_end(caret)),
        '<' => editor.go(Place::START),
        '>' => editor.go(editor.end()),
        '_' | '/' => editor.redo(),
        _ => return Pressed::Unused,
    }
    Pressed::Edited
}
