use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::{Catalogue, Sources};
use crate::protocol::{InterruptBehavior, Mode};

const REVIEWER: &str = "---\nname: reviewer\ndescription: Use it: after changes\ntools: Read, Grep\n\
    disallowedTools: Grep\nmodel: fast\npermissionMode: plan\nmaxTurns: 7\ncolor: blue\n---\nYou review.\n";

struct Place {
    _folder: tempfile::TempDir,
    config: std::path::PathBuf,
    home: std::path::PathBuf,
    workspace: std::path::PathBuf,
    trusted: Arc<AtomicBool>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self {
            config: folder.path().join("config"),
            home: folder.path().join("home"),
            workspace: folder.path().join("work"),
            trusted: Arc::new(AtomicBool::new(true)),
            _folder: folder,
        }
    }

    fn read(&self) -> (Catalogue, Vec<String>) {
        let trusted = self.trusted.clone();
        let trusts = Box::new(move || trusted.load(Ordering::Relaxed));
        Catalogue::read(Sources {
            read_only: vec!["Read".into()],
            built_in_commands: vec!["help".into()],
            config: &self.config,
            home: &self.home,
            workspace: &self.workspace,
            trusts,
            remedy: "restart to review it",
        })
    }
}

fn put(folder: &Path, name: &str, text: &str) {
    let inner = folder.join(name);
    std::fs::create_dir_all(inner.parent().expect("a folder")).expect("made");
    // First under another name, so that each version is a different file, whatever the clock says.
    let new = folder.join(format!("{name}.new"));
    std::fs::write(&new, text).expect("written");
    std::fs::rename(new, folder.join(name)).expect("renamed");
}

fn named(text: &str, name: &str) -> String {
    text.replace("reviewer", name)
}

fn names(catalogue: &Catalogue) -> Vec<String> {
    let now = catalogue.now();
    now.agents.iter().map(|kind| kind.name.clone()).collect()
}

#[test]
fn a_file_defines_all_fields_of_its_type() {
    let place = Place::new();
    put(&place.config.join("agents"), "r.md", REVIEWER);
    let (catalogue, problems) = place.read();
    assert_eq!(problems, [] as [&str; 0]);
    let kind = catalogue.find("reviewer").expect("known");
    assert_eq!(kind.description, "Use it: after changes");
    assert_eq!(kind.prompt, "You review.");
    assert!(kind.has("Read") && !kind.has("Grep") && !kind.has("Bash"));
    assert_eq!(kind.model.as_deref(), Some("fast"));
    assert_eq!((kind.mode, kind.max_turns), (Some(Mode::Plan), 7));
    assert!(
        kind.source.ends_with("config/agents/r.md"),
        "{}",
        kind.source
    );
}

#[test]
fn an_unknown_type_is_answered_with_the_known_ones() {
    let catalogue = Catalogue::built_in(Vec::new());
    let wrong = catalogue.find("nobody").expect_err("unknown");
    assert_eq!(
        wrong,
        "Unknown subagent type `nobody`. Use one of: explore, general"
    );
}

#[test]
fn mistakes_are_named_with_file_and_line_and_the_rest_works() {
    let place = Place::new();
    let own = place.config.join("agents");
    put(&own, "a.md", "---\ndescription: d\n---\nx");
    put(&own, "b.md", "---\nname: b\nwords\n---\nx");
    put(
        &own,
        "c.md",
        "---\nname: c\ndescription: d\nmaxTurns: many\npermissionMode: lax\ntools: Read, Grepp, mine\n---\nx",
    );
    put(&own, "d.md", REVIEWER);
    put(&own, "notes.txt", "no type");
    let (catalogue, problems) = place.read();
    assert_eq!(names(&catalogue), ["explore", "general", "c", "reviewer"]);
    assert_eq!(
        catalogue.find("c").expect("known").mode,
        Some(Mode::Default)
    );
    let folder = own.display();
    assert_eq!(
        problems,
        [
            format!(
                "`{folder}/a.md`, line 1: `name` is missing in the front matter; the file is not used"
            ),
            format!("`{folder}/b.md`, line 3: `words` is not `key: value`"),
            format!(
                "`{folder}/c.md`, line 5: `permissionMode` is one of default, acceptEdits, plan, dontAsk, bypassPermissions"
            ),
            format!("`{folder}/c.md`, line 4: `maxTurns` is a number from 1 on"),
            format!(
                "`{folder}/c.md`, line 6: `tools` names no tool: `Grepp`; did you mean `Grep`?"
            ),
        ]
    );
}

