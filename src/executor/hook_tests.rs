use std::time::Duration;

use serde_json::{Value, json};

use super::Asking;
use super::driver::Observed;
use super::rig::{Rig, Setting, Tools, safe, secs, unsafe_};
use crate::hooks::rig::hook;
use crate::hooks::{Event, Hook};
use crate::permissions::{RuleList, Rules, Source};
use crate::protocol::{Answer, Mode, Phase};

/// A hook that prints this.
fn printing(event: Event, output: &Value) -> Hook {
    hook(event, &format!("cat > /dev/null; echo '{output}'"))
}

fn deciding(decision: &str) -> Hook {
    printing(Event::PreToolUse, &permission(decision))
}

fn permission(decision: &str) -> Value {
    json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
        "permissionDecisionReason": "because"}})
}

fn rewriting(decision: &str, input: &Value) -> Hook {
    let mut output = permission(decision);
    output["hookSpecificOutput"]["updatedInput"] = input.clone();
    printing(Event::PreToolUse, &output)
}

fn answering(decision: &Value) -> Hook {
    let output =
        json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
    printing(Event::PermissionRequest, &output)
}

/// Real tools, in this mode, with nobody to ask.
fn headless(mode: Mode, hooks: Vec<Hook>) -> Rig {
    Rig::with(Setting {
        mode,
        asking: Asking::Nobody,
        tools: Tools::Real,
        hooks,
        ..Setting::default()
    })
}

fn asking(hooks: Vec<Hook>) -> Rig {
    Rig::with(Setting {
        mode: Mode::Default,
        asking: Asking::Person,
        tools: Tools::Real,
        hooks,
        ..Setting::default()
    })
}

/// The result of one Bash call.
async fn bash(rig: &mut Rig, command: &str) -> String {
    rig.call("b", "Bash", json!({ "command": command }));
    result(rig).await
}

async fn result(rig: &mut Rig) -> String {
    rig.stream_ended();
    let results = rig.results().await;
    results
        .iter()
        .map(|result| result.as_sent().as_text())
        .collect()
}

fn phases(rig: &Rig) -> Vec<Phase> {
    let phases = rig.seen.0.iter().filter_map(|observed| match observed {
        Observed::Reached(_, phase) => Some(*phase),
        _ => None,
    });
    phases.collect()
}

#[tokio::test]
async fn exit_2_denies_the_call_and_the_model_is_told_why() {
    let mut rig = headless(
        Mode::BypassPermissions,
        vec![hook(Event::PreToolUse, "echo not on my watch >&2; exit 2")],
    );
    let output = bash(&mut rig, "touch made").await;
    assert_eq!(
        output,
        "<tool_use_error>Permission to use Bash has been denied: not on my watch (the hook `echo not on my watch >&2; \
         exit 2` in settings.json denies it)</tool_use_error>"
    );
    assert!(!rig.scratch.root.join("made").exists());
    assert_eq!(
        rig.decided("b"),
        ["denied by hook `echo not on my watch >&2; exit 2` in settings.json"]
    );
    assert_eq!(phases(&rig), [Phase::InHooks]);
}

