//! Every screen without colours. The colours are in `themes`.

use insta::assert_snapshot;
use serde_json::json;

use crate::app::job::{Candidate, JobResult};
use crate::app::rig::{App, change, millis, request};
use crate::app::{DiffStyle, Msg};
use crate::protocol::{
    AgentEvent, CallOutcome, Ending, FileDiff, Mode, Phase, SessionEvent, Spending, TurnEvent,
    Usage,
};
use crate::theme::Theme;
use crate::ui::rig::Screen;

/// The model writes while its calls run: one is over, one prints, one waits for the person, one is queued.
pub fn busy() -> App {
    let mut app = App::typed("fix the failing test in src/lib.rs, please");
    app.press("enter");
    app.accept_message("fix the failing test in src/lib.rs, please");
    app.turn_event(TurnEvent::Thinking("Which test is it?".to_owned()));
    app.after(millis(900));
    app.model_writes(
        "I'll look at the **test** first:\n\n1. read `src/lib.rs`\n2. run the tests\n",
    );
    app.tool("a", "Read")
        .arrives()
        .queued(json!({"file_path": "src/lib.rs"}))
        .running()
        .takes(120)
        .completes("1\n2\n3")
        .yielded();
    app.tool("b", "Bash")
        .arrives()
        .queued(json!({"command": "cargo test --workspace --all-features"}))
        .running();
    app.after(millis(700));
    app.tool("b", "Bash")
        .prints("running 12 tests\ntest parse ... ok\n");
    app.tool("c", "Grep")
        .arrives()
        .queued(json!({"pattern": "fn parse"}))
        .running()
        .takes(30)
        .completes("src/lib.rs\nsrc/parse.rs");
    app.tool("d", "Edit")
        .arrives()
        .queued(json!({"file_path": "src/lib.rs"}));
    app.turn_event(TurnEvent::Saved(millis(850)));
    app.after(millis(450));
    app
}

/// A finished turn that changed a file.
pub fn finished() -> App {
    let mut app = App::working();
    app.model_writes("There it is.");
    app.tool("a", "Edit")
        .arrives()
        .queued(json!({"file_path": "src/lib.rs"}))
        .running()
        .changes(change())
        .yielded();
    app.tool("b", "Bash")
        .arrives()
        .queued(json!({"command": "cargo test"}))
        .running()
        .takes(2300)
        .exits(
            101,
            "running 2 tests\ntest parse ... FAILED\n\nerror: test failed, to rerun pass `--lib`",
        );
    app.tool("c", "Read")
        .arrives()
        .queued(json!({"file_path": "README.md"}))
        .ends_as(
            CallOutcome::Skipped {
                why: "`cargo test` failed".to_owned(),
            },
            "",
        );
    app.model_writes(
        "One test fails still:\n\n| test | result |\n|---|---|\n| parse | **failed** |\n",
    );
    let usage = Usage {
        input_tokens: Some(12_400),
        output_tokens: Some(830),
        ..Usage::default()
    };
    app.turn_event(TurnEvent::Spent(Spending {
        used: usage,
        cost: None,
        context: Some(usage.in_context()),
    }));
    app.turn_event(TurnEvent::Answered {
        message: crate::protocol::Message::user(""),
        stop_reason: None,
        usage,
    });
    app.ends(Ending::Done);
    app
}

/// A question that was read to the end.
fn asked(tool: &str, width: u16, height: u16) -> Screen {
    let mut screen = App::asked(tool).on(width, height);
    screen.press("end");
    screen.frame();
    screen.after(millis(300));
    screen
}

#[test]
fn idle() {
    assert_snapshot!(App::new().draw(80, 24));
}

#[test]
fn starting() {
    assert_snapshot!(App::starting().draw(80, 12));
}

#[test]
fn busy_80() {
    assert_snapshot!(busy().draw(80, 24));
}

#[test]
fn busy_120() {
    assert_snapshot!(busy().draw(120, 40));
}

#[test]
fn busy_200() {
    assert_snapshot!(busy().draw(200, 60));
}

#[test]
fn busy_40() {
    assert_snapshot!(busy().draw(40, 12));
}

#[test]
fn busy_20() {
    assert_snapshot!(busy().draw(20, 5));
}

#[test]
fn too_small() {
    assert_snapshot!(busy().draw(19, 4));
}

#[test]
fn finished_80() {
    assert_snapshot!(finished().draw(80, 40));
}

#[test]
fn finished_side_by_side() {
    assert_snapshot!(finished().draw(220, 40));
}

