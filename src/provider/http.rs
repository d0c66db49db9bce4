//! The three wire formats over HTTP: sends a request, reads the stream, says what went wrong.

use std::time::{Duration, SystemTime};

use futures_util::future::{BoxFuture, FutureExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::time::Instant;

use super::pace::Pace;
use super::trace::{ResponseTrace, causes};
use super::wires::{Header, Wire};
use super::{
    Batch, Decoder, Provider, ProviderError, ProviderErrorKind, Request, ResponseStream,
    StreamError, StreamErrorKind, StreamEvent, errors, sse,
};
use crate::config::logged;
use crate::protocol::ServerTool;

/// A stream that is silent for this long is treated as broken.
pub const STALL: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an error's body may take.
const ERROR_TIMEOUT: Duration = Duration::from_secs(10);
/// How much longer than any other byte the first one may take: a model may think long before it.
const HEAD_SHARE: u32 = 5;
/// No real answer is this long; reading on would only fill the memory.
const LONGEST_ANSWER: usize = 256 << 20;
/// An error's body is read up to here.
const LONGEST_ERROR: usize = 64 * 1024;

/// A key and the header that carries it.
#[derive(Clone, PartialEq, Eq)]
pub enum Key {
    ApiKey(String),
    Bearer(String),
}

pub struct Http {
    wire: Wire,
    base_url: String,
    /// The base URL as it may be shown: without a name and password in it.
    shown_url: String,
    key: Option<Key>,
    stall: Duration,
    client: reqwest::Client,
}

impl Key {
    pub fn new(header: Header, secret: String) -> Self {
        match header {
            Header::ApiKey => Key::ApiKey(secret),
            Header::Bearer => Key::Bearer(secret),
        }
    }

    fn secret(&self) -> &str {
        match self {
            Key::ApiKey(secret) | Key::Bearer(secret) => secret,
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = match self {
            Key::ApiKey(secret) => (HeaderName::from_static("x-api-key"), secret.clone()),
            Key::Bearer(secret) => (reqwest::header::AUTHORIZATION, format!("Bearer {secret}")),
        };
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some((name, value))
    }
}

impl Http {
    pub fn new(
        wire: Wire,
        base_url: &str,
        key: Option<Key>,
        stall: Option<Duration>,
    ) -> Result<Self, ProviderError> {
        let base_url = base_url.trim_end_matches('/').to_owned();
        let url = reqwest::Url::parse(&base_url)
            .ok()
            .filter(|url| ["http", "https"].contains(&url.scheme()));
        let Some(url) = url else {
            return Err(final_error(
                format!("`{base_url}` is not a URL"),
                "a base URL begins with http:// or https://",
            ));
        };
        if key.as_ref().is_some_and(|key| key.header().is_none()) {
            return Err(final_error(
                "the API key contains characters that are not allowed".into(),
                "copy the key again, without spaces or line breaks",
            ));
        }
        let client = client(&url).map_err(|error| {
            tracing::error!(causes = %logged(causes(&error)), "no client for connections");
            final_error(
                format!("can't connect: {}", cause(&error)),
                "run it with --debug to log every cause",
            )
        })?;
        let shown_url = without_password(&url);
        Ok(Self {
            wire,
            base_url,
            shown_url,
            key,
            stall: stall.unwrap_or(STALL),
            client,
        })
    }

    /// Where it is, for people.
    pub fn address(&self) -> &str {
        &self.shown_url
    }

    async fn send(&self, request: &Request) -> Result<Box<dyn ResponseStream>, ProviderError> {
        let body = self.wire.body(request, &self.base_url).to_string();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some((name, version)) = self.wire.facts().version {
            headers.insert(name, HeaderValue::from_static(version));
        }
        headers.extend(self.key.as_ref().and_then(Key::header));
        let url = format!("{}{}", self.base_url, self.wire.facts().path);
        self.trace_sending(request, body.len());
        let trace = ResponseTrace::begin();
        let sent = self.client.post(url).headers(headers).body(body).send();
        let answer = match tokio::time::timeout(self.stall * HEAD_SHARE, sent).await {
            Err(_) => {
                tracing::warn!(took = ?trace.elapsed(), "no answer in time");
                return Err(self.passing("the provider timed out"));
            }
            Ok(Err(error)) => {
                let why = self.without_key(&causes(&error));
                tracing::warn!(took = ?trace.elapsed(), causes = %logged(why), "request failed");
                return Err(self.unreachable(&error));
            }
            Ok(Ok(answer)) => answer,
        };
        trace_head(&answer, &trace);
        if !answer.status().is_success() {
            return Err(self.refused(answer, request).await);
        }
        self.check_kind(answer, request, trace).await
    }

    fn trace_sending(&self, request: &Request, bytes: usize) {
        // The part after a question mark may be a key.
        let base = self.shown_url.split('?').next().unwrap_or_default();
        tracing::info!(
            provider = self.wire.facts().name,
            model = request.model,
            url = %logged(format_args!("{base}{}", self.wire.facts().path)),
            bytes,
            messages = request.messages.len(),
            tools = request.tools.len(),
            max_tokens = request.max_tokens,
            "request sent"
        );
    }

    fn without_key(&self, text: &str) -> String {
        errors::redact(text, self.key.as_ref().map(Key::secret))
    }

    /// A success that is not an event stream comes from another server, or is really an error.
    async fn check_kind(
        &self,
        answer: reqwest::Response,
        request: &Request,
        trace: ResponseTrace,
    ) -> Result<Box<dyn ResponseStream>, ProviderError> {
        let kind = answer
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        let kind = kind.to_lowercase();
        if kind.contains("html") || kind.contains("application/json") {
            let what = if kind.contains("html") {
                "a web page"
            } else {
                "one JSON document"
            };
            let message = self.refused(answer, request).await.message;
            return Err(final_error(
                format!(
                    "`{}` answered with {what} instead of an event stream: {message}",
                    self.shown_url
                ),
                "check the base URL: it may need /v1 at the end, or not",
            ));
        }
        Ok(Box::new(HttpStream {
            answer,
            reader: sse::Reader::default(),
            decoder: self.wire.decoder(),
            stall: self.stall,
            deadline: Instant::now() + self.stall,
            pace: Pace::new(Instant::now()),
            bytes: 0,
            trace,
            secret: self.key.as_ref().map(|key| key.secret().to_owned()),
        }))
    }

    async fn refused(&self, answer: reqwest::Response, request: &Request) -> ProviderError {
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = tokio::time::timeout(ERROR_TIMEOUT, head_of(answer))
            .await
            .unwrap_or_default();
        let message = || self.without_key(&String::from_utf8_lossy(&body));
        tracing::warn!(status, body = %logged(message()), "request refused");
        let header = |name: &str| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(str::to_owned)
        };
        let context = errors::Context {
            provider: self.wire.facts().name,
            model: &request.model,
            base_url: &self.shown_url,
            key: self.key.as_ref().map(Key::secret),
            now: SystemTime::now(),
        };
        errors::http_error(status, header, &body, &context)
    }

    fn unreachable(&self, error: &reqwest::Error) -> ProviderError {
        let why = cause(error);
        let lower = why.to_lowercase();
        let base_url = &self.shown_url;
        if lower.contains("certificate") {
            return final_error(
                format!("the certificate of `{base_url}` is not trusted: {why}"),
                "check the URL and the system clock; a valid certificate is required",
            );
        }
        let what = if lower.contains("dns")
            || lower.contains("resolve")
            || lower.contains("name or service")
        {
            format!("can't find the host of `{base_url}`: {why}")
        } else if lower.contains("refused") {
            format!("can't reach `{base_url}`: {why}")
        } else {
            format!("the connection to `{base_url}` failed: {why}")
        };
        self.passing(&what)
    }

    fn passing(&self, message: &str) -> ProviderError {
        ProviderError {
            kind: ProviderErrorKind::Retry { after: None },
            message: self.without_key(message),
            hint: Some("check the network and the base URL, or try `--provider builtin`".into()),
        }
    }
}

impl Provider for Http {
    fn name(&self) -> &'static str {
        self.wire.facts().name
    }

    fn serves(&self, tool: ServerTool) -> bool {
        self.wire.serves(tool)
    }

    fn open<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Box<dyn ResponseStream>, ProviderError>> {
        self.send(request).boxed()
    }
}

