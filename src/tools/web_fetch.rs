//! `WebFetch`: a web page as readable text.
//!
//! `permissions` decides by its name whether a host may be fetched from. If the name resolves to this machine or a
//! private network, the person is asked again before anything is sent there.

#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use reqwest::Url;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::small_model::{Answer, Query};
use super::web::cache::Cache;
use super::web::fetch::{Arrived, Net, Problem, Reach, host_of, parse};
use super::web::page::Page;
use super::{ContextChange, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, Validated};
use crate::permissions::{Cause, Grant, Inner};
use crate::protocol::{
    ChoiceOption, ChoiceRequest, ForPerson, Level, Mode, OutputFormat, Reply, ResultBlock,
    SubjectFields, Touches,
};

#[derive(Default)]
pub struct WebFetch {
    cache: Cache,
    net: Net,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The address of the page: `https://…`
    pub url: String,
    /// What you want to know from the page
    #[serde(default)]
    pub prompt: String,
}

impl Tool for WebFetch {
    type Input = Input;

    fn spec(&self) -> ToolSpec {
        ToolSpec {
            doing: "fetching a page".into(),
            output: OutputFormat::Markdown,
            subject: SubjectFields::field("url"),
            max_result_chars: 100_000,
            ..ToolSpec::new(
                "WebFetch",
                include_str!("../../assets/tools/web_fetch.md"),
                Level::Confirm,
                "url",
            )
        }
    }

    fn is_concurrency_safe(&self, _input: &Input) -> bool {
        true
    }

    fn is_read_only(&self, _input: &Input) -> bool {
        true
    }

    fn touches(&self, input: &Value) -> Touches {
        Touches::web(input, "url")
    }

    fn sample(&self) -> Value {
        json!({ "url": "https://example.com/", "prompt": "what is it about?" })
    }

    async fn validate(&self, input: &Input, _cx: &ToolCx) -> Result<Validated, ToolError> {
        parse(&input.url)?;
        Ok(Validated::Fine)
    }

    async fn call(&self, input: Input, grant: Grant, cx: ToolCx) -> Result<ToolOutput, ToolError> {
        let url = parse(&input.url)?;
        let work = async {
            let page = match self.page(&url, &grant, &cx).await? {
                Ok(page) => page,
                Err(elsewhere) => return Ok(elsewhere),
            };
            let mut output = output(&page, &input.prompt)?;
            if let Some(query) = query(&page, &input.prompt)
                && let Some(model) = &cx.env.small_model
            {
                cx.progress
                    .report(format!("asking {} about the page", model.name));
                let answer = model.ask(query).await;
                answered(&mut output, &page, &input.prompt, answer);
            }
            Ok(output)
        };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(ToolError::cancelled()),
            output = work => output,
        }
    }
}

impl WebFetch {
    /// The page at an address, from the cache or from its server; or the result if the server points to another host.
    async fn page(
        &self,
        url: &Url,
        grant: &Grant,
        cx: &ToolCx,
    ) -> Result<Result<Arc<Page>, ToolOutput>, ToolError> {
        let key = without_fragment(url);
        if let Some(page) = self.cache.get(&key, Instant::now()) {
            return Ok(Ok(page));
        }
        cx.progress.report(format!("asking {}", host_of(url)));
        let mut arrived = self.net.fetch(url, reach(url, grant)).await?;
        if let Arrived::Inside {
            host,
            address,
            inner,
        } = arrived
        {
            agree(cx, &host, address, inner).await?;
            arrived = self.net.fetch(url, Reach::Everywhere).await?;
        }
        match arrived {
            Arrived::Page(fetched) => {
                let page = tokio::task::spawn_blocking(move || Arc::new(Page::new(&fetched)));
                let page = page.await.map_err(|_| {
                    ToolError::new(format!(
                        "The page at {url} could not be converted. Fetch it with Bash, for example with `curl`"
                    ))
                })?;
                if page.status < 400 {
                    self.cache.put(&key, page.clone(), Instant::now());
                }
                Ok(Ok(page))
            }
            Arrived::Elsewhere { from, to } => Ok(Err(ToolOutput {
                for_person: ForPerson {
                    sentence: Some(format!("redirects to {}", host_of(&to))),
                    ..ForPerson::default()
                },
                ..ToolOutput::text(format!(
                    "{from} redirects to another host, which was not followed: {to}\n\
                     To read it, call WebFetch with that address."
                ))
            })),
            Arrived::Inside { host, .. } => Err(ToolError::new(format!(
                "{host} leads to another address than before; try again"
            ))
            .with_sentence("its address has changed in the meantime")),
        }
    }
}

