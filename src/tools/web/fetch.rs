//! Fetches one address: resolves it, checks where it leads, and connects to exactly that.
//!
//! Nothing is resolved before the permission to fetch the page is there. A name is resolved once, and the checked
//! address is used, so that a different answer a moment later changes nothing.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Certificate, Client, Response, StatusCode, Url};

use crate::permissions::Inner;

/// A larger page is truncated.
pub const MOST_BYTES: usize = 10 << 20;
/// The time limit for the whole fetch.
pub const MAX_WAIT: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(10);
const MOST_REDIRECTS: usize = 5;

/// A response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The final address after redirects.
    pub url: Url,
    pub status: StatusCode,
    pub content_type: String,
    pub bytes: Vec<u8>,
    /// It was larger than [`MOST_BYTES`].
    pub is_cut: bool,
}

/// The result of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrived {
    Page(Fetched),
    /// The server redirects to another host, which was not allowed.
    Elsewhere {
        from: Url,
        to: Url,
    },
    /// The name resolves to an address that is not public.
    Inside {
        host: String,
        address: IpAddr,
        inner: Inner,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("`{0}` is not an address: {1}. Give a whole one, such as `https://example.com/page`")]
    NoUrl(String, String),
    #[error("only http and https addresses can be fetched, not `{0}:`")]
    Scheme(String),
    #[error("a name and password in the address are not sent; leave them out")]
    Password,
    #[error("no address is known for `{0}`; check the name")]
    Unresolved(String),
    #[error(
        "{host} did not send the whole page within {} seconds; try again later",
        MAX_WAIT.as_secs()
    )]
    Slow { host: String },
    #[error("{host} cannot be reached: {cause}")]
    Unreached { host: String, cause: String },
    #[error("{host} redirects more than {MOST_REDIRECTS} times")]
    Redirects { host: String },
    #[error("{host} answered with status {status}, a redirect, but does not say where to")]
    NoTarget { host: String, status: u16 },
    #[error("{host} redirects to `{to}`, which is not an address that can be fetched")]
    BadRedirect { host: String, to: String },
    #[error("the connection to {host} broke: {cause}")]
    Broken { host: String, cause: String },
}

/// Whether addresses that are not public may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    OpenNet,
    /// The person has allowed it.
    Everywhere,
}

/// The address in an input.
pub fn parse(text: &str) -> Result<Url, Problem> {
    let url = Url::parse(text.trim())
        .map_err(|error| Problem::NoUrl(text.to_owned(), error.to_string()))?;
    check(&url)?;
    Ok(url)
}

fn check(url: &Url) -> Result<(), Problem> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Problem::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Problem::Password);
    }
    Ok(())
}

/// How names are resolved and servers are trusted. The default is the machine's way; tests have their own.
#[derive(Debug, Clone, Default)]
pub struct Net {
    /// Certificates that are trusted besides those of the machine.
    pub roots: Vec<Certificate>,
    /// Addresses of names that no name server is asked for.
    pub names: HashMap<String, IpAddr>,
    /// The port for `https` where an address with `http` is tried with it.
    pub https_port: Option<u16>,
}

impl Net {
    /// Fetches, following redirects on the same host.
    pub async fn fetch(&self, url: &Url, reach: Reach) -> Result<Arrived, Problem> {
        let host = host_of(url);
        match tokio::time::timeout(MAX_WAIT, self.upgraded(url, reach)).await {
            Ok(arrived) => arrived,
            Err(_) => Err(Problem::Slow { host }),
        }
    }

    /// Tries `https` first if only `http` was given, but not on this machine or in private networks.
    async fn upgraded(&self, url: &Url, reach: Reach) -> Result<Arrived, Problem> {
        let mut secure = url.clone();
        let can_be = url.scheme() == "http"
            && (url.port().is_none() || self.https_port.is_some())
            && Inner::of_host(&host_of(url)).is_none()
            && secure.set_scheme("https").is_ok()
            && secure.set_port(self.https_port).is_ok();
        if can_be {
            match self.follow(&secure, reach).await {
                Err(Problem::Unreached { .. }) => {}
                arrived => return arrived,
            }
        }
        self.follow(url, reach).await
    }

