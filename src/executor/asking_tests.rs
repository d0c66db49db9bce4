//! Calls that need a person's decision, with and without a person.

use serde_json::json;

use super::driver::Observed;
use super::rig::{Rig, Setting, Tools, safe, secs, unsafe_};
use super::shared::Asking;
use crate::permissions::{Cause, Decision, RuleList, Rules, Source};
use crate::protocol::{Answer, Mode, Phase, Question, ToolResult};

/// The calls that have asked so far.
fn asked(rig: &Rig) -> Vec<&str> {
    let asked = rig.seen.0.iter().filter_map(|observed| match observed {
        Observed::Asked(Question { call, .. }) => Some(rig.word(*call)),
        _ => None,
    });
    asked.collect()
}

/// The result of a call that a person answered an hour after it asked.
async fn answered(answer: Answer) -> (String, Vec<String>) {
    let mut rig = Rig::asking();
    rig.add(unsafe_("a"));
    rig.pass(secs(3600)).await;
    assert_eq!(asked(&rig), ["a"]);
    let waiting = Observed::Reached("a".into(), Phase::WaitingForApproval);
    assert!(rig.seen.0.contains(&waiting));
    assert_eq!(rig.called(), Vec::<String>::new());
    rig.answer("a", answer);
    rig.stream_ended();
    let run = rig.deliver().await;
    (run.results.concat(), rig.called())
}