#[tokio::test]
async fn a_hook_reads_the_call_on_stdin() {
    let mut rig = headless(
        Mode::BypassPermissions,
        vec![hook(Event::PreToolUse, "cat > seen.json")],
    );
    bash(&mut rig, "echo hello").await;
    let seen = std::fs::read_to_string(rig.scratch.root.join("seen.json")).expect("written");
    let seen: Value = serde_json::from_str(&seen).expect("JSON");
    assert_eq!(
        seen,
        json!({"session_id": "s", "transcript_path": "/log.jsonl", "cwd": rig.scratch.root, "tool_use_id": "b",
            "permission_mode": "bypassPermissions", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": "echo hello"}})
    );
}

#[tokio::test]
async fn a_call_without_a_matching_hook_runs_none() {
    let other = Hook {
        matcher: crate::hooks::matcher::Matcher::new("Edit|Write").expect("a pattern"),
        ..hook(Event::PreToolUse, "exit 2")
    };
    let mut rig = headless(Mode::BypassPermissions, vec![other]);
    assert_eq!(bash(&mut rig, "echo hello").await, "hello");
    assert_eq!(phases(&rig), [Phase::Running]);
}

#[tokio::test]
async fn an_allow_replaces_the_person_if_only_the_default_asks() {
    let mut rig = headless(Mode::Default, vec![deciding("allow")]);
    assert_eq!(bash(&mut rig, "touch made").await, "(no output)");
    let [by] = &rig.decided("b")[..] else {
        panic!("{:?}", rig.decided("b"));
    };
    assert!(
        by.starts_with("allowed by hook `cat > /dev/null; echo"),
        "{by}"
    );
    // In dontAsk mode the person would not be asked either.
    let mut rig = headless(Mode::DontAsk, vec![deciding("allow")]);
    assert_eq!(bash(&mut rig, "touch made").await, "(no output)");
}

#[tokio::test]
async fn an_allow_overrides_no_rule_no_built_in_list_no_protected_path_and_no_mode() {
    let cases = [
        (
            Some((RuleList::Deny, "Bash(touch:*)")),
            Mode::Default,
            "touch x",
            "denies this call",
        ),
        (
            Some((RuleList::Ask, "Bash(touch:*)")),
            Mode::Default,
            "touch x",
            "nobody is there to ask",
        ),
        (
            Some((RuleList::Ask, "Bash(touch:*)")),
            Mode::DontAsk,
            "touch x",
            "dontAsk mode denies",
        ),
        (None, Mode::Default, "rm -rf /", "never runs"),
        (
            None,
            Mode::Default,
            "touch .git/hooks/x",
            "nobody is there to ask",
        ),
        (None, Mode::Plan, "touch x", "plan mode is read-only"),
    ];
    for (rule, mode, command, output) in cases {
        let mut rules = Rules::default();
        if let Some((list, rule)) = rule {
            rules.add(list, rule, &Source::Session).expect("a rule");
        }
        let mut rig = Rig::ruled(
            Setting {
                mode,
                asking: Asking::Nobody,
                tools: Tools::Real,
                hooks: vec![deciding("allow"), answering(&json!({"behavior": "allow"}))],
                ..Setting::default()
            },
            rules,
        );
        let result = bash(&mut rig, command).await;
        assert!(result.contains(output), "{command}: {result}");
    }
}

#[tokio::test]
async fn an_ask_overrides_an_allowed_call_and_another_hooks_allow() {
    for mode in [Mode::Default, Mode::BypassPermissions] {
        let mut rig = headless(mode, vec![deciding("allow"), deciding("ask")]);
        let output = bash(&mut rig, "echo hello").await;
        assert!(
            output.contains("because (the hook") && output.contains("nobody is there"),
            "{output}"
        );
    }
}

#[tokio::test]
async fn a_hook_that_times_out_before_a_call_means_ask() {
    let slow = Hook {
        timeout: Duration::from_millis(100),
        ..hook(Event::PreToolUse, "sleep 321")
    };
    let mut rig = headless(Mode::BypassPermissions, vec![slow]);
    let output = bash(&mut rig, "echo hello").await;
    assert!(
        output.contains("timed out after 0.1 s") && output.contains("nobody is there"),
        "{output}"
    );
    assert_eq!(
        rig.notices(),
        ["PreToolUse hook `sleep 321` in settings.json failed: it timed out after 0.1 s"]
    );
}

#[tokio::test]
async fn a_hook_that_fails_is_shown_and_blocks_nothing() {
    let mut rig = headless(
        Mode::Default,
        vec![
            hook(Event::PreToolUse, "echo oh >&2; exit 1"),
            hook(Event::PreToolUse, "echo '{'"),
        ],
    );
    assert_eq!(bash(&mut rig, "echo hello").await, "hello");
    let notices = rig.notices();
    assert_eq!(
        notices[0],
        "PreToolUse hook `echo oh >&2; exit 1` in settings.json failed: exit code 1: oh"
    );
    assert!(
        notices[1].contains("its output is not valid JSON"),
        "{}",
        notices[1]
    );
}

#[tokio::test]
async fn a_rewritten_input_runs_and_the_model_is_told() {
    let mut rig = headless(
        Mode::Default,
        vec![rewriting("allow", &json!({"command": "echo rewritten"}))],
    );
    let output = bash(&mut rig, "touch made").await;
    assert!(
        output.starts_with("rewritten\n<hook>\nA hook of the user changed the input"),
        "{output}"
    );
    assert!(
        output.contains(r#"{"command":"echo rewritten"}"#),
        "{output}"
    );
    assert!(!rig.scratch.root.join("made").exists());
    assert!(
        rig.notices()[0].contains("changed the input of Bash"),
        "{:?}",
        rig.notices()
    );
}

#[tokio::test]
async fn a_rewritten_input_is_checked_by_the_rules_again() {
    let mut rules = Rules::default();
    let source = Source::file("/repo/file", "file");
    rules
        .add(RuleList::Deny, "Bash(touch:*)", &source)
        .expect("a rule");
    let mut rig = Rig::ruled(
        Setting {
            tools: Tools::Real,
            hooks: vec![rewriting("allow", &json!({"command": "touch made"}))],
            ..Setting::default()
        },
        rules,
    );
    let output = bash(&mut rig, "echo hello").await;
    assert!(
        output.contains("the rule `Bash(touch:*)` in file denies this call"),
        "{output}"
    );
    assert!(!rig.scratch.root.join("made").exists());
}

#[tokio::test]
async fn a_rewritten_input_must_match_the_schema() {
    let mut rig = headless(
        Mode::Default,
        vec![rewriting("allow", &json!({"comand": "ls"}))],
    );
    let output = bash(&mut rig, "echo hello").await;
    assert!(
        output.contains("rewrote the input of this call, and that cannot be done"),
        "{output}"
    );
    assert!(
        output.contains("does not match its schema")
            && output.matches("<tool_use_error>").count() == 1,
        "{output}"
    );
}

#[tokio::test]
async fn the_person_is_asked_about_the_rewritten_input() {
    let mut rig = asking(vec![rewriting(
        "ask",
        &json!({"command": "echo rewritten; sleep 0.01"}),
    )]);
    rig.call("b", "Bash", json!({"command": "echo hello"}));
    let request = rig.request("b").await;
    assert_eq!(
        request.input,
        json!({"command": "echo rewritten; sleep 0.01"})
    );
    assert!(
        request.reason.contains("because (the hook"),
        "{}",
        request.reason
    );
    assert_eq!(request.rule, None);
    rig.answer("b", Answer::Allow);
    let output = result(&mut rig).await;
    assert!(output.starts_with("rewritten"), "{output}");
}

#[tokio::test]
async fn a_restarted_call_keeps_its_rewritten_input() {
    let command = "echo x >> ran; until [ -e go ]; do sleep 0.01; done; cat ran";
    let mut rig = headless(
        Mode::BypassPermissions,
        vec![rewriting("allow", &json!({ "command": command }))],
    );
    let ran = rig.scratch.root.join("ran");
    rig.call("b", "Bash", json!({"command": "echo hello"}));
    rig.until(|observed| matches!(observed, Observed::Reached(_, Phase::Running)))
        .await;
    // The shell creates the file before it writes to it.
    while std::fs::read(&ran).map_or(0, |output| output.len()) == 0 {
        rig.pass(Duration::from_millis(1)).await;
    }
    rig.control(|executor, seen| executor.run_again("b".into(), seen));
    let begun = |observed: &&Observed| matches!(observed, Observed::Begun(_));
    while rig.seen.0.iter().filter(begun).count() < 2 {
        rig.pass(Duration::from_millis(1)).await;
    }
    std::fs::write(rig.scratch.root.join("go"), "").expect("written");
    assert_eq!(result(&mut rig).await, "x\nx");
}

#[tokio::test]
async fn a_change_of_mode_does_not_override_a_hook_that_asks() {
    let mut rig = asking(vec![deciding("ask")]);
    rig.call("b", "Bash", json!({"command": "echo hello"}));
    rig.request("b").await;
    rig.context.shared.set_mode(Mode::BypassPermissions);
    rig.answer("b", Answer::Deny { reason: None });
    assert!(result(&mut rig).await.contains("did not allow this call"));
}

#[tokio::test]
async fn a_permission_request_can_be_answered_by_a_hook() {
    for who in [Asking::Nobody, Asking::Person] {
        let with = |decision: Value| {
            Rig::with(Setting {
                mode: Mode::Default,
                asking: who,
                tools: Tools::Real,
                hooks: vec![answering(&decision)],
                ..Setting::default()
            })
        };
        let mut rig = with(json!({"behavior": "allow"}));
        assert_eq!(bash(&mut rig, "touch made").await, "(no output)");
        let mut rig = with(json!({"behavior": "deny", "message": "not now"}));
        let output = bash(&mut rig, "touch made").await;
        assert!(output.contains("not now (the hook"), "{output}");
        let mut rig = with(json!({"behavior": "allow", "updatedInput": {"command": "echo other"}}));
        let output = bash(&mut rig, "touch made").await;
        assert_eq!(
            (output.as_str(), rig.scratch.root.join("made").exists()),
            ("other", false)
        );
    }
}

#[tokio::test]
async fn the_person_can_answer_before_a_slow_hook_does() {
    let mut rig = asking(vec![hook(Event::PermissionRequest, "sleep 321")]);
    rig.call("b", "Bash", json!({"command": "touch made"}));
    rig.request("b").await;
    rig.answer("b", Answer::Allow);
    assert_eq!(result(&mut rig).await, "(no output)");
}

#[tokio::test]
async fn a_hook_that_asks_before_the_call_is_not_overridden_by_one_that_answers() {
    let mut rig = headless(
        Mode::Default,
        vec![deciding("ask"), answering(&json!({"behavior": "allow"}))],
    );
    let output = bash(&mut rig, "echo hello").await;
    assert!(output.contains("nobody is there"), "{output}");
    assert!(
        rig.notices()[0].contains("another hook asks first"),
        "{:?}",
        rig.notices()
    );
}

#[tokio::test]
async fn what_hooks_say_after_a_call_reaches_the_model_with_its_result() {
    let context = json!({"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "by the way"}});
    let mut rig = headless(
        Mode::Default,
        vec![
            hook(
                Event::PostToolUse,
                "cat > after.json; echo format it >&2; exit 2",
            ),
            printing(Event::PostToolUse, &context),
        ],
    );
    let output = bash(&mut rig, "echo hello").await;
    assert_eq!(
        output,
        "hello\n<hook>\nThe hook `cat > after.json; echo format it >&2; exit 2` in settings.json objects: format it\n\
         by the way\n</hook>"
    );
    let seen = std::fs::read_to_string(rig.scratch.root.join("after.json")).expect("written");
    let seen: Value = serde_json::from_str(&seen).expect("JSON");
    assert_eq!(seen["tool_response"]["content"], "hello");
    assert_eq!(phases(&rig), [Phase::Running, Phase::InHooks]);
}

#[tokio::test]
async fn failure_hooks_run_only_for_failures() {
    let hooks = || {
        vec![
            hook(Event::PostToolUse, "echo success >> seen"),
            hook(
                Event::PostToolUseFailure,
                "cat >> seen; echo look at the log >&2; exit 2",
            ),
        ]
    };
    let mut rig = headless(Mode::BypassPermissions, hooks());
    let output = bash(&mut rig, "echo broken; exit 3").await;
    assert!(
        output.contains("Exit code 3\nbroken") && output.contains("objects: look at the log"),
        "{output}"
    );
    let seen = std::fs::read_to_string(rig.scratch.root.join("seen")).expect("written");
    let seen: Value = serde_json::from_str(&seen).expect("JSON");
    assert_eq!(seen["error"], "Exit code 3\nbroken");
    assert_eq!(seen["hook_event_name"], "PostToolUseFailure");
}

#[tokio::test]
async fn a_hook_that_stops_the_turn_stops_the_call() {
    let halt = json!({"continue": false, "stopReason": "enough"});
    let mut rig = headless(
        Mode::BypassPermissions,
        vec![printing(Event::PreToolUse, &halt)],
    );
    let output = bash(&mut rig, "touch made").await;
    assert!(output.contains(" stopped the turn: enough"), "{output}");
    assert!(!rig.scratch.root.join("made").exists());
}

#[tokio::test]
async fn cancelling_a_call_cancels_its_hooks() {
    let mut rig = headless(
        Mode::BypassPermissions,
        vec![hook(Event::PreToolUse, "sleep 321")],
    );
    rig.call("b", "Bash", json!({"command": "echo hello"}));
    rig.until(|observed| matches!(observed, Observed::Reached(_, Phase::InHooks)))
        .await;
    rig.interrupt();
    let output = result(&mut rig).await;
    assert!(output.contains("Interrupted by the user"), "{output}");
}

#[tokio::test]
async fn a_call_that_hooks_made_unsafe_runs_alone() {
    // `a` only reads and is queued together with `b`; the hook turns it into a command that writes.
    let output = rewriting("allow", &json!({"command": "echo a >> order"}));
    let only_a = format!(
        "grep -q '\"a\"' && {{ {}; }}",
        output.command.replace("cat > /dev/null; ", "")
    );
    let mut rig = headless(
        Mode::BypassPermissions,
        vec![hook(Event::PreToolUse, &only_a)],
    );
    let (ran, slow) = (rig.scratch.root.join("order"), "sleep 0.2; cat order");
    std::fs::write(&ran, "before\n").expect("written");
    rig.call("b", "Bash", json!({ "command": slow }));
    rig.until(|observed| matches!(observed, Observed::Reached(_, Phase::Running)))
        .await;
    rig.call("a", "Bash", json!({"command": "cat order"}));
    let text = result(&mut rig).await;
    assert!(text.starts_with("before"), "{text}");
    assert!(!text.starts_with("before\na"), "{text}");
    assert_eq!(std::fs::read_to_string(ran).expect("there"), "before\na\n");
}

#[tokio::test]
async fn hooks_of_parallel_calls_run_in_parallel() {
    let hooks = vec![hook(
        Event::PreToolUse,
        // Each waits until the other has begun.
        "touch begun.$$; until [ $(ls begun.* | wc -l) = 2 ]; do sleep 0.01; done",
    )];
    let mut rig = Rig::with(Setting {
        hooks,
        ..Setting::default()
    });
    rig.add_all([safe("a").taking(secs(0)), safe("b").taking(secs(0))]);
    let run = rig.finish().await;
    assert_eq!(run.results, ["a", "b"]);
}

#[tokio::test]
async fn a_hook_can_deny_any_tool() {
    let mut rig = Rig::with(Setting {
        hooks: vec![hook(Event::PreToolUse, "echo no >&2; exit 2")],
        ..Setting::default()
    });
    rig.add(unsafe_("a"));
    rig.stream_ended();
    let results = rig.results().await;
    assert!(results[0].is_error && rig.called().is_empty());
}