impl From<Problem> for ToolError {
    fn from(problem: Problem) -> Self {
        let message = problem.to_string();
        let sentence = message.lines().next().unwrap_or_default().to_owned();
        Self::new(message).with_sentence(sentence)
    }
}

/// What to ask a small model about a page: nothing if the page has no text, or the call no question.
fn query(page: &Page, prompt: &str) -> Option<Query> {
    let text = page.text()?;
    let question = prompt.trim();
    (!question.is_empty()).then(|| Query {
        question: question.to_owned(),
        text: text.to_owned(),
    })
}

/// Replaces the page by the answer of the small model. If there is none, the page stays.
fn answered(output: &mut ToolOutput, page: &Page, prompt: &str, answer: Answer) {
    output.changes.push(ContextChange::Spent(answer.spending));
    match answer.text {
        Ok(text) => output.for_model = vec![ResultBlock::text(page.with_heading(prompt, &text))],
        Err(problem) => {
            let note =
                format!("(the small model did not answer: {problem}; this is the page itself)");
            output.for_model.insert(0, ResultBlock::text(note));
        }
    }
}

/// The part after `#` is never sent to a server.
fn without_fragment(url: &Url) -> String {
    let mut url = url.clone();
    url.set_fragment(None);
    url.to_string()
}

/// Everything if the permission covers it: the host's name is a private address, or the mode asks for nothing.
fn reach(url: &Url, grant: &Grant) -> Reach {
    let is_named = Inner::of_host(&host_of(url)).is_some();
    if is_named || matches!(grant.cause(), Cause::Mode(Mode::BypassPermissions)) {
        Reach::Everywhere
    } else {
        Reach::OpenNet
    }
}

/// Asks about a name that resolves to a private address.
async fn agree(cx: &ToolCx, host: &str, address: IpAddr, inner: Inner) -> Result<(), ToolError> {
    let fact = format!("{host} leads to {address}, {}", inner.words());
    let option = |label: &str, about: &str| ChoiceOption {
        label: label.into(),
        about: about.into(),
    };
    let question = ChoiceRequest {
        question: format!("{fact}. Fetch the page from there?"),
        options: vec![
            option("No", "nothing is sent there"),
            option("Yes, this once", "the page is fetched from that address"),
        ],
        several: false,
        free_text: false,
        ..ChoiceRequest::default()
    };
    match cx.ask(question).await? {
        reply if reply.picks(1) => Ok(()),
        Reply::Nobody => Err(ToolError::new(format!(
            "{fact}, and nobody is there to allow it. Nothing was sent"
        ))
        .with_sentence("it leads to a private address; nobody is there to allow it")),
        Reply::Chosen(_) | Reply::Dismissed | Reply::Permission(_) | Reply::Form(_) => {
            Err(ToolError::new(format!(
                "{fact}, and the user did not allow it. Nothing was sent; do not try it again"
            ))
            .with_sentence("it leads to a private address; you did not allow it"))
        }
    }
}

fn output(page: &Page, prompt: &str) -> Result<ToolOutput, ToolError> {
    let for_model = page.blocks(prompt);
    if page.status >= 400 {
        let text: Vec<&str> = for_model
            .iter()
            .filter_map(|block| match block {
                ResultBlock::Text { text } => Some(text.as_str()),
                ResultBlock::Image(_) => None,
            })
            .collect();
        return Err(ToolError::new(format!(
            "The server answered with status {}.\n{}",
            page.status,
            text.join("\n")
        ))
        .with_sentence(format!("status {}", page.status)));
    }
    Ok(ToolOutput {
        for_model,
        for_person: ForPerson {
            sentence: Some(page.summary()),
            ..ForPerson::default()
        },
        ..ToolOutput::default()
    })
}