struct HttpStream {
    answer: reqwest::Response,
    reader: sse::Reader,
    decoder: Box<dyn Decoder>,
    stall: Duration,
    /// When silence has lasted too long. Kept here, because the wait is interrupted and continued.
    deadline: Instant,
    /// Says when a complete call need not wait any longer.
    pace: Pace,
    /// How many bytes have arrived.
    bytes: usize,
    trace: ResponseTrace,
    /// The key, which no message may show.
    secret: Option<String>,
}

impl HttpStream {
    async fn advance(&mut self) -> Batch {
        loop {
            let waits = self.decoder.is_waiting();
            let until = if waits {
                self.deadline.min(self.pace.settled_at())
            } else {
                self.deadline
            };
            let bytes = match tokio::time::timeout_at(until, self.answer.chunk()).await {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => return self.over(None),
                Ok(Err(error)) => {
                    let why = errors::redact(&causes(&error), self.secret.as_deref());
                    self.trace.disconnected(&why);
                    return self.over(Some(broken(cause(&error))));
                }
                Err(_) if waits && until < self.deadline => {
                    let mut events = Vec::new();
                    self.decoder.quiet(&mut events);
                    return Batch::Events(events);
                }
                Err(_) => {
                    return self.over(Some(broken(format!(
                        "no data for {} s",
                        self.stall.as_secs()
                    ))));
                }
            };
            let now = Instant::now();
            self.deadline = now + self.stall;
            self.pace.arrived(now);
            self.bytes += bytes.len();
            self.trace.chunk(bytes.len());
            if self.bytes > LONGEST_ANSWER {
                return self.over(Some(too_long()));
            }
            let mut events = Vec::new();
            let decoder = &mut self.decoder;
            let read = self.reader.push(&bytes, &mut |frame| {
                if !decoder.is_over() {
                    decoder.frame(&frame, &mut events);
                }
            });
            match read {
                Err(error) => return self.end(events, Some(error.into())),
                Ok(()) if self.decoder.is_over() => return self.end(events, None),
                Ok(()) if events.is_empty() => {}
                Ok(()) => return Batch::Events(events),
            }
        }
    }

