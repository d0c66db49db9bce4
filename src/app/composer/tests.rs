use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Composer, Draft, Sent};
use crate::app::Effect;
use crate::app::job::{Candidate, Job, JobResult};
use crate::keymap::{Action, Context};
use crate::protocol::Block;

pub mod random;
mod vim;

/// A composer with a fixed clock.
pub struct Rig {
    pub composer: Composer,
    pub now: Instant,
}

impl Rig {
    fn new() -> Self {
        Self {
            composer: Composer::default(),
            now: <Instant>::now(),
        }
    }

    fn typed(text: &str) -> Self {
        let mut rig = Self::new();
        rig.enter(text);
        rig
    }

    /// Types a text, and returns the effects of its last letter.
    fn enter(&mut self, text: &str) -> Vec<Effect> {
        let letters = text.chars().map(|letter| match letter {
            '\n' => self.act(Action::Newline),
            letter => self.press(KeyCode::Char(letter), KeyModifiers::NONE),
        });
        letters.last().unwrap_or_default()
    }

    pub fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
        self.composer.key(KeyEvent::new(code, modifiers), self.now)
    }

    fn control(&mut self, letter: char) -> Vec<Effect> {
        self.press(KeyCode::Char(letter), KeyModifiers::CONTROL)
    }

    pub fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        self.press(code, KeyModifiers::NONE)
    }

    pub fn act(&mut self, action: Action) -> Vec<Effect> {
        let effects = self.composer.perform(action, self.now);
        effects.expect("an action of the composer")
    }

    fn paste(&mut self, text: &str) -> Vec<Effect> {
        self.composer.paste(text.to_owned(), self.now)
    }

    fn send(&mut self) -> Draft {
        let sent = self.composer.submit(self.now).expect("can be sent");
        sent.expect("something to send").draft
    }

    /// The text with its tokens as they are shown, and `|` at the caret.
    pub fn shown(&self) -> String {
        let caret = self.composer.caret();
        let mut lines = self.composer.editor.lines().to_vec();
        let at = super::editor::byte_at(&lines[caret.line], caret.column);
        lines[caret.line].insert(at, '|');
        let tokens = &self.composer.tokens;
        tokens.expand(&lines.join("\n"), super::Form::Shown)
    }
}

fn message(text: &str) -> Draft {
    Draft::Message {
        blocks: vec![Block::text(text)],
        shown: text.to_owned(),
    }
}

fn image() -> Block {
    Block::Image(crate::protocol::Image::base64("image/png", "AAAA"))
}

#[test]
fn enter_sends_the_draft_and_keeps_it_in_the_history() {
    let mut rig = Rig::typed("fix the\ntest ");
    let sent = rig.composer.submit(rig.now).expect("can be sent");
    let expected = Sent {
        draft: message("fix the\ntest"),
        effects: vec![
            Effect::Start(Job::KeepInHistory("fix the\ntest ".into())),
            Effect::Start(Job::KeepDraft(String::new())),
        ],
    };
    assert_eq!(sent, Some(expected));
    assert!(rig.composer.is_empty());
    assert_eq!(rig.composer.submit(rig.now), Ok(None));
}

#[test]
fn a_backslash_before_enter_begins_a_new_line() {
    let mut rig = Rig::typed("one\\");
    assert_eq!(rig.composer.submit(rig.now), Ok(None));
    assert_eq!(rig.shown(), "one\n|");
}

#[test]
fn an_unknown_command_stays_in_the_input() {
    let mut rig = Rig::typed("/hlep");
    let problem = rig.composer.submit(rig.now).expect_err("no such command");
    assert_eq!(problem, "unknown command /hlep; did you mean /help?");
    assert_eq!(rig.shown(), "/hlep|");
}

#[test]
fn the_keys_of_the_shell_edit_the_line() {
    let mut rig = Rig::typed("one two three");
    rig.control('w');
    assert_eq!(rig.shown(), "one two |");
    rig.press(KeyCode::Char('b'), KeyModifiers::ALT);
    rig.control('k');
    assert_eq!(rig.shown(), "one |");
    rig.control('a');
    rig.control('y');
    assert_eq!(rig.shown(), "two |one ");
    rig.control('e');
    rig.control('u');
    assert_eq!(rig.shown(), "|");
    rig.control('_');
    assert_eq!(rig.shown(), "two one |");
    rig.press(KeyCode::Left, KeyModifiers::CONTROL);
    assert_eq!(rig.shown(), "two |one ");
}

