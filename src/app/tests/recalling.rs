//! A resumed session looks as it did before: for any records, applying them one by one and recalling them gives the
//! same state.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use proptest::prop_assert_eq;
use proptest::test_runner::FileFailurePersistence;
use serde_json::json;

use crate::app::rig::{App, opened, seen};
use crate::app::transcript::{Cell, Entry};
use crate::app::{Effect, Msg, update};
use crate::protocol::{
    AgentEvent, AgentId, AnswerNote, BackgroundEnd, CallOutcome, CallRef, Envelope, ForPerson,
    LeftOut, Message, Mode, Phase, Recorded, Seq, SessionEvent, Shown, ToolCall, ToolResult, Usage,
};
use crate::session::events::{self, recall};
use crate::session::record::{Changed, Line};
use crate::session::{History, Record};

pub(super) fn calls() -> impl Strategy<Value = CallRef> {
    let person = |number| CallRef {
        agent: AgentId::PERSON,
        number,
    };
    prop_oneof![
        3 => (1..4_u32).prop_map(CallRef::main),
        1 => (1..3_u32).prop_map(person),
    ]
}

pub(super) fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a word\n".to_owned()),
        Just(String::new()),
        "[a-c \n]{0,6}"
    ]
}

fn outcomes() -> impl Strategy<Value = CallOutcome> {
    prop_oneof![
        Just(CallOutcome::Succeeded),
        Just(CallOutcome::Failed),
        Just(CallOutcome::Denied),
        texts().prop_map(|why| CallOutcome::Skipped { why }),
        Just(CallOutcome::Cancelled),
        Just(CallOutcome::ByHand),
        Just(CallOutcome::Backgrounded),
    ]
}

fn notes() -> impl Strategy<Value = Option<AnswerNote>> {
    let notes = prop_oneof![
        texts().prop_map(|rule| AnswerNote::ForSession { rule }),
        (texts(), texts()).prop_map(|(rule, file)| AnswerNote::Saved { rule, file }),
        (1..3_usize).prop_map(|count| AnswerNote::LeftOut(LeftOut { count, of: 3 })),
    ];
    prop::option::of(notes)
}

pub(super) fn of_calls() -> impl Strategy<Value = Record> {
    let phases = [Phase::WaitingForApproval, Phase::Running];
    prop_oneof![
        calls().prop_map(|call| Record::Arriving {
            call,
            tool: "Read".to_owned()
        }),
        (calls(), texts()).prop_map(|(call, file)| Record::Call {
            call: ToolCall {
                call,
                id: "call_1".into(),
                name: "Read".to_owned(),
                input: json!({ "file_path": file }).into(),
            }
        }),
        calls().prop_map(|call| Record::Begun { call }),
        (calls(), prop::sample::select(phases.to_vec()))
            .prop_map(|(call, phase)| Record::Reached { call, phase }),
        (calls(), texts()).prop_map(|(call, by)| Record::Rewritten {
            call,
            input: json!({ "file_path": "other" }).into(),
            by
        }),
        (calls(), texts(), any::<bool>(), notes()).prop_map(|(call, by, settled, note)| {
            Record::Decision {
                call,
                decision: "ask".to_owned(),
                reason: String::new(),
                cause: String::new(),
                by,
                settled,
                note,
            }
        }),
        (calls(), texts(), outcomes(), 0..5_000_u64, any::<bool>()).prop_map(
            |(call, text, outcome, ran_ms, changes)| {
                let change = Changed {
                    path: "a".to_owned(),
                    before: None,
                    after: None,
                    added: 1,
                    removed: 2,
                };
                Record::Result {
                    call,
                    result: ToolResult::text("call_1".into(), text),
                    ran_ms,
                    outcome,
                    for_person: ForPerson::default(),
                    changed: changes.then_some(change).into_iter().collect(),
                }
            }
        ),
        (calls(), 0..3_i32).prop_map(|(call, code)| Record::BackgroundEnded {
            call,
            how: BackgroundEnd::Exited(code),
        }),
        prop::collection::vec(calls(), 0..3).prop_map(|calls| Record::Delivered {
            calls,
            then: Vec::new()
        }),
    ]
}

pub(super) fn of_turns() -> impl Strategy<Value = Record> {
    let endings = ["success", "interrupted", "error_max_turns", "else"];
    prop_oneof![
        3 => texts().prop_map(|text| Record::User { message: Message::user(text) }),
        1 => Just(Record::Refused),
        3 => (0..2_u32).prop_map(|attempt| Record::Request {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            attempt,
        }),
        1 => (texts(), 0..9_000_u64).prop_map(|(problem, wait_ms)| Record::Retry {
            problem,
            attempt: 1,
            wait_ms,
        }),
        4 => texts().prop_map(|text| Record::Text { text }),
        3 => texts().prop_map(|text| Record::Thinking { text }),
        1 => Just(Record::Streamed),
        2 => texts().prop_map(|text| Record::Assistant {
            message: Message::user(text),
            stop_reason: None,
            usage: Usage::default(),
        }),
        1 => Just(Record::Discarded),
        1 => texts().prop_map(|text| Record::Broken { text }),
        1 => (0..500_u64).prop_map(|saved_ms| Record::Saved { saved_ms }),
        1 => texts().prop_map(|why| Record::Paused { why }),
        1 => Just(Record::Continued),
        2 => (prop::sample::select(endings.to_vec()), 0..5_000_u64).prop_map(|(ending, took_ms)| {
            Record::End {
                ending: ending.to_owned(),
                problem: None,
                hint: None,
                took_ms,
                responses: 1,
                usage: Usage::default(),
                cost: None,
            }
        }),
    ]
}

