//! A connection to a server: the handshake, requests with limits, and the end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, CustomRequest,
    ProtocolVersion, RequestId,
};
use rmcp::service::{
    ClientInitializeError, Peer, PeerRequestOptions, RunningService, ServiceError, serve_client,
};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::config::{Server, Transport};
use super::describe;
use super::failure;
use super::handler::{ElicitationReceiver, ElicitationRouter, Handler};
use super::log::Log;
use super::process::{Process, Start};
use super::result::error_text;
pub use super::server_context::ServerContext;
use super::wire::http;
use super::wire::stdio::Lines;
use super::wire::tap::{Changes, Link, Tap, Watcher};

/// The most pages of a list that are read.
const MOST_PAGES: usize = 100;
/// How long telling a server of a cancellation may take.
const CANCEL_GRACE: Duration = Duration::from_millis(500);
/// A server that has closed its pipes has probably ended: how long to wait for its exit code.
const END_GRACE: Duration = Duration::from_millis(300);
/// How long an HTTP server has to end a session.
const CLOSE_GRACE: Duration = Duration::from_millis(1_500);
/// The protocol versions with a handshake.
const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    Broken(String),
    /// It wants a login first.
    NeedsLogin,
}

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The server's own words.
    #[error("{0}")]
    Refused(String),
    #[error("it did not answer within {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("it was cancelled")]
    Cancelled,
    /// The connection is of no use any more.
    #[error("{0}")]
    Lost(String),
}

/// What a server says about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    pub tools: bool,
    pub prompts: bool,
    pub resources: bool,
    pub instructions: Option<String>,
}

/// How long to wait for an answer.
pub struct Limit<'l> {
    /// Without any progress.
    pub idle: Duration,
    pub cancel: &'l CancellationToken,
}

pub struct Connection {
    peer: Peer<RoleClient>,
    running: Mutex<Option<RunningService<RoleClient, Handler>>>,
    process: Mutex<Option<Process>>,
    link: Arc<Link>,
    router: ElicitationRouter,
    closed: CancellationToken,
    pub capabilities: Capabilities,
}

impl Connection {
    /// Connects and shakes hands. Takes as long as the server does; dropping the future ends the process.
    pub async fn open(
        server: &Server,
        context: &ServerContext,
        log: Log,
        token: Option<String>,
    ) -> Result<Arc<Self>, Failure> {
        let link = Link::new(log.clone());
        match &server.transport {
            Transport::Stdio { command, args, env } => {
                let started = Process::start(Start {
                    command,
                    args,
                    env,
                    cwd: &context.workspace,
                    variables: &context.variables,
                    log,
                });
                let (process, stdout, stdin) =
                    started.map_err(|error| Failure::Broken(error.to_string()))?;
                let lines = Lines::new(stdout, stdin, link.clone(), process.ended());
                Self::handshake(Tap::new(lines, link.clone()), context, link, Some(process)).await
            }
            Transport::Http { url, headers } => {
                #[cfg(feature = "oauth")]
                let token = match token {
                    Some(token) => Some(token),
                    None => super::login::token(url, &context.logins).await,
                };
                let http = http::open(url, headers, token).map_err(Failure::Broken)?;
                Self::handshake(Tap::new(http, link.clone()), context, link, None).await
            }
        }
    }

    async fn handshake<T>(
        transport: Tap<T>,
        context: &ServerContext,
        link: Arc<Link>,
        process: Option<Process>,
    ) -> Result<Arc<Self>, Failure>
    where
        T: rmcp::transport::Transport<RoleClient> + 'static,
    {
        let router = ElicitationRouter::default();
        let handler = Handler::new(context.roots.clone(), router.clone());
        let closed = CancellationToken::new();
        let transport = Closing {
            inner: transport,
            closed: closed.clone(),
        };
        let running = match serve_client(handler, transport).await {
            Ok(running) => running,
            Err(error) => return Err(failed(&error, &link.log, process).await),
        };
        let offered = capabilities(&running)?;
        Ok(Arc::new(Self {
            peer: running.peer().clone(),
            running: Mutex::new(Some(running)),
            process: Mutex::new(process),
            link,
            router,
            closed,
            capabilities: offered,
        }))
    }

    /// Waits until the connection has ended.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }

    pub fn is_closed(&self) -> bool {
        self.closed.is_cancelled()
    }

    /// Reports what the server says has changed.
    pub fn changes(&self) -> watch::Receiver<Changes> {
        self.link.changes()
    }

    /// Receives the server's questions while a call runs.
    pub fn subscribe(&self) -> ElicitationReceiver {
        self.router.subscribe()
    }

    /// All entries of a list, such as `tools` of `tools/list`.
    pub async fn list(
        &self,
        method: &'static str,
        key: &str,
        limit: &Limit<'_>,
    ) -> Result<Vec<Value>, RequestError> {
        let (mut entries, mut cursor) = (Vec::new(), Value::Null);
        for _ in 0..MOST_PAGES {
            let params = match &cursor {
                Value::Null => json!({}),
                cursor => json!({ "cursor": cursor }),
            };
            let mut page = self.request(method, params, limit, None).await?;
            if let Some(Value::Array(more)) = page.get_mut(key).map(Value::take) {
                entries.extend(more);
            }
            let next = page.get_mut("nextCursor").map(Value::take);
            match next.filter(|next| next.is_string() && *next != cursor) {
                Some(next) => cursor = next,
                None => break,
            }
        }
        Ok(entries)
    }

