use std::path::Path;
use std::time::Duration;

use crate::hooks::config::{DEFAULT_TIMEOUT, matching};
use crate::hooks::{Event, Hook};
use crate::settings::{Settings, Trust};
use crate::tools::files::scratch::Scratch;

const UNTRUSTED: Trust<'static> = Trust::OnlyTightens { own: &[] };

/// A place for settings files: `config/…` is the person's, the rest the project's.
struct Files(Scratch);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let scratch = Scratch::new();
        for (name, text) in files {
            let path = scratch.root.join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            std::fs::write(path, text).expect("written");
        }
        Self(scratch)
    }

    fn load(&self, trust: Trust<'_>) -> Settings {
        let root: &Path = &self.0.root;
        Settings::load(&root.join("config"), root, None, trust)
    }
}

fn one(event: &str, command: &str) -> String {
    format!(
        r#"{{"hooks":{{"{event}":[{{"hooks":[{{"type":"command","command":"{command}"}}]}}]}}}}"#
    )
}

fn commands(hooks: &[Hook]) -> Vec<(&str, &str)> {
    let pairs = hooks.iter();
    pairs
        .map(|hook| {
            (
                hook.command.as_str(),
                hook.origin.rsplit('/').next().unwrap_or_default(),
            )
        })
        .collect()
}

#[test]
fn hooks_of_all_files_are_active_and_know_their_file() {
    let files = Files::new(&[
        ("config/settings.json", &one("Stop", "user")),
        (".claude/settings.json", &one("Stop", "claude")),
        (".agent-tui/settings.json", &one("Stop", "project")),
        (".agent-tui/settings.local.json", &one("Stop", "local")),
    ]);
    let settings = files.load(Trust::Full);
    assert_eq!(
        commands(&settings.hooks),
        [
            ("user", "settings.json"),
            ("claude", "settings.json"),
            ("project", "settings.json"),
            ("local", "settings.local.json"),
        ]
    );
    assert_eq!(settings.hooks[1].origin, ".claude/settings.json");
    assert_eq!(settings.warnings, Vec::<String>::new());
}

#[test]
fn hooks_of_an_untrusted_project_are_ignored_with_a_warning() {
    let files = Files::new(&[
        ("config/settings.json", &one("Stop", "user")),
        (".claude/settings.json", &one("Stop", "claude")),
        (".agent-tui/settings.local.json", &one("Stop", "local")),
    ]);
    let settings = files.load(UNTRUSTED);
    assert_eq!(commands(&settings.hooks), [("user", "settings.json")]);
    assert_eq!(settings.warnings.len(), 2);
    for warning in settings.warnings {
        assert!(warning.contains("its hooks are ignored"), "{warning}");
    }
}

#[test]
fn every_field_of_a_hook_is_read() {
    let files = Files::new(&[(
        "config/settings.json",
        r#"{"hooks": {"PreToolUse": [{"matcher": "Edit|Write", "hooks": [
            {"type": "command", "command": "a", "timeout": 0.5, "statusMessage": "…"}, {"type": "command", "command": "b"}]}]}}"#,
    )]);
    let settings = files.load(UNTRUSTED);
    let seen: Vec<_> = settings
        .hooks
        .iter()
        .map(|hook| {
            (
                hook.event,
                hook.matcher.text(),
                hook.command.as_str(),
                hook.timeout,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (
                Event::PreToolUse,
                "Edit|Write",
                "a",
                Duration::from_millis(500)
            ),
            (Event::PreToolUse, "Edit|Write", "b", DEFAULT_TIMEOUT),
        ]
    );
    assert_eq!(settings.warnings, Vec::<String>::new());
}

