use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::{Action, Misread, Plan, Scope, Step, parse};
use crate::provider::builtin::verb::Verb;

fn step(source: &str, action: Action) -> Step {
    Step {
        source: source.into(),
        action,
    }
}

fn read(file: &str) -> Action {
    Action::Read { file: file.into() }
}

fn find(glob: &str) -> Action {
    Action::Find { glob: glob.into() }
}

fn run(command: &str) -> Action {
    Action::Run {
        command: command.into(),
    }
}

fn search(regex: &str, scope: impl Into<Option<Scope>>) -> Action {
    Action::Search {
        regex: regex.into(),
        scope: scope.into(),
    }
}

fn replace(old: &str, new: &str, scope: impl Into<Option<Scope>>) -> Action {
    Action::Replace {
        old: old.into(),
        new: new.into(),
        scope: scope.into(),
    }
}

fn edit(file: &str, old: &str, new: &str) -> Action {
    Action::Edit {
        file: file.into(),
        old: old.into(),
        new: new.into(),
        all: false,
    }
}

fn todo(items: &[&str]) -> Action {
    Action::Todo {
        items: items.iter().map(|item| (*item).to_owned()).collect(),
    }
}

fn fetch(url: &str) -> Action {
    Action::Fetch { url: url.into() }
}

fn glob(pattern: &str) -> Scope {
    Scope::Glob(pattern.into())
}

fn path(path: &str) -> Scope {
    Scope::Path(path.into())
}

/// The only action of a request.
fn one(request: &str) -> Action {
    let plan = parse(request).unwrap_or_else(|misread| panic!("{request}: {misread:?}"));
    let [stage] = plan.stages.as_slice() else {
        panic!("{request}: {plan:?}");
    };
    let [step] = stage.as_slice() else {
        panic!("{request}: {plan:?}");
    };
    step.action.clone()
}

/// The sources of the steps, stage by stage.
fn sources(request: &str) -> Vec<Vec<String>> {
    let plan = parse(request).unwrap_or_else(|misread| panic!("{request}: {misread:?}"));
    let stage = |steps: Vec<Step>| steps.into_iter().map(|step| step.source).collect();
    plan.stages.into_iter().map(stage).collect()
}

fn assert_all(cases: &[(&str, Action)]) {
    for (request, action) in cases {
        assert_eq!(one(request), *action, "{request}");
    }
}

#[test]
fn every_verb_is_understood() {
    assert_all(&[
        ("read Cargo.toml", read("Cargo.toml")),
        ("find **/*.rs", find("**/*.rs")),
        ("search TODO", search("TODO", None)),
        ("search fn main in *.rs", search("fn main", glob("*.rs"))),
        ("replace a with b", replace("a", "b", None)),
        (
            "replace a b with c d in *.md",
            replace("a b", "c d", glob("*.md")),
        ),
        ("run cargo test --lib", run("cargo test --lib")),
        ("edit a.txt: x y => z", edit("a.txt", "x y", "z")),
        (
            "todo milk; - bread\n* eggs",
            todo(&["milk", "bread", "eggs"]),
        ),
        (
            "fetch https://example.com/a",
            fetch("https://example.com/a"),
        ),
        ("undo", Action::Undo),
    ]);
}

#[test]
fn verbs_may_be_shouted_and_be_asked_politely() {
    assert_all(&[
        ("READ a.txt", read("a.txt")),
        ("  Please read a.txt", read("a.txt")),
        ("please, Find *.rs please.", find("*.rs")),
        ("search TODO in *.rs please", search("TODO", glob("*.rs"))),
        ("undo, please!", Action::Undo),
        ("todo: milk", todo(&["milk"])),
    ]);
}

#[test]
fn names_lose_the_punctuation_around_them() {
    assert_all(&[
        ("read Cargo.toml.", read("Cargo.toml")),
        ("read Cargo.toml?", read("Cargo.toml")),
        ("read ..", read("..")),
        ("find src/*.r?", find("src/*.r?")),
        ("find *.rs!", find("*.rs")),
        ("fetch example.com.", fetch("https://example.com")),
        ("search TODO.", search("TODO", None)),
        ("search TODO in *.rs.", search("TODO", glob("*.rs"))),
        ("undo.", Action::Undo),
        ("run `make`.", run("make")),
    ]);
}

