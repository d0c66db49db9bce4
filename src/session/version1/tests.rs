use serde_json::{Value, json};

use super::Converter;
use crate::protocol::{
    AgentEvent, AgentId, Block, CallEvent, CallOutcome, CallRef, Ending, Message, Note,
    SessionEvent, ToolResult, TurnEvent,
};
use crate::session::events::recall;
use crate::session::record::{Line, Record, VERSION};
use crate::session::{History, log};

/// A session of version 1: a turn with calls that share an id, a command of the person, and another run in which such
/// a command and a turn were interrupted.
const OLD: &str = include_str!("../../../tests/fixtures/sessions/version1.jsonl");

fn person(number: u32) -> CallRef {
    CallRef {
        agent: AgentId::PERSON,
        number,
    }
}

fn lines(text: &str) -> Vec<Line> {
    let contents = log::read(text.as_bytes());
    assert_eq!((contents.skipped, contents.cut_off), (0, 0));
    contents.lines
}

fn user(text: &str) -> Value {
    let content = json!([{"type": "text", "text": text}]);
    json!({"kind": "user", "message": {"role": "user", "content": content}})
}

fn run(version: u32) -> Value {
    json!({"kind": "run", "provider": "p", "model": "m", "version": version})
}

/// The lines of a log with these records.
fn read(records: &[Value]) -> Vec<Line> {
    let mut text = String::new();
    for (seq, record) in records.iter().enumerate() {
        let mut line = record.clone();
        line["seq"] = json!(seq);
        line["at_ms"] = json!(0);
        text += &line.to_string();
        text += "\n";
    }
    lines(&text)
}

