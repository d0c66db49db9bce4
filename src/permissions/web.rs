//! The specifier of a `WebFetch` rule: `domain:` and a host, compared label by label.

use reqwest::Url;

use super::wildcard::Wildcard;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DomainPattern {
    All,
    /// `*.D`: any depth below D, but not D.
    Below(Vec<Wildcard>),
    /// As many labels as there are; a star stays inside its label.
    Labels(Vec<Wildcard>),
}

impl DomainPattern {
    pub fn parse(specifier: &str) -> Result<Self, String> {
        let Some(domain) = specifier.strip_prefix("domain:") else {
            return Err(
                "a rule for WebFetch names a domain: `WebFetch(domain:example.com)`".to_owned(),
            );
        };
        let domain = without_final_dot(domain.trim()).to_lowercase();
        let address = domain.starts_with('[') && domain.ends_with(']');
        if domain.is_empty()
            || domain.contains(['/', '@', ' ', '?', '#', '\\'])
            || (domain.contains(':') && !address)
        {
            return Err("a domain is a host name alone, without scheme, port or path".to_owned());
        }
        let domain = if domain.is_ascii() {
            domain
        } else {
            ascii(&domain)?
        };
        let labels = |text: &str| text.split('.').map(Wildcard::new).collect();
        Ok(match domain.strip_prefix("*.") {
            _ if domain == "*" => Self::All,
            Some(below) => Self::Below(labels(below)),
            None => Self::Labels(labels(&domain)),
        })
    }

    /// Whether the host of a URL is matched. A URL without a host is matched by `*` only.
    pub fn matches(&self, host: Option<&str>) -> bool {
        let labels: Vec<&str> = host
            .map(|host| host.split('.').collect())
            .unwrap_or_default();
        let equal = |patterns: &[Wildcard], labels: &[&str]| {
            patterns.len() == labels.len()
                && patterns
                    .iter()
                    .zip(labels)
                    .all(|(pattern, label)| pattern.matches(label))
        };
        match self {
            Self::All => true,
            Self::Below(patterns) => {
                labels.len() > patterns.len()
                    && equal(patterns, &labels[labels.len() - patterns.len()..])
            }
            Self::Labels(patterns) => equal(patterns, &labels),
        }
    }
}

impl DomainPattern {
    /// Whether it names one host, and stands for no other.
    pub fn is_exact(&self) -> bool {
        match self {
            Self::All | Self::Below(_) => false,
            Self::Labels(labels) => labels.iter().all(Wildcard::is_exact),
        }
    }
}

/// The host of a URL as a browser reads it: lower case, without a final dot.
pub fn host(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let host = without_final_dot(url.host_str()?).to_lowercase();
    (matches!(url.scheme(), "http" | "https") && !host.is_empty()).then_some(host)
}

fn without_final_dot(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

fn ascii(domain: &str) -> Result<String, String> {
    host(&format!("https://{domain}/")).ok_or_else(|| "this is not a domain name".to_owned())
}
