use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use crate::hooks::output::HookOutput;
use crate::hooks::payload::SampleCall;
use crate::hooks::process::{Ended, Ran};
use crate::hooks::{Answer, Event, Hook, Payload};
use crate::permissions::{Cause, Decision, HookDecision, Verdict, with_hooks};
use crate::process::child;
use crate::protocol::{CallRef, Mode, ResultBlock, ToolCall, Touches};

fn ran(code: i32, stdout: &str, stderr: &str) -> Ran {
    Ran {
        ended: Ended::Process(child::Ended::Exited(code)),
        stdout: stdout.into(),
        stderr: stderr.into(),
        took: Duration::ZERO,
    }
}

fn printed(event: Event, stdout: &str) -> HookOutput {
    HookOutput::by(event, &ran(0, stdout, ""))
}

fn decides(decision: Decision, reason: &str) -> HookOutput {
    HookOutput {
        decision: Some((decision, reason.into())),
        ..HookOutput::default()
    }
}

fn hook(command: &str) -> Hook {
    crate::hooks::rig::hook(Event::PreToolUse, command)
}

#[test]
fn an_empty_output_decides_nothing() {
    for event in Event::ALL {
        assert_eq!(printed(event, ""), HookOutput::default());
        assert_eq!(printed(event, " \n"), HookOutput::default());
        assert_eq!(printed(event, "{}"), HookOutput::default());
    }
}

#[test]
fn every_field_of_the_output_is_understood() {
    let output = json!({
        "continue": false, "stopReason": "enough", "suppressOutput": true, "systemMessage": "look",
        "hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
            "permissionDecisionReason": "why not", "updatedInput": {"command": "ls"}, "additionalContext": "know this"},
    });
    let expected = HookOutput {
        decision: Some((Decision::Ask, "why not".into())),
        halt: Some("enough".into()),
        updated_input: Some(json!({"command": "ls"})),
        context: Some("know this".into()),
        message: Some("look".into()),
        problem: None,
    };
    assert_eq!(printed(Event::PreToolUse, &output.to_string()), expected);
}

#[test]
fn the_old_format_still_works() {
    let block = r#"{"decision": "block", "reason": "no"}"#;
    for event in [
        Event::PreToolUse,
        Event::PostToolUse,
        Event::UserPromptSubmit,
        Event::Stop,
        Event::SubagentStop,
    ] {
        assert_eq!(
            printed(event, block),
            decides(Decision::Deny, "no"),
            "{event:?}"
        );
    }
    let approve = r#"{"decision": "approve", "reason": "yes"}"#;
    assert_eq!(
        printed(Event::PreToolUse, approve),
        decides(Decision::Allow, "yes")
    );
    assert_eq!(printed(Event::PostToolUse, approve), HookOutput::default());
}

#[test]
fn a_permission_request_has_its_own_answer_format() {
    let answer = |decision: serde_json::Value| {
        let output = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
        printed(Event::PermissionRequest, &output.to_string())
    };
    assert_eq!(
        answer(json!({"behavior": "allow", "updatedInput": {"a": 1}})),
        HookOutput {
            updated_input: Some(json!({"a": 1})),
            ..decides(Decision::Allow, "it gave no reason")
        }
    );
    assert_eq!(
        answer(json!({"behavior": "deny", "message": "no", "interrupt": true})),
        HookOutput {
            halt: Some("no".into()),
            ..decides(Decision::Deny, "no")
        }
    );
}

#[test]
fn plain_text_is_context_for_events_that_accept_it() {
    for event in Event::ALL {
        let context = event
            .takes_plain_context()
            .then(|| "the branch is main".to_owned());
        let expected = HookOutput {
            context,
            ..HookOutput::default()
        };
        assert_eq!(
            printed(event, "the branch is main\n"),
            expected,
            "{event:?}"
        );
    }
    assert_eq!(
        printed(Event::SessionStart, "{not json").context,
        Some("{not json".into())
    );
}

