//! Lines of servers, well-formed or not.

use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn results_stay_as_they_are_and_only_the_handshake_is_read() {
    let line =
        json!({ "jsonrpc": "2.0", "id": 4, "result": { "content": [{ "type": "new" }], "x": 1 } });
    let message = message(line.to_string().as_bytes()).expect("a message");
    let (result, id) = message.into_response().expect("a response");
    assert_eq!(id, RequestId::Number(4));
    assert!(
        matches!(&result, ServerResult::CustomResult(kept) if kept.0 == line["result"]),
        "{result:?}"
    );
}

#[test]
fn the_id_of_an_unreadable_answer_is_found_unless_it_could_be_part_of_its_content() {
    assert_eq!(
        id_in(br#"{"jsonrpc":"2.0","id": 17,"result":{"#),
        Some(RequestId::Number(17))
    );
    assert_eq!(id_in(br#"{"result":{"id":3,"#), None);
    assert_eq!(id_in(b"[info] started"), None);
}

proptest! {
    #[test]
    fn any_bytes_are_a_message_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = message(&bytes);
        let _ = id_in(&bytes);
    }

    #[test]
    fn any_json_is_a_message_or_refused(text in "[\\[{\":,id0-9}\\]a-z]{0,40}") {
        let _ = message(text.as_bytes());
    }
}
