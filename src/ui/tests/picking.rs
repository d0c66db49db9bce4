use std::time::Duration;

use insta::assert_snapshot;
use serde_json::json;

use crate::app::dialogs::Dialog;
use crate::app::dialogs::picker::{Choice, Item, Kind, Mark, Picker};
use crate::app::job::{JobResult, ModelRow};
use crate::app::page::{Line, Tone};
use crate::app::pointer::PointerKind;
use crate::app::rig::{App, change};
use crate::app::{Effect, Msg};
use crate::protocol::{
    AgentEvent, Allows, BackgroundEnd, CallOutcome, Ending, KnownRule, NamedFile, Price, RuleList,
    SessionEvent, Skill, Source,
};
use crate::theme::{Depth, Role};
use crate::ui::rig::Screen;
use crate::ui::tests::themes::styled;

const SIZES: [(u16, u16); 4] = [(60, 20), (80, 24), (120, 40), (200, 60)];

/// The same list at every relevant size.
fn at_all_sizes(name: &str, app: impl Fn() -> App) {
    for (width, height) in SIZES {
        let drawn = app().on(width, height).draw();
        assert_snapshot!(format!("{name}_{width}x{height}"), drawn);
    }
}

fn click() -> PointerKind {
    PointerKind::Pressed { times: 1 }
}

/// A list with everything that a list can contain.
fn sessions() -> App {
    let mut app = App::new();
    let preview: Vec<Line> = (0..20)
        .map(|number| Line::text(format!("line {number} of what was said in it")))
        .chain([Line::text("bad rows are skipped").lead(Tone::Good, "✓ ")])
        .collect();
    let item = |number: usize| {
        let id = Choice::Session(number.to_string());
        Item::new(format!("session number {number}"), id)
            .about("sonnet-5-5 · main")
            .hint(format!("{number} h"))
            .under(if number < 3 { "Today" } else { "This week" })
            .marked((number == 1).then_some(Mark::Running))
            .preview(preview.clone())
    };
    let picker = Picker::new(Kind::Sessions, (0..40).map(item).collect());
    app.state.dialogs.push(Dialog::Picker(Box::new(picker)));
    app
}

fn palette() -> App {
    let mut app = App::new();
    app.press("ctrl+p");
    app
}

#[test]
fn a_list_with_groups_marks_hints_and_a_preview() {
    at_all_sizes("picker_sessions", sessions);
}

#[test]
fn the_palette() {
    at_all_sizes("picker_palette", palette);
}

/// One background command runs, one has failed.
fn tasks() -> App {
    let mut app = App::working();
    let commands = [
        (
            "server",
            "npm run dev",
            "> vite\n\x1b[32mready\x1b[0m in 210 ms\nlistening on 3000\n",
        ),
        (
            "tests",
            "cargo test --workspace",
            "running 12 tests\ntest parse ... FAILED\n",
        ),
    ];
    for (call, command, printed) in commands {
        app.tool(call, "Bash")
            .queued(json!({"command": command}))
            .running()
            .prints(printed)
            .ends_as(CallOutcome::Backgrounded, "it runs in the background")
            .yielded();
    }
    app.ends(Ending::Done);
    app.after(Duration::from_secs(252));
    app.background_ended("tests", BackgroundEnd::Exited(101));
    app.types("/tasks").press("enter");
    app
}

#[test]
fn background_commands() {
    at_all_sizes("picker_tasks", tasks);
}

#[test]
fn a_background_command_opened_from_the_list() {
    let mut screen = tasks().on(80, 24);
    screen.press("enter");
    assert_snapshot!(screen.draw());
}

#[test]
fn a_list_says_what_is_above_and_below_it() {
    let mut screen = sessions().on(80, 24);
    assert_eq!(screen.lines_with("more ↓").len(), 1);
    screen.press("end");
    assert_eq!(screen.lines_with("more ↑").len(), 1);
    assert_eq!(screen.lines_with("›   session number 39").len(), 1);
}

