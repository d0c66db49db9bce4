//! Watches the messages of a connection, over any transport.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, GetMeta, JsonRpcMessage,
    ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::model::{ClientRequest, GetExtensions};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::mcp::log::Log;

/// The progress of a request, as its server reports it.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// Gets the progress of one request. It travels in the request's extensions, so it is known before the request is
/// sent.
#[derive(Clone)]
pub struct Watcher {
    show: Arc<dyn Fn(Progress) + Send + Sync>,
    /// When the server last showed that it works on the request.
    alive: Arc<Mutex<Instant>>,
}

/// What the server said has changed, as counts: a reader compares them with those that it has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    pub tools: u64,
    pub prompts: u64,
    pub resources: u64,
}

/// What is known about a connection's messages. Shared by its transport and its user.
pub struct Link {
    state: Mutex<State>,
    changes: watch::Sender<Changes>,
    pub log: Log,
}

#[derive(Default)]
struct State {
    /// Requests without an answer.
    pending: HashSet<RequestId>,
    /// Every id up to this one was used.
    last: i64,
    watchers: HashMap<ProgressToken, (RequestId, Watcher)>,
    /// Answers that the server should have given.
    owed: VecDeque<ServerJsonRpcMessage>,
}

/// A transport that is watched.
pub struct Tap<T> {
    inner: T,
    link: Arc<Link>,
}

impl Watcher {
    pub fn new(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self {
            show: Arc::new(report),
            alive: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// The server need not have worked on the request until now.
    pub fn touch(&self) {
        *self.alive.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub fn last(&self) -> Instant {
        *self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, progress: Progress) {
        self.touch();
        (self.show)(progress);
    }
}

impl Link {
    pub fn new(log: Log) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changes: watch::Sender::default(),
            log,
        })
    }

    /// Reports later changes.
    pub fn changes(&self) -> watch::Receiver<Changes> {
        self.changes.subscribe()
    }

    /// The next answer that the server owes.
    pub fn owed(&self) -> Option<ServerJsonRpcMessage> {
        self.lock().owed.pop_front()
    }

    pub fn is_pending(&self, id: &RequestId) -> bool {
        self.lock().pending.contains(id)
    }

    /// Ends the request with an error.
    pub fn fail(&self, id: &RequestId, why: &str) {
        let mut state = self.lock();
        if state.finish(id) {
            state.owed.push_back(failure(id.clone(), why));
        }
    }

    /// Ends all requests with an error.
    pub fn fail_all(&self, why: &str) {
        let mut state = self.lock();
        let pending: Vec<RequestId> = state.pending.drain().collect();
        state.watchers.clear();
        let failures = pending.into_iter().map(|id| failure(id, why));
        state.owed.extend(failures);
    }

    fn sent(&self, message: &ClientJsonRpcMessage) {
        let mut state = self.lock();
        match message {
            JsonRpcMessage::Request(request) => {
                state.pending.insert(request.id.clone());
                if let RequestId::Number(number) = request.id {
                    state.last = state.last.max(number);
                }
                let ClientRequest::CustomRequest(custom) = &request.request else {
                    return;
                };
                let token = custom.get_meta().get_progress_token();
                let watcher = custom.extensions().get::<Watcher>().cloned();
                if let (Some(token), Some(watcher)) = (token, watcher) {
                    state.watchers.insert(token, (request.id.clone(), watcher));
                }
            }
            JsonRpcMessage::Notification(notification) => {
                // After a cancellation nobody waits for the answer.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    state.finish(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Takes in a message. Returns it if rmcp has to handle it.
    fn received(&self, message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        match &message {
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::CancelledNotification(_) => Some(message),
                other => {
                    self.on_notification(other);
                    None
                }
            },
            JsonRpcMessage::Response(response) => {
                self.answered(Some(&response.id));
                Some(message)
            }
            JsonRpcMessage::Error(error) => {
                self.answered(error.id.as_ref());
                Some(message)
            }
            JsonRpcMessage::Request(_) => Some(message),
        }
    }

    fn answered(&self, id: Option<&RequestId>) {
        let Some(id) = id else {
            return;
        };
        let mut state = self.lock();
        if !state.finish(id) && !state.was_used(id) {
            drop(state);
            self.log.push("it answered a request that was never made");
            // It mixes up its answers, so nobody knows which ones are still to come.
            self.fail_all("the server answered with an id that was never used");
        }
    }

    fn on_notification(&self, notification: &ServerNotification) {
        match notification {
            ServerNotification::ProgressNotification(progress) => {
                let progress = &progress.params;
                let watcher = self.lock().watchers.get(&progress.progress_token).cloned();
                if let Some((_, watcher)) = watcher {
                    watcher.report(Progress {
                        done: progress.progress,
                        total: progress.total,
                        message: progress.message.clone(),
                    });
                }
            }
            ServerNotification::ToolListChangedNotification(_) => {
                self.changes.send_modify(|changes| changes.tools += 1);
            }
            ServerNotification::PromptListChangedNotification(_) => {
                self.changes.send_modify(|changes| changes.prompts += 1);
            }
            ServerNotification::ResourceListChangedNotification(_) => {
                self.changes.send_modify(|changes| changes.resources += 1);
            }
            ServerNotification::LoggingMessageNotification(_) => {
                let message = serde_json::to_value(notification).unwrap_or_default();
                let (level, data) = (&message["params"]["level"], &message["params"]["data"]);
                let text = data
                    .as_str()
                    .map_or_else(|| data.to_string(), str::to_owned);
                let level = level.as_str().unwrap_or("info");
                self.log.push(&format!("{level}: {text}"));
            }
            // Cancellations are for rmcp; nothing here subscribes to resources or starts tasks.
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns whether the request was pending.
    fn finish(&mut self, id: &RequestId) -> bool {
        let was_pending = self.pending.remove(id);
        if was_pending {
            self.watchers.retain(|_, (other, _)| other != id);
        }
        was_pending
    }

    /// Whether a request had this id: the answer is late, or comes twice.
    fn was_used(&self, id: &RequestId) -> bool {
        match id {
            RequestId::Number(number) => (0..=self.last).contains(number),
            // Some servers answer with the number as text.
            RequestId::String(text) => text
                .parse()
                .is_ok_and(|number: i64| (0..=self.last).contains(&number)),
        }
    }
}

impl<T> Tap<T> {
    pub fn new(inner: T, link: Arc<Link>) -> Self {
        Self { inner, link }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Tap<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.link.sent(&item);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(owed) = self.link.owed() {
                return Some(owed);
            }
            let Some(message) = self.inner.receive().await else {
                self.link.fail_all("the connection to the server ended");
                return self.link.owed();
            };
            if let Some(message) = self.link.received(message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

fn failure(id: RequestId, why: &str) -> ServerJsonRpcMessage {
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, why.to_owned(), None::<Value>);
    JsonRpcMessage::error(error, Some(id))
}
