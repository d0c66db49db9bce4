//! Events in any order.

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};

use super::{TestDialog, edit};
use crate::app::dialogs::permission::{ARM_DELAY, PermissionDialog};
use crate::app::dialogs::question::Verdict;
use crate::keymap::Action;
use crate::protocol::CallRef;

#[derive(Debug, Clone)]
enum Input {
    Wait(u64),
    Show(usize, usize),
    Do(usize),
    Type(char),
    Paste(String),
    Withdraw,
    Push,
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let input = prop_oneof![
        (0..400_u64).prop_map(Input::Wait),
        (0..3_usize, 0..3_usize).prop_map(|(furthest, visible)| Input::Show(furthest, visible)),
        any::<usize>().prop_map(Input::Do),
        any::<char>().prop_map(Input::Type),
        any::<String>().prop_map(Input::Paste),
        Just(Input::Withdraw),
        Just(Input::Push),
    ];
    prop::collection::vec(input, 0..60)
}

proptest! {
    /// Each request gets at most one answer, and none is allowed in the first 300 ms.
    #[test]
    fn no_order_of_events_answers_twice_or_too_early(inputs in inputs()) {
        let mut dialog = TestDialog::fresh(edit("0"));
        let mut names = 1..;
        let mut open = vec![CallRef::from("0")];
        for input in inputs {
            let since = dialog.queue.permission().map(PermissionDialog::since);
            let verdict = match input {
                Input::Wait(time) => { dialog.wait(time); None }
                Input::Show(furthest, visible) => { dialog.record_layout(furthest, visible); None }
                Input::Do(index) => dialog.queue.perform(Action::ALL[index % Action::ALL.len()], dialog.now),
                Input::Type(letter) => Some(dialog.press(&letter.to_string())),
                Input::Paste(text) => { dialog.queue.paste(&text, dialog.now); None }
                Input::Withdraw => {
                    let call = dialog.current();
                    if let Some(call) = call {
                        dialog.queue.withdraw(call, dialog.now);
                        open.retain(|waiting| *waiting != call);
                    }
                    None
                }
                Input::Push => {
                    let name = names.next().expect("there are enough numbers").to_string();
                    open.push(CallRef::from(&*name));
                    dialog.queue.push(edit(&name), dialog.now);
                    None
                }
            };
            if let Some(Verdict::Replied(call, _) | Verdict::DeniedAndInterrupt(call)) = verdict {
                assert_eq!(open.remove(0), call);
                assert!(since.is_some_and(|since| dialog.now >= since + ARM_DELAY));
            }
            assert_eq!(dialog.current(), open.first().copied());
        }
    }
}