#[test]
fn a_click_chooses_and_the_wheel_scrolls() {
    let mut screen = sessions().on(80, 24);
    let first = |screen: &mut Screen| screen.lines_with("session number").len();
    let rows = first(&mut screen);
    screen.point(PointerKind::WheelDown, "session number 2");
    screen.frame();
    assert_eq!(first(&mut screen), rows + 1, "the heading has gone");
    let effects = screen.point(click(), "session number 5");
    let [Effect::Open(opening)] = effects.as_slice() else {
        panic!("{effects:?}");
    };
    assert!(format!("{opening:?}").contains("\"5\""));
}

#[test]
fn a_click_beside_the_list_does_nothing() {
    let mut screen = sessions().on(80, 24);
    assert_eq!(screen.point(click(), "Today"), []);
    assert_eq!(screen.point(click(), "Sessions"), []);
    assert_eq!(screen.state.dialogs.len(), 1);
}

#[test]
fn the_background_of_a_list_is_dimmed() {
    let mut app = App::working().with_theme("dark", Depth::True);
    app.model_writes("**bold words** of the answer");
    app.press("ctrl+p");
    let screen = app.on(80, 24);
    let at = screen.find("agent-tui");
    let cell = &screen.buffer()[at];
    let faint = screen.state.settings.theme.style(Role::Faint);
    assert_eq!(Some(cell.fg), faint.fg);
    assert!(cell.modifier.is_empty());
}

#[test]
fn the_preview_shows_where_the_word_is() {
    let mut screen = sessions().on(120, 20);
    assert_eq!(
        screen.lines_with("line 4 of what").len(),
        0,
        "its end is in view"
    );
    screen.types("said 4");
    assert_snapshot!(screen.draw());
}

#[test]
fn lists_keep_their_size_while_they_are_narrowed() {
    let mut screen = palette().on(80, 24);
    let frame = |screen: &mut Screen| screen.find("╭─ Commands");
    let before = frame(&mut screen);
    screen.types("nothing like it");
    screen.frame();
    assert_eq!(frame(&mut screen), before);
    assert_eq!(screen.lines_with("nothing matches").len(), 1);
}

/// The findings of `/doctor`.
fn page() -> App {
    let mut app = App::new();
    let found = [
        Line::heading("model"),
        Line::text("anthropic, model claude-sonnet-5-5; there is no key for it")
            .lead(Tone::Bad, "  ✗ "),
        Line::text(
            "set ANTHROPIC_API_KEY, or look around without one: `agent-tui --provider builtin`",
        )
        .lead(Tone::Muted, "    → "),
        Line::blank(),
        Line::heading("settings"),
        Line::text("/home/a/.config/agent-tui/settings.json").lead(Tone::Good, "  ✓ "),
        Line::text("`sandbox.unasked` is `off`").lead(Tone::Warning, "  ! "),
    ];
    let more =
        (0..40).map(|number| Line::text(format!("program {number}")).lead(Tone::Good, "  ✓ "));
    let lines = found.into_iter().chain(more).collect();
    app.update(Msg::JobDone(JobResult::Examined(lines)));
    app
}

fn rules() -> App {
    let mut app = App::new();
    let rule = |list, rule: &str| KnownRule {
        list,
        rule: rule.to_owned(),
        from: Source::file("/w/.agent-tui/settings.json", ".agent-tui/settings.json"),
    };
    let rules = vec![
        rule(RuleList::Allow, "Bash(cargo test:*)"),
        rule(RuleList::Deny, "Read(.env)"),
        rule(RuleList::Ask, "Bash(git push:*)"),
    ];
    app.receive(AgentEvent::Session(SessionEvent::Rules(rules)));
    app.press("down down ctrl+d");
    app
}

