use std::time::Duration;

use serde_json::json;

use crate::app::call::State;
use crate::app::job::{Job, JobResult};
use crate::app::rig::{App, millis, opened, past};
use crate::app::transcript::{Answer, Cell, Changed, Summary, SummaryEnding};
use crate::app::{Activity, Effect, Msg, Stage};
use crate::protocol::{
    AgentEvent, Block, CallCommand, CallOutcome, CallRef, Command, Ending, ForPerson, Message,
    Note, Phase, SessionEvent, Spending, StopReason, ToolCall, ToolResult, TurnEvent, Usage,
};
use crate::session::Record;

/// All cells but the welcome, in short.
fn cells(app: &App) -> Vec<String> {
    let entries = app.state.transcript.entries().iter().skip(1);
    let short = |cell: &Cell| match cell {
        Cell::Welcome => "welcome".to_owned(),
        Cell::User { text, .. } => format!("user: {text}"),
        Cell::Answer(Answer { text, progress }) => format!("{progress:?}: {text}"),
        Cell::Thinking { text, took, .. } => format!("thought: {text} ({took:?})"),
        Cell::Call(key) => {
            let call = app.state.calls.get(*key);
            format!("call: {} {}", call.tool.name, call.subject())
        }
        Cell::Notice { kind, text } => format!("{kind:?}: {text}"),
        Cell::Summary(summary) => format!("{:?}: {} calls", summary.ending, summary.calls),
    };
    entries.map(|entry| short(&entry.cell)).collect()
}

fn texts(app: &App) -> Vec<String> {
    cells(app).into_iter().skip(1).collect()
}

#[test]
fn streamed_text_is_one_answer() {
    let mut app = App::working();
    app.model_writes("\n\nHello")
        .model_writes(" you")
        .model_writes("\n");
    assert_eq!(texts(&app), ["Writing: Hello you\n"]);
    app.ends(Ending::Done);
    assert_eq!(texts(&app), ["Whole: Hello you\n", "Done: 0 calls"]);
    assert_eq!(app.state.activity, Activity::Idle);
}

#[test]
fn a_notice_does_not_cut_an_answer_in_two() {
    let mut app = App::working();
    app.model_writes("one ");
    app.receive(AgentEvent::Session(SessionEvent::Notice(
        "the disk is full".to_owned(),
    )));
    app.model_writes("two");
    app.aside("person_1", "df");
    app.model_writes(" three");
    app.ends(Ending::Done);
    assert_eq!(
        texts(&app),
        [
            "Whole: one two three",
            "Warning: the disk is full",
            "call: Bash df",
            "Done: 0 calls",
        ]
    );
}

#[test]
fn thinking_ends_when_the_answer_begins_whatever_came_between() {
    let mut app = App::working();
    app.turn_event(TurnEvent::Thinking("let me".to_owned()));
    app.receive(AgentEvent::Session(SessionEvent::Notice(
        "by the way".to_owned(),
    )));
    app.turn_event(TurnEvent::Thinking(" see".to_owned()));
    app.after(millis(800));
    app.model_writes("Yes.");
    assert_eq!(
        texts(&app),
        [
            "thought: let me see (Some(800ms))",
            "Warning: by the way",
            "Writing: Yes."
        ]
    );
}

#[test]
fn text_after_a_call_is_another_answer() {
    let mut app = App::working();
    app.model_writes("I look.");
    app.tool("a", "Read")
        .arrives()
        .queued(json!({"file_path": "x"}));
    app.model_writes("Done.");
    assert_eq!(
        texts(&app),
        ["Whole: I look.", "call: Read x", "Writing: Done."]
    );
}

#[test]
fn an_interrupt_says_where_the_answer_was_cut() {
    let mut app = App::working();
    app.model_writes("I was about to");
    app.press("esc");
    app.ends(Ending::Interrupted);
    assert_eq!(texts(&app), ["Cut: I was about to", "Interrupted: 0 calls"]);
}

