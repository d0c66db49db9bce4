//! Answers that are more than yes or no: rules for the session and permanent ones, changes allowed in part.

use serde_json::json;

use super::driver::Observed;
use super::rig::{Rig, Setting, safe, secs, unsafe_};
use crate::permissions::{RuleList, Rules, Source};
use crate::process::child::Ended;
use crate::protocol::{
    Answer, AnswerNote, CallOutcome, FileDiff, LeftOut, Mode, PartOfFile, RuleOffer,
};
use crate::tools::bash::jobs::Status;

fn for_session(rule: &str) -> Answer {
    Answer::AllowForSession { rule: rule.into() }
}

fn always(rule: &str) -> Answer {
    Answer::AllowAlways { rule: rule.into() }
}

#[tokio::test(start_paused = true)]
async fn a_rule_for_the_session_applies_to_waiting_and_later_calls() {
    let mut rig = Rig::asking();
    rig.add_all([safe("a").changing(), safe("b").changing()]);
    rig.pass(secs(1)).await;
    rig.answer("a", for_session("Cancels"));
    rig.pass(secs(1)).await;
    assert_eq!(rig.called(), ["a", "b"]);
    assert_eq!(
        rig.decided("a"),
        [
            "asked, because Cancels is not covered by any rule",
            "allowed by you for this session: Cancels"
        ]
    );
    let by_rule = "allowed by rule Cancels in this session";
    assert_eq!(
        rig.decided("b"),
        ["asked, because Cancels is not covered by any rule", by_rule]
    );
    rig.add(unsafe_("c"));
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["a", "b", "c"]);
    assert_eq!(rig.decided("c"), [by_rule]);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_rule_allows_the_call_once_and_says_so() {
    let mut rig = Rig::asking();
    rig.add_all([unsafe_("a"), unsafe_("b")]);
    rig.pass(secs(1)).await;
    rig.answer("a", always("Cancels("));
    rig.pass(secs(1)).await;
    assert_eq!(rig.called(), ["a"]);
    assert_eq!(
        rig.notices(),
        ["the rule `Cancels(` has a `(` without a `)` at its end; allowed once"]
    );
    assert!(!rig.context.shared.rules_file().exists());
    assert_eq!(rig.notes(), []);
    let asked = Observed::Asked(rig.question("b").await);
    assert!(rig.seen.0.contains(&asked));
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_does_not_cover_the_call_allows_it_once_and_says_so() {
    let mut rig = Rig::asking();
    rig.add(unsafe_("a"));
    rig.pass(secs(1)).await;
    rig.answer("a", for_session("Read(/elsewhere/**)"));
    rig.pass(secs(1)).await;
    assert_eq!(rig.called(), ["a"]);
    assert_eq!(
        rig.notices(),
        [
            "your rule doesn't cover this call, so it runs once and the next one asks: Cancels is not covered by any rule"
        ]
    );
}

#[tokio::test]
async fn a_permanent_rule_is_saved_in_the_projects_settings() {
    let mut rig = Rig::asking();
    rig.add(unsafe_("a"));
    let request = rig.request("a").await;
    let file = rig.context.shared.rules_file();
    assert_eq!(
        request.rule,
        Some(RuleOffer {
            rule: "Cancels".into(),
            wider: None,
            file: file.clone()
        })
    );
    rig.answer("a", always("Cancels"));
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["a"]);
    let saved = std::fs::read_to_string(file).expect("saved");
    assert!(saved.contains("\"Cancels\""), "{saved}");
    let by = "always allowed by you: Cancels in .agent-tui/settings.local.json";
    assert_eq!(rig.decided("a")[1], by);
    let saved = AnswerNote::Saved {
        rule: "Cancels".into(),
        file: ".agent-tui/settings.local.json".into(),
    };
    assert_eq!(rig.notes(), [saved]);
}

