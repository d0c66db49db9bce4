//! The queue of questions of every kind, and the keys of a question with options.

use std::time::{Duration, Instant};

use super::{DENIED, Front, Questions, Verdict};
use crate::app::dialogs::DialogLayout;
use crate::app::rig::{choice, key, request};
use crate::keymap::{Context, Keymap, Resolved};
use crate::protocol::{AgentId, CallRef, ChoiceRequest, Chosen, Question, QuestionKind, Reply};

const STAYS: Verdict = Verdict::Stays;

struct Rig {
    queue: Questions,
    keymap: Keymap,
    now: Instant,
}

impl Rig {
    /// Visible and armed.
    fn ready(question: Question) -> Self {
        let mut rig = Self::fresh(question);
        rig.show(0).wait(300);
        rig
    }

    fn fresh(question: Question) -> Self {
        let now = Instant::now();
        Self {
            queue: Questions::new(question, now),
            keymap: Keymap::builtin(),
            now,
        }
    }

    fn wait(&mut self, milliseconds: u64) -> &mut Self {
        self.now += Duration::from_millis(milliseconds);
        self
    }

    /// A frame with ten rows of the content, and this many below them.
    fn show(&mut self, furthest: usize) -> &mut Self {
        let visible = 10;
        self.queue.record_layout(DialogLayout {
            furthest,
            visible,
            ..DialogLayout::default()
        });
        self
    }

    /// Presses keys as `keymap.toml` writes them; returns the last one's verdict.
    fn press(&mut self, keys: &str) -> Verdict {
        let mut verdict = STAYS;
        for name in keys.split_whitespace() {
            let contexts = [self.queue.context(), Context::Global];
            verdict = match self.keymap.resolve(&contexts, &mut None, key(name)) {
                Resolved::Action(action) => {
                    let verdict = self.queue.perform(action, self.now);
                    verdict.unwrap_or(STAYS)
                }
                Resolved::Prefix | Resolved::Unbound | Resolved::Ignored => {
                    let verdict = self.queue.key(key(name), self.now);
                    verdict.unwrap_or(STAYS)
                }
            };
        }
        verdict
    }

    fn notice(&self) -> Option<&str> {
        match &self.queue.current()?.front {
            Front::Choice(choice) => choice.notice(),
            Front::Permission(permission) => permission.notice(),
            Front::Form(form) => form.notice(),
        }
    }
}

fn three() -> Question {
    choice("1", &["one", "two", "three"])
}

fn with(change: impl FnOnce(&mut ChoiceRequest)) -> Question {
    let mut question = three();
    if let QuestionKind::Choice(requests) = &mut question.kind {
        change(&mut requests[0]);
    }
    question
}

fn several() -> Question {
    with(|request| request.several = true)
}

fn free() -> Question {
    with(|request| request.free_text = true)
}

fn chosen(options: &[usize], text: Option<&str>) -> Verdict {
    let chosen = Chosen {
        options: options.to_vec(),
        text: text.map(str::to_owned),
        ..Chosen::default()
    };
    Verdict::Replied(CallRef::from("1"), Reply::Chosen(vec![chosen]))
}

fn dismissed() -> Verdict {
    Verdict::Replied(CallRef::from("1"), Reply::Dismissed)
}

#[test]
fn one_answer_is_chosen_by_arrows_or_by_its_number() {
    let press = |keys| Rig::ready(three()).press(keys);
    assert_eq!(press("enter"), chosen(&[0], None));
    assert_eq!(press("down down enter"), chosen(&[2], None));
    assert_eq!(press("down down down down up enter"), chosen(&[1], None));
    assert_eq!(press("end home j enter"), chosen(&[1], None));
    assert_eq!(press("3"), chosen(&[2], None));
    assert_eq!(press("7 0"), STAYS, "no such answers");
    assert_eq!(press("7 0 enter"), chosen(&[0], None));
    assert_eq!(press("space enter"), chosen(&[0], None), "nothing to mark");
    assert_eq!(press("esc"), dismissed());
}

