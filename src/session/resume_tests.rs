//! A log may end at any record; the resulting conversation can always be sent, and no result is missing.

use serde_json::json;

use super::record::Line;
use super::unfinished::Progress;
use super::{History, Record, repair};
use crate::protocol::{
    AgentId, Block, CallOutcome, CallRef, ForPerson, Message, Origin, Phase, Seq, SessionId,
    StopReason, ToolCall, ToolResult, ToolUse, Usage,
};

fn origin() -> Origin {
    Origin {
        provider: "script".into(),
        model: "m".into(),
    }
}

fn user(text: &str) -> Record {
    let message = Message::user(text);
    Record::User { message }
}

fn request(attempt: u32) -> Record {
    let Origin { provider, model } = origin();
    Record::Request {
        provider,
        model,
        attempt,
    }
}

fn prompt(text: &str) -> Record {
    Record::Text { text: text.into() }
}

fn called(id: &str) -> Record {
    let call = tool_call(id.into(), id);
    Record::Call { call }
}

/// A call with the id that the model gave it.
fn tool_call(call: CallRef, id: &str) -> ToolCall {
    ToolCall {
        call,
        id: id.into(),
        name: "Read".into(),
        input: json!({"file_path": id}).into(),
    }
}

fn line(agent: AgentId, record: &Record) -> Line {
    Line {
        seq: Seq(0),
        at_ms: 0,
        agent,
        record: record.clone(),
    }
}

fn history(records: &[Record]) -> History {
    let lines: Vec<Line> = records.iter().map(|it| line(AgentId::MAIN, it)).collect();
    History::of(&lines, AgentId::MAIN)
}

fn messages(records: &[Record]) -> Vec<Message> {
    history(records).messages().to_vec()
}

fn begun(id: &str) -> Record {
    Record::Begun { call: id.into() }
}

fn finished(id: &str) -> Record {
    Record::Result {
        call: id.into(),
        result: result(id),
        ran_ms: 1,
        outcome: CallOutcome::Succeeded,
        for_person: ForPerson::default(),
        changed: Vec::new(),
    }
}

fn result(id: &str) -> ToolResult {
    ToolResult::text(id.into(), format!("content of {id}"))
}

fn call(id: &str) -> Block {
    Block::ToolUse(ToolUse {
        id: id.into(),
        name: "Read".into(),
        input: json!({"file_path": id}).into(),
        input_raw: None,
        input_error: None,
    })
}

fn answer(blocks: &[Block]) -> Message {
    Message::from_assistant(blocks.to_vec(), origin())
}

fn answered(blocks: &[Block]) -> Record {
    Record::Assistant {
        message: answer(blocks),
        stop_reason: Some(StopReason::EndTurn),
        usage: Usage::default(),
    }
}

fn delivered(ids: &[&str], then: &[Block]) -> Record {
    Record::Delivered {
        calls: ids.iter().map(|id| CallRef::from(*id)).collect(),
        then: then.to_vec(),
    }
}

fn over() -> Record {
    Record::End {
        ending: "success".into(),
        problem: None,
        hint: None,
        took_ms: 1,
        responses: 1,
        usage: Usage::default(),
        cost: None,
    }
}

fn results(ids: &[&str]) -> Message {
    let blocks = ids.iter().map(|id| Block::ToolResult(result(id)));
    Message::from_user(blocks.collect())
}

/// Two exchanges with everything that can happen in them, and a restart of the program between them.
fn session() -> Vec<Record> {
    let text = Block::text;
    let thought = Block::Thinking {
        thinking: "hm".into(),
        signature: Some("s".into()),
        item: None,
    };
    let run = Record::Run {
        version: 2,
        provider: "script".into(),
        model: "m".into(),
        branch: None,
    };
    vec![
        Record::Session {
            version: 2,
            id: SessionId("s".into()),
            cwd: "/w".into(),
            forked_from: None,
        },
        run.clone(),
        user("begin"),
        request(0),
        Record::Thinking { text: "hm".into() },
        Record::Block {
            block: thought.clone(),
            call: None,
        },
        prompt("I read "),
        prompt("two."),
        called("a"),
        begun("a"),
        called("b"),
        begun("b"),
        Record::Decision {
            call: "a".into(),
            decision: "allow".into(),
            reason: "reading".into(),
            cause: "the tool's default".into(),
            by: "allowed".into(),
            settled: true,
            note: None,
        },
        finished("b"),
        Record::Change {
            call: "a".into(),
            path: "/w/a".into(),
            before: None,
            after: "0".into(),
        },
        finished("a"),
        answered(&[thought, text("I read two."), call("a"), call("b")]),
        delivered(&["a", "b"], &[text("do something else")]),
        request(0),
        prompt("Broken off before a call"),
        request(1),
        prompt("And "),
        called("c"),
        begun("c"),
        finished("c"),
        answered(&[text("And "), call("c")]),
        delivered(&["c"], &[]),
        user("be quick"),
        request(0),
        prompt("A pause."),
        answered(&[text("A pause.")]),
        request(0),
        prompt("Done."),
        answered(&[text("Done.")]),
        over(),
        run,
        user("once more"),
        Record::Repaired { what: Vec::new() },
        request(0),
        called("d"),
        called("e"),
        begun("d"),
        finished("d"),
        finished("e"),
        answered(&[call("d"), call("e")]),
        delivered(&["d", "e"], &[]),
        over(),
        user("and that is it"),
    ]
}

