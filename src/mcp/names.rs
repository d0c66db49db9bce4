//! The names of servers and tools as models and rules know them: `mcp__server__tool`.
//!
//! Every wire accepts `^[a-zA-Z0-9_-]{1,64}$`, but servers may use other characters and longer names. A server's part
//! has no `__` and neither begins nor ends with `_`, and a tool's part does not begin with `_`. So the first `__`
//! after the prefix separates the two, and a rule for one server can't match a tool of another.

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

/// The longest name that every wire accepts.
const LONGEST: usize = 64;
/// The longest part for a server. It leaves at least 27 characters for the tool.
const LONGEST_SERVER: usize = 30;
const PREFIX: &str = "mcp__";
const SEPARATOR: &str = "__";
/// How many digits of a hash tell names apart.
const DIGITS: usize = 8;

/// A legal name for each server, by its name in the configuration. It depends only on the set of names, so that rules
/// and prompt caches stay valid.
pub fn servers<'n>(names: impl IntoIterator<Item = &'n str>) -> BTreeMap<String, String> {
    let names: BTreeSet<&str> = names.into_iter().collect();
    legal(&names, &BTreeMap::new(), server_part, LONGEST_SERVER)
}

/// The wire names of a server's tools, by the server's own names for them. A tool that had a name before keeps it.
pub fn tools<'n>(
    server: &str,
    tools: impl IntoIterator<Item = &'n str>,
    before: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let prefix = format!("{PREFIX}{server}{SEPARATOR}");
    let room = LONGEST.saturating_sub(prefix.len()).max(1);
    let kept = |(tool, name): (&String, &String)| {
        let part = name.strip_prefix(&prefix)?;
        Some((tool.clone(), part.to_owned()))
    };
    let before: BTreeMap<String, String> = before.iter().filter_map(kept).collect();
    let tools: BTreeSet<&str> = tools.into_iter().collect();
    let parts = legal(&tools, &before, tool_part, room).into_iter();
    parts
        .map(|(tool, part)| (tool, format!("{prefix}{part}")))
        .collect()
}

/// Whether a tool belongs to a server, going by its name.
pub fn is_of_server(tool: &str) -> bool {
    tool.starts_with(PREFIX)
}

/// The wire name of a prompt, without the slash that people type before it.
pub fn prompt(server: &str, prompt: &str) -> String {
    format!("{PREFIX}{server}{SEPARATOR}{}", tool_part(prompt))
}

fn legal(
    names: &BTreeSet<&str>,
    before: &BTreeMap<String, String>,
    part: fn(&str) -> String,
    room: usize,
) -> BTreeMap<String, String> {
    let mut given = BTreeMap::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    for name in names {
        if let Some(known) = before.get(*name) {
            taken.insert(known.clone());
            given.insert((*name).to_owned(), known.clone());
        }
    }
    let mut claims: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        *claims.entry(part(name)).or_default() += 1;
    }
    // A name that is legal already has precedence over names that were changed to it.
    let is_legal = |name: &&&str| part(name) == ***name && name.len() <= room;
    let (first, later): (Vec<&&str>, Vec<&&str>) = names
        .iter()
        .filter(|name| !before.contains_key(**name))
        .partition(is_legal);
    let legal = first.into_iter().map(|name| (name, true));
    for (name, is_legal) in legal.chain(later.into_iter().map(|name| (name, false))) {
        let wished = part(name);
        let is_alone = claims.get(&wished) == Some(&1);
        let plain = (is_legal || is_alone) && wished.len() <= room && !taken.contains(&wished);
        let chosen = if plain {
            wished
        } else {
            distinct(name, &wished, room, &taken)
        };
        taken.insert(chosen.clone());
        given.insert((*name).to_owned(), chosen);
    }
    given
}

/// The name with a hash of the original at its end.
fn distinct(name: &str, wished: &str, room: usize, taken: &BTreeSet<String>) -> String {
    let attempt = |number: u32| {
        let hash = Sha256::digest(format!("{number}{name}").as_bytes());
        let hash: Vec<String> = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let hash = hash.concat();
        let kept = room.saturating_sub(DIGITS + 1).min(wished.len());
        let kept = wished[..kept].trim_end_matches(['_', '-']);
        format!("{kept}-{}", &hash[..DIGITS])
    };
    let mut attempts = (0..).map(attempt);
    attempts
        .find(|name| !taken.contains(name))
        .expect("there are more numbers than names")
}