fn models() -> App {
    let mut app = App::new();
    app.types("/model");
    app.press("enter");
    let row = |name: &str, context, price| ModelRow {
        name: name.to_owned(),
        context,
        price,
        source: "~/.config/agent-tui/settings.json".to_owned(),
    };
    let price = Price {
        input: 3.0,
        output: 15.0,
    };
    let models = vec![
        row("claude-sonnet-5-5", Some(200_000), Some(price)),
        row("qwen3-coder-30b", None, None),
    ];
    app.update(Msg::JobDone(JobResult::Models(models)));
    app
}

fn ran(command: &str) -> App {
    let mut app = App::new();
    app.types(command);
    app.press("enter");
    app
}

#[test]
fn the_rules_with_one_about_to_be_removed() {
    at_all_sizes("picker_rules", rules);
}

#[test]
fn the_models() {
    at_all_sizes("picker_models", models);
}

#[test]
fn the_tools() {
    at_all_sizes("picker_tools", || ran("/tools"));
}

#[test]
fn the_help() {
    at_all_sizes("help", || ran("/help"));
}

#[test]
fn the_help_narrowed_by_typing() {
    let mut screen = ran("/help").on(80, 24);
    screen.types("session");
    assert_snapshot!(screen.draw());
}

#[test]
fn a_page() {
    at_all_sizes("page", page);
}

#[test]
fn a_page_is_read_to_its_end_and_closed() {
    let mut screen = page().on(80, 24);
    assert_eq!(screen.lines_with("program 39").len(), 0);
    screen.press("space");
    assert_eq!(screen.lines_with("ANTHROPIC_API_KEY, or").len(), 0);
    screen.press("G");
    assert_eq!(screen.lines_with("program 39").len(), 1);
    screen.press("k g");
    assert_eq!(screen.lines_with("ANTHROPIC_API_KEY, or").len(), 1);
    screen.press("q");
    assert!(screen.state.dialogs.is_empty());
}

#[test]
fn all_changes_on_one_page() {
    let mut app = App::working();
    app.tool("a", "Edit").running().changes(change());
    app.ends(Ending::Done);
    app.types("/diff");
    app.press("enter");
    assert_snapshot!(app.on(100, 40).draw());
}

#[test]
fn lists_and_pages_in_other_looks() {
    for (name, theme, depth) in [
        ("light", "light", Depth::True),
        ("no_color", "dark", Depth::None),
    ] {
        for (what, app) in [("list", sessions()), ("page", page()), ("rules", rules())] {
            let screen = app.with_theme(theme, depth).on(80, 24);
            assert_snapshot!(format!("{what}_{name}"), styled(screen.buffer()));
        }
    }
}

#[test]
fn while_searching_the_footer_shows_how_to_continue() {
    let mut app = App::working();
    app.model_writes("one needle, another needle");
    app.ends(Ending::Done);
    let mut screen = app.on(100, 24);
    screen.press("ctrl+s /");
    screen.types("needle");
    screen.press("enter");
    let footer = screen.footer();
    assert!(
        footer.contains("n next match") && footer.contains("N previous match"),
        "{footer}"
    );
}

fn skills() -> App {
    let mut app = App::new();
    let skill = |name: &str, description: &str, rules: &[&str], for_model| Skill {
        name: name.into(),
        description: description.into(),
        instructions: "Do it.".into(),
        folder: format!("/project/.agent-tui/skills/{name}").into(),
        allows: Allows {
            rules: rules.iter().map(|&rule| rule.to_owned()).collect(),
            file: NamedFile {
                path: format!("/project/.agent-tui/skills/{name}/SKILL.md").into(),
                name: format!(".agent-tui/skills/{name}/SKILL.md"),
            },
        },
        for_model,
    };
    let skills = SessionEvent::Skills(vec![
        skill(
            "notes",
            "Write release notes in the style of this team",
            &["Bash(git log:*)", "Read"],
            true,
        ),
        skill("ship", "Publish a release", &[], false),
    ]);
    app.receive(AgentEvent::Session(skills));
    app
}

#[test]
fn the_skills() {
    at_all_sizes("picker_skills", skills);
}