#[test]
fn a_retry_removes_the_text_of_the_failed_attempt_and_keeps_the_calls_that_ran() {
    let mut app = App::working();
    app.turn_event(TurnEvent::Thinking("hm".to_owned()));
    app.model_writes("half an ans");
    app.tool("ran", "Read")
        .arrives()
        .queued(json!({"file_path": "ran"}))
        .running();
    app.tool("not", "Read")
        .arrives()
        .queued(json!({"file_path": "not"}));
    app.turn_event(TurnEvent::Discarded);
    app.turn_event(TurnEvent::Retrying {
        problem: "overloaded".to_owned(),
        attempt: 1,
        wait: millis(4000),
    });
    let until = app.state.now + millis(4000);
    let stage = Stage::Retrying {
        problem: "overloaded".to_owned(),
        attempt: 1,
        until,
    };
    assert_eq!(app.state.work().map(|work| &work.stage), Some(&stage));
    app.turn_event(TurnEvent::Requested { attempt: 1 });
    app.model_writes("a whole answer");
    assert_eq!(texts(&app), ["call: Read ran", "Writing: a whole answer"]);
    assert_eq!(app.state.panel.calls().len(), 1);
    assert_eq!(
        app.state.work().map(|work| &work.stage),
        Some(&Stage::Running)
    );
}

#[test]
fn another_request_of_the_turn_removes_nothing() {
    let mut app = App::working();
    app.model_writes("first");
    app.turn_event(TurnEvent::Answered {
        message: Message::user(""),
        stop_reason: Some(StopReason::ToolUse),
        usage: Usage::default(),
    });
    app.turn_event(TurnEvent::Requested { attempt: 0 });
    app.model_writes("second");
    assert_eq!(texts(&app), ["Whole: first", "Writing: second"]);
}

#[test]
fn a_turn_with_calls_ends_with_a_summary() {
    let mut app = App::working();
    app.tool("a", "Read").running().completes("x");
    app.turn_event(TurnEvent::Saved(millis(700)));
    app.ends(Ending::Done);
    let last = app.state.transcript.last().map(|entry| &entry.cell);
    let summary = Summary {
        took: millis(1500),
        saved: millis(700),
        calls: 1,
        changed: Changed::default(),
        ending: SummaryEnding::Done,
    };
    assert_eq!(last, Some(&Cell::Summary(summary)));
}

#[test]
fn a_failure_says_what_to_do_about_it() {
    let mut app = App::working();
    app.ends(Ending::Failed {
        problem: "the provider rejected the API key".to_owned(),
        hint: Some("set ANTHROPIC_API_KEY".to_owned()),
    });
    assert_eq!(
        texts(&app),
        [
            "Error: the provider rejected the API key",
            "Hint: set ANTHROPIC_API_KEY"
        ]
    );
}

#[test]
fn usage_is_shown_as_the_agent_counts_it() {
    let mut app = App::working();
    let usage = Usage {
        input_tokens: Some(19_000),
        output_tokens: Some(1_000),
        ..Usage::default()
    };
    let spending = Spending {
        used: usage,
        cost: None,
        context: Some(20_000),
    };
    app.turn_event(TurnEvent::Spent(spending));
    assert_eq!(app.state.session.context_percent(), Some(10));
    assert_eq!(app.state.session.spending, spending);
}

fn request() -> Record {
    Record::Request {
        provider: "builtin".to_owned(),
        model: "builtin".to_owned(),
        attempt: 0,
    }
}

/// A call of `Read` that the model names by `id`.
fn reading(number: u32, id: &str, file: &str) -> Record {
    Record::Call {
        call: ToolCall {
            call: CallRef::main(number),
            id: id.into(),
            name: "Read".to_owned(),
            input: json!({ "file_path": file }).into(),
        },
    }
}

fn read(number: u32, id: &str, lines: &str) -> Record {
    Record::Result {
        call: CallRef::main(number),
        result: ToolResult::text(id.into(), lines),
        ran_ms: 120,
        outcome: CallOutcome::Succeeded,
        for_person: ForPerson::default(),
        changed: Vec::new(),
    }
}

fn delivered(numbers: &[u32]) -> Record {
    Record::Delivered {
        calls: numbers
            .iter()
            .map(|number| CallRef::main(*number))
            .collect(),
        then: Vec::new(),
    }
}