#[test]
fn files_in_claude_of_the_home_are_the_persons_own_below_those_of_the_configuration() {
    let mut place = Place::new();
    place.trusted.store(false, Ordering::Relaxed);
    let claude = place.home.join(".claude");
    put(&claude.join("agents"), "r.md", REVIEWER);
    put(&claude.join("agents"), "o.md", &named(REVIEWER, "other"));
    put(&claude.join("commands"), "sync.md", "Sync.");
    put(
        &claude.join("skills/pdf"),
        "SKILL.md",
        "---\nname: pdf\ndescription: d\n---\nRead it.",
    );
    // Custom tools are not read from there.
    put(&claude.join("tools"), "t.toml", "name = 1");
    put(
        &place.config.join("agents"),
        "r.md",
        &REVIEWER.replace("You review.", "Mine."),
    );
    let read = |place: &Place| {
        let (catalogue, problems) = place.read();
        assert_eq!(problems, [] as [&str; 0]);
        assert_eq!(catalogue.find("reviewer").expect("known").prompt, "Mine.");
        let other = catalogue.find("other").expect("known");
        assert_eq!(other.source, "~/.claude/agents/o.md");
        let now = catalogue.now();
        assert!(now.command("sync").is_some() && now.skill("pdf").is_some());
    };
    read(&place);
    std::fs::remove_dir_all(claude.join("tools")).expect("removed");
    // In the home directory itself, they need no trust either.
    place.workspace.clone_from(&place.home);
    read(&place);
}

#[test]
fn a_projects_type_overrides_the_persons() {
    let place = Place::new();
    let (claude, project) = (".claude/agents", ".agent-tui/agents");
    put(&place.config.join("agents"), "r.md", REVIEWER);
    put(
        &place.workspace.join(claude),
        "r.md",
        &REVIEWER.replace("You review", "Claude"),
    );
    let (catalogue, _) = place.read();
    assert_eq!(catalogue.find("reviewer").expect("known").prompt, "Claude.");
    put(
        &place.workspace.join(project),
        "r.md",
        &REVIEWER.replace("You review", "Project"),
    );
    assert_eq!(catalogue.refresh(), Some(Vec::new()));
    assert_eq!(
        catalogue.find("reviewer").expect("known").prompt,
        "Project."
    );
}

#[test]
fn files_are_read_again_only_when_they_have_changed() {
    let place = Place::new();
    let own = place.config.join("agents");
    put(&own, "r.md", REVIEWER);
    let (catalogue, _) = place.read();
    assert_eq!(catalogue.refresh(), None);
    put(&own, "other.md", &named(REVIEWER, "other"));
    assert_eq!(catalogue.refresh(), Some(Vec::new()));
    assert_eq!(
        names(&catalogue),
        ["explore", "general", "other", "reviewer"]
    );
    std::fs::remove_file(own.join("r.md")).expect("removed");
    assert_eq!(catalogue.refresh(), Some(Vec::new()));
    assert_eq!(names(&catalogue), ["explore", "general", "other"]);
}

