use serde_json::json;

use super::slash::{flash, last_notice, page, run};
use crate::app::Effect;
use crate::app::dialogs::Dialog;
use crate::app::rig::App;
use crate::protocol::{
    AgentEvent, CallEvent, Command, KnownRule, RuleList, RulesCommand, SessionCommand,
    SessionEvent, Source,
};

#[test]
fn why_shows_what_decided_the_last_call() {
    let mut app = App::working();
    assert_eq!(run(&mut app, "/why"), []);
    assert_eq!(flash(&app), Some("no calls in this session yet"));

    app.tool("a", "Bash").running();
    app.decided("a", "read-only command", true);
    app.tool("b", "Edit").queued(json!({"file_path": "a.rs"}));
    app.decided("b", "asked, because edits need approval", false);
    app.decided("b", "allowed once by you", true);
    run(&mut app, "/why");
    let text = "Edit\n  a.rs\n\n? asked, because edits need approval\n\n✓ allowed once by you";
    assert_eq!(page(&app), text);
}

#[test]
fn why_finds_a_call_by_its_tool_or_what_it_is_about() {
    let mut app = App::working();
    app.tool("a", "Bash").running();
    app.decided("a", "read-only command", true);
    app.tool("b", "Edit").running();
    app.decided("b", "allowed once by you", true);
    run(&mut app, "/why bash");
    let text = last_notice(&app).expect("told");
    assert!(text.ends_with("\nread-only command"), "{text}");
    run(&mut app, "/why nonsense");
    assert_eq!(flash(&app), Some("no decided call matches \"nonsense\""));
}

#[test]
fn a_call_with_an_open_question_keeps_waiting() {
    let mut app = App::asked("Bash");
    app.decided("call", "asked, because no rule covers it", false);
    assert_eq!(app.state.dialogs.len(), 1);
    app.decided("call", "allowed by mode bypassPermissions", true);
    assert!(app.state.dialogs.is_empty());
}

fn rules(command: RulesCommand) -> Vec<Effect> {
    vec![Effect::Send(Command::Session(SessionCommand::Rules(
        command,
    )))]
}

fn known() -> KnownRule {
    KnownRule {
        list: RuleList::Deny,
        rule: "Read(.env)".to_owned(),
        from: Source::file("/w/.agent-tui/settings.json", ".agent-tui/settings.json"),
    }
}

#[test]
fn a_rule_is_selected_in_the_list_and_removed_only_after_confirmation() {
    let mut app = App::new();
    assert_eq!(run(&mut app, "/permissions"), rules(RulesCommand::List));
    app.receive(AgentEvent::Session(SessionEvent::Rules(vec![known()])));
    assert_eq!(app.press("down down enter"), []);
    assert_eq!(app.press("up down enter"), [], "it is asked again");
    assert_eq!(app.press("ctrl+d"), rules(RulesCommand::Remove(known())));
    let Some(Dialog::Picker(picker)) = app.state.dialogs.last() else {
        panic!("the list stays open");
    };
    assert_eq!(picker.len(), 2, "the rule is gone from it");
}

#[test]
fn the_list_begins_a_command_but_never_over_a_draft() {
    let mut app = App::new();
    app.receive(AgentEvent::Session(SessionEvent::Rules(Vec::new())));
    app.press("enter");
    assert_eq!(app.state.composer.text(), "/permissions add ");

    let mut app = App::typed("my draft");
    app.receive(AgentEvent::Session(SessionEvent::Rules(Vec::new())));
    app.press("enter");
    assert_eq!(app.state.composer.text(), "my draft");
}

#[test]
fn a_rule_is_added_to_a_list() {
    let mut app = App::new();
    let add = RulesCommand::Add {
        list: RuleList::Ask,
        rule: "Bash(git push:*)".to_owned(),
    };
    let typed = "/permissions add ask Bash(git push:*)";
    assert_eq!(run(&mut app, typed), rules(add));
    for wrong in ["add", "add perhaps Bash(x)", "add allow"] {
        assert_eq!(run(&mut app, &format!("/permissions {wrong}")), []);
        let notice = flash(&app).unwrap_or_default();
        assert!(
            notice.starts_with("/permissions add allow|ask|deny"),
            "{notice}"
        );
    }
    assert_eq!(run(&mut app, "/permissions remove deny Bash(x)"), []);
    let notice = flash(&app).unwrap_or_default();
    assert!(
        notice.starts_with("/permissions shows the rules and removes them"),
        "{notice}"
    );
}

#[test]
fn a_call_is_tested_by_its_subject_or_as_json() {
    let mut app = App::new();
    let test = |tool: &str, input| {
        rules(RulesCommand::Test {
            tool: tool.to_owned(),
            input,
        })
    };
    let mut tested = |what: &str| run(&mut app, &format!("/permissions test {what}"));
    let bash = json!({ "command": "git push --force" });
    assert_eq!(tested("Bash git push --force"), test("Bash", bash));
    let read = json!({ "file_path": ".env" });
    assert_eq!(tested("Read .env"), test("Read", read));
    let more = json!({ "command": "x", "run_in_background": true });
    let typed = format!("Bash {more}");
    assert_eq!(tested(&typed), test("Bash", more));
    assert_eq!(tested("Bash {nonsense"), []);
    let notice = flash(&app).unwrap_or_default();
    assert!(notice.starts_with("not valid JSON: "), "{notice}");
}

#[test]
fn a_call_that_a_hook_rewrites_is_shown_as_it_runs() {
    let mut app = App::working();
    app.tool("a", "Bash")
        .queued(json!({"command": "mkdir one"}));
    let (input, by) = (json!({"command": "mkdir two"}), "guard.sh".to_owned());
    app.call_event(
        "a",
        CallEvent::Rewritten {
            input: input.into(),
            by,
        },
    );
    app.decided("a", "allowed once by you", true);
    run(&mut app, "/why");
    assert_eq!(
        page(&app),
        "Bash\n  mkdir two\n\n· changed by the hook guard.sh\n\n✓ allowed once by you"
    );
}
