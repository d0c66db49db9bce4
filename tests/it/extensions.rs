//! Skills, custom commands and custom tools from outside: what reaches the model, what asks, and what a project may add.

use std::path::Path;

use serde_json::{Value, json};

use crate::screen::{armed, play};
use crate::support::pty::{Pty, script};
use crate::support::wire::{call, text};
use crate::support::{Output, Program, Server, Wire};

const STREAM: [&str; 2] = ["--output-format", "stream-json"];

const WEATHER: &str = r#"name = "weather"
description = "Says how the weather is in a city"
command = "echo \"Sunny: $(cat)\""
[input_schema]
required = ["city"]
properties.city.type = "string"
"#;

fn put(folder: &Path, name: &str, content: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    std::fs::write(path, content).expect("written");
}

/// A model that makes one call, and then is done.
fn calling(tool: &str, input: &str) -> String {
    format!(
        "[[turn]]\nstep = [{{ call = \"{tool}\", id = \"c\", input = {input} }}]\n[[turn]]\ntext = \"Done.\"\n"
    )
}

fn run(program: &Program, script: &str, more: &[&str]) -> Output {
    let path = program.put("script.toml", script);
    let provider = format!("script:{}", path.display());
    program.run(&[&["--provider", &provider, "-p", "go"], more, &STREAM].concat())
}

/// The result that the model got for its call.
fn result(output: &Output) -> Value {
    let lines = output.lines();
    let user = lines.iter().find(|line| line["type"] == "user");
    user.expect("a result")["message"]["content"][0].clone()
}

fn tools(program: &Program, more: &[&str]) -> Vec<Value> {
    let output = program.run(&[&["tools", "--json"], more].concat());
    serde_json::from_str(&output.stdout).expect("JSON")
}

fn tool(tools: &[Value], name: &str) -> Option<Value> {
    let found = tools.iter().find(|tool| tool["name"] == name);
    found.cloned()
}

fn messages(body: &Value) -> String {
    body["messages"].to_string()
}

#[test]
fn a_skill_is_listed_and_its_instructions_are_read_when_they_are_needed() {
    let program = Program::new();
    assert!(
        tool(&tools(&program, &[]), "Skill").is_none(),
        "none is there"
    );
    let skill = "---\nname: notes\ndescription: Write release notes\n---\nStart with the version.";
    put(&program.config(), "skills/notes/SKILL.md", skill);
    put(
        &program.config(),
        "skills/secret/SKILL.md",
        "---\ndescription: For people\ndisable-model-invocation: true\n---\nOnly by hand.",
    );
    let listed = tool(&tools(&program, &[]), "Skill").expect("listed");
    let description = listed["description"].as_str().expect("a text");
    assert!(
        description.contains("- notes: Write release notes"),
        "{description}"
    );
    assert!(!description.contains("secret"), "{description}");

    let output = run(
        &program,
        &calling("Skill", "{ skill = \"notes\", args = \"v2\" }"),
        &[],
    );
    assert_eq!(output.code, Some(0), "{output:?}");
    let text = result(&output)["content"].to_string();
    let folder = program.config().join("skills/notes");
    for words in [
        "Start with the version.",
        "Arguments: v2",
        &folder.display().to_string(),
    ] {
        assert!(text.contains(words), "{text}");
    }
    let init = &output.lines()[0];
    assert_eq!(init["skills"], json!(["notes", "secret"]));
    assert_eq!(init["slash_commands"], json!(["notes", "secret"]));
    assert_eq!(init["agents"], json!(["explore", "general"]));

    for (name, words) in [
        ("secret", "Only the user can start"),
        ("note", "Did you mean `notes`?"),
    ] {
        let output = run(
            &program,
            &calling("Skill", &format!("{{ skill = \"{name}\" }}")),
            &[],
        );
        let text = result(&output);
        assert_eq!(text["is_error"], true);
        assert!(text.to_string().contains(words), "{text}");
    }
}

