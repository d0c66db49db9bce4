//! Says in words why a server could not be reached or did not answer.

use std::error::Error;
use std::io;

use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::result::error_text;
use crate::text::shortened;

type HttpError = StreamableHttpError<reqwest::Error>;

const NO_SERVER: &str = "not an MCP server";
/// How much of a server's own words about an error is shown.
const LONGEST_BODY: usize = 200;

/// Why the handshake failed.
pub fn of_handshake(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::JsonRpcError(error) => error_text(&error.message),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_)
        | ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            format!("{NO_SERVER}: it does not answer `initialize`")
        }
        ClientInitializeError::ConnectionClosed(_) => {
            "the connection ended before the server answered".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => of_transport(error),
        other => error_text(&other.to_string()),
    }
}

/// Why a request failed that the server did not answer.
pub fn of_request(error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => of_transport(error),
        other => innermost(other),
    }
}

fn of_transport(error: &DynamicTransportError) -> String {
    let mut next: Option<&(dyn Error + 'static)> = Some(&*error.error);
    while let Some(current) = next {
        if let Some(http) = current.downcast_ref::<HttpError>() {
            return of_http(http);
        }
        next = current.source();
    }
    match innermost_io(&*error.error).map(io::Error::kind) {
        Some(io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected) => {
            "the server reads no more".to_owned()
        }
        Some(_) | None => innermost(&*error.error),
    }
}

fn of_http(error: &HttpError) -> String {
    match error {
        HttpError::Client(error) => of_client(error),
        HttpError::HttpStatus(error) => status(error.status),
        HttpError::UnexpectedServerResponse(text) => of_response(text),
        HttpError::UnexpectedContentType(Some(kind)) => {
            let kind = error_text(kind.split(';').next().unwrap_or_default());
            format!("{NO_SERVER}: it answered {kind}")
        }
        HttpError::UnexpectedContentType(None) => {
            format!("{NO_SERVER}: its answer has no content type")
        }
        HttpError::Deserialize(_) => format!("{NO_SERVER}: its answer is not JSON-RPC"),
        HttpError::UnexpectedEndOfStream => "the answer ended too early".to_owned(),
        HttpError::SessionExpired => "the server forgot the session".to_owned(),
        HttpError::SessionRecoveryTimeout => {
            "the server forgot the session and did not begin a new one in time".to_owned()
        }
        HttpError::InsufficientScope(_) => {
            "the login does not cover this; log in again with more scopes".to_owned()
        }
        HttpError::TransportChannelClosed => "the connection to the server ended".to_owned(),
        other => innermost(other),
    }
}

/// `HTTP 404 Not Found`, and what the server says about it unless that is a page.
fn of_response(text: &str) -> String {
    let Some(rest) = text.strip_prefix("HTTP ") else {
        return format!("{NO_SERVER}: its answer could not be read");
    };
    let (status, body) = rest.split_once(": ").unwrap_or((rest, ""));
    let body = body.trim();
    if body.is_empty() || body.starts_with('<') {
        return format!("HTTP {status}");
    }
    let line = body.lines().next().unwrap_or_default();
    let line = error_text(line);
    format!("HTTP {status}: {}", shortened(&line, LONGEST_BODY, "…"))
}

fn status(code: u16) -> String {
    let reason = reqwest::StatusCode::from_u16(code).ok();
    match reason.and_then(|code| code.canonical_reason()) {
        Some(reason) => format!("HTTP {code} {reason}"),
        None => format!("HTTP {code}"),
    }
}

fn of_client(error: &reqwest::Error) -> String {
    let what = match innermost_io(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => "connection reset".to_owned(),
        Some(io::ErrorKind::UnexpectedEof) => "the connection ended too early".to_owned(),
        Some(_) | None if error.is_timeout() => "no answer in time".to_owned(),
        Some(_) | None => innermost(error),
    };
    match error.url() {
        Some(url) => format!("{what}: {}", address(url)),
        None => what,
    }
}

/// The address without the parts that may be secret.
fn address(url: &reqwest::Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    error_text(url.as_str())
}

fn innermost_io<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e io::Error> {
    let (mut found, mut next) = (None, Some(error));
    while let Some(current) = next {
        found = current.downcast_ref().or(found);
        next = current.source();
    }
    found
}

/// The innermost cause of an error: the part that says something.
fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    error_text(&innermost.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use crate::mcp::config::Transport;
    use crate::mcp::connection::{Connection, Failure};
    use crate::mcp::log::Log;
    use crate::mcp::rig;

    /// Why there is no connection to this address.
    async fn failure(url: String) -> String {
        let (context, _home) = rig::server_context();
        let mut server = rig::server("plain");
        server.transport = Transport::Http {
            url,
            headers: std::collections::BTreeMap::new(),
        };
        match Connection::open(&server, &context, Log::default(), None).await {
            Ok(_) => "connected".to_owned(),
            Err(Failure::NeedsLogin) => "needs login".to_owned(),
            Err(Failure::Broken(why)) => why,
        }
    }

    /// The address of a server that answers everything with this.
    fn answering(answer: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("bound"));
        let answer = answer.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let _ = stream.read(&mut [0; 8192]);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        url
    }

    fn response(status: &str, kind: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    }

    #[tokio::test]
    async fn nobody_listens() {
        let port = {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            listener.local_addr().expect("bound").port()
        };
        let why = failure(format!("http://127.0.0.1:{port}/mcp?key=secret")).await;
        assert_eq!(
            why,
            format!("connection refused: http://127.0.0.1:{port}/mcp")
        );
    }

    #[tokio::test]
    async fn what_is_no_mcp_server_is_described_by_its_answer() {
        let cases = [
            (
                response("404 Not Found", "text/html", "<html>"),
                "HTTP 404 Not Found",
            ),
            (
                response("400 Bad Request", "text/plain", "no \u{1b}[31msession"),
                "HTTP 400 Bad Request: no session",
            ),
            (
                response("503 Service Unavailable", "text/plain", ""),
                "HTTP 503 Service Unavailable",
            ),
            (
                response("200 OK", "text/html; charset=utf-8", "<html>"),
                "not an MCP server: it answered text/html",
            ),
            (
                response("200 OK", "application/json", "{}"),
                "not an MCP server: its answer could not be read",
            ),
            (
                response("401 Unauthorized", "text/plain", ""),
                "needs login",
            ),
        ];
        for (answer, expected) in cases {
            assert_eq!(failure(answering(&answer)).await, expected, "{answer}");
        }
    }

    #[tokio::test]
    async fn a_connection_that_ends_early_is_named_with_its_address() {
        let url = answering("");
        let why = failure(url.clone()).await;
        assert!(why.ends_with(&format!(": {url}")), "{why}");
        assert!(!why.contains("rmcp") && !why.contains("::"), "{why}");
    }
}
