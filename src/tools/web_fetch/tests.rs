use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use serde_json::json;

use super::WebFetch;
use crate::protocol::{ChoiceRequest, Chosen, Reply, ResultBlock};
use crate::tools::ask::Asker;
use crate::tools::files::scratch::{Scratch, text};
use crate::tools::web::fetch::MOST_BYTES;
use crate::tools::web::server::{DOT, Server, answer, html};
use crate::tools::{ToolErrorKind, ToolOutput};

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
    assert_eq!(server.asked(), ["/a"]);
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
    let said = text(&fetched(&server.url("/")).await);
    let heading = said.lines().next().expect("a heading");
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
    let said = text(&fetched(&server.url("/")).await);
    assert!(said.ends_with("hello, packed page\n"), "{said}");
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
        while server.asked().is_empty() {
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
        scratch.cx.asker = Asker::new(move |request| {
            log.lock().expect("unpoisoned").extend(request);
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
    let arrived = crate::tools::web::fetch::fetch(&url, crate::tools::web::fetch::Reach::OpenNet);
    assert!(matches!(
        arrived.await,
        Ok(crate::tools::web::fetch::Arrived::Inside { .. })
    ));
    assert_eq!(
        server.asked(),
        Vec::<String>::new(),
        "nothing was sent there"
    );
}