#[test]
fn several_answers_are_marked() {
    let press = |keys| Rig::ready(several()).press(keys);
    assert_eq!(press("space down down space enter"), chosen(&[0, 2], None));
    assert_eq!(press("3 1 enter"), chosen(&[0, 2], None));
    assert_eq!(press("3 1 3 enter"), chosen(&[0], None), "marked twice");
    let mut rig = Rig::ready(several());
    assert_eq!(rig.press("enter"), STAYS);
    assert_eq!(rig.notice(), Some("mark at least one answer"));
    assert_eq!(rig.press("esc"), dismissed());
}

#[test]
fn an_answer_can_be_written() {
    let mut rig = Rig::ready(free());
    rig.press("end");
    assert_eq!(rig.queue.context(), Context::ChoiceText);
    assert_eq!(rig.press("enter"), STAYS);
    assert_eq!(rig.notice(), Some("type an answer first"));
    rig.press("j 1 space k");
    rig.queue.paste("\u{1b}x\ny\n", rig.now);
    assert_eq!(rig.press("enter"), chosen(&[], Some("j1 k x y")));

    let mut rig = Rig::ready(free());
    assert_eq!(rig.press("4"), STAYS, "nothing is written yet");
    assert_eq!(rig.press("4 2 enter"), chosen(&[], Some("42")));

    let mut rig = Rig::ready(with(|request| {
        request.free_text = true;
        request.several = true;
    }));
    assert_eq!(
        rig.press("space end o k up up space enter"),
        chosen(&[0, 1], Some("ok"))
    );
}

#[test]
fn a_question_without_answers_is_written_from_the_start() {
    let open = || {
        with(|request| {
            request.free_text = true;
            request.options.clear();
        })
    };
    assert_eq!(
        Rig::ready(open()).press("n o enter"),
        chosen(&[], Some("no"))
    );
    assert_eq!(Rig::ready(open()).press("n o esc"), dismissed());
    let mut early = Rig::fresh(open());
    early.show(0);
    early.queue.paste("a draft", early.now);
    early.press("t o o");
    early.wait(300);
    assert_eq!(early.press("o k enter"), chosen(&[], Some("ok")));
}

#[test]
fn esc_leaves_the_text_field_for_the_answers() {
    let mut rig = Rig::ready(free());
    assert_eq!(rig.press("end x esc"), STAYS);
    assert_eq!(rig.queue.context(), Context::Choice);
    assert_eq!(rig.press("esc"), STAYS, "the same key, held");
    rig.wait(300);
    assert_eq!(rig.press("enter"), chosen(&[2], None));
}

#[test]
fn no_key_acts_in_the_first_300_milliseconds() {
    for keys in ["enter", "esc", "1", "1 enter", "down enter"] {
        let mut early = Rig::fresh(three());
        early.show(0).wait(299);
        assert_eq!(early.press(keys), STAYS, "{keys}");
    }
    let mut early = Rig::fresh(several());
    early.show(0);
    early.press("space 2 down");
    early.wait(300);
    assert_eq!(early.press("enter"), STAYS);
    assert_eq!(early.notice(), Some("mark at least one answer"));
}

#[test]
fn cancelling_works_after_two_seconds_of_typing() {
    let mut rig = Rig::fresh(three());
    rig.show(0);
    for _ in 0..9 {
        rig.wait(200).press("x");
        assert_eq!(rig.press("enter"), STAYS);
    }
    rig.wait(200);
    assert_eq!(rig.press("enter"), STAYS);
    assert_eq!(rig.press("esc"), dismissed());
}

#[test]
fn an_answer_outside_the_view_is_scrolled_into_view_first() {
    let mut rig = Rig::fresh(three());
    rig.show(20).wait(300);
    assert_eq!(rig.press("enter"), STAYS);
    rig.show(20);
    assert_eq!(rig.press("enter"), chosen(&[0], None));

    let mut rig = Rig::fresh(three());
    rig.show(20).wait(300);
    assert_eq!(rig.press("2"), STAYS);
    rig.show(20);
    assert_eq!(rig.press("2"), chosen(&[1], None));

    let mut small = Rig::ready(three());
    small.queue.record_layout(DialogLayout {
        furthest: 5,
        visible: 0,
        ..DialogLayout::default()
    });
    assert_eq!(small.press("enter"), STAYS);
    assert!(
        small
            .notice()
            .is_some_and(|notice| notice.contains("enlarge"))
    );
    assert_eq!(small.press("esc"), dismissed());
}

