use std::sync::Arc;

use super::{Changes, NewNames, Offered, Tools};
use crate::permissions::{RuleList, Rules, Source};
#[cfg(feature = "web")]
use crate::protocol::WebSearch;
use crate::protocol::{Deferral, Mode, SentTools, ToolDefinition, ToolState};
use crate::tools::DescribeCx;
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
            rules: Arc::new(rules),
            ..Offer::default()
        },
    )
}

#[test]
fn a_deny_rule_that_is_added_later_removes_its_tool_from_the_next_request() {
    let tools = two("Nothing");
    let mut changes = tools.watch();
    assert_eq!(names(&tools.snapshot()), ["Play", "Sing"]);
    let mut rules = Rules::default();
    let deny = rules.add(RuleList::Deny, "Play", &Source::Session);
    deny.expect("a rule");
    tools.follow(&Arc::new(rules), Mode::Default);
    assert_eq!(next_change(&mut changes), Some(vec!["Sing".to_owned()]));
    let infos = tools.snapshot().infos();
    let play = infos.iter().find(|info| &*info.name == "Play");
    assert_eq!(play.map(|info| info.state), Some(ToolState::Denied));
    tools.follow(&Arc::default(), Mode::Default);
    assert_eq!(names(&tools.snapshot()), ["Play", "Sing"], "removed again");
}

#[cfg(feature = "web")]
#[test]
fn a_search_by_the_provider_needs_a_rule_where_nothing_may_ask() {
    let offer = Offer {
        about: DescribeCx {
            search: Some(WebSearch::Provider),
            ..DescribeCx::default()
        },
        ..Offer::default()
    };
    let tools = Tools::new(Registry::built_in(), offer);
    let searches = || tools.snapshot().find("WebSearch").is_some();
    assert!(searches());
    tools.follow(&Arc::default(), Mode::DontAsk);
    assert!(!searches());
    let mut rules = Rules::default();
    let allow = rules.add(RuleList::Allow, "WebSearch", &Source::Session);
    allow.expect("a rule");
    tools.follow(&Arc::new(rules), Mode::DontAsk);
    assert!(searches());
}

fn next_change(changes: &mut Changes) -> Option<Vec<String>> {
    changes.unreported().map(|offered| names(&offered))
}

#[test]
fn built_in_tools_come_first_and_both_kinds_are_sorted_by_name() {
    let tools = two("Dance");
    tools.add(named("Zoo"), guest("a")).expect("free");
    tools.add(named("Arch"), guest("b")).expect("free");
    assert_eq!(names(&tools.snapshot()), ["Play", "Sing", "Arch", "Zoo"]);
    assert!(tools.remove("Zoo"));
    assert!(!tools.remove("Zoo"));
    tools.add(named("Yak"), guest("a")).expect("free");
    assert_eq!(names(&tools.snapshot()), ["Play", "Sing", "Arch", "Yak"]);
    tools.change(|all| all.remove_all_of(&guest("a")));
    assert_eq!(names(&tools.snapshot()), ["Play", "Sing", "Arch"]);
}