#[tokio::test]
async fn a_rule_that_cannot_be_saved_applies_to_the_session_and_the_person_is_told() {
    let mut rig = Rig::asking();
    rig.add_all([unsafe_("a"), unsafe_("b")]);
    rig.request("a").await;
    let file = rig.context.shared.rules_file();
    std::fs::create_dir(file.parent().expect("in a folder")).expect("mkdir");
    std::fs::write(&file, "{ oops").expect("write");
    rig.answer("a", always("Cancels"));
    rig.stream_ended();
    assert_eq!(rig.deliver().await.results, ["a", "b"]);
    let rule = "Cancels".to_owned();
    assert_eq!(rig.notes(), [AnswerNote::ForSession { rule }]);
    let notices = rig.notices();
    let [notice] = notices.as_slice() else {
        panic!("one notice, not {notices:?}")
    };
    assert!(notice.contains("applies to this session only"), "{notice}");
    assert!(
        notice.contains("settings.local.json`, line 1, column 3"),
        "{notice}"
    );
    assert_eq!(std::fs::read_to_string(file).expect("there"), "{ oops");
}

#[tokio::test]
async fn a_running_command_can_continue_in_the_background_and_others_cannot() {
    let mut rig = Rig::real();
    let go = rig.scratch.path("go");
    let command = format!(
        "echo early; until [ -e '{}' ]; do sleep 0.01; done; echo late",
        go.display()
    );
    rig.call("1", "Bash", json!({ "command": command }));
    rig.request("1").await;
    rig.control(|executor, seen| executor.background("1".into(), seen));
    let notice = "only a running command can be backgrounded";
    assert_eq!(rig.notices(), [notice]);
    rig.answer("1", Answer::Allow);
    rig.until(|observed| matches!(observed, Observed::Progress(..)))
        .await;
    rig.control(|executor, seen| executor.background("1".into(), seen));
    rig.stream_ended();
    let result = rig.deliver().await.results.concat();
    assert!(
        result.contains("running in background with ID: bash_1."),
        "{result}"
    );
    assert!(result.ends_with("Its output so far:\nearly"), "{result}");
    let outcome = rig.seen.0.iter().find_map(|observed| match observed {
        Observed::Completed { outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    assert_eq!(outcome, Some(CallOutcome::Backgrounded));
    std::fs::write(go, "").expect("write");
    let mut printed = Vec::new();
    loop {
        let progress = rig
            .context
            .shared
            .env
            .groups
            .jobs
            .read_new("bash_1")
            .expect("known");
        printed.extend(progress.output);
        if progress.status != Status::Running {
            assert_eq!(progress.status, Status::Ended(Ended::Exited(0)));
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(printed, b"late\n");
}

#[tokio::test]
async fn an_edit_shows_what_it_would_change_before_it_is_allowed() {
    let mut rig = Rig::real();
    rig.scratch.put("a", "one\ntwo\n");
    rig.scratch.read("a").await.expect("read");
    let input = json!({ "file_path": "a", "old_string": "two", "new_string": "2" });
    rig.call("1", "Edit", input);
    let request = rig.request("1").await;
    assert_eq!(request.reason, "", "every edit asks in this mode");
    assert_eq!(
        request.changes,
        [FileDiff {
            path: "a".into(),
            before: Some("one\ntwo\n".into()),
            after: "one\n2\n".into(),
        }]
    );
    assert_eq!(
        request.rule.map(|offer| offer.rule).as_deref(),
        Some("Edit(/a)")
    );
    assert_eq!(rig.scratch.bytes("a"), b"one\ntwo\n");
}

const LEFT_OUT: LeftOut = LeftOut { count: 1, of: 3 };

#[tokio::test]
async fn an_edit_that_asks_for_a_special_reason_says_it() {
    let mut rig = Rig::real();
    let input = json!({ "file_path": "/nowhere/new", "content": "one\n" });
    rig.call("1", "Write", input);
    let reason = rig.request("1").await.reason;
    assert_eq!(reason, "`/nowhere/new` is outside this project");
}

fn part_of(files: &[(&str, &str)]) -> Answer {
    let part = |(path, after): &(&str, &str)| PartOfFile {
        path: (*path).to_owned(),
        after: (*after).to_owned(),
    };
    Answer::AllowPart {
        files: files.iter().map(part).collect(),
        left_out: LEFT_OUT,
    }
}

#[tokio::test]
async fn several_files_are_shown_before_they_change_and_can_be_allowed_in_part() {
    let mut rig = Rig::asking();
    rig.scratch.put("b", "old\n");
    let files = json!({ "files": [["a", "one\ntwo\n"], ["b", "new\n"], ["c", "three\n"]] });
    rig.call("1", "Several", files);
    let changes = rig.request("1").await.changes;
    let shown: Vec<(&str, bool)> = changes
        .iter()
        .map(|change| (change.path.as_str(), change.before.is_none()))
        .collect();
    assert_eq!(shown, [("a", true), ("b", false), ("c", true)]);
    rig.answer("1", part_of(&[("a", "one\n"), ("b", "new\n")]));
    rig.stream_ended();
    let result = rig.deliver().await.results.concat();
    assert_eq!(
        result,
        "a without:\n@@ -1 +1,2 @@\n one\n+two\n\nb\nc not at all"
    );
    assert_eq!(rig.scratch.bytes("a"), b"one\n");
    assert_eq!(rig.scratch.bytes("b"), b"new\n");
    assert!(!rig.scratch.path("c").exists());
    let shown = rig.seen.0.iter().find_map(|observed| match observed {
        Observed::Completed { shown, .. } => Some(shown.changes().len()),
        _ => None,
    });
    assert_eq!(shown, Some(2));
}

#[tokio::test]
async fn path_rules_apply_to_every_tool_that_reports_paths() {
    let mut rules = Rules::default();
    for (list, rule) in [(RuleList::Deny, "Edit(/b)"), (RuleList::Allow, "Edit(/**)")] {
        rules.add(list, rule, &Source::Session).expect("a rule");
    }
    let setting = Setting {
        mode: Mode::Default,
        ..Setting::default()
    };
    let mut rig = Rig::ruled(setting, rules);
    rig.call("1", "Several", json!({ "files": [["a", "x"], ["b", "y"]] }));
    rig.call("2", "Several", json!({ "files": [["a", "x"], ["c", "y"]] }));
    rig.stream_ended();
    let results = rig.deliver().await.results;
    assert!(results[0].contains("`Edit(/b)`"), "{}", results[0]);
    assert_eq!(results[1], "a\nc");
    assert_eq!(rig.scratch.names(), ["a", "c", "sub"]);
}

#[tokio::test]
async fn an_answer_about_several_files_is_invalid_for_a_call_that_changes_one() {
    let mut rig = Rig::real();
    let input = json!({ "file_path": "new", "content": "one\n" });
    rig.call("1", "Write", input);
    rig.request("1").await;
    rig.answer("1", part_of(&[("new", "one\n"), ("other", "two\n")]));
    rig.stream_ended();
    let result = rig.deliver().await.results.concat();
    assert!(result.contains("nothing was done"), "{result}");
    assert_eq!(rig.scratch.names(), ["sub"]);
}

#[tokio::test]
async fn a_partly_allowed_change_is_made_in_part_and_the_model_is_told() {
    let mut rig = Rig::real();
    let input = json!({ "file_path": "new", "content": "one\ntwo\n" });
    rig.call("1", "Write", input);
    let changes = rig.request("1").await.changes;
    let before: Vec<_> = changes.into_iter().map(|change| change.before).collect();
    assert_eq!(before, [None]);
    rig.answer("1", part_of(&[("new", "one\n")]));
    rig.stream_ended();
    let result = rig.deliver().await.results.concat();
    assert!(
        result.starts_with("The user allowed only a part of this change."),
        "{result}"
    );
    assert!(result.ends_with("@@ -1 +1,2 @@\n one\n+two\n"), "{result}");
    assert_eq!(rig.scratch.bytes("new"), b"one\n");
    assert_eq!(
        rig.decided("1"),
        [
            "asked, because edits need approval in this mode",
            "allowed in part by you"
        ]
    );
    assert_eq!(rig.notes(), [AnswerNote::LeftOut(LEFT_OUT)]);
}
