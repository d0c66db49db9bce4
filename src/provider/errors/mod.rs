//! Turns an HTTP answer that is an error into what the caller and the person can do about it.
//!
//! Pure: status, headers and body go in. All servers are read leniently by the same rules: status and code words decide,
//! the message is only shown, except for a full context window, which some servers report in words alone.

mod body;
mod redact;

use std::time::{Duration, SystemTime};

use serde_json::Value;

pub(super) use body::Body;
pub use redact::redact;

use super::wires::Wire;
use super::{ProviderError, ProviderErrorKind};
use crate::text::shortened;

/// If a server asks for a longer wait, the person decides.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// How much of a server's message is shown.
const MESSAGE_CHARS: usize = 300;

/// The request that failed.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// `anthropic`, `openai` or `responses`.
    pub provider: &'a str,
    pub model: &'a str,
    pub base_url: &'a str,
    /// The key that was sent; it never appears in a message.
    pub key: Option<&'a str>,
    /// For a `retry-after` that is a date.
    pub now: SystemTime,
}

/// Explains an answer whose status is not 200. `header` looks up a header by its lower-case name.
pub fn http_error(
    status: u16,
    header: impl Fn(&str) -> Option<String>,
    body: &[u8],
    context: &Context<'_>,
) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let body = serde_json::from_str::<Value>(&text).map_or_else(
        |_| Body {
            message: text_of_a_page(&text),
            ..Body::default()
        },
        |value| Body::read(&value),
    );
    let problem = Problem::of(status, &body);
    let after = retry_after(&header, context.now);
    let may_retry = match header("x-should-retry").as_deref().map(str::trim) {
        Some("true") => true,
        Some("false") => false,
        _ => matches!(status, 408 | 409 | 429 | 500..=599),
    };

    let mut message = format!("{} ({status})", problem.description(context));
    if let Some(detail) = &body.message {
        let detail = shorten(&redact(detail, context.key));
        if !detail.is_empty() {
            message = format!("{message}: {detail}");
        }
    }
    let mut hint = problem.hint(context);
    let kind = match problem {
        Problem::ContextFull => ProviderErrorKind::ContextFull,
        Problem::NoCredit => ProviderErrorKind::Final,
        _ if !may_retry => ProviderErrorKind::Final,
        _ => match after {
            Some(after) if after > LONGEST_WAIT => {
                let wait = wait_text(after);
                message = format!("{message}; the provider says to wait {wait}");
                hint = format!("try again in {wait}, or switch to another model");
                ProviderErrorKind::Final
            }
            after => ProviderErrorKind::Retry { after },
        },
    };
    ProviderError {
        kind,
        message,
        hint: Some(redact(&hint, context.key)),
    }
}

/// What went wrong, grouped by what a person can do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Problem {
    Redirected,
    BadRequest,
    BadKey,
    NoCredit,
    Forbidden,
    NotFound,
    ProxyLogin,
    TimedOut,
    ContextFull,
    RateLimited,
    Overloaded,
    ServerTrouble,
}

impl Problem {
    fn of(status: u16, body: &Body) -> Self {
        if is_context_full(status, body) {
            return Self::ContextFull;
        }
        let is = |word| body.kind.as_deref() == Some(word) || body.code.as_deref() == Some(word);
        if is("insufficient_quota") || is("billing_error") {
            return Self::NoCredit;
        }
        match status {
            300..=399 => Self::Redirected,
            401 => Self::BadKey,
            402 => Self::NoCredit,
            403 => Self::Forbidden,
            404 => Self::NotFound,
            407 => Self::ProxyLogin,
            408 | 504 => Self::TimedOut,
            429 => Self::RateLimited,
            503 | 529 => Self::Overloaded,
            500..=599 => Self::ServerTrouble,
            _ => Self::BadRequest,
        }
    }