#[test]
fn what_a_skill_allows_needs_no_question_once_it_is_read() {
    let program = Program::new();
    let skill =
        "---\ndescription: Make a mark\nallowed-tools: Bash(touch mark)\n---\nRun touch mark.";
    put(&program.config(), "skills/mark/SKILL.md", skill);
    let bash = "{ call = \"Bash\", input = { command = \"touch mark\" } }";
    let without = format!("[[turn]]\nstep = [{bash}]\n[[turn]]\ntext = \"Done.\"\n");
    run(&program, &without, &[]);
    assert!(
        !program.path("mark").exists(),
        "it asks, and nobody is there"
    );
    let with = format!(
        "[[turn]]\nstep = [{{ call = \"Skill\", input = {{ skill = \"mark\" }} }}]\n{without}"
    );
    let output = result(&run(&program, &with, &[]));
    assert!(
        output.to_string().contains("it allows Bash(touch mark)"),
        "{output}"
    );
    assert!(
        !program.path("mark").exists(),
        "the model grants itself nothing"
    );
    run(&program, &with, &["--allow", "Skill"]);
    assert!(program.path("mark").exists());
}

#[test]
fn a_typed_command_goes_out_with_its_arguments_the_output_of_its_commands_and_its_files() {
    let program = Program::new();
    program.put("src.rs", "fn main() {}\n");
    let command = "---\ndescription: Review\nargument-hint: [pr]\nmodel: other-model\n---\nReview $1 ($ARGUMENTS): !`echo from the shell`. See @src.rs and @none.rs.";
    put(&program.config(), "commands/team/review.md", command);
    let server = Server::start([Wire::Anthropic.reply(&[text("Fine.")])]);
    let output = program.ask(&server, Wire::Anthropic, &["-p", "/team:review 12 now"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    let bodies = server.bodies();
    let sent = messages(&bodies[0]);
    assert!(
        sent.contains("Review 12 (12 now): from the shell. See @src.rs and @none.rs."),
        "{sent}"
    );
    assert!(
        sent.contains("fn main() {}") && sent.contains("<file path="),
        "{sent}"
    );
    assert_eq!(bodies[0]["model"], "other-model");
}

#[test]
fn if_a_command_in_it_is_not_allowed_a_typed_command_is_not_sent() {
    let program = Program::new();
    put(&program.config(), "commands/c.md", "Look: !`touch made`");
    let server = Server::start([Wire::Anthropic.reply(&[text("Fine.")])]);
    let output = program.ask(&server, Wire::Anthropic, &["-p", "/c"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output.stderr.contains("/c needs `touch made`"),
        "{output:?}"
    );
    assert!(output.stderr.contains("not sent"), "{output:?}");
    assert_eq!(server.bodies().len(), 0);
    assert!(!program.path("made").exists());

    let allowed = "---\nallowed-tools: Bash(touch made)\n---\nLook: !`touch made`";
    put(&program.config(), "commands/c.md", allowed);
    let output = program.ask(&server, Wire::Anthropic, &["-p", "/c"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(program.path("made").exists());
}

#[test]
fn the_model_uses_a_command_as_the_person_would() {
    let program = Program::new();
    let command = "---\ndescription: Count\nallowed-tools: Bash(touch counted)\n---\nCount $1: !`echo one; touch counted`";
    put(&program.config(), "commands/count.md", command);
    put(&program.config(), "commands/bare.md", "Bare: !`touch bare`");
    let listed = tool(&tools(&program, &[]), "SlashCommand").expect("listed");
    let description = listed["description"].as_str().expect("a text");
    assert!(description.contains("- /count: Count"), "{description}");
    let output = run(
        &program,
        &calling("SlashCommand", "{ command = \"/count words\" }"),
        &["--allow", "SlashCommand"],
    );
    let text = result(&output);
    assert!(text.to_string().contains("Count words: one"), "{text}");
    assert!(program.path("counted").exists());

    let output = run(
        &program,
        &calling("SlashCommand", "{ command = \"/bare\" }"),
        &[],
    );
    let text = result(&output);
    assert_eq!(text["is_error"], true, "{text}");
    assert!(
        text.to_string()
            .contains("/bare needs `touch bare`, which did not run"),
        "{text}"
    );
    assert!(!program.path("bare").exists());
    for (command, words) in [
        ("/help", "Unknown custom command"),
        ("count", "begins with a slash"),
    ] {
        let input = format!("{{ command = \"{command}\" }}");
        let text = result(&run(&program, &calling("SlashCommand", &input), &[]));
        assert!(text.to_string().contains(words), "{text}");
    }
}

#[test]
fn a_custom_tool_asks_and_its_output_is_the_result() {
    let program = Program::new();
    put(&program.config(), "tools/weather.toml", WEATHER);
    let listed = tool(&tools(&program, &[]), "weather").expect("listed");
    assert_eq!(
        listed["input_schema"]["properties"]["city"]["type"],
        "string"
    );
    let script = calling("weather", "{ city = \"Bern\" }");
    let text = result(&run(&program, &script, &[]));
    assert_eq!(text["is_error"], true, "nobody is there to ask: {text}");
    let output = run(&program, &script, &["--allow", "weather"]);
    assert_eq!(output.stderr, "", "the rule names a tool that there is");
    let text = result(&output);
    assert_eq!(text["is_error"], false, "{text}");
    assert!(text.to_string().contains("Sunny: {"), "{text}");
    assert!(text.to_string().contains("Bern"), "{text}");
    let wrong = calling("weather", "{ town = \"Bern\" }");
    let text = result(&run(&program, &wrong, &["--allow", "weather"]));
    assert!(text.to_string().contains("city"), "{text}");
    let plan = ["--allow", "weather", "--permission-mode", "plan"];
    let text = result(&run(&program, &script, &plan));
    assert!(
        text.to_string().contains("plan mode is read-only"),
        "{text}"
    );
    // Calling itself read-only allows nothing.
    let read_only = WEATHER.replace("command =", "read_only = true\ncommand =");
    put(&program.config(), "tools/weather.toml", &read_only);
    let text = result(&run(&program, &script, &[]));
    assert_eq!(text["is_error"], true, "{text}");
    let text = result(&run(&program, &script, &plan));
    assert_eq!(text["is_error"], false, "{text}");
}

#[test]
fn the_question_of_a_custom_tool_shows_the_program_that_will_run() {
    let program = Program::new();
    put(&program.config(), "tools/weather.toml", WEATHER);
    let toml = calling("weather", r#"{ city = "Bern" }"#);
    let mut tui = play(program, &toml, &[]);
    tui.wait_for("Allow weather?")
        .wait_for("$ echo \"Sunny: $(cat)\"")
        .wait_for("directory    ")
        .wait_for("as JSON on stdin and in AGENT_TUI_INPUT")
        .wait_for("city: \"Bern\"");
    armed(&mut tui, "y yes").send("n");
    tui.wait_for("denied by you");
}

#[test]
fn a_custom_tool_that_is_taken_or_broken_is_named_and_the_others_work() {
    let program = Program::new();
    put(
        &program.config(),
        "tools/a.toml",
        &WEATHER.replace("\"weather\"", "\"Read\""),
    );
    put(&program.config(), "tools/b.toml", "name = \"b\"\n");
    put(&program.config(), "tools/c.toml", WEATHER);
    put(&program.config(), "commands/help.md", "Help.");
    let output = run(
        &program,
        &calling("weather", "{ city = \"Bern\" }"),
        &["--allow", "weather"],
    );
    assert!(result(&output).to_string().contains("Sunny"), "{output:?}");
    for words in [
        "a.toml",
        "`Read` is taken",
        "b.toml`, line 1: missing field",
        "`/help` is a built-in",
    ] {
        assert!(output.stderr.contains(words), "{words}: {}", output.stderr);
    }
    let doctor = program.run(&["doctor", "--provider", "builtin"]).stdout;
    for words in [
        "`Read` is taken",
        "b.toml`, line 1: missing field",
        "`/help` is a built-in",
    ] {
        assert!(doctor.contains(words), "{words}: {doctor}");
    }
}

#[test]
fn headless_nothing_that_a_project_adds_applies_without_trust() {
    let program = Program::new();
    program.put(".agent-tui/tools/weather.toml", WEATHER);
    program.put(".claude/skills/s/SKILL.md", "Be brief.");
    program.put(".claude/commands/c.md", "Do it.");
    for (flags, counts) in [(&[][..], 0), (&["--trust"][..], 1)] {
        let output = run(&program, "[[turn]]\ntext = \"Hi.\"\n", flags);
        let init = &output.lines()[0];
        let has = |name: &str| init["tools"].to_string().contains(name);
        for name in ["weather", "Skill", "SlashCommand"] {
            assert_eq!(has(name), counts == 1, "{flags:?} {name}: {init}");
        }
        assert_eq!(init["skills"].as_array().map(Vec::len), Some(counts));
        assert_eq!(
            output.stderr.contains("are not used"),
            counts == 0,
            "{output:?}"
        );
    }
}

#[test]
fn a_tool_that_a_project_changes_asks_for_trust_again() {
    let program = Program::new();
    program.put(".agent-tui/tools/weather.toml", WEATHER);
    let start = |program: Program| {
        let provider = script(&program, &calling("weather", "{ city = \"Bern\" }"));
        Pty::spawn_in(
            program,
            &["--theme", "ansi16", "--provider", &provider],
            110,
            40,
        )
    };
    let mut tui = start(program);
    tui.wait_for("Trust this project?").wait_for("weather");
    armed(&mut tui, "y trust")
        .send("y")
        .wait_gone("Trust this project?");
    tui.wait_for("❯").send("go\r");
    armed(&mut tui, "y yes").send("y").wait_for("Done.");
    tui.wait_gone("interrupt");
    assert_eq!(tui.send("\x03\x03").exit().code, 0);
    let program = tui.into_program();
    program.put(
        ".agent-tui/tools/weather.toml",
        WEATHER.replace("Sunny", "Rainy"),
    );
    let mut tui = start(program);
    tui.wait_for("Trust this project?").wait_for("Rainy");
}

#[test]
fn a_custom_command_is_completed_typed_and_what_it_allows_ends_with_its_turn() {
    let program = Program::new();
    let command = "---\ndescription: Leave a mark\nargument-hint: NAME\nallowed-tools: Bash(touch mark)\n---\nTouch the mark for $1.";
    let bash = "[[turn]]\nstep = [{ call = \"Bash\", input = { command = \"touch mark\" } }]\n[[turn]]\ntext = \"Touched.\"\n";
    let provider = script(
        &program,
        &format!("{bash}{}", bash.replace("Touched.", "Again.")),
    );
    let config = program.config();
    let mut tui = Pty::spawn_in(
        program,
        &["--theme", "ansi16", "--provider", &provider],
        100,
        30,
    );
    tui.wait_for("❯");
    // It is found although it was added after the start.
    put(&config, "commands/leave-mark.md", command);
    tui.send("/leave").wait_for("Leave a mark").wait_for("NAME");
    tui.send("\tme\r").wait_for("Touched.");
    assert!(tui.program().path("mark").exists(), "it needed no question");
    tui.wait_gone("interrupt").send("once more\r");
    armed(&mut tui, "n no").send("n").wait_for("Again.");
}

#[test]
fn a_command_inside_of_a_typed_command_asks_and_a_no_sends_nothing() {
    let program = Program::new();
    put(&program.config(), "commands/c.md", "Look: !`touch made`");
    let provider = script(&program, "[[turn]]\ntext = \"Never said.\"\n");
    let mut tui = Pty::spawn_in(
        program,
        &["--theme", "ansi16", "--provider", &provider],
        100,
        30,
    );
    tui.wait_for("script ·").send("/c\r");
    armed(&mut tui, "n no").send("n");
    tui.wait_for("/c needs `touch made`").wait_for("not sent");
    assert!(!tui.program().path("made").exists());
    assert!(!tui.screen().contains("Never said."));
}

#[test]
fn skills_are_listed_with_their_source() {
    let program = Program::new();
    put(
        &program.config(),
        "skills/notes/SKILL.md",
        "---\ndescription: Write release notes\nallowed-tools: Read\n---\nText.",
    );
    let mut tui = Pty::spawn_in(program, &["--provider", "builtin"], 120, 30);
    tui.wait_for("❯").send("/skills\r");
    tui.wait_for("Write release notes")
        .wait_for("config/skills")
        .wait_for("used by");
}

#[test]
fn a_call_of_a_custom_tool_in_a_request_reaches_it_on_every_wire() {
    for wire in Wire::ALL {
        let program = Program::new();
        put(&program.config(), "tools/weather.toml", WEATHER);
        let asked = call("c1", "weather", json!({"city": "Bern"}));
        let server = Server::start([wire.reply(&[asked]), wire.reply(&[text("Nice.")])]);
        let output = program.ask(&server, wire, &["-p", "How is it?", "--allow", "weather"]);
        assert_eq!(output.code, Some(0), "{wire:?} {output:?}");
        let second = server.bodies()[1].to_string();
        assert!(second.contains("Sunny: {"), "{wire:?} {second}");
    }
}