#[test]
fn calls_get_references_and_results_match_them() {
    let history = History::of(&lines(OLD), AgentId::MAIN);
    let names = [1, 2, 3, 4].map(|number| history.call(CallRef::main(number)));
    let tools = names.map(|call| call.expect("known").name.as_str());
    assert_eq!(tools, ["Read", "Bash", "Edit", "Bash"]);
    assert_eq!((history.last_call(), history.last_aside()), (4, 2));
    let results = history.messages().iter();
    let results: Vec<String> = results
        .flat_map(Message::tool_results)
        .map(|result| {
            result
                .as_text()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(results[0], "     1\tone");
    assert_eq!(results[1], "Exit code 3");
    assert!(results[2].starts_with("The file /w/a.txt has been updated"));
    assert!(results[3].contains("agent-tui ended while Bash ran"));
    assert_eq!(history.cut_off().len(), 1);
    assert_eq!(history.asides(), [], "the model was told with a message");
}

/// All events, except texts and what only the first turn has.
#[test]
fn an_old_log_gives_the_same_events_as_a_new_one() {
    let events = recall(lines(OLD), |_| None).events;
    let mut completed = Vec::new();
    let (mut endings, mut runs) = (Vec::new(), 0);
    for events in events {
        match events.event {
            AgentEvent::Call {
                call,
                event: CallEvent::Completed { outcome, .. },
                ..
            } => completed.push((call, outcome)),
            AgentEvent::Turn(turn, TurnEvent::Finished(summary)) => {
                endings.push((
                    turn.number,
                    summary.ending,
                    summary.text,
                    summary.took.as_millis(),
                ));
            }
            AgentEvent::Session(SessionEvent::RunBegan { .. }) => runs += 1,
            AgentEvent::Session(_) | AgentEvent::Turn(..) | AgentEvent::Call { .. } => {}
        }
    }
    let expected = [
        (CallRef::main(1), CallOutcome::Succeeded),
        (CallRef::main(2), CallOutcome::Failed),
        (CallRef::main(3), CallOutcome::Succeeded),
        (person(1), CallOutcome::Succeeded),
        (CallRef::main(4), CallOutcome::Cancelled),
    ];
    assert_eq!(completed, expected);
    assert_eq!(endings, [(1, Ending::Done, "Done.".to_owned(), 4)]);
    assert_eq!(runs, 2);
}

#[test]
fn a_resumed_old_log_has_lines_of_both_versions() {
    let call = json!({"call": "1.5", "id": "call_1", "name": "Read", "input": {}});
    let result = json!({"tool_use_id": "call_1", "content": "new"});
    let mut text = OLD.to_owned();
    let new = [
        run(2),
        user("go on"),
        json!({"kind": "request", "provider": "p", "model": "m", "attempt": 0}),
        json!({"kind": "call", "call": call}),
        json!({"kind": "begun", "call": "1.5"}),
        json!({"kind": "result", "call": "1.5", "result": result, "ran_ms": 3, "outcome": "succeeded"}),
        json!({"kind": "delivered", "calls": ["1.5"], "then": []}),
    ];
    for (seq, record) in (40..).zip(new) {
        let mut line = record;
        line["seq"] = json!(seq);
        line["at_ms"] = json!(1_735_000_040_000_u64 + seq);
        text += &line.to_string();
        text += "\n";
    }
    let history = History::of(&lines(&text), AgentId::MAIN);
    let last = history.messages().last().expect("messages");
    let results: Vec<String> = last.tool_results().map(ToolResult::as_text).collect();
    assert_eq!(results, ["new"]);
    assert_eq!((history.last_call(), history.cut_off().len()), (5, 1));
}

#[test]
fn a_copy_of_an_old_log_is_read_in_the_current_format() {
    let before = lines(OLD);
    let mut copy = String::new();
    for line in &before {
        copy += &serde_json::to_string(line).expect("JSON");
        copy += "\n";
    }
    let mut after = lines(&copy);
    // Only the first line keeps the version in which the log was begun.
    let first = Record::Session {
        version: 1,
        id: crate::protocol::SessionId("20250102-030405-abcdef".into()),
        cwd: "/w".into(),
        forked_from: None,
    };
    assert_eq!(after[0].record, first);
    assert!(matches!(
        after[1].record,
        Record::Run {
            version: VERSION,
            ..
        }
    ));
    after[0] = before[0].clone();
    assert_eq!(after, before);
}

fn notes(lines: &[Line]) -> Vec<Option<Note>> {
    let texts = lines.iter().flat_map(|line| match &line.record {
        Record::User { message } => message.content.clone(),
        Record::Delivered { then, .. } => then.clone(),
        _ => Vec::new(),
    });
    texts
        .filter_map(|block| match block {
            Block::Text { note, .. } => Some(note),
            _ => None,
        })
        .collect()
}

#[test]
fn notes_of_version_1_are_recognised_by_their_beginning() {
    let hook = json!([{"type": "text", "text": "<hook>\nlate\n</hook>"}]);
    let read = read(&[
        json!({"kind": "session", "version": 1, "id": "s", "cwd": "/w"}),
        json!({"kind": "run", "provider": "p", "model": "m"}),
        user("hello"),
        user("<user-ran>\nls\n</user-ran>"),
        json!({"kind": "delivered", "calls": [], "then": hook}),
    ]);
    assert_eq!(notes(&read), [None, Some(Note::Aside), Some(Note::Hooks)]);
}

#[test]
fn in_a_resumed_old_log_the_texts_of_the_person_are_not_mistaken_for_notes() {
    let old = read(&[
        json!({"kind": "session", "version": 1, "id": "s", "cwd": "/w"}),
        json!({"kind": "run", "provider": "p", "model": "m"}),
        user("<hook>\nlate\n</hook>"),
        run(2),
        user("<hook> is what I wrote"),
    ]);
    assert_eq!(notes(&old), [Some(Note::Hooks), None]);
    let new = read(&[
        json!({"kind": "session", "version": 2, "id": "s", "cwd": "/w"}),
        user("<hook> is what I wrote"),
    ]);
    assert_eq!(notes(&new), [None]);
}

#[test]
fn the_tag_of_an_error_is_removed_from_its_text() {
    let call = |id: &str| json!({"kind": "call", "call": {"id": id, "name": "Bash", "input": {}}});
    let result = |id: &str, is_error: bool| {
        let content = "<tool_use_error>no</tool_use_error>";
        json!({"tool_use_id": id, "content": content, "is_error": is_error})
    };
    let old = |id: &str, is_error| json!({"kind": "result", "result": result(id, is_error)});
    let new = json!({
        "kind": "result",
        "call": "1.2",
        "result": result("b", true),
        "ran_ms": 1,
        "outcome": "failed",
    });
    let aside = json!({"id": "person_1", "name": "Bash", "input": {}});
    let lines = read(&[
        run(1),
        call("a"),
        call("b"),
        old("a", true),
        old("b", false),
        json!({"kind": "aside", "call": aside, "result": result("person_1", true)}),
        run(2),
        new,
    ]);
    let texts = lines.iter().filter_map(|line| match &line.record {
        Record::Result { result, .. } => Some(result.as_text()),
        _ => None,
    });
    let tagged = "<tool_use_error>no</tool_use_error>";
    assert_eq!(texts.collect::<Vec<_>>(), ["no", tagged, "no", tagged]);
}

#[test]
fn a_log_without_its_beginning_is_read_by_the_form_of_its_lines() {
    let mut converter = Converter::default();
    let mut read = |line: Value| {
        let mut line = line;
        line["seq"] = json!(1);
        line["at_ms"] = json!(1);
        converter.read(line.to_string().as_bytes())
    };
    let new = json!({"call": "1.8", "id": "a", "name": "Read", "input": {}});
    assert!(read(json!({"kind": "call", "call": new})).is_some());
    let (_, begun) = read(json!({"kind": "begun", "call": "1.8"})).expect("a record");
    let call = CallRef::main(8);
    assert_eq!(begun[0].record, Record::Begun { call });
    let old = json!({"id": "toolu_1", "name": "Read", "input": {}});
    let (_, called) = read(json!({"kind": "call", "call": old})).expect("a record");
    assert!(matches!(&called[0].record, Record::Call { call } if call.call == CallRef::main(9)));
    assert_eq!(read(json!({"kind": "from_the_future"})), None);
}