#[test]
fn commands_and_texts_for_files_stay_as_they_are_written() {
    assert_all(&[
        ("run git add .", run("git add .")),
        ("run echo done.", run("echo done.")),
        ("run a;\n b", run("a;\n b")),
        ("run \"my tool\" x", run("\"my tool\" x")),
        ("edit a.c: f(); => g();", edit("a.c", "f();", "g();")),
        ("replace a with b.", replace("a", "b.", None)),
        ("search println!", search("println!", None)),
        (r"search \.", search(r"\.", None)),
        ("search a.*b", search("a.*b", None)),
    ]);
}

#[test]
fn quotes_make_everything_exact() {
    assert_all(&[
        ("read 'my file.txt'", read("my file.txt")),
        ("read “my file.txt”", read("my file.txt")),
        ("find \"a b/*\"", find("a b/*")),
        ("search 'a in b'", search("a in b", None)),
        (
            "search \"a in b\" in '*.x y'",
            search("a in b", glob("*.x y")),
        ),
        ("search 'TODO.'", search("TODO.", None)),
        (
            "replace 'a with b' with `c in d`",
            replace("a with b", "c in d", None),
        ),
        ("replace a with \"\"", replace("a", "", None)),
        ("run \"a and read b\"", run("a and read b")),
        ("run `make then run x`", run("make then run x")),
        (
            "edit 'a b.txt': ' x' => \"y => z\"",
            edit("a b.txt", " x", "y => z"),
        ),
        ("edit a.txt: 'x' => ''", edit("a.txt", "x", "")),
        ("run echo don't stop", run("echo don't stop")),
    ]);
}

#[test]
fn the_arrow_of_an_edit_has_several_forms() {
    assert_all(&[
        ("edit a.txt: x -> y", edit("a.txt", "x", "y")),
        ("edit a.txt: x → y", edit("a.txt", "x", "y")),
        (
            "edit a.rs: fn a() -> u8 => fn a() -> u16",
            edit("a.rs", "fn a() -> u8", "fn a() -> u16"),
        ),
        ("edit a.txt:x=>y", edit("a.txt", "x", "y")),
        (r"edit C:\a.txt: x => y", edit(r"C:\a.txt", "x", "y")),
        ("edit a.txt: x\ny => z", edit("a.txt", "x\ny", "z")),
    ]);
}

#[test]
fn a_place_without_wildcards_is_a_path_unless_it_is_a_bare_file_name() {
    assert_all(&[
        ("search x in src", search("x", path("src"))),
        ("search x in src/", search("x", path("src/"))),
        ("search x in src/main.rs", search("x", path("src/main.rs"))),
        ("search x in ..", search("x", path(".."))),
        ("search x in main.rs", search("x", glob("main.rs"))),
        ("search x in src/*.rs", search("x", glob("src/*.rs"))),
    ]);
}

#[test]
fn for_is_a_word_to_pass_over_and_a_word_to_look_for() {
    assert_all(&[
        ("search for TODO in *.rs", search("TODO", glob("*.rs"))),
        ("search for", search("for", None)),
        ("search for in *.rs", search("for", glob("*.rs"))),
        ("search x in y z", search("x in y z", None)),
    ]);
}

#[test]
fn then_makes_stages_and_and_fills_them() {
    assert_eq!(
        parse("read a and find *.rs then run x and read b"),
        Ok(Plan {
            stages: vec![
                vec![step("read a", read("a")), step("find *.rs", find("*.rs"))],
                vec![step("run x", run("x")), step("read b", read("b"))],
            ],
        })
    );
}

#[test]
fn joining_words_come_in_many_spellings() {
    let expected = [["run a"], ["run b"]];
    for request in [
        "run a then run b",
        "run a, then run b",
        "run a; then run b",
        "run a. Then run b",
        "run a and then run b",
        "run a, AND THEN, please run b",
    ] {
        assert_eq!(sources(request), expected, "{request}");
    }
    assert_eq!(
        sources("run git add . then run b"),
        [["run git add ."], ["run b"]]
    );
    assert_eq!(sources("read a, and read b"), [["read a", "read b"]]);
    assert_eq!(
        sources("edit a: x => y; then undo"),
        [["edit a: x => y;"], ["undo"]]
    );
}