#[test]
fn questions_of_both_kinds_wait_in_one_queue() {
    let mut rig = Rig::ready(three());
    rig.queue.push(request("2", "Bash"), rig.now);
    rig.queue.push(choice("3", &["one"]), rig.now);
    assert_eq!(rig.queue.position(), (1, 3));
    assert_eq!(rig.press("enter"), chosen(&[0], None));
    assert_eq!(rig.queue.context(), Context::Permission);
    rig.show(0);
    assert_eq!(rig.press("n"), STAYS, "not armed yet");
    rig.wait(300);
    let denied = Verdict::Replied(CallRef::from("2"), DENIED);
    assert_eq!(rig.press("n"), denied);
    assert_eq!(rig.press("esc"), STAYS, "not armed yet");
    rig.wait(300);
    let dismissed = Verdict::Replied(CallRef::from("3"), Reply::Dismissed);
    assert_eq!(rig.press("esc"), dismissed);
    assert!(rig.queue.is_empty());
}

#[test]
fn after_a_withdrawn_question_the_next_one_is_armed_again() {
    let mut rig = Rig::ready(three());
    rig.queue.push(choice("2", &["one"]), rig.now);
    assert!(rig.queue.withdraw(CallRef::from("1"), rig.now));
    assert!(!rig.queue.withdraw(CallRef::from("1"), rig.now));
    rig.show(0);
    assert_eq!(rig.press("enter"), STAYS);
    rig.wait(300);
    let call = CallRef::from("2");
    assert!(matches!(rig.press("enter"), Verdict::Replied(it, _) if it == call));
}

/// Three questions of one call: one answer, several, and one in the person's own words.
fn together() -> Question {
    let mut question = three();
    if let QuestionKind::Choice(requests) = &mut question.kind {
        let mut second = requests[0].clone();
        second.several = true;
        let mut third = requests[0].clone();
        third.free_text = true;
        requests.extend([second, third]);
    }
    question
}

impl Rig {
    /// A frame, and time to read what has come into view.
    fn read(&mut self) -> &mut Self {
        self.show(0).wait(300)
    }

    fn tab(&self) -> usize {
        match &self.queue.current().expect("a question").front {
            Front::Choice(choice) => choice.tab(),
            Front::Permission(_) | Front::Form(_) => panic!("not a choice"),
        }
    }
}

#[test]
fn questions_that_are_asked_together_are_answered_together() {
    let mut rig = Rig::ready(together());
    assert_eq!(rig.press("2"), STAYS);
    assert_eq!(rig.tab(), 1);
    assert_eq!(rig.read().press("1 3 enter"), STAYS);
    assert_eq!(rig.tab(), 2);
    rig.read().press("4 o k");
    assert_eq!(rig.press("enter"), STAYS);
    assert_eq!(rig.tab(), 3, "the overview");
    let all = [(vec![1], None), (vec![0, 2], None), (vec![], Some("ok"))];
    let all = all.map(|(options, text)| Chosen {
        options,
        text: text.map(str::to_owned),
        ..Chosen::default()
    });
    let reply = Reply::Chosen(all.to_vec());
    assert_eq!(
        rig.read().press("enter"),
        Verdict::Replied(CallRef::from("1"), reply)
    );
}

#[test]
fn one_goes_from_question_to_question_and_an_answer_can_be_changed() {
    let mut rig = Rig::ready(together());
    rig.press("right right left");
    assert_eq!(rig.tab(), 1);
    rig.press("tab tab tab tab");
    assert_eq!(rig.tab(), 3);
    assert_eq!(rig.read().press("enter"), STAYS, "nothing is answered");
    assert_eq!(rig.tab(), 0, "the first that has no answer");
    assert!(
        rig.notice()
            .is_some_and(|it| it.contains("answer this one"))
    );
    rig.read().press("enter");
    rig.press("shift+tab");
    rig.read().press("down enter");
    assert_eq!(rig.tab(), 1, "the next that has no answer");
    rig.read().press("space right");
    rig.read().press("enter");
    assert_eq!(rig.tab(), 3, "what is marked is an answer");
    rig.read().press("2");
    assert_eq!(rig.tab(), 1, "a number leads back to its question");
    rig.read().press("2 enter");
    let verdict = rig.read().press("enter");
    let Verdict::Replied(_, Reply::Chosen(all)) = verdict else {
        panic!("{verdict:?}");
    };
    let options: Vec<&[usize]> = all.iter().map(|it| &*it.options).collect();
    assert_eq!(options, [&[1][..], &[0, 1], &[0]]);
}

