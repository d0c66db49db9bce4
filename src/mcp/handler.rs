//! Answers the requests of a server: roots, and questions to the person. Sampling is refused.

#![expect(deprecated, reason = "servers of today still ask for roots")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorCode, ErrorData, Implementation, InitializeRequestParams,
    ListRootsResult, ProtocolVersion, Root,
};
use rmcp::service::{RequestContext, RoleClient};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// How many questions of a server may wait.
const MOST_WAITING: usize = 2;

/// What a server asks the person.
#[derive(Debug)]
pub struct Elicitation {
    pub message: String,
    pub kind: ElicitationKind,
    /// For the answer. Nobody waits for it any more if it is closed.
    pub reply: oneshot::Sender<Answer>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationKind {
    /// Values for this schema.
    Form(Value),
    /// The person opens this address.
    Url(String),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Accept(Option<Value>),
    Decline,
    Cancel,
}

/// Where questions of a server go: to the call that began last, since a question has to belong to a call.
#[derive(Debug, Clone, Default)]
pub struct ElicitationRouter(Arc<Mutex<Vec<Registered>>>);

/// A seat by its number, and how to reach it.
type Registered = (u64, mpsc::Sender<Elicitation>);

/// Receives the questions while its call runs.
pub struct ElicitationReceiver {
    router: ElicitationRouter,
    number: u64,
    questions: mpsc::Receiver<Elicitation>,
}

impl ElicitationRouter {
    pub fn subscribe(&self) -> ElicitationReceiver {
        let (sender, questions) = mpsc::channel(MOST_WAITING);
        let mut receivers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = receivers.last().map_or(0, |(last, _)| last + 1);
        receivers.push((number, sender));
        ElicitationReceiver {
            router: self.clone(),
            number,
            questions,
        }
    }

    async fn ask(&self, message: String, kind: ElicitationKind) -> Answer {
        let (reply, answer) = oneshot::channel();
        let question = Elicitation {
            message,
            kind,
            reply,
        };
        let receiver = {
            let receivers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            receivers.last().map(|(_, receiver)| receiver.clone())
        };
        // Without a call nobody expects a question; a server that asks in a storm gets no answer from a person.
        match receiver.map(|receiver| receiver.try_send(question)) {
            Some(Ok(())) => answer.await.unwrap_or(Answer::Cancel),
            Some(Err(_)) | None => Answer::Decline,
        }
    }
}

impl ElicitationReceiver {
    /// The next question. Cancel-safe.
    pub async fn next(&mut self) -> Elicitation {
        match self.questions.recv().await {
            Some(question) => question,
            None => std::future::pending().await,
        }
    }
}

impl Drop for ElicitationReceiver {
    fn drop(&mut self) {
        let mut receivers = self.router.0.lock().unwrap_or_else(PoisonError::into_inner);
        receivers.retain(|(number, _)| *number != self.number);
    }
}

/// What a server may ask of this program.
pub struct Handler {
    roots: Vec<PathBuf>,
    router: ElicitationRouter,
}

impl Handler {
    pub fn new(roots: Vec<PathBuf>, router: ElicitationRouter) -> Self {
        Self { roots, router }
    }

    async fn elicit(&self, params: Value, context: RequestContext<RoleClient>) -> ElicitResult {
        let message = params["message"].as_str().unwrap_or_default().to_owned();
        let kind = match (params["mode"].as_str(), params["url"].as_str()) {
            (Some("url"), Some(url)) => ElicitationKind::Url(url.to_owned()),
            _ => ElicitationKind::Form(params["requestedSchema"].clone()),
        };
        let answer = tokio::select! {
            answer = self.router.ask(message, kind) => answer,
            () = context.ct.cancelled() => Answer::Cancel,
        };
        match answer {
            Answer::Accept(None) => ElicitResult::new(ElicitationAction::Accept),
            Answer::Accept(Some(values)) => {
                ElicitResult::new(ElicitationAction::Accept).with_content(values)
            }
            Answer::Decline => ElicitResult::new(ElicitationAction::Decline),
            Answer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
        }
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> InitializeRequestParams {
        let capabilities = json!({ "roots": {}, "elicitation": { "form": {}, "url": {} } });
        let capabilities: ClientCapabilities =
            serde_json::from_value(capabilities).unwrap_or_default();
        let own = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        // Newer versions have no handshake, and most servers don't know them.
        InitializeRequestParams::new(capabilities, own)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let roots = self.roots.iter().map(|root| {
            let name = root.file_name().unwrap_or(root.as_os_str());
            Root::new(file_uri(root)).with_name(name.to_string_lossy())
        });
        Ok(ListRootsResult::new(roots.collect()))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(request).unwrap_or_default();
        Ok(self.elicit(params, context).await)
    }

    /// Also requests that rmcp can't read, such as questions with unusual schemas.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "elicitation/create" {
            return Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            ));
        }
        let result = self
            .elicit(request.params.unwrap_or_default(), context)
            .await;
        Ok(CustomResult(
            serde_json::to_value(result).unwrap_or_default(),
        ))
    }
}

/// The address of a directory.
pub fn file_uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_addresses() {
        assert_eq!(file_uri(Path::new("/a b/ä")), "file:///a%20b/%C3%A4");
    }

    #[tokio::test]
    async fn questions_go_to_the_call_that_began_last_and_are_declined_without_one() {
        let router = ElicitationRouter::default();
        let form = || ElicitationKind::Form(json!({}));
        assert_eq!(router.ask("?".to_owned(), form()).await, Answer::Decline);
        let (_first, mut last) = (router.subscribe(), router.subscribe());
        let asked = tokio::spawn({
            let router = router.clone();
            async move {
                router
                    .ask("name?".to_owned(), ElicitationKind::Form(json!({})))
                    .await
            }
        });
        let question = last.next().await;
        assert_eq!(question.message, "name?");
        question.reply.send(Answer::Accept(None)).expect("it waits");
        assert_eq!(asked.await.expect("no panic"), Answer::Accept(None));
    }
}
