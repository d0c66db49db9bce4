//! OAuth: logs in to a server in the person's browser, keeps its tokens in a private file, and refreshes them.
//!
//! The browser returns to an address of this machine that only this login knows. Tokens are never shown or logged.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore,
    StoredCredentials,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::describe;
use super::logins::Logins;
use crate::config::dirs::create_private_dir;
use crate::config::{LONGEST_FILE, add_keys, is_missing, read_regular, save};

/// How long the person has to log in.
const MAX_WAIT: Duration = Duration::from_secs(300);
/// How long one request of the browser may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
/// A longer request is not from a browser that comes back.
const LONGEST_REQUEST: usize = 16 << 10;
/// A token that expires sooner is refreshed first.
const SOON: Duration = Duration::from_secs(60);
const CALLBACK: &str = "/callback";
/// The name that authorization servers show to the person.
const CLIENT_NAME: &str = "agent-tui";

const PAGE: &str = "<!doctype html><meta charset=utf-8><title>agent-tui</title><p>You can close this page and return to agent-tui.";

/// How the person wants to log in, if not in the standard way.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The port that the browser returns to; any free one if 0.
    pub port: u16,
    /// A client that was registered before, with its secret.
    pub client: Option<(String, Option<String>)>,
}

/// A login that waits for the person.
pub struct Login {
    session: AuthorizationSession,
    listener: TcpListener,
    /// What the browser must send back, so that no other page can end the login.
    state: String,
}

impl Login {
    /// Finds out where to log in, and registers this program there.
    pub async fn begin(url: &str, logins: &Logins, wish: Wish) -> Result<Self, String> {
        let listener = TcpListener::bind(("127.0.0.1", wish.port)).await;
        let listener =
            listener.map_err(|error| format!("can't listen on port {}: {error}", wish.port))?;
        let port = listener
            .local_addr()
            .map_err(|error| error.to_string())?
            .port();
        let mut manager = manager(url, logins)
            .await
            .map_err(|error| error_text(&error))?;
        let challenge = challenge(url).await;
        let metadata = manager
            .resolve_metadata_from_challenge(challenge.as_deref())
            .await
            .map_err(|error| error_text(&error))?
            .metadata;
        manager.set_metadata(metadata);
        let mut request = AuthorizationRequest::new(format!("http://127.0.0.1:{port}{CALLBACK}"))
            .with_initial_scope_selection()
            .with_client_name(CLIENT_NAME);
        if let Some((client, secret)) = wish.client {
            request = request.with_preregistered_client(client);
            if let Some(secret) = secret {
                request = request.with_client_secret(secret);
            }
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| error_text(&error))?;
        let state = parameter(session.get_authorization_url(), "state").unwrap_or_default();
        Ok(Self {
            session,
            listener,
            state,
        })
    }

    /// The address that the person has to open.
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Opens the address in the person's browser; returns whether there is one.
    pub fn open_browser(&self, logins: &Logins) -> bool {
        logins.open(self.address())
    }

    /// Waits for the browser, and gets the tokens.
    pub async fn finish(self) -> Result<(), String> {
        let answer = timeout(MAX_WAIT, self.answer()).await;
        let answer = answer.map_err(|_| "nobody logged in within five minutes".to_owned())??;
        let response = self.session.handle_callback_url(&answer).await;
        response.map(drop).map_err(|error| error_text(&error))
    }

    /// The address that the browser returned to.
    async fn answer(&self) -> Result<String, String> {
        loop {
            let (browser, _) = self
                .listener
                .accept()
                .await
                .map_err(|error| error.to_string())?;
            let received = timeout(REQUEST_LIMIT, self.read_callback(browser)).await;
            if let Ok(Some(answer)) = received {
                return answer;
            }
        }
    }

