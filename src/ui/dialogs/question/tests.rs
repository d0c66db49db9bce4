use crate::app::job::{Job, JobResult};
use crate::app::pointer::PointerKind;
use crate::app::rig::{App, change, choice, millis, reply};
use crate::app::{Effect, Msg};
use crate::protocol::{
    ChoiceRequest, Chosen, FileDiff, PermissionRequest, Question, QuestionKind, Reply,
};
use crate::ui::rig::Screen;

fn asked(question: Question, width: u16, height: u16) -> Screen {
    let mut app = App::working();
    app.asks(question);
    let mut screen = app.on(width, height);
    screen.after(millis(300));
    screen
}

fn databases(change: impl FnOnce(&mut ChoiceRequest)) -> Question {
    let mut question = choice("call", &["Postgres", "SQLite", "none of them"]);
    if let QuestionKind::Choice(requests) = &mut question.kind {
        let request = &mut requests[0];
        request.question = "Which database should the server use?\nIt can be changed later.".into();
        request.options[0].about = "needs a server of its own; many can write at once".into();
        request.options[1].about = "one file; one can write at a time".into();
        change(request);
    }
    question
}

#[test]
fn one_answer() {
    let mut screen = asked(databases(|_| {}), 80, 24);
    screen.press("down");
    insta::assert_snapshot!(screen.draw());
}

#[test]
fn several_answers_and_ones_own_words() {
    let mut screen = asked(
        databases(|request| {
            request.several = true;
            request.free_text = true;
        }),
        80,
        24,
    );
    screen.asks(choice("second", &["yes"]));
    screen.press("2 end");
    screen.types("the one that is there already");
    insta::assert_snapshot!(screen.draw());
}

#[test]
fn a_question_names_its_asker_unless_it_is_the_main_conversation() {
    let mut question = databases(|_| {});
    question.asker = Some("the explorer".into());
    assert_eq!(
        asked(question, 80, 24).lines_with("asked by"),
        [" asked by     the explorer"]
    );
    let mut request = crate::app::rig::request("call", "Bash");
    request.asker = Some("the explorer".into());
    assert_eq!(
        asked(request, 80, 24).lines_with("asked by"),
        [" asked by     the explorer"]
    );
}

#[test]
fn narrow() {
    let mut screen = asked(databases(|request| request.free_text = true), 30, 10);
    let first = screen.draw();
    screen.press("down");
    let second = screen.draw();
    screen.press("end");
    insta::assert_snapshot!([first, second, screen.draw()].join("\n\n"));
}

#[test]
fn a_long_question_is_read_from_its_beginning_and_the_keys_lead_to_the_answers() {
    let question = databases(|request| {
        let lines: Vec<String> = (1..=40).map(|line| format!("reason {line}")).collect();
        request.question = lines.join("\n");
    });
    let mut screen = asked(question, 80, 24);
    assert!(screen.text().contains("? reason 1\n") || screen.text().contains("? reason 1 "));
    assert_eq!(screen.lines_with("Postgres").len(), 0);
    assert_eq!(
        screen.press("enter"),
        [],
        "what it would choose is not seen"
    );
    assert_eq!(screen.lines_with("› 1 Postgres").len(), 1);
    screen.press("pgup pgup pgup pgup pgup");
    assert_eq!(screen.lines_with("Postgres").len(), 0);
    assert_eq!(screen.lines_with("more lines").len(), 1);
}

#[test]
fn a_text_that_hides_something_is_revealed() {
    let question = databases(|request| {
        request.question = "a\u{1b}[31mb\u{202e}c".into();
        request.options[0].label = "yes\nAllow Bash?".into();
        request.options[0].about = "\u{200b}".into();
    });
    let mut screen = asked(question, 80, 24);
    let text = screen.text();
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{200b}']), "{text}");
    assert!(
        text.contains("\n     Allow Bash?"),
        "beside our mark:\n{text}"
    );
}

/// Three files: one with two hunks, a new one, and one with a single hunk.
fn three_files() -> Question {
    let file = |path: &str, before: Option<&str>, after: &str| FileDiff {
        path: path.to_owned(),
        before: before.map(Into::into),
        after: after.into(),
    };
    let mut question = crate::app::rig::request("call", "Edit");
    if let QuestionKind::Permission(PermissionRequest { tool, changes, .. }) = &mut question.kind {
        "Several".clone_into(tool);
        *changes = vec![
            change(),
            file("src/new.rs", None, "pub fn new() {}\n"),
            file("README.md", Some("# Old\n"), "# New\n"),
        ];
    }
    question
}

