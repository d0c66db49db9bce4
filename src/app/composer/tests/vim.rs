use crossterm::event::KeyCode;

use super::Rig;

/// Vim's normal mode on a text with the caret at `|`, after some keys; `<` is Esc, `~` is Ctrl+R.
fn after(text: &str, keys: &str) -> String {
    let mut rig = Rig::new();
    let (before, behind) = text.split_once('|').expect("a caret");
    rig.composer.set_text(before, rig.now);
    let caret = rig.composer.caret();
    rig.composer.set_text(&format!("{before}{behind}"), rig.now);
    rig.composer.editor.go(caret);
    rig.composer.toggle_vim();
    rig.composer.vim.as_mut().expect("on").mode = super::super::vim::Mode::Normal;
    for key in keys.chars() {
        match key {
            '<' => drop(rig.key(KeyCode::Esc)),
            '~' => drop(rig.act(crate::keymap::Action::SearchHistory)),
            key => drop(rig.key(KeyCode::Char(key))),
        }
    }
    rig.shown()
}

#[test]
fn motions_go_where_vim_goes() {
    for (text, keys, expected) in [
        ("one |two", "h", "one| two"),
        ("|one", "5l", "on|e"),
        ("|one.two three", "w", "one|.two three"),
        ("|one.two three", "3w", "one.two |three"),
        ("one two|", "b", "one |two"),
        ("|one two", "e", "on|e two"),
        ("|one two", "2e", "one tw|o"),
        ("  on|e", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one\ntwo", "$", "on|e\ntwo"),
        ("one\nt|wo", "gg", "|one\ntwo"),
        ("|a\nb\nc", "G", "a\nb\n|c"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("|a\nb\nc", "j", "a\n|b\nc"),
        ("a\nb\n|c", "2k", "|a\nb\nc"),
    ] {
        assert_eq!(after(text, keys), expected, "{text} {keys}");
    }
}

#[test]
fn operators_take_what_their_motion_covers() {
    for (text, keys, expected) in [
        ("|one two", "x", "|ne two"),
        ("|one two", "3x", "| two"),
        ("|one two", "dw", "|two"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("one |two", "d$", "one| "),
        ("one |two", "D", "one| "),
        ("one |two", "d0", "|two"),
        ("|one two", "de", "| two"),
        ("|one two", "cwx<", "|x two"),
        ("one |two", "Cx<", "one |x"),
        ("a\n|b\nc", "dd", "a\n|c"),
        ("a\nb\n|c", "dd", "a\n|b"),
        ("|a\nb\nc", "2dd", "|c"),
        ("|a\nb\nc", "dj", "|c"),
        ("a\n|b\nc", "dG", "|a"),
        ("a\n|b\nc", "ccx<", "a\n|x\nc"),
        ("|one two", "ywP", "one| one two"),
        ("|one\ntwo", "yyp", "one\n|one\ntwo"),
        ("|one\ntwo", "yyP", "|one\none\ntwo"),
        ("|ab", "xp", "b|a"),
        ("|abc", "rx", "|xbc"),
        ("|abc", "2rx", "x|xc"),
        ("|abc", "9rx", "|abc"),
    ] {
        assert_eq!(after(text, keys), expected, "{text} {keys}");
    }
}

#[test]
fn insert_and_visual_modes_begin_and_end() {
    for (text, keys, expected) in [
        ("a|b", "ix<", "a|xb"),
        ("|ab", "ax<", "a|xb"),
        ("  a|b", "Ix<", "  |xab"),
        ("|ab", "Ax<", "ab|x"),
        ("|a\nb", "ox<", "a\n|x\nb"),
        ("a\n|b", "Ox<", "a\n|x\nb"),
        ("|one two", "ved", "| two"),
        ("|one two", "vly$p", "one twoo|n"),
        ("a\n|b\nc", "Vjd", "|a"),
        ("|one", "xu", "o|ne"),
        ("|one", "xu~", "|ne"),
    ] {
        assert_eq!(after(text, keys), expected, "{text} {keys}");
    }
}
