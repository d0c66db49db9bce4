//! Streamable HTTP, with this program's own HTTP client.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use super::client::Client;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A longer event of a stream is refused.
const LONGEST_EVENT: usize = super::stdio::LONGEST_LINE;
const MOST_REDIRECTS: usize = 5;

pub type Http = StreamableHttpClientTransport<Client>;

/// A transport to this address. `token` is what a login gave.
pub fn open(
    url: &str,
    headers: &BTreeMap<String, String>,
    token: Option<String>,
) -> Result<Http, String> {
    let client = client(url)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom(headers)?)
        .max_sse_event_size(LONGEST_EVENT)
        .reinit_on_expired_session(true)
        .session_recovery_timeout(Duration::from_secs(5));
    if let Some(token) = token {
        config = config.auth_header(token);
    }
    Ok(Http::with_client(Client(client), config))
}

/// A client whose headers never reach another host.
pub fn client(url: &str) -> Result<reqwest::Client, String> {
    let url: reqwest::Url = url.parse().map_err(|error| format!("`{url}`: {error}"))?;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let same_origin = Policy::custom(|attempt| {
        let first = attempt.previous().first().map(reqwest::Url::origin);
        if attempt.previous().len() > MOST_REDIRECTS {
            attempt.error("too many redirects")
        } else if first.is_some_and(|first| first == attempt.url().origin()) {
            attempt.follow()
        } else {
            attempt.error("a redirect to another host is not followed")
        }
    });
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("agent-tui/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        // A connection that waits in the pool delays later requests by 40 ms.
        .pool_max_idle_per_host(0)
        .redirect(same_origin);
    if url.scheme() == "http" {
        // Reading the system's certificates would take longer than the request.
        builder = builder.tls_certs_only([]);
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    if host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| error.to_string())
}

fn custom(headers: &BTreeMap<String, String>) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let header = |(name, value): (&String, &String)| {
        let parsed: Option<HeaderName> = name.parse().ok();
        let value: Option<HeaderValue> = value.parse().ok();
        // The value may be a secret, so it is not named.
        let both = parsed.zip(value);
        both.ok_or_else(|| format!("the header `{name}` is not valid"))
    };
    headers.iter().map(header).collect()
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