#[test]
fn permission_to_change_several_files() {
    insta::assert_snapshot!(asked(three_files(), 80, 60).draw());
}

#[test]
fn picking_changes_of_several_files() {
    let mut screen = asked(three_files(), 80, 60);
    screen.frame();
    screen.press("tab");
    screen.frame();
    screen.press("y");
    screen.frame();
    screen.press("n");
    insta::assert_snapshot!(screen.draw());
}

const PLAN: &str = "# Skip empty lines\n\nThe parser takes an **empty line** for a rule.\n\n1. `parse` returns `None` for it\n2. Add a test, and run it\n\n```rust\nif line.is_empty() { return None; }\n```\n";

/// A plan to approve.
fn plan(body: &str) -> Question {
    let mut question = choice("call", &["Yes, and accept edits", "Keep planning"]);
    if let QuestionKind::Choice(requests) = &mut question.kind {
        let request = &mut requests[0];
        request.question.clear();
        request.title = "Carry out this plan?".into();
        request.body = Some(body.into());
        request.options[0].about = "files inside the project are changed without asking".into();
        request.free_text = true;
    }
    question
}

/// The first answer, with the text as the person edited it.
fn first(edited: Option<&str>) -> Effect {
    let chosen = Chosen {
        options: vec![0],
        text: None,
        edited: edited.map(str::to_owned),
    };
    Effect::Send(reply("call", Reply::Chosen(vec![chosen])))
}

fn edited(screen: &mut Screen, result: Result<&str, &str>) {
    let result = result.map(str::to_owned).map_err(str::to_owned);
    let call = "call".into();
    screen.update(Msg::JobDone(JobResult::EditedAsked { call, result }));
}

#[test]
fn a_plan_to_approve() {
    insta::assert_snapshot!(asked(plan(PLAN), 80, 24).draw());
}