#[test]
fn a_complete_session_gives_the_original_conversation() {
    let text = Block::text;
    let thought = Block::Thinking {
        thinking: "hm".into(),
        signature: Some("s".into()),
        item: None,
    };
    let mut after_two = results(&["a", "b"]);
    after_two.content.push(text("do something else"));
    // The repair has joined adjacent messages.
    let mut and_quick = results(&["c"]);
    and_quick.content.push(text("be quick"));
    let expected = [
        Message::user("begin"),
        answer(&[thought, text("I read two."), call("a"), call("b")]),
        after_two,
        answer(&[text("And "), call("c")]),
        and_quick,
        answer(&[text("A pause."), text("Done.")]),
        Message::user("once more"),
        answer(&[call("d"), call("e")]),
        results(&["d", "e"]),
        Message::user("and that is it"),
    ];
    let history = history(&session());
    assert_eq!(**history.messages(), expected);
    for id in ["a", "b", "c", "d", "e"] {
        let call = tool_call(id.into(), id);
        assert_eq!(history.call(id.into()), Some(&call));
    }
    assert_eq!(history.cut_off(), []);
    assert_eq!(history.workspace(), Some(&"/w".into()));
    assert_eq!(history.turn(), 3);
}

#[test]
fn wherever_the_log_ends_no_result_is_lost_and_only_a_pause_needs_a_repair() {
    let records = session();
    for end in 0..=records.len() {
        let records = &records[..end];
        let mut messages = messages(records);
        messages.push(Message::user("go on"));
        let problems = repair::repair(&mut messages);
        assert!(
            problems.is_empty() || problems == ["joined two answers in a row"],
            "after {end}: {problems:?}"
        );
        assert_no_result_is_lost(records, &messages, end);
    }
}

#[test]
fn the_rest_can_be_sent_whichever_line_is_missing() {
    for missing in 0..session().len() {
        let mut records = session();
        records.remove(missing);
        let mut messages = messages(&records);
        messages.push(Message::user("go on"));
        repair::repair(&mut messages);
        assert!(repair::is_sound(&messages), "without {missing}");
    }
}

fn assert_no_result_is_lost(records: &[Record], messages: &[Message], end: usize) {
    let kept: Vec<&ToolResult> = messages.iter().flat_map(Message::tool_results).collect();
    for record in records {
        match record {
            Record::Result { result, .. } => {
                assert!(kept.contains(&result), "after {end}: {result:?}");
            }
            Record::User { message } => {
                let block = &message.content[0];
                assert!(messages.iter().any(|m| m.content.contains(block)));
            }
            _ => {}
        }
    }
}

#[test]
fn an_interrupted_call_gets_a_result_with_what_is_known_about_it() {
    let records = [
        user("begin"),
        request(0),
        prompt("Two."),
        called("a"),
        called("b"),
        called("c"),
        begun("a"),
        begun("b"),
        reached("b", Phase::Running),
        finished("a"),
    ];
    let error_result = |id: &str, text: &str| Block::ToolResult(ToolResult::error(id.into(), text));
    let expected = [
        Message::user("begin"),
        answer(&[Block::text("Two."), call("a"), call("b"), call("c")]),
        Message::from_user(vec![
            Block::ToolResult(result("a")),
            error_result(
                "b",
                "Interrupted: agent-tui ended while Read ran. It may have had effects; it was not run again",
            ),
            error_result(
                "c",
                "Interrupted: agent-tui ended before Read was started. It was not run",
            ),
        ]),
    ];
    let history = history(&records);
    assert_eq!(**history.messages(), expected);
    let cut_off: Vec<CallRef> = history.cut_off().iter().map(|it| it.call).collect();
    assert_eq!(cut_off, ["b".into(), "c".into()]);
}

#[test]
fn an_answer_that_was_requested_again_occurs_once() {
    let records = [
        user("begin"),
        request(0),
        prompt("Hel"),
        request(1),
        prompt("Hello"),
        answered(&[Block::text("Hello")]),
        over(),
    ];
    assert_eq!(
        messages(&records),
        [Message::user("begin"), answer(&[Block::text("Hello")])]
    );
}

