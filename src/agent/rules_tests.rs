use serde_json::json;

use super::rig::Rig;
use crate::permissions::{Decision, Source};
use crate::protocol::{
    AgentEvent, Command, KnownRule, RuleList, RulesCommand, SessionCommand, SessionEvent,
};

const FILE: &str = ".agent-tui/settings.local.json";

fn rule(list: RuleList, rule: &str, from: Source) -> KnownRule {
    KnownRule {
        list,
        rule: rule.to_owned(),
        from,
    }
}

/// The file of the person's rules.
fn kept_in(rig: &Rig) -> Source {
    Source::file(rig.scratch.root.join(FILE), FILE)
}

/// The answer to a command about the rules.
async fn answer(rig: &mut Rig, command: RulesCommand) -> String {
    rig.send(Command::Session(SessionCommand::Rules(command)));
    let reply = |event| match event {
        AgentEvent::Session(SessionEvent::Reply(text) | SessionEvent::Notice(text)) => Some(text),
        _ => None,
    };
    rig.wait_for(reply).await
}

async fn listed(rig: &mut Rig) -> Vec<KnownRule> {
    rig.send(Command::Session(SessionCommand::Rules(RulesCommand::List)));
    let rules = |event| match event {
        AgentEvent::Session(SessionEvent::Rules(rules)) => Some(rules),
        _ => None,
    };
    rig.wait_for(rules).await
}

fn add(list: RuleList, rule: &str) -> RulesCommand {
    let rule = rule.to_owned();
    RulesCommand::Add { list, rule }
}

async fn decision(rig: &Rig, command: &str) -> Decision {
    let input = json!({ "command": command });
    rig.context
        .judge("Bash", &input)
        .await
        .expect("Bash is there")
        .decision()
}

#[tokio::test]
async fn an_added_rule_applies_at_once_and_is_saved() {
    let mut rig = Rig::new([]);
    assert_eq!(decision(&rig, "touch x").await, Decision::Ask);
    let reply = answer(&mut rig, add(RuleList::Allow, "Bash(touch:*)")).await;
    assert_eq!(reply, format!("allow Bash(touch:*): saved in {FILE}"));
    assert_eq!(decision(&rig, "touch x").await, Decision::Allow);
    answer(&mut rig, add(RuleList::Deny, "Bash(touch y)")).await;
    assert_eq!(decision(&rig, "touch y").await, Decision::Deny);
    let kept = std::fs::read_to_string(rig.scratch.root.join(FILE)).expect("written");
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("JSON");
    let lists = json!({ "allow": ["Bash(touch:*)"], "deny": ["Bash(touch y)"] });
    assert_eq!(kept["permissions"], lists);
    let rules = [
        rule(RuleList::Deny, "Bash(touch y)", kept_in(&rig)),
        rule(RuleList::Allow, "Bash(touch:*)", kept_in(&rig)),
    ];
    assert_eq!(listed(&mut rig).await, rules);
}

#[tokio::test]
async fn a_removed_rule_no_longer_applies_and_is_deleted_from_its_file() {
    let mut rig = Rig::new([]);
    answer(&mut rig, add(RuleList::Deny, "Bash(touch y)")).await;
    let gone = rule(RuleList::Deny, "Bash(touch y)", kept_in(&rig));
    let reply = answer(&mut rig, RulesCommand::Remove(gone.clone())).await;
    assert_eq!(reply, format!("deny Bash(touch y): removed from {FILE}"));
    assert_eq!(decision(&rig, "touch y").await, Decision::Ask);
    assert_eq!(listed(&mut rig).await, []);
    let kept = std::fs::read_to_string(rig.scratch.root.join(FILE)).expect("written");
    assert!(!kept.contains("touch"), "{kept}");
    let reply = answer(&mut rig, RulesCommand::Remove(gone)).await;
    assert_eq!(reply, "that rule no longer exists: Bash(touch y)");
}

#[tokio::test]
async fn a_rule_from_a_flag_is_removed_for_this_run() {
    let mut rig = Rig::new([]);
    let flag = Source::Flag(RuleList::Allow);
    let added = rig
        .context
        .shared
        .add_rule(RuleList::Allow, "Bash(touch:*)", &flag);
    assert_eq!(added, Ok(None));
    let gone = rule(RuleList::Allow, "Bash(touch:*)", flag);
    let reply = answer(&mut rig, RulesCommand::Remove(gone)).await;
    assert_eq!(
        reply,
        "allow Bash(touch:*): removed from --allow (until you quit)"
    );
    assert_eq!(decision(&rig, "touch x").await, Decision::Ask);
}

#[tokio::test]
async fn removing_a_rule_from_a_flag_does_not_touch_a_file_of_that_name() {
    let mut rig = Rig::new([]);
    let file = rig.scratch.root.join("--allow");
    let text = r#"{"permissions": {"allow": ["Bash(touch:*)"]}}"#;
    std::fs::write(&file, text).expect("written");
    let flag = Source::Flag(RuleList::Allow);
    let added = rig
        .context
        .shared
        .add_rule(RuleList::Allow, "Bash(touch:*)", &flag);
    assert_eq!(added, Ok(None));
    let gone = rule(RuleList::Allow, "Bash(touch:*)", flag);
    let reply = answer(&mut rig, RulesCommand::Remove(gone)).await;
    assert!(reply.ends_with("(until you quit)"), "{reply}");
    assert_eq!(std::fs::read_to_string(file).expect("there"), text);
}

#[tokio::test]
async fn an_invalid_rule_is_not_added() {
    let mut rig = Rig::new([]);
    let reply = answer(&mut rig, add(RuleList::Deny, "Bash(touch")).await;
    assert_eq!(
        reply,
        "the rule `Bash(touch` has a `(` without a `)` at its end"
    );
    assert_eq!(listed(&mut rig).await, []);
    assert!(!rig.scratch.root.join(FILE).exists());
}

#[tokio::test]
async fn a_rule_with_a_mistyped_tool_is_not_added() {
    let mut rig = Rig::new([]);
    let reply = answer(&mut rig, add(RuleList::Deny, "Bahs(rm:*)")).await;
    assert_eq!(
        reply,
        "not saved: the rule `Bahs(rm:*)` names no tool: `Bahs`; did you mean `Bash`?"
    );
    assert_eq!(listed(&mut rig).await, []);
    let custom = answer(&mut rig, add(RuleList::Allow, "CountWords")).await;
    assert_eq!(custom, format!("allow CountWords: saved in {FILE}"));
}

#[tokio::test]
async fn a_call_is_tested_without_being_made() {
    let mut rig = Rig::new([]);
    let test = |tool: &str, input| RulesCommand::Test {
        tool: tool.to_owned(),
        input,
    };
    let reply = answer(&mut rig, test("Bash", json!({ "command": "touch x" }))).await;
    assert!(reply.starts_with("Bash: asked, because "), "{reply}");
    let reply = answer(&mut rig, test("Bash", json!({ "command": "ls" }))).await;
    assert_eq!(reply, "Bash: read-only command");
    let reply = answer(&mut rig, test("Nonsense", json!({}))).await;
    assert_eq!(reply, "no tool named Nonsense; see /tools");
    assert!(!rig.scratch.root.join("x").exists());
}