#[tokio::test(start_paused = true)]
async fn an_allowed_call_runs() {
    let (result, called) = answered(Answer::Allow).await;
    assert_eq!((result.as_str(), called), ("a", vec!["a".into()]));
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_does_not_run_and_the_model_is_told() {
    let (result, called) = answered(Answer::Deny { reason: None }).await;
    assert_eq!(
        result,
        "<tool_use_error>The user did not allow this call. Do not try it again; ask how to continue</tool_use_error>"
    );
    assert_eq!(called, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_tells_the_model_the_persons_reason() {
    let reason = Some("use the other file".into());
    let (result, called) = answered(Answer::Deny { reason }).await;
    assert_eq!(
        result,
        "<tool_use_error>The user did not allow this call, and says: use the other file</tool_use_error>"
    );
    assert_eq!(called, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_cancels_nothing() {
    let mut rig = Rig::asking();
    rig.add_all([unsafe_("a"), unsafe_("b")]);
    rig.pass(secs(1)).await;
    let deny = Answer::Deny { reason: None };
    rig.answer("a", deny);
    rig.pass(secs(1)).await;
    rig.answer("b", Answer::Allow);
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results[1], "b");
    assert_eq!(asked(&rig), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_ask_at_once_are_answered_by_their_ids() {
    let mut rig = Rig::asking();
    rig.add_all([safe("a").changing(), safe("b").changing()]);
    rig.pass(secs(1)).await;
    let mut both = asked(&rig);
    both.sort_unstable();
    assert_eq!(both, ["a", "b"]);
    let deny = Answer::Deny { reason: None };
    rig.answer("b", Answer::Allow);
    rig.answer("b", deny.clone());
    rig.answer("unknown", Answer::Allow);
    rig.pass(secs(1)).await;
    assert_eq!(rig.called(), ["b"], "only the first answer is used");
    rig.answer("a", deny);
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results[1], "b");
}

#[tokio::test(start_paused = true)]
async fn calls_with_the_same_id_on_the_wire_are_answered_separately() {
    let mut rig = Rig::asking();
    for word in ["a", "b", "c"] {
        rig.add_as("call_1".into(), &safe(word).changing());
    }
    rig.pass(secs(1)).await;
    rig.answer("b", Answer::Allow);
    rig.control(|executor, seen| executor.cancel("c".into(), seen));
    rig.pass(secs(1)).await;
    assert_eq!(rig.called(), ["b"]);
    rig.answer("a", Answer::Deny { reason: None });
    rig.stream_ended();
    let results = rig.results().await;
    assert!(results.iter().all(|it| it.tool_use_id == "call_1".into()));
    let texts: Vec<String> = results.iter().map(ToolResult::as_text).collect();
    assert_eq!(texts[1], "b");
    assert!(texts[0].contains("did not allow this call"), "{texts:?}");
    assert!(texts[2].contains("Cancelled by the user"), "{texts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_harmless_call_that_its_tool_wants_confirmed_runs_by_answer_rule_or_bypass_only() {
    for (mode, rule, asks, result) in [
        (Mode::Default, None, true, "it ran"),
        (Mode::Plan, None, true, "it ran"),
        (Mode::Default, Some("Insists"), false, "it ran"),
        (Mode::BypassPermissions, None, false, "it ran"),
        (Mode::DontAsk, None, false, "dontAsk mode denies it"),
    ] {
        let mut rig = Rig::with(Setting {
            mode,
            asking: Asking::Person,
            ..Setting::default()
        });
        if let Some(rule) = rule {
            let source = Source::Session;
            rig.context.shared.allow(rule, &source).expect("a rule");
        }
        rig.call("a", "Insists", json!({}));
        rig.stream_ended();
        if asks {
            let request = rig.request("a").await;
            assert_eq!(request.reason, "it wants to be confirmed");
            assert!(request.rule.is_none(), "{mode:?}: no rule was missing");
            rig.answer("a", Answer::Allow);
        }
        let results = rig.results().await;
        let text = results[0].as_text();
        assert!(text.contains(result), "{mode:?}, {rule:?}: {text}");
        assert_eq!(asked(&rig).is_empty(), !asks, "{mode:?}, {rule:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn with_nobody_to_ask_the_call_is_denied_and_the_result_says_so() {
    let mut rig = Rig::with(Setting {
        mode: Mode::Default,
        asking: Asking::Nobody,
        ..Setting::default()
    });
    rig.add(unsafe_("a"));
    rig.stream_ended();
    let results = rig.results().await;
    let text = results[0].as_text();
    assert!(results[0].is_error);
    assert!(text.contains("nobody is there to ask"), "{text}");
    assert_eq!(asked(&rig), Vec::<&str>::new());
    let decided = rig.seen.0.iter().find_map(|observed| match observed {
        Observed::Decided {
            verdict,
            asks_person,
            ..
        } => Some((verdict.decision(), *asks_person)),
        _ => None,
    });
    assert_eq!(decided, Some((Decision::Ask, false)));
}

#[tokio::test(start_paused = true)]
async fn every_decision_is_reported_with_its_cause() {
    let mut rig = Rig::new();
    rig.add(unsafe_("a"));
    rig.stream_ended();
    rig.deliver().await;
    let causes = rig.seen.0.iter().filter_map(|observed| match observed {
        Observed::Decided { verdict, .. } => Some(verdict.cause().clone()),
        _ => None,
    });
    let expected = Cause::Mode(Mode::BypassPermissions);
    assert_eq!(causes.collect::<Vec<_>>(), [expected]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_withdraws_the_question_even_of_a_blocking_tool() {
    let mut rig = Rig::asking();
    rig.add(unsafe_("a").blocking());
    rig.pass(secs(1)).await;
    rig.interrupt();
    rig.answer("a", Answer::Allow);
    rig.stream_ended();
    assert_eq!(
        rig.deliver().await.results,
        ["<tool_use_error>Interrupted by the user: Blocks(a) was not started</tool_use_error>"]
    );
    assert_eq!(rig.called(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_its_result_no_longer_asks() {
    let mut rig = Rig::asking();
    rig.add(unsafe_("a"));
    // Its question has been sent but not received.
    tokio::time::sleep(secs(1)).await;
    rig.control(|executor, seen| executor.answer_by_hand("a".into(), "typed".into(), seen));
    rig.pass(secs(1)).await;
    assert_eq!(asked(&rig), Vec::<&str>::new());
}

#[tokio::test(start_paused = true)]
async fn the_current_mode_decides() {
    let mut rig = Rig::asking();
    rig.add_all([unsafe_("a"), unsafe_("b")]);
    rig.pass(secs(1)).await;
    rig.context.shared.set_mode(Mode::BypassPermissions);
    rig.answer("a", Answer::Allow);
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["a", "b"]);
    assert_eq!(asked(&rig), ["a"]);
}

/// The result of a call of a built-in tool without a person, with this deny rule.
async fn error_text(denied: &str, tool: &str, input: serde_json::Value) -> String {
    let mut rules = Rules::default();
    let source = Source::Session;
    let added = rules.add(RuleList::Deny, denied, &source);
    assert_eq!(added, Ok(None));
    let setting = Setting {
        mode: Mode::Default,
        asking: Asking::Nobody,
        tools: Tools::Real,
        ..Setting::default()
    };
    let mut rig = Rig::ruled(setting, rules);
    rig.call("a", tool, input);
    rig.stream_ended();
    rig.deliver().await.results.concat()
}

#[tokio::test]
async fn only_a_call_that_may_read_a_file_learns_whether_it_exists() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    let file = outside.path().join("there");
    std::fs::write(&file, "x").expect("written");
    let paths = [
        file.clone(),
        outside.path().join("missing"),
        outside.path().to_owned(),
    ];
    for tool in ["Read", "Edit", "Write", "Grep", "Glob"] {
        let error_about = async |path: &std::path::Path| {
            let input = match tool {
                "Read" => json!({ "file_path": path }),
                "Edit" => json!({ "file_path": path, "old_string": "a", "new_string": "b" }),
                "Write" => json!({ "file_path": path, "content": "b" }),
                _ => json!({ "pattern": "x", "path": path }),
            };
            let text = error_text("Read(.env)", tool, input).await;
            text.replace(&path.display().to_string(), "PATH")
        };
        let there = error_about(&paths[0]).await;
        assert!(there.contains("has been denied"), "{tool}: {there}");
        for path in &paths[1..] {
            assert_eq!(error_about(path).await, there, "{tool} {}", path.display());
        }
    }
}

#[tokio::test]
async fn a_deny_rule_hides_whether_a_file_exists_and_errors_in_the_workspace_are_reported_at_once()
{
    let denied = error_text("Read(.env)", "Read", json!({ "file_path": ".env" })).await;
    assert!(denied.contains("has been denied"), "{denied}");
    let missing = error_text("Read(.env)", "Read", json!({ "file_path": "missing" })).await;
    assert!(missing.contains("does not exist"), "{missing}");
    let edit = json!({ "file_path": "missing", "old_string": "a", "new_string": "b" });
    let missing = error_text("Read(.env)", "Edit", edit).await;
    assert!(missing.contains("does not exist"), "{missing}");
}

#[tokio::test]
async fn an_allowed_call_learns_that_a_file_does_not_exist() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    let mut rig = Rig::real();
    rig.call(
        "a",
        "Read",
        json!({ "file_path": outside.path().join("missing") }),
    );
    rig.request("a").await;
    rig.answer("a", Answer::Allow);
    rig.stream_ended();
    let text = rig.deliver().await.results.concat();
    assert!(text.contains("does not exist"), "{text}");
}
