use serde_json::{Value, json};

use super::WebSearch;
use crate::protocol::{self, Backend, SearchService};
use crate::tools::files::scratch::{Scratch, text};
use crate::tools::web::server::{Server, answer};
use crate::tools::{DescribeCx, Tool, ToolError, ToolErrorKind, ToolOutput};

fn answered(status: &str, body: &str) -> Vec<u8> {
    answer(
        status,
        "Content-Type: application/json\r\n",
        body.as_bytes(),
    )
}

fn service(backend: Backend, url: &str, key_env: Option<&str>) -> protocol::WebSearch {
    protocol::WebSearch::Service(SearchService {
        backend,
        url: Some(url.to_owned()),
        key_env: key_env.map(str::to_owned),
    })
}

/// Answers every request with this.
fn always(reply: Vec<u8>) -> Server {
    Server::start([("*", reply)])
}

async fn searched(search: protocol::WebSearch, input: Value) -> Result<ToolOutput, ToolError> {
    let mut scratch = Scratch::new();
    scratch.environment().search = Some(search);
    scratch.run(&WebSearch, input).await
}

async fn problem(search: protocol::WebSearch) -> String {
    let error = searched(search, json!({"query": "q"})).await;
    error.expect_err("a problem").message
}

const PAGES: &str = r#"[
    {"title": "Async  book", "url": "https://rust-lang.github.io/async-book/", "KEY": "How to\n write async Rust"},
    {"title": "Tokio", "url": "https://tokio.rs/", "KEY": ""},
    {"title": "No address", "KEY": "left out"}
]"#;

#[tokio::test]
async fn each_service_is_queried_in_its_own_format_and_gives_title_address_and_text() {
    let listed = "Search results for \"rust async\":\n\n\
                  1. Async book\n   https://rust-lang.github.io/async-book/\n   How to write async Rust\n\n\
                  2. Tokio\n   https://tokio.rs/";
    let key = "PATH";
    let value = std::env::var(key).expect("every process has one");
    for (backend, field, whole) in [
        (
            Backend::Searxng,
            "content",
            r#"{"query": "rust async", "results": PAGES}"#,
        ),
        (
            Backend::Brave,
            "description",
            r#"{"type": "search", "web": {"results": PAGES}}"#,
        ),
        (
            Backend::Tavily,
            "content",
            r#"{"query": "rust async", "results": PAGES}"#,
        ),
    ] {
        let body = whole.replace("PAGES", &PAGES.replace("KEY", field));
        let server = always(answered("200 OK", &body));
        let search = service(backend, &server.url(""), Some(key));
        let output = searched(search, json!({"query": " rust async "})).await;
        let output = output.expect("it is found");
        assert_eq!(text(&output), listed, "{backend:?}");
        let sentence = output.for_person.sentence.as_deref();
        assert_eq!(sentence, Some("2 results: rust-lang.github.io, tokio.rs"));
        let request = server.requests().remove(0);
        let (first, header) = match backend {
            Backend::Searxng => (
                "GET /search?q=rust+async&format=json HTTP/1.1",
                format!("authorization: Bearer {value}"),
            ),
            Backend::Brave => (
                "GET /res/v1/web/search?q=rust+async&count=10&text_decorations=false HTTP/1.1",
                format!("x-subscription-token: {value}"),
            ),
            Backend::Tavily => (
                "POST /search HTTP/1.1",
                format!("authorization: Bearer {value}"),
            ),
        };
        assert!(request.starts_with(first), "{request}");
        assert!(request.contains(&header), "{request}");
    }
}

#[tokio::test]
async fn results_in_html_are_shown_as_text() {
    let body = r#"{"web": {"results": [{"title": "A &amp; B", "url": "https://a.org/",
        "description": "It&#x27;s <strong>bold</strong> &lt;b&gt;"}]}}"#;
    let server = always(answered("200 OK", body));
    let search = service(Backend::Brave, &server.url(""), Some("PATH"));
    let output = searched(search, json!({"query": "q"})).await;
    let message = text(&output.expect("it is found"));
    assert!(
        message.ends_with("1. A & B\n   https://a.org/\n   It's bold <b>"),
        "{message}"
    );
}

#[tokio::test]
async fn domains_are_sent_with_the_query_and_enforced() {
    let body = r#"{"results": [
        {"title": "a", "url": "https://docs.rs/a", "content": ""},
        {"title": "b", "url": "https://old.docs.rs/b", "content": ""},
        {"title": "c", "url": "https://elsewhere.org/c", "content": ""}
    ]}"#;
    let input =
        json!({"query": "q", "allowed_domains": ["*.Docs.rs"], "blocked_domains": ["old.docs.rs"]});
    for (backend, sent) in [
        (Backend::Searxng, "q=q+site%3Adocs.rs+-site%3Aold.docs.rs&"),
        (
            Backend::Tavily,
            r#""include_domains":["docs.rs"],"exclude_domains":["old.docs.rs"]"#,
        ),
    ] {
        let server = always(answered("200 OK", body));
        let search = service(backend, &server.url(""), None);
        let output = searched(search, input.clone()).await.expect("it is found");
        let message = text(&output);
        assert!(
            message.ends_with("\n\n1. a\n   https://docs.rs/a"),
            "{message}"
        );
        let request = server.requests().remove(0);
        assert!(request.contains(sent), "{request}");
    }
}