#[test]
fn what_was_sent_keeps_its_place_and_what_comes_is_appended() {
    let tools = two("Dance");
    tools.add(named("Yak"), guest("a")).expect("free");
    let (_, new_names) = tools.send();
    assert_eq!(new_names.offered, ["Play", "Sing", "Yak"]);
    assert_eq!(tools.send().1, NewNames::default());
    tools.add(named("Zoo"), guest("a")).expect("free");
    tools.add(named("Arch"), guest("a")).expect("free");
    let (offered, new_names) = tools.send();
    assert_eq!(new_names.offered, ["Arch", "Zoo"]);
    let all = ["Play", "Sing", "Yak", "Arch", "Zoo"];
    assert_eq!((names(&offered), offered.lasting()), (strings(&all), 3));
    // A server that comes back gets back its places.
    tools.remove("Yak");
    assert_eq!(tools.snapshot().lasting(), 2);
    tools.add(named("Yak"), guest("a")).expect("free");
    assert_eq!(names(&tools.send().0), all);
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The tools of the program and these of guests, in a session whose requests have said this.
fn with_guests(guests: &[&'static str], change: impl FnOnce(&mut Offer), sent: SentTools) -> Tools {
    let mut all = Registry::built_in();
    for name in guests {
        all.insert(named(name), guest("a server")).expect("free");
    }
    let mut offer = Offer::default();
    change(&mut offer);
    Tools::resumed(all, offer, sent)
}

fn states(offered: &Offered, state: ToolState) -> Vec<String> {
    let infos = offered.infos().into_iter();
    let of_state = infos.filter(|tool| tool.state == state);
    of_state.map(|tool| tool.name.to_string()).collect()
}

const RARE: [&str; 3] = ["FileSearch", "LS", "MultiEdit"];

fn many() -> Vec<&'static str> {
    let name = |number: usize| -> &'static str { format!("guest_{number:02}").leak() };
    (0..30).map(name).collect()
}

#[test]
fn with_few_tools_nothing_is_deferred_and_with_more_than_40_guests_and_rare_ones_are() {
    let tools = with_guests(&["guest"], |_| (), SentTools::default());
    assert_eq!(
        states(&tools.snapshot(), ToolState::Deferred),
        [] as [&str; 0]
    );
    assert_eq!(tools.snapshot().announcement(), None);
    let tools = with_guests(&many(), |_| (), SentTools::default());
    let (offered, new_names) = tools.send();
    let deferred = states(&offered, ToolState::Deferred);
    for name in many().iter().chain(&RARE) {
        assert!(deferred.contains(&(*name).to_owned()), "{name}");
        assert!(offered.find(name).is_none(), "{name}");
        assert!(offered.find_or_deferred(name).is_some(), "{name}");
    }
    for name in ["Bash", "Edit", "Read", "ToolSearch"] {
        assert!(offered.find(name).is_some(), "{name}");
    }
    assert_eq!(new_names.announced.len(), deferred.len());
    let announcement = offered.announcement().expect("some are deferred");
    assert!(
        announcement.contains("guest_00, guest_01"),
        "{announcement}"
    );
    let sent = offered.how_to_load("guest_07").expect("deferred");
    assert!(sent.contains(r#"{"query": "select:guest_07"}"#), "{sent}");
    assert_eq!(offered.how_to_load("Bash"), None);
}

#[test]
fn schemas_that_take_more_than_a_tenth_of_the_window_are_deferred() {
    let deferred = |window: u64| {
        let tools = with_guests(
            &["guest"],
            |it| it.window = Some(window),
            SentTools::default(),
        );
        states(&tools.snapshot(), ToolState::Deferred).contains(&"guest".to_owned())
    };
    let tokens: usize = {
        let tools = with_guests(&["guest"], |_| (), SentTools::default());
        tools
            .snapshot()
            .definitions()
            .iter()
            .map(ToolDefinition::tokens)
            .sum()
    };
    let tokens = tokens as u64;
    assert!(!deferred(tokens * 10));
    assert!(deferred(tokens * 10 - 10));
}

#[test]
fn the_setting_defers_always_or_never() {
    let always = with_guests(
        &["guest"],
        |it| it.about.deferral = Deferral::Always,
        SentTools::default(),
    );
    let deferred = states(&always.snapshot(), ToolState::Deferred);
    assert!(deferred.contains(&"guest".to_owned()), "{deferred:?}");
    let never = with_guests(
        &many(),
        |it| it.about.deferral = Deferral::Never,
        SentTools::default(),
    );
    let offered = never.snapshot();
    assert_eq!(states(&offered, ToolState::Deferred), [] as [&str; 0]);
    let off = states(&offered, ToolState::Off);
    assert!(off.contains(&"ToolSearch".to_owned()), "{off:?}");
}

#[test]
fn where_tools_cannot_be_loaded_none_is_deferred() {
    let all = with_guests(&many(), |_| (), SentTools::default());
    let some = all.only(|name| name != "ToolSearch");
    assert_eq!(
        states(&some.snapshot(), ToolState::Deferred),
        [] as [&str; 0]
    );
}

#[test]
fn an_activated_tool_is_appended_and_stays_announced_also_in_a_session_that_is_resumed() {
    let tools = with_guests(&many(), |_| (), SentTools::default());
    let mut sent = SentTools::default();
    let (before, new_names) = tools.send();
    sent.record(&new_names.offered, &new_names.announced);
    let mut changes = tools.watch();
    let activated = strings(&["guest_20", "guest_03"]);
    tools.activate(&activated);
    sent.activate(&activated);
    assert!(changes.unreported().is_some(), "the screen is told");
    let (after, new_names) = tools.send();
    assert_eq!(new_names.offered, ["guest_03", "guest_20"]);
    assert_eq!(new_names.announced, [] as [&str; 0]);
    sent.record(&new_names.offered, &new_names.announced);
    let count = before.definitions().len();
    assert_eq!(after.definitions()[..count], before.definitions()[..]);
    assert_eq!(names(&after)[count..], ["guest_03", "guest_20"]);
    assert_eq!(after.announcement(), before.announcement());
    assert_eq!(after.lasting(), count);

    let resumed = with_guests(&many(), |_| (), sent);
    let (resumed, new_names) = resumed.send();
    assert_eq!(new_names, NewNames::default());
    assert_eq!(resumed.definitions(), after.definitions());
    assert_eq!(resumed.announcement(), after.announcement());
    assert_eq!(resumed.lasting(), after.lasting());
}

#[test]
fn what_was_offered_before_there_were_many_tools_is_not_deferred_later() {
    let tools = with_guests(&["first"], |_| (), SentTools::default());
    let (before, _) = tools.send();
    tools.change(|all| {
        for name in many() {
            all.insert(named(name), guest("late")).expect("free");
        }
    });
    let (after, new_names) = tools.send();
    assert_eq!(after.definitions(), before.definitions());
    assert_eq!(new_names.offered, [] as [&str; 0]);
    assert_eq!(new_names.announced.len(), 30);
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
    assert_eq!(next_change(&mut changes), None);
    tools.change(|all| {
        all.insert(named("Arch"), guest("a")).expect("free");
        all.insert(named("Dance"), guest("a")).expect("free");
    });
    let offered = ["Play", "Sing", "Arch"].map(str::to_owned).to_vec();
    assert_eq!(next_change(&mut changes), Some(offered));
    assert_eq!(next_change(&mut changes), None);
    tools.remove("Dance");
    assert_eq!(next_change(&mut changes), None);
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
    assert_eq!(next_change(&mut changes), Some(vec!["Play".to_owned()]));
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
        rules: Arc::new(rules),
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
    for tool in all.infos(&DescribeCx::default()) {
        let found = all.find(&tool.name).expect("it is listed");
        // A sample matches the schema, and has a subject.
        let sample = found.sample();
        if sample.as_object().is_some_and(|fields| !fields.is_empty()) {
            assert_eq!(found.violations(&sample), Vec::<String>::new(), "{tool:?}");
            assert!(tool.subject.of(&sample).is_some(), "{tool:?}");
        }
    }
}