#[test]
fn wide_characters() {
    let mut app = App::working();
    app.model_writes(
        "漢字と仮名が混ざった長い文章は、画面の端で正しく折り返されなければならない。\n\n",
    );
    app.model_writes(
        "- 👩‍👩‍👧 family, 🇩🇪 flag, e\u{301} combined\n- tab\there, zero\u{200b}width, \u{202e}bidi\n",
    );
    app.tool("a", "Bash")
        .queued(json!({"command": "echo 日本語のとても長いコマンド行です。もっと長くします"}))
        .running();
    app.tool("a", "Bash").prints("\x1b[31m赤い\x1b[0m出力\n");
    app.types("下書き👍");
    assert_snapshot!(app.draw(44, 20));
}

#[test]
fn asked_for_a_command() {
    assert_snapshot!(asked("Bash", 80, 24).draw());
}

#[test]
fn asked_for_a_change() {
    assert_snapshot!(asked("Edit", 80, 30).draw());
}

#[test]
fn asked_for_several() {
    let mut screen = asked("Bash", 80, 24);
    screen.asks(request("second", "Edit"));
    screen.asks(request("third", "Bash"));
    assert_snapshot!(screen.draw());
}

#[test]
fn asked_in_a_small_terminal() {
    assert_snapshot!(App::asked("Edit").draw(40, 12));
}

#[test]
fn picking_changes() {
    let mut screen = asked("Edit", 80, 30);
    screen.press("tab");
    screen.frame();
    screen.press("y");
    assert_snapshot!(screen.draw());
}

#[test]
fn editing_a_rule() {
    let mut screen = asked("Bash", 80, 24);
    screen.press("a");
    assert_snapshot!(screen.draw());
}

#[test]
fn writing_a_reason() {
    let mut screen = asked("Bash", 80, 24);
    screen.press("e");
    screen.types("use nextest");
    assert_snapshot!(screen.draw());
}

#[test]
fn help() {
    let mut screen = App::new().on(100, 40);
    screen.press("?");
    assert_snapshot!(screen.draw());
}

#[test]
fn help_at_its_end_in_a_small_terminal() {
    let mut screen = App::new().on(40, 12);
    screen.press("?");
    screen.frame();
    screen.press("end");
    assert_snapshot!(screen.draw());
}

#[test]
fn palette() {
    let mut screen = App::new().on(100, 30);
    screen.press("ctrl+p down down");
    assert_snapshot!(screen.draw());
}

#[test]
fn palette_narrowed() {
    let mut screen = App::new().on(60, 20);
    screen.press("ctrl+p");
    screen.types("sess");
    assert_snapshot!(screen.draw());
}

#[test]
fn theme_picker() {
    let mut screen = App::new().on(80, 24);
    let themes = Theme::names().filter_map(Theme::builtin).collect();
    screen.update(Msg::JobDone(JobResult::Themes(themes)));
    screen.press("down");
    assert_snapshot!(screen.draw());
}

#[test]
fn panel_focused_80() {
    let mut screen = busy().on(80, 24);
    screen.press("ctrl+t k");
    assert_snapshot!(screen.draw());
}

#[test]
fn panel_focused_120() {
    let mut screen = busy().on(120, 30);
    screen.press("ctrl+t");
    assert_snapshot!(screen.draw());
}

#[test]
fn detail_of_a_running_command() {
    let mut app = busy();
    let by = "allowed by rule Bash(cargo test:*) in .agent-tui/settings.json";
    app.decided("b", by, true);
    let mut screen = app.on(120, 24);
    screen.press("ctrl+t g j enter");
    assert_snapshot!(screen.draw());
}

#[test]
fn detail_of_a_change() {
    let mut screen = finished().on(80, 30);
    screen.press("ctrl+t g enter");
    assert_snapshot!(screen.draw());
}

#[test]
fn answering_by_hand() {
    let mut screen = busy().on(80, 24);
    screen.press("ctrl+t g j i");
    screen.types("12 passed");
    assert_snapshot!(screen.draw());
}

#[test]
fn details_opened_in_place() {
    let mut screen = busy().on(80, 30);
    screen.press("ctrl+o");
    assert_snapshot!(screen.draw());
}

#[test]
fn searching() {
    let mut screen = finished().on(80, 24);
    screen.press("ctrl+s /");
    screen.types("test");
    assert_snapshot!(screen.draw());
}

#[test]
fn scrolled_up() {
    let mut screen = finished().on(80, 16);
    screen.press("ctrl+s pgup");
    screen.frame();
    screen.receive(AgentEvent::Session(SessionEvent::Notice(
        "the settings were read again".to_owned(),
    )));
    assert_snapshot!(screen.draw());
}