pub(super) fn of_the_session() -> impl Strategy<Value = Record> {
    prop_oneof![
        texts().prop_map(|text| Record::Notice { text }),
        texts().prop_map(|text| Record::Reply { text }),
        Just(Record::Mode { mode: Mode::Plan }),
        texts().prop_map(|title| Record::Renamed { title }),
        prop_oneof![Just(run("m")), Just(run("n"))],
    ]
}

pub(super) fn run(model: &str) -> Record {
    Record::Run {
        version: 2,
        provider: "p".to_owned(),
        model: model.to_owned(),
        branch: None,
    }
}

/// Records, each with its delay in milliseconds after the previous one.
fn sessions() -> impl Strategy<Value = Vec<(Record, u64)>> {
    let records = prop_oneof![4 => of_turns(), 5 => of_calls(), 1 => of_the_session()];
    prop::collection::vec((records, 0..900_u64), 0..60)
}

fn lines(records: Vec<(Record, u64)>) -> Vec<Line> {
    let mut at_ms = 1_700_000_000_000;
    let lines = (0..).zip(records).map(|(seq, (record, after))| {
        at_ms += after;
        Line {
            seq: Seq(seq),
            at_ms,
            agent: AgentId::MAIN,
            record,
        }
    });
    lines.collect()
}

/// Applies each record shortly after it is written, with a varying delay.
pub(super) fn live(lines: &[Line]) -> App {
    let mut app = App::new();
    let began = app.state.now;
    let first = lines.first().map_or(0, |line| line.at_ms);
    let mut histories: BTreeMap<AgentId, History> = BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        let late = 3 + (number as u64 * 7) % 30;
        app.state.now = began + Duration::from_millis(line.at_ms - first + late);
        if let Record::Run { .. } = line.record {
            // The program that ran the subagents is gone.
            let subagents = histories
                .iter_mut()
                .filter(|(agent, _)| agent.is_subagent());
            for (_, history) in subagents {
                for event in events::end(history) {
                    receive(&mut app, line, event);
                }
            }
        }
        let history = histories.entry(line.agent).or_default();
        take(&mut app, history, line);
        // What a person would do.
        app.state.dialogs.clear();
    }
    app
}

fn take(app: &mut App, history: &mut History, line: &Line) {
    let (agent, record) = (line.agent, line.record.clone());
    for event in events::take(record, history, agent, Duration::ZERO, Shown::Nothing) {
        receive(app, line, event);
    }
}

pub(super) fn receive(app: &mut App, line: &Line, event: AgentEvent) {
    let record = Some(Recorded {
        seq: line.seq,
        at_ms: line.at_ms,
    });
    update(&mut app.state, Msg::Agent(Envelope { record, event }));
}

pub(super) fn recalled(lines: Vec<Line>) -> App {
    let mut app = App::starting();
    let models = lines.iter().rev().filter_map(|line| match &line.record {
        Record::Run { model, .. } => Some(model.clone()),
        _ => None,
    });
    let model = models.into_iter().next();
    let mut opened = opened(recall(lines, |_| None).events);
    opened.model = model.unwrap_or(opened.model);
    app.receive(AgentEvent::Session(SessionEvent::Opened(opened)));
    app
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 512,
        // Earlier failures are saved next to this file.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn for_any_records_the_resumed_state_equals_the_one_that_was_left(mut records in sessions()) {
        // The run is over when the session is resumed.
        records.push((run("m"), 5));
        let lines = lines(records);
        let live = live(&lines);
        let mut recalled = recalled(lines);
        prop_assert_eq!(recalled.state.session.mode, Mode::Default);
        prop_assert_eq!(recalled.state.dialogs.len(), 0);
        recalled.state.session.mode = live.state.session.mode;
        prop_assert_eq!(seen(&recalled.state), seen(&live.state));
    }
}