#[test]
fn the_types_of_a_project_are_used_once_it_is_trusted() {
    let place = Place::new();
    let folder = place.workspace.join(".claude/agents");
    put(&folder, "r.md", REVIEWER);
    place.trusted.store(false, Ordering::Relaxed);
    let (catalogue, problems) = place.read();
    assert_eq!(names(&catalogue), ["explore", "general"]);
    assert!(
        problems[0].contains("`.claude/agents/r.md` is not used"),
        "{problems:?}"
    );

    place.trusted.store(true, Ordering::Relaxed);
    let (catalogue, _) = place.read();
    place.trusted.store(false, Ordering::Relaxed);
    put(&folder, "new.md", &named(REVIEWER, "new"));
    let problems = catalogue.refresh().expect("changed");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(names(&catalogue), ["explore", "general", "reviewer"]);
}

fn own(place: &Place, folder: &str) -> std::path::PathBuf {
    place.config.join(folder)
}

/// The only problem, without the folder of the file.
fn problem(problems: &[String], folder: &Path) -> String {
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].replace(&format!("{}/", folder.display()), "")
}

#[test]
fn a_skill_has_a_description_and_allowed_tools() {
    let place = Place::new();
    let folder = own(&place, "skills");
    let text = "---\nname: pdf\ndescription: Fill in forms\nallowed-tools: Read, Bash(pdftk:*)\n---\nUse pdftk.";
    put(&folder, "forms/SKILL.md", text);
    put(&folder, "plain/SKILL.md", "# Say hello\n\nAlways.");
    put(&folder, "plain/notes.md", "Not a skill.");
    put(&folder, "deep/er/SKILL.md", "Too deep.");
    put(
        &folder,
        "hidden/SKILL.md",
        "---\ndisable-model-invocation: true\n---\nOnly people.",
    );
    let (catalogue, problems) = place.read();
    assert_eq!(problems, [] as [&str; 0]);
    let now = catalogue.now();
    let names: Vec<&str> = now.skills.iter().map(|skill| &*skill.name).collect();
    assert_eq!(names, ["hidden", "pdf", "plain"]);
    let pdf = now.skill("pdf").expect("known");
    assert_eq!(&*pdf.description, "Fill in forms");
    assert_eq!(&*pdf.instructions, "Use pdftk.");
    assert_eq!(pdf.allows.rules, ["Read", "Bash(pdftk:*)"]);
    assert_eq!(pdf.folder, folder.join("forms"));
    assert_eq!(
        &*now.skill("plain").expect("known").description,
        "Say hello"
    );
    assert!(pdf.for_model && !now.skill("hidden").expect("known").for_model);
    // The person can type each of them.
    let typed = now.command("hidden").expect("typed");
    assert_eq!(typed.skill, Some(folder.join("hidden")));
    assert!(!typed.for_model);
}

#[test]
fn a_command_is_named_after_its_file_and_the_folders_around_it() {
    let place = Place::new();
    let folder = own(&place, "commands");
    let text = "---\ndescription: Commit it\nargument-hint: [message] [issue]\nallowed-tools: Bash(git add:*), Bash(git commit:*)\nmodel: fast\n---\nCommit $ARGUMENTS";
    put(&folder, "git/commit.md", text);
    put(&folder, "tidy.md", "Tidy up.\n\nAll of it.");
    put(
        &folder,
        "same.md",
        "---\nmodel: inherit\nargument-hint: FILE\n---\nThe same",
    );
    let (catalogue, problems) = place.read();
    assert_eq!(problems, [] as [&str; 0]);
    let now = catalogue.now();
    let names: Vec<&str> = now.commands.iter().map(|command| &*command.name).collect();
    assert_eq!(names, ["git:commit", "same", "tidy"]);
    let commit = now.command("git:commit").expect("known");
    assert_eq!(&*commit.arguments, "[message] [issue]");
    assert_eq!(&*commit.about, "Commit it");
    assert_eq!(&*commit.prompt, "Commit $ARGUMENTS");
    assert_eq!(
        commit.allows.rules,
        ["Bash(git add:*)", "Bash(git commit:*)"]
    );
    assert_eq!(commit.model.as_deref(), Some("fast"));
    let same = now.command("same").expect("known");
    assert_eq!((&*same.arguments, &same.model), ("FILE", &None));
    assert_eq!(&*now.command("tidy").expect("known").about, "Tidy up.");
}