#[test]
fn skipping_keeps_the_answers_given_so_far() {
    let mut rig = Rig::ready(together());
    rig.press("2");
    rig.read().press("right");
    assert_eq!(rig.tab(), 2);
    let mut answers = vec![Chosen::default(); 3];
    answers[0].options = vec![1];
    assert_eq!(
        rig.read().press("esc"),
        Verdict::Replied(CallRef::from("1"), Reply::Chosen(answers))
    );
    assert_eq!(Rig::ready(together()).press("esc"), dismissed());
    let mut alone = Rig::ready(several());
    assert_eq!(alone.press("1 esc"), dismissed(), "marked, but not chosen");
}

#[test]
fn a_held_key_answers_one_question_and_not_the_next() {
    let mut rig = Rig::ready(together());
    for _ in 0..20 {
        assert_eq!(rig.press("enter"), STAYS);
        rig.show(0).wait(30);
    }
    assert_eq!(rig.tab(), 1);
    let mut numbers = Rig::ready(together());
    for _ in 0..20 {
        assert_eq!(numbers.press("1"), STAYS);
        numbers.show(0).wait(30);
    }
    assert_eq!(numbers.tab(), 1);
}

#[test]
fn what_was_changed_in_the_editor_goes_with_the_answer_even_if_it_is_none() {
    let plan = || with(|request| request.body = Some("1. look".into()));
    let with_edit = |options: &[usize]| {
        let chosen = Chosen {
            options: options.to_vec(),
            edited: Some("1. look twice".into()),
            ..Chosen::default()
        };
        Verdict::Replied(CallRef::from("1"), Reply::Chosen(vec![chosen]))
    };
    for (keys, verdict) in [("3", with_edit(&[2])), ("esc", with_edit(&[]))] {
        let mut rig = Rig::ready(plan());
        let call = CallRef::from("1");
        assert_eq!(rig.press("ctrl+g"), Verdict::Edits(call, "1. look".into()));
        assert!(rig.queue.edited(call, "1. look twice\n", rig.now));
        rig.read();
        assert_eq!(rig.press(keys), verdict, "{keys}");
    }
}

#[test]
fn a_text_to_read_turns_by_pages_with_the_keys_of_everything_that_is_read() {
    let mut rig = Rig::fresh(with(|request| request.body = Some("long".into())));
    rig.show(40).wait(300);
    let offset = |rig: &Rig| match &rig.queue.current().expect("a question").front {
        Front::Choice(choice) => choice.reading().offset,
        Front::Permission(_) | Front::Form(_) => panic!("not a choice"),
    };
    rig.press("space");
    assert_eq!(offset(&rig), 9);
    rig.press("space b");
    assert_eq!(offset(&rig), 9);
    rig.press("G");
    assert_eq!(offset(&rig), 40);
    rig.press("g");
    assert_eq!(offset(&rig), 0);
    assert_eq!(rig.press("enter"), STAYS, "not read to its end");
}

#[test]
fn questions_are_asked_in_the_order_of_their_calls() {
    let asks = |number: u32| {
        request(
            CallRef {
                agent: AgentId::MAIN,
                number,
            },
            "Bash",
        )
    };
    let current = |rig: &Rig| rig.queue.current().map(|asked| asked.call.number);
    let mut rig = Rig::fresh(asks(2));
    rig.queue.push(asks(4), rig.now);
    rig.queue.push(asks(3), rig.now);
    // Nobody could answer the one in front yet.
    rig.queue.push(asks(1), rig.now);
    assert_eq!(rig.queue.position(), (1, 4));
    for number in 1..=4 {
        assert_eq!(current(&rig), Some(number));
        rig.show(0).wait(300);
        rig.press("y");
    }
    assert!(rig.queue.is_empty());

    let mut rig = Rig::ready(asks(2));
    rig.queue.push(asks(1), rig.now);
    assert_eq!(current(&rig), Some(2), "the person may be reading it");
}