    /// The bytes have ended: what is still in the reader may complete the response.
    fn over(&mut self, broken: Option<StreamError>) -> Batch {
        let mut events = Vec::new();
        let decoder = &mut self.decoder;
        self.reader.finish(&mut |frame| {
            if !decoder.is_over() {
                decoder.frame(&frame, &mut events);
            }
        });
        self.end(events, broken)
    }

    fn end(&mut self, mut events: Vec<StreamEvent>, broken: Option<StreamError>) -> Batch {
        let mut response = self.decoder.finish(&mut events);
        if broken.is_some() && !response.complete {
            response.error = broken;
        }
        if let Some(error) = &mut response.error {
            error.message = errors::redact(&error.message, self.secret.as_deref());
        }
        Batch::Over(events, Box::new(response))
    }
}

impl ResponseStream for HttpStream {
    fn next(&mut self) -> BoxFuture<'_, Batch> {
        async {
            let batch = self.advance().await;
            self.trace.forwarded(&batch);
            batch
        }
        .boxed()
    }
}

fn trace_head(answer: &reqwest::Response, trace: &ResponseTrace) {
    let header = |name: &str| answer.headers().get(name)?.to_str().ok();
    let id = header("request-id").or_else(|| header("x-request-id"));
    tracing::info!(
        status = answer.status().as_u16(),
        took = ?trace.elapsed(),
        kind = %logged(header("content-type").unwrap_or_default()),
        id = %logged(id.unwrap_or_default()),
        "headers came"
    );
}

/// A client for one server.
pub(super) fn client(url: &reqwest::Url) -> reqwest::Result<reqwest::Client> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("agent-tui/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        // The key goes to the host that was named, and to no other.
        .redirect(reqwest::redirect::Policy::none());
    if url.scheme() == "http" {
        // Reading the system's certificates takes longer than everything else before the first request.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn without_password(url: &reqwest::Url) -> String {
    let mut url = url.clone();
    // Only a URL that cannot have a user name or password refuses.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.as_str().trim_end_matches('/').to_owned()
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn too_long() -> StreamError {
    let message = format!("the answer is longer than {} MB", LONGEST_ANSWER >> 20);
    StreamError {
        kind: StreamErrorKind::Api,
        code: "answer_too_long".into(),
        message,
        retryable: false,
    }
}

fn broken(message: String) -> StreamError {
    StreamError {
        kind: StreamErrorKind::Truncated,
        code: "truncated".into(),
        message,
        retryable: true,
    }
}

async fn head_of(mut answer: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        body.extend_from_slice(&chunk[..chunk.len().min(LONGEST_ERROR - body.len())]);
        if body.len() == LONGEST_ERROR {
            break;
        }
    }
    body
}

/// The innermost cause of an error: the part that says something.
fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    let mut message = Vec::new();
    while let Some(source) = innermost.source() {
        innermost = source;
        message.push(source.to_string());
    }
    message.pop().unwrap_or_else(|| error.to_string())
}

fn final_error(message: String, hint: &str) -> ProviderError {
    ProviderError {
        kind: ProviderErrorKind::Final,
        message,
        hint: Some(hint.to_owned()),
    }
}
