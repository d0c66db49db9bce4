//! Messages and their blocks, in one shape for all providers.
//!
//! What a provider needs back verbatim (signatures, encrypted reasoning, blocks of an unknown kind) is kept as
//! received. `Message::origin` says who made an assistant message, because only the same provider can use such data.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::id::WireId;
use super::input::CallInput;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    pub content: Vec<Block>,
    /// Who made an assistant message; `None` for the person's messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The provider and model that made an assistant message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub provider: String,
    pub model: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
        /// Set for a note to the model, which neither the person nor the model has written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Note>,
        /// What the screen shows instead of the text, if it differs: folded pastes, or the command that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        citations: Vec<Value>,
        /// `commentary` or `final_answer` of the Responses API; sent back with the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
    },
    Image(Image),
    Thinking {
        thinking: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// What the provider needs back verbatim in addition to the text: the reasoning item of the Responses API, or
        /// `reasoning_details` of a Chat Completions gateway.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item: Option<Value>,
    },
    RedactedThinking {
        data: String,
    },
    Refusal {
        text: String,
    },
    ToolUse(ToolUse),
    /// A call that the provider runs itself. We never run it; it is kept and sent back.
    ServerToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult(ToolResult),
    /// A block of an unknown kind, kept as received.
    Other {
        wire_type: String,
        start: Value,
    },
}

/// Who adds a note to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// The person's hooks.
    Hooks,
    /// A report of what the person ran independently of the turns.
    Aside,
    /// The program itself.
    Program,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    pub id: WireId,
    pub name: String,
    /// Always an object, or `null` if the input was not a JSON object: `input_raw` then has the whole input.
    pub input: CallInput,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_raw: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub tool_use_id: WireId,
    /// Shared by the history, the log and the screen, and possibly large because of images, so clones share one
    /// allocation.
    #[serde(with = "result_content")]
    pub content: Arc<Vec<ResultBlock>>,
    #[serde(default)]
    pub is_error: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultBlock {
    Text { text: String },
    Image(Image),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    pub source: ImageSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource {
    Base64 { media_type: String, data: String },
}

/// Why a response ended, in the same terms for all providers. Unknown values are kept as received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StopReason {
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    Refusal,
    PauseTurn,
    ContextWindowExceeded,
    Unknown(String),
}

/// Token counts of a response; `None` means "not reported". They mean the same for all providers: every input token
/// is in exactly one of the three input counts, and every output token in `output_tokens`, including thinking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input that was neither read from the cache nor written to it.
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cache_read_input_tokens: Option<u64>,
    pub cache_creation_input_tokens: Option<u64>,
    /// The part of the output that is thinking.
    pub reasoning_tokens: Option<u64>,
}

impl Message {
    pub fn user(text: impl Into<String>) -> Self {
        Self::from_user(vec![Block::text(text)])
    }

    pub fn from_user(content: Vec<Block>) -> Self {
        Self {
            role: Role::User,
            content,
            origin: None,
        }
    }

    pub fn from_assistant(content: Vec<Block>, origin: Origin) -> Self {
        Self {
            role: Role::Assistant,
            content,
            origin: Some(origin),
        }
    }

    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolUse(call) => Some(call),
            _ => None,
        })
    }

    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Whether it contains only white space, or nothing. Providers refuse such messages.
    pub fn is_blank(&self) -> bool {
        let mut blocks = self.content.iter();
        blocks.all(|block| matches!(block, Block::Text { text, .. } if text.trim().is_empty()))
    }

    /// All text of the message for people: without notes.
    pub fn text(&self) -> String {
        let mut whole = String::new();
        for block in &self.content {
            if let Block::Text {
                text, note: None, ..
            }
            | Block::Refusal { text } = block
            {
                whole.push_str(text);
            }
        }
        whole
    }
}

/// What hooks say, formatted for the model.
pub fn hook_text(text: &str) -> String {
    format!("<hook>\n{text}\n</hook>")
}

impl Block {
    /// A note about what the person ran, and its output.
    pub fn aside(call: &str, output: &str) -> Self {
        let text = format!(
            "<user-ran>\nThe user ran this themselves: {call}\n<output>\n{output}\n</output>\n</user-ran>"
        );
        Self::note(Note::Aside, text)
    }

    /// A note with what hooks say to the model.
    pub fn by_hooks(text: &str) -> Self {
        Self::note(Note::Hooks, hook_text(text))
    }