#[test]
fn an_answer_that_paused_is_kept_when_a_request_follows_it() {
    let paused = answered(&[Block::text("searching")]);
    let records = [user("begin"), request(0), paused, request(0)];
    assert_eq!(
        messages(&records),
        [Message::user("begin"), answer(&[Block::text("searching")])]
    );
}

#[test]
fn a_reused_id_is_a_new_call() {
    let records = [
        user("begin"),
        request(0),
        called("a"),
        begun("a"),
        finished("a"),
        answered(&[call("a")]),
        delivered(&["a"], &[]),
        request(0),
        Record::Call {
            call: tool_call("again".into(), "a"),
        },
    ];
    let messages = messages(&records);
    let results: Vec<String> = messages
        .iter()
        .flat_map(Message::tool_results)
        .map(ToolResult::as_text)
        .collect();
    assert_eq!(results[0], "content of a");
    assert!(results[1].contains("It was not run"), "{results:?}");
}

#[test]
fn several_conversations_share_a_log_and_do_not_disturb_each_other() {
    let other = AgentId(7);
    // Runs of the program concern all conversations.
    let is_run = |record: &Record| matches!(record, Record::Run { .. });
    let records: Vec<Record> = session().into_iter().filter(|it| !is_run(it)).collect();
    // The other conversation is always one record behind.
    let mut lines = Vec::new();
    for (at, record) in records.iter().enumerate() {
        lines.push(line(AgentId::MAIN, record));
        lines.extend(at.checked_sub(1).map(|at| line(other, &records[at])));
    }
    let main = History::of(&lines, AgentId::MAIN);
    assert_eq!(main, history(&records));
    let behind = History::of(&lines, other);
    assert_eq!(behind, history(&records[..records.len() - 1]));
}

fn reached(id: &str, phase: Phase) -> Record {
    let call = id.into();
    Record::Reached { call, phase }
}

fn run() -> Record {
    Record::Run {
        version: 2,
        provider: "script".into(),
        model: "m".into(),
        branch: None,
    }
}

/// A read that has its result, a call that waits for permission, and one behind it. The program is killed, and continues.
fn killed_while_asking() -> Vec<Record> {
    let calls = ["a", "b", "c"].map(CallRef::from);
    vec![
        user("go"),
        request(0),
        prompt("I look."),
        called("a"),
        begun("a"),
        finished("a"),
        called("b"),
        begun("b"),
        reached("b", Phase::WaitingForApproval),
        called("c"),
        run(),
        Record::Reopened {
            calls: calls[1..].to_vec(),
        },
        begun("b"),
        reached("b", Phase::WaitingForApproval),
        Record::Answered { call: calls[1] },
        reached("b", Phase::Running),
        finished("b"),
        begun("c"),
        finished("c"),
        answered(&[Block::text("I look."), call("a"), call("b"), call("c")]),
        delivered(&["a", "b", "c"], &[]),
        request(0),
        prompt("Done."),
        answered(&[Block::text("Done.")]),
        over(),
    ]
}

#[test]
fn a_turn_that_waited_for_the_person_continues_as_if_nothing_had_happened() {
    let records = killed_while_asking();
    for length in 0..=records.len() {
        let messages = messages(&records[..length]);
        assert!(repair::is_sound(&messages), "{length}: {messages:?}");
    }
    let calls = [Block::text("I look."), call("a"), call("b"), call("c")];
    assert_eq!(
        messages(&records),
        [
            Message::user("go"),
            answer(&calls),
            results(&["a", "b", "c"]),
            answer(&[Block::text("Done.")]),
        ]
    );
    let whole = history(&records);
    assert_eq!((whole.turn(), whole.cut_off()), (1, &[][..]));
}

#[test]
fn only_a_question_without_an_answer_is_open() {
    let records = killed_while_asking();
    let open = |length: usize| {
        let history = history(&records[..length]);
        let unfinished = history.unfinished().filter(|it| it.may_ask())?;
        Some(unfinished.open.clone())
    };
    let waiting = (CallRef::from("b"), Progress::Waiting { ran: false });
    assert_eq!(open(9), Some(vec![waiting]));
    let behind = (CallRef::from("c"), Progress::Queued);
    assert_eq!(open(10), Some(vec![waiting, behind]));
    assert_eq!(open(11), open(10), "the next run has begun");
    assert_eq!(open(14), open(10), "killed again");
    let starting = (CallRef::from("b"), Progress::Starting);
    assert_eq!(open(8), Some(vec![starting]), "about to be asked");
    for (length, what) in [
        (7, "not begun"),
        (15, "answered"),
        (16, "runs"),
        (17, "ran"),
    ] {
        assert_eq!(open(length), None, "{what}");
    }
    let mut later = records[..10].to_vec();
    later.push(user("something else"));
    assert_eq!(history(&later).unfinished(), None);
}
