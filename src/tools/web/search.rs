//! Queries a search service. The key goes into a header and nowhere else.

use std::fmt::Write as _;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::{Value, json};

use super::markdown;
use crate::config::without_keys;
use crate::protocol::{Backend, Found, SearchService};
use crate::text::shortened;

/// The time limit for the whole search.
const MAX_WAIT: Duration = Duration::from_secs(20);
const CONNECT: Duration = Duration::from_secs(10);
/// The most pages that are shown.
const MOST_RESULTS: usize = 10;
/// The most that is read of an answer.
const LONGEST_ANSWER: usize = 4 << 20;
/// The longest text of one page.
const LONGEST_TEXT: usize = 1_000;
/// The longest error message of a service that is repeated.
const LONGEST_REASON: usize = 200;

/// A query with its domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub query: String,
    /// Domains, lower case; empty for all.
    pub allowed: Vec<String>,
    pub blocked: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("{service} needs a key: set the environment variable {variable}")]
    NoKey {
        service: &'static str,
        variable: String,
    },
    #[error("the key in {variable} has characters that a header cannot have; copy it again")]
    BadKey { variable: String },
    #[error("`{0}` is not an address; fix `webSearch.url` in the settings")]
    BadUrl(String),
    #[error("{service} did not accept the key{}: {reason}", in_variable(.variable.as_deref()))]
    Refused {
        service: &'static str,
        variable: Option<String>,
        reason: String,
    },
    #[error("{service} allows no more searches right now{}: {reason}", in_seconds(.after.as_deref()))]
    Busy {
        service: &'static str,
        after: Option<String>,
        reason: String,
    },
    #[error(
        "{service} answers only with web pages; its settings.yml must list `json` under `search: formats:`"
    )]
    NoJson { service: &'static str },
    #[error("{service} answered with status {status}: {reason}")]
    Status {
        service: &'static str,
        status: u16,
        reason: String,
    },
    #[error("{service} did not answer within {} seconds", MAX_WAIT.as_secs())]
    Slow { service: &'static str },
    #[error("{service} at {address} can't be reached: {cause}")]
    Unreached {
        service: &'static str,
        address: String,
        cause: String,
    },
    #[error(
        "{service} answered with something that is not its JSON: {problem}; check `webSearch.url`"
    )]
    NotUnderstood {
        service: &'static str,
        problem: String,
    },
}

fn in_variable(variable: Option<&str>) -> String {
    variable
        .map(|name| format!(" in {name}"))
        .unwrap_or_default()
}

fn in_seconds(after: Option<&str>) -> String {
    let seconds = after.and_then(|after| after.trim().parse::<u64>().ok());
    seconds
        .map(|seconds| format!(", try again in {seconds} s"))
        .unwrap_or_default()
}

/// The pages that the service finds, best first.
pub async fn search(service: &SearchService, question: &Question) -> Result<Vec<Found>, Problem> {
    let key = key(service)?;
    let asking = ask(service, question, key.as_deref());
    let found = tokio::time::timeout(MAX_WAIT, asking).await;
    let found = found.map_err(|_| Problem::Slow {
        service: service.backend.name(),
    })??;
    let keeps = |found: &Found| question.keeps(&found.url);
    Ok(found.into_iter().filter(keeps).take(MOST_RESULTS).collect())
}

impl Question {
    /// Whether a page is in the wanted domains. Not all services respect them.
    fn keeps(&self, url: &str) -> bool {
        let host = Url::parse(url).ok();
        let host = host.as_ref().and_then(Url::host_str).unwrap_or_default();
        let is_below = |domain: &String| {
            let above = host.strip_suffix(domain.as_str());
            above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
        };
        (self.allowed.is_empty() || self.allowed.iter().any(is_below))
            && !self.blocked.iter().any(is_below)
    }

    /// The query with its domains in the syntax of search engines.
    fn with_sites(&self) -> String {
        let mut query = self.query.clone();
        let sites: Vec<String> = self.allowed.iter().map(|it| format!("site:{it}")).collect();
        match sites.as_slice() {
            [] => {}
            [site] => {
                let _ = write!(query, " {site}");
            }
            sites => {
                let _ = write!(query, " ({})", sites.join(" OR "));
            }
        }
        for domain in &self.blocked {
            let _ = write!(query, " -site:{domain}");
        }
        query
    }
}

/// The key of a service, if it has one. A service at a custom address may work without.
fn key(service: &SearchService) -> Result<Option<String>, Problem> {
    let Some(variable) = service.key_variable() else {
        return Ok(None);
    };
    let key = std::env::var(variable).unwrap_or_default();
    let key = key.trim();
    if !key.is_empty() {
        return Ok(Some(key.to_owned()));
    }
    if service.url.is_some() && service.key_env.is_none() {
        return Ok(None);
    }
    Err(Problem::NoKey {
        service: service.backend.name(),
        variable: variable.to_owned(),
    })
}

