use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use serde_json::json;

use super::WebFetch;
use crate::protocol::{ChoiceRequest, Chosen, QuestionKind, Reply, ResultBlock, Spending, Usage};
use crate::tools::ask::Asker;
use crate::tools::files::scratch::{Scratch, text};
use crate::tools::small_model::{Answer, Query, SmallModel};
use crate::tools::web::fetch::{Arrived, MOST_BYTES, Net, Reach};
use crate::tools::web::server::{DOT, Server, answer, certificate, html};
use crate::tools::{ContextChange, ToolErrorKind, ToolOutput};

async fn fetched(url: &str) -> ToolOutput {
    let scratch = Scratch::new();
    let input = json!({"url": url, "prompt": "what is it?"});
    let output = scratch.run(&WebFetch::default(), input).await;
    output.expect("it is fetched")
}

async fn refused(url: &str) -> String {
    let scratch = Scratch::new();
    let input = json!({"url": url, "prompt": ""});
    let error = scratch.run(&WebFetch::default(), input).await;
    error.expect_err("refused").message
}

#[tokio::test]
async fn a_page_is_markdown_under_a_heading_with_the_prompt() {
    let server = Server::start([("/a", html("<title>T</title><h1>Hello</h1><p>there"))]);
    let url = server.url("/a");
    assert_eq!(
        text(&fetched(&url).await),
        format!(
            "{url} · 200 · text/html · 38 bytes\nTitle: T\nAsked: what is it?\n\n# Hello\n\nthere"
        )
    );
}

#[tokio::test]
async fn a_page_is_fetched_once_in_fifteen_minutes() {
    let server = Server::start([("/a", html("<p>once"))]);
    let scratch = Scratch::new();
    let tool = WebFetch::default();
    for fragment in ["", "#one", "#two"] {
        let input = json!({"url": server.url(&format!("/a{fragment}")), "prompt": ""});
        scratch.run(&tool, input).await.expect("fetched");
    }
    assert_eq!(server.requested(), ["/a"]);
}

#[tokio::test]
async fn redirects_are_followed_on_the_host_and_reported_beyond() {
    let to = |location: &str| answer("302 Found", &format!("Location: {location}\r\n"), b"");
    let server = Server::start([
        ("/1", to("/2")),
        ("/2", to("3?x=1")),
        ("/3?x=1", html("<p>arrived")),
        ("/away", to("https://other.example/page")),
        ("/port", to("http://127.0.0.1:1/")),
        ("/loop", to("/loop")),
        ("/file", to("file:///etc/passwd")),
    ]);
    assert!(text(&fetched(&server.url("/1")).await).ends_with("arrived"));
    let away = text(&fetched(&server.url("/away")).await);
    assert!(away.contains("redirects to another host"), "{away}");
    assert!(away.contains("https://other.example/page"), "{away}");
    assert!(text(&fetched(&server.url("/port")).await).contains("redirects to another host"));
    let problem = refused(&server.url("/loop")).await;
    assert!(problem.contains("redirects more than 5 times"), "{problem}");
    let problem = refused(&server.url("/file")).await;
    assert!(
        problem.contains("not an address that can be fetched"),
        "{problem}"
    );
}

#[tokio::test]
async fn a_large_page_is_cut_and_says_so() {
    let large = "x".repeat(MOST_BYTES + 1000);
    let server = Server::start([(
        "/",
        answer("200 OK", "Content-Type: text/plain\r\n", large.as_bytes()),
    )]);
    let output = text(&fetched(&server.url("/")).await);
    let heading = output.lines().next().expect("a heading");
    assert!(
        heading.ends_with("10.0 MB (the beginning; the rest was not fetched)"),
        "{heading}"
    );
}

#[tokio::test]
async fn compressed_pages_are_unpacked() {
    // "hello, packed page\n", by gzip.
    let packed: &[u8] = &[
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0xd7, 0x51, 0x28, 0x48,
        0x4c, 0xce, 0x4e, 0x4d, 1, 0x52, 0xe9, 0xa9, 0x5c, 0, 0xe6, 0xd2, 0xf4, 0xff, 0x13, 0, 0,
        0,
    ];
    let headers = "Content-Type: text/plain\r\nContent-Encoding: gzip\r\n";
    let server = Server::start([("/", answer("200 OK", headers, packed))]);
    let output = text(&fetched(&server.url("/")).await);
    assert!(output.ends_with("hello, packed page\n"), "{output}");
}

#[tokio::test]
async fn images_are_images() {
    let server = Server::start([("/", answer("200 OK", "Content-Type: image/png\r\n", DOT))]);
    let output = fetched(&server.url("/")).await;
    assert!(matches!(
        output.for_model.as_slice(),
        [ResultBlock::Text { .. }, ResultBlock::Image(_)]
    ));
}