#[test]
fn the_caret_moves_by_grapheme_clusters() {
    let mut rig = Rig::new();
    rig.paste("e\u{301}👨‍👩‍👧x");
    rig.key(KeyCode::Left);
    rig.key(KeyCode::Backspace);
    assert_eq!(rig.shown(), "e\u{301}|x");
    rig.key(KeyCode::Backspace);
    assert_eq!(rig.shown(), "|x");
}

#[test]
fn one_undo_takes_back_one_word_one_paste_or_one_clear() {
    let mut rig = Rig::typed("one two");
    rig.paste("\nthree\nfour");
    rig.composer.clear(rig.now);
    for expected in ["one two\nthree\nfour|", "one two|", "one |", "|", "|"] {
        rig.control('_');
        assert_eq!(rig.shown(), expected);
    }
    for expected in ["one |", "one two|", "one two\nthree\nfour|", "|"] {
        rig.press(KeyCode::Char('_'), KeyModifiers::ALT);
        assert_eq!(rig.shown(), expected);
    }
}

#[test]
fn a_paste_is_one_block_without_control_sequences() {
    let mut rig = Rig::new();
    rig.paste("a\r\nb\rc\x1b[201~\x07\u{f0000}\td\u{85}");
    assert_eq!(rig.composer.text(), "a\nb\nc[201~\td");
}

#[test]
fn a_long_paste_is_folded_and_sent_in_full() {
    let mut rig = Rig::typed("see ");
    let long = "line\n".repeat(120);
    rig.paste(&long);
    rig.paste(&"x".repeat(2_000));
    assert_eq!(
        rig.shown(),
        "see [pasted 120 lines][pasted 2000 characters #2]|"
    );
    rig.key(KeyCode::Backspace);
    rig.enter(" end");
    assert_eq!(rig.shown(), "see [pasted 120 lines] end|");
    let expected = Draft::Message {
        blocks: vec![Block::text(format!("see {long} end")).shown_as("see [pasted 120 lines] end")],
        shown: "see [pasted 120 lines] end".into(),
    };
    assert_eq!(rig.send(), expected);
    rig.act(Action::HistoryPrevious);
    assert_eq!(rig.shown(), "see [pasted 120 lines] end|");
}

#[test]
fn the_same_paste_once_more_unfolds_it() {
    let mut rig = Rig::new();
    let long = "line\n".repeat(12);
    rig.paste(&long);
    rig.paste(&long);
    assert_eq!(rig.shown(), format!("{long}|"));
}

#[test]
fn a_folded_paste_is_never_a_command() {
    let mut rig = Rig::new();
    let script = format!("/quit\n{}", "rm\n".repeat(20));
    rig.paste(&script);
    assert!(matches!(rig.send(), Draft::Message { .. }));
}

#[test]
fn a_paste_of_ten_megabytes_is_one_token() {
    let mut rig = Rig::new();
    rig.paste(&"0123456789".repeat(1_000_000));
    assert_eq!(rig.shown(), "[pasted 10000000 characters]|");
    let sent = rig
        .composer
        .submit(rig.now)
        .expect("can be sent")
        .expect("something");
    let kept = Effect::Start(Job::KeepInHistory("[pasted 10000000 characters]".into()));
    assert_eq!(sent.effects[0], kept);
}

#[test]
fn the_path_of_an_image_becomes_the_image_once_it_is_read() {
    let mut rig = Rig::typed("look at ");
    let effects = rig.paste("'/tmp/my shot.png'");
    assert_eq!(
        effects,
        [Effect::Start(Job::Attach("/tmp/my shot.png".into()))]
    );
    rig.enter(" please");
    assert_eq!(rig.shown(), "look at '/tmp/my shot.png' please|");
    let attached = JobResult::Attached {
        path: "/tmp/my shot.png".into(),
        result: Ok(image()),
    };
    assert_eq!(rig.composer.done(attached, rig.now), Ok(Vec::new()));
    assert_eq!(rig.shown(), "look at [image my shot.png] please|");
    let text = "look at [image my shot.png] please";
    let expected = Draft::Message {
        blocks: vec![image(), Block::text(text)],
        shown: text.into(),
    };
    assert_eq!(rig.send(), expected);
}