#[test]
fn completing_a_command() {
    let mut screen = App::typed("/s").on(80, 20);
    assert_snapshot!(screen.draw());
}

#[test]
fn completing_a_path() {
    let mut app = App::typed("look at @lib");
    let candidate = |path: &str, matched: [u32; 3]| Candidate {
        path: path.to_owned(),
        matched: matched.to_vec(),
    };
    for generation in 0..9 {
        app.update(Msg::JobDone(JobResult::Paths {
            generation,
            paths: vec![
                candidate("src/lib.rs", [4, 5, 6]),
                candidate("src/library/mod.rs", [4, 5, 6]),
            ],
            found: 2,
            complete: true,
        }));
    }
    assert_snapshot!(app.draw(80, 20));
}

#[test]
fn queued_messages() {
    let mut app = busy();
    for text in ["and the docs", "then\ncommit it", "three", "four"] {
        app.update(Msg::Pasted(text.to_owned()));
        app.press("enter");
    }
    app.types("half a thou");
    assert_snapshot!(app.draw(80, 24));
}

#[test]
fn before_a_retry() {
    let mut app = App::working();
    app.turn_event(TurnEvent::Retrying {
        problem: "the provider is overloaded (529)".to_owned(),
        attempt: 2,
        wait: millis(8000),
    });
    app.after(millis(2500));
    assert_snapshot!(app.draw(80, 16));
}

#[test]
fn stopping() {
    let mut app = busy();
    app.tool("d", "Edit").executing(Phase::Finishing);
    app.press("ctrl+c");
    assert_snapshot!(app.draw(80, 24));
}

#[test]
fn stopped() {
    let mut app = busy();
    app.press("ctrl+c");
    app.tool("b", "Bash")
        .ends_as(CallOutcome::Cancelled, "cancelled");
    app.ends(Ending::Interrupted);
    app.receive(AgentEvent::Session(SessionEvent::Notice(
        "the log could not be written: no space left".to_owned(),
    )));
    assert_snapshot!(app.draw(80, 24));
}

#[test]
fn failed() {
    let mut app = App::working();
    app.ends(Ending::Failed {
        problem: "the provider rejected the API key".to_owned(),
        hint: Some(
            "set ANTHROPIC_API_KEY, or try it without a key: `agent-tui --provider builtin`"
                .to_owned(),
        ),
    });
    assert_snapshot!(app.draw(80, 16));
}

#[test]
fn paused() {
    let mut app = busy();
    let why = "the model made the same call three times in a row: Bash cargo test".to_owned();
    app.turn_event(TurnEvent::Paused { why });
    assert_snapshot!(app.draw(80, 24));
}

#[test]
fn a_change_while_it_is_written() {
    let mut app = App::working();
    app.model_writes("I change it.");
    app.tool("a", "Edit").arrives().writes(
        r#"{"file_path": "src/lib.rs", "old_string": "let x = 2;\nlet y = x;", "new_string": "let x = 3;\nlet y = "#,
    );
    app.state.session.mode = Mode::AcceptEdits;
    assert_snapshot!(app.draw(80, 20));
}

#[test]
fn a_file_while_it_is_written() {
    let mut app = App::working();
    app.model_writes("I write it.");
    let lines: Vec<String> = (1..=14)
        .map(|line| format!("let x{line} = {line};\\n"))
        .collect();
    let lines = lines.concat();
    app.tool("a", "Write").arrives().writes(&format!(
        r#"{{"file_path": "src/lib.rs", "content": "{lines}let y ="#
    ));
    assert_snapshot!(app.draw(80, 24));
}

#[test]
fn a_file_that_was_read_opened() {
    let mut app = App::working();
    app.tool("a", "Read")
        .queued(json!({"file_path": "src/lib.rs"}))
        .running()
        .completes("     9\tfn main() {\n    10\t\tlet x = 2;\n    11\t}\n");
    app.press("ctrl+o");
    assert_snapshot!(app.draw(80, 20));
}

#[test]
fn changes_in_one_column_by_choice() {
    let mut app = App::working();
    app.tool("a", "Write")
        .queued(json!({"file_path": "notes.md"}))
        .running()
        .changes(FileDiff {
            path: "notes.md".to_owned(),
            before: None,
            after: "# Notes\n\nOne line.\n".into(),
        });
    let mut screen = app.on(220, 20);
    assert_eq!(screen.state.settings.diff_style, DiffStyle::Auto);
    screen.press("ctrl+s d");
    assert_snapshot!(screen.draw());
}