    /// One request of the browser; `None` if it is about something else.
    async fn read_callback(&self, mut browser: TcpStream) -> Option<Result<String, String>> {
        let mut request = Vec::new();
        let mut part = [0; 2048];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            let count = browser.read(&mut part).await.ok()?;
            if count == 0 || request.len() > LONGEST_REQUEST {
                return None;
            }
            request.extend_from_slice(&part[..count]);
        }
        let request = String::from_utf8_lossy(&request);
        let target = request.strip_prefix("GET ")?.split(' ').next()?;
        let url = format!("http://127.0.0.1{target}");
        let is_answer = target.split('?').next() == Some(CALLBACK)
            && parameter(&url, "state").is_some_and(|state| state == self.state);
        let (status, page) = if is_answer {
            ("200 OK", PAGE)
        } else {
            ("404 Not Found", "")
        };
        let length = page.len();
        let reply = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}"
        );
        // The login continues even if the page can't be shown.
        let _ = browser.write_all(reply.as_bytes()).await;
        let _ = browser.shutdown().await;
        if !is_answer {
            return None;
        }
        Some(match parameter(&url, "error") {
            Some(error) => {
                let more = parameter(&url, "error_description");
                let more = more.map_or_else(String::new, |more| format!(": {more}"));
                Err(describe::line(&format!(
                    "the login was refused: {error}{more}"
                )))
            }
            None => Ok(url),
        })
    }
}

/// The access token for a server that the person has logged in to; refreshed if it is about to expire.
pub async fn token(url: &str, logins: &Logins) -> Option<String> {
    let store = Store::new(url, logins);
    let saved = store.load().await.ok()??;
    let response = serde_json::to_value(saved.token_response?).ok()?;
    let access = response["access_token"].as_str()?.to_owned();
    let expires = saved.token_received_at.zip(response["expires_in"].as_u64());
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let is_fresh = expires.is_none_or(|(received, seconds)| {
        Duration::from_secs(received.saturating_add(seconds)) > now + SOON
    });
    let token = if is_fresh {
        access
    } else {
        let mut manager = manager(url, logins).await.ok()?;
        manager.initialize_from_store().await.ok()?;
        match manager.get_access_token().await {
            Ok(token) => token,
            Err(error) => {
                tracing::warn!(error = %describe::line(&error.to_string()), "no token for an MCP server");
                return None;
            }
        }
    };
    add_keys([token.clone()]);
    Some(token)
}

async fn manager(url: &str, logins: &Logins) -> Result<AuthorizationManager, AuthError> {
    // Another part of the program may have installed it before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut manager = AuthorizationManager::new(url).await?;
    manager.set_credential_store(Store::new(url, logins));
    Ok(manager)
}

/// What the server says about logging in when it refuses a request: where, and for which scopes.
async fn challenge(url: &str) -> Option<String> {
    let client = super::wire::http::client(url).ok()?;
    let hello = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": CLIENT_NAME, "version": env!("CARGO_PKG_VERSION") },
        },
    });
    let asking = client
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(hello.to_string())
        .send();
    let answer = timeout(REQUEST_LIMIT, asking).await.ok()?.ok()?;
    if answer.status() != reqwest::StatusCode::UNAUTHORIZED {
        return None;
    }
    let challenge = answer.headers().get("www-authenticate")?;
    challenge.to_str().ok().map(str::to_owned)
}

fn error_text(error: &AuthError) -> String {
    describe::line(&error.to_string())
}

/// A parameter of an address.
fn parameter(url: &str, name: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    let mut pairs = url.query_pairs();
    pairs
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

/// The tokens of one server, in a file that only its owner can read.
struct Store {
    file: PathBuf,
    url: String,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    /// Two addresses must not share tokens.
    url: String,
    credentials: Value,
}

impl Store {
    fn new(url: &str, logins: &Logins) -> Self {
        Self {
            file: logins.file(url),
            url: url.to_owned(),
        }
    }
}

#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let bytes = match read_regular(&self.file, LONGEST_FILE) {
            Ok(bytes) => bytes,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(AuthError::CredentialStoreError(error.to_string())),
        };
        let saved: Option<Saved> = serde_json::from_slice(&bytes).ok();
        let saved = saved.filter(|saved| saved.url == self.url);
        Ok(saved.and_then(|saved| serde_json::from_value(saved.credentials).ok()))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let write = || {
            let saved = Saved {
                url: self.url.clone(),
                credentials: serde_json::to_value(&credentials)?,
            };
            create_private_dir(self.file.parent().unwrap_or(&self.file))?;
            save::put_private(&self.file, serde_json::to_string(&saved)?.as_bytes())
        };
        write().map_err(|error| AuthError::CredentialStoreError(error.to_string()))
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match std::fs::remove_file(&self.file) {
            Err(error) if !is_missing(&error) => {
                Err(AuthError::CredentialStoreError(error.to_string()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