#[test]
fn a_path_that_is_no_image_stays_text_and_says_why() {
    let mut rig = Rig::new();
    rig.paste("/tmp/a.png");
    let failed = JobResult::Attached {
        path: "/tmp/a.png".into(),
        result: Err("`/tmp/a.png` does not exist".into()),
    };
    let problem = rig.composer.done(failed, rig.now);
    assert_eq!(problem, Err("`/tmp/a.png` does not exist".into()));
    assert_eq!(rig.shown(), "/tmp/a.png|");
}

#[test]
fn images_survive_the_editor_as_long_as_their_label_does() {
    let mut rig = Rig::new();
    rig.paste("/tmp/a.png");
    let attached = JobResult::Attached {
        path: "/tmp/a.png".into(),
        result: Ok(image()),
    };
    rig.composer.done(attached, rig.now).expect("attached");
    let opened = rig.act(Action::OpenEditor);
    assert_eq!(
        opened,
        [Effect::Start(Job::EditDraft("[image a.png] ".into()))]
    );
    let edited = JobResult::Edited(Ok("see [image a.png] here\n".into()));
    rig.composer.done(edited, rig.now).expect("edited");
    let draft = rig.send();
    let Draft::Message { blocks, .. } = draft else {
        panic!("{draft:?}")
    };
    assert_eq!(blocks, [image(), Block::text("see [image a.png] here")]);
}

#[test]
fn up_and_down_go_by_rows_first_and_through_the_history_then() {
    let mut rig = Rig::typed("old");
    rig.send();
    rig.composer.resize(12, 5);
    rig.enter("a wide line\nand b");
    rig.act(Action::HistoryPrevious);
    assert_eq!(rig.shown(), "a wide line|\nand b");
    rig.act(Action::HistoryPrevious);
    assert_eq!(rig.shown(), "a wid|e line\nand b");
    rig.act(Action::HistoryPrevious);
    assert_eq!(rig.shown(), "old|");
    rig.act(Action::HistoryNext);
    assert_eq!(rig.shown(), "a wide line\nand b|");
    rig.act(Action::HistoryNext);
    assert_eq!(rig.shown(), "a wide line\nand b|");
}

#[test]
fn a_cleared_draft_is_in_the_history() {
    let mut rig = Rig::typed("not yet");
    rig.composer.clear(rig.now);
    assert_eq!(rig.shown(), "|");
    rig.act(Action::HistoryPrevious);
    assert_eq!(rig.shown(), "not yet|");
}

#[test]
fn the_history_is_searched_without_touching_the_draft() {
    let mut rig = Rig::typed("draft");
    let older = ["fix the parser", "run the tests", "fix\nit"].map(String::from);
    rig.composer
        .done(JobResult::History(older.to_vec()), rig.now)
        .expect("read");
    rig.act(Action::SearchHistory);
    assert_eq!(rig.composer.contexts(), [Context::HistorySearch]);
    rig.enter("fix");
    rig.act(Action::Back);
    assert_eq!(rig.shown(), "draft|");
    rig.act(Action::SearchHistory);
    rig.enter("fix");
    rig.act(Action::Next);
    rig.act(Action::Accept);
    assert_eq!(rig.shown(), "fix the parser|");
    rig.control('_');
    assert_eq!(rig.shown(), "draft|");
}

fn found(generation: u64, paths: &[&str]) -> JobResult {
    let candidate = |path: &&str| Candidate {
        path: (*path).to_owned(),
        matched: vec![0],
    };
    JobResult::Paths {
        generation,
        paths: paths.iter().map(candidate).collect(),
        found: paths.len(),
        complete: true,
    }
}

fn asked(query: &str, generation: u64) -> Vec<Effect> {
    let query = query.to_owned();
    vec![Effect::Start(Job::CompletePath { query, generation })]
}

#[test]
fn an_at_sign_completes_paths_and_continues_inside_a_directory() {
    let mut rig = Rig::typed("see ");
    assert_eq!(rig.enter("@"), asked("", 1));
    assert_eq!(rig.enter("s"), asked("s", 2));
    rig.composer
        .done(found(1, &["old"]), rig.now)
        .expect("ignored");
    assert_eq!(rig.composer.contexts(), [Context::Composer]);
    rig.composer
        .done(found(2, &["tests/", "src/"]), rig.now)
        .expect("taken");
    assert_eq!(
        rig.composer.contexts(),
        [Context::Completion, Context::Composer]
    );
    rig.act(Action::Next);
    assert_eq!(rig.act(Action::Accept), asked("src/", 3));
    assert_eq!(rig.shown(), "see @src/|");
    rig.composer
        .done(found(3, &["src/", "src/my file"]), rig.now)
        .expect("taken");
    assert_eq!(rig.act(Action::Accept), [], "the directory is open already");
    assert_eq!(rig.shown(), "see @\"src/my file\" |");
    assert_eq!(rig.composer.contexts(), [Context::Composer]);
    rig.control('_');
    assert_eq!(rig.shown(), "see @src/|");
}

