//! A model server that plays a script: one reply per request, in order, with every fault that a network can have.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a test waits for something before it fails.
pub const MAX_WAIT: Duration = Duration::from_secs(20);

pub struct Server {
    pub address: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    received: Mutex<Vec<Received>>,
    arrived: Condvar,
    replies: Mutex<std::collections::VecDeque<Reply>>,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

/// What the server does with one request.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub pieces: Vec<Piece>,
}

#[derive(Clone)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// Continues once the condition holds, for example when a tool has created a file.
    Until(Arc<dyn Fn() -> bool + Send + Sync>),
    /// Waits, as models do.
    Pause(Duration),
    /// Cuts the connection in the middle of the body.
    Cut,
    /// Stays silent until the client is gone.
    Silence,
}

/// Repeats `ask` until it returns something.
pub fn wait_for_some<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(since.elapsed() < MAX_WAIT, "it has not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

impl Reply {
    /// A complete stream of these bytes.
    pub fn stream(bytes: impl Into<Vec<u8>>) -> Self {
        Self::pieces(vec![Piece::Bytes(bytes.into())])
    }

    pub fn pieces(pieces: Vec<Piece>) -> Self {
        let headers = vec![("content-type".into(), "text/event-stream".into())];
        Self {
            status: 200,
            headers,
            pieces,
        }
    }

    pub fn error(status: u16, body: &str) -> Self {
        let headers = vec![("content-type".into(), "application/json".into())];
        Self {
            status,
            headers,
            pieces: vec![Piece::Bytes(body.as_bytes().to_vec())],
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

impl Piece {
    pub fn until(condition: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self::Until(Arc::new(condition))
    }
}

impl Server {
    /// Serves the replies in order. A further request gets an error that says so.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            replies: Mutex::new(replies.into_iter().collect()),
            ..State::default()
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let state = shared.clone();
                std::thread::spawn(move || serve(&connection, &state));
            }
        });
        Self { address, state }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn received(&self) -> Vec<Received> {
        self.state.received.lock().expect("unpoisoned").clone()
    }

    /// The bodies of all requests.
    pub fn bodies(&self) -> Vec<Value> {
        self.received()
            .into_iter()
            .map(|request| request.body)
            .collect()
    }

    /// Waits until `count` requests have arrived.
    pub fn wait_for(&self, count: usize) {
        let received = self.state.received.lock().expect("unpoisoned");
        let (received, late) = self
            .state
            .arrived
            .wait_timeout_while(received, MAX_WAIT, |received| received.len() < count)
            .expect("unpoisoned");
        assert!(
            !late.timed_out(),
            "only {} of {count} requests came",
            received.len()
        );
    }
}

fn serve(connection: &TcpStream, state: &State) {
    let mut reader = BufReader::new(connection);
    while let Some(request) = read_request(&mut reader) {
        {
            let mut received = state.received.lock().expect("unpoisoned");
            received.push(request);
            state.arrived.notify_all();
        }
        let reply = state.replies.lock().expect("unpoisoned").pop_front();
        let reply = reply.unwrap_or_else(|| {
            Reply::error(
                400,
                r#"{"error":{"message":"the script has no more replies"}}"#,
            )
        });
        if write_reply(connection, &reply).is_err() {
            return;
        }
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Received {
        path,
        headers,
        body,
    })
}

fn write_reply(mut connection: &TcpStream, reply: &Reply) -> std::io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {} Said\r\ntransfer-encoding: chunked\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    connection.write_all(head.as_bytes())?;
    for piece in &reply.pieces {
        match piece {
            Piece::Bytes(bytes) if bytes.is_empty() => {}
            Piece::Bytes(bytes) => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(bytes);
                chunk.extend_from_slice(b"\r\n");
                connection.write_all(&chunk)?;
            }
            Piece::Until(condition) => {
                let since = Instant::now();
                while !condition() {
                    assert!(
                        since.elapsed() < MAX_WAIT,
                        "what the server waits for has not come"
                    );
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            Piece::Pause(time) => std::thread::sleep(*time),
            Piece::Cut => {
                connection.shutdown(std::net::Shutdown::Both)?;
                return Err(std::io::ErrorKind::ConnectionAborted.into());
            }
            Piece::Silence => {
                let mut rest = [0; 1];
                let _ = connection.read(&mut rest);
                return Err(std::io::ErrorKind::ConnectionAborted.into());
            }
        }
    }
    connection.write_all(b"0\r\n\r\n")
}