#[test]
fn exit_2_blocks_with_stderr_whatever_stdout_says() {
    let allow = r#"{"hookSpecificOutput": {"permissionDecision": "allow"}}"#;
    for event in Event::ALL {
        let output = HookOutput::by(event, &ran(2, allow, "not here\n"));
        if event.blocks().is_some() {
            assert_eq!(output, decides(Decision::Deny, "not here"), "{event:?}");
        } else {
            assert_eq!(
                output.problem.as_deref(),
                Some("exit code 2: not here"),
                "{event:?}"
            );
            assert_eq!(output.decision, None);
        }
    }
}

#[test]
fn other_codes_and_signals_are_for_the_person_and_block_nothing() {
    let cases = [
        (child::Ended::Exited(1), "exit code 1: oh"),
        (child::Ended::Exited(77), "exit code 77: oh"),
        (
            child::Ended::Exited(126),
            "exit code 126 (found, but not executable): oh",
        ),
        (
            child::Ended::Exited(127),
            "exit code 127 (command not found): oh",
        ),
        (child::Ended::Signalled(9), "it was ended by signal 9"),
    ];
    for (ended, problem) in cases {
        let ran = Ran {
            ended: Ended::Process(ended),
            ..ran(0, "{\"decision\":\"block\"}", "oh")
        };
        let expected = HookOutput {
            problem: Some(problem.into()),
            ..HookOutput::default()
        };
        assert_eq!(HookOutput::by(Event::PreToolUse, &ran), expected);
    }
}

#[test]
fn a_deciding_hook_that_was_cut_off_means_ask() {
    for ended in [
        Ended::TimedOut(Duration::from_secs(60)),
        Ended::Flooded,
        Ended::NotStarted("no bash".into()),
    ] {
        let ran = Ran {
            ended,
            ..ran(0, "", "")
        };
        let output = HookOutput::by(Event::PreToolUse, &ran);
        assert_eq!(
            output.decision.map(|(decision, _)| decision),
            Some(Decision::Ask)
        );
        assert!(output.problem.is_some());
        let output = HookOutput::by(Event::PostToolUse, &ran);
        assert_eq!(output.decision, None);
        assert!(output.problem.is_some());
    }
}