#[test]
fn a_joining_word_without_a_verb_behind_it_is_a_word() {
    for request in [
        "run echo salt and pepper",
        "run echo this then that",
        "search this and that",
        "search seek and find",
        "todo save and undo buttons",
        "run \"a\" and \"read b\"",
        "run if test -d x; then find x; fi",
    ] {
        assert_eq!(sources(request), [[request]], "{request}");
    }
    assert_eq!(sources("run make and run test"), [["run make", "run test"]]);
    assert_eq!(
        sources("run echo a and b and read c"),
        [["run echo a and b", "read c"]]
    );
}

#[test]
fn what_begins_with_no_verb_is_no_request() {
    for text in [
        "please",
        "hello",
        "reads a.txt",
        "what is this? read a",
        "'read' a",
        "help me",
    ] {
        assert_eq!(parse(text), Err(Misread::NoVerb(text.into())), "{text}");
    }
}

#[test]
fn who_says_nothing_or_help_wants_to_know_what_there_is() {
    for text in ["", "   ", "help", "Help!", "?", "/help"] {
        assert_eq!(parse(text), Err(Misread::Help), "{text}");
    }
}

#[test]
fn an_edit_of_all_places_says_so_behind_the_file() {
    let everywhere = |file: &str| Action::Edit {
        file: file.into(),
        old: "a".into(),
        new: "b".into(),
        all: true,
    };
    assert_eq!(one("edit x.txt all: a => b"), everywhere("x.txt"));
    assert_eq!(one("edit \"my file\" all: a => b"), everywhere("my file"));
    assert_eq!(one("edit all: a => b"), edit("all", "a", "b"));
}

#[test]
fn one_unclear_step_makes_the_whole_request_unclear() {
    let unclear = |source: &str, verb| Misread::Unclear {
        source: source.into(),
        verb,
    };
    for (request, misread) in [
        ("read", unclear("read", Verb::Read)),
        ("read a b.txt", unclear("read a b.txt", Verb::Read)),
        (
            "read a.rs and b.rs",
            unclear("read a.rs and b.rs", Verb::Read),
        ),
        ("find the bug", unclear("find the bug", Verb::Find)),
        ("search", unclear("search", Verb::Search)),
        ("run \"\"", unclear("run \"\"", Verb::Run)),
        ("replace a", unclear("replace a", Verb::Replace)),
        ("replace a with", unclear("replace a with", Verb::Replace)),
        (
            "replace a with a",
            unclear("replace a with a", Verb::Replace),
        ),
        ("edit a.txt", unclear("edit a.txt", Verb::Edit)),
        ("edit a.txt: x =>", unclear("edit a.txt: x =>", Verb::Edit)),
        (
            "edit a.rs: A => 1 => A => 2",
            unclear("edit a.rs: A => 1 => A => 2", Verb::Edit),
        ),
        ("todo ;", unclear("todo ;", Verb::Todo)),
        ("undo everything", unclear("undo everything", Verb::Undo)),
        ("read a then edit b", unclear("edit b", Verb::Edit)),
    ] {
        assert_eq!(parse(request), Err(misread), "{request}");
    }
}

#[test]
fn a_long_text_full_of_quotes_is_read_in_no_time() {
    let text = format!("run {}", "(' (\" x then ".repeat(50_000));
    assert_eq!(parse(&text).map(|plan| plan.stages.len()), Ok(1));
}

proptest! {
    #[test]
    fn any_text_behind_a_verb_is_a_plan_or_unclear(
        verb in "(read|find|search|replace|run|edit|todo|fetch|undo)",
        text in "[a\"'`“”‘’é .:;=>\\-→⇒\\\\\n]{0,30}( (and|then|with|in|please) ?)?\\PC{0,20}",
    ) {
        let request = format!("{verb} {text}");
        match parse(&request) {
            Ok(plan) => {
                let steps: Vec<&Step> = plan.stages.iter().flatten().collect();
                prop_assert!(!steps.is_empty());
                prop_assert!(steps.iter().all(|step| request.contains(&step.source)));
            }
            Err(misread) => {
                let is_unclear = matches!(misread, Misread::Unclear { .. });
                prop_assert!(is_unclear);
            }
        }
    }

    #[test]
    fn a_quoted_command_is_run_as_it_is(command in "[a-z \"|&;.]{0,20}[a-z]") {
        let request = format!("run '{command}'");
        prop_assert_eq!(one(&request), run(&command));
    }
}