    /// Sends a request and waits for its result. If the wait ends early, the server is told.
    pub async fn request(
        &self,
        method: &'static str,
        params: Value,
        limit: &Limit<'_>,
        progress: Option<Watcher>,
    ) -> Result<Value, RequestError> {
        let watcher = progress.unwrap_or_else(|| Watcher::new(|_| {}));
        watcher.touch();
        let mut request = CustomRequest::new(method, Some(params));
        request.extensions.insert(watcher.clone());
        let request = ClientRequest::CustomRequest(request);
        let sending = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options());
        let mut handle = timeout(limit.idle, sending)
            .await
            .map_err(|_| RequestError::TimedOut(limit.idle))?
            .map_err(|error| self.explained(error))?;
        let waiting = Waiting {
            peer: self.peer.clone(),
            id: Some(handle.id.clone()),
        };
        loop {
            let until = watcher.last() + limit.idle;
            tokio::select! {
                biased;
                answer = &mut handle.rx => {
                    waiting.answered();
                    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                    return answer.map_err(|error| self.explained(error)).map(plain);
                }
                () = limit.cancel.cancelled() => {
                    waiting.cancel().await;
                    return Err(RequestError::Cancelled);
                }
                () = sleep_until(until) => {
                    if watcher.last() + limit.idle <= Instant::now() {
                        waiting.cancel().await;
                        return Err(RequestError::TimedOut(limit.idle));
                    }
                }
            }
        }
    }

    fn explained(&self, error: ServiceError) -> RequestError {
        match error {
            ServiceError::McpError(error) => {
                // The wire answers for a server that is gone, while the end is not known everywhere yet.
                let text = error_text(&error.message);
                if self.is_closed() || self.peer.is_transport_closed() {
                    RequestError::Lost(text)
                } else {
                    RequestError::Refused(text)
                }
            }
            ServiceError::Cancelled { .. } => RequestError::Cancelled,
            ServiceError::TransportClosed => {
                RequestError::Lost("the connection to the server ended".to_owned())
            }
            other => RequestError::Refused(failure::of_request(&other)),
        }
    }

    /// Ends the connection, and the process with everything that it started. Takes less than two seconds.
    pub async fn close(&self) {
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let process = self
            .process
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let stop = async {
            if let Some(mut running) = running {
                // It waits for its handlers; a process is ended meanwhile.
                let _ = running.close_with_timeout(CLOSE_GRACE).await;
            }
        };
        let end = async {
            if let Some(process) = process {
                process.close().await;
            }
        };
        tokio::join!(stop, end);
        self.closed.cancel();
    }
}

/// A request that waits for its answer. If it is dropped, the server is told that nobody waits any more.
struct Waiting {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Waiting {
    fn answered(mut self) {
        self.id = None;
    }

    async fn cancel(mut self) {
        if let Some(id) = self.id.take() {
            let _ = timeout(CANCEL_GRACE, cancel(self.peer.clone(), id)).await;
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(cancel(self.peer.clone(), id));
        }
    }
}

async fn cancel(peer: Peer<RoleClient>, id: RequestId) {
    let param = CancelledNotificationParam::new(Some(id), Some("no longer needed".to_owned()));
    let notification = CancelledNotification::new(param);
    let _ = peer.send_notification(notification.into()).await;
}

/// Reports the end of a transport.
struct Closing<T> {
    inner: T,
    closed: CancellationToken,
}

impl<T: rmcp::transport::Transport<RoleClient>> rmcp::transport::Transport<RoleClient>
    for Closing<T>
{
    type Error = T::Error;

    fn send(
        &mut self,
        item: rmcp::model::ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<rmcp::model::ServerJsonRpcMessage> {
        let message = self.inner.receive().await;
        if message.is_none() {
            self.closed.cancel();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

fn plain(result: rmcp::model::ServerResult) -> Value {
    match result {
        rmcp::model::ServerResult::CustomResult(result) => result.0,
        typed => serde_json::to_value(typed).unwrap_or_default(),
    }
}

fn capabilities(running: &RunningService<RoleClient, Handler>) -> Result<Capabilities, Failure> {
    let info = running.peer().peer_info();
    let info = info.map(|info| serde_json::to_value(&*info).unwrap_or_default());
    let info = info.unwrap_or_default();
    let version = info["protocolVersion"].as_str().unwrap_or_default();
    if !VERSIONS.contains(&version) {
        let version = describe::line(version);
        let ours = ProtocolVersion::V_2025_11_25;
        return Err(Failure::Broken(format!(
            "it speaks version {version} of the protocol; this program speaks {ours}"
        )));
    }
    let can = |what: &str| {
        info["capabilities"]
            .get(what)
            .is_some_and(|it| !it.is_null())
    };
    Ok(Capabilities {
        tools: can("tools"),
        prompts: can("prompts"),
        resources: can("resources"),
        instructions: info["instructions"].as_str().map(describe::description),
    })
}

async fn failed(error: &ClientInitializeError, log: &Log, process: Option<Process>) -> Failure {
    if error.is_authorization_required() {
        return Failure::NeedsLogin;
    }
    let text = failure::of_handshake(error);
    if text.contains("HTTP 401") {
        return Failure::NeedsLogin;
    }
    let Some(process) = process else {
        return Failure::Broken(text);
    };
    let mut ended = process.ended();
    let by_itself = timeout(END_GRACE, ended.wait_for(Option::is_some)).await;
    let by_itself = by_itself.ok().and_then(|how| how.ok()?.clone());
    process.close().await;
    let text = by_itself.map_or(text, |how| format!("the server {how}"));
    // Its last words often say more than its exit code.
    Failure::Broken(match log.last() {
        Some(last) => format!("{text}: {last}"),
        None => text,
    })
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