#[test]
fn mistakes_in_commands_and_skills_are_named_with_their_line() {
    for (file, text, expected) in [
        (
            "commands/help.md",
            "Help me.",
            "`help.md`, line 1: `/help` is a built-in command; rename the file to use it",
        ),
        (
            "commands/a b.md",
            "x",
            "`a b.md`, line 1: `/a b` can't be typed; name the file with letters, digits, - and _",
        ),
        (
            "commands/empty.md",
            "---\ndescription: d\n---\n",
            "`empty.md`, line 1: no text below the front matter; the file is not used",
        ),
        (
            "commands/open.md",
            "---\ndescription: d\n",
            "`open.md`, line 1: the front matter is not closed: a line `---` is missing",
        ),
        (
            "commands/rule.md",
            "---\ndescription: d\nallowed-tools: Bash(, Read\n---\nx",
            "`rule.md`, line 3: the rule `Bash(, Read` has a `(` without a `)` at its end",
        ),
        (
            "skills/s/SKILL.md",
            "---\nname: a b\n---\nx",
            "`s/SKILL.md`, line 2: `name` has letters, digits, - and _ only, not `a b`",
        ),
        (
            "skills/s/SKILL.md",
            "---\nname: s\ndisable-model-invocation: maybe\n---\nx",
            "`s/SKILL.md`, line 3: `disable-model-invocation` is true or false",
        ),
        (
            "skills/help/SKILL.md",
            "Help me.",
            "`help/SKILL.md`: `/help` is a built-in command; only the model can use this skill",
        ),
        (
            "skills/s/SKILL.md",
            "",
            "`s/SKILL.md`, line 1: no text below the front matter; the file is not used",
        ),
    ] {
        let place = Place::new();
        put(&place.config, file, text);
        put(&place.config, "commands/good.md", "Fine.");
        let (catalogue, problems) = place.read();
        let folder = own(&place, file.split('/').next().expect("a folder"));
        assert_eq!(problem(&problems, &folder), expected, "{file}");
        assert!(catalogue.now().command("good").is_some(), "{file}");
    }
}

const TOOL: &str = r#"name = "weather"
description = "Says how the weather is"
command = "curl wttr.in"
read_only = true
timeout = 5000
interrupt = "block"
max_result_chars = 100
[input_schema]
required = ["city"]
[input_schema.properties.city]
type = "string"
"#;

#[test]
fn a_tool_has_its_schema_and_its_command() {
    let place = Place::new();
    put(&own(&place, "tools"), "w.toml", TOOL);
    let json = "input_schema = '{\"type\": \"object\", \"properties\": {\"a\": {}}}'";
    let small = format!("name = \"small\"\ndescription = \"d\"\ncommand = \"true\"\n{json}\n");
    put(&own(&place, "tools"), "small.toml", &small);
    let (catalogue, problems) = place.read();
    assert_eq!(problems, [] as [&str; 0]);
    let now = catalogue.now();
    let [small, weather] = &now.tools[..] else {
        panic!("{:?}", now.tools);
    };
    assert_eq!((&*weather.name, weather.read_only), ("weather", true));
    assert_eq!(
        (weather.timeout_ms, weather.max_result_chars),
        (5_000, Some(100))
    );
    assert_eq!(weather.interrupt, InterruptBehavior::Block);
    assert_eq!(
        weather.input_schema,
        json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}})
    );
    assert_eq!((small.timeout_ms, small.read_only), (120_000, false));
    assert_eq!(small.input_schema["properties"]["a"], json!({}));
    assert!(small.source.ends_with("config/tools/small.toml"));
}

