//! Which provider and model a run talks to.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::Provider;
use super::builtin::Builtin;
use super::http::{Http, Key};
use super::script::Script;
use super::wires::Wire;
use crate::config::logged;

const OLLAMA_URL: &str = "http://127.0.0.1:11434";
/// A local server that is there answers at once.
const OLLAMA_MAX_WAIT: Duration = Duration::from_millis(150);

/// What is wanted. `--base-url` beats the environment, the environment beats the settings.
#[derive(Debug, Clone)]
pub struct ProviderRequest {
    pub flags: ProviderOptions,
    pub settings: ProviderOptions,
    pub stall: Option<Duration>,
    /// The built-in model, set up for the screen or for a pipe.
    pub builtin: Builtin,
}

/// What the flags, or the settings, say about the provider.
#[derive(Debug, Clone, Default)]
pub struct ProviderOptions {
    pub provider: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
}

pub struct Choice {
    pub provider: Arc<dyn Provider>,
    pub model: String,
    pub about: ChoiceReason,
}

/// Why this one was chosen, for troubleshooting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChoiceReason {
    pub why: String,
    /// Its address, without a password, and where that was set.
    pub address: Option<(String, String)>,
    pub key: KeyFound,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyFound {
    #[default]
    NotNeeded,
    /// In this variable.
    In(&'static str),
    /// It could be in one of the variables of this wire.
    Missing(Wire),
}

#[derive(Debug)]
pub struct ChoiceError {
    pub problem: String,
    pub hint: Option<String>,
}

pub async fn choose(mut request: ProviderRequest) -> Result<Choice, ChoiceError> {
    let flag = request.flags.provider.take();
    if flag.is_some() && request.settings.provider.is_some() && flag != request.settings.provider {
        // They speak of another provider: its address must not get this one's key.
        request.settings = ProviderOptions::default();
    }
    let why = match (&flag, &request.settings.provider) {
        (Some(_), _) => "set by --provider",
        (None, Some(_)) => "set in settings",
        (None, None) => "no key set, Ollama not running",
    };
    let name = flag.or_else(|| request.settings.provider.take());
    let mut choice = pick(&request, name.as_deref()).await?;
    if choice.about.why.is_empty() {
        why.clone_into(&mut choice.about.why);
    }
    let (provider, model) = (choice.provider.name(), logged(&choice.model));
    let (why, key) = (&choice.about.why, choice.about.key);
    tracing::info!(provider, %model, why, ?key, "provider chosen");
    Ok(choice)
}

async fn pick(request: &ProviderRequest, name: Option<&str>) -> Result<Choice, ChoiceError> {
    let because = |why: &str, choice: Result<Choice, ChoiceError>| {
        choice.map(|mut choice| {
            why.clone_into(&mut choice.about.why);
            choice
        })
    };
    match name {
        Some("builtin") => Ok(builtin(request.builtin)),
        Some(name) => match (Wire::named(name), name.strip_prefix("script:")) {
            (Some(wire), _) => over_http(request, wire),
            (None, Some(path)) => script(path),
            (None, None) => Err(ChoiceError {
                problem: format!("unknown provider `{name}`"),
                hint: Some("choose anthropic, openai, responses, builtin or script:FILE".into()),
            }),
        },
        None if key_of(Wire::Anthropic).is_some() => {
            because("its API key is set", over_http(request, Wire::Anthropic))
        }
        // An address without a provider: most servers use this format.
        None if key_of(Wire::OpenAi).is_some() || request.has_address() => {
            let why = if key_of(Wire::OpenAi).is_some() {
                "its API key is set"
            } else {
                "its address is set"
            };
            because(why, over_http(request, Wire::OpenAi))
        }
        None => Ok(ollama(request)
            .await
            .unwrap_or_else(|| builtin(request.builtin))),
    }
}

impl ProviderRequest {
    fn model(&self) -> Option<String> {
        self.flags
            .model
            .clone()
            .or_else(|| self.settings.model.clone())
    }

    fn has_address(&self) -> bool {
        self.flags.base_url.is_some() || self.settings.base_url.is_some()
    }
}

fn over_http(request: &ProviderRequest, wire: Wire) -> Result<Choice, ChoiceError> {
    let facts = wire.facts();
    let flag = request.flags.base_url.clone();
    let message = flag.map(|url| (url, "--base-url"));
    let message = message
        .or_else(|| variable(facts.url_variable).map(|url| (url, facts.url_variable)))
        .or_else(|| Some((request.settings.base_url.clone()?, "the settings")));
    let (base_url, source) = message.unwrap_or_else(|| (facts.url.to_owned(), "by default"));
    let (key, key_found) = match key_of(wire) {
        Some((variable, key)) => (Some(key), KeyFound::In(variable)),
        // Local servers need none.
        None if facts.key_only_at_home && base_url != facts.url => (None, KeyFound::NotNeeded),
        None => (None, KeyFound::Missing(wire)),
    };
    let provider = Http::new(wire, &base_url, key, request.stall).map_err(|error| ChoiceError {
        problem: error.message,
        hint: error.hint,
    })?;
    let model = request.model().unwrap_or_else(|| facts.model.to_owned());
    let address = (provider.address().to_owned(), source.to_owned());
    Ok(Choice {
        provider: Arc::new(provider),
        model,
        about: ChoiceReason {
            why: String::new(),
            address: Some(address),
            key: key_found,
        },
    })
}

/// The key for a wire, and the variable that it is in.
fn key_of(wire: Wire) -> Option<(&'static str, Key)> {
    let mut places = wire.facts().keys.iter();
    places.find_map(|(name, header)| Some((*name, Key::new(*header, variable(name)?))))
}

fn builtin(builtin: Builtin) -> Choice {
    Choice {
        provider: Arc::new(builtin),
        model: "builtin".into(),
        about: ChoiceReason::default(),
    }
}

fn script(path: &str) -> Result<Choice, ChoiceError> {
    let script = Script::load(Path::new(path)).map_err(|error| ChoiceError {
        problem: error.to_string(),
        hint: Some("a script is a TOML or JSONL list of turns; the README shows one".into()),
    })?;
    Ok(Choice {
        provider: Arc::new(script),
        model: "script".into(),
        about: ChoiceReason::default(),
    })
}

/// A local Ollama, if one answers and has a model.
async fn ollama(request: &ProviderRequest) -> Option<Choice> {
    // It is known at once whether anything listens there; a client is only built for a server that exists.
    let address = "127.0.0.1:11434";
    tokio::time::timeout(OLLAMA_MAX_WAIT, tokio::net::TcpStream::connect(address))
        .await
        .ok()?
        .ok()?;
    let model = match request.model() {
        Some(model) => model,
        None => first_model().await?,
    };
    let provider = Http::new(
        Wire::OpenAi,
        &format!("{OLLAMA_URL}/v1"),
        None,
        request.stall,
    )
    .ok()?;
    Some(Choice {
        provider: Arc::new(provider),
        model,
        about: ChoiceReason {
            why: "no key set, and Ollama is running here".to_owned(),
            address: Some((OLLAMA_URL.to_owned(), "found".to_owned())),
            key: KeyFound::NotNeeded,
        },
    })
}

async fn first_model() -> Option<String> {
    let url = reqwest::Url::parse(&format!("{OLLAMA_URL}/v1/models")).ok()?;
    let client = super::http::client(&url).ok()?;
    let asked = async { client.get(url).send().await.ok()?.bytes().await.ok() };
    let bytes = tokio::time::timeout(OLLAMA_MAX_WAIT * 4, asked)
        .await
        .ok()??;
    let list: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
    Some(list["data"][0]["id"].as_str()?.to_owned())
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .map(|value| value.trim().to_owned())
        .filter(|value| !value.is_empty())
}
