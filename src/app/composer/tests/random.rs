use crossterm::event::{KeyCode, KeyModifiers};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use super::{Rig, found, image};
use crate::app::composer::Composer;
use crate::app::job::JobResult;
use crate::keymap::Action;

#[derive(Debug, Clone)]
enum Step {
    Key(KeyCode, KeyModifiers),
    Act(Action),
    Paste(String),
    Paths,
    Attached,
    Vim,
    Resize(u16, u16),
    Click(u16, u16),
    Submit,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let letter = prop_oneof![
        proptest::sample::select(
            "abdwxyzegGiIoOAcCpPuvVrhjkl0$^3@/!# \"\\\t漢é\u{301}\u{202e}👨"
                .chars()
                .collect::<Vec<_>>()
        ),
        any::<char>(),
    ];
    let code = prop_oneof![
        6 => letter.prop_map(KeyCode::Char),
        2 => proptest::sample::select(vec![
            KeyCode::Left, KeyCode::Right, KeyCode::Up, KeyCode::Down, KeyCode::Home, KeyCode::End,
            KeyCode::Backspace, KeyCode::Delete, KeyCode::Esc, KeyCode::Tab,
        ]),
    ];
    let modifiers = prop_oneof![
        4 => Just(KeyModifiers::NONE),
        1 => Just(KeyModifiers::CONTROL),
        1 => Just(KeyModifiers::ALT),
    ];
    let actions = vec![
        Action::Newline,
        Action::HistoryPrevious,
        Action::HistoryNext,
        Action::SearchHistory,
        Action::Accept,
        Action::Back,
        Action::Next,
        Action::Previous,
        Action::OpenEditor,
    ];
    let pastes = prop_oneof![
        any::<String>(),
        Just("/tmp/a.png".to_owned()),
        Just("many\n".repeat(20)),
    ];
    let step = prop_oneof![
        8 => (code, modifiers).prop_map(|(code, modifiers)| Step::Key(code, modifiers)),
        3 => proptest::sample::select(actions).prop_map(Step::Act),
        1 => pastes.prop_map(Step::Paste),
        1 => Just(Step::Paths),
        1 => Just(Step::Attached),
        1 => Just(Step::Vim),
        1 => (0..60_u16, 0..9_u16).prop_map(|(width, rows)| Step::Resize(width, rows)),
        1 => (0..60_u16, 0..9_u16).prop_map(|(row, column)| Step::Click(row, column)),
        1 => Just(Step::Submit),
    ];
    vec(step, 0..60)
}

/// Performs random steps; the view's tests use it, too.
pub fn random_composer() -> impl Strategy<Value = Composer> {
    steps().prop_map(|steps| {
        let mut rig = Rig::new();
        for step in steps {
            rig.take(step);
        }
        rig.composer
    })
}

impl Rig {
    fn take(&mut self, step: Step) {
        match step {
            Step::Key(code, modifiers) => drop(self.press(code, modifiers)),
            Step::Act(action) => drop(self.composer.perform(action, self.now)),
            Step::Paste(text) => drop(self.paste(&text)),
            Step::Paths => {
                let generation = self.composer.generation;
                let result = found(generation, &["src/", "a b", "\u{202e}x\n.rs"]);
                self.composer.done(result, self.now).expect("taken");
            }
            Step::Attached => {
                let attached = JobResult::Attached {
                    path: "/tmp/a.png".into(),
                    result: Ok(image()),
                };
                self.composer.done(attached, self.now).expect("taken");
            }
            Step::Vim => self.composer.toggle_vim(),
            Step::Resize(width, rows) => self.composer.resize(width, rows),
            Step::Click(row, column) => self.composer.click(row, column),
            Step::Submit => drop(self.composer.submit(self.now)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_steps_leave_a_sound_composer(steps in steps()) {
        let mut rig = Rig::new();
        for step in steps {
            rig.take(step);
            let caret = rig.composer.caret();
            let line = rig.composer.editor.line(caret.line);
            assert!(caret.column <= line.chars().count());
            let text = rig.composer.editor.text();
            assert!(!text.contains(|letter: char| letter.is_control() && !"\n\t".contains(letter)));
            rig.composer.contexts();
        }
    }

    #[test]
    fn undoing_everything_gives_the_empty_draft(texts in vec("[a-z \n]{1,8}", 1..20)) {
        let mut rig = Rig::new();
        for text in &texts {
            rig.enter(text);
        }
        let whole = rig.composer.text();
        for _ in 0..200 {
            rig.control('_');
        }
        assert!(rig.composer.is_empty());
        for _ in 0..200 {
            rig.press(KeyCode::Char('_'), KeyModifiers::ALT);
        }
        assert_eq!(rig.composer.text(), whole);
    }

    #[test]
    fn rows_cover_the_line_in_order_and_fit(line in any::<String>(), width in 0..40_u16) {
        let lines = [super::super::token::clean(&line).replace('\n', " ")];
        let tokens = super::super::token::Tokens::default();
        let layout = super::super::layout::Layout::new(&lines, &tokens, width);
        let rows = layout.rows(0);
        assert_eq!(rows[0].start, 0);
        assert_eq!(rows[rows.len() - 1].end, lines[0].chars().count());
        assert!(rows.windows(2).all(|pair| pair[0].end == pair[1].start && !pair[0].is_empty()));
        let room = usize::from(width.saturating_sub(3)).max(1);
        for row in rows {
            let inside = layout.pieces(0).filter(|piece| row.contains(&piece.columns.start));
            assert!(inside.map(|piece| piece.width).sum::<usize>() <= room);
        }
    }
}