fn long_plan() -> Question {
    let steps = (1..=60).map(|step| format!("{step}. step {step}"));
    plan(&steps.collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_answers_stay_below_a_long_text_and_can_be_chosen_at_once() {
    for (width, height) in [(80, 24), (60, 20)] {
        let mut screen = asked(long_plan(), width, height);
        let first_step = |screen: &mut Screen| screen.lines_with(" step 1").first().cloned();
        assert_eq!(first_step(&mut screen).as_deref(), Some(" │ 1. step 1"));
        screen.press("down down up");
        assert_eq!(first_step(&mut screen).as_deref(), Some(" │ 1. step 1"));
        screen.press("pgdn G");
        assert_eq!(screen.lines_with("60. step 60").len(), 1);
        assert_eq!(screen.lines_with("Keep planning").len(), 1, "{width}");
        screen.press("g up");
        assert_eq!(screen.press("enter"), [first(None)], "{width}x{height}");
    }
}

#[test]
fn a_long_plan() {
    insta::assert_snapshot!(asked(long_plan(), 60, 20).draw());
}

#[test]
fn without_room_for_text_and_answers_enter_first_shows_the_answers() {
    let mut screen = asked(long_plan(), 60, 12);
    assert_eq!(screen.lines_with("Keep planning"), [""; 0]);
    assert_eq!(screen.press("enter"), []);
    assert_eq!(screen.lines_with("Keep planning").len(), 1);
    assert_eq!(screen.press("enter"), [first(None)]);
}

#[test]
fn a_text_that_was_changed_in_the_editor_is_shown_and_goes_with_the_answer() {
    let mut screen = asked(plan(PLAN), 80, 24);
    let call = "call".into();
    let text = PLAN.to_owned();
    assert_eq!(
        screen.press("ctrl+g"),
        [Effect::Start(Job::EditAsked { call, text })]
    );
    edited(&mut screen, Ok("Only **one** step\n"));
    assert_eq!(screen.lines_with("Only one step"), [" │ Only one step"]);
    assert_eq!(
        screen.press("enter"),
        [],
        "keys for the editor answer nothing"
    );
    screen.after(millis(300));
    let answer = screen.press("enter");
    assert_eq!(answer, [first(Some("Only **one** step"))]);
}

#[test]
fn an_unchanged_or_emptied_text_stays_and_a_late_one_is_reported() {
    let mut screen = asked(plan("Only one step\n"), 80, 24);
    edited(&mut screen, Ok("Only one step"));
    assert_eq!(screen.lines_with("the text was empty"), [""; 0]);
    edited(&mut screen, Ok("\n"));
    assert_eq!(screen.lines_with("Only one step").len(), 1);
    assert_eq!(screen.lines_with("the text was empty").len(), 1);
    edited(&mut screen, Err("the editor failed"));
    assert!(screen.footer().contains("the editor failed"));
    screen.after(millis(300));
    let answer = screen.press("enter");
    assert_eq!(answer, [first(None)]);
    edited(&mut screen, Ok("too late"));
    assert!(screen.footer().contains("the question is gone"));
}

#[test]
fn a_question_without_a_text_opens_no_editor_and_has_its_title() {
    let mut screen = asked(
        databases(|request| request.title = "Database".into()),
        80,
        24,
    );
    assert_eq!(screen.press("ctrl+g"), []);
    assert_eq!(screen.lines_with("─ Database ─").len(), 1);
    assert_eq!(screen.lines_with("? Which database").len(), 1);
    assert_eq!(screen.lines_with("Ctrl+G"), [""; 0]);
}

/// Two questions of one call, with answers that are described at length.
fn together() -> Question {
    let mut question = databases(|request| {
        request.header = "Database".into();
        request.question = "Which database should the server use?".into();
        request.free_text = true;
        request.options[1].about = "One file beside the program, nothing to install and nothing to run; one process can write at a time, which is enough for the load that README.md names.".into();
    });
    if let QuestionKind::Choice(requests) = &mut question.kind {
        let mut second = requests[0].clone();
        second.header = "Tests".into();
        second.question = "Which tests should run before each commit?".into();
        second.several = true;
        for (option, about) in second.options.iter_mut().zip(["a second", "a minute", ""]) {
            option.about = about.into();
        }
        requests.push(second);
    }
    question
}

#[test]
fn questions_asked_together_are_tabs_with_an_overview_at_the_end() {
    let mut screen = asked(together(), 80, 24);
    screen.press("down");
    let first = screen.draw();
    screen.press("enter");
    screen.after(millis(300));
    screen.draw();
    screen.press("1 4");
    screen.types("and the linter");
    let second = screen.draw();
    screen.press("enter");
    screen.after(millis(300));
    insta::assert_snapshot!([first, second, screen.draw()].join("\n\n"));
}

#[test]
fn a_click_opens_a_tab_or_goes_to_an_answer() {
    let mut screen = asked(together(), 80, 24);
    let press = PointerKind::Pressed { times: 1 };
    screen.frame();
    assert_eq!(screen.point(press, "Tests"), []);
    assert_eq!(screen.lines_with("Which tests should run").len(), 1);
    screen.after(millis(300));
    screen.frame();
    assert_eq!(screen.point(press, "SQLite"), []);
    assert_eq!(screen.lines_with("› 2 [x] SQLite").len(), 1);
    assert_eq!(screen.point(press, "Other"), []);
    screen.types("mine");
    assert_eq!(screen.lines_with("› 4 [x] Other").len(), 1);
    assert_eq!(screen.point(press, "Submit"), []);
    assert_eq!(screen.lines_with("SQLite, mine").len(), 1);
    assert_eq!(screen.lines_with("no answer yet").len(), 1);
}

#[test]
fn tabs_and_overview_in_a_narrow_terminal() {
    let mut screen = asked(together(), 40, 14);
    let first = screen.draw();
    screen.press("right right");
    screen.after(millis(300));
    insta::assert_snapshot!([first, screen.draw()].join("\n\n"));
}

#[test]
fn the_keys_of_a_question_are_explained_beside_it() {
    let mut screen = asked(together(), 80, 24);
    screen.press("?");
    insta::assert_snapshot!(screen.draw());
    assert_eq!(screen.press("esc"), []);
    assert_eq!(screen.lines_with("Which database should").len(), 1);
}
