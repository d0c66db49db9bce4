use std::time::{Duration, SystemTime};

use super::{Context, http_error};
use crate::provider::{ProviderError, ProviderErrorKind};

const KEY: &str = "gsk_0123456789abcdef";

/// 2026-11-16 12:00:00 UTC.
fn noon() -> SystemTime {
    httpdate::parse_http_date("Mon, 16 Nov 2026 12:00:00 GMT").expect("a date")
}

fn explain(status: u16, headers: &[(&str, &str)], body: &str) -> ProviderError {
    let header = |name: &str| {
        let found = headers.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let context = Context {
        provider: "anthropic",
        model: "claude-opus-5-5",
        base_url: "https://api.anthropic.com",
        key: Some(KEY),
        now: noon(),
    };
    http_error(status, header, body.as_bytes(), &context)
}

fn kind(status: u16, headers: &[(&str, &str)], body: &str) -> ProviderErrorKind {
    explain(status, headers, body).kind
}

fn retry(after: Option<u64>) -> ProviderErrorKind {
    ProviderErrorKind::Retry {
        after: after.map(Duration::from_secs),
    }
}

#[test]
fn a_rejected_key_names_the_variable_to_check() {
    let body =
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    assert_eq!(
        explain(401, &[], body),
        ProviderError {
            kind: ProviderErrorKind::Final,
            message: "the provider rejected the API key (401): invalid x-api-key".into(),
            hint: Some(
                "check ANTHROPIC_API_KEY, or try it without a key: `agent-tui --provider builtin`"
                    .into()
            ),
        }
    );
}

#[test]
fn an_unknown_model_names_model_and_address() {
    let error = explain(404, &[], r#"{"error":"model not found"}"#);
    assert_eq!(error.kind, ProviderErrorKind::Final);
    assert_eq!(
        error.hint.as_deref(),
        Some(
            "check the model `claude-opus-5-5` (`--model`) and the base URL `https://api.anthropic.com` (`--base-url`)"
        )
    );
}

#[test]
fn statuses_decide_about_retries() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert_eq!(kind(status, &[], ""), retry(None), "{status}");
    }
    for status in [301, 400, 401, 402, 403, 404, 407, 418, 422] {
        assert_eq!(kind(status, &[], ""), ProviderErrorKind::Final, "{status}");
    }
}

#[test]
fn the_servers_own_word_on_retrying_wins() {
    assert_eq!(kind(400, &[("x-should-retry", "true")], ""), retry(None));
    assert_eq!(
        kind(500, &[("x-should-retry", "false")], ""),
        ProviderErrorKind::Final
    );
}

#[test]
fn an_empty_account_is_never_retried() {
    let headers = [("retry-after", "1"), ("x-should-retry", "true")];
    for body in [
        r#"{"error":{"message":"m","type":"insufficient_quota","code":null}}"#,
        r#"{"error":{"message":"m","type":"x","code":"insufficient_quota"}}"#,
    ] {
        assert_eq!(kind(429, &headers, body), ProviderErrorKind::Final);
    }
}

#[test]
fn retry_after_is_read_in_all_its_forms() {
    let after = |headers: &[(&str, &str)]| kind(429, headers, "");
    assert_eq!(after(&[("retry-after", "3")]), retry(Some(3)));
    assert_eq!(after(&[("retry-after", "0")]), retry(Some(0)));
    assert_eq!(
        after(&[("retry-after", "60"), ("retry-after-ms", "2000")]),
        retry(Some(2))
    );
    let date = |date| after(&[("retry-after", date)]);
    assert_eq!(date("Mon, 16 Nov 2026 12:00:30 GMT"), retry(Some(30)));
    assert_eq!(date("Mon, 16 Nov 2026 11:00:00 GMT"), retry(Some(0)));
    for garbage in ["soon", "-3", "NaN", "", "1e999", "Mon, 99 Nov"] {
        assert_eq!(date(garbage), retry(None), "{garbage}");
    }
}

#[test]
fn a_wait_of_more_than_two_minutes_is_left_to_the_person() {
    let error = explain(429, &[("retry-after", "100000")], "");
    assert_eq!(
        error,
        ProviderError {
            kind: ProviderErrorKind::Final,
            message: "rate limited (429); the provider says to wait 28 h".into(),
            hint: Some("try again in 28 h, or switch to another model".into()),
        }
    );
    assert_eq!(kind(429, &[("retry-after", "120")], ""), retry(Some(120)));
}

#[test]
fn a_full_window_is_recognised_in_every_dialect() {
    let cases = [
        (413, ""),
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
        ),
        (
            400,
            r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"x"}}"#,
        ),
        (
            400,
            r#"{"object":"error","message":"This model's maximum context length is 8192 tokens."}"#,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 > 1"}}"#,
        ),
        (
            500,
            r#"{"error":{"message":"request (9 tokens) exceeds the available context size (8 tokens)"}}"#,
        ),
    ];
    for (status, body) in cases {
        let error = explain(status, &[], body);
        assert_eq!(error.kind, ProviderErrorKind::ContextFull, "{body}");
        assert!(error.hint.is_some_and(|hint| hint.contains("/clear")));
    }
}

#[test]
fn a_proxys_web_page_is_summed_up() {
    let page =
        "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>…</body></html>";
    assert_eq!(
        explain(502, &[], page).message,
        "server error at the provider (502): a web page, `502 Bad Gateway`"
    );
    assert_eq!(
        explain(502, &[], "").message,
        "server error at the provider (502)"
    );
}

#[test]
fn long_and_many_lined_messages_become_one_short_line() {
    let error = explain(400, &[], &format!("a\n\u{1b}[31m b{}", "x".repeat(1000)));
    let (head, words) = error.message.split_once(": ").expect("head and words");
    assert_eq!(head, "the provider refused the request (400)");
    assert!(words.starts_with("a [31m bxxx"), "{words}");
    assert_eq!(words.chars().count(), 301);
}

#[test]
fn keys_never_appear_in_a_message() {
    let body =
        format!(r#"{{"error":{{"message":"Incorrect API key: {KEY} or sk-proj-abcdefghijkl"}}}}"#);
    let error = explain(401, &[], &body);
    assert_eq!(
        error.message,
        "the provider rejected the API key (401): Incorrect API key: [redacted] or sk-[redacted]"
    );
}

#[test]
fn a_body_that_is_no_utf_8_is_shown_with_marks() {
    let context = Context {
        provider: "openai",
        model: "m",
        base_url: "http://localhost",
        key: None,
        now: noon(),
    };
    let error = http_error(401, |_| None, b"\xff no", &context);
    assert_eq!(
        error.message,
        "the provider needs an API key (401): \u{fffd} no"
    );
    assert!(
        error
            .hint
            .is_some_and(|hint| hint.starts_with("set OPENAI_API_KEY"))
    );
}
