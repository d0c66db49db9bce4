//! Commands that the sandbox blocked.

use super::rig::{End, Rig, Setting, safe};
use super::shared::Asking;
use crate::permissions::{RuleList, Rules, Source};
use crate::protocol::{Answer, Mode};

/// A rig in which every call runs without asking.
fn rig(mode: Mode, asking: Asking) -> Rig {
    let mut rules = Rules::default();
    let source = Source::Session;
    rules
        .add(RuleList::Allow, "Cancels", &source)
        .expect("a rule");
    let setting = Setting {
        mode,
        asking,
        ..Setting::default()
    };
    let mut rig = Rig::ruled(setting, rules);
    rig.add(safe("a").ending(End::Blocked));
    rig
}

#[tokio::test(start_paused = true)]
async fn a_blocked_command_asks_and_runs_again() {
    let mut rig = rig(Mode::Default, Asking::Person);
    let request = rig.request("a").await;
    assert_eq!(
        request.reason,
        "a failed. Run it again outside the sandbox?"
    );
    assert_eq!(request.rule, None);
    rig.answer("a", Answer::Allow);
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["a"]);
    assert_eq!(rig.called(), ["a", "a"]);
    assert_eq!(
        rig.decided("a")[1..],
        ["asked, because a failed", "allowed once by you"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_denied_command_stays_blocked() {
    let mut rig = rig(Mode::Default, Asking::Person);
    rig.request("a").await;
    rig.answer("a", Answer::Deny { reason: None });
    rig.stream_ended();
    let result = rig.deliver().await.results.concat();
    assert!(result.contains("did not allow this call"), "{result}");
    assert_eq!(rig.called(), ["a"]);
}

#[tokio::test(start_paused = true)]
async fn without_a_person_or_if_the_mode_forbids_it_a_blocked_command_does_not_ask() {
    for (mode, asking, expected) in [
        (Mode::Default, Asking::Nobody, "nobody is there to ask"),
        (Mode::DontAsk, Asking::Person, "the permission mode dontAsk"),
    ] {
        let mut rig = rig(mode, asking);
        rig.stream_ended();
        let results = rig.results().await;
        let text = results[0].as_text();
        assert!(results[0].is_error);
        assert!(
            text.contains("a failed") && text.contains(expected),
            "{text}"
        );
        assert_eq!(rig.called(), ["a"]);
    }
}