    fn description(self, context: &Context<'_>) -> &'static str {
        match self {
            Self::Redirected => "the provider returned a redirect",
            Self::BadRequest => "the provider refused the request",
            Self::BadKey if context.key.is_none() => "the provider needs an API key",
            Self::BadKey => "the provider rejected the API key",
            Self::NoCredit => "your account has no credit left",
            Self::Forbidden => "the provider does not allow this request",
            Self::NotFound => "unknown model or address",
            Self::ProxyLogin => "the proxy needs a login",
            Self::TimedOut => "the provider timed out",
            Self::ContextFull => "the conversation is too long for this model",
            Self::RateLimited => "rate limited",
            Self::Overloaded => "the provider is overloaded",
            Self::ServerTrouble => "server error at the provider",
        }
    }

    fn hint(self, context: &Context<'_>) -> String {
        let Context {
            model, base_url, ..
        } = context;
        match self {
            Self::Redirected => format!("check the base URL `{base_url}`"),
            Self::BadKey => {
                let variable = key_variable(context.provider);
                let verb = if context.key.is_none() {
                    "set"
                } else {
                    "check"
                };
                format!(
                    "{verb} {variable}, or try it without a key: `agent-tui --provider builtin`"
                )
            }
            Self::NoCredit => {
                "add credit, raise the account's limit, or switch the provider".into()
            }
            Self::Forbidden => {
                format!("check that your key may use `{model}`, or switch the model with `--model`")
            }
            Self::NotFound => format!(
                "check the model `{model}` (`--model`) and the base URL `{base_url}` (`--base-url`)"
            ),
            Self::ProxyLogin => "add the proxy's user and password to HTTPS_PROXY".into(),
            Self::ContextFull => {
                "/clear starts over; or switch to a model with a larger context".into()
            }
            Self::RateLimited => "wait a moment, or switch to another model".into(),
            Self::TimedOut | Self::Overloaded | Self::ServerTrouble => {
                "try again later, or switch to another model".into()
            }
            Self::BadRequest => format!(
                "check that `{base_url}` supports this format and tools for `{model}`, or switch the model with `--model`"
            ),
        }
    }
}

fn is_context_full(status: u16, body: &Body) -> bool {
    const CODES: [&str; 3] = [
        "request_too_large",
        "context_length_exceeded",
        "exceed_context_size_error",
    ];
    const PHRASES: [&str; 6] = [
        "maximum context length",
        "exceeds the available context size",
        "prompt is too long",
        "exceed context limit",
        "exceeds the context window",
        "context window exceeded",
    ];
    let coded = |word: &Option<String>| CODES.iter().any(|code| word.as_deref() == Some(code));
    if status == 413 || coded(&body.kind) || coded(&body.code) {
        return true;
    }
    let message = body.message.as_deref().unwrap_or_default().to_lowercase();
    matches!(status, 400 | 422 | 500) && PHRASES.iter().any(|phrase| message.contains(phrase))
}

fn key_variable(provider: &str) -> &'static str {
    let wire = Wire::named(provider).unwrap_or(Wire::OpenAi);
    let first = wire.facts().keys.first();
    first.map_or("its key", |(variable, _)| *variable)
}

/// How long the server asks to wait. Invalid values are ignored.
fn retry_after(header: &impl Fn(&str) -> Option<String>, now: SystemTime) -> Option<Duration> {
    let number = |name: &str| {
        let number: f64 = header(name)?.trim().parse().ok()?;
        (number >= 0.0).then_some(number)
    };
    if let Some(milliseconds) = number("retry-after-ms") {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    if let Some(seconds) = number("retry-after") {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(header("retry-after")?.trim()).ok()?;
    // A date in the past means now.
    Some(date.duration_since(now).unwrap_or_default())
}

fn wait_text(wait: Duration) -> String {
    let seconds = wait.as_secs();
    match seconds {
        0..=299 => format!("{seconds} s"),
        300..=7199 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// The words of a body that is not JSON. For a web page, as proxies send it, only the title is shown.
fn text_of_a_page(text: &str) -> Option<String> {
    let text = text.trim();
    if !text.starts_with('<') {
        return Some(text.to_owned()).filter(|text| !text.is_empty());
    }
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").map(|at| at + "<title>".len());
    let title = title.and_then(|start| {
        let end = start + lower[start..].find("</title>")?;
        Some(text[start..end].trim())
    });
    Some(match title {
        Some(title) if !title.is_empty() => format!("a web page, `{title}`"),
        _ => "a web page".into(),
    })
}

/// One line of at most [`MESSAGE_CHARS`] characters.
fn shorten(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    shortened(&words.join(" "), MESSAGE_CHARS, "…").into_owned()
}

#[cfg(test)]
mod tests;
