//! What a history must look like to be sent, and that any history can be repaired.

use proptest::prelude::*;
use serde_json::json;

use super::repair::{is_sound, repair};
use crate::protocol::{Block, Message, Origin, Role, ToolResult, ToolUse, WireId};

fn call(id: &str) -> Block {
    Block::ToolUse(ToolUse {
        id: id.into(),
        name: "Read".into(),
        input: json!({"file_path": "a"}).into(),
        input_raw: None,
        input_error: None,
    })
}

fn result(id: &str) -> Block {
    named_result(id, &format!("result of {id}"))
}

fn named_result(id: &str, text: &str) -> Block {
    Block::ToolResult(ToolResult::text(id.into(), text))
}

fn lost(id: &str) -> Block {
    Block::ToolResult(ToolResult::error(
        id.into(),
        "The result of this call was lost. It may have had effects; it was not run again",
    ))
}

fn text(text: &str) -> Block {
    Block::text(text)
}

fn user<const N: usize>(content: [Block; N]) -> Message {
    Message::from_user(content.into())
}

fn assistant<const N: usize>(content: [Block; N]) -> Message {
    let origin = Origin {
        provider: "script".into(),
        model: "m".into(),
    };
    Message::from_assistant(content.into(), origin)
}

/// The repaired history, and what was reported about it.
fn repaired<const N: usize>(messages: [Message; N]) -> (Vec<Message>, Vec<String>) {
    let mut messages = Vec::from(messages);
    let problems = repair(&mut messages);
    assert!(is_sound(&messages), "{messages:#?}");
    (messages, problems)
}

#[test]
fn a_valid_history_is_unchanged() {
    let sound = [
        user([text("hi")]),
        assistant([text("two files"), call("a"), call("b")]),
        user([result("a"), result("b"), text("and be quick")]),
        assistant([text("done")]),
        user([text("thanks")]),
    ];
    assert_eq!(repaired(sound.clone()), (sound.to_vec(), Vec::new()));
}

#[test]
fn an_empty_history_is_valid() {
    assert_eq!(repaired([]), (Vec::new(), Vec::new()));
}

#[test]
fn a_call_without_a_result_is_answered() {
    let (messages, problems) = repaired([
        user([text("hi")]),
        assistant([call("a"), call("b")]),
        user([result("b"), text("go on")]),
    ]);
    assert_eq!(messages[2], user([lost("a"), result("b"), text("go on")]));
    assert_eq!(problems, ["added a missing result (a)"]);
}

#[test]
fn calls_at_the_very_end_are_answered_too() {
    let (messages, problems) = repaired([user([text("hi")]), assistant([call("a"), call("b")])]);
    assert_eq!(messages[2], user([lost("a"), lost("b")]));
    assert_eq!(problems, ["calls without a result got one"]);
}

#[test]
fn a_result_without_a_call_is_left_out() {
    let (messages, problems) = repaired([user([result("x"), text("hi")])]);
    assert_eq!(messages, [user([text("hi")])]);
    assert_eq!(problems, ["removed a result without a call (x)"]);
}

#[test]
fn the_first_of_two_results_is_used() {
    let (messages, problems) = repaired([
        user([text("hi")]),
        assistant([call("a")]),
        user([result("a"), named_result("a", "again")]),
    ]);
    assert_eq!(messages[2], user([result("a")]));
    assert_eq!(problems, ["removed a second result of one call (a)"]);
}

#[test]
fn results_come_first_and_in_the_order_of_their_calls() {
    let (messages, problems) = repaired([
        user([text("hi")]),
        assistant([call("a"), call("b")]),
        user([text("look"), result("b"), result("a")]),
    ]);
    assert_eq!(messages[2], user([result("a"), result("b"), text("look")]));
    assert_eq!(
        problems,
        ["moved results to the front, in the order of their calls"]
    );
}