#[test]
fn output_that_is_not_json_is_reported_and_decides_nothing() {
    let output = printed(Event::PreToolUse, r#"{"decision": "block""#);
    assert_eq!(output.decision, None);
    assert!(
        output
            .problem
            .expect("a problem")
            .starts_with("its output is not valid JSON")
    );
    assert_eq!(printed(Event::PreToolUse, "[1, 2]"), HookOutput::default());
}

#[test]
fn an_unknown_decision_means_ask() {
    for output in [
        json!({"hookSpecificOutput": {"permissionDecision": "defer"}}),
        json!({"hookSpecificOutput": {"permissionDecision": true}}),
        json!({"decision": "maybe"}),
        json!({"continue": "no"}),
        json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": "rm"}}),
    ] {
        let outputs = printed(Event::PreToolUse, &output.to_string());
        assert_eq!(
            outputs.decision.map(|(decision, _)| decision),
            Some(Decision::Ask),
            "{output}"
        );
        assert!(outputs.problem.is_some(), "{output}");
    }
}

#[test]
fn long_texts_are_cut() {
    let output = HookOutput::by(Event::PreToolUse, &ran(2, "", &"x".repeat(20_000)));
    let (_, reason) = output.decision.expect("denied");
    assert_eq!(
        reason.chars().filter(|letter| *letter == 'x').count(),
        10_000
    );
    let output = HookOutput::by(Event::PreToolUse, &ran(1, "", &"line\n".repeat(5_000)));
    assert!(output.problem.expect("a problem").lines().count() <= 12);
}

#[test]
fn deny_beats_ask_beats_allow_in_any_order() {
    let words = [Decision::Allow, Decision::Ask, Decision::Deny];
    for first in words {
        for second in words {
            let hooks = [hook("one"), hook("two")];
            let output = [
                (&hooks[0], decides(first, "a")),
                (&hooks[1], decides(second, "b")),
            ];
            let word = Answer::of(Event::PreToolUse, output)
                .decision
                .expect("a word");
            let strictest = words
                .into_iter()
                .rfind(|word| *word == first || *word == second);
            assert_eq!(Some(word.decision), strictest, "{first:?} {second:?}");
            let by = if word.decision == first {
                "`one`"
            } else {
                "`two`"
            };
            assert_eq!(word.by, format!("{by} in settings.json"));
        }
    }
}

#[test]
fn notes_for_person_and_model_are_combined_in_order() {
    let hooks = [hook("one"), hook("two\nlines")];
    let with_text = |context: &str, message: &str| HookOutput {
        context: Some(context.into()),
        message: Some(message.into()),
        ..HookOutput::default()
    };
    let rewrites = |to: i32, output: HookOutput| HookOutput {
        updated_input: Some(json!({"a": to})),
        ..output
    };
    let answer = Answer::of(
        Event::PreToolUse,
        [
            (&hooks[0], rewrites(1, with_text("a", "m"))),
            (&hooks[1], rewrites(2, with_text("b", "n"))),
        ],
    );
    let second = "`two…` in settings.json";
    assert_eq!(answer.context, ["a", "b"]);
    assert_eq!(
        answer.updated_input,
        Some((json!({"a": 2}), second.to_owned()))
    );
    assert_eq!(
        answer.notices,
        [
            "PreToolUse hook `one` in settings.json says: m".to_owned(),
            format!(
                "two hooks changed the same call; using the input of {second}, not of `one` in settings.json"
            ),
            format!("PreToolUse hook {second} says: n"),
        ]
    );
}

fn verdict(decision: Decision, cause: Cause) -> Verdict {
    Verdict::forged(decision, cause, "before")
}

#[test]
fn hooks_make_decisions_stricter_and_never_weaker() {
    use Decision::{Allow, Ask, Deny};
    let rule = || {
        let mut rules = crate::permissions::Rules::default();
        let source = crate::permissions::Source::Session;
        rules
            .add(crate::permissions::RuleList::Ask, "Bash", &source)
            .expect("a rule");
        Cause::Rule(rules.ask[0].clone())
    };
    let after = |before: Verdict, word: Decision| {
        let word = HookDecision {
            decision: word,
            reason: "r".into(),
            by: "`h` in f".into(),
        };
        let after = with_hooks(before, &word);
        (
            after.decision(),
            *after.cause() == Cause::Hook("`h` in f".into()),
        )
    };
    // Only the default gives way to an allow.
    assert_eq!(after(verdict(Ask, Cause::Default), Allow), (Allow, true));
    assert_eq!(after(verdict(Ask, Cause::Default), Ask), (Ask, true));
    for cause in [rule(), Cause::BuiltIn, Cause::ProtectedPath] {
        assert_eq!(after(verdict(Ask, cause.clone()), Ask), (Ask, false));
        assert_eq!(after(verdict(Ask, cause), Allow), (Ask, false));
    }
    for cause in [
        rule(),
        Cause::BuiltIn,
        Cause::Mode(Mode::Plan),
        Cause::Default,
    ] {
        for word in [Allow, Ask, Deny] {
            assert_eq!(after(verdict(Deny, cause.clone()), word), (Deny, false));
        }
    }
    for cause in [
        rule(),
        Cause::Classifier,
        Cause::Mode(Mode::BypassPermissions),
    ] {
        assert_eq!(after(verdict(Allow, cause.clone()), Ask), (Ask, true));
        assert_eq!(after(verdict(Allow, cause.clone()), Deny), (Deny, true));
        assert_eq!(after(verdict(Allow, cause), Allow), (Allow, false));
    }
    assert_eq!(after(verdict(Ask, rule()), Deny), (Deny, true));
}

#[test]
fn the_input_has_the_fields_of_its_event() {
    let common = || match json!({"session_id": "s"}) {
        serde_json::Value::Object(common) => common,
        _ => panic!(),
    };
    let call = ToolCall {
        call: CallRef::main(1),
        id: "c1".into(),
        name: "Bash".into(),
        input: json!({"command": "ls"}).into(),
    };
    let touches = Touches::Command("ls".to_owned());
    assert_eq!(
        Payload::post_tool_use(&call, &touches, &[ResultBlock::text("a\nb")]).input(common()),
        json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
            "tool_use_id": "c1", "tool_response": {"content": "a\nb", "is_error": false, "stdout": "a\nb", "stderr": "",
            "interrupted": false}})
    );
    let sample = SampleCall {
        tool: call.name,
        input: serde_json::Value::clone(&call.input),
        touches,
    };
    let fields = |event| {
        let input = Payload::sample(event, &sample).input(common());
        let input = input.as_object().expect("an object");
        let mut names: Vec<String> = input.keys().cloned().collect();
        names.retain(|name| name != "session_id" && name != "hook_event_name");
        names.join(" ")
    };
    assert_eq!(
        fields(Event::PreToolUse),
        "tool_name tool_input tool_use_id"
    );
    assert_eq!(
        fields(Event::PermissionRequest),
        "tool_name tool_input tool_use_id"
    );
    assert_eq!(
        fields(Event::PostToolUseFailure),
        "tool_name tool_input tool_use_id error is_interrupt"
    );
    assert_eq!(fields(Event::UserPromptSubmit), "prompt");
    assert_eq!(
        fields(Event::Notification),
        "message title notification_type"
    );
    assert_eq!(
        fields(Event::Stop),
        "stop_hook_active last_assistant_message"
    );
    assert_eq!(
        fields(Event::SubagentStop),
        "stop_hook_active last_assistant_message agent_id agent_type"
    );
    assert_eq!(fields(Event::PreCompact), "trigger custom_instructions");
    assert_eq!(fields(Event::SessionStart), "source model");
    assert_eq!(fields(Event::SessionEnd), "reason");
}