    async fn follow(&self, url: &Url, reach: Reach) -> Result<Arrived, Problem> {
        let host = host_of(url);
        let client = match self.resolved(url, reach).await? {
            Resolved::Client(client) => client,
            Resolved::Inside { address, inner } => {
                return Ok(Arrived::Inside {
                    host,
                    address,
                    inner,
                });
            }
        };
        let mut url = url.clone();
        for _ in 0..=MOST_REDIRECTS {
            let response = send(&client, &url).await?;
            let Some(to) = redirect(&response, &url)? else {
                return Ok(Arrived::Page(read(response, url).await?));
            };
            let same_port = to.port_or_known_default() == url.port_or_known_default();
            let stays = to.host_str() == url.host_str() && (same_port || is_upgrade(&url, &to));
            if !stays {
                return Ok(Arrived::Elsewhere { from: url, to });
            }
            url = to;
        }
        Err(Problem::Redirects { host })
    }

    async fn resolved(&self, url: &Url, reach: Reach) -> Result<Resolved, Problem> {
        let host = host_of(url);
        let port = url.port_or_known_default().unwrap_or(443);
        let addresses = self.addresses(&host, port).await?;
        if reach == Reach::OpenNet {
            let mut inside = addresses.iter().map(SocketAddr::ip);
            let found = inside.find_map(|address| Some((address, Inner::of(address)?)));
            if let Some((address, inner)) = found {
                return Ok(Resolved::Inside { address, inner });
            }
        }
        provide_tls();
        let client = Client::builder()
            .user_agent(concat!("agent-tui/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would resolve the name again.
            .no_proxy()
            .tls_certs_merge(self.roots.iter().cloned())
            .resolve_to_addrs(&host, &addresses)
            .build();
        client
            .map(Resolved::Client)
            .map_err(|error| Problem::Unreached {
                host,
                cause: causes(&error),
            })
    }

    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Problem> {
        let name = host.trim_matches(['[', ']']);
        let known = name.parse().ok().or_else(|| self.names.get(name).copied());
        if let Some(address) = known {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let unresolved = || Problem::Unresolved(host.to_owned());
        let found = tokio::net::lookup_host((name, port)).await;
        let found: Vec<SocketAddr> = found.map_err(|_| unresolved())?.collect();
        if found.is_empty() {
            return Err(unresolved());
        }
        Ok(found)
    }
}

/// From `http` to `https` on the same host, both at their default ports.
fn is_upgrade(from: &Url, to: &Url) -> bool {
    from.scheme() == "http"
        && to.scheme() == "https"
        && from.port().is_none()
        && to.port().is_none()
}

enum Resolved {
    /// Connects to the checked address only.
    Client(Client),
    Inside {
        address: IpAddr,
        inner: Inner,
    },
}

async fn send(client: &Client, url: &Url) -> Result<Response, Problem> {
    let request = client.get(url.clone()).header(
        ACCEPT,
        "text/markdown, text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.8",
    );
    request.send().await.map_err(|error| Problem::Unreached {
        host: host_of(url),
        cause: causes(&error),
    })
}

fn redirect(response: &Response, url: &Url) -> Result<Option<Url>, Problem> {
    if !response.status().is_redirection() {
        return Ok(None);
    }
    let Some(to) = response.headers().get(LOCATION) else {
        return Err(Problem::NoTarget {
            host: host_of(url),
            status: response.status().as_u16(),
        });
    };
    let to = String::from_utf8_lossy(to.as_bytes()).into_owned();
    let bad = || Problem::BadRedirect {
        host: host_of(url),
        to: to.clone(),
    };
    let target = url.join(&to).map_err(|_| bad())?;
    check(&target).map_err(|_| bad())?;
    Ok(Some(target))
}

async fn read(mut response: Response, url: Url) -> Result<Fetched, Problem> {
    let status = response.status();
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let mut bytes = Vec::new();
    let mut is_cut = false;
    while let Some(chunk) = response.chunk().await.map_err(|error| Problem::Broken {
        host: host_of(&url),
        cause: causes(&error),
    })? {
        let room = MOST_BYTES - bytes.len();
        is_cut = chunk.len() > room;
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if is_cut {
            break;
        }
    }
    Ok(Fetched {
        url,
        status,
        content_type,
        bytes,
        is_cut,
    })
}

pub fn host_of(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

/// What clients need for TLS, once in the program.
pub fn provide_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The causes of a failed request; the last one is the most specific.
pub fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