#[test]
fn two_messages_of_the_person_are_joined_without_a_report() {
    let (messages, problems) = repaired([user([text("one")]), user([text("two")])]);
    assert_eq!(messages, [user([text("one"), text("two")])]);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn a_result_after_another_message_of_the_person_is_not_lost() {
    let (messages, _) = repaired([
        user([text("hi")]),
        assistant([call("a")]),
        user([text("wait")]),
        user([result("a")]),
    ]);
    assert_eq!(messages[2], user([result("a"), text("wait")]));
}

#[test]
fn two_answers_in_a_row_are_joined_and_keep_their_results() {
    let (messages, problems) = repaired([
        user([text("hi")]),
        assistant([call("a")]),
        assistant([call("b")]),
        user([result("a"), result("b")]),
    ]);
    assert_eq!(
        messages[1..],
        [
            assistant([call("a"), call("b")]),
            user([result("a"), result("b")])
        ]
    );
    assert_eq!(problems, ["joined two answers in a row"]);
}

#[test]
fn an_answer_without_a_question_is_left_out_with_its_results() {
    let (messages, problems) = repaired([
        assistant([call("a")]),
        user([result("a"), text("hi")]),
        assistant([text("hello")]),
    ]);
    assert_eq!(messages, [user([text("hi")]), assistant([text("hello")])]);
    assert_eq!(
        problems,
        [
            "removed an answer without a question",
            "removed a result without a call (a)"
        ]
    );
}

#[test]
fn empty_texts_and_empty_messages_are_left_out() {
    let (messages, problems) = repaired([
        user([text("hi"), text(" \n")]),
        assistant([text("")]),
        user([text("there")]),
    ]);
    assert_eq!(messages, [user([text("hi"), text("there")])]);
    assert_eq!(problems, ["removed empty texts"]);
}

#[test]
fn an_id_of_an_earlier_answer_is_renamed_in_call_and_result() {
    let (messages, problems) = repaired([
        user([text("hi")]),
        assistant([call("a")]),
        user([named_result("a", "first")]),
        assistant([call("a")]),
        user([named_result("a", "second")]),
    ]);
    assert_eq!(
        messages[3..],
        [
            assistant([call("a_2")]),
            user([named_result("a_2", "second")])
        ]
    );
    assert_eq!(problems, ["renamed a second call with the id a"]);
}

#[test]
fn two_calls_of_one_answer_with_the_same_id_keep_a_result_each() {
    let (messages, _) = repaired([
        user([text("hi")]),
        assistant([call("a"), call("a"), call("a_2")]),
        user([
            named_result("a", "first"),
            named_result("a", "second"),
            named_result("a_2", "third"),
        ]),
    ]);
    assert_eq!(
        messages[1..],
        [
            assistant([call("a"), call("a_2"), call("a_2_2")]),
            user([
                named_result("a", "first"),
                named_result("a_2", "second"),
                named_result("a_2_2", "third"),
            ])
        ]
    );
}

#[test]
fn calls_of_the_person_and_results_of_the_model_are_left_out() {
    let messages = [
        user([text("hi"), call("a")]),
        assistant([result("a"), text("hello")]),
    ];
    assert!(!is_sound(&messages));
    let (messages, problems) = repaired(messages);
    assert_eq!(messages, [user([text("hi")]), assistant([text("hello")])]);
    assert_eq!(
        problems,
        ["removed calls and results from the wrong side"; 2]
    );
}

/// Random blocks, with few ids, so that they collide.
fn block() -> impl Strategy<Value = Block> {
    let id = prop::sample::select(vec!["a", "b", "c", "a_2"]);
    prop_oneof![
        "[ xyz]{0,3}".prop_map(Block::text),
        id.clone().prop_map(call),
        id.prop_map(result),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    (any::<bool>(), prop::collection::vec(block(), 0..6)).prop_map(|(mine, content)| {
        let mut message = if mine { user([]) } else { assistant([]) };
        message.content = content;
        message
    })
}

/// Random exchanges that follow all rules: answers with calls, and their results.
fn sound_history() -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec((0_usize..4, any::<bool>()), 0..8).prop_map(|answers| {
        let mut messages = vec![user([text("begin")])];
        for (turn, (calls, talks)) in answers.into_iter().enumerate() {
            let ids: Vec<String> = (0..calls).map(|call| format!("{turn}_{call}")).collect();
            let mut answer = assistant([text("so")]);
            answer.content.extend(ids.iter().map(|id| call(id)));
            let mut reply = user([]);
            reply.content.extend(ids.iter().map(|id| result(id)));
            if talks || ids.is_empty() {
                reply.content.push(text("and"));
            }
            messages.extend([answer, reply]);
        }
        messages
    })
}

/// All texts of the person, except empty ones.
fn words(messages: &[Message]) -> Vec<&str> {
    let of_person = messages.iter().filter(|message| message.role == Role::User);
    let blocks = of_person.flat_map(|message| &message.content);
    let texts = blocks.filter_map(|block| match block {
        Block::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.filter(|text| !text.trim().is_empty()).collect()
}

proptest! {
    #[test]
    fn any_history_can_be_repaired_and_stays_repaired(messages in prop::collection::vec(message(), 0..12)) {
        let mut repaired = messages.clone();
        let problems = repair(&mut repaired);
        prop_assert!(is_sound(&repaired), "{:#?}", repaired);
        prop_assert_eq!(words(&repaired), words(&messages));
        let joined_only = problems.is_empty();
        let mut again = repaired.clone();
        prop_assert_eq!(repair(&mut again), Vec::<String>::new());
        prop_assert_eq!(&again, &repaired);
        if joined_only {
            let blocks = |messages: &[Message]| -> Vec<Block> {
                messages.iter().flat_map(|message| message.content.clone()).collect()
            };
            prop_assert_eq!(blocks(&repaired), blocks(&messages), "every change is reported");
        }
    }

    #[test]
    fn valid_histories_are_never_changed(messages in sound_history()) {
        prop_assert!(is_sound(&messages));
        let mut same = messages.clone();
        prop_assert_eq!(repair(&mut same), Vec::<String>::new());
        prop_assert_eq!(same, messages);
    }

    #[test]
    fn no_result_that_follows_its_call_is_lost(messages in sound_history(), cut in any::<prop::sample::Index>()) {
        let mut repaired = messages.clone();
        repaired.insert(cut.index(repaired.len()), user([text("in between")]));
        repair(&mut repaired);
        let results = |messages: &[Message]| -> Vec<(WireId, String)> {
            let results = messages.iter().flat_map(Message::tool_results);
            results.map(|result| (result.tool_use_id.clone(), result.as_text())).collect()
        };
        prop_assert_eq!(results(&repaired), results(&messages));
    }
}
