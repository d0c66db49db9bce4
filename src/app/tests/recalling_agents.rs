//! Sessions with subagents: recalled they look as they did, and what subagents do never changes the person's conversation.

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use proptest::prop_assert_eq;

use super::recalling::{calls, live, of_calls, of_the_session, of_turns, recalled, run, texts};
use crate::app::AppState;
use crate::app::rig::seen;
use crate::app::transcript::Cell;
use crate::protocol::{AgentId, CallRef, Seq};
use crate::session::Record;
use crate::session::record::Line;

/// Records of the person's conversation and of two subagents, in any order, each with its delay.
fn sessions() -> impl Strategy<Value = Vec<(AgentId, Record, u64)>> {
    let main = prop_oneof![
        4 => of_turns().boxed(),
        5 => of_calls().boxed(),
        1 => of_the_session().boxed(),
    ];
    let main = main.prop_map(|record| (AgentId::MAIN, record)).boxed();
    let nested = prop_oneof![2 => started(), 8 => of_turns().boxed(), 8 => of_calls().boxed()];
    // That a background command is over concerns the whole session.
    let nested = nested.prop_filter("of the subagent alone", |record| {
        !matches!(record, Record::BackgroundEnded { .. })
    });
    let nested = (2..4_u32, nested).prop_map(|(agent, record)| {
        let agent = AgentId(agent);
        (agent, of_agent(record, agent))
    });
    let records = prop_oneof![main, nested];
    let records = (records, 0..900_u64).prop_map(|((agent, record), ms)| (agent, record, ms));
    prop::collection::vec(records, 0..80)
}

fn started() -> impl Strategy<Value = Record> {
    let main = calls().prop_filter("of the model", |call| call.agent == AgentId::MAIN);
    (main, texts(), any::<bool>()).prop_map(|(call, description, background)| Record::Started {
        call,
        agent_type: "explore".to_owned(),
        description,
        model: "m".to_owned(),
        background,
    })
}

/// The same record about calls of a subagent.
fn of_agent(mut record: Record, agent: AgentId) -> Record {
    match &mut record {
        Record::Arriving { call, .. }
        | Record::Begun { call }
        | Record::Reached { call, .. }
        | Record::Rewritten { call, .. }
        | Record::Decision { call, .. }
        | Record::Result { call, .. } => call.agent = agent,
        Record::Call { call } => call.call.agent = agent,
        Record::Delivered { calls, .. } => {
            for call in calls {
                call.agent = agent;
            }
        }
        _ => {}
    }
    record
}

fn lines(records: Vec<(AgentId, Record, u64)>) -> Vec<Line> {
    let mut at_ms = 1_700_000_000_000;
    let lines = (0..).zip(records).map(|(seq, (agent, record, after))| {
        at_ms += after;
        Line {
            seq: Seq(seq),
            at_ms,
            agent,
            record,
        }
    });
    lines.collect()
}

/// What is visible of the person's conversation. A call is known by its name: its place among all calls is another one if
/// subagents make calls, too.
fn seen_of_main(state: &AppState) -> Vec<String> {
    let call = |key| {
        let call = state.calls.get(key);
        (call.id, format!("{:?} {:?}", call.state, call.input))
    };
    let entries = state.transcript.entries().iter();
    let cells = entries.map(|entry| match &entry.cell {
        Cell::Call(key) => format!("{:?} {:?}", entry.seq, call(*key)),
        Cell::Thinking { text, took, .. } => format!("{:?} {text} {took:?}", entry.seq),
        other => format!("{:?} {other:?}", entry.seq),
    });
    let turns = state.panel.turns().iter().map(|turn| {
        let ids: Vec<CallRef> = turn.calls.iter().map(|key| call(*key).0).collect();
        format!("{:?} {ids:?} {:?}", turn.number, turn.saved)
    });
    cells.chain(turns).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_recalled_session_with_subagents_is_the_one_that_was_left(mut records in sessions()) {
        records.push((AgentId::MAIN, run("m"), 5));
        let lines = lines(records);
        let live = live(&lines);
        let mut recalled = recalled(lines);
        recalled.state.session.mode = live.state.session.mode;
        prop_assert_eq!(seen(&recalled.state), seen(&live.state));
    }

    #[test]
    fn subagents_never_change_what_the_person_s_conversation_shows(
        records in sessions(),
        ends in prop_oneof![Just(true), Just(false)],
    ) {
        let mut records = records;
        // The notice says whether it was a subagent.
        records.retain(|(_, record, _)| !matches!(record, Record::BackgroundEnded { .. }));
        if ends {
            records.push((AgentId::MAIN, run("m"), 5));
        }
        let all = lines(records);
        let only = all.iter().filter(|line| line.agent == AgentId::MAIN);
        let only: Vec<Line> = only.cloned().collect();
        prop_assert_eq!(seen_of_main(&live(&all).state), seen_of_main(&live(&only).state));
    }
}