#[test]
fn a_conversation_shows_where_the_model_was_switched() {
    let notices = |app: &App| -> Vec<String> {
        let entries = app.state.transcript.entries().iter();
        let texts = entries.filter_map(|entry| match &entry.cell {
            Cell::Notice { text, .. } => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    };
    let message = Message::user("go");
    let records = vec![
        (run("small"), 1),
        (Record::User { message }, 1),
        (run("small"), 1),
        (run("large"), 1),
    ];
    let expected = ["switched to large (p)"];
    assert_eq!(notices(&recalled(lines(records.clone()))), expected);
    // The run that has just begun is in the log, but not among the past that it is opened with.
    let mut opened = opened(recall(lines(records[..3].to_vec()), |_| None).events);
    opened.provider = "p".to_owned();
    opened.model = "large".to_owned();
    let mut app = App::typed("/model large");
    app.press("enter");
    app.receive(AgentEvent::Session(SessionEvent::Opened(opened)));
    assert_eq!(notices(&app), expected);
    let flash = app.state.flash.as_ref().map(|flash| flash.text.as_str());
    assert_eq!(flash, Some("using large (p)"));
    app.types("/model large");
    let effects = app.press("enter");
    let opens = |effect: &Effect| matches!(effect, Effect::Open(_));
    assert!(!effects.iter().any(opens), "{effects:?}");
}

#[test]
fn past_events_only_change_what_is_shown() {
    let limit = Record::Paused {
        why: "a limit".to_owned(),
    };
    let message = Message::user("go");
    let records = [Record::User { message }, limit];
    let mut app = App::starting();
    app.update(Msg::Focused(false));
    let records = records.into_iter().map(|record| (record, 1)).collect();
    let past = recall(lines(records), |_| None).events;
    let opened = AgentEvent::Session(SessionEvent::Opened(opened(past)));
    assert_eq!(app.receive(opened), []);
    assert!(app.state.dialogs.is_empty());
    assert!(!app.state.is_working());
    assert_eq!(app.state.wake_at(), None);
}

#[test]
fn cells_know_the_records_that_created_them() {
    let mut app = App::typed("hello");
    app.press("enter");
    let seqs = |app: &App| -> Vec<Option<Seq>> {
        let entries = app.state.transcript.entries().iter();
        let made = entries.filter(|entry: &&Entry| entry.cell != Cell::Welcome);
        made.map(|entry| entry.seq).collect()
    };
    assert_eq!(seqs(&app), [None], "it is not in the log yet");
    let message = Message::user("hello");
    let text = "Hi.".to_owned();
    let request = Record::Request {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        attempt: 0,
    };
    let records = [Record::User { message }, request, Record::Text { text }];
    let lines = lines(records.map(|record| (record, 1)).to_vec());
    let mut history = History::default();
    for line in &lines {
        take(&mut app, &mut history, line);
    }
    assert_eq!(seqs(&app), [Some(Seq(0)), Some(Seq(2))]);
    assert_eq!(seqs(&recalled(lines)), [Some(Seq(0)), Some(Seq(2))]);
}

#[test]
fn times_are_those_of_the_records_however_late_the_events_arrive() {
    let thought = |text: &str| Record::Thinking {
        text: text.to_owned(),
    };
    let message = Message::user("think");
    let text = "so".to_owned();
    let request = Record::Request {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        attempt: 0,
    };
    let records = [
        (Record::User { message }, 0),
        (request, 10),
        (thought("h"), 100),
        (thought("m"), 1_000),
        (Record::Text { text }, 234),
    ];
    let lines = lines(records.to_vec());
    let took = |app: &App| {
        let mut entries = app.state.transcript.entries().iter();
        entries.find_map(|entry| match entry.cell {
            Cell::Thinking { took, .. } => took,
            _ => None,
        })
    };
    let expected = Some(Duration::from_millis(1_234));
    assert_eq!(took(&live(&lines)), expected);
    assert_eq!(took(&recalled(lines)), expected);
}

#[test]
fn a_changed_clock_causes_no_times_in_the_future() {
    let mut app = App::new();
    let line = |seq: u64, at_ms: u64| Line {
        seq: Seq(seq),
        at_ms,
        agent: AgentId::MAIN,
        record: Record::Discarded,
    };
    let notice = || AgentEvent::Session(SessionEvent::Notice("n".to_owned()));
    receive(&mut app, &line(0, 1_000), notice());
    let far = line(1, 100_000_000);
    receive(&mut app, &far, notice());
    let latest: Instant = app.state.now + Duration::from_secs(1);
    assert!(app.state.moment <= latest);
}

#[test]
fn saved_rules_are_shown_after_resuming() {
    let (call, text) = (CallRef::main(1), String::new);
    let note = AnswerNote::Saved {
        rule: "Bash(touch x.txt)".to_owned(),
        file: ".agent-tui/settings.local.json".to_owned(),
    };
    let request = Record::Request {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        attempt: 0,
    };
    let decision = Record::Decision {
        call,
        decision: "allow".to_owned(),
        reason: text(),
        cause: text(),
        by: text(),
        settled: true,
        note: Some(note.clone()),
    };
    let message = Message::user("go");
    let tool = "Bash".to_owned();
    let arriving = Record::Arriving { call, tool };
    let records = [Record::User { message }, request, arriving, decision];
    let lines = lines(records.map(|record| (record, 1)).to_vec());
    let notes = |app: &App| -> Vec<AnswerNote> {
        let calls = app.state.calls.iter();
        calls.flat_map(|(_, call)| call.notes.clone()).collect()
    };
    assert_eq!(notes(&live(&lines)), std::slice::from_ref(&note));
    assert_eq!(notes(&recalled(lines)), [note]);
}
