//! Who searches the web: the `webSearch` setting.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};

/// Who searches the web.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebSearch {
    /// The provider of the model, while the model answers.
    Provider,
    /// A search service, which the tool queries.
    Service(SearchService),
}

/// A search service and its address.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchService {
    /// Which service it is.
    pub backend: Backend,
    /// Address of the service. Needed for searxng; the others have one of their own.
    #[serde(default)]
    pub url: Option<String>,
    /// Environment variable that holds the key. Default: `BRAVE_API_KEY` or `TAVILY_API_KEY`.
    #[serde(default)]
    pub key_env: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    Searxng,
    Brave,
    Tavily,
}

impl Backend {
    pub const fn name(self) -> &'static str {
        match self {
            Backend::Searxng => "searxng",
            Backend::Brave => "brave",
            Backend::Tavily => "tavily",
        }
    }

    /// The default address of the service, if it has one.
    pub const fn home(self) -> Option<&'static str> {
        match self {
            Backend::Searxng => None,
            Backend::Brave => Some("https://api.search.brave.com"),
            Backend::Tavily => Some("https://api.tavily.com"),
        }
    }
}

impl WebSearch {
    /// The environment variable with the key for the search, if a key may be needed.
    pub fn key_variable(&self) -> Option<&str> {
        match self {
            WebSearch::Provider => None,
            WebSearch::Service(service) => service.key_variable(),
        }
    }
}

impl SearchService {
    pub fn key_variable(&self) -> Option<&str> {
        let usual = match self.backend {
            Backend::Searxng => None,
            Backend::Brave => Some("BRAVE_API_KEY"),
            Backend::Tavily => Some("TAVILY_API_KEY"),
        };
        self.key_env.as_deref().or(usual)
    }

    fn check(self) -> Result<Self, String> {
        let is_address = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        match &self.url {
            None if self.backend.home().is_none() => Err(format!(
                "`{}` needs its address in `url`",
                self.backend.name()
            )),
            Some(url) if !is_address(url) => {
                Err(format!("`{url}` is not an http or https address"))
            }
            Some(_) | None => Ok(self),
        }
    }
}

const EXPECTED: &str = "`\"provider\"`, or an object with `backend`, `url` and `keyEnv`";

impl<'de> Deserialize<'de> for WebSearch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = WebSearch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<WebSearch, E> {
                match word {
                    "provider" => Ok(WebSearch::Provider),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WebSearch, A::Error> {
                let service = SearchService::deserialize(MapAccessDeserializer::new(map))?;
                let service = service.check().map_err(de::Error::custom)?;
                Ok(WebSearch::Service(service))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Who searches the web.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Described {
    /// The provider's own search (anthropic, responses). It can't ask before each search.
    Provider(ProviderWord),
    Service(SearchService),
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum ProviderWord {
    Provider,
}

impl JsonSchema for WebSearch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SearchSetting".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Described::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Backend, SearchService, WebSearch};

    fn read(value: serde_json::Value) -> Result<WebSearch, String> {
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    #[test]
    fn it_is_the_provider_or_a_service() {
        assert_eq!(read(json!("provider")), Ok(WebSearch::Provider));
        let service = WebSearch::Service(SearchService {
            backend: Backend::Searxng,
            url: Some("http://127.0.0.1:8080".into()),
            key_env: None,
        });
        let written = json!({"backend": "searxng", "url": "http://127.0.0.1:8080"});
        assert_eq!(read(written), Ok(service));
        let brave = read(json!({"backend": "brave"})).expect("no address is needed");
        assert_eq!(brave.key_variable(), Some("BRAVE_API_KEY"));
        let own = read(json!({"backend": "tavily", "keyEnv": "MY_KEY"})).expect("a service");
        assert_eq!(own.key_variable(), Some("MY_KEY"));
    }

    #[test]
    fn mistakes_say_what_is_expected() {
        for (value, problem) in [
            (
                json!("google"),
                "expected `\"provider\"`, or an object with `backend`",
            ),
            (
                json!(true),
                "expected `\"provider\"`, or an object with `backend`",
            ),
            (
                json!({"backend": "bing"}),
                "unknown variant `bing`, expected one of `searxng`, `brave`, `tavily`",
            ),
            (json!({"url": "http://a"}), "missing field `backend`"),
            (
                json!({"backend": "searxng"}),
                "`searxng` needs its address in `url`",
            ),
            (
                json!({"backend": "brave", "url": "a.b"}),
                "`a.b` is not an http or https address",
            ),
            (
                json!({"backend": "brave", "key": "x"}),
                "unknown field `key`",
            ),
        ] {
            let error = read(value).expect_err("a mistake");
            assert!(error.contains(problem), "{error}");
        }
    }
}