    pub fn note(note: Note, text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            note: Some(note),
            shown: None,
            citations: Vec::new(),
            phase: None,
        }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::Text {
            text: text.into(),
            note: None,
            shown: None,
            citations: Vec::new(),
            phase: None,
        }
    }

    /// Sets what the screen shows instead of the text.
    #[must_use]
    pub fn shown_as(mut self, short: &str) -> Self {
        if let Self::Text { text, shown, .. } = &mut self {
            *shown = (text != short).then(|| short.to_owned());
        }
        self
    }

    /// The texts among some blocks, joined by newlines.
    pub fn texts<'b>(blocks: impl IntoIterator<Item = &'b Self>) -> String {
        let texts = blocks.into_iter().filter_map(|block| match block {
            Self::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl ToolResult {
    pub fn text(id: WireId, text: impl Into<String>) -> Self {
        Self {
            tool_use_id: id,
            content: Arc::new(vec![ResultBlock::text(text)]),
            is_error: false,
        }
    }

    pub fn error(id: WireId, text: impl Into<String>) -> Self {
        Self {
            tool_use_id: id,
            content: Arc::new(vec![ResultBlock::text(text)]),
            is_error: true,
        }
    }

    /// The result as it is sent: models are used to errors inside of a tag. What hooks added after the error stays
    /// outside of it.
    pub fn as_sent(&self) -> Cow<'_, Self> {
        let first = self.content.first();
        let Some(ResultBlock::Text { text }) = first.filter(|_| self.is_error) else {
            return Cow::Borrowed(self);
        };
        if text.trim().is_empty() {
            return Cow::Borrowed(self);
        }
        let mut sent = self.clone();
        let text = format!("<tool_use_error>{text}</tool_use_error>");
        Arc::make_mut(&mut sent.content)[0] = ResultBlock::text(text);
        Cow::Owned(sent)
    }

    /// The text blocks of the result, joined by newlines.
    pub fn as_text(&self) -> String {
        ResultBlock::texts(&self.content)
    }
}

impl ResultBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// The texts among some blocks, joined by newlines.
    pub fn texts(blocks: &[Self]) -> String {
        let texts = blocks.iter().filter_map(|block| match block {
            Self::Text { text } => Some(text.as_str()),
            Self::Image(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Image {
    pub fn base64(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self {
            source: ImageSource::Base64 {
                media_type: media_type.into(),
                data: data.into(),
            },
        }
    }
}

impl Usage {
    /// Input that was not read from the cache.
    pub fn input(&self) -> u64 {
        sum_of([self.input_tokens, self.cache_creation_input_tokens])
    }

    /// Input that was read from the cache.
    pub fn cached(&self) -> u64 {
        self.cache_read_input_tokens.unwrap_or(0)
    }

    pub fn output(&self) -> u64 {
        self.output_tokens.unwrap_or(0)
    }

    /// What the provider had to process: input that was not cached, and output.
    pub fn worked_on(&self) -> u64 {
        self.input().saturating_add(self.output())
    }

    /// The whole input and the output: the size of the context after the response.
    pub fn in_context(&self) -> u64 {
        self.worked_on().saturating_add(self.cached())
    }

    /// Takes over every count in `later`: these are running totals, so the last value wins.
    pub fn update(&mut self, later: Usage) {
        self.input_tokens = later.input_tokens.or(self.input_tokens);
        self.output_tokens = later.output_tokens.or(self.output_tokens);
        self.cache_read_input_tokens = later
            .cache_read_input_tokens
            .or(self.cache_read_input_tokens);
        self.cache_creation_input_tokens = later
            .cache_creation_input_tokens
            .or(self.cache_creation_input_tokens);
        self.reasoning_tokens = later.reasoning_tokens.or(self.reasoning_tokens);
    }

    /// Adds the counts of another response.
    pub fn add(&mut self, other: Usage) {
        fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
            match (a, b) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
            }
        }
        self.input_tokens = sum(self.input_tokens, other.input_tokens);
        self.output_tokens = sum(self.output_tokens, other.output_tokens);
        self.cache_read_input_tokens =
            sum(self.cache_read_input_tokens, other.cache_read_input_tokens);
        self.cache_creation_input_tokens = sum(
            self.cache_creation_input_tokens,
            other.cache_creation_input_tokens,
        );
        self.reasoning_tokens = sum(self.reasoning_tokens, other.reasoning_tokens);
    }
}

fn sum_of(counts: [Option<u64>; 2]) -> u64 {
    let counts = counts.into_iter().flatten();
    counts.fold(0, u64::saturating_add)
}

impl From<String> for StopReason {
    fn from(word: String) -> Self {
        match word.as_str() {
            "end_turn" => Self::EndTurn,
            "tool_use" => Self::ToolUse,
            "max_tokens" => Self::MaxTokens,
            "stop_sequence" => Self::StopSequence,
            "refusal" => Self::Refusal,
            "pause_turn" => Self::PauseTurn,
            "model_context_window_exceeded" => Self::ContextWindowExceeded,
            _ => Self::Unknown(word),
        }
    }
}

impl From<StopReason> for String {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::EndTurn => "end_turn".into(),
            StopReason::ToolUse => "tool_use".into(),
            StopReason::MaxTokens => "max_tokens".into(),
            StopReason::StopSequence => "stop_sequence".into(),
            StopReason::Refusal => "refusal".into(),
            StopReason::PauseTurn => "pause_turn".into(),
            StopReason::ContextWindowExceeded => "model_context_window_exceeded".into(),
            StopReason::Unknown(word) => word,
        }
    }
}

/// A result with one text is serialized as a plain string, which people and scripts expect.
mod result_content {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::ResultBlock;

    pub fn serialize<S: Serializer>(
        blocks: &[ResultBlock],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match blocks {
            [ResultBlock::Text { text }] => text.serialize(serializer),
            blocks => blocks.serialize(serializer),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<Vec<ResultBlock>>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Blocks(Vec<ResultBlock>),
        }
        let blocks = match Either::deserialize(deserializer)? {
            Either::Text(text) => vec![ResultBlock::text(text)],
            Either::Blocks(blocks) => blocks,
        };
        Ok(Arc::new(blocks))
    }
}