/// Random JSON with the known field names.
fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|it| json!(it)),
        any::<i32>().prop_map(|it| json!(it)),
        prop_oneof![
            Just("allow"),
            Just("deny"),
            Just("ask"),
            Just("block"),
            Just("approve"),
            Just("PreToolUse"),
        ]
        .prop_map(|it| json!(it)),
        ".{0,20}".prop_map(|it| json!(it)),
    ];
    let name = prop_oneof![
        Just("continue"),
        Just("stopReason"),
        Just("systemMessage"),
        Just("decision"),
        Just("reason"),
        Just("hookSpecificOutput"),
        Just("hookEventName"),
        Just("permissionDecision"),
        Just("permissionDecisionReason"),
        Just("updatedInput"),
        Just("additionalContext"),
        Just("behavior"),
        Just("message"),
        Just("interrupt"),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|it| json!(it)),
            prop::collection::hash_map(name.clone(), inner, 0..6).prop_map(|it| json!(it)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_output_is_handled_and_texts_are_bounded(
        code in prop_oneof![Just(0), Just(2), any::<i32>()],
        stdout in prop_oneof![
            any_json().prop_map(|json| json.to_string().into_bytes()),
            prop::collection::vec(any::<u8>(), 0..200),
            "\\PC{0,50}".prop_map(|text| text.repeat(500).into_bytes()),
        ],
        stderr in prop::collection::vec(any::<u8>(), 0..20_000),
    ) {
        let ran = Ran {
            ended: Ended::Process(child::Ended::Exited(code)),
            stdout,
            stderr,
            took: Duration::ZERO,
        };
        let hook = hook("x");
        for event in Event::ALL {
            let output = HookOutput::by(event, &ran);
            let texts = [&output.halt, &output.context, &output.message, &output.problem];
            for text in texts.into_iter().flatten() {
                prop_assert!(text.chars().count() < 11_000);
            }
            let denies = matches!(output.decision, Some((Decision::Deny, _)));
            let answer = Answer::of(event, [(&hook, output)]);
            prop_assert_eq!(answer.blocked().is_some(), denies);
            // Only exit code 2 or JSON blocks.
            prop_assert!(code == 0 || code == 2 || !denies);
        }
    }
}