#[test]
fn a_closed_completion_stays_closed_for_its_word() {
    let mut rig = Rig::typed("@s");
    rig.composer
        .done(found(2, &["src/"]), rig.now)
        .expect("taken");
    rig.act(Action::Back);
    assert_eq!(rig.enter("rc"), []);
    assert_eq!(rig.enter(" @"), asked("", 3));
}

#[test]
fn a_slash_completes_commands_and_leaves_a_whole_name_to_enter() {
    let mut rig = Rig::typed("/mo");
    assert_eq!(
        rig.composer.contexts(),
        [Context::Completion, Context::Composer]
    );
    rig.act(Action::Accept);
    assert_eq!(rig.shown(), "/model |");
    rig.composer.clear(rig.now);
    rig.enter("/help");
    assert_eq!(rig.composer.contexts(), [Context::Composer]);
    let expected = Draft::Slash {
        name: "help".into(),
        arguments: String::new(),
    };
    assert_eq!(rig.send(), expected);
}

#[test]
fn an_image_that_is_completed_is_attached() {
    let mut rig = Rig::typed("@p");
    rig.composer
        .done(found(2, &["docs/a b.png"]), rig.now)
        .expect("taken");
    let effects = rig.act(Action::Accept);
    assert_eq!(effects, [Effect::Start(Job::Attach("docs/a b.png".into()))]);
    let attached = JobResult::Attached {
        path: "docs/a b.png".into(),
        result: Ok(image()),
    };
    rig.composer.done(attached, rig.now).expect("attached");
    assert_eq!(rig.shown(), "[image a b.png] |");
}

#[test]
fn the_draft_is_kept_half_a_second_after_the_last_change_and_no_later_than_two() {
    let mut rig = Rig::new();
    let start = rig.now;
    assert_eq!(rig.composer.wake_at(), None);
    for step in 0..=6_u32 {
        rig.now = start + Duration::from_millis(300) * step;
        rig.enter("x");
        let after = rig.now + Duration::from_millis(500);
        let latest = start + Duration::from_secs(2);
        assert_eq!(rig.composer.wake_at(), Some(after.min(latest)));
    }
    assert_eq!(rig.composer.tick(start + Duration::from_millis(1_999)), []);
    let kept = rig.composer.tick(start + Duration::from_secs(2));
    assert_eq!(kept, [Effect::Start(Job::KeepDraft("xxxxxxx".into()))]);
    assert_eq!(rig.composer.wake_at(), None);
}

#[test]
fn a_draft_of_an_earlier_run_never_overwrites_what_is_typed() {
    let mut rig = Rig::new();
    rig.composer
        .done(JobResult::Draft("left".into()), rig.now)
        .expect("taken");
    assert_eq!(rig.shown(), "left|");
    let mut rig = Rig::typed("new");
    rig.composer
        .done(JobResult::Draft("left".into()), rig.now)
        .expect("taken");
    assert_eq!(rig.shown(), "new|");
    rig.composer.clear(rig.now);
    rig.act(Action::HistoryPrevious);
    rig.act(Action::HistoryPrevious);
    assert_eq!(rig.shown(), "left|");
}

#[test]
fn queued_messages_come_back_before_the_draft() {
    let mut rig = Rig::typed("draft");
    rig.composer.take_back("one\ntwo", rig.now);
    assert_eq!(rig.shown(), "one\ntwo\ndraft|");
}

#[test]
fn a_click_puts_the_caret_where_it_points() {
    let mut rig = Rig::typed("日本語\nabc");
    rig.composer.click(0, 4);
    assert_eq!(rig.shown(), "日|本語\nabc");
    rig.composer.click(1, 99);
    assert_eq!(rig.shown(), "日本語\nabc|");
}

#[test]
fn places_beyond_the_text_areas_limit_are_reachable() {
    let mut rig = Rig::new();
    let line = "x".repeat(70_000);
    rig.composer.editor.type_text(&line);
    rig.enter("end");
    rig.key(KeyCode::Home);
    rig.key(KeyCode::End);
    rig.key(KeyCode::Backspace);
    assert!(rig.composer.text().ends_with("xen"));
}