#[tokio::test]
async fn a_search_without_results_says_so() {
    let brave = r#"{"type": "search", "query": {"original": "q"}}"#;
    for (backend, body) in [
        (Backend::Searxng, r#"{"results": []}"#),
        (Backend::Brave, brave),
    ] {
        let server = always(answered("200 OK", body));
        let search = service(backend, &server.url(""), None);
        let output = searched(search, json!({"query": "q"})).await;
        let output = output.expect("nothing is no error");
        assert!(text(&output).contains("No results. Try other words"));
        let sentence = output.for_person.sentence.as_deref();
        assert_eq!(sentence, Some("no results"));
    }
}

#[tokio::test]
async fn errors_are_named_without_the_key() {
    let key = std::env::var("PATH").expect("every process has one");
    let detail = |text: &str| format!(r#"{{"detail": {{"error": "{text}"}}}}"#);
    let wrong_key = format!("Unauthorized: {key} is wrong");
    let brave = r#"{"type": "ErrorResponse", "error": {"status": 422, "code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "The token is invalid."}}"#;
    for (backend, reply, expected) in [
        (
            Backend::Tavily,
            answered("401 Unauthorized", &detail(&wrong_key)),
            "tavily did not accept the key in PATH: Unauthorized: [redacted] is wrong",
        ),
        (
            Backend::Brave,
            answered("422 Unprocessable Entity", brave),
            "brave did not accept the key in PATH: The token is invalid. · SUBSCRIPTION_TOKEN_INVALID",
        ),
        (
            Backend::Brave,
            answer("429 Too Many Requests", "Retry-After: 7\r\n", b""),
            "brave allows no more searches right now, try again in 7 s: Too Many Requests",
        ),
        (
            Backend::Searxng,
            answered("403 Forbidden", "<html>"),
            "searxng answers only with web pages; its settings.yml must list `json` under `search: formats:`",
        ),
        (
            Backend::Searxng,
            answered("200 OK", " <!doctype html>"),
            "searxng answers only with web pages; its settings.yml must list `json` under `search: formats:`",
        ),
        (
            Backend::Tavily,
            answered("200 OK", "{\"results\": ["),
            "tavily answered with something that is not its JSON: EOF while parsing a list at line 1 column 13; check `webSearch.url`",
        ),
        (
            Backend::Brave,
            answered("200 OK", "{}"),
            "brave answered with something that is not its JSON: it has no list of results; check `webSearch.url`",
        ),
        (
            Backend::Searxng,
            answered("502 Bad Gateway", ""),
            "searxng answered with status 502: Bad Gateway",
        ),
    ] {
        let server = always(reply);
        let search = service(backend, &server.url(""), Some("PATH"));
        let output = problem(search).await;
        assert_eq!(output, expected);
        assert!(!output.contains(&key), "{output}");
    }
}

#[tokio::test]
async fn an_unreachable_service_or_a_missing_key_is_an_error_with_a_hint() {
    let output = problem(service(Backend::Searxng, "http://127.0.0.1:1", None)).await;
    assert!(
        output.starts_with("searxng at 127.0.0.1 can't be reached: "),
        "{output}"
    );
    let variable = "AGENT_TUI_TEST_NO_SUCH_KEY";
    let output = problem(service(
        Backend::Brave,
        "http://127.0.0.1:1",
        Some(variable),
    ))
    .await;
    let expected = format!("brave needs a key: set the environment variable {variable}");
    assert_eq!(output, expected);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_does_not_answer_times_out() {
    let server = always(Vec::new());
    let output = problem(service(Backend::Searxng, &server.url(""), None)).await;
    assert_eq!(output, "searxng did not answer within 20 seconds");
}

#[tokio::test]
async fn a_search_can_be_cancelled() {
    let server = always(Vec::new());
    let mut scratch = Scratch::new();
    scratch.environment().search = Some(service(Backend::Searxng, &server.url(""), None));
    let cancel = scratch.cx.cancel.clone();
    let call = scratch.run(&WebSearch, json!({"query": "q"}));
    let stop = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(call, stop);
    assert_eq!(
        result.expect_err("cancelled").kind,
        ToolErrorKind::Cancelled
    );
}

#[tokio::test]
async fn invalid_inputs_are_refused_before_the_search() {
    let server = always(answered("200 OK", r#"{"results": []}"#));
    for (input, expected) in [
        (json!({"query": " "}), "`query` is empty"),
        (
            json!({"query": "x".repeat(401)}),
            "longer than 400 characters",
        ),
        (
            json!({"query": "q", "allowed_domains": ["https://a.b/c"]}),
            "`https://a.b/c` in `allowed_domains` is not a domain",
        ),
    ] {
        let search = service(Backend::Searxng, &server.url(""), None);
        let error = searched(search, input).await.expect_err("refused");
        assert!(error.message.contains(expected), "{}", error.message);
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn it_is_offered_only_if_the_settings_name_a_search() {
    let about = |search| DescribeCx {
        search,
        ..DescribeCx::default()
    };
    assert!(!WebSearch.is_enabled(&about(None)));
    let own = about(Some(service(Backend::Searxng, "http://a", None)));
    assert!(WebSearch.is_enabled(&own));
    assert_eq!(WebSearch.served_by(&own), None);
    let provider = about(Some(protocol::WebSearch::Provider));
    assert!(WebSearch.is_enabled(&provider));
    assert!(WebSearch.served_by(&provider).is_some());
}