#[tokio::test]
async fn errors_say_what_happened() {
    let server = Server::start([("/silent", Vec::new())]);
    let problem = refused(&server.url("/absent")).await;
    assert!(
        problem.starts_with("The server answered with status 404."),
        "{problem}"
    );
    assert!(problem.ends_with("no such page"), "{problem}");
    for (url, reason) in [
        ("example.com", "is not an address"),
        ("ftp://example.com/", "only http and https"),
        ("https://me:secret@example.com/", "a name and password"),
        ("http://127.0.0.1:1/", "cannot be reached"),
    ] {
        let problem = refused(url).await;
        assert!(problem.contains(reason), "{problem}");
        assert!(!problem.contains("secret"), "{problem}");
    }
}

#[tokio::test]
async fn a_fetch_can_be_cancelled() {
    let server = Server::start([("/silent", Vec::new())]);
    let scratch = Scratch::new();
    let cancel = scratch.cx.cancel.clone();
    let tool = WebFetch::default();
    let input = json!({"url": server.url("/silent"), "prompt": ""});
    let call = scratch.run(&tool, input);
    let stop = async {
        while server.requested().is_empty() {
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

/// A real DNS answer that points inside cannot be produced here, so the test checks `localhost` as if it were a
/// public name.
#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_asks_before_anything_is_sent() {
    let server = Server::start([("/", html("<p>inside"))]);
    let asked: Arc<Mutex<Vec<ChoiceRequest>>> = Arc::default();
    for (reply, arrives) in [
        (Reply::Nobody, false),
        (Reply::Dismissed, false),
        (
            Reply::Chosen(vec![Chosen {
                options: vec![0],
                text: None,
                ..Chosen::default()
            }]),
            false,
        ),
        (
            Reply::Chosen(vec![Chosen {
                options: vec![1],
                text: None,
                ..Chosen::default()
            }]),
            true,
        ),
    ] {
        let mut scratch = Scratch::new();
        let (log, answer) = (asked.clone(), reply.clone());
        scratch.cx.asker = Asker::new(move |question| {
            if let QuestionKind::Choice(requests) = question {
                log.lock().expect("unpoisoned").extend(requests);
            }
            let reply = answer.clone();
            async move { reply }.boxed()
        });
        let agreed = super::agree(
            &scratch.cx,
            "example.com",
            server.address.ip(),
            crate::permissions::Inner::ThisMachine,
        );
        assert_eq!(agreed.await.is_ok(), arrives, "{reply:?}");
    }
    let question = asked.lock().expect("unpoisoned")[0].question.clone();
    assert_eq!(
        question,
        "example.com leads to 127.0.0.1, an address of this machine. Fetch the page from there?"
    );
    let url = reqwest::Url::parse(&server.url("/")).expect("a URL");
    let arrived = Net::default().fetch(&url, Reach::OpenNet).await;
    assert!(matches!(arrived, Ok(Arrived::Inside { .. })));
    assert_eq!(
        server.requested(),
        Vec::<String>::new(),
        "nothing was sent there"
    );
}

/// `pages.example` is this machine, its certificate is trusted, and `https` is at this port.
fn net(https: &Server) -> Net {
    let der = certificate();
    Net {
        roots: vec![reqwest::Certificate::from_der(&der).expect("a certificate")],
        names: [("pages.example".to_owned(), https.address.ip())].into(),
        https_port: Some(https.address.port()),
    }
}

/// Fetches with permission for every address.
async fn fetched_by(net: Net, url: &str) -> Result<String, String> {
    let url = reqwest::Url::parse(url).expect("a URL");
    match net.fetch(&url, Reach::Everywhere).await {
        Ok(Arrived::Page(page)) => Ok(format!(
            "{} {}",
            page.url.scheme(),
            String::from_utf8_lossy(&page.bytes)
        )),
        Ok(other) => panic!("{other:?}"),
        Err(problem) => Err(problem.to_string()),
    }
}

#[tokio::test]
async fn a_page_comes_over_tls_from_a_server_whose_certificate_is_trusted() {
    let server = Server::start_tls([("/a", html("over TLS"))]);
    let url = format!("https://pages.example:{}/a", server.address.port());
    assert_eq!(
        fetched_by(net(&server), &url).await.as_deref(),
        Ok("https over TLS")
    );
    let untrusting = Net {
        roots: Vec::new(),
        ..net(&server)
    };
    let problem = fetched_by(untrusting, &url).await.expect_err("not trusted");
    assert!(problem.contains("certificate"), "{problem}");
    let elsewhere = format!("https://127.0.0.1:{}/a", server.address.port());
    let problem = fetched_by(net(&server), &elsewhere).await;
    let problem = problem.expect_err("the certificate is for another name");
    assert!(problem.contains("certificate"), "{problem}");
    assert_eq!(server.requested(), ["/a"], "nothing was sent to the others");
}

#[tokio::test]
async fn http_is_tried_as_https_first_and_used_where_nobody_answers_there() {
    let plain = Server::start([("/a", html("in the open"))]);
    let secure = Server::start_tls([("/a", html("over TLS"))]);
    let url = format!("http://pages.example:{}/a", plain.address.port());
    assert_eq!(
        fetched_by(net(&secure), &url).await.as_deref(),
        Ok("https over TLS")
    );
    assert_eq!(plain.requested(), Vec::<String>::new());
    let nobody = Net {
        https_port: Some(1),
        ..net(&secure)
    };
    assert_eq!(
        fetched_by(nobody, &url).await.as_deref(),
        Ok("http in the open")
    );
}

#[tokio::test]
async fn http_on_this_machine_and_in_private_networks_stays_http() {
    let plain = Server::start([("/a", html("in the open"))]);
    let secure = Server::start_tls([("/a", html("over TLS"))]);
    for host in ["127.0.0.1", "localhost"] {
        let url = format!("http://{host}:{}/a", plain.address.port());
        let mut net = net(&secure);
        net.names.insert("localhost".to_owned(), plain.address.ip());
        assert_eq!(
            fetched_by(net, &url).await.as_deref(),
            Ok("http in the open"),
            "{host}"
        );
    }
    assert_eq!(secure.requested(), Vec::<String>::new());
}

fn spending() -> Spending {
    Spending {
        used: Usage {
            input_tokens: Some(900),
            output_tokens: Some(20),
            ..Usage::default()
        },
        cost: Some(0.01),
        context: None,
    }
}

/// A small model that answers so; and what it was asked.
fn small_model(text: Result<&'static str, &'static str>) -> (SmallModel, Arc<Mutex<Vec<Query>>>) {
    let asked: Arc<Mutex<Vec<Query>>> = Arc::default();
    let log = asked.clone();
    let model = SmallModel::new("tiny", move |query| {
        log.lock().expect("unpoisoned").push(query);
        let text = text.map(str::to_owned).map_err(str::to_owned);
        let spending = spending();
        async move { Answer { text, spending } }.boxed()
    });
    (model, asked)
}

#[tokio::test]
async fn a_small_model_answers_the_prompt_and_its_cost_is_counted() {
    let server = Server::start([
        ("/a", html("<title>T</title><p>The answer is 42.")),
        ("/dot", answer("200 OK", "Content-Type: image/png\r\n", DOT)),
    ]);
    let (model, asked) = small_model(Ok("It is 42."));
    let mut scratch = Scratch::new();
    scratch.environment().small_model = Some(model);
    let tool = WebFetch::default();
    let url = server.url("/a");
    let input = json!({"url": url, "prompt": " what is the answer? "});
    let output = scratch.run(&tool, input).await.expect("answered");
    let expected = format!(
        "{url} · 200 · text/html · 36 bytes\nTitle: T\nAsked: what is the answer?\n\nIt is 42."
    );
    assert_eq!(text(&output), expected);
    assert_eq!(output.changes, [ContextChange::Spent(spending())]);
    assert_eq!(output.for_person.sentence.as_deref(), Some("T · 36 bytes"));
    let query = Query {
        question: "what is the answer?".to_owned(),
        text: "The answer is 42.".to_owned(),
    };
    assert_eq!(*asked.lock().expect("unpoisoned"), [query]);
    for input in [
        json!({"url": url, "prompt": ""}),
        json!({"url": server.url("/dot"), "prompt": "what is it?"}),
    ] {
        let output = scratch.run(&tool, input).await.expect("fetched");
        assert_eq!(output.changes, [], "nothing to ask, or no text");
    }
    assert_eq!(asked.lock().expect("unpoisoned").len(), 1);
}

#[tokio::test]
async fn the_page_itself_is_the_result_where_the_small_model_fails() {
    let server = Server::start([("/a", html("<p>The answer is 42."))]);
    let (model, _) = small_model(Err("overloaded"));
    let mut scratch = Scratch::new();
    scratch.environment().small_model = Some(model);
    let input = json!({"url": server.url("/a"), "prompt": "what?"});
    let output = scratch.run(&WebFetch::default(), input).await;
    let output = output.expect("the page was fetched");
    let text = ResultBlock::texts(&output.for_model);
    assert!(
        text.starts_with("(the small model did not answer: overloaded;"),
        "{text}"
    );
    assert!(text.ends_with("The answer is 42."), "{text}");
    assert_eq!(output.changes, [ContextChange::Spent(spending())]);
}

#[tokio::test]
async fn an_interrupt_stops_the_small_model() {
    let server = Server::start([("/a", html("<p>long"))]);
    let mut scratch = Scratch::new();
    let cancel = scratch.cx.cancel.clone();
    let stop = cancel.clone();
    let silent = SmallModel::new("tiny", move |_| {
        stop.cancel();
        std::future::pending().boxed()
    });
    scratch.environment().small_model = Some(silent);
    let input = json!({"url": server.url("/a"), "prompt": "what?"});
    let error = scratch.run(&WebFetch::default(), input).await;
    assert_eq!(error.expect_err("stopped").kind, ToolErrorKind::Cancelled);
}
