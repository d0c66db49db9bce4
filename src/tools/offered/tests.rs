use super::{Changes, Offered, Tools};
use crate::permissions::{RuleList, Rules, Source};
use crate::tools::named::named;
use crate::tools::registry::{NameTaken, Offer, Origin, Registry};

fn guest(name: &str) -> Origin {
    Origin::Guest(name.into())
}

fn names(offered: &Offered) -> Vec<String> {
    let definitions = offered.definitions().iter();
    definitions.map(|tool| tool.name.clone()).collect()
}

/// Two built-in tools, in a session that denies this.
fn two(denied: &str) -> Tools {
    let mut all = Registry::default();
    for name in ["Sing", "Play"] {
        all.insert(named(name), Origin::BuiltIn).expect("free");
    }
    let mut rules = Rules::default();
    let source = Source::Session;
    rules.add(RuleList::Deny, denied, &source).expect("a rule");
    Tools::new(
        all,
        Offer {
            rules,
            ..Offer::default()
        },
    )
}

fn told(changes: &mut Changes) -> Option<Vec<String>> {
    changes.news().map(|offered| names(&offered))
}

#[test]
fn built_in_tools_come_first_and_guests_in_the_order_of_arrival() {
    let tools = two("Dance");
    tools.add(named("Zoo"), guest("a")).expect("free");
    tools.add(named("Arch"), guest("b")).expect("free");
    assert_eq!(names(&tools.snapshot()), ["Play", "Sing", "Zoo", "Arch"]);
    assert!(tools.remove("Zoo"));
    assert!(!tools.remove("Zoo"));
    tools.add(named("Yak"), guest("a")).expect("free");
    tools.add(named("Zoo"), guest("a")).expect("free");
    let all = ["Play", "Sing", "Arch", "Yak", "Zoo"];
    assert_eq!(names(&tools.snapshot()), all);
    tools.change(|all| all.remove_all_of(&guest("a")));
    assert_eq!(names(&tools.snapshot()), ["Play", "Sing", "Arch"]);
}

#[test]
fn a_name_conflict_names_both_origins() {
    let tools = two("Dance");
    tools
        .add(named("Arch"), guest("the server `b`"))
        .expect("free");
    let twice = tools.add(named("Arch"), guest("the server `c`"));
    let taken = NameTaken {
        name: "Arch".into(),
        holder: guest("the server `b`"),
        newcomer: guest("the server `c`"),
    };
    assert_eq!(
        taken.to_string(),
        "the tool name `Arch` is taken: both the server `b` and the server `c` have a tool with this name"
    );
    assert_eq!(twice, Err(taken));
    let own = tools.add(named("Sing"), guest("the server `c`"));
    let problem = own.expect_err("taken").to_string();
    assert!(problem.contains("both agent-tui and"), "{problem}");
}

#[test]
fn a_snapshot_stays_as_it_is() {
    let tools = two("Dance");
    let before = tools.snapshot();
    tools.add(named("Arch"), guest("a")).expect("free");
    tools.remove("Sing");
    assert_eq!(names(&before), ["Play", "Sing"]);
    assert!(before.find("Sing").is_some() && before.find("Arch").is_none());
    let now = tools.snapshot();
    assert!(now.find("Sing").is_none() && now.find("Arch").is_some());
    assert_eq!(now.nearest("arc"), Some("Arch"));
}

#[test]
fn changes_are_reported_once_and_denied_tools_are_not_offered() {
    let tools = two("Dance");
    let mut changes = tools.watch();
    assert_eq!(told(&mut changes), None);
    tools.change(|all| {
        all.insert(named("Arch"), guest("a")).expect("free");
        all.insert(named("Dance"), guest("a")).expect("free");
    });
    let offered = ["Play", "Sing", "Arch"].map(str::to_owned).to_vec();
    assert_eq!(told(&mut changes), Some(offered));
    assert_eq!(told(&mut changes), None);
    tools.remove("Dance");
    assert_eq!(told(&mut changes), None);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_change_does_not_consume_it() {
    let tools = two("Dance");
    let mut changes = tools.watch();
    let other = tools.clone();
    let coming = tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        other.remove("Sing")
    });
    changes.wait().await;
    // The change is still new until it is taken.
    changes.wait().await;
    assert_eq!(told(&mut changes), Some(vec!["Play".to_owned()]));
    assert!(coming.await.expect("no panic"));
}

#[test]
fn simple_offers_essential_tools_and_no_tool_without_the_one_it_needs() {
    let all = Registry::built_in();
    let offered = |offer: &Offer| -> Vec<String> {
        let offered = all.offered(offer);
        offered.names().map(str::to_owned).collect()
    };
    let simple = Offer {
        simple: true,
        ..Offer::default()
    };
    assert_eq!(offered(&simple), ["Bash", "Edit", "Read"]);
    let mut rules = Rules::default();
    let source = Source::Session;
    rules.add(RuleList::Deny, "Bash", &source).expect("a rule");
    let without = Offer {
        rules,
        ..Offer::default()
    };
    let without = offered(&without);
    let is_offered = |name: &str| without.iter().any(|it| it == name);
    for name in ["Bash", "BashOutput", "KillShell"] {
        assert!(!is_offered(name), "{name} is useless without commands");
    }
    assert!(is_offered("Edit") && is_offered("Write"));
}

#[test]
fn built_in_tools_describe_themselves() {
    let all = Registry::built_in();
    let (shell, field) = all.shell().expect("a tool that runs commands");
    assert_eq!((&*shell.name, field), ("Bash", "command"));
    for tool in all.infos() {
        let found = all.find(&tool.name).expect("it is listed");
        // A sample matches the schema, and has a subject.
        let sample = found.sample();
        if sample.as_object().is_some_and(|fields| !fields.is_empty()) {
            assert_eq!(found.violations(&sample), Vec::<String>::new(), "{tool:?}");
            assert!(tool.subject.of(&sample).is_some(), "{tool:?}");
        }
    }
}
