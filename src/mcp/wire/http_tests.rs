//! Servers over HTTP that behave well and badly, on loopback.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use crate::mcp::config::{Server, Transport};
use crate::mcp::connection::{Connection, Failure, Limit, RequestError};
use crate::mcp::log::Log;
use crate::mcp::rig;

/// How the server behaves.
#[derive(Debug, Clone, PartialEq)]
enum Mode {
    Healthy,
    /// It forgets its first session when a tool is called.
    Forgets,
    WantsLogin,
    /// It sends the client to this address.
    Redirects(String),
}

struct Site {
    mode: Mode,
    port: u16,
    sessions: Mutex<u32>,
    /// The headers of every request.
    seen: Mutex<Vec<String>>,
}

impl Site {
    async fn open(mode: Mode) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let site = Arc::new(Self {
            mode,
            port: listener.local_addr().expect("an address").port(),
            sessions: Mutex::new(0),
            seen: Mutex::default(),
        });
        let serving = site.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(stream));
            }
        });
        site
    }

    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let mut stream = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        while stream
            .read_line(&mut head)
            .await
            .is_ok_and(|count| count > 2)
        {
            let line = head.lines().last().unwrap_or_default().to_lowercase();
            if let Some(message) = line.strip_prefix("content-length:") {
                length = message.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        if stream.read_exact(&mut body).await.is_err() {
            return;
        }
        self.seen.lock().expect("unpoisoned").push(head.clone());
        let answer = self.answer(&head, &serde_json::from_slice(&body).unwrap_or_default());
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
    }

    fn answer(&self, head: &str, message: &Value) -> String {
        match &self.mode {
            Mode::WantsLogin => {
                return reply("401 Unauthorized", "WWW-Authenticate: Bearer\r\n", "");
            }
            Mode::Redirects(to) => {
                return reply("307 Temporary Redirect", &format!("Location: {to}\r\n"), "");
            }
            Mode::Healthy | Mode::Forgets => {}
        }
        if !head.starts_with("POST") {
            return reply("405 Method Not Allowed", "", "");
        }
        let mut sessions = self.sessions.lock().expect("unpoisoned");
        let (id, params) = (&message["id"], &message["params"]);
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => {
                *sessions += 1;
                json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "site", "version": "1" },
                })
            }
            "tools/list" => {
                json!({ "tools": [{ "name": "echo", "inputSchema": { "type": "object" } }, { "name": 7 }] })
            }
            "tools/call" if self.mode == Mode::Forgets && *sessions == 1 => {
                return reply("404 Not Found", "", "");
            }
            "tools/call" => json!({ "content": [
                { "type": "text", "text": params["arguments"]["text"] },
                { "type": "new-kind", "x": 1 },
            ] }),
            _ => return reply("202 Accepted", "", ""),
        };
        let session = format!("Mcp-Session-Id: s{sessions}\r\nContent-Type: application/json\r\n");
        let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        reply("200 OK", &session, &body.to_string())
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("unpoisoned").clone()
    }
}

fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn at(site: &Site) -> Server {
    Server {
        transport: Transport::Http {
            url: format!("http://127.0.0.1:{}/mcp", site.port),
            headers: BTreeMap::from([("X-Key".to_owned(), "hunter22".to_owned())]),
        },
        ..rig::server("http")
    }
}

async fn connect(site: &Site) -> Result<Arc<Connection>, Failure> {
    let (context, _home) = rig::server_context();
    Connection::open(&at(site), &context, Log::default(), None).await
}

async fn echo(connection: &Connection) -> Result<Value, RequestError> {
    let never = CancellationToken::new();
    let limit = Limit {
        idle: Duration::from_secs(30),
        cancel: &never,
    };
    let params = json!({ "name": "echo", "arguments": { "text": "hello" } });
    connection.request("tools/call", params, &limit, None).await
}

#[tokio::test]
async fn lists_and_results_over_http_are_read_leniently_and_carry_the_headers() {
    let site = Site::open(Mode::Healthy).await;
    let connection = connect(&site).await.expect("it connects");
    let never = CancellationToken::new();
    let limit = Limit {
        idle: Duration::from_secs(30),
        cancel: &never,
    };
    let tools = connection.list("tools/list", "tools", &limit).await;
    assert_eq!(tools.expect("a list").len(), 2);
    let result = echo(&connection).await.expect("a result");
    assert_eq!(result["content"][0]["text"], "hello");
    assert_eq!(result["content"][1]["type"], "new-kind");
    connection.close().await;
    let seen = site.seen();
    assert!(
        seen.iter().all(|head| head.contains("hunter22")),
        "{seen:?}"
    );
    let last = seen.last().map(|head| head.starts_with("DELETE"));
    assert_eq!(last, Some(true), "the session is ended: {seen:?}");
}

#[tokio::test]
async fn a_forgotten_session_is_begun_again() {
    let site = Site::open(Mode::Forgets).await;
    let connection = connect(&site).await.expect("it connects");
    let result = echo(&connection).await.expect("a result");
    assert_eq!(result["content"][0]["text"], "hello");
    assert_eq!(*site.sessions.lock().expect("unpoisoned"), 2);
    connection.close().await;
}

#[tokio::test]
async fn a_server_that_wants_a_login_says_so() {
    let site = Site::open(Mode::WantsLogin).await;
    assert_eq!(connect(&site).await.err(), Some(Failure::NeedsLogin));
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let other = Site::open(Mode::Healthy).await;
    let there = format!("http://127.0.0.1:{}/mcp", other.port);
    let site = Site::open(Mode::Redirects(there)).await;
    let failed = connect(&site).await.err();
    assert!(matches!(&failed, Some(Failure::Broken(_))), "{failed:?}");
    assert_eq!(other.seen(), Vec::<String>::new());
}