#[test]
fn mistakes_in_tools_are_named_with_their_line() {
    let base = "name = \"a\"\ndescription = \"d\"\ncommand = \"c\"\n";
    for (text, line, words) in [
        (
            "name = \"a\"\n".to_owned(),
            1,
            "missing field `description`",
        ),
        (format!("{base}comand = 1\n"), 4, "unknown field `comand`"),
        (format!("{base}timeout = \"5 s\"\n"), 4, "invalid type"),
        (
            format!("{base}timeout = 0\n"),
            4,
            "`timeout` is in milliseconds",
        ),
        (
            format!("{base}interrupt = \"stop\"\n"),
            4,
            "unknown variant `stop`",
        ),
        (format!("{base}max_result_chars = 0\n"), 4, "from 1 on"),
        (
            format!("{base}input_schema = 5\n"),
            4,
            "`input_schema` is a table",
        ),
        (
            format!("{base}input_schema = \"{{\"\n"),
            4,
            "`input_schema` is not JSON",
        ),
        (
            format!("{base}[input_schema]\ntype = \"array\"\n"),
            4,
            "describes an object",
        ),
        (
            format!("{base}[input_schema.properties.x]\ntype = 7\n"),
            4,
            "is not a JSON Schema",
        ),
        (
            base.replace("\"a\"", "\"a b\""),
            1,
            "`name` has at most 64 letters",
        ),
        (
            base.replace("\"a\"", "\"mcp__a\""),
            1,
            "can't begin with `mcp__`",
        ),
        (base.replace("\"c\"", "\" \""), 3, "`command` is empty"),
        (format!("{base}]\n"), 4, ""),
    ] {
        let place = Place::new();
        put(&own(&place, "tools"), "t.toml", &text);
        put(&own(&place, "tools"), "w.toml", TOOL);
        let (catalogue, problems) = place.read();
        let found = problem(&problems, &own(&place, "tools"));
        let begin = format!("`t.toml`, line {line}: ");
        assert!(
            found.starts_with(&begin) && found.contains(words),
            "{found}"
        );
        assert_eq!(catalogue.now().tools.len(), 1, "{found}");
    }
}

#[test]
fn nothing_of_a_project_is_used_before_it_is_trusted_and_a_change_needs_trust_again() {
    let place = Place::new();
    let project = place.workspace.join(".agent-tui");
    put(&project, "commands/c.md", "Do it.");
    put(&project, "skills/s/SKILL.md", "Do it so.");
    put(&project, "tools/w.toml", TOOL);
    place.trusted.store(false, Ordering::Relaxed);
    let (catalogue, problems) = place.read();
    let now = catalogue.now();
    assert!(now.commands.is_empty() && now.skills.is_empty() && now.tools.is_empty());
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("`.agent-tui/commands/c.md` and 2 more files are not used"));

    place.trusted.store(true, Ordering::Relaxed);
    let (catalogue, _) = place.read();
    let counts = |catalogue: &Catalogue| {
        let now = catalogue.now();
        (now.commands.len(), now.skills.len(), now.tools.len())
    };
    assert_eq!(counts(&catalogue), (2, 1, 1));
    place.trusted.store(false, Ordering::Relaxed);
    put(&project, "tools/w.toml", &TOOL.replace("curl", "rm"));
    put(&project, "skills/s/SKILL.md", "Do it otherwise.");
    assert_eq!(catalogue.refresh().map(|problems| problems.len()), Some(1));
    assert_eq!(counts(&catalogue), (1, 0, 0));
}

#[test]
fn a_projects_command_replaces_the_persons_of_the_same_name() {
    let place = Place::new();
    put(&own(&place, "commands"), "c.md", "Mine.");
    put(
        &place.workspace.join(".claude/commands"),
        "c.md",
        "Claude's.",
    );
    let prompt = |catalogue: &Catalogue| {
        let now = catalogue.now();
        now.command("c").expect("known").prompt.to_string()
    };
    let (catalogue, _) = place.read();
    assert_eq!(prompt(&catalogue), "Claude's.");
    put(
        &place.workspace.join(".agent-tui/commands"),
        "c.md",
        "Ours.",
    );
    assert_eq!(catalogue.refresh(), Some(Vec::new()));
    assert_eq!(prompt(&catalogue), "Ours.");
}