fn server_part(name: &str) -> String {
    let mut part = String::new();
    for letter in letters(name) {
        if letter != '_' || !part.ends_with('_') {
            part.push(letter);
        }
    }
    let part = part.trim_matches('_');
    if part.is_empty() { "server" } else { part }.to_owned()
}

fn tool_part(name: &str) -> String {
    let part: String = letters(name).collect();
    let part = part.trim_start_matches('_');
    if part.is_empty() { "tool" } else { part }.to_owned()
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().map(|letter| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::permissions::{RuleList, Rules, Source};

    fn named(server: &str, names: &[&str]) -> BTreeMap<String, String> {
        tools(server, names.iter().copied(), &BTreeMap::new())
    }

    fn is_legal(name: &str) -> bool {
        let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        (1..=LONGEST).contains(&name.len()) && name.chars().all(fits)
    }

    /// Rules with one for all tools of a server.
    fn about(server: &str) -> Rules {
        let mut rules = Rules::default();
        let rule = format!("mcp__{server}");
        rules
            .add(RuleList::Deny, &rule, &Source::Session)
            .expect("a rule");
        rules
    }

    #[test]
    fn ordinary_names_stay_as_they_are() {
        let names = named("github", &["create_issue", "list-files"]);
        assert_eq!(names["create_issue"], "mcp__github__create_issue");
        assert_eq!(names["list-files"], "mcp__github__list-files");
        assert_eq!(
            named("github", &["files.read"])["files.read"],
            "mcp__github__files_read"
        );
    }

    #[test]
    fn a_legal_name_wins_over_names_that_were_changed_to_it() {
        let names = named("s", &["a b", "a_b", "a.b"]);
        assert_eq!(names["a_b"], "mcp__s__a_b");
        assert_ne!(names["a b"], names["a.b"]);
        assert!(names["a b"].starts_with("mcp__s__a_b-"), "{names:?}");
    }

    #[test]
    fn a_tool_keeps_its_name_when_another_one_collides_later() {
        let before = named("s", &["a b"]);
        assert_eq!(before["a b"], "mcp__s__a_b");
        let now = tools("s", ["a b", "a.b", "a_b"], &before);
        assert_eq!(now["a b"], "mcp__s__a_b");
        assert_ne!(now["a_b"], now["a b"]);
        assert_ne!(now["a.b"], now["a b"]);
    }

    #[test]
    fn two_underscores_in_a_servers_name_do_not_look_like_another_server() {
        let servers = servers(["a", "a__b", "a_", "_a"]);
        assert_eq!(servers["a"], "a");
        assert_eq!(servers["a__b"], "a_b");
        let rules = about("a");
        for server in ["a__b", "a_", "_a"] {
            let name = &named(&servers[server], &["_c"])["_c"];
            assert!(!rules.denies_whole(name), "{name}");
        }
        assert!(rules.denies_whole(&named("a", &["b__c"])["b__c"]));
    }

    proptest! {
        #[test]
        fn names_are_legal_distinct_and_independent_of_order(
            raw in prop::collection::btree_set("[a-c_.\\- äß]{0,5}|[a-z]{60,140}", 0..12),
            server in "[a-z_.]{0,80}",
        ) {
            let known = servers([server.as_str()]);
            let server = &known[&server];
            let forwards = tools(server, raw.iter().map(String::as_str), &BTreeMap::new());
            let backwards = tools(server, raw.iter().rev().map(String::as_str), &BTreeMap::new());
            prop_assert_eq!(&forwards, &backwards);
            prop_assert_eq!(forwards.len(), raw.len());
            let different: BTreeSet<&String> = forwards.values().collect();
            prop_assert_eq!(different.len(), raw.len());
            for name in forwards.values() {
                prop_assert!(is_legal(name), "{}", name);
            }
        }

        #[test]
        fn a_rule_for_one_server_never_matches_a_tool_of_another(
            one in "[ab_. ]{1,6}", other in "[ab_. ]{1,6}", tool in "[ab_]{1,5}",
        ) {
            prop_assume!(one != other);
            let known = servers([one.as_str(), other.as_str()]);
            prop_assert_ne!(&known[&one], &known[&other]);
            let rules = about(&known[&one]);
            let tools = named(&known[&other], &[&tool]);
            prop_assert!(!rules.denies_whole(&tools[&tool]), "{:?} {:?}", known, tools);
        }
    }
}
