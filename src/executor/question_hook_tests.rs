//! Hooks around the tools that ask the person: they pass the same steps as any call.

use serde_json::{Value, json};

use super::rig::{Rig, Setting, Tools};
use super::shared::Asking;
use crate::hooks::rig::hook;
use crate::hooks::{Event, Hook};
use crate::protocol::{Chosen, Mode, Reply};

/// The tools that ask, each with an input and the mode that it is called in.
fn tools() -> [(&'static str, Value, Mode); 3] {
    let options = json!([
        {"label": "red", "description": "warm"},
        {"label": "blue", "description": "cold"},
    ]);
    let question = json!({
        "question": "Which colour?", "header": "Colour", "options": options, "multiSelect": false,
    });
    [
        (
            "AskUserQuestion",
            json!({ "questions": [question] }),
            Mode::Default,
        ),
        ("EnterPlanMode", json!({}), Mode::Default),
        ("ExitPlanMode", json!({"plan": "1. Paint it"}), Mode::Plan),
    ]
}

fn rig(mode: Mode, hooks: Vec<Hook>) -> Rig {
    Rig::with(Setting {
        mode,
        asking: Asking::Person,
        tools: Tools::Real,
        hooks,
        ..Setting::default()
    })
}

#[tokio::test]
async fn questions_and_plans_pass_the_hooks_before_and_after_a_call() {
    for (tool, input, mode) in tools() {
        let hooks = [Event::PreToolUse, Event::PostToolUse];
        let hooks = hooks.map(|event| hook(event, "cat >> hooked"));
        let mut rig = rig(mode, hooks.to_vec());
        rig.call("a", tool, input);
        rig.question("a").await;
        let before = rig.scratch.bytes("hooked");
        let before: Value = serde_json::from_slice(&before).expect("one event");
        assert_eq!(before["hook_event_name"], "PreToolUse", "{tool}");
        assert_eq!(before["tool_name"], tool);
        let first = Chosen {
            options: vec![0],
            ..Chosen::default()
        };
        rig.reply("a", Reply::Chosen(vec![first]));
        rig.stream_ended();
        let results = rig.results().await;
        assert!(!results[0].is_error, "{tool}: {}", results[0].as_text());
        let both = String::from_utf8(rig.scratch.bytes("hooked")).expect("text");
        let after = both.lines().last().expect("two events");
        let after: Value = serde_json::from_str(after).expect("an event");
        assert_eq!(after["hook_event_name"], "PostToolUse", "{tool}");
        assert_eq!(after["tool_name"], tool);
    }
}

#[tokio::test]
async fn a_hook_can_deny_a_question_before_the_person_sees_it() {
    for (tool, input, mode) in tools() {
        let deny = hook(Event::PreToolUse, "echo do not disturb >&2; exit 2");
        let mut rig = rig(mode, vec![deny]);
        rig.call("a", tool, input);
        rig.stream_ended();
        let results = rig.results().await;
        let text = results[0].as_text();
        assert!(text.contains("do not disturb"), "{tool}: {text}");
        assert!(results[0].is_error, "{tool}");
    }
}