async fn ask(
    service: &SearchService,
    question: &Question,
    key: Option<&str>,
) -> Result<Vec<Found>, Problem> {
    let name = service.backend.name();
    let url = address(service)?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let unreached = |error: reqwest::Error| Problem::Unreached {
        service: name,
        address: host.clone(),
        cause: super::fetch::causes(&error.without_url()),
    };
    let client = client(&url).map_err(unreached)?;
    let mut request = request(&client, url, service.backend, question);
    if let Some(key) = key {
        let (header, value) = header(service, key)?;
        request = request.header(header, value);
    }
    let response = request.send().await.map_err(unreached)?;
    let status = response.status();
    let after = response.headers().get(RETRY_AFTER);
    let after = after
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let mut body = read(response).await.map_err(unreached)?;
    // A service may repeat the key in its message.
    without_keys(
        &mut body,
        &key.map(str::to_owned).into_iter().collect::<Vec<_>>(),
    );
    if !status.is_success() {
        return Err(refused(service, status, after, &body));
    }
    let answer: Value = serde_json::from_slice(&body).map_err(|error| {
        let is_page = body.trim_ascii_start().starts_with(b"<");
        match service.backend {
            Backend::Searxng if is_page => Problem::NoJson { service: name },
            Backend::Searxng | Backend::Brave | Backend::Tavily => Problem::NotUnderstood {
                service: name,
                problem: error.to_string(),
            },
        }
    })?;
    results(service.backend, &answer).ok_or_else(|| Problem::NotUnderstood {
        service: name,
        problem: "it has no list of results".to_owned(),
    })
}

/// The address for queries. The setting may contain only the host, or also the path.
fn address(service: &SearchService) -> Result<Url, Problem> {
    let path = match service.backend {
        Backend::Searxng | Backend::Tavily => "/search",
        Backend::Brave => "/res/v1/web/search",
    };
    let home = service.backend.home().unwrap_or_default();
    let given = service.url.as_deref().unwrap_or(home);
    let mut url = Url::parse(given).map_err(|_| Problem::BadUrl(given.to_owned()))?;
    let base = url.path().trim_end_matches('/').to_owned();
    if base.ends_with("/search") {
        url.set_path(&base);
    } else if path.starts_with(&base) {
        url.set_path(path);
    } else {
        url.set_path(&format!("{base}{path}"));
    }
    Ok(url)
}