fn prompt(text: &str) -> Record {
    let message = Message::user(text);
    Record::User { message }
}

#[test]
fn a_resumed_conversation_is_shown_again() {
    let app = App::resumed([
        prompt("read it"),
        request(),
        Record::Text {
            text: "I read.".to_owned(),
        },
        reading(1, "a", "src/lib.rs"),
        read(1, "a", "1\n2"),
        delivered(&[1]),
    ]);
    assert_eq!(
        cells(&app),
        ["user: read it", "Whole: I read.", "call: Read src/lib.rs"]
    );
    let (_, call) = app.state.calls.iter().next().expect("the call is there");
    assert!(matches!(call.state, State::Yielded(_)));
    assert!(!app.state.is_working());
}

#[test]
fn calls_of_a_resumed_conversation_keep_their_names() {
    let mut app = App::resumed([
        prompt("read them"),
        request(),
        reading(2, "call_1", "a"),
        reading(3, "call_1", "b"),
        read(2, "call_1", "1\n2"),
        read(3, "call_1", "1"),
        delivered(&[2, 3]),
        request(),
        reading(7, "call_1", "c"),
        read(7, "call_1", "1\n2\n3"),
        delivered(&[7]),
    ]);
    let calls = app.state.calls.iter().map(|(_, call)| match &call.state {
        State::Yielded(completed) => (call.subject(), completed.lines),
        other => panic!("{other:?}"),
    });
    let expected = [("a", 2), ("b", 1), ("c", 3)];
    let expected = expected.map(|(file, lines)| (file.to_owned(), lines));
    assert_eq!(calls.collect::<Vec<_>>(), expected);
    app.press("ctrl+t g j");
    let again = Command::Call(CallRef::main(3), CallCommand::RunAgain);
    assert_eq!(app.commands("r"), [again]);
}

#[test]
fn messages_of_the_person_are_shown_again_and_notes_are_not() {
    let message = Message::from_user(vec![
        Block::aside("Bash(ls)", "a"),
        Block::text("<user-ran> too"),
        Block::by_hooks("late"),
        Block::note(Note::Program, "again"),
    ]);
    let app = App::resumed([prompt("<hook> is what I wrote"), Record::User { message }]);
    assert_eq!(
        cells(&app),
        ["user: <hook> is what I wrote", "user: <user-ran> too"]
    );
}

#[test]
fn the_person_is_notified_only_when_looking_elsewhere() {
    let mut app = App::working();
    assert_eq!(app.ends(Ending::Done), []);
    app.accept_message("next");
    app.update(Msg::Focused(false));
    assert_eq!(app.ends(Ending::Done), [Effect::Notify("done".to_owned())]);

    let mut app = App::working();
    app.update(Msg::Focused(false));
    let request = crate::app::rig::request("a", "Bash");
    let wants = Effect::Notify("Bash wants to run".to_owned());
    assert_eq!(app.asks(request), [wants]);
    let why = "the same call three times".to_owned();
    let paused = app.turn_event(TurnEvent::Paused { why: why.clone() });
    assert_eq!(paused, [Effect::Notify(why)]);
}

#[test]
fn an_idle_screen_sleeps() {
    assert_eq!(App::new().state.wake_at(), None);
    let mut app = App::working();
    assert_eq!(app.state.wake_at(), Some(app.state.now + millis(200)));
    app.ends(Ending::Done);
    app.after(Duration::from_secs(1));
    assert_eq!(app.state.wake_at(), None);
}

#[test]
fn notices_during_the_start_come_after_the_resumed_conversation() {
    let mut app = App::starting();
    app.types("and now?");
    app.press("enter");
    app.receive(AgentEvent::Session(SessionEvent::Opened(opened(past([
        prompt("read it"),
    ])))));
    app.accept_message("and now?");
    app.model_writes("Now this.");
    assert_eq!(
        cells(&app),
        ["user: read it", "user: and now?", "Writing: Now this."]
    );
    let entries = app.state.transcript.entries();
    assert!(entries.is_sorted_by_key(|entry| entry.id));
}