#[test]
fn errors_name_event_line_and_column() {
    let cases = [
        (
            "{\n \"hooks\": []}",
            "line 2, column",
            "an object with a list of hooks for each event",
        ),
        (
            "{\"hooks\":\n{\"Stop\": {}}}",
            "line 2, column",
            "`hooks.Stop`",
        ),
        (
            "{\"hooks\":{\"PreToolUse\": [\n{\"matcher\": \"Edit(\", \"hooks\": []}]}}",
            "line 2, column",
            "`hooks.PreToolUse`: the matcher `Edit(` is not a valid regular expression: unclosed group",
        ),
        (
            "{\"hooks\":{\"Stop\": [{\"hooks\": [\n{\"type\":\"command\",\"command\":\"x\",\"timeout\":-1}]}]}}",
            "line 2, column",
            "`timeout` is in seconds",
        ),
        (
            "{\"hooks\":{\"Stop\": [{\"hooks\": [7]}]}}",
            "line 1, column",
            "an object with `type` and `command`",
        ),
        (
            "{\"hooks\":{\"Stop\": [{}]}}",
            "line 1, column",
            "missing field `hooks`",
        ),
    ];
    for (text, place, problem) in cases {
        let files = Files::new(&[("config/settings.json", text)]);
        let settings = files.load(UNTRUSTED);
        let [error] = &settings.errors[..] else {
            panic!("{text}: {:?}", settings.errors);
        };
        let error = error.to_string();
        assert!(
            error.contains("settings.json") && error.contains(place) && error.contains(problem),
            "{error}"
        );
        // A hook that cannot be understood may have denied anything.
        assert_eq!(settings.rules.ask.len(), 1, "{text}");
        assert_eq!(settings.hooks, []);
    }
}

#[test]
fn a_broken_hook_of_an_untrusted_project_changes_nothing() {
    let broken = r#"{"hooks": {"Stop": 7}}"#;
    let files = Files::new(&[(".claude/settings.json", broken)]);
    assert_eq!(files.load(UNTRUSTED).rules.ask, []);
    assert_eq!(files.load(Trust::Full).rules.ask.len(), 1);
}

#[test]
fn hooks_that_do_not_run_are_reported() {
    let cases = [
        (one("PreTolUse", "x"), "did you mean `PreToolUse`?"),
        (
            one("WorktreeCreate", "x"),
            "`hooks.WorktreeCreate` is not a known event",
        ),
        (
            one("Stop", "x").replace("\"command\",", "\"prompt\","),
            "hooks of type `prompt` don't run",
        ),
        (
            one("Stop", "x").replace("\"type\"", "\"async\":true,\"type\""),
            "unknown key `async` in the hook `x`",
        ),
        (one("Stop", " "), "has no `command`"),
    ];
    for (text, warning) in cases {
        let files = Files::new(&[(".claude/settings.json", &text)]);
        let settings = files.load(Trust::Full);
        let [message] = &settings.warnings[..] else {
            panic!("{:?}", settings.warnings);
        };
        assert!(
            message.contains(warning) && message.contains(".claude/settings.json"),
            "{message}"
        );
    }
}

#[test]
fn the_same_command_runs_once_and_only_if_it_matches() {
    let files = Files::new(&[(
        "config/settings.json",
        r#"{"hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}, {"type": "command", "command": "b"}]},
                {"hooks": [{"type": "command", "command": "b"}, {"type": "command", "command": "c"}]},
                {"matcher": "Edit", "hooks": [{"type": "command", "command": "d"}]}],
            "SessionStart": [{"matcher": "startup|clear", "hooks": [{"type": "command", "command": "e"}]}],
            "Stop": [{"matcher": "ignored", "hooks": [{"type": "command", "command": "f"}]}]}}"#,
    )]);
    let hooks = files.load(UNTRUSTED).hooks;
    let found = |event, subject| -> Vec<&str> {
        let found = matching(&hooks, event, subject).into_iter();
        found.map(|hook| hook.command.as_str()).collect()
    };
    assert_eq!(found(Event::PreToolUse, "Bash"), ["a", "b", "c"]);
    assert_eq!(found(Event::PreToolUse, "MultiEdit"), ["b", "c"]);
    assert_eq!(found(Event::SessionStart, "clear"), ["e"]);
    assert_eq!(found(Event::SessionStart, "resume"), Vec::<&str>::new());
    assert_eq!(found(Event::Stop, ""), ["f"]);
    assert_eq!(found(Event::PostToolUse, "Bash"), Vec::<&str>::new());
}

#[test]
fn the_schema_has_every_event() {
    let schema = schemars::schema_for!(crate::hooks::HooksFile).to_value();
    let events = schema["properties"].as_object().expect("properties");
    let names: Vec<&str> = events.keys().map(String::as_str).collect();
    assert_eq!(names, Event::ALL.map(Event::name));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let fits = serde_json::json!({"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x", "timeout": 5}]}]});
    assert!(validator.is_valid(&fits));
    assert!(!validator.is_valid(&serde_json::json!({"Stop": [{"hooks": [{"command": 7}]}]})));
}