fn client(url: &Url) -> reqwest::Result<Client> {
    super::fetch::provide_tls();
    let mut builder = Client::builder()
        .user_agent(concat!("agent-tui/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        // The key must only go to the host that the settings name.
        .redirect(reqwest::redirect::Policy::none());
    if url.scheme() == "http" {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn request(client: &Client, mut url: Url, backend: Backend, question: &Question) -> RequestBuilder {
    let request = match backend {
        Backend::Searxng => {
            url.query_pairs_mut()
                .append_pair("q", &question.with_sites())
                .append_pair("format", "json");
            client.get(url)
        }
        Backend::Brave => {
            // Ask for more results, because some are dropped because of their domain.
            let count = if question.blocked.is_empty() {
                "10"
            } else {
                "20"
            };
            url.query_pairs_mut()
                .append_pair("q", &question.with_sites())
                .append_pair("count", count)
                .append_pair("text_decorations", "false");
            client.get(url)
        }
        Backend::Tavily => {
            let body = json!({
                "query": question.query,
                "max_results": MOST_RESULTS,
                "include_domains": question.allowed,
                "exclude_domains": question.blocked,
            });
            let kind = HeaderValue::from_static("application/json");
            let request = client.post(url).body(body.to_string());
            request.header(reqwest::header::CONTENT_TYPE, kind)
        }
    };
    request.header(ACCEPT, "application/json")
}

fn header(service: &SearchService, key: &str) -> Result<(HeaderName, HeaderValue), Problem> {
    let (name, value) = match service.backend {
        Backend::Brave => (
            HeaderName::from_static("x-subscription-token"),
            key.to_owned(),
        ),
        Backend::Tavily | Backend::Searxng => (AUTHORIZATION, format!("Bearer {key}")),
    };
    let variable = service.key_variable().unwrap_or_default().to_owned();
    let mut value = HeaderValue::from_str(&value).map_err(|_| Problem::BadKey { variable })?;
    value.set_sensitive(true);
    Ok((name, value))
}

async fn read(mut response: Response) -> reqwest::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LONGEST_ANSWER {
            break;
        }
    }
    Ok(bytes)
}

fn refused(
    service: &SearchService,
    status: StatusCode,
    after: Option<String>,
    body: &[u8],
) -> Problem {
    let name = service.backend.name();
    let reason = reason(status, body);
    // Brave reports a wrong key as an input that it cannot process.
    let is_about_key = matches!(
        (status, service.backend),
        (StatusCode::UNAUTHORIZED, _) | (StatusCode::FORBIDDEN, Backend::Brave | Backend::Tavily)
    ) || reason.contains("SUBSCRIPTION_TOKEN_INVALID");
    match status {
        _ if is_about_key => Problem::Refused {
            service: name,
            variable: service.key_variable().map(str::to_owned),
            reason,
        },
        StatusCode::TOO_MANY_REQUESTS => Problem::Busy {
            service: name,
            after,
            reason,
        },
        StatusCode::FORBIDDEN if service.backend == Backend::Searxng => {
            Problem::NoJson { service: name }
        }
        _ => Problem::Status {
            service: name,
            status: status.as_u16(),
            reason,
        },
    }
}

/// The service's error message, wherever it is in the answer.
fn reason(status: StatusCode, body: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let places = [
        "/error/detail",
        "/error/code",
        "/error/message",
        "/detail/error",
        "/detail",
        "/error",
        "/message",
    ];
    let given: Vec<&str> = places
        .iter()
        .filter_map(|place| answer.pointer(place)?.as_str())
        .take(2)
        .collect();
    if given.is_empty() {
        return status
            .canonical_reason()
            .unwrap_or("no reason given")
            .to_owned();
    }
    shortened(&given.join(" · "), LONGEST_REASON, "…").into_owned()
}

/// The pages in an answer; `None` if the expected list is missing.
fn results(backend: Backend, answer: &Value) -> Option<Vec<Found>> {
    let (list, text) = match backend {
        Backend::Searxng | Backend::Tavily => (answer.get("results")?, "content"),
        // Without results there is no list.
        Backend::Brave if answer.get("web").is_none() && answer.get("query").is_some() => {
            return Some(Vec::new());
        }
        Backend::Brave => (answer.pointer("/web/results")?, "description"),
    };
    let found = list.as_array()?.iter().filter_map(|item| {
        let word = |field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default();
        let more = item.get("extra_snippets").and_then(Value::as_array);
        let more = more.into_iter().flatten().filter_map(Value::as_str);
        let texts: Vec<&str> = std::iter::once(word(text)).chain(more).collect();
        let url = word("url").trim();
        let read = |text: &str| match backend {
            // Its texts are HTML.
            Backend::Brave => markdown::plain(text),
            Backend::Searxng | Backend::Tavily => on_one_line(text),
        };
        (!url.is_empty()).then(|| Found {
            title: read(word("title")),
            url: url.to_owned(),
            text: shortened(&read(&texts.join(" ")), LONGEST_TEXT, "…").into_owned(),
        })
    });
    Some(found.collect())
}

fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::{Question, address};
    use crate::protocol::{Backend, SearchService};

    #[test]
    fn an_address_may_be_the_host_or_more_of_it() {
        let at = |backend, url: Option<&str>| {
            let service = SearchService {
                backend,
                url: url.map(str::to_owned),
                key_env: None,
            };
            address(&service).expect("an address").to_string()
        };
        for (backend, url, full) in [
            (
                Backend::Brave,
                None,
                "https://api.search.brave.com/res/v1/web/search",
            ),
            (Backend::Tavily, None, "https://api.tavily.com/search"),
            (
                Backend::Searxng,
                Some("http://a:8080"),
                "http://a:8080/search",
            ),
            (
                Backend::Searxng,
                Some("http://a/searxng/"),
                "http://a/searxng/search",
            ),
            (Backend::Searxng, Some("http://a/search"), "http://a/search"),
            (
                Backend::Brave,
                Some("http://a/res/v1"),
                "http://a/res/v1/web/search",
            ),
            (
                Backend::Brave,
                Some("http://a/res/v1/web/search"),
                "http://a/res/v1/web/search",
            ),
        ] {
            assert_eq!(at(backend, url), full);
        }
    }

    #[test]
    fn a_domain_includes_its_subdomains() {
        let question = Question {
            query: "q".into(),
            allowed: vec!["rust-lang.org".into(), "docs.rs".into()],
            blocked: vec!["forge.rust-lang.org".into()],
        };
        assert_eq!(
            question.with_sites(),
            "q (site:rust-lang.org OR site:docs.rs) -site:forge.rust-lang.org"
        );
        for (url, keeps) in [
            ("https://rust-lang.org/", true),
            ("https://doc.rust-lang.org/std", true),
            ("https://DOCS.RS/x", true),
            ("https://trust-lang.org/", false),
            ("https://forge.rust-lang.org/a", false),
            ("https://example.com/?docs.rs", false),
            ("no address", false),
        ] {
            assert_eq!(question.keeps(url), keeps, "{url}");
        }
    }
}