#[test]
fn reopening_a_conversation_continues_its_counts() {
    let mut app = App::working();
    let mut again = opened(Vec::new());
    again.spending = Spending {
        used: Usage {
            input_tokens: Some(20_000),
            ..Usage::default()
        },
        cost: None,
        context: Some(20_000),
    };
    app.turn_event(TurnEvent::Spent(again.spending));
    app.ends(Ending::Done);
    app.types("/model other");
    app.press("enter");
    app.receive(AgentEvent::Session(SessionEvent::Opened(again.clone())));
    assert_eq!(app.state.session.spending, again.spending);
    assert_eq!(app.state.session.context_percent(), Some(10));
    let mut other = opened(Vec::new());
    other.session.0 = "another".to_owned();
    app.receive(AgentEvent::Session(SessionEvent::Opened(other)));
    assert_eq!(app.state.session.spending, Spending::default());
}

#[test]
fn text_of_a_response_that_broke_off_stays_with_what_happened() {
    let mut app = App::working();
    app.model_writes("first");
    app.tool("ran", "Read")
        .arrives()
        .queued(json!({"file_path": "ran"}))
        .running();
    app.model_writes("and the");
    let broke = "The connection broke; what had arrived was kept".to_owned();
    app.turn_event(TurnEvent::Broken(broke));
    app.tool("ran", "Read").completes("text").yielded();
    app.turn_event(TurnEvent::Retrying {
        problem: "the connection broke".to_owned(),
        attempt: 1,
        wait: millis(1000),
    });
    app.turn_event(TurnEvent::Requested { attempt: 1 });
    app.model_writes("the rest");
    assert_eq!(
        texts(&app),
        [
            "Whole: first",
            "call: Read ran",
            "Cut: and the",
            "Warning: The connection broke; what had arrived was kept",
            "Writing: the rest"
        ]
    );
}

#[test]
fn a_call_that_was_cut_off_while_it_was_written_says_so() {
    let mut app = App::working();
    app.tool("ran", "Read").running();
    app.tool("cut", "Read").arrives().writes(r#"{"file"#);
    app.turn_event(TurnEvent::Broken("broke".to_owned()));
    let cut = app.state.calls.find("cut".into()).expect("a call");
    let why = "cut off".to_owned();
    assert_eq!(
        app.state.calls.get(cut).completed().map(|it| &it.outcome),
        Some(&CallOutcome::Skipped { why })
    );
}

#[test]
fn a_stopping_turn_does_not_retry() {
    let mut app = App::working();
    app.press("esc");
    app.turn_event(TurnEvent::Retrying {
        problem: "overloaded".to_owned(),
        attempt: 1,
        wait: millis(4000),
    });
    let stage = app.state.work().map(|work| &work.stage);
    assert_eq!(stage, Some(&Stage::Stopping));
}

#[test]
fn a_branch_that_was_not_known_at_the_start_is_looked_up_after_a_turn() {
    let mut app = App::working();
    assert_eq!(app.ends(Ending::Done), [], "it is known");
    app.state.session.branch = None;
    app.accept_message("again");
    assert_eq!(app.ends(Ending::Done), [Effect::Start(Job::FindBranch)]);
    app.update(Msg::JobDone(JobResult::Branch("main".to_owned())));
    assert_eq!(app.state.session.branch.as_deref(), Some("main"));
}

#[test]
fn a_call_that_ended_with_the_program_says_so_and_names_no_time() {
    let call = CallRef::main(1);
    let app = App::resumed([
        prompt("go"),
        request(),
        reading(1, "a", "one.rs"),
        Record::Begun { call },
        Record::Reached {
            call,
            phase: Phase::Running,
        },
        Record::Notice {
            text: "later".to_owned(),
        },
    ]);
    let key = app.state.calls.find(call).expect("a call");
    let completed = app.state.calls.get(key).completed().expect("a result");
    assert_eq!(completed.outcome, CallOutcome::Cancelled);
    let text = ForPerson::sentence("agent-tui ended while it ran");
    assert_eq!(completed.for_person, text);
    assert_eq!(
        completed.ran,
        Duration::ZERO,
        "nothing was logged meanwhile"
    );
}
