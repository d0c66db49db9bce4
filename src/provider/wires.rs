//! The wire formats, each with everything specific to it. A new one is a variant and a row here, and a folder with its
//! encoder and decoder.

use serde_json::Value;

use super::{Decoder, Request, anthropic, openai, responses};
use crate::protocol::ServerTool;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    OpenAi,
    Responses,
}

/// What is known about a wire format before anything is sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Facts {
    /// What `--provider` and the settings call it.
    pub name: &'static str,
    /// What the official clients append to the base URL.
    pub path: &'static str,
    /// Where it is by default, and the variable that says otherwise.
    pub url: &'static str,
    pub url_variable: &'static str,
    pub model: &'static str,
    /// Variables that may hold its key; the first one that is set is used.
    pub keys: &'static [(&'static str, Header)],
    /// A header that is added to every request.
    pub version: Option<(&'static str, &'static str)>,
    /// Whether servers elsewhere do without a key.
    pub key_only_at_home: bool,
}

/// The header that carries a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    ApiKey,
    Bearer,
}

const OPENAI: Facts = Facts {
    name: "openai",
    path: "/chat/completions",
    url: "https://api.openai.com/v1",
    url_variable: "OPENAI_BASE_URL",
    model: "gpt-5.5",
    keys: &[("OPENAI_API_KEY", Header::Bearer)],
    version: None,
    key_only_at_home: true,
};

const RESPONSES: Facts = Facts {
    name: "responses",
    path: "/responses",
    ..OPENAI
};

const ANTHROPIC: Facts = Facts {
    name: "anthropic",
    path: "/v1/messages",
    url: "https://api.anthropic.com",
    url_variable: "ANTHROPIC_BASE_URL",
    model: "claude-sonnet-5-5",
    keys: &[
        ("ANTHROPIC_API_KEY", Header::ApiKey),
        ("ANTHROPIC_AUTH_TOKEN", Header::Bearer),
    ],
    version: Some(("anthropic-version", "2023-06-01")),
    key_only_at_home: false,
};

impl Wire {
    pub const ALL: [Wire; 3] = [Wire::Anthropic, Wire::OpenAi, Wire::Responses];

    pub const fn facts(self) -> &'static Facts {
        match self {
            Wire::Anthropic => &ANTHROPIC,
            Wire::OpenAi => &OPENAI,
            Wire::Responses => &RESPONSES,
        }
    }

    /// Whether servers that speak it run this tool themselves.
    pub const fn serves(self, tool: ServerTool) -> bool {
        match (self, tool) {
            (Wire::Anthropic | Wire::Responses, ServerTool::WebSearch) => true,
            (Wire::OpenAi, ServerTool::WebSearch) => false,
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wire| wire.facts().name == name)
    }

    pub(super) fn body(self, request: &Request, base_url: &str) -> Value {
        match self {
            Wire::Anthropic => anthropic::body(request, &anthropic::Options::default()),
            Wire::OpenAi => {
                let server = openai::Server::at(base_url);
                openai::body(
                    request,
                    &openai::Options {
                        server,
                        ..openai::Options::default()
                    },
                )
            }
            Wire::Responses => responses::body(request, &responses::Options::default()),
        }
    }

    pub(super) fn decoder(self) -> Box<dyn Decoder> {
        match self {
            Wire::Anthropic => Box::new(anthropic::Decoder::default()),
            Wire::OpenAi => Box::new(openai::Decoder::default()),
            Wire::Responses => Box::new(responses::Decoder::default()),
        }
    }
}

impl Facts {
    /// What to do without a key.
    pub fn how_to_get_a_key(&self) -> String {
        let names: Vec<&str> = self.keys.iter().map(|(name, _)| *name).collect();
        let names = names.join(" or ");
        format!("set {names}, or try it without a key: `agent-tui --provider builtin`")
    }
}

#[cfg(test)]
mod tests {
    use super::Wire;
    use crate::config::KEY_VARIABLES;

    #[test]
    fn every_key_is_kept_from_logs_and_commands() {
        for wire in Wire::ALL {
            for (variable, _) in wire.facts().keys {
                assert!(KEY_VARIABLES.contains(variable), "{variable}");
            }
        }
    }

    #[test]
    fn every_wire_is_found_by_its_name() {
        for wire in Wire::ALL {
            assert_eq!(Wire::named(wire.facts().name), Some(wire));
        }
        assert_eq!(Wire::named("smoke"), None);
    }
}
